//! The run's tables in a SQLite file.

use super::{Letter, Progress, Tables, quoted, shell_word};
use crate::exit::Failure;
use crate::quickstart::tally::Tally;
use rusqlite::{Connection, OptionalExtension as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(super) struct Sqlite {
    connection: Connection,
    path: PathBuf,
    /// The worker has made its table of positions.
    positions: bool,
}

impl Sqlite {
    pub(super) fn open(path: &Path, tables: &Tables) -> Result<Sqlite, Failure> {
        let unusable = |error: rusqlite::Error| {
            Failure::unavailable(format!("{}: {error}", path.display()))
                .hint("name a file in a folder where you may write")
        };
        let connection = Connection::open(path).map_err(unusable)?;
        connection.busy_timeout(Duration::from_secs(10)).map_err(unusable)?;
        // As the worker has it: readers and the writer do not wait for each other.
        connection
            .query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))
            .and_then(|()| connection.execute_batch(&create(&tables.orders)))
            .map_err(unusable)?;
        Ok(Sqlite { connection, path: path.to_owned(), positions: false })
    }

    fn broken(&self, error: &rusqlite::Error) -> Failure {
        Failure::unavailable(format!("{}: {error}", self.path.display()))
    }

    /// The path from here if the file lies below, else the whole path.
    fn shown(&self) -> String {
        let here = std::env::current_dir().ok();
        let below = here.and_then(|here| self.path.strip_prefix(here).ok());
        below.unwrap_or(&self.path).display().to_string()
    }

    pub(super) fn name(&self) -> String {
        self.shown()
    }

    pub(super) fn progress(&mut self, offsets: &str) -> Result<Progress, Failure> {
        if !self.positions {
            let sql = "SELECT 1 FROM sqlite_schema WHERE name = ?1";
            let found = self.connection.query_row(sql, [offsets], |_| Ok(())).optional();
            self.positions = found.map_err(|e| self.broken(&e))?.is_some();
            if !self.positions {
                return Ok(Progress::default());
            }
        }
        let sql = format!("SELECT total(next_offset), total(epoch) FROM {}", quoted(offsets));
        self.connection
            .prepare(&sql)
            .and_then(|mut statement| {
                statement.query_row([], |row| {
                    let (done, epoch): (f64, f64) = (row.get(0)?, row.get(1)?);
                    Ok(Progress { done: done as u64, epoch: epoch as u64 })
                })
            })
            .map_err(|e| self.broken(&e))
    }

    pub(super) fn count(&self, tables: &Tables, tally: &mut Tally) -> Result<(), Failure> {
        let rows = format!("SELECT id FROM {}", quoted(&tables.orders));
        let letters = format!("SELECT \"key\" FROM {}", quoted(&tables.letters));
        self.each(&rows, |row| {
            tally.row(row.get(0)?);
            Ok(())
        })
        .and_then(|()| {
            self.each(&letters, |row| {
                tally.letter(&row.get::<_, Option<Vec<u8>>>(0)?.unwrap_or_default());
                Ok(())
            })
        })
        .map_err(|e| self.broken(&e))
    }

    fn each(
        &self,
        sql: &str,
        mut take: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<()>,
    ) -> rusqlite::Result<()> {
        let mut statement = self.connection.prepare(sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            take(row)?;
        }
        Ok(())
    }

    pub(super) fn letters(&self, tables: &Tables, limit: usize) -> Result<Vec<Letter>, Failure> {
        let sql = format!(
            "SELECT CAST(\"key\" AS TEXT), reason FROM {} ORDER BY CAST(CAST(\"key\" AS TEXT) AS \
             INTEGER) LIMIT {limit}",
            quoted(&tables.letters)
        );
        let mut letters = Vec::new();
        self.each(&sql, |row| {
            let order = row.get::<_, Option<String>>(0)?.unwrap_or_default();
            letters.push(Letter { order, reason: row.get(1)? });
            Ok(())
        })
        .map_err(|e| self.broken(&e))?;
        Ok(letters)
    }

    pub(super) fn shell(&self, query: &str) -> String {
        format!("sqlite3 -header -column {} {}", shell_word(&self.shown()), shell_word(query))
    }
}

fn create(table: &str) -> String {
    format!(
        "CREATE TABLE {} (\n  id INTEGER NOT NULL,\n  customer TEXT NOT NULL,\n  item TEXT NOT NULL,\n  \
         quantity INTEGER NOT NULL CHECK (quantity > 0),\n  amount NUMERIC NOT NULL,\n  \
         created TEXT NOT NULL,\n  paid BOOLEAN NOT NULL\n)",
        quoted(table)
    )
}
