//! The rules of this transform, each as a small case.

use super::*;
use crate::testing::{apply, apply_all, config_error, made, map, record, text};
use data::{Mask, SchemaBuilder, Type, Value};
use std::sync::Arc;

const CLASS: &str = "ReplaceField$Value";

fn of_texts(names: &[&str]) -> Arc<Schema> {
    let field = Arc::new(Schema::new(Type::String));
    let add = |builder: SchemaBuilder, name: &&str| builder.field(name, field.clone());
    let builder = names.iter().fold(SchemaBuilder::structure().name("N").optional(), add);
    Arc::new(builder.build().unwrap())
}

fn texts(values: &[&str]) -> Value {
    Value::fields(values.iter().map(|value| text(value)).collect())
}

fn names(schema: &Schema) -> Vec<&str> {
    schema.fields().iter().map(|field| &*field.name).collect()
}

#[test]
fn fields_are_left_out_kept_and_renamed_by_their_old_names() {
    let schema = of_texts(&["a", "b", "c", "d"]);
    let settings = [("exclude", "b,zz"), ("include", "a,b,d"), ("renames", "a:b,d:a,c:x")];
    let given = record(Some(&schema), texts(&["1", "2", "3", "4"]));
    let (seen, value) = apply(CLASS, &settings, given).unwrap();
    let seen = seen.unwrap();
    assert_eq!((names(&seen), seen.name(), seen.is_optional()), (vec!["b", "a"], Some("N"), false));
    let Value::Struct(fields) = value else { panic!() };
    assert_eq!(fields.values, [text("1"), text("4")]);
    let members = [("a", text("1")), ("b", text("2")), ("c", text("3")), ("d", text("4"))];
    let (_, value) = apply(CLASS, &settings, map(&members)).unwrap();
    assert_eq!(value, map(&[("b", text("1")), ("a", text("4"))]).value.1);
}

/// B031: the converter keeps an explicit null, and so does the transform if it is told to.
#[test]
fn kafka_8713_a_null_with_a_default_is_replaced_only_if_asked() {
    let a = SchemaBuilder::new(Type::String).optional().default(text("d")).build().unwrap();
    let schema = SchemaBuilder::structure()
        .field("z", Arc::new(Schema::new(Type::String)))
        .field("a", Arc::new(a));
    let schema = Arc::new(schema.build().unwrap());
    for (replace, wanted) in [("true", text("d")), ("false", Value::Null)] {
        let settings = [("exclude", "z"), ("replace.null.with.default", replace)];
        let given = record(Some(&schema), Value::fields(vec![text("z"), Value::Null]));
        let (_, value) = apply(CLASS, &settings, given).unwrap();
        let Value::Struct(fields) = value else { panic!() };
        assert_eq!(fields.values, [wanted]);
    }
}

#[test]
fn a_null_stays_as_it_is() {
    let schema = Arc::new(SchemaBuilder::new(Type::Int8).optional().build().unwrap());
    let settings = [("exclude", "a")];
    for schema in [None, Some(&schema)] {
        let seen = apply(CLASS, &settings, record(schema, Value::Null));
        assert_eq!(seen, Ok((schema.cloned(), Value::Null)));
    }
}

#[test]
fn a_name_that_is_taken_is_a_data_error() {
    let schema = of_texts(&["a", "c"]);
    let settings = [("renames", "a:c")];
    let given = [
        record(Some(&schema), texts(&["1", "2"])),
        map(&[("a", text("1")), ("c", text("2"))]),
        map(&[("a", text("1"))]),
        map(&[("c", text("2"))]),
    ];
    let seen = apply_all(made(CLASS, &settings).as_mut(), &given);
    for refused in seen.iter().take(2) {
        let wanted = "DataException: Cannot rename field a to c: there is a field c already";
        assert_eq!(*refused, Err(wanted.to_owned()));
    }
    assert_eq!(seen[2].as_ref().unwrap().1, map(&[("c", text("1"))]).value.1);
    assert_eq!(seen[3].as_ref().unwrap().1, given[3].value.1);
    // A field that goes leaves its name free.
    let settings = [("renames", "a:c"), ("exclude", "c")];
    assert!(apply(CLASS, &settings, given[0].clone()).is_ok());
}

#[test]
fn what_the_configuration_alone_shows_to_be_wrong_is_refused() {
    for (renames, part) in [
        ("a", "Invalid value [a] for configuration renames: Invalid rename mapping: a"),
        ("a:b:c", "Invalid rename mapping: a:b:c"),
        ("a:x,b:x", "Invalid rename mapping: b:x, field a is renamed to x already"),
        ("a:x,a:y", "Invalid rename mapping: a:y, field a is renamed to x already"),
    ] {
        let seen = config_error(CLASS, &[("renames", renames)]);
        assert!(seen.contains(part), "{seen}");
    }
    assert_eq!(config_error(CLASS, &[("exclude", "a,a")]), "", "repeats count once");
}

#[test]
fn fields_side_by_side_and_renamings_copy_nothing() {
    let schema = of_texts(&["a", "b", "c"]);
    for settings in [[("exclude", "a")], [("include", "b")], [("renames", "a:x")]] {
        let given = record(Some(&schema), texts(&["1", "2", "3"]));
        let mut batch = crate::testing::batch(&[given]);
        let before = batch.values.cell_mark();
        made(CLASS, &settings).apply(&mut batch, &Mask::all(1));
        assert_eq!(batch.values.cell_mark(), before, "{settings:?}");
    }
}

#[test]
fn records_of_many_shapes_in_one_batch_each_get_their_own() {
    let schemas = [of_texts(&["a", "b"]), of_texts(&["b", "a"])];
    let mut given = Vec::new();
    for round in 0..4 {
        given.push(record(Some(&schemas[round % 2]), texts(&["1", "2"])));
        given.push(map(&[("b", text("1")), ("a", text("2"))]));
        given.push(map(&[("a", text("2")), ("b", text("1"))]));
        given.push(record(None, text("x")));
    }
    let seen = apply_all(made(CLASS, &[("exclude", "b")]).as_mut(), &given);
    for (index, seen) in seen.into_iter().enumerate() {
        match index % 4 {
            0 => {
                let (schema, value) = seen.unwrap();
                let wanted = if index % 8 == 0 { "1" } else { "2" };
                assert_eq!(names(&schema.unwrap()), ["a"]);
                assert_eq!(value, {
                    let schema = SchemaBuilder::structure().name("N");
                    let schema = schema.field("a", Arc::new(Schema::new(Type::String)));
                    Value::Struct(data::Struct {
                        schema: Some(Arc::new(schema.build().unwrap())),
                        values: vec![text(wanted)],
                    })
                });
            }
            3 => assert!(seen.unwrap_err().starts_with("DataException: Only Map objects")),
            _ => assert_eq!(seen.unwrap().1, map(&[("a", text("2"))]).value.1),
        }
    }
}
