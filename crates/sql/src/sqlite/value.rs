//! Cells in the form their column takes.
//!
//! Place in the data path: called for every value of every row, so nothing is allocated: text and
//! bytes are borrowed from the batch, formatted values go through one buffer that is used again.
//!
//! SQLite stores nearly anything in any column and converts by its own rules, some of which lose
//! digits without a word. Ours are stricter: what a column cannot hold exactly is an error of that
//! row. `docs/adr/0003-sqlite-values.md` has the reasons.

use super::catalogue::{Affinity, affinity, is_temporal};
use super::time;
use crate::config::{BytesEncoding, DatabaseSettings, NulHandling, TypeDialect};
use crate::epoch::{micros, unit_of};
use crate::table::Column;
use base64::Engine;
use data::{
    Cell, DAY_MS, Logical, Rows, Schema, Semantic, Span, Type, decimal_to_text, write_plain_json,
};
use std::io::Write;

/// What a column is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Integer,
    Real,
    Text,
    /// Numbers with digits (`NUMERIC`, `DECIMAL`, `BOOLEAN`, unknown type names): SQLite turns text that looks
    /// like a number into one.
    Numeric,
    /// `DATE`, `DATETIME`, `TIMESTAMP`…: ISO text.
    Temporal,
    /// `JSON`: every value as JSON text.
    Json,
    /// No declared type, `BLOB`, `ANY`: kept as it comes.
    Any,
}

/// The meaning of a declared type.
pub(super) fn target(column: &Column) -> Target {
    let declared = &column.type_name;
    match affinity(declared) {
        _ if column.json => Target::Json,
        Affinity::Text => Target::Text,
        Affinity::Blob => Target::Any,
        Affinity::Real => Target::Real,
        Affinity::Integer => {
            // SQLite finds "INT" in these names; nobody means an integer by them.
            let upper = declared.to_ascii_uppercase();
            let misread = upper.contains("POINT") || upper.contains("INTERVAL");
            if misread { Target::Numeric } else { Target::Integer }
        }
        Affinity::Numeric if is_temporal(declared) => Target::Temporal,
        Affinity::Numeric => Target::Numeric,
    }
}

/// A value ready to be bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Form<'a> {
    Null,
    Integer(i64),
    Real(f64),
    Text(&'a [u8]),
    Blob(&'a [u8]),
    /// Text in the encoder's buffer.
    Buffer,
}

/// Why a value has no form in its column.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) sqlstate: &'static str,
    pub(super) message: String,
    pub(super) hint: Option<&'static str>,
}

pub(super) type Encoded<'a> = Result<Form<'a>, Fault>;

const NOT_VALID: &str = "22P02";
const OUT_OF_RANGE: &str = "22003";
pub(super) const BAD_DATE: &str = "22008";
const NOT_IN_TEXT: &str = "22021";

/// Every decimal number of so many digits survives in a REAL.
const REAL_DIGITS: usize = 15;
/// Integers up to 2^53 survive in a REAL.
const REAL_INTEGER_MAX: u64 = 1 << 53;

/// A scale comes from outside; text of more zeros than this is of no use to anybody.
const SCALE_MAX: u32 = 20_000;

const MAKE_IT_TEXT: &str = "declare the column TEXT to keep every digit";

/// Turns cells into forms. One per database.
#[derive(Debug)]
pub(super) struct Encoder {
    pub(super) buffer: Vec<u8>,
    nul: NulHandling,
    bytes: BytesEncoding,
    /// `None` for UTC.
    timezone: Option<jiff::tz::TimeZone>,
    /// Times of day are moved to the time zone, as Confluent's sink does.
    moves_times: bool,
    /// Numbers without a sign are those of Connect, which has none of 64 bits.
    pub(super) signed: bool,
}

impl Encoder {
    pub(super) fn new(settings: &DatabaseSettings) -> Encoder {
        let timezone = &settings.timezone;
        let utc = *timezone == jiff::tz::TimeZone::UTC || timezone.iana_name() == Some("UTC");
        Encoder {
            buffer: Vec::new(),
            nul: settings.nul_handling,
            bytes: settings.bytes_encoding,
            timezone: (!utc).then(|| timezone.clone()),
            moves_times: settings.types == TypeDialect::CJdbc,
            signed: settings.types != TypeDialect::Own,
        }
    }

    /// The form of a cell. Where it is [`Form::Buffer`], the text is in `buffer` until the next call.
    pub(super) fn encode<'a>(
        &mut self,
        target: Target,
        schema: Option<&Schema>,
        cell: Cell,
        rows: &'a Rows,
    ) -> Encoded<'a> {
        let logical = schema.map_or(Logical::None, Schema::logical);
        if let Some(us) = schema.and_then(unit_of).and_then(|unit| micros(unit, cell, rows)) {
            return self.instant_us(target, us);
        }
        if let Some((schema, semantic)) = schema.and_then(|s| Some((s, Semantic::meaning(s)?)))
            && let Some(form) = self.semantic(target, semantic, schema, cell, rows)
        {
            return form;
        }
        match cell {
            Cell::Null => Ok(Form::Null),
            Cell::Text(span) => self.text(target, rows.bytes(span)),
            Cell::Int(v, _) => match logical {
                Logical::Timestamp => self.instant(target, v),
                Logical::Date => self.date(target, v),
                Logical::Time => self.time(target, v),
                _ => integer(target, v),
            },
            Cell::Float(v) if schema.is_some_and(|s| s.kind() == Type::Float32) => {
                self.float(target, v, |b| ryu::Buffer::format(b, v as f32))
            }
            Cell::Float(v) => self.float(target, v, |b| ryu::Buffer::format(b, v)),
            Cell::Float32(v) => self.float(target, f64::from(v), |b| ryu::Buffer::format(b, v)),
            Cell::Bool(v) if matches!(target, Target::Text | Target::Json) => {
                self.put(if v { b"true" } else { b"false" })
            }
            Cell::Bool(v) => Ok(Form::Integer(i64::from(v))),
            Cell::Number(span) => self.number(target, rows.text(span)),
            Cell::Instant(ms) => self.instant(target, ms),
            Cell::Bytes(span) => self.bytes(target, rows.bytes(span)),
            Cell::Decimal { unscaled, scale } => self.decimal(target, rows, unscaled, scale),
            Cell::Json(span) if takes_text(target) => Ok(Form::Text(rows.bytes(span))),
            Cell::List(_) | Cell::Map(_) | Cell::Struct(_) if takes_text(target) => {
                self.buffer.clear();
                write_plain_json(rows, schema, cell, &mut self.buffer);
                Ok(Form::Buffer)
            }
            Cell::Json(_) | Cell::List(_) | Cell::Map(_) | Cell::Struct(_) => Err(fault(
                NOT_VALID,
                "an object or array has no form in a column of numbers".to_owned(),
                Some("declare the column TEXT: it then holds the value as JSON"),
            )),
        }
    }

    /// The digits behind the milliseconds, where there are any.
    pub(super) fn behind(&mut self, us: i64) {
        if us != 0 {
            let digit = |n: i64| b'0' + (n % 10) as u8;
            self.buffer.extend([digit(us / 100), digit(us / 10), digit(us)]);
        }
    }

    pub(super) fn put<'a>(&mut self, text: &[u8]) -> Encoded<'a> {
        self.buffer.clear();
        self.buffer.extend_from_slice(text);
        Ok(Form::Buffer)
    }

    fn text<'a>(&mut self, target: Target, bytes: &'a [u8]) -> Encoded<'a> {
        match target {
            Target::Integer | Target::Real => numeral(target, bytes),
            Target::Numeric | Target::Json if loses_digits(bytes) => Err(digits_lost(bytes)),
            _ if !bytes.contains(&0) => Ok(Form::Text(bytes)),
            _ => match self.nul {
                NulHandling::Fail => Err(fault(
                    NOT_IN_TEXT,
                    format!("the text {} has a NUL character", shown(bytes)),
                    Some("set string.nul.handling to strip or replace"),
                )),
                handling => {
                    self.buffer.clear();
                    for byte in bytes {
                        match (*byte, handling) {
                            (0, NulHandling::Replace) => {
                                self.buffer.extend_from_slice("\u{fffd}".as_bytes());
                            }
                            (0, _) => {}
                            (byte, _) => self.buffer.push(byte),
                        }
                    }
                    Ok(Form::Buffer)
                }
            },
        }
    }

    fn bytes<'a>(&mut self, target: Target, bytes: &'a [u8]) -> Encoded<'a> {
        match target {
            Target::Any | Target::Numeric => Ok(Form::Blob(bytes)),
            Target::Integer | Target::Real => {
                let text = "bytes have no form in a column of numbers".to_owned();
                Err(fault(NOT_VALID, text, Some("declare the column BLOB")))
            }
            Target::Json | Target::Text | Target::Temporal => {
                self.buffer.clear();
                match self.bytes {
                    BytesEncoding::Hex => {
                        for byte in bytes {
                            const DIGITS: &[u8; 16] = b"0123456789abcdef";
                            let digit = |n: u8| DIGITS.get(usize::from(n)).copied().unwrap_or(b'0');
                            self.buffer.extend([digit(byte >> 4), digit(byte & 15)]);
                        }
                    }
                    BytesEncoding::Base64 => {
                        let text = base64::engine::general_purpose::STANDARD.encode(bytes);
                        self.buffer.extend_from_slice(text.as_bytes());
                    }
                }
                Ok(Form::Buffer)
            }
        }
    }

    fn float<'a>(
        &mut self,
        target: Target,
        v: f64,
        text: impl FnOnce(&mut ryu::Buffer) -> &str,
    ) -> Encoded<'a> {
        match target {
            Target::Text if v.is_finite() => {
                let mut digits = ryu::Buffer::new();
                self.put(text(&mut digits).as_bytes())
            }
            Target::Text if v.is_nan() => self.put(b"NaN"),
            Target::Text if v > 0.0 => self.put(b"Infinity"),
            Target::Text => self.put(b"-Infinity"),
            _ => real(target, v),
        }
    }

    /// A JSON number, digits as they were written.
    fn number<'a>(&mut self, target: Target, text: &'a str) -> Encoded<'a> {
        match target {
            Target::Text => Ok(Form::Text(text.as_bytes())),
            Target::Any => match text.parse::<i64>() {
                Ok(v) => Ok(Form::Integer(v)),
                Err(_) if is_integer(text.as_bytes()) => Ok(Form::Text(text.as_bytes())),
                Err(_) => numeral(Target::Real, text.as_bytes()),
            },
            _ => numeral(target, text.as_bytes()),
        }
    }

    pub(super) fn decimal<'a>(
        &mut self,
        target: Target,
        rows: &Rows,
        unscaled: Span,
        scale: i32,
    ) -> Encoded<'a> {
        if scale.unsigned_abs() > SCALE_MAX {
            let hint = "correct the parameter \"scale\" of the field's schema";
            return Err(fault(
                OUT_OF_RANGE,
                format!("a decimal has the scale {scale}"),
                Some(hint),
            ));
        }
        self.buffer.clear();
        decimal_to_text(rows.bytes(unscaled), scale, &mut self.buffer);
        if takes_text(target) && target != Target::Numeric {
            return Ok(Form::Buffer);
        }
        let whole = self.buffer.split(|b| *b == b'.').next().unwrap_or_default();
        let fraction = self.buffer.get(whole.len() + 1..).unwrap_or_default();
        if fraction.iter().all(|b| *b == b'0') && parse::<i64>(whole).is_some() {
            return integer(target, parse(whole).unwrap_or_default());
        }
        if target == Target::Integer {
            return Err(no_integer(&self.buffer));
        }
        if significant_digits(&self.buffer) > REAL_DIGITS {
            return Err(digits_lost(&self.buffer));
        }
        real(target, parse(&self.buffer).unwrap_or(f64::NAN))
    }

    pub(super) fn date<'a>(&mut self, target: Target, days: i64) -> Encoded<'a> {
        if is_number(target) {
            return match days.checked_mul(DAY_MS) {
                Some(ms) => integer(target, ms),
                None => Err(no_date(days)),
            };
        }
        self.buffer.clear();
        if time::write_date(days, &mut self.buffer) { Ok(Form::Buffer) } else { Err(no_date(days)) }
    }

    fn time<'a>(&mut self, target: Target, ms: i64) -> Encoded<'a> {
        if is_number(target) {
            return integer(target, ms);
        }
        self.buffer.clear();
        let clock = match &self.timezone {
            Some(zone) if self.moves_times && (0..=DAY_MS).contains(&ms) => {
                let at = jiff::Timestamp::from_millisecond(ms).unwrap_or_default();
                (ms + i64::from(zone.to_offset(at).seconds()) * 1000).rem_euclid(DAY_MS)
            }
            _ => ms,
        };
        if time::write_time(clock, &mut self.buffer) {
            return Ok(Form::Buffer);
        }
        Err(fault(BAD_DATE, format!("{ms} ms are no time of a day"), None))
    }

    /// Milliseconds in columns of numbers, as those of other timestamps; else text.
    pub(super) fn instant_us<'a>(&mut self, target: Target, us: i64) -> Encoded<'a> {
        let (ms, rest) = (us.div_euclid(1000), us.rem_euclid(1000));
        let form = self.instant(target, ms)?;
        if matches!(form, Form::Buffer) {
            self.behind(rest);
        }
        Ok(form)
    }

    fn instant<'a>(&mut self, target: Target, ms: i64) -> Encoded<'a> {
        if is_number(target) {
            return integer(target, ms);
        }
        let wall = match &self.timezone {
            None => Some(ms),
            Some(zone) => jiff::Timestamp::from_millisecond(ms)
                .ok()
                .map(|at| ms + i64::from(zone.to_offset(at).seconds()) * 1000),
        };
        self.buffer.clear();
        match wall {
            Some(wall) if time::write_timestamp(wall, &mut self.buffer) => Ok(Form::Buffer),
            _ => Err(fault(
                BAD_DATE,
                format!("the timestamp {ms} (ms) is outside of the years 0000 to 9999"),
                Some("declare the column INTEGER: it then holds the milliseconds"),
            )),
        }
    }
}

pub(super) fn is_number(target: Target) -> bool {
    matches!(target, Target::Integer | Target::Real | Target::Numeric)
}

fn takes_text(target: Target) -> bool {
    !matches!(target, Target::Integer | Target::Real)
}

fn integer<'a>(target: Target, v: i64) -> Encoded<'a> {
    if target == Target::Real && v.unsigned_abs() > REAL_INTEGER_MAX && !survives_as_real(v) {
        return Err(digits_lost(v.to_string().as_bytes()));
    }
    Ok(Form::Integer(v))
}

fn survives_as_real(v: i64) -> bool {
    (v as f64) as i128 == i128::from(v)
}

fn real<'a>(target: Target, v: f64) -> Encoded<'a> {
    if v.is_nan() {
        let hint = "SQLite would store NULL; a TEXT column holds NaN";
        return Err(fault(OUT_OF_RANGE, "NaN has no form in SQLite".to_owned(), Some(hint)));
    }
    if target == Target::Integer {
        if v.fract() == 0.0 && v.abs() <= REAL_INTEGER_MAX as f64 {
            return Ok(Form::Integer(v as i64));
        }
        return Err(no_integer(v.to_string().as_bytes()));
    }
    Ok(Form::Real(v))
}

/// Text that must be a number.
fn numeral<'a>(target: Target, bytes: &[u8]) -> Encoded<'a> {
    let bytes = bytes.trim_ascii();
    if let Some(v) = parse::<i64>(bytes) {
        return integer(target, v);
    }
    let Some(v) = parse::<f64>(bytes) else {
        let kind = if target == Target::Integer { "integer" } else { "number" };
        return Err(fault(NOT_VALID, format!("{} is no {kind}", shown(bytes)), None));
    };
    let overflow = v.is_infinite() && bytes.iter().any(u8::is_ascii_digit);
    let inexact = is_integer(bytes)
        && format!("{v:.0}").as_bytes() != bytes.strip_prefix(b"+").unwrap_or(bytes);
    if overflow || (target == Target::Integer && is_integer(bytes)) {
        return Err(out_of_range(&shown(bytes)));
    }
    if inexact {
        return Err(digits_lost(bytes));
    }
    real(target, v)
}

fn parse<T: std::str::FromStr>(bytes: &[u8]) -> Option<T> {
    std::str::from_utf8(bytes).ok()?.parse().ok()
}

fn is_integer(bytes: &[u8]) -> bool {
    let digits = bytes.strip_prefix(b"-").or(bytes.strip_prefix(b"+")).unwrap_or(bytes);
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

/// Text in a NUMERIC column that SQLite would turn into a number with fewer digits.
fn loses_digits(bytes: &[u8]) -> bool {
    bytes.len() > REAL_DIGITS
        && bytes.iter().all(|b| b.is_ascii_digit() || b"+-.eE ".contains(b))
        && parse::<f64>(bytes.trim_ascii()).is_some()
        && parse::<i64>(bytes.trim_ascii()).is_none()
        && significant_digits(bytes) > REAL_DIGITS
}

/// Digits of the mantissa without leading zeros.
fn significant_digits(bytes: &[u8]) -> usize {
    let mantissa = bytes.split(|b| matches!(b, b'e' | b'E')).next().unwrap_or_default();
    let digits = mantissa.iter().filter(|b| b.is_ascii_digit());
    digits.skip_while(|b| **b == b'0').count()
}

pub(super) fn fault(sqlstate: &'static str, message: String, hint: Option<&'static str>) -> Fault {
    Fault { sqlstate, message, hint }
}

pub(super) fn out_of_range(number: &str) -> Fault {
    fault(OUT_OF_RANGE, format!("{number} is out of range"), Some(MAKE_IT_TEXT))
}

fn digits_lost(text: &[u8]) -> Fault {
    let message = format!("{} would lose digits in this column", shown(text));
    fault(OUT_OF_RANGE, message, Some(MAKE_IT_TEXT))
}

fn no_integer(text: &[u8]) -> Fault {
    fault(NOT_VALID, format!("{} is no integer", shown(text)), None)
}

fn no_date(days: i64) -> Fault {
    let text = format!("day {days} after 1970-01-01 is outside of the years 0000 to 9999");
    fault(BAD_DATE, text, None)
}

/// The beginning of a value, for messages.
fn shown(bytes: &[u8]) -> String {
    const SHOWN_MAX: usize = 40;
    let text = String::from_utf8_lossy(bytes.get(..SHOWN_MAX).unwrap_or(bytes));
    let more = if bytes.len() > SHOWN_MAX { "…" } else { "" };
    let mut out = Vec::new();
    // Writing to a vector cannot fail.
    let _ok = write!(out, "{text:?}{more}");
    String::from_utf8_lossy(&out).into_owned()
}
