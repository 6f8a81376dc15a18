//! Configurations that cannot work: one message that names the key and the fix, and the exit code.

use crate::harness::{BINARY, Route, wait_failed, wait_retrying, worker};
use std::{path::Path, process::Command, time::Duration};
use testkit::{
    eventually, free_port,
    kafka::{self, create_topic, topic_name},
    process::WorkerSetup,
};

/// Properties, and what the message must say.
type Case<'a> = (&'a [(&'a str, &'a str)], &'a [&'a str]);

/// Runs `copycat standalone` to its end; gives the exit code and what it wrote.
fn run(files: &[&Path]) -> (i32, String) {
    let output = Command::new(BINARY).arg("standalone").args(files).output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code().expect("it exits"), text)
}

#[track_caller]
fn refused(setup: WorkerSetup, code: i32, parts: &[&str]) {
    let mut worker = setup.launch();
    let status = worker.wait_exit(Duration::from_secs(30));
    let log = worker.logs();
    assert_eq!(status.code(), Some(code), "{log}");
    for part in parts {
        assert!(log.contains(part), "{part:?} is missing: {log}");
    }
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let dir = tempfile::tempdir().expect("a folder");
    let (missing, folder) = (dir.path().join("missing.properties"), dir.path().join("folder"));
    std::fs::create_dir(&folder).expect("a folder");
    let binary = dir.path().join("binary.properties");
    std::fs::write(&binary, [0xff, 0xfe, 0]).expect("a file");
    for file in [&missing, &folder, &binary] {
        let (code, text) = run(&[file]);
        assert_eq!(code, 2, "{text}");
        assert!(text.contains(&file.display().to_string()) && text.contains("hint"), "{text}");
    }
    let good = dir.path().join("worker.properties");
    let json = "org.apache.kafka.connect.json.JsonConverter";
    let offsets = dir.path().join("offsets").display().to_string();
    let text = format!(
        "bootstrap.servers=127.0.0.1:1\nkey.converter={json}\nvalue.converter={json}\n\
         offset.storage.file.filename={offsets}\nlisteners=http://127.0.0.1:0\n"
    );
    std::fs::write(&good, text).expect("a file");
    let (code, text) = run(&[&good, &missing]);
    assert_eq!(code, 2, "{text}");
    assert!(text.contains("missing.properties"), "{text}");
}

#[test]
fn wrong_keys_and_values_of_a_connector_end_the_worker() {
    let bootstrap = kafka::bootstrap();
    let url = ("connection.url", "postgresql://localhost/db");
    let (class, topics) = (("connector.class", "postgres-sink"), ("topics", "t"));
    let cases: &[Case<'_>] = &[
        (&[class, topics, url, topics], &["topics", "twice"]),
        (&[topics, url], &["connector.class"]),
        (&[("connector.class", "PostgresSnk"), topics, url], &["PostgresSink", "There are"]),
        (&[class, topics, url, ("tasks.max", "many")], &["tasks.max", "many"]),
        (&[class, topics, url, ("batch.size", "0")], &["batch.size"]),
        (&[class, topics, url, ("insert.mode", "upsrt")], &["insert.mode", "upsert"]),
        (&[class, topics, url, ("insert.mode", "upsert")], &["pk.mode", "record_key"]),
        (&[class, topics], &["connection.url"]),
        (&[class, topics, ("connection.url", "jdbc:mysql://h/d")], &["mysql", "PostgreSQL"]),
        (&[class, topics, ("connection.url", "jdbc:sqlite:x")], &["io.copycat.SqliteSink"]),
        (&[class, url], &["topics"]),
        (&[class, topics, ("topics.regex", "t.*"), url], &["topics.regex"]),
        (&[class, ("topics.regex", "t(.*"), url], &["topics.regex"]),
        (&[class, topics, url, ("value.converter", "JsonConvertr")], &["value.converter", "Json"]),
        (
            &[class, topics, url, ("config.unknown.keys", "fail"), ("insert.mod", "insert")],
            &["insert.mod;", "did you mean insert.mode?"],
        ),
        (
            &[class, topics, url, ("consumer.override.fetch.min.bytes", "lots")],
            &["fetch.min.bytes", "lots"],
        ),
    ];
    for (properties, parts) in cases {
        refused(worker(&bootstrap).connector("c", properties), 2, parts);
    }
}

#[test]
fn wrong_keys_and_values_of_the_worker_end_it() {
    let bootstrap = kafka::bootstrap();
    let cases: &[Case<'_>] = &[
        (&[("offset.flush.timeout.ms", "soon")], &["offset.flush.timeout.ms", "soon"]),
        (&[("bootstrap.servers", "again:1")], &["bootstrap.servers"]),
        (&[("listeners", "nonsense")], &["listeners", "nonsense"]),
        (&[("security.protocol", "SASL")], &["security.protocol"]),
    ];
    for (properties, parts) in cases {
        let setup = properties.iter().fold(worker(&bootstrap), |s, (k, v)| s.worker(k, v));
        refused(setup, 2, parts);
    }
}

#[test]
fn a_port_in_use_is_named_with_exit_code_3() {
    let port = free_port();
    let _taken = std::net::TcpListener::bind(("127.0.0.1", port)).expect("the port is free");
    let listener = format!("http://127.0.0.1:{port}");
    let setup = worker(&kafka::bootstrap()).worker("listeners", &listener);
    refused(setup, 3, &[&port.to_string(), "listeners"]);
}

/// Unknown keys are named with the nearest known one, and the worker runs.
#[test]
fn unknown_keys_are_named_once() {
    let route = Route::new("unknown", 1);
    let more = [("insert.mod", "insert"), ("consumer.override.fetch.min.byte", "1")];
    let mut worker = route.worker(&more).worker("offset.flush.intervall.ms", "1").start();
    route.produce(0, 5);
    route.expect_exactly(&route.each(5));
    assert_eq!(worker.terminate().code(), Some(0));
    let log = worker.logs();
    for (key, nearest) in [
        ("insert.mod", "insert.mode"),
        ("fetch.min.byte", "fetch.min.bytes"),
        ("offset.flush.intervall.ms", "offset.flush.interval.ms"),
    ] {
        let lines: Vec<&str> =
            log.lines().filter(|line| line.contains(&format!("did you mean {nearest}"))).collect();
        assert_eq!(lines.len(), 1, "{key}: {log}");
    }
}

/// Which address, what was tried; it goes on trying, and can be ended.
#[test]
fn the_file_of_a_distributed_worker_is_told_as_one() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("connect-distributed.properties");
    let text = "bootstrap.servers=127.0.0.1:1\ngroup.id=c\nconfig.storage.topic=configs\n\
        offset.storage.topic=offsets\nstatus.storage.topic=statuses\n\
        key.converter=StringConverter\nvalue.converter=StringConverter\n";
    std::fs::write(&file, text).expect("a file");
    let (code, told) = run(&[&file]);
    assert_eq!(code, 2, "{told}");
    assert!(told.contains("keys of a distributed worker"), "{told}");
    let worker = worker("127.0.0.1:1").worker("status.storage.topic", "statuses").start();
    let logs = worker.logs();
    assert!(logs.contains("status.storage.topic is for distributed workers"), "{logs}");
    assert!(!logs.contains("did you mean"), "{logs}");
}

#[test]
fn unreachable_kafka_is_retried_and_named() {
    let port = free_port();
    let nobody = format!("127.0.0.1:{port}");
    let properties = [
        ("connector.class", "postgres-sink"),
        ("topics", "t"),
        ("connection.url", "postgresql://127.0.0.1:1/db"),
    ];
    let mut worker = worker(&nobody).connector("c", &properties).start();
    let told = wait_retrying(&worker, "c");
    assert!(told["reason"].as_str().is_some_and(|text| text.contains(&nobody)), "{told}");
    assert_eq!(worker.terminate().code(), Some(0));
    assert!(worker.logs().contains(&nobody), "{}", worker.logs());
}

/// The cause stays in the status, and is not replaced by "no broker answers".
#[test]
fn what_keeps_kafka_away_is_in_the_status() {
    // Hangs up as a TLS port does when it is spoken to in plain text.
    let rude = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let rude_address = rude.local_addr().expect("an address").to_string();
    std::thread::spawn(move || rude.incoming().for_each(drop));
    let refused = format!("127.0.0.1:{}", free_port());
    let plain = kafka::bootstrap();
    for (address, protocol, cause) in [
        (refused.as_str(), "PLAINTEXT", "Connection refused"),
        ("no-such-host.invalid:9092", "PLAINTEXT", "Failed to resolve"),
        (&rude_address, "PLAINTEXT", "Disconnected"),
        (&plain, "SSL", "SSL handshake failed"),
    ] {
        let properties = [
            ("connector.class", "postgres-sink"),
            ("topics", "t"),
            ("connection.url", "postgresql://127.0.0.1:1/db"),
        ];
        let setup = worker(address).worker("consumer.security.protocol", protocol);
        let worker = setup.connector("c", &properties).start();
        let told = || {
            let told = wait_retrying(&worker, "c");
            let reason = told["reason"].as_str().expect("a reason").to_owned();
            (told["attempts"].as_u64().expect("a number"), reason)
        };
        let start = "cannot reach kafka broker";
        let (first, reason) = eventually(Duration::from_secs(30), cause, || {
            Some(told()).filter(|(_, reason)| reason.contains(cause))
        });
        assert!(reason.starts_with(start) && reason.contains(address), "{reason}");
        let (_, later) = eventually(Duration::from_secs(30), "two more attempts", || {
            Some(told()).filter(|(attempts, _)| *attempts >= first + 2)
        });
        assert!(later.starts_with(start) && later.contains(address), "{later}");
    }
}

/// A broker that is spoken to in the wrong way hangs up: the hint names the setting.
#[test]
fn a_wrong_security_protocol_is_hinted_at() {
    let route = Route::new("protocol", 1);
    let setup = route.worker(&[]).worker("consumer.security.protocol", "SASL_PLAINTEXT");
    let jaas = "org.apache.kafka.common.security.plain.PlainLoginModule required \
                username=\"u\" password=\"secret-word\";";
    let setup = setup.worker("consumer.sasl.mechanism", "PLAIN");
    let worker = setup.worker("consumer.sasl.jaas.config", jaas).start();
    eventually(Duration::from_secs(30), "the trouble is told", || {
        let task = crate::harness::task(&worker, route.name());
        let text = task.to_string();
        text.contains("security.protocol").then_some(())
    });
    assert!(!worker.logs().contains("secret-word"), "{}", worker.logs());
}

#[test]
fn an_unreachable_database_is_retried_and_named() {
    let mut route = Route::new("no-database", 1);
    let port = free_port();
    route.url = format!("postgresql://127.0.0.1:{port}/db");
    let worker = route.worker(&[]).start();
    let told = wait_retrying(&worker, route.name());
    let reason = told["reason"].as_str().expect("a reason");
    assert!(reason.contains(&format!("127.0.0.1:{port}")), "{reason}");
}

#[test]
fn credentials_that_are_wrong_fail_the_task() {
    let mut route = Route::new("nobody", 1);
    let url = route.database.url();
    route.url = url.replace("postgres@", "nobody_at_all@") + "?sslmode=disable";
    let worker = route.worker(&[]).start();
    let trace = wait_failed(&worker, route.name());
    assert!(trace.contains("nobody_at_all") && trace.contains("hint"), "{trace}");
}

/// Tries on, says so, and goes on by itself once the topic is there.
#[test]
fn a_missing_topic_is_waited_for() {
    let route = Route::new("missing", 1);
    let topic = topic_name("created-later");
    let route = Route { topic, ..route };
    let worker = route.worker(&[("consumer.override.metadata.max.age.ms", "500")]).start();
    eventually(Duration::from_secs(30), "the topic is named", || {
        let task = crate::harness::task(&worker, route.name());
        let reason = task["copycat"]["reason"].as_str()?;
        reason.contains(&route.topic).then_some(())
    });
    create_topic(&route.bootstrap, &route.topic, 1);
    route.produce(0, 10);
    route.expect_exactly(&route.each(10));
}

#[test]
fn a_missing_table_without_auto_create_fails_with_the_way_on() {
    let route = Route::new("no-table", 1);
    let worker = route.worker(&[("table.name.format", "no_such_table")]).start();
    route.produce(0, 10);
    let trace = wait_failed(&worker, route.name());
    for part in ["no_such_table", "auto.create"] {
        assert!(trace.contains(part), "{part}: {trace}");
    }
    assert_eq!(route.dead_letters(), 0);
}

/// B051: an upsert needs a matching unique index; the message has the statement.
#[test]
fn an_upsert_without_an_index_fails_with_the_statement() {
    let route = Route::new("no-index", 1);
    let more = [
        ("insert.mode", "upsert"),
        ("pk.mode", "record_value"),
        ("pk.fields", "n"),
        ("errors.tolerance", "all"),
    ];
    let worker = route.worker(&more).start();
    route.produce(0, 10);
    let trace = wait_failed(&worker, route.name());
    assert!(trace.contains("CREATE UNIQUE INDEX"), "{trace}");
    assert_eq!(route.dead_letters(), 0);
}

#[test]
fn missing_privileges_fail_with_the_grant() {
    let mut route = Route::new("no-grant", 1);
    let role = route.database.name().to_owned();
    route.database.execute(&format!("CREATE ROLE {role} LOGIN"));
    let url = route.database.url();
    route.url = url.replace("postgres@", &format!("{role}@")) + "?sslmode=disable";
    // Not even the table of positions can be made.
    let mut worker = route.worker(&[("errors.tolerance", "all")]).start();
    let trace = wait_failed(&worker, route.name());
    for part in ["CREATE TABLE", "GRANT", &role] {
        assert!(trace.contains(part), "{part}: {trace}");
    }
    // Then it can, and the rows cannot be written.
    route.database.execute(&format!("GRANT CREATE ON SCHEMA public TO {role}"));
    worker.kill9();
    worker.restart();
    route.produce(0, 10);
    let trace = wait_failed(&worker, route.name());
    assert!(trace.contains("rows") && trace.contains("GRANT"), "{trace}");
    assert_eq!(route.dead_letters(), 0);
    route.database.execute(&format!("GRANT INSERT, SELECT ON rows TO {role}"));
    worker.kill9();
    worker.restart();
    route.expect_exactly(&route.each(10));
    route.database.execute(&format!("DROP OWNED BY {role}; DROP ROLE {role}"));
}
