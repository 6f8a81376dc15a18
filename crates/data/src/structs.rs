//! Structs by the names of their fields. Control data and tests: rows know their fields by index.
//!
//! Invariant: what [`Struct::put`] has taken fits the field's schema.

use crate::error::SchemaError;
use crate::java_text::{schema_text, value_class, write_struct};
use crate::schema::{Schema, Type};
use crate::validate::check_fields;
use crate::value::{Struct, Value};
use std::fmt;
use std::sync::Arc;

static NULL: Value = Value::Null;

impl Struct {
    /// A struct with no field set.
    ///
    /// # Errors
    /// The schema is not one of a struct.
    pub fn new(schema: Arc<Schema>) -> Result<Struct, SchemaError> {
        if schema.kind() != Type::Struct {
            let text = schema_text(&schema);
            return Err(SchemaError::data(format!("Not a struct schema: {text}")));
        }
        let values = vec![Value::Null; schema.fields().len()];
        Ok(Struct { schema: Some(schema), values })
    }

    fn find(&self, name: &str) -> Result<(usize, &Arc<Schema>), SchemaError> {
        let found = self.schema.as_deref().and_then(|schema| {
            let index = schema.field(name)?;
            Some((index, &schema.fields().get(index)?.schema))
        });
        found.ok_or_else(|| SchemaError::data(format!("{name} is not a valid field name")))
    }

    /// The value of a field; its default where it is null.
    ///
    /// # Errors
    /// There is no such field.
    pub fn get(&self, name: &str) -> Result<&Value, SchemaError> {
        let (index, schema) = self.find(name)?;
        let value = self.values.get(index).filter(|value| !value.is_null());
        Ok(value.or_else(|| schema.default()).unwrap_or(&NULL))
    }

    /// The value of a field as it was put.
    ///
    /// # Errors
    /// There is no such field.
    pub fn get_without_default(&self, name: &str) -> Result<&Value, SchemaError> {
        let (index, _) = self.find(name)?;
        Ok(self.values.get(index).unwrap_or(&NULL))
    }

    /// The value of a field of this type, as it was put: Connect's `getInt8`, `getString` and so on.
    ///
    /// # Errors
    /// There is no such field, it is of another type, or its logical type has a class of its own.
    pub fn get_as(&self, name: &str, kind: Type) -> Result<&Value, SchemaError> {
        let (index, schema) = self.find(name)?;
        let value = self.values.get(index).unwrap_or(&NULL);
        if schema.kind() != kind {
            let kind = kind.name();
            return Err(SchemaError::data(format!("Field '{name}' is not of type {kind}")));
        }
        if let (Value::Instant(_) | Value::Decimal { .. }, class) = (value, value_class(value)) {
            let kind = kind.name();
            return Err(SchemaError::cast(format!("{class} of field '{name}' is no {kind}")));
        }
        Ok(value)
    }

    /// Sets a field.
    ///
    /// # Errors
    /// There is no such field, or the value does not fit it: a null in a required one, too, even if
    /// it has a default.
    pub fn put(&mut self, name: &str, value: Value) -> Result<(), SchemaError> {
        let (index, schema) = self.find(name)?;
        schema.validate(Some(name), &value)?;
        let value = value.with_schema(schema);
        if self.values.len() <= index {
            self.values.resize(index + 1, Value::Null);
        }
        if let Some(slot) = self.values.get_mut(index) {
            *slot = value;
        }
        Ok(())
    }

    /// Checks that every field has a value that fits or may do without.
    ///
    /// # Errors
    /// The first field that has not.
    pub fn validate(&self) -> Result<(), SchemaError> {
        match self.schema.as_deref() {
            Some(schema) => check_fields(schema, self),
            None => Ok(()),
        }
    }
}

/// `Struct{a=1,b=x}`, as Java's `toString` prints it: fields that are null are left out.
impl fmt::Display for Struct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = Vec::new();
        write_struct(None, self, &mut out);
        f.write_str(&String::from_utf8_lossy(&out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::SchemaBuilder;
    use crate::cell::Width;

    fn sample() -> Struct {
        let text = SchemaBuilder::new(Type::String).default(Value::Text("dd".into()));
        let builder = SchemaBuilder::structure()
            .field("a", Schema::required_of(Type::Int32))
            .field("d", Arc::new(text.build().unwrap()))
            .field("t", Schema::timestamp());
        Struct::new(Arc::new(builder.build().unwrap())).unwrap()
    }

    #[test]
    fn defaults_are_read_and_not_stored() {
        let mut sample = sample();
        assert_eq!(*sample.get("d").unwrap(), Value::Text("dd".into()));
        assert_eq!(*sample.get_without_default("d").unwrap(), Value::Null);
        assert_eq!(*sample.get_as("d", Type::String).unwrap(), Value::Null);
        let refused = sample.put("d", Value::Null).unwrap_err().0;
        assert!(refused.contains("null used for required field: \"d\""), "{refused}");
        assert!(sample.validate().is_err());
        sample.put("a", Value::Int(1, Width::W32)).unwrap();
        sample.put("t", Value::Instant(5)).unwrap();
        sample.validate().unwrap();
        assert_eq!(sample.to_string(), "Struct{a=1,t=Thu Jan 01 00:00:00 UTC 1970}");
    }

    #[test]
    fn wrong_names_and_types_are_refused() {
        let mut sample = sample();
        sample.put("t", Value::Instant(5)).unwrap();
        assert_eq!(sample.get("zz").unwrap_err().0, "zz is not a valid field name");
        let refused = sample.get_as("a", Type::Int64).unwrap_err().0;
        assert_eq!(refused, "Field 'a' is not of type INT64");
        let cast = sample.get_as("t", Type::Int64).unwrap_err();
        assert_eq!(cast.exception(), "java.lang.ClassCastException");
        let none = Struct::new(Schema::required_of(Type::Int32)).unwrap_err().0;
        assert_eq!(none, "Not a struct schema: Schema{INT32}");
    }
}
