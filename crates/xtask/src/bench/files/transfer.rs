//! One run of a worker: a file into a topic, or a topic into a file.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use rdkafka::{
    ClientConfig,
    consumer::{BaseConsumer, Consumer as _},
};

use super::Bench;
use super::bare::PRODUCER;
use super::jvm::Connect;
use crate::bench::process::{cpu_seconds, memory, pause};

const LOOK: Duration = Duration::from_millis(5);
/// How long a transaction of an exactly-once run takes.
pub(super) const TRANSACTION_MS: &str = "500";
const PATIENCE: Duration = Duration::from_secs(120);

/// Who is measured.
#[derive(Clone, Copy)]
pub(super) enum Worker<'a> {
    Ours { exactly_once: bool },
    Jvm(&'a Connect),
}

/// What a run came to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Figures {
    /// Lines a second.
    pub(super) rate: f64,
    pub(super) per_cpu_s: f64,
    /// 0 where it is not told.
    pub(super) peak_mb: f64,
}

impl Figures {
    pub(super) fn new(lines: u64, seconds: f64, cpu_s: f64, peak_mb: f64) -> Figures {
        let lines = lines as f64;
        Figures { rate: lines / seconds, per_cpu_s: lines / cpu_s.max(0.01), peak_mb }
    }
}

/// A worker that ends with this value.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ended = self.0.kill();
        let _status = self.0.wait();
    }
}

/// A topic of one partition without records.
pub(super) fn empty(bench: &Bench) -> String {
    let name = testkit::kafka::topic_name("bench-lines");
    testkit::kafka::create_topic(&bench.bootstrap, &name, 1);
    name
}

/// A topic with all lines, written by the file source.
pub(super) fn filled(bench: &Bench) -> Result<String> {
    let topic = empty(bench);
    run_source(bench, &topic, Worker::Ours { exactly_once: false })?;
    Ok(topic)
}

pub(super) fn source(bench: &Bench, worker: Worker<'_>) -> Result<Figures> {
    let topic = empty(bench);
    let figures = run_source(bench, &topic, worker)?;
    testkit::kafka::delete_topic(&bench.bootstrap, &topic);
    Ok(figures)
}

fn run_source(bench: &Bench, topic: &str, worker: Worker<'_>) -> Result<Figures> {
    let file = bench.file();
    let file = file.to_str().context("a name in UTF-8")?;
    let connector = [
        ("name", topic),
        ("connector.class", "FileStreamSource"),
        ("file", file),
        ("topic", topic),
    ];
    let running = start(bench, worker, &connector, &[])?;
    let ends = Ends::new(bench, topic, "read_uncommitted")?;
    let wanted = i64::try_from(bench.lines)?;
    let first = wait(|| Ok((ends.look()? > 0).then(Instant::now)))?;
    // Markers of transactions take offsets too.
    let last = wait(|| Ok((ends.look()? >= wanted).then(Instant::now)))?;
    // The last transaction ends by the clock: that is no rate, but nothing counts before it.
    let committed = Ends::new(bench, topic, "read_committed")?;
    wait(|| Ok((committed.look()? >= wanted).then_some(())))?;
    let figures = told(bench, &running, last - first)?;
    drop(running);
    let arrived = testkit::kafka::read(&bench.bootstrap, topic).len();
    ensure!(arrived as u64 == bench.lines, "{arrived} lines arrived");
    Ok(figures)
}

pub(super) fn sink(bench: &Bench, topic: &str, worker: Worker<'_>) -> Result<Figures> {
    let out = bench.folder.path().join("out.txt");
    if out.is_file() {
        fs::remove_file(&out)?;
    }
    let name = testkit::kafka::topic_name("bench-file-sink");
    let path = out.to_str().context("a name in UTF-8")?.to_owned();
    let connector = [
        ("name", name.as_str()),
        ("connector.class", "FileStreamSink"),
        ("file", &path),
        ("topics", topic),
    ];
    // What makes the JVM's fast.
    let tuned = [("consumer.fetch.min.bytes", "1048576"), ("consumer.max.poll.records", "5000")];
    let tuned = if matches!(worker, Worker::Jvm(_)) { &tuned[..] } else { &[] };
    let running = start(bench, worker, &connector, tuned)?;
    let size = || fs::metadata(&out).map_or(0, |meta| meta.len());
    let wanted = fs::metadata(bench.file())?.len();
    let first = wait(|| Ok((size() > 0).then(Instant::now)))?;
    let last = wait(|| Ok((size() >= wanted).then(Instant::now)))?;
    let figures = told(bench, &running, last - first)?;
    drop(running);
    ensure!(fs::read(&out)? == fs::read(bench.file())?, "the file differs from what was sent");
    Ok(figures)
}

fn told(bench: &Bench, running: &Running, took: Duration) -> Result<Figures> {
    let pid = running.0.id();
    let (cpu, peak) = (cpu_seconds(pid)?, memory(pid)?.peak);
    Ok(Figures::new(bench.lines, took.as_secs_f64(), cpu, peak))
}

fn start(
    bench: &Bench,
    worker: Worker<'_>,
    connector: &[(&str, &str)],
    more: &[(&str, &str)],
) -> Result<Running> {
    let folder = tempfile::Builder::new().prefix("worker").tempdir_in(bench.folder.path())?.keep();
    let offsets = folder.join("offsets");
    let port = testkit::free_port();
    let listener = format!("http://127.0.0.1:{port}");
    let mut properties = vec![
        ("bootstrap.servers", bench.bootstrap.as_str()),
        ("key.converter", "org.apache.kafka.connect.storage.StringConverter"),
        ("value.converter", "org.apache.kafka.connect.storage.StringConverter"),
        ("offset.storage.file.filename", offsets.to_str().context("a name in UTF-8")?),
        ("offset.flush.interval.ms", "10000"),
        ("listeners", listener.as_str()),
    ];
    let producer: Vec<(String, &str)> =
        PRODUCER.iter().map(|(key, value)| (format!("producer.{key}"), *value)).collect();
    properties.extend(producer.iter().map(|(key, value)| (key.as_str(), *value)));
    properties.extend_from_slice(more);
    if let Worker::Ours { exactly_once: true } = worker {
        properties.extend([
            ("exactly.once.source.support", "enabled"),
            ("group.id", "bench"),
            ("offset.storage.topic", "bench-offsets"),
            ("offset.storage.partitions", "1"),
            ("offset.storage.replication.factor", "1"),
        ]);
    }
    let worker_file = written(&folder, "worker.properties", &properties)?;
    let mut connector = connector.to_vec();
    if let Worker::Ours { exactly_once: true } = worker {
        connector.extend([
            ("transaction.boundary", "interval"),
            ("transaction.boundary.interval.ms", TRANSACTION_MS),
        ]);
    }
    let connector_file = written(&folder, "connector.properties", &connector)?;
    let log = folder.join("log");
    let child = match worker {
        Worker::Jvm(connect) => connect.start(&worker_file, &connector_file, &log)?,
        Worker::Ours { .. } => Command::new(&bench.binary)
            .arg("standalone")
            .args([&worker_file, &connector_file])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(&log)?)
            .spawn()
            .context("the worker does not start")?,
    };
    Ok(Running(child))
}

fn written(folder: &Path, name: &str, properties: &[(&str, &str)]) -> Result<PathBuf> {
    let path = folder.join(name);
    let text: String = properties.iter().map(|(key, value)| format!("{key}={value}\n")).collect();
    fs::write(&path, text)?;
    Ok(path)
}

fn wait<T>(mut look: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look()? {
            return Ok(found);
        }
        if Instant::now() > deadline {
            bail!("nothing happened for {} s", PATIENCE.as_secs());
        }
        pause(LOOK);
    }
}

/// The end of a topic, asked for again and again.
struct Ends<'a> {
    consumer: BaseConsumer,
    topic: &'a str,
}

impl<'a> Ends<'a> {
    fn new(bench: &Bench, topic: &'a str, isolation: &str) -> Result<Ends<'a>> {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", &bench.bootstrap);
        config.set("group.id", "bench-ends").set("isolation.level", isolation);
        let consumer: BaseConsumer = config.create().context("the consumer's settings")?;
        Ok(Ends { consumer, topic })
    }

    fn look(&self) -> Result<i64> {
        let (_, end) = self.consumer.fetch_watermarks(self.topic, 0, Duration::from_secs(10))?;
        Ok(end)
    }
}
