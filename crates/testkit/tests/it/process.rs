//! A worker process, with a stand-in for the binary: this crate is below the one that builds it.

use std::time::Duration;

use testkit::process::{Worker, WorkerSetup};

fn setup() -> WorkerSetup {
    let binary = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/testdata/worker.pl");
    Worker::standalone(binary).env("STAND_IN", "perl").connector("sink", &[("topics", "t")])
}

#[test]
fn a_worker_is_asked_killed_restarted_and_told_to_stop() {
    let mut worker = setup().start();
    let answer = worker.put("/chunked", Some("{}"));
    assert_eq!((answer.status, answer.body.as_str()), (200, "PUT /chunked {}"));
    assert_eq!(worker.get("/none").status, 404);
    let address = worker.address().to_owned();
    worker.kill9();
    assert!(!worker.runs());
    worker.restart();
    assert_eq!(worker.address(), address);
    assert!(worker.runs());
    assert!(worker.terminate().success());
    let logs = worker.logs();
    assert_eq!(logs.matches("started with sink and perl").count(), 2, "{logs}");
    assert_eq!(logs.matches("stopping").count(), 1, "{logs}");
}

#[test]
fn a_worker_that_cannot_run_is_seen_to_end() {
    let mut worker = setup().worker("fail", "true").launch();
    assert_eq!(worker.wait_exit(Duration::from_secs(20)).code(), Some(3));
}
