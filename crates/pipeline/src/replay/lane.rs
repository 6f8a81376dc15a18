//! A lane of a replay: the consumer's chain and modes, the replay's own positions and relation.
//!
//! Place in the data path: between the reader of a replay and the database.

use super::Definition;
use crate::control::{Consumer, Mode, Target, way_to_act};
use crate::worker::{format, writes};
use api::{Error, ResolvedStart, Seat};
use data::TopicPartition;
use kafka::ClientHandle;
use runtime::{Budget, ErrorLog, Lane, LaneSettings, Limits, Starts, StatusCell};
use sql::postgres::{ConsumerTarget, SessionPool, consumer_sink};
use std::sync::Arc;
use std::time::Duration;

const RETRY_BACKOFF_MAX: Duration = Duration::from_secs(5);
const BYTES_MAX: usize = 4 << 20;
const ADVICE: &str = "correct the definition with pipeline_kafka.alter_consumer or the relation; the \
    replay goes on by itself";

/// The consumer as the replay carries it out.
fn as_replayed(definition: &Definition) -> Result<Consumer, Error> {
    let Definition { consumer, replay, .. } = definition;
    let Some(into) = replay.into.clone() else {
        return Err(Error::config("the relation that the replay writes to was dropped")
            .hint(super::range::again(replay)));
    };
    let mut consumer = consumer.clone();
    // The records of a stream-partitioned consumer say themselves where they go.
    if !(replay.is_retry && matches!(consumer.target, Target::Routed { .. })) {
        consumer.target = Target::Relation(into);
    }
    let settings = &mut consumer.settings;
    if replay.is_retry {
        // Who is refused again gets the new reason, however many there are.
        settings.stop_on_error = false;
        settings.error_limit = 1.0;
    }
    settings.mode = replay.mode;
    settings.owner.clone_from(&replay.owner);
    if replay.mode != Mode::Upsert {
        settings.version_column = None;
        settings.tombstones_delete = false;
    }
    if replay.mode == Mode::Append {
        settings.conflict_columns = None;
    }
    Ok(consumer)
}

/// Starts the lane of this number, of so many.
///
/// # Errors
/// A definition that cannot be carried out.
pub(super) fn start(
    definition: &Definition,
    topic_id: Option<String>,
    (pool, budget): (&Arc<SessionPool>, &Arc<Budget>),
    (number, lanes): (u32, u32),
    status: &StatusCell,
) -> Result<Lane, Error> {
    let consumer = as_replayed(definition)?;
    let replay = &definition.replay;
    if !replay.owner_reachable {
        return Err(Error::config(format!("the owner {} cannot be acted as", replay.owner)).hint(
            way_to_act(&replay.owner, replay.owner_superuser, "the role that runs the replay"),
        ));
    }
    let Some(into) = &replay.into else {
        return Err(Error::bug("a replay without a relation"));
    };
    let chain = format::chain_to(&consumer.settings, &consumer.target);
    let target = ConsumerTarget {
        consumer_id: consumer.id,
        replay_id: Some(replay.id),
        config_version: replay.config_version,
        topic: Arc::from(consumer.topic.as_str()),
        role: Some(replay.owner.clone()),
        relation: into.table.clone(),
        parallelism: lanes as usize,
        framed: format::is_framed(&consumer.settings),
    };
    let sink = consumer_sink(pool, target, writes::sink_settings(&consumer)?);
    let settings = LaneSettings {
        name: format!("replay-{}-{number}", replay.id),
        limits: Limits {
            batch_rows_max: consumer.settings.batchsize as usize,
            batch_bytes_max: BYTES_MAX.min(consumer.settings.maxbytes as usize),
            queue_bytes_max: BYTES_MAX.min(consumer.settings.maxbytes as usize),
        },
        budget: Some(budget.clone()),
        tolerance_ratio_max: consumer.settings.error_limit,
        advice: ADVICE,
        error_log: ErrorLog {
            connector: format!("replay {} of {}", replay.id, consumer.topic),
            task: number,
            each_record: false,
            coordinates: false,
        },
        retry_backoff_max: RETRY_BACKOFF_MAX,
        told: Arc::new(|| {}),
    };
    let starts = Box::new(Stored { topic_id });
    Lane::start(settings, sink, chain.map_err(Error::config)?, starts, status.clone())
}

/// The starts of a replay are stored before its lane is made.
struct Stored {
    topic_id: Option<String>,
}

impl Starts for Stored {
    fn seats(&mut self, _: &ClientHandle, all: &[TopicPartition]) -> Result<Vec<Seat>, Error> {
        let seat = |tp: &TopicPartition| Seat { tp: tp.clone(), topic_id: self.topic_id.clone() };
        Ok(all.iter().map(seat).collect())
    }

    fn resolve(
        &mut self,
        _: &ClientHandle,
        _: &[TopicPartition],
        _: bool,
    ) -> Result<Vec<ResolvedStart>, Error> {
        // The positions of a replay are never unknown, unless it was changed by others.
        Err(Error::retriable("the positions of the replay are not there"))
    }
}
