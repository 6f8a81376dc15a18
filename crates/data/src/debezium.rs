//! What Debezium's own schema names say: plain types whose values mean more than the type.
//!
//! Connect's logical types are part of every schema ([`Logical`](crate::Logical)); these are a
//! convention of one family of sources and are asked for where a destination cares.
//!
//! Source: Debezium's documentation of its data types (`io.debezium.time.*`, `io.debezium.data.*`).

use crate::schema::{Schema, Type};
use crate::{avro_types, protobuf_types};

/// The unit of a number that counts time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimeUnit {
    Millis,
    Micros,
    Nanos,
}

impl TimeUnit {
    /// A count as microseconds, nanoseconds rounded to the nearest; saturates.
    pub fn micros(self, count: i64) -> i64 {
        match self {
            TimeUnit::Millis => count.saturating_mul(1000),
            TimeUnit::Micros => count,
            TimeUnit::Nanos => {
                let (micros, rest) = (count.div_euclid(1000), count.rem_euclid(1000));
                micros + i64::from(rest >= 500)
            }
        }
    }
}

/// The meaning of a schema that has one of Debezium's names and the type that belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Semantic {
    /// INT32: days since 1970.
    Date,
    /// INT32 or INT64: time of a day.
    Time(TimeUnit),
    /// INT64: a wall clock, counted since 1970 as if it were UTC.
    Timestamp(TimeUnit),
    /// STRING: ISO 8601 with an offset.
    ZonedTimestamp,
    /// STRING: a time of a day with an offset.
    ZonedTime,
    /// STRING: ISO 8601.
    IsoDate,
    IsoTime,
    IsoTimestamp,
    /// INT32: a year.
    Year,
    /// INT64.
    Duration(TimeUnit),
    /// STRING: ISO 8601, `P1Y2M3DT4H5M6.78S`.
    Interval,
    /// STRING.
    Json,
    Xml,
    Uuid,
    /// STRING: a word of the parameter `allowed`.
    Enum,
    /// STRING: words of the parameter `allowed`, separated by commas.
    EnumSet,
    Ltree,
    TsVector,
    /// BYTES, the lowest bit first. The parameter `length` has the number of bits.
    Bits,
    /// STRUCT of `scale` (INT32) and `value` (BYTES, unscaled).
    VariableScaleDecimal,
    /// STRUCT with `wkb` (BYTES) and `srid` (INT32).
    Geometry,
    /// INT64: a point in time, counted since 1970 in UTC. Avro's.
    Instant(TimeUnit),
    /// BYTES: months, days and milliseconds, each of 32 bits, the lowest byte first. Avro's.
    Period,
    /// INT64: microseconds that have passed, readable as ISO 8601. Protobuf's.
    Elapsed,
    /// INT64 with the bits of a number without a sign. Protobuf's.
    Unsigned,
}

impl Semantic {
    /// The meaning of a schema, whoever's it is: Debezium's, or a type of Avro or Protobuf that Connect
    /// has none for.
    pub fn meaning(schema: &Schema) -> Option<Semantic> {
        Semantic::of(schema)
            .or_else(|| avro_types::meaning(schema))
            .or_else(|| protobuf_types::meaning(schema))
    }

    /// The meaning of a schema, if its name and type are Debezium's.
    pub fn of(schema: &Schema) -> Option<Semantic> {
        let name = schema.name()?.strip_prefix("io.debezium.")?;
        let (semantic, kind) = match name.split_once('.')? {
            ("time", name) => time(name)?,
            ("data", name) => data(name)?,
            _ => return None,
        };
        (schema.kind() == kind).then_some(semantic)
    }

    /// Whether values are numbers, bytes or structs that stand for something else; the others are
    /// text that says itself what it is.
    pub fn is_encoded(self) -> bool {
        matches!(
            self,
            Semantic::Date
                | Semantic::Time(_)
                | Semantic::Timestamp(_)
                | Semantic::Duration(_)
                | Semantic::Bits
                | Semantic::VariableScaleDecimal
                | Semantic::Geometry
                | Semantic::Instant(_)
                | Semantic::Period
                | Semantic::Elapsed
                | Semantic::Unsigned
        )
    }
}

fn time(name: &str) -> Option<(Semantic, Type)> {
    use TimeUnit::{Micros, Millis, Nanos};
    Some(match name {
        "Date" => (Semantic::Date, Type::Int32),
        "Time" => (Semantic::Time(Millis), Type::Int32),
        "MicroTime" => (Semantic::Time(Micros), Type::Int64),
        "NanoTime" => (Semantic::Time(Nanos), Type::Int64),
        "Timestamp" => (Semantic::Timestamp(Millis), Type::Int64),
        "MicroTimestamp" => (Semantic::Timestamp(Micros), Type::Int64),
        "NanoTimestamp" => (Semantic::Timestamp(Nanos), Type::Int64),
        "ZonedTimestamp" => (Semantic::ZonedTimestamp, Type::String),
        "ZonedTime" => (Semantic::ZonedTime, Type::String),
        "IsoDate" => (Semantic::IsoDate, Type::String),
        "IsoTime" => (Semantic::IsoTime, Type::String),
        "IsoTimestamp" => (Semantic::IsoTimestamp, Type::String),
        "Year" => (Semantic::Year, Type::Int32),
        "MicroDuration" => (Semantic::Duration(Micros), Type::Int64),
        "NanoDuration" => (Semantic::Duration(Nanos), Type::Int64),
        "Interval" => (Semantic::Interval, Type::String),
        _ => return None,
    })
}

fn data(name: &str) -> Option<(Semantic, Type)> {
    Some(match name {
        "Json" => (Semantic::Json, Type::String),
        "Xml" => (Semantic::Xml, Type::String),
        "Uuid" => (Semantic::Uuid, Type::String),
        "Enum" => (Semantic::Enum, Type::String),
        "EnumSet" => (Semantic::EnumSet, Type::String),
        "Ltree" => (Semantic::Ltree, Type::String),
        "TsVector" => (Semantic::TsVector, Type::String),
        "Bits" => (Semantic::Bits, Type::Bytes),
        "VariableScaleDecimal" => (Semantic::VariableScaleDecimal, Type::Struct),
        "geometry.Point" | "geometry.Geometry" | "geometry.Geography" => {
            (Semantic::Geometry, Type::Struct)
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SchemaBuilder;

    #[test]
    fn a_meaning_needs_both_name_and_type() {
        let of = |name: &str, kind: Type| {
            Semantic::of(&SchemaBuilder::new(kind).name(name).build().unwrap())
        };
        let micro = Some(Semantic::Timestamp(TimeUnit::Micros));
        assert_eq!(of("io.debezium.time.MicroTimestamp", Type::Int64), micro);
        assert_eq!(of("io.debezium.time.MicroTimestamp", Type::String), None);
        assert_eq!(of("io.debezium.data.Bits", Type::Bytes), Some(Semantic::Bits));
        let point = of("io.debezium.data.geometry.Point", Type::Struct);
        assert_eq!(point, Some(Semantic::Geometry));
        assert_eq!(of("io.debezium.time.Eon", Type::Int64), None);
        assert_eq!(of("MicroTimestamp", Type::Int64), None);
        assert_eq!(Semantic::of(&Schema::new(Type::Int64)), None);
    }

    #[test]
    fn counts_become_microseconds() {
        assert_eq!(TimeUnit::Millis.micros(-5), -5000);
        assert_eq!(TimeUnit::Millis.micros(i64::MAX), i64::MAX);
        assert_eq!([1499, 1500, -1500, -1501].map(|n| TimeUnit::Nanos.micros(n)), [1, 2, -1, -2]);
        assert_eq!(TimeUnit::Nanos.micros(i64::MAX), 9_223_372_036_854_776);
    }
}
