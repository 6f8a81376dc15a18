//! Clients of the REST interface that others wrote: programs from PyPI, and the requests that well-known
//! tools make, in their order.

use crate::harness::worker;
use std::path::Path;
use std::process::Command;
use testkit::{kafka, process::Worker, replay::replay, soak};

/// A worker without connectors.
fn idle() -> Worker {
    worker(&kafka::bootstrap()).start()
}

/// Runs `scripts/rest-clients` against the worker. Its output is shown when it fails.
fn run_clients(worker: &Worker, what: &str, more: &[&str]) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let url = format!("http://{}", worker.address());
    let output = Command::new(root.join("scripts/rest-clients"))
        .arg(what)
        .arg(&url)
        .args(more)
        .output()
        .expect("bash is there");
    let shown =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(output.status.success(), "{}\n{}", shown.concat(), worker.logs());
}

#[test]
fn schemathesis_finds_no_fault() {
    let mut worker = idle();
    run_clients(&worker, "schemathesis", &[if soak() { "200" } else { "5" }]);
    assert!(worker.terminate().success(), "{}", worker.logs());
}

#[test]
fn a_python_client_makes_changes_and_deletes_a_connector() {
    let worker = idle();
    std::fs::write(worker.dir().join("python-client.txt"), "one\n").expect("the folder is there");
    run_clients(&worker, "connect", &[]);
}

#[test]
fn well_known_tools_find_what_they_ask_for() {
    let worker = idle();
    for (tool, lines) in [
        ("kcctl", include_str!("../../testdata/clients/kcctl.jsonl")),
        ("kafbat", include_str!("../../testdata/clients/kafbat.jsonl")),
        ("strimzi", include_str!("../../testdata/clients/strimzi.jsonl")),
    ] {
        let (count, differences) = replay(lines, worker.address(), &[worker.dir()]);
        assert!(count > 20, "{tool}: only {count} requests");
        let told: Vec<String> =
            differences.iter().map(|d| format!("{}: {}", d.id, d.text)).collect();
        assert!(told.is_empty(), "{tool}:\n{}\n{}", told.join("\n"), worker.logs());
    }
}
