//! The transform on events of our own. What Debezium itself makes of many more is recorded in the
//! testdata of crate `golden`.

use super::CLASS;
use crate::debezium::testing::{apply, batch, envelope, event, row, shown};
use data::{Batch, Cell, Value};

fn events() -> Batch {
    let schema = Some(envelope());
    batch(&[
        (schema.clone(), event("c", Value::Null, row(1, "a"))),
        (schema.clone(), event("d", row(1, "a"), Value::Null)),
        (None, Value::Null),
        (schema, event("t", Value::Null, Value::Null)),
        (None, Value::Text("other".to_owned())),
    ])
}

fn after(config: &[(&str, &str)]) -> Vec<String> {
    let mut batch = events();
    apply(CLASS, config, &mut batch);
    (0..batch.len()).map(|row| shown(&batch, row)).collect()
}

const ROW: &str = r#"{"id":1,"v":"a"}"#;
const LIVE: &str = r#"{"id":1,"v":"a","__deleted":"false"}"#;
const DELETED: &str = r#"{"id":1,"v":"a","__deleted":"true"}"#;

#[test]
fn rows_take_the_place_of_events_in_every_mode() {
    let key = "delete.tombstone.handling.mode";
    let other = "\"other\"";
    for (config, wanted) in [
        (vec![], [ROW, "null", "dropped", "dropped", other]),
        (vec![(key, "drop")], [ROW, "dropped", "dropped", "dropped", other]),
        (vec![(key, "Delete-To-Tombstone")], [ROW, "null", "dropped", "dropped", other]),
        (vec![(key, "rewrite")], [LIVE, DELETED, "dropped", "dropped", other]),
        (vec![(key, "rewrite-with-tombstone")], [LIVE, DELETED, "null", "dropped", other]),
    ] {
        assert_eq!(after(&config), wanted, "{config:?}");
    }
}

#[test]
fn the_names_of_old_versions_count_where_the_new_one_is_not_set() {
    let (mode, drop) = ("delete.handling.mode", "drop.tombstones");
    let new = "delete.tombstone.handling.mode";
    for (config, wanted) in [
        (vec![(mode, "drop")], ["dropped", "dropped"]),
        (vec![(mode, "none")], ["null", "dropped"]),
        (vec![(mode, "rewrite"), (drop, "false")], [DELETED, "null"]),
        (vec![(drop, "false")], ["dropped", "null"]),
        (vec![(mode, "rewrite"), (new, "drop")], ["dropped", "dropped"]),
    ] {
        assert_eq!(after(&config)[1..3], wanted, "{config:?}");
    }
}

#[test]
fn metadata_become_fields_and_headers() {
    let mut batch = events();
    let config = [("add.fields", "op,table:origin"), ("add.headers", "source.table, op:OP")];
    apply(CLASS, &config, &mut batch);
    assert_eq!(shown(&batch, 0), r#"{"id":1,"v":"a","__op":"c","__origin":"tab"}"#);
    let headers = batch.headers.of(0).iter().map(|header| match header.value {
        Cell::Text(span) => format!("{}={}", header.name, batch.headers.values.text(span)),
        _ => header.name.to_string(),
    });
    assert_eq!(headers.collect::<Vec<_>>(), ["__source_table=tab", "__OP=c"]);
    assert_eq!(batch.headers.of(1).len(), 2, "deletes have them too");
    assert!(batch.headers.of(4).is_empty(), "what is no event has none");
}

#[test]
fn a_field_names_the_topic() {
    let mut batch = events();
    apply(CLASS, &[("route.by.field", "v")], &mut batch);
    assert_eq!([0, 1, 4].map(|row| batch.topic(row).to_string()), ["a", "a", "s.t"]);
    let mut batch = events();
    apply(CLASS, &[("route.by.field", "id")], &mut batch);
    assert_eq!(shown(&batch, 0), "Field 'id' is not of type STRING");
}

#[test]
fn where_nothing_is_added_the_rows_cells_are_not_copied() {
    let mut batch = events();
    let event = batch.values.root(0);
    let inner = batch.values.fields(event)[1];
    apply(CLASS, &[], &mut batch);
    assert_eq!(batch.values.root(0), inner);
    assert_eq!(batch.values.schema(0).unwrap().name(), Some("s.t.Value"));
}

#[test]
fn a_struct_of_metadata_keeps_its_fields() {
    let mut batch = events();
    apply(CLASS, &[("add.fields", "source")], &mut batch);
    assert_eq!(shown(&batch, 0), r#"{"id":1,"v":"a","__source":{"table":"tab"}}"#);
}

#[test]
fn a_list_item_with_two_colons_is_refused() {
    let props = crate::debezium::testing::props(&[("add.fields", "a:b:c")]);
    let errors = (super::PLUGIN.make)(&props).err().unwrap();
    assert_eq!(errors.errors[0].message, "Unexpected field name: a:b:c");
}
