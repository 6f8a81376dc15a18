//! The membership: an ordinary consumer group on a topic without records, polled by a thread of its own.
//!
//! Invariant: a seat is told with the proof of its own generation, taken after the poll that gave it.

use super::waits::Waits;
use super::{ClusterSettings, Input};
use crate::distributed::log::{Membership, ensure_topic, rest};
use crate::distributed::member::Event;
use crate::distributed::membership::Seat;
use api::Error;
use crossbeam_channel::Sender;
use data::TopicPartition;
use kafka::{
    ClientHandle, ClientSettings, ErrorKind, PollLimits, Position, Rebalance, SinkConsumer,
};
use runtime::kafka_error;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

const POLL: Duration = Duration::from_millis(100);
const LIMITS: PollLimits = PollLimits { rows_max: 1, bytes_max: 1 << 10 };
/// Before a client that has failed is made anew.
const AGAIN: Duration = Duration::from_secs(1);

/// What the rebalances have left.
#[derive(Default)]
struct Owned {
    partitions: BTreeSet<i32>,
    lost: bool,
}

struct Handler(Arc<Mutex<Owned>>);

impl Handler {
    fn owned(&self) -> std::sync::MutexGuard<'_, Owned> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Rebalance for Handler {
    fn assigned(&mut self, _: &ClientHandle, partitions: &[TopicPartition]) -> Vec<Option<i64>> {
        self.owned().partitions.extend(partitions.iter().map(|tp| tp.partition));
        // There is nothing to read.
        vec![None; partitions.len()]
    }

    fn revoked(&mut self, _: &ClientHandle, partitions: &[TopicPartition], lost: bool) {
        let mut owned = self.owned();
        for tp in partitions {
            owned.partitions.remove(&tp.partition);
        }
        owned.lost |= lost;
    }
}

/// Keeps the membership until it is ended, and then leaves the group.
pub(super) struct Seats {
    pub(super) settings: ClientSettings,
    pub(super) topic: String,
    pub(super) partitions: i32,
    /// What leaders write beside the group's position.
    pub(super) mark: String,
    pub(super) tell: Sender<Input>,
    pub(super) ended: Arc<AtomicBool>,
    pub(super) waits: Waits,
}

/// What waits where the group gives no seat.
const JOINING: &str = "the group of workers gives this one no place";

impl Seats {
    pub(super) fn run(&self) {
        while !self.is_ended() {
            if let Err(error) = self.keep() {
                self.waits.tell(JOINING, Some(&self.refused(error)));
                if self.tell.send(Input::Event(Event::Lost)).is_err() {
                    return;
                }
                rest(AGAIN, &|| self.is_ended());
            }
        }
    }

    fn is_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    fn keep(&self) -> kafka::Result<()> {
        let owned = Arc::new(Mutex::new(Owned::default()));
        let mut consumer = SinkConsumer::new(&self.settings, Box::new(Handler(owned.clone())))?;
        consumer.subscribe(&[&self.topic])?;
        let mut told: Option<Seat> = None;
        let mut spare = Spare::default();
        while !self.is_ended() {
            let polled = consumer.poll(POLL, LIMITS)?;
            if let Some(error) = consumer.fatal_error() {
                return Err(error);
            }
            for trouble in polled.errors {
                // Brokers that come and go are not worth a word: the session is.
                if !trouble.error.is_retriable() {
                    self.waits.tell(JOINING, Some(&self.refused(trouble.error)));
                }
            }
            let (partitions, lost) = {
                let mut owned = owned.lock().unwrap_or_else(PoisonError::into_inner);
                (owned.partitions.clone(), std::mem::take(&mut owned.lost))
            };
            if lost {
                told = None;
                if self.tell.send(Input::Event(Event::Lost)).is_err() {
                    break;
                }
            }
            let seat = Seat { generation: consumer.handle().generation()?, partitions };
            if spare.is_one(&seat, Instant::now()) {
                self.waits.tell(JOINING, Some(&self.spare()));
            }
            let joined = seat.generation >= 0 && (told.is_some() || !seat.partitions.is_empty());
            if joined && told.as_ref() != Some(&seat) {
                if !seat.partitions.is_empty() {
                    self.waits.tell(JOINING, None);
                }
                let group = consumer.handle().group_metadata()?;
                // Of the leader the highest.
                let any = seat.partitions.last().copied().unwrap_or(0);
                let place = Position::new(TopicPartition::new(&*self.topic, any), 0);
                let place = place.with_metadata(&*self.mark);
                let proof = Arc::new(Membership { group, seat: place });
                told = Some(seat.clone());
                if self.tell.send(Input::Joined { seat, proof }).is_err() {
                    break;
                }
            }
        }
        consumer.leave();
        Ok(())
    }

    fn refused(&self, error: kafka::Error) -> Error {
        let (group, topic) =
            (self.settings.get("group.id").map_or("", String::as_str), &self.topic);
        match error.kind() {
            ErrorKind::Authorization => Error::config(error.to_string()).hint(format!(
                "grant the worker's principal Read on Group {group}, and Describe and Read on Topic {topic}"
            )),
            _ => kafka_error(error),
        }
    }

    fn spare(&self) -> Error {
        let Seats { topic, partitions, .. } = self;
        Error::retriable(format!(
            "topic {topic} has {partitions} partitions, so that a cluster has as many workers at most, and \
             others have them all; this worker takes the place of one that goes"
        ))
        .hint(format!(
            "stop a worker; or for more, stop all of them, kafka-topics.sh --bootstrap-server HOST:PORT \
             --alter --topic {topic} --partitions MORE, and start them again (copycat.members.max counts \
             only when the topic is made)"
        ))
    }
}

/// Notices that a member is given nothing for longer than a newcomer waits for its share.
#[derive(Default)]
struct Spare {
    /// Since which generation, how long, and when that was looked at last.
    nothing: Option<(i32, Duration, Instant)>,
}

impl Spare {
    fn is_one(&mut self, seat: &Seat, now: Instant) -> bool {
        const SHARE_WAIT: Duration = Duration::from_secs(15);
        /// Between two looks: while the process stands still, nobody is kept from giving it something.
        const LOOK_MAX: Duration = Duration::from_secs(1);
        if seat.generation < 0 || !seat.partitions.is_empty() {
            self.nothing = None;
            return false;
        }
        let so_far = match self.nothing {
            Some((generation, so_far, looked)) if generation == seat.generation => {
                so_far + now.saturating_duration_since(looked).min(LOOK_MAX)
            }
            _ => Duration::ZERO,
        };
        self.nothing = Some((seat.generation, so_far, now));
        so_far >= SHARE_WAIT
    }
}

/// Makes the topic of the members where it is missing; gives its number of partitions.
pub(super) fn ensure_members(
    settings: &ClusterSettings,
    stopped: &dyn Fn() -> bool,
) -> api::Result<i32> {
    let found = ensure_topic(&settings.members, &settings.config.admin, stopped)?;
    Ok(i32::try_from(found).unwrap_or(i32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_spare_after_a_while_in_which_it_looked() {
        let seat = |generation, partitions: &[i32]| Seat {
            generation,
            partitions: partitions.iter().copied().collect(),
        };
        let (mut spare, mut now) = (Spare::default(), Instant::now());
        let mut after = |ms, seat: &Seat| {
            now += Duration::from_millis(ms);
            spare.is_one(seat, now)
        };
        let nothing = seat(4, &[]);
        assert!(
            (0..150).all(|_| !after(100, &nothing)),
            "15 s have not passed since the first look"
        );
        assert!(after(100, &nothing));
        assert!(!after(100, &seat(5, &[])), "another generation gives anew");
        assert!(!after(60_000, &seat(5, &[])), "it stood still");
        assert!(!after(100, &seat(5, &[3])));
        assert!((0..140).all(|_| !after(100, &seat(5, &[]))));
    }
}
