//! Public bug reports about clusters, each as its own test, named after its number.

use crate::distributed_cluster::{Cluster, orders};
use crate::harness::{PATIENCE, Route};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::time::Duration;
use testkit::{
    eventually,
    kafka::{self},
    postgres::{Database, Server, Stop},
    process::{Worker, request},
};

/// The last record of every key in a topic of the cluster; none: a tombstone.
fn last_records(group: &str, kind: &str) -> BTreeMap<String, Option<Value>> {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap_or_default();
    let records = kafka::read(&kafka::bootstrap(), &format!("{group}-{kind}"));
    let records = records.into_iter().map(|record| {
        let value = record.value.map(|value| serde_json::from_slice(&value).unwrap_or_default());
        (text(record.key.unwrap_or_default()), value)
    });
    records.collect()
}

/// The highest generation of the workers' group that any of them has told of.
fn generation(group: &str) -> i64 {
    let words = last_records(group, "status");
    let words = words.iter().filter(|(key, _)| key.starts_with("copycat-worker-"));
    words.filter_map(|(_, word)| word.as_ref()?["generation"].as_i64()).max().unwrap_or(0)
}

/// Who leads, by the last transaction.
fn leader(cluster: &Cluster) -> usize {
    eventually(PATIENCE, "a leader", || {
        let led = last_records(&cluster.group, "config").remove("copycat-leader").flatten()?;
        cluster.workers.iter().position(|worker| led["worker"]["id"] == *worker.address())
    })
}

/// B001: workers that join while tasks move leave nothing uneven or without a worker.
#[test]
fn b001_workers_that_join_while_tasks_move_get_their_share() {
    let mut cluster = Cluster::start("b001", 2);
    let name = kafka::topic_name("orders");
    cluster.put(0, &name, &orders(&name, 6));
    cluster.wait_spread(0, &name, &[(0, 3), (1, 3)]);
    cluster.launch_another();
    cluster.workers[2].wait_healthy();
    // Its share is on its way.
    cluster.launch_another();
    for teller in 0..4 {
        let teller = teller.min(3);
        cluster.workers[teller].wait_healthy();
        testkit::progress(PATIENCE, "2, 2, 1 and 1", || {
            let spread = cluster.spread(teller, &name);
            let mut counts: Vec<usize> = spread.values().copied().collect();
            counts.sort_unstable();
            if counts == [1, 1, 2, 2] { Ok(()) } else { Err(format!("{spread:?}")) }
        });
    }
}

/// B003: a leader that reads late costs no rebalance: whoever else is asked waits for it, or leads.
#[test]
fn b003_a_leader_that_stands_still_makes_nobody_join_again_and_again() {
    let cluster = Cluster::start("b003", 2);
    let name = kafka::topic_name("orders");
    cluster.put(0, &name, &orders(&name, 2));
    cluster.wait_spread(0, &name, &[(0, 1), (1, 1)]);
    let before = generation(&cluster.group);
    let leads = leader(&cluster);
    cluster.workers[leads].signal("STOP");
    let other = cluster.workers[1 - leads].address().to_owned();
    let body = orders(&name, 3).to_string();
    let path = format!("/connectors/{name}/config");
    let asked =
        std::thread::spawn(move || request(&other, "PUT", &path, Some(&body)).expect("an answer"));
    let led = || leader(&cluster) != leads;
    eventually(PATIENCE, "the other leads", || led().then_some(()));
    cluster.workers[leads].signal("CONT");
    let answer = asked.join().expect("it asks");
    assert_eq!(answer.status, 200, "{}", answer.body);
    for teller in 0..2 {
        testkit::progress(PATIENCE, "three tasks run", || {
            let spread = cluster.spread(teller, &name);
            if spread.values().sum::<usize>() == 3 { Ok(()) } else { Err(format!("{spread:?}")) }
        });
    }
    let after = generation(&cluster.group);
    assert!(after - before < 10, "from generation {before} to {after}");
}

/// B004: a write right after another is done, not refused because something moves.
#[test]
fn b004_writes_right_after_another_are_done_and_reads_answered() {
    let cluster = Cluster::start("b004", 2);
    let names = ["c1", "c2"].map(kafka::topic_name);
    for round in 0..5 {
        for (worker, name) in names.iter().enumerate() {
            let status = cluster.put(worker, name, &orders(name, 1 + round % 3));
            assert_eq!(status, if round == 0 { 201 } else { 200 });
        }
        let path = |what: &str| format!("/connectors/{}/{what}", names[0]);
        assert_eq!(cluster.ask(1, "POST", &path("restart"), None).0, 204);
        assert_eq!(cluster.ask(0, "GET", &path("status"), None).0, 200);
    }
}

/// B005: what fails because the database is away works again by itself when that is back.
#[test]
fn b005_tasks_work_again_by_themselves_when_the_database_is_back() {
    let mut server = Server::start();
    let route = Route::over(&kafka::bootstrap(), "b005", 2, Database::create(&server.url()));
    let cluster = Cluster::start("b005", 2);
    let config: Map<String, Value> = route
        .properties(&[("tasks.max", "2")])
        .iter()
        .map(|(key, value)| ((*key).to_owned(), json!(value)))
        .collect();
    cluster.put(0, route.name(), &Value::Object(config));
    route.produce(0, 100);
    route.wait_for_all(200);
    server.stop(Stop::Immediate);
    route.produce(100, 100);
    let path = format!("/connectors/{}/status", route.name());
    eventually(PATIENCE, "a worker tells that its task retries", || {
        let told = (0..2).map(|worker| cluster.ask(worker, "GET", &path, None).1);
        let states: Vec<Value> = told
            .flat_map(|status| status["tasks"].as_array().cloned().unwrap_or_default())
            .collect();
        assert!(states.iter().all(|task| task["state"] != "FAILED"), "{states:?}");
        states.iter().any(|task| task["copycat"]["state"] == "RETRYING").then_some(())
    });
    server.launch();
    route.expect_exactly(&route.each(200));
}

/// B007: nothing of a connector that was deleted comes back with its name, whoever ends when.
#[test]
fn b007_tasks_of_a_deleted_connector_do_not_come_back_with_its_name() {
    let mut cluster = Cluster::start("b007", 2);
    let name = kafka::topic_name("orders");
    for round in 0..3 {
        cluster.put(round % 2, &name, &orders(&name, 4));
        cluster.wait_spread(0, &name, &[(0, 2), (1, 2)]);
        let path = format!("/connectors/{name}");
        assert_eq!(cluster.ask(0, "DELETE", &path, None).0, 204);
        let mut config = orders(&name, 1);
        config["rate"] = json!("7");
        assert_eq!(cluster.put(1, &name, &config), 201);
        // Before its tasks are worked out, or after.
        cluster.workers.iter_mut().for_each(Worker::kill9);
        cluster.workers.iter_mut().for_each(Worker::launch);
        cluster.workers.iter_mut().for_each(Worker::wait_healthy);
        for teller in 0..2 {
            testkit::progress(PATIENCE, "exactly one task runs", || {
                let (_, status) = cluster.ask(teller, "GET", &format!("{path}/status"), None);
                let tasks = status["tasks"].as_array().cloned().unwrap_or_default();
                let one = tasks.len() == 1 && tasks[0]["state"] == "RUNNING";
                if one { Ok(()) } else { Err(status.to_string()) }
            });
            let (_, tasks) = cluster.ask(teller, "GET", &format!("{path}/tasks"), None);
            assert_eq!(tasks[0]["config"]["rate"], "7", "{tasks}");
        }
        assert_eq!(cluster.ask(0, "DELETE", &path, None).0, 204);
    }
}

/// B009: the statuses of tasks that are no more are taken back, also in the topic.
#[test]
fn b009_statuses_of_removed_tasks_are_gone_also_after_a_restart() {
    let mut cluster = Cluster::start("b009", 2);
    let name = kafka::topic_name("orders");
    cluster.put(0, &name, &orders(&name, 3));
    let running = |cluster: &Cluster, tasks: usize| {
        for teller in 0..2 {
            testkit::progress(PATIENCE, &format!("{tasks} tasks run"), || {
                let (_, status) =
                    cluster.ask(teller, "GET", &format!("/connectors/{name}/status"), None);
                let list = status["tasks"].as_array().cloned().unwrap_or_default();
                let all = list.len() == tasks && list.iter().all(|t| t["state"] == "RUNNING");
                if all { Ok(()) } else { Err(status.to_string()) }
            });
        }
    };
    running(&cluster, 3);
    cluster.put(1, &name, &orders(&name, 1));
    running(&cluster, 1);
    eventually(PATIENCE, "tombstones of tasks 1 and 2", || {
        let records = last_records(&cluster.group, "status");
        let of = |task: usize| records.get(&format!("status-task-{name}-{task}"));
        assert!(of(0).is_some());
        (of(1) == Some(&None) && of(2) == Some(&None)).then_some(())
    });
    for worker in &mut cluster.workers {
        worker.terminate();
    }
    cluster.workers.iter_mut().for_each(Worker::launch);
    cluster.workers.iter_mut().for_each(Worker::wait_healthy);
    running(&cluster, 1);
}

/// Its kind: a worker that reads the topics from their start, each partition by itself, knows of tasks what
/// those know that saw it happen; what is told of the former connectors of a name does not hide them.
#[test]
fn a_worker_that_comes_back_knows_of_tasks_what_the_others_know() {
    let mut cluster = Cluster::start("known", 2);
    let prefix = kafka::topic_name("orders");
    let names: Vec<String> = (0..8).map(|number| format!("{prefix}-{number}")).collect();
    let all_run = |cluster: &Cluster| {
        let told = |teller: usize, name: &String| {
            let path = format!("/connectors/{name}/status");
            testkit::progress(PATIENCE, &format!("worker {teller} tells of two that run"), || {
                let (_, status) = cluster.ask(teller, "GET", &path, None);
                let tasks = status["tasks"].as_array().cloned().unwrap_or_default();
                let all = tasks.len() == 2 && tasks.iter().all(|t| t["state"] == "RUNNING");
                if all { Ok(()) } else { Err(status.to_string()) }
            });
        };
        (0..2).for_each(|teller| names.iter().for_each(|name| told(teller, name)));
    };
    for name in &names {
        assert_eq!(cluster.put(0, name, &orders(name, 2)), 201);
    }
    all_run(&cluster);
    for name in &names {
        assert_eq!(cluster.ask(1, "DELETE", &format!("/connectors/{name}"), None).0, 204);
        assert_eq!(cluster.put(0, name, &orders(name, 2)), 201);
    }
    all_run(&cluster);
    for worker in 0..2 {
        cluster.workers[worker].terminate();
        cluster.workers[worker].launch();
        cluster.workers[worker].wait_healthy();
        all_run(&cluster);
    }
}

/// Its kind: what others have said of a task that runs, whoever they are, is not the last word of the topic,
/// which is all that is left of it for those who read it later.
#[test]
fn whoever_has_a_task_has_the_last_word_of_it() {
    let cluster = Cluster::start("word", 2);
    let name = kafka::topic_name("orders");
    cluster.put(0, &name, &orders(&name, 2));
    cluster.wait_spread(0, &name, &[(0, 1), (1, 1)]);
    let topic = format!("{}-status", cluster.group);
    let key = |task: usize| format!("status-task-{name}-{task}");
    let last = |task: usize| last_records(&cluster.group, "status").remove(&key(task)).flatten();
    let holder = |task: usize| {
        eventually(PATIENCE, "it runs", || last(task).filter(|word| word["state"] == "RUNNING"))
    };
    let holders = [0, 1].map(holder);
    // A late word of its last worker, which readers do not count, and one that they do.
    for (state, generation) in [("UNASSIGNED", 0), ("FAILED", 99)] {
        let word = json!({
            "state": state, "trace": null, "worker_id": "other:1", "generation": generation,
            "version": null,
        });
        let records = kafka::read(&kafka::bootstrap(), &topic);
        let others = [0, 1].map(key).map(|key| {
            let of_key = |record: &&kafka::Read| record.key.as_deref() == Some(key.as_bytes());
            let partition = records.iter().find(of_key).expect("its record").partition;
            kafka::Record::value(word.to_string()).key(key).partition(partition)
        });
        kafka::produce(&kafka::bootstrap(), &topic, others);
        for (task, holder) in holders.iter().enumerate() {
            eventually(PATIENCE, "its worker says again that it runs", || {
                (last(task).as_ref() == Some(holder)).then_some(())
            });
        }
    }
    cluster.wait_spread(1, &name, &[(0, 1), (1, 1)]);
}

/// Its kind: whoever writes while the leader is stopped gets an answer, and what was acknowledged is there.
#[test]
fn a_leader_that_is_stopped_answers_everybody_who_waits() {
    let mut cluster = Cluster::start("stopped", 2);
    let leads = leader(&cluster);
    let address = cluster.workers[leads].address().to_owned();
    let names: Vec<String> = (0..12).map(|_| kafka::topic_name("orders")).collect();
    let writers = names.iter().map(|name| {
        let (address, name) = (address.clone(), name.clone());
        std::thread::spawn(move || {
            let path = format!("/connectors/{name}/config");
            request(&address, "PUT", &path, Some(&orders(&name, 1).to_string()))
        })
    });
    let writers: Vec<_> = writers.collect();
    let status = cluster.workers[leads].terminate();
    assert_eq!(status.code(), Some(0));
    for (name, writer) in names.iter().zip(writers) {
        let answer = match writer.join().expect("it asks") {
            Ok(answer) => answer,
            Err(error) => {
                // Who came when nobody listened any more was told so by the system.
                let late = [ErrorKind::ConnectionRefused, ErrorKind::ConnectionReset];
                assert!(late.contains(&error.kind()), "{name}: {error}");
                continue;
            }
        };
        // What was being written then nobody knows, and it is said so.
        let said = [(201, name.as_str()), (503, "shutting_down"), (500, "outside_failed")];
        let mut said = said.iter().filter(|(status, _)| *status == answer.status);
        let right = said.any(|(_, word)| answer.body.contains(word));
        assert!(right, "{}: {}", answer.status, answer.body);
        if answer.status == 201 {
            let path = format!("/connectors/{name}");
            eventually(PATIENCE, "what was acknowledged is there", || {
                (cluster.ask(1 - leads, "GET", &path, None).0 == 200).then_some(())
            });
        }
    }
}

/// Its kind: a worker ends in time, whoever else does not answer.
#[test]
fn a_worker_ends_while_a_leader_that_stands_still_owes_it_an_answer() {
    let mut cluster = Cluster::start("owing", 2);
    let leads = leader(&cluster);
    let other = 1 - leads;
    let address = cluster.workers[other].address().to_owned();
    let name = kafka::topic_name("orders");
    cluster.workers[leads].signal("STOP");
    let body = orders(&name, 1).to_string();
    let asking = std::thread::spawn(move || {
        request(&address, "PUT", &format!("/connectors/{name}/config"), Some(&body))
    });
    testkit::holds_for(Duration::from_millis(500), "it is passed on", || true);
    assert_eq!(cluster.workers[other].terminate().code(), Some(0));
    let answer = asking.join().expect("it asks").expect("an answer");
    assert!(answer.status >= 500, "{}: {}", answer.status, answer.body);
    cluster.workers[leads].signal("CONT");
}
