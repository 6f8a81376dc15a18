//! What the control plane asks beside the transactions of tasks: whether a definition fits its relation,
//! what the relation is like, and the note of a gap.
//!
//! Place in the data path: beside it, over a session of the pool.

use super::ConsumerTarget;
use super::ledger::SCHEMA;
use super::role::Role;
use crate::database::{DbError, DbErrorKind, DbResult};
use crate::postgres::catalog::{self, PgTable};
use crate::postgres::names;
use crate::postgres::pool::SessionPool;
use crate::postgres::session::{Session, checked};
use crate::postgres::wire::Pipeline;
use crate::recover::api_error;
use crate::table::{Table, TableName};
use api::Result;
use std::sync::Arc;

/// Offsets that are gone: `[from, to)` of a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    pub partition: i32,
    /// Where the position stands.
    pub from: i64,
    pub to: i64,
    pub reason: GapReason,
    /// The id of the topic that the new position belongs to, a UUID, where it is known.
    pub topic_id: Option<String>,
}

/// Why offsets are gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GapReason {
    /// Kafka had deleted the records.
    Retention,
    /// The topic was created anew.
    Recreated,
    /// Someone left them out on purpose.
    Skipped,
}

impl GapReason {
    fn name(self) -> &'static str {
        match self {
            GapReason::Retention => "retention",
            GapReason::Recreated => "recreated",
            GapReason::Skipped => "skipped",
        }
    }
}

impl SessionPool {
    /// Runs something on a session of the pool, counted against `key`.
    fn ask<T>(&self, key: i32, run: impl FnOnce(&mut Session) -> DbResult<T>) -> Result<T> {
        let tenant = self.tenant(key, usize::MAX);
        let never: crate::postgres::session::Cancel = Arc::new(|| false);
        let mut session = tenant.borrow(&never).map_err(api_error)?;
        let result = run(&mut session);
        tenant.give_back(session);
        result.map_err(api_error)
    }

    /// The relation as `role` sees it; `None`: there is none.
    ///
    /// # Errors
    /// `Retriable` where the database is not there; `Config` where it is nothing that rows go into, or
    /// the role may not look at it.
    pub fn relation(&self, role: Option<&str>, name: &TableName) -> Result<Option<Arc<Table>>> {
        let login = self.settings().connect.user_or_default();
        let found = self.ask(0, |session| read(session, role, name, &login))?;
        Ok(found.map(|table| table.table))
    }

    /// Whether the server takes the expressions of a mapping, `(column, expression)` each, over the
    /// other columns of the relation. Nothing is run.
    ///
    /// # Errors
    /// `Config` with the server's SQLSTATE and message, naming the column; otherwise as
    /// [`SessionPool::relation`].
    pub fn check_expressions(
        &self,
        role: Option<&str>,
        name: &TableName,
        expressions: &[(String, String)],
    ) -> Result<()> {
        let login = self.settings().connect.user_or_default();
        self.ask(0, |session| {
            let Some(table) = read(session, role, name, &login)? else {
                let text = format!("the relation {name} does not exist");
                return Err(DbError::new(DbErrorKind::Config, text).sqlstate("42P01"));
            };
            expressions.iter().try_for_each(|one| check(session, role, &table, one))
        })
    }

    /// Moves a consumer's, or replay's, position over a gap and notes it, in one transaction and only
    /// if the position is still where the gap begins. Tasks that have the partition open are fenced:
    /// they open it again, and go on behind the gap. False: the position is another one.
    ///
    /// # Errors
    /// `Retriable` where the database is not there.
    pub fn record_gap(&self, target: &ConsumerTarget, gap: &Gap) -> Result<bool> {
        let (table, owner) = super::ledger::table(target.replay_id.is_some());
        let sql = format!(
            "WITH moved AS (UPDATE {SCHEMA}.{table} SET next_offset = $5::int8, \
             epoch = epoch + 1, topic_id = $7::uuid, updated_at = now() \
             WHERE {owner} = coalesce($2::int8, $1::int8) AND partition = $3::int4 \
             AND next_offset = $4::int8 RETURNING 1) \
             INSERT INTO {SCHEMA}.gaps (consumer_id, replay_id, partition, from_offset, to_offset, \
             reason) SELECT $1::int4, $2::int8, $3::int4, $4::int8, $5::int8, $6::text FROM moved \
             RETURNING id"
        );
        let number = |n: i64| Some(n.to_string());
        let params = [
            number(i64::from(target.consumer_id)),
            target.replay_id.and_then(number),
            number(i64::from(gap.partition)),
            number(gap.from),
            number(gap.to),
            Some(gap.reason.name().to_owned()),
            gap.topic_id.clone(),
        ];
        let params: Vec<Option<&str>> = params.iter().map(Option::as_deref).collect();
        self.ask(target.consumer_id, |session| Ok(!session.query(&sql, &params)?.is_empty()))
    }
}

fn read(
    session: &mut Session,
    role: Option<&str>,
    name: &TableName,
    login: &str,
) -> DbResult<Option<PgTable>> {
    let role = role.map(Role::new);
    let set = role.as_ref().map(|role| &*role.set);
    let mut pipeline = Pipeline::new();
    catalog::ask(&mut pipeline, name, set);
    let reply = session.run(&mut pipeline)?;
    if let (Some(role), Some(failure)) = (&role, &reply.failure) {
        return Err(role.blind(failure, name, login));
    }
    catalog::read(&reply, name, set.is_some())
}

fn check(
    session: &mut Session,
    role: Option<&str>,
    table: &PgTable,
    (column, sql): &(String, String),
) -> DbResult<()> {
    let columns = table.table.columns.iter().zip(&table.columns);
    let others = columns.filter(|(common, _)| common.name != *column);
    let nulls = names::list(others, |out, (common, own)| {
        out.push_str(&format!("NULL::{} AS {}", own.base.sql, names::ident(&common.name)));
    });
    // A statement that is only parsed: types and names are looked at, nothing else.
    let insert = format!(
        "INSERT INTO {} ({}) SELECT ({sql}) FROM (SELECT {nulls}) AS m",
        names::table(&table.table.name),
        names::ident(column)
    );
    let role = role.map(Role::new);
    let mut pipeline = Pipeline::new();
    if let Some(role) = &role {
        pipeline.parse("", &role.set, &[]).bind("", &[], super::Format::Text).execute(0);
    }
    pipeline.parse("", &insert, &[]).sync();
    let reply = session.run(&mut pipeline)?;
    checked(reply).map(drop).map_err(|mut error| {
        error.kind = match error.kind {
            DbErrorKind::Drift | DbErrorKind::Data | DbErrorKind::Bug => DbErrorKind::Config,
            other => other,
        };
        error.message = format!("the expression of column {column}: {}", error.message);
        error.column = Some(column.clone());
        error
    })
}
