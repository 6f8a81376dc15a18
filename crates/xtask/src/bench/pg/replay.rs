//! A long replay in the client process: memory must not grow with it.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::Bench;
use crate::bench::process::{memory, pause};
use crate::bench::sink::topics::{Form, Topic};
use crate::bench::table::{Goal, Section, Series, thousands};
use crate::bench::workload::Generation;

pub(super) fn run(bench: &Bench) -> Result<Vec<Section>> {
    let records = if bench.quick { 200_000 } else { 10_000_000 };
    let topic = Topic::filled(&bench.bootstrap, Form::Plain, Generation::First, records)?;
    let database = bench.database()?;
    let columns = "(id BIGINT, customer TEXT, amount DOUBLE PRECISION, currency TEXT, created \
                   BIGINT, note TEXT, paid BOOLEAN)";
    database.execute(&format!("CREATE TABLE orders {columns}; CREATE TABLE again {columns}"));
    database.execute(&format!(
        "SELECT pipeline_kafka.consume_begin('{}', 'orders', enabled => false)",
        topic.name
    ));
    let start = Instant::now();
    let mut replay = Command::new(&bench.binary)
        .args(["pg", "replay", "--database-url", &database.url(), &topic.name, "orders"])
        .args(["--start", "earliest", "--end", "latest", "--into", "again"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()?;
    let mut client = database.client();
    let mut now = Series::default();
    let status = loop {
        if let Some(status) = replay.try_wait()? {
            break status;
        }
        let sql = "SELECT coalesce(sum(next_offset), 0) FROM pipeline_kafka.replay_offsets";
        let done: u64 = client.value(sql).unwrap_or_default().parse().unwrap_or(0);
        // After a tenth everything that is kept has its size.
        if let Ok(memory) = memory(replay.id())
            && done > records / 10
        {
            now.push(memory.now);
        }
        pause(Duration::from_millis(100));
    };
    let seconds = start.elapsed().as_secs_f64();
    ensure!(status.success(), "the replay ends with {status}");
    let rows = database.value("SELECT count(*) || ' ' || count(DISTINCT id) FROM again");
    ensure!(rows == Some(format!("{records} {records}")), "rows, different ids: {rows:?}");
    let title = format!("A replay of {records} records in the client process");
    let columns = ["rows/s with start", "memory after a tenth", "memory at most after that"];
    let mut section = Section::new(&title, &columns);
    let (least, most) = (now.quantile(0.0), now.max());
    section.row([
        thousands(records as f64 / seconds),
        format!("{least:.0} MB"),
        Goal::AtMost(1.25).judge(most / least, |v| format!("{v:.2} ×")),
    ]);
    Ok(vec![section])
}
