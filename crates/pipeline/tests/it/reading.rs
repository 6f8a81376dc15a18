//! Formats and mappings on the whole way, and public reports of what others made of such records.

use crate::bench::{Bench, PATIENCE};
use testkit::eventually;
use testkit::kafka::{Record, produce};

fn letters(bench: &Bench, id: i32) -> String {
    let sql = format!(
        "SELECT coalesce(string_agg(concat_ws(':', partition, \"offset\", stage, sqlstate, \
         column_name), ' ' ORDER BY \"offset\"), '') FROM pipeline_kafka.errors \
         WHERE consumer_id = {id}"
    );
    bench.database.value(&sql).unwrap()
}

fn values(bench: &Bench, sql: &str) -> String {
    bench
        .database
        .value(&format!("SELECT coalesce(string_agg(r::text, ' '), '') FROM ({sql}) AS r"))
        .unwrap()
}

/// A consumer that has read these values of its one-partition topic to the end.
fn consumed(table: &str, settings: &[(&str, &str)], values: &[&str]) -> (Bench, i32) {
    let bench = Bench::new();
    let topic = bench.topic(1);
    bench.database.execute(table);
    let records = values.iter().map(|value| {
        Record::value(*value)
            .partition(0)
            .key("{\"id\":9}")
            .header("source", "web")
            .timestamp(1_700_000_000_000)
    });
    produce(&bench.bootstrap, &topic, records);
    let mut all = vec![("start", "'earliest'"), ("error_limit", "1")];
    all.extend_from_slice(settings);
    let id = bench.consumer(&topic, "r", &all);
    let worker = bench.worker();
    eventually(PATIENCE, "everything is read", || {
        (bench.positions(id) == [values.len() as i64]).then_some(())
    });
    worker.stop();
    (bench, id)
}

#[test]
fn text_and_csv_fill_the_columns_by_their_places() {
    let table =
        "CREATE TABLE r (a int, b text, c bytea, d boolean GENERATED ALWAYS AS (a > 1) STORED)";
    let text = [
        "1\tx\\ty\t\\\\x00ff\n",
        "2\t\\N\tab",
        "x\ty\tz",
        "1\t2",
        "1\t2\t3\t4",
        "1\t2\t3\n4\t5\t6",
    ];
    let (bench, id) = consumed(table, &[("format", "'text'")], &text);
    assert_eq!(
        values(&bench, "SELECT a, b, encode(c, 'hex'), d FROM r ORDER BY a"),
        "(1,\"x\ty\",00ff,f) (2,,6162,t)"
    );
    assert_eq!(
        letters(&bench, id),
        "0:2:write:22P02:a 0:3:decode:22P04:c 0:4:decode:22P04 0:5:decode:22P04"
    );
    let csv = ["1;'a;''b\n';\r\n", ";;", "1;'open;"];
    let settings = [("format", "'csv'"), ("delimiter", "';'"), ("quote", "''''")];
    let (bench, id) = consumed(table, &settings, &csv);
    assert_eq!(values(&bench, "SELECT a, b, c FROM r ORDER BY a"), "(1,\"a;'b\n\",) (,,)");
    assert_eq!(letters(&bench, id), "0:2:decode:22P04");
}

#[test]
fn raw_bytes_and_whole_documents_fill_the_only_column() {
    let (bench, _) = consumed("CREATE TABLE r (v bytea)", &[("format", "'bytea'")], &["a\\x", ""]);
    assert_eq!(values(&bench, "SELECT encode(v, 'hex') FROM r ORDER BY v DESC"), "(615c78) (\"\")");
    let table = "CREATE TABLE r (id bigint GENERATED ALWAYS AS IDENTITY, doc jsonb)";
    let (bench, _) = consumed(table, &[], &["{\"a\": [1, null]}", "[1]", "7", "\"t\""]);
    let found = values(&bench, "SELECT doc FROM r ORDER BY id");
    assert_eq!(found, "(\"{\"\"a\"\": [1, null]}\") ([1]) (7) (\"\"\"t\"\"\")");
}

#[test]
fn a_mapping_fills_columns_from_every_part_of_a_record() {
    let table = "CREATE TABLE r (id int, k int, src text, part int, off bigint, ts timestamptz, \
                 tp text, doc jsonb, amount numeric DEFAULT 5, twice int)";
    let mapping = "'{\"id\": \"$.order.id\", \"k\": \"key.id\", \"src\": \"headers.source\", \
        \"part\": \"partition\", \"off\": \"offset\", \"ts\": \"timestamp\", \"tp\": \"topic\", \
        \"doc\": \"$.order\", \"amount\": \"$.order.lines[0].amount\", \"twice\": \"=id * 2\"}'";
    let records = [
        "{\"order\":{\"id\":1,\"lines\":[{\"amount\":12345678901234567890.25}]}}",
        "{\"order\":{\"id\":2}}",
        "{\"order\":{\"id\":3,\"lines\":[{\"amount\":null}]}}",
    ];
    let (bench, id) = consumed(table, &[("mapping", mapping), ("key_format", "'json'")], &records);
    assert_eq!(letters(&bench, id), "");
    assert_eq!(
        values(
            &bench,
            "SELECT id, k, src, part, off, extract(epoch FROM ts)::int8, amount, twice FROM r ORDER BY id"
        ),
        "(1,9,web,0,0,1700000000,12345678901234567890.25,2) (2,9,web,0,1,1700000000,5,4) \
         (3,9,web,0,2,1700000000,,6)"
    );
    assert_eq!(values(&bench, "SELECT doc FROM r WHERE id = 2"), "(\"{\"\"id\"\": 2}\")");
}

/// confluentinc/kafka-connect-jdbc#1216, #1271; apache/seatunnel#8393.
#[test]
fn a_nul_character_is_a_dead_letter_and_the_next_record_loads() {
    let values = ["{\"id\":1,\"name\":\"a\\u0000b\"}", "{\"id\":2,\"name\":\"c\"}"];
    let (bench, id) = consumed("CREATE TABLE r (id int, name text)", &[], &values);
    assert_eq!(letters(&bench, id), "0:0:write:22021:name");
    assert_eq!(bench.count("r"), 1);
}

/// confluentinc/kafka-connect-jdbc#46, #81, #871, #1375.
#[test]
fn text_goes_into_uuid_enum_and_jsonb_columns() {
    let table =
        "CREATE TYPE mood AS ENUM ('ok', 'bad'); CREATE TABLE r (id uuid, doc jsonb, m mood)";
    let value = "{\"id\":\"11111111-2222-3333-4444-555555555555\",\"doc\":{\"a\":1},\"m\":\"ok\"}";
    let (bench, id) = consumed(table, &[], &[value]);
    assert_eq!(letters(&bench, id), "");
    assert_eq!(bench.count("r"), 1);
}

/// A policy refuses rows, and whoever sends one holds nobody up.
#[test]
fn a_row_that_row_level_security_refuses_is_a_dead_letter() {
    let role = testkit::unique("app").replace('-', "_");
    let table = format!(
        "CREATE ROLE {role}; CREATE TABLE r (n int); ALTER TABLE r ENABLE ROW LEVEL SECURITY; \
         GRANT INSERT, SELECT ON r TO {role}; \
         CREATE POLICY small ON r TO {role} USING (true) WITH CHECK (n < 10)"
    );
    let values = ["{\"n\":1}", "{\"n\":50}", "{\"n\":2}"];
    let (bench, id) = consumed(&table, &[("owner", &format!("'{role}'"))], &values);
    let found = (bench.count("r"), letters(&bench, id));
    bench.database.execute(&format!("DROP OWNED BY {role}; DROP ROLE {role}"));
    assert_eq!(found, (2, "0:1:write:42501".to_owned()));
}

/// ClickHouse/ClickHouse#2675, #6916, #58928.
#[test]
fn a_malformed_message_is_a_dead_letter_between_two_good_ones() {
    let values = ["{\"n\":1}", "{bad", "{\"n\":2}"];
    let (bench, id) = consumed("CREATE TABLE r (n int)", &[], &values);
    assert_eq!((bench.count("r"), letters(&bench, id).as_str()), (2, "0:1:decode:22P02"));
}

/// The function gets messages whole, whatever columns it makes of them.
#[test]
fn a_transform_takes_text_and_csv_apart_itself() {
    let table = "CREATE TABLE r (word text, n bigint); \
                 CREATE FUNCTION split(records jsonb) RETURNS SETOF r LANGUAGE sql AS \
                 'SELECT w, 1 FROM jsonb_array_elements(records) AS e, \
                 unnest(string_to_array(e ->> ''value'', '' '')) AS w'";
    for format in ["'text'", "'csv'"] {
        let settings = [("format", format), ("transform", "'public.split(jsonb)'")];
        let (bench, id) = consumed(table, &settings, &["a b", "b, \"c"]);
        assert_eq!(letters(&bench, id), "");
        let words = "SELECT string_agg(word, '|' ORDER BY word COLLATE \"C\") FROM r";
        assert_eq!(bench.database.value(words).as_deref(), Some("\"c|a|b|b,"));
    }
}

#[test]
fn a_value_without_fields_is_told_in_the_words_of_a_consumer() {
    let (bench, _) = consumed("CREATE TABLE r (n int, m int)", &[], &["[1, 2]"]);
    let said = bench.database.value("SELECT message FROM pipeline_kafka.errors").unwrap();
    assert!(said.ends_with("2 columns for it: set mapping"), "{said}");
}

/// confluentinc/kafka-connect-jdbc#1193.
#[test]
fn a_new_field_is_left_out_until_there_is_a_column() {
    let bench = Bench::new();
    let topic = bench.topic(1);
    bench.table("r");
    bench.consumer(&topic, "r", &[("start", "'earliest'")]);
    let worker = bench.worker();
    let more =
        |n: i64| Record::value(format!("{{\"part\":0,\"n\":{n},\"more\":\"m\"}}")).partition(0);
    produce(&bench.bootstrap, &topic, [more(0)]);
    bench.wait_for("r", 1);
    bench.database.execute("ALTER TABLE r ADD COLUMN more text");
    let mut n = 0;
    eventually(PATIENCE, "the new column is filled", || {
        n += 1;
        produce(&bench.bootstrap, &topic, [more(n)]);
        (bench.database.value("SELECT count(*) FROM r WHERE more = 'm'")? != "0").then_some(())
    });
    worker.stop();
}

/// MaterializeInc/materialize#6388, #2918.
#[test]
fn a_key_that_cannot_be_read_is_a_dead_letter_with_its_place() {
    let bench = Bench::new();
    let topic = bench.topic(1);
    bench.table("r");
    let good = Record::value("{\"part\":0,\"n\":1}").partition(0);
    let records = [good.clone().key("1"), good.clone().key("{bad"), good.key("2")];
    produce(&bench.bootstrap, &topic, records);
    let settings = [("start", "'earliest'"), ("key_format", "'json'"), ("error_limit", "1")];
    let id = bench.consumer(&topic, "r", &settings);
    let worker = bench.worker();
    eventually(PATIENCE, "everything is read", || (bench.positions(id) == [3]).then_some(()));
    assert_eq!((bench.count("r"), letters(&bench, id).as_str()), (2, "0:1:decode:22P02"));
    worker.stop();
}
