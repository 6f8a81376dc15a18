//! Transactions of the PostgreSQL destination: how they are built, and what their ends mean.
//!
//! Place in the data path: `start` and `settle` of the database. A transaction's writes are encoded
//! straight into one pipeline; what the server says of it comes back to the plan that is to blame.
//!
//! Invariant: only the first failure since the last `abandon` is looked into. What was sent behind it
//! fails because it failed.

use super::building::{Building, Step};
use super::catalog::{self, PgTable};
use super::database::{PostgresDatabase, not_connected};
use super::queue::{Sent, copy_is_refused};
use super::wire::{Failure, Pipeline, Reply};
use super::write::{self, PlanState};
use super::{names, rights};
use crate::database::{DbError, DbErrorKind, DbResult};
use crate::table::TableName;
use crate::write::{Transaction, WritePlan};
use std::sync::Arc;

/// Plans whose statements and encoders are kept.
const PLANS_MAX: usize = 1024;

impl PostgresDatabase {
    /// The outcome of the oldest transaction without an answer.
    pub(super) fn next_outcome(&mut self) -> DbResult<()> {
        let Some(session) = self.session.as_mut() else {
            self.sent.clear();
            return Err(not_connected());
        };
        let reply = match session.finish() {
            Ok(reply) => reply,
            Err(error) => {
                if session.is_broken() || error.kind == DbErrorKind::Connection {
                    self.failed = true;
                    self.sent.pop_front();
                    self.lose_session();
                }
                return Err(error);
            }
        };
        let sent = self.sent.pop_front().unwrap_or_default();
        let outcome = self.outcome(&sent, &reply);
        if outcome.is_err() {
            self.failed = true;
            if let Some(session) = self.session.as_mut() {
                session.statements.forget(&sent.parsed);
            }
        }
        outcome
    }

    fn outcome(&mut self, sent: &Sent, reply: &Reply) -> DbResult<()> {
        let Some(failure) = &reply.failure else {
            sent.committed(reply)?;
            for step in &sent.steps {
                if let Step::Copy { plan, append: true, .. } = step
                    && let Some(state) = self.plans.get_mut(plan)
                {
                    state.append_succeeded();
                }
            }
            return Ok(());
        };
        if self.failed {
            let text = "the transaction before this one failed";
            return Err(DbError::new(DbErrorKind::Stale, text));
        }
        let error = self.explain(sent, failure);
        if self.note_pooler(Some(&failure.error.code)) {
            self.lose_session();
            return Err(DbError::new(DbErrorKind::Concurrency, error.message));
        }
        Err(error)
    }

    /// The error of the first failure, and what is to be done differently next time.
    fn explain(&mut self, sent: &Sent, failure: &Failure) -> DbError {
        let step = sent.step(failure);
        let plan = match step {
            Some(
                Step::Guard { plan, .. }
                | Step::Probe { plan, .. }
                | Step::Copy { plan, .. }
                | Step::Arrays { plan, .. },
            ) => self.plans.get_mut(&plan),
            _ => None,
        };
        let mut error = sent.failed(failure, plan.as_ref().map(|p| p.table()));
        let lacking = error.kind != DbErrorKind::Data && error.sqlstate.as_deref() == Some("42501");
        if lacking || step == Some(Step::Role) {
            let login = self.settings.connect.user_or_default();
            error = match (&self.role, step) {
                (Some(role), Some(Step::Role)) => role.refused(error, &login),
                (role, _) => {
                    let role = role.as_ref().map_or(&*login, |role| &*role.name);
                    rights::lacking(error, role, plan.as_ref().map(|p| p.plan()))
                }
            };
        }
        if let Some(state) = plan {
            let wrong_guess = error.kind == DbErrorKind::Concurrency;
            match step {
                Some(Step::Copy { .. }) if copy_is_refused(&failure.error.code) => {
                    state.refuse_copy();
                }
                Some(Step::Probe { .. } | Step::Copy { append: true, .. }) if wrong_guess => {
                    state.append_failed();
                }
                _ if error.kind == DbErrorKind::Data => state.locate_errors(),
                _ => {}
            }
        }
        error
    }

    /// Makes the plans of a transaction ready.
    pub(super) fn prepare_plans(&mut self, transaction: &Transaction<'_>) -> DbResult<()> {
        for write in transaction.writes {
            if self.plans.contains_key(&write.plan.id) {
                continue;
            }
            let table = self.table_of(&write.plan)?;
            if self.plans.len() >= PLANS_MAX {
                self.plans.clear();
            }
            let state = PlanState::new(&write.plan, &table, &self.values)?;
            self.plans.insert(write.plan.id, state);
        }
        Ok(())
    }

    /// The catalogue's view of a plan's table, which must be the one the plan was made for.
    pub(super) fn table_of(&mut self, plan: &WritePlan) -> DbResult<Arc<PgTable>> {
        let found = match self.tables.values().find(|t| Arc::ptr_eq(&t.table, &plan.table)) {
            Some(table) => Some(table.clone()),
            None => self.load(&plan.table.name)?,
        };
        match found {
            Some(table) if *table.table == *plan.table => Ok(table),
            Some(_) => {
                self.tables.clear();
                let text = format!("the table {} has been changed", plan.table.name);
                Err(DbError::new(DbErrorKind::Drift, text))
            }
            None => {
                let text = format!("the table {} is gone", plan.table.name);
                Err(DbError::new(DbErrorKind::Drift, text).sqlstate("42P01"))
            }
        }
    }

    /// A table, from the cache or the catalogue.
    pub(super) fn load(&mut self, name: &TableName) -> DbResult<Option<Arc<PgTable>>> {
        if let Some(table) = self.tables.get(name) {
            return Ok(Some(table.clone()));
        }
        let role = self.role.clone();
        let set = role.as_ref().map(|role| &*role.set);
        let login = self.settings.connect.user_or_default();
        let found = self.ask(|session, _| {
            let mut pipeline = Pipeline::new();
            catalog::ask(&mut pipeline, name, set);
            let reply = session.run(&mut pipeline)?;
            if let (Some(role), Some(failure)) = (&role, &reply.failure) {
                return Err(role.blind(failure, name, &login));
            }
            let mut found = catalog::read(&reply, name, set.is_some())?;
            if let Some(table) = &mut found {
                catalog::complete(session, table)?;
            }
            Ok(found)
        })?;
        let table = found.map(Arc::new);
        if let Some(table) = &table {
            self.tables.insert(name.clone(), table.clone());
        }
        Ok(table)
    }

    /// Builds the pipeline of a transaction.
    pub(super) fn build(
        &mut self,
        transaction: &Transaction<'_>,
        pipeline: &mut Pipeline,
    ) -> DbResult<Sent> {
        let mut sent = Sent {
            advances: transaction.advances.to_vec(),
            rows: transaction.writes.iter().map(|w| w.rows.len()).collect(),
            ..Sent::default()
        };
        let Some(session) = self.session.as_mut() else { return Err(not_connected()) };
        let limits = session.local_settings();
        let mut building = Building {
            pipeline,
            statements: &mut session.statements,
            parsed: &mut sent.parsed,
            steps: &mut sent.steps,
        };
        if let Some(limits) = limits {
            building.plain(&limits, Step::Limits);
        }
        self.ledger.push_advances(&mut building, transaction);
        let role = self.role.as_ref().filter(|_| transaction.has_rows());
        if let Some(role) = role {
            building.plain(&role.set, Step::Role);
        }
        for table in transaction.truncates {
            building
                .plain(&format!("TRUNCATE TABLE {}", names::table(table)).into(), Step::Truncate);
        }
        let (mut deferrable, mut elsewhere) = (false, false);
        let mut written = Ok(());
        for (index, write) in transaction.writes.iter().enumerate() {
            let Some(state) = self.plans.get_mut(&write.plan.id) else { continue };
            deferrable |= state.deferrable();
            elsewhere |= state.writes_elsewhere();
            written = write::push(&mut building, state, index, write, transaction.batches);
            if written.is_err() {
                break;
            }
        }
        if written.is_ok() {
            if let Some(role) = role {
                if deferrable || elsewhere {
                    building.plain(&self.constraints_sql, Step::Constraints);
                }
                building.plain(&role.reset, Step::Role);
            }
            if !transaction.rejects.is_empty() {
                self.ledger.push_letters(&mut building, transaction);
            }
            if deferrable && role.is_none() {
                building.plain(&self.constraints_sql, Step::Constraints);
            }
            building.statements.close_doomed(building.pipeline);
            building.pipeline.sync();
            return Ok(sent);
        }
        session.statements.forget(&sent.parsed);
        written.map(|()| sent)
    }
}
