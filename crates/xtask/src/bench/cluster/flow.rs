//! What comes out of tasks, seen from outside: lanes, each of one task, and how far each has come.

use std::{
    collections::BTreeMap,
    fs,
    path::PathBuf,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use rdkafka::{
    ClientConfig,
    consumer::{BaseConsumer, Consumer as _},
};
use testkit::postgres::Client;

use crate::bench::process::pause;

const LOOK: Duration = Duration::from_millis(10);
/// What was on its way has arrived so long after a kill.
const ON_THE_WAY: Duration = Duration::from_millis(500);

pub(super) trait Flow {
    /// How many records each lane has given, at least.
    fn counts(&mut self) -> Result<BTreeMap<String, u64>>;
}

/// Topics of one partition, each written by one task.
pub(super) struct Ends {
    consumer: BaseConsumer,
    topics: Vec<String>,
}

impl Ends {
    pub(super) fn new(bootstrap: &str, topics: &[String]) -> Result<Ends> {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", bootstrap);
        config.set("group.id", "bench-ends");
        let consumer = config.create().context("the consumer's settings")?;
        Ok(Ends { consumer, topics: topics.to_vec() })
    }
}

impl Flow for Ends {
    fn counts(&mut self) -> Result<BTreeMap<String, u64>> {
        let end = |topic: &String| -> Result<(String, u64)> {
            let patience = Duration::from_secs(10);
            let (_, end) = self.consumer.fetch_watermarks(topic, 0, patience)?;
            Ok((topic.clone(), u64::try_from(end)?))
        };
        self.topics.iter().map(end).collect()
    }
}

/// The positions that a sink writes with its rows, by partition.
pub(super) struct Positions {
    pub(super) client: Client,
    pub(super) connector: String,
}

impl Flow for Positions {
    fn counts(&mut self) -> Result<BTreeMap<String, u64>> {
        let sql = format!(
            "SELECT partition, coalesce(next_offset, 0) FROM copycat_offsets \
             WHERE owner LIKE '%/connect-{}'",
            self.connector
        );
        let rows = match self.client.try_query(&sql) {
            Ok(rows) => rows,
            // The worker has not made its table yet.
            Err(failure) if failure.sqlstate == "42P01" => return Ok(BTreeMap::new()),
            Err(failure) => return Err(failure.into()),
        };
        let cell = |row: &[Option<String>], at: usize| row.get(at).cloned().flatten();
        let lane = |row: Vec<Option<String>>| -> Result<(String, u64)> {
            let partition = cell(&row, 0).context("a partition")?;
            Ok((partition, cell(&row, 1).context("an offset")?.parse()?))
        };
        rows.into_iter().map(lane).collect()
    }
}

/// A file whose lines begin with their lane.
pub(super) struct Lines(pub(super) PathBuf);

impl Flow for Lines {
    fn counts(&mut self) -> Result<BTreeMap<String, u64>> {
        let text = fs::read_to_string(&self.0).unwrap_or_default();
        let mut counts = BTreeMap::new();
        for lane in text.lines().filter_map(|line| line.split(' ').next()) {
            *counts.entry(lane.to_owned()).or_default() += 1;
        }
        Ok(counts)
    }
}

/// Waits until so many lanes have begun, and go on.
pub(super) fn wait_flowing(flow: &mut dyn Flow, lanes: usize) -> Result<()> {
    let mut first = None;
    super::workers::wait(&format!("records in {lanes} lanes"), || {
        let counts = flow.counts()?;
        let all = counts.values().filter(|count| **count > 0).count() >= lanes;
        let before = first.get_or_insert_with(|| counts.clone());
        if !all {
            *before = counts;
            return Ok(None);
        }
        let more = counts.iter().all(|(lane, count)| before.get(lane) < Some(count));
        Ok(more.then_some(()))
    })
}

/// What was seen of some flows after a kill: the seconds that the lanes of the tasks that died stood
/// still, until each gave a record again. `None` where that was not seen in time.
pub(super) fn standstills(
    flows: &mut [(&mut dyn Flow, usize)],
    killed: Instant,
    patience: Duration,
) -> Result<Vec<Vec<Option<f64>>>> {
    pause(ON_THE_WAY.saturating_sub(killed.elapsed()));
    let mut before = Vec::new();
    for (flow, _) in flows.iter_mut() {
        before.push(flow.counts()?);
    }
    let mut resumed: Vec<BTreeMap<String, f64>> = vec![BTreeMap::new(); flows.len()];
    loop {
        let mut all = true;
        for (((flow, _), before), resumed) in flows.iter_mut().zip(&before).zip(&mut resumed) {
            if resumed.len() == before.len() {
                continue;
            }
            let counts = flow.counts()?;
            let now = killed.elapsed().as_secs_f64();
            for (lane, count) in &counts {
                if before.get(lane).is_some_and(|before| count > before) {
                    resumed.entry(lane.clone()).or_insert(now);
                }
            }
            all &= resumed.len() == before.len();
        }
        if all || killed.elapsed() > patience {
            break;
        }
        pause(LOOK);
    }
    let dead = flows.iter().map(|(_, dead)| *dead);
    let of_each = before.iter().zip(&resumed).zip(dead);
    of_each.map(|((before, resumed), dead)| longest(before, resumed, dead)).collect()
}

/// The times of the lanes that stood still for the longest time, or do still: those that died.
fn longest(
    before: &BTreeMap<String, u64>,
    resumed: &BTreeMap<String, f64>,
    dead: usize,
) -> Result<Vec<Option<f64>>> {
    ensure!(before.len() >= dead, "{dead} tasks died, and there are {} lanes", before.len());
    let mut times: Vec<Option<f64>> =
        before.keys().map(|lane| resumed.get(lane).copied()).collect();
    let time = |time: &Option<f64>| time.unwrap_or(f64::INFINITY);
    times.sort_by(|a, b| time(b).total_cmp(&time(a)));
    times.truncate(dead);
    Ok(times)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_that_died_are_those_that_stood_still_for_the_longest_time() {
        let before = ["a", "b", "c"].map(|lane| (lane.to_owned(), 1)).into();
        let resumed = [("a".to_owned(), 0.5), ("b".to_owned(), 6.5)].into();
        assert_eq!(longest(&before, &resumed, 2).unwrap(), [None, Some(6.5)]);
        assert!(longest(&before, &resumed, 4).is_err());
    }
}
