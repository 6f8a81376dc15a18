//! Values into cells and back. Control data only: every step allocates.
//!
//! Invariant: a value that fits its schema comes back equal. A value of a class that its schema does
//! not take keeps its class where a cell can say it, so that whoever reads the cell can refuse it.

use crate::calendar::DAY_MS;
use crate::cell::{Cell, Span, Width};
use crate::decimal::{decimal_from_text, decimal_to_text};
use crate::rows::Rows;
use crate::schema::{Logical, Schema, Type};
use crate::value::{Struct, Value};
use std::sync::Arc;

impl Rows {
    /// Copies an owned value into this set, as a cell under `schema`; `None`: a value that has none.
    pub fn put_value(&mut self, schema: Option<&Schema>, value: &Value) -> Cell {
        match value {
            Value::Null => Cell::Null,
            Value::Bool(v) => Cell::Bool(*v),
            Value::Int(v, _) if schema.is_some_and(is_temporal) => Cell::Int(*v, Width::W8),
            Value::Int(v, width) => Cell::Int(*v, *width),
            Value::Float32(v) if kind(schema) == Some(Type::Float32) => Cell::Float(f64::from(*v)),
            Value::Float32(v) => Cell::Float32(*v),
            // Under FLOAT32 a cell of a float is one of 32 bits; digits are neither.
            Value::Float(v) if kind(schema) == Some(Type::Float32) => {
                Cell::Number(self.heap.put(format!("{v:?}").as_bytes()))
            }
            Value::Float(v) => Cell::Float(*v),
            Value::Text(v) => Cell::Text(self.heap.put(v.as_bytes())),
            Value::Bytes(v) => Cell::Bytes(self.heap.put(v)),
            Value::Decimal { unscaled, scale } => {
                Cell::Decimal { unscaled: self.heap.put(unscaled), scale: *scale }
            }
            Value::BigInteger(v) => Cell::Number(self.heap.put_with(|out| {
                decimal_to_text(v, 0, out);
            })),
            Value::Instant(ms) => match schema.map(Schema::logical) {
                Some(Logical::Date) if ms.rem_euclid(DAY_MS) == 0 => {
                    Cell::Int(ms.div_euclid(DAY_MS), Width::W32)
                }
                Some(Logical::Time) => Cell::Int(*ms, Width::W32),
                Some(Logical::Timestamp) => Cell::Int(*ms, Width::W64),
                _ => Cell::Instant(*ms),
            },
            Value::List(items) => {
                let item = schema.and_then(Schema::value_schema).map(AsRef::as_ref);
                let cells: Vec<Cell> =
                    items.iter().map(|value| self.put_value(item, value)).collect();
                Cell::List(self.alloc_from(&cells))
            }
            Value::Map(entries) => Cell::Map(self.put_entries(schema, entries)),
            Value::Struct(value) => {
                let schema = value.schema.as_deref().or(schema);
                let fields = schema.map(Schema::fields).unwrap_or_default();
                let of = |index: usize| fields.get(index).map(|field| &*field.schema);
                let values = value.values.iter().enumerate();
                let cells: Vec<Cell> =
                    values.map(|(index, value)| self.put_value(of(index), value)).collect();
                Cell::Struct(self.alloc_from(&cells))
            }
        }
    }

    fn put_entries(&mut self, schema: Option<&Schema>, entries: &[(Value, Value)]) -> Span {
        let keys = schema.and_then(Schema::key_schema).map(AsRef::as_ref);
        let values = schema.and_then(Schema::value_schema).map(AsRef::as_ref);
        let mut cells = Vec::with_capacity(entries.len() * 2);
        for (key, value) in entries {
            cells.push(self.put_value(keys, key));
            cells.push(self.put_value(values, value));
        }
        self.alloc_from(&cells)
    }

    /// The value of a cell under `schema`, everything in it included. JSON text that nobody has
    /// looked at yet is read.
    pub fn value(&self, schema: Option<&Arc<Schema>>, cell: Cell) -> Value {
        match cell {
            Cell::Null => Value::Null,
            Cell::Bool(v) => Value::Bool(v),
            Cell::Int(v, width) => integer(schema.map(AsRef::as_ref), v, width),
            Cell::Float(v) if kind(schema.map(AsRef::as_ref)) == Some(Type::Float32) => {
                Value::Float32(v as f32)
            }
            Cell::Float(v) => Value::Float(v),
            Cell::Float32(v) => Value::Float32(v),
            Cell::Number(span) => number(self.text(span)),
            Cell::Text(span) => Value::Text(self.text(span).to_owned()),
            Cell::Bytes(span) => Value::Bytes(self.bytes(span).to_owned()),
            Cell::Decimal { unscaled, scale } => {
                Value::Decimal { unscaled: self.bytes(unscaled).to_owned(), scale }
            }
            Cell::Instant(ms) => Value::Instant(ms),
            Cell::List(span) => {
                let item = schema.and_then(|schema| schema.value_schema());
                Value::List(self.cells(span).iter().map(|cell| self.value(item, *cell)).collect())
            }
            Cell::Map(span) => {
                let keys = schema.and_then(|schema| schema.key_schema());
                let values = schema.and_then(|schema| schema.value_schema());
                let pair = |pair: &[Cell]| match pair {
                    [key, value] => (self.value(keys, *key), self.value(values, *value)),
                    _ => (Value::Null, Value::Null),
                };
                Value::Map(self.cells(span).chunks_exact(2).map(pair).collect())
            }
            Cell::Struct(span) => {
                let fields = schema.map(|schema| schema.fields()).unwrap_or_default();
                let of = |index: usize| fields.get(index).map(|field| &field.schema);
                let cells = self.cells(span).iter().enumerate();
                let values = cells.map(|(index, cell)| self.value(of(index), *cell)).collect();
                Value::Struct(Struct { schema: schema.cloned(), values })
            }
            Cell::Json(span) => {
                let mut rows = Rows::default();
                let cell = rows.put_json(self.bytes(span));
                rows.value(None, cell)
            }
        }
    }
}

fn kind(schema: Option<&Schema>) -> Option<Type> {
    schema.map(Schema::kind)
}

fn is_temporal(schema: &Schema) -> bool {
    matches!(schema.logical(), Logical::Date | Logical::Time | Logical::Timestamp)
}

fn integer(schema: Option<&Schema>, value: i64, width: Width) -> Value {
    let Some(schema) = schema else { return Value::Int(value, width) };
    match (schema.logical(), schema.kind()) {
        (_, Type::Int32) if width == Width::W8 && is_temporal(schema) => {
            Value::Int(value, Width::W32)
        }
        (_, Type::Int64) if width == Width::W8 && is_temporal(schema) => {
            Value::Int(value, Width::W64)
        }
        (Logical::Date, _) => Value::Instant(value.saturating_mul(DAY_MS)),
        (Logical::Time | Logical::Timestamp, _) => Value::Instant(value),
        _ => Value::Int(value, width),
    }
}

/// A JSON number that fits no integer of 64 bits: an integer of any size, else a double.
fn number(text: &str) -> Value {
    if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
        && let Some((unscaled, 0)) = decimal_from_text(text)
    {
        return Value::BigInteger(unscaled);
    }
    // Connect reads such a number as a decimal, which knows no negative zero.
    Value::Float(text.parse().unwrap_or(f64::NAN) + 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::SchemaBuilder;

    #[test]
    fn values_come_back_from_cells_with_their_classes() {
        let date = Arc::new(SchemaBuilder::date().build().unwrap());
        let float = Arc::new(Schema::new(Type::Float32));
        let byte = Arc::new(Schema::new(Type::Int8));
        let of = |schema: &Arc<Schema>, value: Value| {
            let mut rows = Rows::default();
            let cell = rows.put_value(Some(schema), &value);
            (rows.value(Some(schema), cell), value)
        };
        for (seen, wanted) in [
            of(&date, Value::Instant(3 * DAY_MS)),
            of(&date, Value::Instant(-DAY_MS)),
            of(&date, Value::Instant(5)),
            of(&float, Value::Float32(0.1)),
            of(&byte, Value::Int(7, Width::W8)),
            of(&byte, Value::Text("no".into())),
            of(&date, Value::Int(5, Width::W32)),
        ] {
            assert_eq!(seen, wanted);
        }
        let mut rows = Rows::default();
        for value in [
            Value::Instant(5),
            Value::Float32(0.1),
            Value::Int(1, Width::W16),
            Value::BigInteger(vec![0, 0x80, 0, 0, 0, 0, 0, 0, 0]),
            Value::Map(vec![(Value::Int(1, Width::W8), Value::List(vec![Value::Null]))]),
        ] {
            let cell = rows.put_value(None, &value);
            assert_eq!(rows.value(None, cell), value);
        }
    }

    #[test]
    fn json_that_nobody_looked_at_is_read() {
        let mut rows = Rows::default();
        let text =
            rows.heap.put(br#"{"a":[1,2.5,"x\n\u00e9",null,true],"b":{"c":12345678901234567890}}"#);
        let seen = rows.value(None, Cell::Json(text));
        let big = decimal_from_text("12345678901234567890").unwrap().0;
        let wanted = Value::Map(vec![
            (
                Value::Text("a".into()),
                Value::List(vec![
                    Value::int(1),
                    Value::Float(2.5),
                    Value::Text("x\n\u{e9}".into()),
                    Value::Null,
                    Value::Bool(true),
                ]),
            ),
            (
                Value::Text("b".into()),
                Value::Map(vec![(Value::Text("c".into()), Value::BigInteger(big))]),
            ),
        ]);
        assert_eq!(seen, wanted);
    }
}
