//! Rows in a SQLite file: every mode, values in existing columns, errors with their place.

use crate::sqlite_file::{File, batch, claim, commit, plan, store, write};
use data::{Batch, Cell, Schema, SchemaBuilder, Type, Value};
use sql::database::{Database, DbErrorKind, RowLocation};
use sql::sqlite::SqliteDatabase;
use sql::write::{PlanColumn, RowRef, Source, TableWrite, Transaction, WriteMode};
use std::sync::Arc;

const PEOPLE: &str = "CREATE TABLE people(id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT)";

fn people_schema() -> Arc<Schema> {
    let text = Arc::new(Schema::new(Type::String));
    let built = SchemaBuilder::structure()
        .field("id", Arc::new(Schema::new(Type::Int64)))
        .field("name", text.clone())
        .field("email", text)
        .build();
    Arc::new(built.expect("a good schema"))
}

fn text(value: &str) -> Value {
    Value::Text(value.to_owned())
}

fn people(rows: &[(i64, &str, &str)]) -> Batch {
    let values: Vec<Value> = rows
        .iter()
        .map(|(id, name, email)| Value::fields(vec![Value::int(*id), text(name), text(email)]))
        .collect();
    batch(0, 0, Some(&people_schema()), &values)
}

fn run(
    database: &mut SqliteDatabase,
    mode: WriteMode,
    key: &[&str],
    rows: &[(i64, &str, &str)],
) -> sql::database::DbResult<()> {
    let plan = plan(database, "people", &people_schema(), mode, key);
    store(database, plan, people(rows))
}

/// A table of one column, one value, and what is stored then.
fn one(declared: &str, schema: Option<&Arc<Schema>>, value: &Value) -> Result<Vec<String>, String> {
    let file = File::new(&format!("CREATE TABLE t(c {declared})"));
    let mut database = file.database();
    let batch = batch(0, 0, schema, std::slice::from_ref(value));
    let wrapper = Arc::new(
        SchemaBuilder::structure()
            .field("c", Arc::new(Schema::new(Type::String)))
            .build()
            .expect("a good schema"),
    );
    let mut plan = plan(&mut database, "t", &wrapper, WriteMode::Insert, &[]);
    plan.columns[0].source = Source::ValueRoot;
    plan.columns[0].schema = schema.cloned();
    match store(&mut database, plan, batch) {
        Ok(()) => Ok(file.rows("SELECT typeof(c), c FROM t")),
        Err(error) => {
            assert_eq!(error.kind, DbErrorKind::Data, "{error}");
            assert_eq!(error.location, Some(RowLocation { write: 0, row: 0 }));
            assert_eq!(error.column.as_deref(), Some("c"));
            Err(error.sqlstate.expect("a state for each data error"))
        }
    }
}

#[test]
fn inserts_upserts_updates_and_deletes() {
    let file = File::new(PEOPLE);
    let mut database = file.database();
    run(&mut database, WriteMode::Insert, &[], &[(1, "a", "x"), (2, "b", "y")]).unwrap();
    run(&mut database, WriteMode::InsertIgnore, &["id"], &[(2, "ignored", ""), (3, "c", "z")])
        .unwrap();
    run(&mut database, WriteMode::Upsert, &["id"], &[(3, "C", "zz"), (4, "d", "w")]).unwrap();
    run(&mut database, WriteMode::Update, &["id"], &[(1, "A", "xx"), (9, "no such", "")]).unwrap();
    assert_eq!(
        file.rows("SELECT * FROM people ORDER BY id"),
        ["1|A|xx", "2|b|y", "3|C|zz", "4|d|w"]
    );
    let mut delete = plan(&mut database, "people", &people_schema(), WriteMode::Delete, &["id"]);
    delete.columns.truncate(1);
    store(&mut database, delete, people(&[(2, "", ""), (9, "", "")])).unwrap();
    assert_eq!(file.rows("SELECT id FROM people ORDER BY id"), ["1", "3", "4"]);
}

#[test]
fn insert_ignore_leaves_other_constraints_in_force() {
    let file = File::new(&format!("{PEOPLE}; CREATE UNIQUE INDEX e ON people(email)"));
    let mut database = file.database();
    run(&mut database, WriteMode::Insert, &[], &[(1, "a", "x")]).unwrap();
    let error =
        run(&mut database, WriteMode::InsertIgnore, &["id"], &[(1, "b", "q"), (2, "b", "x")])
            .unwrap_err();
    assert_eq!(error.sqlstate.as_deref(), Some("23505"));
    assert_eq!(error.column.as_deref(), Some("email"));
    assert_eq!(error.location, Some(RowLocation { write: 0, row: 1 }));
}

#[test]
fn unchanged_rows_are_left_alone_where_asked() {
    let file = File::new(&format!(
        "{PEOPLE}; CREATE TABLE seen(id); \
         CREATE TRIGGER t AFTER UPDATE ON people BEGIN INSERT INTO seen VALUES(new.id); END"
    ));
    let mut database = file.database();
    run(&mut database, WriteMode::Insert, &[], &[(1, "a", "x"), (2, "b", "y")]).unwrap();
    let mut plan = plan(&mut database, "people", &people_schema(), WriteMode::Upsert, &["id"]);
    plan.skip_unchanged = true;
    store(&mut database, plan, people(&[(1, "a", "x"), (2, "b", "new")])).unwrap();
    assert_eq!(file.rows("SELECT id FROM seen"), ["2"]);
}

#[test]
fn a_null_becomes_the_plans_default() {
    let file = File::new("CREATE TABLE people(id INTEGER, name TEXT, email TEXT)");
    let mut database = file.database();
    let mut plan = plan(&mut database, "people", &people_schema(), WriteMode::Insert, &[]);
    plan.columns[1].null_default = Some(plan.defaults.put_value(None, &text("nobody")));
    let row = Value::fields(vec![Value::int(1), Value::Null, Value::Null]);
    let batch = batch(0, 0, Some(&people_schema()), &[row]);
    store(&mut database, plan, batch).unwrap();
    assert_eq!(file.rows("SELECT * FROM people"), ["1|nobody|null"]);
}

#[test]
fn members_of_plain_objects_and_extra_cells_are_written() {
    let file = File::new("CREATE TABLE t(name TEXT, at INTEGER, more TEXT)");
    let mut database = file.database();
    let object = Value::Map(vec![
        (text("name"), text("a")),
        (text("more"), Value::List(vec![Value::Bool(true), Value::Null])),
    ]);
    let batch = batch(0, 5, None, &[object]);
    let wrapper = Arc::new(
        SchemaBuilder::structure()
            .field("name", Arc::new(Schema::new(Type::String)))
            .build()
            .unwrap(),
    );
    let mut plan = plan(&mut database, "t", &wrapper, WriteMode::Insert, &[]);
    let column = |target, source| PlanColumn { target, source, schema: None, null_default: None };
    plan.columns = vec![
        column(0, Source::ValueMember("name".into())),
        column(1, Source::Extra(0)),
        column(2, Source::ValueMember("more".into())),
    ];
    let writes = [TableWrite {
        plan: Arc::new(plan),
        rows: vec![RowRef { batch: 0, row: 0 }],
        extras: vec![Cell::int(5)],
        extras_per_row: 1,
        extra_rows: data::Rows::default(),
    }];
    let batches = [batch];
    let transaction = Transaction {
        batches: &batches,
        advances: &[],
        writes: &writes,
        truncates: &[],
        rejects: &[],
    };
    commit(&mut database, &transaction).unwrap();
    assert_eq!(file.rows("SELECT * FROM t"), ["a|5|[true,null]"]);
}

#[test]
fn values_are_stored_exactly_or_refused() {
    let decimal = Arc::new(SchemaBuilder::decimal(4).build().unwrap());
    let timestamp = Arc::new(SchemaBuilder::timestamp().build().unwrap());
    let (unscaled, scale) = data::decimal_from_text("12345678901234567890.1000").unwrap();
    let exact = Value::Decimal { unscaled, scale };
    assert_eq!(one("TEXT", Some(&decimal), &exact).unwrap(), ["text|12345678901234567890.1000"]);
    assert_eq!(one("NUMERIC", Some(&decimal), &exact).unwrap_err(), "22003");
    let at = Value::int(1_700_000_000_123);
    assert_eq!(one("TEXT", Some(&timestamp), &at).unwrap(), ["text|2023-11-14 22:13:20.123"]);
    assert_eq!(one("DATETIME", Some(&timestamp), &at).unwrap(), ["text|2023-11-14 22:13:20.123"]);
    assert_eq!(one("BIGINT", Some(&timestamp), &at).unwrap(), ["integer|1700000000123"]);
    assert_eq!(one("REAL", None, &Value::Float(f64::NAN)).unwrap_err(), "22003");
    assert_eq!(one("INTEGER", None, &text("12")).unwrap(), ["integer|12"]);
    assert_eq!(one("INTEGER", None, &text("twelve")).unwrap_err(), "22P02");
    assert_eq!(one("TEXT", None, &Value::int(7)).unwrap(), ["text|7"]);
    assert_eq!(one("TEXT", None, &text("007")).unwrap(), ["text|007"]);
    assert_eq!(one("TEXT", None, &text("")).unwrap(), ["text|"]);
    assert_eq!(one("BLOB", None, &Value::Bytes(Vec::new())).unwrap(), ["blob|[]"]);
    assert_eq!(one("TEXT", None, &text("a\0b")).unwrap_err(), "22021");
}

#[test]
fn errors_name_row_column_and_state() {
    let bad = (7, "bad", "e");
    for (table, state, column) in [
        ("id INTEGER, name TEXT CHECK (name <> 'bad'), email)", "23514", None),
        ("id INTEGER PRIMARY KEY CHECK (id <> 7), name, email)", "23514", None),
        ("id INTEGER, name INTEGER, email)", "22P02", Some("name")),
        ("id INTEGER, name ANY, email BLOB) STRICT", "22P02", Some("email")),
    ] {
        let file = File::new(&format!("CREATE TABLE people({table}"));
        let mut database = file.database();
        let good = if state == "22P02" && column == Some("name") { "1" } else { "good" };
        let error = run(&mut database, WriteMode::Insert, &[], &[(1, good, "e"), bad]).unwrap_err();
        let row = usize::from(column != Some("email"));
        assert_eq!(error.kind, DbErrorKind::Data, "{table}: {error}");
        assert_eq!(error.sqlstate.as_deref(), Some(state), "{table}");
        assert_eq!(error.column.as_deref(), column, "{table}");
        assert_eq!(error.location, Some(RowLocation { write: 0, row }), "{table}");
        assert!(error.message.contains("people"), "{error}");
    }
}

#[test]
fn a_missing_required_value_names_its_column() {
    let file = File::new(PEOPLE);
    let mut database = file.database();
    let plan = plan(&mut database, "people", &people_schema(), WriteMode::Insert, &[]);
    let row = Value::fields(vec![Value::int(1), Value::Null, Value::Null]);
    let error =
        store(&mut database, plan, batch(0, 0, Some(&people_schema()), &[row])).unwrap_err();
    assert_eq!(error.sqlstate.as_deref(), Some("23502"));
    assert_eq!(error.column.as_deref(), Some("name"));
}

#[test]
fn foreign_keys_are_checked_at_the_row_or_at_the_commit() {
    for (deferred, location) in
        [("", Some(RowLocation { write: 0, row: 1 })), ("DEFERRABLE INITIALLY DEFERRED", None)]
    {
        let file = File::new(&format!(
            "CREATE TABLE parents(name TEXT PRIMARY KEY); INSERT INTO parents VALUES('a'); \
             CREATE TABLE people(id, name TEXT REFERENCES parents(name) {deferred}, email)"
        ));
        let mut database = file.database();
        let position = claim(&mut database, 0);
        let error =
            run(&mut database, WriteMode::Insert, &[], &[(1, "a", ""), (2, "b", "")]).unwrap_err();
        assert_eq!(error.kind, DbErrorKind::Data);
        assert_eq!(error.sqlstate.as_deref(), Some("23503"));
        assert_eq!(error.location, location);
        // The connection is usable and nothing was kept.
        run(&mut database, WriteMode::Insert, &[], &[(1, "a", "")]).unwrap();
        assert_eq!(file.rows("SELECT count(*) FROM people"), ["1"]);
        assert_eq!(position.epoch, 1);
    }
}

#[test]
fn a_changed_table_is_drift_in_every_mode() {
    for (mode, key) in [
        (WriteMode::Insert, &[][..]),
        (WriteMode::Upsert, &["id"][..]),
        (WriteMode::Update, &["id"][..]),
    ] {
        let file = File::new(PEOPLE);
        let mut database = file.database();
        let old = plan(&mut database, "people", &people_schema(), mode, key);
        file.peek().execute_batch("ALTER TABLE people RENAME COLUMN email TO mail").unwrap();
        let error = store(&mut database, old, people(&[(1, "a", "x")])).unwrap_err();
        assert_eq!(error.kind, DbErrorKind::Drift, "{mode:?}: {error}");
        database.forget_tables();
        let name = sql::table::TableName { schema: None, name: "people".to_owned() };
        assert!(database.table(&name).unwrap().unwrap().column("mail").is_some());
    }
    // A key column that is gone must not turn into a string literal that matches nothing.
    let file = File::new("CREATE TABLE people(id INTEGER, name TEXT, email TEXT)");
    let mut database = file.database();
    let old = plan(&mut database, "people", &people_schema(), WriteMode::Update, &["id"]);
    file.peek().execute_batch("ALTER TABLE people DROP COLUMN id").unwrap();
    let error = store(&mut database, old, people(&[(1, "a", "x")])).unwrap_err();
    assert_eq!(error.kind, DbErrorKind::Drift);
}

#[test]
fn an_upsert_without_its_index_says_which_to_create() {
    let file = File::new("CREATE TABLE people(id INTEGER, name TEXT, email TEXT)");
    let mut database = file.database();
    let error = run(&mut database, WriteMode::Upsert, &["id"], &[(1, "a", "x")]).unwrap_err();
    assert_eq!(error.sqlstate.as_deref(), Some("42P10"));
    assert!(error.hint.unwrap().contains("unique index"));
}

#[test]
fn views_are_refused_unless_a_trigger_takes_the_rows() {
    let file = File::new(
        "CREATE TABLE t(id, name, email); CREATE VIEW people AS SELECT id, name, email FROM t",
    );
    let mut database = file.database();
    let error = run(&mut database, WriteMode::Insert, &[], &[(1, "a", "x")]).unwrap_err();
    assert_eq!(error.kind, DbErrorKind::Config);
    file.peek()
        .execute_batch(
            "CREATE TRIGGER i INSTEAD OF INSERT ON people BEGIN \
             INSERT INTO t VALUES(new.id, new.name, new.email); END",
        )
        .unwrap();
    let mut database = file.database();
    run(&mut database, WriteMode::Insert, &[], &[(1, "a", "x")]).unwrap();
    assert_eq!(file.rows("SELECT * FROM t"), ["1|a|x"]);
}

#[test]
fn a_trigger_that_refuses_a_row_is_a_data_error() {
    let file = File::new(&format!(
        "{PEOPLE}; CREATE TRIGGER t BEFORE INSERT ON people WHEN new.name = 'bad' BEGIN \
         SELECT RAISE(ABORT, 'no bad people'); END"
    ));
    let mut database = file.database();
    let error =
        run(&mut database, WriteMode::Insert, &[], &[(1, "ok", ""), (2, "bad", "")]).unwrap_err();
    assert_eq!(error.sqlstate.as_deref(), Some("P0001"));
    assert_eq!(error.location, Some(RowLocation { write: 0, row: 1 }));
    assert!(error.message.contains("no bad people"));
}

#[test]
fn generated_columns_are_seen_and_left_out() {
    let file = File::new(
        "CREATE TABLE people(id INTEGER, name TEXT, email TEXT, upper AS (upper(name)) STORED)",
    );
    let mut database = file.database();
    run(&mut database, WriteMode::Insert, &[], &[(1, "a", "x")]).unwrap();
    assert_eq!(file.rows("SELECT upper FROM people"), ["A"]);
    let schema = people_schema();
    let seen = plan(&mut database, "people", &schema, WriteMode::Insert, &[]).table;
    assert!(seen.columns[3].generated && !seen.columns[2].generated);
    let writes =
        [write(plan(&mut database, "people", &schema, WriteMode::Insert, &[]), &people(&[]))];
    let transaction =
        Transaction { batches: &[], advances: &[], writes: &writes, truncates: &[], rejects: &[] };
    commit(&mut database, &transaction).unwrap();
}
