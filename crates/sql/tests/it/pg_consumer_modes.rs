//! What a consumer's definition says about its records, through the whole sink over a real server.

use super::pg::{batch, of, schema};
use super::pg_consumer::{Told, define, installed, open, pool, put, target};
use api::{ErrorKind, SinkTask};
use data::{Batch, RawBatchBuilder, TimestampType, TopicPartition, Type, Value};
use serde_json::json;
use sql::config::NulHandling;
use sql::consumer::{ConsumerMode, ConsumerWrites, RouteBy, Routes, Tombstones, UnknownFields};
use sql::postgres::consumer_sink;
use sql::table::TableName;
use std::sync::Arc;
use testkit::postgres;

type Change = fn(&mut ConsumerWrites);

/// A consumer with its sink, opened.
struct Rig {
    server: postgres::Database,
    sink: Box<dyn SinkTask>,
    told: Told,
    at: i64,
}

impl Rig {
    fn new(sql: &str, mode: ConsumerMode, change: impl FnOnce(&mut ConsumerWrites)) -> Rig {
        let server = installed(sql);
        let consumer = define(&server, "r");
        let pool = pool(&server.url());
        let mut writes = ConsumerWrites::new(mode);
        change(&mut writes);
        let settings = writes.settings().expect("the definition is sound");
        let mut sink = consumer_sink(&pool, target(consumer, "r"), settings);
        let mut told = Told::default();
        open(&mut sink, &mut told).expect("nobody else has it");
        Rig { server, sink, told, at: 0 }
    }

    /// Stores documents, each with its key, in one batch.
    fn put(&mut self, records: &[(serde_json::Value, serde_json::Value)]) {
        let batch = documents(self.at, records);
        self.at = batch.next_offset();
        put(&mut self.sink, batch, &mut self.told).expect("the task goes on");
        assert_eq!(self.told.durable, self.at);
    }

    fn all(&self, sql: &str) -> String {
        self.server
            .value(&format!("SELECT string_agg({sql}, ' ' ORDER BY id) FROM r"))
            .unwrap_or_default()
    }

    fn reasons(&self) -> Vec<(i64, Option<&str>, &str)> {
        self.told
            .reported
            .iter()
            .map(|(at, r)| (*at, r.sqlstate.as_deref(), r.message.as_str()))
            .collect()
    }
}

fn owned(value: &serde_json::Value) -> Value {
    match value {
        serde_json::Value::Null => Value::Null,
        serde_json::Value::Bool(v) => Value::Bool(*v),
        serde_json::Value::Number(n) => {
            n.as_i64().map_or_else(|| Value::Float(n.as_f64().expect("a number")), Value::int)
        }
        serde_json::Value::String(text) => Value::Text(text.clone()),
        serde_json::Value::Array(items) => Value::List(items.iter().map(owned).collect()),
        serde_json::Value::Object(members) => Value::Map(
            members.iter().map(|(name, v)| (Value::Text(name.clone()), owned(v))).collect(),
        ),
    }
}

/// Schemaless records of `t`-0 from an offset on: key and value.
fn documents(first: i64, records: &[(serde_json::Value, serde_json::Value)]) -> Batch {
    let mut raw = RawBatchBuilder::new(TopicPartition::new("t", 0));
    for (n, (key, _)) in (first..).zip(records) {
        raw.header("to", Some(b"header"));
        let bare = key.as_str().map(str::to_owned).unwrap_or_else(|| key.to_string());
        raw.push(
            n,
            1_700_000_000_123,
            TimestampType::CreateTime,
            Some(bare.as_bytes()),
            Some(b"x"),
        );
    }
    let mut batch = Batch::new(Arc::new(raw.finish(first + records.len() as i64)));
    for (key, value) in records {
        let key = batch.keys.put_value(None, &owned(key));
        batch.keys.push(None, key);
        let value = batch.values.put_value(None, &owned(value));
        batch.values.push(None, value);
    }
    batch
}

fn of_key(value: serde_json::Value) -> (serde_json::Value, serde_json::Value) {
    (json!(null), value)
}

#[test]
fn upserts_go_by_the_primary_key_and_tombstones_delete() {
    let mut rig =
        Rig::new("CREATE TABLE r (v text, id int PRIMARY KEY)", ConsumerMode::Upsert, |w| {
            w.tombstones = Tombstones::Delete;
        });
    rig.put(&[
        (json!(1), json!({"id": 1, "v": "a"})),
        (json!(2), json!({"id": 2, "v": "b"})),
        (json!(1), json!({"id": 1, "v": "c"})),
    ]);
    assert_eq!(rig.all("id || v"), "1c 2b");
    rig.put(&[(json!(1), json!(null)), (json!({"id": 2, "x": 3}), json!(null))]);
    assert_eq!(rig.all("id || v"), "");
    rig.put(&[(json!(3), json!({"id": 3, "v": "d"})), (json!(null), json!(null))]);
    assert_eq!(rig.all("id || v"), "3d");
    let reasons = rig.reasons();
    assert_eq!(reasons.len(), 1);
    assert!(reasons[0].2.contains("no key"), "{reasons:?}");
}

#[test]
fn rows_are_told_apart_by_other_unique_columns_too() {
    let sql = "CREATE TABLE r (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, a text, b int, \
               v text, UNIQUE (a, b))";
    let mut rig = Rig::new(sql, ConsumerMode::Upsert, |w| {
        w.conflict_columns = vec!["a".to_owned(), "b".to_owned()];
    });
    rig.put(&[
        of_key(json!({"a": "x", "b": 1, "v": "old"})),
        of_key(json!({"a": "x", "b": 2, "v": "other"})),
    ]);
    rig.put(&[of_key(json!({"a": "x", "b": 1, "v": "new"}))]);
    assert_eq!(rig.all("a || b || v"), "x1new x2other");
    let mut rig = Rig::new(sql, ConsumerMode::Ignore, |w| {
        w.conflict_columns = vec!["a".to_owned(), "b".to_owned()];
    });
    rig.put(&[of_key(json!({"a": "x", "b": 1, "v": "first"}))]);
    rig.put(&[of_key(json!({"a": "x", "b": 1, "v": "second"}))]);
    assert_eq!(rig.all("a || b || v"), "x1first");
}

#[test]
fn an_older_version_never_replaces_a_newer_one() {
    let sql = "CREATE TABLE r (id int PRIMARY KEY, at timestamptz, v text)";
    let mut rig = Rig::new(sql, ConsumerMode::Upsert, |w| {
        w.version_column = Some("at".to_owned());
        w.tombstones = Tombstones::Delete;
    });
    let row = |id: i64, at: &str, v: &str| (json!(id), json!({"id": id, "at": at, "v": v}));
    // Within a batch, where text would sort otherwise than time does.
    rig.put(&[
        row(1, "2024-01-02 00:00+00", "two"),
        row(1, "2024-01-02 00:30+02", "one"),
        row(2, "2024-01-01 00:00+00", "a"),
        row(2, "2024-01-01 00:00+00", "equal"),
    ]);
    assert_eq!(rig.all("id || v"), "1two 2a");
    // Between batches.
    rig.put(&[row(1, "2024-01-01 00:00+00", "old"), row(2, "2024-01-03 00:00+00", "new")]);
    assert_eq!(rig.all("id || v"), "1two 2new");
    // A delete is the end of what was; what comes behind it in the batch is compared among itself.
    rig.put(&[
        row(1, "2025-01-01 00:00+00", "gone"),
        (json!(1), json!(null)),
        row(1, "2020-01-02 00:00+00", "back"),
        row(1, "2020-01-01 00:00+00", "late"),
    ]);
    assert_eq!(rig.all("id || v"), "1back 2new");
    rig.put(&[(json!(5), json!({"id": 5, "v": "x"}))]);
    assert!(rig.reasons()[0].2.contains("version_column"), "{:?}", rig.reasons());
}

#[test]
fn many_versions_of_many_keys_leave_the_newest() {
    let mut rig =
        Rig::new("CREATE TABLE r (id int PRIMARY KEY, v int)", ConsumerMode::Upsert, |w| {
            w.version_column = Some("v".to_owned());
        });
    let mut rng = testkit::Rng::new(testkit::seed());
    let mut newest = std::collections::BTreeMap::new();
    for _ in 0..4 {
        let records: Vec<_> = (0..1500)
            .map(|_| {
                let (id, v) = (rng.below(300) as i64, rng.below(10_000) as i64);
                let most = newest.entry(id).or_insert(v);
                *most = v.max(*most);
                of_key(json!({"id": id, "v": v}))
            })
            .collect();
        rig.put(&records);
    }
    let expect: Vec<_> = newest.iter().map(|(id, v)| format!("{id}:{v}")).collect();
    assert_eq!(rig.all("id || ':' || v"), expect.join(" "));
}

#[test]
fn unknown_fields_are_left_out_refused_or_collected() {
    let sql = "CREATE TABLE r (id int, rest jsonb, v text)";
    let record = [of_key(json!({"id": 1, "x": {"y": [1]}, "v": "a", "z": "q\"é"}))];
    let mut rig = Rig::new(sql, ConsumerMode::Append, |_| ());
    rig.put(&record);
    assert_eq!(rig.all("id || v || (rest IS NULL)"), "1atrue");
    assert_eq!(rig.told.ignored.len(), 2);
    let mut rig = Rig::new(sql, ConsumerMode::Append, |w| w.unknown_fields = UnknownFields::Error);
    rig.put(&record);
    rig.put(&[of_key(json!({"id": 2, "v": "b"}))]);
    assert_eq!(rig.all("id || v"), "2b");
    let reason = rig.reasons()[0].2;
    assert!(reason.contains("no column for field x; unknown_fields is error"), "{reason}");
    let collect = UnknownFields::Collect("rest".to_owned());
    let mut rig = Rig::new(sql, ConsumerMode::Append, |w| w.unknown_fields = collect.clone());
    rig.put(&record);
    rig.put(&[of_key(json!({"v": "b", "id": 2})), of_key(json!({"id": 3, "w": null}))]);
    assert_eq!(
        rig.all("id || coalesce(v, '-') || rest"),
        "1a{\"x\": {\"y\": [1]}, \"z\": \"q\\\"é\"} 2b{} 3-{\"w\": null}"
    );
    // The same of structs.
    let fields = schema(&[("id", of(Type::Int64)), ("n", of(Type::Int64))]);
    let batch = batch(&fields, rig.at, vec![vec![Value::int(4), Value::int(7)]]);
    put(&mut rig.sink, batch, &mut rig.told).unwrap();
    assert!(rig.all("id || '' || rest").ends_with("4{\"n\": 7}"));
}

#[test]
fn the_only_column_of_json_takes_whole_documents() {
    for kind in ["json", "jsonb"] {
        let sql =
            format!("CREATE TABLE r (id {kind}, g text GENERATED ALWAYS AS (md5('x')) STORED)");
        let mut rig = Rig::new(&sql, ConsumerMode::Append, |_| ());
        rig.put(&[of_key(json!({"id": 7, "b": [1, null]})), of_key(json!([3])), of_key(json!(4))]);
        let all = rig.server.value("SELECT string_agg(id::jsonb::text, ' ') FROM r").unwrap();
        assert_eq!(all, "{\"b\": [1, null], \"id\": 7} [3] 4", "{kind}");
        let mut rig = Rig::new(&sql, ConsumerMode::Append, |w| w.mapped = true);
        rig.put(&[of_key(json!({"id": {"a": 1}, "b": 2}))]);
        let all = rig.server.value("SELECT string_agg(id::jsonb::text, ' ') FROM r").unwrap();
        assert_eq!(all, "{\"a\": 1}", "{kind}");
    }
}

#[test]
fn expressions_fill_columns_from_the_others() {
    let sql = "CREATE TABLE r (id int PRIMARY KEY, price numeric(10,2), qty int, total numeric(10,2), \
               note text DEFAULT 'none')";
    for mode in [ConsumerMode::Append, ConsumerMode::Upsert] {
        let mut rig = Rig::new(sql, mode, |w| {
            w.mapped = true;
            w.expressions = vec![
                ("total".to_owned(), "price * coalesce(qty, 1)".to_owned()),
                ("note".to_owned(), "CASE WHEN 10 / (id - 4) > 0 THEN 'ok' END".to_owned()),
            ];
        });
        rig.put(&[
            of_key(json!({"id": 5, "price": "2.50", "qty": 3})),
            of_key(json!({"id": 6, "price": 4, "total": 99})),
            of_key(json!({"id": 4, "price": 1})),
        ]);
        assert_eq!(rig.all("id || ':' || total || ':' || note"), "5:7.50:ok 6:4.00:ok");
        assert_eq!((rig.reasons()[0].0, rig.reasons()[0].1), (2, Some("22012")));
    }
    let server = installed(sql);
    let pool = pool(&server.url());
    let relation = TableName { schema: Some("public".to_owned()), name: "r".to_owned() };
    let check = |column: &str, sql: &str| {
        pool.check_expressions(None, &relation, &[(column.to_owned(), sql.to_owned())])
    };
    check("total", "price * qty").unwrap();
    for (column, sql, state) in [
        ("total", "price *", "42601"),
        ("total", "nothing", "42703"),
        ("qty", "note", "42804"),
        ("total", "1) FROM pg_class; DROP TABLE r; --", "42601"),
    ] {
        let error = check(column, sql).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Config, "{error}");
        assert_eq!(error.sqlstate.as_deref(), Some(state), "{sql}: {error}");
        assert!(error.message.contains(column), "{error}");
    }
    check("total", "price").unwrap();
}

const TRANSFORM: &str = "CREATE TABLE r (id int PRIMARY KEY, v text, off bigint, \
    g int GENERATED ALWAYS AS (1) STORED); \
    CREATE FUNCTION f(records jsonb) RETURNS SETOF r LANGUAGE sql AS $$ \
    SELECT (e->'value'->>'id')::int + n, upper(e->'value'->>'v') || (e->>'topic') || \
      (e->'headers'->>'to') || (e->>'timestamp') || (e->>'key') || (e->>'partition'), \
      (e->>'offset')::bigint, NULL::int \
    FROM jsonb_array_elements(records) AS e, generate_series(0, (e->'value'->>'n')::int - 1) AS n $$";

#[test]
fn a_function_makes_rows_of_records() {
    for mode in [ConsumerMode::Append, ConsumerMode::Ignore, ConsumerMode::Upsert] {
        let mut rig = Rig::new(TRANSFORM, mode, |w| {
            w.transform = Some("\"public\".\"f\"(jsonb)".to_owned());
        });
        let one = |id: i64, n: i64, v: &str| (json!("k"), json!({"id": id, "n": n, "v": v}));
        rig.put(&[one(1, 2, "a"), one(20, 0, "none"), (json!("k"), json!({"id": "x", "n": 1}))]);
        let expect = "1:AtheaderX:0 2:AtheaderX:0".replace('X', "1700000000123k0");
        assert_eq!(rig.all("id || ':' || v || ':' || off"), expect, "{mode:?}");
        assert_eq!((rig.reasons()[0].0, rig.reasons()[0].1), (2, Some("22P02")));
        rig.put(&[one(2, 1, "late"), one(3, 1, "b"), one(3, 1, "c")]);
        let seen = rig.all("id || substr(v, 1, 1)");
        match mode {
            // Keys that exist are rejects; the first of two is stored.
            ConsumerMode::Append => {
                assert_eq!((seen.as_str(), rig.reasons().len()), ("1A 2A 3B", 3));
            }
            ConsumerMode::Ignore => assert_eq!(seen, "1A 2A 3B"),
            ConsumerMode::Upsert => assert_eq!(seen, "1A 2L 3C"),
        }
    }
}

#[test]
fn nul_characters_are_refused_stripped_or_replaced() {
    let table = "CREATE TABLE r (id int, v text, j jsonb)";
    let record = [
        of_key(json!({"id": 1, "v": "a\u{0}b", "j": {"k": "\u{0}"}})),
        of_key(json!({"id": 2, "v": "ok", "j": 1})),
    ];
    for (nul, expect) in [
        (NulHandling::Fail, "2ok1"),
        (NulHandling::Strip, "1ab{\"k\": \"\"} 2ok1"),
        (NulHandling::Replace, "1a\u{fffd}b{\"k\": \"\u{fffd}\"} 2ok1"),
    ] {
        let mut rig = Rig::new(table, ConsumerMode::Append, |w| w.nul = nul);
        rig.put(&record);
        assert_eq!(rig.all("id || v || j"), expect);
        assert_eq!(rig.reasons().len(), usize::from(nul == NulHandling::Fail));
    }
    for (nul, expect) in [(NulHandling::Fail, "2O"), (NulHandling::Strip, "1A 2O")] {
        let mut rig = Rig::new(TRANSFORM, ConsumerMode::Append, |w| {
            w.nul = nul;
            w.transform = Some("public.f".to_owned());
        });
        rig.put(&[
            (json!("k"), json!({"id": 1, "n": 1, "v": "a\u{0}b"})),
            (json!("k"), json!({"id": 2, "n": 1, "v": "ok"})),
        ]);
        assert_eq!(rig.all("id || substr(v, 1, 1)"), expect);
    }
}

#[test]
fn records_choose_among_the_relations_they_may_name() {
    let relation =
        |name: &str| TableName { schema: Some("public".to_owned()), name: name.to_owned() };
    let routes = |by| Routes {
        by,
        relations: vec![
            ("a".to_owned(), relation("r")),
            ("public.b".to_owned(), relation("b")),
            ("header".to_owned(), relation("b")),
        ],
    };
    let sql = "CREATE TABLE r (id int, \"to\" text); CREATE TABLE b (id int); \
               CREATE TABLE secret (id int)";
    let long = "x".repeat(10_000);
    let record = |key: &str, id: i64| (json!(key), json!({"id": id, "to": key}));
    for by in [RouteBy::Key, RouteBy::Field(vec!["to".to_owned()])] {
        let mut rig = Rig::new(sql, ConsumerMode::Append, |w| w.routes = Some(routes(by)));
        rig.put(&[record("a", 1), record("public.b", 2), record("secret", 3), record(&long, 4)]);
        assert_eq!(rig.all("id::text"), "1");
        assert_eq!(
            rig.server.value("SELECT string_agg(id::text, ' ') FROM b").as_deref(),
            Some("2")
        );
        let states: Vec<_> = rig.reasons().iter().map(|(at, state, _)| (*at, *state)).collect();
        assert_eq!(states, [(2, Some("42501")), (3, Some("42501"))]);
        let letters = "SELECT count(*) FROM pipeline_kafka.errors WHERE sqlstate = '42501' AND stage = 'map' \
                       AND length(message) < 200";
        assert_eq!(rig.server.value(letters).as_deref(), Some("2"));
    }
    let mut rig = Rig::new(sql, ConsumerMode::Append, |w| {
        w.routes = Some(routes(RouteBy::Header("to".to_owned())));
    });
    rig.put(&[record("k", 1)]);
    assert_eq!(rig.server.value("SELECT string_agg(id::text, ' ') FROM b").as_deref(), Some("1"));
}

#[test]
fn partitioned_tables_and_views_are_relations_like_others() {
    let partitioned = "CREATE TABLE r (id int PRIMARY KEY, v text) PARTITION BY RANGE (id); \
                       CREATE TABLE r1 PARTITION OF r FOR VALUES FROM (0) TO (10); \
                       CREATE TABLE r2 PARTITION OF r FOR VALUES FROM (10) TO (100)";
    let view =
        "CREATE TABLE base (id int PRIMARY KEY, v text); CREATE VIEW r AS SELECT * FROM base";
    let triggered = "CREATE TABLE base (id int, v text); \
        CREATE VIEW r AS SELECT id, v, count(*) FROM base GROUP BY id, v; \
        CREATE FUNCTION store() RETURNS trigger LANGUAGE plpgsql AS \
          $$BEGIN INSERT INTO base VALUES (NEW.id, NEW.v); RETURN NEW; END$$; \
        CREATE TRIGGER store INSTEAD OF INSERT ON r FOR EACH ROW EXECUTE FUNCTION store()";
    for (sql, outside) in [(partitioned, true), (view, false), (triggered, false)] {
        let mut rig = Rig::new(sql, ConsumerMode::Append, |_| ());
        let records: Vec<_> = (0..100).map(|n| of_key(json!({"id": n, "v": "x"}))).collect();
        rig.put(&records);
        rig.put(&[of_key(json!({"id": 1000, "v": "y"}))]);
        let count = rig.server.value("SELECT count(*) FROM r").unwrap();
        assert_eq!(count, if outside { "100" } else { "101" }, "{sql}");
        assert_eq!(rig.reasons().len(), usize::from(outside));
    }
    for sql in [partitioned, view] {
        let mut rig = Rig::new(sql, ConsumerMode::Upsert, |w| {
            w.conflict_columns = vec!["id".to_owned()];
        });
        rig.put(&[of_key(json!({"id": 1, "v": "a"})), of_key(json!({"id": 50, "v": "b"}))]);
        rig.put(&[of_key(json!({"id": 1, "v": "c"}))]);
        assert_eq!(rig.all("id || v"), "1c 50b");
    }
}

#[test]
fn types_without_a_binary_form_are_filled() {
    let sql = "CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE DOMAIN small AS int CHECK (VALUE < 10); \
        CREATE TABLE r (id uuid, m mood, d small, a int[], t text[], v varchar(3))";
    let mut rig = Rig::new(sql, ConsumerMode::Append, |_| ());
    let uuid = "f3a1c2d4-0000-4000-8000-000000000001";
    rig.put(&[
        of_key(json!({"id": uuid, "m": "ok", "d": 9, "a": [1, 2], "t": ["x", null], "v": "abc"})),
        of_key(json!({"id": "no", "m": "ok"})),
        of_key(json!({"id": uuid, "m": "happy"})),
        of_key(json!({"id": uuid, "d": 10})),
        of_key(json!({"id": uuid, "v": "abcd"})),
    ]);
    assert_eq!(
        rig.all("id::text || m || d || a::text || t::text || v"),
        format!("{uuid}ok9{{1,2}}{{x,NULL}}abc")
    );
    let states: Vec<_> = rig.reasons().iter().map(|(_, state, _)| state.unwrap()).collect();
    assert_eq!(states, ["22P02", "22P02", "23514", "22001"]);
}

#[test]
fn definitions_that_contradict_themselves_are_refused() {
    let broken: [(ConsumerMode, Change); 4] = [
        (ConsumerMode::Append, |w| w.tombstones = Tombstones::Delete),
        (ConsumerMode::Append, |w| w.version_column = Some("v".to_owned())),
        (ConsumerMode::Upsert, |w| {
            w.tombstones = Tombstones::Delete;
            w.transform = Some("f".to_owned());
        }),
        (ConsumerMode::Append, |w| {
            w.expressions = vec![("a".to_owned(), "1".to_owned())];
            w.transform = Some("f".to_owned());
        }),
    ];
    for (mode, change) in broken {
        let mut writes = ConsumerWrites::new(mode);
        change(&mut writes);
        let error = writes.settings().unwrap_err();
        assert_eq!((error.kind, error.sqlstate.as_deref()), (ErrorKind::Config, Some("22023")));
    }
}

#[test]
fn what_the_relation_lacks_blocks_the_task_and_says_so() {
    let cases: [(&str, ConsumerMode, Change, &str, &str); 4] = [
        ("CREATE TABLE r (id int)", ConsumerMode::Upsert, |_| (), "42P10", "no primary key"),
        (
            "CREATE TABLE r (id int PRIMARY KEY)",
            ConsumerMode::Upsert,
            |w| w.version_column = Some("v".to_owned()),
            "42703",
            "version_column",
        ),
        (
            "CREATE TABLE r (id int, v int GENERATED ALWAYS AS (1) STORED)",
            ConsumerMode::Append,
            |w| w.expressions = vec![("v".to_owned(), "1".to_owned())],
            "428C9",
            "generated",
        ),
        (
            "CREATE TABLE r (id int, v text)",
            ConsumerMode::Append,
            |w| w.unknown_fields = UnknownFields::Collect("v".to_owned()),
            "42804",
            "not of type jsonb",
        ),
    ];
    for (sql, mode, change, state, text) in cases {
        let mut rig = Rig::new(sql, mode, change);
        let batch = documents(0, &[of_key(json!({"id": 1}))]);
        let error = put(&mut rig.sink, batch, &mut rig.told).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Config, "{error}");
        assert_eq!(error.sqlstate.as_deref(), Some(state), "{error}");
        assert!(error.message.contains(text), "{error}");
    }
}
