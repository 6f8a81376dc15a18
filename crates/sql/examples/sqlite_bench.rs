//! How many rows a second go into a SQLite file, exactly once: the position of a partition moves in
//! each transaction.
//!
//! `cargo run --release -p sql --example sqlite_bench [DIRECTORY] [ROWS]` prints rows per second of
//! wall and CPU time. Rows are orders of seven columns (id, customer, amount, currency, created,
//! note, paid), decoded beforehand: what is measured is the database alone.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use api::{ResolvedStart, Seat, StartResolver};
use data::{
    Batch, RawBatchBuilder, Rows, Schema, SchemaBuilder, TimestampType, TopicPartition, Type, Value,
};
use sql::config::{DatabaseSettings, TypeDialect};
use sql::database::{ClaimError, Database, DbError};
use sql::sqlite::SqliteDatabase;
use sql::table::{NewColumn, NewTable, TableName};
use sql::write::{
    Advance, PlanColumn, RowRef, Source, TableWrite, Transaction, WriteMode, WritePlan,
};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

const ROWS_DEFAULT: usize = 1_000_000;

struct FromZero;

impl StartResolver for FromZero {
    fn resolve(&mut self, partitions: &[TopicPartition]) -> api::Result<Vec<ResolvedStart>> {
        Ok(vec![ResolvedStart { offset: 0 }; partitions.len()])
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().map_or_else(std::env::temp_dir, PathBuf::from);
    let rows = arguments.next().map_or(Ok(ROWS_DEFAULT), |n| n.parse())?;
    for (types, created) in [(TypeDialect::Own, "text"), (TypeDialect::CJdbc, "number")] {
        for size in [100, 1_000, 10_000] {
            let path = directory.join(format!("sqlite_bench_{}.db", std::process::id()));
            let name =
                |mode: &str| format!("{mode}, created as {created}, {size} rows a transaction");
            let schema = schema()?;
            let mut bench = Bench::new(&path, types, &schema)?;
            bench.run(&name("insert"), WriteMode::Insert, size, rows)?;
            bench = Bench::new(&path, types, &schema)?;
            bench.run(&name("upsert, new keys"), WriteMode::Upsert, size, rows)?;
            bench.run(&name("upsert, same keys"), WriteMode::Upsert, size, rows)?;
            remove(&path)?;
        }
    }
    Ok(())
}

struct Bench {
    database: SqliteDatabase,
    schema: Arc<Schema>,
    plans: u64,
}

impl Bench {
    /// An empty file with the table of orders.
    fn new(path: &Path, types: TypeDialect, schema: &Arc<Schema>) -> Result<Bench, Box<dyn Error>> {
        remove(path)?;
        let url = format!("jdbc:sqlite:{}", path.display());
        let mut settings = DatabaseSettings::new(&url, "bench/bench");
        settings.types = types;
        let mut database = SqliteDatabase::new(settings)?;
        let column = |field: &data::Field| NewColumn {
            name: field.name.to_string(),
            schema: Some(field.schema.clone()),
            nullable: false,
        };
        database.create_table(&NewTable {
            name: TableName { schema: None, name: "orders".to_owned() },
            columns: schema.fields().iter().map(column).collect(),
            primary_key: vec!["id".to_owned()],
            updates_expected: false,
        })?;
        Ok(Bench { database, schema: schema.clone(), plans: 0 })
    }

    fn run(
        &mut self,
        name: &str,
        mode: WriteMode,
        size: usize,
        rows: usize,
    ) -> Result<(), Box<dyn Error>> {
        let plan = Arc::new(self.plan(mode)?);
        let tp = TopicPartition::new("orders", 0);
        let seat = Seat { tp: tp.clone(), topic_id: None };
        let claimed = self.database.claim(&[seat], &mut FromZero).map_err(database_error)?;
        let mut position = *claimed.first().ok_or("no position")?;
        let (mut wall, mut cpu, mut done) = (0.0, 0.0, 0);
        while done < rows {
            // Made outside of the measured time.
            let batches = [batch(&tp, &self.schema, done, size)];
            let writes = [TableWrite {
                plan: plan.clone(),
                rows: (0..size as u32).map(|row| RowRef { batch: 0, row }).collect(),
                extras: Vec::new(),
                extras_per_row: 0,
                extra_rows: Rows::default(),
            }];
            let to = position.next_offset + size as i64;
            let from = position.next_offset;
            let advances = [Advance { batch: 0, tp: tp.clone(), epoch: position.epoch, from, to }];
            let transaction = Transaction {
                batches: &batches,
                advances: &advances,
                writes: &writes,
                truncates: &[],
                rejects: &[],
            };
            let (start, cpu_before) = (Instant::now(), cpu_seconds());
            self.database.start(&transaction)?;
            self.database.settle()?;
            wall += start.elapsed().as_secs_f64();
            cpu += cpu_seconds() - cpu_before;
            position.next_offset = to;
            done += size;
        }
        let (per_wall, per_cpu) = (done as f64 / wall / 1e3, cpu / done as f64 * 1e6);
        println!("{name}: {per_wall:.0}k rows/s, {per_cpu:.2} us CPU a row");
        Ok(())
    }

    fn plan(&mut self, mode: WriteMode) -> Result<WritePlan, Box<dyn Error>> {
        let name = TableName { schema: None, name: "orders".to_owned() };
        let table = self.database.table(&name)?.ok_or("the table is missing")?;
        let column = |(index, field): (usize, &data::Field)| PlanColumn {
            target: index,
            source: Source::ValueField(index),
            schema: Some(field.schema.clone()),
            null_default: None,
        };
        self.plans += 1;
        Ok(WritePlan {
            id: self.plans,
            table,
            mode,
            columns: self.schema.fields().iter().enumerate().map(column).collect(),
            key: if mode == WriteMode::Insert { Vec::new() } else { vec![0] },
            defaults: Rows::default(),
            skip_unchanged: false,
            special: None,
        })
    }
}

fn schema() -> Result<Arc<Schema>, Box<dyn Error>> {
    let of = |kind| Arc::new(Schema::new(kind));
    let built = SchemaBuilder::structure()
        .name("orders")
        .field("id", of(Type::Int64))
        .field("customer", of(Type::String))
        .field("amount", of(Type::Float64))
        .field("currency", of(Type::String))
        .field("created", Arc::new(SchemaBuilder::timestamp().build()?))
        .field("note", of(Type::String))
        .field("paid", of(Type::Boolean))
        .build()?;
    Ok(Arc::new(built))
}

fn batch(tp: &TopicPartition, schema: &Arc<Schema>, first: usize, size: usize) -> Batch {
    let mut raw = RawBatchBuilder::new(tp.clone());
    for i in first..first + size {
        raw.push(i as i64, 0, TimestampType::CreateTime, None, None);
    }
    let mut batch = Batch::new(Arc::new(raw.finish((first + size) as i64)));
    for i in first..first + size {
        let currency = ["EUR", "USD", "GBP", "JPY", "CHF"].get(i % 5).copied().unwrap_or("EUR");
        let value = Value::fields(vec![
            Value::int(i as i64),
            Value::Text(format!("cust{:08}", i * 7919 % 100_000_000)),
            Value::Float((i * 37 % 1_000_000) as f64 / 100.0),
            Value::Text(currency.to_owned()),
            Value::int(1_700_000_000_000 + i as i64 * 1000 + (i % 1000) as i64),
            Value::Text(format!("g1-{:032x}-note", (i as u128).wrapping_mul(0x9e37_79b9_7f4a))),
            Value::Bool(i.is_multiple_of(3)),
        ]);
        let cell = batch.values.put_value(None, &value);
        batch.values.push(Some(schema), cell);
    }
    batch
}

fn database_error(error: ClaimError) -> DbError {
    match error {
        ClaimError::Database(error) => error,
        ClaimError::Resolve(error) => {
            DbError::new(sql::database::DbErrorKind::Bug, error.to_string())
        }
    }
}

/// User and system time of this process so far; 0 where the system does not tell (Linux does).
fn cpu_seconds() -> f64 {
    let Ok(text) = std::fs::read_to_string("/proc/self/schedstat") else { return 0.0 };
    let nanoseconds = text.split(' ').next().and_then(|n| n.parse::<f64>().ok());
    nanoseconds.unwrap_or(0.0) / 1e9
}

/// Removes the file and what SQLite keeps beside it.
fn remove(path: &Path) -> std::io::Result<()> {
    for suffix in ["", "-wal", "-shm"] {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        match std::fs::remove_file(&name) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}
