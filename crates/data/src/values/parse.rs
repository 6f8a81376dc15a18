//! Text to data: literals of numbers, times, lists and maps; everything else stays text.
//!
//! Invariants: the time is linear in the length of the text, for no token is read more than a few
//! times; nesting is at most [`DEPTH_MAX`] deep; what is not wholly a literal is text.

use super::convert::convert_to;
use super::number::{Number, Whole, digit};
use super::temporal;
use crate::builder::SchemaBuilder;
use crate::cell::Width;
use crate::schema::{Schema, Type};
use crate::value::Value;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// Levels of lists and maps. Deeper text is no literal.
const DEPTH_MAX: usize = 250;

/// Scales of decimals go this far from zero, as everywhere: plain text of more would be endless.
const SCALE_MAX: i32 = 100_000;

type Parsed = Option<(Arc<Schema>, Value)>;

/// Why text is no literal does not matter: all of it is text then.
struct NotLiteral;

/// Reads text as [`super::parse_string`] tells.
pub(super) fn parse(text: &str) -> Parsed {
    let as_text = || Some((Schema::required_of(Type::String), Value::Text(text.to_owned())));
    if trim(text).is_empty() {
        return as_text();
    }
    let mut parser = Parser { text, at: 0, next: None };
    match parser.value(None) {
        Ok(parsed) if parser.only_blanks_left() => parsed,
        _ => as_text(),
    }
}

/// Without the blanks that Java's `trim` takes off.
fn trim(text: &str) -> &str {
    text.trim_matches(|c| c <= ' ')
}

struct Parser<'a> {
    text: &'a str,
    /// Where the next token begins that has not been looked at.
    at: usize,
    /// A token that was looked at and not taken.
    next: Option<Range<usize>>,
}

impl<'a> Parser<'a> {
    fn has_next(&self) -> bool {
        self.next.is_some() || self.at < self.text.len()
    }

    fn only_blanks_left(&self) -> bool {
        let from = self.next.as_ref().map_or(self.at, |next| next.start);
        trim(self.text.get(from..).unwrap_or_default()).is_empty()
    }

    fn mark(&self) -> usize {
        self.next.as_ref().map_or(self.at, |next| next.start)
    }

    fn rewind(&mut self, mark: usize) {
        self.at = mark;
        self.next = None;
    }

    fn slice(&self, range: Range<usize>) -> &'a str {
        self.text.get(range).unwrap_or_default()
    }

    /// Reads a delimiter, or everything up to the next one that no backslash hides.
    fn scan(&mut self) -> Range<usize> {
        let start = self.at;
        let mut escaped = false;
        for byte in self.text.as_bytes().get(start..).unwrap_or_default() {
            match byte {
                b'\\' => escaped = !escaped,
                b':' | b',' | b'{' | b'}' | b'[' | b']' | b'"' if !escaped => {
                    self.at += usize::from(self.at == start);
                    break;
                }
                _ => escaped = false,
            }
            self.at += 1;
        }
        start..self.at
    }

    fn take(&mut self) -> &'a str {
        let token = match self.next.take() {
            Some(token) => token,
            None => self.scan(),
        };
        self.slice(token)
    }

    /// The next token, blank ones skipped where others follow.
    fn peek(&mut self) -> &'a str {
        let mut token = match self.next.take() {
            Some(token) => token,
            None => self.scan(),
        };
        while self.at < self.text.len() && trim(self.slice(token.clone())).is_empty() {
            token = self.scan();
        }
        self.next = Some(token.clone());
        self.slice(token)
    }

    /// Takes a token, whatever blanks are around it.
    fn eat(&mut self, wanted: &str) -> bool {
        let found = self.has_next() && trim(self.peek()) == wanted;
        if found {
            self.next = None;
        }
        found
    }

    /// A value; `depth` is how deep it lies in lists and maps, `None` for the whole text.
    fn value(&mut self, depth: Option<usize>) -> Result<Parsed, NotLiteral> {
        if !self.has_next() {
            return Ok(None);
        }
        let embedded = depth.is_some();
        let inner = depth.map_or(0, |depth| depth + 1);
        match trim(self.peek()) {
            "\"" if embedded => {
                self.next = None;
                Ok(Some(self.quoted()))
            }
            word @ ("null" | "true" | "false") => {
                self.next = None;
                let bool = |value| (Schema::required_of(Type::Boolean), Value::Bool(value));
                Ok((word != "null").then(|| bool(word == "true")))
            }
            "[" | "{" if inner >= DEPTH_MAX => Err(NotLiteral),
            "[" => {
                self.next = None;
                self.list(inner)
            }
            "{" => {
                self.next = None;
                self.map(inner)
            }
            _ => {
                let token = trim(self.take());
                self.plain(token).map(Some).ok_or(NotLiteral)
            }
        }
    }

    /// Everything up to the closing quote; backslashes stay.
    fn quoted(&mut self) -> (Arc<Schema>, Value) {
        let start = self.mark();
        let mut end = start;
        while self.has_next() && self.take() != "\"" {
            end = self.at;
        }
        let content = self.slice(start..end);
        temporal::parse(content)
            .unwrap_or_else(|| (Schema::required_of(Type::String), Value::Text(content.to_owned())))
    }

    /// A time, whose colons make tokens of their own, or a number.
    fn plain(&mut self, token: &str) -> Option<(Arc<Schema>, Value)> {
        let first = token.chars().next()?;
        if digit(first).is_some() {
            let mark = self.mark();
            let mut more = 0;
            while more < 4 && self.has_next() {
                self.take();
                more += 1;
            }
            let rest = self.slice(mark..self.mark());
            // As in Connect, either both colons of a time are escaped or none.
            if more == 4
                && let Some(parsed) = temporal::parse(&[token, rest].concat())
            {
                return Some(parsed);
            }
            self.rewind(mark);
            if let Some(parsed) = temporal::parse(token) {
                return Some(parsed);
            }
        } else if !matches!(first, '+' | '-') {
            return None;
        }
        number(token)
    }

    fn list(&mut self, depth: usize) -> Result<Parsed, NotLiteral> {
        let mut items = Vec::new();
        let mut common = Common::default();
        while self.has_next() {
            if self.eat("]") {
                return Ok(Some(finished_list(common.schema, items)?));
            }
            if self.eat(",") {
                return Err(NotLiteral);
            }
            let item = self.value(Some(depth))?;
            common.merge(&item);
            items.push(item.map_or(Value::Null, |(_, value)| value));
            if !self.has_next() || (trim(self.peek()) != "]" && !self.eat(",")) {
                return Err(NotLiteral);
            }
        }
        Err(NotLiteral)
    }

    fn map(&mut self, depth: usize) -> Result<Parsed, NotLiteral> {
        let mut entries = Vec::new();
        let (mut keys, mut values) = (Common::default(), Common::default());
        while self.has_next() {
            if self.eat("}") {
                let entries = last_of_each(entries);
                return Ok(Some(finished_map(keys.schema, values.schema, entries)?));
            }
            if self.eat(",") {
                return Err(NotLiteral);
            }
            let key = self.value(Some(depth))?;
            keys.merge(&key);
            let (_, key) = key.ok_or(NotLiteral)?;
            if !self.eat(":") {
                return Err(NotLiteral);
            }
            let value = self.value(Some(depth))?;
            self.eat(",");
            values.merge(&value);
            entries.push((key, value.map_or(Value::Null, |(_, value)| value)));
        }
        Err(NotLiteral)
    }
}

fn finished_list(
    items: Option<Arc<Schema>>,
    values: Vec<Value>,
) -> Result<(Arc<Schema>, Value), NotLiteral> {
    let values = all_converted(items.as_ref(), values)?;
    Ok((built(SchemaBuilder::array_of(items))?, Value::List(values)))
}

fn finished_map(
    keys: Option<Arc<Schema>>,
    values: Option<Arc<Schema>>,
    entries: Vec<(Value, Value)>,
) -> Result<(Arc<Schema>, Value), NotLiteral> {
    // Without a schema of the keys there is none of the values either.
    let values = values.filter(|_| keys.is_some());
    let (left, right) = entries.into_iter().unzip();
    let left = all_converted(keys.as_ref(), left)?;
    let right = all_converted(values.as_ref(), right)?;
    let entries = last_of_each(left.into_iter().zip(right).collect());
    Ok((built(SchemaBuilder::map_of(keys, values))?, Value::Map(entries)))
}

fn built(builder: SchemaBuilder) -> Result<Arc<Schema>, NotLiteral> {
    builder.build().map(Arc::new).map_err(|_| NotLiteral)
}

fn all_converted(
    schema: Option<&Arc<Schema>>,
    values: Vec<Value>,
) -> Result<Vec<Value>, NotLiteral> {
    let Some(schema) = schema else { return Ok(values) };
    let convert = |value| convert_to(schema, None, value).map_err(|_| NotLiteral);
    values.into_iter().map(convert).collect()
}

/// Of entries with the same key the last value, in the first one's place.
fn last_of_each(entries: Vec<(Value, Value)>) -> Vec<(Value, Value)> {
    if entries.len() < 2 {
        return entries;
    }
    let mut places = HashMap::with_capacity(entries.len());
    let mut kept: Vec<usize> = Vec::with_capacity(entries.len());
    for (key, _) in &entries {
        let next = places.len();
        kept.push(*places.entry(key).or_insert(next));
    }
    if places.len() == entries.len() {
        return entries;
    }
    let mut unique: Vec<(Value, Value)> = Vec::with_capacity(places.len());
    for (entry, place) in entries.into_iter().zip(kept) {
        match unique.get_mut(place) {
            Some(slot) => slot.1 = entry.1,
            None => unique.push(entry),
        }
    }
    unique
}

/// A decimal number: the smallest integer that holds it, else a float as long as its range is
/// enough, else a Decimal.
fn number(text: &str) -> Option<(Arc<Schema>, Value)> {
    let number = Number::parse(text)?;
    match number.whole() {
        Whole::Fits(value) => return Some(integer(value)),
        Whole::TooBig | Whole::Fraction => {}
    }
    if number.scale != 0 {
        let single = number.to_f32();
        if single.is_finite() {
            return Some((Schema::required_of(Type::Float32), Value::Float32(single)));
        }
        let double = number.to_f64();
        if double.is_finite() {
            return Some((Schema::required_of(Type::Float64), Value::Float(double)));
        }
    }
    if !(-SCALE_MAX..=SCALE_MAX).contains(&number.scale) {
        return None;
    }
    let schema = SchemaBuilder::decimal(number.scale).build().ok()?;
    let value = Value::Decimal { unscaled: number.unscaled(), scale: number.scale };
    Some((Arc::new(schema), value))
}

fn integer(value: i64) -> (Arc<Schema>, Value) {
    let (kind, width) = if i8::try_from(value).is_ok() {
        (Type::Int8, Width::W8)
    } else if i16::try_from(value).is_ok() {
        (Type::Int16, Width::W16)
    } else if i32::try_from(value).is_ok() {
        (Type::Int32, Width::W32)
    } else {
        (Type::Int64, Width::W64)
    };
    (Schema::required_of(kind), Value::Int(value, width))
}

/// The schema that the elements seen so far can have in common.
#[derive(Default)]
struct Common {
    schema: Option<Arc<Schema>>,
    /// Two elements had nothing in common: there is no schema, whatever follows.
    torn: bool,
}

impl Common {
    fn merge(&mut self, latest: &Parsed) {
        let Some((latest, _)) = latest else { return };
        if self.torn {
            return;
        }
        self.schema = match self.schema.take() {
            None => Some(Arc::clone(latest)),
            Some(previous) => wider(previous, latest),
        };
        self.torn = self.schema.is_none();
    }
}

/// Of two schemas the wider number; of one type the later one.
fn wider(previous: Arc<Schema>, latest: &Arc<Schema>) -> Option<Arc<Schema>> {
    if previous.kind() == latest.kind() {
        return Some(Arc::clone(latest));
    }
    match (previous.kind().number_rank(), latest.kind().number_rank()) {
        (Some(old), Some(new)) if old < new => Some(Arc::clone(latest)),
        (Some(_), Some(_)) => Some(previous),
        _ => None,
    }
}
