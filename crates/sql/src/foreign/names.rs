//! What the user calls our options: for messages about records and tables.

use std::collections::BTreeMap;

/// Names and values of options as the user wrote them. Without an entry our own name holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyNames {
    /// From our name to the user's, and the value under that name where it is another than ours.
    names: BTreeMap<String, (String, Option<String>)>,
}

impl KeyNames {
    pub(crate) fn new(
        entries: impl Iterator<Item = (String, (String, Option<String>))>,
    ) -> KeyNames {
        KeyNames { names: entries.collect() }
    }

    /// The user's name of one of our options.
    pub fn name<'a>(&'a self, ours: &'a str) -> &'a str {
        self.names.get(ours).map_or(ours, |(name, _)| name)
    }

    /// `key is value`, under the user's name and with the user's value for ours.
    pub fn state(&self, ours: &str, value: &str) -> String {
        let shown = self.names.get(ours).and_then(|(_, shown)| shown.as_deref());
        format!("{} is {}", self.name(ours), shown.unwrap_or(value))
    }
}
