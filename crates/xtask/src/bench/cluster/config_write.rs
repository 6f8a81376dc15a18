//! From a configuration that is sent until its tasks run, as the worker says that was asked.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::Bench;
use super::java::{self, Java};
use super::workers::{PATIENCE, Workers, ask, source};
use crate::bench::process::pause;
use crate::bench::table::{Goal, Section, Series};

const GOAL_MS: f64 = 500.0;
const LOOK: Duration = Duration::from_millis(2);

pub(super) fn run(bench: &Bench) -> Result<Vec<Section>> {
    let mut section = Section::new(
        "From a configuration until its tasks run",
        &["who", "case", "times", "p50", "p99"],
    );
    let times = if bench.quick { 5 } else { 50 };
    ours(bench, times, &mut section)?;
    section.note(
        "Three workers. From the request (PUT /connectors/NAME/config) until the status, asked of the same worker, has \
         just the tasks of that configuration, all RUNNING. Changed: one task becomes two, two become one, \
         so that none is taken for one of the configuration before.",
    );
    if bench.jvm {
        theirs(bench, times, &mut section)?;
        section.note(format!(
            "{}: two workers, a file source; a request that is refused while things move is sent again, \
             within the time.",
            java::NAME
        ));
    }
    Ok(vec![section])
}

fn ours(bench: &Bench, times: u32, section: &mut Section) -> Result<()> {
    let cluster = Workers::start(bench, 3)?;
    let leader = cluster.leader(0)?;
    let topic = testkit::kafka::topic("bench-config", 1);
    for (through, told) in [(leader, "the leader"), ((leader + 1) % 3, "another worker")] {
        let Some(address) = cluster.all.get(through).map(|worker| worker.address()) else {
            continue;
        };
        let mut made = Series::default();
        for number in 0..times {
            let name = format!("made-{through}-{number}");
            made.push(written(address, &name, &source(&topic, 1), 1)?);
            let (status, body) = ask(address, "DELETE", &format!("/connectors/{name}"), None)?;
            ensure!(status == 204, "{body}");
        }
        row(section, "Copycat", &format!("a new one, through {told}"), &made, true);
        let mut changed = Series::default();
        let name = format!("changed-{through}");
        for number in 0..=times {
            let tasks = 1 + u64::from(number % 2);
            let mut config = source(&topic, 1);
            config["tasks.max"] = Value::from(tasks.to_string());
            let took = written(address, &name, &config, tasks)?;
            if number > 0 {
                changed.push(took);
            }
        }
        row(section, "Copycat", &format!("changed, through {told}"), &changed, true);
    }
    Ok(())
}

fn theirs(bench: &Bench, times: u32, section: &mut Section) -> Result<()> {
    let java = Java::start(bench)?;
    let topic = testkit::kafka::topic("bench-config", 1);
    std::fs::write(java.path("in"), "one line\n")?;
    let mut made = Series::default();
    for number in 0..times.min(20) {
        let config = java.source(&topic, "in");
        made.push(written(java.first.address(), &format!("made-{number}"), &config, 1)?);
    }
    row(section, java::NAME, "a new one, through the leader", &made, false);
    Ok(())
}

fn row(section: &mut Section, who: &str, case: &str, times: &Series, judged: bool) {
    let ms = |value: f64| format!("{value:.0} ms");
    let p99 = times.quantile(0.99);
    section.row([
        who.to_owned(),
        case.to_owned(),
        times.len().to_string(),
        ms(times.median()),
        if judged { Goal::AtMost(GOAL_MS).judge(p99, ms) } else { ms(p99) },
    ]);
}

/// Milliseconds until just these tasks run.
fn written(address: &str, name: &str, config: &Value, tasks: u64) -> Result<f64> {
    let start = Instant::now();
    let path = format!("/connectors/{name}/config");
    loop {
        let (status, body) = ask(address, "PUT", &path, Some(config))?;
        if status < 300 {
            break;
        }
        ensure!(status == 409 && start.elapsed() < PATIENCE, "{path}: {body}");
        pause(LOOK);
    }
    let path = format!("/connectors/{name}/status");
    loop {
        let (_, body) = ask(address, "GET", &path, None)?;
        let list = body["tasks"].as_array().map(Vec::as_slice).unwrap_or_default();
        let run = list.iter().all(|task| task["state"] == json!("RUNNING"));
        if run && list.len() as u64 == tasks {
            return Ok(start.elapsed().as_secs_f64() * 1e3);
        }
        ensure!(start.elapsed() < PATIENCE, "{path}: {body}");
        pause(LOOK);
    }
}
