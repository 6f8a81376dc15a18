//! Arrays, composite values, hstore: PostgreSQL's own text forms of nested values.
//!
//! Place in the data path: for values that do not go into JSON. An element is written as it would be
//! on its own, then put in quotes; so every element type that a column takes is an element too.

use super::convert::{Val, no_form, value, write_text};
use super::semantic;
use super::target::Target;
use super::text::{not_utf8, quote};
use super::{Context, Encoded, Fault};
use data::{Cell, Schema, write_plain_json};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Members of an object whose JSON text nobody has looked at.
type Members<'a> = BTreeMap<String, &'a RawValue>;

/// PostgreSQL's limit for the dimensions of an array.
const DIMENSIONS_MAX: usize = 6;

/// Appends the text form of a nested value.
pub(super) fn write(
    context: Context<'_>,
    target: &Target,
    value: Val<'_>,
    out: &mut Vec<u8>,
) -> Encoded {
    match (target, value) {
        (Target::Array(element), Val::Nested(Cell::List(span), schema)) => {
            let items = schema.and_then(Schema::value_schema).map(AsRef::as_ref);
            array(context, element, items, context.rows.cells(span), out, 1)
        }
        (Target::Array(element), Val::Json(json)) => {
            let text = std::str::from_utf8(json).map_err(|_| not_utf8())?;
            array_of_json(context, element, text, out, 1)
        }
        (Target::Vector, Val::Nested(cell @ Cell::List(_), schema)) => {
            write_plain_json(context.rows, schema, cell, out);
            Ok(())
        }
        (Target::Vector, Val::Json(json)) => {
            out.extend_from_slice(json);
            Ok(())
        }
        (Target::Composite(attributes), Val::Nested(Cell::Struct(span), Some(schema))) => {
            let cells = context.rows.cells(span);
            composite(context, attributes, out, |name| {
                let at = schema.field(name)?;
                let field = schema.fields().get(at)?;
                Some((cells.get(at).copied().unwrap_or(Cell::Null), Some(&*field.schema)))
            })
        }
        (Target::Composite(attributes), Val::Nested(Cell::Map(span), schema)) => {
            let values = schema.and_then(Schema::value_schema).map(AsRef::as_ref);
            let entries = context.rows.cells(span);
            composite(context, attributes, out, |name| {
                let found = entries.chunks_exact(2).rev().find_map(|entry| match entry {
                    [Cell::Text(key), value] if context.rows.bytes(*key) == name.as_bytes() => {
                        Some(*value)
                    }
                    _ => None,
                });
                found.map(|cell| (cell, values))
            })
        }
        (Target::Hstore, Val::Nested(Cell::Map(span), schema)) => {
            hstore(context, schema, context.rows.cells(span), out)
        }
        (Target::Composite(attributes), Val::Json(json)) => {
            let members = members(target, json)?;
            let attributes = attributes.iter().map(|(name, target)| (target, members.get(name)));
            composite_of_json(context, attributes, out)
        }
        (Target::Hstore, Val::Json(json)) => hstore_of_json(context, &members(target, json)?, out),
        _ => Err(no_form(target, value)),
    }
}

fn too_deep() -> Fault {
    Fault {
        sqlstate: "54000",
        message: format!("the value is nested deeper than the {DIMENSIONS_MAX} levels of an array"),
        hint: Some("store it in a column of type jsonb"),
    }
}

/// Elements whose text form needs no quotes: numbers and booleans.
fn is_bare(target: &Target) -> bool {
    matches!(
        target,
        Target::Int2
            | Target::Int4
            | Target::Int8
            | Target::Oid
            | Target::Float4
            | Target::Float8
            | Target::Numeric
            | Target::Bool
    )
}

fn element(context: Context<'_>, target: &Target, value: Val<'_>, out: &mut Vec<u8>) -> Encoded {
    let start = out.len();
    write_text(context, target, value, out)?;
    // Text in a column of numbers is whatever the record says.
    if !is_bare(target) || matches!(value, Val::Text(..)) {
        quote(out, start);
    }
    Ok(())
}

fn array(
    context: Context<'_>,
    target: &Target,
    items: Option<&Schema>,
    cells: &[Cell],
    out: &mut Vec<u8>,
    depth: usize,
) -> Encoded {
    if depth > DIMENSIONS_MAX {
        return Err(too_deep());
    }
    let json = matches!(target, Target::Json | Target::Jsonb);
    let typed = items.and_then(|schema| Some((schema, semantic::of(schema, target)?)));
    out.push(b'{');
    for (n, cell) in cells.iter().enumerate() {
        if n > 0 {
            out.push(b',');
        }
        let value = match typed {
            Some((schema, kind)) => semantic::value(kind, context.rows, schema, *cell, target),
            None => value(context.rows, items, *cell, target),
        };
        match value {
            None => out.extend_from_slice(b"NULL"),
            Some(Val::Nested(Cell::List(span), schema)) if !json => {
                let inner = schema.and_then(Schema::value_schema).map(AsRef::as_ref);
                array(context, target, inner, context.rows.cells(span), out, depth + 1)?;
            }
            Some(value) => element(context, target, value, out)?,
        }
    }
    out.push(b'}');
    Ok(())
}

/// An array whose JSON text nobody has looked at: members of plain JSON objects.
fn array_of_json(
    context: Context<'_>,
    target: &Target,
    text: &str,
    out: &mut Vec<u8>,
    depth: usize,
) -> Encoded {
    if depth > DIMENSIONS_MAX {
        return Err(too_deep());
    }
    let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(text) else {
        return Err(no_form(&Target::Array(Box::new(target.clone())), Val::Json(text.as_bytes())));
    };
    let json = matches!(target, Target::Json | Target::Jsonb);
    out.push(b'{');
    for (n, item) in items.iter().enumerate() {
        if n > 0 {
            out.push(b',');
        }
        let item = item.get();
        if item.starts_with('[') && !json {
            array_of_json(context, target, item, out, depth + 1)?;
        } else if !element_of_json(context, target, item, out)? {
            out.extend_from_slice(b"NULL");
        }
    }
    out.push(b'}');
    Ok(())
}

/// Appends a part of a nested value out of its JSON text. False: it is null.
fn element_of_json(
    context: Context<'_>,
    target: &Target,
    item: &str,
    out: &mut Vec<u8>,
) -> Result<bool, Fault> {
    let decoded: Cow<'_, str>;
    let value = match item.as_bytes().first() {
        Some(b'n') => return Ok(false),
        Some(b'"') => {
            decoded = serde_json::from_str::<String>(item).map_or(Cow::Borrowed(item), Cow::Owned);
            Val::Text(decoded.as_bytes(), true)
        }
        Some(b't') => Val::Bool(true),
        Some(b'f') => Val::Bool(false),
        Some(b'{' | b'[') => Val::Json(item.as_bytes()),
        _ => Val::Number(item.as_bytes()),
    };
    element(context, target, value, out)?;
    Ok(true)
}

/// The members of an object; of those with one name the last.
fn members<'a>(target: &Target, json: &'a [u8]) -> Result<Members<'a>, Fault> {
    serde_json::from_slice(json).map_err(|_| no_form(target, Val::Json(json)))
}

fn composite_of_json<'a>(
    context: Context<'_>,
    attributes: impl Iterator<Item = (&'a Target, Option<&'a &'a RawValue>)>,
    out: &mut Vec<u8>,
) -> Encoded {
    out.push(b'(');
    for (n, (target, item)) in attributes.enumerate() {
        if n > 0 {
            out.push(b',');
        }
        if let Some(item) = item {
            // Null is an empty place.
            let _written = element_of_json(context, target, item.get(), out)?;
        }
    }
    out.push(b')');
    Ok(())
}

fn hstore_of_json(context: Context<'_>, members: &Members<'_>, out: &mut Vec<u8>) -> Encoded {
    for (n, (name, item)) in members.iter().enumerate() {
        if n > 0 {
            out.push(b',');
        }
        element(context, &Target::Text, Val::Text(name.as_bytes(), true), out)?;
        out.extend_from_slice(b"=>");
        if !element_of_json(context, &Target::Text, item.get(), out)? {
            out.extend_from_slice(b"NULL");
        }
    }
    Ok(())
}

/// `("a",1,)`: attributes by name, in the type's order; a missing one is null, as an empty place.
fn composite<'a>(
    context: Context<'a>,
    attributes: &[(String, Target)],
    out: &mut Vec<u8>,
    find: impl Fn(&str) -> Option<(Cell, Option<&'a Schema>)>,
) -> Encoded {
    out.push(b'(');
    for (n, (name, target)) in attributes.iter().enumerate() {
        if n > 0 {
            out.push(b',');
        }
        let found = find(name).and_then(|(cell, schema)| {
            let typed = schema.and_then(|schema| Some((schema, semantic::of(schema, target)?)));
            match typed {
                Some((schema, kind)) => semantic::value(kind, context.rows, schema, cell, target),
                None => value(context.rows, schema, cell, target),
            }
        });
        if let Some(value) = found {
            element(context, target, value, out)?;
        }
    }
    out.push(b')');
    Ok(())
}

/// `"k"=>"v","n"=>NULL`.
fn hstore(
    context: Context<'_>,
    schema: Option<&Schema>,
    cells: &[Cell],
    out: &mut Vec<u8>,
) -> Encoded {
    let keys = schema.and_then(Schema::key_schema).map(AsRef::as_ref);
    let values = schema.and_then(Schema::value_schema).map(AsRef::as_ref);
    for (n, entry) in cells.chunks_exact(2).enumerate() {
        let [key, cell] = entry else { continue };
        if n > 0 {
            out.push(b',');
        }
        match value(context.rows, keys, *key, &Target::Text) {
            Some(key @ Val::Text(..)) => element(context, &Target::Text, key, out)?,
            Some(other) => return Err(no_form(&Target::Hstore, other)),
            None => return Err(no_form(&Target::Hstore, Val::Nested(Cell::Null, schema))),
        }
        out.extend_from_slice(b"=>");
        match value(context.rows, values, *cell, &Target::Text) {
            Some(value) => element(context, &Target::Text, value, out)?,
            None => out.extend_from_slice(b"NULL"),
        }
    }
    Ok(())
}
