//! Values of every type in nested values of jsonb: as readable as in columns of their own. Protobuf's
//! types that Connect has no room for.

use crate::bench::Bench;
use crate::schemas::{begin, letters, rows, wait_until_read, with_registry};
use testkit::avro::Avro;
use testkit::kafka::{Record, produce};
use testkit::registry;

const NESTED: &str = r#"{"type": "record", "name": "N", "fields": [{"name": "o", "type":
    {"type": "record", "name": "O", "fields": [
        {"name": "us", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "clock", "type": {"type": "long", "logicalType": "time-micros"}},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {"name": "either", "type": {"type": "map", "values": ["int", "string", "O"]}},
        {"name": "days", "type": {"type": "array", "items": {"type": "int", "logicalType": "date"}}}]}}]}"#;

/// Bugs: times in µs were bare numbers in nested values, and unions there kept their branches.
#[test]
fn nested_values_of_avro_are_readable_in_jsonb() {
    let bench = with_registry(registry::url(), "{}");
    let topic = bench.topic(1);
    let id = registry::register(&format!("{topic}-value"), "AVRO", NESTED);
    bench.database.execute("CREATE TABLE r (o jsonb, more int)");
    let avro = Avro::of(id).long(1_709_294_400_123_456).long(45_296_789_012).bytes(&[0x04, 0xd2]);
    let avro = avro.long(2).text("a").long(0).long(7).text("b").long(1).text("w").long(0);
    let avro = avro.long(1).long(19_783).long(0);
    produce(&bench.bootstrap, &topic, [Record::value(avro.done())]);
    let consumer = begin(&bench, &topic, "r", "format => 'avro'");
    let worker = bench.worker();
    wait_until_read(&bench, consumer, &[1]);
    assert_eq!(letters(&bench, consumer), Vec::<String>::new());
    let columns = "o->>'us', o->>'clock', o->>'price', o->'either', o->'days'";
    assert_eq!(
        rows(&bench, columns, "r"),
        [
            "2024-03-01T12:00:00.123456Z|12:34:56.789012|12.34|{\"a\": 7, \"b\": \"w\"}|[\"2024-03-01\"]"
        ]
    );
    worker.stop();
}

/// Bugs: numbers beyond 2^63 were negative, timestamps were cut to milliseconds, durations had no column.
#[test]
fn protobuf_keeps_what_connect_has_no_room_for() {
    let bench = Bench::new();
    let topic = bench.topic(1);
    let proto = "syntax = \"proto3\"; import \"google/protobuf/timestamp.proto\"; \
                 import \"google/protobuf/duration.proto\"; message R { uint64 n = 1; \
                 google.protobuf.Timestamp at = 2; google.protobuf.Duration took = 3; R again = 4; O o = 5; } \
                 message O { uint64 n = 1; google.protobuf.Timestamp at = 2; google.protobuf.Duration took = 3; }";
    let proto = serde_json::json!(proto);
    let flat = [
        &[0x08][..],
        &[0xff; 9],
        &[0x01, 0x12, 10, 0x08, 0xc0, 0x86, 0x87, 0xaf, 0x06, 0x10, 0xc0, 0xc4, 0x07, 0x1a],
        &[6, 0x08, 90, 0x10, 0x80, 0x9d, 0x3c],
    ]
    .concat();
    let message = [&flat[..], &[0x22, flat.len() as u8], &flat, &[0x2a, flat.len() as u8], &flat];
    let message = message.concat();
    bench
        .database
        .execute("CREATE TABLE r (n numeric, at timestamptz, took interval, again jsonb)");
    produce(&bench.bootstrap, &topic, [Record::value(message)]);
    let options = format!("{{\"schema\": {proto}, \"auto_evolve\": true}}");
    let consumer =
        begin(&bench, &topic, "r", &format!("format => 'protobuf', options => '{options}'"));
    let worker = bench.worker();
    wait_until_read(&bench, consumer, &[1]);
    assert_eq!(letters(&bench, consumer), Vec::<String>::new());
    let json = |column: &str| format!("{column}->>'n', {column}->>'at', {column}->>'took'");
    let columns = format!("n, at AT TIME ZONE 'UTC', took, {}, {}", json("again"), json("o"));
    let nested = "18446744073709551615|2024-03-01T12:00:00.000123Z|PT90.000986S";
    let flat = "18446744073709551615|2024-03-01 12:00:00.000123|00:01:30.000986";
    assert_eq!(rows(&bench, &columns, "r"), [format!("{flat}|{nested}|{nested}")]);
    worker.stop();
}
