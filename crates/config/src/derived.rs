//! What the code written by `#[derive(Config)]` calls; not for other callers.

use std::collections::BTreeMap;

use crate::def::Parsed;
use crate::error::{ConfigError, ConfigErrors};
use crate::field::ConfigField;
use crate::validator::{Bound, Validator, invalid};
use crate::value::Type;

/// Counts the order of keys, per group.
#[derive(Default)]
pub struct Orders(BTreeMap<String, i32>);

impl Orders {
    /// The order of the next key of `group`; a fixed one is taken as it is and counted on from.
    pub fn next(&mut self, group: Option<&str>, fixed: Option<i32>) -> i32 {
        let Some(group) = group else { return fixed.unwrap_or(-1) };
        let last = self.0.entry(group.to_owned()).or_insert(0);
        let order = fixed.unwrap_or(*last + 1);
        *last = order;
        order
    }
}

/// The rules that a field's attributes state.
#[derive(Default)]
pub struct Rules {
    /// Texts match in any case.
    pub any_case: bool,
    /// A text or list must not be empty.
    pub non_empty: bool,
    /// The text is a regular expression.
    pub regex: bool,
    /// A list may have empty and repeated items.
    pub repeats: bool,
    /// The texts allowed.
    pub one_of: Vec<String>,
    /// The least number allowed.
    pub min: Option<Bound>,
    /// The greatest number allowed.
    pub max: Option<Bound>,
    /// A validator of the field's own, instead of what its type says.
    pub own: Option<Validator>,
}

impl Rules {
    /// The validator of a field of type `T` under these rules.
    pub fn validator<T: ConfigField>(self) -> Option<Validator> {
        let mut all = Vec::new();
        let is_list = T::KIND == Type::List;
        let replaced = self.own.is_some()
            || !self.one_of.is_empty() && !is_list
            || self.repeats
            || is_list && self.non_empty;
        let mut by_type = if replaced { None } else { T::validator(self.any_case) };
        if self.min.is_some() || self.max.is_some() {
            // An unsigned type's own bounds still hold on the side that is not given.
            let (mut min, mut max) = (self.min, self.max);
            if let Some(Validator::Range { min: least, max: most }) = by_type.take() {
                (min, max) = (min.or(least), max.or(most));
            }
            all.push(Validator::range(min, max));
        }
        all.extend(by_type);
        if is_list && self.non_empty {
            all.push(match self.repeats {
                true => Validator::NonEmptyList,
                false => Validator::List { empty: false, null: false },
            });
        } else if self.non_empty {
            all.push(Validator::NonEmpty);
        }
        if !self.one_of.is_empty() {
            all.push(match self.any_case {
                true => Validator::OneOfIgnoreCase(self.one_of),
                false => Validator::OneOf(self.one_of),
            });
        }
        if self.regex {
            all.push(Validator::Regex);
        }
        all.extend(self.own);
        let validator = if all.len() > 1 { Validator::All(all) } else { all.pop()? };
        Some(if T::NULLABLE { Validator::OrNull(Box::new(validator)) } else { validator })
    }
}

/// The field of `key`; none, and an error if there is not one yet, where the value is not usable.
pub fn read<T: ConfigField>(
    parsed: &Parsed,
    key: &str,
    errors: &mut Vec<ConfigError>,
) -> Option<T> {
    let value = parsed.value(key);
    match T::read(value) {
        Ok(field) => Some(field),
        Err(fault) => {
            if !errors.iter().any(|error| error.key == key) {
                errors.push(ConfigError::new(key, invalid(key, value, &fault)));
            }
            None
        }
    }
}

/// Adds the errors of a nested struct that are not there already.
pub fn add_new(errors: &mut Vec<ConfigError>, inner: ConfigErrors) {
    for error in inner.errors {
        if !errors.contains(&error) {
            errors.push(error);
        }
    }
}
