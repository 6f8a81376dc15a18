//! Makes a running source task from configurations: the worker's, the connector's, the task's.

use super::converters::HEADER_CONVERTER;
use super::start::{RETRY_BACKOFF_MAX, tolerance};
use super::{Worker, config_error};
use crate::compacted::CompactedTopic;
use crate::errors::ErrorLog;
use crate::source::offsets::{Layered, OffsetFile, OffsetStore, OffsetTopic, OffsetTopicSettings};
use crate::source::{
    Confirm, Delivered, SourceChain, SourceTaskHandle, SourceTaskSettings, spawn_source_task,
};
use crate::status::StatusCell;
use api::{Connector, Error, ExactlyOnce, Side, SourceConnector, TaskContext};
use config::source::{SourceConnectorConfig, topic_groups};
use config::worker::ExactlyOnceSupport;
use config::{Config, Props};
use kafka::settings::ClientKind;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

const BATCH_ROWS_MAX: usize = 10_000;
const BATCH_BYTES_MAX: usize = 1 << 20;
/// Bytes that a producer keeps of records on their way, unless it is told otherwise. Each record takes
/// about 250 bytes beside its own.
const PRODUCER_QUEUE_KBYTES: &str = "4096";
/// How long librdkafka waits for a topic by default.
const TOPIC_APPEARS_MS: u64 = 30_000;
const TRANSACTIONAL_ID: &str = "transactional.id";
/// Key of the worker file.
const OFFSET_FILE: &str = "offset.storage.file.filename";

impl Worker {
    pub(super) fn start_source(
        &self,
        name: &str,
        task: u32,
        props: &Props,
        connector: &dyn SourceConnector,
        status: &StatusCell,
        confirm: Option<Confirm>,
    ) -> Result<SourceTaskHandle, Error> {
        let config = SourceConnectorConfig::parse(props).map_err(config_error)?;
        let mut settings = self.source_settings(name, task, props, &config, connector)?;
        settings.confirm = confirm.filter(|_| settings.is_transactional());
        let chain = SourceChain {
            steps: self.plugins.steps(props).map_err(config_error)?,
            key: self.converter("key.converter", Side::Key, props)?,
            value: self.converter("value.converter", Side::Value, props)?,
            header: self.converter(HEADER_CONVERTER, Side::Header, props)?,
        };
        let context = TaskContext {
            connector: name.to_owned(),
            task,
            cluster_id: String::new(),
            group_id: String::new(),
            tolerance: settings.tolerance,
        };
        let made = connector.task(&context, props)?;
        Ok(spawn_source_task(settings, made, chain, status.clone()))
    }

    fn source_settings(
        &self,
        name: &str,
        task: u32,
        props: &Props,
        config: &SourceConnectorConfig,
        connector: &dyn SourceConnector,
    ) -> Result<SourceTaskSettings, Error> {
        let mut admin = self.client(ClientKind::Admin, props).map_err(config_error)?.librdkafka;
        admin
            .entry("client.id".to_owned())
            .or_insert(format!("connector-adminclient-{name}-{task}"));
        let flush = Duration::from_millis(self.config.offset_flush_interval_ms);
        let once = self.gives_once(props, connector);
        let producer = self.source_producer(name, task, props, once)?;
        let (store, delivered): (Arc<dyn OffsetStore>, _) = if once {
            let (offsets, store) = self.offset_topics(name, task, props, config)?;
            let interval = config.transaction_boundary_interval_ms;
            let interval = interval.map_or(flush, |ms| Duration::from_millis(ms.max(0) as u64));
            let boundary = config.transaction_boundary;
            (store, Delivered::ExactlyOnce { boundary, interval, offsets })
        } else if config.offsets_storage_topic.is_some() {
            (self.offset_topics(name, task, props, config)?.1, Delivered::AtLeastOnce)
        } else {
            (self.offset_file()?, Delivered::AtLeastOnce)
        };
        Ok(SourceTaskSettings {
            connector: name.to_owned(),
            task,
            producer,
            admin,
            delivered,
            confirm: None,
            store,
            topic_groups: if self.config.topic_creation_enable {
                topic_groups(props).map_err(config_error)?
            } else {
                None
            },
            batch_rows_max: BATCH_ROWS_MAX,
            batch_bytes_max: BATCH_BYTES_MAX,
            flush_interval: flush,
            shutdown_timeout: Duration::from_millis(self.config.task_shutdown_graceful_timeout_ms),
            retry_backoff_max: RETRY_BACKOFF_MAX,
            tolerance: tolerance(config.common.errors_tolerance),
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
        })
    }

    pub(super) fn source_producer(
        &self,
        name: &str,
        task: u32,
        props: &Props,
        once: bool,
    ) -> Result<kafka::ClientSettings, Error> {
        let mut producer =
            self.client(ClientKind::Producer, props).map_err(config_error)?.librdkafka;
        producer
            .entry("client.id".to_owned())
            .or_insert(format!("connector-producer-{name}-{task}"));
        if !producer.contains_key("queue.buffering.max.messages.kbytes") {
            producer
                .entry("queue.buffering.max.kbytes".to_owned())
                .or_insert_with(|| PRODUCER_QUEUE_KBYTES.to_owned());
        }
        // Of a plain producer, it would be refused.
        producer.remove(TRANSACTIONAL_ID);
        if once {
            let group = self.props.get("group.id").unwrap_or_default();
            producer.insert(TRANSACTIONAL_ID.to_owned(), format!("{group}-{name}-{task}"));
            producer.insert("enable.idempotence".to_owned(), "true".to_owned());
            // A topic that does not appear is to be told before its records time out, which they do
            // with their transaction.
            let timeout = producer.get("transaction.timeout.ms").and_then(|ms| ms.parse().ok());
            let appears = timeout.map_or(TOPIC_APPEARS_MS, |ms: u64| TOPIC_APPEARS_MS.min(ms / 2));
            producer
                .entry("topic.metadata.propagation.max.ms".to_owned())
                .or_insert_with(|| appears.to_string());
        }
        Ok(producer)
    }

    /// Whether a task's records are to arrive exactly once: the worker offers it and the connector can.
    pub(super) fn gives_once(&self, props: &Props, connector: &dyn SourceConnector) -> bool {
        self.config.exactly_once_source_support == ExactlyOnceSupport::Enabled
            && connector.exactly_once(props) == ExactlyOnce::Supported
    }

    /// Whether transactional producers of this connector's tasks are counted: they are to give their
    /// records exactly once, or other workers may have them do so already.
    pub fn counts_producers(&self, raw: &Props) -> bool {
        let support = self.config.exactly_once_source_support;
        support != ExactlyOnceSupport::Disabled
            && matches!(self.connector(raw), Ok(Connector::Source(source))
                if source.exactly_once(raw) == ExactlyOnce::Supported)
    }

    /// The topic that a task's offsets are written to, and how they are read: from it, else from where
    /// they were before, which is the worker's topic or its file.
    pub(super) fn offset_topics(
        &self,
        name: &str,
        task: u32,
        props: &Props,
        config: &SourceConnectorConfig,
    ) -> Result<(Arc<OffsetTopic>, Arc<dyn OffsetStore>), Error> {
        let set = |topic: &Option<String>| topic.clone().filter(|topic| !topic.trim().is_empty());
        let (own, workers) =
            (set(&config.offsets_storage_topic), set(&self.config.offset_storage_topic));
        let topic = own.or(workers.clone()).ok_or_else(|| {
            Error::config("exactly-once sources need a topic for their offsets").hint(
                "set offset.storage.topic in the worker file, or offsets.storage.topic in the \
                 connector's configuration",
            )
        })?;
        let first = Arc::new(self.offset_topic(name, task, props, topic.clone())?);
        let mut older: Vec<Arc<dyn OffsetStore>> = Vec::new();
        let support = self.config.exactly_once_source_support == ExactlyOnceSupport::Enabled;
        if let Some(workers) = workers.filter(|workers| support && *workers != topic) {
            older.push(Arc::new(self.offset_topic(name, task, props, workers)?));
        }
        if let Some(path) = self.props.get(OFFSET_FILE).filter(|path| !path.trim().is_empty()) {
            older.push(Arc::new(OffsetFile::look(path.trim())?));
        }
        Ok((first.clone(), Arc::new(Layered::new(first, older))))
    }

    fn offset_topic(
        &self,
        name: &str,
        task: u32,
        props: &Props,
        topic: String,
    ) -> Result<OffsetTopic, Error> {
        let worker = &self.config;
        let client = |kind| self.client(kind, props).map(|c| c.librdkafka).map_err(config_error);
        let mut consumer = client(ClientKind::Consumer)?;
        let id = format!("connector-consumer-{name}-{task}");
        consumer.insert("group.id".to_owned(), id.clone());
        consumer.insert("client.id".to_owned(), id);
        consumer.insert("isolation.level".to_owned(), "read_committed".to_owned());
        let mut producer = client(ClientKind::Producer)?;
        producer.remove(TRANSACTIONAL_ID);
        const PREFIX: &str = "offset.storage.";
        let topic = CompactedTopic {
            name: topic,
            partitions: worker.offset_storage_partitions,
            replication_factor: worker.offset_storage_replication_factor,
            configs: CompactedTopic::configs(&self.props, PREFIX),
            what: "source offsets",
            prefix: PREFIX,
        };
        Ok(OffsetTopic::new(OffsetTopicSettings {
            topic,
            consumer,
            producer,
            admin: client(ClientKind::Admin)?,
        }))
    }

    /// The worker's own file of offsets, opened for the first task that needs it.
    pub(super) fn offset_file(&self) -> Result<Arc<dyn OffsetStore>, Error> {
        let mut slot = self.offset_file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(store) = slot.as_ref() {
            return Ok(store.clone());
        }
        let path = self.props.get(OFFSET_FILE).filter(|path| !path.trim().is_empty());
        let path = path.ok_or_else(|| {
            Error::config("there is no file for the offsets of sources")
                .hint(format!("set {OFFSET_FILE} in the worker file"))
        })?;
        let store: Arc<dyn OffsetStore> = OffsetFile::open(path.trim())?.into();
        *slot = Some(store.clone());
        Ok(store)
    }
}
