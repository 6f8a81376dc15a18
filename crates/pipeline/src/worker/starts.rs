//! Where the partitions of a consumer begin, and whether the log still reaches to where it stands.
//!
//! Place in the data path: before a lane claims partitions, on its own thread. The start of a new
//! consumer is resolved once, for all partitions of the topic together, and stored before the first
//! record is read; a partition without a position later on is one that was added to the topic, and
//! begins at its beginning. A position that the log does not reach to any more, or that belongs to a
//! topic of another id, is a gap: it is noted and passed over, or stops the consumer, as `on_gap` says.

use super::router::Goals;
use crate::control::{self, Start};
use crate::control::{Questions, Stored};
use api::{Error, ResolvedStart, Seat};
use data::TopicPartition;
use kafka::{Admin, ClientHandle, ErrorKind as K, Watermarks};
use runtime::{Starts, kafka_error};
use sql::postgres::{ConsumerTarget, Gap, GapReason, SessionPool};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

const ASK_TIMEOUT: Duration = Duration::from_secs(10);
/// A leader that has just been elected may not know yet how far the log is good.
const END_AGAIN: (u32, Duration) = (5, Duration::from_millis(200));

/// What all lanes of a consumer know of its beginning.
pub(super) struct Beginning {
    pub(super) consumer: i32,
    pub(super) config_version: i64,
    pub(super) topic: Arc<str>,
    /// `schema.relation`, as it is quoted in a call of a function.
    pub(super) relation: String,
    pub(super) start: Start,
    pub(super) gap_earliest: bool,
}

/// The [`Starts`] of one lane.
pub(super) struct ConsumerStarts {
    pub(super) beginning: Arc<Beginning>,
    pub(super) questions: Arc<Questions>,
    pub(super) pool: Arc<SessionPool>,
    pub(super) target: ConsumerTarget,
    pub(super) admin: Arc<Admin>,
    pub(super) goals: Goals,
}

/// An error of the control schema as a lane takes it.
pub(crate) fn of_database(error: control::Error) -> Error {
    use control::ErrorKind as C;
    let ours = match error.kind {
        C::Unreachable => Error::retriable(error.message),
        C::Cancelled => Error::cancelled(),
        C::Schema | C::Copied | C::Refused => Error::config(error.message),
        C::Bug => Error::bug(error.message),
    };
    let ours = match error.sqlstate {
        Some(state) => ours.sqlstate(&state),
        None => ours,
    };
    match error.hint {
        Some(hint) => ours.hint(hint),
        None => ours,
    }
}

/// Why a position cannot be read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lack {
    Retention,
    Recreated,
    Truncated,
}

/// Whether the log reaches to a position. `ids`: of the topic that it belongs to, and of the one there.
fn lack(
    stored: &Stored,
    now: Option<&str>,
    Watermarks { low, high }: Watermarks,
) -> Option<(Lack, i64)> {
    let other = stored.topic_id.as_deref().zip(now).is_some_and(|(then, now)| then != now);
    if other {
        Some((Lack::Recreated, low))
    } else if stored.next_offset < low {
        Some((Lack::Retention, low))
    } else if stored.next_offset > high {
        Some((Lack::Truncated, high))
    } else {
        None
    }
}

impl ConsumerStarts {
    /// Resolves and stores the start, unless that was done before.
    fn begin(&self, client: &ClientHandle) -> Result<Option<String>, Error> {
        let (topic_id, partitions) = topic_of(&self.admin, &self.beginning.topic)?;
        let beginning = &self.beginning;
        let whose = (beginning.consumer, beginning.config_version);
        let changed = || Error::retriable("the definition has changed and is read again");
        // Asked each time: another worker may have begun, and a replica that took over may not know.
        if self.questions.started(whose).map_err(of_database)?.ok_or_else(changed)? {
            return Ok(topic_id);
        }
        let all: Vec<TopicPartition> = (0..partitions as i32)
            .map(|partition| TopicPartition::new(beginning.topic.clone(), partition))
            .collect();
        let offsets = resolve(&beginning.start, client, &all)?;
        let starts: Vec<(i32, i64)> = all.iter().map(|tp| tp.partition).zip(offsets).collect();
        let stored = self.questions.store_starts(whose, topic_id.as_deref(), &starts);
        if !stored.map_err(of_database)? {
            return Err(changed());
        }
        Ok(topic_id)
    }

    /// The ends of a partition as they bear on a stored position.
    fn ends(
        &self,
        client: &ClientHandle,
        tp: &TopicPartition,
        stored: Option<&Stored>,
    ) -> Result<Watermarks, Error> {
        let mut ends = client.watermarks(tp, ASK_TIMEOUT).map_err(kafka_error)?;
        for _ in 0..END_AGAIN.0 {
            if stored.is_none_or(|stored| stored.next_offset <= ends.high) {
                break;
            }
            std::thread::park_timeout(END_AGAIN.1);
            ends = client.watermarks(tp, ASK_TIMEOUT).map_err(kafka_error)?;
        }
        Ok(ends)
    }

    fn pass_over(
        &self,
        tp: &TopicPartition,
        stored: &Stored,
        (lack, to): (Lack, i64),
        topic_id: Option<&str>,
    ) -> Result<(), Error> {
        if !self.beginning.gap_earliest {
            return Err(self.stopped(tp, stored.next_offset, lack, to));
        }
        let reason = match lack {
            Lack::Retention => GapReason::Retention,
            Lack::Recreated | Lack::Truncated => GapReason::Recreated,
        };
        let from = stored.next_offset;
        tracing::warn!(partition = %tp, from, to, "gap ({reason:?}): never read");
        let topic_id = topic_id.or(stored.topic_id.as_deref()).map(str::to_owned);
        let gap = Gap { partition: tp.partition, from, to, reason, topic_id };
        // False: somebody else has moved the position, which is read again with the claim.
        self.pool.record_gap(&self.target, &gap).map(drop)
    }

    fn stopped(&self, tp: &TopicPartition, from: i64, lack: Lack, to: i64) -> Error {
        let Beginning { topic, relation, .. } = &*self.beginning;
        let partition = tp.partition;
        let text = match lack {
            Lack::Retention => format!(
                "offsets {from} to {} of partition {partition} of {topic} are not in the log any \
                 more and were never read",
                to - 1
            ),
            Lack::Recreated => format!(
                "the topic {topic} was deleted and created again; position {from} of partition \
                 {partition} belongs to the old one"
            ),
            Lack::Truncated => format!(
                "the log of partition {partition} of {topic} ends at {to}, before position {from}: \
                 records were lost in Kafka, or the topic was created anew"
            ),
        };
        let call = |position: &str| {
            format!("SELECT pipeline_kafka.set_offsets('{topic}', '{relation}', '{position}');")
        };
        let way_on = match lack {
            Lack::Truncated => call(&format!("{{\"{partition}\": {to}}}")),
            Lack::Retention | Lack::Recreated => call("earliest"),
        };
        Error::config(text).hint(format!("to go on with what there is: {way_on}"))
    }
}

impl Starts for ConsumerStarts {
    fn seats(
        &mut self,
        client: &ClientHandle,
        partitions: &[TopicPartition],
    ) -> Result<Vec<Seat>, Error> {
        let topic_id = self.begin(client)?;
        let positions = self.questions.positions(self.beginning.consumer).map_err(of_database)?;
        for tp in partitions {
            let stored = positions.get(&tp.partition);
            let ends = self.ends(client, tp, stored)?;
            let mut goals = self.goals.lock().unwrap_or_else(PoisonError::into_inner);
            goals.insert(tp.partition, ends.high);
            drop(goals);
            if let Some(stored) = stored
                && let Some(lack) = lack(stored, topic_id.as_deref(), ends)
            {
                self.pass_over(tp, stored, lack, topic_id.as_deref())?;
            }
        }
        let seat = |tp: &TopicPartition| Seat { tp: tp.clone(), topic_id: topic_id.clone() };
        Ok(partitions.iter().map(seat).collect())
    }

    /// The start was stored for all partitions that there were: what has none is younger.
    fn resolve(
        &mut self,
        client: &ClientHandle,
        partitions: &[TopicPartition],
        _: bool,
    ) -> Result<Vec<ResolvedStart>, Error> {
        let start = |tp| Ok(ResolvedStart { offset: watermarks(client, tp)?.low });
        partitions.iter().map(start).collect()
    }
}

fn watermarks(client: &ClientHandle, tp: &TopicPartition) -> Result<Watermarks, Error> {
    client.watermarks(tp, ASK_TIMEOUT).map_err(kafka_error)
}

/// The topic's id and its partitions.
pub(crate) fn topic_of(admin: &Admin, name: &str) -> Result<(Option<String>, usize), Error> {
    let described = admin.describe_topics(&[name], ASK_TIMEOUT);
    match described.and_then(|mut one| one.pop().transpose()) {
        Ok(Some(topic)) => Ok((topic.id.map(|id| id.to_string()), topic.partitions)),
        // Brokers too old for topic ids.
        Err(error) if error.kind() == K::Unsupported => {
            let topic = admin.topic(name, ASK_TIMEOUT).map_err(kafka_error)?;
            Ok((None, topic.partitions))
        }
        Ok(None) => Err(Error::retriable(format!("kafka does not describe the topic {name}"))),
        // It is waited for: the worker as a whole says that it is not there.
        Err(error) if error.kind() == K::UnknownTopic => Err(Error::retriable(error.to_string())),
        Err(error) => Err(kafka_error(error)),
    }
}

/// A start as offsets, one a partition.
pub(crate) fn resolve(
    start: &Start,
    client: &ClientHandle,
    partitions: &[TopicPartition],
) -> Result<Vec<i64>, Error> {
    let low = |tp: &TopicPartition| watermarks(client, tp).map(|ends| ends.low);
    let high = |tp: &TopicPartition| watermarks(client, tp).map(|ends| ends.high);
    match start {
        Start::Earliest => partitions.iter().map(low).collect(),
        Start::Latest => partitions.iter().map(high).collect(),
        Start::Last(count) => {
            let last = |tp| {
                let ends = watermarks(client, tp)?;
                Ok(ends.high.saturating_sub(*count).max(ends.low))
            };
            partitions.iter().map(last).collect()
        }
        Start::Time(at) => {
            let times: Vec<_> = partitions.iter().map(|tp| (tp.clone(), *at)).collect();
            let found = client.offsets_for_times(&times, ASK_TIMEOUT).map_err(kafka_error)?;
            let pairs = partitions.iter().zip(found);
            pairs.map(|(tp, found)| found.map_or_else(|| high(tp), Ok)).collect()
        }
        Start::Group => {
            let committed = client.committed(partitions, ASK_TIMEOUT).map_err(kafka_error)?;
            let pairs = partitions.iter().zip(committed);
            pairs.map(|(tp, found)| found.map_or_else(|| low(tp), |at| Ok(at.offset))).collect()
        }
        Start::Offsets(map) => {
            let named = |tp: &TopicPartition| match map.get(&tp.partition) {
                Some(offset) => Ok(*offset),
                None => low(tp),
            };
            partitions.iter().map(named).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_readable_only_within_the_log_of_its_own_topic() {
        let stored = |next_offset, id: &str| Stored { next_offset, topic_id: Some(id.to_owned()) };
        let ends = Watermarks { low: 10, high: 20 };
        assert_eq!(lack(&stored(10, "a"), Some("a"), ends), None);
        assert_eq!(lack(&stored(20, "a"), Some("a"), ends), None, "at the end");
        assert_eq!(lack(&stored(9, "a"), Some("a"), ends), Some((Lack::Retention, 10)));
        assert_eq!(lack(&stored(21, "a"), Some("a"), ends), Some((Lack::Truncated, 20)));
        assert_eq!(lack(&stored(15, "a"), Some("b"), ends), Some((Lack::Recreated, 10)));
        assert_eq!(lack(&stored(15, "a"), None, ends), None, "an unknown id says nothing");
    }
}
