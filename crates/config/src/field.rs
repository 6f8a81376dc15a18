//! How the fields of a `#[derive(Config)]` struct get their type, validator and value.
//!
//! Invariant: `read` is only given values that passed the key's own definition, so its errors
//! speak of ranges that the definition cannot express.

use crate::password::Password;
use crate::validator::{Bound, Validator};
use crate::value::{Type, Value};

/// A type that a configuration field can have.
pub trait ConfigField: Sized {
    /// The type of the key.
    const KIND: Type;

    /// Whether the key may be null; then it is optional without a default.
    const NULLABLE: bool = false;

    /// What follows from the type alone. `any_case`: texts match in any case.
    fn validator(any_case: bool) -> Option<Validator> {
        let _ = any_case;
        None
    }

    /// Takes the value over.
    ///
    /// # Errors
    /// What is expected instead, without key and value.
    fn read(value: &Value) -> Result<Self, String>;
}

/// An enum of texts; declared by [`config_enum!`](crate::config_enum).
pub trait ConfigEnum: Sized + Copy + 'static {
    /// The texts, in order of declaration.
    const VALUES: &'static [&'static str];

    /// The value of exactly this text.
    fn parse(text: &str) -> Option<Self>;

    /// The text of this value.
    fn as_str(self) -> &'static str;
}

fn mismatch(kind: Type) -> String {
    format!("Expected a value of type {}", kind.name())
}

macro_rules! plain_field {
    ($($rust:ty, $kind:ident, $pattern:pat => $value:expr;)*) => {$(
        impl ConfigField for $rust {
            const KIND: Type = Type::$kind;

            fn read(value: &Value) -> Result<Self, String> {
                match value {
                    $pattern => Ok($value),
                    _ => Err(mismatch(Self::KIND)),
                }
            }
        }
    )*};
}

plain_field! {
    bool, Boolean, Value::Boolean(value) => *value;
    i16, Short, Value::Short(value) => *value;
    i32, Int, Value::Int(value) => *value;
    i64, Long, Value::Long(value) => *value;
    f64, Double, Value::Double(value) => *value;
    Password, Password, Value::Password(value) => value.clone();
}

impl ConfigField for String {
    const KIND: Type = Type::String;

    fn read(value: &Value) -> Result<String, String> {
        match value {
            Value::String(text) | Value::Class(text) => Ok(text.clone()),
            _ => Err(mismatch(Type::String)),
        }
    }
}

impl ConfigField for Vec<String> {
    const KIND: Type = Type::List;

    fn validator(_: bool) -> Option<Validator> {
        Some(Validator::List { empty: true, null: false })
    }

    fn read(value: &Value) -> Result<Vec<String>, String> {
        match value {
            Value::List(items) => Ok(items.clone()),
            _ => Err(mismatch(Type::List)),
        }
    }
}

/// Unsigned numbers: Kafka's types are signed, so the least value is a validator.
macro_rules! unsigned_field {
    ($($rust:ty, $kind:ident;)*) => {$(
        impl ConfigField for $rust {
            const KIND: Type = Type::$kind;

            fn validator(_: bool) -> Option<Validator> {
                Some(Validator::range(Some(Bound::Int(0)), i64::try_from(<$rust>::MAX).ok().map(Bound::Int)))
            }

            fn read(value: &Value) -> Result<Self, String> {
                let converted = match value {
                    Value::Int(value) => <$rust>::try_from(*value).ok(),
                    Value::Long(value) => <$rust>::try_from(*value).ok(),
                    _ => return Err(mismatch(Self::KIND)),
                };
                converted.ok_or_else(|| format!("Value must be no more than {}", <$rust>::MAX))
            }
        }
    )*};
}

unsigned_field! {
    u16, Int;
    u32, Int;
    u64, Long;
    usize, Long;
}

impl<T: ConfigField> ConfigField for Option<T> {
    const KIND: Type = T::KIND;
    const NULLABLE: bool = true;

    fn validator(any_case: bool) -> Option<Validator> {
        T::validator(any_case)
    }

    fn read(value: &Value) -> Result<Option<T>, String> {
        match value {
            Value::Null => Ok(None),
            value => T::read(value).map(Some),
        }
    }
}

/// The validator of an enum; used by [`config_enum!`](crate::config_enum).
#[doc(hidden)]
pub fn enum_validator<E: ConfigEnum>(any_case: bool) -> Option<Validator> {
    let values = E::VALUES.iter().map(|value| (*value).to_owned()).collect();
    Some(if any_case { Validator::OneOfIgnoreCase(values) } else { Validator::OneOf(values) })
}

/// The value of an enum; used by [`config_enum!`](crate::config_enum).
#[doc(hidden)]
pub fn read_enum<E: ConfigEnum>(value: &Value) -> Result<E, String> {
    let Value::String(text) = value else { return Err(mismatch(Type::String)) };
    // Whether the case matters was decided by the validator before.
    let any_case = || E::VALUES.iter().find(|known| known.eq_ignore_ascii_case(text));
    E::parse(text)
        .or_else(|| any_case().and_then(|known| E::parse(known)))
        .ok_or_else(|| format!("String must be one of: {}", E::VALUES.join(", ")))
}

/// Declares an enum of configuration texts; it implements [`ConfigEnum`] and [`ConfigField`].
///
/// ```
/// config::config_enum! {
///     /// What a write does with a key that is there already.
///     pub enum InsertMode {
///         /// Fails.
///         Insert = "insert",
///         /// Replaces the row.
///         Upsert = "upsert",
///     }
/// }
/// use config::ConfigEnum;
/// assert_eq!(InsertMode::parse("upsert"), Some(InsertMode::Upsert));
/// assert_eq!(InsertMode::Insert.as_str(), "insert");
/// ```
#[macro_export]
macro_rules! config_enum {
    (
        $(#[$meta:meta])*
        $vis:vis enum $name:ident {
            $($(#[$variant_meta:meta])* $variant:ident = $text:literal),+ $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        $vis enum $name {
            $($(#[$variant_meta])* $variant,)+
        }

        impl $crate::ConfigEnum for $name {
            const VALUES: &'static [&'static str] = &[$($text),+];

            fn parse(text: &str) -> Option<Self> {
                match text {
                    $($text => Some($name::$variant),)+
                    _ => None,
                }
            }

            fn as_str(self) -> &'static str {
                match self {
                    $($name::$variant => $text,)+
                }
            }
        }

        impl $crate::ConfigField for $name {
            const KIND: $crate::Type = $crate::Type::String;

            fn validator(any_case: bool) -> Option<$crate::Validator> {
                $crate::enum_field::validator::<$name>(any_case)
            }

            fn read(value: &$crate::Value) -> Result<Self, String> {
                $crate::enum_field::read::<$name>(value)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str($crate::ConfigEnum::as_str(*self))
            }
        }
    };
}
