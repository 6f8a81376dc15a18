//! Exactly once for consumers: lost connections, zombies, rewound databases, two owners of one row.

use super::pg::{FromZero, numbered};
use super::pg_consumer::{
    Told, define, installed, open, plain, pool, put, seat, settings, started, target,
};
use api::{ErrorKind, SinkTask};
use data::{Batch, RawBatchBuilder, TimestampType, TopicPartition, Value};
use sql::consumer::{ConsumerMode, ConsumerWrites};
use sql::postgres::{Gap, GapReason, consumer_sink};
use std::sync::Arc;
use std::time::Duration;
use testkit::{eventually, postgres};

const LIMIT: Duration = Duration::from_secs(60);
const PAIRS: &str = "CREATE TABLE pairs (id bigint, v text)";

fn once(server: &postgres::Database, rows: i64) {
    let seen = "SELECT count(*) || ' ' || count(DISTINCT id) || ' ' || \
                (SELECT sum(next_offset) FROM pipeline_kafka.offsets) FROM pairs";
    assert_eq!(server.value(seen), Some(format!("{rows} {rows} {rows}")));
}

#[test]
fn connections_lost_around_commits_neither_lose_nor_repeat_rows() {
    let (server, consumer, pool) = started();
    let mut rng = testkit::Rng::new(testkit::seed());
    let mut told = Told::default();
    let mut sink = consumer_sink(&pool, target(consumer, "pairs"), plain());
    open(&mut sink, &mut told).unwrap();
    let mut at = 0;
    for _ in 0..20 {
        let len = 1 + rng.below(2000) as i64;
        let looks = rng.below(4);
        std::thread::scope(|scope| {
            let server = &server;
            scope.spawn(move || {
                // Each look takes about as long as a transaction.
                for _ in 0..looks {
                    server.value("SELECT count(*) FROM pairs");
                }
                server.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                     WHERE datname = current_database() AND application_name LIKE 'copycat%'",
                );
            });
            let mut stored = sink.put(vec![numbered(at, len)], &mut told);
            while let Err(error) = stored {
                assert_eq!(error.kind, ErrorKind::Retriable, "{error}");
                stored = sink.flush(&mut told);
            }
        });
        at += len;
    }
    eventually(LIMIT, "everything is flushed", || sink.flush(&mut told).ok());
    assert_eq!(told.durable, at);
    once(&server, at);
}

#[test]
fn two_owners_that_take_a_partition_from_each_other_write_each_record_once() {
    const END: i64 = 4000;
    let (server, consumer, pool) = started();
    let seed = testkit::seed();
    std::thread::scope(|scope| {
        for number in 0..2 {
            let pool = &pool;
            scope.spawn(move || {
                let mut rng = testkit::Rng::new(seed + number);
                let mut told = Told::default();
                let mut sink = consumer_sink(pool, target(consumer, "pairs"), plain());
                loop {
                    told.durable = 0;
                    let opened = sink.open(&[seat(0)], &mut FromZero, &mut told);
                    let mut at = match opened {
                        Ok(at) => at[0],
                        Err(error) => {
                            assert_eq!(error.kind, ErrorKind::Retriable, "{error}");
                            continue;
                        }
                    };
                    if at >= END {
                        return;
                    }
                    for _ in 0..rng.below(6) {
                        let len = (1 + rng.below(200) as i64).min(END - at);
                        match put(&mut sink, numbered(at, len), &mut told) {
                            Ok(()) => at += len,
                            Err(error) => {
                                assert_eq!(error.kind, ErrorKind::Fenced, "{error}");
                                break;
                            }
                        }
                    }
                }
            });
        }
    });
    once(&server, END);
}

#[test]
fn a_database_that_went_back_in_time_is_followed() {
    let (server, consumer, pool) = started();
    let mut told = Told::default();
    let mut sink = consumer_sink(&pool, target(consumer, "pairs"), plain());
    open(&mut sink, &mut told).unwrap();
    put(&mut sink, numbered(0, 400), &mut told).unwrap();
    // As a replica that lagged and was promoted: rows and positions are older, the epoch is the same.
    server.execute(
        "DELETE FROM pairs WHERE id >= 200; UPDATE pipeline_kafka.offsets SET next_offset = 200",
    );
    let error = put(&mut sink, numbered(400, 100), &mut told).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Fenced, "{error}");
    let mut told = Told::default();
    assert_eq!(open(&mut sink, &mut told).unwrap(), [200]);
    put(&mut sink, numbered(200, 300), &mut told).unwrap();
    once(&server, 500);
}

#[test]
fn what_a_lost_owner_holds_on_to_is_ended_where_that_is_safe() {
    let (server, consumer, pool) = started();
    let mut told = Told::default();
    let mut sink = consumer_sink(&pool, target(consumer, "pairs"), plain());
    open(&mut sink, &mut told).unwrap();
    let hold = "BEGIN; UPDATE pipeline_kafka.offsets SET next_offset = 77";
    // Somebody else's transaction is waited for.
    let mut other = server.client();
    other.execute(hold);
    let error = open(&mut sink, &mut told).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Retriable, "{error}");
    drop(other);
    let mut lost = server.client();
    lost.execute(&format!("SET application_name = 'copycat lost'; {hold}"));
    assert_eq!(open(&mut sink, &mut told).unwrap(), [0]);
    assert!(lost.try_query("COMMIT").is_err(), "its backend has been ended");
    put(&mut sink, numbered(0, 10), &mut told).unwrap();
    once(&server, 10);
}

#[test]
fn a_gap_is_noted_once_and_fences_whoever_stands_before_it() {
    let (server, consumer, pool) = started();
    let mut told = Told::default();
    let ours = target(consumer, "pairs");
    let mut sink = consumer_sink(&pool, ours.clone(), plain());
    open(&mut sink, &mut told).unwrap();
    put(&mut sink, numbered(0, 10), &mut told).unwrap();
    let gap = Gap {
        partition: 0,
        from: 10,
        to: 50,
        reason: GapReason::Retention,
        topic_id: Some(super::pg_consumer::TOPIC_ID.to_owned()),
    };
    assert!(pool.record_gap(&ours, &gap).unwrap());
    assert!(!pool.record_gap(&ours, &gap).unwrap(), "the position is behind it already");
    let error = put(&mut sink, numbered(10, 10), &mut told).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Fenced, "{error}");
    assert_eq!(open(&mut sink, &mut told).unwrap(), [50]);
    let noted = "SELECT string_agg(partition || ':' || from_offset || '-' || to_offset || reason, ',') \
                 FROM pipeline_kafka.gaps";
    assert_eq!(server.value(noted).as_deref(), Some("0:10-50retention"));
}

/// A batch of one partition that upserts these keys.
fn keys(partition: i32, first: i64, keys: &[i64]) -> Batch {
    let mut raw = RawBatchBuilder::new(TopicPartition::new("t", partition));
    for n in 0..keys.len() as i64 {
        raw.push(first + n, 0, TimestampType::CreateTime, None, Some(b"x"));
    }
    let mut batch = Batch::new(Arc::new(raw.finish(first + keys.len() as i64)));
    for key in keys {
        let row = Value::fields(vec![Value::int(*key), Value::Text(partition.to_string())]);
        let row = batch.values.put_value(None, &row);
        batch.values.push(Some(&super::pg::pairs()), row);
        batch.keys.push(None, data::Cell::Null);
    }
    batch
}

#[test]
fn upserts_of_the_same_keys_from_two_sinks_never_deadlock() {
    for version in [None, Some("v".to_owned())] {
        let server = installed("CREATE TABLE pairs (id bigint PRIMARY KEY, v text)");
        let consumer = define(&server, "pairs");
        let pool = pool(&server.url());
        let seed = testkit::seed();
        std::thread::scope(|scope| {
            for partition in 0..2 {
                let (pool, version) = (&pool, version.clone());
                scope.spawn(move || {
                    let mut writes = ConsumerWrites::new(ConsumerMode::Upsert);
                    writes.version_column = version;
                    let ours = writes.settings().unwrap();
                    let mut sink = consumer_sink(pool, target(consumer, "pairs"), ours);
                    let mut told = Told::default();
                    sink.open(&[seat(partition)], &mut FromZero, &mut told).unwrap();
                    let mut rng = testkit::Rng::new(seed + partition as u64);
                    for round in 0..40 {
                        let some: Vec<i64> = (0..200).map(|_| rng.below(220) as i64).collect();
                        let batch = keys(partition, round * 200, &some);
                        put(&mut sink, batch, &mut told).unwrap();
                    }
                });
            }
        });
        let seen = "SELECT deadlocks || ' ' || (SELECT sum(next_offset) FROM pipeline_kafka.offsets) \
                    FROM pg_stat_database WHERE datname = current_database()";
        assert_eq!(server.value(seen).as_deref(), Some("0 16000"));
    }
}

#[test]
fn everything_passes_a_pooler_in_transaction_mode() {
    for told_beforehand in [true, false] {
        let roles = super::pg_consumer_role::Roles::new(
            "SET ROLE {owner}; CREATE TABLE pairs (id bigint PRIMARY KEY CHECK (id % 1000 <> 7), \
             v text, who name DEFAULT current_user); CREATE TABLE b (LIKE pairs INCLUDING ALL); \
             RESET ROLE; GRANT {owner} TO postgres",
        );
        let bouncer = postgres::Bouncer::start(&roles.server.url(), 2);
        let mut ours = sql::postgres::PoolSettings::new(&bouncer.url(&roles.server.url()));
        if told_beforehand {
            ours.database.pooler = sql::config::Pooler::Transaction;
        }
        let pool = sql::postgres::SessionPool::new(ours).unwrap();
        std::thread::scope(|scope| {
            for table in ["pairs", "b"] {
                let consumer = define(&roles.server, table);
                let mode = if table == "b" { ConsumerMode::Upsert } else { ConsumerMode::Append };
                for partition in 0..3 {
                    let mut goal = target(consumer, table);
                    goal.role = Some(roles.owner.clone());
                    let options = ConsumerWrites::new(mode).settings().unwrap();
                    let mut sink = consumer_sink(&pool, goal, options);
                    scope.spawn(move || through(&mut sink, partition));
                }
            }
        });
        for table in ["pairs", "b"] {
            let seen =
                format!("SELECT count(*) || ' ' || bool_and(who = '{}') FROM {table}", roles.owner);
            assert_eq!(roles.server.value(&seen).as_deref(), Some("8991 true"), "{table}");
        }
        let kept = "SELECT sum(next_offset) || ' ' || (SELECT count(*) FROM pipeline_kafka.errors) \
                    FROM pipeline_kafka.offsets";
        assert_eq!(roles.server.value(kept).as_deref(), Some("18000 18"));
        let prepared = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
                        AND application_name LIKE 'copycat%'";
        let sessions: usize = roles.server.value(prepared).unwrap().parse().unwrap();
        assert!(sessions <= 2, "{sessions} sessions behind the pooler");
    }
}

/// Three batches of a partition, whose keys are its own.
fn through(sink: &mut Box<dyn SinkTask>, partition: i32) {
    let mut told = Told::default();
    retried(|| sink.open(&[seat(partition)], &mut FromZero, &mut told));
    for (first, len) in [(0i64, 5i64), (5, 1995), (2000, 1000)] {
        let some: Vec<i64> =
            (first..first + len).map(|n| i64::from(partition) * 10_000 + n).collect();
        let batch = keys(partition, first, &some);
        let mut batches = vec![batch];
        retried(|| match std::mem::take(&mut batches) {
            fresh if !fresh.is_empty() => {
                sink.put(fresh, &mut told).and_then(|()| sink.flush(&mut told))
            }
            _ => sink.flush(&mut told),
        });
    }
    assert_eq!(told.durable, 3000);
}

/// Goes on after what the runtime would repeat.
fn retried<T>(mut attempt: impl FnMut() -> api::Result<T>) -> T {
    loop {
        match attempt() {
            Ok(value) => return value,
            Err(error) => assert_eq!(error.kind, ErrorKind::Retriable, "{error}"),
        }
    }
}

#[test]
fn a_connectors_options_work_over_a_pool_too() {
    let server = installed(PAIRS);
    let consumer = define(&server, "pairs");
    let mut told = Told::default();
    let ours = settings(&[("string.nul.handling", "strip")]);
    let mut sink = consumer_sink(&pool(&server.url()), target(consumer, "pairs"), ours);
    open(&mut sink, &mut told).unwrap();
    put(&mut sink, numbered(0, 3), &mut told).unwrap();
    once(&server, 3);
}
