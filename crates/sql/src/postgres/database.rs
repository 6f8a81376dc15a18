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

use super::catalog::PgTable;
use super::consumer::Role;
use super::ledger::{self, Ledger};
use super::pool::Tenant;
use super::queue::Sent;
use super::session::{Cancel, Session};
use super::settings::PgSettings;
use super::value::ValueSettings;
use super::wire::{PgError, Pipeline};
use super::write::PlanState;
use super::{ddl, look, names, store::OwnerTables};
use crate::config::{DatabaseSettings, Pooler};
use crate::database::{ClaimError, Database, DbError, DbErrorKind, DbResult, Position};
use crate::look::TableLook;
use crate::table::{NewColumn, NewTable, Table, TableName};
use crate::write::{TableWrite, Transaction};
use api::{Check, DeadLetter, Seat, StartResolver};
use data::{Batch, TopicPartition};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// Two keep the server busy; more gained nothing when measured.
const IN_FLIGHT_MAX: usize = 2;
/// How long leftover answers are waited for before the connection is given up.
const ABANDON_WAIT: Duration = Duration::from_secs(2);
/// The same where the task has to stop.
const STOP_WAIT: Duration = Duration::from_millis(200);
/// Beyond this no message can be sent, and nothing is gained by transactions that large.
const TRANSACTION_BYTES_MAX: usize = (1 << 30) - (1 << 20);
/// A buffer that one huge transaction has grown is given back beyond this.
const BUFFER_KEEP_BYTES: usize = 8 << 20;

/// Checks deferred constraints now. Within a block, because a statement of its own warns of a missing
/// transaction block each time.
const CONSTRAINTS_SQL: &str = "DO $$BEGIN SET CONSTRAINTS ALL IMMEDIATE; END$$";

/// A PostgreSQL database as a destination.
pub struct PostgresDatabase {
    pub(super) settings: PgSettings,
    pub(super) values: Arc<ValueSettings>,
    pub(super) session: Option<Session>,
    /// Statements may have names: there is no transaction pooler in between.
    pub(super) named: bool,
    pub(super) tables: HashMap<TableName, Arc<PgTable>>,
    pub(super) plans: HashMap<u64, PlanState>,
    /// Sent, and not answered yet.
    pub(super) sent: VecDeque<Sent>,
    /// Outcomes that were read before they were asked for.
    pub(super) settled: VecDeque<DbResult<()>>,
    /// Something has failed since the last `abandon`: what is behind it fails for no reason of its
    /// own.
    pub(super) failed: bool,
    pub(super) ledger: Arc<dyn Ledger>,
    /// Where sessions come from; `None`: it has one of its own.
    pub(super) tenant: Option<Tenant>,
    /// Whom rows are written as; `None`: whoever logged in.
    pub(super) role: Option<Role>,
    pub(super) constraints_sql: Arc<str>,
    pub(super) cancel: Cancel,
    /// Kept between transactions.
    pub(super) pipeline: Pipeline,
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
        let ledger = Arc::new(OwnerTables::new(&settings));
        Ok(PostgresDatabase::with(PgSettings::new(settings)?, ledger, None, None))
    }

    /// With positions and letters kept in `ledger`, sessions of a pool, and a role to write as.
    pub(super) fn with(
        settings: PgSettings,
        ledger: Arc<dyn Ledger>,
        tenant: Option<Tenant>,
        role: Option<Role>,
    ) -> PostgresDatabase {
        PostgresDatabase {
            values: Arc::new(ValueSettings::new(&settings.common)),
            named: settings.common.pooler == Pooler::None,
            settings,
            session: None,
            tables: HashMap::new(),
            plans: HashMap::new(),
            sent: VecDeque::new(),
            settled: VecDeque::new(),
            failed: false,
            ledger,
            tenant,
            role,
            constraints_sql: CONSTRAINTS_SQL.into(),
            cancel: Arc::new(|| false),
            pipeline: Pipeline::new(),
        }
    }

    fn typing(&self) -> ddl::Typing {
        let common = &self.settings.common;
        ddl::Typing { dialect: common.types, timestamps: common.timestamp_column }
    }

    /// Runs something else than a transaction: first what is under way is read to its end, and kept.
    pub(super) fn ask<T>(
        &mut self,
        run: impl FnOnce(&mut Session, &dyn Ledger) -> DbResult<T>,
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
        let result = run(session, &*self.ledger);
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
    pub(super) fn note_pooler(&mut self, sqlstate: Option<&str>) -> bool {
        let symptom = matches!(sqlstate, Some("26000" | "42P05")) && self.named;
        if symptom {
            tracing::warn!(
                connector = self.settings.common.connector,
                "prepared statements do not work here, as behind a pooler in transaction mode; \
                 going on without them (connection.pooler=transaction)"
            );
            self.named = false;
            self.plans.clear();
            if let Some(tenant) = &self.tenant {
                tenant.unname();
            }
        }
        symptom
    }

    pub(super) fn lose_session(&mut self) {
        self.session = None;
        let lost = self.sent.len();
        self.sent.clear();
        self.settled.extend((0..lost).map(|_| {
            Err(DbError::new(DbErrorKind::Connection, "the connection was lost; outcome unknown"))
        }));
    }
}

pub(super) fn not_connected() -> DbError {
    DbError::new(DbErrorKind::Connection, "not connected")
}

/// Half of the rows may fit; a row that does not fit alone is to blame.
fn too_large(bytes: usize) -> DbError {
    let text = format!("{bytes} bytes are more than PostgreSQL takes at once");
    DbError::new(DbErrorKind::Data, text).sqlstate("54000")
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
        let session = match &self.tenant {
            Some(tenant) => tenant.borrow(&self.cancel)?,
            None => {
                let mut session = Session::open(&self.settings, self.named, &self.cancel)?;
                self.ledger.ensure(&mut session)?;
                session
            }
        };
        self.named = session.statements.named();
        let mut session = session;
        if self.tenant.is_some() {
            // Memory goes with sessions, which are few.
            self.pipeline = std::mem::take(&mut session.spare);
        }
        self.session = Some(session);
        Ok(())
    }

    fn is_wanted(&self) -> bool {
        self.tenant.as_ref().is_some_and(Tenant::shares)
    }

    fn rest(&mut self) {
        if self.in_flight() == 0
            && let Some(tenant) = &self.tenant
            && let Some(mut session) = self.session.take()
        {
            session.spare = std::mem::take(&mut self.pipeline);
            tenant.give_back(session);
        }
    }

    fn disconnect(&mut self) {
        self.session = None;
        self.sent.clear();
        self.settled.clear();
        self.failed = false;
    }

    fn look(&mut self, tables: &[TableLook]) -> Vec<Check> {
        look::look(&self.settings, self.named, &self.cancel, tables)
    }

    fn claim(
        &mut self,
        seats: &[Seat],
        resolver: &mut dyn StartResolver,
    ) -> Result<Vec<Position>, ClaimError> {
        let mut unresolved = None;
        let claimed =
            self.ask(|session, ledger| match ledger::claim(ledger, session, seats, resolver) {
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
        self.ask(|session, ledger| ledger::positions(ledger, session, partitions))
    }

    fn stored(&mut self) -> DbResult<Vec<(TopicPartition, i64)>> {
        self.ask(|session, ledger| ledger.stored(session))
    }

    fn set_positions(&mut self, changes: &[(TopicPartition, Option<i64>)]) -> DbResult<()> {
        self.ask(|session, ledger| ledger.set_positions(session, changes))
    }

    fn table(&mut self, name: &TableName) -> DbResult<Option<Arc<Table>>> {
        Ok(self.load(name)?.map(|table| table.table.clone()))
    }

    fn lacks_schema(&mut self, name: &TableName) -> DbResult<bool> {
        let Some(schema) = name.schema.as_deref().map(names::ident) else { return Ok(false) };
        let rows = self.ask(|session, _| {
            session.query("SELECT to_regnamespace($1::text) IS NULL", &[Some(&schema)])
        })?;
        Ok(rows.text(0, 0) == Some("t"))
    }

    fn forget_tables(&mut self) {
        self.tables.clear();
        let plans = std::mem::take(&mut self.plans);
        let Some(session) = &mut self.session else { return };
        match self.tenant {
            None => session.statements.forget_all(),
            // The others are other people's.
            Some(_) => {
                plans.values().for_each(|plan| session.statements.forget(&plan.statements()));
            }
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
        let role = self.role.clone();
        self.ask(|session, _| {
            let locked = ddl::locked(&table.name, &sql);
            let Some(role) = &role else {
                let result = session.execute(&locked);
                return result.map_err(|e| ddl::refused(session, e, &table.name, &sql));
            };
            // Sent together, they are one transaction, and the role is on until its end.
            let result = session.execute(&format!("{};\n{locked}", role.set));
            result.map_err(|error| role.may_not_alter(error, &table.name, &sql))
        })
    }

    fn start(&mut self, transaction: &Transaction<'_>) -> DbResult<()> {
        self.connect()?;
        self.prepare_plans(transaction)?;
        let mut pipeline = std::mem::take(&mut self.pipeline);
        let built = self.build(transaction, &mut pipeline);
        let result = built.and_then(|sent| {
            let Some(session) = self.session.as_mut() else { return Err(not_connected()) };
            if pipeline.len() > TRANSACTION_BYTES_MAX {
                session.statements.forget(&sent.parsed);
                return Err(too_large(pipeline.len()));
            }
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

    fn explain(&mut self, error: &mut DbError, write: &TableWrite, row: usize, batches: &[Batch]) {
        self.name_column(error, write, row, batches);
    }

    fn outbox(&mut self, letters_max: usize) -> DbResult<Vec<DeadLetter>> {
        self.ask(|session, ledger| ledger.outbox(session, letters_max))
    }

    fn forwarded(&mut self, ids: &[i64]) -> DbResult<()> {
        if ids.is_empty() {
            return Ok(());
        }
        self.ask(|session, ledger| ledger.forwarded(session, ids))
    }

    fn set_cancel(&mut self, cancelled: Cancel) {
        if let Some(session) = &mut self.session {
            session.cancel = cancelled.clone();
        }
        self.cancel = cancelled;
    }
}
