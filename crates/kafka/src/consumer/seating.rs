//! Starting, moving, pausing and resuming single partitions.

use std::time::Duration;

use data::TopicPartition;
use rdkafka::consumer::{BaseConsumer, Consumer};

use super::SinkConsumer;
use super::context::{self, SinkContext};
use crate::error::{Error, Result};
use crate::{ffi, lists};

impl SinkConsumer {
    /// Starts a partition that `assigned` left out (or moves one that is seated, for example after
    /// its position was out of range). False if the partition is not assigned any more.
    pub fn seat(&mut self, tp: &TopicPartition, offset: i64) -> Result<bool> {
        let client = self.client()?.clone();
        let context = client.context();
        let Some(before) = context.seats().get(tp) else { return Ok(false) };
        let one = [(tp.clone(), offset)];
        let list = lists::with_offsets([(tp, offset)])?;
        let change = |e| Error::from_kafka(&e, &format!("start {tp} at {offset}"));
        let cooperative = !self.manual && context::is_cooperative(&client);
        let seated = before.position.is_some();
        // A seek, unlike a new assignment, outdates at once what the queue still has of the old
        // position; a record from there would otherwise pass for one of the new position.
        let started = (seated || !cooperative) && {
            context.route(&client, &one);
            let second = Duration::from_secs(1);
            let sought = client.seek_partitions(lists::with_offsets([(tp, offset)])?, second);
            sought.is_ok_and(|list| ffi::entries(&list).iter().all(|e| e.code == 0))
        };
        context.seats().take(tp.clone(), Some(offset));
        if !started && cooperative {
            // Fetching has not begun, or has stopped because the offset was out of range.
            if seated {
                client.incremental_unassign(&lists::partitions([tp])).map_err(change)?;
            }
            context.route(&client, &one);
            client.incremental_assign(&list).map_err(change)?;
        } else if !started {
            self.reassign(&client)?;
        }
        if !cooperative && !seated {
            client.resume(&lists::partitions([tp])).map_err(change)?;
        }
        context.route(&client, &one);
        if before.paused { self.pause(std::slice::from_ref(tp)).map(|()| true) } else { Ok(true) }
    }

    /// Assigns everything at its position; for groups that cannot do so one by one.
    fn reassign(&self, client: &BaseConsumer<SinkContext>) -> Result<()> {
        let context = client.context();
        let (seated, all, paused) = {
            let seats = context.seats();
            (seats.positions(), seats.all(), seats.paused())
        };
        let mut list = lists::with_offsets(seated.iter().map(|(tp, o)| (tp, *o)))?;
        let waiting: Vec<_> =
            all.into_iter().filter(|tp| !seated.iter().any(|(s, _)| s == tp)).collect();
        context::add_placeholders(&mut list, &waiting);
        let what = "assign partitions";
        client.assign(&list).map_err(|e| Error::from_kafka(&e, what))?;
        for group in [&waiting, &paused] {
            if !group.is_empty() {
                client
                    .pause(&lists::partitions(group.iter()))
                    .map_err(|e| Error::from_kafka(&e, what))?;
            }
        }
        context.route(client, &seated);
        Ok(())
    }

    /// Stops fetching these partitions. What librdkafka has queued of them is dropped and fetched
    /// again later, so prefer polling less (`rows_max: 0`) for short waits.
    pub fn pause(&self, partitions: &[TopicPartition]) -> Result<()> {
        self.set_paused(partitions, true)
    }

    /// Goes on where the partition's last delivered record left off.
    pub fn resume(&self, partitions: &[TopicPartition]) -> Result<()> {
        self.set_paused(partitions, false)
    }

    fn set_paused(&self, partitions: &[TopicPartition], paused: bool) -> Result<()> {
        let client = self.client()?;
        let mut list = Vec::new();
        {
            let mut seats = client.context().seats();
            for tp in partitions {
                let Some(seat) = seats.get_mut(tp) else { continue };
                let Some(position) = seat.position else { continue };
                seat.paused = paused;
                list.push((tp.clone(), position));
            }
        }
        if list.is_empty() {
            return Ok(());
        }
        let native = lists::partitions(list.iter().map(|(tp, _)| tp));
        if paused {
            client.pause(&native).map_err(|e| Error::from_kafka(&e, "pause"))?;
            // The position that librdkafka would resume at may be one too far (see `seats`).
            return context::seek(client, &list);
        }
        client.resume(&native).map_err(|e| Error::from_kafka(&e, "resume"))
    }
}
