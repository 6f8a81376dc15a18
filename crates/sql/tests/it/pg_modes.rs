//! Upserts, updates, deletes, and the guess that all keys are new.

use super::pg::{Pg, batch, failed, numbered, of, pairs, plan, schema, write};
use data::{Type, Value};
use sql::database::{Database, DbErrorKind};
use sql::write::WriteMode;

const KEYED: &str = "CREATE TABLE pairs (id bigint PRIMARY KEY, v text)";

fn row(id: i64, v: &str) -> Vec<Value> {
    vec![Value::int(id), Value::Text(v.to_owned())]
}

/// Repeats what was refused for a reason that passes, as the protocol does.
fn store_soon(pg: &mut Pg, plan: &std::sync::Arc<sql::write::WritePlan>, b: &data::Batch) -> usize {
    for refused in 0..4 {
        match pg.store(plan, b) {
            Ok(()) => return refused,
            Err(error) => assert_eq!(error.kind, DbErrorKind::Concurrency, "{error}"),
        }
    }
    panic!("still refused");
}

#[test]
fn an_upsert_adds_and_replaces() {
    let mut pg = Pg::new(KEYED);
    let plan = pg.plan("pairs", &pairs(), WriteMode::Upsert, &["id"]);
    pg.store(&plan, &numbered(0, 10)).unwrap();
    let changed = batch(&pairs(), 10, vec![row(5, "five"), row(50, "fifty")]);
    pg.store(&plan, &changed).unwrap();
    assert_eq!(pg.count("pairs"), 11);
    assert_eq!(pg.value("SELECT v FROM pairs WHERE id = 5").as_deref(), Some("five"));
}

#[test]
fn new_keys_are_appended_and_a_known_one_merges_all() {
    let mut pg = Pg::new(KEYED);
    let plan = pg.plan("pairs", &pairs(), WriteMode::Upsert, &["id"]);
    assert_eq!(store_soon(&mut pg, &plan, &numbered(0, 2000)), 0);
    // Offsets 2000.. hold ids 1999..3999: one exists.
    let overlap: Vec<_> = (1999..3999).map(|id| row(id, "again")).collect();
    let overlap = batch(&pairs(), 2000, overlap);
    assert_eq!(store_soon(&mut pg, &plan, &overlap), 1, "the guess is wrong once");
    assert_eq!((pg.count("pairs"), pg.position()), (3999, 4000));
    assert_eq!(pg.value("SELECT v FROM pairs WHERE id = 1999").as_deref(), Some("again"));
    // After the pause new keys are appended again.
    for first in [4000i64, 6000, 8000] {
        assert_eq!(store_soon(&mut pg, &plan, &numbered(first, 2000)), 0);
    }
    assert_eq!(pg.count("pairs"), 3999 + 6000);
}

#[test]
fn a_wrong_guess_with_two_under_way_loses_nothing() {
    let mut pg = Pg::new(KEYED);
    pg.server.execute("INSERT INTO pairs VALUES (1500, 'old')");
    let plan = pg.plan("pairs", &pairs(), WriteMode::Upsert, &["id"]);
    pg.start(&plan, &numbered(0, 2000)).unwrap();
    pg.start(&plan, &numbered(2000, 2000)).unwrap();
    assert_eq!(failed(pg.database.settle()).kind, DbErrorKind::Concurrency);
    assert_eq!(failed(pg.database.settle()).kind, DbErrorKind::Stale);
    pg.database.abandon();
    assert_eq!((pg.position(), pg.count("pairs")), (0, 1));
    for first in [0, 2000] {
        store_soon(&mut pg, &plan, &numbered(first, 2000));
    }
    assert_eq!(pg.value("SELECT v FROM pairs WHERE id = 1500").as_deref(), Some("v1500"));
    assert_eq!(pg.count("pairs"), 4000);
}

#[test]
fn a_key_of_two_columns_is_probed_too() {
    let mut pg =
        Pg::new("CREATE TABLE grid (x integer, y text, v double precision, PRIMARY KEY (x, y))");
    let fields =
        schema(&[("x", of(Type::Int32)), ("y", of(Type::String)), ("v", of(Type::Float64))]);
    let plan = pg.plan("grid", &fields, WriteMode::Upsert, &["x", "y"]);
    let rows = |shift: i64, v: f64| -> Vec<Vec<Value>> {
        (0..1500)
            .map(|n| vec![Value::int(n), Value::Text(format!("y{}", n + shift)), Value::Float(v)])
            .collect()
    };
    assert_eq!(store_soon(&mut pg, &plan, &batch(&fields, 0, rows(0, 1.0))), 0);
    assert_eq!(store_soon(&mut pg, &plan, &batch(&fields, 1500, rows(1, 2.0))), 0);
    let pause = batch(&fields, 3000, rows(0, 3.0));
    assert_eq!(store_soon(&mut pg, &plan, &pause), 1);
    assert_eq!(pg.count("grid"), 3000);
    assert_eq!(pg.value("SELECT sum(v) FROM grid").as_deref(), Some("7500"));
}

#[test]
fn a_row_without_other_columns_is_only_added() {
    let mut pg = Pg::new("CREATE TABLE ids (id bigint PRIMARY KEY, v text DEFAULT 'kept')");
    let fields = schema(&[("id", of(Type::Int64))]);
    let plan = pg.plan("ids", &fields, WriteMode::Upsert, &["id"]);
    let ids = |first: i64| batch(&fields, first, (0..5).map(|n| vec![Value::int(n)]).collect());
    pg.store(&plan, &ids(0)).unwrap();
    pg.store(&plan, &ids(5)).unwrap();
    assert_eq!(pg.value("SELECT string_agg(DISTINCT v, ',') FROM ids").as_deref(), Some("kept"));
    assert_eq!(pg.count("ids"), 5);
}

#[test]
fn insert_ignore_leaves_what_is_there() {
    let mut pg = Pg::new(KEYED);
    pg.server.execute("INSERT INTO pairs VALUES (3, 'old')");
    let plan = pg.plan("pairs", &pairs(), WriteMode::InsertIgnore, &["id"]);
    pg.store(&plan, &numbered(0, 5)).unwrap();
    assert_eq!(pg.value("SELECT v FROM pairs WHERE id = 3").as_deref(), Some("old"));
    store_soon(&mut pg, &plan, &numbered(5, 2000));
    assert_eq!(pg.count("pairs"), 2005);
}

#[test]
fn an_update_changes_only_what_is_there() {
    let mut pg = Pg::new(KEYED);
    pg.server.execute("INSERT INTO pairs VALUES (1, 'old'), (2, NULL)");
    let plan = pg.plan("pairs", &pairs(), WriteMode::Update, &["id"]);
    pg.store(&plan, &numbered(0, 1500)).unwrap();
    assert_eq!(
        pg.value("SELECT string_agg(v, ',' ORDER BY id) FROM pairs").as_deref(),
        Some("v1,v2")
    );
    let ids = schema(&[("id", of(Type::Int64))]);
    let plan = pg.plan("pairs", &ids, WriteMode::Update, &["id"]);
    pg.store(&plan, &batch(&ids, 1500, vec![vec![Value::int(1)]])).unwrap();
    assert_eq!(pg.position(), 1501, "nothing to change still moves the position");
}

#[test]
fn deletes_come_before_what_is_written() {
    let mut pg = Pg::new(
        "CREATE TABLE pairs (id bigint PRIMARY KEY, v text UNIQUE); \
         INSERT INTO pairs VALUES (0, 'v1'), (9, 'x')",
    );
    let ids = schema(&[("id", of(Type::Int64))]);
    let table = pg.table("pairs");
    let deletes = plan(&table, &ids, WriteMode::Delete, &["id"], false);
    let upserts = plan(&table, &pairs(), WriteMode::Upsert, &["id"], false);
    let values = batch(&pairs(), 0, vec![row(0, "gone"), row(1, "v1")]);
    let mut gone = write(&deletes, &values);
    gone.rows.truncate(1);
    let mut new = write(&upserts, &values);
    new.rows.remove(0);
    let advance = pg.advance(&values);
    pg.start_with(&[gone, new], &values, &[advance], &[]).unwrap();
    pg.database.settle().unwrap();
    assert_eq!(
        pg.value("SELECT string_agg(id || v, ',' ORDER BY id) FROM pairs").as_deref(),
        Some("1v1,9x")
    );
}

#[test]
fn unchanged_rows_are_left_alone_where_that_is_asked_for() {
    let mut pg = Pg::new("CREATE TABLE docs (id bigint PRIMARY KEY, j json, p point, c text)");
    let text = || of(Type::String);
    let fields = schema(&[("id", of(Type::Int64)), ("j", text()), ("p", text()), ("c", text())]);
    let table = pg.table("docs");
    let upsert = plan(&table, &fields, WriteMode::Upsert, &["id"], true);
    let doc = |id: i64, c: &str| {
        let text = |t: &str| Value::Text(t.to_owned());
        vec![Value::int(id), text("{\"a\": 1}"), text("(1,2)"), text(c)]
    };
    pg.store(&upsert, &batch(&fields, 0, vec![doc(1, "a"), doc(2, "b")])).unwrap();
    let versions = "SELECT string_agg(xmin::text, ',' ORDER BY id) FROM docs";
    let before = pg.value(versions).unwrap();
    pg.store(&upsert, &batch(&fields, 2, vec![doc(1, "a"), doc(2, "B")])).unwrap();
    let after = pg.value(versions).unwrap();
    let first = |t: &str| t.split(',').next().map(str::to_owned);
    assert_eq!(first(&before), first(&after), "row 1 has its old version");
    assert_ne!(before, after);
    let update = plan(&table, &fields, WriteMode::Update, &["id"], true);
    pg.store(&update, &batch(&fields, 4, vec![doc(1, "a"), doc(2, "B")])).unwrap();
    assert_eq!(pg.value(versions).unwrap(), after);
}

#[test]
fn an_upsert_without_its_index_is_drift() {
    let mut pg = Pg::new("CREATE TABLE pairs (id bigint, v text)");
    let plan = pg.plan("pairs", &pairs(), WriteMode::Upsert, &["id"]);
    for len in [5, 2000] {
        let error = failed(pg.store(&plan, &numbered(0, len)));
        assert_eq!((error.kind, error.sqlstate.as_deref()), (DbErrorKind::Drift, Some("42P10")));
    }
}

#[test]
fn a_key_that_another_writer_adds_meanwhile_is_merged() {
    let mut pg = Pg::new(KEYED);
    let plan = pg.plan("pairs", &pairs(), WriteMode::Upsert, &["id"]);
    let mut other = pg.server.client();
    other.execute("BEGIN; INSERT INTO pairs VALUES (5, 'theirs')");
    pg.start(&plan, &numbered(0, 2000)).unwrap();
    // The probe saw nothing; COPY waits for the other's key.
    testkit::eventually(std::time::Duration::from_secs(30), "COPY waits", || {
        let waits = "SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid) \
                     WHERE NOT l.granted AND a.datname = current_database()";
        (pg.value(waits).as_deref() != Some("0")).then_some(())
    });
    other.execute("COMMIT");
    let error = failed(pg.database.settle());
    assert_eq!((error.kind, error.location), (DbErrorKind::Concurrency, None), "{error}");
    pg.database.abandon();
    pg.store(&plan, &numbered(0, 2000)).unwrap();
    assert_eq!(pg.value("SELECT v FROM pairs WHERE id = 5").as_deref(), Some("v5"));
    assert_eq!(pg.count("pairs"), 2000);
}
