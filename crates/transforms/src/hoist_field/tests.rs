//! The rules of this transform, each as a small case.

use crate::testing::{apply, apply_to, map_value, record, text};
use data::{Schema, SchemaBuilder, Type, Value};
use std::sync::Arc;

const CLASS: &str = "HoistField$Value";

#[test]
fn a_value_without_schema_becomes_a_member_a_null_too() {
    for value in [text("x"), Value::Null, map_value(&[("a", text("1"))])] {
        let seen = apply_to(CLASS, &[("field", "f")], value.clone());
        assert_eq!(seen, Ok(map_value(&[("f", value)])));
    }
}

#[test]
fn a_value_becomes_a_struct_of_one_field_of_its_schema() {
    let optional = SchemaBuilder::new(Type::String).optional().name("N").build().unwrap();
    for (schema, value) in [(Schema::new(Type::String), text("x")), (optional, Value::Null)] {
        let schema = Arc::new(schema);
        let (seen, hoisted) =
            apply(CLASS, &[("field", "f")], record(Some(&schema), value.clone())).unwrap();
        let wanted = SchemaBuilder::structure().field("f", schema).build().unwrap();
        assert_eq!(seen.as_deref(), Some(&wanted));
        let Value::Struct(fields) = hoisted else { panic!() };
        assert_eq!(fields.values, [value]);
    }
}

#[test]
fn what_no_struct_can_hold_is_refused() {
    let schema = Arc::new(Schema::new(Type::Int32));
    let seen = apply(CLASS, &[("field", "f")], record(Some(&schema), Value::Null));
    let wanted =
        "DataException: Invalid value: null used for required field: \"f\", schema type: INT32";
    assert_eq!(seen, Err(wanted.to_owned()));
    let seen = apply(CLASS, &[("field", "")], record(Some(&schema), Value::int(1))).unwrap_err();
    assert_eq!(seen, "SchemaBuilderException: fieldName cannot be null.");
}
