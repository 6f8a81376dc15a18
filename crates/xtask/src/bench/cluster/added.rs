//! A worker is added to two that are busy: how soon the tasks are even, and what those that stay notice.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};

use super::Bench;
use super::death::Busy;
use super::flow::Flow;
use super::workers::{PATIENCE, Workers};
use crate::bench::process::pause;
use crate::bench::table::{Goal, Section, Series, thousands};

/// Tasks of the sources and of the sink.
const TASKS: usize = 12;
const BEFORE: Duration = Duration::from_secs(5);
/// What is counted of the time after the tasks are even.
const AFTER: Duration = Duration::from_secs(3);
const LOOK: Duration = Duration::from_millis(20);

pub(super) fn run(bench: &Bench) -> Result<Vec<Section>> {
    let mut section = Section::new("A worker is added to two that are busy", &["", "measured"]);
    let mut all = Found::default();
    for _run in 0..bench.runs.min(3) {
        measure(bench, &mut all)?;
    }
    let s = |value: f64| format!("{value:.2} s");
    let ratio = |value: f64| format!("{value:.2} ×");
    let mut row = |name: &str, told: String| section.row([name.to_owned(), told]);
    row("start of the process until the tasks are even", all.even_s.spread(s));
    row("the longest", Goal::AtMost(5.0).judge(all.even_s.max(), s));
    for (kind, kept) in [("sources", &all.sources), ("sink", &all.sinks)] {
        row(&format!("{kind}: records/s of tasks that stay, before"), kept.rate.spread(thousands));
        let told = Goal::AtLeast(0.9).judge(kept.ratio.median(), ratio);
        row(&format!("{kind}: meanwhile, of that"), told);
        row(
            &format!("{kind}: longest pause of a task that stays, before"),
            kept.gap_before_s.spread(s),
        );
        row(
            &format!("{kind}: longest pause of a task that stays, meanwhile"),
            kept.gap_s.spread(s),
        );
    }
    row("tasks that moved", all.moved.spread(thousands));
    row("stops of tasks that stay", Goal::AtMost(0.0).judge(all.stops.max(), thousands));
    section.note(format!(
        "Six sources (datagen, an even pace) and a PostgreSQL sink of six tasks; {} runs, each with a cluster \
         of its own. Before: {} s; meanwhile: from the start of the process until {} s after the tasks \
         were even and ran, as every worker says. Sources are told apart by their topics and those that \
         stay by their worker; of the sink's partitions those count that paused least, as many as tasks \
         stayed. A source that was late catches up, so that the pause tells more than the rate. Stops are \
         counted in the workers' logs.",
        bench.runs.min(3),
        BEFORE.as_secs(),
        AFTER.as_secs()
    ));
    Ok(vec![section])
}

/// What was found of tasks that stay.
#[derive(Default)]
struct Kept {
    rate: Series,
    ratio: Series,
    gap_before_s: Series,
    gap_s: Series,
}

#[derive(Default)]
struct Found {
    even_s: Series,
    sources: Kept,
    sinks: Kept,
    moved: Series,
    stops: Series,
}

/// What was seen of a flow, look by look.
struct Seen {
    looks: Vec<(Instant, BTreeMap<String, u64>)>,
}

impl Seen {
    fn new() -> Seen {
        Seen { looks: Vec::new() }
    }

    fn look(&mut self, flow: &mut dyn Flow) -> Result<()> {
        let counts = flow.counts()?;
        self.looks.push((Instant::now(), counts));
        Ok(())
    }

    /// Records a second of these lanes.
    fn rate(&self, lanes: &BTreeSet<String>) -> f64 {
        let (Some((from, first)), Some((to, last))) = (self.looks.first(), self.looks.last())
        else {
            return f64::NAN;
        };
        let sum = |counts: &BTreeMap<String, u64>| -> u64 {
            lanes.iter().filter_map(|lane| counts.get(lane)).sum()
        };
        sum(last).saturating_sub(sum(first)) as f64 / (*to - *from).as_secs_f64()
    }

    /// The longest time in which a lane gave nothing.
    fn gap(&self, lane: &str) -> Duration {
        let mut longest = Duration::ZERO;
        let Some((mut since, first)) = self.looks.first().map(|(at, counts)| (*at, counts)) else {
            return longest;
        };
        let mut before = first.get(lane);
        for (at, counts) in &self.looks {
            longest = longest.max(*at - since);
            if counts.get(lane) > before {
                (since, before) = (*at, counts.get(lane));
            }
        }
        longest
    }

    fn gaps(&self, lanes: &BTreeSet<String>) -> f64 {
        let longest = lanes.iter().map(|lane| self.gap(lane)).max();
        longest.unwrap_or_default().as_secs_f64()
    }
}

fn measure(bench: &Bench, all: &mut Found) -> Result<()> {
    let mut cluster = Workers::start(bench, 2)?;
    let (rate, records) = if bench.quick { (200, 4) } else { (2_000, 20) };
    let mut busy = Busy::start(bench, &cluster, rate, records)?;
    cluster.wait_even(0, TASKS, 2)?;
    busy.wait()?;
    let held = cluster.running(0)?;
    let stops = cluster.stops();
    let mut before = (Seen::new(), Seen::new());
    let start = Instant::now();
    while start.elapsed() < BEFORE {
        before.0.look(&mut busy.ends)?;
        before.1.look(&mut busy.positions)?;
        pause(LOOK);
    }
    let mut meanwhile = (Seen::new(), Seen::new());
    let start = Instant::now();
    cluster.launch_another();
    let mut even = None;
    while even.is_none_or(|even: Duration| start.elapsed() < even + AFTER) {
        meanwhile.0.look(&mut busy.ends)?;
        meanwhile.1.look(&mut busy.positions)?;
        if even.is_none() && is_even(&cluster)? {
            even = Some(start.elapsed());
        }
        ensure!(start.elapsed() < PATIENCE, "the tasks are not even: {:?}", cluster.list(0)?);
        pause(LOOK);
    }
    let now = cluster.running(0)?;
    let moved: BTreeSet<&(String, u64)> =
        held.keys().filter(|task| held.get(*task) != now.get(*task)).collect();
    let stays = |topic: &&String| !moved.iter().any(|(name, _)| name == *topic);
    let sources: BTreeSet<String> = busy.topics.iter().filter(stays).cloned().collect();
    let sinks_moved = moved.iter().filter(|(name, _)| *name == busy.sink).count();
    let sinks = steadiest(&meanwhile.1, sinks_moved);
    push(&mut all.sources, &before.0, &meanwhile.0, &sources);
    push(&mut all.sinks, &before.1, &meanwhile.1, &sinks);
    all.even_s.push(even.unwrap_or_default().as_secs_f64());
    all.moved.push(moved.len() as f64);
    all.stops.push(cluster.stops().saturating_sub(stops + moved.len()) as f64);
    Ok(())
}

/// All tasks run, four on each of three workers, and none is on its way.
fn is_even(cluster: &Workers) -> Result<bool> {
    let running = cluster.running(0)?;
    let mut loads: BTreeMap<&str, usize> = BTreeMap::new();
    for worker in running.values() {
        *loads.entry(worker).or_default() += 1;
    }
    Ok(loads.len() == 3 && loads.values().all(|load| *load == TASKS / 3))
}

/// All lanes but those with the longest pauses.
fn steadiest(seen: &Seen, without: usize) -> BTreeSet<String> {
    let lanes = seen.looks.last().map(|(_, counts)| counts.keys().cloned());
    let mut lanes: Vec<String> = lanes.into_iter().flatten().collect();
    lanes.sort_by_key(|lane| seen.gap(lane));
    lanes.truncate(lanes.len().saturating_sub(without));
    lanes.into_iter().collect()
}

fn push(kept: &mut Kept, before: &Seen, meanwhile: &Seen, lanes: &BTreeSet<String>) {
    let rate = before.rate(lanes);
    kept.rate.push(rate);
    kept.ratio.push(meanwhile.rate(lanes) / rate);
    kept.gap_before_s.push(before.gaps(lanes));
    kept.gap_s.push(meanwhile.gaps(lanes));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_and_rates_are_of_single_lanes() {
        let start = Instant::now();
        let look = |ms: u64, a: u64, b: u64| {
            let counts = BTreeMap::from([("a".to_owned(), a), ("b".to_owned(), b)]);
            (start + Duration::from_millis(ms), counts)
        };
        let seen = Seen { looks: vec![look(0, 1, 1), look(500, 2, 1), look(1_000, 3, 5)] };
        let only = |lane: &str| BTreeSet::from([lane.to_owned()]);
        assert_eq!((seen.gaps(&only("a")), seen.gaps(&only("b"))), (0.5, 1.0));
        assert_eq!((seen.rate(&only("a")), seen.rate(&only("b"))), (2.0, 4.0));
        assert_eq!(steadiest(&seen, 1), only("a"));
    }
}
