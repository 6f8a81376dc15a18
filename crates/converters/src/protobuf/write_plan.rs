//! A Connect schema and the message it is written as, made ready for writing.
//!
//! The message is the one that was made from the schema, or one that was registered by others: fields
//! are found by name, and what does not fit is told when the plan is made. A field that the message
//! does not have is told when a record has a value for it.
//!
//! Invariant: whatever the message, each value is written in the encoding of its field, or refused.

use super::fault::Fault;
use super::field_type::known;
use super::names_of::Names;
use super::options::names;
use super::plan::Known;
use super::to_proto::is_union;
use super::unfold::{real_oneof, wrapped};
use super::wire::DEPTH_MAX;
use data::{Cell, Rows, Schema, Type};
use prost_reflect::{EnumDescriptor, FieldDescriptor, Kind, MessageDescriptor};
use std::collections::HashMap;
use std::sync::Arc;

/// How values of a schema are written.
pub(super) struct WritePlan {
    pub(super) root: Root,
    /// Messages whose values say themselves what they are.
    pub(super) loose: Vec<HashMap<Box<str>, WriteField>>,
}

pub(super) enum Root {
    Struct(Vec<WriteField>),
    /// A plain value in a wrapper message.
    Wrapper(Box<WriteField>),
}

pub(super) struct WriteField {
    pub(super) name: Box<str>,
    pub(super) number: u32,
    pub(super) op: WriteOp,
    pub(super) repeated: bool,
    pub(super) packed: bool,
    /// A zero is written, too: it is not the same as nothing.
    pub(super) presence: bool,
    /// A null is no value of the schema.
    pub(super) required: bool,
    pub(super) default: Option<Box<(Rows, Cell)>>,
}

pub(super) enum WriteOp {
    Scalar(Kind),
    Enum(Box<Symbols>),
    Struct(Vec<WriteField>),
    Union(Vec<WriteField>),
    Entry(Box<(WriteField, WriteField)>),
    Known(Known),
    Wrapper(Kind),
    /// A map that stands for the message of that index.
    Loose(usize),
    /// The message has no such field.
    Missing,
}

/// An enum's numbers by symbol.
pub(super) struct Symbols {
    pub(super) name: String,
    pub(super) numbers: HashMap<Box<str>, i32>,
}

/// # Errors
/// What of the schema has no place in the message, with its path.
pub(super) fn write_plan(
    scrub: bool,
    schema: &Schema,
    message: &MessageDescriptor,
) -> Result<WritePlan, Fault> {
    let mut planner = Planner { names: Names { scrub }, loose: Vec::new(), places: HashMap::new() };
    let root = match (schema.kind(), wrapped(message)) {
        (Type::Struct, _) => Root::Struct(planner.structure(schema, message, 0)?),
        (_, Some(field)) => {
            let op = planner.op(schema, &field, 0)?;
            let planned = plain(&field, op, false);
            Root::Wrapper(Box::new(WriteField { required: !schema.is_optional(), ..planned }))
        }
        (kind, None) => return Err(misfit(kind.name(), message.full_name())),
    };
    Ok(WritePlan { root, loose: planner.loose })
}

struct Planner {
    names: Names,
    loose: Vec<HashMap<Box<str>, WriteField>>,
    places: HashMap<String, usize>,
}

impl Planner {
    fn structure(
        &mut self,
        schema: &Schema,
        message: &MessageDescriptor,
        depth: usize,
    ) -> Result<Vec<WriteField>, Fault> {
        if depth >= DEPTH_MAX {
            return Err(Fault::new(format!("structs are nested deeper than {DEPTH_MAX} levels")));
        }
        let mut fields = Vec::new();
        for field in schema.fields() {
            let planned = self.field(&field.name, &field.schema, message, depth);
            fields.push(planned.map_err(|fault| fault.within(&field.name))?);
        }
        Ok(fields)
    }

    fn field(
        &mut self,
        name: &str,
        schema: &Arc<Schema>,
        message: &MessageDescriptor,
        depth: usize,
    ) -> Result<WriteField, Fault> {
        let default = schema.default().map(|value| {
            let mut rows = Rows::default();
            let cell = rows.put_value(Some(schema), value);
            Box::new((rows, cell))
        });
        let required = !schema.is_optional();
        let own = self.names.checked(name).ok();
        let found = own.as_deref().and_then(|name| message.get_field_by_name(name));
        let Some(field) = found else {
            let op = match is_union(schema) {
                true => WriteOp::Union(self.structure(schema, message, depth + 1)?),
                false => WriteOp::Missing,
            };
            return Ok(WriteField {
                name: name.into(),
                number: 0,
                op,
                repeated: false,
                packed: false,
                presence: true,
                required,
                default,
            });
        };
        let is_list = schema.kind() == Type::Array;
        let (item, repeated) = match schema.value_schema() {
            Some(item) if is_list => (item, true),
            _ => (schema, false),
        };
        let entries = repeated || is_entries(schema);
        if entries != (field.is_list() || field.is_map()) {
            let kind = schema.kind().name();
            let what = if field.is_list() { "a repeated field" } else { "a single value" };
            return Err(misfit(kind, what));
        }
        let op = self.op(item, &field, depth)?;
        let planned = plain(&field, op, entries);
        Ok(WriteField { required, default, ..planned })
    }

    /// How one value of a schema is written into a field.
    fn op(
        &mut self,
        schema: &Schema,
        field: &FieldDescriptor,
        depth: usize,
    ) -> Result<WriteOp, Fault> {
        let kind = schema.kind();
        match field.kind() {
            Kind::Message(message) => self.message_op(schema, &message, depth),
            Kind::Enum(symbols) if matches!(kind, Type::String | Type::Int32) => {
                Ok(WriteOp::Enum(Box::new(symbols_of(&symbols))))
            }
            wire if fits(schema, &wire) => Ok(WriteOp::Scalar(wire)),
            wire => Err(misfit(kind.name(), &format!("{wire:?}"))),
        }
    }

    fn message_op(
        &mut self,
        schema: &Schema,
        message: &MessageDescriptor,
        depth: usize,
    ) -> Result<WriteOp, Fault> {
        let known = known(message);
        if known.is_some() && known == logical(schema) {
            return Ok(known.map_or(WriteOp::Missing, WriteOp::Known));
        }
        match schema.kind() {
            Type::Struct => self.structure(schema, message, depth + 1).map(WriteOp::Struct),
            Type::Map if schema.parameter(names::RECURSIVE).is_some() => {
                Ok(WriteOp::Loose(self.loose(message)))
            }
            Type::Map => {
                let part = |planner: &mut Planner, name: &str, schema: Option<&Arc<Schema>>| {
                    let schema = schema
                        .ok_or_else(|| Fault::new("a map of values without a schema".to_owned()))?;
                    let planned = planner.field(name, schema, message, depth + 1)?;
                    Ok(WriteField { presence: true, ..planned })
                };
                let key = part(self, "key", schema.key_schema())?;
                let value = part(self, "value", schema.value_schema())?;
                Ok(WriteOp::Entry(Box::new((WriteField { required: true, ..key }, value))))
            }
            kind => match wrapped(message) {
                Some(field) if fits(schema, &field.kind()) => Ok(WriteOp::Wrapper(field.kind())),
                _ => Err(misfit(kind.name(), message.full_name())),
            },
        }
    }

    /// The fields of a message by their names.
    fn loose(&mut self, message: &MessageDescriptor) -> usize {
        if let Some(index) = self.places.get(message.full_name()) {
            return *index;
        }
        let index = self.loose.len();
        self.places.insert(message.full_name().to_owned(), index);
        self.loose.push(HashMap::new());
        let mut fields = HashMap::new();
        for field in message.fields() {
            let op = self.loose_op(&field);
            let repeated = field.is_list() || field.is_map();
            fields.insert(field.name().into(), plain(&field, op, repeated));
        }
        if let Some(slot) = self.loose.get_mut(index) {
            *slot = fields;
        }
        index
    }

    fn loose_op(&mut self, field: &FieldDescriptor) -> WriteOp {
        if let Some((key, value)) = super::unfold::map_entry(field) {
            let mut part = |field: &FieldDescriptor, required| {
                let op = self.loose_op(field);
                WriteField { presence: true, required, ..plain(field, op, false) }
            };
            return WriteOp::Entry(Box::new((part(&key, true), part(&value, false))));
        }
        match field.kind() {
            Kind::Message(message) => match (known(&message), wrapped(&message)) {
                (Some(known), _) => WriteOp::Known(known),
                (_, Some(field)) => WriteOp::Wrapper(field.kind()),
                _ => WriteOp::Loose(self.loose(&message)),
            },
            Kind::Enum(symbols) => WriteOp::Enum(Box::new(symbols_of(&symbols))),
            kind => WriteOp::Scalar(kind),
        }
    }
}

fn plain(field: &FieldDescriptor, op: WriteOp, repeated: bool) -> WriteField {
    WriteField {
        name: field.name().into(),
        number: field.number(),
        op,
        repeated,
        packed: repeated && field.is_packed(),
        presence: repeated || field.supports_presence() || real_oneof(field).is_some(),
        required: false,
        default: None,
    }
}

fn is_entries(schema: &Schema) -> bool {
    super::to_proto::is_map(schema)
}

fn symbols_of(symbols: &EnumDescriptor) -> Symbols {
    let values = symbols.values();
    Symbols {
        name: symbols.name().to_owned(),
        numbers: values.map(|value| (value.name().into(), value.number())).collect(),
    }
}

fn logical(schema: &Schema) -> Option<Known> {
    use data::Logical;
    match schema.logical() {
        Logical::None => None,
        Logical::Decimal(_) => Some(Known::Decimal),
        Logical::Date => Some(Known::Date),
        Logical::Time => Some(Known::Time),
        Logical::Timestamp => Some(Known::Timestamp),
    }
}

/// Whether values of a plain schema can be written in this encoding. Whether an integer is small enough
/// is seen with each value; dates and times may be written as the integers they are.
fn fits(schema: &Schema, wire: &Kind) -> bool {
    if matches!(schema.logical(), data::Logical::Decimal(_)) {
        return false;
    }
    match schema.kind() {
        Type::Int8 | Type::Int16 | Type::Int32 | Type::Int64 => is_integer(wire),
        Type::Float32 => matches!(wire, Kind::Float | Kind::Double),
        Type::Float64 => matches!(wire, Kind::Double),
        Type::Boolean => matches!(wire, Kind::Bool),
        Type::String => matches!(wire, Kind::String),
        Type::Bytes => matches!(wire, Kind::Bytes),
        Type::Array | Type::Map | Type::Struct => false,
    }
}

fn is_integer(kind: &Kind) -> bool {
    matches!(
        kind,
        Kind::Int32
            | Kind::Int64
            | Kind::Uint32
            | Kind::Uint64
            | Kind::Sint32
            | Kind::Sint64
            | Kind::Fixed32
            | Kind::Fixed64
            | Kind::Sfixed32
            | Kind::Sfixed64
    )
}

fn misfit(kind: &str, target: &str) -> Fault {
    Fault::new(format!("{kind} has no place in {target}"))
}
