//! A Connect schema to the text of a .proto file.
//!
//! proto3, as Confluent's converter writes it: the message is named after the schema, types that are
//! nested in a struct are nested in its message, field numbers come from the parameter
//! [`names::TAG`] or are counted. The values are written by the descriptors of this very text, see
//! [`super::write_plan`].
//!
//! Invariant: a number is used once in a message; what Protobuf has no form for is refused with its
//! path.

use super::fault::Fault;
use super::names_of::{Names, param_set, simple_name};
use super::numbers::FieldNumbers;
use super::options::{Options, names};
use super::text::{Item, ProtoEnum, ProtoField, ProtoFile, ProtoMessage};
use super::wire::DEPTH_MAX;
use data::{Logical, Schema, Type};
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

/// Deeper messages are declared beside those of this level: compilers limit the nesting of text.
const NESTED_MAX: usize = 24;

/// What the converter registers for a Connect schema.
#[derive(Debug)]
pub(super) struct Proto {
    pub(super) text: String,
    /// The full name of the message.
    pub(super) name: String,
}

/// # Errors
/// What in the schema has no form in Protobuf, and its path.
pub(super) fn to_proto(options: &Options, schema: &Arc<Schema>) -> Result<Proto, Fault> {
    if schema.kind() != Type::Struct {
        return primitive(schema);
    }
    let names = Names { scrub: options.scrub_invalid_names };
    let mut writer = Writer {
        options,
        names,
        imports: BTreeSet::new(),
        unnamed: 0,
        package: String::new(),
        around: Vec::new(),
        scopes: Vec::new(),
    };
    let full = writer.name_or_default(schema.name());
    let mut parts =
        full.split('.').map(|part| names.checked(part)).collect::<Result<Vec<_>, _>>()?;
    let name = parts.pop().unwrap_or_default();
    writer.package = parts.join(".");
    let message = writer.message(name.clone(), schema)?;
    let full = if parts.is_empty() { name } else { format!("{}.{name}", writer.package) };
    let file = ProtoFile { package: writer.package, imports: writer.imports, message };
    Ok(Proto { text: file.to_string(), name: full })
}

/// The file of the wrapper messages, which a plain value is written as.
fn primitive(schema: &Schema) -> Result<Proto, Fault> {
    let refused = |what: &str| Fault::new(format!("{what} cannot be a whole Protobuf message"));
    if schema.logical() != Logical::None {
        return Err(refused(schema.name().unwrap_or_default()));
    }
    let name = wrapper(schema).ok_or_else(|| {
        let kind = schema.kind().name();
        Fault::new(format!("Unsupported root schema of type {kind}: a message is a struct"))
    })?;
    let text = include_str!("builtin/wrappers.proto").to_owned();
    Ok(Proto { text, name: name.to_owned() })
}

struct Writer<'o> {
    options: &'o Options,
    names: Names,
    imports: BTreeSet<&'static str>,
    /// Schemas without a name so far.
    unnamed: usize,
    package: String,
    /// The messages around the current place: name of the schema, full name of the message.
    around: Vec<(String, String)>,
    /// What is declared in the messages around, down to [`NESTED_MAX`].
    scopes: Vec<Scope>,
}

#[derive(Default)]
struct Scope {
    messages: Vec<ProtoMessage>,
    enums: Vec<ProtoEnum>,
    /// Names that are taken, with the schema that a type is of.
    taken: Vec<(String, Option<Arc<Schema>>)>,
}

impl Writer<'_> {
    fn message(&mut self, name: String, schema: &Arc<Schema>) -> Result<ProtoMessage, Fault> {
        if self.around.len() >= DEPTH_MAX {
            return Err(Fault::new(format!("structs are nested deeper than {DEPTH_MAX} levels")));
        }
        let full = self.full_name(&name);
        self.around.push((schema.name().unwrap_or_default().to_owned(), full));
        let mut fields = HashSet::new();
        for field in schema.fields() {
            let name = self.names.checked(&field.name)?;
            if !fields.insert(name) {
                return Err(Fault::new("two fields have one name".to_owned()).within(&field.name));
            }
        }
        let own_scope = self.around.len() <= NESTED_MAX;
        let taken = fields.into_iter().map(|field| (field, None));
        if own_scope {
            self.scopes.push(Scope { taken: taken.collect(), ..Scope::default() });
        } else if let Some(scope) = self.scopes.last_mut() {
            scope.taken.extend(taken);
        }
        let items = self.items(schema)?;
        let params = if self.options.enhanced { extras(schema, false) } else { Vec::new() };
        self.use_meta(&params);
        let scope = if own_scope { self.scopes.pop() } else { None }.unwrap_or_default();
        self.around.pop();
        Ok(ProtoMessage { name, items, messages: scope.messages, enums: scope.enums, params })
    }

    fn items(&mut self, schema: &Arc<Schema>) -> Result<Vec<Item>, Fault> {
        let mut numbers = FieldNumbers::new(schema)?;
        let mut items = Vec::new();
        for field in schema.fields() {
            let number = numbers.of(&field.schema)?;
            let item = if is_union(&field.schema) {
                self.oneof(&field.schema, &mut numbers)
            } else {
                self.field(&field.name, &field.schema, number).map(Item::Field)
            };
            items.push(item.map_err(|fault| fault.within(&field.name))?);
        }
        Ok(items)
    }

    fn oneof(&mut self, union: &Arc<Schema>, numbers: &mut FieldNumbers) -> Result<Item, Fault> {
        let name = match union.parameter(names::GENERAL_UNION) {
            Some(name) => name,
            None => union.name().unwrap_or_default(),
        };
        let name = self.names.checked(simple_name(name))?;
        let mut members = Vec::new();
        for field in union.fields() {
            let number = numbers.of(&field.schema)?;
            if matches!(field.schema.kind(), Type::Array | Type::Map) {
                let fault = Fault::new("a union cannot have a list or map in Protobuf".to_owned());
                return Err(fault.within(&field.name));
            }
            let member = self.field(&field.name, &field.schema, number);
            let member = member.map_err(|fault| fault.within(&field.name))?;
            members.push(ProtoField { label: "", ..member });
        }
        Ok(Item::Oneof(name, members))
    }

    fn field(
        &mut self,
        name: &str,
        schema: &Arc<Schema>,
        number: u32,
    ) -> Result<ProtoField, Fault> {
        let name = self.names.checked(name)?;
        let repeated = schema.kind() == Type::Array || is_map(schema);
        let item = match (schema.kind(), schema.value_schema()) {
            (Type::Array, Some(item)) if item.kind() != Type::Array && !is_map(item) => item,
            (Type::Array, _) => {
                return Err(Fault::new(
                    "a list of lists or maps has no form in Protobuf".to_owned(),
                ));
            }
            _ => schema,
        };
        let label = match (repeated, schema.is_optional() && self.options.optional_for_nullables) {
            (true, _) => "repeated",
            (false, true) => "optional",
            (false, false) => "",
        };
        let mut params = param_set(item);
        if self.options.enhanced && item.kind() != Type::Struct {
            params.extend(extras(item, item.is_primitive() && item.logical() == Logical::None));
        }
        let kind = self.kind(item)?;
        self.use_meta(&params);
        Ok(ProtoField { label, kind, name, number, params })
    }

    /// The name of a field's type; what it needs is declared.
    fn kind(&mut self, schema: &Arc<Schema>) -> Result<String, Fault> {
        let (import, name) = match schema.logical() {
            Logical::Decimal(_) => ("confluent/type/decimal.proto", names::DECIMAL),
            Logical::Date => ("google/type/date.proto", names::DATE),
            Logical::Time => ("google/type/timeofday.proto", names::TIME),
            Logical::Timestamp => ("google/protobuf/timestamp.proto", names::TIMESTAMP),
            Logical::None => return self.plain_kind(schema),
        };
        self.imports.insert(import);
        Ok(name.to_owned())
    }

    fn plain_kind(&mut self, schema: &Arc<Schema>) -> Result<String, Fault> {
        if let Some(values) = enum_values(schema) {
            return self.enumeration(schema, values);
        }
        if let Some(name) = schema.parameter(names::RECURSIVE) {
            let found = self.around.iter().rev().find(|(schema, message)| {
                message == name || schema == name || schema == simple_name(name)
            });
            let (_, message) = found.ok_or_else(|| {
                Fault::new(format!("there is no message {name} around this place"))
            })?;
            return Ok(format!(".{message}"));
        }
        match schema.kind() {
            Type::Struct => {
                let name = self.name_or_default(schema.name());
                let name = self.names.checked(simple_name(&name))?;
                self.declare(name, schema, "Message", |writer, name| writer.message(name, schema))
            }
            Type::Map => {
                let name = self.name_or_default(schema.name());
                let name = self.names.checked(&entry_name(simple_name(&name)))?;
                self.declare(name, schema, "Entry", |writer, name| writer.entry(name, schema))
            }
            _ => {
                let wraps = self.options.wrapper_for_nullables && schema.is_optional();
                match wrapper(schema).filter(|_| wraps) {
                    Some(name) => {
                        self.imports.insert("google/protobuf/wrappers.proto");
                        Ok(name.to_owned())
                    }
                    None => Ok(plain_type(schema).to_owned()),
                }
            }
        }
    }

    /// Declares a message in the current scope, unless an equal one is there, and gives its name.
    fn declare(
        &mut self,
        name: String,
        schema: &Arc<Schema>,
        suffix: &str,
        make: impl FnOnce(&mut Self, String) -> Result<ProtoMessage, Fault>,
    ) -> Result<String, Fault> {
        let bare = bare(schema);
        let nested = self.around.len() > NESTED_MAX;
        let Some(scope) = self.scopes.last_mut() else { return Ok(name) };
        let same = |taken: &&(String, Option<Arc<Schema>>)| {
            taken.1.as_ref() == Some(&bare) && taken.0.starts_with(&name)
        };
        let (name, is_new) = match scope.taken.iter().find(same) {
            Some((known, _)) => (known.clone(), false),
            None => (free_name(&scope.taken, name, suffix), true),
        };
        let full = match (nested, self.around.get(NESTED_MAX - 1)) {
            (true, Some((_, host))) => format!(".{host}.{name}"),
            _ => name.clone(),
        };
        if is_new {
            scope.taken.push((name.clone(), Some(bare)));
            let depth = self.scopes.len();
            let message = make(self, name)?;
            if let Some(scope) = self.scopes.get_mut(depth - 1) {
                scope.messages.push(message);
            }
        }
        Ok(full)
    }

    /// A map's entry, as a message of its own.
    fn entry(&mut self, name: String, map: &Arc<Schema>) -> Result<ProtoMessage, Fault> {
        let (Some(key), Some(value)) = (map.key_schema(), map.value_schema()) else {
            return Err(Fault::new("a map of values without a schema".to_owned()));
        };
        if matches!(key.kind(), Type::Array | Type::Map) {
            return Err(Fault::new("a map with lists or maps as keys".to_owned()));
        }
        let full = self.full_name(&name);
        self.around.push((String::new(), full));
        let own_scope = self.around.len() <= NESTED_MAX;
        if own_scope {
            let taken = ["key", "value"].map(|name| (name.to_owned(), None)).to_vec();
            self.scopes.push(Scope { taken, ..Scope::default() });
        }
        let key = self.field("key", key, 1).map_err(|fault| fault.within("key"))?;
        let value = self.field("value", value, 2).map_err(|fault| fault.within("value"))?;
        let scope = if own_scope { self.scopes.pop() } else { None }.unwrap_or_default();
        self.around.pop();
        Ok(ProtoMessage {
            name,
            items: vec![Item::Field(key), Item::Field(value)],
            messages: scope.messages,
            enums: scope.enums,
            params: Vec::new(),
        })
    }

    fn enumeration(
        &mut self,
        schema: &Arc<Schema>,
        mut values: Vec<(String, i32)>,
    ) -> Result<String, Fault> {
        let name = schema.name().or_else(|| enum_name(schema)).unwrap_or("Enum");
        let name = self.names.checked(simple_name(name))?;
        for (symbol, _) in &values {
            self.names.checked_as_is(symbol)?;
        }
        match values.iter().position(|(_, number)| *number == 0) {
            Some(zero) => values.get_mut(..=zero).unwrap_or_default().rotate_right(1),
            // proto3 wants one.
            None => values.insert(0, (format!("{}_UNSPECIFIED", name.to_uppercase()), 0)),
        }
        let bare = bare(schema);
        let nested = self.around.len() > NESTED_MAX;
        let Some(scope) = self.scopes.last_mut() else { return Ok(name) };
        let same = |(_, schema): &&(String, Option<Arc<Schema>>)| schema.as_ref() == Some(&bare);
        let name = match scope.taken.iter().find(same) {
            Some((known, _)) => known.clone(),
            None => {
                let name = free_name(&scope.taken, name, "Enum");
                scope.taken.push((name.clone(), Some(bare)));
                scope.enums.push(ProtoEnum { name: name.clone(), values });
                name
            }
        };
        Ok(match (nested, self.around.get(NESTED_MAX - 1)) {
            (true, Some((_, host))) => format!(".{host}.{name}"),
            _ => name,
        })
    }

    fn name_or_default(&mut self, name: Option<&str>) -> String {
        if let Some(name) = name.filter(|name| !name.is_empty()) {
            return name.to_owned();
        }
        self.unnamed += 1;
        format!("ConnectDefault{}", self.unnamed)
    }

    fn full_name(&self, name: &str) -> String {
        let outer = self.around.get(..self.around.len().min(NESTED_MAX)).and_then(<[_]>::last);
        match outer {
            Some((_, outer)) => format!("{outer}.{name}"),
            None if self.package.is_empty() => name.to_owned(),
            None => format!("{}.{name}", self.package),
        }
    }

    fn use_meta(&mut self, params: &[(String, String)]) {
        if !params.is_empty() {
            self.imports.insert("confluent/meta.proto");
        }
    }
}

fn free_name(taken: &[(String, Option<Arc<Schema>>)], name: String, suffix: &str) -> String {
    let is_free = |name: &str| taken.iter().all(|(other, _)| other != name);
    if is_free(&name) {
        return name;
    }
    // An entry's name must end as it does.
    let stem = match (suffix, name.strip_suffix("Entry")) {
        ("Entry", Some(stem)) => stem.to_owned(),
        ("Entry", None) => name,
        _ if is_free(&format!("{name}{suffix}")) => return name + suffix,
        _ => name,
    };
    let tail = if suffix == "Entry" { suffix } else { "" };
    let numbered = (2_u32..).map(|number| format!("{stem}{number}{tail}"));
    numbered.into_iter().find(|name| is_free(name)).unwrap_or_default()
}

/// A type's schema without what its place adds.
fn bare(schema: &Schema) -> Arc<Schema> {
    super::names_of::without_place(schema)
}

/// Whether a struct is a oneof.
pub(super) fn is_union(schema: &Schema) -> bool {
    schema.kind() == Type::Struct
        && (schema.name().is_some_and(|name| name.starts_with(names::UNION))
            || schema.parameter(names::GENERAL_UNION).is_some())
}

/// Whether it is a map of entries, not one that stands for a message.
pub(super) fn is_map(schema: &Schema) -> bool {
    schema.kind() == Type::Map && schema.parameter(names::RECURSIVE).is_none()
}

fn enum_name(schema: &Schema) -> Option<&str> {
    schema.parameter(names::ENUM).or_else(|| schema.parameter(names::GENERAL_ENUM))
}

/// The symbols of a schema that is an enum, with their numbers.
fn enum_values(schema: &Schema) -> Option<Vec<(String, i32)>> {
    if !matches!(schema.kind(), Type::String | Type::Int32) {
        return None;
    }
    let keys = [names::ENUM, names::GENERAL_ENUM];
    let key = keys.into_iter().find(|key| schema.parameter(key).is_some())?;
    let values = schema.parameters().unwrap_or_default().iter();
    let values = values.filter_map(|(name, value)| {
        let symbol = name.strip_prefix(key)?.strip_prefix('.')?;
        Some((symbol.to_owned(), value.parse().ok()?))
    });
    Some(values.collect()).filter(|values: &Vec<_>| !values.is_empty())
}

/// The wrapper message of a primitive.
fn wrapper(schema: &Schema) -> Option<&'static str> {
    Some(match (schema.kind(), schema.parameter(names::TYPE)) {
        (Type::Int8 | Type::Int16 | Type::Int32, _) => "google.protobuf.Int32Value",
        (Type::Int64, Some("uint32" | "fixed32")) => "google.protobuf.UInt32Value",
        (Type::Int64, Some("uint64" | "fixed64")) => "google.protobuf.UInt64Value",
        (Type::Int64, _) => "google.protobuf.Int64Value",
        (Type::Float32, _) => "google.protobuf.FloatValue",
        (Type::Float64, _) => "google.protobuf.DoubleValue",
        (Type::Boolean, _) => "google.protobuf.BoolValue",
        (Type::String, _) => "google.protobuf.StringValue",
        (Type::Bytes, _) => "google.protobuf.BytesValue",
        (Type::Array | Type::Map | Type::Struct, _) => return None,
    })
}

fn plain_type(schema: &Schema) -> &'static str {
    const NARROW: [&str; 3] = ["int32", "sint32", "sfixed32"];
    const WIDE: [&str; 7] =
        ["int64", "uint32", "fixed32", "uint64", "sint64", "fixed64", "sfixed64"];
    let given = schema.parameter(names::TYPE);
    let known = |all: &[&'static str]| all.iter().copied().find(|name| Some(*name) == given);
    match schema.kind() {
        Type::Int8 | Type::Int16 => "int32",
        Type::Int32 => known(&NARROW).unwrap_or("int32"),
        Type::Int64 => known(&WIDE).unwrap_or("int64"),
        Type::Float32 => "float",
        Type::Float64 => "double",
        Type::Boolean => "bool",
        Type::String => "string",
        _ => "bytes",
    }
}

/// The name of a map's entries: `price_list` has `PriceListEntry`.
fn entry_name(map: &str) -> String {
    if !map.contains('_') {
        return format!("{map}Entry");
    }
    let mut out = String::new();
    for part in map.split('_') {
        let mut chars = part.chars();
        out.extend(chars.next().map(|c| c.to_ascii_uppercase()));
        out.extend(chars.map(|c| c.to_ascii_lowercase()));
    }
    out + "Entry"
}

/// Name, version and parameters that Protobuf has no place for.
fn extras(schema: &Schema, with_name: bool) -> Vec<(String, String)> {
    super::names_of::extras(schema, with_name)
}
