//! Dates, times and points in time: which count is written for which cell.

use super::fault::Fault;
use crate::avro::markers;
use crate::avro::schema::{Logical as Avro, Node};
use data::java_text::class_name;
use data::{Cell, DAY_MS, Logical, Schema, Width};

/// What a number counts; times in nanoseconds a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Count {
    Days,
    Time(i64),
    Timestamp(i64),
    /// A wall clock.
    Local(i64),
}

const NANO: i64 = 1;
const MICRO: i64 = 1000;
const MILLI: i64 = 1_000_000;

/// How the count of a cell becomes the one that is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    /// Connect's own logical type of the schema.
    logical: Logical,
    /// One of them is 1.
    factor: i64,
    divisor: i64,
}

impl Clock {
    /// For a schema and the type it is written as; `None` where at most one of them counts time, so
    /// that numbers are just numbers.
    ///
    /// # Errors
    /// The two count different things.
    pub(super) fn of(schema: &Schema, node: &Node) -> Result<Option<Clock>, String> {
        let logical = schema.logical();
        let (from, to) = (of_schema(schema), node.logical().and_then(of_avro));
        let (Some(from), Some(to)) = (from, to) else {
            let plain = Clock { logical, factor: 1, divisor: 1 };
            return Ok(logical.is_temporal().then_some(plain));
        };
        let (from, to) = match (from, to) {
            (Count::Days, Count::Days) => (1, 1),
            (Count::Time(from), Count::Time(to))
            | (Count::Timestamp(from), Count::Timestamp(to))
            | (Count::Local(from), Count::Local(to)) => (from, to),
            _ => {
                let [from, to] = [from, to].map(Count::name);
                return Err(format!("{from} cannot be written as {to}"));
            }
        };
        let (factor, divisor) = ((from / to).max(1), (to / from).max(1));
        let plain = factor == 1 && divisor == 1 && !logical.is_temporal();
        Ok((!plain).then_some(Clock { logical, factor, divisor }))
    }

    /// The count to be written for a cell.
    #[inline]
    pub(super) fn count(self, cell: Cell) -> Result<i64, Fault> {
        let temporal = self.logical.is_temporal();
        let value = match cell {
            Cell::Null => return Err(Fault::null()),
            // So narrow is only a plain integer that got under the name.
            Cell::Int(_, Width::W8) if temporal => return Err(self.mismatch(cell)),
            Cell::Int(value, _) => value,
            Cell::Instant(ms) if self.logical == Logical::Date => {
                if ms.rem_euclid(DAY_MS) != 0 {
                    return Err(not_only("Date", "time"));
                }
                ms.div_euclid(DAY_MS)
            }
            Cell::Instant(ms) if temporal => ms,
            _ => return Err(self.mismatch(cell)),
        };
        if self.logical == Logical::Time && !(0..=DAY_MS).contains(&value) {
            return Err(not_only("Time", "date"));
        }
        if self.divisor == 1 && self.factor == 1 {
            return Ok(value);
        }
        if value % self.divisor != 0 {
            return Err(Fault::new(format!(
                "{value} would lose digits in the unit that the schema has"
            )));
        }
        (value / self.divisor).checked_mul(self.factor).ok_or_else(|| {
            Fault::new(format!("{value} is beyond the range of the unit that the schema has"))
        })
    }

    fn mismatch(self, cell: Cell) -> Fault {
        let name = match self.logical {
            Logical::Date => "Date",
            Logical::Time => "Time",
            Logical::Timestamp => "Timestamp",
            Logical::None | Logical::Decimal(_) => {
                return Fault::new(format!("Invalid type for INT64: {}", class_name(cell)));
            }
        };
        let class = match cell {
            Cell::Int(_, _) => "class java.lang.Integer",
            _ => class_name(cell),
        };
        Fault::new(format!("Invalid type for {name}, expected Date but was {class}"))
    }
}

#[cold]
fn not_only(name: &str, other: &str) -> Fault {
    Fault::new(format!(
        "Kafka Connect {name} type should not have any {other} fields set to non-zero values."
    ))
}

impl Count {
    fn name(self) -> &'static str {
        match self {
            Count::Days => "a date",
            Count::Time(_) => "a time",
            Count::Timestamp(_) => "a timestamp",
            Count::Local(_) => "a local timestamp",
        }
    }
}

fn of_schema(schema: &Schema) -> Option<Count> {
    Some(match schema.logical() {
        Logical::Date => Count::Days,
        Logical::Time => Count::Time(MILLI),
        Logical::Timestamp => Count::Timestamp(MILLI),
        Logical::Decimal(_) => return None,
        Logical::None => match markers::logical_type(schema)? {
            "date" => Count::Days,
            "time-millis" => Count::Time(MILLI),
            "time-micros" => Count::Time(MICRO),
            "timestamp-millis" => Count::Timestamp(MILLI),
            "timestamp-micros" => Count::Timestamp(MICRO),
            "timestamp-nanos" => Count::Timestamp(NANO),
            "local-timestamp-millis" => Count::Local(MILLI),
            "local-timestamp-micros" => Count::Local(MICRO),
            "local-timestamp-nanos" => Count::Local(NANO),
            _ => return None,
        },
    })
}

fn of_avro(logical: Avro) -> Option<Count> {
    Some(match logical {
        Avro::Date => Count::Days,
        Avro::TimeMillis => Count::Time(MILLI),
        Avro::TimeMicros => Count::Time(MICRO),
        Avro::TimestampMillis => Count::Timestamp(MILLI),
        Avro::TimestampMicros => Count::Timestamp(MICRO),
        Avro::TimestampNanos => Count::Timestamp(NANO),
        Avro::LocalTimestampMillis => Count::Local(MILLI),
        Avro::LocalTimestampMicros => Count::Local(MICRO),
        Avro::LocalTimestampNanos => Count::Local(NANO),
        Avro::Decimal { .. } | Avro::Uuid | Avro::Duration => return None,
    })
}
