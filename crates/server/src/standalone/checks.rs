//! Tests of what is said about wrong configurations, with all built-in plugins.

use super::plugins;
use config::Props;
use runtime::Worker;

const STRING: &str = "org.apache.kafka.connect.storage.StringConverter";
const JSON: &str = "org.apache.kafka.connect.json.JsonConverter";

fn worker(more: &[(&str, &str)]) -> Worker {
    let base =
        [("key.converter", STRING), ("value.converter", JSON), ("bootstrap.servers", "h:9092")];
    let props: Props = base.iter().chain(more).copied().collect();
    Worker::new(props, plugins(), "localhost:8083".to_owned()).unwrap()
}

fn connector(more: &[(&str, &str)]) -> Props {
    let base = [
        ("name", "c"),
        ("connector.class", "postgres-sink"),
        ("topics", "t"),
        ("connection.url", "postgresql://localhost/d"),
    ];
    base.iter().chain(more).copied().collect()
}

fn without(key: &str, more: &[(&str, &str)]) -> Props {
    connector(more).iter().filter(|(own, _)| *own != key).collect()
}

#[test]
fn keys_below_a_converter_that_it_does_not_read_are_reported_once() {
    let wrong = ("value.converter.schema.enable", "false");
    let text = "unknown configuration key value.converter.schema.enable; \
                did you mean value.converter.schemas.enable?";
    let of_worker = worker(&[wrong, ("value.converter.plugin.version", "1")]);
    let notices = of_worker.check().unwrap();
    let version = "value.converter.plugin.version: 1 has no effect";
    assert!(matches!(&*notices, [a, b] if a == text && b.starts_with(version)), "{notices:?}");
    assert_eq!(of_worker.validate(&connector(&[])).unwrap().notices, Vec::<String>::new());
    let own = [("value.converter", JSON), wrong];
    let good = worker(&[]);
    assert_eq!(good.check().unwrap(), Vec::<String>::new());
    assert_eq!(good.validate(&connector(&own)).unwrap().notices, [text]);
    // Without a class it has no effect at all, which is said instead.
    let notices = good.validate(&connector(&[wrong])).unwrap().notices;
    assert!(matches!(notices.as_slice(), [one] if one.contains("no effect")), "{notices:?}");
    let strict = [("value.converter", JSON), wrong, ("config.unknown.keys", "fail")];
    let errors = good.validate(&connector(&strict)).unwrap_err().to_string();
    assert_eq!(errors, format!("value.converter.schema.enable: {text}"));
    let headers = [("header.converter", JSON), ("header.converter.schema.enable", "false")];
    let notices = good.validate(&connector(&headers)).unwrap().notices;
    assert!(matches!(notices.as_slice(), [one] if one.contains("header.converter.schemas.enable")));
}

#[test]
fn the_workers_converters_are_checked_without_a_connector() {
    for key in ["key.converter", "value.converter"] {
        let base = [("key.converter", STRING), ("value.converter", JSON)];
        let mut props: Props = base.into_iter().collect();
        props.insert(key, "com.acme.AcmeConverter");
        let worker = Worker::new(props, plugins(), "localhost:8083".to_owned()).unwrap();
        let errors = worker.check().unwrap_err().to_string();
        for part in [key, "AcmeConverter could not be found", "Built in:", JSON] {
            assert!(errors.contains(part), "{part}: {errors}");
        }
    }
    let errors = worker(&[("value.converter.schemas.enable", "maybe")]).check().unwrap_err();
    assert!(errors.to_string().contains("value.converter.schemas.enable"), "{errors}");
}

#[test]
fn the_workers_keys_are_not_repeated_for_each_connector() {
    let worker = worker(&[("consumer.max.pol.records", "5"), ("consumer.metric.reporters", "X")]);
    let said = worker.check().unwrap();
    assert!(said.iter().any(|notice| notice.contains("consumer.max.pol.records")), "{said:?}");
    assert_eq!(worker.validate(&connector(&[])).unwrap().notices, Vec::<String>::new());
    let own = connector(&[("consumer.override.max.pol.records", "5")]);
    let notices = worker.validate(&own).unwrap().notices;
    assert!(matches!(notices.as_slice(), [one] if one.contains("consumer.override.max")));
}

#[test]
fn a_misspelt_required_key_is_pointed_at() {
    let worker = worker(&[]);
    let told = |props: &Props| worker.validate(props).unwrap_err().to_string();
    let class = told(&without("connector.class", &[("connector.clas", "postgres-sink")]));
    for part in [
        "contains no connector type",
        "connector.clas is not a key, did you mean connector.class?",
        "postgres-sink (io.copycat.PostgresSinkConnector), sqlite-sink",
    ] {
        assert!(class.contains(part), "{part}: {class}");
    }
    let topics = told(&without("topics", &[("topic", "a")]));
    for part in ["Must configure one of topics or topics.regex", "did you mean topics?"] {
        assert!(topics.contains(part), "{part}: {topics}");
    }
    let url = told(&without("connection.url", &[("conection.url", "postgresql://h/d")]));
    assert!(url.contains("conection.url is not a key, did you mean connection.url?"), "{url}");
    let source = told(&connector(&[("connector.class", "FileStreamSource")]));
    assert!(source.contains("Missing required configuration \"topic\""), "{source}");
}

#[test]
fn names_that_no_topic_can_have_are_refused() {
    let worker = worker(&[]);
    let dead_letters = "errors.deadletterqueue.topic.name";
    for (key, value, wrong) in [
        ("topics", "good,not good", "not good"),
        ("topics", "wow!", "wow!"),
        (dead_letters, "dead letters", "dead letters"),
        (dead_letters, "..", ".."),
    ] {
        let errors = worker.validate(&connector(&[(key, value)])).unwrap_err().to_string();
        let start = format!("{key}: Invalid value {wrong} for configuration {key}: not the name");
        assert!(errors.starts_with(&start), "{errors}");
    }
    let good = connector(&[("topics", "a.b_c-D9"), (dead_letters, "d")]);
    worker.validate(&good).unwrap();
}

#[test]
fn more_tasks_than_a_worker_has_threads_for_are_refused() {
    let worker = worker(&[]);
    worker.validate(&connector(&[("tasks.max", "10000")])).unwrap();
    for class in ["postgres-sink", "datagen"] {
        let wanted = connector(&[("tasks.max", " 1000000 "), ("connector.class", class)]);
        let errors = worker.validate(&wanted).unwrap_err().to_string();
        let start = "tasks.max: Invalid value 1000000 for configuration tasks.max: Value must be no more than";
        assert!(errors.contains(start), "{errors}");
    }
}

/// A REST interface over a worker without connectors; ends with the runtime.
fn rest(runtime: &tokio::runtime::Runtime, more: &[(&str, &str)]) -> (herder::Herder, String) {
    let (herder, server) = super::access::interface(runtime, worker(more));
    (herder, server.addresses()[0].to_string())
}

#[test]
fn log_levels_are_not_offered_where_the_administrative_part_is_elsewhere() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    for (listeners, status) in [(None, 200), (Some(""), 404), (Some("http://:0"), 404)] {
        let more: Vec<_> = listeners.map(|value| ("admin.listeners", value)).into_iter().collect();
        let (herder, address) = rest(&runtime, &more);
        for (method, path) in [("GET", "/admin/loggers"), ("GET", "/admin/loggers/root")] {
            let answer = testkit::process::request(&address, method, path, None).unwrap();
            assert_eq!(answer.status, status, "{listeners:?} {path}");
        }
        herder.shutdown();
    }
}

#[test]
fn the_rest_interface_answers_json_whatever_is_asked() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (herder, address) = rest(&runtime, &[]);
    let ask = |method, path| testkit::process::request(&address, method, path, None).unwrap();
    for (method, path, status) in [
        ("GET", "/connectors/%ff", 404),
        ("GET", "/connectors/%ff/status", 404),
        ("PUT", "/connectors/%c3%28/stop", 404),
        ("GET", "/connectors/nobody", 404),
        ("GET", "/connectors/nobody/config/", 404),
        ("GET", "/connectors/", 200),
        ("GET", "/health/", 200),
        ("GET", "/nowhere/", 404),
        ("DELETE", "/connectors", 405),
        ("PATCH", "/connectors/nobody/config", 400),
        ("POST", "/connectors/nobody/config", 405),
        ("GET", "//connectors", 400),
    ] {
        let answer = ask(method, path);
        assert_eq!(answer.status, status, "{method} {path}: {}", answer.body);
        let body: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
        if status != 200 {
            assert_eq!(body["error_code"], status, "{path}: {body}");
            assert!(body["message"].is_string(), "{path}: {body}");
        }
    }
    for (path, status) in [("/", 200), ("/connectors", 200), ("/connectors/nobody/status", 404)] {
        let answer = ask("HEAD", path);
        assert_eq!((answer.status, answer.body.as_str()), (status, ""), "{path}");
    }
    herder.shutdown();
}
