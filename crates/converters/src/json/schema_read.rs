//! Connect's JSON form of a schema, read into a [`Schema`].
//!
//! Off the hot path: a schema is read once and then known by its bytes. Members of the wrong kind
//! are passed over where Connect passes over them, and are faults where Connect says so.
//!
//! Invariant: the text has been through the scanner, so only its meaning can be wrong here.

use super::fault::Fault;
use super::plan::{LEVELS_MAX, Plan, too_deep};
use super::read::{Reader, Scratch, raw};
use super::scan::{Kind, Scanner};
use super::strings::{Text, unescape};
use data::{Rows, Schema, SchemaBuilder, Type, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// A member's value: its kind and its text.
#[derive(Clone, Copy)]
struct Node<'a> {
    kind: Kind,
    text: &'a [u8],
}

/// How deep a schema lies, and what its default does with nulls in it.
#[derive(Clone, Copy)]
struct Place {
    levels: usize,
    replace_null: bool,
}

impl Place {
    fn deeper(self) -> Place {
        Place { levels: self.levels + 1, ..self }
    }
}

/// Reads the schema that is the whole of `text`. `replace_null`: nulls in a default are read as the
/// defaults of what they stand for.
///
/// # Errors
/// A text that is no schema, with Connect's message.
pub(super) fn read_schema(text: &[u8], replace_null: bool) -> Result<Arc<Schema>, Fault> {
    let mut scan = Scanner::new(text, 0);
    scan.blank();
    let kind = scan.kind()?;
    build(Node { kind, text }, Place { levels: 0, replace_null }).map(|(schema, _)| schema)
}

/// The schema, and the `field` member beside it.
fn build(node: Node<'_>, place: Place) -> Result<(Arc<Schema>, Option<String>), Fault> {
    if place.levels >= LEVELS_MAX {
        return Err(too_deep());
    }
    let members = members(node)?;
    let member = |name: &str| members.iter().find(|(n, _)| n == name).map(|(_, node)| *node);
    let text = |name| member(name).and_then(Node::text);
    let Some(kind_name) = text("type") else {
        return Err(Fault::data("Schema must contain 'type' field"));
    };
    let mut builder = match Type::from_json_name(&kind_name) {
        Some(Type::Array) => match member("items") {
            Some(items) if items.kind != Kind::Null => {
                SchemaBuilder::array(build(items, place.deeper())?.0)
            }
            _ => return Err(Fault::data("Array schema did not specify the element type")),
        },
        Some(Type::Map) => {
            let part = |name, missing: &'static str| match member(name) {
                Some(part) if part.kind != Kind::Null => Ok(build(part, place.deeper())?.0),
                _ => Err(Fault::data(missing)),
            };
            let keys = part("keys", "Map schema did not specify the key type")?;
            let values = part("values", "Map schema did not specify the value type")?;
            SchemaBuilder::map(keys, values)
        }
        Some(Type::Struct) => structure(member("fields"), place)?,
        Some(kind) => SchemaBuilder::new(kind),
        None => return Err(Fault::data(format!("Unknown schema type: {kind_name}"))),
    };
    if member("optional").is_some_and(|node| node.kind == Kind::Boolean && node.text == b"true") {
        builder = builder.optional();
    }
    if let Some(name) = text("name") {
        builder = builder.name(&name);
    }
    if let Some(version) = member("version").and_then(Node::integer) {
        builder = builder.version(version as i32);
    }
    if let Some(doc) = text("doc") {
        builder = builder.doc(&doc);
    }
    if let Some(parameters) = member("parameters").filter(|node| node.kind == Kind::Object) {
        for (name, value) in self::members(parameters)? {
            let Some(value) = value.text() else {
                return Err(Fault::data("Schema parameters must have string values."));
            };
            builder = builder.parameter(&name, &value);
        }
    }
    let bare = Arc::new(finish(builder.clone())?);
    let schema = match member("default") {
        Some(default) => match default_value(&bare, default, place)? {
            Value::Null => bare,
            value => Arc::new(finish(builder.default(value))?),
        },
        None => bare,
    };
    Ok((schema, text("field")))
}

fn structure(fields: Option<Node<'_>>, place: Place) -> Result<SchemaBuilder, Fault> {
    let Some(Node { kind: Kind::Array, text }) = fields else {
        return Err(Fault::data("Struct schema's \"fields\" argument is not an array."));
    };
    let mut builder = SchemaBuilder::structure();
    let mut scan = Scanner::new(text, 0);
    let mut more = scan.open(b']', 0)?;
    while more {
        let field = node(&mut scan)?;
        // Connect looks for the name first.
        let (schema, name) = match field.kind {
            Kind::Object => {
                let named = members(field)?.iter().any(|(n, v)| n == "field" && v.text().is_some());
                if !named {
                    return Err(unnamed());
                }
                build(field, place.deeper())?
            }
            _ => return Err(unnamed()),
        };
        builder = builder.field(&name.ok_or_else(unnamed)?, schema);
        more = scan.more(b']')?;
    }
    Ok(builder)
}

fn unnamed() -> Fault {
    Fault::data("Struct schema's field name not specified properly")
}

fn finish(builder: SchemaBuilder) -> Result<Schema, Fault> {
    builder.build().map_err(|error| Fault::builder(error.0))
}

fn default_value(schema: &Arc<Schema>, node: Node<'_>, place: Place) -> Result<Value, Fault> {
    let plan = Plan::new(schema, place.levels)?;
    let mut rows = Rows::default();
    let base = rows.heap.put(node.text);
    let mut scratch = Scratch::default();
    let cell = Reader {
        scan: Scanner::new(node.text, 0),
        base,
        rows: &mut rows,
        scratch: &mut scratch,
        replace_null: place.replace_null,
        depth: 0,
    }
    .value(&plan)?;
    Ok(rows.value(Some(schema), cell))
}

impl Node<'_> {
    fn text(self) -> Option<String> {
        if self.kind != Kind::String {
            return None;
        }
        let mut scan = Scanner::new(self.text, 0);
        let text = scan.string().ok()?;
        Some(name_of(&scan, text))
    }

    fn integer(self) -> Option<i64> {
        if self.kind != Kind::Number {
            return None;
        }
        Scanner::new(self.text, 0).number().ok()?.integer()
    }
}

fn name_of(scan: &Scanner<'_>, text: Text) -> String {
    let mut out = Vec::new();
    unescape(raw(scan, text), &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// Passes the value that begins here.
fn node<'a>(scan: &mut Scanner<'a>) -> Result<Node<'a>, Fault> {
    let start = scan.pos();
    let kind = scan.skip(0)?;
    Ok(Node { kind, text: scan.bytes().get(start..scan.pos()).unwrap_or_default() })
}

/// The members of an object, the last of repeated ones; none of any other kind.
fn members(object: Node<'_>) -> Result<Vec<(String, Node<'_>)>, Fault> {
    let mut list: Vec<(String, Node<'_>)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    if object.kind != Kind::Object {
        return Ok(list);
    }
    let mut scan = Scanner::new(object.text, 0);
    scan.blank();
    let mut more = scan.open(b'}', 0)?;
    while more {
        let name = scan.name()?;
        let name = name_of(&scan, name);
        let value = node(&mut scan)?;
        match places.get(&name).and_then(|place| list.get_mut(*place)) {
            Some(slot) => slot.1 = value,
            None => {
                places.insert(name.clone(), list.len());
                list.push((name, value));
            }
        }
        more = scan.more(b'}')?;
    }
    Ok(list)
}
