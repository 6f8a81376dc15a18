//! Sources: what a connector's task does so that records get into Kafka, once each or at least once.
//!
//! A source task runs on a thread of the runtime's. It gives batches, each of one source partition,
//! with where to go on after each record; the runtime transforms, encodes and sends them, and stores
//! that offset once everything before it is in Kafka. So a task never stores anything itself, and is
//! asked only where it stood.

use crate::check::{Check, Checking};
use crate::error::Result;
use config::{ConfigDef, ConfigError, Props};
use data::Batch;
use std::sync::Arc;
use std::time::Duration;

use crate::connector::TaskContext;

/// A source partition or a source offset: members of text, numbers, booleans or null, as they stand in
/// the offsets topic.
pub type SourceMap = serde_json::Map<String, serde_json::Value>;

/// Records of one source partition, in its order.
#[derive(Clone, Debug)]
pub struct SourceBatch {
    /// `Origin::Source`; see [`data::RawBatch::made`].
    pub records: Batch,
    pub partition: Arc<SourceMap>,
    pub offsets: SourceOffsets,
}

/// Where reading goes on after each record of a batch.
#[derive(Clone, Debug)]
pub enum SourceOffsets {
    /// One number under one name, as `{"position": 30}`.
    Number { name: Arc<str>, after: Vec<i64> },
    /// Anything else, one a record.
    Each(Vec<SourceMap>),
    /// The source cannot be asked again: nothing is stored.
    None,
}

impl SourceOffsets {
    /// The offset to store once this record and all before it are in Kafka.
    pub fn after(&self, row: usize) -> Option<SourceMap> {
        match self {
            SourceOffsets::Number { name, after } => {
                let number = after.get(row)?;
                Some(SourceMap::from_iter([(name.to_string(), (*number).into())]))
            }
            SourceOffsets::Each(offsets) => offsets.get(row).cloned(),
            SourceOffsets::None => None,
        }
    }
}

/// What a task has to say about the transaction it is in, under `transaction.boundary=connector`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Boundary {
    /// Everything given so far becomes visible together.
    Commit,
    /// Everything since the last boundary is dropped, and not read again.
    Abort,
}

/// The answer to a poll. No batches: there is nothing at the moment.
#[derive(Debug, Default)]
pub struct Polled {
    pub batches: Vec<SourceBatch>,
    /// Takes effect after the batches.
    pub boundary: Option<Boundary>,
    /// When it is worth asking again; at once if not said and there were batches, after a while if
    /// there were none.
    pub idle: Option<Duration>,
}

/// How much a poll may give.
#[derive(Clone, Copy, Debug)]
pub struct PollLimits {
    pub rows_max: usize,
    pub bytes_max: usize,
}

/// Where a task stood.
pub trait StoredOffsets {
    /// The offset stored last for a partition; `None` if there is none.
    ///
    /// # Errors
    /// The store cannot be read.
    fn offset(&self, partition: &SourceMap) -> Result<Option<SourceMap>>;
}

/// A running source task. All calls come from one thread.
pub trait SourceTask: Send {
    /// Takes up position. Called before the first poll, and again where everything given since the
    /// last stored offset was discarded.
    ///
    /// # Errors
    /// As in [`SourceTask::poll`].
    fn start(&mut self, stored: &dyn StoredOffsets) -> Result<()>;

    /// Gives what there is. Does not wait for more: what has to wait reads on a thread of its own.
    ///
    /// # Errors
    /// Retriable: logged, shown in the status, and polled again after a while. Others end the task.
    fn poll(&mut self, limits: &PollLimits) -> Result<Polled>;

    /// Everything up to these offsets is in Kafka, and they are stored.
    fn committed(&mut self, _offsets: &[(Arc<SourceMap>, SourceMap)]) {}

    /// What is worth telling the operator at the moment (a file that is waited for).
    fn notice(&self) -> Option<String> {
        None
    }
}

/// Whether a connector can give each record once, with these settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExactlyOnce {
    Supported,
    Unsupported,
}

/// A kind of source. One instance serves any number of connectors.
pub trait SourceConnector: Send + Sync {
    /// The keys this connector defines under the class name the user wrote, defaults included.
    fn config_def(&self, class: &str) -> ConfigDef;

    /// Prefixes of keys that are no options of their own under that class name.
    fn known_prefixes(&self, _class: &str) -> Vec<&'static str> {
        Vec::new()
    }

    /// Whether `${…}` in this key means something to the connector: references to secrets that are left
    /// as they are there are not worth a word.
    fn has_references(&self, _key: &str) -> bool {
        false
    }

    /// Checks that go beyond single keys. Keys in the result are the user's own.
    fn validate(&self, _props: &Props) -> Vec<ConfigError> {
        Vec::new()
    }

    /// Things worth one log line.
    fn notices(&self, _props: &Props) -> Vec<String> {
        Vec::new()
    }

    /// Looks whether the source could be read, a line each; see [`Check`]. Called only with settings
    /// that are valid, and only where a user asks.
    fn check(&self, _asked: &Checking, _props: &Props) -> Vec<Check> {
        Vec::new()
    }

    /// Whether each record can be given once.
    fn exactly_once(&self, props: &Props) -> ExactlyOnce;

    /// Whether its tasks say where transactions end.
    fn defines_boundaries(&self, _props: &Props) -> bool {
        false
    }

    /// The configs of the tasks, at most `tasks_max`.
    ///
    /// # Errors
    /// The work cannot be divided.
    fn task_configs(&self, props: &Props, tasks_max: u32) -> Result<Vec<Props>>;

    /// Makes a task. Opens nothing: what is not there is an error of `start` or `poll`.
    ///
    /// # Errors
    /// Settings that cannot work.
    fn task(&self, context: &TaskContext, props: &Props) -> Result<Box<dyn SourceTask>>;

    /// Checks offsets that somebody wants to store, each with its partition; an offset of `None`
    /// forgets.
    ///
    /// # Errors
    /// What is wrong with them, in words for the person who asks.
    fn check_offsets(
        &self,
        _props: &Props,
        _offsets: &[(SourceMap, Option<SourceMap>)],
    ) -> Result<()> {
        Ok(())
    }
}
