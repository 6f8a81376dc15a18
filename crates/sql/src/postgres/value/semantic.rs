//! Values of Debezium's types, and of some of Avro's and Protobuf's: what they are to a column.
//!
//! Place in the data path: [`of`] and [`takes`] at plan time, [`value`] once for every such value.
//! Columns of numbers, of text (for what is text) and of bytes take the plain value, as they do for
//! sinks that do not know these types.

use super::convert::{self, Val};
use super::target::Target;
use data::{Cell, Rows, Schema, Semantic, TimeUnit};

/// The milliseconds that stand for infinity, and for its opposite.
const INFINITE_MS: i64 = 9_223_372_036_825_200;
const MINUS_INFINITE_MS: i64 = -9_223_372_036_832_400;

/// What the schema's values are to this column, if more than their plain type.
pub(super) fn of(schema: &Schema, target: &Target) -> Option<Semantic> {
    Semantic::meaning(schema).filter(|semantic| takes(target, *semantic))
}

/// Whether the column has a form of its own for values of this type.
pub(super) fn takes(target: &Target, semantic: Semantic) -> bool {
    let words = matches!(target, Target::Text | Target::Json | Target::Jsonb);
    match semantic {
        Semantic::Date => words || target.is_calendar(),
        Semantic::Time(_) => {
            words || matches!(target, Target::Time | Target::TimeTz | Target::Interval)
        }
        Semantic::Timestamp(_) | Semantic::Instant(_) => words || target.is_calendar(),
        Semantic::Period => words || *target == Target::Interval,
        // Columns without a time zone read the text without its offset.
        Semantic::ZonedTimestamp => matches!(target, Target::Timestamp | Target::Date),
        Semantic::Duration(_) => *target == Target::Interval,
        Semantic::Elapsed => words || *target == Target::Interval,
        Semantic::Bits => *target == Target::Bits,
        Semantic::VariableScaleDecimal | Semantic::Unsigned => {
            words
                || target.is_integer()
                || target.is_float()
                || matches!(target, Target::Numeric | Target::Money)
        }
        Semantic::Geometry => *target == Target::Geometry,
        _ => false,
    }
}

/// The meaning of a cell; `None` for null.
pub(super) fn value<'a>(
    semantic: Semantic,
    rows: &'a Rows,
    schema: &'a Schema,
    cell: Cell,
    target: &Target,
) -> Option<Val<'a>> {
    match (semantic, cell) {
        (Semantic::Date, Cell::Int(days, _)) => Some(Val::Date(days)),
        (Semantic::Time(unit), Cell::Int(count, _)) => Some(Val::MicroTime(unit.micros(count))),
        (Semantic::Timestamp(unit), Cell::Int(count, _)) => Some(wall(unit, count)),
        (Semantic::Instant(unit), Cell::Int(count, _)) => Some(Val::Micros(unit.micros(count))),
        (Semantic::Period, Cell::Bytes(span)) => Some(match rows.bytes(span).as_chunks::<4>() {
            ([months, days, ms], []) => Val::Period([*months, *days, *ms].map(u32::from_le_bytes)),
            _ => Val::Bytes(rows.bytes(span), false),
        }),
        (Semantic::Duration(unit), Cell::Int(count, _)) => Some(Val::Duration(match unit {
            // A duration is cut, not rounded: what has not passed is not counted.
            TimeUnit::Nanos => count / 1000,
            unit => unit.micros(count),
        })),
        (Semantic::Elapsed, Cell::Int(us, _)) => Some(Val::Elapsed(us)),
        (Semantic::Unsigned, Cell::Int(bits @ ..0, _)) => Some(Val::Unsigned(bits as u64)),
        (Semantic::ZonedTimestamp, Cell::Text(span)) => {
            let at = rows.text(span).parse::<jiff::Timestamp>();
            // Anything else, such as infinity, is the column's to read.
            let text = Val::Text(rows.bytes(span), false);
            Some(at.map_or(text, |at| Val::Micros(at.as_microsecond())))
        }
        (Semantic::Bits, Cell::Bytes(span)) => {
            let bytes = rows.bytes(span);
            let length = schema.parameter("length").and_then(|length| length.parse().ok());
            let all = bytes.len().saturating_mul(8);
            // Bits that are not there are zeros, within reason: varying ones have no length.
            let length = length.filter(|length| *length <= all.max(64)).unwrap_or(all);
            Some(Val::Bits(bytes, length))
        }
        (Semantic::VariableScaleDecimal, Cell::Struct(_)) => {
            let of = |name| member(rows, schema, cell, name);
            match (of("value"), of("scale")) {
                (Cell::Bytes(value), Cell::Int(scale, _)) => {
                    Some(Val::Decimal(rows.bytes(value), i32::try_from(scale).ok()?))
                }
                (Cell::Null, _) => None,
                _ => convert::value(rows, Some(schema), cell, target),
            }
        }
        (Semantic::Geometry, Cell::Struct(_)) => match member(rows, schema, cell, "wkb") {
            Cell::Bytes(wkb) => {
                let srid = match member(rows, schema, cell, "srid") {
                    Cell::Int(srid, _) => Some(srid),
                    _ => None,
                };
                Some(Val::Geometry(rows.bytes(wkb), srid))
            }
            _ => None,
        },
        _ => convert::value(rows, Some(schema), cell, target),
    }
}

fn member(rows: &Rows, schema: &Schema, cell: Cell, name: &str) -> Cell {
    let place = schema.field(name);
    place.and_then(|at| rows.fields(cell).get(at).copied()).unwrap_or(Cell::Null)
}

fn wall<'a>(unit: TimeUnit, count: i64) -> Val<'a> {
    match (unit, count) {
        (TimeUnit::Millis, ms) => Val::Wall(ms, 0),
        (TimeUnit::Nanos, i64::MAX) => Val::Wall(INFINITE_MS, 0),
        (TimeUnit::Nanos, i64::MIN) => Val::Wall(MINUS_INFINITE_MS, 0),
        (unit, count) => {
            let us = unit.micros(count);
            Val::Wall(us.div_euclid(1000), us.rem_euclid(1000))
        }
    }
}
