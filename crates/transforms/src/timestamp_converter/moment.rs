//! A point in time out of one form and into another.

use crate::date_pattern::{DatePattern, LastText};
use crate::fault::{Fault, java_class};
use data::{Cell, DAY_MS, Logical, Rows, Schema, Span, Type, Width};

use super::{Precision, Target};

const MICROS: i64 = 1_000;
const NANOS: i64 = 1_000_000;

/// What a value under a schema is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Text,
    Unix,
    Date,
    Time,
    Timestamp,
}

impl Source {
    /// # Errors
    /// A schema that is none of a timestamp.
    pub(super) fn of(schema: &Schema) -> Result<Source, Fault> {
        match (schema.logical(), schema.kind()) {
            (Logical::Date, _) => Ok(Source::Date),
            (Logical::Time, _) => Ok(Source::Time),
            (Logical::Timestamp, _) => Ok(Source::Timestamp),
            (_, Type::String) => Ok(Source::Text),
            (_, Type::Int64) => Ok(Source::Unix),
            _ => Err(Fault::connect(format!(
                "Schema {} does not correspond to a known timestamp type format",
                data::java_text::schema_text(schema)
            ))),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Source::Text => "string timestamp to be a String",
            Source::Unix => "Unix timestamp to be a Long",
            Source::Date => "Date to be a java.util.Date",
            Source::Time => "Time to be a java.util.Date",
            Source::Timestamp => "Timestamp to be a java.util.Date",
        }
    }
}

/// A point in time: milliseconds as Java's classes would hold them, and what they leave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Moment {
    ms: i64,
    /// To be added; below zero where a time before 1970 was cut towards zero. Less than a millisecond.
    nanos: i64,
}

impl Moment {
    fn of_ms(ms: i64) -> Moment {
        Moment { ms, nanos: 0 }
    }

    fn of_unix(value: i64, precision: Precision) -> Moment {
        match precision {
            Precision::Seconds => Moment::of_ms(value.saturating_mul(1_000)),
            Precision::Milliseconds => Moment::of_ms(value),
            Precision::Microseconds => {
                Moment { ms: value / MICROS, nanos: value % MICROS * (NANOS / MICROS) }
            }
            Precision::Nanoseconds => Moment { ms: value / NANOS, nanos: value % NANOS },
        }
    }

    fn to_unix(self, precision: Precision) -> i64 {
        let scaled = |per_ms: i64| {
            let value = i128::from(self.ms) * i128::from(per_ms)
                + i128::from(self.nanos / (NANOS / per_ms));
            value.clamp(i64::MIN.into(), i64::MAX.into()) as i64
        };
        match precision {
            Precision::Seconds => self.ms / 1_000,
            Precision::Milliseconds => self.ms,
            Precision::Microseconds => scaled(MICROS),
            Precision::Nanoseconds => scaled(NANOS),
        }
    }

    /// Milliseconds rounded down, and the nanoseconds since then.
    fn floor(self) -> (i64, u32) {
        let ms = if self.nanos < 0 { self.ms.saturating_sub(1) } else { self.ms };
        (ms, self.nanos.rem_euclid(NANOS) as u32)
    }
}

/// What to read and write.
pub(super) struct Format {
    target: Target,
    precision: Precision,
    /// The pattern as it was configured.
    text: String,
    pattern: Option<DatePattern>,
    last: LastText,
}

impl Format {
    pub(super) fn new(
        target: Target,
        precision: Precision,
        text: &str,
        pattern: Option<DatePattern>,
    ) -> Format {
        Format { target, precision, text: text.to_owned(), pattern, last: LastText::default() }
    }

    /// Bytes that the texts of so many values take.
    pub(super) fn text_bytes(&self, values: usize) -> usize {
        match self.target {
            Target::Text => self.last.room(values),
            _ => 0,
        }
    }

    /// Converts a value of a schema. A null stays null.
    pub(super) fn convert(
        &mut self,
        rows: &mut Rows,
        source: Source,
        schema: &Schema,
        cell: Cell,
    ) -> Result<Cell, Fault> {
        match self.moment(rows, source, schema, &cell)? {
            Some(moment) => Ok(self.cell(rows, moment)),
            None => Ok(Cell::Null),
        }
    }

    /// The same in the value's place.
    #[inline]
    pub(super) fn convert_at(
        &mut self,
        rows: &mut Rows,
        source: Source,
        schema: &Schema,
        (span, index): (Span, usize),
    ) -> Result<(), Fault> {
        let Some(cell) = rows.cells(span).get(index) else { return Ok(()) };
        if let Some(moment) = self.moment(rows, source, schema, cell)? {
            let cell = self.cell(rows, moment);
            rows.set(span, index, cell);
        }
        Ok(())
    }

    /// What a value of a schema says; `None` for a null.
    #[inline]
    fn moment(
        &self,
        rows: &Rows,
        source: Source,
        schema: &Schema,
        cell: &Cell,
    ) -> Result<Option<Moment>, Fault> {
        Ok(Some(match (source, cell) {
            (_, Cell::Null) => return Ok(None),
            (Source::Text, Cell::Text(span)) => self.read(rows, *span)?,
            (Source::Unix, Cell::Int(value, _)) => Moment::of_unix(*value, self.precision),
            (Source::Date, Cell::Int(days, _)) => Moment::of_ms(days.saturating_mul(DAY_MS)),
            (Source::Time | Source::Timestamp, Cell::Int(ms, _))
            | (Source::Date | Source::Time | Source::Timestamp, Cell::Instant(ms)) => {
                Moment::of_ms(*ms)
            }
            _ => return Err(unexpected(source, schema, *cell)),
        }))
    }

    // Inlined, so that the parts of a cell go where it lies, not by way of the stack.
    #[inline(always)]
    fn cell(&mut self, rows: &mut Rows, moment: Moment) -> Cell {
        match self.target {
            Target::Text => Cell::Text(self.write(rows, moment)),
            Target::Unix => Cell::int(moment.to_unix(self.precision)),
            Target::Date => Cell::Int(moment.ms.div_euclid(DAY_MS), Width::W32),
            Target::Time => Cell::Int(moment.ms.rem_euclid(DAY_MS), Width::W32),
            Target::Timestamp => Cell::int(moment.ms),
        }
    }

    /// Converts a value without schema, whose class says what it is. A null stays null.
    pub(super) fn convert_bare(&mut self, rows: &mut Rows, cell: Cell) -> Result<Cell, Fault> {
        match self.bare_moment(rows, &cell) {
            Ok(Some(moment)) => Ok(self.bare_cell(rows, moment)),
            Ok(None) => Ok(Cell::Null),
            Err(fault) => Err(fault.unwrap_or_else(|| unexpected_bare(rows, cell))),
        }
    }

    /// The same in the value's place.
    #[inline]
    pub(super) fn convert_bare_at(
        &mut self,
        rows: &mut Rows,
        (span, index): (Span, usize),
    ) -> Result<(), Fault> {
        let Some(cell) = rows.cells(span).get(index) else { return Ok(()) };
        match self.bare_moment(rows, cell) {
            Ok(Some(moment)) => {
                let cell = self.bare_cell(rows, moment);
                rows.set(span, index, cell);
                Ok(())
            }
            Ok(None) => Ok(()),
            Err(fault) => {
                let cell = rows.cell(span, index);
                Err(fault.unwrap_or_else(|| unexpected_bare(rows, cell)))
            }
        }
    }

    /// What a value without schema says; `None` for a null.
    ///
    /// # Errors
    /// A text that does not fit, or nothing more to say: a value of another class.
    #[inline]
    fn bare_moment(&self, rows: &Rows, cell: &Cell) -> Result<Option<Moment>, Option<Fault>> {
        Ok(Some(match cell {
            Cell::Null => return Ok(None),
            Cell::Text(span) => self.read(rows, *span)?,
            Cell::Int(value, Width::W64) => Moment::of_unix(*value, self.precision),
            Cell::Instant(ms) => Moment::of_ms(*ms),
            _ => return Err(None),
        }))
    }

    #[inline(always)]
    fn bare_cell(&mut self, rows: &mut Rows, moment: Moment) -> Cell {
        match self.target {
            Target::Text => Cell::Text(self.write(rows, moment)),
            Target::Unix => Cell::int(moment.to_unix(self.precision)),
            // At the very end of the range it overflows, as in Java.
            Target::Date => Cell::Instant(moment.ms.div_euclid(DAY_MS).wrapping_mul(DAY_MS)),
            Target::Time => Cell::Instant(moment.ms.rem_euclid(DAY_MS)),
            Target::Timestamp => Cell::Instant(moment.ms),
        }
    }

    fn read(&self, rows: &Rows, span: Span) -> Result<Moment, Fault> {
        let Some(pattern) = &self.pattern else {
            return Err(Fault::data(
                "A timestamp that is text cannot be read without a pattern: set 'format'",
            ));
        };
        let text = rows.text(span);
        let parsed = pattern.parse(text).map_err(|_| {
            Fault::data(format!(
                "Could not parse timestamp: value ({text}) does not match pattern ({})",
                self.text
            ))
        })?;
        Ok(Moment { ms: parsed.epoch_ms, nanos: parsed.nanos.into() })
    }

    fn write(&mut self, rows: &mut Rows, moment: Moment) -> Span {
        let (ms, nanos) = moment.floor();
        // The configuration is refused where this target has no pattern.
        rows.heap.put_with(|out| {
            if let Some(pattern) = &self.pattern {
                pattern.format_again(&mut self.last, ms, nanos, out);
            }
        })
    }
}

#[cold]
fn unexpected(source: Source, schema: &Schema, cell: Cell) -> Fault {
    let class = java_class(Some(schema), cell);
    Fault::data(format!("Expected {}, but found class {class}", source.name()))
}

#[cold]
fn unexpected_bare(rows: &mut Rows, cell: Cell) -> Fault {
    let cell = rows.expand(cell);
    Fault::data(format!(
        "TimestampConverter does not support class {} objects as timestamps",
        java_class(None, cell)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unix_times_come_back_and_are_cut_towards_zero() {
        for precision in [Precision::Milliseconds, Precision::Microseconds, Precision::Nanoseconds]
        {
            for value in [0, 1, -1, -1500, 1_731_508_712_229_224, i64::MAX, i64::MIN] {
                assert_eq!(Moment::of_unix(value, precision).to_unix(precision), value);
            }
        }
        let moment = Moment::of_unix(-1500, Precision::Microseconds);
        assert_eq!((moment.ms, moment.floor()), (-1, (-2, 500_000)));
        let most = Moment::of_unix(i64::MAX, Precision::Seconds);
        assert_eq!(most.to_unix(Precision::Seconds), i64::MAX / 1_000);
        assert_eq!(most.to_unix(Precision::Nanoseconds), i64::MAX);
    }
}
