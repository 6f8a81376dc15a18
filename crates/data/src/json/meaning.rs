//! Values that mean more than their type says, as readable JSON: in nested values as in columns.

use super::times::{write_elapsed, write_instant_us, write_period, write_time_us, write_wall};
use super::{put, quoted, times};
use crate::cell::Cell;
use crate::debezium::{Semantic, TimeUnit};
use crate::decimal::decimal_to_text;
use crate::rows::Rows;
use crate::schema::{Schema, Type};

/// Appends the value, if it is one of those; false, and nothing appended, for others.
pub(super) fn write(rows: &Rows, schema: &Schema, cell: Cell, out: &mut Vec<u8>) -> bool {
    // Only numbers, bytes and structs stand for something else, and only under a name or a parameter.
    let marked = schema.name().is_some() || schema.parameters().is_some();
    let plain = matches!(schema.kind(), Type::Array | Type::Map | Type::String | Type::Boolean);
    if !marked || plain {
        return false;
    }
    let Some(semantic) = Semantic::meaning(schema) else { return false };
    match (semantic, cell) {
        (Semantic::Date, Cell::Int(days, _)) => quoted(out, |out| times::write_date(days, out)),
        (Semantic::Time(unit), Cell::Int(count, _)) => write_time_us(unit.micros(count), out),
        (Semantic::Timestamp(TimeUnit::Nanos), Cell::Int(i64::MAX, _)) => {
            out.extend_from_slice(b"\"infinity\"");
        }
        (Semantic::Timestamp(TimeUnit::Nanos), Cell::Int(i64::MIN, _)) => {
            out.extend_from_slice(b"\"-infinity\"");
        }
        (Semantic::Timestamp(unit), Cell::Int(count, _)) => write_wall(unit.micros(count), out),
        (Semantic::Instant(unit), Cell::Int(count, _)) => write_instant_us(unit.micros(count), out),
        (Semantic::Elapsed, Cell::Int(us, _)) => write_elapsed(us, out),
        (Semantic::Unsigned, Cell::Int(bits, _)) => put(out, format_args!("{}", bits as u64)),
        (Semantic::Period, Cell::Bytes(span)) => match rows.bytes(span).as_chunks::<4>() {
            ([months, days, ms], []) => {
                write_period([*months, *days, *ms].map(u32::from_le_bytes), out);
            }
            _ => return false,
        },
        (Semantic::VariableScaleDecimal, Cell::Struct(_)) => {
            let of = |name| schema.field(name).and_then(|at| rows.fields(cell).get(at).copied());
            match (of("value"), of("scale")) {
                (Some(Cell::Bytes(unscaled)), Some(Cell::Int(scale, _))) => {
                    let Ok(scale) = i32::try_from(scale) else { return false };
                    decimal_to_text(rows.bytes(unscaled), scale, out);
                }
                (Some(Cell::Null), _) => out.extend_from_slice(b"null"),
                _ => return false,
            }
        }
        _ => return false,
    }
    true
}
