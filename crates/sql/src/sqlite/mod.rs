//! SQLite: the embedded destination.
//!
//! Place in the data path: [`SqliteDatabase`] is the [`Database`] of a file. [`Database::start`] does
//! the whole transaction and commits: positions, rows, rejects, under one `BEGIN IMMEDIATE`.
//! [`Database::settle`] only hands the result over, so one transaction is in flight at most, and
//! its outcome is unknown only where the disk failed during the commit or the process died.
//!
//! Several tasks, and several processes, may write one file: they wait for each other.
//!
//! Invariants:
//! - the connection is never left inside a transaction: each method commits or rolls back;
//! - an error whose kind is `Connection` closes the file, so that what follows reads it afresh.

mod apply;
mod catalogue;
mod connection;
mod ddl;
mod error;
mod letters;
mod look;
mod positions;
mod semantic;
mod statement;
mod storage;
mod time;
pub mod url;
mod value;
#[cfg(test)]
mod value_tests;

use crate::config::DatabaseSettings;
use crate::database::{ClaimError, Database, DbError, DbErrorKind, DbResult, Position};
use crate::look::TableLook;
use crate::table::{NewColumn, NewTable, Table, TableName};
use crate::write::Transaction;
use api::{Check, DeadLetter, Seat, StartResolver};
use apply::Plans;
use connection::{Waiting, begin, commit, roll_back, run};
use data::TopicPartition;
use letters::LetterSql;
use positions::PositionSql;
use rusqlite::Connection;
use std::collections::HashMap;
use std::sync::Arc;
use url::Location;
use value::Encoder;

/// A file as the destination of one task.
pub struct SqliteDatabase {
    settings: DatabaseSettings,
    location: Location,
    waiting: Arc<Waiting>,
    connection: Option<Connection>,
    tables: HashMap<TableName, Arc<Table>>,
    plans: Plans,
    encoder: Encoder,
    position_sql: PositionSql,
    letter_sql: LetterSql,
    /// Transactions committed by `start` and not handed over yet.
    committed: usize,
}

impl SqliteDatabase {
    /// Reads the URL; nothing is opened yet.
    /// # Errors
    /// `Config` for a URL that names no file.
    pub fn new(settings: DatabaseSettings) -> DbResult<SqliteDatabase> {
        let location = Location::parse(settings.url.expose())?;
        if !location.ignored.is_empty() {
            let keys = location.ignored.join(", ");
            tracing::warn!(keys, "parameters of connection.url that have no effect on SQLite");
        }
        let lock_timeout_ms = u64::try_from(settings.lock_timeout.as_millis()).unwrap_or(u64::MAX);
        let waiting = Waiting::new(location.busy_timeout_ms.unwrap_or(lock_timeout_ms));
        Ok(SqliteDatabase {
            encoder: Encoder::new(&settings),
            position_sql: PositionSql::new(&settings),
            letter_sql: LetterSql::new(&settings),
            waiting: Arc::new(waiting),
            connection: None,
            tables: HashMap::new(),
            plans: Plans::default(),
            committed: 0,
            location,
            settings,
        })
    }

    /// Does something on the open connection; a failed disk or moved file closes it.
    fn on<T>(
        &mut self,
        action: impl FnOnce(&mut SqliteDatabase, &Connection) -> DbResult<T>,
    ) -> DbResult<T> {
        self.connect()?;
        // Taken out for the call, so that the action can use the rest of the state.
        let Some(connection) = self.connection.take() else {
            return Err(DbError::new(DbErrorKind::Bug, "the connection is in use"));
        };
        let done = action(self, &connection);
        let broken = matches!(&done, Err(e) if e.kind == DbErrorKind::Connection);
        if !broken && connection.is_autocommit() {
            self.connection = Some(connection);
        }
        done
    }

    /// Runs statements in a write transaction of their own.
    fn change(&mut self, statements: &[String]) -> DbResult<()> {
        self.on(|this, connection| {
            begin(connection, &this.waiting)?;
            let done = statements
                .iter()
                .try_for_each(|sql| run(connection, sql))
                .and_then(|()| commit(connection, &this.waiting));
            if done.is_err() {
                roll_back(connection)?;
            }
            done
        })
    }

    fn carry_out(&mut self, connection: &Connection, t: &Transaction<'_>) -> DbResult<()> {
        self.position_sql.advance(connection, &self.settings.owner, t.advances)?;
        apply::write_rows(connection, &mut self.plans, &mut self.encoder, t)?;
        self.letter_sql.insert(connection, &self.settings, t)?;
        commit(connection, &self.waiting)
    }
}

impl Database for SqliteDatabase {
    fn connect(&mut self) -> DbResult<()> {
        if self.connection.is_some() {
            return Ok(());
        }
        let connection = connection::open(&self.location, &self.waiting)?;
        storage::ensure(&connection, &self.waiting, &self.settings)?;
        self.connection = Some(connection);
        Ok(())
    }

    fn disconnect(&mut self) {
        self.connection = None;
        self.committed = 0;
        self.forget_tables();
    }

    fn look(&mut self, tables: &[TableLook]) -> Vec<Check> {
        look::look(&self.location, tables)
    }

    fn claim(
        &mut self,
        seats: &[Seat],
        resolver: &mut dyn StartResolver,
    ) -> Result<Vec<Position>, ClaimError> {
        let mut refused = None;
        let done = self.on(|this, connection| {
            let sql = &this.position_sql;
            match positions::claim(connection, &this.waiting, &this.settings, sql, seats, resolver)
            {
                Ok(positions) => Ok(positions),
                Err(ClaimError::Database(error)) => Err(error),
                Err(ClaimError::Resolve(error)) => {
                    refused = Some(error);
                    Ok(Vec::new())
                }
            }
        });
        match refused {
            Some(error) => Err(ClaimError::Resolve(error)),
            None => Ok(done?),
        }
    }

    fn positions(&mut self, partitions: &[TopicPartition]) -> DbResult<Vec<Option<Position>>> {
        self.on(|this, connection| {
            let sql = &this.position_sql;
            positions::read_locked(connection, &this.waiting, &this.settings, sql, partitions)
        })
    }

    fn stored(&mut self) -> DbResult<Vec<(TopicPartition, i64)>> {
        self.on(|this, connection| this.position_sql.stored(connection, &this.settings.owner))
    }

    fn set_positions(&mut self, changes: &[(TopicPartition, Option<i64>)]) -> DbResult<()> {
        self.on(|this, connection| {
            begin(connection, &this.waiting)?;
            let done = this
                .position_sql
                .set(connection, &this.settings.owner, changes)
                .and_then(|()| commit(connection, &this.waiting));
            if done.is_err() {
                roll_back(connection)?;
            }
            done
        })
    }

    fn table(&mut self, name: &TableName) -> DbResult<Option<Arc<Table>>> {
        if let Some(known) = self.tables.get(name) {
            return Ok(Some(known.clone()));
        }
        let found = self.on(|_, connection| catalogue::read(connection, name))?.map(Arc::new);
        if let Some(table) = &found {
            self.tables.insert(name.clone(), table.clone());
        }
        Ok(found)
    }

    fn forget_tables(&mut self) {
        self.tables.clear();
        self.plans.clear();
    }

    fn create_table_sql(&self, table: &NewTable) -> String {
        ddl::create_table(self.settings.types, &mut Encoder::new(&self.settings), table)
    }

    fn create_table(&mut self, table: &NewTable) -> DbResult<()> {
        let sql = self.create_table_sql(table);
        self.tables.remove(&table.name);
        self.change(&[sql])
    }

    fn add_columns(&mut self, table: &Table, columns: &[NewColumn]) -> DbResult<()> {
        self.tables.retain(|_, known| known.name != table.name);
        self.on(|this, connection| {
            begin(connection, &this.waiting)?;
            let done = this.add_missing(connection, table, columns);
            if done.is_err() {
                roll_back(connection)?;
            }
            done
        })
    }

    fn start(&mut self, transaction: &Transaction<'_>) -> DbResult<()> {
        if self.committed > 0 {
            return Err(DbError::new(DbErrorKind::Bug, "a transaction is in flight already"));
        }
        self.on(|this, connection| {
            begin(connection, &this.waiting)?;
            let done = this.carry_out(connection, transaction);
            if done.is_err() {
                roll_back(connection)?;
            }
            done
        })?;
        self.committed += 1;
        Ok(())
    }

    fn settle(&mut self) -> DbResult<()> {
        match self.committed.checked_sub(1) {
            Some(rest) => {
                self.committed = rest;
                Ok(())
            }
            None => Err(DbError::new(DbErrorKind::Bug, "no transaction is in flight")),
        }
    }

    fn in_flight(&self) -> usize {
        self.committed
    }

    fn in_flight_max(&self) -> usize {
        1
    }

    fn abandon(&mut self) {
        self.committed = 0;
    }

    fn outbox(&mut self, letters_max: usize) -> DbResult<Vec<DeadLetter>> {
        self.on(|this, connection| this.letter_sql.outbox(connection, &this.settings, letters_max))
    }

    fn forwarded(&mut self, ids: &[i64]) -> DbResult<()> {
        self.on(|this, connection| this.letter_sql.forwarded(connection, &this.waiting, ids))
    }

    fn set_cancel(&mut self, cancelled: Arc<dyn Fn() -> bool + Send + Sync>) {
        self.waiting.set_cancel(cancelled);
    }
}

impl SqliteDatabase {
    /// Adds the columns that nobody has added meanwhile, and commits.
    fn add_missing(
        &mut self,
        connection: &Connection,
        table: &Table,
        columns: &[NewColumn],
    ) -> DbResult<()> {
        let now = catalogue::read(connection, &table.name)?.ok_or_else(|| {
            DbError::new(DbErrorKind::Drift, format!("the table {} is gone", table.name))
        })?;
        for column in columns.iter().filter(|c| now.column(&c.name).is_none()) {
            let sql = ddl::add_column(self.settings.types, &mut self.encoder, &now, column);
            run(connection, &sql)?;
        }
        commit(connection, &self.waiting)
    }
}
