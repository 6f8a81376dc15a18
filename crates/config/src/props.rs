//! Properties: a sorted map of text to text, as every configuration arrives.
//!
//! Invariants: `Debug` never prints the value of a key that looks secret; a copy shares the text until
//! one of the two changes.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::password::HIDDEN;

/// Configuration as text. Keys are sorted, so everything derived from it has a stable order. Cheap to
/// clone: a worker keeps each connector's in its state, in what readers see, and with its tasks.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Props(Arc<BTreeMap<String, String>>);

impl Props {
    /// No properties.
    pub fn new() -> Props {
        Props::default()
    }

    /// The value of `key`, untrimmed.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// Sets `key`, and returns what it was set to before.
    pub fn insert(&mut self, key: impl Into<String>, value: impl Into<String>) -> Option<String> {
        Arc::make_mut(&mut self.0).insert(key.into(), value.into())
    }

    /// Removes `key`, and returns what it was set to.
    pub fn remove(&mut self, key: &str) -> Option<String> {
        Arc::make_mut(&mut self.0).remove(key)
    }

    /// All pairs, sorted by key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// All keys, sorted.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Whether `key` is set, to whatever value.
    pub fn contains(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    /// The properties whose key starts with `prefix`, without that prefix. A key that is the
    /// prefix itself is left out.
    pub fn with_prefix(&self, prefix: &str) -> Props {
        self.0
            .range(prefix.to_owned()..)
            .take_while(|(key, _)| key.starts_with(prefix))
            .filter_map(|(key, value)| {
                let rest = key.get(prefix.len()..).filter(|rest| !rest.is_empty())?;
                Some((rest.to_owned(), value.clone()))
            })
            .collect()
    }

    /// The number of properties.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<(String, String)> for Props {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(pairs: I) -> Props {
        Props(Arc::new(pairs.into_iter().collect()))
    }
}

impl<'a> FromIterator<(&'a str, &'a str)> for Props {
    fn from_iter<I: IntoIterator<Item = (&'a str, &'a str)>>(pairs: I) -> Props {
        pairs.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
    }
}

impl Extend<(String, String)> for Props {
    fn extend<I: IntoIterator<Item = (String, String)>>(&mut self, pairs: I) {
        Arc::make_mut(&mut self.0).extend(pairs);
    }
}

impl IntoIterator for Props {
    type Item = (String, String);
    type IntoIter = std::collections::btree_map::IntoIter<String, String>;

    fn into_iter(self) -> Self::IntoIter {
        Arc::unwrap_or_clone(self.0).into_iter()
    }
}

impl fmt::Debug for Props {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.iter().map(|(key, value)| {
            let secret = looks_secret(key) || holds_credentials(value);
            (key, if secret { HIDDEN } else { value })
        });
        f.debug_map().entries(shown).finish()
    }
}

/// Words that mark a key as secret, in lower case.
const SECRET_WORDS: [&str; 13] = [
    "password",
    "passwd",
    "secret",
    "token",
    "credential",
    "jaas.config",
    "private.key",
    "keystore.key",
    "ssl.key.pem",
    "user.info",
    "api.key",
    "apikey",
    "access.key",
];

/// Whether the value of `key` must not be printed: the key names a password, token, key or login.
pub fn looks_secret(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    SECRET_WORDS.iter().any(|word| key.contains(word))
}

/// Whether a value carries a login itself, as connection URLs do (`?password=…`, `//user:word@`).
pub fn holds_credentials(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    if lower.contains("password=") || lower.contains("-----begin") {
        return true;
    }
    // A list of addresses has several.
    lower.split("://").skip(1).any(|rest| {
        let authority = rest.split(['/', '?']).next().unwrap_or_default();
        authority.rsplit_once('@').is_some_and(|(login, _)| login.contains(':'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefix_is_stripped_and_neighbours_stay_out() {
        let props: Props =
            [("consumer.", "0"), ("consumer.a", "1"), ("consumer.b.c", "2"), ("consumerx", "3")]
                .into_iter()
                .collect();
        let inner = props.with_prefix("consumer.");
        assert_eq!(inner.iter().collect::<Vec<_>>(), [("a", "1"), ("b.c", "2")]);
    }

    #[test]
    fn a_copy_keeps_what_it_was_copied_from() {
        let one: Props = [("a", "1")].into_iter().collect();
        let mut other = one.clone();
        other.insert("b", "2");
        assert_eq!((one.len(), other.len()), (1, 2));
        let third = other.clone();
        other.remove("a");
        assert_eq!(third.iter().collect::<Vec<_>>(), [("a", "1"), ("b", "2")]);
    }

    #[test]
    fn debug_hides_what_looks_secret() {
        let props: Props = [
            ("connection.password", "hunter2"),
            ("sasl.jaas.config", "hunter2"),
            ("connection.url", "jdbc:postgresql://h/db?user=u&password=hunter2"),
            ("other.url", "postgresql://u:hunter2@h/db"),
            ("schema.registry.url", "http://h:8081,http://u:hunter2@i:8081"),
            ("topics", "orders"),
        ]
        .into_iter()
        .collect();
        let text = format!("{props:?}");
        assert!(!text.contains("hunter2"), "{text}");
        assert!(text.contains("orders"), "{text}");
    }
}
