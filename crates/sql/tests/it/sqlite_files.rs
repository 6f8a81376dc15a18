//! The file itself: what can be wrong with it, tables made in it, records set aside in it.

use crate::sqlite_file::{File, advance, batch, claim, commit, plan, store, tp};
use data::{Reject, Schema, SchemaBuilder, Stage, Type, Value};
use sql::config::{DatabaseSettings, TypeDialect};
use sql::database::{Database, DbError, DbErrorKind, Position};
use sql::sqlite::SqliteDatabase;
use sql::table::{NewColumn, NewTable, TableName};
use sql::write::{RefusedBy, RejectRow, Transaction, WriteMode};
use std::path::Path;
use std::sync::Arc;

fn refusal(url: &str) -> DbError {
    let mut database =
        SqliteDatabase::new(DatabaseSettings::new(url, "cluster/group")).expect("the URL is right");
    let error = database.connect().expect_err("the file cannot be used");
    assert!(error.hint.is_some(), "{error}");
    error
}

fn url(path: &Path, query: &str) -> String {
    format!("jdbc:sqlite:{}{query}", path.display())
}

fn name(name: &str) -> TableName {
    TableName { schema: None, name: name.to_owned() }
}

fn note_schema() -> Arc<Schema> {
    let built =
        SchemaBuilder::structure().field("note", Arc::new(Schema::new(Type::String))).build();
    Arc::new(built.expect("a good schema"))
}

#[test]
fn a_file_that_cannot_be_used_is_named_with_the_reason() {
    let dir = tempfile::tempdir().unwrap();
    let missing = dir.path().join("nowhere").join("x.db");
    let error = refusal(&url(&missing, ""));
    assert_eq!(error.kind, DbErrorKind::Config);
    assert!(error.message.contains("nowhere"), "{error}");

    let error = refusal(&url(dir.path(), ""));
    assert!(error.message.contains("is a directory"), "{error}");

    let text = dir.path().join("text.db");
    std::fs::write(&text, "this is no database, only a long enough text. ".repeat(50)).unwrap();
    let error = refusal(&url(&text, ""));
    assert_eq!(error.kind, DbErrorKind::Config);
    assert!(error.message.contains("text.db"), "{error}");

    let error = refusal(&url(&dir.path().join("absent.db"), "?mode=rw"));
    assert!(error.message.contains("does not exist"), "{error}");
}

#[test]
fn a_file_that_may_only_be_read_is_refused() {
    let file = File::new("CREATE TABLE t(a)");
    let error = refusal(&url(&file.path(), "?mode=ro"));
    assert_eq!(error.kind, DbErrorKind::Config);
    assert_eq!(error.sqlstate.as_deref(), Some("25006"));
}

#[test]
fn a_damaged_file_is_refused_and_not_retried() {
    let file = File::new("CREATE TABLE t(a); INSERT INTO t VALUES(zeroblob(20000))");
    let mut bytes = std::fs::read(file.path()).unwrap();
    // The catalogue's page keeps its header; what it points to is overwritten.
    bytes[100..4096].fill(0xff);
    std::fs::write(file.path(), bytes).unwrap();
    let error = refusal(&url(&file.path(), ""));
    assert_eq!(error.kind, DbErrorKind::Config, "{error}");
    assert_eq!(error.sqlstate.as_deref(), Some("XX001"), "{error}");
}

#[test]
fn a_full_disk_is_a_matter_of_waiting_and_loses_nothing() {
    let file = File::new("CREATE TABLE notes(note TEXT)");
    let mut settings = file.settings();
    settings.url = config::Password::new(url(&file.path(), "?max_page_count=20"));
    let mut small = SqliteDatabase::new(settings).unwrap();
    let position = claim(&mut small, 0);
    let big = Value::fields(vec![Value::Text("x".repeat(50_000))]);
    let schema = note_schema();
    let values = [big.clone(), big];
    let batch = batch(0, 0, Some(&schema), &values);
    let plan_of = |database: &mut SqliteDatabase| {
        plan(database, "notes", &note_schema(), WriteMode::Insert, &[])
    };
    let writes = [crate::sqlite_file::write(plan_of(&mut small), &batch)];
    let advances = [advance(0, position, 2)];
    let batches = [batch];
    let transaction = Transaction {
        batches: &batches,
        advances: &advances,
        writes: &writes,
        truncates: &[],
        rejects: &[],
    };
    let error = commit(&mut small, &transaction).unwrap_err();
    assert_eq!(error.kind, DbErrorKind::Resource, "{error}");
    assert_eq!(error.sqlstate.as_deref(), Some("53100"));
    assert_eq!(error.location, None, "no row is to blame");
    assert_eq!(small.positions(&[tp(0)]).unwrap(), [Some(position)]);

    let mut large = file.database();
    commit(&mut large, &transaction).unwrap();
    assert_eq!(file.rows("SELECT count(*) FROM notes"), ["2"]);
    assert_eq!(large.positions(&[tp(0)]).unwrap(), [Some(Position { next_offset: 2, epoch: 1 })]);
}

#[test]
fn a_table_of_somebody_else_under_our_name_is_refused() {
    let file = File::new("CREATE TABLE copycat_offsets(a, b)");
    let error = refusal(&url(&file.path(), ""));
    assert_eq!(error.kind, DbErrorKind::Config);
    assert!(error.hint.unwrap().contains("offsets.table"));
}

#[test]
fn without_exactly_once_there_is_no_offset_table() {
    let file = File::new("CREATE TABLE notes(note TEXT)");
    let mut settings = file.settings();
    settings.exactly_once = false;
    let mut database = SqliteDatabase::new(settings).unwrap();
    let notes = plan(&mut database, "notes", &note_schema(), WriteMode::Insert, &[]);
    let row = Value::fields(vec![Value::Text("a".to_owned())]);
    store(&mut database, notes, batch(0, 0, Some(&note_schema()), &[row])).unwrap();
    assert_eq!(file.rows("SELECT note FROM notes"), ["a"]);
    assert_eq!(
        file.rows("SELECT name FROM sqlite_schema WHERE name LIKE 'copycat%' AND type = 'table'"),
        ["copycat_dead_letters"]
    );
}

#[test]
fn rejects_are_stored_with_the_rows_and_read_back_until_forwarded() {
    let file = File::new("CREATE TABLE notes(note TEXT)");
    let mut settings = file.settings();
    settings.connector = "orders-sink".to_owned();
    let mut database = SqliteDatabase::new(settings).unwrap();
    let position = claim(&mut database, 0);
    let rows: Vec<Value> =
        ["a", "b", "c"].map(|n| Value::fields(vec![Value::Text(n.to_owned())])).to_vec();
    let batch = batch(0, 0, Some(&note_schema()), &rows);
    let notes = plan(&mut database, "notes", &note_schema(), WriteMode::Insert, &[]);
    let mut write = crate::sqlite_file::write(notes, &batch);
    write.rows.remove(1);
    let mut reject = Reject::data(1, Stage::TaskPut, "the.Class", "it's wrong".to_owned());
    reject.sqlstate = Some("23514".to_owned());
    reject.column = Some("note".to_owned());
    let rejects =
        [RejectRow { batch: 0, reject, by: RefusedBy::Decoding, table: Some(name("notes")) }];
    let (batches, writes, advances) = ([batch], [write], [advance(0, position, 3)]);
    let transaction = Transaction {
        batches: &batches,
        advances: &advances,
        writes: &writes,
        truncates: &[],
        rejects: &rejects,
    };
    commit(&mut database, &transaction).unwrap();
    assert_eq!(file.rows("SELECT note FROM notes"), ["a", "c"]);
    assert_eq!(
        file.rows(
            "SELECT owner, connector, task, sqlstate, column_name, target_table, \
             created_at LIKE '20__-%', forwarded_at FROM copycat_dead_letters"
        ),
        ["cluster/group|orders-sink|0|23514|note|notes|1|null"]
    );
    let letters = database.outbox(10).unwrap();
    let letter = letters.first().unwrap();
    assert_eq!((letter.topic.as_str(), letter.partition, letter.offset), ("orders", 0, 1));
    assert_eq!((letter.timestamp, letter.key.clone()), (1001, None));
    assert_eq!(letter.value.as_deref(), Some(&b"value 1"[..]));
    assert_eq!(letter.headers, [("trace".to_owned(), Some(vec![0, 1])), ("none".to_owned(), None)]);
    assert_eq!((letter.stage.as_str(), letter.message.as_str()), ("TASK_PUT", "it's wrong"));
    database.forwarded(&[letter.id]).unwrap();
    assert_eq!(database.outbox(10).unwrap(), []);
}

#[test]
fn a_neighbours_fresh_letters_are_left_to_it_and_old_ones_are_not() {
    let file = File::new("");
    let mut database = file.database();
    database.connect().unwrap();
    file.peek()
        .execute_batch(
            "INSERT INTO copycat_dead_letters(owner, connector, task, topic, \"partition\", \
             record_offset, headers, stage, class, exception, reason, created_at) \
             SELECT 'cluster/group', connector, task, 't', 0, number, '[]', '', '', '', '', made \
             FROM (SELECT 1 number, 'connector' connector, 1 task, \
                          strftime('%Y-%m-%d %H:%M:%f', 'now') made \
             UNION ALL SELECT 2, 'connector', 1, '2020-01-01 00:00:00.000' \
             UNION ALL SELECT 3, 'other', 0, '2020-01-01 00:00:00.000')",
        )
        .unwrap();
    let offsets: Vec<i64> = database.outbox(10).unwrap().iter().map(|l| l.offset).collect();
    assert_eq!(offsets, [2]);
}

fn new_table() -> NewTable {
    let column = |name: &str, schema: SchemaBuilder, nullable| NewColumn {
        name: name.to_owned(),
        schema: Some(Arc::new(schema.build().expect("a good schema"))),
        nullable,
    };
    NewTable {
        name: name("made"),
        columns: vec![
            column("id", SchemaBuilder::new(Type::Int64), false),
            column("price", SchemaBuilder::decimal(2), true),
        ],
        primary_key: vec!["id".to_owned()],
        updates_expected: true,
    }
}

#[test]
fn tables_are_made_once_and_grow() {
    let file = File::new("");
    let (mut database, mut other) = (file.database(), file.database());
    assert_eq!(database.table(&name("made")).unwrap(), None);
    database.create_table(&new_table()).unwrap();
    other.create_table(&new_table()).unwrap();
    let table = database.table(&name("made")).unwrap().unwrap();
    assert_eq!(table.unique_keys, [vec![0]]);
    let types: Vec<&str> = table.columns.iter().map(|c| c.type_name.as_str()).collect();
    assert_eq!(types, ["INTEGER", "TEXT"]);
    let extra = NewColumn { name: "more".to_owned(), schema: None, nullable: true };
    database.add_columns(&table, std::slice::from_ref(&extra)).unwrap();
    other.add_columns(&table, &[extra]).unwrap();
    let grown = database.table(&name("made")).unwrap().unwrap();
    assert_eq!(grown.columns.len(), 3);
    assert!(database.create_table_sql(&new_table()).contains("PRIMARY KEY (\"id\")"));
}

#[test]
fn under_a_foreign_class_name_tables_have_its_types() {
    let file = File::new("");
    let mut settings = file.settings();
    settings.types = TypeDialect::CJdbc;
    let mut database = SqliteDatabase::new(settings).unwrap();
    database.create_table(&new_table()).unwrap();
    let table = database.table(&name("made")).unwrap().unwrap();
    assert_eq!(table.columns[1].type_name, "NUMERIC");
}
