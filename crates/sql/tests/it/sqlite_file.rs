//! What the SQLite tests share: a file, batches of rows, plans over its tables.

use api::{ResolvedStart, Seat, StartResolver};
use data::{Batch, RawBatchBuilder, Schema, TimestampType, TopicPartition, Value};
use rusqlite::Connection;
use sql::config::DatabaseSettings;
use sql::database::{Database, DbResult, Position};
use sql::sqlite::SqliteDatabase;
use sql::table::TableName;
use sql::write::{
    Advance, PlanColumn, RowRef, Source, TableWrite, Transaction, WriteMode, WritePlan,
};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A database file of one test.
pub(crate) struct File {
    dir: tempfile::TempDir,
}

impl File {
    pub(crate) fn new(sql: &str) -> File {
        let file = File { dir: tempfile::tempdir().expect("a directory for the test") };
        file.peek().execute_batch(sql).expect("the test's own tables");
        file
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().join("test.db")
    }

    pub(crate) fn settings(&self) -> DatabaseSettings {
        let url = format!("jdbc:sqlite:{}", self.path().display());
        DatabaseSettings::new(&url, "cluster/group")
    }

    pub(crate) fn database(&self) -> SqliteDatabase {
        SqliteDatabase::new(self.settings()).expect("the URL is right")
    }

    /// A connection of somebody else.
    pub(crate) fn peek(&self) -> Connection {
        let connection = Connection::open(self.path()).expect("the file opens");
        connection.busy_timeout(std::time::Duration::from_secs(20)).expect("a busy timeout");
        connection
    }

    /// The rows of a query, each as one line with `|` between columns.
    pub(crate) fn rows(&self, sql: &str) -> Vec<String> {
        let connection = self.peek();
        let mut statement = connection.prepare(sql).expect("the query is right");
        let columns = statement.column_count();
        let line = |row: &rusqlite::Row<'_>| {
            let cells = (0..columns).map(|i| {
                Ok(match row.get::<_, rusqlite::types::Value>(i)? {
                    rusqlite::types::Value::Null => "null".to_owned(),
                    rusqlite::types::Value::Integer(v) => v.to_string(),
                    rusqlite::types::Value::Real(v) => format!("{v:?}"),
                    rusqlite::types::Value::Text(v) => v,
                    rusqlite::types::Value::Blob(v) => format!("{v:?}"),
                })
            });
            Ok(cells.collect::<rusqlite::Result<Vec<_>>>()?.join("|"))
        };
        let rows = statement.query_map([], line).expect("the query runs");
        rows.collect::<rusqlite::Result<_>>().expect("the rows are read")
    }
}

pub(crate) fn tp(partition: i32) -> TopicPartition {
    TopicPartition::new("orders", partition)
}

pub(crate) fn seat(partition: i32) -> Seat {
    Seat { tp: tp(partition), topic_id: Some("id-1".to_owned()) }
}

/// Answers every partition with one start, and counts how often it is asked.
pub(crate) struct Start {
    pub(crate) offset: i64,
    pub(crate) asked: usize,
}

pub(crate) fn start_at(offset: i64) -> Start {
    Start { offset, asked: 0 }
}

impl StartResolver for Start {
    fn resolve(&mut self, partitions: &[TopicPartition]) -> api::Result<Vec<ResolvedStart>> {
        self.asked += partitions.len();
        Ok(vec![ResolvedStart { offset: self.offset }; partitions.len()])
    }
}

pub(crate) fn claim(database: &mut dyn Database, partition: i32) -> Position {
    let claimed = database.claim(&[seat(partition)], &mut start_at(0)).expect("claimed");
    *claimed.first().expect("one position a seat")
}

/// A batch of one schema; offsets count from `first`.
pub(crate) fn batch(
    partition: i32,
    first: i64,
    schema: Option<&Arc<Schema>>,
    values: &[Value],
) -> Batch {
    let mut raw = RawBatchBuilder::new(tp(partition));
    for index in 0..values.len() {
        let offset = first + index as i64;
        raw.header("trace", Some(b"\x00\x01"));
        raw.header("none", None);
        let value = format!("value {offset}");
        raw.push(offset, 1000 + offset, TimestampType::CreateTime, None, Some(value.as_bytes()));
    }
    let mut batch = Batch::new(Arc::new(raw.finish(first + values.len() as i64)));
    for value in values {
        let cell = batch.values.put_value(None, value);
        batch.values.push(schema, cell);
    }
    batch
}

/// A plan that puts the fields of a struct into the columns of their names.
pub(crate) fn plan(
    database: &mut dyn Database,
    table: &str,
    schema: &Schema,
    mode: WriteMode,
    key: &[&str],
) -> WritePlan {
    static IDS: AtomicU64 = AtomicU64::new(1);
    let name = TableName { schema: None, name: table.to_owned() };
    let table = database.table(&name).expect("the catalogue is read").expect("the table is there");
    let columns: Vec<PlanColumn> = schema
        .fields()
        .iter()
        .enumerate()
        .map(|(index, field)| PlanColumn {
            target: table.column(&field.name).expect("a column for each field"),
            source: Source::ValueField(index),
            schema: Some(field.schema.clone()),
            null_default: None,
        })
        .collect();
    let key = key.iter().map(|k| schema.field(k).expect("a field for each key")).collect();
    WritePlan {
        id: IDS.fetch_add(1, Ordering::Relaxed),
        table,
        mode,
        columns,
        key,
        defaults: data::Rows::default(),
        skip_unchanged: false,
        special: None,
    }
}

/// Every row of a batch for one plan.
pub(crate) fn write(plan: WritePlan, batch: &Batch) -> TableWrite {
    TableWrite {
        plan: Arc::new(plan),
        rows: (0..batch.len() as u32).map(|row| RowRef { batch: 0, row }).collect(),
        extras: Vec::new(),
        extras_per_row: 0,
        extra_rows: data::Rows::default(),
    }
}

pub(crate) fn advance(partition: i32, position: Position, to: i64) -> Advance {
    Advance { batch: 0, tp: tp(partition), epoch: position.epoch, from: position.next_offset, to }
}

/// One transaction, start to end.
pub(crate) fn commit(database: &mut dyn Database, transaction: &Transaction<'_>) -> DbResult<()> {
    database.start(transaction)?;
    assert_eq!(database.in_flight(), 1);
    database.settle()
}

/// Writes one batch with one plan, without moving a position.
pub(crate) fn store(database: &mut dyn Database, plan: WritePlan, batch: Batch) -> DbResult<()> {
    let writes = [write(plan, &batch)];
    let batches = [batch];
    let transaction = Transaction {
        batches: &batches,
        advances: &[],
        writes: &writes,
        truncates: &[],
        rejects: &[],
    };
    commit(database, &transaction)
}
