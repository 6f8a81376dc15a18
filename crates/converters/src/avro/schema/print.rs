//! A schema to JSON, with all attributes.
//!
//! Attributes come in the order in which Avro's own library prints them, so that a schema that was
//! registered by others is found again under the same text.

use super::name::Name;
use super::{AvroSchema, Enum, Field, Fixed, Id, Kind, Node, Props, Record};
use serde_json::{Map, Value as Json, json};

pub(super) fn to_json(schema: &AvroSchema) -> Json {
    let printer = Printer { schema };
    printer.schema(schema.root(), "", &mut vec![false; schema.len()])
}

struct Printer<'a> {
    schema: &'a AvroSchema,
}

impl Printer<'_> {
    /// `space` is the namespace that names without one are in; `written` has the named types that
    /// were written out already.
    fn schema(&self, id: Id, space: &str, written: &mut [bool]) -> Json {
        let node = self.schema.node(id);
        if let Some(name) = node.name()
            && std::mem::replace(&mut written[id.index()], true)
        {
            return Json::String(self.reference(name, space));
        }
        match &node.kind {
            Kind::Union(branches) => {
                Json::Array(branches.iter().map(|id| self.schema(*id, space, written)).collect())
            }
            Kind::Array(items) => {
                let items = self.schema(*items, space, written);
                self.unnamed(node, Some(("items", items)))
            }
            Kind::Map(values) => {
                let values = self.schema(*values, space, written);
                self.unnamed(node, Some(("values", values)))
            }
            Kind::Record(record) => self.record(node, record, space, written),
            Kind::Enum(of) => self.enumeration(node, of, space),
            Kind::Fixed(of) => self.fixed(node, of, space),
            _ if node.props.is_empty() => json!(node.kind.type_name()),
            _ => self.unnamed(node, None),
        }
    }

    /// The name of a type that is defined elsewhere.
    fn reference(&self, name: &Name, space: &str) -> String {
        if name.namespace == space {
            return name.simple.clone();
        }
        name.full()
    }

    fn unnamed(&self, node: &Node, child: Option<(&str, Json)>) -> Json {
        let mut out = Map::new();
        out.insert("type".to_owned(), json!(node.kind.type_name()));
        if let Some((name, child)) = child {
            out.insert(name.to_owned(), child);
        }
        self.props(&mut out, &node.props);
        Json::Object(out)
    }

    fn props(&self, out: &mut Map<String, Json>, props: &Props) {
        out.extend(props.iter().map(|(name, value)| (name.clone(), value.clone())));
    }

    /// What named types begin with.
    fn named(&self, kind: &str, name: &Name, doc: Option<&str>, space: &str) -> Map<String, Json> {
        let mut out = Map::new();
        out.insert("type".to_owned(), json!(kind));
        out.insert("name".to_owned(), json!(name.simple));
        if name.namespace != space {
            out.insert("namespace".to_owned(), json!(name.namespace));
        }
        self.doc(&mut out, doc);
        out
    }

    fn doc(&self, out: &mut Map<String, Json>, doc: Option<&str>) {
        if let Some(doc) = doc {
            out.insert("doc".to_owned(), json!(doc));
        }
    }

    /// What named types end with.
    fn rest(&self, out: &mut Map<String, Json>, node: &Node, name: &Name) {
        self.props(out, &node.props);
        if !node.aliases().is_empty() {
            let of = |alias: &Name| match alias.namespace == name.namespace {
                true => alias.simple.clone(),
                false => alias.full(),
            };
            let aliases: Vec<String> = node.aliases().iter().map(of).collect();
            out.insert("aliases".to_owned(), json!(aliases));
        }
    }

    fn record(&self, node: &Node, of: &Record, space: &str, written: &mut [bool]) -> Json {
        let kind = if of.error { "error" } else { "record" };
        let mut out = self.named(kind, &of.name, of.doc.as_deref(), space);
        let inner = of.fields.iter().map(|field| self.field(field, &of.name.namespace, written));
        out.insert("fields".to_owned(), Json::Array(inner.collect()));
        self.rest(&mut out, node, &of.name);
        Json::Object(out)
    }

    fn field(&self, field: &Field, space: &str, written: &mut [bool]) -> Json {
        let mut out = Map::new();
        out.insert("name".to_owned(), json!(field.name));
        out.insert("type".to_owned(), self.schema(field.schema, space, written));
        self.doc(&mut out, field.doc.as_deref());
        if let Some(default) = &field.default {
            out.insert("default".to_owned(), default.clone());
        }
        if let Some(order) = &field.order {
            out.insert("order".to_owned(), json!(order));
        }
        if !field.aliases.is_empty() {
            out.insert("aliases".to_owned(), json!(field.aliases));
        }
        self.props(&mut out, &field.props);
        Json::Object(out)
    }

    fn enumeration(&self, node: &Node, of: &Enum, space: &str) -> Json {
        let mut out = self.named("enum", &of.name, of.doc.as_deref(), space);
        out.insert("symbols".to_owned(), json!(of.symbols));
        if let Some(default) = &of.default {
            out.insert("default".to_owned(), json!(default));
        }
        self.rest(&mut out, node, &of.name);
        Json::Object(out)
    }

    fn fixed(&self, node: &Node, of: &Fixed, space: &str) -> Json {
        let mut out = self.named("fixed", &of.name, of.doc.as_deref(), space);
        out.insert("size".to_owned(), json!(of.size));
        self.rest(&mut out, node, &of.name);
        Json::Object(out)
    }
}
