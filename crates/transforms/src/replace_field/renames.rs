//! The list of renamings, `old:new` each.
//!
//! Invariant: no two fields get one name and no field gets two; a configuration that says so is
//! refused, where Connect lets the last win.

use config::{Value, invalid};

/// Pairs of old and new name.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Renames {
    pairs: Vec<(String, String)>,
}

impl Renames {
    /// # Errors
    /// What is wrong with the list, without the key and the list.
    pub(super) fn parse(items: &[String]) -> Result<Renames, String> {
        let mut pairs: Vec<(String, String)> = Vec::with_capacity(items.len());
        for item in items {
            let (old, new) = pair(item).ok_or(format!("Invalid rename mapping: {item}"))?;
            let known = |pair: &(String, String)| pair.0 == old && pair.1 == new;
            if pairs.iter().any(known) {
                continue;
            }
            for (other_old, other_new) in &pairs {
                if other_old == old {
                    return Err(format!(
                        "Invalid rename mapping: {item}, field {old} is renamed to {other_new} \
                         already"
                    ));
                }
                if other_new == new {
                    return Err(format!(
                        "Invalid rename mapping: {item}, field {other_old} is renamed to {new} \
                         already"
                    ));
                }
            }
            pairs.push((old.to_owned(), new.to_owned()));
        }
        Ok(Renames { pairs })
    }

    /// The validator of the key.
    pub(super) fn check(key: &str, value: &Value) -> Result<(), String> {
        match value {
            Value::List(items) => {
                Renames::parse(items).map(|_| ()).map_err(|fault| invalid(key, value, &fault))
            }
            _ => Ok(()),
        }
    }

    /// The new names, in the order of their numbers.
    pub(super) fn new_names(&self) -> impl Iterator<Item = &str> {
        self.pairs.iter().map(|(_, new)| new.as_str())
    }

    /// The new name of a field and its number.
    pub(super) fn of(&self, old: &str) -> Option<(u32, &str)> {
        let mut pairs = (0..).zip(&self.pairs);
        pairs.find(|(_, pair)| pair.0 == old).map(|(number, pair)| (number, pair.1.as_str()))
    }

    /// The field that would get this name.
    pub(super) fn old_of(&self, new: &str) -> Option<&str> {
        self.pairs.iter().find(|pair| pair.1 == new).map(|pair| pair.0.as_str())
    }
}

/// The two names; colons at the end are passed over, as in Connect.
fn pair(item: &str) -> Option<(&str, &str)> {
    let (old, new) = item.trim_end_matches(':').split_once(':')?;
    (!old.is_empty() && !new.is_empty() && !new.contains(':')).then_some((old, new))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(items: &[&str]) -> Result<Renames, String> {
        let items: Vec<String> = items.iter().map(|item| (*item).to_owned()).collect();
        Renames::parse(&items)
    }

    #[test]
    fn a_renaming_is_two_names() {
        let renames = parse(&["a:b", "b:a", "c:d e", "f:g:"]).unwrap();
        assert_eq!(renames.of("c"), Some((2, "d e")));
        assert_eq!((renames.of("d e"), renames.old_of("d e")), (None, Some("c")));
        assert_eq!(renames.of("f"), Some((3, "g")));
        for bad in ["a", "a:b:c", ":", "a:", ":b", "", "::"] {
            let fault = parse(&["x:y", bad]).unwrap_err();
            assert_eq!(fault, format!("Invalid rename mapping: {bad}"));
        }
    }

    #[test]
    fn one_name_for_two_and_two_for_one_are_refused() {
        for bad in [["a:x", "b:x"], ["a:x", "a:y"]] {
            assert!(parse(&bad).unwrap_err().contains("already"), "{bad:?}");
        }
        assert_eq!(parse(&["a:x", "a:x"]), parse(&["a:x"]));
    }
}
