//! The membership: an ordinary consumer group on a topic without records, polled by a thread of its own.
//!
//! Invariant: a seat is told with the proof of its own generation, taken after the poll that gave it.

use super::Input;
use crate::distributed::log::{Membership, rest};
use crate::distributed::member::Event;
use crate::distributed::membership::Seat;
use crossbeam_channel::Sender;
use data::TopicPartition;
use kafka::{ClientHandle, ClientSettings, PollLimits, Position, Rebalance, SinkConsumer};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

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

/// Keeps the membership until `ended`, and then leaves the group.
pub(super) fn run(
    settings: &ClientSettings,
    topic: &str,
    tell: &Sender<Input>,
    ended: &AtomicBool,
) {
    while !ended.load(Ordering::Acquire) {
        if let Err(error) = keep(settings, topic, tell, ended) {
            tracing::warn!("the workers' group: {error}; joined again in a while");
            if tell.send(Input::Event(Event::Lost)).is_err() {
                return;
            }
            rest(AGAIN, &|| ended.load(Ordering::Acquire));
        }
    }
}

fn keep(
    settings: &ClientSettings,
    topic: &str,
    tell: &Sender<Input>,
    ended: &AtomicBool,
) -> kafka::Result<()> {
    let owned = Arc::new(Mutex::new(Owned::default()));
    let mut consumer = SinkConsumer::new(settings, Box::new(Handler(owned.clone())))?;
    consumer.subscribe(&[topic])?;
    let mut told: Option<Seat> = None;
    while !ended.load(Ordering::Acquire) {
        consumer.poll(POLL, LIMITS)?;
        if let Some(error) = consumer.fatal_error() {
            return Err(error);
        }
        let (partitions, lost) = {
            let mut owned = owned.lock().unwrap_or_else(PoisonError::into_inner);
            (owned.partitions.clone(), std::mem::take(&mut owned.lost))
        };
        if lost {
            told = None;
            if tell.send(Input::Event(Event::Lost)).is_err() {
                break;
            }
        }
        let seat = Seat { generation: consumer.handle().generation()?, partitions };
        let joined = seat.generation >= 0 && (told.is_some() || !seat.partitions.is_empty());
        if joined && told.as_ref() != Some(&seat) {
            let group = consumer.handle().group_metadata()?;
            let any = seat.partitions.first().copied().unwrap_or(0);
            let place = Position::new(TopicPartition::new(topic, any), 0);
            let proof = Arc::new(Membership { group, seat: place });
            told = Some(seat.clone());
            if tell.send(Input::Joined { seat, proof }).is_err() {
                break;
            }
        }
    }
    consumer.leave();
    Ok(())
}
