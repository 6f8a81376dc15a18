//! Connect schemas: a type with optionality, default, name, version, doc, parameters and children.
//!
//! Schemas are built once, shared as `Arc`s and never change. Equality and hashing look at every
//! attribute, as Connect's do. Source: the Connect data model (`ConnectSchema`, `Decimal`, `Date`,
//! `Time`, `Timestamp`).

use crate::value::Value;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The logical names of Connect itself.
pub const DECIMAL: &str = "org.apache.kafka.connect.data.Decimal";
pub const DATE: &str = "org.apache.kafka.connect.data.Date";
pub const TIME: &str = "org.apache.kafka.connect.data.Time";
pub const TIMESTAMP: &str = "org.apache.kafka.connect.data.Timestamp";

/// Connect's twelve schema types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    Int8,
    Int16,
    Int32,
    Int64,
    Float32,
    Float64,
    Boolean,
    String,
    Bytes,
    Array,
    Map,
    Struct,
}

impl Type {
    /// The name in messages (`INT32`).
    pub fn name(self) -> &'static str {
        match self {
            Type::Int8 => "INT8",
            Type::Int16 => "INT16",
            Type::Int32 => "INT32",
            Type::Int64 => "INT64",
            Type::Float32 => "FLOAT32",
            Type::Float64 => "FLOAT64",
            Type::Boolean => "BOOLEAN",
            Type::String => "STRING",
            Type::Bytes => "BYTES",
            Type::Array => "ARRAY",
            Type::Map => "MAP",
            Type::Struct => "STRUCT",
        }
    }

    /// The name in the JSON form of a schema (`int32`).
    pub fn json_name(self) -> &'static str {
        match self {
            Type::Int8 => "int8",
            Type::Int16 => "int16",
            Type::Int32 => "int32",
            Type::Int64 => "int64",
            Type::Float32 => "float",
            Type::Float64 => "double",
            Type::Boolean => "boolean",
            Type::String => "string",
            Type::Bytes => "bytes",
            Type::Array => "array",
            Type::Map => "map",
            Type::Struct => "struct",
        }
    }

    pub fn from_json_name(name: &str) -> Option<Type> {
        const ALL: [Type; 12] = [
            Type::Int8,
            Type::Int16,
            Type::Int32,
            Type::Int64,
            Type::Float32,
            Type::Float64,
            Type::Boolean,
            Type::String,
            Type::Bytes,
            Type::Array,
            Type::Map,
            Type::Struct,
        ];
        ALL.into_iter().find(|t| t.json_name() == name)
    }

    pub fn is_integer(self) -> bool {
        matches!(self, Type::Int8 | Type::Int16 | Type::Int32 | Type::Int64)
    }
}

/// What a schema's name and base type make of its values. Found once, when the schema is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Logical {
    None,
    /// Unscaled bytes; `None` where the scale parameter is missing or no number.
    Decimal(Option<i32>),
    /// Days since 1970-01-01.
    Date,
    /// Milliseconds since midnight.
    Time,
    /// Milliseconds since the epoch, UTC.
    Timestamp,
}

/// A named member of a STRUCT; its index is its place in [`Schema::fields`].
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct Field {
    pub name: Arc<str>,
    pub schema: Arc<Schema>,
}

/// A schema. Make one with [`Schema::new`] or [`SchemaBuilder`].
#[derive(Clone, Debug)]
pub struct Schema {
    kind: Type,
    logical: Logical,
    optional: bool,
    default: Option<Value>,
    name: Option<Arc<str>>,
    version: Option<i32>,
    doc: Option<Arc<str>>,
    parameters: Option<Vec<(Arc<str>, Arc<str>)>>,
    fields: Vec<Field>,
    key: Option<Arc<Schema>>,
    value: Option<Arc<Schema>>,
}

impl Schema {
    /// A required schema of a primitive type, without further attributes.
    pub fn new(kind: Type) -> Schema {
        Schema {
            kind,
            logical: Logical::None,
            optional: false,
            default: None,
            name: None,
            version: None,
            doc: None,
            parameters: None,
            fields: Vec::new(),
            key: None,
            value: None,
        }
    }

    pub fn kind(&self) -> Type {
        self.kind
    }

    pub fn logical(&self) -> Logical {
        self.logical
    }

    pub fn is_optional(&self) -> bool {
        self.optional
    }

    pub fn default(&self) -> Option<&Value> {
        self.default.as_ref()
    }

    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    pub fn version(&self) -> Option<i32> {
        self.version
    }

    pub fn doc(&self) -> Option<&str> {
        self.doc.as_deref()
    }

    pub fn parameters(&self) -> Option<&[(Arc<str>, Arc<str>)]> {
        self.parameters.as_deref()
    }

    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.as_ref()?.iter().find(|(k, _)| &**k == name).map(|(_, v)| &**v)
    }

    /// The fields of a STRUCT in index order; empty for other types.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// The index of a field by name.
    pub fn field(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|f| &*f.name == name)
    }

    /// The key schema of a MAP.
    pub fn key_schema(&self) -> Option<&Arc<Schema>> {
        self.key.as_ref()
    }

    /// The element schema of an ARRAY or the value schema of a MAP.
    pub fn value_schema(&self) -> Option<&Arc<Schema>> {
        self.value.as_ref()
    }

    /// The eight types without children, BYTES included.
    pub fn is_primitive(&self) -> bool {
        !matches!(self.kind, Type::Array | Type::Map | Type::Struct)
    }
}

/// All attributes, in one place for `==` and `Hash`; `logical` follows from the others.
macro_rules! attributes {
    ($schema:expr) => {
        (
            $schema.kind,
            $schema.optional,
            &$schema.name,
            $schema.version,
            &$schema.doc,
            &$schema.parameters,
            &$schema.fields,
            &$schema.key,
            &$schema.value,
        )
    };
}

impl PartialEq for Schema {
    fn eq(&self, other: &Schema) -> bool {
        std::ptr::eq(self, other)
            || (attributes!(self) == attributes!(other) && self.default == other.default)
    }
}

impl Eq for Schema {}

impl Hash for Schema {
    fn hash<H: Hasher>(&self, state: &mut H) {
        attributes!(self).hash(state);
    }
}

/// A schema that cannot be built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaError(pub String);

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SchemaError {}

/// Builds a schema; [`SchemaBuilder::build`] checks what belongs together.
#[derive(Clone, Debug)]
pub struct SchemaBuilder {
    schema: Schema,
}

impl SchemaBuilder {
    pub fn new(kind: Type) -> SchemaBuilder {
        SchemaBuilder { schema: Schema::new(kind) }
    }

    /// A schema of another type with what says the meaning of this one: name, version, doc and
    /// parameters. Whether it is optional, its default and its children are left out.
    pub fn like(schema: &Schema, kind: Type) -> SchemaBuilder {
        let mut builder = SchemaBuilder::new(kind);
        builder.schema.name.clone_from(&schema.name);
        builder.schema.version = schema.version;
        builder.schema.doc.clone_from(&schema.doc);
        builder.schema.parameters.clone_from(&schema.parameters);
        builder
    }

    /// The same schema once more, to change some of its attributes.
    pub fn copy(schema: &Schema) -> SchemaBuilder {
        SchemaBuilder { schema: schema.clone() }
    }

    pub fn structure() -> SchemaBuilder {
        SchemaBuilder::new(Type::Struct)
    }

    pub fn array(items: Arc<Schema>) -> SchemaBuilder {
        let mut builder = SchemaBuilder::new(Type::Array);
        builder.schema.value = Some(items);
        builder
    }

    pub fn map(keys: Arc<Schema>, values: Arc<Schema>) -> SchemaBuilder {
        let mut builder = SchemaBuilder::new(Type::Map);
        builder.schema.key = Some(keys);
        builder.schema.value = Some(values);
        builder
    }

    pub fn decimal(scale: i32) -> SchemaBuilder {
        SchemaBuilder::new(Type::Bytes)
            .name(DECIMAL)
            .version(1)
            .parameter("scale", &scale.to_string())
    }

    pub fn date() -> SchemaBuilder {
        SchemaBuilder::new(Type::Int32).name(DATE).version(1)
    }

    pub fn time() -> SchemaBuilder {
        SchemaBuilder::new(Type::Int32).name(TIME).version(1)
    }

    pub fn timestamp() -> SchemaBuilder {
        SchemaBuilder::new(Type::Int64).name(TIMESTAMP).version(1)
    }

    pub fn optional(mut self) -> Self {
        self.schema.optional = true;
        self
    }

    pub fn default(mut self, value: Value) -> Self {
        self.schema.default = Some(value.without_schemas());
        self
    }

    pub fn name(mut self, name: &str) -> Self {
        self.schema.name = Some(name.into());
        self
    }

    pub fn version(mut self, version: i32) -> Self {
        self.schema.version = Some(version);
        self
    }

    pub fn doc(mut self, doc: &str) -> Self {
        self.schema.doc = Some(doc.into());
        self
    }

    /// Adds a parameter or replaces the one of that name.
    pub fn parameter(mut self, name: &str, value: &str) -> Self {
        let list = self.schema.parameters.get_or_insert_default();
        match list.iter_mut().find(|(k, _)| &**k == name) {
            Some(slot) => slot.1 = value.into(),
            None => list.push((name.into(), value.into())),
        }
        self
    }

    pub fn field(mut self, name: &str, schema: Arc<Schema>) -> Self {
        self.schema.fields.push(Field { name: name.into(), schema });
        self
    }

    /// # Errors
    /// Fields on a type other than STRUCT, an empty or repeated field name, an ARRAY or MAP
    /// without element schemas.
    pub fn build(mut self) -> Result<Schema, SchemaError> {
        let schema = &self.schema;
        let kind = schema.kind.name();
        if schema.kind != Type::Struct && !schema.fields.is_empty() {
            return Err(SchemaError(format!("Cannot create fields on type {kind}")));
        }
        for (index, field) in schema.fields.iter().enumerate() {
            if field.name.is_empty() {
                return Err(SchemaError("fieldName cannot be null.".to_owned()));
            }
            if schema.field(&field.name) != Some(index) {
                return Err(SchemaError(format!(
                    "Cannot create field because of field name duplication {}",
                    field.name
                )));
            }
        }
        let complete = match schema.kind {
            Type::Array => schema.value.is_some(),
            Type::Map => schema.key.is_some() && schema.value.is_some(),
            _ => true,
        };
        if !complete {
            return Err(SchemaError(format!("{kind} needs the schemas of its elements")));
        }
        self.schema.logical = logical(&self.schema);
        Ok(self.schema)
    }
}

fn logical(schema: &Schema) -> Logical {
    match (schema.name(), schema.kind) {
        (Some(DECIMAL), Type::Bytes) => {
            Logical::Decimal(schema.parameter("scale").and_then(|s| s.parse().ok()))
        }
        (Some(DATE), Type::Int32) => Logical::Date,
        (Some(TIME), Type::Int32) => Logical::Time,
        (Some(TIMESTAMP), Type::Int64) => Logical::Timestamp,
        _ => Logical::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(kind: Type) -> Arc<Schema> {
        Arc::new(Schema::new(kind))
    }

    #[test]
    fn equality_looks_at_every_attribute() {
        let base = SchemaBuilder::structure().name("n").field("a", field(Type::Int32));
        let same = base.clone().build().unwrap();
        assert_eq!(base.clone().build().unwrap(), same);
        for other in [
            base.clone().optional(),
            base.clone().name("m"),
            base.clone().version(2),
            base.clone().doc("d"),
            base.clone().parameter("p", "1"),
            base.clone().field("b", field(Type::Int32)),
            base.default(Value::fields(vec![Value::int(1)])),
        ] {
            assert_ne!(other.build().unwrap(), same);
        }
    }

    #[test]
    fn logical_types_need_name_and_base() {
        assert_eq!(SchemaBuilder::decimal(2).build().unwrap().logical(), Logical::Decimal(Some(2)));
        assert_eq!(SchemaBuilder::timestamp().build().unwrap().logical(), Logical::Timestamp);
        let odd = SchemaBuilder::new(Type::String).name(DATE).build().unwrap();
        assert_eq!(odd.logical(), Logical::None);
    }

    #[test]
    fn a_schema_like_another_has_its_meaning_and_a_copy_has_everything() {
        let old = SchemaBuilder::timestamp().doc("d").parameter("p", "1").optional();
        let old = old.default(Value::Instant(1)).build().unwrap();
        let like = SchemaBuilder::like(&old, Type::String).build().unwrap();
        assert_eq!((like.kind(), like.logical()), (Type::String, Logical::None));
        assert_eq!(
            (like.name(), like.version(), like.doc()),
            (Some(TIMESTAMP), Some(1), Some("d"))
        );
        assert_eq!((like.parameter("p"), like.is_optional()), (Some("1"), false));
        assert_eq!(like.default(), None);
        assert_eq!(SchemaBuilder::copy(&old).build().unwrap(), old);
        let renamed = SchemaBuilder::copy(&old).name("n").build().unwrap();
        assert_eq!((renamed.logical(), renamed.is_optional()), (Logical::None, true));
    }

    #[test]
    fn impossible_schemas_are_refused() {
        let twice =
            SchemaBuilder::structure().field("a", field(Type::Int8)).field("a", field(Type::Int8));
        assert!(twice.build().unwrap_err().0.contains("field name duplication a"));
        assert!(SchemaBuilder::new(Type::Int8).field("a", field(Type::Int8)).build().is_err());
        assert!(SchemaBuilder::new(Type::Array).build().is_err());
    }
}
