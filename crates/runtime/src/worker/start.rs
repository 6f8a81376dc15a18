//! Makes a running task, a sink's here, from configurations: the worker's, the connector's, the task's.

use super::converters::{DEFAULT_HEADER_CONVERTER, HEADER_CONVERTER};
use super::{SELF_ASSIGN, TaskHandle, Worker, config_error};
use crate::chain::Chain;
use crate::errors::ErrorLog;
use crate::sink::{
    Again, DeadLetterSettings, Renewal, SinkTaskHandle, SinkTaskSettings, TaskMaker, Topics,
    spawn_sink_task,
};
use crate::source::Confirm;
use crate::status::StatusCell;
use api::{Connector, Converter, Error, Side, SinkConnector, TaskContext, Tolerance};
use config::connector::SinkConnectorConfig;
use config::worker::WorkerConfig;
use config::{Config, ConfigErrors, Props};
use kafka::settings::{self, ClientKind, ClientSettings};
use std::time::Duration;

/// Records of one batch unless `max.poll.records` says otherwise.
const BATCH_ROWS_MAX: usize = 10_000;
const BATCH_BYTES_MAX: usize = 4 << 20;
/// Bytes that wait. Up to three batches more are being written; a backlog of small records still
/// fills transactions of [`BATCH_ROWS_MAX`] rows.
const QUEUE_BYTES_MAX: usize = 2 << 20;
/// What the Kafka client fetches ahead of that. It holds about twice as much: its own records of each
/// message, and whole fetches until their last message is read.
const CLIENT_QUEUE_KBYTES: usize = 3072;
/// The same where there are so many tasks that each has a small part of the worker's bytes.
const CLIENT_QUEUE_KBYTES_MIN: usize = 64;
/// What a fetch brings of a partition, before it is unpacked.
const FETCH_BYTES: usize = 256 << 10;
const FETCH_BYTES_MIN: usize = 16 << 10;
pub(super) const RETRY_BACKOFF_MAX: Duration = Duration::from_secs(10);
/// How often a mirror of the positions goes to the group, if the worker does not ask for more.
const COMMIT_INTERVAL_MS_MAX: u64 = 5_000;
/// New topics are looked for at least this often.
const TOPICS_REFRESH_MS_MAX: u64 = 30_000;

/// What a task asks of whoever started it.
pub struct TaskHooks {
    /// Where others could have the task too: asked by a source that writes in transactions.
    pub confirm: Option<Confirm>,
    /// Called where the task has failed and would do better if it were started once more.
    pub again: Again,
}

impl Worker {
    /// Starts a task. Its configuration is one of [`Worker::task_configs`]; what it does not allow
    /// shows as a FAILED status.
    pub fn start_task(
        &self,
        name: &str,
        task: u32,
        raw: &Props,
        status: StatusCell,
        hooks: TaskHooks,
    ) -> TaskHandle {
        let _entered = tracing::info_span!("task", connector = name, task).entered();
        status.metrics().starting();
        match self.try_start(name, task, raw, &status, hooks) {
            Ok(handle) => handle,
            Err(error) => {
                let error = self.discreet(raw, error);
                TaskHandle::Sink(SinkTaskHandle::failed(&error, status))
            }
        }
    }

    fn try_start(
        &self,
        name: &str,
        task: u32,
        raw: &Props,
        status: &StatusCell,
        hooks: TaskHooks,
    ) -> Result<TaskHandle, Error> {
        let props = self.resolve(raw)?.props;
        match self.connector(&props)? {
            Connector::Sink(sink) => {
                let providers = self.providers.clone();
                let renewal = Renewal::new(providers, raw, &props, hooks.again);
                self.start_sink(name, task, props, sink, (status, renewal)).map(TaskHandle::Sink)
            }
            Connector::Source(source) => self
                .start_source(name, task, &props, source.as_ref(), status, hooks.confirm)
                .map(TaskHandle::Source),
        }
    }

    fn start_sink(
        &self,
        name: &str,
        task: u32,
        props: Props,
        connector: Box<dyn SinkConnector>,
        (status, renewal): (&StatusCell, Option<Renewal>),
    ) -> Result<SinkTaskHandle, Error> {
        let config = SinkConnectorConfig::parse(&props).map_err(config_error)?;
        let settings =
            SinkTaskSettings { renewal, ..self.task_settings(name, task, &props, &config)? };
        let key = self.converter("key.converter", Side::Key, &props)?;
        let value = self.converter("value.converter", Side::Value, &props)?;
        let header = self.converter(HEADER_CONVERTER, Side::Header, &props)?;
        let steps = self.plugins.steps(&props).map_err(config_error)?;
        let chain = Chain::new(key, value, header, steps)
            .show_content(config.common.errors_log_include_messages);
        let (connector_name, group_id) = (name.to_owned(), settings.group.clone());
        let tolerance = tolerance(config.common.errors_tolerance);
        let make: TaskMaker = Box::new(move |cluster_id| {
            let cluster_id = cluster_id.to_owned();
            let context =
                TaskContext { connector: connector_name, task, cluster_id, group_id, tolerance };
            connector.task(&context, &props)
        });
        Ok(spawn_sink_task(settings, make, chain, status.clone()))
    }

    fn task_settings(
        &self,
        name: &str,
        task: u32,
        props: &Props,
        config: &SinkConnectorConfig,
    ) -> Result<SinkTaskSettings, Error> {
        let mut consumer = self.client(ClientKind::Consumer, props).map_err(config_error)?;
        let group =
            consumer.librdkafka.get("group.id").cloned().unwrap_or(format!("connect-{name}"));
        let self_assign = self.props.get(SELF_ASSIGN) == Some("true");
        // Where a member comes from says who it is, so that it finds its seat again.
        let mut seat = Some(format!("copycat-{}-{name}-{task}", self.address));
        let own = &mut consumer.librdkafka;
        own.entry("group.id".to_owned()).or_insert_with(|| group.clone());
        own.entry("client.id".to_owned()).or_insert(format!("connector-consumer-{name}-{task}"));
        let tasks = props.get("tasks.max").and_then(|tasks| tasks.trim().parse().ok()).unwrap_or(1);
        share_bytes(own, self.budget.bytes_max(), tasks.max(self.budget.queues() + 1));
        let classic = own.get("group.protocol").is_none_or(|protocol| protocol == "classic");
        seat = seat.filter(|_| classic && !self_assign && !own.contains_key("group.instance.id"));
        let admin = self.client(ClientKind::Admin, props).map_err(config_error)?.librdkafka;
        let rows_max = consumer.runtime.max_poll_records.map_or(BATCH_ROWS_MAX, |n| n as usize);
        let refresh = own.get("topic.metadata.refresh.interval.ms").and_then(|v| v.parse().ok());
        let flush_ms = self.config.offset_flush_interval_ms;
        Ok(SinkTaskSettings {
            connector: name.to_owned(),
            task,
            group,
            topics: topics(config)?,
            reset: consumer.runtime.auto_offset_reset,
            consumer: consumer.librdkafka,
            seat,
            admin,
            self_assign,
            topic_ids: !self_assign,
            batch_rows_max: rows_max.max(1),
            batch_bytes_max: BATCH_BYTES_MAX,
            queue_bytes_max: QUEUE_BYTES_MAX,
            commit_interval: Duration::from_millis(flush_ms.min(COMMIT_INTERVAL_MS_MAX)),
            topics_refresh: Duration::from_millis(
                refresh.unwrap_or(TOPICS_REFRESH_MS_MAX).min(TOPICS_REFRESH_MS_MAX),
            ),
            shutdown_timeout: Duration::from_millis(self.config.task_shutdown_graceful_timeout_ms),
            retry_backoff_max: RETRY_BACKOFF_MAX,
            tolerance_ratio_max: config.errors_tolerance_max_ratio,
            error_log: ErrorLog::new(name, task, &config.common),
            dead_letters: self.dead_letters(
                name,
                task,
                props,
                (
                    &config.dead_letter_topic,
                    config.dead_letter_replication_factor,
                    config.dead_letter_context_headers,
                ),
            )?,
            renewal: None,
        })
    }

    /// The dead-letter topic of a connector: its name, replication factor and context headers.
    pub(super) fn dead_letters(
        &self,
        name: &str,
        task: u32,
        props: &Props,
        (topic, factor, context_headers): (&str, i16, bool),
    ) -> Result<Option<DeadLetterSettings>, Error> {
        const FACTOR: &str = "errors.deadletterqueue.topic.replication.factor";
        let topic = topic.trim();
        if topic.is_empty() {
            return Ok(None);
        }
        let mut producer = self.client(ClientKind::Producer, props).map_err(config_error)?;
        let id = format!("connector-dlq-producer-{name}-{task}");
        producer.librdkafka.entry("client.id".to_owned()).or_insert(id);
        let factor = i32::from(factor);
        Ok(Some(DeadLetterSettings {
            topic: topic.to_owned(),
            replication_factor: props.contains(FACTOR).then_some(factor),
            context_headers,
            producer: producer.librdkafka,
        }))
    }

    /// The settings of one Kafka client of a connector, all layers applied.
    pub(super) fn client(
        &self,
        kind: ClientKind,
        connector: &Props,
    ) -> Result<ClientSettings, ConfigErrors> {
        let WorkerConfig { override_policy, override_allowlist, .. } = &self.config;
        let refused =
            settings::check_override_policy(*override_policy, override_allowlist, connector, kind);
        ConfigErrors { errors: refused }.into_result()?;
        let layers = settings::layers_for_connector(&self.props, connector, kind);
        let mut client = layers.translate(kind)?;
        let default = || self.config.bootstrap_servers.join(",");
        client.librdkafka.entry("bootstrap.servers".to_owned()).or_insert_with(default);
        Ok(client)
    }

    /// A converter of the connector's own, configured by its own keys alone; else the worker's.
    pub(in crate::worker) fn converter(
        &self,
        key: &str,
        side: Side,
        connector: &Props,
    ) -> Result<Box<dyn Converter>, Error> {
        let default: Props = [(HEADER_CONVERTER, DEFAULT_HEADER_CONVERTER)].into_iter().collect();
        let sources = [connector, &self.props, &default];
        let source = sources.into_iter().find(|props| props.contains(key)).unwrap_or(connector);
        self.plugins.make_converter(key, side, source)
    }
}

/// The clients of a worker's sinks fetch ahead as much as may wait in the tasks' queues: all together, as
/// far as is known when a client is made.
fn share_bytes(consumer: &mut kafka::ClientSettings, bytes_max: usize, tasks: usize) {
    let kbytes = bytes_max / 1024 / tasks.max(1);
    let kbytes = kbytes.clamp(CLIENT_QUEUE_KBYTES_MIN, CLIENT_QUEUE_KBYTES);
    let fetch = (kbytes * 1024 / 4).clamp(FETCH_BYTES_MIN, FETCH_BYTES);
    consumer.entry("queued.max.messages.kbytes".to_owned()).or_insert_with(|| kbytes.to_string());
    if !consumer.contains_key("fetch.message.max.bytes") {
        let bytes = || fetch.to_string();
        consumer.entry("max.partition.fetch.bytes".to_owned()).or_insert_with(bytes);
    }
}

pub(super) fn tolerance(tolerance: config::connector::Tolerance) -> Tolerance {
    match tolerance {
        config::connector::Tolerance::None => Tolerance::None,
        config::connector::Tolerance::All => Tolerance::All,
    }
}

fn topics(config: &SinkConnectorConfig) -> Result<Topics, Error> {
    if config.topics_regex.trim().is_empty() {
        return Ok(Topics::List(config.topics.clone()));
    }
    let pattern = config::JavaRegex::new(&config.topics_regex);
    let pattern = pattern.map_err(|text| Error::config(format!("topics.regex: {text}")))?;
    Ok(Topics::Regex(Box::new(pattern)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shared(bytes_max: usize, tasks: usize, own: &[(&str, &str)]) -> (String, Option<String>) {
        let own = own.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        let mut settings: kafka::ClientSettings = own.collect();
        share_bytes(&mut settings, bytes_max, tasks);
        let fetch = settings.get("max.partition.fetch.bytes").cloned();
        (settings["queued.max.messages.kbytes"].clone(), fetch)
    }

    #[test]
    fn many_tasks_fetch_ahead_less_each() {
        let of = |kbytes: &str, fetch: &str| (kbytes.to_owned(), Some(fetch.to_owned()));
        assert_eq!(shared(128 << 20, 1, &[]), of("3072", "262144"));
        assert_eq!(shared(128 << 20, 40, &[]), of("3072", "262144"));
        assert_eq!(shared(128 << 20, 200, &[]), of("655", "167680"));
        assert_eq!(shared(128 << 20, 1_000_000, &[]), of("64", "16384"));
        let own = [("queued.max.messages.kbytes", "9"), ("fetch.message.max.bytes", "8")];
        assert_eq!(shared(128 << 20, 200, &own), ("9".to_owned(), None));
    }
}
