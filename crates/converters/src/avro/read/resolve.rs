//! What a writer's type can be for a reader: Avro's rules of schema resolution, type by type.
//!
//! Stricter than Avro in one point: where both sides give a number or bytes a meaning, it is the
//! same one, for else a decimal of another scale or a time in another unit would be read as another
//! value than the one written.

use super::super::connect::{int_type, logical};
use super::super::schema::{AvroSchema, Fixed, Id, Kind, Logical as AvroLogical, Node};
use super::compile::same_name;
use super::ops::{Op, Out, Wire};
use data::{Logical, Schema, Type, Width};

/// The operation for a type without children. `schema`: of the reader's; without, the cell says its
/// class itself.
///
/// # Errors
/// A value of the one can be none of the other.
pub(super) fn scalar(writer: &Node, reader: &Node, schema: Option<&Schema>) -> Result<Op, String> {
    if let (Some(from), Some(to)) = (writer.logical(), reader.logical())
        && !same_meaning(from, to)
    {
        let what = "have different meanings";
        let (from, to) = (describe(writer), describe(reader));
        return Err(format!("What was written and what is to be read {what}: {from}, {to}"));
    }
    let meaning = schema.map_or_else(|| logical(reader), Schema::logical);
    let plain = schema.is_none();
    let op = match (&writer.kind, &reader.kind) {
        (Kind::Boolean, Kind::Boolean) => Some(Op::Bool),
        (Kind::Int, Kind::Int) => Some(int(reader, schema, meaning)?),
        (Kind::Float, Kind::Float) if !plain => Some(Op::Float),
        (Kind::Double, Kind::Double) => Some(Op::Double),
        (Kind::Long, Kind::Long) if !(plain && meaning == Logical::Timestamp) => Some(Op::Long),
        (from, to) => number(from, to, plain, meaning).or_else(|| octets(from, to, meaning)),
    };
    match op {
        Some(Op::Decimal(_) | Op::FixedDecimal { .. }) | None
            if meaning == Logical::Decimal(None) =>
        {
            Err("A decimal without a scale".to_owned())
        }
        Some(op) => Ok(op),
        None => Err(no_place(writer, reader)),
    }
}

fn int(reader: &Node, schema: Option<&Schema>, meaning: Logical) -> Result<Op, String> {
    let number = |out| Op::Number { wire: Wire::Int, out };
    Ok(match (schema, meaning) {
        (None, Logical::Date) => number(Out::Days),
        (None, Logical::Time) => number(Out::MillisOfDay),
        (Some(_), Logical::Time) => Op::Time,
        (schema, _) => match schema.map_or_else(|| int_type(reader), |schema| Ok(schema.kind()))? {
            Type::Int8 => Op::Int(Width::W8),
            Type::Int16 => Op::Int(Width::W16),
            _ => Op::Int(Width::W32),
        },
    })
}

/// Numbers that are read as other numbers.
fn number(writer: &Kind, reader: &Kind, plain: bool, meaning: Logical) -> Option<Op> {
    let wire = match writer {
        Kind::Int => Wire::Int,
        Kind::Long => Wire::Long,
        Kind::Float => Wire::Float,
        Kind::Double => Wire::Double,
        _ => return None,
    };
    let out = match reader {
        Kind::Long if matches!(wire, Wire::Int | Wire::Long) => match meaning {
            Logical::Timestamp if plain => Out::Millis,
            _ => Out::Long,
        },
        Kind::Float if wire != Wire::Double => match plain {
            true => Out::Float32,
            false => Out::Float,
        },
        Kind::Double => Out::Double,
        _ => return None,
    };
    Some(Op::Number { wire, out })
}

fn octets(writer: &Kind, reader: &Kind, meaning: Logical) -> Option<Op> {
    match (writer, reader) {
        (Kind::String | Kind::Bytes, Kind::String) => Some(Op::Text),
        (Kind::String | Kind::Bytes, Kind::Bytes) => Some(match meaning {
            Logical::Decimal(scale) => Op::Decimal(scale?),
            _ => Op::Bytes,
        }),
        (Kind::Fixed(from), Kind::Fixed(to)) => fixed(from, to, meaning),
        _ => None,
    }
}

fn fixed(writer: &Fixed, reader: &Fixed, meaning: Logical) -> Option<Op> {
    let named = same_name(&writer.name, &reader.name, &reader.aliases)
        || writer.name.simple == reader.name.simple;
    if !named || writer.size != reader.size {
        return None;
    }
    let size = writer.size as u32;
    Some(match meaning {
        Logical::Decimal(scale) => Op::FixedDecimal { size, scale: scale? },
        _ => Op::Fixed(size),
    })
}

/// Whether the same number or bytes say the same on both sides.
fn same_meaning(writer: AvroLogical, reader: AvroLogical) -> bool {
    match (writer, reader) {
        (AvroLogical::Decimal { scale: from, .. }, AvroLogical::Decimal { scale: to, .. }) => {
            from == to
        }
        (from, to) => from == to,
    }
}

/// What two types of which neither is the other's are, for messages.
pub(super) fn no_place(writer: &Node, reader: &Node) -> String {
    let (from, to) = (describe(writer), describe(reader));
    format!("A value of type {from} cannot be read as {to}")
}

fn describe(node: &Node) -> String {
    let mut out = node.kind.type_name().to_owned();
    if let Some(name) = node.name() {
        out = format!("{out} {name}");
    }
    if let Kind::Fixed(of) = &node.kind {
        out = format!("{out} of {} bytes", of.size);
    }
    match node.logical() {
        Some(AvroLogical::Decimal { precision, scale }) => {
            format!("{out} (decimal of {precision} digits, {scale} behind the point)")
        }
        Some(_) => format!("{out} ({})", node.prop("logicalType").unwrap_or_default()),
        None => out,
    }
}

/// The branch of a reader's union that a written value is: the type of the same name, else one that
/// its like can be promoted to.
pub(super) fn branch_for(
    writer: &AvroSchema,
    id: Id,
    reader: &AvroSchema,
    branches: &[Id],
) -> Option<usize> {
    let from = writer.node(id);
    let place = |is: &dyn Fn(&Node) -> bool| branches.iter().position(|to| is(reader.node(*to)));
    let same_kind =
        |to: &Node| std::mem::discriminant(&from.kind) == std::mem::discriminant(&to.kind);
    let full = |to: &Node| {
        same_kind(to)
            && match (from.name(), to.name()) {
                (Some(from), Some(to_name)) => same_name(from, to_name, to.aliases()),
                _ => true,
            }
    };
    let simple = |to: &Node| {
        let names = from.name().zip(to.name());
        same_kind(to) && names.is_some_and(|(from, to)| from.simple == to.simple)
    };
    let promoted = |to: &Node| scalar(from, to, None).is_ok();
    place(&full).or_else(|| place(&simple)).or_else(|| place(&promoted))
}
