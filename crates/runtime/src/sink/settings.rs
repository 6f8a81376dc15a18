//! Everything a sink task needs to know, already checked and resolved.

use super::Renewal;
use crate::errors::ErrorLog;
use kafka::settings::Reset;
use std::time::Duration;

/// What a sink task reads.
#[derive(Clone, Debug)]
pub enum Topics {
    List(Vec<String>),
    /// Topics whose whole name matches, new ones included.
    Regex(Box<config::JavaRegex>),
}

impl Topics {
    /// The names to subscribe to among the topics there are, sorted; a list is taken as it is.
    pub(crate) fn select(
        &self,
        existing: impl FnOnce() -> kafka::Result<Vec<kafka::Topic>>,
    ) -> kafka::Result<Vec<String>> {
        match self {
            Topics::List(list) => Ok(list.clone()),
            Topics::Regex(regex) => {
                let wanted = |name: &String| regex.matches(name) && !name.starts_with("__");
                let names = existing()?.into_iter().map(|topic| topic.name);
                let mut names: Vec<String> = names.filter(wanted).collect();
                names.sort();
                Ok(names)
            }
        }
    }
}

impl SinkTaskSettings {
    /// Gives the consumer its static identity. The topics are part of it: a broker hands a static
    /// member that comes back its old assignment, whatever it subscribes to now.
    pub(crate) fn take_seat(&mut self, topics: &[String]) {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let Some(seat) = &self.seat else { return };
        let mut sorted: Vec<&String> = topics.iter().collect();
        sorted.sort();
        let mut hasher = DefaultHasher::new();
        sorted.hash(&mut hasher);
        let id = format!("{seat}-{:08x}", hasher.finish() as u32);
        self.consumer.insert("group.instance.id".to_owned(), id);
    }
}

/// The dead-letter topic.
#[derive(Clone, Debug)]
pub struct DeadLetterSettings {
    pub topic: String,
    /// `None`: the broker's default.
    pub replication_factor: Option<i32>,
    pub context_headers: bool,
    pub producer: kafka::ClientSettings,
}

/// The settings of one sink task.
#[derive(Clone, Debug)]
pub struct SinkTaskSettings {
    pub connector: String,
    pub task: u32,
    pub group: String,
    pub topics: Topics,
    /// librdkafka's names.
    pub consumer: kafka::ClientSettings,
    /// The task's static identity in its group, without the part that its topics add; `None`: a
    /// dynamic member, or one whose `group.instance.id` the user has set.
    pub seat: Option<String>,
    pub admin: kafka::ClientSettings,
    pub reset: Reset,
    /// The task assigns all partitions to itself instead of joining the group.
    pub self_assign: bool,
    /// Topic ids are asked for, to notice topics that were created anew. The in-process broker
    /// never answers that question.
    pub topic_ids: bool,
    pub batch_rows_max: usize,
    pub batch_bytes_max: usize,
    pub queue_bytes_max: usize,
    /// How often positions are mirrored to the group.
    pub commit_interval: Duration,
    /// How often new topics are looked for where `topics.regex` is used.
    pub topics_refresh: Duration,
    /// How long a stop waits for what is in flight.
    pub shutdown_timeout: Duration,
    pub retry_backoff_max: Duration,
    pub tolerance_ratio_max: f64,
    pub error_log: ErrorLog,
    pub dead_letters: Option<DeadLetterSettings>,
    /// For a task whose secrets may change while it runs.
    pub renewal: Option<Renewal>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topic(name: &str) -> kafka::Topic {
        kafka::Topic { name: name.to_owned(), partitions: 1 }
    }

    #[test]
    fn a_regex_takes_whole_names_and_no_internal_topics() {
        let regex = Topics::Regex(Box::new(config::JavaRegex::new("db.*").unwrap()));
        let existing = || Ok(["db.b", "db.a", "mydb.c", "__db"].map(topic).to_vec());
        assert_eq!(regex.select(existing).unwrap(), ["db.a", "db.b"]);
    }
}
