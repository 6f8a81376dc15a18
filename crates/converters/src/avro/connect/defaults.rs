//! Defaults: JSON in an Avro schema to the value that it stands for.
//!
//! Bytes are text there, one character a byte; a union's default is one of its types. What is no
//! value of the type is `None`: the default is dropped, as in Connect.

use super::super::attributes::ANYTHING;
use super::super::options::AvroOptions;
use super::super::schema::{AvroSchema, Id, Kind, Node, Record};
use super::kinds::{int_type, is_map_entry, logical, map_entry};
use super::{flattened, is_recursive};
use data::{DAY_MS, Logical, Schema, Type, Value, Width};
use serde_json::{Map, Value as Json};

/// Reads defaults of one schema.
pub(crate) struct Defaults<'a> {
    pub(crate) avro: &'a AvroSchema,
    pub(crate) options: &'a AvroOptions,
}

impl Defaults<'_> {
    /// The value of `json` as one of an Avro type, under its Connect schema; `None` for that: as a
    /// value that describes itself.
    pub(crate) fn value(&self, id: Id, schema: Option<&Schema>, json: &Json) -> Option<Value> {
        let node = self.avro.node(id);
        let schema = schema.filter(|schema| !is_recursive(schema));
        match &node.kind {
            Kind::Record(record) => self.record(record, schema, json.as_object()?),
            Kind::Array(items) => self.list(*items, schema, json.as_array()?),
            Kind::Map(values) => {
                let inner = schema.and_then(Schema::value_schema).map(AsRef::as_ref);
                let entry = |(name, json): (&String, &Json)| {
                    Some((Value::Text(name.clone()), self.value(*values, inner, json)?))
                };
                json.as_object()?.iter().map(entry).collect::<Option<_>>().map(Value::Map)
            }
            Kind::Union(branches) => self.union(branches, schema, json),
            Kind::Null => json.is_null().then_some(Value::Null),
            Kind::Boolean => json.as_bool().map(Value::Bool),
            Kind::Int => int(node, schema, i32::try_from(json.as_i64()?).ok()?),
            Kind::Long => Some(match logical_of(node, schema) {
                Logical::Timestamp => Value::Instant(json.as_i64()?),
                _ => Value::int(json.as_i64()?),
            }),
            Kind::Float => json.as_f64().map(|value| Value::Float32(value as f32)),
            Kind::Double => json.as_f64().map(Value::Float),
            Kind::String | Kind::Enum(_) => json.as_str().map(|text| Value::Text(text.to_owned())),
            Kind::Bytes => bytes(node, schema, json, None),
            Kind::Fixed(of) => bytes(node, schema, json, Some(of.size)),
        }
    }

    fn record(
        &self,
        record: &Record,
        schema: Option<&Schema>,
        members: &Map<String, Json>,
    ) -> Option<Value> {
        let Some(schema) = schema else {
            if record.name.full() == ANYTHING {
                return None;
            }
            let entry = |field: &super::super::schema::Field| {
                let json = members.get(&field.name).or(field.default.as_ref())?;
                Some((Value::Text(field.name.clone()), self.value(field.schema, None, json)?))
            };
            return record.fields.iter().map(entry).collect::<Option<_>>().map(Value::Map);
        };
        let field = |(field, of): (&super::super::schema::Field, &data::Field)| match (
            members.get(&field.name),
            of.schema.default(),
        ) {
            (Some(json), _) => self.value(field.schema, Some(&of.schema), json),
            (None, Some(default)) => Some(default.clone()),
            (None, None) => of.schema.is_optional().then_some(Value::Null),
        };
        let fields = record.fields.iter().zip(schema.fields());
        fields.map(field).collect::<Option<_>>().map(Value::fields)
    }

    fn list(&self, items: Id, schema: Option<&Schema>, list: &[Json]) -> Option<Value> {
        let inner = schema.and_then(Schema::value_schema).map(AsRef::as_ref);
        let is_map = schema.is_none_or(|schema| schema.kind() == Type::Map);
        if is_map && is_map_entry(self.avro.node(items)) {
            let (key, value) = map_entry(self.avro, items)?;
            let keys = schema.and_then(Schema::key_schema).map(AsRef::as_ref);
            let entry = |json: &Json| {
                let members = json.as_object()?;
                let key = self.value(key, keys, members.get("key")?)?;
                Some((key, self.value(value, inner, members.get("value")?)?))
            };
            return list.iter().map(entry).collect::<Option<_>>().map(Value::Map);
        }
        let item = |json: &Json| self.value(items, inner, json);
        list.iter().map(item).collect::<Option<_>>().map(Value::List)
    }

    fn union(&self, branches: &[Id], schema: Option<&Schema>, json: &Json) -> Option<Value> {
        let is_null = |id: &Id| matches!(self.avro.kind(*id), Kind::Null);
        if json.is_null() {
            return branches.iter().any(is_null).then_some(Value::Null);
        }
        if let Some((inner, _)) = flattened(self.avro, self.options, branches) {
            return self.value(inner, schema, json);
        }
        let others = branches.iter().filter(|id| !is_null(id));
        let Some(schema) = schema else {
            return others.filter_map(|id| self.value(*id, None, json)).next();
        };
        let (place, value) = others
            .zip(schema.fields())
            .enumerate()
            .find_map(|(at, (id, of))| Some((at, self.value(*id, Some(&of.schema), json)?)))?;
        let mut values = vec![Value::Null; schema.fields().len()];
        *values.get_mut(place)? = value;
        Some(Value::fields(values))
    }
}

/// The meaning of a type's values: what their Connect schema says, if they have one.
fn logical_of(node: &Node, schema: Option<&Schema>) -> Logical {
    schema.map_or_else(|| logical(node), Schema::logical)
}

fn int(node: &Node, schema: Option<&Schema>, value: i32) -> Option<Value> {
    match logical_of(node, schema) {
        Logical::Date => return Some(Value::Instant(i64::from(value) * DAY_MS)),
        Logical::Time => return Some(Value::Instant(i64::from(value))),
        _ => {}
    }
    let kind = schema.map_or_else(|| int_type(node).ok(), |schema| Some(schema.kind()))?;
    let wide = i64::from(value);
    Some(match kind {
        Type::Int8 => Value::Int(i64::from(i8::try_from(value).ok()?), Width::W8),
        Type::Int16 => Value::Int(i64::from(i16::try_from(value).ok()?), Width::W16),
        _ => Value::Int(wide, Width::W32),
    })
}

fn bytes(node: &Node, schema: Option<&Schema>, json: &Json, size: Option<usize>) -> Option<Value> {
    let chars = json.as_str()?.chars();
    let bytes: Vec<u8> =
        chars.map(|char| u8::try_from(u32::from(char)).ok()).collect::<Option<_>>()?;
    if size.is_some_and(|size| size != bytes.len()) {
        return None;
    }
    match logical_of(node, schema) {
        Logical::Decimal(_) if bytes.is_empty() => None,
        Logical::Decimal(scale) => Some(Value::Decimal { unscaled: bytes, scale: scale? }),
        _ => Some(Value::Bytes(bytes)),
    }
}
