//! Destinations of the SQL control plane: a consumer's, or a replay's, relation.
//!
//! Place in the data path: what `copycat pg run` writes with. It is the same [`SqlSink`] over the same
//! [`PostgresDatabase`]; only where positions and letters are kept ([`ledger`]), where sessions come
//! from ([`SessionPool`]) and who writes the rows ([`role`]) differ.

mod ask;
mod ledger;
mod letters;
mod role;
mod set;

pub use ask::{Gap, GapReason};
pub(super) use ledger::ensure;
pub(super) use role::Role;

use super::database::PostgresDatabase;
use super::pool::SessionPool;
use super::settings::PgSettings;
use super::wire::Format;
use crate::settings::SinkSettings;
use crate::sink::SqlSink;
use crate::table::TableName;
use crate::together::{MemberChain, Together};
use api::SinkTask;
use ledger::{ConsumerTables, Statements};
use set::SetTables;
use std::sync::Arc;

/// Where the records of a consumer go, and by which definition.
#[derive(Clone, Debug)]
pub struct ConsumerTarget {
    /// `consumers.id`.
    pub consumer_id: i32,
    /// `replays.id`, where this is a replay of the consumer and not its live flow.
    pub replay_id: Option<i64>,
    /// The definition that the task is made from: `consumers.config_version`, or the replay's. Under
    /// another one nothing is claimed.
    pub config_version: i64,
    pub topic: Arc<str>,
    /// The role that rows are written as; `None`: the one that logged in.
    pub role: Option<String>,
    /// The relation's exact name, with its schema.
    pub relation: TableName,
    /// Sessions that all tasks of the consumer may use at once.
    pub parallelism: usize,
    /// Values begin with the id of their schema in a registry, which dead letters then name.
    pub framed: bool,
}

/// The statements that all tasks of a pool share.
#[derive(Debug)]
pub(super) struct PoolStatements {
    live: Statements,
    replay: Statements,
}

impl Default for PoolStatements {
    fn default() -> PoolStatements {
        PoolStatements { live: Statements::new(false), replay: Statements::new(true) }
    }
}

/// A task that writes into one relation, exactly once, over a session that it borrows from the pool
/// while it writes. Nothing is connected yet.
///
/// What [`api::SinkTask::open`] says: `Fenced` where the definition is not the current one any more.
pub fn consumer_sink(
    pool: &Arc<SessionPool>,
    target: ConsumerTarget,
    mut settings: SinkSettings,
) -> Box<dyn SinkTask> {
    let ours = settings_of(pool, &target, &settings);
    let tables = tables_of(pool, &target);
    let tenant = pool.tenant(target.consumer_id, target.parallelism);
    let role = target.role.as_deref().map(Role::new);
    let database = PostgresDatabase::with(ours, Arc::new(tables), Some(tenant), role);
    into_relation(&mut settings, target.relation);
    Box::new(SqlSink::new(Box::new(database), settings))
}

/// One member of a task that writes for several consumers.
pub struct SetMember {
    pub target: ConsumerTarget,
    pub settings: SinkSettings,
    pub chain: Box<dyn MemberChain>,
}

/// A task that writes for several consumers of one topic, each record in one transaction for all of
/// them; as [`consumer_sink`]. Records are to be given as they were fetched. The role, the limits of a
/// transaction and the sessions are those of the first.
///
/// # Errors
/// `Bug`: there is no member.
pub fn together_sink(
    pool: &Arc<SessionPool>,
    members: Vec<SetMember>,
) -> api::Result<Box<dyn SinkTask>> {
    let Some(first) = members.first() else { return Err(api::Error::bug("a set of nobody")) };
    let ours = settings_of(pool, &first.target, &first.settings);
    let tenant = pool.tenant(first.target.consumer_id, first.target.parallelism);
    let role = first.target.role.as_deref().map(Role::new);
    let tables = members.iter().map(|member| tables_of(pool, &member.target)).collect();
    let tables = Arc::new(SetTables { members: tables });
    let database = PostgresDatabase::with(ours, tables, Some(tenant), role);
    let (mut all, mut chains) = (Vec::new(), Vec::new());
    for SetMember { target, mut settings, chain } in members {
        into_relation(&mut settings, target.relation);
        all.push(Arc::new(settings));
        chains.push(chain);
    }
    let others = all.split_off(1);
    let Some(first) = all.pop() else { return Err(api::Error::bug("a set of nobody")) };
    let sink = SqlSink::of(Box::new(database), first, others);
    Ok(Box::new(Together::new(sink, chains)))
}

fn into_relation(settings: &mut SinkSettings, relation: TableName) {
    // A routed record names its relation itself.
    let routed = settings.consumer.as_ref().is_some_and(|rules| rules.routes.is_some());
    settings.relation = (!routed).then_some(relation);
}

fn settings_of(pool: &SessionPool, target: &ConsumerTarget, settings: &SinkSettings) -> PgSettings {
    let relation = &target.relation;
    let mut ours = pool.settings().clone();
    ours.common.connector = match target.replay_id {
        Some(id) => format!("replay {id} of {} into {relation}", target.topic),
        None => format!("{} into {relation}", target.topic),
    };
    ours.common.nul_handling = settings.config.nul_handling;
    ours.common.bytes_encoding = settings.config.bytes_encoding;
    ours
}

fn tables_of(pool: &SessionPool, target: &ConsumerTarget) -> ConsumerTables {
    ConsumerTables {
        consumer_id: target.consumer_id,
        replay_id: target.replay_id,
        config_version: target.config_version,
        topic: target.topic.clone(),
        relation: target.relation.to_string(),
        framed: target.framed,
        worker: pool.worker().map(str::to_owned),
        ends_backends: pool.named(),
        sql: match target.replay_id {
            Some(_) => pool.statements().replay.clone(),
            None => pool.statements().live.clone(),
        },
    }
}
