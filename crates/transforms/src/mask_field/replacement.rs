//! What takes the place of a value of each class.

use crate::fault::{Fault, java_class};
use data::values::{Number, digit};
use data::{Cell, Logical, Rows, Schema, Span, Type, Width};
use num_bigint::BigInt;

/// Zeros that a decimal is given at most to get its schema's scale.
const ZEROS_MAX: u32 = 10_000;

/// The configured replacement, as the classes that have one read it.
pub(super) struct Replacement {
    text: String,
    number: Option<Number>,
    /// Digits of an integer of any size.
    digits: Option<String>,
}

impl Replacement {
    pub(super) fn new(text: String) -> Replacement {
        Replacement { number: Number::parse(&text), digits: integer_digits(&text), text }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The number for a class that goes through Connect's conversions of values.
    fn number(&self) -> Result<&Number, Fault> {
        self.number.as_ref().ok_or_else(|| self.no_number("to a number"))
    }

    fn no_number(&self, to: &str) -> Fault {
        Fault::data(format!("Unable to convert {} (class java.lang.String) {to}", self.text))
    }

    fn decimal(&self, scale: Option<i32>) -> Result<New, Fault> {
        let number = self.number.as_ref().ok_or_else(|| self.no_number("to number"))?;
        let scale = scale.unwrap_or(number.scale);
        let unscaled = rescaled(number, scale).ok_or_else(|| {
            Fault::data(format!("The replacement {} does not fit the scale {scale}", self.text))
        })?;
        Ok(New::Decimal { unscaled, scale })
    }
}

/// The unscaled value at another scale; `None` where digits would be lost.
fn rescaled(number: &Number, scale: i32) -> Option<Vec<u8>> {
    let shift = i64::from(scale) - i64::from(number.scale);
    let zeros = u32::try_from(shift.unsigned_abs()).ok().filter(|zeros| *zeros <= ZEROS_MAX);
    let unscaled = number.unscaled();
    if shift == 0 || unscaled == [0] {
        return Some(unscaled);
    }
    let value = BigInt::from_signed_bytes_be(&unscaled);
    let power = BigInt::from(10).pow(zeros?);
    if shift > 0 {
        return Some((value * power).to_signed_bytes_be());
    }
    let (quotient, rest) = (&value / &power, &value % &power);
    (rest == BigInt::ZERO).then(|| quotient.to_signed_bytes_be())
}

/// An integer as `new BigInteger(text)` reads it, as plain digits.
fn integer_digits(text: &str) -> Option<String> {
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let digits: Option<String> =
        rest.chars().map(|c| digit(c).map(|value| char::from(b'0' + value))).collect();
    let digits = digits.filter(|digits| !digits.is_empty())?;
    let digits = match digits.trim_start_matches('0') {
        "" => return Some("0".to_owned()),
        digits => digits,
    };
    Some(format!("{sign}{digits}"))
}

/// The classes of values that are told apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Class {
    Bool,
    Int(Width),
    /// Without a schema.
    Float32,
    /// Under a schema, where its cell is one of 64 bits.
    Single,
    Float,
    Text,
    /// With the scale that the schema asks for.
    Decimal(Option<i32>),
    BigInteger,
    /// Under a schema, which counts days or milliseconds.
    Temporal(Width),
    /// Without one.
    Instant,
    List,
    Map,
    /// A class that cannot be masked, by its Java name.
    Other(&'static str),
}

impl Class {
    pub(super) fn of_schema(schema: &Schema) -> Class {
        match (schema.logical(), schema.kind()) {
            (Logical::Decimal(scale), _) => Class::Decimal(scale),
            (Logical::Date | Logical::Time, _) => Class::Temporal(Width::W32),
            (Logical::Timestamp, _) => Class::Temporal(Width::W64),
            (_, Type::Boolean) => Class::Bool,
            (_, Type::Int8) => Class::Int(Width::W8),
            (_, Type::Int16) => Class::Int(Width::W16),
            (_, Type::Int32) => Class::Int(Width::W32),
            (_, Type::Int64) => Class::Int(Width::W64),
            (_, Type::Float32) => Class::Single,
            (_, Type::Float64) => Class::Float,
            (_, Type::String) => Class::Text,
            (_, Type::Array) => Class::List,
            (_, Type::Map) => Class::Map,
            (_, Type::Bytes) => Class::Other("[B"),
            (_, Type::Struct) => Class::Other("org.apache.kafka.connect.data.Struct"),
        }
    }

    #[inline]
    pub(super) fn of_cell(rows: &Rows, cell: &Cell) -> Class {
        match *cell {
            Cell::Bool(_) => Class::Bool,
            Cell::Int(_, width) => Class::Int(width),
            Cell::Float32(_) => Class::Float32,
            Cell::Float(_) => Class::Float,
            Cell::Number(span) if is_integer(rows, span) => Class::BigInteger,
            Cell::Number(_) => Class::Float,
            Cell::Text(_) => Class::Text,
            Cell::Decimal { .. } => Class::Decimal(None),
            Cell::Instant(_) => Class::Instant,
            Cell::List(_) => Class::List,
            Cell::Map(_) => Class::Map,
            Cell::Json(span) if rows.bytes(span).first() == Some(&b'[') => Class::List,
            Cell::Json(_) => Class::Map,
            Cell::Bytes(_) | Cell::Struct(_) | Cell::Null => Class::Other(java_class(None, *cell)),
        }
    }

    fn java(self) -> &'static str {
        match self {
            Class::Bool => "java.lang.Boolean",
            Class::Temporal(_) | Class::Instant => "java.util.Date",
            Class::List => "java.util.ArrayList",
            Class::Map => "java.util.LinkedHashMap",
            Class::Other(name) => name,
            Class::Int(_)
            | Class::Float32
            | Class::Single
            | Class::Float
            | Class::Text
            | Class::Decimal(_)
            | Class::BigInteger => "java.lang.Number",
        }
    }
}

/// Whether a number is written as an integer. One with a few digits that was fetched is not, or its cell
/// would be an integer: its bytes may be far away.
#[inline]
fn is_integer(rows: &Rows, digits: Span) -> bool {
    let fetched = rows.heap.is_fetched(digits);
    !(fetched && matches!(digits.len, 3..=FETCHED_DIGITS_MAX)) && all_digits(rows.bytes(digits))
}

#[inline(never)]
fn all_digits(digits: &[u8]) -> bool {
    digits.iter().all(|b| b.is_ascii_digit() || *b == b'-')
}

/// Any integer of as many digits has 64 bits.
const FETCHED_DIGITS_MAX: u32 = 18;

/// A value that takes another's place.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum New {
    /// One without text.
    Cell(Cell),
    /// The replacement's text.
    Text,
    Decimal {
        unscaled: Vec<u8>,
        scale: i32,
    },
    /// An integer of any size.
    Digits(String),
}

/// What a value of that class is masked with.
///
/// # Errors
/// A class that cannot be masked so, a replacement that is not of the class.
pub(super) fn new_value(class: Class, with: Option<&Replacement>) -> Result<New, Fault> {
    match with {
        None => empty_value(class),
        Some(replacement) => replacement_value(class, replacement),
    }
}

fn empty_value(class: Class) -> Result<New, Fault> {
    Ok(match class {
        Class::Bool => New::Cell(Cell::Bool(false)),
        Class::Int(width) | Class::Temporal(width) => New::Cell(Cell::Int(0, width)),
        Class::Float32 => New::Cell(Cell::Float32(0.0)),
        Class::Single | Class::Float => New::Cell(Cell::Float(0.0)),
        Class::Text => New::Cell(Cell::Text(Span::EMPTY)),
        Class::Decimal(scale) => {
            New::Decimal { unscaled: vec![0], scale: scale.unwrap_or_default() }
        }
        Class::BigInteger => New::Digits("0".to_owned()),
        Class::Instant => New::Cell(Cell::Instant(0)),
        Class::List => New::Cell(Cell::List(Span::EMPTY)),
        Class::Map => New::Cell(Cell::Map(Span::EMPTY)),
        Class::Other(name) => {
            return Err(Fault::data(format!("Cannot mask value of type: class {name}")));
        }
    })
}

fn replacement_value(class: Class, replacement: &Replacement) -> Result<New, Fault> {
    Ok(match class {
        Class::Int(width) => {
            let value = replacement.number()?.to_i64_wrapping();
            let value = match width {
                Width::W8 => i64::from(value as i8),
                Width::W16 => i64::from(value as i16),
                Width::W32 => i64::from(value as i32),
                Width::W64 => value,
            };
            New::Cell(Cell::Int(value, width))
        }
        Class::Float32 => New::Cell(Cell::Float32(replacement.number()?.to_f64() as f32)),
        Class::Single => New::Cell(Cell::Float(f64::from(replacement.number()?.to_f64() as f32))),
        Class::Float => New::Cell(Cell::Float(replacement.number()?.to_f64())),
        Class::Text => New::Text,
        Class::Decimal(scale) => replacement.decimal(scale)?,
        Class::BigInteger => {
            let digits = replacement.digits.clone();
            New::Digits(digits.ok_or_else(|| replacement.no_number("to number"))?)
        }
        Class::Bool
        | Class::Temporal(_)
        | Class::Instant
        | Class::List
        | Class::Map
        | Class::Other(_) => {
            return Err(Fault::data(format!(
                "Cannot mask value of type class {} with custom replacement.",
                class.java()
            )));
        }
    })
}
