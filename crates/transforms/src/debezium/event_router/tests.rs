//! The router on an outbox table of our own. What Debezium itself makes of many more rows is
//! recorded in the testdata of crate `golden`.

use super::CLASS;
use crate::debezium::testing::{apply, batch, shown, text};
use data::{Batch, Cell, Schema, SchemaBuilder, Type, Value};
use std::sync::Arc;

fn outbox() -> Arc<Schema> {
    let mut row = SchemaBuilder::structure().name("s.outbox.Value");
    for name in ["id", "aggregatetype", "aggregateid", "type", "payload"] {
        row = row.field(name, text());
    }
    let row = Arc::new(row.optional().build().unwrap());
    let time = Arc::new(Schema::new(Type::Int64));
    let envelope = SchemaBuilder::structure()
        .name("s.outbox.Envelope")
        .field("before", row.clone())
        .field("after", row)
        .field("op", text())
        .field("ts_ms", time);
    Arc::new(envelope.build().unwrap())
}

fn change(op: &str, payload: Value) -> (Option<Arc<Schema>>, Value) {
    let text = |text: &str| Value::Text(text.to_owned());
    let row = Value::fields(vec![text("e1"), text("User"), text("42"), text("Made"), payload]);
    let (before, after) = if op == "d" { (row, Value::Null) } else { (Value::Null, row) };
    (Some(outbox()), Value::fields(vec![before, after, text(op), Value::int(99)]))
}

fn text_of(payload: &str) -> Value {
    Value::Text(payload.to_owned())
}

fn routed(config: &[(&str, &str)], changes: &[(Option<Arc<Schema>>, Value)]) -> Batch {
    let mut batch = batch(changes);
    apply(CLASS, config, &mut batch);
    batch
}

#[test]
fn a_row_becomes_the_message_it_stands_for() {
    let batch = routed(&[], &[change("c", text_of("{}")), change("d", Value::Null)]);
    assert_eq!((&**batch.topic(0), batch.timestamp(0)), ("outbox.event.User", Some(99)));
    assert_eq!([0, 1].map(|row| shown(&batch, row)), ["\"{}\"", "dropped"]);
    let Cell::Text(key) = batch.keys.root(0) else { panic!("a key") };
    assert_eq!(batch.keys.text(key), "42");
    let header = batch.headers.last(0, "id").unwrap();
    assert!(matches!(header.value, Cell::Text(span) if batch.headers.values.text(span) == "e1"));
    assert_eq!(batch.partition(0), Some(0), "a sink's record keeps its partition");
}

#[test]
fn updates_are_dropped_or_refused() {
    let update = [change("u", text_of("{}"))];
    assert_eq!(shown(&routed(&[], &update), 0), "dropped");
    let refused = routed(&[("table.op.invalid.behavior", "fatal")], &update);
    assert_eq!(refused.rejects[0].exception, "java.lang.IllegalStateException");
}

#[test]
fn an_empty_payload_becomes_a_tombstone_if_asked() {
    let config = [("route.tombstone.on.empty.payload", "true")];
    let batch = routed(&config, &[change("c", Value::Null), change("c", text_of(" "))]);
    for row in [0, 1] {
        assert!(batch.values.root(row).is_null() && batch.values.schema(row).is_none());
        assert!(batch.alive.is_alive(row));
    }
}

#[test]
fn columns_go_into_headers_and_the_envelope() {
    let config = [("table.fields.additional.placement", "type:header:kind,aggregateid:envelope")];
    let batch = routed(&config, &[change("c", text_of("p"))]);
    assert_eq!(shown(&batch, 0), r#"{"payload":"p","aggregateid":"42"}"#);
    assert_eq!(batch.values.schema(0).unwrap().name(), Some("s.outbox.User.Value"));
    assert!(batch.headers.last(0, "kind").is_some());
    for bad in ["type", "type:somewhere", "a:header:b:c", ""] {
        let props = crate::debezium::testing::props(&[(config[0].0, bad)]);
        assert!((super::PLUGIN.make)(&props).is_err(), "{bad}");
    }
}

#[test]
fn json_payloads_are_expanded_under_a_schema_of_their_own() {
    let config = [("table.expand.json.payload", "true")];
    for (payload, wanted) in [
        (r#"{"a":1,"n":null,"l":[1,2]}"#, r#"{"a":1,"l":[1,2]}"#),
        (r#"[{"a":1},{"b":"x"}]"#, r#"[{"a":1,"b":null},{"a":null,"b":"x"}]"#),
        (
            r#"{"l":[{"x":{"a":1}},{"x":{"b":2}}]}"#,
            r#"{"l":[{"x":{"a":1,"b":null}},{"x":{"a":null,"b":2}}]}"#,
        ),
        (r#"{"l":[1,"x"]}"#, r#""{\"l\":[1,\"x\"]}""#),
        ("{broken", r#""{broken""#),
        ("[]", r#""[]""#),
    ] {
        let batch = routed(&config, &[change("c", text_of(payload))]);
        assert_eq!(shown(&batch, 0), wanted, "{payload}");
    }
    let bytes = [config[0], ("table.json.payload.null.behavior", "optional_bytes")];
    let batch = routed(&bytes, &[change("c", text_of(r#"{"a":null}"#))]);
    assert_eq!(shown(&batch, 0), r#"{"a":null}"#);
    let (one, two) = (r#"{"a":1}"#, r#"{"a":2}"#);
    let batch = routed(&config, &[change("c", text_of(one)), change("c", text_of(two))]);
    assert_eq!(batch.values.runs().len(), 1, "payloads of one form share a schema");
}

#[test]
fn the_topic_is_made_by_a_pattern() {
    let topic =
        |config: &[(&str, &str)]| routed(config, &[change("c", text_of("p"))]).topic(0).to_string();
    let (regex, replacement) = ("route.topic.regex", "route.topic.replacement");
    assert_eq!(topic(&[(regex, "(.*)er"), (replacement, "x.$1")]), "x.Us");
    assert_eq!(topic(&[(regex, "zz"), (replacement, "x")]), "User");
    assert_eq!(topic(&[("route.by.field", "type")]), "outbox.event.Made");
}
