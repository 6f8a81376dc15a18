//! The protocol against a database that fails everywhere: each record is stored exactly once, in
//! order, or has a dead letter, whatever happens.

mod fake;

use crate::settings::{DatabaseForm, SinkSettings};
use crate::sink::SqlSink;
use api::{
    Error, ErrorKind, ResolvedStart, Result, Seat, SinkContext, SinkTask, StartResolver, Tolerance,
};
use config::Props;
use data::{Batch, Cell, RawBatchBuilder, Reject, Stage, TimestampType, TopicPartition};
use fake::{Fake, Random, Server};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

const FIRST: i64 = 100;

/// A record of a partition's log.
#[derive(Clone, Debug)]
struct Record {
    offset: i64,
    key: i64,
    /// No value: deletes its key.
    tombstone: bool,
    /// The converter cannot read it.
    unreadable: bool,
}

/// What the topics hold, and how it is read.
struct World {
    logs: BTreeMap<TopicPartition, Vec<Record>>,
    /// The position after everything.
    ends: BTreeMap<TopicPartition, i64>,
    server: Arc<Mutex<Server>>,
    settings: SinkSettings,
    random: Random,
    in_flight_max: usize,
}

struct Starts;

impl StartResolver for Starts {
    fn resolve(&mut self, partitions: &[TopicPartition]) -> Result<Vec<ResolvedStart>> {
        Ok(vec![ResolvedStart { offset: FIRST }; partitions.len()])
    }
}

/// Checks what the task tells the runtime.
struct Ear {
    server: Arc<Mutex<Server>>,
    durable: BTreeMap<TopicPartition, i64>,
    stored: u64,
    reported: u64,
    settled: u64,
}

impl SinkContext for Ear {
    fn durable(&mut self, tp: &TopicPartition, next_offset: i64) {
        let before = self.durable.insert(tp.clone(), next_offset);
        assert!(before.is_none_or(|before| before < next_offset), "positions only ascend");
        let furthest = self.server.lock().unwrap().furthest[tp];
        assert!(next_offset <= furthest, "told durable, never committed");
    }

    fn stored(&mut self, rows: u64) {
        self.stored += rows;
    }

    fn tolerate(&self, records: u64, failed: u64, reason: &str) -> Result<()> {
        assert!(0 < failed && failed <= records && !reason.is_empty());
        Ok(())
    }

    fn settled(&mut self, records: u64, failed: u64) {
        assert!(failed <= records);
        self.settled += records;
    }

    fn reported(&mut self, batch: &Batch, rejects: &[Reject]) {
        assert!(rejects.iter().all(|r| (r.row as usize) < batch.len()));
        self.reported += rejects.len() as u64;
    }

    fn ignored(&mut self, _: &str, _: u64) {}

    fn cancelled(&self) -> bool {
        false
    }
}

fn settings(upsert: bool, tolerance: Tolerance, batch_size: u64) -> SinkSettings {
    let mut props: Props = [("connection.url", "fake:")].into_iter().collect();
    props.insert("batch.size", batch_size.to_string());
    if upsert {
        props.insert("insert.mode", "upsert");
        props.insert("pk.mode", "record_key");
        props.insert("pk.fields", "id");
        props.insert("delete.enabled", "true");
    }
    SinkSettings::from_props(&props, tolerance, DatabaseForm::POSTGRES).unwrap()
}

impl World {
    fn new(seed: u64, upsert: bool, tolerance: Tolerance) -> World {
        let mut random = Random(seed);
        let server = Server::new(random.below(u64::MAX));
        let (mut logs, mut ends) = (BTreeMap::new(), BTreeMap::new());
        let bad_in = [4, 12, 60, 100_000][random.below(4) as usize];
        for partition in 0..1 + random.below(3) as i32 {
            let tp = TopicPartition::new("t", partition);
            let (mut log, mut offset) = (Vec::new(), FIRST);
            for _ in 0..random.below(120) {
                // Holes, as compaction and transactions leave them.
                offset += if random.one_in(6) { random.below(5) as i64 } else { 0 };
                log.push(Record {
                    offset,
                    key: random.below(9) as i64,
                    tombstone: upsert && random.one_in(5),
                    unreadable: random.one_in(40),
                });
                if random.one_in(bad_in) {
                    server.lock().unwrap().bad.insert((tp.clone(), offset));
                }
                offset += 1;
            }
            logs.insert(tp.clone(), log);
            ends.insert(tp, offset + random.below(3) as i64);
        }
        {
            let mut server = server.lock().unwrap();
            server.locates = random.one_in(2);
            server.faults = random.below(30) as u32;
            server.fault_in = 2 + random.below(12);
            server.fails_over = random.one_in(2);
        }
        let batch_size = [1, 3, 10, 1000][random.below(4) as usize];
        let settings = settings(upsert, tolerance, batch_size);
        let in_flight_max = 1 + random.below(3) as usize;
        World { logs, ends, server, settings, random, in_flight_max }
    }

    fn sink(&self) -> SqlSink {
        let fake = Fake::new(&self.server, self.in_flight_max);
        SqlSink::new(Box::new(fake), self.settings.clone())
    }

    fn ear(&self) -> Ear {
        Ear {
            server: self.server.clone(),
            durable: BTreeMap::new(),
            stored: 0,
            reported: 0,
            settled: 0,
        }
    }

    fn seats(&self) -> Vec<Seat> {
        self.logs.keys().map(|tp| Seat { tp: tp.clone(), topic_id: None }).collect()
    }

    /// The next batch of a partition from a position.
    fn batch(&mut self, tp: &TopicPartition, from: i64) -> Option<Batch> {
        let end = self.ends[tp];
        if from >= end {
            return None;
        }
        let many = self.random.below(25) as usize;
        let rest = self.logs[tp].iter().filter(|r| r.offset >= from);
        let records: Vec<Record> = rest.clone().take(many).cloned().collect();
        let next = match rest.clone().nth(many) {
            // With nothing taken it still passes over a hole, if there is one.
            Some(record) => record.offset,
            None => end,
        };
        Some(decoded(tp, &records, next))
    }
}

/// A batch as converters would leave it.
fn decoded(tp: &TopicPartition, records: &[Record], next: i64) -> Batch {
    let mut raw = RawBatchBuilder::new(tp.clone());
    for record in records {
        let value = (!record.tombstone).then_some(&b"x"[..]);
        raw.push(record.offset, 0, TimestampType::CreateTime, Some(b"k"), value);
    }
    let mut batch = Batch::new(Arc::new(raw.finish(next)));
    for (row, record) in records.iter().enumerate() {
        batch.keys.push(None, Cell::int(record.key));
        let name = |batch: &mut Batch, name: &[u8]| Cell::Text(batch.values.heap.put(name));
        let root = if record.tombstone || record.unreadable {
            Cell::Null
        } else {
            let (id, v) = (name(&mut batch, b"id"), name(&mut batch, b"v"));
            let cells = [id, Cell::int(record.key), v, Cell::int(record.offset)];
            Cell::Map(batch.values.alloc_from(&cells))
        };
        batch.values.push(None, root);
        if record.unreadable {
            let text = "unreadable".to_owned();
            batch.reject(Reject::data(row, Stage::ValueConverter, "C", text));
        }
    }
    batch
}

/// Plays the runtime until everything is stored. Gives the places at which the task ended because
/// of a record.
fn run(world: &mut World) -> Vec<(TopicPartition, i64)> {
    let mut poison = Vec::new();
    let mut sink = world.sink();
    let mut ear = world.ear();
    let mut positions = BTreeMap::new();
    let mut is_open = false;
    for _ in 0..20_000 {
        let result = if is_open {
            step(world, &mut sink, &mut ear, &mut positions)
        } else {
            open(world, &mut sink, &mut ear, &mut positions)
        };
        match result {
            Ok(true) => {
                let (ended, counted) = (ear.stored + ear.reported, ear.settled);
                let reduced = world.settings.deletes();
                assert!(reduced || ended == counted, "the breaker counts each record once");
                return poison;
            }
            Ok(false) => is_open = true,
            Err(error) => match error.kind {
                ErrorKind::Retriable => {}
                ErrorKind::Fenced => {
                    let tps: Vec<_> = world.logs.keys().cloned().collect();
                    sink.close(&tps, true, &mut ear);
                    is_open = false;
                }
                ErrorKind::Data => {
                    let (tp, offset) = error.record.expect("a place");
                    mend(world, &tp, offset);
                    poison.push((tp, offset));
                    (sink, ear, is_open) = (world.sink(), world.ear(), false);
                }
                // Two changes of the table without progress: an operator restarts the task.
                ErrorKind::Config if error.message.contains("a fault") => {
                    (sink, ear, is_open) = (world.sink(), world.ear(), false);
                }
                other => panic!("{other:?}: {}", error.message),
            },
        }
        if world.random.one_in(25) {
            // kill -9
            (sink, ear, is_open) = (world.sink(), world.ear(), false);
        }
    }
    panic!("no end");
}

/// Someone corrects the record that stopped the task.
fn mend(world: &mut World, tp: &TopicPartition, offset: i64) {
    let known = world.server.lock().unwrap().bad.remove(&(tp.clone(), offset));
    let log = world.logs.get_mut(tp).unwrap();
    let record = log.iter_mut().find(|r| r.offset == offset).expect("a record");
    assert!(known || record.unreadable, "a good record stopped the task");
    record.unreadable = false;
}

fn open(
    world: &World,
    sink: &mut SqlSink,
    ear: &mut Ear,
    positions: &mut BTreeMap<TopicPartition, i64>,
) -> Result<bool> {
    let seats = world.seats();
    let found = sink.open(&seats, &mut Starts, ear)?;
    // A new reading may begin before the last one ended.
    ear.durable.clear();
    *positions = seats.into_iter().map(|seat| seat.tp).zip(found).collect();
    Ok(false)
}

fn step(
    world: &mut World,
    sink: &mut SqlSink,
    ear: &mut Ear,
    positions: &mut BTreeMap<TopicPartition, i64>,
) -> Result<bool> {
    if world.random.one_in(30) {
        let tps: Vec<_> = world.logs.keys().cloned().collect();
        let tp = &tps[world.random.below(tps.len() as u64) as usize];
        let upsert = world.settings.deletes();
        let tolerant = world.settings.tolerance == Tolerance::All;
        let log = &world.logs[tp];
        let plain: Vec<_> = log
            .iter()
            .take_while(|r| !upsert && !r.unreadable)
            .map(|r| (r.offset, r.key))
            .collect();
        world.server.lock().unwrap().rival(tp, &plain, tolerant);
    }
    let mut batches = Vec::new();
    for (tp, position) in positions.iter_mut() {
        if world.random.one_in(4) {
            continue;
        }
        if let Some(batch) = world.batch(tp, *position) {
            *position = batch.next_offset();
            batches.push(batch);
        }
    }
    if !batches.is_empty() && !world.random.one_in(6) {
        sink.put(batches, ear)?;
    } else if !batches.is_empty() {
        // The first attempt may fail, and is then finished by a flush.
        let result = sink.put(batches, ear);
        if result.as_ref().err().is_none_or(|e: &Error| e.kind == ErrorKind::Retriable) {
            sink.flush(ear)?;
        }
        result?;
    }
    let done = positions.iter().all(|(tp, position)| *position >= world.ends[tp]);
    if done {
        sink.flush(ear)?;
    }
    Ok(done)
}

/// Every position is at its end.
fn check_positions(world: &World) {
    let server = world.server.lock().unwrap();
    for (tp, end) in &world.ends {
        assert_eq!(server.state.positions[tp].next_offset, *end, "{tp}");
    }
}

fn check_appended(world: &World) {
    check_positions(world);
    let server = world.server.lock().unwrap();
    for (tp, log) in &world.logs {
        let of = |places: &[(TopicPartition, i64)]| -> Vec<i64> {
            places.iter().filter(|(other, _)| other == tp).map(|(_, offset)| *offset).collect()
        };
        let fails = |r: &&Record| r.unreadable || server.bad.contains(&(tp.clone(), r.offset));
        let good: Vec<i64> = log.iter().filter(|r| !fails(r)).map(|r| r.offset).collect();
        let bad: Vec<i64> = log.iter().filter(fails).map(|r| r.offset).collect();
        assert_eq!(of(&server.state.rows), good, "rows of {tp}, in order");
        assert_eq!(of(&server.state.dead), bad, "dead letters of {tp}");
    }
}

proptest! {
    // Longer runs: PROPTEST_CASES.
    #![proptest_config(ProptestConfig::default())]

    #[test]
    fn every_record_is_stored_once_or_reported_once(seed: u64) {
        let mut world = World::new(seed, false, Tolerance::All);
        let poison = run(&mut world);
        prop_assert!(poison.is_empty());
        check_appended(&world);
    }

    #[test]
    fn a_task_that_tolerates_none_stops_at_the_first_bad_record(seed: u64) {
        let mut world = World::new(seed, false, Tolerance::None);
        run(&mut world);
        check_appended(&world);
        prop_assert!(world.server.lock().unwrap().state.dead.is_empty());
    }

    /// Keys are spread over partitions at random, so only the last operation within each partition
    /// is certain: one partition here.
    #[test]
    fn the_last_operation_on_a_key_wins(seed: u64) {
        let mut world = World::new(seed, true, Tolerance::All);
        let first = world.logs.keys().next().unwrap().clone();
        world.logs.retain(|tp, _| *tp == first);
        world.ends.retain(|tp, _| *tp == first);
        run(&mut world);
        check_positions(&world);
        let server = world.server.lock().unwrap();
        let dead: BTreeSet<_> = server.state.dead.iter().cloned().collect();
        prop_assert_eq!(dead.len(), server.state.dead.len(), "a dead letter each");
        let mut expected = BTreeMap::new();
        for record in &world.logs[&first] {
            let place = (first.clone(), record.offset);
            if dead.contains(&place) {
                prop_assert!(record.unreadable || server.bad.contains(&place));
            } else if record.tombstone {
                expected.remove(&record.key);
            } else {
                // A bad record that a later one replaces within a transaction is never written.
                expected.insert(record.key, place);
            }
        }
        prop_assert_eq!(&server.state.keyed, &expected);
    }
}
