//! The `Database` of PostgreSQL.
//!
//! Place in the data path: called by the exactly-once protocol from the task's own thread. One
//! transaction is one pipeline up to its `Sync`: advance, rows, rejects; the server commits it as a
//! whole or not at all. Two are under way, so that the server never waits for us.
//!
//! Invariants:
//! - nothing is sent of a transaction that has a value without a form in its column;
//! - after a failure nothing of the connection's state is trusted but what the server keeps: plans and
//!   statements of the failed pipeline are made again;
//! - behind a transaction pooler no statement has a name and no setting outlives a transaction.

use super::building::{Building, Step};
use super::catalog::{self, PgTable};
use super::queue::{Sent, copy_is_refused};
use super::session::{Cancel, Session};
use super::settings::PgSettings;
use super::value::ValueSettings;
use super::wire::{Failure, PgError, Pipeline, Reply};
use super::write::{self, PlanState};
use super::{advance, ddl, dead_letters, store};
use crate::config::{DatabaseSettings, Pooler};
use crate::database::{ClaimError, Database, DbError, DbErrorKind, DbResult, Position};
use crate::table::{NewColumn, NewTable, Table, TableName};
use crate::write::{Transaction, WritePlan};
use api::{DeadLetter, Seat, StartResolver};
use data::TopicPartition;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// Two keep the server busy; more gained nothing when measured.
const IN_FLIGHT_MAX: usize = 2;
/// How long leftover answers are waited for before the connection is given up.
const ABANDON_WAIT: Duration = Duration::from_secs(2);
/// The same where the task has to stop.
const STOP_WAIT: Duration = Duration::from_millis(200);
/// A buffer that one huge transaction has grown is given back beyond this.
const BUFFER_KEEP_BYTES: usize = 8 << 20;
/// Plans whose statements and encoders are kept.
const PLANS_MAX: usize = 1024;

/// A PostgreSQL database as a destination.
pub struct PostgresDatabase {
    settings: PgSettings,
    values: Arc<ValueSettings>,
    session: Option<Session>,
    /// Statements may have names: there is no transaction pooler in between.
    named: bool,
    tables: HashMap<TableName, Arc<PgTable>>,
    plans: HashMap<u64, PlanState>,
    /// Sent, and not answered yet.
    sent: VecDeque<Sent>,
    /// Outcomes that were read before they were asked for.
    settled: VecDeque<DbResult<()>>,
    /// Something has failed since the last `abandon`: what is behind it fails for no reason of its
    /// own.
    failed: bool,
    advance_sql: Arc<str>,
    dead_letters_sql: Arc<str>,
    constraints_sql: Arc<str>,
    cancel: Cancel,
    /// Kept between transactions.
    pipeline: Pipeline,
}

impl std::fmt::Debug for PostgresDatabase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PostgresDatabase")
            .field("server", &self.settings.connect.to_string())
            .field("in_flight", &self.in_flight())
            .finish_non_exhaustive()
    }
}

impl PostgresDatabase {
    /// Does not connect yet.
    ///
    /// # Errors
    /// `Config`: the URL cannot be used.
    pub fn new(settings: DatabaseSettings) -> DbResult<PostgresDatabase> {
        let named = settings.pooler == Pooler::None;
        let advance_sql = advance::sql(&settings.offsets_table).into();
        let dead_letters_sql = dead_letters::insert_sql(&settings.dead_letters_table).into();
        let values = Arc::new(ValueSettings::new(&settings));
        Ok(PostgresDatabase {
            values,
            settings: PgSettings::new(settings)?,
            session: None,
            named,
            tables: HashMap::new(),
            plans: HashMap::new(),
            sent: VecDeque::new(),
            settled: VecDeque::new(),
            failed: false,
            advance_sql,
            dead_letters_sql,
            constraints_sql: "SET CONSTRAINTS ALL IMMEDIATE".into(),
            cancel: Arc::new(|| false),
            pipeline: Pipeline::new(),
        })
    }

    fn typing(&self) -> ddl::Typing {
        let common = &self.settings.common;
        ddl::Typing { dialect: common.types, timestamps: common.timestamp_column }
    }

    /// Runs something else than a transaction: first what is under way is read to its end, and kept.
    fn ask<T>(
        &mut self,
        run: impl FnOnce(&mut Session, &PgSettings) -> DbResult<T>,
    ) -> DbResult<T> {
        self.connect()?;
        while !self.sent.is_empty() {
            let outcome = self.next_outcome();
            if outcome.as_ref().is_err_and(|e| e.kind == DbErrorKind::Cancelled) {
                return Err(DbError::new(DbErrorKind::Cancelled, "stopped while waiting"));
            }
            self.settled.push_back(outcome);
        }
        self.connect()?;
        let Some(session) = self.session.as_mut() else { return Err(not_connected()) };
        let result = run(session, &self.settings);
        self.after(result)
    }

    /// Notes what an error says about the connection.
    fn after<T>(&mut self, result: DbResult<T>) -> DbResult<T> {
        if let Err(error) = &result {
            self.note_pooler(error.sqlstate.as_deref());
            if self.session.as_ref().is_some_and(|s| !s.is_usable()) {
                self.lose_session();
            }
        }
        result
    }

    /// A statement's name that another client's session does not know: a pooler is in between.
    fn note_pooler(&mut self, sqlstate: Option<&str>) -> bool {
        let symptom = matches!(sqlstate, Some("26000" | "42P05")) && self.named;
        if symptom {
            tracing::warn!(
                connector = self.settings.common.connector,
                "prepared statements do not work here, as behind a pooler in transaction mode; \
                 going on without them (connection.pooler=transaction)"
            );
            self.named = false;
            self.plans.clear();
        }
        symptom
    }

    fn lose_session(&mut self) {
        self.session = None;
        let lost = self.sent.len();
        self.sent.clear();
        self.settled.extend((0..lost).map(|_| {
            Err(DbError::new(DbErrorKind::Connection, "the connection was lost; outcome unknown"))
        }));
    }

    /// The outcome of the oldest transaction without an answer.
    fn next_outcome(&mut self) -> DbResult<()> {
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
        let error = sent.failed(failure, plan.as_ref().map(|p| p.table()));
        if let Some(state) = plan {
            let wrong_guess = error.kind == DbErrorKind::Concurrency;
            match step {
                Some(Step::Copy { .. }) if copy_is_refused(&failure.error.code) => {
                    state.refuse_copy();
                }
                Some(Step::Probe { .. } | Step::Copy { append: true, .. }) if wrong_guess => {
                    state.append_failed();
                }
                _ => {}
            }
        }
        error
    }

    /// Makes the plans of a transaction ready.
    fn prepare_plans(&mut self, transaction: &Transaction<'_>) -> DbResult<()> {
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
    fn table_of(&mut self, plan: &WritePlan) -> DbResult<Arc<PgTable>> {
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
    fn load(&mut self, name: &TableName) -> DbResult<Option<Arc<PgTable>>> {
        if let Some(table) = self.tables.get(name) {
            return Ok(Some(table.clone()));
        }
        let found = self.ask(|session, _| {
            let mut pipeline = Pipeline::new();
            catalog::ask(&mut pipeline, name);
            catalog::read(&session.run(&mut pipeline)?, name)
        })?;
        let table = found.map(Arc::new);
        if let Some(table) = &table {
            self.tables.insert(name.clone(), table.clone());
        }
        Ok(table)
    }

    /// Builds the pipeline of a transaction.
    fn build(&mut self, transaction: &Transaction<'_>, pipeline: &mut Pipeline) -> DbResult<Sent> {
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
        advance::push(
            &mut building,
            &self.advance_sql,
            &self.settings.common.owner,
            &sent.advances,
        );
        let mut deferrable = false;
        let mut written = Ok(());
        for (index, write) in transaction.writes.iter().enumerate() {
            let Some(state) = self.plans.get_mut(&write.plan.id) else { continue };
            deferrable |= state.deferrable();
            written = write::push(&mut building, state, index, write, transaction.batches);
            if written.is_err() {
                break;
            }
        }
        if written.is_ok() {
            if !transaction.rejects.is_empty() {
                let sql = &self.dead_letters_sql;
                dead_letters::push(&mut building, sql, &self.settings.common, transaction);
            }
            if deferrable {
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

fn not_connected() -> DbError {
    DbError::new(DbErrorKind::Connection, "not connected")
}

impl Database for PostgresDatabase {
    fn connect(&mut self) -> DbResult<()> {
        let idle = self.sent.is_empty();
        if let Some(session) = &mut self.session {
            if !session.is_broken() && (!idle || session.is_alive()) {
                return Ok(());
            }
            self.lose_session();
        }
        let mut session = Session::open(&self.settings, self.named, &self.cancel)?;
        store::ensure(&mut session, &self.settings)?;
        self.session = Some(session);
        Ok(())
    }

    fn disconnect(&mut self) {
        self.session = None;
        self.sent.clear();
        self.settled.clear();
        self.failed = false;
    }

    fn claim(
        &mut self,
        seats: &[Seat],
        resolver: &mut dyn StartResolver,
    ) -> Result<Vec<Position>, ClaimError> {
        let mut unresolved = None;
        let claimed =
            self.ask(|session, settings| match store::claim(session, settings, seats, resolver) {
                Ok(positions) => Ok(positions),
                Err(ClaimError::Database(error)) => Err(error),
                Err(ClaimError::Resolve(error)) => {
                    unresolved = Some(error);
                    Ok(Vec::new())
                }
            });
        match unresolved {
            Some(error) => Err(ClaimError::Resolve(error)),
            None => Ok(claimed?),
        }
    }

    fn positions(&mut self, partitions: &[TopicPartition]) -> DbResult<Vec<Option<Position>>> {
        self.ask(|session, settings| store::positions(session, settings, partitions))
    }

    fn table(&mut self, name: &TableName) -> DbResult<Option<Arc<Table>>> {
        Ok(self.load(name)?.map(|table| table.table.clone()))
    }

    fn forget_tables(&mut self) {
        self.tables.clear();
        self.plans.clear();
        if let Some(session) = &mut self.session {
            session.statements.forget_all();
        }
    }

    fn create_table_sql(&self, table: &NewTable) -> String {
        ddl::create_table(table, self.typing())
    }

    fn create_table(&mut self, table: &NewTable) -> DbResult<()> {
        let columns = table.columns.iter().map(|c| c.name.as_str());
        ddl::check_names(columns.chain([table.name.name.as_str()]))?;
        let sql = ddl::create_table(table, self.typing());
        self.tables.remove(&table.name);
        self.ask(|session, _| {
            let result = session.execute(&ddl::locked(&table.name, &sql));
            result.map_err(|e| ddl::refused(session, e, &table.name, &sql))
        })
    }

    fn add_columns(&mut self, table: &Table, columns: &[NewColumn]) -> DbResult<()> {
        if columns.is_empty() {
            return Ok(());
        }
        ddl::check_names(columns.iter().map(|c| c.name.as_str()))?;
        let sql = ddl::add_columns(&table.name, columns, self.typing());
        self.tables.retain(|_, t| t.table.name != table.name);
        self.ask(|session, _| {
            let result = session.execute(&ddl::locked(&table.name, &sql));
            result.map_err(|e| ddl::refused(session, e, &table.name, &sql))
        })
    }

    fn start(&mut self, transaction: &Transaction<'_>) -> DbResult<()> {
        self.connect()?;
        self.prepare_plans(transaction)?;
        let mut pipeline = std::mem::take(&mut self.pipeline);
        let built = self.build(transaction, &mut pipeline);
        let result = built.and_then(|sent| {
            let Some(session) = self.session.as_mut() else { return Err(not_connected()) };
            session.start(&mut pipeline)?;
            self.sent.push_back(sent);
            Ok(())
        });
        if result.is_err() {
            pipeline.clear();
            if self.session.as_ref().is_some_and(Session::is_broken) {
                self.lose_session();
            }
        }
        if pipeline.capacity() <= BUFFER_KEEP_BYTES {
            self.pipeline = pipeline;
        }
        result
    }

    fn settle(&mut self) -> DbResult<()> {
        if let Some(outcome) = self.settled.pop_front() {
            return outcome;
        }
        if self.sent.is_empty() {
            return Err(DbError::new(DbErrorKind::Bug, "no transaction is under way"));
        }
        self.next_outcome()
    }

    fn in_flight(&self) -> usize {
        self.settled.len() + self.sent.len()
    }

    fn in_flight_max(&self) -> usize {
        IN_FLIGHT_MAX
    }

    fn abandon(&mut self) {
        self.settled.clear();
        let mut interrupted = false;
        let limit = if (self.cancel)() { STOP_WAIT } else { ABANDON_WAIT };
        while let Some(sent) = self.sent.front() {
            let Some(session) = &mut self.session else { break };
            match session.finish_within(limit) {
                Ok(reply) => {
                    if reply.failure.is_some() {
                        session.statements.forget(&sent.parsed);
                    }
                    self.sent.pop_front();
                }
                Err(PgError::Timeout(_)) if !interrupted => {
                    session.interrupt(limit);
                    interrupted = true;
                }
                Err(_) => self.session = None,
            }
        }
        self.sent.clear();
        self.failed = false;
    }

    fn outbox(&mut self, letters_max: usize) -> DbResult<Vec<DeadLetter>> {
        self.ask(|session, settings| {
            let common = &settings.common;
            dead_letters::outbox(session, &common.dead_letters_table, &common.owner, letters_max)
        })
    }

    fn forwarded(&mut self, ids: &[i64]) -> DbResult<()> {
        if ids.is_empty() {
            return Ok(());
        }
        self.ask(|session, settings| {
            dead_letters::forwarded(session, &settings.common.dead_letters_table, ids)
        })
    }

    fn set_cancel(&mut self, cancelled: Cancel) {
        if let Some(session) = &mut self.session {
            session.cancel = cancelled.clone();
        }
        self.cancel = cancelled;
    }
}
