//! The type of one field: its Connect schema, but for what its place says, and what reads it.

use super::known::schema_of;
use super::meta::Meta;
use super::options::names;
use super::plan::{Entry, EnumPlan, Exact, Fallback, Interned, Known, Op, Scalar};
use super::unfold::{Stop, Unfold, has_optional_keyword, map_entry, recursive, wrapped};
use data::{Cell, SchemaBuilder, Type, Width};
use prost_reflect::{EnumDescriptor, FieldDescriptor, Kind, MessageDescriptor, Syntax, Value};

/// The schema of a field's values, not finished, and how one is read.
pub(super) struct FieldType {
    pub(super) builder: SchemaBuilder,
    pub(super) op: Op,
}

impl Unfold<'_> {
    pub(super) fn field_type(&mut self, field: &FieldDescriptor) -> Result<FieldType, Stop> {
        self.count()?;
        if let Some((key, value)) = map_entry(field) {
            return self.map(field, &key, &value);
        }
        let (builder, op) = match field.kind() {
            Kind::Message(message) => self.message_type(field, &message)?,
            Kind::Enum(symbols) => {
                let op = Op::Enum(self.enumeration(&symbols));
                (self.enum_schema(&symbols), op)
            }
            kind => {
                let (scalar, ty) = scalar(&kind, Meta::of_field(field).connect_type());
                let builder = SchemaBuilder::new(ty);
                (wire_type(builder, &kind, scalar), Op::Scalar(scalar))
            }
        };
        Ok(FieldType { builder, op })
    }

    fn message_type(
        &mut self,
        field: &FieldDescriptor,
        message: &MessageDescriptor,
    ) -> Result<(SchemaBuilder, Op), Stop> {
        if let Some(exact) = self.exact(message) {
            return Ok((schema_of(exact), Op::Exact(exact, false)));
        }
        if let Some(known) = known(message) {
            let builder = match known {
                Known::Decimal => Meta::of_field(field).decimal(),
                Known::Date => SchemaBuilder::date(),
                Known::Time => SchemaBuilder::time(),
                Known::Timestamp => SchemaBuilder::timestamp(),
            };
            return Ok((builder, Op::Known(known, false)));
        }
        if let Some(inner) = wrapped(message).filter(|_| self.options.unwraps()) {
            let (builder, scalar) = self.wrapper(&inner)?;
            return Ok((builder, Op::Wrapper(scalar)));
        }
        if self.is_cut(message) {
            return Ok((recursive(message), Op::Message(self.loose(message)?)));
        }
        let (builder, index) = self.structure(message)?;
        Ok((Meta::of_message(message).apply(builder), Op::Message(index)))
    }

    /// A wrapper message as the primitive in it.
    pub(super) fn wrapper(
        &mut self,
        field: &FieldDescriptor,
    ) -> Result<(SchemaBuilder, Scalar), Stop> {
        let kind = field.kind();
        let (scalar, ty) = scalar(&kind, None);
        let builder = SchemaBuilder::new(ty);
        // Connect does not know how a number in a wrapper was written.
        let builder = if self.options.exact { wire_type(builder, &kind, scalar) } else { builder };
        Ok((builder, scalar))
    }

    /// Whether the message is read to the microsecond.
    fn exact(&self, message: &MessageDescriptor) -> Option<Exact> {
        let exact = match message.full_name() {
            names::TIME => Exact::Time,
            names::TIMESTAMP => Exact::Timestamp,
            names::DURATION => Exact::Duration,
            _ => return None,
        };
        self.options.exact.then_some(exact)
    }

    /// A scalar whose cells say themselves what they are.
    fn loosened(&self, scalar: Scalar) -> Scalar {
        match scalar {
            Scalar::Float => Scalar::LooseFloat,
            Scalar::Uint64 if self.options.exact => Scalar::LooseUint64,
            Scalar::Fixed64 if self.options.exact => Scalar::LooseFixed64,
            other => other,
        }
    }

    fn map(
        &mut self,
        field: &FieldDescriptor,
        key: &FieldDescriptor,
        value: &FieldDescriptor,
    ) -> Result<FieldType, Stop> {
        let key_type = self.field_type(key)?;
        let value_type = self.field_type(value)?;
        let key_schema = self.entry_schema(key, key_type.builder, &key_type.op)?;
        let value_schema = self.entry_schema(value, value_type.builder, &value_type.op)?;
        let name = match field.kind() {
            Kind::Message(entry) if self.options.enhanced => entry.full_name().to_owned(),
            Kind::Message(entry) => entry.name().to_owned(),
            _ => String::new(),
        };
        let builder = SchemaBuilder::map(key_schema, value_schema).name(&map_name(&name));
        let op = Op::Entry(Box::new(entry(key, value, key_type.op, value_type.op)));
        Ok(FieldType { builder, op })
    }

    fn entry_schema(
        &self,
        field: &FieldDescriptor,
        builder: SchemaBuilder,
        op: &Op,
    ) -> Result<std::sync::Arc<data::Schema>, Stop> {
        let builder = Meta::of_field(field).apply(builder);
        let optional = if self.options.optional_for_nullables {
            has_optional_keyword(field)
        } else {
            !self.options.wrapper_for_nullables
        };
        let builder =
            if optional || !matches!(op, Op::Scalar(_)) { builder.optional() } else { builder };
        super::unfold::build(builder.parameter(names::TAG, &field.number().to_string()))
    }

    /// What reads a field whose cells say themselves what they are.
    pub(super) fn loose_type(&mut self, field: &FieldDescriptor) -> Result<Op, Stop> {
        self.count()?;
        if let Some((key, value)) = map_entry(field) {
            let (key_op, value_op) = (self.loose_type(&key)?, self.loose_type(&value)?);
            return Ok(Op::Entry(Box::new(entry(&key, &value, key_op, value_op))));
        }
        Ok(match field.kind() {
            Kind::Message(message) => {
                match (self.exact(&message), known(&message), wrapped(&message)) {
                    (Some(exact), ..) => Op::Exact(exact, true),
                    (_, Some(known), _) => Op::Known(known, true),
                    (.., Some(inner)) if self.options.unwraps() => {
                        Op::Wrapper(self.loosened(scalar(&inner.kind(), None).0))
                    }
                    _ => Op::Message(self.loose(&message)?),
                }
            }
            Kind::Enum(symbols) => Op::Enum(self.enumeration(&symbols)),
            kind => Op::Scalar(self.loosened(scalar(&kind, None).0)),
        })
    }

    fn enum_schema(&self, symbols: &EnumDescriptor) -> SchemaBuilder {
        let kind = if self.options.int_for_enums { Type::Int32 } else { Type::String };
        let name = if self.options.enhanced { symbols.full_name() } else { symbols.name() };
        let parameter = self.options.enum_parameter();
        let mut builder = SchemaBuilder::new(kind).name(name).parameter(parameter, symbols.name());
        for value in &symbols.enum_descriptor_proto().value {
            let key = format!("{parameter}.{}", value.name());
            builder = builder.parameter(&key, &value.number().to_string());
        }
        builder.optional()
    }

    fn enumeration(&mut self, symbols: &EnumDescriptor) -> usize {
        if let Some(index) = self.enum_places.get(symbols.full_name()) {
            return *index;
        }
        let declared = symbols.enum_descriptor_proto().value.iter();
        let mut values: Vec<(i32, Interned)> = declared
            .map(|value| (value.number(), Interned::new(value.name().as_bytes())))
            .collect();
        values.sort_by_key(|(number, _)| *number);
        values.dedup_by_key(|(number, _)| *number);
        let index = self.enums.len();
        self.enums.push(EnumPlan {
            name: symbols.name().into(),
            values,
            as_int: self.options.int_for_enums,
            closed: symbols.parent_file().syntax() == Syntax::Proto2,
        });
        self.enum_places.insert(symbols.full_name().to_owned(), index);
        index
    }
}

fn entry(key: &FieldDescriptor, value: &FieldDescriptor, key_op: Op, value_op: Op) -> Entry {
    let fallback = |field: &FieldDescriptor, op: &Op| match op {
        // A null that was written as such is one.
        _ if field.supports_presence() && !matches!(op, Op::Message(_)) => {
            Fallback::Cell(Cell::Null)
        }
        Op::Message(index) => Fallback::Message(*index),
        op => default_of(field, op),
    };
    Entry {
        key_default: fallback(key, &key_op),
        value_default: fallback(value, &value_op),
        key: key_op,
        value: value_op,
    }
}

/// What a field that is not set is, by its declaration.
pub(super) fn default_of(field: &FieldDescriptor, op: &Op) -> Fallback {
    let value = field.default_value();
    match (op, value) {
        (Op::Enum(index), Value::EnumNumber(number)) => Fallback::Symbol(*index, number),
        (Op::Scalar(scalar), value) => {
            let zero = scalar.zero();
            match (zero, value) {
                (Cell::Int(_, width), Value::I32(value)) => {
                    Fallback::Cell(Cell::Int(value.into(), width))
                }
                (Cell::Int(_, width), Value::U32(value)) => {
                    Fallback::Cell(Cell::Int(value.into(), width))
                }
                (Cell::Int(_, width), Value::I64(value)) => Fallback::Cell(Cell::Int(value, width)),
                (Cell::Int(_, width), Value::U64(value)) => {
                    Fallback::Cell(Cell::Int(value as i64, width))
                }
                (Cell::Float(_), Value::F32(value)) => Fallback::Cell(Cell::Float(value.into())),
                (Cell::Float(_), Value::F64(value)) => Fallback::Cell(Cell::Float(value)),
                (Cell::Float32(_), Value::F32(value)) => Fallback::Cell(Cell::Float32(value)),
                (Cell::Bool(_), Value::Bool(value)) => Fallback::Cell(Cell::Bool(value)),
                (Cell::Text(_), Value::String(text)) if !text.is_empty() => {
                    Fallback::Text(Interned::new(text.as_bytes()))
                }
                (Cell::Bytes(_), Value::Bytes(bytes)) if !bytes.is_empty() => {
                    Fallback::Bytes(Interned::new(&bytes))
                }
                _ => Fallback::Cell(zero),
            }
        }
        _ => Fallback::Cell(Cell::Null),
    }
}

/// Messages that are one of Connect's logical types.
pub(super) fn known(message: &MessageDescriptor) -> Option<Known> {
    Some(match message.full_name() {
        names::DECIMAL => Known::Decimal,
        names::DATE => Known::Date,
        names::TIME => Known::Time,
        names::TIMESTAMP => Known::Timestamp,
        _ => return None,
    })
}

/// The type of a plain field; `connect_type` is what its options say of Connect's type.
fn scalar(kind: &Kind, connect_type: Option<Type>) -> (Scalar, Type) {
    let narrow = match connect_type {
        Some(Type::Int8) => (Width::W8, Type::Int8),
        Some(Type::Int16) => (Width::W16, Type::Int16),
        _ => (Width::W32, Type::Int32),
    };
    match kind {
        Kind::Int32 => (Scalar::Int32(narrow.0), narrow.1),
        Kind::Sint32 => (Scalar::Sint32(narrow.0), narrow.1),
        Kind::Sfixed32 => (Scalar::Sfixed32(narrow.0), narrow.1),
        Kind::Uint32 => (Scalar::Uint32, Type::Int64),
        Kind::Fixed32 => (Scalar::Fixed32, Type::Int64),
        Kind::Int64 => (Scalar::Int64, Type::Int64),
        Kind::Uint64 => (Scalar::Uint64, Type::Int64),
        Kind::Sint64 => (Scalar::Sint64, Type::Int64),
        Kind::Fixed64 => (Scalar::Fixed64, Type::Int64),
        Kind::Sfixed64 => (Scalar::Sfixed64, Type::Int64),
        Kind::Float => (Scalar::Float, Type::Float32),
        Kind::Double => (Scalar::Double, Type::Float64),
        Kind::Bool => (Scalar::Bool, Type::Boolean),
        Kind::String => (Scalar::Text, Type::String),
        // Messages and enums have been looked at before.
        Kind::Bytes | Kind::Message(_) | Kind::Enum(_) => (Scalar::Bytes, Type::Bytes),
    }
}

/// Notes the type on the wire where Connect's type has more than one.
fn wire_type(builder: SchemaBuilder, kind: &Kind, scalar: Scalar) -> SchemaBuilder {
    let name = match (kind, scalar.zero()) {
        (_, Cell::Int(_, Width::W8 | Width::W16)) => return builder,
        (Kind::Sint32, _) => "sint32",
        (Kind::Sfixed32, _) => "sfixed32",
        (Kind::Uint32, _) => "uint32",
        (Kind::Fixed32, _) => "fixed32",
        (Kind::Uint64, _) => "uint64",
        (Kind::Sint64, _) => "sint64",
        (Kind::Fixed64, _) => "fixed64",
        (Kind::Sfixed64, _) => "sfixed64",
        _ => return builder,
    };
    builder.parameter(names::TYPE, name)
}

/// The name of a map by that of its entries: `PriceListEntry` is of `price_list`.
fn map_name(entry: &str) -> String {
    let name = entry.strip_suffix("Entry").unwrap_or(entry);
    let mut out = String::new();
    for (index, c) in name.char_indices() {
        if c.is_ascii_uppercase() && index > 0 {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_are_named_after_their_fields() {
        for (entry, name) in
            [("FEntry", "f"), ("PriceListEntry", "price_list"), ("p.M.FEntry", "p._m._f")]
        {
            assert_eq!(map_name(entry), name);
        }
    }
}
