//! Secrets are where they are used and nowhere else: not in answers, logs, topics, metrics or files.

use crate::harness::{Route, eventually_ended, worker};
use serde_json::{Map, Value, json};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use testkit::{
    kafka::{self, Record, topic_name},
    process::Worker,
};

/// Every secret begins with this, whatever it is for.
const MARK: &str = "hush-hush";
/// A login as it stands in a header: `me:hush-hush-header`.
const HEADER: &str = "bWU6aHVzaC1odXNoLWhlYWRlcg==";

/// Secrets by name, in a file that a provider reads.
const SECRETS: [(&str, &str); 6] = [
    ("password", "hush-hush-password"),
    ("url", "postgresql://nobody:hush-hush-url@127.0.0.1:1/d?sslmode=disable"),
    ("word", "hush-hush-word"),
    (
        "jaas",
        "org.apache.kafka.common.security.plain.PlainLoginModule required username=\"u\" password=\"hush-hush-jaas\";",
    ),
    ("number", "hush-hush-number"),
    ("mode", "hush-hush-mode"),
];

struct Case {
    name: &'static str,
    config: Vec<(&'static str, String)>,
    /// It cannot be created: only its validation is looked at.
    refused: bool,
}

fn reference(file: &str, key: &str) -> String {
    format!("${{f:{file}:{key}}}")
}

/// Connectors that can be created and then meet what is outside.
fn running(route: &Route, file: &str, letters: &str) -> Vec<Case> {
    let of = |key: &str| reference(file, key);
    let place = route.url.split_once('@').expect("a user").1.to_owned();
    let case = |name, config: &[(&'static str, String)]| {
        let config = config.to_vec();
        Case { name, config, refused: false }
    };
    let url = |text: String| ("connection.url", text);
    let elsewhere = route.url.replace("/copycat", "/no_copycat");
    let tolerant = "errors.tolerance";
    let topic = "errors.deadletterqueue.topic.name";
    vec![
        case("wrong-host", &[url(of("url"))]),
        case("wrong-user", &[url(format!("postgresql://nobody_here:{}@{place}", of("word")))]),
        case(
            "wrong-database",
            &[
                url(format!("{elsewhere}&password={}", of("word"))),
                ("connection.password", of("password")),
            ],
        ),
        case(
            "wrong-table",
            &[("table.name.format", "absent".into()), ("connection.password", of("password"))],
        ),
        case(
            "wrong-rows",
            &[
                ("connection.password", of("password")),
                (tolerant, "all".into()),
                ("errors.tolerance.max.ratio", "1".into()),
                ("errors.log.enable", "true".into()),
                (topic, letters.to_owned()),
                ("errors.deadletterqueue.topic.replication.factor", "1".into()),
                ("errors.deadletterqueue.context.headers.enable", "true".into()),
            ],
        ),
        case("wrong-login", &login(of("jaas"))),
    ]
}

fn login(jaas: String) -> [(&'static str, String); 3] {
    [
        ("consumer.override.security.protocol", "SASL_PLAINTEXT".into()),
        ("consumer.override.sasl.mechanism", "PLAIN".into()),
        ("consumer.override.sasl.jaas.config", jaas),
    ]
}

/// Connectors that are refused for a value that is a secret.
fn refused(file: &str) -> Vec<Case> {
    let of = |key: &str| reference(file, key);
    let folder = file.rsplit_once('/').expect("a folder").0;
    let case = |name, config: &[(&'static str, String)]| {
        let config = config.to_vec();
        Case { name, config, refused: true }
    };
    vec![
        case(
            "wrong-store",
            &[
                ("consumer.override.security.protocol", "SSL".into()),
                ("consumer.override.ssl.keystore.location", "/nowhere.p12".into()),
                ("consumer.override.ssl.keystore.password", of("word")),
                ("consumer.override.ssl.key.password", of("password")),
            ],
        ),
        case("wrong-module", &login(of("word"))),
        case("wrong-number", &[("tasks.max", of("number"))]),
        case("wrong-choice", &[("insert.mode", of("mode"))]),
        case("wrong-name", &[("table.name.format", format!("${{{}", of("word")))]),
        case("wrong-class", &[("value.converter", of("word"))]),
        case("wrong-transform", &[("transforms", "a".into()), ("transforms.a.type", of("word"))]),
        case("from-environment", &[("tasks.max", "${e:HUSH}".into())]),
        case("from-folder", &[("tasks.max", format!("${{d:{folder}:hush}}"))]),
    ]
}

fn json_of(route: &Route, case: &Case) -> String {
    let mut config = Map::new();
    let own: Vec<(&str, &str)> = case.config.iter().map(|(k, v)| (*k, v.as_str())).collect();
    for (key, value) in route.properties(&own) {
        config.insert(key.to_owned(), json!(value));
    }
    config.insert("name".to_owned(), json!(case.name));
    Value::Object(config).to_string()
}

/// Every answer there is, in one text.
fn everything(worker: &Worker, names: &[&str]) -> String {
    let mut paths: Vec<String> = [
        "/",
        "/health",
        "/metrics",
        "/openapi.json",
        "/admin/loggers",
        "/connector-plugins",
        "/connectors?expand=status&expand=info",
    ]
    .map(str::to_owned)
    .to_vec();
    for name in names {
        let below = [
            "",
            "/config",
            "/status",
            "/tasks",
            "/tasks/0/status",
            "/topics",
            "/offsets",
            "/tasks-config",
        ];
        paths.extend(below.map(|path| format!("/connectors/{name}{path}")));
    }
    paths.iter().map(|path| format!("{path}: {}\n", worker.get(path).body)).collect()
}

/// A request with a login in its header, good or not.
fn log_in(address: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    let request = format!(
        "GET /connectors HTTP/1.1\r\nHost: x\r\nAuthorization: Basic {HEADER}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    answer
}

#[track_caller]
fn expect_discreet(what: &str, text: &str) {
    for secret in [MARK, HEADER] {
        let lines: Vec<&str> = text.lines().filter(|line| line.contains(secret)).take(5).collect();
        assert!(lines.is_empty(), "{what} tells {secret}:\n{}", lines.join("\n"));
    }
}

#[test]
fn secrets_are_told_nowhere() {
    let route = Route::new("secrets", 1);
    route.produce(0, 3);
    kafka::produce(&route.bootstrap, &route.topic, [Record::value("no JSON").partition(0)]);
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let lines: String = SECRETS.iter().map(|(key, value)| format!("{key}={value}\n")).collect();
    std::fs::write(at("secrets"), lines).expect("room");
    std::fs::write(at("hush"), "hush-hush-folder\n").expect("room");
    let letters = topic_name("secret-letters");
    let mut cases = running(&route, &at("secrets"), &letters);
    cases.extend(refused(&at("secrets")));
    let mut worker = worker(&route.bootstrap)
        .env("COPYCAT_LOG_LEVEL", "trace")
        .env("HUSH", "hush-hush-environment")
        .env("CONNECT_PRODUCER_SSL_KEY_PASSWORD", "hush-hush-variable")
        .worker("admin.ssl.key.password", "hush-hush-worker")
        .worker("copycat.state.file", &at("state"))
        .worker("config.providers", "f,e,d")
        .worker("config.providers.f.class", "FileConfigProvider")
        .worker("config.providers.e.class", "EnvVarConfigProvider")
        .worker("config.providers.d.class", "DirectoryConfigProvider")
        .start();
    let mut told = log_in(worker.address());
    let (mut names, mut wrong) = (Vec::new(), Vec::new());
    for case in &cases {
        let config = json_of(&route, case);
        let path = "/connector-plugins/postgres-sink/config/validate?copycat.validate.connect=true";
        let answer = worker.request("PUT", path, Some(&config));
        assert_eq!(answer.status, 200, "{}: {}", case.name, answer.body);
        told.push_str(&answer.body);
        let path = format!("/connectors/{}/config", case.name);
        let answer = worker.request("PUT", &path, Some(&config));
        told.push_str(&answer.body);
        wrong.extend((answer.status != if case.refused { 400 } else { 201 }).then_some(case.name));
        if answer.status == 201 {
            names.push(case.name);
        }
    }
    for name in &names {
        eventually_ended(&worker, name);
        let stop = worker.request("PUT", &format!("/connectors/{name}/stop"), None).body;
        let reset = worker.request("DELETE", &format!("/connectors/{name}/offsets"), None).body;
        told.push_str(&everything(&worker, &[name]));
        let start = worker.request("PUT", &format!("/connectors/{name}/resume"), None).body;
        told.push_str(&format!("{stop}\n{reset}\n{start}\n"));
        eventually_ended(&worker, name);
    }
    told.push_str(&everything(&worker, &names));
    expect_discreet("REST", &told);
    // The errors were there, with references in place of values.
    for key in ["number", "mode", "word"] {
        let told_so = format!("Invalid value {} for", reference(&at("secrets"), key));
        assert!(told.contains(&told_so), "{told_so} is not told:\n{told}");
    }
    expect_discreet(
        "the file of connectors",
        &std::fs::read_to_string(at("state")).expect("a file"),
    );
    for letter in kafka::read(&route.bootstrap, &letters) {
        expect_discreet("a dead letter", &format!("{letter:?}"));
    }
    assert!(worker.terminate().success());
    expect_discreet("the log", &worker.logs());
    assert!(wrong.is_empty(), "refused and should not be, or the other way round: {wrong:?}");
}

/// Values name classes, versions, transforms and groups of topics, and so keys: neither tells a secret.
#[test]
fn secrets_that_name_parts_of_a_configuration_are_told_nowhere() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("secrets").display().to_string();
    std::fs::write(&file, "word=hush-hush-word\n").expect("room");
    let mut worker = worker(&kafka::bootstrap())
        .worker("config.providers", "f")
        .worker("config.providers.f.class", "FileConfigProvider")
        .start();
    let word = reference(&file, "word");
    for key in [
        "connector.class",
        "connector.plugin.version",
        "transforms",
        "predicates",
        "topic.creation.groups",
        "topic.creation.default.partitions",
    ] {
        let mut config =
            json!({ "name": "c", "connector.class": "FileStreamSource", "topic": "t" });
        config["value.converter"] = json!("org.apache.kafka.connect.json.JsonConverter");
        config[key] = json!(word);
        let path = "/connector-plugins/FileStreamSource/config/validate";
        let validated = worker.request("PUT", path, Some(&config.to_string())).body;
        expect_discreet(&format!("validation of {key}"), &validated);
        assert!(validated.contains(&word), "{key}: {validated}");
        let body = json!({ "name": "c", "config": config }).to_string();
        let answer = worker.request("POST", "/connectors", Some(&body));
        expect_discreet(&format!("creation with {key}"), &answer.body);
        assert_eq!(answer.status, 400, "{key}: {}", answer.body);
        assert!(answer.body.contains(&word), "{key}: {}", answer.body);
    }
    let version = "value.converter.plugin.version";
    let config = json!({
        "name": "c", "connector.class": "FileStreamSource", "topic": "t", version: word,
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    });
    let body = json!({ "name": "c", "config": config }).to_string();
    assert_eq!(worker.request("POST", "/connectors", Some(&body)).status, 201);
    assert!(worker.terminate().success());
    let logs = worker.logs();
    expect_discreet("the log", &logs);
    assert!(logs.contains(&format!("{version}: {word} has no effect")), "{logs}");
}

/// What the user wrote out in full is shown to who may read configurations, as in Kafka Connect; it is in no
/// status, validation, log or metric.
#[test]
fn passwords_that_were_written_out_are_in_their_configuration_alone() {
    let route = Route::new("secrets-plain", 1);
    let url = "postgresql://nobody:hush-hush-url@127.0.0.1:1/d?sslmode=disable&password=hush-hush-parameter";
    let own = [
        ("connection.url", url),
        ("connection.password", "hush-hush-password"),
        ("consumer.override.ssl.key.password", "hush-hush-key"),
    ];
    let mut worker = route.worker(&own).env("COPYCAT_LOG_LEVEL", "trace").start();
    eventually_ended(&worker, route.name());
    let case = Case {
        name: "c",
        config: own.iter().map(|(key, value)| (*key, (*value).to_owned())).collect(),
        refused: false,
    };
    let path = "/connector-plugins/postgres-sink/config/validate?copycat.validate.connect=true";
    let answer = worker.request("PUT", path, Some(&json_of(&route, &case))).body;
    let name = route.name();
    let status = worker.get(&format!("/connectors/{name}/status")).body;
    let metrics = worker.get("/metrics").body;
    let offsets = worker.get(&format!("/connectors/{name}/offsets")).body;
    let mut parsed: Value = serde_json::from_str(&answer).expect("JSON");
    for config in parsed["configs"].as_array_mut().expect("a list") {
        // The text that was sent, as a string of no special kind.
        if config["value"]["name"] == "connection.url" {
            config["value"]["value"] = Value::Null;
        }
    }
    for (what, text) in [
        ("status", status),
        ("metrics", metrics),
        ("offsets", offsets),
        ("validation", parsed.to_string()),
    ] {
        expect_discreet(what, &text);
    }
    assert!(worker.terminate().success());
    expect_discreet("the log", &worker.logs());
}

/// A worker that cannot start says why without the value.
#[test]
fn a_wrong_value_of_the_worker_is_told_by_its_reference() {
    let mut worker = worker(&kafka::bootstrap())
        .env("HUSH", "hush-hush-environment")
        .worker("config.providers", "e")
        .worker("config.providers.e.class", "EnvVarConfigProvider")
        .worker("offset.flush.timeout.ms", "${e:HUSH}")
        .launch();
    assert_eq!(worker.wait_exit(crate::harness::PATIENCE).code(), Some(2));
    let logs = worker.logs();
    assert!(
        logs.contains("Invalid value ${e:HUSH} for configuration offset.flush.timeout.ms"),
        "{logs}"
    );
    expect_discreet("the last word", &logs);
}
