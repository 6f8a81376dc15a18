//! The file connectors and the generator in a worker: compared with what a worker of Kafka Connect did,
//! and over bad input and kills.

use crate::harness::{PATIENCE, faults, random_moment, task, wait_failed, worker};
use serde_json::Value;
use std::path::Path;
use testkit::{
    Rng, eventually,
    kafka::{self, Record, topic_name},
    process::{Worker, WorkerSetup},
    progress,
};

/// A recorded case: records, what the file must hold, what the dead-letter topic must hold.
struct Case {
    id: String,
    topic: String,
    dead_topic: String,
    output: Value,
}

/// The bytes of `{"text": …}` or `{"bytes": base64 or null}`.
fn bytes(value: &Value) -> Option<Vec<u8>> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    if let Some(text) = value["text"].as_str() {
        return Some(text.as_bytes().to_vec());
    }
    let text = value["bytes"].as_str()?.trim_end_matches('=');
    let (mut bits, mut held, mut out) = (0_u32, 0, Vec::new());
    for byte in text.bytes() {
        let digit = DIGITS.iter().position(|digit| *digit == byte).expect("base64") as u32;
        (bits, held) = (bits << 6 | digit, held + 6);
        if held >= 8 {
            held -= 8;
            out.push((bits >> held) as u8);
        }
    }
    Some(out)
}

fn record(key: Option<Vec<u8>>, value: Option<Vec<u8>>, more: &Value) -> Record {
    let header =
        |header: &Value| (header["key"].as_str().expect("a name").to_owned(), bytes(header));
    let headers = more["headers"].as_array().map(|all| all.iter().map(header).collect());
    Record {
        partition: Some(0),
        key,
        value,
        headers: headers.unwrap_or_default(),
        timestamp: more["timestamp"].as_i64(),
    }
}

/// Adds the connector of a recorded case, whose records are in its topic already.
fn add(setup: WorkerSetup, folder: &Path, vector: &Value) -> (WorkerSetup, Case) {
    let id = vector["id"].as_str().expect("an id").to_owned();
    let topic = topic_name(&id);
    let dead_topic = format!("{topic}-dead");
    let bootstrap = kafka::bootstrap();
    kafka::create_topic(&bootstrap, &topic, 1);
    let input = &vector["input"];
    let records: Vec<Record> = match (&input["values"], &input["records"]) {
        (Value::Array(values), _) => {
            values.iter().map(|value| record(None, bytes(value), &Value::Null)).collect()
        }
        (_, Value::Array(records)) => {
            let of = |r: &Value| record(bytes(&r["key"]), bytes(&r["value"]), r);
            records.iter().map(of).collect()
        }
        _ => panic!("{id}: no records"),
    };
    kafka::produce(&bootstrap, &topic, records);
    let file = folder.join(&id);
    let given = input["config"].as_object().expect("a config");
    let mut properties: Vec<(&str, &str)> =
        given.iter().map(|(key, value)| (key.as_str(), value.as_str().expect("text"))).collect();
    let own = [
        ("connector.class", "FileStreamSink"),
        ("topics", &*topic),
        ("file", file.to_str().expect("UTF-8")),
        ("consumer.override.auto.offset.reset", "earliest"),
    ];
    properties.retain(|(key, _)| own.iter().all(|(other, _)| key != other));
    properties.extend(own);
    for (key, value) in &mut properties {
        if *key == "errors.deadletterqueue.topic.name" {
            *value = &dead_topic;
        }
    }
    let setup = setup.connector(&topic, &properties);
    (setup, Case { id, topic, dead_topic, output: vector["output"].clone() })
}

fn run(vectors: &str, folder: &Path) -> (Worker, Vec<Case>) {
    let mut setup = worker(&kafka::bootstrap());
    let mut cases = Vec::new();
    for line in vectors.lines() {
        let vector: Value = serde_json::from_str(line).expect("JSON");
        let case;
        (setup, case) = add(setup, folder, &vector);
        cases.push(case);
    }
    (setup.start(), cases)
}

#[track_caller]
fn expect_file(folder: &Path, case: &Case) {
    let wanted = case.output["file"].as_str().unwrap_or_default();
    let what = format!("{} writes {wanted:?}", case.id);
    eventually(PATIENCE, &what, || {
        let text = std::fs::read_to_string(folder.join(&case.id)).ok()?;
        (text == wanted).then_some(())
    });
}

/// Connect's values of the headers that tell why; those of its own topic are ours.
fn expect_letter(case: &Case, seen: &kafka::Read, wanted: &Value) {
    let id = &case.id;
    assert_eq!(
        (&seen.key, &seen.value),
        (&bytes(&wanted["key"]), &bytes(&wanted["value"])),
        "{id}"
    );
    let headers = wanted["headers"].as_array().expect("headers");
    assert_eq!(seen.headers.len(), headers.len(), "{id}: {:?}", seen.headers);
    for ((name, value), wanted) in seen.headers.iter().zip(headers) {
        assert_eq!(wanted["key"].as_str(), Some(name.as_str()), "{id}");
        let text = |bytes: &Option<Vec<u8>>| {
            bytes.as_ref().map(|b| String::from_utf8(b.clone()).expect("UTF-8"))
        };
        let seen = text(value);
        match name.as_str() {
            "__connect.errors.topic" | "__connect.errors.connector.name" => {
                assert_eq!(seen.as_ref(), Some(&case.topic), "{id}");
            }
            // The texts of libraries; their beginning is the exception's class.
            "__connect.errors.exception.message" => assert!(seen.is_some(), "{id}"),
            "__connect.errors.exception.stacktrace" => {
                let class =
                    wanted["text"].as_str().and_then(|t| t.split_once(':')).expect("a class").0;
                assert!(seen.expect("a text").starts_with(class), "{id}");
            }
            _ => assert_eq!(seen, text(&bytes(wanted)), "{id}: {name}"),
        }
    }
}

#[test]
fn values_become_the_lines_that_were_recorded() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut worker, cases) = run(include_str!("../testdata/file-sinks.jsonl"), folder.path());
    assert_eq!(cases.len(), 5);
    cases.iter().for_each(|case| expect_file(folder.path(), case));
    assert_eq!(worker.terminate().code(), Some(0));
    // The positions are the group's alone: nothing is written again.
    worker.restart();
    let case = &cases[0];
    let bootstrap = kafka::bootstrap();
    kafka::produce(&bootstrap, &case.topic, [Record::value("once more").partition(0)]);
    let wanted = format!("{}once more\n", case.output["file"].as_str().expect("text"));
    eventually(PATIENCE, "the line after the restart", || {
        let text = std::fs::read_to_string(folder.path().join(&case.id)).ok()?;
        (text.len() >= wanted.len()).then(|| assert_eq!(text, wanted))
    });
    eventually(PATIENCE, "the position of the group", || {
        let offsets =
            kafka::group_offsets(&bootstrap, &format!("connect-{}", case.topic), &case.topic);
        (offsets.get(&0) == Some(&5)).then_some(())
    });
}

#[test]
fn records_that_fail_become_the_dead_letters_that_were_recorded() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut worker, cases) = run(include_str!("../testdata/dead-letters.jsonl"), folder.path());
    assert_eq!(cases.len(), 3);
    let bootstrap = kafka::bootstrap();
    for case in &cases {
        expect_file(folder.path(), case);
        let wanted = case.output["dlq"].as_array().expect("letters");
        let letters = eventually(PATIENCE, "the dead letters", || {
            if !kafka::topic_exists(&bootstrap, &case.dead_topic) {
                return None;
            }
            let letters = kafka::read(&bootstrap, &case.dead_topic);
            (letters.len() >= wanted.len()).then_some(letters)
        });
        assert_eq!(letters.len(), wanted.len(), "{}", case.id);
        for (seen, wanted) in letters.iter().zip(wanted) {
            expect_letter(case, seen, wanted);
        }
        let records = kafka::end_offsets(&bootstrap, &case.topic).get(&0).copied();
        eventually(PATIENCE, "the position behind the letters", || {
            let group = format!("connect-{}", case.topic);
            let offsets = kafka::group_offsets(&bootstrap, &group, &case.topic);
            (offsets.get(&0).copied() == records).then_some(())
        });
    }
    assert_eq!(worker.terminate().code(), Some(0));
}

/// A source connector on one file, with text values.
fn source<'a>(
    topic: &'a str,
    file: &'a str,
    more: &[(&'a str, &'a str)],
) -> Vec<(&'a str, &'a str)> {
    let mut properties = vec![
        ("connector.class", "FileStreamSource"),
        ("file", file),
        ("topic", topic),
        ("value.converter", "org.apache.kafka.connect.storage.StringConverter"),
    ];
    properties.extend_from_slice(more);
    properties
}

#[test]
fn a_file_that_is_not_there_is_waited_for_and_a_folder_is_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let (late, wrong) = (path("late.txt"), path("folder"));
    std::fs::create_dir(&wrong).expect("a folder");
    let bootstrap = kafka::bootstrap();
    let [topic, other] = ["late", "never"].map(topic_name);
    kafka::create_topic(&bootstrap, &topic, 1);
    let mut worker = worker(&bootstrap)
        .worker("offset.storage.file.filename", &path("offsets"))
        .connector(&topic, &source(&topic, &late, &[]))
        .connector(&other, &source(&topic, &wrong, &[]))
        .start();
    let reason = wait_failed(&worker, &other);
    assert!(reason.contains("is a folder") && reason.contains("`file`"), "{reason}");
    eventually(PATIENCE, "the status says what it waits for", || {
        let notice = task(&worker, &topic)["copycat"]["notice"].as_str()?.to_owned();
        notice.contains("late.txt is not there, waiting for it").then_some(())
    });
    std::fs::write(&late, "here\n").expect("a file");
    eventually(PATIENCE, "the line", || {
        (kafka::end_offsets(&bootstrap, &topic).get(&0) == Some(&1)).then_some(())
    });
    eventually(PATIENCE, "nothing is waited for", || {
        task(&worker, &topic)["copycat"]["notice"].is_null().then_some(())
    });
    assert_eq!(worker.terminate().code(), Some(0));
    let log = worker.logs();
    assert_eq!(log.matches("is not there, waiting for it").count(), 1, "{log}");
}

#[test]
fn a_line_that_is_too_large_names_the_setting_and_with_all_holds_up_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let file = path("lines.txt");
    let large = "x".repeat(3_000_000);
    std::fs::write(&file, format!("first\n{large}\nlast\n")).expect("a file");
    let bootstrap = kafka::bootstrap();
    let [strict, tolerant, dead] = ["strict", "tolerant", "dead"].map(topic_name);
    for topic in [&strict, &tolerant] {
        kafka::create_topic(&bootstrap, topic, 1);
    }
    let all = [
        ("errors.tolerance", "all"),
        ("errors.deadletterqueue.topic.name", dead.as_str()),
        ("errors.deadletterqueue.topic.replication.factor", "1"),
        ("errors.deadletterqueue.context.headers.enable", "true"),
    ];
    let mut worker = worker(&bootstrap)
        .worker("offset.storage.file.filename", &path("offsets"))
        .connector(&strict, &source(&strict, &file, &[]))
        .connector(&tolerant, &source(&tolerant, &file, &all))
        .start();
    let reason = wait_failed(&worker, &strict);
    for part in [strict.as_str(), "producer.override.max.request.size", "errors.tolerance=all"] {
        assert!(reason.contains(part), "{part}: {reason}");
    }
    assert_eq!(kafka::read(&bootstrap, &strict).len(), 1, "what came before it stays");
    eventually(PATIENCE, "the lines around it", || {
        (kafka::end_offsets(&bootstrap, &tolerant).get(&0) == Some(&2)).then_some(())
    });
    let seen = kafka::read(&bootstrap, &tolerant);
    assert_eq!(seen.iter().map(kafka::Read::text).collect::<Vec<_>>(), ["first", "last"]);
    let letters = kafka::read(&bootstrap, &dead);
    assert_eq!(letters.len(), 1);
    assert_eq!(letters[0].header("__connect.errors.stage"), Some("KAFKA_PRODUCE"));
    assert_eq!(worker.terminate().code(), Some(0));
}

/// Generated records, each once in the topic whatever happens to the worker.
#[test]
fn generated_records_arrive_once_over_kills() {
    const COUNT: usize = 3_000;
    let bootstrap = kafka::bootstrap();
    let topic = topic_name("generated");
    kafka::create_topic(&bootstrap, &topic, 2);
    let mut worker = worker(&bootstrap)
        .worker("exactly.once.source.support", "enabled")
        .worker("group.id", &format!("g-{topic}"))
        .worker("offset.storage.topic", &format!("offsets-{topic}"))
        .worker("offset.storage.partitions", "1")
        .worker("offset.storage.replication.factor", "1")
        .connector(
            &topic,
            &[
                ("connector.class", "datagen"),
                ("topic", &topic),
                ("tasks.max", "2"),
                ("template", r#"{"n": "${sequence:0:1}"}"#),
                ("schema.enable", "false"),
                ("rate", "1500"),
                ("count", &COUNT.to_string()),
                ("value.converter", "org.apache.kafka.connect.json.JsonConverter"),
                ("value.converter.schemas.enable", "false"),
            ],
        )
        .start();
    for part in 1..=3 {
        eventually(PATIENCE, "a part of the records", || {
            let ends: i64 = kafka::end_offsets(&bootstrap, &topic).values().sum();
            (ends >= part * 500).then_some(())
        });
        worker.kill9();
        worker.restart();
    }
    let mut seen = Vec::new();
    eventually(PATIENCE, "all records", || {
        seen = kafka::read(&bootstrap, &topic);
        (seen.len() >= COUNT).then_some(())
    });
    let number = |read: &kafka::Read| {
        let value: Value = serde_json::from_str(read.text()).expect("JSON");
        value["n"].as_u64().expect("a number") as usize
    };
    let mut numbers: Vec<usize> = seen.iter().map(number).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..COUNT).collect::<Vec<_>>());
    assert_eq!(worker.terminate().code(), Some(0));
    assert!(!worker.logs().contains("stays as written"), "generators are no secrets");
}

fn line(number: usize) -> String {
    format!("{number} is a line that is long enough to be cut in two")
}

/// Whether a record is none that the converter takes.
fn is_bad(number: usize) -> bool {
    number % 97 == 5
}

/// Every good record is a line; what else there is is the beginning of one.
#[track_caller]
fn expect_lines(text: &str, count: usize) {
    let mut seen = vec![0_u32; count];
    for found in text.lines() {
        let number = found.split(' ').next().and_then(|number| number.parse::<usize>().ok());
        match number.filter(|n| *n < count && line(*n) == found) {
            Some(number) => seen[number] += 1,
            None => assert!((0..count).any(|n| line(n).starts_with(found)), "{found}"),
        }
    }
    for (number, times) in seen.iter().enumerate() {
        assert_eq!(*times == 0, is_bad(number), "line {number}: {times} times");
    }
}

/// Every record is a line at least once, every bad one a dead letter at least once; what a kill cut off
/// is the beginning of a line that follows whole.
#[test]
fn fault_kill9_file_sink() {
    const PART: usize = 2_000;
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("out.txt");
    let bootstrap = kafka::bootstrap();
    let [topic, dead] = ["sink-kills", "sink-kills-dead"].map(topic_name);
    kafka::create_topic(&bootstrap, &topic, 2);
    let mut worker = worker(&bootstrap)
        .connector(
            &topic,
            &[
                ("connector.class", "FileStreamSink"),
                ("topics", &topic),
                ("file", file.to_str().expect("UTF-8")),
                ("value.converter", "org.apache.kafka.connect.json.JsonConverter"),
                ("value.converter.schemas.enable", "false"),
                ("consumer.override.auto.offset.reset", "earliest"),
                ("errors.tolerance", "all"),
                ("errors.deadletterqueue.topic.name", &dead),
                ("errors.deadletterqueue.topic.replication.factor", "1"),
            ],
        )
        .start();
    let mut rng = Rng::seeded("file-sink-kills");
    let mut count = 0;
    for _ in 0..faults() {
        let records = (count..count + PART).map(|n| {
            let text = if is_bad(n) { format!("{{bad {n}") } else { format!("\"{}\"", line(n)) };
            Record::value(text).partition((n % 2) as i32)
        });
        kafka::produce(&bootstrap, &topic, records);
        count += PART;
        random_moment(&mut rng, &mut worker);
        worker.kill9();
        worker.restart();
    }
    let group = format!("connect-{topic}");
    progress(PATIENCE, &format!("all {count} records are written and committed"), || {
        let offsets = kafka::group_offsets(&bootstrap, &group, &topic);
        if offsets.values().sum::<i64>() == count as i64 { Ok(()) } else { Err(offsets) }
    });
    assert_eq!(worker.terminate().code(), Some(0));
    let text = std::fs::read_to_string(&file).expect("a file");
    assert!(text.ends_with('\n'));
    expect_lines(&text, count);
    let letters = kafka::read(&bootstrap, &dead);
    for number in (0..count).filter(|n| is_bad(*n)) {
        let wanted = format!("{{bad {number}");
        assert!(letters.iter().any(|letter| letter.text() == wanted), "no letter {wanted}");
    }
}
