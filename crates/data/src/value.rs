//! Owned values: the twin of [`crate::Cell`] for schema defaults and other control data.

/// A value that owns its parts. Reading it follows the same rules as a cell of the same variant.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    Bytes(Vec<u8>),
    /// Unscaled big-endian two's complement, and the scale.
    Decimal {
        unscaled: Vec<u8>,
        scale: i32,
    },
    List(Vec<Value>),
    Map(Vec<(Value, Value)>),
    Struct(Vec<Value>),
}
