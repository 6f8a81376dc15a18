//! The positions and letters of several consumers that are committed together.
//!
//! Place in the data path: as [`ConsumerTables`], of which each member has its own; the key of a
//! position says whose it is. Members are claimed one after the other: who loses one of them loses
//! the transaction, because it moves the positions of all.

use super::ledger::{ConsumerTables, rows_of};
use super::{ledger, letters};
use crate::database::{DbError, DbErrorKind, DbResult, Position};
use crate::member::{key, member_of, partition_of};
use crate::postgres::building::Building;
use crate::postgres::ledger::{Ledger, Starts, Stored};
use crate::postgres::session::Session;
use crate::write::Transaction;
use api::{DeadLetter, Seat};
use data::TopicPartition;
use std::collections::HashMap;

#[derive(Debug)]
pub(super) struct SetTables {
    /// At least one.
    pub(super) members: Vec<ConsumerTables>,
}

/// The partitions of one member among keys.
fn own(keys: &[TopicPartition], member: usize) -> Vec<TopicPartition> {
    keys.iter().filter(|key| member_of(key) == member).map(partition_of).collect()
}

impl SetTables {
    fn of(&self, key: &TopicPartition) -> Option<&ConsumerTables> {
        self.members.get(member_of(key))
    }
}

impl Ledger for SetTables {
    fn ensure(&self, session: &mut Session) -> DbResult<()> {
        ledger::ensure(session)
    }

    fn push_advances(&self, building: &mut Building<'_>, transaction: &Transaction<'_>) {
        let rows = rows_of(transaction);
        for (n, advance) in transaction.advances.iter().enumerate() {
            if let Some(tables) = self.of(&advance.tp) {
                tables.push_advance(building, transaction, &rows, (n, advance));
            }
        }
    }

    fn push_letters(&self, building: &mut Building<'_>, transaction: &Transaction<'_>) {
        for (member, tables) in self.members.iter().enumerate() {
            let own = |batch: u32| {
                let mut advances = transaction.advances.iter();
                advances.any(|a| a.batch == batch && member_of(&a.tp) == member)
            };
            letters::push(building, tables, transaction, &own);
        }
    }

    fn read(
        &self,
        session: &mut Session,
        partitions: &[TopicPartition],
        locked: bool,
    ) -> DbResult<HashMap<TopicPartition, Stored>> {
        let mut all = HashMap::with_capacity(partitions.len());
        for (member, tables) in self.members.iter().enumerate() {
            let own = own(partitions, member);
            if !own.is_empty() {
                let read = tables.read(session, &own, locked)?;
                all.extend(read.into_iter().map(|(tp, stored)| (key(&tp, member), stored)));
            }
        }
        Ok(all)
    }

    fn take(
        &self,
        session: &mut Session,
        seats: &[Seat],
        starts: &Starts,
    ) -> DbResult<Option<Vec<Position>>> {
        let mut taken: HashMap<&TopicPartition, Position> = HashMap::with_capacity(seats.len());
        for (member, tables) in self.members.iter().enumerate() {
            let keyed: Vec<&Seat> =
                seats.iter().filter(|seat| member_of(&seat.tp) == member).collect();
            let seat =
                |seat: &&Seat| Seat { tp: partition_of(&seat.tp), topic_id: seat.topic_id.clone() };
            let own: Vec<Seat> = keyed.iter().map(seat).collect();
            let own_starts = starts.iter().filter(|(key, _)| member_of(key) == member);
            let own_starts = own_starts.map(|(key, start)| (partition_of(key), *start)).collect();
            let Some(positions) = tables.take(session, &own, &own_starts)? else { return Ok(None) };
            taken.extend(keyed.into_iter().map(|seat| &seat.tp).zip(positions));
        }
        Ok(seats.iter().map(|seat| taken.get(&seat.tp).copied()).collect())
    }

    fn recreated(&self, tp: &TopicPartition, row: &Stored, old: &str, new: &str) -> DbError {
        match self.of(tp) {
            Some(tables) => tables.recreated(&partition_of(tp), row, old, new),
            None => row.of_another_topic(tp, old, new),
        }
    }

    fn stored(&self, session: &mut Session) -> DbResult<Vec<(TopicPartition, i64)>> {
        let mut all = Vec::new();
        for (member, tables) in self.members.iter().enumerate() {
            let stored = tables.stored(session)?;
            all.extend(stored.into_iter().map(|(tp, offset)| (key(&tp, member), offset)));
        }
        Ok(all)
    }

    fn set_positions(
        &self,
        _session: &mut Session,
        _changes: &[(TopicPartition, Option<i64>)],
    ) -> DbResult<()> {
        let text = "positions of consumers are set by their functions";
        Err(DbError::new(DbErrorKind::Bug, text))
    }

    /// Letters stay in their table.
    fn outbox(&self, _session: &mut Session, _letters_max: usize) -> DbResult<Vec<DeadLetter>> {
        Ok(Vec::new())
    }

    fn forwarded(&self, _session: &mut Session, _ids: &[i64]) -> DbResult<()> {
        Ok(())
    }
}
