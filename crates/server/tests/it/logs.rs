//! What the worker logs: as JSON, with the connector and the task, and not a line a record.

use crate::harness::{PATIENCE, Route, wait_retrying};
use serde_json::{Map, Value};
use testkit::{
    eventually,
    kafka::{Record, produce},
};

fn lines(log: &str) -> Vec<Map<String, Value>> {
    let object = |line: &str| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"));
    log.lines().map(object).collect()
}

fn text<'a>(line: &'a Map<String, Value>, name: &str) -> &'a str {
    line.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// A connector that finds no broker, one whose topic is full of bad records, one that fails.
#[test]
fn json_lines_name_connector_and_task_and_a_flood_is_summed_up() {
    const BAD: u64 = 40;
    let route = Route::new("logs", 1);
    let poison = Route::new("logs-poison", 1);
    let tolerant = [("errors.tolerance", "all"), ("errors.tolerance.max.ratio", "1")];
    let lost = [("consumer.override.bootstrap.servers", "127.0.0.1:1")];
    let mut worker = route
        .worker(&tolerant)
        .connector("lost", &route.properties(&lost))
        .connector("poisoned", &poison.properties(&[]))
        .env("COPYCAT_LOG_FORMAT", "json")
        .start();
    // With its position the connector has made its table of letters.
    route.produce(0, 1);
    route.wait_for_all(1);
    for n in 0..BAD {
        produce(&route.bootstrap, &route.topic, [Record::value(format!("bad {n}"))]);
        eventually(PATIENCE, "reported", || (route.dead_letters() == n + 1).then_some(()));
    }
    produce(&poison.bootstrap, &poison.topic, [Record::value("bad")]);
    crate::harness::wait_failed(&worker, "poisoned");
    wait_retrying(&worker, "lost");
    assert_eq!(worker.terminate().code(), Some(0));
    let log = worker.logs();
    let lines = lines(&log);
    let told = |what: &str| -> Vec<&Map<String, Value>> {
        lines.iter().filter(|line| text(line, "message").contains(what)).collect()
    };
    let reported = told("reported to the dead letters");
    let records: u64 = reported.iter().filter_map(|line| line["records"].as_u64()).sum();
    assert_eq!(records, BAD, "{reported:?}");
    assert!((reported.len() as u64) < BAD / 2, "{reported:?}");
    assert!(reported.iter().all(|line| text(line, "connector") == route.name()));
    let of_client: Vec<_> = lines.iter().filter(|line| text(line, "logger") == "kafka").collect();
    assert!(!of_client.is_empty(), "the client of the lost connector complains");
    for line in &of_client {
        assert_eq!(text(line, "connector"), "lost", "{line:?}");
        assert_eq!(line.get("task"), Some(&Value::from(0)), "{line:?}");
    }
    let failed = told("task failed");
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert_eq!((text(failed[0], "connector"), &failed[0]["task"]), ("poisoned", &0.into()));
    for line in &lines {
        let of_task = text(line, "logger").starts_with("runtime.");
        assert!(!of_task || line.contains_key("connector"), "{line:?}");
    }
}
