//! Client settings: Kafka's Java names in, librdkafka's names out.
//!
//! Place in the data path: before it. Every existing configuration names client settings as the
//! Java clients do, in layers (worker < connector); [`translate`] merges the layers and gives what
//! librdkafka takes, what the runtime reads itself, and what has to be said about the rest.
//!
//! Invariants:
//! - no key is dropped silently: it is translated, refused, or in the notices;
//! - an error names key, value and what is accepted instead;
//! - `Debug` shows no password, private key or login.

use std::collections::BTreeMap;
use std::fmt;

use config::{ConfigErrors, Props, looks_secret};

mod adjust;
mod draft;
mod layers;
mod native;
mod rules;
mod sasl;
mod special;
#[cfg(test)]
mod tests;
mod tls;

pub use layers::{Layers, check_override_policy, layers_for_connector};

/// Every wrong setting, each with its key.
pub type SettingsErrors = ConfigErrors;

/// Which client the settings are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientKind {
    /// Reads records.
    Consumer,
    /// Writes records.
    Producer,
    /// Creates topics, lists, reads offsets.
    Admin,
}

impl ClientKind {
    /// The name in prefixes: `consumer`, `producer`, `admin`.
    pub fn name(self) -> &'static str {
        match self {
            ClientKind::Consumer => "consumer",
            ClientKind::Producer => "producer",
            ClientKind::Admin => "admin",
        }
    }
}

/// Where a consumer starts without a stored offset (`auto.offset.reset`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Reset {
    /// At the first record there is; the default of sinks.
    #[default]
    Earliest,
    /// After the last record there is.
    Latest,
    /// Nowhere: the task fails.
    None,
}

/// What a consumer sees of transactions (`isolation.level`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum IsolationLevel {
    /// Only what was committed; the default of sinks.
    #[default]
    ReadCommitted,
    /// Everything, aborted records too.
    ReadUncommitted,
}

/// Settings that the runtime follows itself, because librdkafka has no such thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct RuntimeSettings {
    /// The most records in a batch (`max.poll.records`); none: the runtime's own limit.
    pub max_poll_records: Option<u32>,
    /// Where to start without a stored offset.
    pub auto_offset_reset: Reset,
    /// What to see of transactions.
    pub isolation_level: IsolationLevel,
    /// How long a call to the cluster may take (`default.api.timeout.ms`), in milliseconds.
    pub default_api_timeout_ms: Option<u64>,
    /// How long a send may wait for space or metadata (`max.block.ms`), in milliseconds.
    pub max_block_ms: Option<u64>,
}

/// Why a setting is mentioned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoticeKind {
    /// Nobody knows the key.
    Unknown,
    /// The key is known, but does nothing here.
    NoEffect,
    /// The value was changed to what is possible.
    Adjusted,
}

/// Something to tell the user once, when the client is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The key as given, with its prefix where it is known.
    pub key: String,
    /// What to tell.
    pub message: String,
    /// Why.
    pub kind: NoticeKind,
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.message)
    }
}

/// The settings of one client.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ClientSettings {
    /// What librdkafka takes, under its names. Holds secrets.
    pub librdkafka: BTreeMap<String, String>,
    /// What the runtime follows itself.
    pub runtime: RuntimeSettings,
    /// What to tell the user once.
    pub notices: Vec<Notice>,
}

impl fmt::Debug for ClientSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: BTreeMap<&str, &str> = self
            .librdkafka
            .iter()
            .map(|(key, value)| (key.as_str(), if is_secret(key) { config::HIDDEN } else { value }))
            .collect();
        f.debug_struct("ClientSettings")
            .field("librdkafka", &shown)
            .field("runtime", &self.runtime)
            .field("notices", &self.notices)
            .finish()
    }
}

/// Whether the value of a librdkafka setting must not be shown.
fn is_secret(key: &str) -> bool {
    // The certificates are public, but long.
    looks_secret(key) || key.ends_with(".pem") || key == "sasl.oauthbearer.config"
}

/// Whether `key`, without a prefix, is a setting of this client: one of Kafka's or of librdkafka's.
/// A worker's file has such keys beside its own.
pub fn is_known_key(kind: ClientKind, key: &str) -> bool {
    rules::find(key).is_some_and(|rule| rule.is_for(kind)) || native::find(key).is_some()
}

/// Translates the settings of one client; later layers win over earlier ones.
///
/// Reads the key and trust stores that the settings name.
///
/// # Errors
/// Every wrong value and every refused key at once.
pub fn translate(kind: ClientKind, layers: &[&Props]) -> Result<ClientSettings, SettingsErrors> {
    let mut draft = draft::Draft::new(kind, layers);
    draft.apply_rules();
    let protocol = sasl::security_protocol(&mut draft);
    sasl::translate(&mut draft, protocol);
    tls::translate(&mut draft, protocol);
    adjust::adjust(&mut draft);
    draft.finish()
}
