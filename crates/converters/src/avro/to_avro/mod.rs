//! Connect schemas to Avro schemas, attribute by attribute as Confluent's converter writes them, so
//! that a registry finds the schema again that the JVM has registered.
//!
//! What Avro has no place for travels in `connect.*` attributes of the type. A named type is written
//! out once; structs of one name are one record.
//!
//! Invariants: the same schema and options give the same text; whether the values of a struct fit
//! the record that its name stands for is checked when the writer is compiled, not here.
//!
//! Source: the behaviour of Confluent's `AvroData`, in its documentation and tests.

mod anything;
mod default;
mod names;
mod primitive;
mod props;
#[cfg(test)]
mod tests;

pub(super) use names::{scrubbed, scrubbed_full};
pub(super) use primitive::enum_of;
pub(super) use props::connect_logical_type;

use super::attributes::{
    AVRO_RECORD_DOC, FIELD_DOC_PREFIX, FIXED_SIZE, INTERNAL_TYPE, KEY_FIELD, MAP_ENTRY, NAMESPACE,
    RECORD_DOC, SUM_UNION, UNION, VALUE_FIELD,
};
use super::markers;
use super::options::AvroOptions;
use super::schema::{
    AvroBuilder, AvroSchema, DEPTH_MAX, Field, Id, Kind, Name, Node, Props, Record,
};
use data::{Schema, Type};
use names::Names;
use serde_json::Value as Json;

/// The Avro schema of a Connect schema; `None` is the schema of values that have none.
///
/// # Errors
/// What Avro cannot express, with the field.
pub(super) fn to_avro(
    schema: Option<&Schema>,
    options: &AvroOptions,
) -> Result<AvroSchema, String> {
    let mut mapper = Mapper {
        options,
        builder: AvroBuilder::default(),
        names: Names::default(),
        unnamed: Vec::new(),
        path: Vec::new(),
        depth: 0,
    };
    let root = mapper.child(schema).map_err(|message| match mapper.path.is_empty() {
        true => message,
        false => format!("{message} (field {})", mapper.path.join(".")),
    })?;
    Ok(mapper.builder.finish(root))
}

/// Whether a struct stands for a union: one of its fields has the value.
pub(super) fn is_union(schema: &Schema) -> bool {
    schema.kind() == Type::Struct
        && (schema.name() == Some(UNION) || schema.parameter(SUM_UNION).is_some())
}

/// Whether bytes are all of one length, which Avro has a named type for.
pub(super) fn fixed_size(schema: &Schema) -> Option<&str> {
    let size = schema.parameter(FIXED_SIZE)?;
    (schema.kind() == Type::Bytes && schema.name().is_some()).then_some(size)
}

struct Mapper<'a> {
    options: &'a AvroOptions,
    builder: AvroBuilder,
    names: Names<'a>,
    /// Records of structs without a name.
    unnamed: Vec<(&'a Schema, Id)>,
    /// The fields around what is mapped; where a fault happened, they stay.
    path: Vec<&'a str>,
    /// Types around.
    depth: usize,
}

impl<'a> Mapper<'a> {
    /// A schema as it says itself whether it is optional.
    fn child(&mut self, schema: Option<&'a Schema>) -> Result<Id, String> {
        match schema {
            Some(schema) => self.schema(schema, schema.is_optional(), false),
            None => Ok(anything::add(&mut self.builder)),
        }
    }

    /// An element of an array, a map or a union: where a struct of this name was begun already, it
    /// is a reference to that record.
    fn inner(&mut self, schema: &'a Schema, optional: bool, bare: bool) -> Result<Id, String> {
        let known = match schema.name().filter(|_| schema.kind() == Type::Struct) {
            Some(name) if !is_union(schema) => self.names.record(name),
            _ => None,
        };
        match known {
            Some(id) if bare => Ok(id),
            Some(id) => Ok(self.nullable(schema, optional, id)),
            None => self.schema(schema, optional, bare),
        }
    }

    fn element(&mut self, schema: Option<&'a Schema>) -> Result<Id, String> {
        match schema {
            Some(schema) => self.inner(schema, schema.is_optional(), false),
            None => Ok(anything::add(&mut self.builder)),
        }
    }

    /// `bare`: a branch of a union, which says itself whether there are nulls.
    fn schema(&mut self, schema: &'a Schema, optional: bool, bare: bool) -> Result<Id, String> {
        if self.depth >= DEPTH_MAX {
            return Err(format!("The schema has types nested deeper than {DEPTH_MAX} levels"));
        }
        self.depth += 1;
        let id = self.type_of(schema, optional, bare)?;
        self.depth -= 1;
        Ok(id)
    }

    fn type_of(&mut self, schema: &'a Schema, optional: bool, bare: bool) -> Result<Id, String> {
        if let Some(name) = markers::recursive_name(schema) {
            let id = self.recursion(name)?;
            return Ok(self.nullable(schema, optional && !bare, id));
        }
        let kind = match schema.kind() {
            Type::Struct if is_union(schema) => return self.union(schema, optional),
            Type::Struct if optional => {
                let null = self.builder.add(Node::new(Kind::Null));
                self.depth -= 1;
                let record = self.inner(schema, false, false)?;
                self.depth += 1;
                return Ok(self.builder.add(Node::new(Kind::Union(vec![null, record]))));
            }
            Type::Struct => return self.record(schema),
            Type::Array => Kind::Array(self.element(schema.value_schema().map(AsRef::as_ref))?),
            Type::Map if self.has_text_keys(schema) => {
                Kind::Map(self.element(schema.value_schema().map(AsRef::as_ref))?)
            }
            Type::Map => Kind::Array(self.map_entry(schema)?),
            _ => {
                let id = self.primitive(schema)?;
                return Ok(self.nullable(schema, optional && !bare, id));
            }
        };
        let props = self.attributes(schema, Props::new(), None)?;
        let id = self.builder.add(Node { kind, props });
        Ok(self.nullable(schema, optional && !bare, id))
    }

    /// Nulls come first, unless a default says that they do not.
    fn nullable(&mut self, schema: &Schema, optional: bool, id: Id) -> Id {
        if !optional {
            return id;
        }
        let null = self.builder.add(Node::new(Kind::Null));
        let branches = if schema.default().is_some() { vec![id, null] } else { vec![null, id] };
        self.builder.add(Node::new(Kind::Union(branches)))
    }

    /// The place where a record of Avro's contained itself.
    fn recursion(&mut self, name: &str) -> Result<Id, String> {
        let full = scrubbed_full(name, self.options.scrub_invalid_names);
        self.builder.named(&full).ok_or_else(|| {
            format!("The schema refers back to the record {name}, which is not around it any more")
        })
    }

    fn union(&mut self, schema: &'a Schema, optional: bool) -> Result<Id, String> {
        let mut branches = Vec::new();
        if optional {
            branches.push(self.builder.add(Node::new(Kind::Null)));
        }
        for field in schema.fields() {
            self.path.push(&field.name);
            let id = self.inner(&field.schema, false, true)?;
            self.branch(&branches, id)?;
            branches.push(id);
            self.path.pop();
        }
        Ok(self.builder.add(Node::new(Kind::Union(branches))))
    }

    /// Avro tells the branches of a union apart by their types, and named ones by their names.
    fn branch(&self, branches: &[Id], id: Id) -> Result<(), String> {
        let of = |id: Id| {
            let node = self.builder.node(id);
            (node.kind.type_name(), node.name())
        };
        if of(id).0 == "union" {
            return Err("Avro allows no union within a union".to_owned());
        }
        if branches.iter().any(|other| of(*other) == of(id)) {
            let what = of(id).1.map_or(of(id).0.to_owned(), ToString::to_string);
            return Err(format!("Two branches of a union are {what} in Avro"));
        }
        Ok(())
    }

    /// Whether the keys are the text that keys of Avro's maps are.
    fn has_text_keys(&self, schema: &Schema) -> bool {
        schema.key_schema().is_some_and(|keys| {
            keys.kind() == Type::String
                && (!keys.is_optional() || self.options.allow_optional_map_keys)
        })
    }

    fn record(&mut self, schema: &'a Schema) -> Result<Id, String> {
        if let Some(id) = self.known(schema)? {
            return Ok(id);
        }
        let name = match schema.name() {
            Some(name) => self.name(name)?,
            None => self.names.next_unnamed(),
        };
        let full = name.full();
        let doc = schema.parameter(match self.options.discard_type_doc_default {
            true => RECORD_DOC,
            false => AVRO_RECORD_DOC,
        });
        let empty = |fields| Record {
            name: name.clone(),
            doc: doc.map(str::to_owned),
            aliases: Vec::new(),
            fields,
            error: false,
        };
        let id = self.builder.add(Node::new(Kind::Record(empty(Vec::new()))));
        if let Some(name) = schema.name() {
            self.names.begin(name, id);
        }
        let mut fields: Vec<Field> = Vec::with_capacity(schema.fields().len());
        for field in schema.fields() {
            self.path.push(&field.name);
            let doc = format!("{FIELD_DOC_PREFIX}{}", field.name);
            let doc = schema.parameter(&doc).filter(|_| !self.options.discard_type_doc_default);
            let name = self.field_name(&field.name)?;
            if fields.iter().any(|other| other.name == name) {
                return Err(format!("Two fields of the record {full} are named {name}"));
            }
            fields.push(self.field(name, Some(&field.schema), doc)?);
            self.path.pop();
        }
        let props = self.attributes(schema, Props::new(), None)?;
        self.builder.set(id, Node { kind: Kind::Record(empty(fields)), props });
        if schema.name().is_none() {
            self.unnamed.push((schema, id));
        }
        Ok(id)
    }

    /// The record that this struct is: the one of its name, or of an equal struct without a name.
    fn known(&self, schema: &Schema) -> Result<Option<Id>, String> {
        let Some(name) = schema.name() else {
            let same = self.unnamed.iter().find(|(other, _)| props::same_required(other, schema));
            return Ok(same.map(|(_, id)| *id));
        };
        let full = scrubbed_full(name, self.options.scrub_invalid_names);
        match self.builder.named(&full) {
            Some(id) if matches!(self.builder.node(id).kind, Kind::Record(_)) => Ok(Some(id)),
            Some(id) => Err(format!(
                "Both a record and a type {} are named {full}",
                self.builder.node(id).kind.type_name()
            )),
            None => Ok(None),
        }
    }

    fn field(
        &mut self,
        name: String,
        schema: Option<&'a Schema>,
        doc: Option<&str>,
    ) -> Result<Field, String> {
        let seen =
            schema.is_some_and(|schema| self.names.seen(schema, self.options.scrub_invalid_names));
        let id = self.child(schema)?;
        let default = match schema {
            Some(schema) => match schema.default() {
                Some(value) => Some(default::json(self.options, schema, value)?),
                None => schema.is_optional().then_some(Json::Null),
            },
            None => None,
        };
        let default = default.filter(|json| default::is_valid(&self.builder, id, json));
        let doc = match self.options.discard_type_doc_default {
            true => schema.and_then(Schema::doc),
            false => doc,
        };
        let props = match schema.filter(|_| seen && self.options.connect_meta_data) {
            // The type is written out elsewhere: what this field says of it would be lost.
            Some(schema) if self.is_named(id) => self.parameters_prop(schema),
            _ => Props::new(),
        };
        Ok(Field {
            name,
            doc: doc.map(str::to_owned),
            aliases: Vec::new(),
            schema: id,
            default,
            order: None,
            props,
        })
    }

    fn is_named(&self, id: Id) -> bool {
        let node = self.builder.node(id);
        match &node.kind {
            Kind::Union(branches) => {
                branches.iter().any(|id| self.builder.node(*id).name().is_some())
            }
            _ => node.name().is_some(),
        }
    }

    /// The record of the entries of a map whose keys are no text.
    fn map_entry(&mut self, schema: &'a Schema) -> Result<Id, String> {
        let mut fields = Vec::with_capacity(2);
        for (name, of) in [(KEY_FIELD, schema.key_schema()), (VALUE_FIELD, schema.value_schema())] {
            self.path.push(name);
            fields.push(self.field(name.to_owned(), of.map(AsRef::as_ref), None)?);
            self.path.pop();
        }
        let wanted = match schema.name() {
            Some(name) => self.name(name)?,
            None => Name { namespace: NAMESPACE.to_owned(), simple: MAP_ENTRY.to_owned() },
        };
        let node = |name: Name, marked: bool, fields: Vec<Field>| {
            let record = Record { name, doc: None, aliases: Vec::new(), fields, error: false };
            let mut node = Node::new(Kind::Record(record));
            if marked {
                node.props.insert(INTERNAL_TYPE.to_owned(), Json::from(MAP_ENTRY));
            }
            node
        };
        self.distinct(wanted, |name, changed| {
            node(name, schema.name().is_some() || changed, fields.clone())
        })
    }
}
