//! One run of the binary: a topic into a table, watched from outside and checked at the end.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use anyhow::{Result, bail, ensure};
use testkit::{
    postgres::Client,
    process::{Worker, WorkerSetup},
    unique,
};

use super::Bench;
use super::topics::{Form, Topic};
use crate::bench::{
    process::{cpu_seconds, memory, pause, thread_seconds},
    table::{Series, thousands},
};

/// How often the database is asked.
const LOOK: Duration = Duration::from_millis(5);
/// A run slower than this many rows a second has failed.
const SLOWEST: u64 = 2_000;

/// Says how many records are visible.
pub(in crate::bench) trait Watch {
    fn done(&mut self) -> Result<u64>;
}

/// What a run is made of.
pub(in crate::bench) struct Transfer<'a> {
    pub(in crate::bench) bench: &'a Bench,
    pub(in crate::bench) topic: &'a Topic,
    pub(in crate::bench) connector: String,
    properties: Vec<(String, String)>,
    /// The run ends when so many records are visible.
    pub(in crate::bench) until: u64,
}

/// One measured run.
#[derive(Clone, Debug)]
pub(in crate::bench) struct Sample {
    rows: u64,
    /// From exec to the last row, in seconds.
    whole_s: f64,
    /// Rows that were visible when the first was, and when that was.
    first_rows: u64,
    first_s: f64,
    pub(in crate::bench) cpu_s: f64,
    pub(in crate::bench) peak_mb: f64,
    /// CPU seconds by kind of thread.
    pub(in crate::bench) threads: BTreeMap<String, f64>,
}

impl Sample {
    /// Rows a second, without the start.
    pub(in crate::bench) fn rate(&self) -> f64 {
        let seconds = (self.whole_s - self.first_s).max(0.001);
        self.rows.saturating_sub(self.first_rows) as f64 / seconds
    }

    fn rate_with_start(&self) -> f64 {
        self.rows as f64 / self.whole_s
    }

    fn rows_per_cpu_s(&self) -> f64 {
        self.rows as f64 / self.cpu_s.max(0.01)
    }
}

impl<'a> Transfer<'a> {
    /// Into the PostgreSQL table `orders`.
    pub(in crate::bench) fn new(bench: &'a Bench, topic: &'a Topic) -> Transfer<'a> {
        let transfer = Transfer {
            bench,
            topic,
            connector: unique("bench"),
            properties: Vec::new(),
            until: topic.records,
        };
        transfer
            .set("connector.class", "io.copycat.PostgresSinkConnector")
            .set("tasks.max", "1")
            .set("connection.url", &bench.database.jdbc_url())
            .set("table.name.format", "orders")
    }

    /// A property of the connector; it wins over an earlier one.
    pub(in crate::bench) fn set(mut self, key: &str, value: &str) -> Transfer<'a> {
        self.properties.retain(|(known, _)| known != key);
        self.properties.push((key.to_owned(), value.to_owned()));
        self
    }

    /// Transactions of so many rows, at most.
    pub(in crate::bench) fn transactions_of(self, rows: u64) -> Transfer<'a> {
        let rows = rows.to_string();
        self.set("batch.size", &rows).set("consumer.override.max.poll.records", &rows)
    }

    pub(in crate::bench) fn setup(&self) -> WorkerSetup {
        let envelope = self.topic.form == Form::Envelope;
        let mut properties = vec![("topics", self.topic.name.as_str())];
        properties.extend(self.properties.iter().map(|(k, v)| (k.as_str(), v.as_str())));
        let binary = self.bench.binary.display().to_string();
        Worker::standalone(&binary)
            .worker("bootstrap.servers", &self.bench.bootstrap)
            .worker("key.converter", "org.apache.kafka.connect.converters.ByteArrayConverter")
            .worker("value.converter", "org.apache.kafka.connect.json.JsonConverter")
            .worker("value.converter.schemas.enable", if envelope { "true" } else { "false" })
            .connector(&self.connector, &properties)
    }

    /// How far this connector has come, as its positions say.
    pub(in crate::bench) fn positions(&self) -> Positions {
        Positions { client: self.bench.client(), connector: self.connector.clone() }
    }

    /// Runs until everything is visible.
    pub(in crate::bench) fn measure(&self, watch: &mut dyn Watch) -> Result<Sample> {
        let start = Instant::now();
        let mut worker = self.setup().launch();
        let mut first = None;
        let limit = Duration::from_secs(20 + self.until / SLOWEST);
        loop {
            let done = watch.done()?;
            if done > 0 && first.is_none() {
                first = Some((done, start.elapsed().as_secs_f64()));
            }
            if done >= self.until {
                break;
            }
            ensure!(worker.runs(), "the worker has ended:\n{}", worker.logs());
            if start.elapsed() > limit {
                bail!(
                    "{done} of {} after {limit:?}; the worker's log:\n{}",
                    self.until,
                    worker.logs()
                );
            }
            pause(LOOK);
        }
        let whole_s = start.elapsed().as_secs_f64();
        let (first_rows, first_s) = first.unwrap_or_default();
        let (cpu_s, peak_mb) = (cpu_seconds(worker.id())?, memory(worker.id())?.peak);
        let threads = thread_seconds(worker.id())?;
        worker.kill9();
        Ok(Sample { rows: self.until, whole_s, first_rows, first_s, cpu_s, peak_mb, threads })
    }
}

/// Watches the positions that the worker writes with the rows.
pub(in crate::bench) struct Positions {
    client: Client,
    connector: String,
}

impl Positions {
    /// Records done, and a number that grows when the partitions are claimed.
    pub(in crate::bench) fn read(&mut self) -> Result<(u64, u64)> {
        let sql = format!(
            "SELECT coalesce(sum(next_offset), 0), coalesce(sum(epoch), 0) FROM copycat_offsets \
             WHERE owner LIKE '%/connect-{}'",
            self.connector
        );
        let rows = match self.client.try_query(&sql) {
            Ok(rows) => rows,
            // The worker has not made its table yet.
            Err(failure) if failure.sqlstate == "42P01" => return Ok((0, 0)),
            Err(failure) => return Err(failure.into()),
        };
        let mut cells = rows.into_iter().flatten().flatten().map(|cell| cell.parse());
        Ok((cells.next().transpose()?.unwrap_or(0), cells.next().transpose()?.unwrap_or(0)))
    }
}

impl Watch for Positions {
    fn done(&mut self) -> Result<u64> {
        Ok(self.read()?.0)
    }
}

/// Watches the first and the last row, for runs without positions.
pub(in crate::bench) struct Rows {
    client: Client,
    /// Rows that are visible with the first one.
    transaction: u64,
    until: u64,
}

impl Rows {
    pub(in crate::bench) fn new(bench: &Bench, transaction: u64, until: u64) -> Rows {
        Rows { client: bench.client(), transaction, until }
    }
}

impl Watch for Rows {
    fn done(&mut self) -> Result<u64> {
        let last = self.until.saturating_sub(1);
        let sql = format!("SELECT count(*) FROM orders WHERE id IN (0, {last})");
        Ok(match self.client.value(&sql).as_deref() {
            Some("0") => 0,
            Some("1") => self.transaction.min(self.until.saturating_sub(1)),
            _ => self.until,
        })
    }
}

/// The runs of one case.
#[derive(Default)]
pub(in crate::bench) struct Case {
    pub(in crate::bench) rates: Series,
    with_start: Series,
    pub(in crate::bench) per_cpu_s: Series,
    peaks: Series,
    /// Of the last run: nanoseconds a row by kind of thread.
    pub(in crate::bench) threads: BTreeMap<String, f64>,
}

impl Case {
    pub(in crate::bench) fn add(&mut self, sample: &Sample) {
        self.rates.push(sample.rate());
        self.with_start.push(sample.rate_with_start());
        self.per_cpu_s.push(sample.rows_per_cpu_s());
        self.peaks.push(sample.peak_mb);
        let threads = sample.threads.iter();
        self.threads =
            threads.map(|(name, s)| (name.clone(), s * 1e9 / sample.rows as f64)).collect();
    }

    pub(in crate::bench) fn add_rate(&mut self, rate: f64) {
        self.rates.push(rate);
    }

    pub(in crate::bench) fn rate_cell(&self) -> String {
        self.rates.spread(thousands)
    }

    /// With start, rows per CPU-second, peak memory.
    pub(in crate::bench) fn own_cells(&self) -> [String; 3] {
        [
            thousands(self.with_start.median()),
            self.per_cpu_s.spread(thousands),
            format!("{:.0} MB", self.peaks.max()),
        ]
    }

    pub(in crate::bench) fn peak_mb(&self) -> f64 {
        self.peaks.max()
    }
}
