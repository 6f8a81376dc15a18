//! A database in memory that fails in every way a real one can, at every call, by a seed.
//!
//! The server outlives connections: what a lost connection had sent may have been committed, may be
//! rolled back, or may still be open until someone asks for its lock.

use crate::database::{
    ClaimError, Database, DbError, DbErrorKind, DbResult, Position, RowLocation,
};
use crate::table::{Column, NewColumn, NewTable, Table, TableName};
use crate::write::{Advance, Transaction, WriteMode};
use api::{DeadLetter, Seat, StartResolver};
use data::{Cell, TopicPartition};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

/// SplitMix64.
#[derive(Clone, Debug)]
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % limit.max(1)
    }

    pub(super) fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

/// A record's place.
pub(super) type Place = (TopicPartition, i64);

/// What is committed.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    pub(super) positions: BTreeMap<TopicPartition, Position>,
    /// Appended rows, in the order of their commits.
    pub(super) rows: Vec<Place>,
    /// Rows by key: the record that wrote each.
    pub(super) keyed: BTreeMap<i64, Place>,
    pub(super) dead: Vec<Place>,
}

/// The rows of one write: mode, then key and place of each.
type Rows = (WriteMode, Vec<(i64, Place)>);

/// A transaction as the server has received it.
#[derive(Clone, Debug)]
struct Sent {
    advances: Vec<Advance>,
    writes: Vec<Rows>,
    dead: Vec<Place>,
}

pub(super) struct Server {
    pub(super) state: State,
    history: Vec<State>,
    /// The furthest a partition has ever been.
    pub(super) furthest: BTreeMap<TopicPartition, i64>,
    /// Left by lost connections: committed or rolled back when someone waits for their locks.
    orphans: Vec<Sent>,
    pub(super) random: Random,
    /// Records that no transaction can store.
    pub(super) bad: BTreeSet<Place>,
    /// Whether errors of rows name the row.
    pub(super) locates: bool,
    /// So many faults are still to come, one in so many calls.
    pub(super) faults: u32,
    pub(super) fault_in: u64,
    /// Whether the database may fall back to an older state.
    pub(super) fails_over: bool,
}

impl Server {
    pub(super) fn new(seed: u64) -> Arc<Mutex<Server>> {
        Arc::new(Mutex::new(Server {
            state: State::default(),
            history: Vec::new(),
            furthest: BTreeMap::new(),
            orphans: Vec::new(),
            random: Random(seed),
            bad: BTreeSet::new(),
            locates: false,
            faults: 0,
            fault_in: 10,
            fails_over: true,
        }))
    }

    fn fault(&mut self, kinds: &[DbErrorKind]) -> DbResult<()> {
        let fault_in = self.fault_in;
        if self.faults == 0 || !self.random.one_in(fault_in) {
            return Ok(());
        }
        self.faults -= 1;
        let choice = self.random.below(kinds.len() as u64) as usize;
        Err(DbError::new(kinds[choice], "a fault from the seed"))
    }

    /// Carries out a transaction, or says why it is rolled back.
    fn run(&mut self, sent: &Sent) -> DbResult<()> {
        let mut next = self.state.clone();
        for advance in &sent.advances {
            let row = next.positions.get_mut(&advance.tp);
            match row.filter(|p| p.next_offset == advance.from && p.epoch == advance.epoch) {
                Some(position) => position.next_offset = advance.to,
                None => return Err(DbError::new(DbErrorKind::Stale, "a position has moved")),
            }
        }
        for (write, (mode, rows)) in sent.writes.iter().enumerate() {
            let mut keys = BTreeSet::new();
            for (row, (key, place)) in rows.iter().enumerate() {
                let reduced = matches!(mode, WriteMode::Upsert | WriteMode::Delete);
                assert!(!reduced || keys.insert(*key), "a statement meets key {key} twice");
                if self.bad.contains(place) && *mode != WriteMode::Delete {
                    let error = DbError::new(DbErrorKind::Data, "bad row").sqlstate("22001");
                    let location = RowLocation { write, row };
                    return Err(if self.locates { error.at(location) } else { error });
                }
                match mode {
                    WriteMode::Delete => drop(next.keyed.remove(key)),
                    WriteMode::Upsert => drop(next.keyed.insert(*key, place.clone())),
                    _ => next.rows.push(place.clone()),
                }
            }
        }
        next.dead.extend(sent.dead.iter().cloned());
        self.commit(next);
        Ok(())
    }

    fn commit(&mut self, next: State) {
        for (tp, position) in &next.positions {
            let furthest = self.furthest.entry(tp.clone()).or_insert(position.next_offset);
            *furthest = (*furthest).max(position.next_offset);
        }
        self.history.push(std::mem::replace(&mut self.state, next));
    }

    /// Whoever asks for locks waits for those who hold them.
    fn wait_for_orphans(&mut self) {
        for orphan in std::mem::take(&mut self.orphans) {
            if self.random.one_in(2) && self.run(&orphan).is_err() {
                break;
            }
        }
    }

    /// The connection of these transactions is gone.
    fn lose(&mut self, sent: impl Iterator<Item = Sent>) {
        let mut open = false;
        for transaction in sent {
            match self.random.below(if open { 2 } else { 3 }) {
                0 => break,
                1 => {
                    // Still open, and so is everything behind it.
                    open = true;
                    self.orphans.push(transaction);
                }
                _ if self.run(&transaction).is_err() => break,
                _ => {}
            }
        }
    }

    fn fail_over(&mut self) {
        self.orphans.clear();
        let back = self.random.below(4) as usize + 1;
        if let Some(older) = self.history.len().checked_sub(back) {
            self.history.truncate(older + 1);
            self.state = self.history.pop().unwrap();
        }
    }

    /// Another owner takes a partition and stores records of it.
    pub(super) fn rival(&mut self, tp: &TopicPartition, records: &[(i64, i64)], tolerant: bool) {
        self.wait_for_orphans();
        let mut next = self.state.clone();
        let Some(position) = next.positions.get_mut(tp) else { return };
        position.epoch += 1;
        let from = position.next_offset;
        let many = self.random.below(4) as usize;
        let taken = records.iter().filter(|(offset, _)| *offset >= from).take(many);
        for (offset, key) in taken {
            let place = (tp.clone(), *offset);
            if self.bad.contains(&place) && !tolerant {
                break;
            }
            position.next_offset = offset + 1;
            if self.bad.contains(&place) {
                next.dead.push(place);
            } else {
                next.rows.push(place.clone());
                next.keyed.insert(*key, place);
            }
        }
        self.commit(next);
    }
}

/// A connection.
pub(super) struct Fake {
    server: Arc<Mutex<Server>>,
    connected: bool,
    in_flight: VecDeque<Sent>,
    in_flight_max: usize,
}

impl Fake {
    pub(super) fn new(server: &Arc<Mutex<Server>>, in_flight_max: usize) -> Fake {
        let (server, in_flight) = (server.clone(), VecDeque::new());
        Fake { server, connected: false, in_flight, in_flight_max }
    }

    fn server(&self) -> MutexGuard<'_, Server> {
        self.server.lock().unwrap()
    }

    /// Lets a call fail; connections break with what that means for what they carry.
    fn fault(&mut self, kinds: &[DbErrorKind]) -> DbResult<()> {
        assert!(self.connected, "a call without a connection");
        let result = self.server().fault(kinds);
        if result.as_ref().is_err_and(|e| e.kind == Connection) {
            self.disconnect();
            let mut server = self.server();
            if server.fails_over && server.random.one_in(3) {
                server.fail_over();
            }
        }
        result
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.disconnect();
    }
}

use DbErrorKind::{Concurrency, Connection, Drift, Resource};

impl Database for Fake {
    fn connect(&mut self) -> DbResult<()> {
        if !self.connected {
            self.server().fault(&[Connection, Resource])?;
            self.connected = true;
        }
        Ok(())
    }

    fn disconnect(&mut self) {
        self.connected = false;
        let sent = std::mem::take(&mut self.in_flight);
        self.server().lose(sent.into_iter());
    }

    fn claim(
        &mut self,
        seats: &[Seat],
        resolver: &mut dyn StartResolver,
    ) -> Result<Vec<Position>, ClaimError> {
        assert!(self.in_flight.is_empty(), "a claim with transactions in flight");
        self.fault(&[Connection, Resource, Concurrency])?;
        let mut server = self.server();
        server.wait_for_orphans();
        let mut next = server.state.clone();
        for seat in seats {
            match next.positions.get_mut(&seat.tp) {
                Some(position) => position.epoch += 1,
                None => {
                    let tps = std::slice::from_ref(&seat.tp);
                    let starts = resolver.resolve(tps).map_err(ClaimError::Resolve)?;
                    let position = Position { next_offset: starts[0].offset, epoch: 1 };
                    next.positions.insert(seat.tp.clone(), position);
                }
            }
        }
        let found = seats.iter().map(|seat| next.positions[&seat.tp]).collect();
        server.commit(next);
        drop(server);
        // The answer may be lost after the commit.
        self.fault(&[Connection])?;
        Ok(found)
    }

    fn positions(&mut self, partitions: &[TopicPartition]) -> DbResult<Vec<Option<Position>>> {
        assert!(self.in_flight.is_empty(), "positions with transactions in flight");
        self.fault(&[Connection, Resource, Concurrency])?;
        let mut server = self.server();
        server.wait_for_orphans();
        Ok(partitions.iter().map(|tp| server.state.positions.get(tp).copied()).collect())
    }

    fn stored(&mut self) -> DbResult<Vec<(TopicPartition, i64)>> {
        let server = self.server();
        let positions = server.state.positions.iter();
        Ok(positions.map(|(tp, position)| (tp.clone(), position.next_offset)).collect())
    }

    fn set_positions(&mut self, changes: &[(TopicPartition, Option<i64>)]) -> DbResult<()> {
        let mut server = self.server();
        server.wait_for_orphans();
        let mut next = server.state.clone();
        for (tp, offset) in changes {
            let epoch = next.positions.remove(tp).map_or(1, |position| position.epoch + 1);
            next.positions
                .extend(offset.map(|at| (tp.clone(), Position { next_offset: at, epoch })));
        }
        server.commit(next);
        Ok(())
    }

    fn table(&mut self, name: &TableName) -> DbResult<Option<Arc<Table>>> {
        assert!(self.in_flight.is_empty(), "the catalogue with transactions in flight");
        self.fault(&[Connection, Resource, Concurrency])?;
        let column = |name: &str| Column {
            name: name.to_owned(),
            type_name: "bigint".to_owned(),
            nullable: name != "id",
            has_default: false,
            generated: false,
            json: false,
        };
        Ok(Some(Arc::new(Table {
            name: name.clone(),
            columns: vec![column("id"), column("v")],
            unique_keys: vec![vec![0]],
            has_primary_key: true,
            is_view: false,
        })))
    }

    fn forget_tables(&mut self) {}

    fn create_table_sql(&self, table: &NewTable) -> String {
        format!("CREATE TABLE {} ()", table.name)
    }

    fn create_table(&mut self, _: &NewTable) -> DbResult<()> {
        panic!("the table is there");
    }

    fn add_columns(&mut self, _: &Table, _: &[NewColumn]) -> DbResult<()> {
        panic!("the columns are there");
    }

    fn start(&mut self, transaction: &Transaction<'_>) -> DbResult<()> {
        assert!(self.in_flight.len() < self.in_flight_max, "more in flight than allowed");
        assert!(transaction.advances.is_sorted_by(|a, b| a.tp < b.tp), "out of order");
        self.fault(&[Connection, Drift])?;
        let place = |batch: u32, row: u32| {
            let batch = &transaction.batches[batch as usize];
            assert!((row as usize) < batch.len());
            (batch.tp().clone(), batch.raw.records()[row as usize].offset)
        };
        let writes = transaction.writes.iter().map(|write| {
            let row = |index: usize| {
                let column = write.plan.key.first().map(|k| &write.plan.columns[*k]);
                let key = match column.map(|c| write.cell(transaction.batches, index, c).0) {
                    Some(Cell::Int(key, _)) => key,
                    None => 0,
                    other => panic!("{other:?} is no key"),
                };
                (key, place(write.rows[index].batch, write.rows[index].row))
            };
            (write.plan.mode, (0..write.rows.len()).map(row).collect())
        });
        let sent = Sent {
            advances: transaction.advances.to_vec(),
            writes: writes.collect(),
            dead: transaction.rejects.iter().map(|r| place(r.batch, r.reject.row)).collect(),
        };
        self.in_flight.push_back(sent);
        Ok(())
    }

    fn settle(&mut self) -> DbResult<()> {
        self.fault(&[Connection, Concurrency, Drift, Resource])?;
        let sent = self.in_flight.pop_front().expect("something in flight");
        self.server().run(&sent)
    }

    fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    fn in_flight_max(&self) -> usize {
        self.in_flight_max
    }

    fn abandon(&mut self) {
        let sent = std::mem::take(&mut self.in_flight);
        let mut server = self.server();
        // Whether they have been read or not: the server goes on until one fails.
        if server.random.one_in(2) {
            server.lose(sent.into_iter());
        }
    }

    fn outbox(&mut self, _: usize) -> DbResult<Vec<DeadLetter>> {
        Ok(Vec::new())
    }

    fn forwarded(&mut self, _: &[i64]) -> DbResult<()> {
        Ok(())
    }

    fn set_cancel(&mut self, _: Arc<dyn Fn() -> bool + Send + Sync>) {}
}
