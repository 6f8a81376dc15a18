//! Clusters of workers for tests: a number of processes with one `group.id`, asked through any of them.

use crate::harness::{PATIENCE, member};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use testkit::{
    kafka,
    process::{Worker, WorkerSetup},
};

/// The workers of a cluster of its own.
pub(crate) struct Cluster {
    pub(crate) workers: Vec<Worker>,
    /// The `group.id`; its topics are named after it.
    pub(crate) group: String,
    bootstrap: String,
    more: Box<dyn Fn(WorkerSetup) -> WorkerSetup + Send>,
}

impl Cluster {
    pub(crate) fn start(name: &str, workers: usize) -> Cluster {
        Cluster::start_as(name, workers, |setup| setup)
    }

    /// The same, where the workers have more than what every worker has.
    pub(crate) fn start_as(
        name: &str,
        workers: usize,
        more: impl Fn(WorkerSetup) -> WorkerSetup + Send + 'static,
    ) -> Cluster {
        Cluster::start_over(&kafka::bootstrap(), name, workers, more)
    }

    /// The same on other brokers than the shared one.
    pub(crate) fn start_over(
        bootstrap: &str,
        name: &str,
        workers: usize,
        more: impl Fn(WorkerSetup) -> WorkerSetup + Send + 'static,
    ) -> Cluster {
        let (group, bootstrap) = (kafka::topic_name(name), bootstrap.to_owned());
        let mut cluster = Cluster { workers: Vec::new(), group, bootstrap, more: Box::new(more) };
        (0..workers).for_each(|_| cluster.launch_another());
        cluster.workers.iter_mut().for_each(Worker::wait_healthy);
        cluster
    }

    /// One worker more, which is not waited for.
    pub(crate) fn launch_another(&mut self) {
        let setup = (self.more)(member(&self.bootstrap, &self.group));
        self.workers.push(setup.launch());
    }

    pub(crate) fn ask(
        &self,
        worker: usize,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> (u16, Value) {
        let body = body.map(Value::to_string);
        let answer = self.workers[worker].request(method, path, body.as_deref());
        (answer.status, serde_json::from_str(&answer.body).unwrap_or(Value::Null))
    }

    /// Makes a connector, or gives it another configuration, through a worker.
    pub(crate) fn put(&self, worker: usize, name: &str, config: &Value) -> u16 {
        let path = format!("/connectors/{name}/config");
        let (status, body) = self.ask(worker, "PUT", &path, Some(config));
        assert!(status < 300, "{body}");
        status
    }

    /// The tasks that run, by the worker that has them, as one worker tells it.
    pub(crate) fn spread(&self, teller: usize, name: &str) -> BTreeMap<String, usize> {
        let (status, body) = self.ask(teller, "GET", &format!("/connectors/{name}/status"), None);
        let mut spread = BTreeMap::new();
        let tasks = body["tasks"].as_array().cloned().unwrap_or_default();
        for task in tasks.iter().filter(|task| status == 200 && task["state"] == "RUNNING") {
            let worker = task["worker_id"].as_str().unwrap_or_default();
            *spread.entry(worker.to_owned()).or_default() += 1;
        }
        spread
    }

    /// Waits until one worker tells of so many running tasks on each of these workers.
    #[track_caller]
    pub(crate) fn wait_spread(&self, teller: usize, name: &str, wanted: &[(usize, usize)]) {
        let wanted: BTreeMap<String, usize> = wanted
            .iter()
            .map(|(worker, tasks)| (self.workers[*worker].address().to_owned(), *tasks))
            .collect();
        testkit::progress(PATIENCE, &format!("tasks are spread as {wanted:?}"), || {
            let spread = self.spread(teller, name);
            if spread == wanted { Ok(()) } else { Err(format!("{spread:?}")) }
        });
    }
}

/// A source of made-up orders.
pub(crate) fn orders(topic: &str, tasks: usize) -> Value {
    json!({
        "connector.class": "datagen", "topic": topic, "shape": "orders", "rate": "20",
        "tasks.max": tasks.to_string(),
    })
}
