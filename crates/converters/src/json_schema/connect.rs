//! JSON Schema to a Connect schema, and in the same walk to the plan by which values are read.
//!
//! The rules are those of Confluent's converter; where it would lose what a schema says of a value
//! (the title or default beside an `enum` with a type, or beside `oneOf` with null), it is kept.
//!
//! Invariants: a schema that contains itself is never followed twice on one path: there the schema
//! is a map of unknown values with the parameter [`ID`]; depth is limited, so everything that follows
//! may recurse.

use super::documents::{Anchors, At, Documents};
use super::options::Options;
use super::parts::{Part, Sub, alternatives, parts};
use super::read::{Anything, Entries, Free, Symbol};
use super::stack::{deep, nesting};
use super::tree::Json;
use super::union::Union;
use super::{ANY, CONNECT_ENUM, CONNECT_UNION, ENUM, ID, ONE_OF};
use crate::json::plan::{Absent, Fields, Plan, Read};
use data::{Schema, SchemaBuilder, Type};
use registry::Registered;
use std::sync::Arc;

/// How deep a schema may be: structs, arrays, maps and unions within each other.
pub(super) const LEVELS_MAX: usize = 300;

/// Schema objects within each other, those that add no level included.
const PATH_MAX: usize = 1000;

/// Plans of one schema; a schema whose parts refer to each other can have very many.
const PLANS_MAX: usize = 100_000;

/// Compiles the schema that records of a registry's id have.
///
/// # Errors
/// Why it cannot be read.
pub(super) fn compile(options: &Options, schema: &Registered) -> Result<Plan, String> {
    deep(nesting(schema), || compile_here(options, schema))
}

fn compile_here(options: &Options, schema: &Registered) -> Result<Plan, String> {
    let documents = Documents::new(schema)?;
    let root = documents.root().ok_or("it is empty")?;
    let mut compiler = Compiler {
        options,
        anchors: documents.anchors(),
        documents: &documents,
        path: Vec::new(),
        ids: 0,
        unions: 0,
        plans: 0,
        levels: 0,
        modern: is_modern(options, root.node),
    };
    compiler.convert(Sub::new(root), false, schema.version)
}

fn is_modern(options: &Options, root: &Json) -> bool {
    let draft = root.text("$schema").unwrap_or_default();
    !options.ignore_modern && (draft.contains("/2019-09/") || draft.contains("/2020-12/"))
}

pub(super) struct Compiler<'a, 't> {
    pub(super) options: &'a Options,
    pub(super) documents: &'t Documents,
    anchors: Anchors<'t>,
    /// The schemas that are being converted, the outermost first.
    path: Vec<Frame<'t>>,
    ids: u32,
    unions: u32,
    plans: usize,
    /// Levels of values around the current place.
    levels: usize,
    modern: bool,
}

struct Frame<'t> {
    at: At<'t>,
    /// Its number, once something in it refers to it.
    id: Option<u32>,
}

/// A plan that lacks what the schema's annotations say: name, doc and so on.
pub(super) struct Bare {
    pub(super) builder: SchemaBuilder,
    /// None for a primitive type, whose name may still say how it is read.
    pub(super) read: Option<Read>,
}

type Converted = Result<Plan, String>;

impl<'t> Compiler<'_, 't> {
    /// Converts a schema; `version` is the registry's, for the outermost.
    pub(super) fn convert(
        &mut self,
        sub: Sub<'t>,
        optional: bool,
        version: Option<i32>,
    ) -> Converted {
        self.plans += 1;
        if self.levels > LEVELS_MAX || self.path.len() >= PATH_MAX {
            return Err(format!("the schema is nested deeper than {LEVELS_MAX} levels"));
        }
        if self.plans > PLANS_MAX {
            return Err(format!("the schema has more than {PLANS_MAX} parts"));
        }
        self.path.push(Frame { at: sub.at, id: None });
        let converted = self.dispatch(sub, optional, version);
        self.path.pop();
        converted
    }

    fn dispatch(&mut self, sub: Sub<'t>, optional: bool, version: Option<i32>) -> Converted {
        let At { node, .. } = sub.at;
        match node {
            Json::Bool(true) => return self.anything(sub.at, version),
            Json::Object(_) => {}
            other => return Err(format!("{} is no schema that values can have", other.plain())),
        }
        if let Some(part) = sub.only {
            return self.part(sub.at, part, optional, version);
        }
        if let Some(reference) = node.text("$ref") {
            return self.reference(sub.at, reference, optional, version);
        }
        match parts(node)?.as_slice() {
            [] => self.anything(sub.at, version),
            [part] => self.part(sub.at, *part, optional, version),
            several => {
                let plan = self.all_of(sub.at, several, optional, version)?;
                self.annotate(plan, sub.at, None, false)
            }
        }
    }

    fn anything(&mut self, at: At<'t>, version: Option<i32>) -> Converted {
        let builder =
            SchemaBuilder::new(Type::String).name(super::JSON_NAME).parameter(ANY, "true");
        let bare = Bare { builder, read: Some(Read::Custom(Box::new(Anything))) };
        self.finish(bare, at, version, true)
    }

    /// The schema that a `$ref` means.
    fn reference(
        &mut self,
        at: At<'t>,
        reference: &str,
        optional: bool,
        version: Option<i32>,
    ) -> Converted {
        let found = self.follow(at, reference)?;
        if self.modern && parts(at.node).is_ok_and(|parts| !parts.is_empty()) {
            return self.all_of(at, &[], optional, version);
        }
        let plan = match self.recursion(found)? {
            Some(plan) => plan,
            None => self.convert(Sub::new(found), optional, version)?,
        };
        if self.modern { self.annotate(plan, at, None, false) } else { Ok(plan) }
    }

    /// Follows a `$ref` until there is something else.
    fn follow(&self, at: At<'t>, reference: &str) -> Result<At<'t>, String> {
        let (mut at, mut reference) = (at, reference);
        for _ in 0..LEVELS_MAX {
            let found = self.find(at, reference);
            at = found.ok_or_else(|| format!("$ref \"{reference}\" leads nowhere"))?;
            match at.node.text("$ref") {
                Some(next) if !self.modern || at.node.members().len() == 1 => reference = next,
                _ => return Ok(at),
            }
        }
        Err(format!("$ref \"{reference}\" leads back to itself"))
    }

    pub(super) fn find(&self, at: At<'t>, reference: &str) -> Option<At<'t>> {
        self.documents.find(&self.anchors, at, reference)
    }

    /// Whether what stands beside a `$ref` counts.
    pub(super) fn is_modern(&self) -> bool {
        self.modern
    }

    /// What stands where a schema contains itself; none if this one does not.
    fn recursion(&mut self, found: At<'t>) -> Result<Option<Plan>, String> {
        if !self.path.iter().any(|frame| frame.at.is(&found)) {
            return Ok(None);
        }
        let mut properties = Vec::new();
        self.collect(found, &mut properties, &mut Vec::new());
        if found.node.text("type") != Some("object") && properties.is_empty() {
            return self.anything(At { document: 0, node: &Json::Null }, None).map(Some);
        }
        let mut frames = self.path.iter_mut().rev();
        let Some(frame) = frames.find(|frame| frame.at.is(&found)) else { return Ok(None) };
        let next = &mut self.ids;
        let id = *frame.id.get_or_insert_with(|| {
            *next += 1;
            *next
        });
        let names = properties.iter().map(|property| property.name.to_owned()).collect();
        let builder = SchemaBuilder::map_of(Some(Schema::required_of(Type::String)), None);
        let schema = builder.parameter(ID, &id_text(id)).optional().build();
        let schema = Arc::new(schema.map_err(|error| error.0)?);
        Ok(Some(Plan { schema, read: Read::Custom(Box::new(Free { names })) }))
    }

    /// The number of the schema being converted, where something in it refers to it.
    pub(super) fn own_id(&self) -> Option<String> {
        self.path.last().and_then(|frame| frame.id).map(id_text)
    }

    /// Converts one part of a schema.
    pub(super) fn part(
        &mut self,
        at: At<'t>,
        part: Part<'t>,
        optional: bool,
        version: Option<i32>,
    ) -> Converted {
        let bare = match part {
            Part::Boolean => primitive(Type::Boolean),
            Part::Integer | Part::Number => primitive(number_type(at.node, part)?),
            Part::Text if at.node.text("connect.type") == Some("bytes") => primitive(Type::Bytes),
            Part::Text => super::annotate::text(at.node),
            Part::Enum(values) => self.symbols(values),
            Part::Const(value) => self.symbols(std::slice::from_ref(value)),
            Part::Any(_) | Part::Types(_) => return self.any_of(at, part, optional, version),
            Part::All(list) => {
                if let [one] = list
                    && self.options.flatten_singletons
                {
                    let sub = Sub::new(At { document: at.document, node: one });
                    let plan = self.convert(sub, optional, version)?;
                    return self.annotate(plan, at, None, false);
                }
                let plan = self.all_of(at, &[part], optional, version)?;
                return self.annotate(plan, at, None, false);
            }
            Part::Array => self.array(at)?,
            Part::Object => self.object(at)?,
            Part::Null => return Err("null is the only value that a schema allows".to_owned()),
            Part::Condition => {
                return Err(
                    "a schema says only what a value is not, or under which condition".into()
                );
            }
        };
        self.finish(bare, at, version, optional)
    }

    fn symbols(&self, values: &[Json]) -> Bare {
        let name = if self.options.generalized { CONNECT_ENUM } else { ENUM };
        let mut builder = SchemaBuilder::new(Type::String).parameter(name, "");
        for (index, value) in values.iter().enumerate() {
            let symbol = match value {
                Json::Null => super::NULL_SYMBOL.to_owned(),
                other => other.plain(),
            };
            let ordinal = index.to_string();
            let means = if self.options.generalized { &ordinal } else { &symbol };
            builder = builder.parameter(&format!("{name}.{symbol}"), means);
        }
        let texts = values.iter().all(|value| matches!(value, Json::Text(_) | Json::Null));
        Bare { builder, read: (!texts).then(|| Read::Custom(Box::new(Symbol))) }
    }

    fn any_of(
        &mut self,
        at: At<'t>,
        part: Part<'t>,
        optional: bool,
        version: Option<i32>,
    ) -> Converted {
        let subs = alternatives(at, part)?;
        let flatten = self.options.flatten_singletons;
        let null = subs.iter().any(Sub::is_null);
        let others: Vec<Sub<'t>> = subs.iter().filter(|sub| !sub.is_null()).copied().collect();
        match (subs.as_slice(), others.as_slice()) {
            ([one], _) if flatten => {
                let plan = self.convert(*one, optional, version)?;
                return self.annotate(plan, at, None, false);
            }
            ([_, _], [one]) if null => {
                let plan = self.convert(*one, true, version)?;
                return self.annotate(plan, at, None, false);
            }
            (_, []) => return Err("a combination allows no value but null".to_owned()),
            _ => {}
        }
        let prefix = if self.options.generalized { "connect_union_field_" } else { ONE_OF_FIELD };
        let mut builder = SchemaBuilder::structure();
        if self.options.generalized {
            let name = format!("connect_union_{}", self.unions);
            self.unions += 1;
            builder = builder.name(&name).parameter(CONNECT_UNION, &name);
        } else {
            builder = builder.name(ONE_OF);
        }
        let mut branches = Vec::with_capacity(others.len());
        self.levels += 1;
        for (index, sub) in others.into_iter().enumerate() {
            let plan = self.convert(sub, true, None)?;
            builder = builder.field(&format!("{prefix}{index}"), Arc::clone(&plan.schema));
            branches.push(plan);
        }
        self.levels -= 1;
        let bare = Bare { builder, read: Some(Read::Custom(Box::new(Union { branches }))) };
        self.finish(bare, at, version, optional || null)
    }

    /// Converts what is in an array or a map.
    fn element(&mut self, sub: Sub<'t>) -> Converted {
        self.levels += 1;
        let converted = self.convert(sub, false, None);
        self.levels -= 1;
        converted
    }

    fn array(&mut self, at: At<'t>) -> Result<Bare, String> {
        let Some(items @ (Json::Object(_) | Json::Bool(true))) = at.node.get("items") else {
            return Err("Array schema did not specify the items type".to_owned());
        };
        let items = At { document: at.document, node: items };
        let is_map = at.node.text("connect.type") == Some("map");
        let property = |name| items.node.get("properties").and_then(|list| list.get(name));
        if is_map && let (Some(key), Some(value)) = (property("key"), property("value")) {
            let of = |node| Sub::new(At { document: at.document, node });
            let keys = self.element(of(key))?;
            let values = self.element(of(value))?;
            let builder = SchemaBuilder::map(Arc::clone(&keys.schema), Arc::clone(&values.schema));
            let read = Read::Custom(Box::new(Entries { keys, values }));
            return Ok(Bare { builder, read: Some(read) });
        }
        let plan = self.element(Sub::new(items))?;
        let builder = SchemaBuilder::array(Arc::clone(&plan.schema));
        Ok(Bare { builder, read: Some(Read::List(Box::new(plan))) })
    }

    fn object(&mut self, at: At<'t>) -> Result<Bare, String> {
        if at.node.text("connect.type") == Some("map") {
            let keys = Schema::required_of(Type::String);
            return match at.node.get("additionalProperties") {
                Some(node @ Json::Object(_)) => {
                    let values = Sub::new(At { document: at.document, node });
                    let values = self.element(values)?;
                    let builder = SchemaBuilder::map(keys, Arc::clone(&values.schema));
                    Ok(Bare { builder, read: Some(Read::Object(Box::new(values))) })
                }
                _ => {
                    let builder = SchemaBuilder::map_of(Some(keys), None);
                    let free = Free { names: std::collections::HashSet::new() };
                    Ok(Bare { builder, read: Some(Read::Custom(Box::new(free))) })
                }
            };
        }
        let required = at.node.get("required").map(Json::items).unwrap_or_default();
        let properties = at.node.get("properties").map(Json::members).unwrap_or_default();
        let properties = properties.iter().map(|property| Property {
            name: &property.name,
            at: At { document: at.document, node: &property.value },
            required: required
                .iter()
                .any(|name| matches!(name, Json::Text(n) if *n == property.name)),
        });
        let mut bare = self.structure(properties.collect())?;
        if let Some(Read::Struct(fields)) = &mut bare.read {
            fields.closed = at.node.get("additionalProperties") == Some(&Json::Bool(false));
        }
        Ok(bare)
    }

    /// A struct of these properties, in the order that `connect.index` gives.
    pub(super) fn structure(&mut self, properties: Vec<Property<'t>>) -> Result<Bare, String> {
        let mut ordered: Vec<(i64, Property<'t>)> = Vec::with_capacity(properties.len());
        for (place, property) in (0_i64..).zip(properties) {
            let index = property.at.node.integer("connect.index");
            ordered.push((index.map_or(place, i64::from), property));
        }
        ordered.sort_by_key(|(index, _)| *index);
        let mut builder = SchemaBuilder::structure();
        let mut plans = Vec::with_capacity(ordered.len());
        self.levels += 1;
        for (_, property) in ordered {
            let optional = self.options.optional_for_nonrequired && !property.required;
            let plan = self.convert(Sub::new(property.at), optional, None);
            let plan = plan.map_err(|error| super::annotate::within(property.name, &error))?;
            builder = builder.field(property.name, Arc::clone(&plan.schema));
            let absent = if property.required && !plan.schema.is_optional() {
                Absent::Fault
            } else {
                Absent::Null
            };
            plans.push((property.name, plan, absent));
        }
        self.levels -= 1;
        if let Some(id) = self.own_id() {
            builder = builder.parameter(ID, &id);
        }
        Ok(Bare { builder, read: Some(Read::Struct(Fields::of(plans))) })
    }
}

/// A property of a struct.
#[derive(Clone, Copy)]
pub(super) struct Property<'t> {
    pub(super) name: &'t str,
    pub(super) at: At<'t>,
    pub(super) required: bool,
}

const ONE_OF_FIELD: &str = "io.confluent.connect.json.OneOf.field.";

fn id_text(id: u32) -> String {
    format!("#id{id}")
}

pub(super) fn primitive(kind: Type) -> Bare {
    Bare { builder: SchemaBuilder::new(kind), read: None }
}

fn number_type(node: &Json, part: Part<'_>) -> Result<Type, String> {
    Ok(match node.text("connect.type") {
        None if part == Part::Integer => Type::Int64,
        None => Type::Float64,
        Some("int8") => Type::Int8,
        Some("int16") => Type::Int16,
        Some("int32") => Type::Int32,
        Some("int64") => Type::Int64,
        Some("float32") => Type::Float32,
        Some("float64") => Type::Float64,
        Some("bytes") => Type::Bytes,
        Some(other) => return Err(format!("Unsupported type {other}")),
    })
}
