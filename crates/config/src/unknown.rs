//! Keys that nothing reads: found and named, with the nearest known one, never dropped silently.

use std::fmt;

use crate::def::ConfigDef;
use crate::error::ConfigError;
use crate::props::Props;
use crate::suggest::nearest;

/// Prefixes below which a connector's keys are read by somebody else: client overrides,
/// transforms, predicates, converters, topic creation.
pub const CONNECTOR_PREFIXES: [&str; 9] = [
    "consumer.override.",
    "producer.override.",
    "admin.override.",
    "transforms.",
    "predicates.",
    "key.converter.",
    "value.converter.",
    "header.converter.",
    "topic.creation.",
];

/// Prefixes below which a worker's keys are read by somebody else.
pub const WORKER_PREFIXES: [&str; 14] = [
    "consumer.",
    "producer.",
    "admin.",
    "key.converter.",
    "value.converter.",
    "header.converter.",
    "internal.key.converter",
    "internal.value.converter",
    "config.providers.",
    "listeners.https.",
    "admin.listeners.https.",
    "metrics.context.",
    "ssl.",
    "sasl.",
];

/// A key that no definition has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownKey {
    /// The key as given.
    pub key: String,
    /// The known key it resembles.
    pub nearest: Option<String>,
}

impl fmt::Display for UnknownKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown configuration key {}", self.key)?;
        match &self.nearest {
            Some(nearest) => write!(f, "; did you mean {nearest}?"),
            None => Ok(()),
        }
    }
}

/// Adds to the error of a key that is missed where it may be: under a name that nothing reads.
pub fn name_misspelt(errors: &mut [ConfigError], unread: &[UnknownKey]) {
    for error in errors {
        let meant = |key: &&UnknownKey| key.nearest.as_deref() == Some(error.key.as_str());
        if let Some(UnknownKey { key, .. }) = unread.iter().find(meant) {
            let hint = format!("\n  hint: {key} is not a key, did you mean {}?", error.key);
            error.message.push_str(&hint);
        }
    }
}

/// The keys of `props` that are in none of `defs` and under none of `prefixes`, sorted.
pub fn unknown_keys(props: &Props, defs: &[&ConfigDef], prefixes: &[&str]) -> Vec<UnknownKey> {
    let known = |key: &str| {
        defs.iter().any(|def| def.get(key).is_some())
            || prefixes.iter().any(|prefix| key.starts_with(prefix))
    };
    let report = |key: &str| {
        let names = defs.iter().flat_map(|def| def.keys()).map(|key| key.name.as_str());
        UnknownKey { key: key.to_owned(), nearest: nearest_key(key, names, prefixes) }
    };
    props.keys().filter(|key| !known(key)).map(report).collect()
}

/// The nearest known key; else the key below a prefix that is misspelt itself
/// (`consumer.overide.max.poll.records`).
fn nearest_key<'a>(
    key: &str,
    names: impl Iterator<Item = &'a str>,
    prefixes: &[&str],
) -> Option<String> {
    nearest(key, names).or_else(|| {
        prefixes.iter().find_map(|prefix| {
            let words = prefix.matches('.').count();
            let (end, _) = key.match_indices('.').nth(words.checked_sub(1)?)?;
            let (start, rest) = key.split_at_checked(end + 1)?;
            nearest(start, std::iter::once(*prefix)).map(|prefix| format!("{prefix}{rest}"))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::def::ConfigKey;
    use crate::value::Type;

    #[test]
    fn unknown_keys_are_named_with_the_nearest() {
        let mut def = ConfigDef::new();
        def.define(ConfigKey::new("insert.mode", Type::String));
        let props: Props = [
            ("insert.mode", "insert"),
            ("insert.mod", "x"),
            ("consumer.override.client.id", "x"),
            ("consumer.overide.client.id", "x"),
            ("zzz", "x"),
        ]
        .into_iter()
        .collect();
        let texts: Vec<String> = unknown_keys(&props, &[&def], &CONNECTOR_PREFIXES)
            .iter()
            .map(UnknownKey::to_string)
            .collect();
        assert_eq!(
            texts,
            [
                "unknown configuration key consumer.overide.client.id; \
                 did you mean consumer.override.client.id?",
                "unknown configuration key insert.mod; did you mean insert.mode?",
                "unknown configuration key zzz",
            ]
        );
    }
}
