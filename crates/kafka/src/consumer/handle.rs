//! The part of a consumer that any thread may use: questions to the brokers and commits.

use std::sync::{Arc, Weak};
use std::time::Duration;

use data::TopicPartition;
use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerGroupMetadata};

use super::context::SinkContext;
use crate::error::{Error, Result};
use crate::ffi;
use crate::lists::{self, Position};
use crate::metadata::{self, Topic};

/// Asks and commits on behalf of a consumer; cheap to clone, usable from any thread and inside the
/// rebalance callbacks. After the consumer is closed every call fails with `ErrorKind::Closed`.
#[derive(Clone)]
pub struct ClientHandle {
    pub(super) client: Weak<BaseConsumer<SinkContext>>,
}

/// The group and generation of a consumer, for `TransactionalProducer::send_offsets`.
pub struct GroupMetadata(pub(crate) ConsumerGroupMetadata);

/// First offset and end offset (offset of the next record to be written) of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watermarks {
    pub low: i64,
    pub high: i64,
}

impl ClientHandle {
    fn client(&self) -> Result<Arc<BaseConsumer<SinkContext>>> {
        self.client.upgrade().ok_or_else(Error::closed)
    }

    /// The group's committed position of each partition, in the order asked; `None` without one.
    pub fn committed(
        &self,
        partitions: &[TopicPartition],
        timeout: Duration,
    ) -> Result<Vec<Option<Position>>> {
        const WHAT: &str = "read the group's committed offsets";
        let client = self.client()?;
        let answer = client
            .committed_offsets(lists::partitions(partitions), timeout)
            .map_err(|e| client.context().explain(Error::from_kafka(&e, WHAT)))?;
        let answer = ffi::entries(&answer);
        let of = |tp: &TopicPartition| match answer.iter().find(|e| e.tp == *tp) {
            Some(e) if e.code != 0 => Err(Error::from_code(e.code, WHAT, None).about(tp)),
            Some(e) if e.offset >= 0 => {
                Ok(Some(Position::new(tp.clone(), e.offset).with_metadata(e.metadata.as_str())))
            }
            _ => Ok(None),
        };
        partitions.iter().map(of).collect()
    }

    pub fn watermarks(&self, tp: &TopicPartition, timeout: Duration) -> Result<Watermarks> {
        let client = self.client()?;
        match client.fetch_watermarks(&tp.topic, tp.partition, timeout) {
            Ok((low, high)) => Ok(Watermarks { low, high }),
            Err(e) => {
                let what = format!("read the first and last offset of {tp}");
                Err(client.context().explain(Error::from_kafka(&e, &what)))
            }
        }
    }

    /// The first offset at or after each timestamp (milliseconds since the epoch), in the order
    /// asked; `None` where no record is that young.
    pub fn offsets_for_times(
        &self,
        times: &[(TopicPartition, i64)],
        timeout: Duration,
    ) -> Result<Vec<Option<i64>>> {
        let client = self.client()?;
        metadata::offsets_for_times(&*client, times, timeout)
            .map_err(|e| client.context().explain(e))
    }

    /// The offset behind the last record of each partition, in the order asked, as the brokers know it.
    pub fn ends(
        &self,
        partitions: &[TopicPartition],
        timeout: Duration,
    ) -> Result<Vec<Option<i64>>> {
        let client = self.client()?;
        metadata::ends(&*client, partitions, timeout).map_err(|e| client.context().explain(e))
    }

    /// Hands the commit to librdkafka; the outcome arrives in `Polled::commits`.
    pub fn commit_async(&self, positions: &[Position]) -> Result<()> {
        if positions.is_empty() {
            return Ok(());
        }
        let list = lists::with_metadata(positions)?;
        match ffi::commit_async(self.client()?.client().native_client(), &list) {
            0 => Ok(()),
            code => Err(commit_error(code)),
        }
    }

    /// Commits and waits for the coordinator, at most `timeout`. `ErrorKind::TimedOut` leaves open
    /// whether the commit takes effect.
    pub fn commit_sync(&self, positions: &[Position], timeout: Duration) -> Result<()> {
        const WHAT: &str = "commit offsets";
        if positions.is_empty() {
            return Ok(());
        }
        let list = lists::with_metadata(positions)?;
        let client = self.client()?;
        let native = client.client().native_client();
        match ffi::commit(native, &list, timeout) {
            None => {
                let timed_out = rdkafka::error::RDKafkaErrorCode::OperationTimedOut as i32;
                Err(client.context().explain(Error::from_code(timed_out, WHAT, None)))
            }
            Some((code, entries)) => match entries.iter().find(|e| e.code != 0) {
                Some(e) => Err(commit_error(e.code).about(&e.tp)),
                None if code != 0 => Err(commit_error(code)),
                None => Ok(()),
            },
        }
    }

    /// Every topic the principal may see, with its number of partitions.
    pub fn list_topics(&self, timeout: Duration) -> Result<Vec<Topic>> {
        let client = self.client()?;
        metadata::list_topics(client.client(), timeout).map_err(|e| client.context().explain(e))
    }

    /// One topic; `ErrorKind::UnknownTopic` if it does not exist.
    pub fn topic(&self, name: &str, timeout: Duration) -> Result<Topic> {
        let client = self.client()?;
        metadata::topic(client.client(), name, timeout).map_err(|e| client.context().explain(e))
    }

    /// The cluster's id; `None` if no broker answers in time or the broker has none.
    pub fn cluster_id(&self, timeout: Duration) -> Result<Option<String>> {
        Ok(metadata::cluster_id(self.client()?.client(), timeout))
    }

    /// Group and generation for a transaction's offsets.
    pub fn group_metadata(&self) -> Result<GroupMetadata> {
        self.client()?.group_metadata().map(GroupMetadata).ok_or_else(|| {
            Error::new(crate::ErrorKind::Configuration, "the consumer has no group.id")
        })
    }

    /// The generation of the group as this member knows it; negative before it has joined.
    pub fn generation(&self) -> Result<i32> {
        Ok(ffi::generation(self.client()?.client().native_client()).unwrap_or(-1))
    }

    /// The error after which this client is of no use any more: fenced, or fatal.
    pub fn fatal_error(&self) -> Option<Error> {
        super::fatal_error(&*self.client().ok()?)
    }
}

/// A commit that the group refuses because of who we are means that somebody else is the member now.
pub(super) fn commit_error(code: i32) -> Error {
    use rdkafka::error::RDKafkaErrorCode as Code;
    let error = Error::from_code(code, "commit offsets", None);
    let gone = code == Code::UnknownMemberId as i32;
    if gone { error.with_kind(crate::ErrorKind::Fenced) } else { error }
}
