//! Connect schemas: a type with optionality, default, name, version, doc, parameters and children.
//!
//! Schemas are built once, shared as `Arc`s and never change. Equality and hashing look at every
//! attribute, as Connect's do. Source: the Connect data model (`ConnectSchema`, `Decimal`, `Date`,
//! `Time`, `Timestamp`).

use crate::value::Value;
use std::collections::BTreeMap;
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
    /// All types, in their order.
    pub const ALL: [Type; 12] = [
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
        Type::ALL.into_iter().find(|t| t.json_name() == name)
    }

    /// Where a number's type stands among the numbers: each holds the range of those before it.
    pub fn number_rank(self) -> Option<usize> {
        let rank = self as usize;
        (rank <= Type::Float64 as usize).then_some(rank)
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

impl Logical {
    /// A date, a time or a timestamp: integers that stand for points in time.
    pub fn is_temporal(self) -> bool {
        matches!(self, Logical::Date | Logical::Time | Logical::Timestamp)
    }
}

/// A named member of a STRUCT; its index is its place in [`Schema::fields`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Field {
    pub name: Arc<str>,
    pub schema: Arc<Schema>,
}

/// A schema. Make one with [`Schema::new`] or [`SchemaBuilder`](crate::SchemaBuilder).
#[derive(Clone, Debug)]
pub struct Schema {
    pub(crate) kind: Type,
    pub(crate) logical: Logical,
    pub(crate) optional: bool,
    pub(crate) default: Option<Value>,
    pub(crate) name: Option<Arc<str>>,
    pub(crate) version: Option<i32>,
    pub(crate) doc: Option<Arc<str>>,
    pub(crate) parameters: Option<Vec<(Arc<str>, Arc<str>)>>,
    pub(crate) fields: Vec<Field>,
    pub(crate) key: Option<Arc<Schema>>,
    pub(crate) value: Option<Arc<Schema>>,
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

/// Parameters as a set: their order means nothing.
#[derive(Clone, Copy)]
pub(crate) struct ParameterSet<'a>(pub(crate) Option<&'a [(Arc<str>, Arc<str>)]>);

impl ParameterSet<'_> {
    fn sorted(&self) -> Option<BTreeMap<&str, &str>> {
        self.0.map(|list| list.iter().map(|(name, value)| (&**name, &**value)).collect())
    }
}

impl PartialEq for ParameterSet<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
            || (self.0.is_some() && other.0.is_some() && self.sorted() == other.sorted())
    }
}

impl Hash for ParameterSet<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.sorted().hash(state);
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
            ParameterSet($schema.parameters()),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SchemaBuilder;
    use crate::cell::Width;

    fn field(kind: Type) -> Arc<Schema> {
        Arc::new(Schema::new(kind))
    }

    #[test]
    fn equality_looks_at_every_attribute() {
        let unnamed = SchemaBuilder::structure().field("a", field(Type::Int32));
        let base = unnamed.clone().name("n");
        let same = base.clone().build().unwrap();
        assert_eq!(base.clone().build().unwrap(), same);
        for other in [
            base.clone().optional(),
            unnamed.name("m"),
            base.clone().version(2),
            base.clone().doc("d"),
            base.clone().parameter("p", "1"),
            base.clone().field("b", field(Type::Int32)),
            base.default(Value::fields(vec![Value::Int(1, Width::W32)])),
        ] {
            assert_ne!(other.build().unwrap(), same);
        }
    }

    #[test]
    fn the_order_of_parameters_means_nothing() {
        let of = |names: [&str; 2]| {
            let builder = SchemaBuilder::new(Type::Int32).parameter(names[0], "1");
            builder.parameter(names[1], "1").build().unwrap()
        };
        assert_eq!(of(["a", "b"]), of(["b", "a"]));
        assert_ne!(of(["a", "b"]), of(["a", "c"]));
    }
}
