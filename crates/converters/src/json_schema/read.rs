//! Values that only JSON Schema has: maps as lists of entries, enums that are no text, dates as
//! text, values of any kind, and what a schema says of itself.
//!
//! Place in the data path: the reader of JSON values hands over where a plan says so; unions are in
//! `union`. Nothing here knows the text of a schema any more.

use super::iso;
use crate::json::fault::Fault;
use crate::json::plan::{Custom, Plan};
use crate::json::read::{Reader, raw};
use crate::json::scan::Kind;
use crate::json::strings::unescape;
use data::{Cell, Width};
use std::any::Any;
use std::collections::HashSet;

/// A map whose keys are no plain text: an array of objects with the members `key` and `value`.
#[derive(Debug)]
pub(super) struct Entries {
    pub(super) keys: Plan,
    pub(super) values: Plan,
}

impl Custom for Entries {
    fn read(&self, reader: &mut Reader<'_>, plan: &Plan) -> Result<Cell, Fault> {
        expect(reader, plan, Kind::Array)?;
        let mark = reader.scratch.cells.len();
        let mut more = reader.scan.open(b']', reader.depth)?;
        reader.depth += 1;
        while more {
            let index = (reader.scratch.cells.len() - mark) / 2;
            let pair = self.entry(reader).map_err(|fault| fault.within_item(index))?;
            reader.scratch.cells.extend(pair);
            more = reader.scan.more(b']')?;
        }
        reader.depth -= 1;
        reader.drop_repeated(mark);
        Ok(Cell::Map(reader.take(mark)))
    }

    fn wanted(&self) -> &'static str {
        "Maps with non-string fields should be encoded as JSON array of objects"
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Entries {
    fn entry(&self, reader: &mut Reader<'_>) -> Result<[Cell; 2], Fault> {
        let kind = reader.scan.kind()?;
        if kind != Kind::Object {
            reader.scan.skip(reader.depth)?;
            let found = kind.name();
            return Err(Fault::data(format!("Found invalid map entry instead of object: {found}")));
        }
        let (mut key, mut value, mut others) = (None, None, 0);
        let mut more = reader.scan.open(b'}', reader.depth)?;
        reader.depth += 1;
        while more {
            let name = reader.scan.name()?;
            match raw(&reader.scan, name) {
                b"key" => key = Some(reader.value(&self.keys).map_err(|f| f.within("key"))?),
                b"value" => {
                    value = Some(reader.value(&self.values).map_err(|f| f.within("value"))?);
                }
                _ => {
                    reader.scan.skip(reader.depth)?;
                    others += 1;
                }
            }
            more = reader.scan.more(b'}')?;
        }
        reader.depth -= 1;
        match (key, value, others) {
            (Some(key), Some(value), 0) => Ok([key, value]),
            (key, value, _) => {
                let len = usize::from(key.is_some()) + usize::from(value.is_some()) + others;
                Err(Fault::data(format!(
                    "Found invalid map entry, expected the two members key and value but found {len}"
                )))
            }
        }
    }
}

/// The place where a schema contains itself, or an object that no schema describes: a map of values
/// that say themselves what they are.
#[derive(Debug)]
pub(super) struct Free {
    /// The properties that the schema has there, for unions.
    pub(super) names: HashSet<String>,
}

impl Custom for Free {
    fn read(&self, reader: &mut Reader<'_>, plan: &Plan) -> Result<Cell, Fault> {
        expect(reader, plan, Kind::Object)?;
        reader.plain_map()
    }

    fn wanted(&self) -> &'static str {
        "Structs should be encoded as JSON objects"
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A value of any kind, kept as its JSON text.
#[derive(Debug)]
pub(super) struct Anything;

impl Custom for Anything {
    fn read(&self, reader: &mut Reader<'_>, _: &Plan) -> Result<Cell, Fault> {
        reader.unread().map(Cell::Text)
    }

    fn wanted(&self) -> &'static str {
        "Any value will do"
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A word of an enum; numbers and booleans are words as well, as the schema's parameters have them.
#[derive(Debug)]
pub(super) struct Symbol;

impl Custom for Symbol {
    fn read(&self, reader: &mut Reader<'_>, _: &Plan) -> Result<Cell, Fault> {
        match reader.scan.kind()? {
            Kind::String => reader.string().map(Cell::Text),
            _ => reader.unread().map(Cell::Text),
        }
    }

    fn wanted(&self) -> &'static str {
        "Enums should be encoded as JSON strings"
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A date, a time or a timestamp as text; a number is its encoding.
#[derive(Debug)]
pub(super) struct Iso;

impl Custom for Iso {
    fn read(&self, reader: &mut Reader<'_>, plan: &Plan) -> Result<Cell, Fault> {
        let logical = plan.schema.logical();
        let encoded = match reader.scan.kind()? {
            Kind::String => {
                let text = reader.scan.string()?;
                let bytes = raw(&reader.scan, text);
                let mut plain = Vec::new();
                if text.escaped {
                    unescape(bytes, &mut plain);
                }
                let bytes = if text.escaped { &plain } else { bytes };
                let text = std::str::from_utf8(bytes).unwrap_or_default();
                iso::parse(logical, text)
            }
            Kind::Number => reader.scan.number()?.integer(),
            kind => {
                reader.scan.skip(reader.depth)?;
                return Err(plan.mismatch(kind));
            }
        };
        let width = match logical {
            data::Logical::Timestamp => Width::W64,
            _ => Width::W32,
        };
        let fits = |value: &i64| width == Width::W64 || i32::try_from(*value).is_ok();
        encoded.filter(fits).map(|value| Cell::Int(value, width)).ok_or_else(|| {
            let format = iso::format(logical).unwrap_or_default();
            Fault::data(format!("the value is no {format} of whole milliseconds"))
        })
    }

    fn wanted(&self) -> &'static str {
        "Dates should be encoded as ISO 8601 text"
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Demands a kind of value; a syntax error in another one goes before its wrong kind.
fn expect(reader: &mut Reader<'_>, plan: &Plan, wanted: Kind) -> Result<(), Fault> {
    let kind = reader.scan.kind()?;
    if kind == wanted {
        return Ok(());
    }
    reader.scan.skip(reader.depth)?;
    Err(plan.mismatch(kind))
}
