//! Making schemas. Every step is taken; what was wrong is told when the schema is built.
//!
//! Source: Connect's `SchemaBuilder`, with its messages. Unlike there, a default is checked against
//! the finished schema, so that the order of the steps does not matter.

use crate::error::SchemaError;
use crate::schema::{DATE, DECIMAL, Field, Logical, Schema, TIME, TIMESTAMP, Type};
use crate::value::Value;
use std::collections::HashSet;
use std::sync::Arc;

/// Builds a schema; [`SchemaBuilder::build`] checks what belongs together.
#[derive(Clone, Debug)]
pub struct SchemaBuilder {
    schema: Schema,
    /// Elements of lists and maps may be unknown.
    partial: bool,
    /// Properties that were set here, not taken over from another schema.
    given: Vec<&'static str>,
    /// The first thing that was wrong.
    fault: Option<SchemaError>,
}

impl SchemaBuilder {
    pub fn new(kind: Type) -> SchemaBuilder {
        SchemaBuilder::from_schema(Schema::new(kind), false)
    }

    fn from_schema(schema: Schema, partial: bool) -> SchemaBuilder {
        SchemaBuilder { schema, partial, given: Vec::new(), fault: None }
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

    /// The same schema once more, to change some of its attributes. Its default stays, whatever is
    /// changed.
    pub fn copy(schema: &Schema) -> SchemaBuilder {
        SchemaBuilder::from_schema(schema.clone(), true)
    }

    pub fn structure() -> SchemaBuilder {
        SchemaBuilder::new(Type::Struct)
    }

    pub fn array(items: Arc<Schema>) -> SchemaBuilder {
        SchemaBuilder::array_of(Some(items))
    }

    /// An ARRAY whose elements may have no schema, as a list that was read from text.
    pub fn array_of(items: Option<Arc<Schema>>) -> SchemaBuilder {
        let mut builder = SchemaBuilder::new(Type::Array).partial();
        builder.schema.value = items;
        builder
    }

    pub fn map(keys: Arc<Schema>, values: Arc<Schema>) -> SchemaBuilder {
        SchemaBuilder::map_of(Some(keys), Some(values))
    }

    /// A MAP whose keys and values may have no schema, as a map that was read from text.
    pub fn map_of(keys: Option<Arc<Schema>>, values: Option<Arc<Schema>>) -> SchemaBuilder {
        let mut builder = SchemaBuilder::new(Type::Map).partial();
        builder.schema.key = keys;
        builder.schema.value = values;
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

    /// Lets the elements of an ARRAY or MAP be unknown.
    pub(crate) fn partial(mut self) -> Self {
        self.partial = true;
        self
    }

    /// A property that is set a second time has to be the same.
    fn set_once(&mut self, property: &'static str, differs: bool) {
        if !self.given.contains(&property) {
            self.given.push(property);
        } else if differs {
            let message = format!("Invalid SchemaBuilder call: {property} has already been set.");
            self.fault.get_or_insert(SchemaError::builder(message));
        }
    }

    pub fn optional(mut self) -> Self {
        self.schema.optional = true;
        self
    }

    /// A null is no default: it is only allowed where the schema is optional.
    pub fn default(mut self, value: Value) -> Self {
        let value = value.without_schemas();
        let differs = self.schema.default.as_ref().is_some_and(|old| *old != value);
        self.set_once("default", differs);
        self.schema.default = Some(value);
        self
    }

    pub fn name(mut self, name: &str) -> Self {
        let differs = self.schema.name().is_some_and(|old| old != name);
        self.set_once("name", differs);
        self.schema.name = Some(name.into());
        self
    }

    pub fn version(mut self, version: i32) -> Self {
        let differs = self.schema.version.is_some_and(|old| old != version);
        self.set_once("version", differs);
        self.schema.version = Some(version);
        self
    }

    pub fn doc(mut self, doc: &str) -> Self {
        let differs = self.schema.doc().is_some_and(|old| old != doc);
        self.set_once("doc", differs);
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
    /// A property set twice, fields on a type other than STRUCT, an empty or repeated field name, an
    /// ARRAY or MAP without element schemas, a default that is no value of the schema.
    pub fn build(mut self) -> Result<Schema, SchemaError> {
        if let Some(fault) = self.fault.take().or_else(|| self.structure_fault()) {
            return Err(fault);
        }
        self.schema.logical = logical(&self.schema);
        if self.given.contains(&"default")
            && let Some(value) = self.schema.default.take()
        {
            if self.schema.validate(None, &value).is_err() {
                return Err(SchemaError::builder("Invalid default value"));
            }
            self.schema.default = Some(value).filter(|value| !value.is_null());
        }
        Ok(self.schema)
    }

    fn structure_fault(&self) -> Option<SchemaError> {
        let schema = &self.schema;
        let (name, fault) = match schema.kind {
            Type::Struct => ("", self.field_fault()),
            _ if !schema.fields.is_empty() => {
                ("", Some(format!("Cannot create fields on type {}", schema.kind.name())))
            }
            Type::Map if !self.partial && schema.key.is_none() => ("keySchema", None),
            Type::Map | Type::Array if !self.partial && schema.value.is_none() => {
                ("valueSchema", None)
            }
            _ => ("", None),
        };
        let missing = (!name.is_empty()).then(|| format!("{name} cannot be null."));
        fault.or(missing).map(SchemaError::builder)
    }

    fn field_fault(&self) -> Option<String> {
        let mut seen = HashSet::new();
        for field in &self.schema.fields {
            if field.name.is_empty() {
                return Some("fieldName cannot be null.".to_owned());
            }
            if !seen.insert(&*field.name) {
                let name = &field.name;
                return Some(format!(
                    "Cannot create field because of field name duplication {name}"
                ));
            }
        }
        None
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
    use crate::cell::Width;

    fn field(kind: Type) -> Arc<Schema> {
        Arc::new(Schema::new(kind))
    }

    fn fault(builder: SchemaBuilder) -> String {
        builder.build().unwrap_err().0
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
        assert!(fault(twice).contains("field name duplication a"));
        let nameless = SchemaBuilder::structure().field("", field(Type::Int8));
        assert_eq!(fault(nameless), "fieldName cannot be null.");
        let on_number = SchemaBuilder::new(Type::Int8).field("a", field(Type::Int8));
        assert_eq!(fault(on_number), "Cannot create fields on type INT8");
        assert_eq!(fault(SchemaBuilder::new(Type::Array)), "valueSchema cannot be null.");
        assert_eq!(fault(SchemaBuilder::new(Type::Map)), "keySchema cannot be null.");
        assert!(SchemaBuilder::array_of(None).build().unwrap().value_schema().is_none());
    }

    #[test]
    fn properties_are_set_once() {
        let builder = || SchemaBuilder::new(Type::Int32);
        for (builder, property) in [
            (builder().name("a").name("b"), "name"),
            (builder().version(1).version(2), "version"),
            (builder().doc("a").doc("b"), "doc"),
            (
                builder().default(Value::Int(1, Width::W32)).default(Value::Int(2, Width::W32)),
                "default",
            ),
            (SchemaBuilder::date().name("b"), "name"),
        ] {
            let wanted = format!("Invalid SchemaBuilder call: {property} has already been set.");
            assert_eq!(fault(builder), wanted);
        }
        assert!(builder().name("a").name("a").optional().optional().build().is_ok());
    }

    #[test]
    fn a_default_is_a_value_of_its_schema() {
        let wrong = SchemaBuilder::new(Type::Int32).default(Value::Text("x".into()));
        assert_eq!(fault(wrong), "Invalid default value");
        let null = SchemaBuilder::new(Type::Int32).default(Value::Null);
        assert_eq!(fault(null.clone()), "Invalid default value");
        assert_eq!(null.optional().build().unwrap(), *Schema::optional_of(Type::Int32));
        let missing = SchemaBuilder::structure()
            .default(Value::fields(vec![Value::Null]))
            .field("a", field(Type::Int32));
        assert_eq!(fault(missing), "Invalid default value");
    }
}
