//! The whole sink over a real server: poison anywhere, keys that exist, tables that change.

use super::pg::{FromZero, batch, open, pairs, seat, settings};
use api::{ErrorKind, Result, SinkContext, SinkTask, Tolerance};
use config::Props;
use data::{Batch, Reject, TopicPartition, Value};
use sql::postgres::PostgresDatabase;
use sql::settings::{DatabaseForm, SinkSettings};
use sql::sink::SqlSink;
use testkit::postgres;

/// What the runtime was told.
#[derive(Default)]
struct Told {
    durable: i64,
    stored: u64,
    reported: Vec<i64>,
}

impl SinkContext for Told {
    fn durable(&mut self, _: &TopicPartition, next_offset: i64) {
        assert!(next_offset >= self.durable, "positions ascend");
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
        self.reported.extend(rejects.iter().map(offset));
    }

    fn ignored(&mut self, _: &str, _: u64) {}

    fn cancelled(&self) -> bool {
        false
    }
}

/// A sink with these options beside the URL, its partition opened.
fn sink(server: &postgres::Database, options: &[(&str, &str)], told: &mut Told) -> SqlSink {
    let url = server.url();
    let all = [("connection.url", url.as_str()), ("table.name.format", "pairs")];
    let pairs = all.iter().chain(options).map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
    let props: Props = pairs.collect();
    let tolerance = Tolerance::All;
    let ours = SinkSettings::from_props(&props, tolerance, DatabaseForm::POSTGRES)
        .expect("the options are right");
    let database = PostgresDatabase::new(settings(server)).expect("the URL is right");
    let mut sink = SqlSink::new(Box::new(database), ours);
    sink.open(&[seat("t", 0)], &mut FromZero, told).expect("nobody else has it");
    sink
}

const UPSERT: [(&str, &str); 3] =
    [("insert.mode", "upsert"), ("pk.mode", "record_value"), ("pk.fields", "id")];

fn rows(first: i64, len: i64, text: impl Fn(i64) -> String) -> Batch {
    let row = |n: i64| vec![Value::int(n), Value::Text(text(n))];
    batch(&pairs(), first, (first..first + len).map(row).collect())
}

#[test]
fn poison_in_every_position_is_reported_and_nothing_else() {
    let table = "CREATE TABLE pairs (id bigint PRIMARY KEY, v varchar(4), \
                 CHECK (v <> 'bad'), UNIQUE (v))";
    for options in [&[][..], &UPSERT] {
        let server = postgres::database();
        server.execute(table);
        let mut told = Told::default();
        let mut sink = sink(&server, options, &mut told);
        for poison in 0..8i64 {
            let text = move |n: i64| match n - poison * 8 {
                at if at == poison && poison % 2 == 0 => "bad".to_owned(),
                at if at == poison => "too long".to_owned(),
                _ => n.to_string(),
            };
            sink.put(vec![rows(poison * 8, 8, text)], &mut told).unwrap();
        }
        sink.flush(&mut told).unwrap();
        let expect: Vec<i64> = (0..8).map(|p| p * 9).collect();
        assert_eq!(told.reported, expect);
        assert_eq!((told.durable, told.stored), (64, 56));
        assert_eq!(server.value("SELECT count(*) FROM pairs").as_deref(), Some("56"));
        let letters = "SELECT string_agg(record_offset::text || sqlstate, ',' ORDER BY id) \
                       FROM copycat_dead_letters";
        let seen = server.value(letters).unwrap();
        assert!(seen.starts_with("023514,922001,1823514,"), "{seen}");
    }
}

#[test]
fn large_batches_with_some_poison_are_stored_by_copy_and_by_merging() {
    for options in [&[][..], &UPSERT] {
        let server = postgres::database();
        server.execute(
            "CREATE TABLE pairs (id bigint PRIMARY KEY, v text CHECK (v <> 'bad')); \
             INSERT INTO pairs SELECT n, 'old' FROM generate_series(-100, -1) n",
        );
        let mut told = Told::default();
        let mut sink = sink(&server, options, &mut told);
        let bad = [0i64, 2999, 4321, 4322, 8000];
        let text = move |n: i64| if bad.contains(&n) { "bad".to_owned() } else { n.to_string() };
        for first in (0..9000).step_by(3000) {
            sink.put(vec![rows(first, 3000, text)], &mut told).unwrap();
        }
        sink.flush(&mut told).unwrap();
        assert_eq!(told.reported, bad);
        assert_eq!(server.value("SELECT count(*) FROM pairs").as_deref(), Some("9095"));
        assert_eq!((told.durable, told.stored), (9000, 8995));
    }
}

#[test]
fn keys_that_exist_are_merged_without_a_word() {
    let server = postgres::database();
    server.execute(
        "CREATE TABLE pairs (id bigint PRIMARY KEY, v text); \
         INSERT INTO pairs SELECT n, 'old' FROM generate_series(0, 20000, 7) n",
    );
    let mut told = Told::default();
    let mut sink = sink(&server, &UPSERT, &mut told);
    for first in (0..20_000).step_by(2000) {
        sink.put(vec![rows(first, 2000, |n| n.to_string())], &mut told).unwrap();
    }
    sink.flush(&mut told).unwrap();
    let wrong = "SELECT count(*) FROM pairs WHERE v <> id::text AND id < 20000";
    assert_eq!(server.value(wrong).as_deref(), Some("0"));
    assert_eq!((told.durable, told.reported.len()), (20_000, 0));
}

#[test]
fn a_column_that_changes_its_type_is_followed() {
    let server = postgres::database();
    server.execute("CREATE TABLE pairs (id bigint, v text)");
    let mut told = Told::default();
    let mut sink = sink(&server, &[], &mut told);
    for (round, kind) in ["double precision", "numeric", "bigint"].into_iter().enumerate() {
        let first = round as i64 * 4000;
        sink.put(vec![rows(first, 2000, |n| n.to_string())], &mut told).unwrap();
        sink.flush(&mut told).unwrap();
        server.execute(&format!("ALTER TABLE pairs ALTER COLUMN id TYPE {kind}"));
        sink.put(vec![rows(first + 2000, 2000, |n| n.to_string())], &mut told).unwrap();
        sink.flush(&mut told).unwrap();
    }
    let wrong = "SELECT count(*) FROM pairs WHERE id::text <> v";
    assert_eq!(server.value(wrong).as_deref(), Some("0"));
    assert_eq!(server.value("SELECT count(*) FROM pairs").as_deref(), Some("12000"));
}

#[test]
fn a_deferred_constraint_finds_its_row() {
    let server = postgres::database();
    server.execute(
        "CREATE TABLE parents (id bigint PRIMARY KEY); \
         INSERT INTO parents SELECT n FROM generate_series(0, 4999) n WHERE n <> 1234; \
         CREATE TABLE pairs (id bigint REFERENCES parents DEFERRABLE INITIALLY DEFERRED, v text)",
    );
    let mut told = Told::default();
    let mut sink = sink(&server, &[], &mut told);
    sink.put(vec![rows(0, 5000, |n| n.to_string())], &mut told).unwrap();
    sink.flush(&mut told).unwrap();
    assert_eq!(told.reported, [1234]);
    assert_eq!(server.value("SELECT count(*) FROM pairs").as_deref(), Some("4999"));
}

#[test]
fn a_fenced_sink_writes_nothing_more() {
    let server = postgres::database();
    server.execute("CREATE TABLE pairs (id bigint, v text)");
    let mut told = Told::default();
    let mut sink = sink(&server, &[], &mut told);
    sink.put(vec![rows(0, 10, |n| n.to_string())], &mut told).unwrap();
    sink.flush(&mut told).unwrap();
    let mut other = open(&server);
    sql::database::Database::claim(&mut other, &[seat("t", 0)], &mut FromZero).unwrap();
    let put = sink.put(vec![rows(10, 10, |n| n.to_string())], &mut told);
    let error = put.and_then(|()| sink.flush(&mut told)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Fenced, "{error}");
    assert_eq!(server.value("SELECT count(*) FROM pairs").as_deref(), Some("10"));
}
