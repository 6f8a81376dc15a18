//! Types of Protobuf that Connect has none for: kept on the schema of the base type as a parameter, and
//! asked for where a destination cares.
//!
//! The numbers' names are those that Confluent's converter notes. The messages' are noted only where a
//! reader keeps them to the microsecond, which Connect's own types do not.

use crate::debezium::{Semantic, TimeUnit};
use crate::schema::{Schema, Type};

/// The parameter with the name of the type.
pub const PROTOBUF_TYPE: &str = "io.confluent.connect.protobuf.Type";

/// The meaning of a schema with that parameter, if it has the type that belongs to it.
pub(crate) fn meaning(schema: &Schema) -> Option<Semantic> {
    if schema.kind() != Type::Int64 {
        return None;
    }
    Some(match schema.parameter(PROTOBUF_TYPE)? {
        "uint64" | "fixed64" => Semantic::Unsigned,
        "google.protobuf.Timestamp" => Semantic::Instant(TimeUnit::Micros),
        "google.type.TimeOfDay" => Semantic::Time(TimeUnit::Micros),
        "google.protobuf.Duration" => Semantic::Elapsed,
        _ => return None,
    })
}
