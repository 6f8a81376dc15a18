//! What a thousand connectors take of a worker that runs none of their tasks.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use rdkafka::producer::{BaseRecord, Producer as _};
use serde_json::{Value, json};

use super::Bench;
use super::workers::{Workers, ask, wait};
use crate::bench::process::{cpu_seconds, memory, pause};
use crate::bench::rest::connector;
use crate::bench::say;
use crate::bench::sink::topics::producer;
use crate::bench::table::{Goal, Section};

const GOAL_MB: f64 = 64.0;
const REST: Duration = Duration::from_secs(2);
/// How long the processor time of a worker at rest is looked at.
const IDLE: Duration = Duration::from_secs(5);

pub(super) fn run(bench: &Bench) -> Result<Vec<Section>> {
    let connectors: usize = if bench.quick { 50 } else { 1000 };
    let mut section = Section::new(
        &format!("Memory with {connectors} connectors, of which no task runs"),
        &["case", "memory", "more than without connectors", "peak", "of a core, at rest"],
    );
    let mut cluster = Workers::start(bench, 1)?;
    let empty = now(&cluster)?;
    section.row(empty.cells("no connector", None));
    say(&format!("making {connectors} connectors"));
    for number in 0..connectors {
        let body = connector(number);
        let (status, answer) = cluster.ask(0, "POST", "/connectors", Some(&body))?;
        ensure!(status == 201, "{answer}");
    }
    section.row(now(&cluster)?.cells("made through REST, stopped", Some(&empty)));
    for worker in &mut cluster.all {
        worker.terminate();
        worker.restart();
    }
    wait_known(&cluster, connectors)?;
    section.row(now(&cluster)?.cells("the same, the worker started again", Some(&empty)));
    drop(cluster);
    let read = Workers::start(bench, 1)?;
    write_records(bench, &read.config_topic(), connectors)?;
    wait_known(&read, connectors)?;
    section.row(now(&read)?.cells("read from Kafka Connect's records alone", Some(&empty)));
    section.note(
        "Resident memory after two seconds of rest. The worker is alone, so that it leads. The last case has \
         the records of configurations and target states as a worker of Kafka Connect writes them, and \
         nothing else.",
    );
    Ok(vec![section])
}

struct Figures {
    now_mb: f64,
    peak_mb: f64,
    /// Share of a core.
    busy: f64,
}

impl Figures {
    fn cells(&self, case: &str, empty: Option<&Figures>) -> [String; 5] {
        let mb = |value: f64| format!("{value:.1} MB");
        let more = |empty: &Figures| Goal::AtMost(GOAL_MB).judge(self.now_mb - empty.now_mb, mb);
        [
            case.to_owned(),
            mb(self.now_mb),
            empty.map(more).unwrap_or_default(),
            mb(self.peak_mb),
            format!("{:.1} %", self.busy * 100.0),
        ]
    }
}

fn now(cluster: &Workers) -> Result<Figures> {
    let Some(worker) = cluster.all.first() else { anyhow::bail!("there is a worker") };
    pause(REST);
    let memory = memory(worker.id())?;
    let cpu = cpu_seconds(worker.id())?;
    pause(IDLE);
    let busy = (cpu_seconds(worker.id())? - cpu) / IDLE.as_secs_f64();
    Ok(Figures { now_mb: memory.now, peak_mb: memory.peak, busy })
}

fn wait_known(cluster: &Workers, connectors: usize) -> Result<()> {
    wait("all connectors are known", || {
        let Some(worker) = cluster.all.first() else { return Ok(None) };
        let (_, body) = ask(worker.address(), "GET", "/connectors", None)?;
        let known = body.as_array().map_or(0, Vec::len);
        Ok((known == connectors).then_some(()))
    })
}

/// Configurations and target states, in Kafka Connect's own form.
fn write_records(bench: &Bench, topic: &str, connectors: usize) -> Result<()> {
    let producer = producer(&bench.bootstrap, 5)?;
    let send = |key: String, value: Value| -> Result<()> {
        let value = value.to_string();
        let record: BaseRecord<'_, str, str> =
            BaseRecord::to(topic).partition(0).key(key.as_str()).payload(value.as_str());
        producer.send(record).map_err(|(error, _)| error)?;
        Ok(())
    };
    for number in 0..connectors {
        let (name, mut properties) = match connector(number) {
            Value::Object(mut fields) => (fields.remove("name"), fields.remove("config")),
            _ => (None, None),
        };
        let name = name.as_ref().and_then(Value::as_str).context("it has a name")?;
        send(format!("target-state-{name}"), json!({ "state": "STOPPED", "state.v2": "STOPPED" }))?;
        if let Some(properties) = &mut properties {
            properties["name"] = Value::from(name);
        }
        send(format!("connector-{name}"), json!({ "properties": properties }))?;
    }
    producer.flush(Duration::from_secs(60))?;
    Ok(())
}
