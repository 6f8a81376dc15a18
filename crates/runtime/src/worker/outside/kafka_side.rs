//! Kafka as the clients of a connector see it: with their own settings and credentials.

use super::super::Worker;
use crate::sink::kafka_error;
use api::{Check, Checking, Connector};
use config::source::topic_groups;
use config::{ConfigErrors, JavaRegex, Props};
use data::TopicPartition;
use kafka::settings::ClientKind;
use kafka::{Admin, ErrorKind, NewTopic, NoRebalance, PollLimits, SinkConsumer};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// Longest look at one thing.
const LOOK: Duration = Duration::from_secs(5);
/// Topics that are looked at one by one; of more only the first.
const TOPICS_MAX: usize = 50;
const KAFKA: &str = "kafka";
const TOPICS: &str = "topics";
const PATTERN: &str = "topics.regex";
const DEAD_LETTERS: &str = "errors.deadletterqueue.topic.name";
const REPLICATION: &str = "errors.deadletterqueue.topic.replication.factor";
const GROUP: &str = "consumer.override.group.id";
/// The broker's error for more replicas than there are brokers; a task then takes its default.
const INVALID_REPLICATION_FACTOR: i32 = 38;

impl Worker {
    /// Adds what Kafka says; gives the topics that a sink would read.
    pub(super) fn look_at_kafka(
        &self,
        connector: &Connector,
        props: &Props,
        asked: &Checking,
        checks: &mut Vec<Check>,
    ) -> Vec<String> {
        match connector {
            Connector::Sink(_) => self.look_for_sink(props, asked, checks),
            Connector::Source(_) => {
                self.look_for_source(props, asked, checks);
                Vec::new()
            }
        }
    }

    fn look_for_sink(
        &self,
        props: &Props,
        asked: &Checking,
        checks: &mut Vec<Check>,
    ) -> Vec<String> {
        let kind = ClientKind::Consumer;
        let key = if props.get(TOPICS).is_some() { TOPICS } else { PATTERN };
        let Some(admin) = self.reach(kind, props, asked, key, checks) else { return Vec::new() };
        let topics = match props.get(PATTERN).filter(|_| key == PATTERN) {
            Some(pattern) => matching(&admin, pattern, asked, checks),
            None => asked.topics.clone(),
        };
        let mut there = Vec::new();
        for topic in topics.iter().take(TOPICS_MAX) {
            match admin.topic(topic, limit(asked)) {
                Ok(_) => there.push(topic.clone()),
                Err(error) => checks.push(topic_failed(topic, error).key(key)),
            }
        }
        if topics.len() > TOPICS_MAX {
            let text = format!("{} more topics are not looked at", topics.len() - TOPICS_MAX);
            checks.push(Check::skipped("topics", text));
        }
        self.read(&admin, &there, props, asked, key, checks);
        self.look_at_group(&admin, props, asked, checks);
        self.look_at_dead_letters(props, asked, checks);
        topics
    }

    /// Whether the cluster answers to a client of this kind.
    fn reach(
        &self,
        kind: ClientKind,
        props: &Props,
        asked: &Checking,
        key: &str,
        checks: &mut Vec<Check>,
    ) -> Option<Admin> {
        let admin = match self.admin_as(kind, props) {
            Ok(admin) => admin,
            Err(check) => {
                checks.push(check.key(key));
                return None;
            }
        };
        match admin.cluster_id(limit(asked)) {
            Some(id) => {
                checks.push(Check::ok(KAFKA, format!("cluster {id} answers")));
                Some(admin)
            }
            None => {
                let prefix = format!("{}.override.", kind.name());
                let own = props.keys().find(|own| own.starts_with(&prefix));
                let error = kafka_error(admin.why_silent());
                checks.push(Check::of_error(KAFKA, &error).key(own.unwrap_or(key)));
                checks.push(Check::skipped("topics", "no broker answers"));
                None
            }
        }
    }

    fn admin_as(&self, kind: ClientKind, props: &Props) -> Result<Admin, Check> {
        let wrong = |errors: ConfigErrors| Check::failed(KAFKA, errors.to_string());
        let mut settings = self.client(kind, props).map_err(wrong)?.librdkafka;
        if kind == ClientKind::Producer {
            // The rest is for producers alone, and would be warned of.
            let parts =
                ["bootstrap.", "security.", "sasl.", "ssl.", "client.", "socket.", "https."];
            settings.retain(|name, _| parts.iter().any(|part| name.starts_with(part)));
        }
        Admin::new(&settings).map_err(|error| Check::of_error(KAFKA, &kafka_error(error)))
    }

    /// Reads at the end of a partition of each topic, which tells what the principal may do.
    fn read(
        &self,
        admin: &Admin,
        topics: &[String],
        props: &Props,
        asked: &Checking,
        key: &str,
        checks: &mut Vec<Check>,
    ) {
        let mut ends = Vec::new();
        for topic in topics {
            let tp = TopicPartition::new(topic.as_str(), 0);
            match admin.watermarks(&tp, limit(asked)) {
                Ok(marks) => ends.push((tp, marks.high)),
                Err(error) => checks.push(topic_failed(topic, error).key(key)),
            }
        }
        match self.read_at(&ends, props, asked) {
            Ok(outcomes) => {
                checks.extend(
                    outcomes
                        .into_iter()
                        .map(|check| if check.is_failed() { check.key(key) } else { check }),
                );
            }
            Err(check) => checks.push(check.key(key)),
        }
    }

    fn read_at(
        &self,
        ends: &[(TopicPartition, i64)],
        props: &Props,
        asked: &Checking,
    ) -> Result<Vec<Check>, Check> {
        if ends.is_empty() {
            return Ok(Vec::new());
        }
        let failed = |error| Check::of_error("topics", &kafka_error(error));
        let wrong = |errors: ConfigErrors| Check::failed("topics", errors.to_string());
        let mut settings = self.client(ClientKind::Consumer, props).map_err(wrong)?.librdkafka;
        // Partitions are assigned by hand: nobody joins a group.
        settings.entry("group.id".to_owned()).or_insert_with(|| group(asked));
        settings.remove("group.instance.id");
        let mut consumer = SinkConsumer::new(&settings, Box::new(NoRebalance)).map_err(failed)?;
        consumer.assign_manually(ends).map_err(failed)?;
        let mut waiting: BTreeSet<TopicPartition> = ends.iter().map(|(tp, _)| tp.clone()).collect();
        let mut checks = Vec::new();
        let limits = PollLimits { rows_max: 100, bytes_max: 1 << 20 };
        let until = Instant::now() + limit(asked);
        while !waiting.is_empty() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let polled = consumer.poll(left, limits).map_err(failed)?;
            let seen = polled.ends.iter().map(|(tp, _)| tp);
            for tp in seen.chain(polled.batches.iter().map(|batch| batch.tp())) {
                if waiting.remove(tp) {
                    checks.push(Check::ok(name(&tp.topic), "it is there and may be read"));
                }
            }
            for trouble in polled.errors {
                if let Some(tp) = trouble.at.filter(|tp| waiting.remove(tp)) {
                    checks.push(topic_failed(&tp.topic, trouble.error));
                }
            }
        }
        let silent = waiting.iter().map(|tp| {
            let text = "it is there, and reading it gave no answer in time";
            Check::failed(name(&tp.topic), text)
        });
        checks.extend(silent);
        Ok(checks)
    }

    fn look_at_group(
        &self,
        admin: &Admin,
        props: &Props,
        asked: &Checking,
        checks: &mut Vec<Check>,
    ) {
        let own = self.client(ClientKind::Consumer, props).ok();
        let own = own.and_then(|settings| settings.librdkafka.get("group.id").cloned());
        let group = own.unwrap_or_else(|| group(asked));
        let what = format!("group {group}");
        checks.push(match admin.group_offsets(&group, limit(asked)) {
            Ok(positions) => {
                let text = format!("it may be used; it has {} positions", positions.len());
                Check::ok(what, text)
            }
            Err(error) => {
                let key = if props.get(GROUP).is_some() { GROUP } else { "name" };
                Check::of_error(what, &kafka_error(error)).key(key)
            }
        });
    }

    fn look_at_dead_letters(&self, props: &Props, asked: &Checking, checks: &mut Vec<Check>) {
        let topic = props.get(DEAD_LETTERS).map(str::trim).unwrap_or_default();
        if topic.is_empty() {
            return;
        }
        let what = format!("dead-letter topic {topic}");
        let admin = match self.admin_as(ClientKind::Admin, props) {
            Ok(admin) => admin,
            Err(check) => return checks.push(check.key(DEAD_LETTERS)),
        };
        let check = match admin.topic(topic, limit(asked)) {
            Ok(_) => Check::ok(what, "it is there"),
            Err(error) if error.kind() == ErrorKind::UnknownTopic => {
                let factor = props.get(REPLICATION).and_then(|n| n.trim().parse().ok());
                let mut new = NewTopic::new(topic, 1);
                new.replication = factor.unwrap_or(3);
                let tried = try_to_create(&admin, &new, asked);
                let tried = match tried {
                    Err(error) if error.code() == INVALID_REPLICATION_FACTOR => {
                        new.replication = -1;
                        try_to_create(&admin, &new, asked)
                    }
                    other => other,
                };
                match tried {
                    Ok(()) => Check::ok(what, "it is not there and may be created"),
                    Err(error) => Check::of_error(what, &kafka_error(error)).key(DEAD_LETTERS),
                }
            }
            Err(error) => Check::of_error(what, &kafka_error(error)).key(DEAD_LETTERS),
        };
        checks.push(check);
    }

    fn look_for_source(&self, props: &Props, asked: &Checking, checks: &mut Vec<Check>) {
        const TOPIC: &str = "topic";
        let topic = props.get(TOPIC).map(str::trim).filter(|topic| !topic.is_empty());
        let key = if topic.is_some() { TOPIC } else { "name" };
        let admin = self.reach(ClientKind::Producer, props, asked, key, checks);
        let (Some(admin), Some(topic)) = (admin, topic) else { return };
        if topic.contains("${") {
            return;
        }
        checks.push(match admin.topic(topic, limit(asked)) {
            Ok(_) => Check::ok(name(topic), "it is there"),
            Err(error) if error.kind() == ErrorKind::UnknownTopic => {
                let made = matches!(topic_groups(props), Ok(Some(_)));
                let text = if made {
                    "it is not there; topic.creation.* makes it with the first record"
                } else {
                    "it is not there; the brokers make it with the first record, if they may"
                };
                Check::skipped(name(topic), text)
            }
            Err(error) => topic_failed(topic, error).key(TOPIC),
        });
        self.look_at_dead_letters(props, asked, checks);
    }
}

fn try_to_create(admin: &Admin, topic: &NewTopic, asked: &Checking) -> kafka::Result<()> {
    let tried = admin.try_create_topics(std::slice::from_ref(topic), limit(asked))?;
    tried.into_iter().next().unwrap_or(Ok(()))
}

fn name(topic: &str) -> String {
    format!("topic {topic}")
}

fn group(asked: &Checking) -> String {
    format!("connect-{}", asked.connector)
}

fn limit(asked: &Checking) -> Duration {
    // Some calls take zero for ever.
    asked.left().clamp(Duration::from_millis(1), LOOK)
}

fn topic_failed(topic: &str, error: kafka::Error) -> Check {
    if error.kind() == ErrorKind::UnknownTopic {
        return Check::failed(name(topic), "there is no such topic, or it may not be seen")
            .hint("create it, correct the name, or allow the principal to describe it");
    }
    Check::of_error(name(topic), &kafka_error(error))
}

/// The topics that a pattern stands for.
fn matching(
    admin: &Admin,
    pattern: &str,
    asked: &Checking,
    checks: &mut Vec<Check>,
) -> Vec<String> {
    let Ok(regex) = JavaRegex::new(pattern) else { return Vec::new() };
    let all = match admin.list_topics(limit(asked)) {
        Ok(all) => all,
        Err(error) => {
            checks.push(Check::of_error("topics", &kafka_error(error)).key(PATTERN));
            return Vec::new();
        }
    };
    let names = all.into_iter().map(|topic| topic.name);
    let found: Vec<String> =
        names.filter(|name| !name.starts_with("__") && regex.matches(name)).collect();
    if found.is_empty() {
        let text = "no topic matches yet; new ones are found while the connector runs";
        checks.push(Check::skipped("topics", text));
    }
    found
}
