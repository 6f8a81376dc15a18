//! A worker's own settings, and how connectors and tasks are made from configurations.
//!
//! Secrets are resolved here, right before use, and never leave: what goes back up is the
//! configuration as the user wrote it.

mod converters;
mod describe;
mod hand_over;
mod listing;
mod offsets;
mod outside;
mod start;
mod start_source;
mod task;
mod validate;

pub use describe::{ConfigInfo, ConfigInfos};
pub use hand_over::{Committed, SinkStanding};
pub use listing::{PluginInfo, PluginKind, UnknownPlugin};
pub use offsets::{Change, OffsetsChange};
pub use outside::VALIDATE_CONNECT;
pub use start::TaskHooks;
pub use task::TaskHandle;
pub use validate::Validated;

use crate::metrics::{Budget, Metric, Page, Startups, TaskMetrics, Windows, write_process};
use crate::plugins::Plugins;
use crate::source::offsets::OffsetStore;
use crate::status::{ActiveTopics, StatusCell};
use api::{Connector, ConnectorPlugin, Error};
use config::providers::{Providers, Resolved, put_references_back};
use config::worker::WorkerConfig;
use config::{Config, ConfigErrors, Props};
use kafka::settings::ClientKind;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Key of the worker file: the worker's tasks assign all partitions to themselves instead of joining
/// a consumer group. For one worker alone, on brokers without group support.
pub const SELF_ASSIGN: &str = "copycat.assign.partitions";

/// Which way the records of a connector go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Into Kafka.
    Source,
    /// Out of Kafka.
    Sink,
}

impl Direction {
    /// As REST answers say it.
    pub fn name(self) -> &'static str {
        match self {
            Direction::Source => "source",
            Direction::Sink => "sink",
        }
    }
}

/// The worker: its settings and its plugins.
pub struct Worker {
    props: Props,
    config: WorkerConfig,
    plugins: Plugins,
    providers: Arc<Providers>,
    /// `host:port` of the first REST listener; part of a sink task's static member id.
    address: String,
    /// Where sources stood, for those that keep it in the worker's file; opened for the first.
    offset_file: Mutex<Option<Arc<dyn OffsetStore>>>,
    started: SystemTime,
    startups: Startups,
    /// For the queues of all tasks.
    budget: Arc<Budget>,
}

impl Worker {
    /// # Errors
    /// Worker keys with wrong values, unknown secret providers.
    pub fn new(props: Props, plugins: Plugins, address: String) -> Result<Worker, ConfigErrors> {
        let providers = config::providers::from_worker(&props)?;
        let props = providers.resolve(&props)?.props;
        let config = WorkerConfig::parse(&props)?;
        let budget = usize::try_from(config.queue_bytes_max).unwrap_or(usize::MAX);
        Ok(Worker {
            props,
            config,
            plugins,
            providers: Arc::new(providers),
            address,
            offset_file: Mutex::default(),
            started: SystemTime::now(),
            startups: Startups::default(),
            budget: Arc::new(Budget::new(budget)),
        })
    }

    /// The status of a task that is about to be started, of the connector that has these topics.
    pub fn new_status(&self, topics: Arc<ActiveTopics>) -> StatusCell {
        let windows = Windows {
            count: self.config.metrics_num_samples,
            length_ms: self.config.metrics_sample_window_ms,
        };
        let starts = Some(self.startups.tasks.clone());
        StatusCell::of(topics, TaskMetrics::new(windows, starts, self.budget.clone()))
    }

    /// Keeps the offsets of all sources there that do not write them in their transactions, in place of
    /// the worker's file.
    pub fn keep_offsets_in(&self, store: Arc<dyn OffsetStore>) {
        *self.offset_file.lock().unwrap_or_else(PoisonError::into_inner) = Some(store);
    }

    /// Adds to a page of metrics what is about the worker itself.
    pub fn write_metrics(&self, page: &mut Page) {
        let started = self.started.duration_since(UNIX_EPOCH).unwrap_or_default();
        page.add(Metric::AppStart, &[], started.as_millis() as f64);
        self.startups.write(page);
        page.add(Metric::WorkerQueue, &[], self.budget.used_bytes() as f64);
        page.add(Metric::WorkerQueueMax, &[], self.budget.bytes_max() as f64);
        let lookups = api::SCHEMA_LOOKUPS.counts();
        page.add(Metric::RegistryRequests, &[], lookups.requests as f64);
        page.add(Metric::RegistryFailures, &[], lookups.failures as f64);
        page.add(Metric::RegistrySeconds, &[], lookups.seconds);
        page.add(Metric::RegistryKnown, &[], lookups.known as f64);
        write_process(page);
    }

    pub fn config(&self) -> &WorkerConfig {
        &self.config
    }

    pub fn props(&self) -> &Props {
        &self.props
    }

    /// Starts a connector: gives the configurations of its tasks, references to secrets left in.
    pub fn task_configs(&self, raw: &Props) -> Result<Vec<Props>, Error> {
        self.startups.connectors.attempt();
        let configs = self.make_task_configs(raw);
        self.startups.connectors.done(configs.is_ok());
        configs.map_err(|error| self.discreet(raw, error))
    }

    fn make_task_configs(&self, raw: &Props) -> Result<Vec<Props>, Error> {
        let resolved = self.resolve(raw)?;
        let plugin = self.plugin(&resolved.props)?;
        let connector = (plugin.make)();
        let tasks_max = resolved.props.get("tasks.max").and_then(|n| n.trim().parse().ok());
        let tasks = connector.task_configs(&resolved.props, tasks_max.unwrap_or(1))?;
        let with_class = |task: &Props| {
            let mut task = put_references_back(raw, &resolved, task);
            let more = [("task.class", Some(task_class(plugin.class)))];
            let topics = ["topics", "topics.regex"];
            let topics = topics.map(|key| (key, raw.get(key).map(str::to_owned)));
            for (key, value) in more.into_iter().chain(topics) {
                if let Some(value) = value {
                    task.insert(key, value);
                }
            }
            task
        };
        Ok(tasks.iter().map(with_class).collect())
    }

    /// Checks what the worker itself sets for Kafka clients and converters, before there is a
    /// connector; gives what is worth saying about it.
    ///
    /// # Errors
    /// Every wrong setting.
    pub fn check(&self) -> Result<Vec<String>, ConfigErrors> {
        let mut found = validate::Findings::default();
        match self.check_clients() {
            Ok(notices) => found.notices.extend(notices),
            Err(errors) => found.errors.extend(errors.errors),
        }
        self.check_own_converters(&mut found);
        Ok(found.finish()?.notices)
    }

    fn check_clients(&self) -> Result<Vec<String>, ConfigErrors> {
        let none = Props::new();
        let mut notices = Vec::new();
        for kind in [ClientKind::Consumer, ClientKind::Producer, ClientKind::Admin] {
            let settings = self.client(kind, &none)?;
            notices.extend(settings.notices.iter().map(ToString::to_string));
        }
        notices.extend(unsecured(&self.props));
        notices.sort();
        notices.dedup();
        Ok(notices)
    }

    /// Waits until a broker has told the cluster's id; `None` if the settings cannot work.
    pub fn wait_for_cluster_id(&self) -> Option<String> {
        const ASK_TIMEOUT: Duration = Duration::from_secs(5);
        let settings = self.client(ClientKind::Admin, &Props::new()).ok()?;
        let admin = kafka::Admin::new(&settings.librdkafka).ok()?;
        loop {
            if let Some(id) = admin.cluster_id(ASK_TIMEOUT) {
                return Some(id);
            }
        }
    }

    /// An error for people: references are in place of secrets.
    fn discreet(&self, raw: &Props, mut error: Error) -> Error {
        let Ok(resolved) = self.providers.resolve(raw) else { return error };
        error.message = resolved.hide(&error.message);
        error.hint = error.hint.map(|hint| resolved.hide(&hint));
        error
    }

    fn resolve(&self, raw: &Props) -> Result<Resolved, Error> {
        self.providers.resolve(raw).map_err(config_error)
    }

    fn plugin(&self, props: &Props) -> Result<&'static ConnectorPlugin, Error> {
        let class = props.get("connector.class").unwrap_or_default();
        (self.plugins.connector)(class, props).map_err(Error::config)
    }

    fn connector(&self, props: &Props) -> Result<Connector, Error> {
        Ok((self.plugin(props)?.make)())
    }
}

/// What a task's configuration says its class is.
fn task_class(connector: &str) -> String {
    format!("{}Task", connector.strip_suffix("Connector").unwrap_or(connector))
}

pub(crate) fn config_error(errors: ConfigErrors) -> Error {
    Error::config(errors.to_string())
}

/// What is said of a worker that logs in to brokers while none of its tasks does.
fn unsecured(worker: &Props) -> Option<String> {
    const KEY: &str = "security.protocol";
    let own = worker.get(KEY).map(str::trim).filter(|own| !own.is_empty())?;
    let of_tasks = |prefix: &str| worker.get(&format!("{prefix}{KEY}")).is_some();
    if ["consumer.", "producer."].into_iter().any(of_tasks) || own.eq_ignore_ascii_case("PLAINTEXT")
    {
        return None;
    }
    Some(format!(
        "{KEY}={own} is for the worker's own connections, as in Kafka Connect; those of sinks go without it \
         unless consumer.{KEY} is set, those of sources unless consumer.{KEY} and producer.{KEY} are, each \
         with the keys of the login beside it"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_that_is_for_the_worker_alone_is_told() {
        let told = |pairs: &[(&str, &str)]| unsecured(&pairs.iter().copied().collect());
        let own = ("security.protocol", "SASL_SSL");
        let (sinks, sources) =
            (("consumer.security.protocol", "SASL_SSL"), ("producer.security.protocol", "SSL"));
        for quiet in
            [&[sinks][..], &[("security.protocol", "plaintext")], &[own, sinks], &[own, sources]]
        {
            assert_eq!(told(quiet), None, "{quiet:?}");
        }
        let said = told(&[own]).unwrap();
        for word in ["security.protocol=SASL_SSL", "unless consumer.security.protocol is set"] {
            assert!(said.contains(word), "{said}");
        }
    }
}
