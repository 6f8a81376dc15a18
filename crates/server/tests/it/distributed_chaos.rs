//! Everything at once to a cluster: workers are killed, stand still and are stopped, brokers and the database
//! go and come back, while rows flow in and out and connectors are made, altered and deleted through any
//! worker. At the end each row is there once, each connector is what it was made, nothing ran twice, and
//! what workers told was true.
//!
//! `scripts/soak` runs the long form: `COPYCAT_CHAOS_WORKERS` (5) and `COPYCAT_CHAOS_FAULTS` (200) say how
//! long.

use crate::distributed_churn::{Churn, Connector, Ended};
use crate::distributed_cluster::Cluster;
use crate::distributed_truth::{LOGS, Listeners, Moment, Outage, Truth, now};
use crate::harness::{PATIENCE, Route, count};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::time::Duration;
use testkit::{
    Rng, eventually, holds_for,
    kafka::{self, Brokers},
    postgres::{Database, Server, Stop},
    process::{Worker, WorkerSetup},
    progress, soak,
};

/// What is told must be true within this, where somebody can know better.
const TOLD_WITHIN: Duration = Duration::from_secs(2);
/// Tasks of the sink, and partitions of its topic.
const TASKS: usize = 3;
const PARTITIONS: i32 = 6;

fn number(variable: &str, long: u64, short: u64) -> u64 {
    let set = std::env::var(variable).ok();
    let set = set.map(|text| text.parse().unwrap_or_else(|_| panic!("{variable}={text}")));
    set.unwrap_or(if soak() { long } else { short })
}

/// The faults there are, how often each is chosen, and how often it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fault {
    Kill,
    KillTwo,
    Pause,
    Stop,
    Broker,
    Postgres,
}

const FAULTS: [(Fault, u64); 6] = [
    (Fault::Kill, 30),
    (Fault::KillTwo, 5),
    (Fault::Pause, 25),
    (Fault::Stop, 20),
    (Fault::Broker, 12),
    (Fault::Postgres, 8),
];

struct Chaos {
    rng: Rng,
    cluster: Cluster,
    brokers: Brokers,
    server: Server,
    outages: Vec<Outage>,
    done: BTreeMap<Fault, u64>,
}

impl Chaos {
    fn any_worker(&mut self) -> usize {
        usize::try_from(self.rng.below(self.cluster.workers.len() as u64)).expect("small")
    }

    /// A time in which the cluster is left as it is.
    fn wait(&mut self, from_ms: u64, to_ms: u64) {
        let time = Duration::from_millis(self.rng.range(from_ms, to_ms));
        holds_for(time, "time passes", || true);
    }

    fn note(&mut self, worker: Option<usize>, killed: bool, from: Moment) {
        let worker = worker.map(|worker| self.cluster.workers[worker].address().to_owned());
        self.outages.push(Outage { worker, killed, from, until: now() });
    }

    fn strike(&mut self) {
        let mut chosen = self.rng.below(FAULTS.iter().map(|(_, weight)| weight).sum());
        let mut faults = FAULTS.iter();
        let fault = faults.find_map(|(fault, weight)| match chosen.checked_sub(*weight) {
            Some(left) => {
                chosen = left;
                None
            }
            None => Some(*fault),
        });
        let fault = fault.expect("below the sum");
        *self.done.entry(fault).or_default() += 1;
        if soak() {
            report(&format!("fault {}: {fault:?}", self.done.values().sum::<u64>()));
        }
        match fault {
            Fault::Kill => self.kill(),
            Fault::KillTwo => self.kill_two(),
            Fault::Pause => self.pause(),
            Fault::Stop => self.stop(),
            Fault::Broker => self.broker(),
            Fault::Postgres => {
                let how = if self.rng.chance(50) { Stop::Fast } else { Stop::Immediate };
                self.server.restart(how);
            }
        }
        self.wait(200, 2_000);
    }

    /// Sometimes it comes back at once, sometimes its tasks are elsewhere by then.
    fn kill(&mut self) {
        let worker = self.any_worker();
        let from = now();
        self.cluster.workers[worker].kill9();
        if self.rng.chance(50) {
            self.wait(6_000, 9_000);
        }
        self.cluster.workers[worker].restart();
        self.note(Some(worker), true, from);
    }

    fn kill_two(&mut self) {
        let first = self.any_worker();
        let second = (first + 1) % self.cluster.workers.len();
        let from = now();
        for worker in [first, second] {
            self.cluster.workers[worker].kill9();
        }
        self.wait(0, 8_000);
        for worker in [first, second] {
            self.cluster.workers[worker].launch();
        }
        for worker in [first, second] {
            self.cluster.workers[worker].wait_healthy();
            self.note(Some(worker), true, from);
        }
    }

    fn pause(&mut self) {
        let worker = self.any_worker();
        let from = now();
        self.cluster.workers[worker].signal("STOP");
        // On either side of the session.
        self.wait(500, 10_000);
        self.cluster.workers[worker].signal("CONT");
        self.note(Some(worker), false, from);
    }

    fn stop(&mut self) {
        let worker = self.any_worker();
        assert_eq!(self.cluster.workers[worker].terminate().code(), Some(0));
        if self.rng.chance(40) {
            // Longer than anybody waits for it.
            self.wait(1_000, 12_000);
        }
        self.cluster.workers[worker].restart();
    }

    fn broker(&mut self) {
        let broker = self.rng.range(1, Brokers::COUNT + 1);
        let from = now();
        if self.rng.chance(50) {
            self.brokers.kill(broker);
        } else {
            self.brokers.stop(broker);
        }
        self.wait(500, 8_000);
        self.brokers.launch(broker);
        self.brokers.settle();
        self.note(None, false, from);
    }
}

/// A source whose rows come out at the other side of Kafka: what is made up, and the sink behind it.
struct Chain {
    source: String,
    sink: String,
    topic: String,
}

impl Chain {
    fn start(chaos: &Chaos, route: &Route) -> Chain {
        let topic = kafka::topic_name("made");
        kafka::create_topic(chaos.brokers.bootstrap(), &topic, 2);
        route.database.execute("CREATE TABLE made (id bigint)");
        let (source, sink) = (format!("{topic}-source"), format!("{topic}-sink"));
        let config = json!({
            "connector.class": "datagen", "topic": topic, "template": r#"{"id":"${sequence}"}"#,
            "rate": "200", "tasks.max": "2",
        });
        chaos.cluster.put(1, &source, &config);
        let more = [("topics", topic.as_str()), ("table.name.format", "made"), ("tasks.max", "2")];
        chaos.cluster.put(2, &sink, &as_json(&route.properties(&more)));
        Chain { source, sink, topic }
    }

    /// Stops the source, and compares both sides.
    fn expect_complete(&self, chaos: &Chaos, route: &Route) {
        let path = format!("/connectors/{}/stop", self.source);
        assert_eq!(chaos.cluster.ask(0, "PUT", &path, None).0, 204);
        wait_state(chaos, &self.source, "STOPPED", 0);
        let records = kafka::read(chaos.brokers.bootstrap(), &self.topic);
        let made = records.iter().map(|record| {
            let value: Value = serde_json::from_str(record.text()).expect("JSON");
            value["payload"]["id"].as_u64().expect("a number")
        });
        let mut made: Vec<u64> = made.collect();
        made.sort_unstable();
        for task in 0..2 {
            let own: Vec<u64> = made.iter().copied().filter(|id| id % 2 == task).collect();
            let all: Vec<u64> = (0..own.len() as u64).map(|n| 2 * n + task).collect();
            assert_eq!(own, all, "every record of task {task} is there once");
        }
        let sql = "SELECT count(*) FROM made";
        progress(PATIENCE, "every record is a row", || {
            let rows = count(&route.database.url(), sql);
            if rows >= Some(records.len() as u64) { Ok(()) } else { Err(rows) }
        });
        let rows = route.database.query("SELECT id FROM made ORDER BY id");
        let expected: Vec<Vec<Option<String>>> =
            made.iter().map(|id| vec![Some(id.to_string())]).collect();
        assert_eq!(rows, expected, "every record is a row once");
    }
}

fn as_json(properties: &[(&str, &str)]) -> Value {
    let map: Map<String, Value> =
        properties.iter().map(|(key, value)| ((*key).to_owned(), json!(value))).collect();
    Value::Object(map)
}

/// Waits until every worker tells that a connector and all of so many tasks are in a state.
/// One that is paused makes no tasks of a new configuration: as many as it has are right then.
#[track_caller]
fn wait_state(chaos: &Chaos, name: &str, state: &str, tasks: usize) {
    for worker in 0..chaos.cluster.workers.len() {
        let path = format!("/connectors/{name}/status");
        progress(PATIENCE, &format!("{name} is {state} with {tasks} tasks"), || {
            let (_, body) = chaos.cluster.ask(worker, "GET", &path, None);
            let list = body["tasks"].as_array().cloned().unwrap_or_default();
            let so = body["connector"]["state"] == state
                && (list.len() == tasks || state == "PAUSED")
                && list.iter().all(|task| task["state"] == state);
            if so { Ok(()) } else { Err(body.to_string()) }
        });
    }
}

/// What a connector is, as a worker tells it.
fn told(chaos: &Chaos, worker: usize, name: &str) -> Option<Connector> {
    let (status, config) =
        chaos.cluster.ask(worker, "GET", &format!("/connectors/{name}/config"), None);
    if status == 404 {
        return None;
    }
    let number = |key: &str| config[key].as_str().and_then(|text| text.parse().ok());
    let (_, body) = chaos.cluster.ask(worker, "GET", &format!("/connectors/{name}/status"), None);
    let states = ["RUNNING", "PAUSED", "STOPPED"];
    let state = states.into_iter().find(|state| body["connector"]["state"] == *state);
    Some(Connector {
        seed: number("seed").unwrap_or(0),
        tasks: usize::try_from(number("tasks.max").unwrap_or(0)).expect("small"),
        state: state.unwrap_or("none"),
    })
}

/// Every connector is what it was made, on every worker, and what it is is what runs.
fn expect_acknowledged(chaos: &Chaos, churn: &Ended) {
    for (name, (may_be, story)) in &churn.outcomes {
        let mut found = Vec::new();
        for worker in 0..chaos.cluster.workers.len() {
            let now = told(chaos, worker, name);
            assert!(may_be.contains(&now), "{name} is {now:?}, not {may_be:?}; {story:#?}");
            found.push(now);
        }
        found.dedup();
        assert_eq!(found.len(), 1, "{name}: all workers tell the same");
        let (state, tasks) = match found.pop().flatten() {
            None => continue,
            Some(Connector { state: "STOPPED", .. }) => ("STOPPED", 0),
            Some(connector) => (connector.state, connector.tasks),
        };
        wait_state(chaos, name, state, tasks);
        let running = if state == "RUNNING" { tasks } else { 0 };
        eventually(PATIENCE, &format!("{running} tasks of {name} run"), || {
            let truth = Truth::read(&chaos.cluster.workers, &chaos.outages);
            let runs = truth.running(name);
            (runs.len() == running && runs.values().all(|on| on.len() == 1)).then_some(())
        });
    }
}

#[test]
fn fault_clusters_under_everything_at_once() {
    let mut rng = Rng::seeded("clusters");
    let workers = usize::try_from(number("COPYCAT_CHAOS_WORKERS", 5, 3)).expect("small");
    let faults = number("COPYCAT_CHAOS_FAULTS", 200, 4);
    let brokers = Brokers::start();
    let server = Server::start();
    let route =
        Route::over(brokers.bootstrap(), "clusters", PARTITIONS, Database::create(&server.url()));
    let cluster = Cluster::start_over(brokers.bootstrap(), "clusters", workers, exact);
    let churn_rng = Rng::new(rng.next_u64());
    let (outages, done) = (Vec::new(), BTreeMap::new());
    let mut chaos = Chaos { rng, cluster, brokers, server, outages, done };
    let tasks = TASKS.to_string();
    let sink = route.properties(&[("tasks.max", tasks.as_str())]);
    chaos.cluster.put(0, route.name(), &as_json(&sink));
    let chain = Chain::start(&chaos, &route);
    let stream = route.stream();
    route.wait_for_more_than(0);
    let addresses: Vec<String> =
        chaos.cluster.workers.iter().map(|worker| worker.address().to_owned()).collect();
    let churn = Churn::start(churn_rng, &kafka::topic_name("churn"), addresses.clone());
    let listeners = Listeners::start(addresses.into_iter());
    for _ in 0..faults {
        chaos.strike();
        if churn.has_failed() {
            break;
        }
    }
    chaos.cluster.workers.iter_mut().for_each(Worker::wait_healthy);
    let churn = churn.finish();
    expect_acknowledged(&chaos, &churn);
    route.expect_exactly(&stream.finish());
    chain.expect_complete(&chaos, &route);
    wait_state(&chaos, &chain.sink, "RUNNING", 2);
    let truth = Truth::read(&chaos.cluster.workers, &chaos.outages);
    let unaware = truth.expect_nothing_twice();
    let late = truth.lateness(listeners, &churn.asked);
    report(&format!(
        "{workers} workers, {:?}; requests: {:?}; {} starts of tasks; the longest run of a task that \
         had been given away: {unaware:?}; late told: {}, the latest {:?}",
        chaos.done,
        churn.tally,
        truth.starts(),
        late.len(),
        late.first(),
    ));
    if soak() {
        let wrong: Vec<_> = late.iter().take_while(|late| late.by > TOLD_WITHIN).collect();
        assert!(
            wrong.is_empty(),
            "told wrong for longer than {TOLD_WITHIN:?}, {} times; the worst: {:#?}",
            wrong.iter().map(|late| late.times).sum::<usize>(),
            wrong.iter().take(30).collect::<Vec<_>>()
        );
    }
}

/// Gives what sources make exactly once, and tells what it runs.
fn exact(setup: WorkerSetup) -> WorkerSetup {
    let setup = setup.worker("exactly.once.source.support", "enabled");
    // What a worker that is lost has open is in nobody's way for long.
    let setup = setup.worker("producer.transaction.timeout.ms", "10000");
    LOGS.iter().fold(setup, |setup, (name, value)| setup.env(name, value))
}

#[expect(clippy::print_stderr, reason = "what was done is for people, in scripts/soak")]
fn report(text: &str) {
    eprintln!("{text}");
}
