//! Sources of a cluster whose records are given exactly once: through lost and paused workers, and through
//! task sets of other sizes.

use crate::distributed_cluster::Cluster;
use crate::harness::{PATIENCE, faults};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use testkit::{Rng, eventually, kafka, progress};

const SUPPORT: &str = "exactly.once.source.support";

/// Numbered records that say how many tasks their set has.
fn numbered(topic: &str, tasks: u64) -> Value {
    let template = json!({ "set": tasks, "n": "${sequence}" });
    json!({
        "connector.class": "datagen", "topic": topic, "rate": "100", "tasks.max": tasks.to_string(),
        "template": template.to_string(), "schema.enable": "false",
    })
}

/// What readers of committed records get: of each partition the sets and numbers, in order.
fn committed(topic: &str) -> BTreeMap<i32, Vec<(u64, u64)>> {
    let mut partitions: BTreeMap<i32, Vec<(u64, u64)>> = BTreeMap::new();
    for record in kafka::read_with(&kafka::bootstrap(), topic, "read_committed") {
        let value: Value = serde_json::from_str(record.text()).expect("JSON");
        let number = |name: &str| value["payload"][name].as_u64().expect("a number");
        let all = partitions.entry(record.partition).or_default();
        all.push((number("set"), number("n")));
    }
    partitions
}

/// How many of a set there are.
fn given(topic: &str, set: u64) -> usize {
    committed(topic).values().flatten().filter(|(of, _)| *of == set).count()
}

#[track_caller]
fn wait_given(topic: &str, set: u64, more_than: usize) {
    progress(PATIENCE, &format!("more than {more_than} records of the set of {set}"), || {
        let now = given(topic, set);
        if now > more_than { Ok(()) } else { Err(format!("{now}")) }
    });
}

/// The last record of the config topic under a key.
fn config_record(cluster: &Cluster, key: &str) -> Option<String> {
    let topic = format!("{}-config", cluster.group);
    let records = kafka::read_with(&kafka::bootstrap(), &topic, "read_committed");
    let mut own = records.iter().filter(|record| record.key.as_deref() == Some(key.as_bytes()));
    own.next_back().map(|record| record.text().to_owned())
}

/// Each record once, none left out, and none of a set after one of the next.
fn check(topic: &str, sets: &[u64]) {
    let partitions = committed(topic);
    for (partition, records) in &partitions {
        let place = |set: u64| sets.iter().position(|other| *other == set);
        let order: Vec<_> = records.iter().map(|(set, _)| place(*set)).collect();
        assert!(
            order.is_sorted(),
            "partition {partition} has records of an older set after newer ones"
        );
    }
    for &set in sets {
        for task in 0..set {
            let all = partitions.values().flatten();
            let own = all.filter(|(of, n)| *of == set && n % set == task).map(|(_, n)| *n);
            let mut own: Vec<u64> = own.collect();
            own.sort_unstable();
            let wanted: Vec<u64> = (0..own.len() as u64).map(|at| at * set + task).collect();
            assert_eq!(own, wanted, "task {task} of {set}");
        }
    }
}

#[test]
fn fault_exactly_once_sources_outlive_workers_and_task_sets() {
    let mut rng = Rng::seeded("once");
    let mut cluster = Cluster::start_as("once", 3, |setup| setup.worker(SUPPORT, "enabled"));
    let topic = kafka::topic("once", 2);
    let sets = [4, 1, 3];
    for set in sets {
        cluster.put(0, &topic, &numbered(&topic, set));
        wait_given(&topic, set, 20);
        for _ in 0..faults().div_ceil(20) {
            let worker = usize::try_from(rng.below(3)).expect("below 3");
            let address = cluster.workers[worker].address().to_owned();
            if rng.chance(50) {
                cluster.workers[worker].kill9();
            } else {
                cluster.workers[worker].signal("STOP");
            }
            progress(PATIENCE, "the others have all tasks", || {
                let spread = cluster.spread((worker + 1) % 3, &topic);
                let all = spread.values().sum::<usize>() as u64 == set;
                if all && !spread.contains_key(&address) {
                    Ok(())
                } else {
                    Err(format!("{spread:?}"))
                }
            });
            wait_given(&topic, set, given(&topic, set));
            if cluster.workers[worker].runs() {
                cluster.workers[worker].signal("CONT");
            } else {
                cluster.workers[worker].launch();
            }
            cluster.workers[worker].wait_healthy();
            wait_given(&topic, set, given(&topic, set));
        }
        let count = json!({ "task-count": set }).to_string();
        let key = format!("tasks-fencing-{topic}");
        assert_eq!(config_record(&cluster, &key), Some(count), "as many producers may exist");
    }
    let path = |what: &str| format!("/connectors/{topic}/{what}");
    assert_eq!(cluster.ask(1, "PUT", &path("stop"), None).0, 204);
    eventually(PATIENCE, "nobody may write any more", || {
        let count = config_record(&cluster, &format!("tasks-fencing-{topic}"))?;
        (count == r#"{"task-count":0}"#).then_some(())
    });
    check(&topic, &sets);
    let (status, body) = cluster.ask(2, "DELETE", &path("offsets"), None);
    assert_eq!(status, 200, "{body}");
    let (_, offsets) = cluster.ask(0, "GET", &path("offsets"), None);
    assert_eq!(offsets["offsets"], json!([]));
}

#[test]
fn workers_that_prepare_count_producers_and_promise_nothing() {
    let cluster = Cluster::start_as("prepare", 1, |setup| setup.worker(SUPPORT, "preparing"));
    let topic = kafka::topic("prepare", 1);
    let mut config = numbered(&topic, 2);
    config["exactly.once.support"] = json!("required");
    let path = format!("/connectors/{topic}/config");
    let (status, body) = cluster.ask(0, "PUT", &path, Some(&config));
    let told = "This worker does not have exactly-once source support enabled.";
    assert!(status == 400 && body["message"].to_string().contains(told), "{body}");
    cluster.put(0, &topic, &numbered(&topic, 2));
    wait_given(&topic, 2, 0);
    let count = config_record(&cluster, &format!("tasks-fencing-{topic}"));
    assert_eq!(count.as_deref(), Some(r#"{"task-count":2}"#));
}
