//! The most common pairs of value and column in COPY's binary format.
//!
//! Place in the data path: asked first for every value that is sent in binary form. What a schema and
//! a column mean for each other is settled when the encoder is made, so that here only the cell is
//! looked at; whatever is not the plain case is left to the general way, which gives the same bytes.

use super::target::Target;
use data::{Cell, Logical, Rows, Schema, Semantic, Type};

/// 1970 to 2000, where PostgreSQL begins to count.
const EPOCH_MS: i64 = 10_957 * 86_400_000;
/// The years 1 to 9999, far from whatever is special at the ends of time.
const USUAL_MS: std::ops::Range<i64> = -62_135_596_800_000..253_402_300_800_000;

/// What an encoder does with the usual cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fast {
    /// There is no usual cell.
    No,
    Bool,
    Int8,
    Float8,
    Text,
    /// Milliseconds since 1970 in UTC.
    Timestamp,
}

impl Fast {
    /// `utc`: `db.timezone` is UTC.
    pub(super) fn of(target: &Target, schema: Option<&Schema>, utc: bool) -> Fast {
        let Some(schema) = schema else {
            // Cells without a schema say themselves what they are.
            return match target {
                Target::Bool => Fast::Bool,
                Target::Int8 => Fast::Int8,
                Target::Float8 => Fast::Float8,
                Target::Text => Fast::Text,
                _ => Fast::No,
            };
        };
        if schema.logical() == Logical::Timestamp {
            return match target {
                Target::Timestamp if utc => Fast::Timestamp,
                Target::TimestampTz => Fast::Timestamp,
                _ => Fast::No,
            };
        }
        // A name may stand for a meaning of its own, and so may a parameter.
        let meant = || Semantic::meaning(schema).is_some();
        if schema.logical() != Logical::None || schema.name().is_some() || meant() {
            return Fast::No;
        }
        match (target, schema.kind()) {
            (Target::Bool, Type::Boolean) => Fast::Bool,
            (Target::Int8, Type::Int8 | Type::Int16 | Type::Int32 | Type::Int64) => Fast::Int8,
            (Target::Float8, Type::Float64) => Fast::Float8,
            (Target::Text, Type::String) => Fast::Text,
            _ => Fast::No,
        }
    }

    /// Appends length and value; false, and nothing appended, if this is not the usual cell. The cell is
    /// read where it lies: copied, it would be waited for.
    #[inline]
    pub(super) fn write(self, cell: &Cell, rows: &Rows, out: &mut Vec<u8>) -> bool {
        match (self, *cell) {
            (Fast::Int8, Cell::Int(v, _)) => eight(v.to_be_bytes(), out),
            (Fast::Float8, Cell::Float(v)) => eight(v.to_be_bytes(), out),
            (Fast::Timestamp, Cell::Int(ms, _)) if USUAL_MS.contains(&ms) => {
                eight(((ms - EPOCH_MS) * 1000).to_be_bytes(), out);
            }
            (Fast::Bool, Cell::Bool(v)) => out.extend_from_slice(&[0, 0, 0, 1, u8::from(v)]),
            (Fast::Text, Cell::Text(span)) => {
                let bytes = rows.bytes(span);
                let len = i32::try_from(bytes.len());
                let (false, Ok(len)) = (has_nul(bytes), len) else { return false };
                out.extend_from_slice(&len.to_be_bytes());
                out.extend_from_slice(bytes);
            }
            _ => return false,
        }
        true
    }
}

/// Whether there is a zero byte; eight at a time, since texts are short and nearly never have one.
#[inline]
fn has_nul(bytes: &[u8]) -> bool {
    const LOW: u64 = 0x0101_0101_0101_0101;
    let (words, rest) = bytes.as_chunks::<8>();
    let in_words = words.iter().fold(0, |found, word| {
        let word = u64::from_ne_bytes(*word);
        found | (word.wrapping_sub(LOW) & !word)
    });
    in_words & (LOW << 7) != 0 || rest.contains(&0)
}

#[inline]
fn eight([a, b, c, d, e, f, g, h]: [u8; 8], out: &mut Vec<u8>) {
    out.extend_from_slice(&[0, 0, 0, 8, a, b, c, d, e, f, g, h]);
}

#[cfg(test)]
mod tests {
    use super::super::{ColumnType, Encoder, ValueSettings};
    use super::*;
    use crate::config::{DatabaseSettings, NulHandling};
    use data::{SchemaBuilder, Width};
    use std::sync::Arc;

    #[test]
    fn a_zero_byte_is_found_wherever_it_is() {
        for len in 0..40 {
            let mut bytes: Vec<u8> = (0..len).map(|n| [1, 0x80, 0xff, 0x7f][n % 4]).collect();
            assert!(!has_nul(&bytes), "{len}");
            for at in 0..len {
                let byte = std::mem::take(&mut bytes[at]);
                assert!(has_nul(&bytes), "{len} {at}");
                bytes[at] = byte;
            }
        }
    }

    #[test]
    fn the_fast_form_is_the_general_one() {
        let mut rows = Rows::default();
        let texts = ["", "a", "with\0nul", "longer than eight bytes", "longer and\0with one"];
        let texts = texts.map(|text| Cell::Text(rows.heap.put(text.as_bytes())));
        let ints = [0, 1, -1, i64::MAX, i64::MIN, 253_402_300_799_999, -62_135_596_800_001];
        let floats = [0.0, -0.0, 1.5, f64::NAN, f64::INFINITY, f64::MAX];
        let mut cells = vec![Cell::Null, Cell::Bool(true), Cell::Bool(false), Cell::Instant(5)];
        cells.extend(texts);
        cells.extend(ints.map(|v| Cell::Int(v, Width::W64)));
        cells.extend(floats.map(Cell::Float));
        let schema = |kind| Some(Arc::new(Schema::new(kind)));
        let named =
            |kind, name: &str| Some(Arc::new(SchemaBuilder::new(kind).name(name).build().unwrap()));
        let mut schemas =
            vec![None, named(Type::Int64, data::TIMESTAMP), named(Type::Int64, "own")];
        for kind in [Type::Boolean, Type::Int16, Type::Int64, Type::Float32, Type::Float64] {
            schemas.push(schema(kind));
        }
        schemas.extend([schema(Type::String), named(Type::String, "own")]);
        let zone = jiff::tz::TimeZone::fixed(jiff::tz::offset(2));
        let utc = jiff::tz::TimeZone::UTC;
        let forms = [(&utc, NulHandling::Fail), (&zone, NulHandling::Strip)];
        for (zone, nul_handling) in forms {
            let mut settings = DatabaseSettings::new("postgresql://localhost/x", "owner");
            (settings.timezone, settings.nul_handling) = (zone.clone(), nul_handling);
            let settings = Arc::new(ValueSettings::new(&settings));
            for (schema, oid) in
                schemas.iter().flat_map(|s| [16, 23, 20, 701, 25, 1114, 1184].map(|oid| (s, oid)))
            {
                let column = ColumnType::scalar(oid, "", 'b');
                let encoder = Encoder::new(schema.as_ref(), &column, &settings);
                for cell in cells.iter().filter(|_| encoder.has_binary()) {
                    let (mut fast, mut general) = (b"x".to_vec(), b"x".to_vec());
                    let done = encoder.copy_binary(*cell, &rows, &mut fast);
                    let expect = encoder.any_binary(*cell, &rows, &mut general);
                    assert_eq!((done, fast), (expect, general), "{schema:?} {cell:?} {oid}");
                }
            }
        }
    }
}
