//! Positions in a SQLite file: claimed, fenced, moved with their rows, shared between writers.

use crate::sqlite_file::{File, advance, batch, claim, commit, plan, seat, start_at, tp, write};
use api::{ErrorKind, ResolvedStart, StartResolver};
use data::{Schema, SchemaBuilder, TopicPartition, Type, Value};
use rusqlite::TransactionBehavior;
use sql::database::{ClaimError, Database, DbErrorKind, DbResult, Position};
use sql::sqlite::SqliteDatabase;
use sql::write::{Transaction, WriteMode};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const EVENTS: &str = "CREATE TABLE events(id INTEGER NOT NULL, who TEXT)";

fn event_schema() -> Arc<Schema> {
    let built = SchemaBuilder::structure()
        .field("id", Arc::new(Schema::new(Type::Int64)))
        .field("who", Arc::new(Schema::new(Type::String)))
        .build();
    Arc::new(built.expect("a good schema"))
}

/// Appends events `position.next_offset..to` and moves the position.
fn append(
    database: &mut SqliteDatabase,
    partition: i32,
    position: Position,
    to: i64,
    who: &str,
) -> DbResult<()> {
    let schema = event_schema();
    let values: Vec<Value> = (position.next_offset..to)
        .map(|id| Value::fields(vec![Value::int(id), Value::Text(who.to_owned())]))
        .collect();
    let batch = batch(partition, position.next_offset, Some(&schema), &values);
    let plan = plan(database, "events", &schema, WriteMode::Insert, &[]);
    let writes = [write(plan, &batch)];
    let (batches, advances) = ([batch], [advance(partition, position, to)]);
    let transaction = Transaction {
        batches: &batches,
        advances: &advances,
        writes: &writes,
        truncates: &[],
        rejects: &[],
    };
    commit(database, &transaction)
}

#[test]
fn a_claim_stores_missing_starts_and_takes_over_what_is_there() {
    let file = File::new("");
    let mut first = file.database();
    let mut resolver = start_at(7);
    let claimed = first.claim(&[seat(0), seat(1)], &mut resolver).unwrap();
    assert_eq!(claimed, [Position { next_offset: 7, epoch: 1 }; 2]);
    assert_eq!(resolver.asked, 2);
    let mut again = start_at(99);
    let claimed = file.database().claim(&[seat(1), seat(2)], &mut again).unwrap();
    assert_eq!(
        claimed,
        [Position { next_offset: 7, epoch: 2 }, Position { next_offset: 99, epoch: 1 }]
    );
    assert_eq!(again.asked, 1, "only what is missing is asked for");
    assert_eq!(
        first.positions(&[tp(0), tp(1), tp(3)]).unwrap(),
        [
            Some(Position { next_offset: 7, epoch: 1 }),
            Some(Position { next_offset: 7, epoch: 2 }),
            None
        ]
    );
}

#[test]
fn a_mark_without_offset_is_resolved_anew_under_a_new_epoch() {
    let file = File::new("");
    let mut database = file.database();
    claim(&mut database, 0);
    file.peek()
        .execute_batch("UPDATE copycat_offsets SET next_offset = NULL, epoch = epoch + 1")
        .unwrap();
    assert_eq!(database.positions(&[tp(0)]).unwrap(), [None]);
    let mut resolver = start_at(42);
    let claimed = database.claim(&[seat(0)], &mut resolver).unwrap();
    assert_eq!(claimed, [Position { next_offset: 42, epoch: 3 }]);
}

#[test]
fn a_recreated_topic_is_refused_and_both_ways_on_work() {
    for way in ["start afresh", "go on"] {
        let file = File::new("");
        let mut database = file.database();
        claim(&mut database, 0);
        let mut other = seat(0);
        other.topic_id = Some("id-2".to_owned());
        let error = match database.claim(&[other.clone()], &mut start_at(5)) {
            Err(ClaimError::Database(error)) => error,
            other => panic!("a recreated topic was accepted: {other:?}"),
        };
        assert_eq!(error.kind, DbErrorKind::Config);
        let hint = error.hint.unwrap();
        let (_, sql) = hint.split_once(way).unwrap();
        let sql = &sql[sql.find("UPDATE").unwrap()..];
        file.peek().execute_batch(sql.split(';').next().unwrap()).unwrap();
        let claimed = database.claim(&[other], &mut start_at(5)).unwrap();
        assert_eq!(claimed[0].next_offset, if way == "go on" { 0 } else { 5 });
    }
}

#[test]
fn a_resolver_that_fails_leaves_nothing_behind() {
    struct Down;
    impl StartResolver for Down {
        fn resolve(&mut self, _: &[TopicPartition]) -> api::Result<Vec<ResolvedStart>> {
            Err(api::Error::retriable("no broker answers"))
        }
    }
    let file = File::new("");
    let mut database = file.database();
    match database.claim(&[seat(0)], &mut Down) {
        Err(ClaimError::Resolve(error)) => assert_eq!(error.kind, ErrorKind::Retriable),
        other => panic!("not the resolver's error: {other:?}"),
    }
    assert_eq!(file.rows("SELECT count(*) FROM copycat_offsets"), ["0"]);
}

#[test]
fn an_owner_who_was_replaced_writes_nothing() {
    let file = File::new(EVENTS);
    let (mut old, mut new) = (file.database(), file.database());
    let before = claim(&mut old, 0);
    let after = claim(&mut new, 0);
    let error = append(&mut old, 0, before, 10, "old").unwrap_err();
    assert_eq!(error.kind, DbErrorKind::Stale);
    assert!(error.message.contains("epoch 2"), "{error}");
    append(&mut new, 0, after, 10, "new").unwrap();
    let error = append(&mut new, 0, after, 10, "twice").unwrap_err();
    assert_eq!(error.kind, DbErrorKind::Stale, "the same range is not stored again");
    assert_eq!(file.rows("SELECT who, count(*) FROM events GROUP BY who"), ["new|10"]);
    assert_eq!(old.positions(&[tp(0)]).unwrap(), [Some(Position { next_offset: 10, epoch: 2 })]);
}

#[test]
fn a_bad_row_takes_position_and_rows_back() {
    let file = File::new("CREATE TABLE events(id INTEGER CHECK (id < 5), who TEXT)");
    let mut database = file.database();
    let position = claim(&mut database, 0);
    let error = append(&mut database, 0, position, 10, "a").unwrap_err();
    assert_eq!(error.location.map(|l| (l.write, l.row)), Some((0, 5)));
    assert_eq!(database.in_flight(), 0);
    assert_eq!(database.positions(&[tp(0)]).unwrap(), [Some(position)]);
    append(&mut database, 0, position, 5, "a").unwrap();
    assert_eq!(file.rows("SELECT count(*) FROM events"), ["5"]);
}

#[test]
fn a_writer_that_dies_before_its_commit_leaves_no_trace() {
    let file = File::new(EVENTS);
    let mut database = file.database();
    let position = claim(&mut database, 0);
    let mut dying = file.peek();
    let transaction = dying.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    transaction
        .execute_batch(
            "UPDATE copycat_offsets SET next_offset = 10; INSERT INTO events VALUES(1, 'x')",
        )
        .unwrap();
    drop(transaction);
    drop(dying);
    assert_eq!(database.positions(&[tp(0)]).unwrap(), [Some(position)]);
    append(&mut database, 0, position, 3, "a").unwrap();
    assert_eq!(file.rows("SELECT count(*) FROM events"), ["3"]);
}

#[test]
fn a_held_lock_is_waited_for_read_late_and_can_be_given_up() {
    let file = File::new(EVENTS);
    let mut settings = file.settings();
    settings.lock_timeout = Duration::from_millis(20);
    let mut hasty = SqliteDatabase::new(settings).unwrap();
    let position = claim(&mut hasty, 0);
    let holder = file.peek();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = append(&mut hasty, 0, position, 1, "a").unwrap_err();
    assert_eq!(error.kind, DbErrorKind::Concurrency);

    let mut stopped = file.database();
    let seen = AtomicBool::new(false);
    stopped.set_cancel(Arc::new(move || seen.swap(true, Ordering::SeqCst)));
    assert_eq!(stopped.positions(&[tp(0)]).unwrap_err().kind, DbErrorKind::Cancelled);

    // A locked read waits for the other transaction and then sees what it did.
    let mut patient = file.database();
    patient.connect().unwrap();
    let waiting = std::thread::spawn(move || patient.positions(&[tp(0)]).unwrap());
    holder.execute_batch("UPDATE copycat_offsets SET next_offset = 33; COMMIT").unwrap();
    assert_eq!(waiting.join().unwrap(), [Some(Position { next_offset: 33, epoch: 1 })]);
}

#[test]
fn two_writers_share_a_file_and_neither_loses_a_row() {
    const TRANSACTIONS: i64 = 60;
    const ROWS: i64 = 20;
    let file = File::new(EVENTS);
    std::thread::scope(|scope| {
        for partition in 0..2 {
            let file = &file;
            scope.spawn(move || {
                let mut database = file.database();
                let mut position = claim(&mut database, partition);
                for _ in 0..TRANSACTIONS {
                    let to = position.next_offset + ROWS;
                    append(&mut database, partition, position, to, &partition.to_string())
                        .expect("a busy file is waited for");
                    position.next_offset = to;
                }
            });
        }
    });
    let rows = TRANSACTIONS * ROWS;
    assert_eq!(
        file.rows("SELECT who, count(*), count(DISTINCT id) FROM events GROUP BY who ORDER BY who"),
        [format!("0|{rows}|{rows}"), format!("1|{rows}|{rows}")]
    );
    assert_eq!(
        file.rows("SELECT next_offset FROM copycat_offsets ORDER BY \"partition\""),
        [rows.to_string(), rows.to_string()]
    );
}

#[test]
fn owners_who_fight_for_a_partition_store_each_offset_once() {
    const END: i64 = 200;
    let file = File::new(EVENTS);
    std::thread::scope(|scope| {
        for who in ["a", "b", "c"] {
            let file = &file;
            scope.spawn(move || {
                let mut database = file.database();
                loop {
                    let position = claim(&mut database, 0);
                    if position.next_offset >= END {
                        return;
                    }
                    match append(&mut database, 0, position, position.next_offset + 1, who) {
                        Ok(()) => {}
                        Err(error) => assert_eq!(error.kind, DbErrorKind::Stale, "{error}"),
                    }
                }
            });
        }
    });
    let end = END.to_string();
    assert_eq!(
        file.rows("SELECT count(*), count(DISTINCT id) FROM events"),
        [format!("{end}|{end}")]
    );
}
