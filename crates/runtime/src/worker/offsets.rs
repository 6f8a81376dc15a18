//! Where connectors stand, for those who ask and those who want it elsewhere.
//!
//! A source's offsets are in the worker's store. A sink's are in its consumer group, unless the
//! destination keeps them: then that is the truth, and what the group has is a mirror.
//!
//! Invariant: changes are made only while the connector has no task; the herder sees to that.

mod fence;
mod requests;

use super::{SELF_ASSIGN, Worker, config_error};
use crate::sink::kafka_error;
use crate::source::Confirm;
use crate::source::offsets::{OffsetChange, OffsetStore};
use api::{Connector, Error, Result, SinkConnector, SourceConnector, SourceMap, TaskContext};
use config::source::SourceConnectorConfig;
use config::{Config, Props};
use data::TopicPartition;
use kafka::settings::ClientKind;
use kafka::{Admin, Position};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub use requests::{Change, OffsetsChange};

pub(super) const TIMEOUT: Duration = Duration::from_secs(30);
/// A member whose task has ended is missed within this, unless its session is set to be longer.
const QUIET_WITHIN: Duration = Duration::from_secs(20);
const QUIET_LOOK: Duration = Duration::from_millis(250);
const ALTERED: &str = "The offsets for this connector have been altered successfully";
const RESET: &str = "The offsets for this connector have been reset successfully";
/// Kafka's code for a group that there is not.
const GROUP_ID_NOT_FOUND: i32 = 69;

impl Worker {
    /// Where a connector stands: partitions with their offsets.
    ///
    /// # Errors
    /// Retriable where the store, Kafka or the destination does not answer.
    pub fn offsets(&self, name: &str, raw: &Props) -> Result<Vec<(SourceMap, SourceMap)>> {
        self.look_up_offsets(name, raw).map_err(|error| self.discreet(raw, error))
    }

    fn look_up_offsets(&self, name: &str, raw: &Props) -> Result<Vec<(SourceMap, SourceMap)>> {
        let props = self.resolve(raw)?.props;
        match self.connector(&props)? {
            Connector::Source(source) => {
                let store = self.offset_store(name, &props, source.as_ref())?;
                store.refresh(&|| false)?;
                store.list(name)
            }
            Connector::Sink(sink) => {
                let positions = self.sink_positions(name, &props, sink.as_ref())?;
                Ok(positions.into_iter().map(|(tp, offset)| sink_entry(&tp, offset)).collect())
            }
        }
    }

    /// Changes where a connector stands; gives what to say about it.
    ///
    /// # Errors
    /// Offsets that cannot be; retriable where something outside does not answer.
    ///
    /// `former`: as many transactional producers as may exist, and what is asked before anything is
    /// written; where nobody knows, as many as the connector would have tasks.
    pub fn alter_offsets(
        &self,
        name: &str,
        raw: &Props,
        change: &OffsetsChange,
        former: Option<(u32, Confirm)>,
    ) -> Result<String> {
        let changed = self.change_offsets(name, raw, change, former);
        changed.map_err(|error| self.discreet(raw, error))
    }

    fn change_offsets(
        &self,
        name: &str,
        raw: &Props,
        change: &OffsetsChange,
        former: Option<(u32, Confirm)>,
    ) -> Result<String> {
        let (producers, confirm) = former.unzip();
        let props = self.resolve(raw)?.props;
        match self.connector(&props)? {
            Connector::Source(source) => {
                let producers = match producers {
                    Some(producers) => producers,
                    None => self.make_task_configs(raw)?.len() as u32,
                };
                let source = source.as_ref();
                self.alter_source(name, &props, source, change, (producers, confirm))?;
            }
            Connector::Sink(sink) => {
                still_may(confirm.as_ref())?;
                self.alter_sink(name, &props, sink.as_ref(), change)?;
            }
        }
        let text = match change {
            OffsetsChange::Alter(_) => ALTERED,
            OffsetsChange::Reset => RESET,
        };
        Ok(text.to_owned())
    }

    fn alter_source(
        &self,
        name: &str,
        props: &Props,
        source: &dyn SourceConnector,
        change: &OffsetsChange,
        (producers, confirm): (u32, Option<Confirm>),
    ) -> Result<()> {
        if self.gives_once(props, source) {
            let producer = self.fence(name, props, producers)?;
            // Who was held up until now must not undo what others have done meanwhile.
            still_may(confirm.as_ref())?;
            let config = SourceConnectorConfig::parse(props).map_err(config_error)?;
            let (topic, store) = self.offset_topics(name, 0, props, &config)?;
            let changes = source_changes(name, props, source, change, store.as_ref())?;
            return match changes.is_empty() {
                true => Ok(()),
                false => topic.put_at_once(&producer, name, &changes),
            };
        }
        let store = self.offset_store(name, props, source)?;
        let changes = source_changes(name, props, source, change, store.as_ref())?;
        still_may(confirm.as_ref())?;
        if changes.is_empty() { Ok(()) } else { store.put(name, &changes) }
    }

    fn offset_store(
        &self,
        name: &str,
        props: &Props,
        source: &dyn SourceConnector,
    ) -> Result<Arc<dyn OffsetStore>> {
        let config = SourceConnectorConfig::parse(props).map_err(config_error)?;
        let in_topic = config.offsets_storage_topic.is_some() || self.gives_once(props, source);
        if in_topic {
            Ok(self.offset_topics(name, 0, props, &config)?.1)
        } else {
            self.offset_file()
        }
    }

    fn sink_positions(
        &self,
        name: &str,
        props: &Props,
        sink: &dyn SinkConnector,
    ) -> Result<BTreeMap<TopicPartition, i64>> {
        let (admin, group) = self.group_of(name, props)?;
        if let Some(mut stored) = self.stored_positions(&admin, name, &group, props, sink)? {
            return Ok(stored.list()?.into_iter().collect());
        }
        let positions = admin.group_offsets(&group, TIMEOUT).map_err(|error| {
            let text = "Failed to retrieve consumer group offsets for sink connector";
            Error::retriable(format!("{text} {name}: {error}"))
        })?;
        Ok(positions.into_iter().map(|position| (position.tp, position.offset)).collect())
    }

    fn alter_sink(
        &self,
        name: &str,
        props: &Props,
        sink: &dyn SinkConnector,
        change: &OffsetsChange,
    ) -> Result<()> {
        let wanted = match change {
            OffsetsChange::Alter(changes) => Some(requests::of_sink(changes)?),
            OffsetsChange::Reset => None,
        };
        let (admin, group) = self.group_of(name, props)?;
        if let Some(wanted) = &wanted {
            check_partitions(&admin, wanted.keys())?;
        }
        // Where the destination keeps them, they are changed there first: it is asked first, too.
        let what = if wanted.is_some() { "alter" } else { "reset" };
        let grouped = self.props.get(SELF_ASSIGN) != Some("true");
        if grouped && !is_quiet(&admin, &group)? {
            return Err(Error::retriable(zombie(what, name)));
        }
        if let Some(mut stored) = self.stored_positions(&admin, name, &group, props, sink)? {
            match &wanted {
                Some(wanted) => {
                    let changes: Vec<_> = wanted.iter().map(|(tp, o)| (tp.clone(), *o)).collect();
                    stored.alter(&changes)?;
                }
                None => {
                    let all = stored.list()?.into_iter().map(|(tp, _)| (tp, None));
                    stored.alter(&all.collect::<Vec<_>>())?;
                }
            }
            if !grouped {
                return Ok(());
            }
        }
        alter_group(&admin, &group, wanted.as_ref()).map_err(|error| match error.kind() {
            kafka::ErrorKind::GroupNotEmpty => Error::retriable(zombie(what, name)),
            _ => kafka_error(error),
        })
    }

    pub(super) fn stored_positions(
        &self,
        admin: &Admin,
        name: &str,
        group: &str,
        props: &Props,
        sink: &dyn SinkConnector,
    ) -> Result<Option<Box<dyn api::StoredPositions>>> {
        if !sink.keeps_positions(props) {
            return Ok(None);
        }
        let cluster_id =
            admin.cluster_id(TIMEOUT).ok_or_else(|| kafka_error(admin.why_silent()))?;
        let context = TaskContext {
            connector: name.to_owned(),
            task: 0,
            cluster_id,
            group_id: group.to_owned(),
            tolerance: api::Tolerance::None,
        };
        sink.stored_positions(&context, props).map(Some)
    }

    /// A client that may change the group, and the group's name.
    pub(super) fn group_of(&self, name: &str, props: &Props) -> Result<(Admin, String)> {
        let consumer = self.client(ClientKind::Consumer, props).map_err(config_error)?.librdkafka;
        let group = consumer.get("group.id").cloned().unwrap_or(format!("connect-{name}"));
        let admin = self.client(ClientKind::Admin, props).map_err(config_error)?.librdkafka;
        Ok((Admin::new(&admin).map_err(kafka_error)?, group))
    }
}

/// Asks whether the offsets may still be changed by this worker.
fn still_may(confirm: Option<&Confirm>) -> Result<()> {
    match confirm.map(|confirm| confirm(&|| false)) {
        None | Some(Ok(true)) => Ok(()),
        Some(Ok(false)) => Err(Error::retriable(
            "nothing was changed: another worker leads by now, or the connector is not stopped any more",
        )),
        Some(Err(error)) => Err(error),
    }
}

/// What is to be written, looked at by the connector.
fn source_changes(
    name: &str,
    props: &Props,
    source: &dyn SourceConnector,
    change: &OffsetsChange,
    store: &dyn OffsetStore,
) -> Result<Vec<OffsetChange>> {
    store.refresh(&|| false)?;
    let changes = match change {
        OffsetsChange::Alter(changes) => requests::of_source(changes)?,
        OffsetsChange::Reset => {
            store.list(name)?.into_iter().map(|(partition, _)| (partition, None)).collect()
        }
    };
    source.check_offsets(props, &changes)?;
    Ok(changes.into_iter().map(|(partition, offset)| (Arc::new(partition), offset)).collect())
}

fn sink_entry(tp: &TopicPartition, offset: i64) -> (SourceMap, SourceMap) {
    let partition = [
        ("kafka_topic".to_owned(), json!(&*tp.topic)),
        ("kafka_partition".to_owned(), json!(tp.partition)),
    ];
    let offset = [("kafka_offset".to_owned(), json!(offset))];
    (SourceMap::from_iter(partition), SourceMap::from_iter(offset))
}

/// Positions of partitions that there are not would stay unseen for ever.
fn check_partitions<'a>(
    admin: &Admin,
    partitions: impl Iterator<Item = &'a TopicPartition>,
) -> Result<()> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for tp in partitions {
        if !counts.contains_key(&*tp.topic) {
            let count = match admin.topic(&tp.topic, TIMEOUT) {
                Ok(topic) => topic.partitions,
                Err(error) if error.kind() == kafka::ErrorKind::UnknownTopic => 0,
                Err(error) => return Err(kafka_error(error)),
            };
            counts.insert(&tp.topic, count);
        }
        let known = counts.get(&*tp.topic).is_some_and(|count| (tp.partition as usize) < *count);
        if !known {
            return Err(Error::config(format!("there is no partition {tp}")));
        }
    }
    Ok(())
}

/// Whether the group has no members. One that was to come back and does not is missed by the broker
/// only after its session, which is waited for.
pub(super) fn is_quiet(admin: &Admin, group: &str) -> Result<bool> {
    let start = Instant::now();
    loop {
        let found = admin.group(group, TIMEOUT).map_err(kafka_error)?;
        if found.is_none_or(|group| group.members == 0) {
            return Ok(true);
        }
        if start.elapsed() > QUIET_WITHIN {
            return Ok(false);
        }
        std::thread::park_timeout(QUIET_LOOK);
    }
}

fn alter_group(
    admin: &Admin,
    group: &str,
    wanted: Option<&BTreeMap<TopicPartition, Option<i64>>>,
) -> kafka::Result<()> {
    let gone_is_well = |result: kafka::Result<()>| match result {
        Err(error) if error.code() == GROUP_ID_NOT_FOUND => Ok(()),
        other => other,
    };
    let Some(wanted) = wanted else {
        return gone_is_well(admin.delete_group(group, TIMEOUT));
    };
    let set = wanted.iter().filter_map(|(tp, offset)| Some(Position::new(tp.clone(), (*offset)?)));
    admin.alter_group_offsets(group, &set.collect::<Vec<_>>(), TIMEOUT)?;
    let forgotten = wanted.iter().filter(|(_, offset)| offset.is_none()).map(|(tp, _)| tp.clone());
    let forgotten = forgotten.collect::<Vec<_>>();
    gone_is_well(admin.delete_group_offsets(group, &forgotten, TIMEOUT))
}

pub(super) fn zombie(what: &str, name: &str) -> String {
    format!(
        "Failed to {what} consumer group offsets for connector {name} either because its tasks \
         haven't stopped completely yet or the connector was resumed before the request to {what} \
         its offsets could be successfully completed. If the connector is in a stopped state, this \
         operation can be safely retried. If it doesn't eventually succeed, the Connect cluster may \
         need to be restarted to get rid of the zombie sink tasks."
    )
}
