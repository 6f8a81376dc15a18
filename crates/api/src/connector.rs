//! Connectors: the control-plane side of a plugin, and the descriptors that registries hold.

use crate::check::{Check, Checking};
use crate::converter::{Converter, Side};
use crate::error::Result;
use crate::sink::SinkTask;
use crate::source::SourceConnector;
use config::{ConfigDef, ConfigError, Props};
use data::TopicPartition;

/// What a task does with a record it cannot store. Connect's `errors.tolerance`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Tolerance {
    /// The rows before the record are stored, then the task fails.
    #[default]
    None,
    /// The record is reported and the task goes on.
    All,
}

/// Where a task runs.
#[derive(Clone, Debug)]
pub struct TaskContext {
    pub connector: String,
    pub task: u32,
    /// The id of the Kafka cluster; part of the owner of stored offsets.
    pub cluster_id: String,
    /// The consumer group; part of the owner of stored offsets.
    pub group_id: String,
    pub tolerance: Tolerance,
}

/// The positions of a sink's partitions, in its destination.
pub trait StoredPositions {
    /// Every partition with the offset of the next record.
    ///
    /// # Errors
    /// The destination does not answer.
    fn list(&mut self) -> Result<Vec<(TopicPartition, i64)>>;

    /// Sets positions, or forgets them, all or none. A task that still runs can write no more after
    /// this.
    ///
    /// # Errors
    /// The destination does not answer or refuses.
    fn alter(&mut self, changes: &[(TopicPartition, Option<i64>)]) -> Result<()>;
}

/// A kind of sink. One instance serves any number of connectors.
pub trait SinkConnector: Send + Sync {
    /// The keys this connector defines under the class name the user wrote, defaults included.
    fn config_def(&self, class: &str) -> ConfigDef;

    /// Prefixes of keys that are no options of their own under that class name, and that
    /// [`SinkConnector::notices`] speaks of: they are not reported as unknown as well.
    fn known_prefixes(&self, _class: &str) -> Vec<&'static str> {
        Vec::new()
    }

    /// Checks that go beyond single keys. Keys in the result are the user's own.
    fn validate(&self, props: &Props) -> Vec<ConfigError>;

    /// Things worth one log line: keys accepted without effect, values changed by a compatibility
    /// default.
    fn notices(&self, props: &Props) -> Vec<String>;

    /// The configs of the tasks, at most `tasks_max`.
    fn task_configs(&self, props: &Props, tasks_max: u32) -> Result<Vec<Props>>;

    /// Looks whether the destination could be written to, a line each; see [`Check`]. Called only
    /// with settings that are valid, and only where a user asks.
    fn check(&self, _asked: &Checking, _props: &Props) -> Vec<Check> {
        Vec::new()
    }

    /// Whether the destination keeps the positions, so that those of the group are a mirror.
    fn keeps_positions(&self, _props: &Props) -> bool {
        false
    }

    /// The positions that the destination keeps; asked only where it does.
    ///
    /// # Errors
    /// The destination does not answer, or offers no way to look at them.
    fn stored_positions(
        &self,
        _context: &TaskContext,
        _props: &Props,
    ) -> Result<Box<dyn StoredPositions>> {
        Err(crate::Error::config("this connector does not let its positions be looked at"))
    }

    /// Makes a task. Connects lazily: an unreachable destination is an error of `open`, not of this.
    fn task(&self, context: &TaskContext, props: &Props) -> Result<Box<dyn SinkTask>>;
}

/// A registry entry of a connector.
pub struct ConnectorPlugin {
    /// Our own class name.
    pub class: &'static str,
    /// Other class names that configs may carry, short names included.
    pub aliases: &'static [&'static str],
    pub version: &'static str,
    pub summary: &'static str,
    /// Tells plugins that share an alias apart, by the rest of the config.
    pub claims: fn(&Props) -> bool,
    pub make: fn() -> Connector,
}

/// A connector of either direction, with what both have.
pub enum Connector {
    Sink(Box<dyn SinkConnector>),
    Source(Box<dyn SourceConnector>),
}

impl Connector {
    /// The keys it defines under the class name the user wrote, defaults included.
    pub fn config_def(&self, class: &str) -> ConfigDef {
        match self {
            Connector::Sink(sink) => sink.config_def(class),
            Connector::Source(source) => source.config_def(class),
        }
    }

    /// See [`SinkConnector::known_prefixes`].
    pub fn known_prefixes(&self, class: &str) -> Vec<&'static str> {
        match self {
            Connector::Sink(sink) => sink.known_prefixes(class),
            Connector::Source(source) => source.known_prefixes(class),
        }
    }

    /// See [`SourceConnector::has_references`].
    pub fn has_references(&self, key: &str) -> bool {
        match self {
            Connector::Sink(_) => false,
            Connector::Source(source) => source.has_references(key),
        }
    }

    /// Checks that go beyond single keys.
    pub fn validate(&self, props: &Props) -> Vec<ConfigError> {
        match self {
            Connector::Sink(sink) => sink.validate(props),
            Connector::Source(source) => source.validate(props),
        }
    }

    /// Things worth one log line.
    pub fn notices(&self, props: &Props) -> Vec<String> {
        match self {
            Connector::Sink(sink) => sink.notices(props),
            Connector::Source(source) => source.notices(props),
        }
    }

    /// See [`SinkConnector::check`].
    pub fn check(&self, asked: &Checking, props: &Props) -> Vec<Check> {
        match self {
            Connector::Sink(sink) => sink.check(asked, props),
            Connector::Source(source) => source.check(asked, props),
        }
    }

    /// The configs of the tasks, at most `tasks_max`.
    ///
    /// # Errors
    /// The work cannot be divided.
    pub fn task_configs(&self, props: &Props, tasks_max: u32) -> Result<Vec<Props>> {
        match self {
            Connector::Sink(sink) => sink.task_configs(props, tasks_max),
            Connector::Source(source) => source.task_configs(props, tasks_max),
        }
    }
}

/// A registry entry of a converter.
pub struct ConverterPlugin {
    /// The Connect class name.
    pub class: &'static str,
    pub aliases: &'static [&'static str],
    pub version: &'static str,
    pub config_def: fn() -> ConfigDef,
    /// Makes an instance from the settings under its prefix.
    pub make: fn(&Props, Side) -> Result<Box<dyn Converter>>,
}
