//! Numbers and text that are points in time because an option says so (`timestamp.fields.list`).
//!
//! Place in the data path: plans give such a field a schema of its own, by which columns are made
//! and encoders know it. Values are not touched before they are written.

use crate::config::EpochUnit;
use data::{Cell, Rows, Schema, SchemaBuilder, Semantic, Type};
use std::sync::Arc;

const MICROS: &str = "copycat.epoch.micros";
const NANOS: &str = "copycat.epoch.nanos";

/// The schema of a listed field. Only INT64, STRING and values without a schema can be listed; text
/// among the latter is read as well, so they count as STRING.
pub(crate) fn listed(schema: Option<&Arc<Schema>>, unit: EpochUnit) -> Option<Arc<Schema>> {
    let kind = match schema {
        None => Type::String,
        Some(schema) if schema.logical() != data::Logical::None => return Some(schema.clone()),
        Some(schema) => schema.kind(),
    };
    if !matches!(kind, Type::Int64 | Type::String) {
        return schema.cloned();
    }
    let name = match unit {
        EpochUnit::Microseconds => MICROS,
        EpochUnit::Nanoseconds => NANOS,
    };
    let mut builder = SchemaBuilder::new(kind).name(name);
    if schema.is_none_or(|schema| schema.is_optional()) {
        builder = builder.optional();
    }
    if let Some(default) = schema.and_then(|schema| schema.default()) {
        builder = builder.default(default.clone());
    }
    builder.build().map(Arc::new).ok().or_else(|| schema.cloned())
}

/// The unit of a listed field; `None` for every other schema.
pub(crate) fn unit_of(schema: &Schema) -> Option<EpochUnit> {
    match schema.name()? {
        MICROS => Some(EpochUnit::Microseconds),
        NANOS => Some(EpochUnit::Nanoseconds),
        _ => None,
    }
}

/// Whether the schema's default says nothing to a database: it is a number, or bytes, that stands for
/// something else. Rows have theirs written out.
pub(crate) fn hides_default(schema: &Schema) -> bool {
    unit_of(schema).is_some() || Semantic::meaning(schema).is_some_and(Semantic::is_encoded)
}

/// Microseconds since 1970 of a listed field's value, nanoseconds rounded; `None` where it is no
/// whole number or out of range.
pub(crate) fn micros(unit: EpochUnit, cell: Cell, rows: &Rows) -> Option<i64> {
    let count = match cell {
        Cell::Int(value, _) => i128::from(value),
        Cell::Text(span) | Cell::Number(span) => rows.text(span).parse().ok()?,
        _ => return None,
    };
    let micros = match unit {
        EpochUnit::Microseconds => count,
        EpochUnit::Nanoseconds => count.checked_add(500)?.div_euclid(1000),
    };
    i64::try_from(micros).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use data::Value;

    #[test]
    fn only_numbers_and_text_can_be_listed() {
        let unit = EpochUnit::Nanoseconds;
        let plain = |kind| Arc::new(Schema::new(kind));
        for kind in [Type::Int64, Type::String] {
            let schema = listed(Some(&plain(kind)), unit).unwrap();
            assert_eq!((schema.kind(), unit_of(&schema)), (kind, Some(unit)));
            assert!(!schema.is_optional());
        }
        assert_eq!(listed(Some(&plain(Type::Int32)), unit), Some(plain(Type::Int32)));
        let timestamp = Arc::new(SchemaBuilder::timestamp().build().unwrap());
        assert_eq!(listed(Some(&timestamp), unit), Some(timestamp));
        let number = SchemaBuilder::new(Type::Int64).optional().default(Value::int(5));
        let schema = listed(Some(&Arc::new(number.build().unwrap())), unit).unwrap();
        assert!(schema.is_optional() && schema.default() == Some(&Value::int(5)));
        assert_eq!(
            unit_of(&listed(None, EpochUnit::Microseconds).unwrap()).unwrap().to_string(),
            "microseconds"
        );
    }

    #[test]
    fn counts_are_read_from_numbers_and_text() {
        let mut rows = Rows::default();
        let text = |rows: &mut Rows, text: &str| Cell::Text(rows.heap.put(text.as_bytes()));
        let big = text(&mut rows, "1709294400123456789");
        let word = text(&mut rows, "2024-03-01");
        let (us, ns) = (EpochUnit::Microseconds, EpochUnit::Nanoseconds);
        assert_eq!(micros(us, Cell::int(-1), &rows), Some(-1));
        assert_eq!(micros(ns, Cell::int(1500), &rows), Some(2));
        assert_eq!(micros(ns, Cell::int(-1500), &rows), Some(-1));
        assert_eq!(micros(ns, big, &rows), Some(1_709_294_400_123_457));
        assert_eq!(micros(us, word, &rows), None);
        assert_eq!(micros(us, Cell::Bool(true), &rows), None);
        assert_eq!(micros(ns, Cell::int(i64::MAX), &rows), Some(9_223_372_036_854_776));
    }
}
