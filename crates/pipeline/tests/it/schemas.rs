//! Topics whose messages have schemas, by a real registry: what becomes of types, of versions, of change
//! events; and schemas that stand in the definition.

use crate::bench::{Bench, PATIENCE};
use testkit::avro::Avro;
use testkit::eventually;
use testkit::kafka::{Record, produce};
use testkit::registry;

/// A database whose cluster has the registry.
pub(crate) fn with_registry(url: &str, properties: &str) -> Bench {
    let bench = Bench::new();
    set_registry(&bench, url, properties);
    bench
}

pub(crate) fn set_registry(bench: &Bench, url: &str, properties: &str) {
    bench.database.execute(&format!(
        "SELECT pipeline_kafka.set_cluster('{}', '{{\"session.timeout.ms\": \"6000\"}}', '{url}', \
         '{properties}')",
        bench.bootstrap
    ));
}

/// Begins at the beginning, and gives the consumer's id.
#[track_caller]
pub(crate) fn begin(bench: &Bench, topic: &str, relation: &str, more: &str) -> i32 {
    let sql = format!(
        "SELECT consumer_id FROM pipeline_kafka.consume_begin('{topic}', '{relation}', \
         start => 'earliest', {more})"
    );
    bench.database.value(&sql).expect("an id").parse().expect("a number")
}

#[track_caller]
pub(crate) fn wait_until_read(bench: &Bench, id: i32, positions: &[i64]) {
    eventually(PATIENCE, &format!("positions {positions:?}: {:?}", bench.state(id)), || {
        (bench.positions(id) == positions).then_some(())
    });
}

/// Rows as lines of `|`-separated columns, ordered as they are printed; nulls are empty.
pub(crate) fn rows(bench: &Bench, columns: &str, table: &str) -> Vec<String> {
    let sql = format!(
        "SELECT line FROM (SELECT concat_ws('|', {columns}) AS line FROM {table}) AS lines \
         ORDER BY line COLLATE \"C\""
    );
    bench.database.query(&sql).into_iter().filter_map(|row| row.into_iter().next()?).collect()
}

pub(crate) fn letters(bench: &Bench, id: i32) -> Vec<String> {
    rows(
        bench,
        "\"offset\", stage, sqlstate, coalesce(schema_id::text, '-')",
        &format!("pipeline_kafka.errors WHERE consumer_id = {id} AND NOT resolved"),
    )
}

const TYPES: &str = r#"{"type": "record", "name": "Types", "namespace": "shop", "fields": [
    {"name": "id", "type": "long"},
    {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 30, "scale": 4}},
    {"name": "day", "type": {"type": "int", "logicalType": "date"}},
    {"name": "clock", "type": {"type": "long", "logicalType": "time-micros"}},
    {"name": "ms", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    {"name": "us", "type": {"type": "long", "logicalType": "timestamp-micros"}},
    {"name": "wall", "type": {"type": "long", "logicalType": "local-timestamp-micros"}},
    {"name": "uid", "type": {"type": "string", "logicalType": "uuid"}},
    {"name": "span", "type": {"type": "fixed", "name": "Span", "size": 12, "logicalType": "duration"}},
    {"name": "mood", "type": {"type": "enum", "name": "Mood", "symbols": ["sad", "happy"]}},
    {"name": "four", "type": {"type": "fixed", "name": "Four", "size": 4}},
    {"name": "list", "type": {"type": "array", "items": "int"}},
    {"name": "place", "type": {"type": "record", "name": "Place", "fields": [
        {"name": "city", "type": "string"}, {"name": "zip", "type": ["null", "int"]}]}},
    {"name": "tags", "type": {"type": "map", "values": "string"}},
    {"name": "maybe", "type": ["null", "long"], "default": null},
    {"name": "either", "type": ["int", "string"]},
    {"name": "extra", "type": "int"}]}"#;

fn types(id: i32, row: i64) -> Vec<u8> {
    let duration = [14u32, 3, 5_007].map(u32::to_le_bytes).concat();
    let either = |avro: Avro| match row {
        1 => avro.long(0).long(7),
        _ => avro.long(1).text("seven"),
    };
    let avro = Avro::of(id)
        .long(row)
        .bytes(&[0x01, 0x8e, 0xe9, 0x0f, 0xf6, 0xc3, 0x73, 0xe0, 0xee, 0x4e, 0x3f, 0x0a, 0xd2])
        .long(19_783)
        .long(45_296_789_012)
        .long(1_709_294_400_123)
        .long(1_709_294_400_123_456)
        .long(1_709_294_400_123_456)
        .text("00000000-0000-0000-0000-000000000007")
        .fixed(&duration)
        .long(1)
        .fixed(b"\x00\x01\xfe\xff");
    let avro = avro.long(2).long(10).long(-20).long(0).text("Ulm").long(1).long(89_073);
    let avro = avro.long(1).text("a").text("b").long(0);
    let avro = if row == 1 { avro.long(1).long(5) } else { avro.long(0) };
    either(avro).long(9).done()
}

#[test]
fn every_type_of_avro_has_its_column() {
    let bench = with_registry(registry::url(), "{}");
    let topic = bench.topic(1);
    let id = registry::register(&format!("{topic}-value"), "AVRO", TYPES);
    bench.database.execute(
        "SET timezone = 'UTC'; CREATE TYPE mood AS ENUM ('sad', 'happy'); \
         CREATE TABLE r (id bigint, price numeric, day date, clock time, ms timestamptz, us timestamptz, \
         wall timestamp, uid uuid, span interval, mood mood, four bytea, list int[], place jsonb, \
         tags jsonb, maybe bigint DEFAULT 77, either text, unset int DEFAULT 3)",
    );
    let records = [1, 2].map(|row| Record::value(types(id, row)));
    produce(&bench.bootstrap, &topic, records);
    let consumer = begin(&bench, &topic, "r", "format => 'avro'");
    let worker = bench.worker();
    wait_until_read(&bench, consumer, &[2]);
    assert_eq!(letters(&bench, consumer), Vec::<String>::new());
    let columns = "id, price, day, clock, ms AT TIME ZONE 'UTC', us AT TIME ZONE 'UTC', wall, uid, span, mood, \
                   encode(four, 'hex'), list, place, tags, coalesce(maybe::text, 'null'), either, unset";
    let same = "12345678901234567890123456.7890|2024-03-01|12:34:56.789012|2024-03-01 12:00:00.123|\
                2024-03-01 12:00:00.123456|2024-03-01 12:00:00.123456|\
                00000000-0000-0000-0000-000000000007|1 year 2 mons 3 days 00:00:05.007|happy|0001feff|\
                {10,-20}|{\"zip\": 89073, \"city\": \"Ulm\"}|{\"a\": \"b\"}";
    assert_eq!(
        rows(&bench, columns, "r"),
        [format!("1|{same}|5|7|3"), format!("2|{same}|null|seven|3")]
    );
    worker.stop();
}

/// A new version arrives in mid-stream, and old ones after it: the column appears, nothing is lost, and
/// the order of a key is kept.
#[test]
fn new_versions_bring_their_columns() {
    let bench = with_registry(registry::url(), "{}");
    let topic = bench.topic(1);
    let subject = format!("{topic}-value");
    let schema = |more: &str| {
        format!(
            r#"{{"type": "record", "name": "R", "fields": [{{"name": "id", "type": "long"}},
            {{"name": "name", "type": "string"}}{more}]}}"#
        )
    };
    let first = registry::register(&subject, "AVRO", &schema(""));
    let amount = r#", {"name": "at", "type": ["null", {"type": "long", "logicalType": "timestamp-micros"}],
        "default": null}, {"name": "Amount", "type": ["null", {"type": "bytes", "logicalType": "decimal",
        "precision": 9, "scale": 2}], "default": null}"#;
    let second = registry::register(&subject, "AVRO", &schema(amount));
    bench.database.execute("CREATE TABLE r (id bigint PRIMARY KEY, name text)");
    let old = |id: i64, name: &str| Record::value(Avro::of(first).long(id).text(name).done());
    let new = |id: i64, name: &str| {
        let avro = Avro::of(second).long(id).text(name).long(1).long(1_000_001);
        Record::value(avro.long(1).bytes(&[0x04, 0xd2]).done())
    };
    let options = "format => 'avro', mode => 'upsert', options => '{\"auto_evolve\": true}'";
    let consumer = begin(&bench, &topic, "r", options);
    let worker = bench.worker();
    produce(&bench.bootstrap, &topic, (0..50).map(|id| old(id, "old")));
    wait_until_read(&bench, consumer, &[50]);
    let mixed = (0..60).flat_map(|id| match id % 3 {
        0 => vec![new(id, "new")],
        1 => vec![new(id, "new"), old(id, "last")],
        _ => vec![old(id, "older"), new(id, "last")],
    });
    produce(&bench.bootstrap, &topic, mixed);
    wait_until_read(&bench, consumer, &[150]);
    assert_eq!(letters(&bench, consumer), Vec::<String>::new());
    let found = rows(
        &bench,
        "name, at AT TIME ZONE 'UTC', \"Amount\", count(*)",
        "r GROUP BY name, at, \"Amount\"",
    );
    assert_eq!(
        found,
        ["last|1970-01-01 00:00:01.000001|12.34|40", "new|1970-01-01 00:00:01.000001|12.34|20"]
    );
    let types = "SELECT string_agg(format_type(atttypid, atttypmod), ',' ORDER BY attnum) FROM pg_attribute \
                 WHERE attrelid = 'r'::regclass AND attnum > 2";
    let types = bench.database.value(types).unwrap();
    assert_eq!(types, "timestamp with time zone,numeric(9,2)");
    worker.stop();
}

#[test]
fn mappings_look_into_keys_and_values_with_types() {
    let bench = with_registry(registry::url(), "{}");
    let topic = bench.topic(1);
    let value = r#"{"type": "record", "name": "V", "fields": [{"name": "o", "type": ["null",
        {"type": "record", "name": "O", "fields": [{"name": "day", "type": {"type": "int",
        "logicalType": "date"}}, {"name": "list", "type": {"type": "array", "items": "int"}}]}]}]}"#;
    let key = r#"{"type": "record", "name": "K", "fields": [{"name": "id", "type": "int"}]}"#;
    let value = registry::register(&format!("{topic}-value"), "AVRO", value);
    let key = registry::register(&format!("{topic}-key"), "AVRO", key);
    bench.database.execute(
        "CREATE TABLE r (id int, day date DEFAULT '2000-01-01', first int, next date, h text, whole jsonb)",
    );
    let record = |id: i64, avro: Avro| {
        Record::value(avro.done()).key(Avro::of(key).long(id).done()).header("h", "head")
    };
    produce(
        &bench.bootstrap,
        &topic,
        [
            record(1, Avro::of(value).long(1).long(0).long(1).long(8).long(0)),
            record(2, Avro::of(value).long(0)),
        ],
    );
    let mapping = r#"{"id": "key.id", "day": "$.o.day", "first": "$.o.list[0]", "next": "= day + 1",
        "h": "headers.h", "whole": "$.o"}"#;
    let more = format!("format => 'avro', key_format => 'avro', mapping => '{mapping}'");
    let consumer = begin(&bench, &topic, "r", &more);
    let worker = bench.worker();
    wait_until_read(&bench, consumer, &[2]);
    assert_eq!(letters(&bench, consumer), Vec::<String>::new());
    let columns = "id, day, coalesce(first::text, '-'), next, h, coalesce(whole::text, '-')";
    assert_eq!(
        rows(&bench, columns, "r"),
        [
            "1|1970-01-01|8|1970-01-02|head|{\"day\": \"1970-01-01\", \"list\": [8]}",
            "2|2000-01-01|-|head|-"
        ]
    );
    worker.stop();
}

const ENVELOPE: &str = r#"{"type": "record", "name": "Envelope", "namespace": "shop.public.orders", "fields": [
    {"name": "before", "type": ["null", {"type": "record", "name": "Value", "fields": [
        {"name": "id", "type": "int"}, {"name": "name", "type": ["null", "string"]}]}]},
    {"name": "after", "type": ["null", "Value"]},
    {"name": "source", "type": {"type": "record", "name": "Source", "fields": [
        {"name": "lsn", "type": "long"}]}},
    {"name": "op", "type": "string"}]}"#;

/// A change event of Debezium: (id, name) of the row after it, or none.
fn event(id: i32, after: Option<(i64, &str)>) -> Avro {
    let avro = Avro::of(id).long(0);
    let avro = match after {
        Some((id, name)) => avro.long(1).long(id).long(1).text(name),
        None => avro.long(0),
    };
    avro.long(42).text(if after.is_some() { "u" } else { "d" })
}

#[test]
fn change_events_become_the_rows_in_them() {
    let bench = with_registry(registry::url(), "{}");
    let topic = bench.topic(1);
    let value = registry::register(&format!("{topic}-value"), "AVRO", ENVELOPE);
    let key = r#"{"type": "record", "name": "Key", "fields": [{"name": "id", "type": "int"}]}"#;
    let key = registry::register(&format!("{topic}-key"), "AVRO", key);
    bench.database.execute("CREATE TABLE r (id int PRIMARY KEY, name text)");
    let record = |id: i64, after: Option<&str>| {
        let avro = event(value, after.map(|name| (id, name)));
        Record::value(avro.done()).key(Avro::of(key).long(id).done())
    };
    let gone = Record::tombstone(Avro::of(key).long(2).done());
    let records =
        [record(1, Some("a")), record(2, Some("b")), record(1, Some("c")), record(2, None), gone];
    produce(&bench.bootstrap, &topic, records);
    let more = "format => 'avro', mode => 'upsert', tombstones => 'delete'";
    let consumer = begin(&bench, &topic, "r", more);
    let worker = bench.worker();
    wait_until_read(&bench, consumer, &[5]);
    assert_eq!(letters(&bench, consumer), Vec::<String>::new());
    assert_eq!(rows(&bench, "id, name", "r"), ["1|c"]);
    worker.stop();
}

/// Bug: the key of a tombstone was a text, that of its row a number, and within one batch they were
/// two keys, so that the row stayed.
#[test]
fn a_tombstone_whose_key_is_text_deletes_the_row_of_its_batch() {
    let bench = with_registry(registry::url(), "{}");
    let topic = bench.topic(1);
    let schema = r#"{"type": "record", "name": "R", "fields": [{"name": "id", "type": "long"}]}"#;
    let value = registry::register(&format!("{topic}-value"), "AVRO", schema);
    bench.database.execute("CREATE TABLE r (id bigint PRIMARY KEY)");
    let record = |id: i64| Record::value(Avro::of(value).long(id).done()).key(id.to_string());
    let gone = |id: i64| Record::tombstone(id.to_string());
    let records = [record(1), record(2), gone(2), gone(3), record(3), record(1), gone(1)];
    produce(&bench.bootstrap, &topic, records);
    let more = "format => 'avro', key_format => 'text', mode => 'upsert', tombstones => 'delete'";
    let consumer = begin(&bench, &topic, "r", more);
    let worker = bench.worker();
    wait_until_read(&bench, consumer, &[7]);
    assert_eq!(letters(&bench, consumer), Vec::<String>::new());
    assert_eq!(rows(&bench, "id", "r"), ["3"]);
    worker.stop();
}

/// Without a registry the schema stands in the definition; messages are bare, or have an id that nobody
/// looks up.
#[test]
fn a_schema_of_the_definition_needs_no_registry() {
    let bench = Bench::new();
    let schema = r#"{"type": "record", "name": "R", "fields": [{"name": "part", "type": "int"},
        {"name": "n", "type": "long"}, {"name": "x", "type": "float"}]}"#;
    for (framed, table) in [(false, "bare"), (true, "framed")] {
        let topic = bench.topic(1);
        bench
            .database
            .execute(&format!("CREATE TABLE {table} (part int, n bigint, x real, rest jsonb)"));
        let avro = |n: i64| {
            let avro = if framed { Avro::of(4_711) } else { Avro::default() };
            Record::value(avro.long(0).long(n).float(1.5).done())
        };
        produce(&bench.bootstrap, &topic, [avro(0), Record::value(vec![0x80]), avro(1)]);
        let more = format!(
            "format => 'avro', error_limit => 1, options => '{{\"schema\": {schema}, \"framed\": {framed}}}'"
        );
        let consumer = begin(&bench, &topic, table, &more);
        let worker = bench.worker();
        wait_until_read(&bench, consumer, &[3]);
        assert_eq!(rows(&bench, "part, n, x", table), ["0|0|1.5", "0|1|1.5"]);
        assert_eq!(letters(&bench, consumer), ["1|decode|22P03|-"]);
        worker.stop();
    }
}

#[test]
fn protobuf_of_the_definition_names_its_message() {
    let bench = Bench::new();
    let proto = "syntax = \"proto3\"; message First { string a = 1; } \
                 message Second { int32 part = 1; int64 n = 2; oneof kind { string word = 3; int32 number = 4; } }";
    let proto = serde_json::json!(proto);
    bench.database.execute("CREATE TABLE r (part int, n bigint, word text, number int)");
    let topic = bench.topic(1);
    let records: [Vec<u8>; 3] =
        [vec![0x08, 1, 0x10, 2, 0x1a, 1, b'w'], vec![0x08, 3, 0x10, 4, 0x20, 5], vec![0xff]];
    produce(&bench.bootstrap, &topic, records.map(Record::value));
    let more = format!(
        "format => 'protobuf', error_limit => 1, options => '{{\"schema\": {proto}, \"message\": \"Second\"}}'"
    );
    let consumer = begin(&bench, &topic, "r", &more);
    let worker = bench.worker();
    wait_until_read(&bench, consumer, &[3]);
    assert_eq!(
        rows(&bench, "part, n, coalesce(word, '-'), coalesce(number, -1)", "r"),
        ["1|2|w|-1", "3|4|-|5"]
    );
    assert_eq!(letters(&bench, consumer), ["2|decode|22P03|-"]);
    worker.stop();
}

#[test]
fn fields_without_a_column_are_refused_or_collected() {
    let bench = with_registry(registry::url(), "{}");
    let topic = bench.topic(1);
    let schema = r#"{"type": "record", "name": "R", "fields": [{"name": "id", "type": "int"},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}}, {"name": "s", "type": "string"}]}"#;
    let id = registry::register(&format!("{topic}-value"), "AVRO", schema);
    bench.database.execute("CREATE TABLE strict (id int); CREATE TABLE open (id int, rest jsonb)");
    produce(
        &bench.bootstrap,
        &topic,
        [Record::value(Avro::of(id).long(1).long(0).text("x").done())],
    );
    let strict = begin(
        &bench,
        &topic,
        "strict",
        "format => 'avro', unknown_fields => 'error', error_limit => 1",
    );
    let more = "format => 'avro', unknown_fields => 'collect', options => '{\"collect_column\": \"rest\"}'";
    let open = begin(&bench, &topic, "open", more);
    let worker = bench.worker();
    wait_until_read(&bench, strict, &[1]);
    wait_until_read(&bench, open, &[1]);
    assert_eq!(rows(&bench, "id, rest", "open"), ["1|{\"s\": \"x\", \"day\": \"1970-01-01\"}"]);
    assert_eq!(letters(&bench, strict), [format!("0|map|42703|{id}")]);
    let said = bench.database.value("SELECT message FROM pipeline_kafka.errors");
    let whose = format!("(schema id {id}, subject {topic}-value)");
    assert!(said.as_ref().is_some_and(|said| said.ends_with(&whose)), "{said:?}");
    worker.stop();
}

#[test]
fn json_schema_and_protobuf_of_the_registry_fill_columns() {
    let bench = with_registry(registry::url(), "{}");
    bench.database.execute("CREATE TABLE j (part int, n bigint, tags text[]); CREATE TABLE p (part int, n bigint, tags text[])");
    let schema = r#"{"type": "object", "properties": {"part": {"type": "integer"}, "n": {"type": "integer"},
        "tags": {"type": "array", "items": {"type": "string"}}}}"#;
    let json = bench.topic(1);
    let id = registry::register(&format!("{json}-value"), "JSON", schema);
    let framed = |id: i32, rest: &[u8]| [&[0], &id.to_be_bytes()[..], rest].concat();
    let good = framed(id, br#"{"part": 1, "n": 2, "tags": ["a", "b"]}"#);
    produce(&bench.bootstrap, &json, [good, framed(id, b"{bad")].map(Record::value));
    let j = begin(&bench, &json, "j", "format => 'json_schema', error_limit => 1");
    let proto = bench.topic(1);
    let text =
        "syntax = \"proto3\"; message R { int32 part = 1; int64 n = 2; repeated string tags = 3; }";
    let proto_id = registry::register(&format!("{proto}-value"), "PROTOBUF", text);
    let message = [0, 0x08, 1, 0x10, 2, 0x1a, 1, b'a', 0x1a, 1, b'b'];
    produce(
        &bench.bootstrap,
        &proto,
        [framed(proto_id, &message), framed(proto_id, &[0, 0x08])].map(Record::value),
    );
    let p = begin(&bench, &proto, "p", "format => 'protobuf', error_limit => 1");
    let worker = bench.worker();
    wait_until_read(&bench, j, &[2]);
    wait_until_read(&bench, p, &[2]);
    assert_eq!(rows(&bench, "part, n, tags", "j"), ["1|2|{a,b}"]);
    assert_eq!(rows(&bench, "part, n, tags", "p"), ["1|2|{a,b}"]);
    assert_eq!(letters(&bench, j), [format!("1|decode|22P02|{id}")]);
    assert_eq!(letters(&bench, p), [format!("1|decode|22P03|{proto_id}")]);
    worker.stop();
}
