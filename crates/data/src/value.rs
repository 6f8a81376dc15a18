//! Owned values: what a Connect object is, class included, without a row set around it.
//!
//! Schema defaults, literals of configurations and other control data are values; records are
//! [`Cell`](crate::Cell)s. [`Rows::put_value`](crate::Rows::put_value) and
//! [`Rows::value`](crate::Rows::value) go from one to the other.
//!
//! Invariant: a value says its class itself. A date, a time and a timestamp are all
//! [`Value::Instant`], as they are all one class in Connect, while a cell under their schemas is
//! the integer of the encoding.

use crate::cell::Width;
use crate::schema::Schema;
use std::sync::Arc;

/// A value that owns its parts. Two are equal if Java's `equals` says so: see `value_eq`.
#[derive(Clone, Debug)]
pub enum Value {
    Null,
    Bool(bool),
    Int(i64, Width),
    Float32(f32),
    Float(f64),
    Text(String),
    Bytes(Vec<u8>),
    /// Unscaled big-endian two's complement, and the scale.
    Decimal {
        unscaled: Vec<u8>,
        scale: i32,
    },
    /// An integer of any size, big-endian two's complement. No schema has this class.
    BigInteger(Vec<u8>),
    /// Milliseconds since the epoch, UTC: the class of dates, times and timestamps.
    Instant(i64),
    List(Vec<Value>),
    Map(Vec<(Value, Value)>),
    Struct(Struct),
}

/// The fields of a struct, in the order of its schema.
#[derive(Clone, Debug)]
pub struct Struct {
    /// `None`: the schema beside the value, as in a schema's default.
    pub schema: Option<Arc<Schema>>,
    pub values: Vec<Value>,
}

impl Value {
    /// An integer of 64 bits.
    pub fn int(value: i64) -> Value {
        Value::Int(value, Width::W64)
    }

    /// A struct of the schema beside it.
    pub fn fields(values: Vec<Value>) -> Value {
        Value::Struct(Struct { schema: None, values })
    }

    /// The same value where the schema beside it says what every struct in it is, as in a schema's
    /// default: two ways to say one thing would make equal schemas unequal.
    pub(crate) fn without_schemas(self) -> Value {
        match self {
            Value::Struct(Struct { values, .. }) => {
                Value::fields(values.into_iter().map(Value::without_schemas).collect())
            }
            Value::List(items) => {
                Value::List(items.into_iter().map(Value::without_schemas).collect())
            }
            Value::Map(entries) => {
                let bare = |(k, v): (Value, Value)| (k.without_schemas(), v.without_schemas());
                Value::Map(entries.into_iter().map(bare).collect())
            }
            other => other,
        }
    }

    /// The same value where every struct that names no schema names the one it has beside it.
    pub fn with_schema(self, schema: &Arc<Schema>) -> Value {
        let inner = |value: Value, schema: Option<&Arc<Schema>>| match schema {
            Some(schema) => value.with_schema(schema),
            None => value,
        };
        match self {
            Value::Struct(Struct { schema: own, values }) => {
                let schema = own.unwrap_or_else(|| Arc::clone(schema));
                let of = |index: usize| schema.fields().get(index).map(|field| &field.schema);
                let values = values.into_iter().enumerate();
                let values = values.map(|(index, value)| inner(value, of(index))).collect();
                Value::Struct(Struct { schema: Some(schema), values })
            }
            Value::List(items) => {
                let item = schema.value_schema();
                Value::List(items.into_iter().map(|value| inner(value, item)).collect())
            }
            Value::Map(entries) => {
                let (keys, values) = (schema.key_schema(), schema.value_schema());
                let pair = |(key, value)| (inner(key, keys), inner(value, values));
                Value::Map(entries.into_iter().map(pair).collect())
            }
            other => other,
        }
    }

    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }
}
