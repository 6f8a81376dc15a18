//! Rows that lack columns, and refusals that name one, through the whole sink.

use super::pg::{FromZero, batch, of, schema, seat, settings};
use api::{Error, Result, SinkContext, SinkTask, Tolerance};
use config::Props;
use data::{
    Batch, Cell, RawBatchBuilder, Reject, Rows, Schema, TimestampType, TopicPartition, Type, Value,
};
use sql::postgres::PostgresDatabase;
use sql::settings::{DatabaseForm, SinkSettings};
use sql::sink::SqlSink;
use std::sync::Arc;
use std::time::Duration;
use testkit::{eventually, postgres};

/// What the runtime was told.
#[derive(Default)]
pub(crate) struct Told {
    pub(crate) reported: Vec<(i64, Reject)>,
    pub(crate) ignored: Vec<String>,
}

impl SinkContext for Told {
    fn durable(&mut self, _: &TopicPartition, _: i64) {}

    fn stored(&mut self, _: u64) {}

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

/// A sink into table `t`, its partition opened.
pub(crate) fn sink(
    server: &postgres::Database,
    options: &[(&str, &str)],
    tolerance: Tolerance,
    told: &mut Told,
) -> SqlSink {
    let mut props: Props = options.iter().copied().collect();
    props.insert("connection.url", server.url());
    let ours = SinkSettings::from_props(&props, tolerance, DatabaseForm::POSTGRES)
        .expect("the options are right");
    let database = PostgresDatabase::new(settings(server)).expect("the URL is right");
    let mut sink = SqlSink::new(Box::new(database), ours);
    sink.open(&[seat("t", 0)], &mut FromZero, told).expect("nobody else has it");
    sink
}

pub(crate) fn put(sink: &mut SqlSink, batch: Batch, told: &mut Told) -> Result<(), Error> {
    sink.put(vec![batch], told)?;
    sink.flush(told)
}

const UPSERT: [(&str, &str); 3] =
    [("insert.mode", "upsert"), ("pk.mode", "record_value"), ("pk.fields", "id")];

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

/// `id bigint, a text, doc text`.
fn documents() -> Arc<Schema> {
    schema(&[("id", of(Type::Int64)), ("a", of(Type::String)), ("doc", of(Type::String))])
}

#[test]
fn an_unavailable_value_changes_nothing_and_a_new_row_lacks_it() {
    let absent = || text("__debezium_unavailable_value");
    for (required, stored) in [("", "1:x:large 2:x:-"), ("NOT NULL", "1:x:large")] {
        let server = postgres::database();
        server.execute(&format!(
            "CREATE TABLE t (id bigint PRIMARY KEY, a text, doc text {required}); \
             INSERT INTO t VALUES (1, 'old', 'large')"
        ));
        let mut told = Told::default();
        let mut sink = sink(&server, &UPSERT, Tolerance::All, &mut told);
        let row = |id| vec![Value::int(id), text("x"), absent()];
        put(&mut sink, batch(&documents(), 0, vec![row(1), row(2)]), &mut told).unwrap();
        let sql = "SELECT string_agg(concat_ws(':', id, a, coalesce(doc, '-')), ' ' ORDER BY id) \
                   FROM t";
        assert_eq!(server.value(sql).as_deref(), Some(stored));
        let rejects: Vec<_> =
            told.reported.iter().map(|(at, r)| (*at, r.sqlstate.as_deref())).collect();
        let expect: &[(i64, Option<&str>)] =
            if required.is_empty() { &[] } else { &[(1, Some("23502"))] };
        assert_eq!(rejects, expect);
    }
}

#[test]
fn a_refusal_names_its_column() {
    const TABLE: &str = "CREATE TABLE other (id int PRIMARY KEY); CREATE TYPE mood AS ENUM ('ok'); \
        CREATE DOMAIN small AS int CHECK (VALUE < 10); \
        CREATE TABLE t (id bigint PRIMARY KEY, n smallint, s varchar(4), m mood, d small, \
          p numeric(4,2), r int REFERENCES other, c text CHECK (c <> 'bad'), q text NOT NULL, \
          u uuid, CHECK (n <> 77 OR s <> 'x'))";
    let names = ["id", "n", "s", "m", "d", "p", "r", "c", "q", "u"];
    let mut fields = vec![("id", of(Type::Int64))];
    fields.extend(names.iter().skip(1).map(|name| (*name, of(Type::String))));
    let fields = schema(&fields);
    let row = |id: i64, column: &str, value: Value| {
        let mut row = vec![Value::Null; names.len()];
        row[0] = Value::int(id);
        row[8] = text("q");
        if let Some(at) = names.iter().position(|name| *name == column) {
            row[at] = value;
        }
        row
    };
    let cases = [
        ("n", text("70000"), "22003", "column n (smallint) of public.t: "),
        ("s", text("too long"), "22001", "column s (character varying(4)) of public.t: "),
        ("m", text("sad"), "22P02", "column m (mood) of public.t: "),
        ("d", text("11"), "23514", "column d (small) of public.t: "),
        ("p", text("123.4"), "22003", "column p (numeric(4,2)) of public.t: "),
        ("r", text("7"), "23503", "column r (integer) of public.t: "),
        ("c", text("bad"), "23514", "column c (text) of public.t: "),
        ("q", Value::Null, "23502", "column q (text) of public.t: "),
        ("u", text("no"), "22P02", "column u (uuid) of public.t: "),
    ];
    let rows: Vec<_> =
        cases.iter().zip(0..).map(|((c, v, ..), id)| row(id, c, v.clone())).collect();
    for options in [&[][..], &UPSERT] {
        let server = postgres::database();
        server.execute(TABLE);
        let mut told = Told::default();
        let mut sink = sink(&server, options, Tolerance::All, &mut told);
        put(&mut sink, batch(&fields, 0, rows.clone()), &mut told).unwrap();
        assert_eq!(told.reported.len(), cases.len());
        for ((_, reject), (column, _, state, starts)) in told.reported.iter().zip(&cases) {
            assert_eq!(reject.column.as_deref(), Some(*column), "{reject:?}");
            assert_eq!(reject.sqlstate.as_deref(), Some(*state), "{reject:?}");
            assert!(reject.message.starts_with(starts), "{reject:?}");
            assert_eq!(reject.message.matches(starts).count(), 1, "{reject:?}");
        }
        let letter = "SELECT column_name FROM copycat_dead_letters ORDER BY record_offset LIMIT 1";
        assert_eq!(server.value(letter).as_deref(), Some("n"));
    }
    let server = postgres::database();
    server.execute(TABLE);
    let mut told = Told::default();
    let mut sink = sink(&server, &UPSERT, Tolerance::None, &mut told);
    let error = put(&mut sink, batch(&fields, 0, rows), &mut told).unwrap_err();
    assert!(error.message.starts_with("column n (smallint) of public.t: "), "{error}");
}

/// Objects without a schema, made by `fill` for each of `len` rows from `first` on.
pub(crate) fn objects(
    first: i64,
    len: i64,
    fill: impl Fn(&mut Rows, i64) -> Vec<(&'static str, Cell)>,
) -> Batch {
    let mut raw = RawBatchBuilder::new(TopicPartition::new("t", 0));
    for offset in first..first + len {
        raw.push(offset, 0, TimestampType::CreateTime, None, Some(b"{}"));
    }
    let mut batch = Batch::new(Arc::new(raw.finish(first + len)));
    for row in first..first + len {
        let members = fill(&mut batch.values, row);
        let mut cells = Vec::new();
        for (name, value) in members {
            cells.extend([Cell::Text(batch.values.heap.put(name.as_bytes())), value]);
        }
        let root = Cell::Map(batch.values.alloc_from(&cells));
        batch.values.push(None, root);
        batch.keys.push(None, Cell::Null);
    }
    batch
}

#[test]
fn a_column_added_by_hand_is_filled_without_a_restart() {
    let server = postgres::database();
    server.execute("CREATE TABLE t (id bigint)");
    let mut told = Told::default();
    let mut sink = sink(&server, &[], Tolerance::All, &mut told);
    let row = |_: &mut Rows, n: i64| vec![("id", Cell::int(n)), ("late", Cell::int(n))];
    let mut next = 0;
    let mut one = |told: &mut Told| {
        put(&mut sink, objects(next, 1, row), told).unwrap();
        next += 1;
    };
    one(&mut told);
    assert!(told.ignored[0].contains("field late of topic t"), "{:?}", told.ignored);
    server.execute("ALTER TABLE t ADD late bigint");
    eventually(Duration::from_secs(60), "the column is filled", || {
        one(&mut told);
        server.value("SELECT max(late) FROM t")
    });
}

#[test]
fn plain_json_objects_go_into_composite_and_hstore_columns() {
    let server = postgres::database();
    server.execute(
        "CREATE EXTENSION hstore; CREATE TYPE place AS (zip int, city text, tags text[]); \
         CREATE TYPE address AS (street text, place place, doc jsonb); \
         CREATE TABLE t (id int, a address, h hstore, l place[])",
    );
    let mut told = Told::default();
    let mut sink = sink(&server, &[], Tolerance::All, &mut told);
    let members = [
        (
            r#"{"doc":{"k":[1]},"street":"it's \"5\"","x":1,"place":{"tags":["a,b",null],"zip":7}}"#,
            r#"{"n":null,"a":"x\"y","o":{"p":1},"d":1.50,"a":"last"}"#,
            r#"[{"zip":1},null,{"city":"a b"}]"#,
        ),
        ("{}", "{}", "[]"),
        (r#"{"place":{"zip":"no"}}"#, "{}", "[]"),
        ("{}", "[1]", "[]"),
    ];
    let fill = |rows: &mut Rows, n: i64| {
        let (a, h, l) = members[n as usize];
        let mut json = |text: &str| Cell::Json(rows.heap.put(text.as_bytes()));
        vec![("id", Cell::int(n)), ("a", json(a)), ("h", json(h)), ("l", json(l))]
    };
    put(&mut sink, objects(0, 4, fill), &mut told).unwrap();
    let first = "SELECT concat_ws('|', (a).street, (a).place, (a).doc, h, l) FROM t WHERE id = 0";
    let expect = "it's \"5\"|(7,,\"{\"\"a,b\"\",NULL}\")|{\"k\": [1]}|\"a\"=>\"last\", \
                  \"d\"=>\"1.50\", \"n\"=>NULL, \"o\"=>\"{\\\"p\\\":1}\"|\
                  {\"(1,,)\",NULL,\"(,\\\"a b\\\",)\"}";
    assert_eq!(server.value(first).as_deref(), Some(expect));
    assert_eq!(
        server.value("SELECT a::text || h::text FROM t WHERE id = 1").as_deref(),
        Some("(,,)")
    );
    let rejects: Vec<_> = told.reported.iter().map(|(at, r)| (*at, r.column.as_deref())).collect();
    assert_eq!(rejects, [(2, Some("a")), (3, Some("h"))]);
}
