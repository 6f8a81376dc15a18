//! Copycat's own records beside those of Kafka Connect, under keys that no Java worker knows and all of
//! them skip.
//!
//! | topic | key | value |
//! |---|---|---|
//! | config | `copycat-placement-<connector>` | where its tasks run; none: nowhere, and nothing is left |
//! | config | `copycat-restart-<connector>` | the tasks that start again; means nothing once it is read as history |
//! | config | `copycat-leader` | version and writer of a transaction: its last record |
//! | status | `copycat-worker-<host:port>/<run>` | what a worker says of itself; none: forgotten |
//!
//! Invariant: what one version writes, later ones read; members that are not known are ignored.

use super::cluster::{Change, Claim, Placement, Slot, Stance, WorkerId};
use super::topics::Written;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const PLACEMENT: &str = "copycat-placement-";
const RESTART: &str = "copycat-restart-";
const LEADER: &str = "copycat-leader";
const WORKER: &str = "copycat-worker-";

/// The record of a change that is our own; none for one that Kafka Connect has a record for.
pub fn write_change(change: &Change) -> Option<Written> {
    let (key, value) = match change {
        Change::Placement { name, placement } => {
            (format!("{PLACEMENT}{name}"), placement.as_ref().map(placement_json))
        }
        Change::Restart { name, tasks } => {
            (format!("{RESTART}{name}"), Some(json!({ "tasks": tasks })))
        }
        Change::Led { version, worker } => {
            let value = json!({ "version": version, "worker": worker_json(worker) });
            (LEADER.to_owned(), Some(value))
        }
        Change::Connector { .. }
        | Change::Target { .. }
        | Change::Tasks { .. }
        | Change::TaskCount { .. }
        | Change::SessionKey(_) => return None,
    };
    Some((key.into_bytes(), value.map(|value| value.to_string().into_bytes())))
}

/// The change that a record of our own in the config topic stands for; none for others, and for what
/// cannot be read.
pub fn read_change(key: &str, value: Option<&[u8]>) -> Option<Change> {
    let json = || serde_json::from_slice::<Value>(value?).ok();
    if let Some(name) = key.strip_prefix(PLACEMENT) {
        let placement = match value {
            None => None,
            Some(_) => Some(placement(&json()?)?),
        };
        return Some(Change::Placement { name: name.into(), placement });
    }
    if let Some(name) = key.strip_prefix(RESTART) {
        let json = json()?;
        let tasks = json.get("tasks")?.as_array()?.iter();
        let tasks = tasks.filter_map(|task| u32::try_from(task.as_u64()?).ok()).collect();
        return Some(Change::Restart { name: name.into(), tasks });
    }
    if key == LEADER {
        let json = json()?;
        let version = json.get("version")?.as_u64()?;
        return Some(Change::Led { version, worker: worker(json.get("worker")?)? });
    }
    None
}

/// Whether a key is one of our own in the config topic that this version knows.
pub fn is_change_key(key: &str) -> bool {
    key == LEADER || key.starts_with(PLACEMENT) || key.starts_with(RESTART)
}

/// The group and the worker of a leader's record, where it says so.
pub fn leader_group(key: &str, value: Option<&[u8]>) -> Option<(Arc<str>, Arc<str>)> {
    let value = value.filter(|_| key == LEADER)?;
    let json: Value = serde_json::from_slice(value).ok()?;
    let worker = worker(json.get("worker")?)?;
    Some((json.get("group")?.as_str()?.into(), worker.name))
}

/// The leader's record of a cluster of this name.
pub fn write_led(version: u64, worker: &WorkerId, group: &str) -> Written {
    let value = json!({ "version": version, "worker": worker_json(worker), "group": group });
    (LEADER.into(), Some(value.to_string().into_bytes()))
}

fn worker_json(worker: &WorkerId) -> Value {
    // A number of 64 bits is not safe in every reader of JSON.
    json!({ "id": &*worker.name, "run": format!("{:016x}", worker.run) })
}

fn worker(json: &Value) -> Option<WorkerId> {
    let name = json.get("id")?.as_str()?;
    let run = u64::from_str_radix(json.get("run")?.as_str()?, 16).ok()?;
    Some(WorkerId { name: name.into(), run })
}

fn placement_json(placement: &Placement) -> Value {
    let slot = |slot: &Slot| match slot {
        Slot::Free => Value::Null,
        Slot::Held { worker, token } => json!({ "worker": worker_json(worker), "token": token }),
        Slot::Leaving { worker, token, since } => {
            json!({ "worker": worker_json(worker), "token": token, "leaves": since })
        }
    };
    let slots: Vec<Value> = placement.slots.iter().map(slot).collect();
    json!({
        "incarnation": placement.incarnation,
        "made-of": placement.made_of.map(|of| format!("{of:016x}")),
        "slots": slots,
    })
}

fn placement(json: &Value) -> Option<Placement> {
    let slot = |json: &Value| {
        if json.is_null() {
            return Some(Slot::Free);
        }
        let (worker, token) = (worker(json.get("worker")?)?, json.get("token")?.as_u64()?);
        Some(match json.get("leaves").and_then(Value::as_u64) {
            Some(since) => Slot::Leaving { worker, token, since },
            None => Slot::Held { worker, token },
        })
    };
    let made_of = json.get("made-of").and_then(Value::as_str);
    Some(Placement {
        incarnation: json.get("incarnation")?.as_u64()?,
        made_of: made_of.and_then(|of| u64::from_str_radix(of, 16).ok()),
        slots: json.get("slots")?.as_array()?.iter().map(slot).collect::<Option<_>>()?,
    })
}

/// A worker's word on itself, with the URL under which others reach it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    pub claim: Claim,
    pub url: Arc<str>,
    /// Of the program.
    pub version: Arc<str>,
    /// What keeps the worker from working with the others, for people.
    pub troubles: Vec<String>,
    /// `group.id`; empty in words of versions that did not say.
    pub group: Arc<str>,
    /// Keys of the worker file that all workers of a cluster should have alike.
    pub settings: BTreeMap<String, String>,
    /// The generation of the group in which this start of it first had a place; none before, and in words
    /// of versions that did not say.
    pub joined: Option<i32>,
}

const STANCES: [(Stance, &str); 5] = [
    (Stance::Active, "active"),
    (Stance::Draining, "draining"),
    (Stance::Ending, "ending"),
    (Stance::Restarting, "restarting"),
    (Stance::Left, "left"),
];

fn worker_key(worker: &WorkerId) -> Vec<u8> {
    format!("{WORKER}{}/{:016x}", worker.name, worker.run).into_bytes()
}

impl Said {
    pub fn written(&self) -> Written {
        let Claim { worker, generation, partitions, applied, lingering, stance } = &self.claim;
        let stance = STANCES.iter().find(|(known, _)| known == stance).map(|(_, word)| word);
        let lingering: Vec<Value> =
            lingering.iter().map(|(name, task)| json!([&**name, task])).collect();
        let mut value = json!({
            "url": &*self.url,
            "version": &*self.version,
            "generation": generation,
            "partitions": partitions,
            "applied": applied,
            "lingering": lingering,
            "stance": stance,
            "group": &*self.group,
            "settings": self.settings,
        });
        if !self.troubles.is_empty() {
            value["troubles"] = json!(self.troubles);
        }
        if let Some(joined) = self.joined {
            value["joined"] = json!(joined);
        }
        (worker_key(worker), Some(value.to_string().into_bytes()))
    }

    /// What takes a worker's word away.
    pub fn forgotten(worker: &WorkerId) -> Written {
        (worker_key(worker), None)
    }

    /// A record of the status topic: whose word it is, and the word; none for other records, and for
    /// what cannot be read.
    pub fn read(key: &str, value: Option<&[u8]>) -> Option<(WorkerId, Option<Said>)> {
        let (name, run) = key.strip_prefix(WORKER)?.rsplit_once('/')?;
        let worker = WorkerId { name: name.into(), run: u64::from_str_radix(run, 16).ok()? };
        let Some(value) = value else { return Some((worker, None)) };
        let json: Value = serde_json::from_slice(value).ok()?;
        let integer = |value: &Value| i32::try_from(value.as_i64()?).ok();
        let task = |value: &Value| {
            let name = value.get(0)?.as_str()?;
            Some((Arc::from(name), u32::try_from(value.get(1)?.as_u64()?).ok()?))
        };
        let word = json.get("stance")?.as_str()?;
        let partitions: Option<BTreeSet<i32>> =
            json.get("partitions")?.as_array()?.iter().map(integer).collect();
        let claim = Claim {
            worker: worker.clone(),
            generation: integer(json.get("generation")?)?,
            partitions: partitions?,
            applied: json.get("applied")?.as_u64()?,
            lingering: json
                .get("lingering")?
                .as_array()?
                .iter()
                .map(task)
                .collect::<Option<_>>()?,
            // A word that only later versions know: it is there, and what to give it they know.
            stance: STANCES
                .iter()
                .find(|(_, known)| *known == word)
                .map_or(Stance::Ending, |(stance, _)| *stance),
        };
        let settings = json.get("settings").and_then(Value::as_object).into_iter().flatten();
        let settings = settings
            .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
            .collect();
        let text = |name: &str| json.get(name).and_then(Value::as_str).unwrap_or_default().into();
        let troubles = json.get("troubles").and_then(Value::as_array);
        let troubles = troubles.into_iter().flatten().filter_map(Value::as_str);
        let troubles = troubles.map(str::to_owned).collect();
        let said = Said {
            claim,
            url: text("url"),
            version: text("version"),
            group: text("group"),
            troubles,
            settings,
            joined: json.get("joined").and_then(integer),
        };
        Some((worker, Some(said)))
    }

    /// Whether a key is one of these records, readable or not.
    pub fn is_key(key: &str) -> bool {
        key.starts_with(WORKER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some_worker() -> WorkerId {
        WorkerId { name: "h:8083".into(), run: u64::MAX - 1 }
    }

    #[test]
    fn changes_are_read_as_they_were_written() {
        let name: Arc<str> = "a-b/c".into();
        let worker = some_worker();
        let slots = vec![
            Slot::Free,
            Slot::Held { worker: worker.clone(), token: 7 },
            Slot::Leaving { worker: worker.clone(), token: 7, since: 9 },
        ];
        let placement = Placement { incarnation: 3, made_of: Some(u64::MAX), slots };
        for change in [
            Change::Placement { name: name.clone(), placement: Some(placement) },
            Change::Placement { name: name.clone(), placement: Some(Placement::default()) },
            Change::Placement { name: name.clone(), placement: None },
            Change::Restart { name, tasks: [0, 5].into() },
            Change::Led { version: 12, worker },
        ] {
            let (key, value) = write_change(&change).unwrap();
            let key = String::from_utf8(key).unwrap();
            assert_eq!(read_change(&key, value.as_deref()), Some(change));
        }
    }

    #[test]
    fn words_of_workers_are_read_as_they_were_written() {
        for (stance, _) in STANCES {
            let claim = Claim {
                worker: some_worker(),
                generation: 4,
                partitions: [1, 3].into(),
                applied: 8,
                lingering: [(Arc::from("c"), 2)].into(),
                stance,
            };
            let said = Said {
                claim,
                url: "http://h:8083".into(),
                version: "1.0".into(),
                troubles: vec!["nobody reaches it".to_owned()],
                group: "g".into(),
                settings: [("session.timeout.ms".to_owned(), "6000".to_owned())].into(),
                joined: Some(3),
            };
            let (key, value) = said.written();
            let key = String::from_utf8(key).unwrap();
            let read = Said::read(&key, value.as_deref());
            assert_eq!(read, Some((some_worker(), Some(said))));
            assert_eq!(Said::read(&key, None), Some((some_worker(), None)));
        }
    }

    #[test]
    fn what_later_versions_say_is_read_as_far_as_it_is_known() {
        let value = br#"{"generation":1,"partitions":[0],"applied":2,"lingering":[],"stance":"asleep","x":[]}"#;
        let (_, said) = Said::read("copycat-worker-h:1/1f", Some(value)).unwrap();
        let said = said.unwrap();
        assert_eq!(said.claim.stance, Stance::Ending, "it is there, and gets nothing more");
        let unsaid = (&*said.group, said.settings.len(), said.joined);
        assert_eq!(unsaid, ("", 0, None), "nor does an earlier one say");
        let value = br#"{"incarnation":1,"made-of":null,"slots":[null],"zone":"b"}"#;
        assert!(read_change("copycat-placement-c", Some(value)).is_some());
        assert!(is_change_key("copycat-placement-c") && !is_change_key("copycat-later-c"));
        let (_, led) = write_led(7, &some_worker(), "g");
        assert_eq!(leader_group(LEADER, led.as_deref()), Some(("g".into(), some_worker().name)));
        let change = Change::Led { version: 7, worker: some_worker() };
        assert_eq!(read_change(LEADER, led.as_deref()), Some(change));
    }

    #[test]
    fn what_is_no_record_of_ours_or_broken_is_nothing() {
        assert_eq!(read_change("connector-c", Some(b"{}")), None);
        assert_eq!(read_change("copycat-leader", Some(b"{}")), None);
        assert_eq!(read_change("copycat-placement-c", Some(b"{\"slots\":[1]}")), None);
        assert_eq!(read_change("copycat-leader", Some(b"no json")), None);
        assert_eq!(Said::read("copycat-worker-h:1", None), None);
        assert_eq!(Said::read("copycat-worker-h:1/zz", None), None);
        assert_eq!(Said::read("copycat-worker-h:1/1f", Some(b"[]")), None);
    }
}
