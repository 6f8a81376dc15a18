//! Consumers that change while the worker runs, and what happens where something is wrong.

use crate::bench::{Bench, PATIENCE, record};
use testkit::eventually;
use testkit::kafka::{self, Record};

/// Calls a function of the schema.
fn call(bench: &Bench, sql: &str) {
    bench.database.query(&format!("SELECT pipeline_kafka.{sql}"));
}

/// pipelinedb/pipelinedb#1519, #1995; pipelinedb/pipeline_kafka#9.
#[test]
fn one_bad_record_becomes_a_dead_letter_and_the_others_rows() {
    let bench = Bench::new();
    let topic = bench.topic(1);
    bench.table("orders");
    let values = ["{\"n\":1}", "{\"n\":\"x\"}", "{\"n\":3}", "{bad"];
    kafka::produce(&bench.bootstrap, &topic, values.map(Record::value));
    let id = bench.consumer(&topic, "orders", &[("start", "'earliest'"), ("error_limit", "1")]);
    let worker = bench.worker();
    eventually(PATIENCE, "the position", || (bench.positions(id) == [4]).then_some(()));
    let rows = bench.database.query("SELECT n FROM orders ORDER BY n");
    assert_eq!(rows, [[Some("1".to_owned())], [Some("3".to_owned())]]);
    let letters = bench.database.query(
        "SELECT partition, \"offset\", convert_from(value, 'UTF8'), sqlstate \
         FROM pipeline_kafka.errors ORDER BY 2",
    );
    let texts: Vec<Vec<&str>> =
        letters.iter().map(|row| row.iter().flatten().map(String::as_str).collect()).collect();
    assert_eq!(texts[0], ["0", "1", "{\"n\":\"x\"}", "22P02"]);
    assert_eq!(texts[1][..3], ["0", "3", "{bad"]);
    worker.stop();
}

/// ClickHouse/ClickHouse#2675, #6916.
#[test]
fn a_bad_record_stops_a_consumer_that_wants_it_and_skip_goes_on() {
    let bench = Bench::new();
    let topic = bench.topic(1);
    bench.table("orders");
    bench.table("others");
    let values = ["{\"n\":1}", "{bad", "{\"n\":3}"];
    kafka::produce(&bench.bootstrap, &topic, values.map(Record::value));
    let stop = [("start", "'earliest'"), ("on_error", "'stop'")];
    let id = bench.consumer(&topic, "orders", &stop);
    bench.consumer(&topic, "others", &[("start", "'earliest'"), ("error_limit", "1")]);
    let worker = bench.worker();
    let detail = bench.wait_for_state(id, "blocked");
    assert!(detail.contains("offset 1") && detail.contains("pipeline_kafka.skip("), "{detail}");
    bench.wait_for("others", 2);
    assert_eq!((bench.count("orders"), bench.positions(id)), (1, vec![1]));
    call(&bench, &format!("skip('{topic}', 'orders', 0, 1)"));
    bench.wait_for("orders", 2);
    bench.wait_for_state(id, "running");
    worker.stop();
}

#[test]
fn a_running_consumer_is_altered_moved_and_dropped() {
    let bench = Bench::new();
    let topic = bench.topic(2);
    bench.table("orders");
    bench.produce(&topic, 2, 0, 20);
    let id = bench.consumer(&topic, "orders", &[("start", "'earliest'")]);
    let worker = bench.worker();
    bench.wait_for("orders", 40);
    call(&bench, &format!("alter_consumer('{topic}', 'orders', '{{\"batchsize\": 7}}')"));
    bench.produce(&topic, 2, 20, 40);
    bench.wait_for("orders", 80);
    bench.database.execute("TRUNCATE orders");
    call(&bench, &format!("set_offsets('{topic}', 'orders', 'earliest')"));
    bench.wait_for("orders", 80);
    bench.database.execute("ALTER TABLE orders RENAME TO renamed");
    bench.produce(&topic, 2, 40, 50);
    bench.wait_for("renamed", 100);
    call(&bench, &format!("drop_consumer('{topic}', 'renamed')"));
    bench.produce(&topic, 2, 50, 51);
    bench.table("next");
    bench.consumer(&topic, "next", &[("start", "'earliest'")]);
    bench.wait_for("next", 102);
    assert_eq!((bench.count("renamed"), bench.positions(id).len()), (100, 0));
    worker.stop();
}

/// ClickHouse/ClickHouse#7256, #9378; snowflakedb/snowflake-kafka-connector#658 (the first batch).
#[test]
fn while_a_relation_refuses_rows_the_position_stands_still() {
    let bench = Bench::new();
    let topic = bench.topic(1);
    for table in ["orders", "others"] {
        bench.table(table);
    }
    bench.database.execute(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS \
         $$ BEGIN RAISE EXCEPTION 'no room' USING ERRCODE = '53100'; END $$; \
         CREATE TRIGGER refuse BEFORE INSERT ON orders FOR EACH STATEMENT EXECUTE FUNCTION refuse()",
    );
    bench.produce(&topic, 1, 0, 10);
    let id = bench.consumer(&topic, "orders", &[("start", "'earliest'")]);
    bench.consumer(&topic, "others", &[("start", "'earliest'")]);
    let worker = bench.worker();
    let detail = bench.wait_for_state(id, "backing_off");
    assert!(detail.contains("no room"), "{detail}");
    bench.wait_for("others", 10);
    bench.produce(&topic, 1, 10, 20);
    bench.wait_for("others", 20);
    assert_eq!((bench.count("orders"), bench.positions(id)), (0, vec![0]));
    bench.database.execute("DROP TRIGGER refuse ON orders");
    bench.wait_for("orders", 20);
    bench.wait_for_state(id, "running");
    bench.produce(&topic, 1, 20, 30);
    bench.wait_for("orders", 30);
    worker.stop();
}

#[test]
fn a_position_that_the_log_does_not_reach_stops_or_is_a_noted_gap() {
    let bench = Bench::new();
    let topic = bench.topic(1);
    for table in ["stops", "goes_on"] {
        bench.table(table);
    }
    bench.produce(&topic, 1, 0, 5);
    let stops = bench.consumer(&topic, "stops", &[("start", "'{\"0\": 70}'")]);
    let more = [("start", "'{\"0\": 70}'"), ("on_gap", "'earliest'")];
    let goes_on = bench.consumer(&topic, "goes_on", &more);
    let worker = bench.worker();
    let detail = bench.wait_for_state(stops, "blocked");
    assert!(detail.contains("ends at 5") && detail.contains("set_offsets"), "{detail}");
    bench.wait_for_state(goes_on, "running");
    bench.produce(&topic, 1, 5, 8);
    bench.wait_for("goes_on", 3);
    let gaps = "SELECT from_offset, to_offset FROM pipeline_kafka.gaps";
    let gap = [Some("70".to_owned()), Some("5".to_owned())];
    assert_eq!(bench.database.query(gaps), [gap]);
    call(&bench, &format!("set_offsets('{topic}', 'stops', '{{\"0\": 6}}')"));
    bench.wait_for("stops", 2);
    worker.stop();
}

#[test]
fn a_topic_that_is_created_anew_is_no_silent_resume() {
    let bench = Bench::new();
    let topic = bench.topic(1);
    for table in ["stops", "goes_on"] {
        bench.table(table);
    }
    bench.produce(&topic, 1, 0, 5);
    let stops = bench.consumer(&topic, "stops", &[("start", "'earliest'")]);
    let more = [("start", "'earliest'"), ("on_gap", "'earliest'")];
    bench.consumer(&topic, "goes_on", &more);
    let worker = bench.worker();
    bench.wait_for("stops", 5);
    bench.wait_for("goes_on", 5);
    kafka::delete_topic(&bench.bootstrap, &topic);
    kafka::create_topic(&bench.bootstrap, &topic, 1);
    bench.produce(&topic, 1, 100, 103);
    bench.wait_for("goes_on", 8);
    let detail = bench.wait_for_state(stops, "blocked");
    assert!(detail.contains("created again"), "{detail}");
    assert_eq!(bench.count("stops"), 5);
    worker.stop();
}

/// Records that come before the partition is known are not lost.
#[test]
fn a_partition_that_is_added_begins_at_its_beginning() {
    let bench = Bench::new();
    bench.set_cluster("{\"topic.metadata.refresh.interval.ms\": \"500\"}");
    let topic = bench.topic(1);
    bench.table("orders");
    let id = bench.consumer(&topic, "orders", &[("start", "'latest'")]);
    let worker = bench.worker();
    bench.wait_for_state(id, "running");
    kafka::add_partitions(&bench.bootstrap, &topic, 2);
    kafka::produce(&bench.bootstrap, &topic, (0..5).map(|n| record(1, n)));
    bench.wait_for("orders", 5);
    worker.stop();
}

/// The positions are mirrored to the group for tools that look there.
#[test]
fn the_group_hears_of_the_least_position() {
    let bench = Bench::new();
    let topic = bench.topic(1);
    for table in ["a", "b"] {
        bench.table(table);
    }
    bench.produce(&topic, 1, 0, 9);
    bench.consumer(&topic, "a", &[("start", "'earliest'")]);
    bench.consumer(&topic, "b", &[("start", "'earliest'")]);
    let worker = bench.worker();
    let mirrored = || kafka::group_offsets(&bench.bootstrap, &bench.group, &topic);
    eventually(PATIENCE, "the mirror", || (mirrored().get(&0) == Some(&9)).then_some(()));
    worker.stop();
}

/// What the definition says of rows reaches the sink: upserts by key, deletes, routes of an allow-list.
#[test]
fn rows_are_upserted_deleted_and_routed_as_the_definition_says() {
    let bench = Bench::new();
    let topic = bench.topic(1);
    bench.database.execute("CREATE TABLE state (id int PRIMARY KEY, v text)");
    let upsert = [("start", "'earliest'"), ("mode", "'upsert'"), ("tombstones", "'delete'")];
    bench.consumer(&topic, "state", &upsert);
    let one = |id: i32, v: &str| {
        Record::value(format!("{{\"id\":{id},\"v\":\"{v}\"}}")).key(format!("{{\"id\":{id}}}"))
    };
    let records =
        [one(1, "a"), one(2, "b"), one(1, "c"), Record::tombstone("{\"id\":2}"), one(3, "d")];
    kafka::produce(&bench.bootstrap, &topic, records);
    let routed = bench.topic(1);
    for table in ["x", "y"] {
        bench.table(table);
    }
    call(
        &bench,
        &format!(
            "consume_begin_stream_partitioned('{routed}', ARRAY['x', 'y']::regclass[], \
             start => 'earliest')"
        ),
    );
    let to = |table: &str, n: i64| record(0, n).key(table);
    kafka::produce(&bench.bootstrap, &routed, [to("x", 1), to("public.y", 2), to("pg_class", 3)]);
    let worker = bench.worker();
    eventually(PATIENCE, "the state of the keys", || {
        let rows = bench.database.query("SELECT id || v FROM state ORDER BY id");
        (rows == [[Some("1c".to_owned())], [Some("3d".to_owned())]]).then_some(())
    });
    bench.wait_for("x", 1);
    bench.wait_for("y", 1);
    eventually(PATIENCE, "the dead letter", || {
        let sql = "SELECT count(*) FROM pipeline_kafka.errors WHERE sqlstate = '42501'";
        (bench.database.value(sql)? == "1").then_some(())
    });
    worker.stop();
}

/// Formats without names of fields: the columns are those of the relation that the record names.
#[test]
fn records_of_csv_go_to_the_relations_that_they_name() {
    let bench = Bench::new();
    let topic = bench.topic(1);
    bench.database.execute("CREATE TABLE few (n bigint); CREATE TABLE more (t text, n bigint)");
    call(
        &bench,
        &format!(
            "consume_begin_stream_partitioned('{topic}', ARRAY['few', 'more']::regclass[], \
             'header:to', format => 'csv', delimiter => ';', start => 'earliest', error_limit => 1)"
        ),
    );
    let to = |table: &str, value: &str| Record::value(value).header("to", table);
    let records = [
        to("few", "1"),
        to("public.more", "\"a;b\";2"),
        to("few", "1;2"),
        to("pg_class", "3"),
        Record::value("4"),
        to("few", "5"),
    ];
    kafka::produce(&bench.bootstrap, &topic, records);
    let worker = bench.worker();
    let all = "SELECT (SELECT string_agg(n::text, ' ' ORDER BY n) FROM few) || '|' || \
               (SELECT string_agg(t || n, ' ') FROM more)";
    eventually(PATIENCE, "the rows", || (bench.database.value(all)? == "1 5|a;b2").then_some(()));
    let letters = "SELECT string_agg(\"offset\" || ' ' || sqlstate, ', ' ORDER BY \"offset\") \
                   FROM pipeline_kafka.errors";
    eventually(PATIENCE, "the dead letters", || {
        (bench.database.value(letters)? == "2 22P04, 3 42501, 4 42501").then_some(())
    });
    worker.stop();
}
