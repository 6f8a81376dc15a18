//! Makes the topics that a source writes to and that are not there, by the rules of
//! `topic.creation.*`.
//!
//! Without such rules this is left to the broker; where the broker makes none either, that is an error
//! which says so, instead of a task that waits for ever.

use crate::sink::kafka_error;
use api::{Error, Result};
use config::JavaRegex;
use config::source::TopicGroup;
use kafka::{Admin, ErrorKind, NewTopic};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

const LOOK_TIMEOUT: Duration = Duration::from_secs(10);
const CREATE_TIMEOUT: Duration = Duration::from_secs(30);

/// The topics that were seen, and how those that are missing are made.
pub(crate) struct Topics {
    groups: Vec<(TopicGroup, Vec<JavaRegex>, Vec<JavaRegex>)>,
    admin: kafka::ClientSettings,
    known: HashSet<Arc<str>>,
    latest: Option<Arc<str>>,
    /// Under exactly-once, the topic of the task's own offsets: whoever reads offsets there waits for
    /// the transactions that are open, so records must not go there.
    offsets: Option<String>,
}

impl Topics {
    pub(crate) fn new(
        groups: Option<Vec<TopicGroup>>,
        admin: kafka::ClientSettings,
        offsets: Option<String>,
    ) -> Topics {
        let compiled = |patterns: &[String]| -> Vec<JavaRegex> {
            // Checked when the configuration was.
            patterns.iter().filter_map(|pattern| JavaRegex::new(pattern).ok()).collect()
        };
        let groups = groups.unwrap_or_default().into_iter().map(|group| {
            let (include, exclude) = (compiled(&group.include), compiled(&group.exclude));
            (group, include, exclude)
        });
        Topics { groups: groups.collect(), admin, known: HashSet::new(), latest: None, offsets }
    }

    /// Sees to it that a topic is there before its first record. Most records go where the one before
    /// them went.
    pub(crate) fn ensure(&mut self, topic: &Arc<str>) -> Result<()> {
        if self.latest.as_ref().is_some_and(|latest| latest == topic) {
            return Ok(());
        }
        if self.offsets.as_deref() == Some(&**topic) {
            return Err(Error::config(
                "Source tasks may not produce to their own offsets topics when exactly-once support \
                 is enabled",
            )
            .hint(format!("send records to another topic than {topic}")));
        }
        if !self.groups.is_empty() && !self.known.contains(topic) {
            self.make(topic)?;
            self.known.insert(topic.clone());
        }
        self.latest = Some(topic.clone());
        Ok(())
    }

    fn make(&self, topic: &str) -> Result<()> {
        let admin = Admin::new(&self.admin).map_err(kafka_error)?;
        match admin.topic(topic, LOOK_TIMEOUT) {
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == ErrorKind::UnknownTopic => {}
            Err(error) => return Err(kafka_error(error)),
        }
        let Some(group) = self.group_of(topic) else { return Ok(()) };
        let mut new = NewTopic::new(topic, group.partitions);
        new.replication = group.replication_factor.into();
        new.configs.clone_from(&group.configs);
        let outcomes = admin.create_topics(&[new], CREATE_TIMEOUT).map_err(kafka_error)?;
        for outcome in outcomes {
            match outcome {
                Ok(()) => tracing::info!(topic, group = %group.name, "topic created"),
                Err(error) if error.kind() == ErrorKind::TopicExists => {}
                Err(error) if error.is_retriable() => return Err(kafka_error(error)),
                Err(error) => return Err(not_made(topic, group, &error)),
            }
        }
        Ok(())
    }

    /// The first group that matches, `default` if none does.
    fn group_of(&self, topic: &str) -> Option<&TopicGroup> {
        let any = |patterns: &[JavaRegex]| patterns.iter().any(|pattern| pattern.matches(topic));
        let chosen = self.groups.iter().find(|(group, include, exclude)| {
            group.name == "default" || (any(include) && !any(exclude))
        });
        chosen.map(|(group, ..)| group)
    }
}

fn not_made(topic: &str, group: &TopicGroup, error: &kafka::Error) -> Error {
    let TopicGroup { name, partitions, replication_factor, configs, .. } = group;
    let configs: String = configs.iter().map(|(key, value)| format!(", {key}={value}")).collect();
    Error::config(format!(
        "topic {topic} could not be created ({partitions} partitions, replication factor \
         {replication_factor}{configs}): {error}"
    ))
    .hint(format!(
        "create the topic, let this user create it, or correct topic.creation.{name}.*; then restart \
         the task"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(name: &str, include: &[&str], exclude: &[&str]) -> TopicGroup {
        TopicGroup {
            name: name.to_owned(),
            include: include.iter().map(ToString::to_string).collect(),
            exclude: exclude.iter().map(ToString::to_string).collect(),
            partitions: 1,
            replication_factor: 1,
            configs: Vec::new(),
        }
    }

    #[test]
    fn the_first_group_wins_and_exclusion_before_inclusion() {
        let groups = vec![
            group("a", &["x.*", "y"], &["x1"]),
            group("b", &["x1", "x2"], &[]),
            group("default", &[], &[]),
        ];
        let topics = Topics::new(Some(groups), kafka::ClientSettings::new(), None);
        let of = |topic: &str| topics.group_of(topic).map(|group| group.name.as_str());
        assert_eq!(
            ["x2", "x1", "y", "yy"].map(of),
            [Some("a"), Some("b"), Some("a"), Some("default")]
        );
    }
}
