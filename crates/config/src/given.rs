//! A configuration as JSON gives it, where a key can be null.

use crate::props::Props;
use std::collections::BTreeSet;

/// Properties, and keys that are null: a mistake in a configuration, "take it out" in a change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Given {
    pub props: Props,
    pub nulls: BTreeSet<String>,
}

impl Given {
    /// Sets a key; `None` is null.
    pub fn insert(&mut self, key: String, value: Option<String>) {
        match value {
            Some(value) => {
                self.nulls.remove(&key);
                self.props.insert(key, value);
            }
            None => {
                self.props.remove(&key);
                self.nulls.insert(key);
            }
        }
    }

    /// `None` for an absent key, `Some(None)` for a null.
    pub fn entry(&self, key: &str) -> Option<Option<&str>> {
        if self.nulls.contains(key) {
            return Some(None);
        }
        self.props.get(key).map(Some)
    }

    /// The properties with the changes of `patch`.
    #[must_use]
    pub fn patched(props: &Props, patch: &Given) -> Given {
        let kept = props.iter().filter(|(key, _)| !patch.nulls.contains(*key));
        let props = kept.chain(patch.props.iter()).collect();
        Given { props, nulls: BTreeSet::new() }
    }
}

impl From<Props> for Given {
    fn from(props: Props) -> Given {
        Given { props, nulls: BTreeSet::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_sets_keys_and_takes_nulls_out() {
        let props: Props = [("a", "1"), ("b", "2"), ("c", "3")].into_iter().collect();
        let mut patch = Given::default();
        patch.insert("a".to_owned(), Some("9".to_owned()));
        patch.insert("b".to_owned(), None);
        patch.insert("z".to_owned(), None);
        let patched = Given::patched(&props, &patch);
        assert_eq!(patched, Given::from([("a", "9"), ("c", "3")].into_iter().collect::<Props>()));
        assert_eq!(patch.entry("b"), Some(None));
        assert_eq!(patch.entry("a"), Some(Some("9")));
        assert_eq!(patch.entry("c"), None);
    }
}
