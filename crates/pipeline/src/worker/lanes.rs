//! Makes the destinations of a consumer: one for each of its lanes.
//!
//! Place in the data path: at the start of a consumer. A lane is a chain, a sink over the worker's
//! sessions and a thread; the partitions of the topic are dealt out to the lanes by number.

use super::decoded::Decoded;
use super::format;
use super::router::{Destination, Goals, Router};
use super::starts::{Beginning, ConsumerStarts};
use super::writes::sink_settings;
use crate::control::Questions;
use crate::control::{Consumer, Target};
use api::Error;
use kafka::Admin;
use runtime::{Budget, ErrorLog, Lane, LaneSettings, Limits, StatusCell};
use sql::postgres::{ConsumerTarget, SessionPool, consumer_sink};
use sql::table::TableName;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// Lanes of a consumer that does not say how many.
const LANES_DEFAULT_MAX: u32 = 4;
const LANES_MAX: u32 = 64;
const RETRY_BACKOFF_MAX: Duration = Duration::from_secs(5);
/// Bytes that wait in one lane at most.
const LANE_BYTES_MAX: usize = 4 << 20;

const BREAKER_ADVICE: &str = "correct the relation, or the definition with \
    pipeline_kafka.alter_consumer, which also starts the consumer again; the setting error_limit = 1 \
    takes every such record for a dead letter";

/// What all lanes of a worker share.
pub(super) struct Workshop {
    pub(super) pool: Arc<SessionPool>,
    pub(super) questions: Arc<Questions>,
    pub(super) budget: Arc<Budget>,
    decoded: Decoded,
    numbers: AtomicU64,
}

/// Why no lanes were made; for the detail of a blocked consumer.
pub(super) type Refusal = String;

impl Workshop {
    pub(super) fn new(
        pool: Arc<SessionPool>,
        questions: Arc<Questions>,
        budget: Arc<Budget>,
    ) -> Workshop {
        let (decoded, numbers) = (Decoded::default(), AtomicU64::new(1));
        Workshop { pool, questions, budget, decoded, numbers }
    }

    /// The destinations of a consumer of a topic with so many partitions.
    pub(super) fn destinations(
        &self,
        consumer: &Consumer,
        partitions: usize,
        admin: &Arc<Admin>,
        router: &Arc<Router>,
    ) -> Result<Vec<Destination>, Refusal> {
        let lanes = lanes_of(consumer.settings.parallelism, partitions);
        let relation = relation_of(consumer)?;
        let beginning = Arc::new(beginning(consumer, &relation));
        let lane = |number| {
            let place = (number, lanes);
            self.destination(consumer, &relation, place, &beginning, admin, router)
        };
        (0..lanes).map(lane).collect()
    }

    fn destination(
        &self,
        consumer: &Consumer,
        relation: &TableName,
        place: (u32, u32),
        beginning: &Arc<Beginning>,
        admin: &Arc<Admin>,
        router: &Arc<Router>,
    ) -> Result<Destination, Refusal> {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let settings = &consumer.settings;
        let mut chain = format::chain_to(settings, &consumer.target)?;
        // What values become depends on nothing else of the consumer; lanes of the same place have the
        // same partitions.
        if let Some(how) = format::read_alike(settings) {
            let place = format!("{how}, lane {} of {}", place.0, place.1);
            let group = settings.group_id.clone().unwrap_or_default();
            let like = (consumer.cluster.clone(), group, consumer.topic.clone(), place);
            chain.value = self.decoded.share(like, chain.value);
        }
        let report = |error: Error| error.report();
        let target = ConsumerTarget {
            consumer_id: consumer.id,
            replay_id: None,
            config_version: settings.config_version,
            topic: beginning.topic.clone(),
            role: Some(settings.owner.clone()),
            relation: relation.clone(),
            parallelism: place.1 as usize,
            framed: format::is_framed(settings),
        };
        let writes = sink_settings(consumer).map_err(report)?;
        let sink = consumer_sink(&self.pool, target.clone(), writes);
        let goals = Goals::default();
        let starts = ConsumerStarts {
            beginning: beginning.clone(),
            questions: self.questions.clone(),
            pool: self.pool.clone(),
            target,
            admin: admin.clone(),
            goals: goals.clone(),
        };
        let status = StatusCell::default();
        let span = tracing::info_span!("consumer", id = consumer.id, topic = %consumer.topic,
            relation = %relation.name, lane = place.0);
        let lane_settings = self.lane_settings(consumer, relation, place, Arc::downgrade(router));
        let lane = span
            .in_scope(|| Lane::start(lane_settings, sink, chain, Box::new(starts), status.clone()))
            .map_err(report)?;
        let mirrors = settings.options.get("mirror") != Some(&serde_json::Value::Bool(false));
        let (topic, whose) = (beginning.topic.clone(), (number, consumer.id));
        Ok(Destination::new(whose, topic, place, mirrors, (lane, status, goals)))
    }

    fn lane_settings(
        &self,
        consumer: &Consumer,
        relation: &TableName,
        place: (u32, u32),
        router: Weak<Router>,
    ) -> LaneSettings {
        let settings = &consumer.settings;
        let bytes_max = (settings.maxbytes as usize).min(LANE_BYTES_MAX);
        let told = move || {
            if let Some(router) = router.upgrade() {
                router.wake();
            }
        };
        LaneSettings {
            name: format!("lane-{}-{}", consumer.id, place.0),
            limits: Limits {
                batch_rows_max: settings.batchsize as usize,
                batch_bytes_max: bytes_max,
                queue_bytes_max: bytes_max,
            },
            budget: Some(self.budget.clone()),
            tolerance_ratio_max: settings.error_limit,
            advice: BREAKER_ADVICE,
            error_log: ErrorLog {
                connector: format!("{} into {relation}", consumer.topic),
                task: place.0,
                each_record: false,
                coordinates: false,
            },
            retry_backoff_max: RETRY_BACKOFF_MAX,
            told: Arc::new(told),
        }
    }
}

fn lanes_of(parallelism: Option<u32>, partitions: usize) -> u32 {
    let partitions = u32::try_from(partitions).unwrap_or(u32::MAX);
    let wanted = parallelism.unwrap_or_else(|| partitions.min(LANES_DEFAULT_MAX));
    wanted.min(partitions.max(1)).clamp(1, LANES_MAX)
}

fn relation_of(consumer: &Consumer) -> Result<TableName, Refusal> {
    match &consumer.target {
        Target::Relation(relation) => Ok(relation.table.clone()),
        // The records name theirs; this one is what the consumer is called by.
        Target::Routed { relations, .. } => match relations.first() {
            Some(relation) => Ok(relation.table.clone()),
            None => Err("every relation of the consumer was dropped".to_owned()),
        },
        Target::Dropped => Err(dropped(consumer.id)),
    }
}

/// What is said of a consumer whose relation is gone: its name, too.
pub(super) fn dropped(consumer: i32) -> String {
    format!(
        "the relation was dropped\n  to remove the consumer and its position: SELECT \
         pipeline_kafka.drop_consumer(topic, relation) FROM pipeline_kafka.consumers WHERE id = \
         {consumer};"
    )
}

fn beginning(consumer: &Consumer, relation: &TableName) -> Beginning {
    let settings = &consumer.settings;
    Beginning {
        consumer: consumer.id,
        config_version: settings.config_version,
        topic: Arc::from(consumer.topic.as_str()),
        relation: relation.to_string(),
        start: settings.start.clone(),
        gap_earliest: settings.gap_earliest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_are_bounded_by_partitions() {
        assert_eq!(lanes_of(None, 1), 1);
        assert_eq!(lanes_of(None, 12), 4);
        assert_eq!(lanes_of(Some(8), 3), 3);
        assert_eq!(lanes_of(Some(2), 12), 2);
        assert_eq!(lanes_of(Some(8), 0), 1);
    }
}
