//! Values of one schema as values of another that can be read in its place: Connect's
//! `SchemaProjector`.

use crate::cell::Width;
use crate::error::SchemaError;
use crate::java_text::schema_text;
use crate::schema::{ParameterSet, Schema, Type};
use crate::value::{Struct, Value};
use std::sync::Arc;

type Result<T> = std::result::Result<T, SchemaError>;

/// The value of `source` as one of `target`: numbers are widened, fields found by name, missing ones
/// take their default, others are dropped.
///
/// # Errors
/// The schemas do not go together: type, name or parameters differ, a required field without a
/// default is missing; or the value is none of `source`.
pub fn project(source: &Arc<Schema>, value: &Value, target: &Arc<Schema>) -> Result<Value> {
    compatible(source, target)?;
    if source.is_optional() && !target.is_optional() {
        let Some(default) = target.default() else {
            return Err(SchemaError::projector(
                "Writer schema is optional, however, target schema does not provide a default value.",
            ));
        };
        if value.is_null() {
            return Ok(default.clone().with_schema(target));
        }
    }
    if value.is_null() {
        return Ok(Value::Null);
    }
    match (target.kind(), value) {
        (Type::Struct, Value::Struct(value)) => project_struct(source, value, target),
        (Type::Array, Value::List(items)) => {
            let (from, to) = (source.value_schema(), target.value_schema());
            Ok(Value::List(
                items.iter().map(|item| element(from, item, to)).collect::<Result<_>>()?,
            ))
        }
        (Type::Map, Value::Map(entries)) => {
            let keys = (source.key_schema(), target.key_schema());
            let values = (source.value_schema(), target.value_schema());
            let pair = |(key, value): &(Value, Value)| {
                Ok((element(keys.0, key, keys.1)?, element(values.0, value, values.1)?))
            };
            Ok(Value::Map(entries.iter().map(pair).collect::<Result<_>>()?))
        }
        (Type::Struct | Type::Array | Type::Map, other) => {
            let class = crate::java_text::value_class(other);
            let kind = target.kind().name();
            Err(SchemaError::cast(format!("{class} is no value of type {kind}")))
        }
        (kind, value) => Ok(widened(kind, value)),
    }
}

/// Elements without a schema on one side stay as they are.
fn element(
    source: Option<&Arc<Schema>>,
    value: &Value,
    target: Option<&Arc<Schema>>,
) -> Result<Value> {
    match (source, target) {
        (Some(source), Some(target)) => project(source, value, target),
        _ => Ok(value.clone()),
    }
}

fn compatible(source: &Schema, target: &Schema) -> Result<()> {
    let (from, to) = (source.kind(), target.kind());
    let promotable = from.number_rank().is_some() && from.number_rank() <= to.number_rank();
    let wrong = if from != to && !promotable {
        let (from, to) = (from.name(), to.name());
        format!("Schema type mismatch. source type: {from} and target type: {to}")
    } else if source.name() != target.name() {
        let (from, to) = (source.name().unwrap_or("null"), target.name().unwrap_or("null"));
        format!("Schema name mismatch. source name: {from} and target name: {to}")
    } else if ParameterSet(source.parameters()) != ParameterSet(target.parameters()) {
        let (from, to) = (parameters(source), parameters(target));
        format!(
            "Schema parameters not equal. source parameters: {from} and target parameters: {to}"
        )
    } else {
        return Ok(());
    };
    Err(SchemaError::projector(wrong))
}

fn parameters(schema: &Schema) -> String {
    match schema.parameters() {
        None => "null".to_owned(),
        Some(list) => {
            let pairs: Vec<String> = list.iter().map(|(k, v)| format!("{k}={v}")).collect();
            format!("{{{}}}", pairs.join(", "))
        }
    }
}

/// A number as Java's casts have it; what is no number stays.
fn widened(kind: Type, value: &Value) -> Value {
    let integer = |width| {
        let long = match value {
            Value::Int(value, _) => *value,
            Value::Float32(value) => *value as i64,
            Value::Float(value) => *value as i64,
            _ => return None,
        };
        Some(Value::Int(cut(long, width), width))
    };
    let double = || match value {
        Value::Int(value, _) => Some(*value as f64),
        Value::Float32(value) => Some(f64::from(*value)),
        Value::Float(value) => Some(*value),
        _ => None,
    };
    let number = match kind {
        Type::Int8 => integer(Width::W8),
        Type::Int16 => integer(Width::W16),
        Type::Int32 => integer(Width::W32),
        Type::Int64 => integer(Width::W64),
        Type::Float32 => match value {
            // Not by way of a double, which would round twice.
            Value::Int(value, _) => Some(Value::Float32(*value as f32)),
            _ => double().map(|value| Value::Float32(value as f32)),
        },
        Type::Float64 => double().map(Value::Float),
        _ => None,
    };
    number.unwrap_or_else(|| value.clone())
}

fn cut(value: i64, width: Width) -> i64 {
    match width {
        Width::W8 => i64::from(value as i8),
        Width::W16 => i64::from(value as i16),
        Width::W32 => i64::from(value as i32),
        Width::W64 => value,
    }
}

fn project_struct(source: &Arc<Schema>, value: &Struct, target: &Arc<Schema>) -> Result<Value> {
    let mut projected = Struct::new(Arc::clone(target))?;
    for field in target.fields() {
        let (name, to) = (&*field.name, &field.schema);
        let Some(index) = source.field(name) else {
            match to.default() {
                _ if to.is_optional() => {}
                Some(default) => projected.put(name, default.clone())?,
                None => {
                    return Err(SchemaError::projector(format!(
                        "Required field `{name}` is missing from source schema: {}",
                        schema_text(source)
                    )));
                }
            }
            continue;
        };
        let Some(from) = source.fields().get(index).map(|field| &field.schema) else { continue };
        let own = value.values.get(index).filter(|value| !value.is_null());
        let own = own.or_else(|| from.default()).unwrap_or(&Value::Null);
        let new = project(from, own, to).map_err(|error| match error {
            error if error.is_projector() => {
                SchemaError::projector(format!("Error projecting {name}"))
            }
            error => error,
        })?;
        projected.put(name, new)?;
    }
    Ok(Value::Struct(projected))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::SchemaBuilder;

    fn structure(fields: &[(&str, Arc<Schema>)]) -> Arc<Schema> {
        let builder = SchemaBuilder::structure();
        let add = |builder: SchemaBuilder, (name, schema): &(&str, Arc<Schema>)| {
            builder.field(name, Arc::clone(schema))
        };
        Arc::new(fields.iter().fold(builder, add).build().unwrap())
    }

    fn with_default(builder: SchemaBuilder, value: i64) -> Arc<Schema> {
        Arc::new(builder.default(Value::Int(value, Width::W32)).build().unwrap())
    }

    #[test]
    fn numbers_widen_and_never_narrow() {
        let of = Schema::required_of;
        let value = Value::int(9_007_199_254_740_993);
        let seen = project(&of(Type::Int64), &value, &of(Type::Float64)).unwrap();
        assert_eq!(seen, Value::Float(9_007_199_254_740_992.0));
        let refused = project(&of(Type::Int64), &value, &of(Type::Int8)).unwrap_err();
        assert_eq!(refused.0, "Schema type mismatch. source type: INT64 and target type: INT8");
    }

    #[test]
    fn fields_are_found_by_name_and_missing_ones_take_defaults() {
        let number = Schema::required_of(Type::Int32);
        let filled = with_default(SchemaBuilder::new(Type::Int32), 7);
        let source = structure(&[("gone", number.clone()), ("a", number.clone())]);
        let target = structure(&[
            ("a", Schema::required_of(Type::Int64)),
            ("new", filled),
            ("open", Schema::optional_of(Type::String)),
        ]);
        let value = Value::fields(vec![Value::Int(1, Width::W32), Value::Int(2, Width::W32)]);
        let seen = project(&source, &value, &target).unwrap();
        let wanted = vec![Value::int(2), Value::Int(7, Width::W32), Value::Null];
        assert_eq!(seen, Value::fields(wanted).with_schema(&target));
        let refused = project(&source, &value, &structure(&[("b", number)])).unwrap_err();
        assert_eq!(refused.0, "Required field `b` is missing from source schema: Schema{STRUCT}");
    }

    #[test]
    fn an_optional_value_needs_a_default_where_it_is_required() {
        let source = Schema::optional_of(Type::Int32);
        let one = Value::Int(1, Width::W32);
        assert!(project(&source, &one, &Schema::required_of(Type::Int32)).is_err());
        let target = with_default(SchemaBuilder::new(Type::Int32), 9);
        assert_eq!(project(&source, &one, &target).unwrap(), one);
        assert_eq!(project(&source, &Value::Null, &target).unwrap(), Value::Int(9, Width::W32));
    }
}
