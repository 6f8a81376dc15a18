//! Destinations of the SQL control plane: a consumer's, or a replay's, relation.
//!
//! Place in the data path: what `copycat pg run` writes with. It is the same [`SqlSink`] over the same
//! [`PostgresDatabase`]; only where positions and letters are kept ([`ledger`]), where sessions come
//! from ([`SessionPool`]) and who writes the rows ([`role`]) differ.

mod ask;
mod ledger;
mod letters;
mod role;

pub use ask::{Gap, GapReason};
pub(super) use ledger::ensure;
pub(super) use role::Role;

use super::database::PostgresDatabase;
use super::pool::SessionPool;
use super::wire::Format;
use crate::settings::SinkSettings;
use crate::sink::SqlSink;
use crate::table::TableName;
use api::SinkTask;
use ledger::{ConsumerTables, Statements};
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
    let base = pool.settings();
    let relation = target.relation.to_string();
    let connector = match target.replay_id {
        Some(id) => format!("replay {id} of {} into {relation}", target.topic),
        None => format!("{} into {relation}", target.topic),
    };
    let mut ours = base.clone();
    ours.common.connector = connector;
    ours.common.nul_handling = settings.config.nul_handling;
    ours.common.bytes_encoding = settings.config.bytes_encoding;
    let tables = ConsumerTables {
        consumer_id: target.consumer_id,
        replay_id: target.replay_id,
        config_version: target.config_version,
        topic: target.topic,
        relation,
        framed: target.framed,
        worker: pool.worker().map(str::to_owned),
        ends_backends: pool.named(),
        sql: match target.replay_id {
            Some(_) => pool.statements().replay.clone(),
            None => pool.statements().live.clone(),
        },
    };
    let tenant = pool.tenant(target.consumer_id, target.parallelism);
    let role = target.role.map(|role| Role::new(&role));
    let database = PostgresDatabase::with(ours, Arc::new(tables), Some(tenant), role);
    // A routed record names its relation itself.
    let routed = settings.consumer.as_ref().is_some_and(|rules| rules.routes.is_some());
    settings.relation = (!routed).then_some(target.relation);
    Box::new(SqlSink::new(Box::new(database), settings))
}
