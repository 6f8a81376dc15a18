//! Connectors whose records have schemas in a registry: change events of Debezium into a table, a registry
//! that is away, and the look at it beforehand.

use crate::harness::{Route, wait_retrying, wait_running};
use testkit::avro::Avro;
use testkit::kafka::{Record, produce};
use testkit::registry::{self, Proxy};

const AVRO: &str = "io.confluent.connect.avro.AvroConverter";

const ENVELOPE: &str = r#"{"type": "record", "name": "Envelope", "namespace": "shop.public.rows", "fields": [
    {"name": "before", "type": ["null", {"type": "record", "name": "Value", "fields": [
        {"name": "part", "type": "int"}, {"name": "n", "type": "long"}]}]},
    {"name": "after", "type": ["null", "Value"]},
    {"name": "source", "type": {"type": "record", "name": "Source", "fields": [
        {"name": "lsn", "type": "long"}]}},
    {"name": "op", "type": "string"}]}"#;

/// The event that a row is now this.
fn event(schema: i32, part: i64, n: i64) -> Record {
    let avro = Avro::of(schema).long(0).long(1).long(part).long(n).long(42).text("u");
    Record::value(avro.done())
}

#[test]
fn change_events_in_avro_become_rows_once_the_registry_answers() {
    let proxy = Proxy::to(registry::url());
    proxy.fail(503);
    let route = Route::new("debezium-avro", 1);
    let schema = registry::register(&format!("{}-value", route.topic), "AVRO", ENVELOPE);
    let key = r#"{"type": "record", "name": "Key", "fields": [{"name": "part", "type": "int"}]}"#;
    let key = registry::register(&format!("{}-key", route.topic), "AVRO", key);
    route.database.execute("CREATE UNIQUE INDEX ON rows (part)");
    let keyed = |part: i64, n| event(schema, part, n).key(Avro::of(key).long(part).done());
    let url = proxy.url();
    let worker = route.worker(&[
        ("key.converter", AVRO),
        ("key.converter.schema.registry.url", &url),
        ("value.converter", AVRO),
        ("value.converter.schema.registry.url", &url),
        ("value.converter.max.retries", "0"),
        ("key.converter.max.retries", "0"),
        ("transforms", "unwrap"),
        ("transforms.unwrap.type", "io.debezium.transforms.ExtractNewRecordState"),
        ("insert.mode", "upsert"),
        ("pk.mode", "record_key"),
    ]);
    let worker = worker.start();
    produce(&route.bootstrap, &route.topic, [keyed(1, 1), keyed(2, 2), keyed(1, 3)]);
    let told = wait_retrying(&worker, route.name());
    assert!(told.to_string().contains("Schema Registry"), "{told}");
    assert_eq!((route.stored(), route.dead_letters()), (0, 0));
    proxy.heal();
    route.wait_for_all(2);
    wait_running(&worker, route.name());
    let rows = route.database.query("SELECT part, n FROM rows ORDER BY part");
    let row = |part: &str, n: &str| vec![Some(part.to_owned()), Some(n.to_owned())];
    assert_eq!(rows, [row("1", "3"), row("2", "2")]);
    let page = worker.get_with("/metrics", &[]).body;
    let value = |name: &str| -> f64 {
        let name = format!("copycat_schema_registry_{name}_total ");
        let line = page.lines().find_map(|line| line.strip_prefix(&name)).expect("a metric");
        line.parse().expect("a number")
    };
    assert!(value("failures") >= 1.0, "it was away");
    // Two schemas, each with its versions.
    assert!(value("requests") >= value("failures") + 2.0);
    assert!(value("request_seconds") > 0.0 && value("cache_hits") >= 0.0);
}

#[test]
fn a_registry_is_looked_at_where_a_validation_asks_for_it() {
    let proxy = Proxy::to(registry::url());
    let route = Route::new("check-registry", 1);
    registry::register(&format!("{}-value", route.topic), "AVRO", ENVELOPE);
    let worker = crate::harness::worker(&route.bootstrap).start();
    let url = proxy.url();
    let properties = route.properties(&[
        ("name", route.name()),
        ("copycat.validate.connect", "true"),
        ("value.converter", AVRO),
        ("value.converter.schema.registry.url", &url),
        ("value.converter.max.retries", "0"),
    ]);
    let look = || crate::checks::validate(&worker, &properties, "");
    let answer = look();
    assert_eq!(answer["error_count"], 0, "{answer:#}");
    crate::checks::expect(&answer, "schema registry", "ok", "Avro schema");
    proxy.fail(401);
    let answer = look();
    crate::checks::expect(&answer, "schema registry", "failed", "401");
}
