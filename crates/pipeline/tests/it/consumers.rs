//! What the functions for consumers do, as psql sees it.

use crate::psql::{psql, refused, results};
use crate::reports::{control, installed};
use pipeline::control::{Start, State, Target};
use std::time::Duration;
use testkit::postgres::Database;

pub(crate) const MINUTE: Duration = Duration::from_secs(60);

/// A database with a cluster and a table `orders (id, customer, total, doc)`.
pub(crate) fn with_orders() -> Database {
    let database = installed();
    results(
        &database,
        "SELECT pipeline_kafka.set_cluster('k1:9092, k2:9092'); \
         CREATE TABLE orders (id bigint PRIMARY KEY, customer int, total numeric, doc jsonb)",
    );
    database
}

#[test]
fn the_first_arguments_are_those_of_pipeline_kafka() {
    let database = with_orders();
    let script = "SELECT pipeline_kafka.add_broker('k3:9092'); \
        SELECT pipeline_kafka.consume_begin('a', 'orders', 'group', 'text', E'\\t', NULL, NULL, 500, 1000, 2, 100, -2); \
        SELECT pipeline_kafka.consume_begin('b', 'orders', format := 'csv', delimiter := ',', quote := '\"', escape := '\\'); \
        SELECT pipeline_kafka.consume_begin('c', 'orders'); \
        SELECT pipeline_kafka.consume_end('a', 'orders'); \
        SELECT pipeline_kafka.consume_end(); \
        SELECT pipeline_kafka.consume_begin(); \
        SELECT pipeline_kafka.produce_message('t', 'hello'); \
        SELECT pipeline_kafka.produce_message('t', 'hello', 1, 'key'); \
        SELECT pipeline_kafka.topic_watermarks('a', 0); \
        SELECT pipeline_kafka.remove_broker('k3:9092')";
    assert_eq!(
        results(&database, script),
        "k1:9092,k2:9092,k3:9092\n(1,a,orders,waiting)\n(2,b,orders,waiting)\n(3,c,orders,waiting)\n\
         (1,a,orders,paused)\n(2,b,orders,paused)\n(3,c,orders,paused)\n\
         (1,a,orders,waiting)\n(2,b,orders,waiting)\n(3,c,orders,waiting)\n1\n2\nk1:9092,k2:9092"
    );
    let definitions = control(&database).definitions().unwrap();
    assert_eq!(definitions.unreadable, []);
    let settings = &definitions.consumers[0].settings;
    assert_eq!(settings.start, Start::Earliest);
    assert_eq!((settings.batchsize, settings.parallelism), (500, Some(2)));
    assert_eq!(settings.group_id.as_deref(), Some("group"));
    // The one break: json, not text, where no format is given.
    assert_eq!(definitions.consumers[2].settings.format, pipeline::control::Format::Json);
}

#[test]
fn a_rolled_back_call_never_happened() {
    let database = with_orders();
    results(
        &database,
        "BEGIN; CREATE TABLE later (a int); SELECT pipeline_kafka.consume_begin('t', 'later'); ROLLBACK",
    );
    assert_eq!(results(&database, "SELECT count(*) FROM pipeline_kafka.consumers"), "0");
    results(
        &database,
        "BEGIN; CREATE TABLE later (a int); SELECT pipeline_kafka.consume_begin('t', 'later'); COMMIT",
    );
    assert_eq!(results(&database, "SELECT relation FROM pipeline_kafka.consumers"), "later");
}

#[test]
fn a_renamed_relation_is_still_the_one() {
    let database = with_orders();
    results(
        &database,
        "SELECT pipeline_kafka.consume_begin('t', 'orders'); CREATE SCHEMA s; \
         ALTER TABLE orders RENAME TO bestellungen; ALTER TABLE bestellungen SET SCHEMA s",
    );
    let definitions = control(&database).definitions().unwrap();
    let Target::Relation(relation) = &definitions.consumers[0].target else { panic!() };
    assert_eq!(relation.table.to_string(), "s.bestellungen");
    results(
        &database,
        "SELECT pipeline_kafka.consume_end('t', 's.bestellungen'); DROP TABLE s.bestellungen",
    );
    let definitions = control(&database).definitions().unwrap();
    assert_eq!(definitions.consumers[0].target, Target::Dropped);
}

#[test]
fn a_second_call_gives_new_settings_and_keeps_the_position() {
    let database = with_orders();
    let begin =
        "SELECT pipeline_kafka.consume_begin('t', 'orders', start => 'earliest', batchsize => 7)";
    results(&database, begin);
    results(&database, "SELECT pipeline_kafka.set_offsets('t', 'orders', '{\"0\": 42}')");
    let epoch = "SELECT epoch, next_offset FROM pipeline_kafka.offsets";
    assert_eq!(results(&database, epoch), "1|42");
    let version = "SELECT config_version FROM pipeline_kafka.consumers";
    let before = results(&database, version);
    results(&database, begin);
    assert_eq!(
        (results(&database, version), results(&database, epoch)),
        (before.clone(), "1|42".into())
    );
    let (_, said) =
        psql(&database.url(), "SELECT pipeline_kafka.consume_begin('t', 'orders', batchsize => 8)");
    assert!(said.contains("batchsize was 7 and is 8"), "{said}");
    assert_ne!(results(&database, version), before);
    assert_eq!(results(&database, epoch), "2|42");
    let error =
        refused(&database, "SELECT pipeline_kafka.consume_begin('t', 'orders', start => '-5')");
    assert!(error.contains("55000") && error.contains("set_offsets"), "{error}");
}

#[test]
fn every_change_fences_off_the_worker_and_tells_it() {
    let database = with_orders();
    results(
        &database,
        "SELECT pipeline_kafka.consume_begin('t', 'orders'); \
         SELECT pipeline_kafka.set_offsets('t', 'orders', '{\"0\": 1, \"1\": 1}')",
    );
    let epochs = "SELECT string_agg(epoch::text, ',') FROM pipeline_kafka.offsets";
    let mut control = control(&database);
    control.register("here", "1", "g", 1).unwrap();
    control.wait_for_change(Duration::ZERO).unwrap();
    let mut expected = 1;
    for call in [
        "consume_end('t', 'orders')",
        "consume_begin()",
        "alter_consumer('t', 'orders', '{\"timeout\": 9}')",
        "set_offsets('t', 'orders', '{\"0\": 2}')",
        "set_offsets('t', 'orders', 'earliest')",
        "consume_end()",
        "consume_begin('t', 'orders', timeout => 9)",
    ] {
        let old = control.definitions().unwrap();
        results(&database, &format!("SELECT pipeline_kafka.{call}"));
        expected += 1;
        assert_eq!(results(&database, epochs), format!("{expected},{expected}"), "{call}");
        let new = control.definitions().unwrap();
        assert_ne!(old.version, new.version, "{call}");
        let old_version = old.consumers[0].settings.config_version;
        assert!(!control.set_state(1, old_version, State::Running, None, None).unwrap(), "{call}");
        testkit::eventually(MINUTE, call, || {
            control.wait_for_change(Duration::from_secs(1)).unwrap().definitions.then_some(())
        });
    }
    results(&database, "SELECT pipeline_kafka.drop_consumer('t', 'orders')");
    assert_eq!(control.definitions().unwrap().consumers, []);
    assert_eq!(results(&database, "SELECT count(*) FROM pipeline_kafka.offsets"), "0");
}

#[test]
fn a_blocked_consumer_starts_again_when_it_is_begun_again() {
    let database = with_orders();
    results(&database, "SELECT pipeline_kafka.consume_begin('t', 'orders')");
    let mut control = control(&database);
    control.register("here", "1", "g", 1).unwrap();
    let version = control.definitions().unwrap().consumers[0].settings.config_version;
    control.set_state(1, version, State::Blocked, Some("unknown topic"), None).unwrap();
    let begin = "SELECT state FROM pipeline_kafka.consume_begin('t', 'orders')";
    assert_eq!(results(&database, begin), "starting");
    control.leave().unwrap();
    assert_eq!(results(&database, begin), "waiting");
}

#[test]
fn settings_that_are_altered_are_checked_together() {
    let database = with_orders();
    results(
        &database,
        "SELECT pipeline_kafka.consume_begin('t', 'orders'); \
         SELECT pipeline_kafka.alter_consumer('t', 'orders', \
           '{\"mode\": \"upsert\", \"tombstones\": \"delete\", \"group_id\": \"g\", \"options\": {\"mirror\": false}}'); \
         SELECT pipeline_kafka.alter_consumer('t', 'orders', '{\"group_id\": null, \"options\": null}')",
    );
    let row = "SELECT mode, tombstones, group_id IS NULL, options FROM pipeline_kafka.consumers";
    assert_eq!(results(&database, row), "upsert|delete|t|{}");
    for (settings, code) in [
        ("{\"mode\": \"append\"}", "22023"),
        ("{\"start\": \"earliest\"}", "22023"),
        ("{\"owner\": \"x\"}", "22023"),
        ("[1]", "22023"),
        ("{\"batchsize\": \"many\"}", "22P02"),
    ] {
        let call = format!("SELECT pipeline_kafka.alter_consumer('t', 'orders', '{settings}')");
        assert!(refused(&database, &call).contains(code), "{settings}");
    }
}

#[test]
fn a_stream_partitioned_consumer_names_its_relations() {
    let database = with_orders();
    let script = "CREATE TABLE other (id int); \
        SELECT pipeline_kafka.consume_begin_stream_partitioned('all', '{other, orders, other}', 'header:to'); \
        SELECT pipeline_kafka.consume_end_stream_partitioned('all'); \
        SELECT pipeline_kafka.alter_consumer('all', NULL, '{\"route\": \"field:a.b\"}')";
    assert_eq!(results(&database, script), "(1,all,,waiting)\n(1,all,,paused)\n(1,all,,paused)");
    let definitions = control(&database).definitions().unwrap();
    let Target::Routed { route, relations } = &definitions.consumers[0].target else { panic!() };
    assert_eq!(format!("{route:?}"), "Field([\"a\", \"b\"])");
    let mut names: Vec<_> = relations.iter().map(|r| r.table.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["orders", "other"]);
}

#[test]
fn positions_are_moved_and_a_record_is_skipped() {
    let database = with_orders();
    results(&database, "SELECT pipeline_kafka.consume_begin('t', 'orders', on_error => 'stop')");
    let set = |to: &str| {
        results(
            &database,
            &format!("SELECT * FROM pipeline_kafka.set_offsets('t', 'orders', '{to}')"),
        )
    };
    assert_eq!(set("{\"0\": 10, \"1\": 20}"), "0||10\n1||20");
    assert_eq!(set("{\"1\": 25}"), "1|20|25");
    let gaps = "SELECT partition, from_offset, to_offset, reason FROM pipeline_kafka.gaps";
    assert_eq!(results(&database, gaps), "1|20|25|skipped");
    results(&database, "SELECT pipeline_kafka.skip('t', 'orders', 0, 10)");
    let rows = "SELECT next_offset FROM pipeline_kafka.offsets ORDER BY partition; \
                SELECT partition, \"offset\", stage FROM pipeline_kafka.errors";
    assert_eq!(results(&database, rows), "11\n25\n0|10|skip");
    let error = refused(&database, "SELECT pipeline_kafka.skip('t', 'orders', 0, 12)");
    assert!(error.contains("55000") && error.contains("stands at 11"), "{error}");
    // A record that a worker names may lie behind markers.
    let mut control = control(&database);
    control.register("here", "1", "g", 1).unwrap();
    let version = control.definitions().unwrap().consumers[0].settings.config_version;
    let record = pipeline::control::BlockedRecord { partition: 0, offset: 12 };
    control.set_state(1, version, State::Blocked, Some("bad row"), Some(record)).unwrap();
    results(&database, "SELECT pipeline_kafka.skip('t', 'orders', 0, 12)");
    let skipped = "SELECT message FROM pipeline_kafka.errors WHERE \"offset\" = 12; \
                   SELECT next_offset FROM pipeline_kafka.offsets WHERE partition = 0";
    assert_eq!(results(&database, skipped), "skipped by postgres: bad row\n13");
    assert_eq!(set("latest"), "0|13|\n1|25|");
    assert_eq!(control.definitions().unwrap().consumers[0].settings.start, Start::Latest);
    results(
        &database,
        "INSERT INTO pipeline_kafka.partitions VALUES ('default', 't', 0, 3, 99, 99, 1, now())",
    );
    assert_eq!(set("earliest"), "0||3\n1||");
    let error =
        refused(&database, "SELECT pipeline_kafka.set_offsets('t', 'orders', '{\"7\": 1}')");
    assert!(error.contains("has no partition 7"), "{error}");
}

#[test]
fn starts_are_kept_in_their_own_form() {
    let database = with_orders();
    for (n, (given, stored)) in [
        ("EARLIEST", "earliest"),
        ("group", "group"),
        ("-3", "-3"),
        ("2020-01-31 00:00+00", "2020-01-31T00:00:00.000Z"),
        ("1969-01-01 00:00+00", "1970-01-01T00:00:00.000Z"),
        ("{\"1\": 5, \"0\": 42}", "{\"0\": 42, \"1\": 5}"),
    ]
    .into_iter()
    .enumerate()
    {
        let call = format!(
            "SELECT pipeline_kafka.consume_begin('t{n}', 'orders', start => '{given}'); \
             SELECT start FROM pipeline_kafka.consumers WHERE topic = 't{n}'"
        );
        assert!(results(&database, &call).ends_with(&format!("\n{stored}")), "{given}");
    }
    let definitions = control(&database).definitions().unwrap();
    assert_eq!((definitions.consumers.len(), definitions.unreadable.len()), (6, 0));
    // One number is enough for a topic that is known to have one partition.
    results(
        &database,
        "INSERT INTO pipeline_kafka.partitions VALUES ('default', 'one', 0, 0, 99, 99, 1, now()); \
         SELECT pipeline_kafka.consume_begin('one', 'orders', start_offset => 7)",
    );
    let start = "SELECT start FROM pipeline_kafka.consumers WHERE topic = 'one'";
    assert_eq!(results(&database, start), "{\"0\": 7}");
}

/// A topic that was created anew holds a consumer up until someone says where to go on in it.
#[test]
fn a_position_that_is_set_belongs_to_the_topic_as_it_is_now() {
    let database = with_orders();
    results(&database, "SELECT pipeline_kafka.consume_begin('t', 'orders')");
    let id = "00000000-0000-0000-0000-000000000001";
    database.execute(&format!(
        "UPDATE pipeline_kafka.consumers SET topic_id = '{id}'; \
         INSERT INTO pipeline_kafka.offsets (consumer_id, partition, next_offset, topic_id) \
         SELECT c.id, p, 5, '{id}' FROM pipeline_kafka.consumers c, generate_series(0, 1) p"
    ));
    let ids = "SELECT c.topic_id, array_agg(o.topic_id ORDER BY o.partition) \
               FROM pipeline_kafka.consumers c JOIN pipeline_kafka.offsets o ON true GROUP BY 1";
    results(&database, "SELECT pipeline_kafka.set_offsets('t', 'orders', '{\"0\": 1}')");
    let of_map = database.query(ids).remove(0);
    assert_eq!(of_map, [None, Some(format!("{{NULL,{id}}}"))]);
    results(&database, "SELECT pipeline_kafka.set_offsets('t', 'orders', 'latest')");
    assert_eq!(database.query(ids).remove(0), [None, Some("{NULL,NULL}".to_owned())]);
}
