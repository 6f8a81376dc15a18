//! Kafka into a SQLite file.

use std::path::Path;

use anyhow::{Result, ensure};
use rusqlite::{Connection, OptionalExtension as _};

use super::Bench;
use super::transfer::{Case, Transfer, Watch};
use crate::bench::table::{Goal, Section};

pub(super) fn run(bench: &Bench) -> Result<Section> {
    let columns = ["case", "rows/s", "rows/s with start", "rows per CPU-s", "peak memory"];
    let mut section = Section::new("Append, SQLite", &columns);
    let sizes = [None, Some(1_000), Some(10_000)];
    let mut cases: Vec<(Option<u64>, Case)> =
        sizes.into_iter().map(|size| (size, Case::default())).collect();
    for _ in 0..bench.runs {
        for (size, case) in &mut cases {
            one(bench, *size, case)?;
        }
    }
    for (size, case) in &cases {
        let name = match size {
            None => "envelope, default settings".to_owned(),
            Some(rows) => format!("envelope, {rows} rows a transaction"),
        };
        let [with_start, per_cpu, peak] = case.own_cells();
        let goal = Goal::AtLeast(600_000.0);
        let rate = goal.judge(case.rates.median(), crate::bench::table::thousands);
        section.row([name, rate, with_start, per_cpu, peak]);
    }
    section.note("The table has an INTEGER PRIMARY KEY; WAL, synchronous=NORMAL.");
    Ok(section)
}

fn one(bench: &Bench, size: Option<u64>, case: &mut Case) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("orders.db");
    let mut watch = SqliteWatch::create(&file)?;
    let mut transfer = Transfer::new(bench, bench.envelope()?)
        .set("connector.class", "io.copycat.SqliteSinkConnector")
        .set("connection.url", &format!("jdbc:sqlite:{}", file.display()));
    if let Some(rows) = size {
        transfer = transfer.transactions_of(rows);
    }
    case.add(&transfer.measure(&mut watch)?);
    let sql = "SELECT count(*) FROM orders";
    let rows: i64 = watch.connection.query_row(sql, [], |row| row.get(0))?;
    ensure!(u64::try_from(rows) == Ok(bench.records), "{rows} rows");
    Ok(())
}

struct SqliteWatch {
    connection: Connection,
    positions: bool,
}

impl SqliteWatch {
    fn create(file: &Path) -> Result<SqliteWatch> {
        let connection = Connection::open(file)?;
        connection.busy_timeout(std::time::Duration::from_secs(10))?;
        connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
        connection.execute_batch(
            "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT NOT NULL, amount REAL NOT \
             NULL, currency TEXT NOT NULL, created TIMESTAMP NOT NULL, note TEXT NOT NULL, paid \
             BOOLEAN NOT NULL)",
        )?;
        Ok(SqliteWatch { connection, positions: false })
    }
}

impl Watch for SqliteWatch {
    fn done(&mut self) -> Result<u64> {
        if !self.positions {
            let sql = "SELECT 1 FROM sqlite_schema WHERE name = 'copycat_offsets'";
            self.positions = self.connection.query_row(sql, [], |_| Ok(())).optional()?.is_some();
        }
        if !self.positions {
            return Ok(0);
        }
        let sql = "SELECT coalesce(sum(next_offset), 0) FROM copycat_offsets";
        let done: i64 = self.connection.query_row(sql, [], |row| row.get(0))?;
        Ok(u64::try_from(done)?)
    }
}
