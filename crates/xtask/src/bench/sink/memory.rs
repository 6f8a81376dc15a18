//! Ten million records in one run: memory must not grow with them.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::Bench;
use super::topics::{Form, Topic};
use super::transfer::{Transfer, Watch as _};
use super::write::{check_rows, create_usual_table};
use crate::bench::workload::Generation;
use crate::bench::{
    process::{memory, pause},
    table::{Goal, Section, thousands},
};

const PATIENCE: Duration = Duration::from_secs(600);
const STEPS: u64 = 10;

pub(super) fn run(bench: &Bench) -> Result<Section> {
    let records = bench.records * 10;
    let topic = Topic::filled(&bench.bootstrap, Form::Envelope, Generation::First, records)?;
    create_usual_table(bench);
    let transfer = Transfer::new(bench, &topic);
    let mut positions = transfer.positions();
    let mut section = Section::new(
        &format!("{records} records in one run"),
        &["records visible", "memory", "peak so far"],
    );
    let start = Instant::now();
    let mut worker = transfer.setup().launch();
    let mut peaks = Vec::new();
    for step in 1..=STEPS {
        let wanted = records / STEPS * step;
        while positions.done()? < wanted {
            ensure!(start.elapsed() < PATIENCE && worker.runs(), "{}", worker.logs());
            pause(Duration::from_millis(20));
        }
        let memory = memory(worker.id())?;
        peaks.push(memory.peak);
        let mb = |v: f64| format!("{v:.1} MB");
        section.row([wanted.to_string(), mb(memory.now), mb(memory.peak)]);
    }
    let rate = records as f64 / start.elapsed().as_secs_f64();
    worker.kill9();
    check_rows(bench, records, "true")?;
    let (first, last) = (peaks.first().copied(), peaks.last().copied());
    let growth = last.unwrap_or(f64::NAN) / first.unwrap_or(f64::NAN);
    section.note(format!(
        "{} rows/s with start; peak at the end {}; peak at the end over the peak after a tenth: {}.",
        thousands(rate),
        Goal::AtMost(48.0).judge(last.unwrap_or(f64::NAN), |v| format!("{v:.0} MB")),
        Goal::AtMost(1.25).judge(growth, |v| format!("{v:.2}"))
    ));
    Ok(section)
}
