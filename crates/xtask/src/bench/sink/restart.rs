//! Start, rest, and kill -9.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use testkit::process::Worker;

use super::Bench;
use super::transfer::{Transfer, Watch as _};
use super::write::{check_rows, create_table};
use crate::bench::{
    process::{memory, pause},
    table::{Goal, Section, Series},
};

const PATIENCE: Duration = Duration::from_secs(60);

pub(super) fn run(bench: &Bench) -> Result<Section> {
    let mut section = Section::new("Start, rest and kill -9", &["case", "figure"]);
    let ms = |v: f64| format!("{v:.0} ms");
    let mb = |v: f64| format!("{v:.1} MB");

    let starts = starts(bench)?;
    section.row([
        format!("exec until REST answers ({})", starts.spread(ms)),
        Goal::AtMost(50.0).judge(starts.median(), ms),
    ]);
    section.row([
        "memory at rest, no connector".to_owned(),
        Goal::AtMost(15.0).judge(rest_alone(bench)?, mb),
    ]);
    let mut recoveries = Series::default();
    let mut rest = Series::default();
    for _ in 0..(bench.runs + 2) {
        let (recovery, rest_mb) = kill(bench)?;
        recoveries.push(recovery);
        rest.push(rest_mb);
    }
    section.row([
        "memory at rest, after the run below".to_owned(),
        Goal::AtMost(48.0).judge(rest.max(), mb),
    ]);
    section.row([
        format!("kill -9 until the first new row ({})", recoveries.spread(ms)),
        Goal::AtMost(1000.0).judge(recoveries.max(), ms),
    ]);
    section.note(
        "The kills hit a table without a key in the middle of a run; afterwards every record is \
         there, once.",
    );
    Ok(section)
}

fn alone(bench: &Bench) -> Worker {
    let binary = bench.binary.display().to_string();
    Worker::standalone(&binary)
        .worker("bootstrap.servers", &bench.bootstrap)
        .worker("key.converter", "org.apache.kafka.connect.storage.StringConverter")
        .worker("value.converter", "org.apache.kafka.connect.storage.StringConverter")
        .start()
}

fn starts(bench: &Bench) -> Result<Series> {
    let mut starts = Series::default();
    let mut worker = alone(bench);
    let address = worker.address().to_owned();
    for _ in 0..5 {
        worker.kill9();
        let start = Instant::now();
        worker.launch();
        while !answers(&address) {
            ensure!(start.elapsed() < PATIENCE && worker.runs(), "{}", worker.logs());
            pause(Duration::from_micros(500));
        }
        starts.push(start.elapsed().as_secs_f64() * 1000.0);
    }
    Ok(starts)
}

fn answers(address: &str) -> bool {
    let Ok(mut stream) = TcpStream::connect(address) else { return false };
    let asked = write!(stream, "GET / HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    let mut answer = String::new();
    asked.and_then(|()| stream.read_to_string(&mut answer)).is_ok()
        && answer.starts_with("HTTP/1.1 200")
}

fn rest_alone(bench: &Bench) -> Result<f64> {
    let worker = alone(bench);
    pause(Duration::from_secs(2));
    Ok(memory(worker.id())?.now)
}

/// Milliseconds from a kill to the first new row; memory at rest after the run.
fn kill(bench: &Bench) -> Result<(f64, f64)> {
    create_table(bench, "TIMESTAMP", "");
    let transfer = Transfer::new(bench, bench.envelope()?);
    let mut positions = transfer.positions();
    let mut worker = transfer.setup().launch();
    let start = Instant::now();
    while positions.done()? < bench.records / 5 {
        ensure!(start.elapsed() < PATIENCE && worker.runs(), "{}", worker.logs());
        pause(Duration::from_millis(1));
    }
    worker.kill9();
    let killed = Instant::now();
    let mut before = positions.read()?;
    ensure!(before.0 < bench.records, "everything was stored before the kill; take more records");
    worker.launch();
    loop {
        let now = positions.read()?;
        if now.1 == before.1 {
            // The last transaction of the killed one may have become visible late.
            before = now;
        } else if now.0 > before.0 {
            break;
        }
        ensure!(killed.elapsed() < PATIENCE && worker.runs(), "{}", worker.logs());
        pause(Duration::from_millis(1));
    }
    let recovery = killed.elapsed().as_secs_f64() * 1000.0;
    while positions.done()? < bench.records {
        ensure!(killed.elapsed() < PATIENCE && worker.runs(), "{}", worker.logs());
        pause(Duration::from_millis(5));
    }
    check_rows(bench, bench.records, "true")?;
    pause(Duration::from_secs(1));
    Ok((recovery, memory(worker.id())?.now))
}
