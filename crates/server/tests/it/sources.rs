//! Files into Kafka by the worker: what arrives after kills, outages and restarts, at least once and
//! exactly once.

use crate::harness::{PATIENCE, faults, random_moment, task, wait_failed, wait_running, worker};
use std::{
    collections::BTreeSet,
    fs::{File, OpenOptions},
    io::Write,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};
use tempfile::TempDir;
use testkit::{
    Rng, eventually, holds_for,
    kafka::{self, Broker, topic_name},
    process::{Worker, WorkerSetup},
    progress, soak,
};

/// An outage longer than clients wait for an answer.
const OUTAGE: Duration = Duration::from_secs(60);

/// A file, the topic its lines go to, and a folder for the worker's offsets.
pub(crate) struct Route {
    pub(crate) bootstrap: String,
    pub(crate) topic: String,
    folder: TempDir,
}

impl Route {
    pub(crate) fn new(name: &str) -> Self {
        Self::over(&kafka::bootstrap(), name)
    }

    pub(crate) fn over(bootstrap: &str, name: &str) -> Self {
        let topic = topic_name(name);
        kafka::create_topic(bootstrap, &topic, 1);
        let folder = tempfile::tempdir().expect("a folder");
        Self { bootstrap: bootstrap.to_owned(), topic, folder }
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.folder.path().join("lines.txt")
    }

    pub(crate) fn offsets(&self) -> PathBuf {
        self.folder.path().join("offsets")
    }

    pub(crate) fn worker(&self, more: &[(&str, &str)]) -> WorkerSetup {
        let file = self.file();
        let mut properties = vec![
            ("connector.class", "FileStreamSource"),
            ("file", file.to_str().expect("UTF-8")),
            ("topic", self.topic.as_str()),
            ("value.converter", "org.apache.kafka.connect.storage.StringConverter"),
        ];
        properties.retain(|(key, _)| !more.iter().any(|(other, _)| key == other));
        properties.extend_from_slice(more);
        worker(&self.bootstrap)
            .worker("offset.storage.file.filename", self.offsets().to_str().expect("UTF-8"))
            .connector(&self.topic, &properties)
    }

    /// The same with the worker's exactly-once support.
    pub(crate) fn exactly_once(&self, more: &[(&str, &str)]) -> WorkerSetup {
        self.worker(more)
            .worker("exactly.once.source.support", "enabled")
            .worker("group.id", &format!("g-{}", self.topic))
            .worker("offset.storage.topic", &format!("offsets-{}", self.topic))
            .worker("offset.storage.partitions", "2")
            .worker("offset.storage.replication.factor", "1")
            .worker("producer.transaction.timeout.ms", "10000")
    }

    pub(crate) fn write(&self, numbers: std::ops::Range<u64>) {
        let mut file = open(&self.file());
        let text: String = numbers.map(line).collect();
        file.write_all(text.as_bytes()).expect("the disk has room");
    }

    /// The numbers of the lines in the topic, as a reader of committed records sees them.
    pub(crate) fn read(&self) -> Vec<u64> {
        let records = kafka::read(&self.bootstrap, &self.topic);
        records.iter().map(|record| number(record.text())).collect()
    }

    fn end(&self) -> i64 {
        kafka::end_offsets(&self.bootstrap, &self.topic).values().sum()
    }

    /// Waits until the last of `count` lines is in the topic.
    #[track_caller]
    pub(crate) fn wait_for_last(&self, count: u64) {
        progress(PATIENCE, &format!("the last of {count} lines"), || {
            let end = self.end() as u64;
            if end >= count && self.read().contains(&(count - 1)) { Ok(()) } else { Err(end) }
        });
    }
}

pub(crate) fn open(path: &std::path::Path) -> File {
    OpenOptions::new().create(true).append(true).open(path).expect("a file")
}

pub(crate) fn line(number: u64) -> String {
    format!("{number} is a line with some text in it \u{e4}\u{20ac}\n")
}

fn number(text: &str) -> u64 {
    let (number, rest) = text.split_once(' ').expect("a number and text");
    assert_eq!(rest, "is a line with some text in it \u{e4}\u{20ac}");
    number.parse().expect("a number")
}

/// Appends lines all the time, in pieces that do not end with a line.
struct Writer {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<u64>>,
}

impl Writer {
    fn start(route: &Route) -> Self {
        const PAUSE: Duration = Duration::from_millis(5);
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let mut file = open(&route.file());
        let thread = thread::spawn(move || {
            let mut next = 0;
            while !stopped.load(Ordering::Acquire) {
                let text: String = (next..next + 20).map(line).collect();
                let (first, second) = text.as_bytes().split_at(text.len() * 2 / 3 + 1);
                file.write_all(first).expect("the disk has room");
                thread::park_timeout(PAUSE);
                file.write_all(second).expect("the disk has room");
                next += 20;
            }
            next
        });
        Self { stop, thread: Some(thread) }
    }

    fn finish(mut self) -> u64 {
        self.stop.store(true, Ordering::Release);
        self.thread.take().expect("it is finished once").join().expect("everything is written")
    }
}

/// Everything is there, and what is there twice came again in order after a restart.
#[track_caller]
fn expect_each(seen: &[u64], count: u64) {
    let distinct: BTreeSet<u64> = seen.iter().copied().collect();
    assert_eq!(distinct.len() as u64, count, "lines lost");
    let mut highest = None;
    for (index, number) in seen.iter().enumerate() {
        let step = index.checked_sub(1).map(|before| seen[before] + 1);
        let backwards = highest.is_some_and(|highest| *number <= highest);
        assert!(step.is_none_or(|step| *number == step) || backwards, "a gap before {number}");
        highest = highest.max(Some(*number));
    }
}

#[track_caller]
pub(crate) fn expect_once(seen: &[u64], count: u64) {
    let wanted: Vec<u64> = (0..count).collect();
    let at = seen.iter().zip(&wanted).position(|(seen, wanted)| seen != wanted);
    assert!(seen == wanted, "{} of {count} lines, first difference at {at:?}", seen.len());
}

fn kill_again_and_again(rng: &mut Rng, route: &Route, worker: &mut Worker) {
    for _ in 0..faults() {
        let before = route.end();
        if rng.chance(80) {
            eventually(PATIENCE, "more lines", || (route.end() > before).then_some(()));
        }
        random_moment(rng, worker);
        worker.kill9();
        worker.restart();
    }
}

#[test]
fn fault_kill9_file_at_least_once() {
    let mut rng = Rng::seeded("source-kill9");
    let route = Route::new("file-alo");
    let writer = Writer::start(&route);
    let mut worker = route.worker(&[]).start();
    kill_again_and_again(&mut rng, &route, &mut worker);
    let count = writer.finish();
    route.wait_for_last(count);
    expect_each(&route.read(), count);
}

#[test]
fn fault_kill9_file_exactly_once() {
    let mut rng = Rng::seeded("source-kill9-once");
    let route = Route::new("file-eos");
    let writer = Writer::start(&route);
    let mut worker = route.exactly_once(&[]).start();
    kill_again_and_again(&mut rng, &route, &mut worker);
    let count = writer.finish();
    route.wait_for_last(count);
    expect_once(&route.read(), count);
}

#[test]
fn fault_broker_restarts_and_stands_still_under_a_source() {
    let mut rng = Rng::seeded("source-broker");
    let mut broker = Broker::start();
    let plain = Route::over(&broker.bootstrap(), "file-outage");
    let once = Route::over(&broker.bootstrap(), "file-outage-eos");
    let (writer, once_writer) = (Writer::start(&plain), Writer::start(&once));
    let worker = plain.worker(&[]).start();
    let once_worker = once.exactly_once(&[]).start();
    for round in 0..faults() / 5 {
        let before = (plain.end(), once.end());
        eventually(PATIENCE, "more lines", || {
            (plain.end() > before.0 && once.end() > before.1).then_some(())
        });
        match round % 3 {
            0 => broker.restart(),
            1 => {
                broker.kill();
                broker.launch();
            }
            _ => {
                broker.pause();
                let long = soak() && round == 2;
                let still =
                    if long { OUTAGE } else { Duration::from_millis(rng.range(500, 4_000)) };
                holds_for(still, "the source waits", || true);
                broker.resume();
            }
        }
    }
    let (count, once_count) = (writer.finish(), once_writer.finish());
    plain.wait_for_last(count);
    once.wait_for_last(once_count);
    expect_each(&plain.read(), count);
    expect_once(&once.read(), once_count);
    for (worker, route) in [(&worker, &plain), (&once_worker, &once)] {
        assert_eq!(task(worker, &route.topic)["state"], "RUNNING");
    }
}

/// A stop stores everything: what starts again goes on behind it, also without transactions.
#[test]
fn a_stopped_worker_goes_on_where_it_was() {
    let route = Route::new("file-stop");
    let mut worker = route.worker(&[]).start();
    route.write(0..1000);
    route.wait_for_last(1000);
    assert_eq!(crate::harness::status(&worker, &route.topic)["type"], "source");
    assert!(worker.terminate().success());
    let stored = std::fs::read_to_string(route.offsets()).expect("the offset file");
    let length = std::fs::metadata(route.file()).expect("the file").len();
    assert!(stored.contains(&format!(r#"{{"position":{length}}}"#)), "{stored}");
    route.write(1000..1500);
    worker.launch();
    worker.wait_healthy();
    route.wait_for_last(1500);
    expect_once(&route.read(), 1500);
}

/// The newer of two workers with one name goes on, the older fails and says why.
#[test]
fn fault_two_workers_with_one_transactional_id() {
    let route = Route::new("file-fence");
    let writer = Writer::start(&route);
    let older = route.exactly_once(&[]).start();
    eventually(PATIENCE, "lines", || (route.end() > 0).then_some(()));
    let newer = route.exactly_once(&[]).start();
    let told = wait_failed(&older, &route.topic);
    assert!(told.contains("taken over") && told.contains("group.id"), "{told}");
    wait_running(&newer, &route.topic);
    let before = route.end();
    eventually(PATIENCE, "more lines", || (route.end() > before).then_some(()));
    let count = writer.finish();
    route.wait_for_last(count);
    expect_once(&route.read(), count);
}

/// A disk that takes no offsets holds up no line, shows in the status, and passes.
#[test]
fn fault_offsets_that_cannot_be_written_are_written_later() {
    let route = Route::new("file-full");
    let mut worker = route.worker(&[]).start();
    // A folder in the place of the file that is to be written stands for a disk that is full.
    let blocked = route.folder.path().join("offsets.new");
    std::fs::create_dir(&blocked).expect("a folder");
    route.write(0..1000);
    route.wait_for_last(1000);
    let told = crate::harness::wait_retrying(&worker, &route.topic);
    assert!(told["reason"].as_str().is_some_and(|text| text.contains("offsets")), "{told}");
    route.write(1000..2000);
    route.wait_for_last(2000);
    std::fs::remove_dir(&blocked).expect("it is empty");
    wait_running(&worker, &route.topic);
    worker.kill9();
    worker.restart();
    route.write(2000..2100);
    route.wait_for_last(2100);
    expect_once(&route.read(), 2100);
}

/// What cannot be encoded, and what a transform cannot take, is a letter with its contents and the place
/// it comes from; the others go on.
#[test]
fn a_line_that_cannot_be_encoded_is_a_letter_with_its_contents() {
    const STRICT: &str = "org.apache.kafka.connect.converters.IntegerConverter";
    let cast = [
        ("transforms", "number"),
        ("transforms.number.type", "org.apache.kafka.connect.transforms.Cast$Value"),
        ("transforms.number.spec", "int32"),
    ];
    let every_text = [("1", 2), ("bad", 6), ("", 7), ("3", 9)];
    let what_is_no_number = [("bad", 6), ("", 7)];
    for (steps, stage, bad) in [
        (&cast[..], "TRANSFORMATION", &what_is_no_number[..]),
        (&[], "VALUE_CONVERTER", &every_text[..]),
    ] {
        for exactly_once in [false, true] {
            let route = Route::new("file-unencodable");
            let letters = topic_name("file-unencodable-dlq");
            let mut more = steps.to_vec();
            more.extend([
                ("value.converter", STRICT),
                ("errors.tolerance", "all"),
                ("errors.tolerance.max.ratio", "1"),
                ("errors.deadletterqueue.topic.name", &letters),
                ("errors.deadletterqueue.context.headers.enable", "true"),
            ]);
            open(&route.file()).write_all(b"1\nbad\n\n3\n").expect("room");
            let worker = if exactly_once { route.exactly_once(&more) } else { route.worker(&more) };
            let worker = worker.start();
            let all = eventually(PATIENCE, "the letters", || {
                let exists = kafka::topic_exists(&route.bootstrap, &letters);
                let all = exists.then(|| kafka::read(&route.bootstrap, &letters))?;
                (all.len() == bad.len()).then_some(all)
            });
            for (letter, (line, position)) in all.iter().zip(bad) {
                assert_eq!(letter.text(), format!("\"{line}\""));
                assert_eq!(letter.header("__connect.errors.stage"), Some(stage));
                let place = letter.header("__copycat.errors.source.offset");
                assert_eq!(place, Some(&*format!(r#"{{"position":{position}}}"#)));
            }
            let good: Vec<&[u8]> =
                if steps.is_empty() { vec![] } else { vec![&[0, 0, 0, 1], &[0, 0, 0, 3]] };
            let seen = eventually(PATIENCE, "the good lines", || {
                let seen = kafka::read(&route.bootstrap, &route.topic);
                (seen.len() == good.len()).then_some(seen)
            });
            let seen: Vec<&[u8]> =
                seen.iter().filter_map(|record| record.value.as_deref()).collect();
            assert_eq!(seen, good);
            assert_eq!(task(&worker, &route.topic)["state"], "RUNNING");
        }
    }
}

#[test]
fn topics_are_made_by_the_rules() {
    let mut route = Route::new("file-rules");
    route.topic = topic_name("file-made");
    let worker = route
        .worker(&[
            ("topic.creation.groups", "wide"),
            ("topic.creation.default.partitions", "1"),
            ("topic.creation.default.replication.factor", "1"),
            ("topic.creation.wide.include", "file-made.*"),
            ("topic.creation.wide.partitions", "3"),
            ("topic.creation.wide.retention.ms", "3600000"),
        ])
        .start();
    route.write(0..100);
    eventually(PATIENCE, "the topic", || {
        kafka::topic_exists(&route.bootstrap, &route.topic).then_some(())
    });
    assert_eq!(kafka::partition_count(&route.bootstrap, &route.topic), 3);
    eventually(PATIENCE, "the lines", || (route.end() == 100).then_some(()));
    drop(worker);
}

/// A compacted topic takes no record without a key: the task says so and does not try for ever.
#[test]
fn a_record_that_the_broker_refuses_fails_the_task() {
    let mut route = Route::new("file-refused");
    route.topic = topic_name("file-compacted");
    let compacted = [("cleanup.policy", "compact")];
    kafka::create_topic_with(&route.bootstrap, &route.topic, 1, &compacted);
    let worker = route.worker(&[]).start();
    route.write(0..10);
    let told = wait_failed(&worker, &route.topic);
    assert!(told.contains("refused by the broker") && told.contains("without a key"), "{told}");
}

/// Transforms of a source see what it made; a record that cannot be encoded goes to the dead letters,
/// those before and after it to the topic.
#[test]
fn a_line_that_fails_is_a_dead_letter_and_the_others_go_on() {
    let route = Route::new("file-letters");
    let letters = topic_name("file-letters-dlq");
    let worker = route
        .worker(&[
            ("errors.tolerance", "all"),
            ("errors.tolerance.max.ratio", "1"),
            ("errors.deadletterqueue.topic.name", &letters),
            ("errors.deadletterqueue.context.headers.enable", "true"),
            ("producer.override.max.request.size", "2000"),
        ])
        .start();
    route.write(0..10);
    open(&route.file()).write_all(format!("{}\n", "x".repeat(5000)).as_bytes()).expect("room");
    route.write(10..20);
    route.wait_for_last(20);
    expect_once(&route.read(), 20);
    let letter = eventually(PATIENCE, "the letter", || {
        let exists = kafka::topic_exists(&route.bootstrap, &letters);
        exists.then(|| kafka::read(&route.bootstrap, &letters)).and_then(|mut all| all.pop())
    });
    assert_eq!(letter.header("__connect.errors.stage"), Some("KAFKA_PRODUCE"));
    let place = letter.header("__copycat.errors.source.partition").expect("a place");
    assert!(place.contains("lines.txt"), "{place}");
    assert_eq!(task(&worker, &route.topic)["state"], "RUNNING");
}
