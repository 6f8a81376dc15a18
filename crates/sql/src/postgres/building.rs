//! The pipeline of one transaction while it is built, and what its statements are for.
//!
//! Place in the data path: every part of a transaction adds its statements here, so that the number
//! of a statement in the server's answer leads back to the part, the write and the plan.

use super::statements::Statements;
use super::wire::{Format, Pipeline};
use std::sync::Arc;

/// What a statement of a transaction's pipeline is for; its place in the list is its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Time limits for this transaction.
    Limits,
    /// Moves the offset row of this number among the transaction's advances.
    Advance(usize),
    /// Takes on the role that rows are written as, or gives it back.
    Role,
    /// Empties a table.
    Truncate,
    /// Fixes a table's types for the COPY behind it.
    Guard {
        write: usize,
        plan: u64,
    },
    /// Fails where a key exists that an append takes for new.
    Probe {
        write: usize,
        plan: u64,
    },
    Copy {
        write: usize,
        plan: u64,
        append: bool,
    },
    /// Rows as arrays: an error belongs to no row.
    Arrays {
        write: usize,
        plan: u64,
    },
    DeadLetters,
    /// Checks constraints that would otherwise wait for the commit.
    Constraints,
}

pub(super) struct Building<'a> {
    pub(super) pipeline: &'a mut Pipeline,
    pub(super) statements: &'a mut Statements,
    /// Statements that this pipeline prepares.
    pub(super) parsed: &'a mut Vec<Arc<str>>,
    pub(super) steps: &'a mut Vec<Step>,
}

impl Building<'_> {
    /// The name to bind for a statement.
    pub(super) fn prepare(&mut self, sql: &Arc<str>) -> Arc<str> {
        self.statements.prepare(self.pipeline, sql, self.parsed)
    }

    /// Adds a statement without parameters.
    pub(super) fn plain(&mut self, sql: &Arc<str>, step: Step) {
        let name = self.prepare(sql);
        self.pipeline.bind(&name, &[], Format::Binary).execute(0);
        self.steps.push(step);
    }
}
