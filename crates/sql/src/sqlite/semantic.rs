//! Values of Debezium's types in SQLite's columns.
//!
//! Place in the data path: asked for every value whose schema has such a name. Text columns get ISO
//! text, which sorts and reads well; columns of numbers hold the number as it comes.

use super::time;
use super::value::{BAD_DATE, Encoded, Encoder, Form, Target, fault, is_number, out_of_range};
use data::{Cell, Rows, Schema, Semantic, TimeUnit};

impl Encoder {
    /// The form of a value of one of Debezium's types; `None` where it is what it is without. Columns
    /// of numbers hold the number as it comes.
    pub(super) fn semantic<'a>(
        &mut self,
        target: Target,
        semantic: Semantic,
        schema: &Schema,
        cell: Cell,
        rows: &'a Rows,
    ) -> Option<Encoded<'a>> {
        match (semantic, cell) {
            (Semantic::VariableScaleDecimal, Cell::Struct(span)) => {
                let of = |name| schema.field(name).and_then(|at| rows.cells(span).get(at).copied());
                match (of("value"), of("scale")) {
                    (Some(Cell::Bytes(unscaled)), Some(Cell::Int(scale, _))) => {
                        let scale = i32::try_from(scale).ok()?;
                        Some(self.decimal(target, rows, unscaled, scale))
                    }
                    _ => None,
                }
            }
            (Semantic::Unsigned, Cell::Int(bits @ ..0, _)) if !self.signed => {
                let digits = (bits as u64).to_string();
                Some(match is_number(target) {
                    true => Err(out_of_range(&digits)),
                    false => self.put(digits.as_bytes()),
                })
            }
            (_, Cell::Int(..)) if is_number(target) || target == Target::Any => None,
            (Semantic::Date, Cell::Int(days, _)) => Some(self.date(target, days)),
            (Semantic::Time(unit), Cell::Int(count, _)) => {
                let us = unit.micros(count);
                self.buffer.clear();
                if !time::write_time(us.div_euclid(1000), &mut self.buffer) {
                    let text = format!("{us} us are no time of a day");
                    return Some(Err(fault(BAD_DATE, text, None)));
                }
                self.behind(us.rem_euclid(1000));
                Some(Ok(Form::Buffer))
            }
            (Semantic::Timestamp(unit), Cell::Int(count, _)) => Some(self.wall(unit, count)),
            (Semantic::Elapsed, Cell::Int(..)) => {
                self.buffer.clear();
                data::write_json(rows, Some(schema), cell, &mut self.buffer);
                // As text of its own, not as a string of JSON.
                self.buffer.retain(|byte| *byte != b'"');
                Some(Ok(Form::Buffer))
            }
            (Semantic::Instant(unit), Cell::Int(count, _)) => {
                Some(self.instant_us(target, unit.micros(count)))
            }
            _ => None,
        }
    }

    /// The text of a wall clock, which is in no time zone.
    fn wall<'a>(&mut self, unit: TimeUnit, count: i64) -> Encoded<'a> {
        if let Some(text) = ends_of_time(unit, count) {
            return self.put(text);
        }
        let us = unit.micros(count);
        self.buffer.clear();
        if !time::write_timestamp(us.div_euclid(1000), &mut self.buffer) {
            return Err(fault(
                BAD_DATE,
                format!("the timestamp {count} is outside of the years 0000 to 9999"),
                Some("declare the column INTEGER: it then holds the number"),
            ));
        }
        self.behind(us.rem_euclid(1000));
        Ok(Form::Buffer)
    }
}

/// The word for the numbers that stand for the ends of time.
fn ends_of_time(unit: TimeUnit, count: i64) -> Option<&'static [u8]> {
    const LAST_US: i64 = 9_223_372_036_825_200_000;
    const FIRST_US: i64 = -9_223_372_036_832_400_000;
    let (first, last) = match unit {
        TimeUnit::Millis => (FIRST_US / 1000, LAST_US / 1000),
        TimeUnit::Micros => (FIRST_US, LAST_US),
        TimeUnit::Nanos => (i64::MIN, i64::MAX),
    };
    match count {
        _ if count == last => Some(b"infinity"),
        _ if count == first => Some(b"-infinity"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::DatabaseSettings;
    use data::{SchemaBuilder, Type, Value, Width};

    fn form(name: &str, kind: Type, value: &Value, target: Target) -> String {
        let schema = SchemaBuilder::new(kind).name(name).build().unwrap();
        let settings = DatabaseSettings::new("sqlite::memory:", "owner");
        let mut encoder = Encoder::new(&settings);
        let mut rows = Rows::default();
        let cell = rows.put_value(Some(&schema), value);
        match encoder.encode(target, Some(&schema), cell, &rows) {
            Ok(Form::Buffer) => String::from_utf8(encoder.buffer).unwrap(),
            Ok(form) => format!("{form:?}"),
            Err(fault) => fault.message,
        }
    }

    #[test]
    fn times_are_text_in_text_columns_and_numbers_in_others() {
        let text = |name: &str, kind, count| {
            form(&format!("io.debezium.time.{name}"), kind, &Value::int(count), Target::Text)
        };
        assert_eq!(text("Date", Type::Int32, 19_783), "2024-03-01");
        assert_eq!(text("Time", Type::Int32, 45_296_789), "12:34:56.789");
        assert_eq!(text("MicroTime", Type::Int64, 86_400_000_000), "24:00:00.000");
        assert_eq!(text("NanoTime", Type::Int64, 1_001_499), "00:00:00.001001");
        assert_eq!(text("Timestamp", Type::Int64, 1_709_294_400_123), "2024-03-01 12:00:00.123");
        let micros = text("MicroTimestamp", Type::Int64, 1_709_294_400_123_456);
        assert_eq!(micros, "2024-03-01 12:00:00.123456");
        assert_eq!(text("MicroTimestamp", Type::Int64, 9_223_372_036_825_200_000), "infinity");
        assert_eq!(text("NanoTimestamp", Type::Int64, i64::MIN), "-infinity");
        assert!(text("MicroTime", Type::Int64, -1).contains("no time of a day"));
        assert!(text("MicroTimestamp", Type::Int64, i64::MAX).contains("outside of the years"));
        let count = Value::int(1_709_294_400_123_456);
        let name = "io.debezium.time.MicroTimestamp";
        let number = form(name, Type::Int64, &count, Target::Integer);
        assert_eq!(number, "Integer(1709294400123456)");
    }

    #[test]
    fn decimals_of_any_scale_keep_every_digit() {
        let scale = std::sync::Arc::new(Schema::new(Type::Int32));
        let bytes = std::sync::Arc::new(Schema::new(Type::Bytes));
        let schema = SchemaBuilder::structure()
            .name("io.debezium.data.VariableScaleDecimal")
            .field("scale", scale)
            .field("value", bytes);
        let schema = schema.build().unwrap();
        let settings = DatabaseSettings::new("sqlite::memory:", "owner");
        let mut encoder = Encoder::new(&settings);
        let mut rows = Rows::default();
        let digits = "123456789012345678901234567890.123456789";
        let (unscaled, scale) = data::decimal_from_text(digits).unwrap();
        let scale = Value::Int(i64::from(scale), Width::W32);
        let value = Value::fields(vec![scale, Value::Bytes(unscaled)]);
        let cell = rows.put_value(Some(&schema), &value);
        let form = encoder.encode(Target::Text, Some(&schema), cell, &rows).unwrap();
        assert_eq!(form, Form::Buffer);
        assert_eq!(std::str::from_utf8(&encoder.buffer).unwrap(), digits);
    }
}
