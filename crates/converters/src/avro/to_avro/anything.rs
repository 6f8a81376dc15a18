//! The record for values without a schema: one field a type, of which one is set.

use super::super::attributes::{
    ANYTHING, INTERNAL_TYPE, KEY_FIELD, MAP_ENTRY, NAMESPACE, VALUE_FIELD,
};
use super::super::schema::{AvroBuilder, Field, Id, Kind, Name, Node, Record};
use serde_json::Value as Json;

/// Adds the record, or finds it.
pub(super) fn add(builder: &mut AvroBuilder) -> Id {
    if let Some(id) = builder.named(ANYTHING) {
        return id;
    }
    let record = |name: &str, fields| {
        let name = Name { namespace: NAMESPACE.to_owned(), simple: name.to_owned() };
        let record = Record { name, doc: None, aliases: Vec::new(), fields, error: false };
        Node::new(Kind::Record(record))
    };
    let id = builder.add(record("Anything", Vec::new()));
    let scalars = [
        ("boolean", Kind::Boolean),
        ("bytes", Kind::Bytes),
        ("double", Kind::Double),
        ("float", Kind::Float),
        ("int", Kind::Int),
        ("long", Kind::Long),
        ("string", Kind::String),
    ];
    let mut fields = Vec::with_capacity(scalars.len() + 2);
    for (name, kind) in scalars {
        let kind = builder.add(Node::new(kind));
        fields.push(optional(builder, name, kind));
    }
    let list = builder.add(Node::new(Kind::Array(id)));
    fields.push(optional(builder, "array", list));
    let entry = [KEY_FIELD, VALUE_FIELD].map(|name| field(name, id, None)).to_vec();
    let entry = builder.add(match builder.named("io.confluent.connect.avro.MapEntry") {
        None => record(MAP_ENTRY, entry),
        // The schema around has maps of its own.
        Some(_) => {
            let mut node = record("AnythingEntry", entry);
            node.props.insert(INTERNAL_TYPE.to_owned(), Json::from(MAP_ENTRY));
            node
        }
    });
    let map = builder.add(Node::new(Kind::Array(entry)));
    fields.push(optional(builder, "map", map));
    builder.set(id, record("Anything", fields));
    id
}

fn optional(builder: &mut AvroBuilder, name: &str, of: Id) -> Field {
    let null = builder.add(Node::new(Kind::Null));
    let union = builder.add(Node::new(Kind::Union(vec![null, of])));
    field(name, union, Some(Json::Null))
}

fn field(name: &str, schema: Id, default: Option<Json>) -> Field {
    Field {
        name: name.to_owned(),
        doc: None,
        aliases: Vec::new(),
        schema,
        default,
        order: None,
        props: Default::default(),
    }
}
