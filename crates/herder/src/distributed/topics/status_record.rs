//! The records of the status topic: how connectors and tasks are, and which topics connectors use.

use super::config_key::task_number;
use super::json::{self, Writer};
use super::{Oddity, ReadRecord, Unusable, Written, text_key};
use serde_json::{Map, Value};

/// What a record of the status topic is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StatusKey {
    /// The name is never empty.
    Connector(String),
    Task(String, u32),
    /// A topic that a connector uses; neither name is empty.
    Topic {
        topic: String,
        connector: String,
    },
}

const CONNECTOR: &str = "status-connector-";
const TASK: &str = "status-task-";
const TOPIC: &str = "status-topic-";
const TOPIC_CONNECTOR: &str = ":connector-";

impl StatusKey {
    /// `None` where the key is none of Kafka Connect's.
    pub fn parse(key: &str) -> Option<StatusKey> {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        if let Some(name) = key.strip_prefix(CONNECTOR) {
            return some(name).map(StatusKey::Connector);
        }
        if let Some(rest) = key.strip_prefix(TASK) {
            // Dashes at the end do not count.
            let (name, number) = rest.trim_end_matches('-').rsplit_once('-')?;
            return Some(StatusKey::Task(name.to_owned(), task_number(number)?));
        }
        let (topic, rest) = key.strip_prefix(TOPIC)?.split_once(':')?;
        // Topics have no colon, connectors may. What stands between the two is not looked at.
        let connector = rest.get(TOPIC_CONNECTOR.len() - 1..)?;
        Some(StatusKey::Topic { topic: some(topic)?, connector: some(connector)? })
    }

    /// The key as it is written.
    pub fn text(&self) -> String {
        match self {
            StatusKey::Connector(name) => format!("{CONNECTOR}{name}"),
            StatusKey::Task(name, task) => format!("{TASK}{name}-{task}"),
            StatusKey::Topic { topic, connector } => {
                format!("{TOPIC}{topic}{TOPIC_CONNECTOR}{connector}")
            }
        }
    }

    /// The connector that it is about.
    pub fn connector(&self) -> &str {
        let (StatusKey::Connector(name)
        | StatusKey::Task(name, _)
        | StatusKey::Topic { connector: name, .. }) = self;
        name
    }

    /// The record that takes away what is known under the key.
    pub fn tombstone(&self) -> Written {
        (self.text().into_bytes(), None)
    }
}

/// Kafka Connect's states. A task is never STOPPED, a connector that is gone has no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reported {
    Unassigned,
    Running,
    Paused,
    Failed,
    Destroyed,
    Restarting,
    Stopped,
}

impl Reported {
    pub const ALL: [Reported; 7] = [
        Reported::Unassigned,
        Reported::Running,
        Reported::Paused,
        Reported::Failed,
        Reported::Destroyed,
        Reported::Restarting,
        Reported::Stopped,
    ];

    /// Connect's word.
    pub fn name(self) -> &'static str {
        match self {
            Reported::Unassigned => "UNASSIGNED",
            Reported::Running => "RUNNING",
            Reported::Paused => "PAUSED",
            Reported::Failed => "FAILED",
            Reported::Destroyed => "DESTROYED",
            Reported::Restarting => "RESTARTING",
            Reported::Stopped => "STOPPED",
        }
    }
}

/// How a connector or a task is, as one worker said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    pub state: Reported,
    /// Why it FAILED.
    pub trace: Option<String>,
    /// `host:port` of the worker that said so.
    pub worker_id: Option<String>,
    /// The generation of the workers' group when it did.
    pub generation: i32,
    /// Of the plugin; older workers do not say.
    pub version: Option<String>,
}

impl Status {
    /// `None` where a member has a wrong type; members that are absent are null.
    fn read(members: &Map<String, Value>) -> Option<Status> {
        let word = members.get("state")?.as_str()?;
        let text = |name: &str| match members.get(name) {
            None | Some(Value::Null) => Some(None),
            Some(value) => value.as_str().map(|text| Some(text.to_owned())),
        };
        Some(Status {
            state: Reported::ALL.into_iter().find(|state| state.name() == word)?,
            trace: text("trace")?,
            worker_id: text("worker_id")?,
            generation: i32::try_from(members.get("generation")?.as_i64()?).ok()?,
            version: text("version")?,
        })
    }

    fn to_record(&self) -> Vec<u8> {
        Writer::new()
            .text("state", Some(self.state.name()))
            .text("trace", self.trace.as_deref())
            .text("worker_id", self.worker_id.as_deref())
            .raw("generation", self.generation)
            .text("version", self.version.as_deref())
            .finish()
    }
}

/// That a connector uses a topic: written once, by the first of its tasks that does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicUse {
    pub topic: String,
    pub connector: String,
    pub task: u32,
    /// Milliseconds since the epoch.
    pub discovered_ms: i64,
}

impl TopicUse {
    fn read(members: &Map<String, Value>) -> Option<TopicUse> {
        let inner = members.get("topic")?.as_object()?;
        let text = |name: &str| inner.get(name).and_then(Value::as_str).map(str::to_owned);
        let task = inner.get("task")?.as_i64().and_then(|task| i32::try_from(task).ok())?;
        Some(TopicUse {
            topic: text("name")?,
            connector: text("connector")?,
            task: u32::try_from(task).ok()?,
            discovered_ms: inner.get("discoverTimestamp")?.as_i64()?,
        })
    }

    fn to_record(&self) -> Vec<u8> {
        let inner = Writer::new()
            .text("name", Some(&self.topic))
            .text("connector", Some(&self.connector))
            .raw("task", self.task)
            .raw("discoverTimestamp", self.discovered_ms);
        Writer::new().object("topic", inner).finish()
    }
}

/// One record. What a connector or a task was is taken away by its key's tombstone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatusRecord {
    Connector(String, Status),
    Task(String, u32, Status),
    Topic(TopicUse),
    Gone(StatusKey),
}

impl StatusRecord {
    /// Key and value as a Java worker writes them.
    pub fn written(&self) -> Written {
        let (key, value) = match self {
            StatusRecord::Connector(name, status) => {
                (StatusKey::Connector(name.clone()), status.to_record())
            }
            StatusRecord::Task(name, task, status) => {
                (StatusKey::Task(name.clone(), *task), status.to_record())
            }
            StatusRecord::Topic(used) => {
                let (topic, connector) = (used.topic.clone(), used.connector.clone());
                (StatusKey::Topic { topic, connector }, used.to_record())
            }
            StatusRecord::Gone(key) => return key.tombstone(),
        };
        (key.text().into_bytes(), Some(value))
    }

    /// Reads one record by itself.
    ///
    /// # Errors
    /// Why it is of no use.
    pub fn decode(record: &ReadRecord<'_>) -> Result<StatusRecord, Oddity> {
        let read = || {
            let key = StatusKey::parse(&text_key(record)?);
            let key = key.ok_or_else(|| Unusable::new("nobody knows such a key"))?;
            StatusRecord::read(key, record.value)
        };
        read().map_err(|fault: Unusable| fault.of(record))
    }

    /// The record with this key. Unlike in the config topic, a null in the value is no tombstone.
    pub(super) fn read(key: StatusKey, value: Option<&[u8]>) -> Result<StatusRecord, Unusable> {
        if value.is_none() {
            return Ok(StatusRecord::Gone(key));
        }
        let members = json::members(json::read(value)?)?;
        let read = match key {
            StatusKey::Connector(name) => {
                Status::read(&members).map(|status| StatusRecord::Connector(name, status))
            }
            StatusKey::Task(name, task) => {
                Status::read(&members).map(|status| StatusRecord::Task(name, task, status))
            }
            StatusKey::Topic { .. } => TopicUse::read(&members).map(StatusRecord::Topic),
        };
        read.ok_or_else(|| Unusable::new("a member is missing, or is not what it should be"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_as_java_does() {
        let task = |name: &str, task| Some(StatusKey::Task(name.to_owned(), task));
        let topic = |topic: &str, connector: &str| {
            let (topic, connector) = (topic.to_owned(), connector.to_owned());
            Some(StatusKey::Topic { topic, connector })
        };
        for (key, wanted) in [
            ("status-connector-a-b", Some(StatusKey::Connector("a-b".to_owned()))),
            ("status-connector-", None),
            ("status-task-a-b-1-7", task("a-b-1", 7)),
            ("status-task--0", task("", 0)),
            ("status-task-c--3", task("c-", 3)),
            ("status-task-c-0-", task("c", 0)),
            ("status-task-3", None),
            ("status-task-c-x", None),
            ("status-topic-t:connector-c", topic("t", "c")),
            ("status-topic-t:connector-c:connector-d", topic("t", "c:connector-d")),
            ("status-topic-t:xxxxxxxxxxc", topic("t", "c")),
            ("status-topic-t:connector-", None),
            ("status-topic-t:conn", None),
            ("status-topic-:connector-c", None),
            ("status-topic-t", None),
            ("status-foo-c", None),
        ] {
            assert_eq!(StatusKey::parse(key), wanted, "{key}");
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let status = |trace: Option<&str>| Status {
            state: Reported::Failed,
            trace: trace.map(str::to_owned),
            worker_id: Some("h:1".to_owned()),
            generation: -1,
            version: None,
        };
        let used = TopicUse {
            topic: "t".to_owned(),
            connector: "c".to_owned(),
            task: 1,
            discovered_ms: 1_700_000_000_123,
        };
        for record in [
            StatusRecord::Connector("c".to_owned(), status(None)),
            StatusRecord::Task("c".to_owned(), 3, status(Some("a\n\tb"))),
            StatusRecord::Topic(used),
            StatusRecord::Gone(StatusKey::Task("c".to_owned(), 3)),
        ] {
            let (key, value) = record.written();
            let read =
                ReadRecord { partition: 0, offset: 0, key: Some(&key), value: value.as_deref() };
            assert_eq!(StatusRecord::decode(&read), Ok(record));
        }
    }
}
