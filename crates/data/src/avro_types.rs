//! Logical types of Avro that Connect has none for: kept on the schema of the base type as a parameter,
//! and asked for where a destination cares.
//!
//! Source: the specification of Avro, its logical types.

use crate::debezium::{Semantic, TimeUnit};
use crate::schema::{Schema, Type};

/// The parameter with the name of the logical type.
pub const AVRO_LOGICAL_TYPE: &str = "avro.logicalType";

/// Bytes of a duration.
const PERIOD_BYTES: &str = "12";

/// The meaning of a schema with that parameter, if it has the type that belongs to it.
pub(crate) fn meaning(schema: &Schema) -> Option<Semantic> {
    use TimeUnit::{Micros, Millis, Nanos};
    let (semantic, kind) = match schema.parameter(AVRO_LOGICAL_TYPE)? {
        "uuid" => (Semantic::Uuid, Type::String),
        "time-micros" => (Semantic::Time(Micros), Type::Int64),
        "timestamp-micros" => (Semantic::Instant(Micros), Type::Int64),
        "timestamp-nanos" => (Semantic::Instant(Nanos), Type::Int64),
        "local-timestamp-millis" => (Semantic::Timestamp(Millis), Type::Int64),
        "local-timestamp-micros" => (Semantic::Timestamp(Micros), Type::Int64),
        "local-timestamp-nanos" => (Semantic::Timestamp(Nanos), Type::Int64),
        "duration" => (Semantic::Period, Type::Bytes),
        _ => return None,
    };
    let sized = semantic != Semantic::Period
        || schema.parameter("connect.fixed.size").is_none_or(|size| size == PERIOD_BYTES);
    (schema.kind() == kind && sized).then_some(semantic)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::SchemaBuilder;

    #[test]
    fn a_logical_type_needs_its_base_type() {
        let of = |name: &str, kind: Type| {
            let schema = SchemaBuilder::new(kind).parameter(AVRO_LOGICAL_TYPE, name);
            Semantic::meaning(&schema.build().unwrap())
        };
        let micros = Some(Semantic::Instant(TimeUnit::Micros));
        assert_eq!(of("timestamp-micros", Type::Int64), micros);
        assert_eq!(of("timestamp-micros", Type::Int32), None);
        assert_eq!(of("uuid", Type::String), Some(Semantic::Uuid));
        assert_eq!(of("duration", Type::Bytes), Some(Semantic::Period));
        assert_eq!(of("eon", Type::Int64), None);
        let debezium = SchemaBuilder::new(Type::Int32).name("io.debezium.time.Date");
        assert_eq!(Semantic::meaning(&debezium.build().unwrap()), Some(Semantic::Date));
    }
}
