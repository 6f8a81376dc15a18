//! Where a partition starts that the destination does not know: asked when needed, by whoever knows.

use crate::sink::cluster::Cluster;
use api::{Error, ResolvedStart, Seat, StartResolver};
use data::TopicPartition;
use kafka::ClientHandle;
use kafka::settings::Reset;
use std::sync::Arc;
use std::time::Duration;

/// The note beside offsets that we commit: they mirror positions kept in the destination.
pub const MIRROR: &str = "copycat:mirror";

const ASK_TIMEOUT: Duration = Duration::from_secs(10);

/// What a destination has to know of partitions before it takes them. Called on the deliver thread,
/// which may wait meanwhile; errors are sorted and retried like those of the destination.
pub trait Starts: Send {
    /// The partitions as Kafka has them now, in order.
    /// # Errors
    /// Retriable while Kafka does not answer.
    fn seats(
        &mut self,
        client: &ClientHandle,
        partitions: &[TopicPartition],
    ) -> Result<Vec<Seat>, Error>;

    /// Where partitions start that the destination has no position of. `mirrors`: what the group has
    /// committed is a mirror of positions that the destination keeps.
    fn resolve(
        &mut self,
        client: &ClientHandle,
        partitions: &[TopicPartition],
        mirrors: bool,
    ) -> Result<Vec<ResolvedStart>, Error>;
}

/// Starts of a connector: the group's offsets, else the configured reset.
#[derive(Clone)]
pub(crate) struct GroupStarts {
    pub(crate) reset: Reset,
    pub(crate) group: String,
    pub(crate) cluster: Arc<Cluster>,
}

impl Starts for GroupStarts {
    fn seats(
        &mut self,
        _: &ClientHandle,
        partitions: &[TopicPartition],
    ) -> Result<Vec<Seat>, Error> {
        let mut topics: Vec<&str> = partitions.iter().map(|tp| &*tp.topic).collect();
        topics.sort_unstable();
        topics.dedup();
        let ids = self.cluster.topic_ids(&topics)?;
        let seat =
            |tp: &TopicPartition| Seat { tp: tp.clone(), topic_id: ids.get(&*tp.topic).cloned() };
        Ok(partitions.iter().map(seat).collect())
    }

    fn resolve(
        &mut self,
        client: &ClientHandle,
        partitions: &[TopicPartition],
        mirrors: bool,
    ) -> Result<Vec<ResolvedStart>, Error> {
        let committed = client.committed(partitions, ASK_TIMEOUT).map_err(kafka_error)?;
        let mut starts = Vec::with_capacity(partitions.len());
        for (tp, committed) in partitions.iter().zip(committed) {
            let offset = match committed {
                Some(position) if mirrors && position.metadata.starts_with(MIRROR) => {
                    return Err(database_lost_positions(&self.group, tp, position.offset));
                }
                Some(position) => position.offset,
                None => self.reset(client, tp)?,
            };
            starts.push(ResolvedStart { offset });
        }
        Ok(starts)
    }
}

impl GroupStarts {
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

/// A [`Starts`] as a task asks it.
pub(crate) struct Resolver<'a> {
    pub(crate) starts: &'a mut dyn Starts,
    pub(crate) client: &'a ClientHandle,
    pub(crate) mirrors: bool,
}

impl StartResolver for Resolver<'_> {
    fn resolve(&mut self, partitions: &[TopicPartition]) -> Result<Vec<ResolvedStart>, Error> {
        self.starts.resolve(self.client, partitions, self.mirrors)
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
pub fn kafka_error(error: kafka::Error) -> Error {
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
