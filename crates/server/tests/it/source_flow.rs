//! What flows through a source: a file larger than the memory that it takes, and the standard streams.

use crate::harness::{BINARY, PATIENCE, status, task, wait_retrying};
use crate::sources::{Route, open};
use std::io::Write;
use std::process::{Command, Stdio};
use testkit::{
    eventually,
    kafka::{self, Broker, topic_name},
    process::Worker,
    progress, soak,
};

const LINE_BYTES: u64 = 100;
/// Far more than a worker keeps of what waits, and less than the file with what the client adds to it.
const MEMORY_MAX: f64 = 96e6;
/// What may wait for a broker: in the client, in its batch, in the task's buffer.
const WAITING_BYTES_MAX: u64 = 16 << 20;

fn resident(worker: &Worker) -> f64 {
    let page = worker.get("/metrics").body;
    let line = page.lines().find(|line| line.starts_with("process_resident_memory_bytes "));
    let (_, value) = line.and_then(|line| line.split_once(' ')).expect("it is told");
    value.parse().expect("a number")
}

/// While the broker stands still little of a file is read, and when it goes on the whole file passes
/// through as little memory. In its long form the file has 10 GB.
#[test]
fn fault_a_file_larger_than_memory_waits_and_passes() {
    let count: u64 = if soak() { 100_000_000 } else { 400_000 };
    let broker = Broker::start();
    let route = Route::over(&broker.bootstrap(), "file-large");
    let text = |number: u64| format!("{number:0width$}\n", width = LINE_BYTES as usize - 1);
    let mut file = open(&route.file());
    file.write_all(text(0).as_bytes()).expect("room");
    // Of the disk only the file takes as much as it has.
    let worker = route.worker(&[("producer.override.compression.type", "lz4")]).start();
    eventually(PATIENCE, "the first line", || {
        (task(&worker, &route.topic)["copycat"]["records_stored"] == 1).then_some(())
    });
    broker.pause();
    let block: String = (1..=1_000).map(text).collect();
    for _ in 0..count / 1_000 {
        file.write_all(block.as_bytes()).expect("room");
    }
    wait_retrying(&worker, &route.topic);
    let read = task(&worker, &route.topic)["copycat"]["records_read"].as_u64().expect("a number");
    assert!(read * LINE_BYTES <= WAITING_BYTES_MAX, "{read} lines wait");
    broker.resume();
    let mut most = resident(&worker);
    progress(PATIENCE, "all lines", || {
        most = most.max(resident(&worker));
        let stored = task(&worker, &route.topic)["copycat"]["records_stored"].as_u64();
        if stored == Some(count + 1) { Ok(()) } else { Err(stored) }
    });
    assert!(most <= MEMORY_MAX, "{most} bytes");
    let ends = kafka::end_offsets(&route.bootstrap, &route.topic);
    assert_eq!(ends.values().sum::<i64>() as u64, count + 1);
    assert!(status(&worker, &route.topic)["connector"]["state"] == "RUNNING");
}

/// Lines of the standard input come out of the standard output; an unfinished one is none.
#[test]
fn the_standard_input_flows_to_the_standard_output() {
    let folder = tempfile::tempdir().expect("a folder");
    let topic = topic_name("std");
    kafka::create_topic(&kafka::bootstrap(), &topic, 1);
    let text = "org.apache.kafka.connect.storage.StringConverter";
    let write = |name: &str, pairs: &[(&str, &str)]| {
        let path = folder.path().join(name);
        let lines: String = pairs.iter().map(|(key, value)| format!("{key}={value}\n")).collect();
        std::fs::write(&path, lines).expect("room");
        path
    };
    let offsets = folder.path().join("offsets").display().to_string();
    let files = [
        write(
            "worker.properties",
            &[
                ("bootstrap.servers", &*kafka::bootstrap()),
                ("key.converter", text),
                ("value.converter", text),
                ("offset.storage.file.filename", &offsets),
                ("listeners", "http://127.0.0.1:0"),
            ],
        ),
        write(
            "in.properties",
            &[("name", &*topic), ("connector.class", "FileStreamSource"), ("topic", &topic)],
        ),
        write(
            "out.properties",
            &[("name", "out"), ("connector.class", "FileStreamSink"), ("topics", &topic)],
        ),
    ];
    let out = std::fs::File::create(folder.path().join("out")).expect("a file");
    let mut child = Command::new(BINARY)
        .arg("standalone")
        .args(&files)
        .stdin(Stdio::piped())
        .stdout(out)
        .stderr(Stdio::null())
        .spawn()
        .expect("it runs");
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all("one\ntwo \u{e4}\r\nthree\nhalf".as_bytes()).expect("it is read");
    drop(input);
    eventually(PATIENCE, "the lines", || {
        let seen = std::fs::read_to_string(folder.path().join("out")).ok()?;
        (seen == "one\ntwo \u{e4}\nthree\n").then_some(())
    });
    let sent = Command::new("kill").arg(child.id().to_string()).status().expect("kill runs");
    assert!(sent.success());
    assert!(child.wait().expect("it ends").success());
    let stored = std::fs::read_to_string(&offsets).unwrap_or_default();
    assert!(!stored.contains("position"), "nothing is stored of the standard input: {stored}");
}
