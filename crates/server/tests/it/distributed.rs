//! Clusters of workers as processes: they share tasks, replace each other, and answer alike.

use crate::distributed_cluster::{Cluster, orders};
use crate::exposition::Exposition;
use crate::harness::{PATIENCE, Route, faults};
use serde_json::{Value, json};
use testkit::{
    Rng, eventually, kafka,
    process::{Worker, WorkerSetup},
};

/// How often a worker has begun to run a task.
fn starts(worker: &Worker) -> usize {
    worker.logs().matches("StartTask").count()
}

/// What it measures.
fn measured(worker: &Worker) -> Exposition {
    Exposition::read(&worker.get("/metrics").body, false)
}

#[test]
fn tasks_are_shared_moved_from_the_dead_and_given_to_who_comes_back() {
    let mut cluster = Cluster::start("shared", 3);
    let name = kafka::topic_name("orders");
    assert_eq!(cluster.put(1, &name, &orders(&name, 6)), 201);
    for teller in 0..3 {
        cluster.wait_spread(teller, &name, &[(0, 2), (1, 2), (2, 2)]);
    }
    let mut leads = 0.0;
    for worker in &cluster.workers {
        // Each counts what it has, so that their sum is the cluster's.
        let told = measured(worker);
        leads += told.value("copycat_cluster_leads", &[]);
        assert_eq!(told.value("copycat_cluster_workers", &[]), 3.0);
        assert_eq!(told.value("copycat_cluster_tasks_without_worker", &[]), 0.0);
        assert_eq!(told.value("kafka_connect_worker_rebalance_rebalancing", &[]), 0.0);
        let rebalance =
            |what: &str| told.value(&format!("kafka_connect_worker_rebalance_{what}"), &[]);
        assert!(rebalance("epoch") >= rebalance("completed_rebalances_total"));
        assert!(rebalance("completed_rebalances_total") >= 1.0);
        assert!(rebalance("time_since_last_rebalance_ms").is_finite());
        assert_eq!(told.value("kafka_connect_worker_task_count", &[]), 2.0);
        let running = "kafka_connect_worker_connector_running_task_count";
        assert_eq!(told.value(running, &[("connector", &name)]), 2.0);
    }
    assert_eq!(leads, 1.0, "one worker leads");
    cluster.workers[1].kill9();
    for teller in [0, 2] {
        cluster.wait_spread(teller, &name, &[(0, 3), (2, 3)]);
    }
    cluster.workers[1].restart();
    for teller in 0..3 {
        cluster.wait_spread(teller, &name, &[(0, 2), (1, 2), (2, 2)]);
    }
}

/// Before Kafka says that a worker is gone, which takes it a session.
#[test]
fn what_ran_on_a_worker_that_does_not_answer_is_not_said_to_run() {
    let long = |setup: WorkerSetup| setup.worker("session.timeout.ms", "30000");
    let mut cluster = Cluster::start_as("silent", 3, long);
    let name = kafka::topic_name("orders");
    cluster.put(0, &name, &orders(&name, 3));
    let even = [(0, 1), (1, 1), (2, 1)];
    (0..3).for_each(|teller| cluster.wait_spread(teller, &name, &even));
    let gone = cluster.workers[2].address().to_owned();
    let told = |cluster: &Cluster, teller: usize, state: &str, reason: &str| {
        let all = "/connectors?expand=status".to_owned();
        for path in [format!("/connectors/{name}/status"), all] {
            testkit::progress(PATIENCE, &format!("{state} {reason}"), || {
                let (_, body) = cluster.ask(teller, "GET", &path, None);
                let status = if body["tasks"].is_array() { &body } else { &body[&name]["status"] };
                let tasks = status["tasks"].as_array().cloned().unwrap_or_default();
                let of_gone = tasks.iter().find(|task| task["worker_id"] == *gone);
                let so = |task: &Value| {
                    let why = task["copycat"]["reason"].as_str().unwrap_or_default();
                    task["state"] == state && why.contains(reason)
                };
                let others = tasks.iter().filter(|task| task["worker_id"] != *gone);
                let others = others.filter(|task| task["state"] == "RUNNING").count();
                if of_gone.is_some_and(so) && others == 2 { Ok(()) } else { Err(body.to_string()) }
            });
        }
    };
    let silent = format!("worker {gone} does not answer");
    cluster.workers[2].signal("STOP");
    (0..2).for_each(|teller| told(&cluster, teller, "UNASSIGNED", &silent));
    let (_, workers) = cluster.ask(0, "GET", "/workers", None);
    let of_gone = workers.as_array().into_iter().flatten().find(|worker| worker["id"] == *gone);
    assert!(
        of_gone.is_some_and(|w| w["troubles"].to_string().contains("does not answer")),
        "{workers}"
    );
    cluster.workers[2].signal("CONT");
    (0..2).for_each(|teller| told(&cluster, teller, "RUNNING", ""));
    cluster.workers[2].kill9();
    (0..2).for_each(|teller| told(&cluster, teller, "UNASSIGNED", &silent));
}

/// With `scheduled.rebalance.max.delay.ms` its tasks are nobody's for long.
#[test]
fn what_waits_for_a_dead_worker_is_not_said_to_run() {
    let delay = |setup: WorkerSetup| setup.worker("scheduled.rebalance.max.delay.ms", "600000");
    let mut cluster = Cluster::start_as("delay", 2, delay);
    let name = kafka::topic_name("orders");
    cluster.put(0, &name, &orders(&name, 2));
    cluster.wait_spread(0, &name, &[(0, 1), (1, 1)]);
    let gone = cluster.workers[1].address().to_owned();
    let states = |cluster: &Cluster| {
        let (_, body) = cluster.ask(0, "GET", &format!("/connectors/{name}/status"), None);
        let tasks = body["tasks"].as_array().cloned().unwrap_or_default();
        let of = |task: &Value| task["worker_id"] == *gone;
        let own = tasks.iter().find(|task| of(task)).cloned().unwrap_or_default();
        let reason = own["copycat"]["reason"].as_str().unwrap_or_default().to_owned();
        (own["state"].clone(), reason)
    };
    cluster.workers[1].kill9();
    eventually(PATIENCE, "it is lost", || {
        let (_, workers) = cluster.ask(0, "GET", "/workers", None);
        let own = workers.as_array()?.iter().find(|worker| worker["id"] == *gone)?;
        (own["state"] == "LOST").then_some(())
    });
    let (state, reason) = states(&cluster);
    assert_eq!(state, "UNASSIGNED", "{reason}");
    assert!(reason.contains("its tasks wait for it"), "{reason}");
    let told = measured(&cluster.workers[0]);
    assert_eq!(told.value("copycat_cluster_tasks_without_worker", &[]), 1.0);
    assert_eq!(told.value("kafka_connect_worker_task_count", &[]), 1.0);
    cluster.workers[1].restart();
    cluster.wait_spread(0, &name, &[(0, 1), (1, 1)]);
}

#[test]
fn workers_that_are_restarted_one_after_the_other_keep_their_tasks() {
    let debug = |setup: WorkerSetup| setup.env("COPYCAT_LOG_LEVEL", "info,herder=debug");
    let mut cluster = Cluster::start_as("rolling", 3, debug);
    let name = kafka::topic_name("orders");
    cluster.put(0, &name, &orders(&name, 6));
    let even = [(0, 2), (1, 2), (2, 2)];
    cluster.wait_spread(0, &name, &even);
    let before: Vec<usize> = cluster.workers.iter().map(starts).collect();
    for worker in 0..3 {
        cluster.workers[worker].terminate();
        cluster.workers[worker].restart();
        cluster.wait_spread((worker + 1) % 3, &name, &even);
    }
    // Lines of the log name what was decided once an event: those that start tasks are one a restart.
    for (worker, before) in cluster.workers.iter().zip(before) {
        let more = starts(worker) - before;
        assert_eq!(more, 2, "each task was stopped and started once: {}", worker.logs());
    }
}

#[test]
fn what_is_asked_of_any_worker_is_done_and_seen_through_all() {
    let cluster = Cluster::start("asked", 3);
    let name = kafka::topic_name("orders");
    let seen = |what: &str, test: &dyn Fn(&Value) -> bool| {
        for teller in 0..3 {
            eventually(PATIENCE, what, || {
                let (_, body) =
                    cluster.ask(teller, "GET", &format!("/connectors/{name}/status"), None);
                test(&body).then_some(())
            });
        }
    };
    let states = |body: &Value, state: &str, tasks: usize| {
        let list = body["tasks"].as_array().cloned().unwrap_or_default();
        body["connector"]["state"] == state
            && list.len() == tasks
            && list.iter().all(|task| task["state"] == state)
    };
    cluster.put(0, &name, &orders(&name, 3));
    seen("it runs", &|body| states(body, "RUNNING", 3));
    // Whoever was asked knows at once what the leader did.
    for worker in 0..3 {
        let config = orders(&name, 1 + worker);
        assert_eq!(cluster.put(worker, &name, &config), 200);
        let (_, told) = cluster.ask(worker, "GET", &format!("/connectors/{name}/config"), None);
        assert_eq!(told["tasks.max"], config["tasks.max"]);
        seen("the new set runs", &|body| states(body, "RUNNING", 1 + worker));
    }
    let path = |what: &str| format!("/connectors/{name}/{what}");
    assert_eq!(cluster.ask(2, "PUT", &path("pause"), None).0, 202);
    seen("it is paused", &|body| states(body, "PAUSED", 3));
    assert_eq!(cluster.ask(1, "PUT", &path("resume"), None).0, 202);
    seen("it runs again", &|body| states(body, "RUNNING", 3));
    let (status, _) = cluster.ask(0, "POST", &path("restart?includeTasks=true"), None);
    assert_eq!(status, 202);
    seen("it has started again", &|body| states(body, "RUNNING", 3));
    assert_eq!(cluster.ask(2, "PUT", &path("stop"), None).0, 204);
    seen("it is stopped", &|body| states(body, "STOPPED", 0));
    let create = json!({ "name": name, "config": orders(&name, 1) });
    for worker in 0..3 {
        let (status, body) = cluster.ask(worker, "POST", "/connectors", Some(&create));
        assert_eq!((status, &body["code"]), (409, &json!("connector_exists")), "{body}");
    }
    assert_eq!(cluster.ask(1, "DELETE", &format!("/connectors/{name}"), None).0, 204);
    seen("it is gone", &|body| body["error_code"] == 404);
}

/// Kills, pauses and stops of workers while rows are appended to a table without a key.
#[test]
fn fault_workers_of_a_cluster_are_killed_paused_and_stopped() {
    let mut rng = Rng::seeded("cluster");
    let route = Route::new("cluster", 4);
    let mut cluster = Cluster::start("faults", 3);
    let properties = route.properties(&[("tasks.max", "3")]);
    let config: serde_json::Map<String, Value> =
        properties.iter().map(|(k, v)| ((*k).to_owned(), json!(v))).collect();
    cluster.put(0, route.name(), &Value::Object(config));
    let stream = route.stream();
    route.wait_for_more_than(0);
    for _ in 0..faults().div_ceil(3) {
        let worker = usize::try_from(rng.below(3)).expect("below 3");
        match rng.below(3) {
            0 => cluster.workers[worker].kill9(),
            1 => {
                cluster.workers[worker].terminate();
            }
            _ => cluster.workers[worker].signal("STOP"),
        }
        let before = route.stored();
        route.wait_for_more_than(before);
        if cluster.workers[worker].runs() {
            cluster.workers[worker].signal("CONT");
        } else {
            cluster.workers[worker].launch();
        }
        route.wait_for_more_than(route.stored());
    }
    cluster.workers.iter_mut().for_each(Worker::wait_healthy);
    route.expect_exactly(&stream.finish());
}
