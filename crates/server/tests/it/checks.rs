//! What a validation says of the outside: each side reached, refused, lacking.

use crate::harness::{self, Route};
use serde_json::{Value, json};
use testkit::{
    kafka::{self, topic_name},
    process::Worker,
    unique,
};

/// The answer to a validation of these properties.
pub(crate) fn validate(worker: &Worker, properties: &[(&str, &str)], query: &str) -> Value {
    let config: serde_json::Map<String, Value> =
        properties.iter().map(|(key, value)| ((*key).to_owned(), json!(value))).collect();
    let class = config["connector.class"].as_str().expect("a class");
    let path = format!("/connector-plugins/{class}/config/validate{query}");
    let answer = worker.request("PUT", &path, Some(&Value::Object(config).to_string()));
    assert_eq!(answer.status, 200, "{}", answer.body);
    serde_json::from_str(&answer.body).expect("JSON")
}

/// The lines: name, outcome, what and hint in one.
fn lines(answer: &Value) -> Vec<(String, String, String)> {
    let checks = answer["copycat"]["checks"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let line = |check: &Value| {
        let more = format!("{} {}", text(&check["what"]), text(&check["hint"]));
        (text(&check["name"]), text(&check["outcome"]), more)
    };
    checks.iter().map(line).collect()
}

/// The line of that name has this outcome and says this.
#[track_caller]
pub(crate) fn expect(answer: &Value, name: &str, outcome: &str, part: &str) {
    let lines = lines(answer);
    let found = lines.iter().find(|(own, ..)| own == name);
    let (_, found, text) = found.unwrap_or_else(|| panic!("no line {name}: {lines:#?}"));
    assert_eq!(found, outcome, "{name}: {text}");
    assert!(text.contains(part), "{name}: {part} is not in {text}");
}

/// The errors of a key.
fn errors(answer: &Value, key: &str) -> String {
    let configs = answer["configs"].as_array().expect("a list");
    let found = configs.iter().find(|config| config["value"]["name"] == key);
    found.map(|config| config["value"]["errors"].to_string()).unwrap_or_default()
}

const ASKED: &str = "?copycat.validate.connect=true";

#[test]
fn everything_that_a_sink_needs_is_looked_at_and_nothing_is_changed() {
    let route = Route::new("check-sink", 1);
    let worker = harness::worker(&route.bootstrap).start();
    let letters = topic_name("check-letters");
    let more = [
        ("name", route.name()),
        ("errors.tolerance", "all"),
        ("errors.deadletterqueue.topic.name", letters.as_str()),
    ];
    let properties = route.properties(&more);
    assert!(lines(&validate(&worker, &properties, "")).is_empty(), "only where it is asked for");
    let by_key = [&properties[..], &[("copycat.validate.connect", "true")]].concat();
    for answer in [validate(&worker, &properties, ASKED), validate(&worker, &by_key, "")] {
        assert_eq!(answer["error_count"], 0, "{answer:#}");
        expect(&answer, "kafka", "ok", "answers");
        expect(&answer, &format!("topic {}", route.topic), "ok", "may be read");
        expect(&answer, &format!("group {}", route.group()), "ok", "may be used");
        expect(&answer, &format!("dead-letter topic {letters}"), "ok", "may be created");
        expect(&answer, "database", "ok", "answers, PostgreSQL");
        expect(&answer, "database TLS", "skipped", "sslmode=disable");
        expect(&answer, "database login", "ok", "role ");
        expect(&answer, "offset table copycat_offsets", "ok", "may be created");
        expect(&answer, "table rows", "ok", "INSERT");
    }
    let made = "SELECT count(*) FROM pg_tables WHERE tablename LIKE 'copycat%'";
    assert_eq!(route.database.value(made).as_deref(), Some("0"));
    assert!(!kafka::topic_exists(&route.bootstrap, &letters));
}

#[test]
fn each_failure_is_an_error_of_its_key_and_says_what_to_do() {
    let route = Route::new("check-failures", 1);
    let worker = harness::worker(&route.bootstrap).start();
    let role = unique("checked").replace('-', "_");
    route.database.execute(&format!("CREATE ROLE {role} LOGIN"));
    let server = route.url.split_once('@').expect("a user").1.to_owned();
    let look = |more: &[(&str, &str)]| {
        let more = [&[("name", "c"), ("copycat.validate.connect", "true")], more].concat();
        validate(&worker, &route.properties(&more), "")
    };
    let closed = look(&[("connection.url", "postgresql://127.0.0.1:1/d?sslmode=disable")]);
    expect(&closed, "database", "failed", "is the server up");
    expect(&closed, "database login", "skipped", "no server answers");
    assert!(errors(&closed, "connection.url").contains("database: "), "{closed:#}");
    assert_eq!(closed["error_count"], 1, "{closed:#}");

    let place = server.split_once('/').expect("a database").0;
    let nowhere = look(&[("connection.url", &format!("postgresql://{role}@{place}/nowhere"))]);
    expect(&nowhere, "database name", "failed", "CREATE DATABASE");
    let tls = look(&[("connection.url", &format!("{}?sslmode=require", route.database.url()))]);
    expect(&tls, "database TLS", "failed", "TLS");
    let nobody = look(&[("connection.url", &format!("postgresql://nobody_here@{server}"))]);
    expect(&nobody, "database login", "failed", "nobody_here");

    let url = format!("postgresql://{role}@{server}");
    let poor = look(&[("connection.url", &url), ("insert.mode", "upsert"), ("pk.mode", "kafka")]);
    expect(&poor, "offset table copycat_offsets", "failed", "CREATE TABLE");
    expect(
        &poor,
        "table rows",
        "failed",
        &format!("GRANT SELECT, INSERT, UPDATE ON \"rows\" TO \"{role}\""),
    );
    assert!(errors(&poor, "table.name.format").contains("lacks"), "{poor:#}");
    let absent = look(&[("table.name.format", "absent")]);
    expect(&absent, "table absent", "failed", "auto.create");
    let created = look(&[("table.name.format", "absent"), ("auto.create", "true")]);
    expect(&created, "table absent", "ok", "may be created");

    let missing = topic_name("check-missing");
    let topic = look(&[("topics", &missing)]);
    expect(&topic, &format!("topic {missing}"), "failed", "create it");
    assert!(errors(&topic, "topics").contains("no such topic"), "{topic:#}");
    let servers = "consumer.override.bootstrap.servers";
    let silent = look(&[(servers, "127.0.0.1:1")]);
    expect(&silent, "kafka", "failed", "127.0.0.1:1");
    assert!(errors(&silent, servers).contains("kafka: "), "{silent:#}");

    let wrong = look(&[("tasks.max", "none")]);
    expect(&wrong, "connections", "skipped", "errors");
    route.database.execute(&format!("DROP ROLE {role}"));
}

#[test]
fn files_are_looked_at_where_they_are() {
    let worker = harness::worker(&kafka::bootstrap()).start();
    let folder = worker.dir().display().to_string();
    let topic = topic_name("check-files");
    let file = |class: &str, path: &str| {
        let properties = [
            ("name", "c"),
            ("connector.class", class),
            ("topic", &topic),
            ("topics", &topic),
            ("file", path),
        ];
        validate(&worker, &properties, ASKED)
    };
    let unread = file("FileStreamSource", &format!("{folder}/none"));
    expect(&unread, "file", "failed", "waits until the file is there");
    assert!(errors(&unread, "file").contains("is not there"), "{unread:#}");
    expect(&file("FileStreamSink", &format!("{folder}/none")), "file", "ok", "may be created");
    expect(&file("FileStreamSink", &folder), "file", "failed", "name a file in it");
    let sqlite = |path: &str| {
        let url = format!("sqlite:{path}");
        let properties = [
            ("name", "c"),
            ("connector.class", "sqlite-sink"),
            ("topics", topic.as_str()),
            ("connection.url", url.as_str()),
            ("auto.create", "true"),
        ];
        validate(&worker, &properties, ASKED)
    };
    let made = sqlite(&format!("{folder}/a.db"));
    expect(&made, "database file", "ok", "may be created");
    expect(&made, &format!("table {topic}"), "ok", "may be created");
    expect(
        &sqlite(&format!("{folder}/no/a.db")),
        "database file",
        "failed",
        "create the directory",
    );
    assert!(!worker.dir().join("a.db").try_exists().expect("a folder"), "nothing is made");
}
