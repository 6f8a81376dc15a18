//! A full topic into one relation and into eight, against as many COPYs at once.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use testkit::postgres::Database;

use super::{
    Bench,
    worker::{Worker, positions},
};
use crate::bench::sink::{
    topics::{Form, Topic},
    write::CopyData,
};
use crate::bench::table::{Goal, Section, Series, paired_ratio, thousands};
use crate::bench::workload::{Generation, Order};

/// Rows of a transaction, as `batchsize` has it by default.
const TRANSACTION: u64 = 10_000;
const PATIENCE: Duration = Duration::from_secs(300);

#[derive(Default)]
struct Case {
    copy: Series,
    ours: Series,
    per_cpu_s: Series,
    peaks: Series,
}

pub(super) fn run(bench: &Bench) -> Result<Vec<Section>> {
    let topic = Topic::filled(&bench.bootstrap, Form::Plain, Generation::First, bench.records)?;
    let data = CopyData::of(bench.records, TRANSACTION, Order::copy_line_of_numbers)?;
    let mut cases = [(1, 0.80, Case::default()), (8, 1.0 / 1.1, Case::default())];
    for _ in 0..bench.runs {
        for (relations, _, case) in &mut cases {
            copy(bench, &data, *relations, case)?;
            consume(bench, &topic, *relations, case)?;
        }
    }
    let columns =
        ["relations", "COPY, rows/s", "rows/s", "of COPY", "rows per CPU-s", "peak memory"];
    let mut section = Section::new("One topic into relations, append", &columns);
    for (relations, goal, case) in &cases {
        let ratio = paired_ratio(&case.ours, &case.copy);
        section.row([
            relations.to_string(),
            case.copy.spread(thousands),
            case.ours.spread(thousands),
            Goal::AtLeast(*goal).judge(ratio, |v| format!("{v:.2}")),
            case.per_cpu_s.spread(thousands),
            format!("{:.0} MB", case.peaks.max()),
        ]);
    }
    section.note(format!(
        "Transactions of {TRANSACTION} rows, tables with a primary key; rows of all relations \
         together. The COPYs of eight relations run at once, each on a connection of its own."
    ));
    Ok(vec![section])
}

fn tables(database: &Database, relations: usize) {
    for n in 1..=relations {
        database.execute(&format!(
            "DROP TABLE IF EXISTS orders_{n}; CREATE TABLE orders_{n} (id BIGINT PRIMARY KEY, \
             customer TEXT NOT NULL, amount DOUBLE PRECISION NOT NULL, currency TEXT NOT NULL, \
             created BIGINT NOT NULL, note TEXT NOT NULL, paid BOOLEAN NOT NULL)"
        ));
    }
    database.execute("CHECKPOINT");
}

fn copy(bench: &Bench, data: &CopyData, relations: usize, case: &mut Case) -> Result<()> {
    let database = testkit::postgres::database();
    tables(&database, relations);
    let url = database.url();
    let start = Instant::now();
    std::thread::scope(|scope| {
        let (url, data) = (&url, &data);
        let copying: Vec<_> = (1..=relations)
            .map(|n| scope.spawn(move || data.write(url, &format!("orders_{n}"))))
            .collect();
        copying
            .into_iter()
            .try_for_each(|one| one.join().expect("a COPY does not panic").map(|_| ()))
    })?;
    let rows = bench.records as f64 * relations as f64;
    case.copy.push(rows / start.elapsed().as_secs_f64());
    check(&database, bench.records, relations)
}

fn consume(bench: &Bench, topic: &Topic, relations: usize, case: &mut Case) -> Result<()> {
    let database = bench.database()?;
    tables(&database, relations);
    for n in 1..=relations {
        database.execute(&format!(
            "SELECT pipeline_kafka.consume_begin('{}', 'orders_{n}', start => 'earliest')",
            topic.name
        ));
    }
    let mut worker = Worker::start(bench, &database)?;
    let mut client = database.client();
    let rows = bench.records * relations as u64;
    let mut first = (0, Instant::now());
    worker.wait(PATIENCE, "the first rows", || {
        first = (positions(&mut client), Instant::now());
        first.0 > 0
    })?;
    worker.wait(PATIENCE, "all rows", || positions(&mut client) >= rows)?;
    let seconds = first.1.elapsed().as_secs_f64();
    case.ours.push(rows.saturating_sub(first.0) as f64 / seconds.max(0.001));
    case.per_cpu_s.push(rows as f64 / worker.cpu_s()?.max(0.01));
    case.peaks.push(worker.memory_mb()?.1);
    drop(worker);
    check(&database, bench.records, relations)
}

fn check(database: &Database, records: u64, relations: usize) -> Result<()> {
    for n in 1..=relations {
        let sql = format!("SELECT count(*) || ' ' || max(id) + 1 FROM orders_{n}");
        let found = database.value(&sql).unwrap_or_default();
        ensure!(found == format!("{records} {records}"), "orders_{n} has {found}");
    }
    Ok(())
}
