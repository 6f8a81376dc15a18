//! Text ↔ data and data ↔ data: Connect's `Values`, which header converters and casts use.
//!
//! Place in the data path: headers that a converter reads or writes, literals of configurations.
//! Everything works on owned values and allocates.
//!
//! Where ours is better than Connect's: text that is not wholly a literal stays text (`10:30`,
//! `[1]x`), as does a date or time that does not exist (`2019-13-45`).

mod convert;
mod format;
mod number;
mod parse;
mod temporal;
#[cfg(test)]
mod tests;

pub use number::{Number, digit};
pub use temporal::write as write_temporal;

use crate::builder::SchemaBuilder;
use crate::error::SchemaError;
use crate::schema::{Schema, Type};
use crate::value::Value;
use std::sync::Arc;

/// Reads text: `true`, numbers, dates, times, lists in brackets and maps in braces; everything else
/// is text, as it stands. `None`: the text is `null`.
///
/// A number becomes the smallest integer that holds it; with a fraction or an exponent a float, of
/// 32 bits if its range is enough. Elements of a list are brought to a type that all of them have
/// in common; where there is none, the schema of the elements is unknown.
pub fn parse_string(text: &str) -> Option<(Option<Arc<Schema>>, Value)> {
    parse::parse(text).map(|(schema, value)| (Some(schema), value))
}

/// The text of a value that [`parse_string`] reads back, as far as it can. Null stays null.
///
/// # Errors
/// None today; as its neighbours.
pub fn convert_to_string(
    schema: Option<&Arc<Schema>>,
    value: &Value,
) -> Result<Value, SchemaError> {
    convert::convert_to(&Schema::optional_of(Type::String), schema, value.clone())
}

/// Appends the text of [`convert_to_string`]; a null appends `null`.
pub fn write_string(schema: Option<&Schema>, value: &Value, out: &mut Vec<u8>) {
    format::write(schema, value, false, out);
}

/// The conversions to types that take null for null.
macro_rules! conversions {
    ($($(#[$doc:meta])* $name:ident: $kind:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        /// The value, which is named with its class, has no such form.
        pub fn $name(schema: Option<&Arc<Schema>>, value: &Value) -> Result<Value, SchemaError> {
            convert::convert_to(&Schema::optional_of(Type::$kind), schema, value.clone())
        }
    )*};
}

conversions! {
    /// `true` and `false` as text, or a number: false if 0.
    convert_to_boolean: Boolean;
    /// A number or its text, cut to 8 bits; a point in time as its schema encodes it.
    convert_to_byte: Int8;
    /// A number or its text, cut to 16 bits; a point in time as its schema encodes it.
    convert_to_short: Int16;
    /// A number or its text, cut to 32 bits; a point in time as its schema encodes it.
    convert_to_integer: Int32;
    /// A number or its text, cut to 64 bits; a point in time as its schema encodes it.
    convert_to_long: Int64;
    /// A number or its text, through a double; a point in time as its schema encodes it.
    convert_to_float: Float32;
    /// A number or its text; a point in time as its schema encodes it.
    convert_to_double: Float64;
}

/// A date: of a number, days; of a timestamp, its day; text is read first.
///
/// # Errors
/// Null, and what is no number and no date.
pub fn convert_to_date(schema: Option<&Arc<Schema>>, value: &Value) -> Result<Value, SchemaError> {
    convert::convert_to(&Schema::date(), schema, value.clone())
}

/// A time of day: of a number, milliseconds; of a timestamp, the time in its day; text is read first.
///
/// # Errors
/// Null, what is no number and no time, milliseconds outside a day.
pub fn convert_to_time(schema: Option<&Arc<Schema>>, value: &Value) -> Result<Value, SchemaError> {
    convert::convert_to(&Schema::time(), schema, value.clone())
}

/// A timestamp: of a number, milliseconds; of a date, its midnight; text is read first.
///
/// # Errors
/// Null, and what is no number and no point in time.
pub fn convert_to_timestamp(
    schema: Option<&Arc<Schema>>,
    value: &Value,
) -> Result<Value, SchemaError> {
    convert::convert_to(&Schema::timestamp(), schema, value.clone())
}

/// A decimal. `scale` is only that of bytes, which hold an unscaled value; all others keep theirs.
///
/// # Errors
/// Null, and what is no number.
pub fn convert_to_decimal(
    schema: Option<&Arc<Schema>>,
    value: &Value,
    scale: i32,
) -> Result<Value, SchemaError> {
    let to = Arc::new(SchemaBuilder::decimal(scale).build()?);
    convert::convert_to(&to, schema, value.clone())
}

/// A list; text is read first.
///
/// # Errors
/// Null, and what is no list.
pub fn convert_to_list(schema: Option<&Arc<Schema>>, value: &Value) -> Result<Value, SchemaError> {
    convert::convert_to(&Schema::required_of(Type::Array), schema, value.clone())
}

/// A map; text is read first.
///
/// # Errors
/// Null, and what is no map.
pub fn convert_to_map(schema: Option<&Arc<Schema>>, value: &Value) -> Result<Value, SchemaError> {
    convert::convert_to(&Schema::required_of(Type::Map), schema, value.clone())
}

/// A struct, with its schema in it.
///
/// # Errors
/// Null, and what is no struct.
pub fn convert_to_struct(
    schema: Option<&Arc<Schema>>,
    value: &Value,
) -> Result<Value, SchemaError> {
    convert::convert_to(&Schema::required_of(Type::Struct), schema, value.clone())
}
