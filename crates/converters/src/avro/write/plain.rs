//! Values that describe themselves under a type of Avro: what is below the place where a record
//! contains itself, and elements whose schema nobody knows.

use super::anything::DEPTH_MAX;
use super::binary::{put_bytes, put_double, put_float, put_long};
use super::decimal::Decimal;
use super::default;
use super::fault::Fault;
use super::step::Context;
use crate::avro::attributes::{KEY_FIELD, VALUE_FIELD};
use crate::avro::connect::{is_anything, is_map_entry};
use crate::avro::schema::{Id, Kind, Logical, Node, Record};
use data::java_text::class_name;
use data::{Cell, DAY_MS, Rows, Span, Width};

/// Appends a value as a type. What recurses holds little: values may be deep and stacks are not.
pub(super) fn write(
    context: &Context<'_>,
    id: Id,
    cell: Cell,
    depth: usize,
    out: &mut Vec<u8>,
) -> Result<(), Fault> {
    if depth > DEPTH_MAX {
        return Err(too_deep());
    }
    let id = branch(context, id, cell, out)?;
    let node = context.avro.node(id);
    match (&node.kind, cell) {
        (_, Cell::Json(span)) => write_json(context, id, span, depth, out),
        (Kind::Record(_), _) if is_anything(context.avro, id) => {
            super::anything::write(context.rows, cell, depth, out)
        }
        (Kind::Record(record), Cell::Map(span)) => write_record(context, record, span, depth, out),
        (Kind::Array(items), Cell::List(span)) => write_list(context, *items, span, depth, out),
        (Kind::Map(values), Cell::Map(span)) => write_map(context, *values, span, depth, out),
        (Kind::Array(items), Cell::Map(span)) => write_entries(context, *items, span, depth, out),
        _ => write_scalar(node, context.rows, cell, out),
    }
}

#[cold]
pub(super) fn too_deep() -> Fault {
    Fault::new(format!("Values are nested deeper than {DEPTH_MAX} levels"))
}

/// The type that is no union: of one, the branch that fits the value best, its place appended.
#[inline(never)]
fn branch(context: &Context<'_>, id: Id, cell: Cell, out: &mut Vec<u8>) -> Result<Id, Fault> {
    let Kind::Union(branches) = context.avro.kind(id) else { return Ok(id) };
    if matches!(cell, Cell::Json(_)) {
        // What it is is known when it is read.
        return Ok(id);
    }
    let ranked = branches.iter().enumerate();
    let best = ranked.filter_map(|(at, id)| Some((rank(context, *id, cell)?, at, *id))).min();
    let (_, at, id) = best.ok_or_else(|| mismatch(context.avro.node(id), cell))?;
    put_long(at as i64, out);
    Ok(id)
}

/// Text that nobody has looked at yet.
#[inline(never)]
fn write_json(
    context: &Context<'_>,
    id: Id,
    span: Span,
    depth: usize,
    out: &mut Vec<u8>,
) -> Result<(), Fault> {
    let mut read = Rows::default();
    let cell = read.put_json(context.rows.bytes(span));
    write(&Context { avro: context.avro, rows: &read }, id, cell, depth, out)
}

#[inline(never)]
fn write_list(
    context: &Context<'_>,
    items: Id,
    span: Span,
    depth: usize,
    out: &mut Vec<u8>,
) -> Result<(), Fault> {
    let cells = context.rows.cells(span);
    begin(cells.len(), out);
    for (index, cell) in cells.iter().enumerate() {
        let written = write(context, items, *cell, depth + 1, out);
        written.map_err(|fault| fault.item(index))?;
    }
    put_long(0, out);
    Ok(())
}

#[inline(never)]
fn write_scalar(node: &Node, rows: &Rows, cell: Cell, out: &mut Vec<u8>) -> Result<(), Fault> {
    match (&node.kind, cell) {
        (Kind::Null, Cell::Null) => {}
        (Kind::Boolean, Cell::Bool(value)) => out.push(u8::from(value)),
        (Kind::Int, Cell::Int(value, _)) if i32::try_from(value).is_ok() => put_long(value, out),
        (Kind::Long, Cell::Int(value, _)) => put_long(value, out),
        (Kind::Int | Kind::Long, Cell::Instant(ms)) => {
            let count = count(node, ms).ok_or_else(|| mismatch(node, cell))?;
            put_long(count, out);
        }
        (Kind::Float, Cell::Float32(value)) => put_float(value, out),
        (Kind::Float, Cell::Float(value)) => put_float(value as f32, out),
        (Kind::Float, Cell::Int(value, _)) => put_float(value as f32, out),
        (Kind::Double, Cell::Float(value)) => put_double(value, out),
        (Kind::Double, Cell::Float32(value)) => put_double(f64::from(value), out),
        (Kind::Double, Cell::Int(value, _)) => put_double(value as f64, out),
        (Kind::Double | Kind::Float, Cell::Number(span)) => {
            let value = rows.text(span).parse::<f64>().map_err(|_| mismatch(node, cell))?;
            match node.kind {
                Kind::Float => put_float(value as f32, out),
                _ => put_double(value, out),
            }
        }
        (Kind::Enum(of), Cell::Text(span)) => {
            let symbol = rows.text(span);
            let Some(at) = of.symbols.iter().position(|known| known == symbol) else {
                let name = &of.name;
                return Err(Fault::new(format!("{symbol:?} is no symbol of the enum {name}")));
            };
            put_long(at as i64, out);
        }
        (Kind::String, Cell::Text(span)) => put_bytes(rows.bytes(span), out),
        (Kind::Bytes, Cell::Bytes(span)) => put_bytes(rows.bytes(span), out),
        (Kind::Fixed(fixed), Cell::Bytes(span)) => {
            let bytes = rows.bytes(span);
            if bytes.len() != fixed.size {
                let (len, size) = (bytes.len(), fixed.size);
                return Err(Fault::new(format!("{len} bytes where the schema has {size}")));
            }
            out.extend_from_slice(bytes);
        }
        (Kind::Bytes | Kind::Fixed(_), Cell::Decimal { scale, .. }) => {
            let target = match node.logical() {
                Some(Logical::Decimal { scale, .. }) => i32::try_from(scale).unwrap_or(i32::MAX),
                _ => scale,
            };
            let size = match &node.kind {
                Kind::Fixed(fixed) => Some(fixed.size),
                _ => None,
            };
            return Decimal { scale, target, size }.write(rows, cell, out);
        }
        (_, Cell::Null) => return Err(Fault::null()),
        _ => return Err(mismatch(node, cell)),
    }
    Ok(())
}

/// What a date or a point in time counts as.
fn count(node: &Node, ms: i64) -> Option<i64> {
    match node.logical() {
        Some(Logical::Date) => (ms.rem_euclid(DAY_MS) == 0).then(|| ms.div_euclid(DAY_MS)),
        Some(Logical::TimeMillis) => (0..=DAY_MS).contains(&ms).then_some(ms),
        Some(Logical::TimestampMicros | Logical::LocalTimestampMicros | Logical::TimeMicros) => {
            ms.checked_mul(1000)
        }
        Some(Logical::TimestampNanos | Logical::LocalTimestampNanos) => ms.checked_mul(1_000_000),
        _ if node.kind == Kind::Long => Some(ms),
        _ => None,
    }
}

#[inline(never)]
fn write_record(
    context: &Context<'_>,
    record: &Record,
    span: Span,
    depth: usize,
    out: &mut Vec<u8>,
) -> Result<(), Fault> {
    for field in &record.fields {
        let cell = entry(context.rows, span, &field.name);
        let written = match (cell, &field.default) {
            (None, Some(json)) => {
                default::encode(context.avro, field.schema, json, out).map_err(Fault::new)
            }
            _ => write(context, field.schema, cell.unwrap_or(Cell::Null), depth + 1, out),
        };
        written.map_err(|fault| fault.field(&field.name))?;
    }
    Ok(())
}

/// The value of a map's key.
fn entry(rows: &Rows, span: Span, name: &str) -> Option<Cell> {
    rows.cells(span).chunks_exact(2).find_map(|pair| match pair {
        [Cell::Text(key), value] if rows.bytes(*key) == name.as_bytes() => Some(*value),
        _ => None,
    })
}

#[inline(never)]
fn write_map(
    context: &Context<'_>,
    values: Id,
    span: Span,
    depth: usize,
    out: &mut Vec<u8>,
) -> Result<(), Fault> {
    let cells = context.rows.cells(span);
    begin(cells.len() / 2, out);
    for pair in cells.chunks_exact(2) {
        let [Cell::Text(key), value] = pair else {
            return Err(Fault::new("Found a key that is no text in a map with text keys"));
        };
        put_bytes(context.rows.bytes(*key), out);
        let written = write(context, values, *value, depth + 1, out);
        written.map_err(|fault| fault.key(context.rows.text(*key)))?;
    }
    put_long(0, out);
    Ok(())
}

/// A map as an array of records with its keys and values.
#[inline(never)]
fn write_entries(
    context: &Context<'_>,
    items: Id,
    span: Span,
    depth: usize,
    out: &mut Vec<u8>,
) -> Result<(), Fault> {
    let node = context.avro.node(items);
    let Kind::Record(record) = &node.kind else {
        return Err(Fault::new("A map cannot be written as an array of anything but entries"));
    };
    let cells = context.rows.cells(span);
    begin(cells.len() / 2, out);
    for (index, pair) in cells.chunks_exact(2).enumerate() {
        for field in &record.fields {
            let cell = match (&*field.name, pair) {
                (KEY_FIELD, [key, _]) => *key,
                (VALUE_FIELD, [_, value]) => *value,
                _ => Cell::Null,
            };
            let written = write(context, field.schema, cell, depth + 1, out);
            written.map_err(|fault| fault.field(&field.name).item(index))?;
        }
    }
    put_long(0, out);
    Ok(())
}

fn begin(items: usize, out: &mut Vec<u8>) {
    if items > 0 {
        put_long(items as i64, out);
    }
}

/// How well a branch of a union fits a value, the lower the better; `None`: not at all.
fn rank(context: &Context<'_>, id: Id, cell: Cell) -> Option<u8> {
    let node = context.avro.node(id);
    let rows = context.rows;
    Some(match (&node.kind, cell) {
        (Kind::Null, Cell::Null)
        | (Kind::Boolean, Cell::Bool(_))
        | (Kind::Float, Cell::Float32(_))
        | (Kind::Double, Cell::Float(_) | Cell::Number(_))
        | (Kind::String, Cell::Text(_))
        | (Kind::Bytes, Cell::Bytes(_)) => 0,
        (Kind::Enum(of), Cell::Text(span)) => {
            let symbol = rows.text(span);
            of.symbols.iter().any(|known| known == symbol).then_some(1)?
        }
        (Kind::Int, Cell::Int(value, width)) if i32::try_from(value).is_ok() => {
            if width == Width::W64 { 1 } else { 0 }
        }
        (Kind::Long, Cell::Int(_, Width::W64)) => 0,
        (Kind::Long, Cell::Int(..)) => 1,
        (Kind::Double, Cell::Float32(_)) => 1,
        (Kind::Float, Cell::Float(_)) => 2,
        (Kind::Float | Kind::Double, Cell::Int(..)) => 3,
        (Kind::Int | Kind::Long, Cell::Instant(ms)) => {
            count(node, ms)?;
            if node.logical().is_some() { 0 } else { 1 }
        }
        (Kind::Fixed(fixed), Cell::Bytes(span)) => {
            (rows.bytes(span).len() == fixed.size).then_some(0)?
        }
        (Kind::Bytes | Kind::Fixed(_), Cell::Decimal { .. }) => {
            if node.logical().is_some() {
                0
            } else {
                1
            }
        }
        (Kind::Array(_), Cell::List(_)) => 0,
        (Kind::Array(items), Cell::Map(_)) => {
            is_map_entry(context.avro.node(*items)).then_some(2)?
        }
        (Kind::Map(_), Cell::Map(_)) => 1,
        (Kind::Record(_), _) if is_anything(context.avro, id) => 9,
        (Kind::Record(record), Cell::Map(span)) => fields_of(rows, record, span)?,
        _ => return None,
    })
}

/// A map is a record where the keys are its fields, and no field that has no default is missing.
fn fields_of(rows: &Rows, record: &Record, span: Span) -> Option<u8> {
    let known = record.fields.iter().filter(|field| entry(rows, span, &field.name).is_some());
    let known = known.count();
    let missing = record
        .fields
        .iter()
        .any(|field| field.default.is_none() && entry(rows, span, &field.name).is_none());
    (!missing && known * 2 == span.len as usize).then_some(0)
}

#[cold]
fn mismatch(node: &Node, cell: Cell) -> Fault {
    let name = node.name().map(|name| format!(" {name}")).unwrap_or_default();
    Fault::new(format!(
        "A value of {} cannot be written as {}{name}",
        class_name(cell),
        node.kind.type_name()
    ))
}
