//! The REST interface, against what a worker of Apache Kafka Connect 4.4 answered.

use super::harness::{self, BINARY, PATIENCE, Route};
use serde_json::Value;
use testkit::{
    eventually, kafka,
    process::Worker,
    replay::{Difference, replay},
};

/// Requests and answers of a standalone worker, in order.
const STANDALONE: &str = include_str!("../../testdata/rest-standalone.jsonl");

/// Recorded answers that ours differ from, with the reason. There are none.
const DIFFERENT: [(&str, &str); 0] = [];

/// Every answer is the recorded one, but for those that are listed with a reason; and those are not.
pub(crate) fn as_recorded(
    differences: &[Difference],
    listed: &[(&str, &str)],
    logs: impl Fn() -> String,
) {
    let known = |id: &str| listed.iter().any(|(other, _)| *other == id);
    let unknown: Vec<String> = differences
        .iter()
        .filter(|difference| !known(&difference.id))
        .map(|difference| format!("{}: {}", difference.id, difference.text))
        .collect();
    assert!(unknown.is_empty(), "{}\n{}", unknown.join("\n"), logs());
    for (id, reason) in listed {
        let differs = differences.iter().any(|difference| difference.id == *id);
        assert!(differs, "{id} is answered as recorded now, and listed because {reason}");
    }
}

#[test]
fn a_standalone_worker_answers_as_recorded() {
    let mut worker = Worker::standalone(BINARY)
        .worker("bootstrap.servers", &kafka::bootstrap())
        .worker("key.converter", "org.apache.kafka.connect.storage.StringConverter")
        .worker("value.converter", "org.apache.kafka.connect.json.JsonConverter")
        .worker("value.converter.schemas.enable", "false")
        .worker("offset.flush.interval.ms", "1000")
        .start();
    let (count, differences) = replay(STANDALONE, worker.address(), &[worker.dir()]);
    assert!(count > 250, "only {count} requests");
    as_recorded(&differences, &DIFFERENT, || worker.logs());
    assert!(worker.terminate().success(), "{}", worker.logs());
}

/// What `GET offsets` says of the only partition; `None` where there is nothing.
fn offset(worker: &Worker, path: &str) -> Option<i64> {
    let answer = worker.get(&format!("{path}/offsets"));
    assert_eq!(answer.status, 200, "{}", answer.body);
    let body: Value = serde_json::from_str(&answer.body).expect("JSON");
    let offsets = body["offsets"].as_array().expect("a list");
    offsets.first().map(|entry| entry["offset"]["kafka_offset"].as_i64().expect("a number"))
}

#[test]
fn offsets_that_a_database_keeps_are_moved_there() {
    let route = Route::new("rest-offsets", 1);
    route.produce(0, 10);
    let worker = route.worker(&[]).start();
    let stored = |rows| {
        eventually(PATIENCE, "the rows are stored", || (route.stored() == rows).then_some(()));
    };
    stored(10);
    let path = format!("/connectors/{}", route.name());
    let ask = |method: &str, below: &str, body: Option<&str>, status: u16| {
        let answer = worker.request(method, &format!("{path}/{below}"), body);
        assert_eq!(answer.status, status, "{method} {below}: {}", answer.body);
        answer.body
    };
    let to = |partition: u32, offset: &str| {
        let topic = &route.topic;
        format!(
            r#"{{"offsets":[{{"partition":{{"kafka_topic":"{topic}","kafka_partition":{partition}}},"offset":{offset}}}]}}"#
        )
    };
    let five = to(0, r#"{"kafka_offset":5}"#);
    assert!(ask("PATCH", "offsets", Some(&five), 400).contains("STOPPED state"));
    ask("PUT", "stop", None, 204);
    assert_eq!(offset(&worker, &path), Some(10));
    let nowhere = ask("PATCH", "offsets", Some(&to(7, r#"{"kafka_offset":5}"#)), 400);
    assert!(nowhere.contains("there is no partition"), "{nowhere}");
    ask("PATCH", "offsets", Some(&five), 200);
    assert_eq!(offset(&worker, &path), Some(5));
    ask("PUT", "resume", None, 202);
    stored(15);
    ask("PUT", "stop", None, 204);
    ask("PATCH", "offsets", Some(&to(0, "null")), 200);
    assert_eq!(offset(&worker, &path), None);
    ask("DELETE", "offsets", None, 200);
    ask("PUT", "resume", None, 202);
    stored(25);
    ask("PUT", "pause", None, 202);
    assert_eq!(offset(&worker, &path), Some(10));
    ask("DELETE", "offsets", None, 400);
}

#[test]
fn offsets_that_a_file_keeps_are_moved_there() {
    let bootstrap = kafka::bootstrap();
    let topic = kafka::topic("rest-sqlite", 1);
    kafka::produce(&bootstrap, &topic, (0..10).map(|n| harness::record(0, n)));
    let worker = harness::worker(&bootstrap)
        .connector(
            &topic,
            &[
                ("connector.class", "sqlite-sink"),
                ("topics", &topic),
                ("connection.url", "sqlite:rows.db"),
                ("table.name.format", "rows"),
                ("auto.create", "true"),
            ],
        )
        .start();
    let path = format!("/connectors/{topic}");
    let stands_at = |at: i64| {
        let task = || harness::task(&worker, &topic);
        eventually(PATIENCE, "the position", || (offset(&worker, &path) == Some(at)).then_some(()));
        task()["copycat"]["records_stored"].as_u64()
    };
    assert_eq!(stands_at(10), Some(10));
    let ask = |method: &str, below: &str, body: Option<&str>, status: u16| {
        let answer = worker.request(method, &format!("{path}/{below}"), body);
        assert_eq!(answer.status, status, "{method} {below}: {}", answer.body);
    };
    let to = |offset: &str| {
        format!(
            r#"{{"offsets":[{{"partition":{{"kafka_topic":"{topic}","kafka_partition":0}},"offset":{offset}}}]}}"#
        )
    };
    let six = to(r#"{"kafka_offset":6}"#);
    ask("PATCH", "offsets", Some(&six), 400);
    ask("PUT", "stop", None, 204);
    ask("PATCH", "offsets", Some(&six), 200);
    assert_eq!(offset(&worker, &path), Some(6));
    ask("PUT", "resume", None, 202);
    assert_eq!(stands_at(10), Some(4));
    ask("PUT", "stop", None, 204);
    ask("DELETE", "offsets", None, 200);
    assert_eq!(offset(&worker, &path), None);
    ask("PUT", "resume", None, 202);
    assert_eq!(stands_at(10), Some(10));
}

#[test]
fn a_changed_configuration_takes_effect_and_a_deleted_connector_is_gone() {
    let route = Route::new("rest-change", 1);
    route.produce(0, 3);
    let worker = route.worker(&[]).start();
    eventually(PATIENCE, "the rows are stored", || (route.stored() == 3).then_some(()));
    let path = format!("/connectors/{}", route.name());
    route.database.execute("CREATE TABLE others (LIKE rows)");
    let patch = r#"{"table.name.format":"others","errors.tolerance":null}"#;
    let answer = worker.request("PATCH", &format!("{path}/config"), Some(patch));
    assert_eq!(answer.status, 200, "{}", answer.body);
    route.produce(3, 2);
    let count = || harness::count(&route.database.url(), "SELECT count(*) FROM others");
    eventually(PATIENCE, "the others are stored", || (count() == Some(2)).then_some(()));
    assert_eq!(route.stored(), 3);
    assert_eq!(worker.request("DELETE", &path, None).status, 204);
    assert_eq!(worker.get(&path).status, 404);
    assert_eq!(worker.get("/connectors").body, "[]");
    route.wait_for_no_members();
}
