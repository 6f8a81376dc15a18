//! The trait between the exactly-once protocol and a database, and how databases report trouble.
//!
//! A database may have several transactions in flight ([`Database::start`], [`Database::settle`]);
//! they commit in order, and one that fails makes those behind it fail too, because their offset
//! rows no longer match. After any error the caller drops what is in flight and reads positions
//! again.

use crate::look::TableLook;
use crate::table::{NewColumn, NewTable, Table, TableName};
use crate::write::{TableWrite, Transaction};
use api::{Check, DeadLetter, Seat, StartResolver};
use data::{Batch, TopicPartition};
use std::sync::Arc;

/// What a failure means for the transaction and its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DbErrorKind {
    /// The server is gone, going, read-only or not reachable; outcomes in flight are unknown.
    Connection,
    /// Disk full, too many connections, timeouts: wait and try again.
    Resource,
    /// Deadlock, serialisation, lock timeout: try again soon.
    Concurrency,
    /// The table is not what it was when the plan was made: forget it and plan again, once.
    Drift,
    /// A row is wrong.
    Data,
    /// Credentials, privileges, definitions: nothing works until someone changes something.
    Config,
    /// An offset row was not where the transaction expected it: another owner or a reset.
    Stale,
    /// The task was asked to stop while waiting.
    Cancelled,
    /// A broken promise of our own or of the server.
    Bug,
}

/// A row of the failed transaction: `writes[write].rows[row]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowLocation {
    pub write: usize,
    pub row: usize,
}

/// An error of a database, with everything that helps to find the row and the operator's next step.
#[derive(Clone, Debug)]
pub struct DbError {
    pub kind: DbErrorKind,
    pub message: String,
    pub hint: Option<String>,
    pub sqlstate: Option<String>,
    pub column: Option<String>,
    /// The constraint that a row breaks.
    pub constraint: Option<String>,
    /// The write that failed, and the table that the error is about, where the database named them.
    pub write: Option<usize>,
    pub table: Option<String>,
    /// The guilty row where the database named one.
    pub location: Option<RowLocation>,
    /// It came of a constraint that is checked at the end of the transaction.
    pub at_commit: bool,
}

impl DbError {
    pub fn new(kind: DbErrorKind, message: impl Into<String>) -> DbError {
        DbError {
            kind,
            message: message.into(),
            hint: None,
            sqlstate: None,
            column: None,
            constraint: None,
            write: None,
            table: None,
            location: None,
            at_commit: false,
        }
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> DbError {
        self.hint = Some(hint.into());
        self
    }

    #[must_use]
    pub fn sqlstate(mut self, sqlstate: impl Into<String>) -> DbError {
        self.sqlstate = Some(sqlstate.into());
        self
    }

    #[must_use]
    pub fn at(mut self, location: RowLocation) -> DbError {
        self.location = Some(location);
        self
    }
}

impl std::fmt::Display for DbError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for DbError {}

pub type DbResult<T> = Result<T, DbError>;

/// Where a partition stands and who owns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    pub next_offset: i64,
    pub epoch: i64,
}

/// Why claiming partitions did not work: the database's trouble, or Kafka's answer about starts.
#[derive(Debug)]
pub enum ClaimError {
    Database(DbError),
    Resolve(api::Error),
}

impl From<DbError> for ClaimError {
    fn from(error: DbError) -> Self {
        ClaimError::Database(error)
    }
}

/// A connection to one database, opened when first needed and again after a failure.
pub trait Database: Send {
    /// Connects if need be and makes sure that the offset and dead-letter tables are there.
    /// # Errors
    /// `Config` with the DDL and GRANT to run where the role may not create them.
    fn connect(&mut self) -> DbResult<()>;

    /// Drops the connection; what was in flight has an unknown outcome.
    fn disconnect(&mut self);

    /// In one transaction: rows that are missing are stored with the start `resolver` gives, rows
    /// that exist are taken over (epoch + 1). A topic whose id differs from the stored one is
    /// refused (`Config`), naming both ways on.
    fn claim(
        &mut self,
        seats: &[Seat],
        resolver: &mut dyn StartResolver,
    ) -> Result<Vec<Position>, ClaimError>;

    /// The rows as they are, read under a lock, so that an orphaned transaction is waited for.
    /// `None`: no such row.
    fn positions(&mut self, partitions: &[TopicPartition]) -> DbResult<Vec<Option<Position>>>;

    /// Looks whether the database lets us in and these tables could be written, a line each. Changes
    /// nothing, and ends when it is told to.
    fn look(&mut self, _tables: &[TableLook]) -> Vec<Check> {
        Vec::new()
    }

    /// Every position of this owner, read under no lock.
    fn stored(&mut self) -> DbResult<Vec<(TopicPartition, i64)>>;

    /// In one transaction: sets positions (`None`: there is none), each under the next epoch, so that
    /// an owner that still runs writes no more. Whatever id the topic had is forgotten.
    fn set_positions(&mut self, changes: &[(TopicPartition, Option<i64>)]) -> DbResult<()>;

    /// A table from the catalogue, cached until [`Database::forget_tables`]; `None`: not there.
    fn table(&mut self, name: &TableName) -> DbResult<Option<Arc<Table>>>;

    /// Whether a table cannot be there because its schema is not.
    fn lacks_schema(&mut self, _name: &TableName) -> DbResult<bool> {
        Ok(false)
    }

    fn forget_tables(&mut self);

    /// The statement that [`Database::create_table`] would run, for messages.
    fn create_table_sql(&self, table: &NewTable) -> String;

    fn create_table(&mut self, table: &NewTable) -> DbResult<()>;

    fn add_columns(&mut self, table: &Table, columns: &[NewColumn]) -> DbResult<()>;

    /// Begins a transaction; it may still be in flight on return. Values that have no form in their
    /// column are `Data` errors with a location, found before anything is sent.
    fn start(&mut self, transaction: &Transaction<'_>) -> DbResult<()>;

    /// Waits for the oldest transaction in flight. `Ok` means committed, for certain.
    fn settle(&mut self) -> DbResult<()>;

    fn in_flight(&self) -> usize;

    /// How many transactions the caller may have in flight.
    fn in_flight_max(&self) -> usize;

    /// Names the column in an error of a row that has failed alone, `write.rows[row]`, as far as
    /// that can be found out. Nothing is in flight; no error but the one given is told.
    fn explain(
        &mut self,
        _error: &mut DbError,
        _write: &TableWrite,
        _row: usize,
        _batches: &[Batch],
    ) {
    }

    /// Forgets what is in flight, reading leftover answers; disconnects where that is not possible.
    fn abandon(&mut self);

    /// Dead letters not forwarded yet, oldest first.
    fn outbox(&mut self, letters_max: usize) -> DbResult<Vec<DeadLetter>>;

    fn forwarded(&mut self, ids: &[i64]) -> DbResult<()>;

    /// Others wait for the connection: nothing is to stay in flight between two calls.
    fn is_wanted(&self) -> bool {
        false
    }

    /// The caller has nothing to write or to ask for now.
    fn rest(&mut self) {}

    /// Called by waits: true ends them with `Cancelled`.
    fn set_cancel(&mut self, cancelled: Arc<dyn Fn() -> bool + Send + Sync>);
}
