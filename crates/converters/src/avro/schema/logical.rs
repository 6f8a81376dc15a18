//! Logical types of the Avro specification: what they make of the values of their base types.

use super::{Fixed, Kind, Node};
use serde_json::Value as Json;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Logical {
    /// On bytes or fixed: unscaled, big-endian two's complement.
    Decimal {
        precision: u32,
        scale: u32,
    },
    /// On string, or on fixed of 16 bytes.
    Uuid,
    /// On int: days since 1970-01-01.
    Date,
    /// On int.
    TimeMillis,
    /// On long.
    TimeMicros,
    /// On long, since the epoch, UTC.
    TimestampMillis,
    TimestampMicros,
    TimestampNanos,
    /// On long: a wall clock, counted as if it were UTC.
    LocalTimestampMillis,
    LocalTimestampMicros,
    LocalTimestampNanos,
    /// On fixed of 12 bytes: months, days and milliseconds, each little-endian.
    Duration,
}

impl Logical {
    /// The logical type of a node; `None` where it names none, an unknown one, or one that does not
    /// fit: such values are read as what they are based on.
    pub(super) fn of(node: &Node) -> Option<Logical> {
        let name = node.prop("logicalType")?;
        match (&node.kind, name) {
            (Kind::Bytes, "decimal") => decimal(node, None),
            (Kind::Fixed(Fixed { size, .. }), "decimal") => decimal(node, Some(*size)),
            (Kind::String, "uuid") | (Kind::Fixed(Fixed { size: 16, .. }), "uuid") => {
                Some(Logical::Uuid)
            }
            (Kind::Int, "date") => Some(Logical::Date),
            (Kind::Int, "time-millis") => Some(Logical::TimeMillis),
            (Kind::Long, name) => long(name),
            (Kind::Fixed(Fixed { size: 12, .. }), "duration") => Some(Logical::Duration),
            _ => None,
        }
    }
}

fn long(name: &str) -> Option<Logical> {
    Some(match name {
        "time-micros" => Logical::TimeMicros,
        "timestamp-millis" => Logical::TimestampMillis,
        "timestamp-micros" => Logical::TimestampMicros,
        "timestamp-nanos" => Logical::TimestampNanos,
        "local-timestamp-millis" => Logical::LocalTimestampMillis,
        "local-timestamp-micros" => Logical::LocalTimestampMicros,
        "local-timestamp-nanos" => Logical::LocalTimestampNanos,
        _ => return None,
    })
}

fn decimal(node: &Node, size: Option<usize>) -> Option<Logical> {
    let number = |name: &str| node.props.get(name).map(Json::as_u64);
    let precision = u32::try_from(number("precision")??).ok()?;
    let scale = match number("scale") {
        None => 0,
        Some(scale) => u32::try_from(scale?).ok()?,
    };
    let fits = size.is_none_or(|size| f64::from(precision) <= digits_max(size));
    (precision > 0 && scale <= precision && fits).then_some(Logical::Decimal { precision, scale })
}

/// The decimal digits that every number of so many bytes of two's complement has room for.
fn digits_max(size: usize) -> f64 {
    ((8.0 * size as f64 - 1.0) * std::f64::consts::LOG10_2).floor()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::avro::schema::AvroSchema;

    fn of(text: &str) -> Option<Logical> {
        let schema = AvroSchema::parse(text).unwrap();
        schema.node(schema.root()).logical()
    }

    #[test]
    fn a_logical_type_fits_its_base() {
        let millis = r#"{"type":"long","logicalType":"timestamp-millis"}"#;
        assert_eq!(of(millis), Some(Logical::TimestampMillis));
        assert_eq!(of(r#"{"type":"int","logicalType":"timestamp-millis"}"#), None);
        assert_eq!(of(r#"{"type":"string","logicalType":"uuid"}"#), Some(Logical::Uuid));
        let fixed = |size: u32, logical: &str| {
            of(&format!(r#"{{"type":"fixed","name":"f","size":{size},"logicalType":"{logical}"}}"#))
        };
        assert_eq!(fixed(16, "uuid"), Some(Logical::Uuid));
        assert_eq!(fixed(15, "uuid"), None);
        assert_eq!(fixed(12, "duration"), Some(Logical::Duration));
    }

    #[test]
    fn a_decimal_needs_digits_that_fit() {
        let bytes =
            |rest: &str| of(&format!(r#"{{"type":"bytes","logicalType":"decimal"{rest}}}"#));
        assert_eq!(
            bytes(r#","precision":9,"scale":2"#),
            Some(Logical::Decimal { precision: 9, scale: 2 })
        );
        assert_eq!(bytes(r#","precision":9"#), Some(Logical::Decimal { precision: 9, scale: 0 }));
        for wrong in [
            "",
            r#","precision":0"#,
            r#","precision":2,"scale":3"#,
            r#","precision":2,"scale":-1"#,
            r#","precision":"9""#,
        ] {
            assert_eq!(bytes(wrong), None, "{wrong}");
        }
        let fixed = |precision: u32| {
            of(&format!(
                r#"{{"type":"fixed","name":"f","size":4,"logicalType":"decimal","precision":{precision}}}"#
            ))
        };
        assert_eq!(fixed(9), Some(Logical::Decimal { precision: 9, scale: 0 }));
        assert_eq!(fixed(10), None);
    }
}
