//! Whether a value is one of a schema's, with Connect's messages for those that are not.

use crate::builder::SchemaBuilder;
use crate::cell::Width;
use crate::error::SchemaError;
use crate::java_text::value_class;
use crate::schema::{DATE, DECIMAL, Schema, TIME, TIMESTAMP, Type};
use crate::value::{Struct, Value};
use std::fmt;
use std::sync::Arc;

/// What a value is to the record, for messages.
#[derive(Clone, Copy)]
enum Place<'a> {
    Value,
    Field(&'a str),
    Element(&'a Place<'a>),
    Key(&'a Place<'a>),
    Entry(&'a Place<'a>),
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Value => f.write_str("value"),
            Place::Field(name) => write!(f, "field: \"{name}\""),
            Place::Element(outer) => write!(f, "element of array {outer}"),
            Place::Key(outer) => write!(f, "key of map {outer}"),
            Place::Entry(outer) => write!(f, "value of map {outer}"),
        }
    }
}

impl Schema {
    /// Checks a value, everything in it included. `name` is the field's, if it is one. A null needs an
    /// optional schema, whatever the default.
    ///
    /// # Errors
    /// The first part that does not fit, with its place.
    pub fn validate(&self, name: Option<&str>, value: &Value) -> Result<(), SchemaError> {
        check(Some(self), name.map_or(Place::Value, Place::Field), value)
    }
}

fn check(schema: Option<&Schema>, place: Place<'_>, value: &Value) -> Result<(), SchemaError> {
    let Some(schema) = schema else {
        return Err(SchemaError::data(format!("No schema defined for {place}")));
    };
    let kind = schema.kind().name();
    if value.is_null() {
        if schema.is_optional() {
            return Ok(());
        }
        return Err(SchemaError::data(format!(
            "Invalid value: null used for required {place}, schema type: {kind}"
        )));
    }
    if !is_class_of(schema, value) {
        let name = schema.name().map(|name| format!(" \"{name}\"")).unwrap_or_default();
        let class = value_class(value);
        return Err(SchemaError::data(format!(
            "Invalid Java object for schema{name} with type {kind}: {class} for {place}"
        )));
    }
    let element = schema.value_schema().map(AsRef::as_ref);
    match value {
        Value::Struct(value) => {
            if value.schema.as_deref().is_some_and(|own| own != schema) {
                return Err(SchemaError::data("Struct schemas do not match."));
            }
            check_fields(schema, value)
        }
        Value::List(items) => {
            items.iter().try_for_each(|item| check(element, Place::Element(&place), item))
        }
        Value::Map(entries) => entries.iter().try_for_each(|(key, value)| {
            check(schema.key_schema().map(AsRef::as_ref), Place::Key(&place), key)?;
            check(element, Place::Entry(&place), value)
        }),
        _ => Ok(()),
    }
}

/// The fields of a struct. One that is null and has a default or is optional is not looked at.
pub(crate) fn check_fields(schema: &Schema, value: &Struct) -> Result<(), SchemaError> {
    for (index, field) in schema.fields().iter().enumerate() {
        let value = value.values.get(index).unwrap_or(&Value::Null);
        if value.is_null() && (field.schema.is_optional() || field.schema.default().is_some()) {
            continue;
        }
        check(Some(&field.schema), Place::Field(&field.name), value)?;
    }
    Ok(())
}

/// Whether the value's class is the one of the logical name, whatever its base, or of the type.
fn is_class_of(schema: &Schema, value: &Value) -> bool {
    match schema.name() {
        Some(DECIMAL) => return matches!(value, Value::Decimal { .. }),
        Some(DATE | TIME | TIMESTAMP) => return matches!(value, Value::Instant(_)),
        _ => {}
    }
    match schema.kind() {
        Type::Int8 => matches!(value, Value::Int(_, Width::W8)),
        Type::Int16 => matches!(value, Value::Int(_, Width::W16)),
        Type::Int32 => matches!(value, Value::Int(_, Width::W32)),
        Type::Int64 => matches!(value, Value::Int(_, Width::W64)),
        Type::Float32 => matches!(value, Value::Float32(_)),
        Type::Float64 => matches!(value, Value::Float(_)),
        Type::Boolean => matches!(value, Value::Bool(_)),
        Type::String => matches!(value, Value::Text(_)),
        Type::Bytes => matches!(value, Value::Bytes(_)),
        Type::Array => matches!(value, Value::List(_)),
        Type::Map => matches!(value, Value::Map(_)),
        Type::Struct => matches!(value, Value::Struct(_)),
    }
}

/// The schema that a value's class says, if it says one. Of a list or map: where all elements are of
/// one type, which is all that is told of them; nulls make it optional.
pub fn infer_schema(value: &Value) -> Option<Arc<Schema>> {
    let kind = match value {
        Value::Null | Value::Decimal { .. } | Value::BigInteger(_) | Value::Instant(_) => None,
        Value::Bool(_) => Some(Type::Boolean),
        Value::Int(_, Width::W8) => Some(Type::Int8),
        Value::Int(_, Width::W16) => Some(Type::Int16),
        Value::Int(_, Width::W32) => Some(Type::Int32),
        Value::Int(_, Width::W64) => Some(Type::Int64),
        Value::Float32(_) => Some(Type::Float32),
        Value::Float(_) => Some(Type::Float64),
        Value::Text(_) => Some(Type::String),
        Value::Bytes(_) => Some(Type::Bytes),
        Value::List(items) => {
            let items = common(items.iter())?;
            return SchemaBuilder::array_of(Some(items)).build().ok().map(Arc::new);
        }
        Value::Map(entries) => {
            let keys = common(entries.iter().map(|(key, _)| key))?;
            let values = common(entries.iter().map(|(_, value)| value))?;
            let builder = SchemaBuilder::map_of(Some(keys), Some(values));
            return builder.build().ok().map(Arc::new);
        }
        Value::Struct(value) => return value.schema.clone(),
    };
    kind.map(Schema::required_of)
}

/// The bare schema of the one type that all values have.
fn common<'a>(values: impl Iterator<Item = &'a Value>) -> Option<Arc<Schema>> {
    let (mut kind, mut optional) = (None, false);
    for value in values {
        if value.is_null() {
            optional = true;
            continue;
        }
        let found = infer_schema(value)?.kind();
        if *kind.get_or_insert(found) != found {
            return None;
        }
    }
    kind.map(|kind| if optional { Schema::optional_of(kind) } else { Schema::required_of(kind) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::SchemaBuilder;

    fn fault(schema: &Schema, name: Option<&str>, value: &Value) -> String {
        schema.validate(name, value).unwrap_err().0
    }

    #[test]
    fn what_does_not_fit_is_named_with_its_place() {
        let number = Schema::required_of(Type::Int32);
        let text = Value::Text("x".into());
        assert_eq!(
            fault(&number, Some("f"), &text),
            "Invalid Java object for schema with type INT32: class java.lang.String for field: \"f\""
        );
        let map = SchemaBuilder::map(Schema::required_of(Type::String), number).build().unwrap();
        let list = SchemaBuilder::array(Arc::new(map)).build().unwrap();
        let value = Value::List(vec![Value::Map(vec![(text.clone(), Value::Null)])]);
        assert_eq!(
            fault(&list, Some("a"), &value),
            "Invalid value: null used for required value of map element of array field: \"a\", \
             schema type: INT32"
        );
        assert_eq!(
            fault(&Schema::date(), None, &Value::Int(1, Width::W32)),
            "Invalid Java object for schema \"org.apache.kafka.connect.data.Date\" with type INT32: \
             class java.lang.Integer for value"
        );
        let unknown = Schema::required_of(Type::Array);
        assert_eq!(
            fault(&unknown, None, &Value::List(vec![text])),
            "No schema defined for element of array value"
        );
    }

    #[test]
    fn a_struct_has_its_schema_and_its_fields() {
        let of = |kind| {
            let builder = SchemaBuilder::structure().field("a", Schema::required_of(kind));
            Arc::new(builder.build().unwrap())
        };
        let (narrow, wide) = (of(Type::Int32), of(Type::Int64));
        let value = Value::fields(vec![Value::Int(1, Width::W32)]);
        assert!(narrow.validate(None, &value).is_ok());
        let value = value.with_schema(&narrow);
        assert_eq!(fault(&wide, None, &value), "Struct schemas do not match.");
        assert_eq!(
            fault(&narrow, None, &Value::fields(vec![])),
            "Invalid value: null used for required field: \"a\", schema type: INT32"
        );
    }

    #[test]
    fn schemas_are_inferred_from_classes_alone() {
        let list = |items| infer_schema(&Value::List(items));
        let seen = list(vec![Value::Int(1, Width::W32), Value::Null]).unwrap();
        assert_eq!(*seen.value_schema().unwrap(), Schema::optional_of(Type::Int32));
        assert!(list(vec![]).is_none() && list(vec![Value::Null]).is_none());
        assert!(list(vec![Value::int(1), Value::Int(1, Width::W8)]).is_none());
        assert!(infer_schema(&Value::Instant(1)).is_none());
        assert!(infer_schema(&Value::Map(vec![])).is_none());
    }
}
