//! Secrets by reference: `${provider:path:key}` in a configuration, and back again.
//!
//! Invariants:
//! - a configuration is stored and shown with its references; only what runs sees the secrets;
//! - what no provider knows stays as it is written, and is reported;
//! - look-ups are made once per provider and path, results are not resolved again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::error::{ConfigError, ConfigErrors};
use crate::props::Props;

mod built_in;
mod registry;

pub use built_in::{DirectoryProvider, EnvProvider, FileProvider};
pub use registry::{PROVIDER_CLASSES, from_worker};

/// A source of secrets.
pub trait ConfigProvider: Send + Sync {
    /// The values of those `keys` that `path` has; the path is empty where the reference has none.
    ///
    /// # Errors
    /// What kept the provider from reading `path`, and what to do.
    fn get(&self, path: &str, keys: &BTreeSet<String>) -> Result<BTreeMap<String, String>, String>;

    /// Why it does not look there at all, if it does not.
    fn refuses(&self, _path: &str, _key: &str) -> Option<String> {
        None
    }
}

/// The providers of a worker, by name.
#[derive(Default)]
pub struct Providers {
    by_name: BTreeMap<String, Box<dyn ConfigProvider>>,
}

/// A configuration with its references resolved.
#[derive(Clone, Default)]
pub struct Resolved {
    /// The configuration to run with.
    pub props: Props,
    /// References that nobody could resolve and that stay as they are written, with their keys.
    pub unresolved: Vec<Unresolved>,
    /// Each reference that was resolved, and its secret.
    secrets: BTreeMap<String, String>,
}

/// Shorter secrets are hidden only where they can be nothing else: they are words of other texts too.
const HIDDEN_BYTES_MIN: usize = 6;

impl Resolved {
    /// A text for people, with the references in place of their secrets.
    pub fn hide(&self, text: &str) -> String {
        self.hide_those(text, |secret| secret.len() >= HIDDEN_BYTES_MIN)
    }

    /// The same for a text about one key, whose value is known to be a secret whatever its length.
    pub fn hide_of_key(&self, raw: &Props, key: &str, text: &str) -> String {
        let Some(written) = raw.get(key).filter(|written| has_reference(written)) else {
            return self.hide(text);
        };
        self.hide_those(text, |secret| {
            let of_key = |(reference, own): (&String, &String)| {
                own == secret && written.contains(reference.as_str())
            };
            !secret.is_empty()
                && (secret.len() >= HIDDEN_BYTES_MIN || self.secrets.iter().any(of_key))
        })
    }

    /// Errors of a configuration, each without secrets.
    #[must_use]
    pub fn hide_errors(&self, raw: &Props, errors: ConfigErrors) -> ConfigErrors {
        let each = errors.errors.into_iter().map(|mut error| {
            error.message = self.hide_of_key(raw, &error.key, &error.message);
            // Values name transforms and groups of topics, and so keys.
            error.key = self.hide(&error.key);
            error
        });
        ConfigErrors { errors: each.collect() }
    }

    fn hide_those(&self, text: &str, hidden: impl Fn(&str) -> bool) -> String {
        let mut secrets: Vec<_> = self.secrets.iter().filter(|(_, s)| hidden(s.as_str())).collect();
        // One may be a part of another.
        secrets.sort_by_key(|(_, secret)| std::cmp::Reverse(secret.len()));
        let mut text = text.to_owned();
        for (reference, secret) in secrets {
            if text.contains(secret.as_str()) {
                text = text.replace(secret.as_str(), reference);
            }
            // Values are often told without the blanks around them.
            let trimmed = secret.trim();
            if trimmed.len() < secret.len() && hidden(trimmed) && text.contains(trimmed) {
                text = text.replace(trimmed, reference);
            }
        }
        text
    }
}

/// A reference that stays as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unresolved {
    /// The key whose value has the reference.
    pub key: String,
    /// The reference as written.
    pub reference: String,
    /// Why: no such provider, or no such value.
    pub reason: String,
}

/// Kafka's own pattern: the provider, an optional path, the key.
static REFERENCE: LazyLock<Regex> = LazyLock::new(|| {
    // Constant and covered by the tests, so it compiles.
    Regex::new(r"\$\{([^}]*?):(([^}]*?):)?([^}]*?)\}").expect("the pattern is valid")
});

struct Reference<'a> {
    provider: &'a str,
    path: &'a str,
    key: &'a str,
}

impl<'a> Reference<'a> {
    fn of(captures: &Captures<'a>) -> Reference<'a> {
        let group = |index| captures.get(index).map(|found| found.as_str()).unwrap_or_default();
        Reference { provider: group(1), path: group(3), key: group(4) }
    }
}

/// Whether a value has a reference in it.
pub fn has_reference(value: &str) -> bool {
    REFERENCE.is_match(value)
}

/// Whether any value has a reference in it: what is configured may change while its text does not.
pub fn has_references(props: &Props) -> bool {
    props.iter().any(|(_, value)| has_reference(value))
}

type Found = BTreeMap<(String, String), BTreeMap<String, String>>;

impl Providers {
    /// No providers: every reference stays as it is written.
    pub fn new() -> Providers {
        Providers::default()
    }

    /// Adds a provider, or replaces the one of that name.
    pub fn register(&mut self, name: impl Into<String>, provider: Box<dyn ConfigProvider>) {
        self.by_name.insert(name.into(), provider);
    }

    /// Resolves every reference of a configuration.
    ///
    /// # Errors
    /// One error for each provider and path that failed, on the first key that needs it.
    pub fn resolve(&self, props: &Props) -> Result<Resolved, ConfigErrors> {
        let found = self.look_up(props)?;
        let mut resolved = Resolved::default();
        for (key, value) in props.iter() {
            let text = REFERENCE.replace_all(value, |captures: &Captures<'_>| {
                let whole = captures.get(0).map(|found| found.as_str()).unwrap_or_default();
                let reference = Reference::of(captures);
                match self.answer(&found, &reference) {
                    Ok(secret) => {
                        resolved.secrets.insert(whole.to_owned(), secret.clone());
                        secret
                    }
                    Err(reason) => {
                        resolved.unresolved.push(Unresolved {
                            key: key.to_owned(),
                            reference: whole.to_owned(),
                            reason,
                        });
                        whole.to_owned()
                    }
                }
            });
            resolved.props.insert(key, text.into_owned());
        }
        Ok(resolved)
    }

    fn look_up(&self, props: &Props) -> Result<Found, ConfigErrors> {
        // Per provider and path: the keys asked for, and the first configuration key that asks.
        let mut wanted: BTreeMap<(&str, &str), (&str, BTreeSet<String>)> = BTreeMap::new();
        for (name, value) in props.iter() {
            for captures in REFERENCE.captures_iter(value) {
                let Reference { provider, path, key } = Reference::of(&captures);
                let entry = wanted.entry((provider, path)).or_insert((name, BTreeSet::new()));
                entry.1.insert(key.to_owned());
            }
        }
        let mut found = Found::new();
        let mut errors = ConfigErrors::default();
        for ((name, path), (first, keys)) in wanted {
            let Some(provider) = self.by_name.get(name) else { continue };
            match provider.get(path, &keys) {
                Ok(values) => {
                    found.insert((name.to_owned(), path.to_owned()), values);
                }
                Err(fault) => {
                    let text = format!("secret provider {name}: {fault}");
                    errors.errors.push(ConfigError::new(first, text));
                }
            }
        }
        errors.into_result().map(|()| found)
    }

    fn answer(&self, found: &Found, reference: &Reference<'_>) -> Result<String, String> {
        let Reference { provider, path, key } = *reference;
        let Some(asked) = self.by_name.get(provider) else {
            let names: Vec<&str> = self.by_name.keys().map(String::as_str).collect();
            let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            return Err(format!(
                "no secret provider is named {provider}; config.providers declares: {known}"
            ));
        };
        let values = found.get(&(provider.to_owned(), path.to_owned()));
        values.and_then(|values| values.get(key)).cloned().ok_or_else(|| {
            match asked.refuses(path, key) {
                Some(why) => format!("secret provider {provider} may not look there: {why}"),
                None if path.is_empty() => format!("secret provider {provider} has no {key}"),
                None => format!("secret provider {provider} has no {key} under '{path}'"),
            }
        })
    }
}

/// Puts the references back into a task's configuration before it is stored or shown.
///
/// `raw` is the connector's configuration with references, `resolved` the same without. A key whose
/// raw value has a reference gets the raw value. A secret that the connector gave to a key of
/// another name gets its reference too, alone or, if it is eight bytes or longer, inside a text.
pub fn put_references_back(raw: &Props, resolved: &Resolved, task: &Props) -> Props {
    let restore = |key: &str, value: &str| -> String {
        match raw.get(key) {
            Some(own) if has_reference(own) => return own.to_owned(),
            // The text stands in the connector's own configuration: it is not a secret.
            Some(own) if own == value => return value.to_owned(),
            _ => {}
        }
        let whole = raw
            .iter()
            .find(|(name, text)| has_reference(text) && resolved.props.get(name) == Some(value));
        if let Some((_, reference)) = whole.filter(|_| !value.is_empty()) {
            return reference.to_owned();
        }
        let mut text = value.to_owned();
        for (reference, secret) in &resolved.secrets {
            let alone = !secret.is_empty() && text == *secret;
            if alone || secret.len() >= 8 && text.contains(secret.as_str()) {
                text = text.replace(secret.as_str(), reference);
            }
        }
        text
    };
    task.iter().map(|(key, value)| (key.to_owned(), restore(key, value))).collect()
}
