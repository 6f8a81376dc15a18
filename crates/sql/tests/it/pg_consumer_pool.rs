//! Many sinks over few sessions.

use super::pg::{FromZero, numbered};
use super::pg_consumer::{Told, define, installed, open, plain, put, target};
use api::{ErrorKind, SinkTask};
use sql::postgres::{PoolSettings, SessionPool, consumer_sink};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use testkit::{eventually, postgres};

const LIMIT: Duration = Duration::from_secs(60);

fn tables(count: usize) -> String {
    (0..count).map(|n| format!("CREATE TABLE t{n} (id bigint, v text);")).collect()
}

fn pool(server: &postgres::Database, sessions: usize, lock_ms: u64) -> Arc<SessionPool> {
    let mut settings = PoolSettings::new(&server.url());
    settings.sessions_max = sessions;
    settings.idle_timeout = Duration::ZERO;
    settings.database.lock_timeout = Duration::from_millis(lock_ms);
    SessionPool::new(settings).expect("the URL is right")
}

/// A sink into a table of its own, opened.
fn sink(server: &postgres::Database, pool: &Arc<SessionPool>, table: &str) -> Box<dyn SinkTask> {
    let mut sink = consumer_sink(pool, target(define(server, table), table), plain());
    open(&mut sink, &mut Told::default()).expect("nobody else has it");
    sink
}

fn ours(server: &postgres::Database) -> usize {
    let count = server.value(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
         AND application_name LIKE 'copycat%'",
    );
    count.and_then(|n| n.parse().ok()).expect("a count is a number")
}

#[test]
fn many_sinks_write_over_few_sessions() {
    const SINKS: usize = 40;
    let server = installed(&tables(SINKS));
    let pool = pool(&server, 3, 10_000);
    let sinks: Vec<_> = (0..SINKS).map(|n| sink(&server, &pool, &format!("t{n}"))).collect();
    let most = std::thread::scope(|scope| {
        let workers: Vec<_> = sinks
            .into_iter()
            .map(|mut sink| {
                scope.spawn(move || {
                    let mut told = Told::default();
                    for first in (0..1100).step_by(100) {
                        sink.put(vec![numbered(first, 100)], &mut told).unwrap();
                    }
                    sink.flush(&mut told).unwrap();
                    assert_eq!((told.durable, told.stored), (1100, 1100));
                })
            })
            .collect();
        let mut most = 0;
        while !workers.iter().all(std::thread::ScopedJoinHandle::is_finished) {
            most = most.max(ours(&server)).max(pool.sessions_open());
        }
        most
    });
    assert!((1..=3).contains(&most), "{most} sessions");
    for n in 0..SINKS {
        let count = server.value(&format!("SELECT count(*) FROM t{n}"));
        assert_eq!(count.as_deref(), Some("1100"), "t{n}");
    }
    pool.close_idle();
    assert_eq!(pool.sessions_open(), 0);
    eventually(LIMIT, "the sessions end", || (ours(&server) == 0).then_some(()));
}

#[test]
fn one_consumer_that_hangs_leaves_sessions_to_others() {
    let server = installed(&tables(2));
    let pool = pool(&server, 2, 60_000);
    let consumer = define(&server, "t0");
    let mut ours = target(consumer, "t0");
    ours.parallelism = 1;
    let mut lanes = [0, 1].map(|_| consumer_sink(&pool, ours.clone(), plain()));
    for (partition, lane) in (0..).zip(&mut lanes) {
        let seats = [super::pg_consumer::seat(partition)];
        lane.open(&seats, &mut FromZero, &mut Told::default()).unwrap();
    }
    let mut other = sink(&server, &pool, "t1");
    let stop = Arc::new(AtomicBool::new(false));
    for lane in &mut lanes {
        let stop = stop.clone();
        lane.set_cancel(Arc::new(move || stop.load(Ordering::Relaxed)));
    }
    let mut holder = server.client();
    holder.execute("BEGIN; LOCK TABLE t0");
    std::thread::scope(|scope| {
        let [first, second] = lanes;
        let hung: Vec<_> = [(first, numbered(0, 10)), (second, partition_one())]
            .into_iter()
            .map(|(mut lane, batch)| {
                scope.spawn(move || put(&mut lane, batch, &mut Told::default()))
            })
            .collect();
        eventually(LIMIT, "one lane waits for the table", || {
            let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted \
                           AND relation = 't0'::regclass";
            (server.value(waiting).as_deref() == Some("1")).then_some(())
        });
        // The second lane may not have the other session, which is therefore free.
        put(&mut other, numbered(0, 10), &mut Told::default()).unwrap();
        stop.store(true, Ordering::Relaxed);
        for lane in hung {
            assert_eq!(lane.join().unwrap().unwrap_err().kind, ErrorKind::Cancelled);
        }
    });
    assert_eq!(server.value("SELECT count(*) FROM t1").as_deref(), Some("10"));
}

/// One record of partition 1.
fn partition_one() -> data::Batch {
    let mut raw = data::RawBatchBuilder::new(data::TopicPartition::new("t", 1));
    raw.push(0, 0, data::TimestampType::CreateTime, None, Some(b"x"));
    let mut batch = data::Batch::new(Arc::new(raw.finish(1)));
    let row = data::Value::fields(vec![data::Value::int(1), data::Value::Null]);
    let row = batch.values.put_value(None, &row);
    batch.values.push(Some(&super::pg::pairs()), row);
    batch.keys.push(None, data::Cell::Null);
    batch
}

#[test]
fn a_session_that_is_held_up_is_given_on_when_its_time_is_over() {
    let server = installed(&tables(2));
    let pool = pool(&server, 1, 200);
    let (mut hung, mut other) = (sink(&server, &pool, "t0"), sink(&server, &pool, "t1"));
    let mut holder = server.client();
    holder.execute("BEGIN; LOCK TABLE t0");
    std::thread::scope(|scope| {
        let hangs = scope.spawn(move || {
            let error = put(&mut hung, numbered(0, 10), &mut Told::default()).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Retriable, "{error}");
            hung
        });
        put(&mut other, numbered(0, 10), &mut Told::default()).unwrap();
        let mut hung = hangs.join().unwrap();
        holder.execute("COMMIT");
        hung.flush(&mut Told::default()).unwrap();
    });
    let counts = "SELECT (SELECT count(*) FROM t0) || ' ' || (SELECT count(*) FROM t1)";
    assert_eq!(server.value(counts).as_deref(), Some("10 10"));
}

#[test]
fn a_session_that_died_in_the_pool_is_replaced() {
    let server = installed(&tables(1));
    let pool = pool(&server, 2, 10_000);
    let mut sink = sink(&server, &pool, "t0");
    let mut told = Told::default();
    for first in [0, 10, 20] {
        put(&mut sink, numbered(first, 10), &mut told).unwrap();
        server.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
             WHERE datname = current_database() AND application_name LIKE 'copycat%'",
        );
        eventually(LIMIT, "the session ends", || (ours(&server) == 0).then_some(()));
    }
    assert_eq!(server.value("SELECT count(*) FROM t0").as_deref(), Some("30"));
    assert_eq!(told.stored, 30);
}

#[test]
fn types_that_change_between_sinks_are_noticed_by_each() {
    // The second sink's session knows a statement over the table that another sink made before.
    let server = installed("CREATE TABLE t0 (id bigint, v text)");
    let pool = pool(&server, 1, 10_000);
    let consumer = define(&server, "t0");
    let mut told = Told::default();
    let mut sinks = [0, 1].map(|_| consumer_sink(&pool, target(consumer, "t0"), plain()));
    for (partition, sink) in (0..).zip(&mut sinks) {
        let seats = [super::pg_consumer::seat(partition)];
        sink.open(&seats, &mut FromZero, &mut told).unwrap();
    }
    let mut at = 0;
    for kind in ["double precision", "bigint", "double precision", "numeric"] {
        put(&mut sinks[0], numbered(at, 1500), &mut told).unwrap();
        server.execute(&format!("ALTER TABLE t0 ALTER COLUMN id TYPE {kind}"));
        put(&mut sinks[0], numbered(at + 1500, 1500), &mut told).unwrap();
        at += 3000;
    }
    let wrong = "SELECT count(*) || ' ' || count(*) FILTER (WHERE 'v' || id <> v) FROM t0";
    assert_eq!(server.value(wrong).as_deref(), Some("12000 0"));
}
