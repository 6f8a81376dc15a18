//! Transactions in flight: what each carries, so that its outcome can be told and its rows found.

use crate::bind::Part;
use crate::database::{Database, DbErrorKind, DbResult};
use crate::plan::Catalog;
use crate::table::{NewColumn, NewTable, Table, TableName};
use crate::write::{Advance, RejectRow, RowRef, TableWrite, Transaction, WriteMode};
use data::{Batch, TopicPartition};
use std::collections::VecDeque;
use std::sync::Arc;

/// A transaction that was started.
#[derive(Debug)]
pub(crate) struct Flight {
    /// The number of the accepted batches it is about.
    pub accepted: u64,
    pub parts: Vec<Part>,
    /// Where each partition stands after it.
    pub ends: Vec<(TopicPartition, i64)>,
    pub truncates: Vec<TableName>,
    pub writes: Vec<TableWrite>,
    pub rejects: Vec<RejectRow>,
    pub rows: u64,
    pub ignored: Vec<(String, u64)>,
}

impl Flight {
    /// The row that an error names, where the error can only be that row's own.
    pub(crate) fn locate(&self, error: &crate::database::DbError) -> Option<RowRef> {
        let location = error.location?;
        let write = self.writes.get(location.write)?;
        let row = write.rows.get(location.row)?;
        let alone = self
            .writes
            .iter()
            .all(|w| matches!(w.plan.mode, WriteMode::Insert | WriteMode::InsertIgnore));
        // Operations that were reduced and sorted meet other rows than one after the other would:
        // such a row is guilty only if it fails alone.
        let other_rows = error.sqlstate.as_deref().is_some_and(|state| {
            matches!(state, "23505" | "23503" | "23P01")
                || state.contains("UNIQUE")
                || state.contains("FOREIGN")
        });
        (alone || !other_rows).then_some(*row)
    }
}

impl Flight {
    /// Which of these rows, the same record for each member, an error is about: the one in the write,
    /// or in the table, that the database named; else all of them.
    pub(crate) fn to_blame(
        &self,
        error: &crate::database::DbError,
        rows: &[(u32, u32)],
    ) -> Vec<RowRef> {
        let all = rows.iter().map(|(batch, row)| RowRef { batch: *batch, row: *row });
        let named = |at: &RowRef| {
            let of_write = |(n, write): (usize, &TableWrite)| {
                let by_number = error.write == Some(n);
                let by_table = error.write.is_none()
                    && error.table.as_deref() == Some(write.plan.table.name.name.as_str());
                (by_number || by_table) && write.rows.contains(at)
            };
            self.writes.iter().enumerate().any(of_write)
        };
        let found: Vec<RowRef> = all.clone().filter(named).collect();
        if found.is_empty() { all.collect() } else { found }
    }

    /// The write that a row is part of, and its number there.
    pub(crate) fn place_of(&self, row: RowRef) -> Option<(&TableWrite, usize)> {
        let mut places = self.writes.iter().filter_map(|write| {
            write.rows.iter().position(|other| *other == row).map(|index| (write, index))
        });
        places.next()
    }
}

/// A database and what is under way there.
pub(crate) struct Pipeline {
    pub db: Box<dyn Database>,
    /// Oldest first.
    pub flights: VecDeque<Flight>,
    /// Committed, not told to the runtime yet.
    pub landed: Vec<Flight>,
    /// Abandoned; their outcome is not known.
    pub unknown: Vec<Flight>,
}

impl Pipeline {
    pub(crate) fn new(db: Box<dyn Database>) -> Pipeline {
        Pipeline { db, flights: VecDeque::new(), landed: Vec::new(), unknown: Vec::new() }
    }

    /// Waits until fewer than `limit` transactions are in flight.
    ///
    /// # Errors
    /// Those of the oldest, which stays in front.
    pub(crate) fn settle_below(&mut self, limit: usize) -> DbResult<()> {
        while self.flights.len() >= limit.max(1) {
            self.db.settle()?;
            self.landed.extend(self.flights.pop_front());
        }
        Ok(())
    }

    /// Waits for everything in flight.
    ///
    /// # Errors
    /// Those of the oldest that failed, which stays in front.
    pub(crate) fn settle_all(&mut self) -> DbResult<()> {
        self.settle_below(1)
    }

    /// Starts a transaction. On an error it is given back, after what was in flight came to its
    /// end where the error is about its rows alone.
    ///
    /// # Errors
    /// The database's, with the flight it is about; without one it is about those in flight.
    pub(crate) fn start(
        &mut self,
        flight: Flight,
        batches: &[Batch],
        advances: &[Advance],
    ) -> Result<(), (crate::database::DbError, Option<Box<Flight>>)> {
        self.settle_below(self.db.in_flight_max()).map_err(|e| (e, None))?;
        let transaction = Transaction {
            batches,
            advances,
            truncates: &flight.truncates,
            writes: &flight.writes,
            rejects: &flight.rejects,
        };
        match self.db.start(&transaction) {
            Ok(()) => {
                self.flights.push_back(flight);
                Ok(())
            }
            Err(error) if error.kind == DbErrorKind::Data => {
                self.settle_all().map_err(|e| (e, None))?;
                Err((error, Some(Box::new(flight))))
            }
            Err(error) => {
                // Part of it may have been sent.
                self.flights.push_back(flight);
                Err((error, None))
            }
        }
    }

    /// Gives up on everything in flight; what became of it is asked later.
    pub(crate) fn abandon(&mut self) {
        self.db.abandon();
        self.unknown.extend(self.flights.drain(..));
    }
}

impl Catalog for Pipeline {
    fn table(&mut self, name: &TableName) -> DbResult<Option<Arc<Table>>> {
        self.settle_all()?;
        self.db.table(name)
    }

    fn lacks_schema(&mut self, name: &TableName) -> DbResult<bool> {
        self.settle_all()?;
        self.db.lacks_schema(name)
    }

    fn forget_tables(&mut self) -> DbResult<()> {
        self.settle_all()?;
        self.db.forget_tables();
        Ok(())
    }

    fn create_table_sql(&self, table: &NewTable) -> String {
        self.db.create_table_sql(table)
    }

    fn create_table(&mut self, table: &NewTable) -> DbResult<()> {
        self.settle_all()?;
        self.db.create_table(table)
    }

    fn add_columns(&mut self, table: &Table, columns: &[NewColumn]) -> DbResult<()> {
        self.settle_all()?;
        self.db.add_columns(table, columns)
    }
}
