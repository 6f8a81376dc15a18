//! Light load: 200 records a second, from the call that produces a record until its row is visible
//! to another session.

use std::{
    sync::Mutex,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use rdkafka::producer::Producer as _;

use super::Bench;
use super::topics::{Form, Topic, producer, send, write};
use super::transfer::{Transfer, Watch as _};
use super::write::{check_rows, create_usual_table};
use crate::bench::workload::{Generation, Order};
use crate::bench::{
    process::{cpu_seconds, memory, pause},
    table::{Goal, Section, Series},
};

const EVERY: Duration = Duration::from_millis(5);
const PER_SECOND: u64 = 200;
/// A row that is not visible after this is lost.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) fn run(bench: &Bench) -> Result<Section> {
    let records = PER_SECOND * if bench.quick { 5 } else { 30 };
    create_usual_table(bench);
    let topic = Topic::empty(&bench.bootstrap, Form::Envelope, records);
    let transfer = Transfer::new(bench, &topic);
    let mut worker = transfer.setup().start();
    wait_for_first(&transfer, &topic)?;
    let cpu = cpu_seconds(worker.id())?;
    let latencies = measure(bench, &topic, records)?;
    let cpu = cpu_seconds(worker.id())? - cpu;
    let memory = memory(worker.id())?;
    worker.kill9();
    check_rows(bench, records + 1, "true")?;

    let seconds = records / PER_SECOND;
    let columns = ["p50", "p90", "p99", "max", "p99 after the first second", "CPU", "memory"];
    let mut section = Section::new(
        &format!("Light load: {PER_SECOND} records/s for {seconds} s, default settings"),
        &columns,
    );
    let ms = |v: f64| format!("{v:.1} ms");
    let later = series(latencies.iter().skip(PER_SECOND as usize));
    let all = series(latencies.iter());
    section.row([
        ms(all.quantile(0.5)),
        ms(all.quantile(0.9)),
        ms(all.quantile(0.99)),
        ms(all.max()),
        Goal::AtMost(6.0).judge(later.quantile(0.99), ms),
        format!("{cpu:.2} s"),
        format!("{:.1} MB", memory.now),
    ]);
    section.note(
        "The goals for p50 (≤ 0.75) and CPU (≤ 1/8) are ratios to the stock JVM sink in the same \
         hour; on a quiet machine that is p50 ≤ 1.5 ms and CPU ≤ 1.0 s in 30 s.",
    );
    Ok(section)
}

/// One record before the clock starts: the task runs and everything is prepared.
fn wait_for_first(transfer: &Transfer<'_>, topic: &Topic) -> Result<()> {
    let producer = producer(&transfer.bench.bootstrap, 0)?;
    produce(&producer, topic, 0)?;
    producer.flush(PATIENCE)?;
    let mut positions = transfer.positions();
    let start = Instant::now();
    while positions.done()? == 0 {
        ensure!(start.elapsed() < PATIENCE * 3, "the first record is not visible");
        pause(EVERY);
    }
    Ok(())
}

fn produce(
    producer: &rdkafka::producer::BaseProducer<super::topics::Outcomes>,
    topic: &Topic,
    id: i64,
) -> Result<()> {
    let mut value = Vec::new();
    write(&Order::new(id, Generation::First), topic.form, &mut value);
    send(producer, (&topic.name, 0), id, &value)
}

/// Milliseconds from produced to visible, in the records' order.
fn measure(bench: &Bench, topic: &Topic, records: u64) -> Result<Vec<f64>> {
    let sent: Mutex<Vec<Instant>> = Mutex::new(Vec::new());
    let producer = producer(&bench.bootstrap, 0)?;
    // Connected, and its id fetched, before the first record that counts.
    producer.client().fetch_metadata(Some(&topic.name), PATIENCE)?;
    pause(Duration::from_millis(700));
    std::thread::scope(|scope| {
        let producing = scope.spawn(|| -> Result<()> {
            let start = Instant::now();
            for index in 0..records {
                let due = start + EVERY * u32::try_from(index)?;
                pause(due.saturating_duration_since(Instant::now()));
                sent.lock().expect("no panic under the lock").push(Instant::now());
                produce(&producer, topic, i64::try_from(index)? + 1)?;
                producer.poll(Duration::ZERO);
            }
            producer.flush(PATIENCE).context("the last records")
        });
        let seen = watch(bench, records);
        producing.join().expect("the producing thread does not panic")?;
        let seen = seen?;
        let sent = sent.lock().expect("no panic under the lock");
        let latency = |(seen, sent): (&Instant, &Instant)| {
            seen.saturating_duration_since(*sent).as_secs_f64() * 1000.0
        };
        Ok(seen.iter().zip(sent.iter()).map(latency).collect())
    })
}

/// When each of the records 1..=records was seen, by asking without a pause.
fn watch(bench: &Bench, records: u64) -> Result<Vec<Instant>> {
    let mut client = bench.client();
    let mut seen = Vec::new();
    let mut last = Instant::now();
    while (seen.len() as u64) < records {
        let newest = client.value("SELECT max(id) FROM orders").unwrap_or_default();
        let newest: usize = newest.parse().context("max(id)")?;
        if newest > seen.len() {
            last = Instant::now();
            seen.resize(newest, last);
        }
        ensure!(last.elapsed() < PATIENCE, "nothing new after record {newest}");
    }
    Ok(seen)
}

fn series<'a>(values: impl Iterator<Item = &'a f64>) -> Series {
    let mut series = Series::default();
    values.for_each(|value| series.push(*value));
    series
}
