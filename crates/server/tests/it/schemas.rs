//! Connectors on topics with schemas of a registry: records that Confluent's client wrote arrive, what our
//! sources write it can read, schemas change on the way, and the registry has its faults.

#![expect(
    clippy::unwrap_used,
    reason = "clippy does not see the helpers of an integration test as tests"
)]

use crate::harness::{PATIENCE, count, task, wait_failed, wait_retrying, wait_running, worker};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;
use testkit::{
    eventually,
    kafka::{self, Record, topic_name},
    postgres::{Database, database},
    process::{Worker, WorkerSetup},
    progress,
    registry::{self, Asked, Foreign, Proxy, Reply, guids, read_by_others, written_by_others},
};

const FORMATS: [(&str, &str); 3] = [
    ("avro", "io.confluent.connect.avro.AvroConverter"),
    ("json", "io.confluent.connect.json.JsonSchemaConverter"),
    ("protobuf", "io.confluent.connect.protobuf.ProtobufConverter"),
];

type Properties = BTreeMap<String, String>;

fn properties(pairs: &[(&str, &str)]) -> Properties {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

/// A sink of topics into tables named after them, which it makes.
fn sink(database: &Database, topics: &str, class: &str, url: &str) -> Properties {
    properties(&[
        ("connector.class", "postgres-sink"),
        ("topics", topics),
        ("connection.url", &format!("{}?sslmode=disable", database.url())),
        ("auto.create", "true"),
        ("auto.evolve", "true"),
        ("value.converter", class),
        ("value.converter.schema.registry.url", url),
        ("value.converter.missing.id.cache.ttl.sec", "0"),
        ("value.converter.max.retries", "0"),
    ])
}

fn with(setup: WorkerSetup, name: &str, properties: &Properties) -> WorkerSetup {
    let pairs: Vec<_> = properties.iter().map(|(key, value)| (&**key, &**value)).collect();
    setup.connector(name, &pairs)
}

fn read_so_far(worker: &Worker, name: &str) -> u64 {
    task(worker, name)["copycat"]["records_read"].as_u64().unwrap_or_default()
}

/// Waits until the task has dealt with so many records, stored or reported.
#[track_caller]
fn wait_for(worker: &Worker, name: &str, records: u64) {
    progress(PATIENCE, &format!("{records} records of {name}"), || {
        let task = task(worker, name);
        let part = |what: &str| task["copycat"][what].as_u64().unwrap_or_default();
        let done = part("records_stored") + part("records_reported");
        assert_ne!(task["state"], json!("FAILED"), "{task}");
        if done >= records { Ok(()) } else { Err((done, read_so_far(worker, name))) }
    });
}

/// The rows of a table as PostgreSQL's JSON, in the order of their insertion.
fn rows(database: &Database, table: &str) -> Vec<Value> {
    let rows =
        database.query(&format!("SELECT row_to_json(t)::text FROM \"{table}\" t ORDER BY t.ctid"));
    let text = |row: &Vec<Option<String>>| serde_json::from_str(row[0].as_ref().unwrap()).unwrap();
    rows.iter().map(text).collect()
}

/// Cases of the client whose values are no objects have no columns.
fn has_columns(record: &Foreign) -> bool {
    !matches!(&*record.case, "string" | "long" | "bytes" | "array" | "map" | "wide" | "key")
}

#[test]
fn records_that_others_wrote_arrive_in_tables() {
    let registry = guids();
    let prefix = topic_name("foreign") + "-";
    let records = written_by_others(&registry.url(), &prefix);
    let bootstrap = kafka::bootstrap();
    let database = database();
    let mut setup = worker(&bootstrap);
    let mut expected = Vec::new();
    for (format, class) in FORMATS {
        let mut topics: Vec<&str> = Vec::new();
        let mut sent = 0;
        for record in records.iter().filter(|record| record.format == format && has_columns(record))
        {
            if !topics.contains(&&*record.topic) {
                kafka::create_topic(&bootstrap, &record.topic, 1);
                topics.push(&record.topic);
            }
            let headers = record.headers.iter();
            let made = headers.fold(Record::value(record.data.clone()), |made, (name, value)| {
                made.header(name, value.clone())
            });
            kafka::produce(&bootstrap, &record.topic, [made.partition(0)]);
            sent += 1;
        }
        let name = format!("{prefix}{format}");
        setup = with(setup, &name, &sink(&database, &topics.join(","), class, &registry.url()));
        expected.push((name, sent, topics));
    }
    let mut worker = setup.start();
    let mut found = String::new();
    for (name, sent, topics) in expected {
        wait_for(&worker, &name, sent);
        for table in topics {
            let types = "SELECT string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', ' ORDER BY attnum) \
                 FROM pg_attribute WHERE attnum > 0 AND attrelid = ";
            let types = database.value(&format!("{types}'\"{table}\"'::regclass")).unwrap();
            found += &format!("{}: {types}\n", table.replace(&prefix, ""));
            for row in rows(&database, table) {
                found += &format!("  {row}\n");
            }
        }
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/schemas/tables.txt");
    if std::env::var_os("COPYCAT_PIN").is_some() {
        std::fs::write(path, &found).unwrap();
    }
    assert_eq!(found, std::fs::read_to_string(path).unwrap());
    assert!(worker.terminate().success(), "{}", worker.logs());
}

/// What generated records look like in each format is the same, and what Confluent's client reads.
#[test]
fn records_of_our_sources_are_read_by_others() {
    const COUNT: usize = 20;
    let url = registry::url();
    let bootstrap = kafka::bootstrap();
    let mut setup = worker(&bootstrap);
    let topic = topic_name("made");
    let template = r#"{"id": "${sequence:1}", "who": "${name}", "price": "${float:1:10:2}", "ok": "${bool}",
        "tags": ["${word}", "${word}"], "inner": {"n": "${int:-5:5}", "at": "${timestamp}"}}"#;
    let source = |format: &str, class: &str| {
        properties(&[
            ("connector.class", "datagen"),
            ("topic", &format!("{topic}-{format}")),
            ("template", template),
            ("rate", "0"),
            ("count", &COUNT.to_string()),
            ("value.converter", class),
            ("value.converter.schema.registry.url", url),
        ])
    };
    for (format, class) in FORMATS {
        setup = with(setup, &format!("{topic}-{format}"), &source(format, class));
    }
    let mut plain = source("plain", "org.apache.kafka.connect.json.JsonConverter");
    plain.insert("value.converter.schemas.enable".to_owned(), "false".to_owned());
    let mut worker = with(setup, &format!("{topic}-plain"), &plain).start();
    let read = |format: &str| {
        let topic = format!("{topic}-{format}");
        eventually(PATIENCE, "all records are there", || {
            if !kafka::topic_exists(&bootstrap, &topic) {
                return None;
            }
            Some(kafka::read(&bootstrap, &topic)).filter(|records| records.len() == COUNT)
        })
    };
    let expected: Vec<Value> =
        read("plain").iter().map(|record| serde_json::from_str(record.text()).unwrap()).collect();
    for (format, _) in FORMATS {
        let records: Vec<_> = read(format)
            .into_iter()
            .map(|record| Foreign {
                case: "made".to_owned(),
                format: format.to_owned(),
                topic: format!("{topic}-{format}"),
                side: "value".to_owned(),
                strategy: "topic".to_owned(),
                headers: Vec::new(),
                data: record.value.unwrap(),
            })
            .collect();
        let mut seen = read_by_others(url, &records);
        for value in &mut seen {
            let at = value["inner"]["at"].take();
            value["inner"]["at"] = milliseconds(&at);
        }
        assert_eq!(seen, expected, "{format}");
    }
    assert!(worker.terminate().success(), "{}", worker.logs());
}

/// A point in time as Python has it: one of UTC, or a message of seconds and nanoseconds.
fn milliseconds(value: &Value) -> Value {
    match (&value["seconds"], &value["ms"]) {
        (Value::Number(seconds), _) => {
            let millis = value["nanos"].as_i64().unwrap() / 1_000_000;
            json!(seconds.as_i64().unwrap() * 1000 + millis)
        }
        (_, Value::Number(ms)) => json!(ms),
        _ => value.clone(),
    }
}

/// A source and a sink while the source's records change: each new form is a new version, each new field
/// a column, and every record arrives once, in its order.
#[test]
fn schemas_change_under_load_and_nothing_is_lost() {
    const COUNT: u64 = 3_000;
    let url = registry::url();
    let bootstrap = kafka::bootstrap();
    let database = database();
    let mut setup = worker(&bootstrap);
    let base = topic_name("evolving");
    let name = |format: &str, what: &str| format!("{base}-{format}-{what}");
    let source = |format: &str, class: &str, more: &str, at_first: u64| {
        properties(&[
            ("connector.class", "datagen"),
            ("topic", &format!("{base}-{format}")),
            ("template", &format!("{{\"id\": \"${{sequence}}\", \"word\": \"${{word}}\"{more}}}")),
            ("rate", "3000"),
            ("count", &at_first.to_string()),
            ("value.converter", class),
            ("value.converter.schema.registry.url", url),
            // In JSON Schema a field more in an open object is no compatible change.
            ("value.converter.object.additional.properties", "false"),
        ])
    };
    for (format, class) in FORMATS {
        kafka::create_topic(&bootstrap, &format!("{base}-{format}"), 1);
        let mut sink = sink(&database, &format!("{base}-{format}"), class, url);
        sink.insert("pk.mode".to_owned(), "kafka".to_owned());
        setup = with(setup, &name(format, "sink"), &sink);
        setup = with(setup, &name(format, "source"), &source(format, class, "", COUNT));
    }
    let mut worker = setup.start();
    let forms = [
        r#", "price": "${float:0:1:2}""#,
        r#", "price": "${float:0:1:2}", "ok": "${bool}", "at": "${timestamp}""#,
    ];
    for (n, more) in (1..).zip(forms) {
        for (format, class) in FORMATS {
            let sink = name(format, "sink");
            progress(PATIENCE, "records of the form before", || {
                let done =
                    task(&worker, &sink)["copycat"]["records_stored"].as_u64().unwrap_or_default();
                if done > (n - 1) * 3 * COUNT / 2 { Ok(()) } else { Err(done) }
            });
            let changed = source(format, class, more, COUNT * (n + 1));
            let path = format!("/connectors/{}/config", name(format, "source"));
            let answer = worker.put(&path, Some(&json!(changed).to_string()));
            assert_eq!(answer.status, 200, "{}", answer.body);
        }
    }
    for (format, _) in FORMATS {
        let table = format!("{base}-{format}");
        let all =
            "SELECT count(*) || ' ' || count(DISTINCT id) || ' ' || min(id) || ' ' || max(id)";
        let expected = format!("{0} {0} 0 {1}", COUNT * 3, COUNT * 3 - 1);
        progress(PATIENCE, "all rows", || {
            let found = database.value(&format!("{all} FROM \"{table}\"")).unwrap();
            if found == expected { Ok(()) } else { Err((found, worker.logs().len())) }
        });
        let odd = "count(*) FILTER (WHERE id <> __connect_offset) || ' ' || count(price) || ' ' || count(at)";
        let found = database.value(&format!("SELECT {odd} FROM \"{table}\"")).unwrap();
        let counts: Vec<u64> = found.split(' ').map(|text| text.parse().unwrap()).collect();
        let [disorder, price, at] = counts[..] else { panic!("{found}") };
        assert_eq!(disorder, 0, "{format}: ids are in the order of offsets");
        assert!(at >= COUNT && price > at && price < COUNT * 3, "{format}: {found}");
        let (_, versions) =
            registry::call(url, "GET", &format!("/subjects/{base}-{format}-value/versions"), None);
        assert_eq!(versions, json!([1, 2, 3]), "{format}");
    }
    assert!(worker.terminate().success(), "{}", worker.logs());
}

const ROW: &str = r#"{"type": "record", "name": "Row", "fields": [{"name": "n", "type": "int"}]}"#;

/// A record of schema [`ROW`]; n is below 64.
fn row(id: i32, n: u8) -> Record {
    Record::value([&[0], &id.to_be_bytes()[..], &[n * 2]].concat()).partition(0)
}

/// A topic with a schema, its sink behind a proxy, and ten records.
struct Faulty {
    proxy: Proxy,
    topic: String,
    database: Database,
    id: i32,
}

impl Faulty {
    fn new(name: &str) -> Faulty {
        let topic = topic_name(name);
        kafka::create_topic(&kafka::bootstrap(), &topic, 1);
        let id = registry::register(&format!("{topic}-value"), "AVRO", ROW);
        kafka::produce(&kafka::bootstrap(), &topic, (0..10).map(|n| row(id, n)));
        Faulty { proxy: Proxy::to(registry::url()), topic, database: database(), id }
    }

    fn worker(&self, more: &[(&str, &str)]) -> WorkerSetup {
        let mut sink = sink(&self.database, &self.topic, FORMATS[0].1, &self.proxy.url());
        sink.extend(properties(more));
        with(worker(&kafka::bootstrap()), &self.topic, &sink)
    }

    fn numbers(&self) -> Vec<u64> {
        let read = |row: &Value| row["n"].as_u64().unwrap();
        rows(&self.database, &self.topic).iter().map(read).collect()
    }

    fn letters(&self) -> u64 {
        count(&self.database.url(), "SELECT count(*) FROM copycat_dead_letters").unwrap_or(0)
    }
}

#[test]
fn fault_a_registry_that_is_down_or_slow_costs_no_record() {
    let faulty = Faulty::new("away");
    type Rule = fn(&Asked) -> Reply;
    let rules: [(&str, Rule); 3] = [
        ("500", |_| Reply::json(500, &json!({"error_code": 50001, "message": "on purpose"}))),
        ("registry", |_| Reply::Hangup),
        ("in time", |_| Reply::Hold),
    ];
    faulty.proxy.set(rules[0].1);
    let tolerant = [
        ("errors.tolerance", "all"),
        ("value.converter.http.read.timeout.ms", "500"),
        ("value.converter.http.connect.timeout.ms", "500"),
    ];
    let mut worker = faulty.worker(&tolerant).start();
    for (word, rule) in rules {
        faulty.proxy.set(rule);
        eventually(PATIENCE, &format!("the reason says {word}"), || {
            let told = wait_retrying(&worker, &faulty.topic).to_string();
            told.to_lowercase().contains(word).then_some(())
        });
    }
    assert_eq!(faulty.letters(), 0);
    faulty.proxy.set(|_| Reply::Late(Duration::from_millis(300)));
    wait_for(&worker, &faulty.topic, 10);
    wait_running(&worker, &faulty.topic);
    // Records of a schema that is known go on while it is away again.
    faulty.proxy.fail(503);
    kafka::produce(&kafka::bootstrap(), &faulty.topic, (10..20).map(|n| row(faulty.id, n)));
    wait_for(&worker, &faulty.topic, 20);
    assert_eq!((faulty.numbers(), faulty.letters()), ((0..20).collect(), 0));
    assert!(worker.terminate().success(), "{}", worker.logs());
}

#[test]
fn wrong_credentials_fail_the_task_and_say_so() {
    let faulty = Faulty::new("refused");
    faulty.proxy.fail(401);
    let login = [
        ("value.converter.basic.auth.credentials.source", "USER_INFO"),
        ("value.converter.basic.auth.user.info", "someone:hunter2"),
        ("errors.tolerance", "all"),
    ];
    let mut worker = faulty.worker(&login).start();
    let trace = wait_failed(&worker, &faulty.topic);
    assert!(trace.contains("401") && trace.contains("basic.auth"), "{trace}");
    assert!(!(trace + &worker.logs()).contains("hunter2"));
    assert_eq!(faulty.letters(), 0);
    faulty.proxy.heal();
    let path = format!("/connectors/{}/restart?includeTasks=true", faulty.topic);
    assert!(worker.request("POST", &path, None).status < 300);
    eventually(PATIENCE, "all rows", || {
        let sql = format!("SELECT count(*) FROM \"{}\"", faulty.topic);
        (count(&faulty.database.url(), &sql)? == 10).then_some(())
    });
    worker.terminate();
}

/// Bytes that are no record, an id that nobody knows, one that was lost, values that do not fit: each is
/// reported with where it is, which schema and which field; the others arrive.
#[test]
fn bad_records_are_named_and_good_ones_arrive() {
    let faulty = Faulty::new("bad");
    let (topic, id) = (&faulty.topic, faulty.id);
    let wide = ROW.replace("\"int\"", "{\"type\": \"array\", \"items\": {\"type\": \"enum\", \"name\": \"E\", \"symbols\": [\"A\"]}}");
    let wide = registry::register(&format!("{topic}-wide"), "AVRO", &wide);
    let lost = registry::register(&format!("{topic}-lost"), "AVRO", &ROW.replace("Row", "Lost"));
    faulty.proxy.lose(lost);
    let unknown = 2_000_000_000;
    let framed = |id: i32, rest: &[u8]| Record::value([&[0], &id.to_be_bytes()[..], rest].concat());
    let bad = [
        (Record::value(vec![7, 0, 0, 0, 1, 2]), vec!["magic".to_owned()]),
        (Record::value(vec![0, 1]), vec!["short".to_owned()]),
        (framed(unknown, &[2]), vec![unknown.to_string()]),
        (framed(lost, &[2]), vec![lost.to_string()]),
        (framed(id, &[0xff]), vec![id.to_string(), format!("{topic}-value"), "n".to_owned()]),
        (framed(id, &[2, 2]), vec![id.to_string(), format!("{topic}-value")]),
        (framed(wide, &[4, 0, 2, 0]), vec![wide.to_string(), "n[1]".to_owned()]),
    ];
    let count = bad.len() as u64;
    let (records, words): (Vec<_>, Vec<_>) = bad.into_iter().unzip();
    let mut sent = records.into_iter().flat_map(|bad| [bad.partition(0), row(id, 42)]);
    kafka::produce(&kafka::bootstrap(), topic, sent.by_ref());
    let dead = topic_name("bad-letters");
    let more = [
        ("errors.tolerance", "all"),
        ("errors.tolerance.max.ratio", "1"),
        ("errors.log.enable", "true"),
        ("errors.deadletterqueue.topic.name", &dead),
        ("errors.deadletterqueue.topic.replication.factor", "1"),
        ("errors.deadletterqueue.context.headers.enable", "true"),
    ];
    let mut worker = faulty.worker(&more).start();
    wait_for(&worker, topic, 10 + 2 * count);
    let good = (0..10).chain((0..count).map(|_| 42));
    assert_eq!(faulty.numbers(), good.collect::<Vec<_>>());
    let letters = eventually(PATIENCE, "the letters are sent", || {
        let there = kafka::topic_exists(&kafka::bootstrap(), &dead);
        let letters = there.then(|| kafka::read(&kafka::bootstrap(), &dead))?;
        (letters.len() as u64 == count).then_some(letters)
    });
    for ((n, letter), words) in (0..).zip(&letters).zip(&words) {
        let header = |name: &str| {
            letter.header(&format!("__connect.errors.{name}")).unwrap_or_default().to_owned()
        };
        let place = [header("topic"), header("partition"), header("offset")];
        assert_eq!(place, [topic.clone(), "0".to_owned(), (10 + 2 * n).to_string()]);
        let message = header("exception.message");
        let missing: Vec<_> = words.iter().filter(|word| !message.contains(&***word)).collect();
        assert!(missing.is_empty(), "letter {n} lacks {missing:?}: {message}");
    }
    assert!(worker.terminate().success(), "{}", worker.logs());
}

/// A source whose registry refuses a schema says the registry's reason; while it is away it waits.
#[test]
fn sources_wait_for_a_registry_and_tell_its_refusal() {
    let proxy = Proxy::to(registry::url());
    proxy.fail(500);
    let topic = topic_name("source-away");
    kafka::create_topic(&kafka::bootstrap(), &topic, 1);
    let subject = format!("/config/{topic}-value");
    registry::call(registry::url(), "PUT", &subject, Some(&json!({"compatibility": "BACKWARD"})));
    let source = properties(&[
        ("connector.class", "datagen"),
        ("topic", &topic),
        ("template", r#"{"id": "${sequence}"}"#),
        ("rate", "0"),
        ("count", "10"),
        ("value.converter", FORMATS[0].1),
        ("value.converter.schema.registry.url", &proxy.url()),
        ("value.converter.max.retries", "0"),
    ]);
    let mut worker = with(worker(&kafka::bootstrap()), &topic, &source).start();
    let told = wait_retrying(&worker, &topic).to_string();
    assert!(told.contains("500"), "{told}");
    assert!(kafka::read(&kafka::bootstrap(), &topic).is_empty());
    proxy.heal();
    eventually(PATIENCE, "all records", || {
        (kafka::read(&kafka::bootstrap(), &topic).len() == 10).then_some(())
    });
    let mut changed = source;
    changed.insert("template".to_owned(), r#"{"id": "${word}"}"#.to_owned());
    changed.insert("count".to_owned(), "20".to_owned());
    let path = format!("/connectors/{topic}/config");
    assert_eq!(worker.put(&path, Some(&json!(changed).to_string())).status, 200);
    let trace = wait_failed(&worker, &topic);
    assert!(trace.contains(&format!("{topic}-value")) && trace.contains("409"), "{trace}");
    assert_eq!(kafka::read(&kafka::bootstrap(), &topic).len(), 10);
    assert!(worker.terminate().success(), "{}", worker.logs());
}
