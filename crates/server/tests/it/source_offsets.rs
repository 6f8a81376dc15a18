//! Where a source's offsets are kept, and settings of its producer that they rest on.

use crate::harness::{PATIENCE, wait_failed, wait_running};
use crate::sources::{Route, expect_once};
use std::path::Path;
use testkit::{
    eventually,
    kafka::{self, Record, topic_name},
    process::Worker,
};

/// A worker that is switched to exactly-once goes on where its file of offsets says, and from then on
/// where the topic says.
#[test]
fn a_file_goes_on_where_it_was_when_exactly_once_is_switched_on() {
    let route = Route::new("file-switched");
    route.write(0..500);
    let mut before = route.worker(&[]).start();
    route.wait_for_last(500);
    assert!(before.terminate().success());
    route.write(500..700);
    let mut worker = route.exactly_once(&[]).start();
    route.wait_for_last(700);
    assert!(worker.terminate().success());
    route.write(700..800);
    worker.launch();
    worker.wait_healthy();
    route.wait_for_last(800);
    expect_once(&route.read(), 800);
}

/// The offsets of a worker of Kafka Connect count, whichever way it writes a key and on whichever
/// partition; records of other kinds and nulls are no hindrance.
#[test]
fn offsets_that_another_worker_wrote_are_followed() {
    let route = Route::new("file-foreign");
    let offsets = format!("offsets-{}", route.topic);
    let compact = [("cleanup.policy", "compact")];
    kafka::create_topic_with(&route.bootstrap, &offsets, 5, &compact);
    route.write(0..100);
    let length = std::fs::metadata(route.file()).expect("the file").len();
    route.write(100..150);
    let (name, file) = (&route.topic, route.file());
    let key = |name: &str| format!(r#"[ "{name}" , {{ "filename" : "{}" }} ]"#, file.display());
    let records = [
        Record::value("{}").key("no JSON"),
        Record::value("{}").key(r#"["only a name"]"#),
        Record::value(r#"{"position":1}"#).key(key("another")),
        Record::tombstone(key(name)),
        Record::value(format!(r#"{{"position":{length}}}"#)).key(key(name)),
    ];
    kafka::produce(&route.bootstrap, &offsets, records);
    let worker = route.exactly_once(&[]).start();
    eventually(PATIENCE, "the last line", || route.read().contains(&149).then_some(()));
    assert_eq!(route.read(), (100..150).collect::<Vec<_>>());
    // The same key is written again, so that compaction keeps one.
    let own = eventually(PATIENCE, "the offset", || {
        let records = kafka::read_with(&route.bootstrap, &offsets, "read_committed");
        let own: Vec<_> = records
            .into_iter()
            .filter(|r| r.key.as_deref() == Some(key(name).as_bytes()))
            .collect();
        (own.len() == 3).then_some(own)
    });
    assert!(own.iter().all(|record| record.partition == own[0].partition));
    drop(worker);
}

#[test]
fn a_topic_that_deletes_offsets_is_refused() {
    let route = Route::new("file-deleting");
    let offsets = format!("offsets-{}", route.topic);
    kafka::create_topic(&route.bootstrap, &offsets, 1);
    let worker = route.exactly_once(&[]).start();
    let told = wait_failed(&worker, &route.topic);
    assert!(told.contains(&format!("topic {offsets} has cleanup.policy=delete")), "{told}");
    assert!(told.contains("--add-config cleanup.policy=compact"), "{told}");
}

/// Records beside the offsets that their transaction waits for would hold up whoever reads these.
#[test]
fn records_do_not_go_to_the_topic_of_their_own_offsets() {
    let route = Route::new("file-own");
    let offsets = format!("offsets-{}", route.topic);
    let worker = route
        .exactly_once(&[
            ("transforms", "astray"),
            ("transforms.astray.type", "org.apache.kafka.connect.transforms.RegexRouter"),
            ("transforms.astray.regex", ".*"),
            ("transforms.astray.replacement", &offsets),
        ])
        .start();
    route.write(0..10);
    let told = wait_failed(&worker, &route.topic);
    assert!(told.contains("may not produce to their own offsets topics"), "{told}");
    assert!(kafka::read(&route.bootstrap, &offsets).is_empty());
}

/// What would take the ground from under the guarantee is ignored and said so; the lines arrive.
#[test]
fn producer_settings_that_exactly_once_rests_on_are_kept() {
    let id = ("producer.override.transactional.id", "mine", "mine is ignored");
    let twice = ("producer.override.enable.idempotence", "false", "false is ignored");
    for (exactly_once, (key, value, said)) in [(true, id), (false, id), (true, twice)] {
        let route = Route::new("file-producer");
        let own = [(key, value)];
        let setup = if exactly_once { route.exactly_once(&own) } else { route.worker(&own) };
        route.write(0..100);
        let worker = setup.start();
        route.wait_for_last(100);
        expect_once(&route.read(), 100);
        wait_running(&worker, &route.topic);
        let logs = worker.logs();
        assert!(logs.contains(&format!("{key}: {said}")), "{logs}");
    }
}

/// Lines that a transform takes out move the position all the same.
#[test]
fn positions_move_over_lines_that_are_filtered() {
    let route = Route::new("file-filtered");
    let mut worker = route
        .worker(&[
            ("transforms", "none"),
            ("transforms.none.type", "org.apache.kafka.connect.transforms.Filter"),
        ])
        .start();
    route.write(0..100);
    let end = format!(r#"{{"position":{}}}"#, std::fs::metadata(route.file()).expect("it").len());
    eventually(PATIENCE, "the offset", || {
        let stored = std::fs::read_to_string(route.offsets()).ok()?;
        stored.contains(&end).then_some(())
    });
    assert!(worker.terminate().success());
    assert_eq!(route.read(), Vec::<u64>::new());
}

/// The files of the README: what they are told to do is what they do.
#[test]
fn the_readme_copies_a_file_through_kafka() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let readme = std::fs::read_to_string(readme).expect("the README");
    let section = readme.split("## Files into Kafka, and back").nth(1).expect("the section");
    let section = section.split("\n## ").next().expect("its end");
    let folder = tempfile::tempdir().expect("a folder");
    let (topic, offsets) = (topic_name("readme-lines"), topic_name("readme-offsets"));
    let place = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    // Names of topics and files that no other test has.
    let here = |key: &str, value: &str| match key {
        "topic" | "topics" => topic.clone(),
        "offset.storage.topic" => offsets.clone(),
        "file" | "offset.storage.file.filename" => place(value),
        "bootstrap.servers" => kafka::bootstrap(),
        _ => value.to_owned(),
    };
    let mut setup = Worker::standalone(crate::harness::BINARY);
    let blocks = section.split("```properties\n").skip(1);
    let blocks: Vec<&str> = blocks.filter_map(|rest| rest.split("```").next()).collect();
    assert_eq!(blocks.len(), 3);
    for block in blocks {
        let pairs = block.lines().filter_map(|line| line.split_once('='));
        let pairs: Vec<(&str, String)> = pairs.map(|(key, v)| (key, here(key, v))).collect();
        let pairs: Vec<(&str, &str)> = pairs.iter().map(|(key, v)| (*key, v.as_str())).collect();
        match pairs.iter().find(|(key, _)| *key == "name") {
            Some((_, name)) => {
                let own: Vec<_> = pairs.iter().copied().filter(|(key, _)| *key != "name").collect();
                setup = setup.connector(name, &own);
            }
            None => setup = pairs.iter().fold(setup, |setup, (key, v)| setup.worker(key, v)),
        }
    }
    let lines: String = (1..=1000).map(|n| format!("{n}\n")).collect();
    std::fs::write(place("lines.txt"), &lines).expect("room");
    let worker = setup.start();
    eventually(PATIENCE, "the copy", || {
        let copy = std::fs::read_to_string(place("copy.txt")).ok()?;
        (copy == lines).then_some(())
    });
    let stored = kafka::read_with(&kafka::bootstrap(), &offsets, "read_committed");
    let last = stored.last().expect("an offset").text().to_owned();
    assert_eq!(last, format!(r#"{{"position":{}}}"#, lines.len()));
    drop(worker);
}

/// A task that was cut off from its worker may hold a transaction open, and would write after the
/// change: it is put out first, and the change does not wait for its timeout.
#[test]
fn offsets_change_after_every_task_that_may_still_write_is_put_out() {
    let route = Route::new("file-zombie");
    route.write(0..10);
    let worker = route.exactly_once(&[("producer.override.transaction.timeout.ms", "600000")]);
    let worker = worker.start();
    route.wait_for_last(10);
    let path = format!("/connectors/{}", route.topic);
    assert_eq!(worker.request("PUT", &format!("{path}/stop"), None).status, 204);
    let settings = [
        ("bootstrap.servers".to_owned(), route.bootstrap.clone()),
        ("transactional.id".to_owned(), format!("g-{0}-{0}-0", route.topic)),
        ("transaction.timeout.ms".to_owned(), "600000".to_owned()),
    ];
    let zombie = ::kafka::TransactionalProducer::new(&settings.into_iter().collect()).expect("it");
    zombie.init(PATIENCE).expect("the broker answers");
    zombie.begin().expect("a transaction");
    let offsets = format!("offsets-{}", route.topic);
    let file = route.file().display().to_string();
    let key = format!(r#"["{}",{{"filename":"{file}"}}]"#, route.topic);
    let record = ::kafka::ProducerRecord {
        topic: &offsets,
        key: Some(key.as_bytes()),
        value: Some(br#"{"position":1}"#),
        ..Default::default()
    };
    zombie.send(&record).expect("room");
    eventually(PATIENCE, "it is written", || (zombie.poll(PATIENCE).len() == 1).then_some(()));
    let change = format!(
        r#"{{"offsets":[{{"partition":{{"filename":"{file}"}},"offset":{{"position":0}}}}]}}"#
    );
    let answer = worker.request("PATCH", &format!("{path}/offsets"), Some(&change));
    assert_eq!(answer.status, 200, "{}", answer.body);
    let error = zombie.commit(PATIENCE).expect_err("it was put out");
    assert_eq!(error.kind(), ::kafka::ErrorKind::Fenced, "{error}");
    let told = worker.get(&format!("{path}/offsets")).body;
    assert!(told.contains(r#""position":0"#), "{told}");
    assert_eq!(worker.request("PUT", &format!("{path}/resume"), None).status, 202);
    eventually(PATIENCE, "the lines again", || (route.read().len() == 20).then_some(()));
    assert_eq!(worker.request("PUT", &format!("{path}/stop"), None).status, 204);
    assert_eq!(worker.request("DELETE", &format!("{path}/offsets"), None).status, 200);
    assert_eq!(worker.get(&format!("{path}/offsets")).body, r#"{"offsets":[]}"#);
}
