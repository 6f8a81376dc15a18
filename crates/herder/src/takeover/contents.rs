//! What the three topics of a cluster hold, read once from start to end. Nothing is made or changed.

use super::note::{TakeOver, Was};
use crate::distributed::cluster::{Stance, WorkerId};
use crate::distributed::log::{LogSettings, Store};
use crate::distributed::records::Said;
use crate::distributed::topics::{ConfigKey, ConfigState, OWN_PREFIX, ReadRecord, Statuses};
use api::{Error, Result, SourceMap};
use config::Props;
use data::RawBatch;
use kafka::Admin;
use runtime::read_to_end;
use runtime::source::offsets::{OffsetChange, OffsetEntries, OffsetStore};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

const ASK_TIMEOUT: Duration = Duration::from_secs(10);
/// Records of no use that are told one by one; the rest is counted.
const ODDITIES_MAX: usize = 20;

/// The topics of a worker file.
#[derive(Clone, Debug)]
pub struct Topics {
    pub configs: LogSettings,
    pub offsets: LogSettings,
    pub statuses: LogSettings,
}

/// A topic as it was found.
#[derive(Debug)]
pub struct TopicSeen {
    pub name: String,
    /// What it is for.
    pub what: &'static str,
    /// None: there is no such topic.
    pub partitions: Option<usize>,
    /// Why it cannot hold a cluster, or cannot be used by this principal.
    pub trouble: Option<Error>,
}

impl Topics {
    /// # Errors
    /// A key that is missing or wrong.
    pub fn of_worker(worker: &Props) -> Result<Topics> {
        Ok(Topics {
            configs: LogSettings::of_worker(worker, Store::Configs)?,
            offsets: LogSettings::of_worker(worker, Store::Offsets)?,
            statuses: LogSettings::of_worker(worker, Store::Statuses)?,
        })
    }

    /// Looks at each: whether it is there, is fit, and may be read and written.
    ///
    /// # Errors
    /// Brokers do not answer.
    pub fn look(&self, admin: &Admin) -> Result<Vec<TopicSeen>> {
        [&self.configs, &self.offsets, &self.statuses]
            .map(|log| look(log, admin))
            .into_iter()
            .collect()
    }
}

fn look(log: &LogSettings, admin: &Admin) -> Result<TopicSeen> {
    let (name, what) = (log.topic.name.clone(), log.topic.what);
    let seen =
        |partitions, trouble| Ok(TopicSeen { name: name.clone(), what, partitions, trouble });
    let partitions = match log.topic.look(admin) {
        Ok(Some(partitions)) => partitions,
        Ok(None) => return seen(None, None),
        Err(error) if error.kind == api::ErrorKind::Config => {
            let partitions = admin.topic(&name, ASK_TIMEOUT).ok().map(|topic| topic.partitions);
            return seen(partitions, Some(error));
        }
        Err(error) => return Err(error),
    };
    if log.one_partition && partitions > 1 {
        return seen(
            Some(partitions),
            Some(crate::distributed::log::too_many(&log.topic, partitions)),
        );
    }
    // Brokers that do not tell of rights refuse later, with the right that is missing.
    let rights = admin.topic_rights(&name, ASK_TIMEOUT).ok().flatten();
    let lacks: Vec<&str> = rights
        .map(|rights| [("Read", rights.read), ("Write", rights.write)])
        .into_iter()
        .flatten()
        .filter_map(|(right, has)| (!has).then_some(right))
        .collect();
    if lacks.is_empty() {
        return seen(Some(partitions), None);
    }
    let lacks = lacks.join(" and ");
    let error = Error::config(format!("the worker's principal may not {lacks} topic {name}"));
    seen(Some(partitions), Some(error.hint(format!("grant it {lacks} on Topic {name}"))))
}

/// What the topics hold.
#[derive(Default)]
pub struct Contents {
    pub configs: ConfigState,
    /// The same as Java workers without exactly-once sources read it: they see transactions too that
    /// were aborted.
    pub unfiltered: ConfigState,
    pub offsets: OffsetEntries,
    pub statuses: Statuses,
    /// Workers of ours, as they told of themselves last.
    pub workers: BTreeMap<WorkerId, Said>,
    /// Keys of our own that have a value, in the config and in the status topic.
    pub own_configs: BTreeSet<String>,
    pub own_statuses: BTreeSet<String>,
    /// Loggers with a level for the whole cluster, and where that stands in the config topic.
    pub levels: BTreeMap<String, i64>,
    /// What was noted when the cluster was taken over.
    pub taken_over: Option<TakeOver>,
    pub was: BTreeMap<String, Was>,
    /// Where the partitions of the topics end.
    pub ends: BTreeMap<String, BTreeMap<i32, i64>>,
    /// Records that are of no use, and how many more there are.
    pub oddities: Vec<String>,
    pub more_oddities: usize,
}

impl Contents {
    /// Reads the topics that are there (`seen`). `stopped` ends the wait.
    ///
    /// # Errors
    /// Retriable where brokers do not answer or a transaction stays open.
    pub fn read(
        topics: &Topics,
        seen: &[TopicSeen],
        stopped: &dyn Fn() -> bool,
    ) -> Result<Contents> {
        let mut contents = Contents::default();
        let read = |log: &LogSettings, isolation: &str, take: &mut dyn FnMut(&RawBatch)| {
            let name = &log.topic.name;
            let seen = seen.iter().find(|seen| seen.name == *name);
            let Some(partitions) = seen.and_then(|seen| seen.partitions) else { return Ok(None) };
            let mut consumer = log.consumer.clone();
            consumer.insert("isolation.level".to_owned(), isolation.to_owned());
            // Nothing is joined or committed; the client wants a name all the same.
            consumer
                .entry("group.id".to_owned())
                .or_insert_with(|| format!("copycat-reads-{name}"));
            read_to_end(name, partitions, &consumer, stopped, take).map(Some)
        };
        for (log, what) in [
            (&topics.configs, Store::Configs),
            (&topics.offsets, Store::Offsets),
            (&topics.statuses, Store::Statuses),
        ] {
            let ends = read(log, "read_committed", &mut |batch| contents.take(what, batch))?;
            contents.ends.extend(ends.map(|ends| (log.topic.name.clone(), ends)));
        }
        let state = &mut contents.unfiltered;
        read(&topics.configs, "read_uncommitted", &mut |batch| {
            // What is of no use was told by the first reading.
            ReadRecord::each(batch, |record| drop(state.apply(record, false)));
        })?;
        Ok(contents)
    }

    fn take(&mut self, store: Store, batch: &RawBatch) {
        if store == Store::Offsets {
            for (row, record) in batch.records().iter().enumerate() {
                let (key, value) = (batch.key(row), batch.value(row));
                if let Err(why) = self.offsets.apply(key, value.as_deref(), record.timestamp) {
                    self.oddity(format!("{} at offset {}: {why}", batch.tp(), record.offset));
                }
            }
            return;
        }
        ReadRecord::each(batch, |record| {
            let key = record.key.map(String::from_utf8_lossy).unwrap_or_default();
            let applied = match store {
                Store::Configs => {
                    self.take_config(&key, record);
                    self.configs.apply(record, false).map(drop)
                }
                _ => {
                    self.take_status(&key, record);
                    self.statuses.apply(record).map(drop)
                }
            };
            if let Err(oddity) = applied {
                self.oddity(format!("{}: {oddity}", batch.tp()));
            }
        });
    }

    fn take_config(&mut self, key: &str, record: &ReadRecord<'_>) {
        if let Some(ConfigKey::LogLevel(logger)) = ConfigKey::parse(key) {
            match record.value {
                Some(_) => self.levels.insert(logger, record.offset),
                None => self.levels.remove(&logger),
            };
        }
        if !key.starts_with(OWN_PREFIX) {
            return;
        }
        keep(&mut self.own_configs, key, record.value.is_some());
        let value = record.value.unwrap_or_default();
        if let Some((name, was)) = Was::read(key, value) {
            self.was.insert(name, was);
        } else if key == super::note::TAKEOVER {
            self.taken_over = TakeOver::read(key, value);
        } else if let Some(name) = key.strip_prefix(super::note::CONNECTOR) {
            self.was.remove(name);
        }
    }

    fn take_status(&mut self, key: &str, record: &ReadRecord<'_>) {
        if key.starts_with(OWN_PREFIX) {
            keep(&mut self.own_statuses, key, record.value.is_some());
        }
        match Said::read(key, record.value) {
            Some((worker, Some(said))) => drop(self.workers.insert(worker, said)),
            Some((worker, None)) => drop(self.workers.remove(&worker)),
            None => {}
        }
    }

    fn oddity(&mut self, told: String) {
        if self.oddities.len() < ODDITIES_MAX {
            self.oddities.push(told);
        } else {
            self.more_oddities += 1;
        }
    }

    /// The workers of ours that did not say that they left, newest generation only: name and URL.
    pub fn names_of_ours(&self) -> Vec<String> {
        let newest = self.workers.values().map(|said| said.claim.generation).max().unwrap_or(-1);
        let there = |said: &&Said| {
            let claim = &said.claim;
            let left = matches!(claim.stance, Stance::Restarting | Stance::Left);
            claim.generation == newest && !left && !claim.partitions.is_empty()
        };
        let there = self.workers.values().filter(there);
        there.map(|said| format!("{} ({})", said.claim.worker.name, said.url)).collect()
    }
}

fn keep(keys: &mut BTreeSet<String>, key: &str, has_value: bool) {
    if has_value {
        keys.insert(key.to_owned());
    } else {
        keys.remove(key);
    }
}

/// The offsets that were read, as a store that takes nothing.
impl OffsetStore for Contents {
    fn get(&self, connector: &str, partition: &SourceMap) -> Result<Option<SourceMap>> {
        Ok(self.offsets.get(connector, partition))
    }

    fn list(&self, connector: &str) -> Result<Vec<(SourceMap, SourceMap)>> {
        let all = self.offsets.partitions(connector);
        Ok(all.filter_map(|(partition, offset)| Some((partition, offset?))).collect())
    }

    fn put(&self, _: &str, _: &[OffsetChange]) -> Result<()> {
        Err(Error::config("offsets are only looked at here"))
    }
}
