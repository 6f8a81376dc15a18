//! What lies beside reading and writing: settings, a schema in place of a registry, checks, stops.

use super::toy::{self, Toy, schema};
use super::{batch, decode, encode, framed, messages, props, record, rows, texts, values};
use crate::registered::{inline, make};
use api::{Checking, ErrorKind, Outcome, Side};
use config::Props;
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};
use testkit::registry::{Proxy, Reply, url};
use testkit::unique;

#[test]
fn wrong_settings_are_told_when_a_converter_is_made() {
    let fault = |props: &Props, side| match make::<Toy>(props, side) {
        Ok(_) => panic!("it is made of {props:?}"),
        Err(error) => {
            assert_eq!(error.kind, ErrorKind::Config);
            error.report()
        }
    };
    let header = fault(&props("http://h", &[]), Side::Header);
    assert!(header.contains("no converter of headers"), "{header}");
    assert!(header.contains("SimpleHeaderConverter"), "{header}");
    assert!(fault(&Props::new(), Side::Key).contains("schema.registry.url"));
    let strategy = [("value.subject.name.strategy", "com.acme.Own")];
    let text = fault(&props("http://h", &strategy), Side::Value);
    assert!(text.contains("com.acme.Own") && text.contains("TopicRecordNameStrategy"), "{text}");
    for (key, given, instead) in [
        ("use.latest.with.metadata", "application.version=2", "use use.latest.version"),
        ("rule.executors", "checkSsn", "Rules of a schema are not run"),
        ("rule.actions", "dlq", "Rules of a schema are not run"),
        ("context.name.strategy", "com.acme.Own", "http://host:8081/contexts/.name"),
    ] {
        let text = fault(&props("http://h", &[(key, given)]), Side::Value);
        assert!([key, given, instead].iter().all(|part| text.contains(part)), "{text}");
    }
    let as_by_default = [
        ("use.latest.with.metadata", ""),
        ("rule.executors", ""),
        ("context.name.strategy", "io.confluent.kafka.serializers.context.NullContextNameStrategy"),
    ];
    make::<Toy>(&props("http://h", &as_by_default), Side::Value).unwrap();
    let text = fault(&props("mock://h", &[]), Side::Value);
    assert!(text.contains("name a real registry"), "{text}");
}

#[test]
fn a_schema_with_rules_is_refused_where_they_would_be_run() {
    let text = toy::draft(&schema("Toy", "string")).text;
    let proxy = Proxy::answering(move |asked| {
        let rule = |name: &str, mode: &str| {
            json!({"schema": text, "id": 7, "version": 1, "ruleSet": {"domainRules": [
                {"name": name, "type": "ENCRYPT", "mode": mode, "disabled": false}]}})
        };
        match &*asked.path {
            "/schemas/ids/7" => Reply::json(200, &rule("hide", "WRITEREAD")),
            "/schemas/ids/8" | "/subjects/t-value/versions/latest" => {
                Reply::json(200, &rule("check", "WRITE"))
            }
            "/schemas/ids/9" => Reply::json(200, &rule("step", "UPGRADE")),
            _ => Reply::json(404, &json!({"error_code": 40401, "message": "not here"})),
        }
    });
    let records = [7, 8, 9].map(|id| framed(id, "a"));
    let records = records.each_ref().map(|record| Some(&**record));
    let read = decode(&mut *values(&proxy.url(), &[]), batch("t", &records)).unwrap();
    assert_eq!(texts(&read), [None, Some("a"), Some("a")]);
    let told = messages(&read);
    assert!(
        told.len() == 1 && told[0].contains("rule hide (ENCRYPT) for what is read"),
        "{told:?}"
    );
    let latest = [
        ("auto.register.schemas", "false"),
        ("use.latest.version", "true"),
        ("latest.compatibility.strict", "false"),
    ];
    let row = rows(Some(&schema("Toy", "string")), &[Some("a")]);
    let (_, errors) = encode(&mut *values(&proxy.url(), &latest), "t", &row).unwrap();
    assert!(errors[0].contains("rule check (ENCRYPT) for what is written"), "{errors:?}");
}

#[test]
fn a_schema_given_in_place_of_a_registry_reads_and_writes_bare_values() {
    let text = toy::draft(&schema("Toy", "string")).text;
    let mut converter = inline::<Toy>(&text, &Props::new()).unwrap();
    let read = decode(&mut *converter, batch("t", &[Some(b"a"), None, Some(b"bad")])).unwrap();
    assert_eq!(texts(&read), [Some("a"), None, None]);
    assert_eq!(messages(&read), ["2: it is bad"]);
    let row = rows(Some(&schema("Toy", "string")), &[Some("a"), None, Some("unfit")]);
    let (encoded, errors) = encode(&mut *converter, "t", &row).unwrap();
    assert_eq!((encoded.get(0), encoded.get(1)), (Some(&b"#a"[..]), None));
    assert_eq!(errors, ["2: f: it does not fit"]);
    let Err(error) = inline::<Toy>("broken", &Props::new()) else { panic!("it is made") };
    assert!(error.message.contains("it is broken"), "{}", error.message);
}

#[test]
fn a_check_looks_at_the_registry_and_at_the_subjects_of_topics() {
    let (proxy, topic) = (Proxy::to(url()), unique("toy"));
    let text = toy::draft(&schema(&record(), "string")).text;
    let id = testkit::registry::register(&format!("{topic}-value"), "AVRO", &text);
    let asked = |time: u64| Checking {
        connector: "c".to_owned(),
        topics: vec![topic.clone(), "nobodys".to_owned()],
        renamed: false,
        tolerant: false,
        deadline: Instant::now() + Duration::from_secs(time),
    };
    let checks = values(&proxy.url(), &[]).check(Side::Value, &asked(60));
    assert!(checks.iter().all(|check| check.outcome == Outcome::Ok), "{checks:?}");
    assert!(checks[0].what.contains(&format!("Avro schema {id}")), "{checks:?}");
    assert!(checks[1].what.contains("none yet"), "{checks:?}");
    let strict = [("auto.register.schemas", "false")];
    let checks = values(&proxy.url(), &strict).check(Side::Value, &asked(60));
    assert_eq!(checks[1].key.as_deref(), Some("auto.register.schemas"), "{checks:?}");
    proxy.fail(401);
    let checks = values(&proxy.url(), &[]).check(Side::Value, &asked(60));
    assert_eq!(checks.len(), 1);
    assert!(checks[0].is_failed() && checks[0].hint.is_some(), "{checks:?}");
    proxy.set(|_| Reply::Hold);
    let late = values(&proxy.url(), &[]).check(Side::Value, &asked(1));
    assert!(late[0].is_failed() && late[0].hint.is_some(), "{late:?}");
}

#[test]
fn a_stop_ends_the_wait_for_a_registry() {
    let proxy = Proxy::to(url());
    proxy.fail(503);
    let more = [
        ("max.retries", "1000000"),
        ("retries.wait.ms", "100000"),
        ("retries.max.wait.ms", "100000"),
    ];
    let all: Vec<_> = props(&proxy.url(), &[])
        .iter()
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    let mut props: Props = all.into_iter().collect();
    for (key, value) in more {
        props.insert(key, value);
    }
    let mut reader = make::<Toy>(&props, Side::Value).unwrap();
    let stopped = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let seen = stopped.clone();
    reader.set_cancel(Arc::new(move || seen.load(std::sync::atomic::Ordering::SeqCst)));
    let thread = std::thread::spawn(move || {
        decode(&mut *reader, batch("t", &[Some(&framed(1, "a"))])).map(|_| ()).unwrap_err().kind
    });
    testkit::eventually(Duration::from_secs(30), "a request", || {
        (proxy.count("GET") > 0).then_some(())
    });
    stopped.store(true, std::sync::atomic::Ordering::SeqCst);
    assert_eq!(thread.join().unwrap(), ErrorKind::Cancelled);
}
