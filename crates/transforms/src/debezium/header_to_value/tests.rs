//! The transform on records of our own. What Debezium itself makes of many more is recorded in the
//! testdata of crate `golden`.

use super::CLASS;
use crate::debezium::testing::{
    apply, batch, envelope, event, props, row, row_schema, shown, text,
};
use data::{Batch, Cell, Header, Value};

fn with_header(value: (Option<std::sync::Arc<data::Schema>>, Value)) -> Batch {
    let mut batch = batch(&[value]);
    for word in ["first", "last"] {
        let value = Cell::Text(batch.headers.values.heap.put(word.as_bytes()));
        batch.headers.push(0, Header { name: "h".into(), schema: Some(text()), value });
    }
    batch
}

fn settings<'a>(fields: &'a str, operation: &'a str) -> [(&'a str, &'a str); 3] {
    [("headers", "h"), ("fields", fields), ("operation", operation)]
}

#[test]
fn the_last_header_of_a_name_is_copied_or_moved() {
    for (operation, left) in [("copy", 2), ("MOVE", 0)] {
        let mut batch = with_header((Some(row_schema()), row(1, "a")));
        apply(CLASS, &settings("x", operation), &mut batch);
        assert_eq!(shown(&batch, 0), r#"{"id":1,"v":"a","x":"last"}"#);
        assert_eq!(batch.headers.of(0).len(), left);
    }
    let mut batch = with_header((Some(row_schema()), row(1, "a")));
    apply(CLASS, &settings("v", "copy"), &mut batch);
    assert_eq!(shown(&batch, 0), r#"{"id":1,"v":"last"}"#);
}

#[test]
fn nested_fields_go_into_their_struct() {
    let mut inside = with_header((Some(envelope()), event("c", Value::Null, row(1, "a"))));
    apply(CLASS, &settings("after.x", "copy"), &mut inside);
    assert!(shown(&inside, 0).contains(r#""after":{"id":1,"v":"a","x":"last"}"#));
    let mut made = with_header((Some(row_schema()), row(1, "a")));
    apply(CLASS, &settings("new.x", "copy"), &mut made);
    assert_eq!(shown(&made, 0), r#"{"id":1,"v":"a","new":{"x":"last"}}"#);
    let mut closed = with_header((Some(envelope()), event("c", Value::Null, row(1, "a"))));
    apply(CLASS, &settings("before.x", "copy"), &mut closed);
    assert!(shown(&closed, 0).contains(r#""before":null"#));
    assert_eq!(closed.values.schema(0), Some(&envelope()));
}

#[test]
fn what_does_not_fit_is_refused() {
    let mut batch = with_header((Some(row_schema()), row(1, "a")));
    apply(CLASS, &settings("id", "copy"), &mut batch);
    assert!(shown(&batch, 0).contains("INT32"));
    let mut batch = with_header((None, Value::Text("x".to_owned())));
    apply(CLASS, &settings("x", "copy"), &mut batch);
    assert!(shown(&batch, 0).starts_with("Only Struct objects supported"));
    for fields in ["x,y", "a.b.c", ""] {
        assert!((super::PLUGIN.make)(&props(&settings(fields, "copy"))).is_err(), "{fields}");
    }
}
