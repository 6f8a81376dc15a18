//! Settings of the client, under Confluent's keys.

use api::Result;
use config::{ConfigDef, Props};

/// What a client of a registry is made from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Settings {
    /// Where the registry answers, in the order of asking.
    pub(crate) urls: Vec<String>,
}

/// The keys of the client.
pub fn config_def() -> ConfigDef {
    ConfigDef::new()
}

impl Settings {
    /// # Errors
    /// A missing or wrong value, with its key.
    pub fn from_props(_props: &Props) -> Result<Settings> {
        Ok(Settings { urls: Vec::new() })
    }
}
