//! What a schema says beside its type: title, description, version, parameters, default; and `allOf`,
//! whose parts are one schema.

use super::connect::{Bare, Compiler, Property, primitive};
use super::documents::At;
use super::parts::{Part, Sub, parts};
use super::read::Iso;
use super::tree::Json;
use crate::json::plan::{Plan, Read};
use crate::json::read::{Reader, Scratch};
use crate::json::scan::Scanner;
use data::{DATE, Rows, SchemaBuilder, TIME, TIMESTAMP, Type, Value};
use std::sync::Arc;

type Converted = Result<Plan, String>;

/// A string: text, or a date under one of Connect's names if the format says so, too.
pub(super) fn text(node: &Json) -> Bare {
    let kind = match (node.text("title"), node.text("format")) {
        (Some(DATE), Some("date")) | (Some(TIME), Some("time")) => Type::Int32,
        (Some(TIMESTAMP), Some("date-time")) => Type::Int64,
        _ => return primitive(Type::String),
    };
    Bare { builder: SchemaBuilder::new(kind), read: Some(Read::Custom(Box::new(Iso))) }
}

/// An error, seen from outside the property it is in.
pub(super) fn within(property: &str, error: &str) -> String {
    match error.strip_prefix("property ") {
        Some(rest) => format!("property {property}.{rest}"),
        None => format!("property {property}: {error}"),
    }
}

impl<'t> Compiler<'_, 't> {
    /// Adds what the schema says beside its type.
    pub(super) fn finish(
        &mut self,
        bare: Bare,
        at: At<'t>,
        version: Option<i32>,
        optional: bool,
    ) -> Converted {
        let schema = Arc::new(bare.builder.build().map_err(|error| error.0)?);
        let read = bare.read.unwrap_or_else(|| Read::Nothing(String::new()));
        self.annotate(Plan { schema, read }, at, version, optional)
    }

    /// Adds what the schema says beside its type, where the plan lacks it.
    pub(super) fn annotate(
        &mut self,
        plan: Plan,
        at: At<'t>,
        version: Option<i32>,
        optional: bool,
    ) -> Converted {
        let old = Arc::clone(&plan.schema);
        let mut builder = SchemaBuilder::copy(&old);
        if let Some(title) = at.node.text("title").filter(|_| old.name().is_none()) {
            builder = builder.name(title);
        }
        if old.version().is_none()
            && let Some(version) = at.node.integer("connect.version").or(version)
        {
            builder = builder.version(version);
        }
        if let Some(doc) = at.node.text("description").filter(|_| old.doc().is_none()) {
            builder = builder.doc(doc);
        }
        for parameter in at.node.get("connect.parameters").map(Json::members).unwrap_or_default() {
            if old.parameter(&parameter.name).is_none() {
                builder = builder.parameter(&parameter.name, &parameter.value.plain());
            }
        }
        if optional {
            builder = builder.optional();
        }
        let schema = Arc::new(builder.build().map_err(|error| error.0)?);
        let mut plan = plan;
        if schema.is_primitive() && !matches!(plan.read, Read::Custom(_)) {
            plan = Plan::new(&schema, 0).map_err(|fault| fault.message().to_owned())?;
        }
        plan.schema = schema;
        if old.default().is_none() {
            self.default(&mut plan, at);
        }
        Ok(plan)
    }

    /// The default, where it is a value of the schema.
    fn default(&self, plan: &mut Plan, at: At<'t>) {
        let Some(member) = at.node.member("default") else { return };
        if member.value == Json::Null {
            return;
        }
        let text = self.documents.bytes(at.document, member.raw.clone());
        if let Some(value) = read_default(plan, text)
            && let Ok(schema) = SchemaBuilder::copy(&plan.schema).default(value).build()
        {
            plan.schema = Arc::new(schema);
        }
    }

    /// Parts that hold at once: `several` of one schema object, or those of an `allOf`.
    pub(super) fn all_of(
        &mut self,
        at: At<'t>,
        several: &[Part<'t>],
        optional: bool,
        version: Option<i32>,
    ) -> Converted {
        let mut properties = Vec::new();
        self.collect(at, &mut properties, &mut Vec::new());
        let is_map = at.node.text("connect.type") == Some("map");
        if !properties.is_empty() && !is_map {
            let bare = self.structure(properties)?;
            return self.finish(bare, at, version, optional);
        }
        if let [Part::All(list)] = several {
            return self.choose_member(at, list, optional, version);
        }
        if several.is_empty() {
            return self.modern_reference(at, optional, version);
        }
        let of = |wanted: fn(&Part<'t>) -> bool| several.iter().copied().find(wanted);
        let combined = of(|part| matches!(part, Part::Any(_) | Part::All(_) | Part::Types(_)));
        let number = of(|part| matches!(part, Part::Integer | Part::Number));
        let text = of(|part| *part == Part::Text);
        let one_of = of(|part| matches!(part, Part::Enum(_)));
        let constant = of(|part| matches!(part, Part::Const(_)));
        let chosen = combined
            .or_else(|| constant.and(text.or(number)))
            .or_else(|| one_of.and(text.and(one_of).or(number).or(one_of)))
            .or_else(|| text.and(number))
            .or_else(|| of(|part| *part != Part::Condition && *part != Part::Null));
        match chosen {
            Some(part) => self.part(at, part, optional, version),
            None => Err("a schema says only what a value is not, or under which condition".into()),
        }
    }

    /// What stands beside a `$ref`, of a draft in which that counts.
    fn modern_reference(&mut self, at: At<'t>, optional: bool, version: Option<i32>) -> Converted {
        match parts(at.node)?.as_slice() {
            [part] => self.part(at, *part, optional, version),
            several => self.all_of(at, several, optional, version),
        }
    }

    /// The member of an `allOf` without properties that says what the value is.
    fn choose_member(
        &mut self,
        at: At<'t>,
        list: &'t [Json],
        optional: bool,
        version: Option<i32>,
    ) -> Converted {
        let subs: Vec<Sub<'t>> =
            list.iter().map(|node| Sub::new(At { document: at.document, node })).collect();
        let kinds: Vec<Vec<Part<'t>>> = list.iter().map(parts).collect::<Result<_, _>>()?;
        let is_ref = |sub: &Sub<'t>| sub.at.node.has(&["$ref"]);
        let find = |wanted: &dyn Fn(&[Part<'t>]) -> bool| {
            let mut pairs = subs.iter().zip(&kinds);
            pairs.find(|(sub, parts)| !is_ref(sub) && wanted(parts)).map(|(sub, _)| *sub)
        };
        let combined = find(&|parts| {
            let combination =
                |part: &Part<'_>| matches!(part, Part::Any(_) | Part::All(_) | Part::Types(_));
            parts.len() > 1 || parts.iter().any(combination)
        });
        let one = |wanted: fn(&Part<'t>) -> bool| {
            find(&move |parts: &[Part<'t>]| matches!(parts, [part] if wanted(part)))
        };
        let number = one(|part| matches!(part, Part::Integer | Part::Number));
        let text = one(|part| *part == Part::Text);
        let one_of = one(|part| matches!(part, Part::Enum(_)));
        let constant = one(|part| matches!(part, Part::Const(_)));
        let chosen = combined
            .or_else(|| constant.and(text.or(number)))
            .or_else(|| one_of.and(text.and(one_of).or(number).or(one_of)))
            .or_else(|| text.and(number.or(text)))
            .or_else(|| subs.iter().copied().find(is_ref))
            .or(number)
            .or(constant)
            .or_else(|| one(|part| *part != Part::Condition && *part != Part::Null));
        match chosen {
            Some(sub) => self.convert(sub, optional, version),
            None => Err("Unsupported criterion allOf: none of its schemas says a type".to_owned()),
        }
    }

    /// All properties of a schema: its own, those of its `allOf` and of what these refer to. A later
    /// one of a name takes the place of an earlier one.
    pub(super) fn collect(
        &self,
        at: At<'t>,
        list: &mut Vec<Property<'t>>,
        visited: &mut Vec<At<'t>>,
    ) {
        if visited.iter().any(|known| known.is(&at)) || visited.len() > super::connect::LEVELS_MAX {
            return;
        }
        visited.push(at);
        if let Some(reference) = at.node.text("$ref") {
            if let Some(found) = self.find(at, reference) {
                self.collect(found, list, visited);
            }
            if !self.is_modern() {
                return;
            }
        }
        for node in at.node.get("allOf").map(Json::items).unwrap_or_default() {
            self.collect(At { document: at.document, node }, list, visited);
        }
        let required = at.node.get("required").map(Json::items).unwrap_or_default();
        for property in at.node.get("properties").map(Json::members).unwrap_or_default() {
            let new = Property {
                name: &property.name,
                at: At { document: at.document, node: &property.value },
                required: required.iter().any(|name| *name == Json::Text(property.name.clone())),
            };
            match list.iter_mut().find(|known| known.name == new.name) {
                Some(known) => *known = new,
                None => list.push(new),
            }
        }
    }
}

fn read_default(plan: &Plan, text: &[u8]) -> Option<Value> {
    let mut rows = Rows::default();
    let base = rows.heap.put(text);
    let mut scratch = Scratch::default();
    let mut reader = Reader {
        scan: Scanner::new(text, 0),
        base: base.slice(0, text.len() as u32),
        rows: &mut rows,
        scratch: &mut scratch,
        replace_null: true,
        depth: 0,
    };
    let cell = reader.value(plan).ok()?;
    let value = rows.value(Some(&plan.schema), cell);
    Some(value)
}
