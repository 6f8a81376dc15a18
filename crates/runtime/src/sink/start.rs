//! Where a partition starts that the destination does not know: asked of Kafka, when needed.

use crate::sink::cluster::Cluster;
use api::{Error, ResolvedStart, Seat, StartResolver};
use data::TopicPartition;
use kafka::ClientHandle;
use kafka::settings::Reset;
use std::sync::Arc;
use std::time::Duration;

/// The note beside offsets that we commit: they mirror positions kept in the destination.
pub(crate) const MIRROR: &str = "copycat:mirror";

const ASK_TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) struct Starts {
    pub(crate) reset: Reset,
    pub(crate) group: String,
    pub(crate) cluster: Arc<Cluster>,
}

impl Starts {
    /// `mirrors`: the group's offsets are a mirror of positions that the destination keeps.
    pub(crate) fn resolver<'a>(&'a self, client: &'a ClientHandle, mirrors: bool) -> Resolver<'a> {
        Resolver { starts: self, client, mirrors }
    }

    /// # Errors
    /// Retriable while Kafka does not answer.
    pub(crate) fn seats(&self, partitions: &[TopicPartition]) -> Result<Vec<Seat>, Error> {
        let mut topics: Vec<&str> = partitions.iter().map(|tp| &*tp.topic).collect();
        topics.sort_unstable();
        topics.dedup();
        let ids = self.cluster.topic_ids(&topics)?;
        let seat =
            |tp: &TopicPartition| Seat { tp: tp.clone(), topic_id: ids.get(&*tp.topic).cloned() };
        Ok(partitions.iter().map(seat).collect())
    }

    /// The configured reset of one partition as a number.
    pub(crate) fn reset(&self, client: &ClientHandle, tp: &TopicPartition) -> Result<i64, Error> {
        let reset_to = match self.reset {
            Reset::Earliest => client.watermarks(tp, ASK_TIMEOUT).map(|w| w.low),
            Reset::Latest => client.watermarks(tp, ASK_TIMEOUT).map(|w| w.high),
            Reset::None => {
                let message =
                    format!("no position is stored for {tp} and auto.offset.reset is none");
                return Err(Error::config(message).hint(
                    "set consumer.override.auto.offset.reset to earliest or latest, or give the \
                     group a committed offset",
                ));
            }
        };
        reset_to.map_err(kafka_error)
    }
}

pub(crate) struct Resolver<'a> {
    starts: &'a Starts,
    client: &'a ClientHandle,
    mirrors: bool,
}

impl StartResolver for Resolver<'_> {
    fn resolve(&mut self, partitions: &[TopicPartition]) -> Result<Vec<ResolvedStart>, Error> {
        let committed = self.client.committed(partitions, ASK_TIMEOUT).map_err(kafka_error)?;
        let mut starts = Vec::with_capacity(partitions.len());
        for (tp, committed) in partitions.iter().zip(committed) {
            let offset = match committed {
                Some(position) if self.mirrors && position.metadata.starts_with(MIRROR) => {
                    return Err(database_lost_positions(&self.starts.group, tp, position.offset));
                }
                Some(position) => position.offset,
                None => self.starts.reset(self.client, tp)?,
            };
            starts.push(ResolvedStart { offset });
        }
        Ok(starts)
    }
}

/// The group's offset was written by us as a mirror of a row that is not there any more: the database
/// was replaced or restored. Going on from the mirror could skip rows, from the start double them.
fn database_lost_positions(group: &str, tp: &TopicPartition, offset: i64) -> Error {
    let topic = &tp.topic;
    Error::config(format!(
        "the database holds no position for {tp}, but the group {group} mirrors one ({offset}): the \
         database was replaced or restored"
    ))
    .hint(format!(
        "to go on at {offset}, if the rows before it are in the new database: \
         kafka-consumer-groups --group {group} --topic {topic} --reset-offsets --to-current \
         --execute; to load everything again: kafka-consumer-groups --group {group} --topic {topic} \
         --delete-offsets; then stop and resume the connector"
    ))
}

/// A failed question to Kafka: retried, unless the configuration must change.
pub(crate) fn kafka_error(error: kafka::Error) -> Error {
    use kafka::ErrorKind as K;
    let message = error.to_string();
    let ours = match error.kind() {
        K::Authentication | K::Authorization | K::Configuration | K::Unsupported => {
            Error::config(message)
        }
        K::Fenced => Error::fenced(message),
        K::Closed => Error::cancelled(),
        _ => Error::retriable(message),
    };
    match error.hint() {
        Some(hint) => ours.hint(hint),
        None => ours,
    }
}
