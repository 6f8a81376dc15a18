//! The notation of the vectors: schemas and values as JSON, where a value's one member names its
//! class (`{"i32":1}`). Read into schemas and cells, and written from cells for comparison.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use data::{Cell, Logical, Rows, Schema, SchemaBuilder, Type, Value as Owned, Width};
use serde_json::{Value, json};
use std::sync::Arc;

const DAY_MS: i64 = 86_400_000;

pub(crate) fn schema(node: &Value) -> Option<Arc<Schema>> {
    let kind_of = |name: &str| match name {
        "float32" => Type::Float32,
        "float64" => Type::Float64,
        name => Type::from_json_name(name).unwrap(),
    };
    if node.is_null() {
        return None;
    }
    if let Some(name) = node.as_str() {
        return Some(Arc::new(Schema::new(kind_of(name))));
    }
    let part = |name: &str| schema(&node[name]).unwrap();
    let mut builder = match kind_of(node["type"].as_str().unwrap()) {
        Type::Array => SchemaBuilder::array(part("values")),
        Type::Map => SchemaBuilder::map(part("keys"), part("values")),
        kind => SchemaBuilder::new(kind),
    };
    for field in node["fields"].as_array().into_iter().flatten() {
        builder = builder.field(field["name"].as_str().unwrap(), schema(&field["schema"]).unwrap());
    }
    if node["optional"] == true {
        builder = builder.optional();
    }
    if let Some(name) = node["name"].as_str() {
        builder = builder.name(name);
    }
    if let Some(version) = node["version"].as_i64() {
        builder = builder.version(version as i32);
    }
    if let Some(doc) = node["doc"].as_str() {
        builder = builder.doc(doc);
    }
    for (name, value) in node["parameters"].as_object().into_iter().flatten() {
        builder = builder.parameter(name, value.as_str().unwrap());
    }
    let bare = builder.clone().build().unwrap();
    Some(Arc::new(match node.get("default") {
        Some(default) => builder.default(owned(&bare, default)).build().unwrap(),
        None => bare,
    }))
}

/// The only member of a value: its class and content.
fn tagged(node: &Value) -> (&str, &Value) {
    node.as_object().unwrap().iter().next().map(|(tag, value)| (tag.as_str(), value)).unwrap()
}

fn float(node: &Value) -> f64 {
    match node.as_str() {
        Some(text) => text.parse().unwrap(),
        None => node.as_f64().unwrap(),
    }
}

fn decimal(node: &Value) -> (Vec<u8>, i32) {
    let (unscaled, _) = data::decimal_from_text(node[0].as_str().unwrap()).unwrap();
    (unscaled, node[1].as_i64().unwrap() as i32)
}

fn base64(node: &Value) -> Vec<u8> {
    STANDARD.decode(node.as_str().unwrap()).unwrap()
}

fn owned(schema: &Schema, node: &Value) -> Owned {
    if node.is_null() {
        return Owned::Null;
    }
    match tagged(node) {
        ("date", ms) => Owned::Instant(ms.as_i64().unwrap()),
        ("f32", value) => Owned::Float32(float(value) as f32),
        ("f64", value) => Owned::Float(float(value)),
        ("bool", value) => Owned::Bool(value.as_bool().unwrap()),
        ("str", value) => Owned::Text(value.as_str().unwrap().to_owned()),
        ("bytes", value) => Owned::Bytes(base64(value)),
        ("decimal", value) => {
            let (unscaled, scale) = decimal(value);
            Owned::Decimal { unscaled, scale }
        }
        ("list", items) => {
            let item = schema.value_schema().unwrap();
            Owned::List(items.as_array().unwrap().iter().map(|node| owned(item, node)).collect())
        }
        ("struct", members) => Owned::fields(
            schema.fields().iter().map(|f| owned(&f.schema, &members[&*f.name])).collect(),
        ),
        ("i8", value) => Owned::Int(value.as_i64().unwrap(), Width::W8),
        ("i16", value) => Owned::Int(value.as_i64().unwrap(), Width::W16),
        ("i32", value) => Owned::Int(value.as_i64().unwrap(), Width::W32),
        (_, value) => Owned::int(value.as_i64().unwrap()),
    }
}

/// The value as a cell of `rows`.
pub(crate) fn cell(rows: &mut Rows, schema: Option<&Schema>, node: &Value) -> Cell {
    if node.is_null() {
        return Cell::Null;
    }
    let integer = |node: &Value| node.as_i64().unwrap();
    match tagged(node) {
        ("i8", value) => Cell::Int(integer(value), Width::W8),
        ("i16", value) => Cell::Int(integer(value), Width::W16),
        ("i32", value) => Cell::Int(integer(value), Width::W32),
        ("i64", value) => Cell::Int(integer(value), Width::W64),
        ("f32", value) if schema.is_none() => Cell::Float32(float(value) as f32),
        ("f32", value) => Cell::Float(f64::from(float(value) as f32)),
        ("f64", value) => Cell::Float(float(value)),
        ("bool", value) => Cell::Bool(value.as_bool().unwrap()),
        ("str", value) => Cell::Text(rows.heap.put(value.as_str().unwrap().as_bytes())),
        ("bytes" | "bytebuffer", value) => Cell::Bytes(rows.heap.put(&base64(value))),
        ("bigint", value) => Cell::Number(rows.heap.put(value.as_str().unwrap().as_bytes())),
        ("decimal", value) => {
            let (unscaled, scale) = decimal(value);
            Cell::Decimal { unscaled: rows.heap.put(&unscaled), scale }
        }
        ("date", value) => match schema.map(Schema::logical) {
            None => Cell::Instant(integer(value)),
            Some(Logical::Date) => Cell::Int(integer(value) / DAY_MS, Width::W32),
            Some(_) => Cell::Int(integer(value), Width::W64),
        },
        ("list", items) => {
            let item = schema.and_then(Schema::value_schema).cloned();
            let cells: Vec<Cell> = items
                .as_array()
                .unwrap()
                .iter()
                .map(|node| cell(rows, item.as_deref(), node))
                .collect();
            Cell::List(rows.alloc_from(&cells))
        }
        ("map", entries) => {
            let keys = schema.and_then(Schema::key_schema).cloned();
            let values = schema.and_then(Schema::value_schema).cloned();
            let mut cells = Vec::new();
            for entry in entries.as_array().unwrap() {
                cells.push(cell(rows, keys.as_deref(), &entry[0]));
                cells.push(cell(rows, values.as_deref(), &entry[1]));
            }
            Cell::Map(rows.alloc_from(&cells))
        }
        ("struct", members) => {
            let own = node.get("schema").and_then(self::schema);
            let fields = own.as_deref().or(schema).map(Schema::fields).unwrap_or_default();
            let cells: Vec<Cell> = fields
                .iter()
                .map(|field| cell(rows, Some(&field.schema), &members[&*field.name]))
                .collect();
            Cell::Struct(rows.alloc_from(&cells))
        }
        (other, _) => panic!("no class {other}"),
    }
}

/// A cell in the notation.
pub(crate) fn written(rows: &Rows, schema: Option<&Schema>, cell: Cell) -> Value {
    let values = schema.and_then(Schema::value_schema).map(AsRef::as_ref);
    match cell {
        Cell::Null => Value::Null,
        Cell::Bool(value) => json!({"bool": value}),
        Cell::Int(value, width) => match schema.map(|s| (s.logical(), s.kind())) {
            Some((Logical::Date, _)) => json!({"date": value * DAY_MS}),
            Some((Logical::Time | Logical::Timestamp, _)) => json!({"date": value}),
            Some((_, Type::Int8)) => json!({"i8": value}),
            Some((_, Type::Int16)) => json!({"i16": value}),
            Some((_, Type::Int32)) => json!({"i32": value}),
            _ => {
                assert_eq!(width, Width::W64);
                json!({"i64": value})
            }
        },
        Cell::Float(value) if schema.is_some_and(|s| s.kind() == Type::Float32) => {
            json!({"f32": value})
        }
        Cell::Float(value) => json!({"f64": value}),
        Cell::Number(span) => number(rows.text(span)),
        Cell::Text(span) => json!({"str": std::str::from_utf8(rows.bytes(span)).unwrap()}),
        Cell::Bytes(span) => json!({"bytes": STANDARD.encode(rows.bytes(span))}),
        Cell::Decimal { unscaled, scale } => {
            let mut digits = Vec::new();
            data::decimal_to_text(rows.bytes(unscaled), 0, &mut digits);
            json!({"decimal": [String::from_utf8(digits).unwrap(), scale]})
        }
        Cell::List(span) => {
            let items = rows.cells(span).iter().map(|item| written(rows, values, *item));
            json!({"list": items.collect::<Vec<_>>()})
        }
        Cell::Map(span) => {
            let keys = schema.and_then(Schema::key_schema).map(AsRef::as_ref);
            let entries = rows.cells(span).chunks_exact(2);
            let entries = entries
                .map(|pair| json!([written(rows, keys, pair[0]), written(rows, values, pair[1])]));
            json!({"map": entries.collect::<Vec<_>>()})
        }
        Cell::Struct(span) => {
            let fields = schema.unwrap().fields().iter().zip(rows.cells(span));
            let members = fields.map(|(field, cell)| {
                (field.name.to_string(), written(rows, Some(&field.schema), *cell))
            });
            json!({"struct": members.collect::<serde_json::Map<_, _>>()})
        }
        Cell::Json(span) => nested(&serde_json::from_slice(rows.bytes(span)).unwrap()),
        other => panic!("{other:?} is never read"),
    }
}

fn number(text: &str) -> Value {
    if text.bytes().all(|b| b.is_ascii_digit() || b == b'-') {
        return json!({"bigint": text});
    }
    // Decimal text knows no negative zero.
    json!({"f64": text.parse::<f64>().unwrap() + 0.0})
}

/// Nested JSON as the schemaless values it stands for.
fn nested(node: &Value) -> Value {
    match node {
        Value::Null => Value::Null,
        Value::Bool(value) => json!({"bool": value}),
        Value::Number(value) if value.is_i64() => json!({"i64": value}),
        Value::Number(value) => json!({"f64": value}),
        Value::String(value) => json!({"str": value}),
        Value::Array(items) => json!({"list": items.iter().map(nested).collect::<Vec<_>>()}),
        Value::Object(members) => {
            let entries = members.iter().map(|(k, v)| json!([{"str": k}, nested(v)]));
            json!({"map": entries.collect::<Vec<_>>()})
        }
    }
}

/// A value of a vector in a form that can be compared: floats as numbers, maps in one order,
/// null members of structs written out or not.
pub(crate) fn canonical(node: &Value) -> Value {
    if node.is_null() {
        return Value::Null;
    }
    match tagged(node) {
        ("f32", value) => json!({"f32": f64::from(float(value) as f32)}),
        ("f64", value) => json!({"f64": float(value)}),
        ("bytebuffer", value) => json!({"bytes": value}),
        ("list", items) => {
            json!({"list": items.as_array().unwrap().iter().map(canonical).collect::<Vec<_>>()})
        }
        ("map", entries) => {
            let entries = entries.as_array().unwrap().iter();
            let mut entries: Vec<Value> =
                entries.map(|e| json!([canonical(&e[0]), canonical(&e[1])])).collect();
            entries.sort_by_key(ToString::to_string);
            json!({"map": entries})
        }
        ("struct", members) => {
            let members = members.as_object().unwrap().iter().filter(|(_, value)| !value.is_null());
            let members = members.map(|(name, value)| (name.clone(), canonical(value)));
            json!({"struct": members.collect::<serde_json::Map<_, _>>()})
        }
        _ => node.clone(),
    }
}
