//! Configuration: property files, key definitions, validation and secrets, in Kafka Connect's shape.
//!
//! Place in the data path: before it. Everything a user can set arrives here as text ([`Props`]),
//! is resolved against secret providers ([`providers`]), checked against a [`ConfigDef`] and turned
//! into a typed struct by `#[derive(Config)]`.
//!
//! Invariants:
//! - the error texts are those of Kafka's `ConfigDef`, because tools match on them;
//! - a value that looks secret is never printed by a `Debug` or `Display` of this crate;
//! - nothing is dropped silently: a key that no definition knows is found by [`unknown`].
//!
//! ```
//! use config::{Config, Props};
//!
//! /// How rows are written.
//! #[derive(Config, Debug)]
//! #[config(group = "Writes")]
//! struct Writes {
//!     /// Rows per transaction.
//!     #[config(key = "batch.size", default = 3000, range(0, 100000), importance = medium)]
//!     batch_size: i32,
//! }
//!
//! let writes = Writes::parse(&Props::new()).unwrap();
//! assert_eq!(writes.batch_size, 3000);
//! ```

// The derive macro writes `::config::…`, also when it is used inside this crate.
extern crate self as config;

mod complete;
mod def;
mod error;
mod field;
mod given;
mod password;
mod props;
mod regexes;
mod validator;
mod value;

pub mod connector;
#[doc(hidden)]
pub mod derived;
pub mod distributed;
pub mod environment;
pub mod files;
pub mod inter_worker;
pub mod jaas;
pub mod properties;
pub mod providers;
pub mod rest;
pub mod source;
pub mod suggest;
pub mod unknown;
pub mod worker;

pub use config_derive::Config;
pub use def::{ConfigDef, ConfigKey, ConfigValue, Importance, Parsed, Width};
pub use error::{ConfigError, ConfigErrors};
pub use field::{ConfigEnum, ConfigField};
pub use given::Given;
#[doc(hidden)]
pub mod enum_field {
    //! What the code that [`config_enum!`](crate::config_enum) writes calls.
    pub use crate::field::{enum_validator as validator, read_enum as read};
}
pub use password::{HIDDEN, Password};
pub use props::{Props, holds_credentials, looks_secret};
pub use regexes::{FindIter, Found, JavaRegex, JavaReplacement, RegexFault, invalid_regex_text};
pub use validator::{Bound, CustomCheck, Validator, invalid};
pub use value::{Type, Value, java_trim};

/// A struct that is read from configuration; implemented by `#[derive(Config)]`.
pub trait Config: Sized {
    /// The keys this struct reads, in field order.
    fn def() -> ConfigDef;

    /// Reads the struct; keys that [`Config::def`] does not know are left alone.
    ///
    /// # Errors
    /// Every wrong or missing value at once, with Kafka's texts.
    fn parse(props: &Props) -> Result<Self, ConfigErrors>;

    /// The same where items that a list must not repeat count once, as Kafka's plugins read their own
    /// settings: transforms and predicates.
    ///
    /// # Errors
    /// As [`Config::parse`].
    fn parse_plugin(props: &Props) -> Result<Self, ConfigErrors> {
        Self::parse(&Self::def().without_repeats(props))
    }
}
