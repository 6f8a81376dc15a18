//! Validators of a key's value, with Kafka's fixed texts.
//!
//! Invariant: a validator also sees the null that stands for text which did not parse, so that a
//! wrong number with a range gives two messages, as Kafka does.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use crate::regexes::invalid_regex_text;
use crate::value::Value;

/// `Invalid value V for configuration K: TEXT`.
pub fn invalid(key: &str, value: &impl fmt::Display, text: &str) -> String {
    format!("Invalid value {value} for configuration {key}: {text}")
}

/// A bound of a range; printed in the error text as it is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// For integer keys.
    Int(i64),
    /// For `DOUBLE` keys.
    Double(f64),
}

impl From<i32> for Bound {
    fn from(value: i32) -> Bound {
        Bound::Int(value.into())
    }
}

impl From<i64> for Bound {
    fn from(value: i64) -> Bound {
        Bound::Int(value)
    }
}

impl From<u16> for Bound {
    fn from(value: u16) -> Bound {
        Bound::Int(value.into())
    }
}

impl From<f64> for Bound {
    fn from(value: f64) -> Bound {
        Bound::Double(value)
    }
}

impl Bound {
    fn text(self) -> String {
        match self {
            Bound::Int(value) => value.to_string(),
            Bound::Double(value) => Value::Double(value).to_string(),
        }
    }

    /// Compares `value` with the bound; none where one of them is not a number.
    fn compare(self, value: &Value) -> Option<std::cmp::Ordering> {
        let whole = match value {
            Value::Int(value) => i64::from(*value),
            Value::Short(value) => i64::from(*value),
            Value::Long(value) => *value,
            Value::Double(value) => {
                let bound = match self {
                    Bound::Int(bound) => bound as f64,
                    Bound::Double(bound) => bound,
                };
                return value.partial_cmp(&bound);
            }
            _ => return None,
        };
        match self {
            Bound::Int(bound) => Some(whole.cmp(&bound)),
            Bound::Double(bound) => (whole as f64).partial_cmp(&bound),
        }
    }
}

/// The function of [`Validator::Custom`]: key and value to the whole error text.
pub type CustomCheck = dyn Fn(&str, &Value) -> Result<(), String> + Send + Sync;

/// What a value must fulfil beyond its type.
#[derive(Clone)]
pub enum Validator {
    /// A number within bounds, both inclusive.
    Range {
        /// The least value allowed.
        min: Option<Bound>,
        /// The greatest value allowed.
        max: Option<Bound>,
    },
    /// One of these texts, exactly.
    OneOf(Vec<String>),
    /// One of these texts in any case; they are shown as written here.
    OneOfIgnoreCase(Vec<String>),
    /// A text that is not empty; null passes.
    NonEmpty,
    /// A text that is not empty and has no control characters (connector names); null passes.
    Name,
    /// Anything but null.
    NonNull,
    /// A list without empty and repeated items.
    List {
        /// Whether the list may have no items.
        empty: bool,
        /// Whether there may be no list.
        null: bool,
    },
    /// A list with at least one item, which may repeat.
    NonEmptyList,
    /// A list of aliases: no repeats.
    UniqueAliases,
    /// A regular expression; the empty text passes.
    Regex,
    /// Null passes, anything else must pass the inner validator.
    OrNull(Box<Validator>),
    /// Every one of these; the first that fails gives the text.
    All(Vec<Validator>),
    /// A function; it returns the whole text, usually made with [`invalid`].
    Custom(Arc<CustomCheck>),
}

impl fmt::Debug for Validator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Validator::Range { min, max } => write!(f, "Range({min:?}, {max:?})"),
            Validator::OneOf(values) => write!(f, "OneOf({values:?})"),
            Validator::OneOfIgnoreCase(values) => write!(f, "OneOfIgnoreCase({values:?})"),
            Validator::NonEmpty => f.write_str("NonEmpty"),
            Validator::Name => f.write_str("Name"),
            Validator::NonNull => f.write_str("NonNull"),
            Validator::List { empty, null } => write!(f, "List {{ empty: {empty}, null: {null} }}"),
            Validator::NonEmptyList => f.write_str("NonEmptyList"),
            Validator::UniqueAliases => f.write_str("UniqueAliases"),
            Validator::Regex => f.write_str("Regex"),
            Validator::OrNull(inner) => write!(f, "OrNull({inner:?})"),
            Validator::All(inner) => write!(f, "All({inner:?})"),
            Validator::Custom(_) => f.write_str("Custom"),
        }
    }
}

impl Validator {
    /// A range; leave a side open with `None`.
    pub fn range(min: Option<Bound>, max: Option<Bound>) -> Validator {
        Validator::Range { min, max }
    }

    /// A function that returns the whole error text.
    pub fn custom(
        check: impl Fn(&str, &Value) -> Result<(), String> + Send + Sync + 'static,
    ) -> Validator {
        Validator::Custom(Arc::new(check))
    }

    /// The values a user interface can offer.
    pub fn choices(&self) -> &[String] {
        match self {
            Validator::OneOf(values) | Validator::OneOfIgnoreCase(values) => values,
            Validator::OrNull(inner) => inner.choices(),
            Validator::All(inner) => {
                inner.iter().map(Validator::choices).find(|c| !c.is_empty()).unwrap_or_default()
            }
            _ => &[],
        }
    }

    /// Whether the value must be a regular expression.
    pub(crate) fn is_regex(&self) -> bool {
        match self {
            Validator::Regex => true,
            Validator::All(inner) => inner.iter().any(Validator::is_regex),
            _ => false,
        }
    }

    /// Whether a list must not repeat items.
    pub(crate) fn refuses_repeats(&self) -> bool {
        match self {
            Validator::List { .. } => true,
            Validator::OrNull(inner) => inner.refuses_repeats(),
            Validator::All(inner) => inner.iter().any(Validator::refuses_repeats),
            _ => false,
        }
    }

    /// Checks the value of `key`.
    ///
    /// # Errors
    /// The whole error text.
    pub fn check(&self, key: &str, value: &Value) -> Result<(), String> {
        let text = match (self, value) {
            (Validator::OrNull(_), Value::Null) => return Ok(()),
            (Validator::OrNull(inner), _) => return inner.check(key, value),
            (Validator::All(inner), _) => {
                return inner.iter().try_for_each(|one| one.check(key, value));
            }
            (Validator::Custom(check), _) => return check(key, value),
            (Validator::List { empty, null }, _) => return check_list(key, value, *empty, *null),
            (Validator::Range { .. }, Value::Null) => Some("Value must be non-null".to_owned()),
            (Validator::Range { min, max }, _) => range_fault(value, *min, *max),
            (Validator::OneOf(values), _) => one_of_fault(value, values, false),
            (Validator::OneOfIgnoreCase(values), _) => one_of_fault(value, values, true),
            (Validator::NonNull, Value::Null) => Some("entry must be non null".to_owned()),
            (Validator::NonEmpty, Value::String(text)) if text.is_empty() => {
                Some("String must be non-empty".to_owned())
            }
            (Validator::Name, Value::String(text)) => name_fault(text),
            (Validator::NonEmptyList, Value::Null) => Some("Empty list".to_owned()),
            (Validator::NonEmptyList, Value::List(items)) if items.is_empty() => {
                Some("Empty list".to_owned())
            }
            (Validator::UniqueAliases, Value::List(items)) if has_repeats(items) => {
                Some("Duplicate alias provided.".to_owned())
            }
            (Validator::Regex, Value::String(text)) => {
                invalid_regex_text(text).map(|fault| format!("Invalid regex: {fault}"))
            }
            _ => None,
        };
        text.map_or(Ok(()), |text| Err(invalid(key, value, &text)))
    }
}

fn range_fault(value: &Value, min: Option<Bound>, max: Option<Bound>) -> Option<String> {
    use std::cmp::Ordering::{Greater, Less};
    if let Some(min) = min.filter(|min| matches!(min.compare(value), None | Some(Less))) {
        return Some(format!("Value must be at least {}", min.text()));
    }
    let max = max.filter(|max| matches!(max.compare(value), None | Some(Greater)))?;
    Some(format!("Value must be no more than {}", max.text()))
}

fn one_of_fault(value: &Value, values: &[String], any_case: bool) -> Option<String> {
    let allowed = |text: &str| {
        values.iter().any(|v| if any_case { v.eq_ignore_ascii_case(text) } else { v == text })
    };
    let good = match value {
        Value::String(text) | Value::Class(text) => allowed(text),
        Value::List(items) => items.iter().all(|item| allowed(item)),
        _ => false,
    };
    let list = values.join(", ");
    // Kafka names constants where the case does not matter.
    (!good).then(|| match any_case {
        true => format!("String must be one of (case insensitive): {}", list.to_uppercase()),
        false => format!("String must be one of: {list}"),
    })
}

fn name_fault(text: &str) -> Option<String> {
    if text.is_empty() {
        return Some("String may not be empty".to_owned());
    }
    let controls: Vec<String> =
        text.chars().filter(|c| c.is_control()).map(|c| u32::from(c).to_string()).collect();
    (!controls.is_empty()).then(|| {
        format!(
            "String may not contain control sequences but had the following ASCII chars: {}",
            controls.join(", ")
        )
    })
}

fn has_repeats(items: &[String]) -> bool {
    items.iter().collect::<BTreeSet<_>>().len() < items.len()
}

/// Kafka 4.4's list check, which has texts of its own.
fn check_list(key: &str, value: &Value, empty: bool, null: bool) -> Result<(), String> {
    let Value::List(items) = value else {
        let fault = format!("Configuration '{key}' values must not be null.");
        return if null || *value != Value::Null { Ok(()) } else { Err(fault) };
    };
    if items.is_empty() && !empty {
        return Err(format!(
            "Configuration '{key}' must not be empty. Valid values include: any non-empty value"
        ));
    }
    if has_repeats(items) {
        return Err(format!("Configuration '{key}' values must not be duplicated."));
    }
    if items.iter().any(String::is_empty) {
        return Err(format!("Configuration '{key}' values must not be empty."));
    }
    Ok(())
}
