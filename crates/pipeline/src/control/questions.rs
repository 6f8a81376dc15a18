//! What lanes ask the control schema before they claim partitions, and what the outbox asks it.
//!
//! Place in the data path: beside it, at the opening of partitions and for the messages of the outbox.
//! One connection for all of them, so that the others of a worker are left to those who write; opened
//! when needed and closed when nobody has asked for a while. Questions are short, and one of them at a
//! time is asked.

use super::error::{Error, ErrorKind};
use sql::postgres::wire::{ConnectConfig, Connection, Wait};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const CONNECT_MAX: Duration = Duration::from_secs(10);
const ASK_MAX: Duration = Duration::from_secs(20);
/// A connection that nobody used for so long is closed.
const IDLE: Duration = Duration::from_secs(30);

const POSITIONS: &str = "SELECT partition, next_offset, topic_id FROM pipeline_kafka.offsets \
    WHERE consumer_id = $1::int4 AND next_offset IS NOT NULL";

const STARTS: &str = "SELECT pipeline_kafka._store_starts($1::int4, $2::int8, $3::uuid, \
    ARRAY(SELECT (e->>0)::int4 FROM jsonb_array_elements($4::jsonb) AS e), \
    ARRAY(SELECT (e->>1)::int8 FROM jsonb_array_elements($4::jsonb) AS e))";

const STARTED: &str = "SELECT started_at IS NOT NULL FROM pipeline_kafka.consumers \
    WHERE id = $1::int4 AND config_version = $2::int8 AND enabled";

/// A position as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) next_offset: i64,
    pub(crate) topic_id: Option<String>,
}

/// The connection, shared by all lanes and the outbox.
pub struct Questions {
    config: ConnectConfig,
    /// True: no connection is waited for any more.
    stop: Arc<dyn Fn() -> bool + Send + Sync>,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    /// And when it was used last.
    connection: Option<(Connection, Instant)>,
    /// How many were opened so far.
    number: u64,
}

pub(crate) type Params<'a> = [Option<&'a str>];

impl Questions {
    /// Does not connect yet.
    /// # Errors
    /// A URL that cannot be used.
    pub fn new(database_url: &str) -> Result<Questions, Error> {
        let mut config = ConnectConfig::parse(database_url)?;
        if config.application_name.is_none() {
            config.application_name = Some("copycat pg".to_owned());
        }
        Ok(Questions { config, stop: Arc::new(|| false), open: Mutex::default() })
    }

    /// Waits for a connection end when `stop` says so. What was asked is answered nevertheless: it is
    /// short, and what was sent is to be noted.
    #[must_use]
    pub(crate) fn until(mut self, stop: Arc<dyn Fn() -> bool + Send + Sync>) -> Questions {
        self.stop = stop;
        self
    }

    /// A connection that a panic left in the middle of something is broken and not used again.
    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes the connection if nobody needs it; to be called now and then.
    pub(crate) fn close_idle(&self) {
        let Ok(mut open) = self.open.try_lock() else { return };
        if open.connection.as_ref().is_some_and(|(_, used)| used.elapsed() > IDLE) {
            open.connection = None;
        }
    }

    pub(crate) fn ask<T>(
        &self,
        sql: &str,
        params: &Params<'_>,
        read: impl FnOnce(&sql::postgres::wire::Rows) -> T,
    ) -> Result<T, Error> {
        self.ask_by(sql, params, read).map(|(_, answer)| answer)
    }

    /// As [`Questions::ask`], with the number of the connection: behind another one there may be
    /// another database, a replica that has taken over.
    pub(crate) fn ask_by<T>(
        &self,
        sql: &str,
        params: &Params<'_>,
        read: impl FnOnce(&sql::postgres::wire::Rows) -> T,
    ) -> Result<(u64, T), Error> {
        let mut open = self.lock();
        let alive = |(connection, _): &mut (Connection, Instant)| connection.is_alive();
        if !open.connection.as_mut().is_some_and(alive) {
            open.connection = None;
            let stop = || (self.stop)();
            let wait = Wait::at_most(CONNECT_MAX).or_cancelled(&stop);
            let connection = Connection::connect(&self.config, wait)?;
            open.connection = Some((connection, Instant::now()));
            open.number += 1;
        }
        let number = open.number;
        let Some((connection, used)) = open.connection.as_mut() else {
            return Err(Error::new(ErrorKind::Bug, "the connection that was opened is gone"));
        };
        *used = Instant::now();
        let result = connection.query_params(sql, params, Wait::at_most(ASK_MAX));
        if connection.is_broken() || connection.in_flight() > 0 {
            open.connection = None;
        }
        Ok((number, read(&result?)))
    }

    /// Where a consumer stands, by partition.
    pub(crate) fn positions(&self, consumer: i32) -> Result<BTreeMap<i32, Stored>, Error> {
        self.ask(POSITIONS, &[Some(&consumer.to_string())], |rows| {
            let position = |row| {
                let topic_id = rows.text(row, 2).map(str::to_owned);
                let stored = Stored { next_offset: rows.parsed(row, 1)?, topic_id };
                Some((rows.parsed(row, 0)?, stored))
            };
            (0..rows.len()).filter_map(position).collect()
        })
    }

    /// Whether the start of a consumer was stored, by whatever worker. `None`: its definition is another
    /// one by now.
    pub(crate) fn started(
        &self,
        (consumer, config_version): (i32, i64),
    ) -> Result<Option<bool>, Error> {
        let (consumer, version) = (consumer.to_string(), config_version.to_string());
        let params = [Some(&*consumer), Some(&*version)];
        self.ask(STARTED, &params, |rows| rows.text(0, 0).map(|started| started == "t"))
    }

    /// Stores where a consumer begins, for all partitions that the topic has now, and marks it as
    /// started. Positions that are stored already stay as they are. False: its definition is another
    /// one by now.
    pub fn store_starts(
        &self,
        (consumer, config_version): (i32, i64),
        topic_id: Option<&str>,
        starts: &[(i32, i64)],
    ) -> Result<bool, Error> {
        let starts: serde_json::Value =
            starts.iter().map(|(p, o)| serde_json::json!([p, o])).collect();
        let (consumer, version) = (consumer.to_string(), config_version.to_string());
        let starts = starts.to_string();
        let params = [Some(&*consumer), Some(&*version), topic_id, Some(&*starts)];
        self.ask(STARTS, &params, |rows| rows.text(0, 0) == Some("t"))
    }
}
