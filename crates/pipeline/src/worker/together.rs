//! Consumers that are committed together: which they are, and how one lane serves several.
//!
//! Place in the data path: between the definitions and the lanes. Consumers of one owner, topic and
//! group with the same `together` are a set; a consumer without a name is a set of its own. A set has
//! one lane for all members, whose transactions write for each of them. Invariants: limits are the
//! least of the members'; a set is formed anew when a member changes, is paused, resumed or dropped.

use super::starts::ConsumerStarts;
use crate::control::Consumer;
use api::{Cancel, Error, ResolvedStart, Seat, Side};
use config::Props;
use data::{Batch, RawBatch, TopicPartition};
use kafka::ClientHandle;
use runtime::{Chain, Starts};
use sql::together::MemberChain;
use std::collections::BTreeMap;

/// The sets of consumers, each in the order of their ids.
pub(super) fn sets<'a>(
    consumers: impl Iterator<Item = &'a Consumer>,
) -> impl Iterator<Item = Vec<&'a Consumer>> {
    let mut sets: BTreeMap<_, Vec<&Consumer>> = BTreeMap::new();
    for consumer in consumers {
        let settings = &consumer.settings;
        // One transaction has one role.
        let name = settings.together.as_deref().map(|name| (name, settings.owner.as_str()));
        let alone = if name.is_none() { consumer.id } else { 0 };
        let group = settings.group_id.as_deref();
        let key = (&*consumer.cluster, &*consumer.topic, group, name, alone);
        sets.entry(key).or_default().push(consumer);
    }
    sets.into_values().map(|mut set| {
        set.sort_by_key(|consumer| consumer.id);
        set
    })
}

/// The members of a set with the limits that they have in common.
pub(super) fn with_common_limits(set: &[&Consumer]) -> Vec<Consumer> {
    let settings = || set.iter().map(|consumer| &consumer.settings);
    let parallelism = settings().filter_map(|s| s.parallelism).min();
    let batchsize = settings().map(|s| s.batchsize).min();
    let maxbytes = settings().map(|s| s.maxbytes).min();
    let error_limit = settings().map(|s| s.error_limit).min_by(f64::total_cmp);
    let member = |consumer: &&Consumer| {
        let mut member = Consumer::clone(consumer);
        let own = &mut member.settings;
        own.parallelism = parallelism;
        own.batchsize = batchsize.unwrap_or(own.batchsize);
        own.maxbytes = maxbytes.unwrap_or(own.maxbytes);
        own.error_limit = error_limit.unwrap_or(own.error_limit);
        member
    };
    set.iter().map(member).collect()
}

/// The chain of one member.
pub(super) struct Reads(pub(super) Chain);

impl MemberChain for Reads {
    fn prepare(&mut self, raw: &RawBatch) -> Result<(), Error> {
        self.0.prepare(raw)
    }

    fn run(&mut self, raw: RawBatch) -> Batch {
        self.0.run(raw)
    }

    fn set_cancel(&mut self, cancelled: Cancel) {
        self.0.set_cancel(&cancelled);
    }
}

/// The chain of a lane whose members read for themselves: bytes as they are.
///
/// # Errors
/// For the detail of a blocked consumer.
pub(super) fn as_fetched() -> Result<Chain, String> {
    let plugin = converters::find("ByteArrayConverter").ok_or("no converter for bytes")?;
    let bytes = |side| (plugin.make)(&Props::new(), side).map_err(|error| error.to_string());
    Ok(Chain::new(bytes(Side::Key)?, bytes(Side::Value)?, bytes(Side::Header)?, Vec::new()))
}

/// Where each member begins.
pub(super) struct SetStarts(pub(super) Vec<ConsumerStarts>);

impl Starts for SetStarts {
    fn seats(
        &mut self,
        client: &ClientHandle,
        partitions: &[TopicPartition],
    ) -> Result<Vec<Seat>, Error> {
        let mut seats = Vec::new();
        for member in &mut self.0 {
            seats = member.seats(client, partitions)?;
        }
        Ok(seats)
    }

    fn resolve(
        &mut self,
        client: &ClientHandle,
        partitions: &[TopicPartition],
        mirrors: bool,
    ) -> Result<Vec<ResolvedStart>, Error> {
        match self.0.first_mut() {
            Some(first) => first.resolve(client, partitions, mirrors),
            None => Err(Error::bug("a set of nobody")),
        }
    }
}
