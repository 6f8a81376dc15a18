//! An Avro schema as a Connect schema.
//!
//! Every type is mapped once, required and without a default; a field's own doc, default and
//! whether it is optional are laid over that. So a schema that names one type in many places costs
//! no more than its text. A record within itself has no finite Connect schema: in that place stands
//! a MAP of STRING to unknown with the parameter [`RECURSIVE`], whose values describe themselves.
//!
//! Invariants: the schema of a type's parts is the same wherever the type is met; a default that is
//! no value of its schema is dropped, as in Connect; how large the schema is when everything is
//! written out is limited.

mod defaults;
mod kinds;

#[cfg(test)]
mod tests;

pub(crate) use defaults::Defaults;
pub(crate) use kinds::{int_type, is_anything, is_map_entry, logical, map_entry};

use super::attributes::{
    CONNECT_DEFAULT, DEFAULT, DOC, FIELD_DEFAULT_FLAG, PARAMETERS, RECURSIVE, VERSION,
};
use super::options::AvroOptions;
use super::schema::{AvroSchema, DEPTH_MAX, Id, Kind, Node};
use data::{Schema, SchemaBuilder, Type};
use serde_json::Value as Json;
use std::sync::Arc;

/// Types of a schema, counted wherever they are met again. A value has a cell for each.
const TYPES_MAX: u64 = 100_000;

/// The Connect schema of an Avro schema; `None` where that is the one of values without a schema.
/// `version` is the registry's number of it.
///
/// # Errors
/// What Connect has no schema for, with the path of the type.
pub(crate) fn to_connect(
    avro: &AvroSchema,
    options: &AvroOptions,
    version: Option<i32>,
) -> Result<Option<Arc<Schema>>, String> {
    if is_anything(avro, avro.root()) {
        return Ok(None);
    }
    let mut mapping = Mapping {
        avro,
        options,
        states: (0..avro.len()).map(|_| State::New).collect(),
        path: Vec::new(),
        unions: 0,
        types: 0,
    };
    let of = Use { version, ..Use::default() };
    match mapping.schema(avro.root(), of, 1) {
        Ok(schema) => Ok(Some(schema)),
        Err(what) if mapping.path.is_empty() => Err(what),
        Err(what) => Err(format!("{what} (at {})", mapping.path.join("."))),
    }
}

/// Whether a Connect schema stands for a record within itself.
pub(crate) fn is_recursive(schema: &Schema) -> bool {
    schema.kind() == Type::Map && schema.parameter(RECURSIVE).is_some()
}

/// What is known of a type: nothing, that it is being mapped, or its schema and how many types there
/// are in it.
enum State {
    New,
    Open,
    Done(Arc<Schema>, u64),
}

/// How a type is used in one place.
#[derive(Clone, Copy, Default)]
struct Use<'a> {
    optional: bool,
    /// The default of the field that it is the type of.
    default: Option<&'a Json>,
    doc: Option<&'a str>,
    version: Option<i32>,
}

struct Mapping<'a> {
    avro: &'a AvroSchema,
    options: &'a AvroOptions,
    states: Vec<State>,
    /// Where in the schema the mapping is, for errors; stays as it was where one occurred.
    path: Vec<String>,
    /// Unions so far, which are numbered where they have the generalized form.
    unions: u32,
    /// Types so far in what is being mapped.
    types: u64,
}

impl<'a> Mapping<'a> {
    /// The schema of a type as it is used in one place.
    fn schema(&mut self, id: Id, of: Use<'_>, depth: usize) -> Result<Arc<Schema>, String> {
        if depth > DEPTH_MAX {
            return Err(format!("The schema has types nested deeper than {DEPTH_MAX} levels"));
        }
        if let Some((inner, optional)) = self.flattened(id) {
            let of = Use { optional, doc: of.doc, ..Use::default() };
            return self.schema(inner, of, depth);
        }
        match self.states.get(id.index()) {
            Some(State::Open) => self.recursive(id, of.optional),
            Some(State::Done(schema, types)) => {
                let schema = schema.clone();
                self.count(*types)?;
                self.used(id, &schema, of)
            }
            _ => {
                let schema = self.bare(id, depth)?;
                self.used(id, &schema, of)
            }
        }
    }

    /// The type that a union is in truth, and whether it is optional.
    fn flattened(&self, id: Id) -> Option<(Id, bool)> {
        let Kind::Union(branches) = self.avro.kind(id) else { return None };
        flattened(self.avro, self.options, branches)
    }

    fn count(&mut self, types: u64) -> Result<(), String> {
        self.types = self.types.saturating_add(types);
        if self.types > TYPES_MAX {
            let what = "The schema has more than";
            return Err(format!("{what} {TYPES_MAX} types where all of them are written out"));
        }
        Ok(())
    }

    fn recursive(&mut self, id: Id, optional: bool) -> Result<Arc<Schema>, String> {
        self.count(1)?;
        let name = self.avro.node(id).name().map(ToString::to_string).unwrap_or_default();
        let builder = SchemaBuilder::map_of(Some(Schema::required_of(Type::String)), None);
        let builder = builder.parameter(RECURSIVE, &name);
        built(if optional { builder.optional() } else { builder })
    }

    /// The schema of a type, required and without a default.
    fn bare(&mut self, id: Id, depth: usize) -> Result<Arc<Schema>, String> {
        let outer = std::mem::take(&mut self.types);
        self.set(id, State::Open);
        let children = self.children(id, depth)?;
        self.complete(id, children, outer)
    }

    fn complete(
        &mut self,
        id: Id,
        children: kinds::Children,
        outer: u64,
    ) -> Result<Arc<Schema>, String> {
        let node = self.avro.node(id);
        let builder = self.typed(node, children)?;
        let schema = self.attributes(node, builder)?;
        let types = std::mem::replace(&mut self.types, outer).saturating_add(1);
        self.set(id, State::Done(schema.clone(), types));
        self.count(types)?;
        Ok(schema)
    }

    fn set(&mut self, id: Id, state: State) {
        if let Some(slot) = self.states.get_mut(id.index()) {
            *slot = state;
        }
    }

    /// What every type may say about its Connect schema.
    fn attributes(&self, node: &Node, builder: SchemaBuilder) -> Result<Arc<Schema>, String> {
        let mut schema = builder.build().map_err(|fault| fault.0)?;
        let mut builder = SchemaBuilder::copy(&schema);
        if let Some(version) = version(node)?
            && schema.version().is_none()
        {
            builder = builder.version(version);
        }
        builder = self.parameters(node, builder)?;
        if let Some(name) = name(node, &schema)? {
            let own = schema.name().filter(|own| *own != name);
            if let Some(own) = own {
                return Err(format!("A type has two names in Connect: {own} and {name}"));
            }
            builder = builder.name(&name);
        }
        schema = builder.build().map_err(|fault| fault.0)?;
        Ok(Arc::new(schema))
    }

    fn parameters(&self, node: &Node, mut builder: SchemaBuilder) -> Result<SchemaBuilder, String> {
        if let Some(parameters) =
            node.props.get(PARAMETERS).filter(|_| self.options.connect_meta_data)
        {
            let Json::Object(list) = parameters else {
                return Err(format!("{PARAMETERS} is no JSON object: {parameters}"));
            };
            for (name, value) in list {
                let Json::String(value) = value else {
                    return Err(format!("{PARAMETERS} has a value that is no text: {value}"));
                };
                builder = builder.parameter(name, value);
            }
        }
        Ok(kinds::avro_parameters(node, builder))
    }

    /// A type's schema in one place: optional, with a doc, a default, the version of the whole.
    fn used(&self, id: Id, bare: &Arc<Schema>, of: Use<'_>) -> Result<Arc<Schema>, String> {
        let node = self.avro.node(id);
        let own_default = node.props.get(DEFAULT);
        let doc = self.doc(node, of.doc);
        let version = of.version.filter(|_| bare.version().is_none());
        let default = of.default.or(own_default);
        if !of.optional && default.is_none() && doc.is_none() && version.is_none() {
            return Ok(bare.clone());
        }
        let mut builder = SchemaBuilder::copy(bare);
        if let Some(doc) = doc {
            builder = builder.doc(doc);
        }
        if let Some(version) = version {
            builder = builder.version(version);
        }
        let flag = !self.options.discard_type_doc_default && self.options.connect_meta_data;
        if flag && of.default.is_some() && own_default.is_none() {
            builder = builder.parameter(FIELD_DEFAULT_FLAG, "true");
        }
        if of.optional {
            builder = builder.optional();
        }
        let schema = built(builder)?;
        let value = default.and_then(|json| {
            Defaults { avro: self.avro, options: self.options }.value(id, Some(&schema), json)
        });
        match value {
            Some(value) if schema.validate(None, &value).is_ok() => {
                built(SchemaBuilder::copy(&schema).default(value))
            }
            _ => Ok(schema),
        }
    }

    fn doc<'b>(&self, node: &'b Node, of_field: Option<&'b str>) -> Option<&'b str> {
        if self.options.discard_type_doc_default {
            return of_field.or(node.doc()).or(node.prop(DOC));
        }
        node.prop(DOC).filter(|_| self.options.connect_meta_data)
    }
}

/// The type that a union is in truth, if it is none in Connect, and whether that is optional.
pub(crate) fn flattened(
    avro: &AvroSchema,
    options: &AvroOptions,
    branches: &[Id],
) -> Option<(Id, bool)> {
    let is_null = |id: Id| matches!(avro.kind(id), Kind::Null);
    match *branches {
        [one] if options.flatten_singleton_unions => Some((one, false)),
        [null, other] | [other, null] if is_null(null) && !is_null(other) => Some((other, true)),
        _ => None,
    }
}

fn built(builder: SchemaBuilder) -> Result<Arc<Schema>, String> {
    builder.build().map(Arc::new).map_err(|fault| fault.0)
}

fn version(node: &Node) -> Result<Option<i32>, String> {
    let Some(version) = node.props.get(VERSION) else { return Ok(None) };
    let number = version.as_f64().ok_or_else(|| format!("{VERSION} is no number: {version}"))?;
    Ok(Some(number as i32).filter(|version| *version >= 0))
}

/// The name of the Connect schema, as far as the Avro type says one.
fn name(node: &Node, schema: &Schema) -> Result<Option<String>, String> {
    let name = match node.props.get(super::attributes::NAME) {
        Some(Json::String(name)) => Some(name.clone()),
        Some(other) => return Err(format!("connect.name is no text: {other}")),
        None if matches!(node.kind, Kind::Fixed(_)) && schema.name().is_some() => None,
        None => node.name().map(ToString::to_string),
    };
    Ok(name.filter(|name| !name.starts_with(CONNECT_DEFAULT)))
}
