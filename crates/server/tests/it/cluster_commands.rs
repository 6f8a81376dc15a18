//! `copycat workers` and `copycat drain`, and the routes below them: each worker tells of all, one is
//! emptied under load, and takes part again.

use crate::cli::Terminal;
use crate::distributed_cluster::{Cluster, orders};
use crate::harness::{PATIENCE, Route, worker};
use serde_json::{Map, Value, json};
use testkit::{
    eventually,
    kafka::{self, Record},
    process::{Worker, WorkerSetup},
};

/// How often a worker has begun to run a task, and how often it has told one to stop.
fn starts_and_stops(worker: &Worker) -> (usize, usize) {
    let log = worker.logs();
    (log.matches("\"StartTask\"").count(), log.matches("\"StopTask\"").count())
}

/// Names what every event came to.
fn told(setup: WorkerSetup) -> WorkerSetup {
    setup.env("COPYCAT_LOG_LEVEL", "info,herder=debug")
}

impl Cluster {
    /// The workers that one of them tells of.
    fn list(&self, teller: usize) -> Vec<Value> {
        let (status, body) = self.ask(teller, "GET", "/workers", None);
        assert_eq!(status, 200, "{body}");
        body.as_array().cloned().expect("a list")
    }

    /// What one worker tells of another; null if nothing.
    fn told_of(&self, teller: usize, worker: usize) -> Value {
        let id = self.workers[worker].address();
        self.list(teller).into_iter().find(|told| told["id"] == id).unwrap_or(Value::Null)
    }

    /// Waits until each of these tells that a worker is so, with so many tasks.
    #[track_caller]
    fn wait_told(&self, tellers: &[usize], worker: usize, state: &str, tasks: usize) {
        for teller in tellers {
            testkit::progress(PATIENCE, &format!("{worker} is {state} with {tasks} tasks"), || {
                let told = self.told_of(*teller, worker);
                let held = told["tasks"].as_array().map(Vec::len);
                let so = told["state"] == state && held == Some(tasks);
                if so { Ok(()) } else { Err(told.to_string()) }
            });
        }
    }

    fn terminal(&self, worker: usize) -> Terminal {
        Terminal::at(self.workers[worker].address())
    }
}

#[test]
fn a_worker_is_drained_under_load_and_each_of_its_tasks_stops_once() {
    let route = Route::new("drained", 6);
    let mut cluster = Cluster::start_as("drained", 3, told);
    let properties = route.properties(&[("tasks.max", "6")]);
    let config: Map<String, Value> =
        properties.iter().map(|(k, v)| ((*k).to_owned(), json!(v))).collect();
    cluster.put(0, route.name(), &Value::Object(config));
    let stream = route.stream();
    let even = [(0, 2), (1, 2), (2, 2)];
    cluster.wait_spread(0, route.name(), &even);
    route.wait_for_more_than(0);
    for teller in 0..3 {
        (0..3).for_each(|worker| cluster.wait_told(&[teller], worker, "ACTIVE", 2));
        let leaders = cluster.list(teller).iter().filter(|told| told["leader"] == true).count();
        assert_eq!(leaders, 1, "{:?}", cluster.list(teller));
        let own = cluster.told_of(teller, teller);
        assert_eq!(
            (&own["here"], &own["version"]),
            (&json!(true), &json!(env!("CARGO_PKG_VERSION")))
        );
        assert!(own["last_heard"].as_u64().is_some_and(|ms| ms > 0), "{own}");
        assert_ne!(own["partitions"], json!([]), "{own}");
    }
    let address = cluster.workers[2].address().to_owned();
    let before: Vec<_> = cluster.workers.iter().map(starts_and_stops).collect();
    // Asked of one that is neither the leader for sure nor the one that is meant.
    let told = cluster.terminal(0).run(&format!("drain {address} --timeout 90")).expect(0);
    assert_eq!(told.out, format!("{address} has no task any more\n"), "{}", told.err);
    cluster.wait_spread(1, route.name(), &[(0, 3), (1, 3)]);
    cluster.wait_told(&[0, 1, 2], 2, "DRAINING", 0);
    let after: Vec<_> = cluster.workers.iter().map(starts_and_stops).collect();
    let (others, drained) = (&after[..2], after[2]);
    assert_eq!(drained, (before[2].0, before[2].1 + 2), "each of its tasks stopped once");
    for (before, after) in before.iter().zip(others) {
        assert_eq!(*after, (before.0 + 1, before.1), "it got one and stopped none");
    }
    // Nothing is left to move when it ends.
    cluster.workers[2].terminate();
    eventually(PATIENCE, "the others know that it has gone", || {
        (0..2).all(|teller| cluster.told_of(teller, 2).is_null()).then_some(())
    });
    let now: Vec<_> = cluster.workers[..2].iter().map(starts_and_stops).collect();
    assert_eq!(now, others, "a worker that was drained takes nobody's task along");
    // It comes back as another start, which takes part again.
    cluster.workers[2].restart();
    cluster.wait_spread(0, route.name(), &even);
    cluster.wait_told(&[0, 1, 2], 2, "ACTIVE", 2);
    route.expect_exactly(&stream.finish());
}

#[test]
fn drains_are_undone_and_what_cannot_be_drained_is_told() {
    let cluster = Cluster::start("undone", 2);
    let name = kafka::topic_name("orders");
    cluster.put(0, &name, &orders(&name, 4));
    cluster.wait_spread(1, &name, &[(0, 2), (1, 2)]);
    let addresses = [cluster.workers[0].address(), cluster.workers[1].address()];
    let terminal = cluster.terminal(0);
    let run = |line: &str| terminal.run(line);
    let table = run("workers").expect(0).out;
    for address in addresses {
        assert!(table.lines().any(|line| line.starts_with(address)), "{table}");
    }
    assert_eq!(run("workers -o json").expect(0).json().as_array().map(Vec::len), Some(2));
    assert_eq!(run("workers --tasks").expect(0).out.lines().count(), 5, "a head and four tasks");
    let unknown = run("drain nowhere:1").expect(2);
    assert!(addresses.iter().all(|address| unknown.err.contains(address)), "{}", unknown.err);
    // A hook beside the worker need not know its name.
    run("drain --this").expect(0);
    cluster.wait_told(&[0, 1], 0, "DRAINING", 0);
    let last = run(&format!("drain {}", addresses[1])).expect(2);
    assert!(last.err.contains("only active worker"), "{}", last.err);
    cluster.wait_told(&[0, 1], 1, "ACTIVE", 4);
    run(&format!("drain {} --force --timeout 0", addresses[1])).expect(0);
    cluster.wait_told(&[0, 1], 1, "DRAINING", 4);
    cluster.wait_spread(0, &name, &[(1, 4)]);
    // Whoever comes first gets them.
    let undone = cluster.terminal(1).run("drain --undo --this").expect(0);
    assert!(undone.out.contains("takes tasks again"), "{}", undone.out);
    let (status, _) = cluster.ask(1, "DELETE", &format!("/workers/{}/drain", addresses[0]), None);
    assert_eq!(status, 202);
    for worker in 0..2 {
        cluster.wait_told(&[0, 1], worker, "ACTIVE", 2);
    }
    cluster.wait_spread(0, &name, &[(0, 2), (1, 2)]);
}

#[test]
fn a_standalone_worker_tells_of_itself_and_is_not_drained() {
    let worker = worker(&kafka::bootstrap()).start();
    let terminal = Terminal::at(worker.address());
    let workers = terminal.run("workers -o json").expect(0).json();
    assert_eq!(workers.as_array().map(Vec::len), Some(1));
    assert_eq!(workers[0]["id"], worker.address());
    assert_eq!((&workers[0]["leader"], &workers[0]["run"]), (&json!(true), &Value::Null));
    let told = terminal.run("drain --this").expect(2);
    assert!(told.err.contains("a standalone worker is alone"), "{}", told.err);
    terminal.run("info --healthy").expect(0);
}

/// Writes what a worker said last again as a later version would have.
///
/// Gives whether it had said anything yet.
fn say_as_later_version(status: &str, key: &str) -> bool {
    let records = kafka::read(&kafka::bootstrap(), status);
    let own = |read: &&kafka::Read| {
        read.value.is_some() && read.key.as_deref().is_some_and(|k| k.starts_with(key.as_bytes()))
    };
    let Some(said) = records.iter().rev().find(own) else { return false };
    let mut word: Value = serde_json::from_str(said.text()).expect("JSON");
    word["version"] = json!("9.9.9");
    word["of-a-later-version"] = json!({ "what": [1, 2] });
    let record = Record::value(word.to_string()).key(said.key.clone().expect("a key"));
    kafka::produce(&kafka::bootstrap(), status, [record]);
    true
}

/// The words of another version on itself, and records that only it knows.
#[test]
fn a_worker_of_another_version_is_listed_and_works() {
    let cluster = Cluster::start("versions", 2);
    let status = format!("{}-status", cluster.group);
    let key = format!("copycat-worker-{}/", cluster.workers[1].address());
    let terminal = cluster.terminal(0);
    eventually(PATIENCE, "the other version is told of", || {
        // Again where the worker has had something new to say meanwhile.
        let said = say_as_later_version(&status, &key);
        (said && terminal.run("workers").expect(0).out.contains("9.9.9")).then_some(())
    });
    for topic in [status, format!("{}-config", cluster.group)] {
        let record = Record::value("{}").key("copycat-of-a-later-version");
        kafka::produce(&kafka::bootstrap(), &topic, [record]);
    }
    let name = kafka::topic_name("orders");
    cluster.put(0, &name, &orders(&name, 4));
    cluster.wait_spread(0, &name, &[(0, 2), (1, 2)]);
    cluster.wait_spread(1, &name, &[(0, 2), (1, 2)]);
}
