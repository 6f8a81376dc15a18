//! Workers of a cluster as processes, asked through any of them.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use testkit::process::{Worker, WorkerSetup, request};

use super::Bench;
use crate::bench::process::pause;

pub(super) const PATIENCE: Duration = Duration::from_secs(90);
const LOOK: Duration = Duration::from_millis(10);

/// The workers of a cluster of its own.
pub(super) struct Workers {
    pub(super) all: Vec<Worker>,
    bootstrap: String,
    binary: String,
    group: String,
}

impl Workers {
    pub(super) fn start(bench: &Bench, count: usize) -> Result<Workers> {
        let mut workers = Workers {
            all: Vec::new(),
            bootstrap: bench.bootstrap.clone(),
            binary: bench.binary.clone(),
            group: testkit::kafka::topic_name("bench-cluster"),
        };
        for _worker in 0..count {
            workers.launch_another();
        }
        for worker in &mut workers.all {
            worker.wait_healthy();
        }
        // Healthy alone is not yet together.
        wait("all workers have a place", || {
            let list = workers.list(0)?;
            let seated = list.iter().filter(|w| w["partitions"] != json!([])).count();
            Ok((seated == count && list.iter().any(|w| w["leader"] == true)).then_some(()))
        })?;
        Ok(workers)
    }

    fn setup(&self) -> WorkerSetup {
        Worker::distributed(&self.binary, &self.group)
            .worker("bootstrap.servers", &self.bootstrap)
            .worker("key.converter", "org.apache.kafka.connect.storage.StringConverter")
            .worker("value.converter", "org.apache.kafka.connect.json.JsonConverter")
            .worker("value.converter.schemas.enable", "false")
            // So that each stop of a task is in the log.
            .env("COPYCAT_LOG_LEVEL", "info,herder=debug")
    }

    /// One worker more, which is not waited for.
    pub(super) fn launch_another(&mut self) {
        let worker = self.setup().launch();
        self.all.push(worker);
    }

    /// What `GET /workers` says through one of them.
    pub(super) fn list(&self, through: usize) -> Result<Vec<Value>> {
        let (status, body) = self.ask(through, "GET", "/workers", None)?;
        ensure!(status == 200, "GET /workers: {body}");
        Ok(body.as_array().cloned().unwrap_or_default())
    }

    /// The number of the one that leads.
    pub(super) fn leader(&self, through: usize) -> Result<usize> {
        let list = self.list(through)?;
        let leader = list.iter().find(|worker| worker["leader"] == true);
        let id = leader.and_then(|worker| worker["id"].as_str()).context("nobody leads")?;
        let found = self.all.iter().position(|worker| worker.address() == id);
        found.context("a stranger leads")
    }

    pub(super) fn ask(
        &self,
        through: usize,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(u16, Value)> {
        let worker = self.all.get(through).context("there is such a worker")?;
        ask(worker.address(), method, path, body)
    }

    pub(super) fn put(&self, through: usize, name: &str, config: &Value) -> Result<()> {
        let worker = self.all.get(through).context("there is such a worker")?;
        put(worker.address(), name, config)
    }

    /// Running tasks, with the address of the worker that has each, as one of them tells it.
    pub(super) fn running(&self, through: usize) -> Result<BTreeMap<(String, u64), String>> {
        let worker = self.all.get(through).context("there is such a worker")?;
        running(worker.address())
    }

    /// Waits until so many tasks run, no worker has more than one more than another, and nothing moves.
    /// `workers`: so many share them.
    pub(super) fn wait_even(&self, through: usize, tasks: usize, workers: usize) -> Result<()> {
        wait("the tasks are spread evenly", || {
            let running = self.running(through)?;
            let mut loads: BTreeMap<&str, usize> = BTreeMap::new();
            for worker in running.values() {
                *loads.entry(worker).or_default() += 1;
            }
            let (least, most) = (loads.values().min(), loads.values().max());
            let even = least.zip(most).is_some_and(|(least, most)| most - least <= 1);
            let whole = running.len() == tasks && loads.len() == workers;
            let list = self.list(through)?;
            let mut held = list.iter().filter_map(|worker| worker["tasks"].as_array()).flatten();
            let still = held.all(|task| task["leaving"] == false);
            Ok((even && whole && still).then_some(()))
        })
        .with_context(|| self.logs())
    }

    /// The topic with its connectors.
    pub(super) fn config_topic(&self) -> String {
        format!("{}-config", self.group)
    }

    /// How often workers were told to stop a task: each line of the log names what one event led to.
    pub(super) fn stops(&self) -> usize {
        self.all.iter().map(|worker| worker.logs().matches("StopTask").count()).sum()
    }

    fn logs(&self) -> String {
        let tails = self.all.iter().map(|worker| {
            let logs = worker.logs();
            let lines: Vec<&str> = logs.lines().collect();
            lines.get(lines.len().saturating_sub(15)..).unwrap_or_default().join("\n")
        });
        tails.collect::<Vec<_>>().join("\n--\n")
    }
}

pub(super) fn ask(
    address: &str,
    method: &str,
    path: &str,
    body: Option<&Value>,
) -> Result<(u16, Value)> {
    let body = body.map(Value::to_string);
    let answer = request(address, method, path, body.as_deref())?;
    Ok((answer.status, serde_json::from_str(&answer.body).unwrap_or(Value::Null)))
}

pub(super) fn put(address: &str, name: &str, config: &Value) -> Result<()> {
    let path = format!("/connectors/{name}/config");
    let (status, body) = ask(address, "PUT", &path, Some(config))?;
    ensure!(status < 300, "{path}: {body}");
    Ok(())
}

/// Running tasks, with the address of the worker that has each.
pub(super) fn running(address: &str) -> Result<BTreeMap<(String, u64), String>> {
    let (status, body) = ask(address, "GET", "/connectors?expand=status", None)?;
    ensure!(status == 200, "GET /connectors: {body}");
    let mut running = BTreeMap::new();
    for (name, connector) in body.as_object().into_iter().flatten() {
        let tasks = connector["status"]["tasks"].as_array();
        for task in tasks.into_iter().flatten().filter(|task| task["state"] == "RUNNING") {
            let key = (name.clone(), task["id"].as_u64().unwrap_or_default());
            running.insert(key, task["worker_id"].as_str().unwrap_or_default().to_owned());
        }
    }
    Ok(running)
}

/// Looks until there is something. Workers that do not answer at the moment are asked again.
pub(super) fn wait<T>(what: &str, mut look: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    let start = Instant::now();
    loop {
        let seen = look();
        if let Ok(Some(seen)) = seen {
            return Ok(seen);
        }
        if start.elapsed() > PATIENCE {
            seen.with_context(|| format!("{what}: not in {PATIENCE:?}"))?;
            anyhow::bail!("{what}: not in {PATIENCE:?}");
        }
        pause(LOOK);
    }
}

/// A source of one task whose records go to a topic of one partition.
pub(super) fn source(topic: &str, rate: u32) -> Value {
    json!({
        "connector.class": "datagen", "topic": topic, "shape": "orders",
        "rate": rate.to_string(), "tasks.max": "1",
    })
}
