//! Text to a schema.
//!
//! As lenient as the registry, which has accepted the text: names may have any characters, defaults
//! are not checked here. What cannot be understood is an error with the place of the type.

use super::super::room::with_room;
use super::name::Name;
use super::{
    AvroBuilder, AvroSchema, DEPTH_MAX, Enum, Field, Fixed, Id, Kind, Node, Props, Record, json,
};
use serde_json::{Map, Value as Json};
use std::collections::HashSet;

/// Attributes of types that are not custom.
const OF_TYPES: [&str; 10] =
    ["type", "name", "namespace", "doc", "aliases", "fields", "symbols", "items", "values", "size"];
const OF_FIELDS: [&str; 6] = ["name", "type", "doc", "default", "order", "aliases"];

/// Parses schemas that refer to each other: those that are referred to first.
#[derive(Debug, Default)]
pub(crate) struct Parser {
    builder: AvroBuilder,
    /// Texts that are known already: one may be referred to by several.
    seen: HashSet<String>,
}

impl Parser {
    /// Makes the types of a text known to those that follow.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub(crate) fn refer(&mut self, text: &str) -> Result<(), String> {
        if self.seen.insert(text.to_owned()) {
            self.types(text)?;
        }
        Ok(())
    }

    /// # Errors
    /// What is wrong with the text.
    pub(crate) fn parse(mut self, text: &str) -> Result<AvroSchema, String> {
        let root = self.types(text)?;
        let schema = self.builder.finish(root);
        if depth(&schema) > DEPTH_MAX {
            return Err(too_deep());
        }
        Ok(schema)
    }

    fn types(&mut self, text: &str) -> Result<Id, String> {
        let json = json::parse(text)?;
        with_room(|| self.schema(&json, "", 1))
    }

    /// A type as it stands in a schema: a name, a union or an object.
    fn schema(&mut self, json: &Json, space: &str, depth: usize) -> Result<Id, String> {
        if depth > DEPTH_MAX {
            return Err(too_deep());
        }
        match json {
            Json::String(name) => self.reference(name, space),
            Json::Array(branches) => self.union(branches, space, depth),
            Json::Object(members) => self.object(members, space, depth),
            other => Err(format!("{other} is no Avro type")),
        }
    }

    fn reference(&mut self, text: &str, space: &str) -> Result<Id, String> {
        if let Some(kind) = Kind::primitive(text) {
            return Ok(self.builder.add(Node::new(kind)));
        }
        let name = Name::within(text, None, space).full();
        let found = self.builder.named(&name).or_else(|| self.builder.named(text));
        found.ok_or_else(|| format!("The schema names a type that it does not define: {name}"))
    }

    // What recurses holds as little as it can: schemas may be deep and stacks are not. A union is no
    // level of its own: a field that may be null is as deep as one that may not.
    fn union(&mut self, branches: &[Json], space: &str, depth: usize) -> Result<Id, String> {
        let mut ids = Vec::with_capacity(branches.len());
        for branch in branches {
            if branch.is_array() {
                return Err(UNION_IN_UNION.to_owned());
            }
            ids.push(self.schema(branch, space, depth)?);
        }
        self.end_union(ids)
    }

    fn end_union(&mut self, branches: Vec<Id>) -> Result<Id, String> {
        let mut seen = HashSet::new();
        for id in &branches {
            let node = self.builder.node(*id);
            if matches!(node.kind, Kind::Union(_)) {
                return Err(UNION_IN_UNION.to_owned());
            }
            let name = node.name().map_or_else(|| node.kind.type_name().to_owned(), Name::full);
            if !seen.insert(name.clone()) {
                return Err(format!("A union has {name} twice"));
            }
        }
        Ok(self.builder.add(Node::new(Kind::Union(branches))))
    }

    fn object(
        &mut self,
        members: &Map<String, Json>,
        space: &str,
        depth: usize,
    ) -> Result<Id, String> {
        match members.get("type") {
            Some(Json::String(kind)) => match kind.as_str() {
                "record" | "error" => self.record(members, space, depth),
                "array" => self.list(members, "items", Kind::Array, space, depth),
                "map" => self.list(members, "values", Kind::Map, space, depth),
                kind => self.leaf(kind, members, space),
            },
            // A type within a type says nothing more than the inner one.
            Some(inner) => self.schema(inner, space, depth + 1),
            None => Err("A type has no \"type\"".to_owned()),
        }
    }

    fn leaf(&mut self, kind: &str, members: &Map<String, Json>, of: &str) -> Result<Id, String> {
        match kind {
            "enum" => self.enumeration(members, of),
            "fixed" => self.fixed(members, of),
            name => match Kind::primitive(name) {
                Some(kind) => Ok(self.builder.add(Node { kind, props: props(members, &OF_TYPES) })),
                None => self.reference(name, of),
            },
        }
    }

    fn list(
        &mut self,
        members: &Map<String, Json>,
        child: &str,
        kind: fn(Id) -> Kind,
        space: &str,
        depth: usize,
    ) -> Result<Id, String> {
        let inner = match members.get(child) {
            Some(inner) => self.schema(inner, space, depth + 1)?,
            None => return Err(missing("array or map", child)),
        };
        Ok(self.add(kind(inner), members))
    }

    fn add(&mut self, kind: Kind, members: &Map<String, Json>) -> Id {
        self.builder.add(Node { kind, props: props(members, &OF_TYPES) })
    }

    /// The name of a type that is defined here, which no other has.
    fn new_name(&self, members: &Map<String, Json>, space: &str) -> Result<Name, String> {
        let Some(text) = text(members, "name")?.filter(|name| !name.is_empty()) else {
            let kind = text(members, "type")?.unwrap_or_default();
            return Err(format!("A type has no name: {kind}"));
        };
        let name = Name::within(text, self::text(members, "namespace")?, space);
        let full = name.full();
        if name.namespace.is_empty() && Kind::primitive(&name.simple).is_some() {
            return Err(format!("A type has the name of a type of Avro: {full}"));
        }
        match self.builder.named(&full) {
            Some(_) => Err(format!("The schema defines a type twice: {full}")),
            None => Ok(name),
        }
    }

    fn record(
        &mut self,
        members: &Map<String, Json>,
        space: &str,
        depth: usize,
    ) -> Result<Id, String> {
        let (id, name) = self.begin_record(members, space)?;
        let fields = fields(members, &name)?;
        let mut types = Vec::with_capacity(fields.len());
        for field in fields {
            match field.get("type") {
                Some(of) => types.push(self.schema(of, &name.namespace, depth + 1)?),
                None => return Err(untyped(field, &name)),
            }
        }
        self.end_record(id, fields, &types)
    }

    /// The record without its fields, so that these can name it.
    fn begin_record(
        &mut self,
        members: &Map<String, Json>,
        space: &str,
    ) -> Result<(Id, Name), String> {
        let name = self.new_name(members, space)?;
        let record = Record {
            name: name.clone(),
            doc: doc(members),
            aliases: aliases(members, &name)?,
            fields: Vec::new(),
            error: members.get("type").and_then(Json::as_str) == Some("error"),
        };
        Ok((self.add(Kind::Record(record), members), name))
    }

    fn end_record(&mut self, id: Id, fields: &[Json], types: &[Id]) -> Result<Id, String> {
        let mut node = self.builder.node(id).clone();
        if let Kind::Record(record) = &mut node.kind {
            let mut seen = HashSet::new();
            for (json, schema) in fields.iter().zip(types) {
                let field = field(json, *schema);
                let field =
                    field.map_err(|what| format!("In the record {}, {what}", record.name))?;
                if !seen.insert(field.name.clone()) {
                    let what = format!("the field {} twice", field.name);
                    return Err(format!("The record {} has {what}", record.name));
                }
                record.fields.push(field);
            }
        }
        self.builder.set(id, node);
        Ok(id)
    }

    fn enumeration(&mut self, members: &Map<String, Json>, space: &str) -> Result<Id, String> {
        let name = self.new_name(members, space)?;
        let Some(symbols) = texts(members, "symbols")? else {
            return Err(format!("The enum {name} has no \"symbols\""));
        };
        let mut seen = HashSet::new();
        if let Some(twice) = symbols.iter().find(|symbol| !seen.insert(symbol.as_str())) {
            return Err(format!("The enum {name} has the symbol {twice} twice"));
        }
        let default = text(members, "default")?.map(str::to_owned);
        if let Some(default) = default.as_ref().filter(|default| !symbols.contains(default)) {
            return Err(format!("The default {default} of the enum {name} is none of its symbols"));
        }
        let (doc, aliases) = (doc(members), aliases(members, &name)?);
        let kind = Kind::Enum(Enum { name, doc, aliases, symbols, default });
        let mut props = props(members, &OF_TYPES);
        props.shift_remove("default");
        Ok(self.builder.add(Node { kind, props }))
    }

    fn fixed(&mut self, members: &Map<String, Json>, space: &str) -> Result<Id, String> {
        let name = self.new_name(members, space)?;
        let size = members.get("size").and_then(Json::as_u64);
        let Some(size) = size.and_then(|size| i32::try_from(size).ok()) else {
            return Err(format!("The fixed {name} has no \"size\" that is a number of bytes"));
        };
        let (doc, aliases) = (doc(members), aliases(members, &name)?);
        let kind = Kind::Fixed(Fixed { name, doc, aliases, size: size as usize });
        Ok(self.builder.add(Node { kind, props: props(members, &OF_TYPES) }))
    }
}

const UNION_IN_UNION: &str = "A union has another union as a branch";

fn too_deep() -> String {
    format!("The schema has types nested deeper than {DEPTH_MAX} levels")
}

fn missing(kind: &str, child: &str) -> String {
    format!("An {kind} has no \"{child}\"")
}

fn fields<'a>(members: &'a Map<String, Json>, record: &Name) -> Result<&'a [Json], String> {
    let fields = members.get("fields").and_then(Json::as_array);
    fields.map(Vec::as_slice).ok_or_else(|| format!("The record {record} has no \"fields\""))
}

fn untyped(field: &Json, record: &Name) -> String {
    match field.get("name").and_then(Json::as_str) {
        Some(name) => format!("In the record {record}, the field {name} has no \"type\""),
        None => format!("In the record {record}, a field has no name and no \"type\""),
    }
}

fn field(json: &Json, schema: Id) -> Result<Field, String> {
    let Json::Object(members) = json else {
        return Err(format!("a field is no object: {json}"));
    };
    let Some(name) = text(members, "name")?.filter(|name| !name.is_empty()) else {
        return Err("a field has no name".to_owned());
    };
    Ok(Field {
        name: name.to_owned(),
        doc: doc(members),
        aliases: texts(members, "aliases")?.unwrap_or_default(),
        schema,
        default: members.get("default").cloned(),
        order: text(members, "order")?.map(str::to_owned),
        props: props(members, &OF_FIELDS),
    })
}

fn text<'a>(members: &'a Map<String, Json>, name: &str) -> Result<Option<&'a str>, String> {
    match members.get(name) {
        None | Some(Json::Null) => Ok(None),
        Some(Json::String(text)) => Ok(Some(text)),
        Some(other) => Err(format!("\"{name}\" is no text: {other}")),
    }
}

/// A doc that is no text, which Avro's own parser skips, is none.
fn doc(members: &Map<String, Json>) -> Option<String> {
    members.get("doc").and_then(Json::as_str).map(str::to_owned)
}

fn texts(members: &Map<String, Json>, name: &str) -> Result<Option<Vec<String>>, String> {
    let Some(list) = members.get(name) else { return Ok(None) };
    let items = list.as_array().map(|items| items.iter().map(Json::as_str).collect());
    match items {
        Some(Some::<Vec<&str>>(items)) => Ok(Some(items.into_iter().map(str::to_owned).collect())),
        _ => Err(format!("\"{name}\" is no list of texts: {list}")),
    }
}

/// Other names of a type, in its own namespace where they name none.
fn aliases(members: &Map<String, Json>, name: &Name) -> Result<Vec<Name>, String> {
    let list = texts(members, "aliases")?.unwrap_or_default();
    Ok(list.iter().map(|alias| Name::within(alias, None, &name.namespace)).collect())
}

fn props(members: &Map<String, Json>, reserved: &[&str]) -> Props {
    let own = members.iter().filter(|(name, _)| !reserved.contains(&name.as_str()));
    own.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// How deep a walk that visits each type once goes. Texts that refer to each other are each nested
/// within limits, and together need not be.
fn depth(schema: &AvroSchema) -> usize {
    let mut seen = vec![false; schema.len()];
    let mut open = vec![(schema.root(), 1)];
    let mut deepest = 0;
    while let Some((id, depth)) = open.pop() {
        if std::mem::replace(&mut seen[id.index()], true) {
            continue;
        }
        deepest = deepest.max(depth);
        let mut child = |id: &Id| open.push((*id, depth + 1));
        match schema.kind(id) {
            Kind::Record(record) => {
                record.fields.iter().rev().for_each(|field| child(&field.schema));
            }
            Kind::Union(branches) => open.extend(branches.iter().rev().map(|id| (*id, depth))),
            Kind::Array(inner) | Kind::Map(inner) => child(inner),
            _ => {}
        }
    }
    deepest
}
