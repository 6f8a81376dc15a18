//! Where a sink stands when a cluster of Kafka Connect is taken over, and when it is handed back.
//!
//! Kafka Connect keeps a sink's positions in its consumer group. A destination that keeps its own is
//! ahead of what it may have kept before: so at a take-over what it has of partitions that the group
//! has moved since is forgotten, and at the hand-over the group gets what the destination has, as if
//! Kafka Connect had committed it.
//!
//! Invariant: the group is told first, so that a position is never nowhere.

use super::Worker;
use super::offsets::{TIMEOUT, is_quiet, zombie};
use crate::sink::{MIRROR, kafka_error};
use api::{Connector, Error, Result};
use config::Props;
use data::TopicPartition;
use kafka::Position;
use std::collections::BTreeMap;

/// A position that the group has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed {
    pub tp: TopicPartition,
    /// Of the next record.
    pub offset: i64,
    /// We wrote it, as a mirror of what the destination keeps.
    pub mirror: bool,
}

/// Where a sink stands.
#[derive(Debug)]
pub struct SinkStanding {
    pub group: String,
    pub committed: Vec<Committed>,
    /// The destination keeps positions, and these win.
    pub keeps: bool,
    /// What it keeps, if it could be asked; `None`: it was not, or keeps nothing.
    pub stored: Option<Result<Vec<(TopicPartition, i64)>>>,
}

impl SinkStanding {
    /// The partitions of which the destination has a position that somebody else has moved on from,
    /// with both.
    pub fn moved_on(&self) -> Vec<(TopicPartition, i64, i64)> {
        let Some(Ok(stored)) = &self.stored else { return Vec::new() };
        let committed: BTreeMap<_, _> =
            self.committed.iter().filter(|c| !c.mirror).map(|c| (&c.tp, c.offset)).collect();
        let moved = stored.iter().filter_map(|(tp, offset)| {
            let other = committed.get(tp).filter(|other| *other != offset)?;
            Some((tp.clone(), *offset, *other))
        });
        moved.collect()
    }
}

impl Worker {
    /// Where a sink stands, whether or not its class is known here. `ask`: the destination too, which
    /// makes what it keeps positions in where that is missing.
    ///
    /// # Errors
    /// The configuration is wrong; retriable where Kafka does not answer.
    pub fn sink_standing(&self, name: &str, raw: &Props, ask: bool) -> Result<SinkStanding> {
        self.look_at_sink(name, raw, ask).map_err(|error| self.discreet(raw, error))
    }

    fn look_at_sink(&self, name: &str, raw: &Props, ask: bool) -> Result<SinkStanding> {
        let props = self.resolve(raw)?.props;
        let (admin, group) = self.group_of(name, &props)?;
        let positions = admin.group_offsets(&group, TIMEOUT).map_err(kafka_error)?;
        let connector = self.connector(&props);
        let keeps = matches!(&connector, Ok(Connector::Sink(sink)) if sink.keeps_positions(&props));
        let stored = match connector {
            Ok(Connector::Sink(sink)) if keeps && ask => self
                .stored_positions(&admin, name, &group, &props, sink.as_ref())
                .and_then(|kept| kept.map(|mut kept| kept.list()).transpose())
                .map_err(|error| self.discreet(raw, error))
                .transpose(),
            _ => None,
        };
        let committed = positions.into_iter().map(|position| Committed {
            mirror: position.metadata.starts_with(MIRROR),
            tp: position.tp,
            offset: position.offset,
        });
        Ok(SinkStanding { group, committed: committed.collect(), keeps, stored })
    }

    /// Has the destination forget its positions of partitions that another program has moved on from.
    /// Gives them.
    ///
    /// # Errors
    /// The destination or Kafka does not answer, or refuses.
    pub fn positions_from_group(&self, name: &str, raw: &Props) -> Result<Vec<TopicPartition>> {
        let standing = self.sink_standing(name, raw, true)?;
        if let Some(Err(error)) = standing.stored {
            return Err(error);
        }
        let moved: Vec<_> = standing.moved_on().into_iter().map(|(tp, ..)| tp).collect();
        self.forget_stored(name, raw, &moved).map_err(|error| self.discreet(raw, error))?;
        Ok(moved)
    }

    /// Gives the group the positions that the destination keeps, and has it forget them. Gives what
    /// the group was told. The sink must have no task.
    ///
    /// # Errors
    /// The destination or Kafka does not answer, or refuses.
    pub fn positions_to_group(
        &self,
        name: &str,
        raw: &Props,
    ) -> Result<Vec<(TopicPartition, i64)>> {
        let standing = self.sink_standing(name, raw, true)?;
        let stored = match standing.stored {
            None => return Ok(Vec::new()),
            Some(stored) => stored?,
        };
        let tell = || -> Result<()> {
            let (admin, group) = self.group_of(name, &self.resolve(raw)?.props)?;
            if !is_quiet(&admin, &group)? {
                return Err(Error::retriable(zombie("alter", name)));
            }
            let positions: Vec<Position> =
                stored.iter().map(|(tp, offset)| Position::new(tp.clone(), *offset)).collect();
            admin.alter_group_offsets(&group, &positions, TIMEOUT).map_err(kafka_error)?;
            let places: Vec<TopicPartition> = stored.iter().map(|(tp, _)| tp.clone()).collect();
            self.forget_stored(name, raw, &places)
        };
        tell().map_err(|error| self.discreet(raw, error))?;
        Ok(stored)
    }

    fn forget_stored(&self, name: &str, raw: &Props, places: &[TopicPartition]) -> Result<()> {
        if places.is_empty() {
            return Ok(());
        }
        let props = self.resolve(raw)?.props;
        let Connector::Sink(sink) = self.connector(&props)? else { return Ok(()) };
        let (admin, group) = self.group_of(name, &props)?;
        let stored = self.stored_positions(&admin, name, &group, &props, sink.as_ref())?;
        let Some(mut stored) = stored else { return Ok(()) };
        stored.alter(&places.iter().map(|tp| (tp.clone(), None)).collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_somebody_else_has_moved_is_moved_on() {
        let tp = |partition| TopicPartition::new("t", partition);
        let committed = |partition, offset, mirror| Committed { tp: tp(partition), offset, mirror };
        let standing = SinkStanding {
            group: "connect-c".to_owned(),
            keeps: true,
            committed: vec![
                committed(0, 50, false),
                committed(1, 50, true),
                committed(2, 30, false),
                committed(4, 9, false),
            ],
            stored: Some(Ok(vec![(tp(0), 30), (tp(1), 30), (tp(2), 30), (tp(3), 30)])),
        };
        assert_eq!(standing.moved_on(), [(tp(0), 30, 50)]);
    }
}
