//! The model of an Avro schema: everything its text says, custom attributes of every type included,
//! since `connect.*` attributes of primitive types say what a value was before it became Avro.
//!
//! A schema is a list of nodes that name each other by [`Id`], so that a recursive schema is no
//! cycle of pointers. References to named types are resolved when the text is parsed; the text that
//! is printed names a type again after it has been written out once.
//!
//! Invariant: every `Id` of a schema names one of its nodes; nesting is limited
//! ([`DEPTH_MAX`]), so walking over a schema may recurse.

mod json;
mod logical;
mod name;
mod parse;
mod print;
#[cfg(test)]
mod tests;

pub(crate) use logical::Logical;
pub(crate) use name::Name;
pub(crate) use parse::Parser;

use serde_json::{Map, Value as Json};
use std::collections::HashMap;

/// Types within each other, the outermost counted as one and unions not. As deep as 1000 levels of
/// JSON go.
pub(crate) const DEPTH_MAX: usize = 330;

/// Custom attributes, in the order of the text; `logicalType`, `precision` and `scale` included.
pub(crate) type Props = Map<String, Json>;

/// A node of one schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Id(u32);

impl Id {
    /// The place of the node, from 0 on, in the order in which nodes were added.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A parsed or built schema.
#[derive(Clone, Debug)]
pub(crate) struct AvroSchema {
    nodes: Vec<Node>,
    root: Id,
}

/// A type with its custom attributes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    pub(crate) props: Props,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    Null,
    Boolean,
    Int,
    Long,
    Float,
    Double,
    Bytes,
    String,
    Record(Record),
    Enum(Enum),
    Fixed(Fixed),
    Array(Id),
    /// The values; keys are strings.
    Map(Id),
    Union(Vec<Id>),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Record {
    pub(crate) name: Name,
    pub(crate) doc: Option<String>,
    pub(crate) aliases: Vec<Name>,
    pub(crate) fields: Vec<Field>,
    /// `"type": "error"`: a record that a protocol throws.
    pub(crate) error: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) doc: Option<String>,
    pub(crate) aliases: Vec<String>,
    pub(crate) schema: Id,
    /// As in the text; `Some(Json::Null)` is a default of null.
    pub(crate) default: Option<Json>,
    /// `ascending`, `descending` or `ignore`, where the text says one.
    pub(crate) order: Option<String>,
    pub(crate) props: Props,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Enum {
    pub(crate) name: Name,
    pub(crate) doc: Option<String>,
    pub(crate) aliases: Vec<Name>,
    pub(crate) symbols: Vec<String>,
    /// The symbol that a reader takes for one that it does not know.
    pub(crate) default: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fixed {
    pub(crate) name: Name,
    pub(crate) doc: Option<String>,
    pub(crate) aliases: Vec<Name>,
    /// In bytes.
    pub(crate) size: usize,
}

impl Node {
    /// A type without custom attributes.
    pub(crate) fn new(kind: Kind) -> Node {
        Node { kind, props: Props::new() }
    }

    /// A custom attribute that is text.
    pub(crate) fn prop(&self, name: &str) -> Option<&str> {
        self.props.get(name).and_then(Json::as_str)
    }

    /// The name of a record, an enum or a fixed.
    pub(crate) fn name(&self) -> Option<&Name> {
        match &self.kind {
            Kind::Record(Record { name, .. })
            | Kind::Enum(Enum { name, .. })
            | Kind::Fixed(Fixed { name, .. }) => Some(name),
            _ => None,
        }
    }

    pub(crate) fn doc(&self) -> Option<&str> {
        match &self.kind {
            Kind::Record(Record { doc, .. })
            | Kind::Enum(Enum { doc, .. })
            | Kind::Fixed(Fixed { doc, .. }) => doc.as_deref(),
            _ => None,
        }
    }

    pub(crate) fn aliases(&self) -> &[Name] {
        match &self.kind {
            Kind::Record(Record { aliases, .. })
            | Kind::Enum(Enum { aliases, .. })
            | Kind::Fixed(Fixed { aliases, .. }) => aliases,
            _ => &[],
        }
    }

    /// What the logical type makes of the values; `None` too where it is unknown or does not fit the
    /// type, as Avro demands.
    pub(crate) fn logical(&self) -> Option<Logical> {
        Logical::of(self)
    }
}

impl Kind {
    /// The name of the type in schemas and messages (`record`, `int`).
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Kind::Null => "null",
            Kind::Boolean => "boolean",
            Kind::Int => "int",
            Kind::Long => "long",
            Kind::Float => "float",
            Kind::Double => "double",
            Kind::Bytes => "bytes",
            Kind::String => "string",
            Kind::Record(_) => "record",
            Kind::Enum(_) => "enum",
            Kind::Fixed(_) => "fixed",
            Kind::Array(_) => "array",
            Kind::Map(_) => "map",
            Kind::Union(_) => "union",
        }
    }

    fn primitive(name: &str) -> Option<Kind> {
        Some(match name {
            "null" => Kind::Null,
            "boolean" => Kind::Boolean,
            "int" => Kind::Int,
            "long" => Kind::Long,
            "float" => Kind::Float,
            "double" => Kind::Double,
            "bytes" => Kind::Bytes,
            "string" => Kind::String,
            _ => return None,
        })
    }
}

impl AvroSchema {
    /// Parses the text of a schema that refers to no other text; see [`Parser`] for one that does.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub(crate) fn parse(text: &str) -> Result<AvroSchema, String> {
        Parser::default().parse(text)
    }

    pub(crate) fn root(&self) -> Id {
        self.root
    }

    pub(crate) fn node(&self, id: Id) -> &Node {
        // Ids are given out by the builder of these very nodes.
        &self.nodes[id.index()]
    }

    pub(crate) fn kind(&self, id: Id) -> &Kind {
        &self.node(id).kind
    }

    /// How many nodes there are; ids are below it.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The schema as JSON: all attributes, a named type written out where it is met first.
    pub(crate) fn to_json(&self) -> Json {
        print::to_json(self)
    }

    /// The same as text without blanks: what is registered.
    pub(crate) fn text(&self) -> String {
        self.to_json().to_string()
    }
}

/// Two schemas are equal where their texts say the same.
impl PartialEq for AvroSchema {
    fn eq(&self, other: &AvroSchema) -> bool {
        self.to_json() == other.to_json()
    }
}

/// Makes a schema node by node.
#[derive(Clone, Debug, Default)]
pub(crate) struct AvroBuilder {
    nodes: Vec<Node>,
    named: HashMap<String, Id>,
}

impl AvroBuilder {
    /// Adds a type. One with a name can be found by it from now on.
    pub(crate) fn add(&mut self, node: Node) -> Id {
        let id = Id(self.nodes.len() as u32);
        if let Some(name) = node.name() {
            self.named.entry(name.full()).or_insert(id);
        }
        self.nodes.push(node);
        id
    }

    /// Puts another type in the place of one that was added: a record gets its fields, which may
    /// refer to it, after it has an id.
    pub(crate) fn set(&mut self, id: Id, node: Node) {
        self.nodes[id.index()] = node;
    }

    /// The type of this full name.
    pub(crate) fn named(&self, full: &str) -> Option<Id> {
        self.named.get(full).copied()
    }

    pub(crate) fn node(&self, id: Id) -> &Node {
        &self.nodes[id.index()]
    }

    /// The finished schema.
    pub(crate) fn finish(self, root: Id) -> AvroSchema {
        AvroSchema { nodes: self.nodes, root }
    }
}
