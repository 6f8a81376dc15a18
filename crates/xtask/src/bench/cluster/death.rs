//! kill -9 of a worker: how long its tasks give nothing.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::Bench;
use super::feed::Feed;
use super::flow::{Ends, Flow, Lines, Positions, standstills, wait_flowing};
use super::java::{self, Java};
use super::workers::{Workers, running, source};
use crate::bench::say;
use crate::bench::table::{Goal, Section, Series};

const WORKERS: usize = 3;
/// Of each kind.
const TASKS: usize = 6;
/// Session, heartbeat, and a second.
const GOAL_S: f64 = 6.0 + 0.5 + 1.0;
const PATIENCE: Duration = Duration::from_secs(60);
/// Kafka Connect leaves the tasks of a worker that is lost for 300 s, counted from when it is missed.
const JAVA_PATIENCE: Duration = Duration::from_secs(330);

pub(super) fn run(bench: &Bench) -> Result<Vec<Section>> {
    let mut section = Section::new(
        "kill -9 of a worker until each of its tasks gives a record elsewhere",
        &["who", "killed", "tasks", "median (least–most)", "longest"],
    );
    ours(bench, &mut section)?;
    section.note(format!(
        "Three workers with {TASKS} sources (datagen) and a PostgreSQL sink of {TASKS} tasks, {} kills of each \
         kind; the worker is started again and the tasks are even before the next. A source's record \
         counts when it is in the topic, a sink's when its transaction is committed. Wanted: session \
         (6 s) + heartbeat (0.5 s) + 1 s.",
        bench.runs
    ));
    if bench.jvm {
        theirs(bench, &mut section)?;
        section.note(format!(
            "{}: two workers, file sources and a file sink of two tasks, one kill of the worker that \
             was started second.",
            java::NAME
        ));
    } else {
        section.note("There is no Java, or it was left out: Kafka Connect is not beside it.");
    }
    Ok(vec![section])
}

/// What the tasks that died stood still for.
#[derive(Default)]
struct Times {
    sources: Series,
    sinks: Series,
}

fn ours(bench: &Bench, section: &mut Section) -> Result<()> {
    let mut cluster = Workers::start(bench, WORKERS)?;
    let mut busy = Busy::start(bench, &cluster, 100, 2)?;
    cluster.wait_even(0, 2 * TASKS, WORKERS)?;
    busy.wait()?;
    for (leads, told) in [(true, "the leader"), (false, "another one")] {
        let mut times = Times::default();
        for _kill in 0..bench.runs {
            kill(&mut cluster, &mut busy, leads, &mut times)?;
        }
        for (kind, times) in [("sources", &times.sources), ("sink", &times.sinks)] {
            if times.len() == 0 {
                section.note(format!("No task of the {kind} was on those killed: {told}."));
                continue;
            }
            section.row([
                "Copycat".to_owned(),
                told.to_owned(),
                kind.to_owned(),
                times.spread(seconds),
                Goal::AtMost(GOAL_S).judge(times.max(), seconds),
            ]);
        }
    }
    Ok(())
}

fn kill(cluster: &mut Workers, busy: &mut Busy, leads: bool, times: &mut Times) -> Result<()> {
    let leader = cluster.leader(0)?;
    let running = cluster.running(leader)?;
    // Of both kinds, if any has both.
    let fewest = |number: &usize| {
        let address = cluster.all.get(*number).map_or("", |worker| worker.address());
        let on_it = running.iter().filter(|(_, worker)| *worker == address);
        let (sinks, sources): (Vec<_>, Vec<_>) = on_it.partition(|((n, _), _)| *n == busy.sink);
        sinks.len().min(sources.len())
    };
    let others = (0..WORKERS).filter(|number| *number != leader);
    let victim = if leads { leader } else { others.max_by_key(fewest).unwrap_or(0) };
    let teller = (victim + 1) % WORKERS;
    let worker = cluster.all.get_mut(victim).context("there is such a worker")?;
    let on_it = running.iter().filter(|(_, address)| *address == worker.address());
    let (sinks, sources): (Vec<_>, Vec<_>) = on_it.partition(|((name, _), _)| *name == busy.sink);
    say(&format!("killing worker {victim} with {} + {} tasks", sources.len(), sinks.len()));
    let killed = Instant::now();
    worker.kill9();
    let mut flows: [(&mut dyn Flow, usize); 2] =
        [(&mut busy.ends, sources.len()), (&mut busy.positions, sinks.len())];
    let found = standstills(&mut flows, killed, PATIENCE)?;
    for (found, times) in found.into_iter().zip([&mut times.sources, &mut times.sinks]) {
        // One that was not seen again counts as for ever.
        found.into_iter().for_each(|time| times.push(time.unwrap_or(f64::INFINITY)));
    }
    if let Some(worker) = cluster.all.get_mut(victim) {
        worker.restart();
    }
    cluster.wait_even(teller, 2 * TASKS, WORKERS)?;
    busy.wait()
}

fn seconds(value: f64) -> String {
    format!("{value:.1} s")
}

/// Sources of one task each, and a sink with as many tasks, that always have something to do.
pub(super) struct Busy {
    /// Each of a connector that is named after it.
    pub(super) topics: Vec<String>,
    pub(super) sink: String,
    pub(super) ends: Ends,
    pub(super) positions: Positions,
    _feed: Feed,
    _database: testkit::postgres::Database,
}

impl Busy {
    /// `rate`: records a second of each source; `records`: fiftieths of those that the sink is given for
    /// each of its tasks.
    pub(super) fn start(bench: &Bench, cluster: &Workers, rate: u32, records: u64) -> Result<Busy> {
        let topics: Vec<String> =
            (0..TASKS).map(|_| testkit::kafka::topic("bench-source", 1)).collect();
        for topic in &topics {
            cluster.put(0, topic, &source(topic, rate))?;
        }
        let partitions = i32::try_from(TASKS)?;
        let sink = testkit::kafka::topic("bench-sink", partitions);
        let database = testkit::postgres::database();
        database.execute("CREATE TABLE rows (part int, n bigint)");
        cluster.put(0, &sink, &sink_config(&sink, &database.url()))?;
        let value = |part: i32, n: u64| format!("{{\"part\":{part},\"n\":{n}}}");
        let feed = Feed::topic(&bench.bootstrap, &sink, partitions, records, value)?;
        let ends = Ends::new(&bench.bootstrap, &topics)?;
        let positions = Positions { client: database.client(), connector: sink.clone() };
        Ok(Busy { topics, sink, ends, positions, _feed: feed, _database: database })
    }

    /// Waits until every task gives records.
    pub(super) fn wait(&mut self) -> Result<()> {
        wait_flowing(&mut self.ends, TASKS)?;
        wait_flowing(&mut self.positions, TASKS)
    }
}

fn sink_config(topic: &str, url: &str) -> Value {
    json!({
        "connector.class": "postgres-sink", "topics": topic, "table.name.format": "rows",
        "connection.url": format!("{url}?sslmode=disable"), "tasks.max": TASKS.to_string(),
    })
}

fn theirs(bench: &Bench, section: &mut Section) -> Result<()> {
    let mut java = Java::start(bench)?;
    let topics: Vec<String> = (0..2).map(|_| testkit::kafka::topic("bench-java", 1)).collect();
    let files = ["in-0", "in-1"];
    let feed = Feed::files(&files.map(|file| java.path(file)))?;
    for (topic, file) in topics.iter().zip(files) {
        java.put(topic, &java.source(topic, file))?;
    }
    let sink = testkit::kafka::topic("bench-java", 2);
    java.put(&sink, &java.sink(&sink, "out", 2))?;
    let value = |part: i32, n: u64| format!("{part} {n}");
    let more = Feed::topic(&bench.bootstrap, &sink, 2, 1, value)?;
    java.wait_running(4)?;
    let (mut ends, mut lines) = (Ends::new(&bench.bootstrap, &topics)?, Lines(java.path("out")));
    wait_flowing(&mut ends, 2)?;
    wait_flowing(&mut lines, 2)?;
    let second = java.second.take().context("the second worker")?;
    let running = running(java.first.address())?;
    let on_it = running.iter().filter(|(_, worker)| *worker == second.address());
    let (sinks, sources): (Vec<_>, Vec<_>) = on_it.partition(|((name, _), _)| *name == sink);
    let patience = if bench.quick { Duration::from_secs(20) } else { JAVA_PATIENCE };
    say(&format!("killing the second one; waiting for up to {} s", patience.as_secs()));
    let killed = Instant::now();
    drop(second);
    let mut flows: [(&mut dyn Flow, usize); 2] =
        [(&mut ends, sources.len()), (&mut lines, sinks.len())];
    let found = standstills(&mut flows, killed, patience)?;
    drop((feed, more));
    for (kind, found) in ["source", "sink"].into_iter().zip(found) {
        let told = |time: Option<f64>| {
            time.map_or_else(|| format!("not in {} s", patience.as_secs()), seconds)
        };
        for time in found {
            section.row([
                java::NAME.to_owned(),
                "the one that does not lead".to_owned(),
                kind.to_owned(),
                told(time),
                String::new(),
            ]);
        }
    }
    Ok(())
}
