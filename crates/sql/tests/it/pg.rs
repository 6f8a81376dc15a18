//! What the tests of the PostgreSQL destination share: a database of their own, batches, plans.

use api::{ResolvedStart, Seat, StartResolver};
use data::{
    Batch, RawBatchBuilder, Schema, SchemaBuilder, TimestampType, TopicPartition, Type, Value,
};
use sql::config::DatabaseSettings;
use sql::database::{Database, DbError, DbResult, Position};
use sql::postgres::PostgresDatabase;
use sql::table::{Table, TableName};
use sql::write::{
    Advance, PlanColumn, RejectRow, RowRef, Source, TableWrite, Transaction, WriteMode, WritePlan,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use testkit::postgres;

/// A database of the test's own and a connection of ours to it, with the partition `t`-0 claimed.
pub(crate) struct Pg {
    pub(crate) database: PostgresDatabase,
    pub(crate) server: postgres::Database,
    pub(crate) tp: TopicPartition,
    pub(crate) at: Position,
}

/// Starts every partition at 0.
pub(crate) struct FromZero;

impl StartResolver for FromZero {
    fn resolve(&mut self, partitions: &[TopicPartition]) -> api::Result<Vec<ResolvedStart>> {
        Ok(partitions.iter().map(|_| ResolvedStart { offset: 0 }).collect())
    }
}

pub(crate) fn seat(topic: &str, partition: i32) -> Seat {
    Seat { tp: TopicPartition::new(topic, partition), topic_id: Some("id-1".to_owned()) }
}

pub(crate) fn settings(server: &postgres::Database) -> DatabaseSettings {
    DatabaseSettings::new(&server.url(), "cluster/group")
}

pub(crate) fn open(server: &postgres::Database) -> PostgresDatabase {
    PostgresDatabase::new(settings(server)).expect("the URL is right")
}

pub(crate) fn name(text: &str) -> TableName {
    TableName { schema: None, name: text.to_owned() }
}

impl Pg {
    pub(crate) fn new(sql: &str) -> Pg {
        Pg::with(sql, |_| ())
    }

    pub(crate) fn with(sql: &str, change: impl FnOnce(&mut DatabaseSettings)) -> Pg {
        let server = postgres::database();
        if !sql.is_empty() {
            server.execute(sql);
        }
        let mut settings = settings(&server);
        change(&mut settings);
        let mut database = PostgresDatabase::new(settings).expect("the URL is right");
        let at = database.claim(&[seat("t", 0)], &mut FromZero).expect("nobody else claims")[0];
        Pg { database, server, tp: TopicPartition::new("t", 0), at }
    }

    pub(crate) fn table(&mut self, table: &str) -> Arc<Table> {
        self.database.table(&name(table)).expect("it can be read").expect("the table exists")
    }

    /// A plan for all fields of `schema` into the columns of the same names.
    pub(crate) fn plan(
        &mut self,
        table: &str,
        schema: &Arc<Schema>,
        mode: WriteMode,
        key: &[&str],
    ) -> Arc<WritePlan> {
        plan(&self.table(table), schema, mode, key, false)
    }

    /// Starts one transaction with all rows of the batch, from where the last one ended.
    pub(crate) fn start(&mut self, plan: &Arc<WritePlan>, batch: &Batch) -> DbResult<()> {
        let advance = self.advance(batch);
        self.start_with(&[write(plan, batch)], batch, &[advance], &[])
    }

    pub(crate) fn start_with(
        &mut self,
        writes: &[TableWrite],
        batch: &Batch,
        advances: &[Advance],
        rejects: &[RejectRow],
    ) -> DbResult<()> {
        let batches = std::slice::from_ref(batch);
        self.database.start(&Transaction { batches, advances, writes, truncates: &[], rejects })
    }

    pub(crate) fn advance(&self, batch: &Batch) -> Advance {
        Advance {
            batch: 0,
            tp: self.tp.clone(),
            epoch: self.at.epoch,
            from: batch.raw.first_offset().unwrap_or(batch.next_offset()),
            to: batch.next_offset(),
        }
    }

    /// One transaction from start to end.
    pub(crate) fn store(&mut self, plan: &Arc<WritePlan>, batch: &Batch) -> DbResult<()> {
        let stored = self.start(plan, batch).and_then(|()| self.database.settle());
        if stored.is_err() {
            self.database.abandon();
        }
        stored
    }

    pub(crate) fn position(&mut self) -> i64 {
        let found =
            self.database.positions(std::slice::from_ref(&self.tp)).expect("they can be read");
        found[0].expect("the partition has a position").next_offset
    }

    pub(crate) fn value(&self, sql: &str) -> Option<String> {
        self.server.value(sql)
    }

    pub(crate) fn count(&self, table: &str) -> i64 {
        self.value(&format!("SELECT count(*) FROM {table}"))
            .and_then(|n| n.parse().ok())
            .expect("a count is a number")
    }
}

pub(crate) fn write(plan: &Arc<WritePlan>, batch: &Batch) -> TableWrite {
    TableWrite {
        plan: plan.clone(),
        rows: (0..batch.len() as u32).map(|row| RowRef { batch: 0, row }).collect(),
        extras: Vec::new(),
        extras_per_row: 0,
        extra_rows: data::Rows::default(),
    }
}

pub(crate) fn plan(
    table: &Arc<Table>,
    schema: &Arc<Schema>,
    mode: WriteMode,
    key: &[&str],
    skip_unchanged: bool,
) -> Arc<WritePlan> {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let columns: Vec<PlanColumn> = schema
        .fields()
        .iter()
        .enumerate()
        .map(|(n, field)| PlanColumn {
            target: table.column(&field.name).expect("the column exists"),
            source: Source::ValueField(n),
            schema: Some(field.schema.clone()),
            null_default: None,
        })
        .collect();
    let key = key.iter().map(|k| schema.field(k).expect("a key field")).collect();
    Arc::new(WritePlan {
        id: NEXT.fetch_add(1, Ordering::Relaxed),
        table: table.clone(),
        mode,
        columns,
        key,
        defaults: data::Rows::default(),
        skip_unchanged,
        special: None,
    })
}

pub(crate) fn schema(fields: &[(&str, Schema)]) -> Arc<Schema> {
    let mut builder = SchemaBuilder::structure();
    for (name, schema) in fields {
        builder = builder.field(name, Arc::new(schema.clone()));
    }
    Arc::new(builder.build().expect("a sound schema"))
}

pub(crate) fn of(kind: Type) -> Schema {
    SchemaBuilder::new(kind).optional().build().expect("a sound schema")
}

/// `id bigint, v text`, the plain case.
pub(crate) fn pairs() -> Arc<Schema> {
    schema(&[("id", of(Type::Int64)), ("v", of(Type::String))])
}

/// A batch of `t`-0 that begins at `first`; each row has the fields of `schema`.
pub(crate) fn batch(schema: &Arc<Schema>, first: i64, rows: Vec<Vec<Value>>) -> Batch {
    let mut builder = RawBatchBuilder::new(TopicPartition::new("t", 0));
    for n in 0..rows.len() as i64 {
        let key = format!("key-{}", first + n);
        builder.header("h", Some(&[0, 255]));
        builder.push(
            first + n,
            1_700_000_000_123,
            TimestampType::CreateTime,
            Some(key.as_bytes()),
            Some(b"value\0\xff"),
        );
    }
    let mut batch = Batch::new(Arc::new(builder.finish(first + rows.len() as i64)));
    for row in rows {
        let cell = batch.values.put_value(None, &Value::fields(row));
        batch.values.push(Some(schema), cell);
        batch.keys.push(None, data::Cell::Null);
    }
    batch
}

/// Rows `(first.., "v<id>")` of [`pairs`].
pub(crate) fn numbered(first: i64, len: i64) -> Batch {
    let rows = (first..first + len).map(|n| vec![Value::int(n), Value::Text(format!("v{n}"))]);
    batch(&pairs(), first, rows.collect())
}

pub(crate) fn failed<T: std::fmt::Debug>(result: DbResult<T>) -> DbError {
    result.expect_err("this must fail")
}
