//! How everything was when a cluster was taken over: records of our own in its config topic.
//!
//! | key | value |
//! |---|---|
//! | `copycat-takeover-<connector>` | the connector's class, target and offsets |
//! | `copycat-takeover` | when, by which version, where the topics ended, who was left out: the last one |
//!
//! Invariant: they are written in one transaction, and taken away in another.

use crate::distributed::topics::Written;
use crate::state::Target;
use api::SourceMap;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

pub(super) const TAKEOVER: &str = "copycat-takeover";
pub(super) const CONNECTOR: &str = "copycat-takeover-";
/// Offsets of a connector that are noted; the rest is counted.
pub const OFFSETS_MAX: usize = 1000;

/// That a cluster was taken over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TakeOver {
    /// Milliseconds since the epoch.
    pub at_ms: u64,
    /// Of the program.
    pub version: String,
    /// Where the partitions of the topics ended.
    pub ends: BTreeMap<String, BTreeMap<i32, i64>>,
    /// Connectors that were left out: paused until the cluster is handed back.
    pub left_out: BTreeSet<String>,
}

/// How a connector was.
#[derive(Clone, Debug, PartialEq)]
pub struct Was {
    pub target: Target,
    pub class: String,
    /// The class of its tasks as Java has it; `None`: it had no tasks.
    pub task_class: Option<String>,
    /// Partitions with their offsets, as the REST interface tells them, at most [`OFFSETS_MAX`].
    pub offsets: Vec<(SourceMap, SourceMap)>,
    /// Offsets that are not noted.
    pub more: usize,
}

const TARGETS: [(Target, &str); 3] =
    [(Target::Started, "STARTED"), (Target::Paused, "PAUSED"), (Target::Stopped, "STOPPED")];

/// Kafka Connect's word.
pub(super) fn word(target: Target) -> &'static str {
    TARGETS.iter().find(|(known, _)| *known == target).map_or("STARTED", |(_, word)| word)
}

impl TakeOver {
    pub fn written(&self) -> Written {
        let ends: serde_json::Map<String, Value> = self
            .ends
            .iter()
            .map(|(topic, ends)| {
                let ends = ends.iter().map(|(partition, end)| (partition.to_string(), json!(end)));
                (topic.clone(), Value::Object(ends.collect()))
            })
            .collect();
        let value = json!({
            "at-ms": self.at_ms,
            "version": self.version,
            "ends": ends,
            "left-out": self.left_out,
        });
        (TAKEOVER.into(), Some(value.to_string().into_bytes()))
    }

    /// The record with this key; `None` for others, and for what cannot be read.
    pub(super) fn read(key: &str, value: &[u8]) -> Option<TakeOver> {
        if key != TAKEOVER {
            return None;
        }
        let json: Value = serde_json::from_slice(value).ok()?;
        let ends_of = |ends: &Value| -> Option<BTreeMap<i32, i64>> {
            let ends = ends.as_object()?.iter();
            ends.map(|(partition, end)| Some((partition.parse().ok()?, end.as_i64()?))).collect()
        };
        let ends = json.get("ends")?.as_object()?.iter();
        let ends = ends.map(|(topic, ends)| Some((topic.clone(), ends_of(ends)?)));
        let left = json.get("left-out")?.as_array()?.iter();
        Some(TakeOver {
            at_ms: json.get("at-ms")?.as_u64()?,
            version: json.get("version")?.as_str()?.to_owned(),
            ends: ends.collect::<Option<_>>()?,
            left_out: left.map(|name| Some(name.as_str()?.to_owned())).collect::<Option<_>>()?,
        })
    }

    /// Where the one partition of the config topic ended.
    pub fn config_end(&self, topic: &str) -> Option<i64> {
        self.ends.get(topic)?.get(&0).copied()
    }
}

impl Was {
    /// With the offsets that are noted.
    pub fn new(
        target: Target,
        class: &str,
        task_class: Option<&str>,
        mut offsets: Vec<(SourceMap, SourceMap)>,
    ) -> Was {
        let more = offsets.len().saturating_sub(OFFSETS_MAX);
        offsets.truncate(OFFSETS_MAX);
        let (class, task_class) = (class.to_owned(), task_class.map(str::to_owned));
        Was { target, class, task_class, offsets, more }
    }

    pub fn written(&self, name: &str) -> Written {
        let offset = |(partition, offset): &(SourceMap, SourceMap)| json!({ "partition": partition, "offset": offset });
        let value = json!({
            "target": word(self.target),
            "class": self.class,
            "task-class": self.task_class,
            "offsets": self.offsets.iter().map(offset).collect::<Vec<_>>(),
            "more": self.more,
        });
        (format!("{CONNECTOR}{name}").into_bytes(), Some(value.to_string().into_bytes()))
    }

    pub(super) fn read(key: &str, value: &[u8]) -> Option<(String, Was)> {
        let name = key.strip_prefix(CONNECTOR)?;
        let json: Value = serde_json::from_slice(value).ok()?;
        let text = |member: &str| json.get(member).and_then(Value::as_str);
        let target = text("target")?;
        let map = |entry: &Value, member: &str| entry.get(member)?.as_object().cloned();
        let offsets = json.get("offsets")?.as_array()?.iter();
        let offsets = offsets.map(|entry| Some((map(entry, "partition")?, map(entry, "offset")?)));
        let was = Was {
            target: TARGETS.iter().find(|(_, word)| *word == target)?.0,
            class: text("class")?.to_owned(),
            task_class: text("task-class").map(str::to_owned),
            offsets: offsets.collect::<Option<_>>()?,
            more: usize::try_from(json.get("more")?.as_u64()?).ok()?,
        };
        Some((name.to_owned(), was))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(json: &str) -> SourceMap {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn notes_are_read_as_they_were_written() {
        let ends = [("c".to_owned(), [(0, 12)].into()), ("o".to_owned(), BTreeMap::new())].into();
        let left_out = ["a-b".to_owned()].into();
        let note = TakeOver { at_ms: 5, version: "0.1".to_owned(), ends, left_out };
        let (key, value) = note.written();
        let key = String::from_utf8(key).unwrap();
        assert_eq!(TakeOver::read(&key, &value.unwrap()), Some(note.clone()));
        assert_eq!((note.config_end("c"), note.config_end("o")), (Some(12), None));
        for target in [Target::Started, Target::Paused, Target::Stopped] {
            let offsets = vec![(map(r#"{"f":"x"}"#), map(r#"{"p":1}"#))];
            let was = Was::new(target, "a.B", Some("a.BTask"), offsets);
            let (key, value) = was.written("x-takeover");
            let (key, value) = (String::from_utf8(key).unwrap(), value.unwrap());
            assert_eq!(Was::read(&key, &value), Some(("x-takeover".to_owned(), was)));
            assert_eq!(TakeOver::read(&key, &value), None);
        }
    }

    #[test]
    fn offsets_beyond_the_limit_are_counted() {
        let one = (map("{}"), map("{}"));
        let was = Was::new(Target::Started, "c", None, vec![one; OFFSETS_MAX + 3]);
        assert_eq!((was.offsets.len(), was.more), (OFFSETS_MAX, 3));
    }

    #[test]
    fn what_cannot_be_read_is_nothing() {
        for value in
            ["", "{", "{}", "[]", r#"{"at-ms":1,"version":"v","ends":{"c":{"x":1}},"left-out":[]}"#]
        {
            assert_eq!(TakeOver::read(TAKEOVER, value.as_bytes()), None, "{value}");
            assert_eq!(Was::read("copycat-takeover-c", value.as_bytes()), None, "{value}");
        }
        assert_eq!(Was::read("copycat-takeover", b"{}"), None);
    }
}
