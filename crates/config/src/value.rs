//! The value types of a definition, and how text becomes a value.
//!
//! Invariant: the accepted forms, the trimming and the texts are those of Kafka's `parseType`.

use std::fmt;

use crate::password::{HIDDEN, Password};

/// The type of a key, named as in the REST answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// `true` or `false`, any case.
    Boolean,
    /// Text; blanks around it are cut.
    String,
    /// A 32-bit integer.
    Int,
    /// A 16-bit integer.
    Short,
    /// A 64-bit integer.
    Long,
    /// A 64-bit floating point number.
    Double,
    /// Texts separated by commas.
    List,
    /// The name of a plugin class.
    Class,
    /// Text that is never shown.
    Password,
}

impl Type {
    /// The name in REST answers and error texts, for example `INT`.
    pub fn name(self) -> &'static str {
        match self {
            Type::Boolean => "BOOLEAN",
            Type::String => "STRING",
            Type::Int => "INT",
            Type::Short => "SHORT",
            Type::Long => "LONG",
            Type::Double => "DOUBLE",
            Type::List => "LIST",
            Type::Class => "CLASS",
            Type::Password => "PASSWORD",
        }
    }
}

/// A parsed value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// No value: the default of an optional key, an explicit null, or text that did not parse.
    Null,
    /// Of [`Type::Boolean`].
    Boolean(bool),
    /// Of [`Type::String`].
    String(String),
    /// Of [`Type::Int`].
    Int(i32),
    /// Of [`Type::Short`].
    Short(i16),
    /// Of [`Type::Long`].
    Long(i64),
    /// Of [`Type::Double`].
    Double(f64),
    /// Of [`Type::List`].
    List(Vec<String>),
    /// Of [`Type::Class`].
    Class(String),
    /// Of [`Type::Password`].
    Password(Password),
}

impl Value {
    /// Reads `text` as `kind`.
    ///
    /// # Errors
    /// What is expected instead, without key and value.
    pub fn parse(kind: Type, text: &str) -> Result<Value, String> {
        let trimmed = java_trim(text);
        let number = || format!("Not a number of type {}", kind.name());
        match kind {
            Type::Boolean if trimmed.eq_ignore_ascii_case("true") => Ok(Value::Boolean(true)),
            Type::Boolean if trimmed.eq_ignore_ascii_case("false") => Ok(Value::Boolean(false)),
            Type::Boolean => Err("Expected value to be either true or false".to_owned()),
            Type::String => Ok(Value::String(trimmed.to_owned())),
            Type::Int => trimmed.parse().map(Value::Int).map_err(|_| number()),
            Type::Short => trimmed.parse().map(Value::Short).map_err(|_| number()),
            Type::Long => trimmed.parse().map(Value::Long).map_err(|_| number()),
            Type::Double => parse_double(trimmed).map(Value::Double).ok_or_else(number),
            Type::List => Ok(Value::List(split_list(trimmed))),
            Type::Class => Ok(Value::Class(trimmed.to_owned())),
            Type::Password => Ok(Value::Password(Password::new(trimmed))),
        }
    }

    /// The value as REST answers show it; none for null, `[hidden]` for a password.
    pub fn to_text(&self) -> Option<String> {
        Some(match self {
            Value::Null => return None,
            Value::List(items) => items.join(","),
            Value::Boolean(_)
            | Value::String(_)
            | Value::Int(_)
            | Value::Short(_)
            | Value::Long(_)
            | Value::Double(_)
            | Value::Class(_)
            | Value::Password(_) => self.to_string(),
        })
    }
}

/// As Java prints it inside an error text: `null`, and lists in brackets.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("null"),
            Value::Boolean(value) => write!(f, "{value}"),
            Value::String(value) | Value::Class(value) => f.write_str(value),
            Value::Int(value) => write!(f, "{value}"),
            Value::Short(value) => write!(f, "{value}"),
            Value::Long(value) => write!(f, "{value}"),
            Value::Double(value) => f.write_str(&java_double(*value)),
            Value::List(items) => write!(f, "[{}]", items.join(", ")),
            Value::Password(_) => f.write_str(HIDDEN),
        }
    }
}

/// Cuts blanks and control characters from both ends, as Java's `trim` does.
pub fn java_trim(text: &str) -> &str {
    text.trim_matches(|c| c <= ' ')
}

/// Splits at commas and the blanks around them; empty text is an empty list, empty items stay.
fn split_list(trimmed: &str) -> Vec<String> {
    if trimmed.is_empty() {
        return Vec::new();
    }
    // Java's `\s`; the outer ends are trimmed already.
    let blank = |c| matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{b}' | '\u{c}');
    trimmed.split(',').map(|item| item.trim_matches(blank).to_owned()).collect()
}

/// Java's floating point text: decimal with an optional type letter, `NaN`, `Infinity`.
fn parse_double(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if unsigned == "NaN" || unsigned == "Infinity" {
        return text.parse().ok();
    }
    let digits = text.strip_suffix(['d', 'D', 'f', 'F']).unwrap_or(text);
    // Rust also reads the words `inf` and `nan`, which Java does not.
    if digits.bytes().any(|b| b.is_ascii_alphabetic() && !b.eq_ignore_ascii_case(&b'e')) {
        return None;
    }
    digits.parse().ok()
}

/// A double as Java prints it: plain between 0.001 and 10 million, else with an exponent.
fn java_double(value: f64) -> String {
    if value.is_infinite() {
        return if value > 0.0 { "Infinity".to_owned() } else { "-Infinity".to_owned() };
    }
    let size = value.abs();
    if value == 0.0 || value.is_nan() || (1e-3..1e7).contains(&size) {
        return format!("{value:?}");
    }
    let text = format!("{value:E}");
    match text.split_once('E') {
        Some((mantissa, exponent)) if !mantissa.contains('.') => format!("{mantissa}.0E{exponent}"),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_keep_empty_items_and_drop_blanks() {
        assert_eq!(split_list(""), Vec::<String>::new());
        assert_eq!(split_list("a \t,  b,"), ["a", "b", ""]);
    }

    #[test]
    fn doubles_are_read_and_printed_as_java_does() {
        for (text, printed) in [
            ("0.5", "0.5"),
            ("1", "1.0"),
            ("1d", "1.0"),
            ("1e10", "1.0E10"),
            ("12345678.5", "1.23456785E7"),
            ("0.0001", "1.0E-4"),
            ("-0", "-0.0"),
            ("Infinity", "Infinity"),
        ] {
            let value = Value::parse(Type::Double, text).unwrap();
            assert_eq!(value.to_string(), printed, "{text}");
        }
        for text in ["inf", "nan", "", "1x", "infinity"] {
            assert_eq!(
                Value::parse(Type::Double, text).unwrap_err(),
                "Not a number of type DOUBLE",
                "{text}"
            );
        }
    }

    #[test]
    fn password_is_hidden_as_text() {
        let value = Value::parse(Type::Password, "p").unwrap();
        assert_eq!(value.to_text().as_deref(), Some("[hidden]"));
    }
}
