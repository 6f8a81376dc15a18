//! What the leader of a large cluster computes: 1,000 connectors with 4,000 tasks on 10 workers, in
//! memory. Each step of each worker is timed.

mod world;

use anyhow::Result;
use config::Props;
use serde_json::Value;

use super::Bench;
use crate::bench::rest::connector;
use crate::bench::table::{Goal, Section};
use world::{Steps, World};

const WORKERS: usize = 10;
const TASKS: u32 = 4;
const GOAL_MS: f64 = 10.0;

pub(super) fn run(bench: &Bench) -> Result<Vec<Section>> {
    let sizes = if bench.quick { [20, 200] } else { [100, 1000] };
    sizes.into_iter().map(measure).collect()
}

fn measure(connectors: u32) -> Result<Section> {
    let title = format!(
        "Control: {connectors} connectors with {} tasks on {WORKERS} simulated workers",
        connectors * TASKS
    );
    let mut section = Section::new(
        &title,
        &["what happens", "steps", "median", "p99", "longest step", "which is for"],
    );
    let mut world = World::new(TASKS);
    for _worker in 0..WORKERS {
        world.add()?;
    }
    world.take_steps();
    let mut tell = |name: &str, steps: Steps| section.row(row(name, &steps));
    for number in 0..connectors / 2 {
        world.put(&name(number), config(number, "made"))?;
        world.settle()?;
    }
    tell("one half of the connectors is made, one after the other", world.take_steps());
    for number in connectors / 2..connectors {
        world.put(&name(number), config(number, "made"))?;
    }
    world.settle()?;
    world.check(connectors)?;
    tell("the other half is made, all at once", world.take_steps());
    for number in (0..connectors).step_by(10) {
        world.put(&name(number), config(number, "changed"))?;
        world.settle()?;
    }
    world.check(connectors)?;
    tell("a tenth gets another configuration, one after the other", world.take_steps());
    world.stopped = 0;
    world.kill(false)?;
    world.check(connectors)?;
    tell("a worker dies", world.take_steps());
    let for_dead = std::mem::take(&mut world.stopped);
    world.add()?;
    world.check(connectors)?;
    tell("a worker is added", world.take_steps());
    let moved = std::mem::take(&mut world.stopped);
    world.kill(true)?;
    world.check(connectors)?;
    tell("the leader dies", world.take_steps());
    let for_leader = std::mem::take(&mut world.stopped);
    world.tick(100)?;
    tell("nothing: time alone", world.take_steps());
    section.note(format!(
        "A step's time is what its thread computed. Tasks that were stopped for the one that died: {for_dead}, \
         for the one that was added: {moved} (its share), for the leader that died: {for_leader}."
    ));
    Ok(section)
}

fn row(name: &str, steps: &Steps) -> [String; 6] {
    let ms = |value: f64| format!("{value:.3} ms");
    [
        name.to_owned(),
        steps.ms.len().to_string(),
        ms(steps.ms.median()),
        ms(steps.ms.quantile(0.99)),
        Goal::AtMost(GOAL_MS).judge(steps.longest.0, ms),
        steps.longest.1.to_owned(),
    ]
}

fn name(number: u32) -> String {
    format!("connector-{number}")
}

/// As large as that of a usual sink.
fn config(number: u32, note: &str) -> Props {
    let connector = connector(number as usize);
    let pairs = connector["config"].as_object().into_iter().flatten();
    let text = |(key, value): (&String, &Value)| Some((key.clone(), value.as_str()?.to_owned()));
    let mut config: Props = pairs.filter_map(text).collect();
    config.insert("name", name(number));
    config.insert("note", note);
    config
}
