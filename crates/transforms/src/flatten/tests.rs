//! The rules of this transform, each as a small case.

use crate::testing::{apply, apply_to, made, map, map_value, record, text};
use data::{Cell, Mask, Schema, SchemaBuilder, Type, Value, Width};
use std::sync::Arc;

const CLASS: &str = "Flatten$Value";

fn int(value: i64) -> Value {
    Value::Int(value, Width::W32)
}

fn string() -> SchemaBuilder {
    SchemaBuilder::new(Type::String)
}

fn built(builder: SchemaBuilder) -> Arc<Schema> {
    Arc::new(builder.build().unwrap())
}

/// B033.
#[test]
fn kafka_12303_fields_after_a_null_stay() {
    let inner = [("D", text("dValue")), ("B", Value::Null), ("C", text("cValue"))];
    let seen = apply_to(CLASS, &[], map_value(&[("A", map_value(&inner))])).unwrap();
    let wanted = [("A.D", text("dValue")), ("A.B", Value::Null), ("A.C", text("cValue"))];
    assert_eq!(seen, map_value(&wanted));
}

#[test]
fn maps_of_any_depth_become_flat_and_lists_stay() {
    let list = Value::List(vec![map_value(&[("x", int(1))])]);
    let deep = map_value(&[("c", map_value(&[("d", int(1))])), ("l", list.clone())]);
    let given = map_value(&[("a", map_value(&[("b", deep)])), ("e", int(2))]);
    let given = |more: (&str, Value)| match &given {
        Value::Map(entries) => {
            let mut entries = entries.clone();
            entries.push((text(more.0), more.1));
            Value::Map(entries)
        }
        _ => panic!(),
    };
    let seen = apply_to(CLASS, &[("delimiter", "_")], given(("none", map_value(&[])))).unwrap();
    assert_eq!(seen, map_value(&[("a_b_c_d", int(1)), ("a_b_l", list), ("e", int(2))]));
}

#[test]
fn of_two_members_of_one_name_the_last_wins() {
    let inner = map_value(&[("b", int(2))]);
    let seen = apply_to(CLASS, &[], map_value(&[("a.b", int(1)), ("a", inner.clone())]));
    assert_eq!(seen, Ok(map_value(&[("a.b", int(2))])));
    let seen = apply_to(CLASS, &[], map_value(&[("a", inner), ("a.b", int(1))]));
    assert_eq!(seen, Ok(map_value(&[("a.b", int(1))])));
}

#[test]
fn values_without_a_type_of_connect_are_kept_and_keys_must_be_text() {
    let decimal = Value::Decimal { unscaled: vec![12], scale: 1 };
    let inner = [("d", decimal.clone()), ("t", Value::Instant(5))];
    let seen = apply_to(CLASS, &[], map_value(&[("a", map_value(&inner))]));
    assert_eq!(seen, Ok(map_value(&[("a.d", decimal), ("a.t", Value::Instant(5))])));
    let keyed = Value::Map(vec![(int(1), int(2))]);
    for given in [keyed.clone(), map_value(&[("a", keyed)])] {
        let refused = apply_to(CLASS, &[], given).unwrap_err();
        assert!(refused.starts_with("DataException: "), "{refused}");
    }
}

#[test]
fn json_objects_are_opened_and_arrays_stay_unread() {
    let given = map(&[("a", Value::Null), ("b", Value::Null), ("c", Value::Null)]);
    let mut batch = crate::testing::batch(&[given]);
    let Cell::Map(span) = batch.values.root(0) else { panic!() };
    let object = Cell::Json(batch.values.heap.put(br#"{"x":{"y":null},"z":[{"q":1}]}"#));
    let array = Cell::Json(batch.values.heap.put(b"[1]"));
    let digits = Cell::Number(batch.values.heap.put(b"1.5"));
    for (at, cell) in [(1, object), (3, array), (5, digits)] {
        batch.values.set(span, at, cell);
    }
    made(CLASS, &[]).apply(&mut batch, &Mask::all(1));
    let Cell::Map(flat) = batch.values.root(0) else { panic!() };
    let cells = batch.values.cells(flat);
    assert_eq!((cells[5], cells[7]), (array, digits));
    let list = Value::List(vec![map_value(&[("q", Value::int(1))])]);
    let wanted = [
        ("a.x.y", Value::Null),
        ("a.z", list),
        ("b", Value::List(vec![Value::int(1)])),
        ("c", Value::Float(1.5)),
    ];
    assert_eq!(batch.values.value(None, batch.values.root(0)), map_value(&wanted));
}

#[test]
fn leaves_take_optionality_and_defaults_from_the_structs_around_them() {
    let inner = SchemaBuilder::structure()
        .field("own", built(string().default(text("o"))))
        .field("plain", built(string().name("L").doc("d")))
        .default(Value::fields(vec![text("x"), text("p")]))
        .optional();
    let outer = SchemaBuilder::structure()
        .name("N")
        .version(2)
        .field("in", built(inner))
        .field("s", built(string()));
    let schema = built(outer);
    let given = Value::fields(vec![Value::fields(vec![Value::Null, text("1")]), text("2")]);
    let (seen, value) = apply(CLASS, &[], record(Some(&schema), given)).unwrap();
    let wanted = built(
        SchemaBuilder::structure()
            .name("N")
            .version(2)
            .field("in.own", built(string().optional().default(text("o"))))
            .field("in.plain", built(string().name("L").doc("d").optional().default(text("p"))))
            .field("s", built(string())),
    );
    assert_eq!(seen.as_ref(), Some(&wanted));
    let values = |value: Value| match value {
        Value::Struct(fields) => fields.values,
        _ => panic!(),
    };
    assert_eq!(values(value), [text("o"), text("1"), text("2")]);
    let none = Value::fields(vec![Value::Null, text("2")]);
    let (_, value) = apply(CLASS, &[], record(Some(&schema), none)).unwrap();
    assert_eq!(values(value), [Value::Null, Value::Null, text("2")], "unset, not replaced");
    let (same, value) = apply(CLASS, &[], record(Some(&schema), Value::Null)).unwrap();
    assert_eq!((same, value), (Some(schema), Value::Null));
}

#[test]
fn schemas_that_cannot_be_flat_are_refused() {
    let inner = built(SchemaBuilder::structure().field("b", built(string())));
    let clash = SchemaBuilder::structure().field("a.b", built(string())).field("a", inner);
    let given = Value::fields(vec![text("1"), Value::fields(vec![text("2")])]);
    let refused = apply(CLASS, &[], record(Some(&built(clash)), given)).unwrap_err();
    assert!(refused.starts_with("SchemaBuilderException: "), "{refused}");
    assert!(refused.ends_with("field name duplication a.b"), "{refused}");
    let of_maps = built(SchemaBuilder::map(built(string()), built(string())));
    let inner = built(SchemaBuilder::structure().field("m", of_maps));
    let schema = built(SchemaBuilder::structure().field("a", inner));
    let given = Value::fields(vec![Value::fields(vec![Value::Map(Vec::new())])]);
    let refused = apply(CLASS, &[], record(Some(&schema), given)).unwrap_err();
    let wanted = "DataException: Flatten transformation does not support MAP for record with \
                  schemas (for field a.m).";
    assert_eq!(refused, wanted);
    let twice = SchemaBuilder::structure().field("b", built(string()));
    let clash = SchemaBuilder::structure()
        .field("a", built(twice))
        .field("a.b", built(string()))
        .field("m", built(SchemaBuilder::map(built(string()), built(string()))));
    let inner = Value::fields(vec![text("1")]);
    let given = Value::fields(vec![inner, text("2"), Value::Map(Vec::new())]);
    let refused = apply(CLASS, &[], record(Some(&built(clash)), given)).unwrap_err();
    assert!(refused.ends_with("field name duplication a.b"), "{refused}");
}
