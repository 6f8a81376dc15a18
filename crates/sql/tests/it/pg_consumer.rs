//! Destinations of the SQL control plane over a real server: the same protocol, other tables, shared
//! sessions, another role.

use super::pg::{FromZero, batch, numbered, pairs};
use api::{ErrorKind, Result, Seat, SinkContext, SinkTask, Tolerance};
use config::Props;
use data::{Batch, Reject, TopicPartition, Value};
use sql::postgres::{ConsumerTarget, PoolSettings, SessionPool, consumer_sink};
use sql::settings::{DatabaseForm, SinkSettings};
use sql::table::TableName;
use std::sync::Arc;
use testkit::postgres;

/// The tables of the control plane, as its crate installs them.
const SCHEMA: [&str; 3] = [
    include_str!("../../../pipeline/sql/v1/definitions.sql"),
    include_str!("../../../pipeline/sql/v1/progress.sql"),
    include_str!("../../../pipeline/sql/v1/rights.sql"),
];
pub(crate) const TOPIC_ID: &str = "f3a1c2d4-0000-4000-8000-00000000000a";

/// What the runtime was told.
#[derive(Default)]
pub(crate) struct Told {
    pub(crate) durable: i64,
    pub(crate) stored: u64,
    pub(crate) reported: Vec<(i64, Reject)>,
    pub(crate) ignored: Vec<String>,
}

impl SinkContext for Told {
    fn durable(&mut self, _: &TopicPartition, next_offset: i64) {
        self.durable = next_offset;
    }

    fn stored(&mut self, rows: u64) {
        self.stored += rows;
    }

    fn tolerate(&self, _: u64, _: u64, _: &str) -> Result<()> {
        Ok(())
    }

    fn settled(&mut self, _: u64, _: u64) {}

    fn reported(&mut self, batch: &Batch, rejects: &[Reject]) {
        let offset = |r: &Reject| batch.raw.records()[r.row as usize].offset;
        self.reported.extend(rejects.iter().map(|r| (offset(r), r.clone())));
    }

    fn ignored(&mut self, what: &str, _: u64) {
        self.ignored.push(what.to_owned());
    }

    fn cancelled(&self) -> bool {
        false
    }
}

/// A database with the control plane's tables and these statements run.
pub(crate) fn installed(sql: &str) -> postgres::Database {
    let server = postgres::database();
    let schema = format!("CREATE SCHEMA pipeline_kafka; {}; {sql}", SCHEMA.join(";"));
    server.execute(&schema);
    server
}

/// Defines a consumer of topic `t`; gives its id and version.
pub(crate) fn define(server: &postgres::Database, relation: &str) -> (i32, i64) {
    let rows = server.query(&format!(
        "INSERT INTO pipeline_kafka.clusters (name, bootstrap_servers) VALUES ('default', 'x:1') \
         ON CONFLICT DO NOTHING; \
         INSERT INTO pipeline_kafka.consumers (topic, relation) VALUES ('t', '{relation}') \
         RETURNING id, config_version"
    ));
    let number =
        |at: usize| rows[0][at].as_ref().and_then(|n| n.parse::<i64>().ok()).expect("a number");
    (number(0) as i32, number(1))
}

pub(crate) fn pool(url: &str) -> Arc<SessionPool> {
    SessionPool::new(PoolSettings::new(url)).expect("the URL is right")
}

/// A database with table `pairs` and a consumer for it.
pub(crate) fn started() -> (postgres::Database, (i32, i64), Arc<SessionPool>) {
    let server = installed(PAIRS);
    let consumer = define(&server, "pairs");
    let pool = pool(&server.url());
    (server, consumer, pool)
}

pub(crate) fn target((consumer_id, config_version): (i32, i64), relation: &str) -> ConsumerTarget {
    ConsumerTarget {
        consumer_id,
        replay_id: None,
        config_version,
        topic: "t".into(),
        role: None,
        relation: TableName { schema: Some("public".to_owned()), name: relation.to_owned() },
        parallelism: 4,
        framed: false,
    }
}

pub(crate) fn plain() -> SinkSettings {
    settings(&[])
}

pub(crate) fn settings(options: &[(&str, &str)]) -> SinkSettings {
    let mut props: Props = options.iter().copied().collect();
    props.insert("connection.url", "postgresql://unused");
    SinkSettings::from_props(&props, Tolerance::All, DatabaseForm::POSTGRES)
        .expect("the options are right")
}

pub(crate) fn seat(partition: i32) -> Seat {
    Seat { tp: TopicPartition::new("t", partition), topic_id: Some(TOPIC_ID.to_owned()) }
}

pub(crate) fn open(sink: &mut Box<dyn SinkTask>, told: &mut Told) -> Result<Vec<i64>> {
    sink.open(&[seat(0)], &mut FromZero, told)
}

pub(crate) fn put(sink: &mut Box<dyn SinkTask>, batch: Batch, told: &mut Told) -> Result<()> {
    sink.put(vec![batch], told)?;
    sink.flush(told)
}

fn rows(first: i64, len: i64, text: impl Fn(i64) -> String) -> Batch {
    let row = |n: i64| vec![Value::int(n), Value::Text(text(n))];
    batch(&pairs(), first, (first..first + len).map(row).collect())
}

const PAIRS: &str = "CREATE TABLE pairs (id bigint, v text)";

#[test]
fn positions_and_rows_of_a_consumer_move_together() {
    let (server, consumer, pool) = started();
    let mut told = Told::default();
    let mut sink = consumer_sink(&pool, target(consumer, "pairs"), plain());
    assert_eq!(open(&mut sink, &mut told).unwrap(), [0]);
    for first in [0, 2000, 2010] {
        let len = if first == 2000 { 10 } else { 2000 };
        put(&mut sink, numbered(first, len), &mut told).unwrap();
    }
    let row = "SELECT next_offset || ' ' || epoch || ' ' || rows_total || ' ' || topic_id || ' ' \
               || (owner_pid > 0) || ' ' || extract(year FROM last_timestamp) \
               FROM pipeline_kafka.offsets";
    let expect = format!("4010 1 4010 {TOPIC_ID} true 2023");
    assert_eq!(server.value(row), Some(expect));
    assert_eq!(server.value("SELECT count(*) FROM pairs").as_deref(), Some("4010"));
    assert_eq!((told.durable, told.stored), (4010, 4010));
    drop(sink);
    let mut again = consumer_sink(&pool, target(consumer, "pairs"), plain());
    assert_eq!(open(&mut again, &mut told).unwrap(), [4010], "the stored position wins");
    assert_eq!(pool.sessions_open(), 1);
}

#[test]
fn rejects_are_rows_of_errors_and_are_replaced_when_refused_again() {
    let server = installed("CREATE TABLE pairs (id bigint CHECK (id <> 3), v text)");
    let consumer = define(&server, "pairs");
    let pool = pool(&server.url());
    let mut told = Told::default();
    let mut sink = consumer_sink(&pool, target(consumer, "pairs"), plain());
    let letters = "SELECT string_agg(partition || ':' || \"offset\" || ' ' || stage || ' ' || \
                   sqlstate || ' ' || column_name || ' ' || convert_from(key, 'utf8') || ' ' || \
                   value::text || ' ' || headers || ' ' || resolved, ',') \
                   FROM pipeline_kafka.errors";
    let expect = "0:3 write 23514 id key-3 \\x76616c756500ff [[\"h\", \"AP8=\"]] false";
    for round in 0..2 {
        open(&mut sink, &mut told).unwrap();
        put(&mut sink, numbered(0, 8), &mut told).unwrap();
        assert_eq!(server.value(letters).as_deref(), Some(expect), "round {round}");
        server.execute(
            "UPDATE pipeline_kafka.errors SET resolved = true; \
             UPDATE pipeline_kafka.offsets SET next_offset = 0, epoch = epoch + 1",
        );
    }
    assert_eq!(server.value("SELECT count(*) FROM pairs").as_deref(), Some("14"));
}

#[test]
fn a_zombie_of_an_older_epoch_or_definition_writes_nothing() {
    let (server, consumer, pool) = started();
    let mut told = Told::default();
    let mut zombie = consumer_sink(&pool, target(consumer, "pairs"), plain());
    open(&mut zombie, &mut told).unwrap();
    put(&mut zombie, numbered(0, 10), &mut told).unwrap();
    let mut owner = consumer_sink(&pool, target(consumer, "pairs"), plain());
    assert_eq!(open(&mut owner, &mut told).unwrap(), [10]);
    let error = put(&mut zombie, numbered(10, 10), &mut told).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Fenced, "{error}");
    put(&mut owner, numbered(10, 10), &mut told).unwrap();
    // A definition that has changed: its function raises the epochs.
    server.execute(
        "UPDATE pipeline_kafka.consumers SET config_version = config_version + 1; \
         UPDATE pipeline_kafka.offsets SET epoch = epoch + 1",
    );
    let error = put(&mut owner, numbered(20, 10), &mut told).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Fenced, "{error}");
    let error = open(&mut owner, &mut told).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Fenced, "{error}");
    assert!(error.message.contains("changed, paused or dropped"), "{error}");
    assert_eq!(server.value("SELECT count(*) FROM pairs").as_deref(), Some("20"));
}

#[test]
fn a_topic_that_was_created_anew_is_refused() {
    let (server, consumer, pool) = started();
    let mut told = Told::default();
    let mut sink = consumer_sink(&pool, target(consumer, "pairs"), plain());
    open(&mut sink, &mut told).unwrap();
    put(&mut sink, numbered(0, 10), &mut told).unwrap();
    server.execute("UPDATE pipeline_kafka.offsets SET topic_id = gen_random_uuid()");
    let error = open(&mut sink, &mut told).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Config, "{error}");
    assert!(error.hint.unwrap().contains("set_offsets('t', 'public.pairs', 'earliest')"));
}

#[test]
fn a_replay_has_positions_and_errors_of_its_own() {
    let server = installed("CREATE TABLE pairs (id bigint CHECK (id <> 3), v text)");
    let consumer = define(&server, "pairs");
    server.execute(&format!(
        "INSERT INTO pipeline_kafka.replays (id, consumer_id, start_at, end_at, into_relation, \
         mode, config_version) VALUES (77, {}, 'earliest', 'latest', 'pairs', 'append', 5); \
         INSERT INTO pipeline_kafka.replay_offsets (replay_id, partition, start_offset, \
         next_offset, end_offset) VALUES (77, 0, 2, 2, 6)",
        consumer.0
    ));
    let pool = pool(&server.url());
    let mut told = Told::default();
    let mut live = consumer_sink(&pool, target(consumer, "pairs"), plain());
    open(&mut live, &mut told).unwrap();
    put(&mut live, numbered(0, 10), &mut told).unwrap();
    let mut ours = target((consumer.0, 5), "pairs");
    ours.replay_id = Some(77);
    let mut replay = consumer_sink(&pool, ours.clone(), plain());
    assert_eq!(open(&mut replay, &mut told).unwrap(), [2]);
    put(&mut replay, numbered(2, 4), &mut told).unwrap();
    let seen = "SELECT (SELECT next_offset FROM pipeline_kafka.offsets) || ' ' || \
                (SELECT next_offset FROM pipeline_kafka.replay_offsets) || ' ' || \
                (SELECT string_agg(coalesce(replay_id, 0) || ':' || \"offset\", ',' ORDER BY id) \
                 FROM pipeline_kafka.errors) || ' ' || (SELECT count(*) FROM pairs)";
    assert_eq!(server.value(seen).as_deref(), Some("10 6 0:3,77:3 12"));
    server.execute("UPDATE pipeline_kafka.replays SET state = 'cancelled'");
    let mut late = consumer_sink(&pool, ours, plain());
    assert_eq!(open(&mut late, &mut told).unwrap_err().kind, ErrorKind::Fenced);
}

#[test]
fn a_database_without_the_control_plane_says_how_to_install_it() {
    let server = postgres::database();
    let pool = pool(&server.url());
    let mut told = Told::default();
    let mut sink = consumer_sink(&pool, target((1, 1), "pairs"), plain());
    let error = open(&mut sink, &mut told).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Config, "{error}");
    assert!(error.hint.unwrap().contains("copycat pg install"));
}

#[test]
fn poison_is_found_beside_good_rows_of_large_batches() {
    let server = installed("CREATE TABLE pairs (id bigint, v text CHECK (v <> 'bad'))");
    let consumer = define(&server, "pairs");
    let pool = pool(&server.url());
    let mut told = Told::default();
    let mut sink = consumer_sink(&pool, target(consumer, "pairs"), plain());
    open(&mut sink, &mut told).unwrap();
    let bad = [0i64, 2999, 4321, 4322, 8000];
    let text = move |n: i64| if bad.contains(&n) { "bad".to_owned() } else { n.to_string() };
    for first in (0..9000).step_by(3000) {
        put(&mut sink, rows(first, 3000, text), &mut told).unwrap();
    }
    let offsets: Vec<_> = told.reported.iter().map(|(at, _)| *at).collect();
    assert_eq!(offsets, bad);
    assert_eq!(server.value("SELECT count(*) FROM pairs").as_deref(), Some("8995"));
}
