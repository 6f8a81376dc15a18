//! What a worker tells: that it lives, how consumers fare, what it has seen of Kafka.
//!
//! Place in the data path: every few seconds, on the control connection; never in a transaction of
//! rows. Losing a report costs a late view, nothing else.

use super::connection::Control;
use super::error::{Error, ErrorKind};
use sql::postgres::wire::{Class, Rows};

/// Who reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worker {
    /// A UUID, from [`Control::register`].
    pub id: String,
    pub host: String,
    pub pid: u32,
    pub version: String,
    /// Group of the consumers that name none.
    pub group_id: String,
}

/// How a consumer fares with this worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Starting,
    CatchingUp,
    Running,
    /// Something outside is down; it goes on by itself.
    BackingOff,
    /// A person has to act; the detail says which call resolves it.
    Blocked,
}

impl State {
    pub fn name(self) -> &'static str {
        match self {
            State::Starting => "starting",
            State::CatchingUp => "catching_up",
            State::Running => "running",
            State::BackingOff => "backing_off",
            State::Blocked => "blocked",
        }
    }
}

/// The record that blocks a consumer, so that `skip` takes exactly it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockedRecord {
    pub partition: i32,
    pub offset: i64,
}

/// A partition as Kafka tells of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    pub cluster: String,
    pub topic: String,
    pub partition: i32,
    /// `None`: not known.
    pub low: Option<i64>,
    pub high: Option<i64>,
    pub last_stable: Option<i64>,
    /// Broker id; `None`: no leader.
    pub leader: Option<i32>,
}

const HEARTBEAT: &str = "INSERT INTO pipeline_kafka.workers AS w \
    (worker, host, pid, version, group_id, lanes) \
    VALUES ($1::uuid, $2::text, $3::int4, $4::text, $5::text, $6::int4) \
    ON CONFLICT (worker) DO UPDATE SET heartbeat_at = clock_timestamp(), lanes = excluded.lanes";

/// Rates of all consumers; workers take turns, because a sample stays for five seconds.
const SAMPLE: &str = "INSERT INTO pipeline_kafka.rates AS r (consumer_id, rows_total, sampled_at) \
    SELECT o.consumer_id, sum(o.rows_total), clock_timestamp() FROM pipeline_kafka.offsets o \
    WHERE NOT EXISTS (SELECT FROM pipeline_kafka.rates p WHERE p.consumer_id = o.consumer_id \
      AND p.sampled_at > clock_timestamp() - interval '5 s') \
    GROUP BY 1 ORDER BY 1 \
    ON CONFLICT (consumer_id) DO UPDATE SET rows_total = excluded.rows_total, \
      sampled_at = excluded.sampled_at, rows_per_second = \
      greatest(excluded.rows_total - r.rows_total, 0) \
      / greatest(extract(epoch FROM excluded.sampled_at - r.sampled_at), 0.001)";

const PRUNE: &str = "DELETE FROM pipeline_kafka.workers \
    WHERE heartbeat_at < clock_timestamp() - interval '1 h'";

const OBSERVE: &str = "INSERT INTO pipeline_kafka.partitions \
    (cluster, topic, partition, low, high, last_stable, leader, observed_at) \
    SELECT s.cluster, s.topic, s.partition, s.low, s.high, s.last_stable, s.leader, \
      clock_timestamp() FROM jsonb_to_recordset($1::jsonb) AS s(cluster text, topic text, \
      partition int4, low int8, high int8, last_stable int8, leader int4) \
    WHERE EXISTS (SELECT FROM pipeline_kafka.clusters c WHERE c.name = s.cluster) \
    ORDER BY s.cluster, s.topic, s.partition \
    ON CONFLICT (cluster, topic, partition) DO UPDATE SET low = excluded.low, \
      high = excluded.high, last_stable = excluded.last_stable, leader = excluded.leader, \
      observed_at = excluded.observed_at";

/// Clusters that have messages to send.
const OUTBOXES: &str = "SELECT c.name FROM pipeline_kafka.clusters c WHERE EXISTS (\
    SELECT FROM pipeline_kafka.outbox o WHERE o.cluster = c.name \
      AND coalesce(o.retry_at <= clock_timestamp(), true))";

impl Control {
    /// The clusters for which messages wait in the outbox.
    pub fn outboxes(&mut self) -> Result<Vec<String>, Error> {
        self.with(|connection, wait| {
            let rows = connection.query_text(OUTBOXES, wait)?;
            Ok((0..rows.len()).filter_map(|row| rows.text(row, 0).map(str::to_owned)).collect())
        })
    }

    /// Takes a worker's number. It stays the same for as long as the process lives.
    pub fn register(
        &mut self,
        host: &str,
        version: &str,
        group_id: &str,
        lanes: u32,
    ) -> Result<Worker, Error> {
        let id = self.with(|connection, wait| {
            let rows = connection.query_text("SELECT gen_random_uuid()", wait)?;
            Ok(rows.text(0, 0).unwrap_or_default().to_owned())
        })?;
        let worker = Worker {
            id,
            host: host.to_owned(),
            pid: std::process::id(),
            version: version.to_owned(),
            group_id: group_id.to_owned(),
        };
        self.worker = Some(worker.clone());
        self.heartbeat(lanes)?;
        Ok(worker)
    }

    fn me(&self) -> Result<Worker, Error> {
        self.worker
            .clone()
            .ok_or_else(|| Error::new(ErrorKind::Bug, "a worker that was not registered reports"))
    }

    /// Says that this worker lives; due every 5 seconds. `lanes`: transactions that it may have
    /// under way at once.
    pub fn heartbeat(&mut self, lanes: u32) -> Result<(), Error> {
        let me = self.me()?;
        let (pid, lanes) = (me.pid.to_string(), lanes.to_string());
        let params =
            [&me.id, &me.host, &pid, &me.version, &me.group_id, &lanes].map(|t| Some(&**t));
        self.with(|connection, wait| {
            connection.execute_params(HEARTBEAT, &params, wait)?;
            match connection.execute(SAMPLE, wait) {
                // A consumer that is dropped at this moment; the next sample is without it.
                Err(error) if error.classify() == Class::Data => {}
                other => drop(other?),
            }
            connection.execute(PRUNE, wait)?;
            connection.query_text("SELECT pipeline_kafka._sum_up_all()", wait)?;
            Ok(())
        })
    }

    /// Says that this worker ends.
    pub fn leave(&mut self) -> Result<(), Error> {
        let me = self.me()?;
        self.with(|connection, wait| {
            let sql = "SELECT pipeline_kafka._leave($1::uuid)";
            connection.query_params(sql, &[Some(&me.id)], wait)?;
            Ok(())
        })
    }

    /// Says how a consumer fares with this worker. The gravest state of all workers is what
    /// `status` shows. Nothing happens (false) if the definition is not `config_version` any more.
    pub fn set_state(
        &mut self,
        consumer_id: i32,
        config_version: i64,
        state: State,
        detail: Option<&str>,
        record: Option<BlockedRecord>,
    ) -> Result<bool, Error> {
        let me = self.me()?;
        let (consumer, version) = (consumer_id.to_string(), config_version.to_string());
        let partition = record.map(|r| r.partition.to_string());
        let offset = record.map(|r| r.offset.to_string());
        self.with(|connection, wait| {
            let sql = "SELECT pipeline_kafka._set_state($1::int4, $2::int8, $3::uuid, $4::text, \
                       $5::text, $6::int4, $7::int8)";
            let params = [
                Some(&*consumer),
                Some(&*version),
                Some(&*me.id),
                Some(state.name()),
                detail,
                partition.as_deref(),
                offset.as_deref(),
            ];
            Ok(truth(&connection.query_params(sql, &params, wait)?))
        })
    }

    /// This worker has nothing to do with the consumer any more.
    pub fn clear_state(&mut self, consumer_id: i32) -> Result<(), Error> {
        let me = self.me()?;
        let consumer = consumer_id.to_string();
        self.with(|connection, wait| {
            let sql = "SELECT pipeline_kafka._clear_state($1::int4, $2::uuid)";
            connection.query_params(sql, &[Some(&consumer), Some(&me.id)], wait)?;
            Ok(())
        })
    }

    /// Says how a replay fares: `running`, `blocked`, `backing_off` or `done`. False if it was
    /// cancelled or changed meanwhile.
    pub fn set_replay_state(
        &mut self,
        replay_id: i64,
        config_version: i64,
        state: &str,
        detail: Option<&str>,
    ) -> Result<bool, Error> {
        let (replay, version) = (replay_id.to_string(), config_version.to_string());
        self.with(|connection, wait| {
            let sql = "SELECT pipeline_kafka._set_replay_state($1::int8, $2::int8, $3::text, \
                       $4::text)";
            let params = [Some(&*replay), Some(&*version), Some(state), detail];
            Ok(truth(&connection.query_params(sql, &params, wait)?))
        })
    }

    /// Has the dead letters that are queued tried again: makes a replay of them.
    pub fn begin_retries(&mut self) -> Result<(), Error> {
        self.with(|connection, wait| {
            connection.query_text("SELECT pipeline_kafka._begin_retries()", wait)?;
            Ok(())
        })
    }

    /// Keeps what Kafka tells of partitions, for lag and watermarks.
    pub fn observe(&mut self, partitions: &[Observed]) -> Result<(), Error> {
        if partitions.is_empty() {
            return Ok(());
        }
        let rows: serde_json::Value = partitions
            .iter()
            .map(|p| {
                serde_json::json!({ "cluster": p.cluster, "topic": p.topic,
                    "partition": p.partition, "low": p.low, "high": p.high,
                    "last_stable": p.last_stable, "leader": p.leader })
            })
            .collect();
        let rows = rows.to_string();
        self.with(|connection, wait| {
            connection.execute_params(OBSERVE, &[Some(&rows)], wait)?;
            Ok(())
        })
    }
}

fn truth(rows: &Rows) -> bool {
    rows.text(0, 0) == Some("t")
}
