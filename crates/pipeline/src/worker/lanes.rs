//! Makes the destinations of a consumer, or of several that are committed together: one for each lane.
//!
//! Place in the data path: at the start of a consumer. A lane is a chain, a sink over the worker's
//! sessions and a thread; the partitions of the topic are dealt out to the lanes by number.

use super::decoded::Decoded;
use super::format;
use super::router::{Destination, Goals, Router};
use super::starts::{Beginning, ConsumerStarts};
use super::together::{Reads, SetStarts, as_fetched, with_common_limits};
use super::writes::sink_settings;
use crate::control::Questions;
use crate::control::{Consumer, Target};
use api::{Error, SinkTask};
use kafka::Admin;
use runtime::{Budget, Chain, ErrorLog, Lane, LaneSettings, Limits, StatusCell};
use sql::postgres::{ConsumerTarget, SessionPool, SetMember, consumer_sink, together_sink};
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

    /// The destinations of a set of consumers of a topic with so many partitions.
    pub(super) fn destinations(
        &self,
        set: &[&Consumer],
        partitions: usize,
        admin: &Arc<Admin>,
        router: &Arc<Router>,
    ) -> Result<Vec<Destination>, Refusal> {
        let member = |consumer: Consumer| {
            let relation = relation_of(&consumer)?;
            let beginning = Arc::new(beginning(&consumer, &relation));
            Ok(Member { consumer, relation, beginning })
        };
        let members = with_common_limits(set).into_iter().map(member);
        let members: Vec<Member> = members.collect::<Result<_, Refusal>>()?;
        let Some(first) = members.first() else { return Ok(Vec::new()) };
        let lanes = lanes_of(first.consumer.settings.parallelism, partitions);
        let lane = |number| self.destination(&members, (number, lanes), admin, router);
        (0..lanes).map(lane).collect()
    }

    fn destination(
        &self,
        members: &[Member],
        place: (u32, u32),
        admin: &Arc<Admin>,
        router: &Arc<Router>,
    ) -> Result<Destination, Refusal> {
        let Some(first) = members.first() else { return Err("a set of nobody".to_owned()) };
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let report = |error: Error| error.report();
        let goals = Goals::default();
        let starts = members.iter().map(|member| ConsumerStarts {
            beginning: member.beginning.clone(),
            questions: self.questions.clone(),
            pool: self.pool.clone(),
            target: member.target(place),
            admin: admin.clone(),
            goals: goals.clone(),
        });
        let starts: Vec<ConsumerStarts> = starts.collect();
        let (sink, chain) = match members {
            [only] => {
                let writes = sink_settings(&only.consumer).map_err(report)?;
                let sink = consumer_sink(&self.pool, only.target(place), writes);
                (sink, self.chain(&only.consumer, place)?)
            }
            _ => (self.set_sink(members, place)?, as_fetched()?),
        };
        let status = StatusCell::default();
        let Consumer { id, topic, .. } = &first.consumer;
        let span = tracing::info_span!("consumer", id, topic = %topic,
            relation = %first.relation.name, lane = place.0);
        let lane_settings = self.lane_settings(members, first, place, Arc::downgrade(router));
        let starts = Box::new(SetStarts(starts));
        let lane = span
            .in_scope(|| Lane::start(lane_settings, sink, chain, starts, status.clone()))
            .map_err(report)?;
        let mirrors = |member: &Member| {
            member.consumer.settings.options.get("mirror") != Some(&serde_json::Value::Bool(false))
        };
        let mirrors = members.iter().all(mirrors);
        let whose = (number, members.iter().map(|member| member.consumer.id).collect());
        let topic = first.beginning.topic.clone();
        Ok(Destination::new(whose, topic, place, mirrors, (lane, status, goals)))
    }

    fn chain(&self, consumer: &Consumer, place: (u32, u32)) -> Result<Chain, Refusal> {
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
        Ok(chain)
    }

    fn set_sink(
        &self,
        members: &[Member],
        place: (u32, u32),
    ) -> Result<Box<dyn SinkTask>, Refusal> {
        let member = |member: &Member| {
            let settings = sink_settings(&member.consumer).map_err(|error| error.report())?;
            let chain = Box::new(Reads(self.chain(&member.consumer, place)?));
            Ok(SetMember { target: member.target(place), settings, chain })
        };
        let set: Vec<SetMember> = members.iter().map(member).collect::<Result<_, Refusal>>()?;
        together_sink(&self.pool, set).map_err(|error| error.report())
    }

    fn lane_settings(
        &self,
        members: &[Member],
        Member { consumer, .. }: &Member,
        place: (u32, u32),
        router: Weak<Router>,
    ) -> LaneSettings {
        let settings = &consumer.settings;
        let relations: Vec<String> = members.iter().map(|m| m.relation.to_string()).collect();
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
                connector: format!("{} into {}", consumer.topic, relations.join(", ")),
                task: place.0,
                each_record: false,
                coordinates: false,
            },
            retry_backoff_max: RETRY_BACKOFF_MAX,
            told: Arc::new(told),
        }
    }
}

/// A consumer whose lanes are made.
struct Member {
    consumer: Consumer,
    relation: TableName,
    beginning: Arc<Beginning>,
}

impl Member {
    fn target(&self, place: (u32, u32)) -> ConsumerTarget {
        let settings = &self.consumer.settings;
        ConsumerTarget {
            consumer_id: self.consumer.id,
            replay_id: None,
            config_version: settings.config_version,
            topic: self.beginning.topic.clone(),
            role: Some(settings.owner.clone()),
            relation: self.relation.clone(),
            parallelism: place.1 as usize,
            framed: format::is_framed(settings),
        }
    }
}

/// How many lanes a consumer has.
pub(crate) fn lanes_of(parallelism: Option<u32>, partitions: usize) -> u32 {
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
