//! Parameters of Connect schemas that say what Connect has no word for: a place where a record
//! contains itself, and a logical type that is Avro's alone.
//!
//! Reading sets them, writing takes them back. They are no parameters of the user's: they are not
//! written among `connect.parameters`.

use super::attributes::{LOGICAL_TYPE, RECURSIVE};
use super::to_avro;
use data::{Logical, Schema, Type};

/// The full name of the record that is repeated here.
pub(super) fn recursive_name(schema: &Schema) -> Option<&str> {
    schema.parameter(RECURSIVE).filter(|_| schema.kind() == Type::Map)
}

/// Avro's name of the logical type of a schema, if it has one.
pub(super) fn logical_type(schema: &Schema) -> Option<&str> {
    match schema.logical() {
        Logical::None => schema.parameter(LOGICAL_TYPE),
        _ => to_avro::connect_logical_type(schema),
    }
}

/// Whether a parameter is one of these.
pub(super) fn is_marker(name: &str) -> bool {
    name == RECURSIVE || name == LOGICAL_TYPE
}
