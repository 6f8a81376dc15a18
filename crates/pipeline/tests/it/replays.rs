//! Replays and dead letters that are tried again.

use crate::consumers::with_orders;
use crate::psql::{psql, refused, results};
use crate::reports::control;
use pipeline::control::{Mode, Start};
use std::collections::BTreeMap;

#[test]
fn a_replay_is_asked_for_and_cancelled() {
    let database = with_orders();
    results(
        &database,
        "CREATE TABLE again (LIKE orders INCLUDING ALL); SELECT pipeline_kafka.consume_begin('t', 'orders')",
    );
    let ask = "SELECT pipeline_kafka.replay('t', 'orders', '{\"0\": 5}', '{\"0\": 9}', \
               into_relation => 'again', mode => 'upsert', only_partitions => '{0}')";
    assert_eq!(results(&database, ask), "1");
    let mut control = control(&database);
    let replay = control.definitions().unwrap().replays.remove(0);
    assert_eq!(replay.start_at, Start::Offsets(BTreeMap::from([(0, 5)])));
    assert_eq!((replay.mode, replay.only_partitions), (Mode::Upsert, Some(vec![0])));
    assert_eq!(replay.into.unwrap().table.name, "again");
    assert!(control.set_replay_state(1, replay.config_version, "running", None).unwrap());
    database.execute("INSERT INTO pipeline_kafka.replay_offsets (replay_id, partition, start_offset, next_offset, end_offset) VALUES (1, 0, 5, 5, 9)");
    results(&database, "SELECT pipeline_kafka.replay_cancel(1)");
    let row =
        "SELECT r.state, o.epoch FROM pipeline_kafka.replays r, pipeline_kafka.replay_offsets o";
    assert_eq!(results(&database, row), "cancelled|2");
    assert!(!control.set_replay_state(1, replay.config_version, "done", None).unwrap());
    assert_eq!(control.definitions().unwrap().replays, []);
    let (_, said) = psql(&database.url(), "SELECT pipeline_kafka.replay_cancel(1)");
    assert!(said.contains("NOTICE") && said.contains("over already"), "{said}");
}

#[test]
fn replays_that_cannot_mean_well_are_refused() {
    let database = with_orders();
    results(
        &database,
        "CREATE TABLE bare (id bigint); SELECT pipeline_kafka.consume_begin('t', 'orders'); \
         SELECT pipeline_kafka.consume_begin('u', 'orders', mode => 'upsert'); \
         SELECT pipeline_kafka.consume_begin_stream_partitioned('p', '{orders}')",
    );
    let into = "into_relation => 'bare'";
    for (call, code, text) in [
        (
            format!("'t', 'orders', '{{\"0\": 9}}', '{{\"0\": 9}}', {into}"),
            "22023",
            "not before the end in partition 0",
        ),
        (
            format!("'t', 'orders', '{{\"0\": 9}}', '{{\"1\": 9}}', {into}"),
            "22023",
            "same partitions",
        ),
        (
            format!("'t', 'orders', '2020-01-02', '2020-01-01', {into}"),
            "22023",
            "not before the end",
        ),
        (format!("'t', 'orders', 'earliest', NULL, {into}"), "22023", "end_at is not given"),
        (format!("'t', 'orders', 'earliest', '2999-01-01', {into}"), "22023", "future"),
        (format!("'t', 'orders', 'latest', 'latest', {into}"), "22023", "start_at cannot be"),
        (format!("'t', 'orders', '5', '9', {into}"), "22023", "one partition only"),
        (
            format!("'t', 'orders', 'earliest', 'latest', {into}, only_partitions => '{{-1}}'"),
            "22023",
            "only_partitions",
        ),
        (
            format!("'t', 'orders', 'earliest', 'latest', {into}, mode => 'upsert'"),
            "42P10",
            "primary key",
        ),
        (format!("'x', 'orders', 'earliest', 'latest', {into}"), "42704", "no consumer"),
        ("'t', 'orders', 'earliest', 'latest'".to_owned(), "55000", "a second time"),
        ("'u', 'orders', 'earliest', 'latest'".to_owned(), "55000", "version_column"),
        ("'p', NULL, 'earliest', 'latest'".to_owned(), "22023", "into_relation"),
    ] {
        let said = refused(&database, &format!("SELECT pipeline_kafka.replay({call})"));
        assert!(said.contains(code) && said.contains(text), "{call}\n{said}");
    }
    assert!(refused(&database, "SELECT pipeline_kafka.replay_cancel(7)").contains("42704"));
    let fine = "SELECT pipeline_kafka.replay('t', 'orders', '-5', '2020-01-01', force => true); \
                SELECT pipeline_kafka.replay('t', 'orders', 'earliest', 'latest', mode => 'ignore'); \
                SELECT pipeline_kafka.replay('p', NULL, '2020-01-01', 'latest', 'orders')";
    assert_eq!(results(&database, fine), "1\n2\n3");
    assert_eq!(control(&database).definitions().unwrap().replays.len(), 3);
}

#[test]
fn dead_letters_are_queued_by_their_conditions() {
    let database = with_orders();
    results(
        &database,
        "SELECT pipeline_kafka.consume_begin('t', 'orders', mode => 'upsert'); \
         INSERT INTO pipeline_kafka.errors (consumer_id, topic, partition, \"offset\", stage, sqlstate, message, resolved) \
         VALUES (1, 't', 0, 1, 'write', '23502', 'a', false), (1, 't', 0, 2, 'write', '22P02', 'b', false), \
                (1, 't', 1, 1, 'decode', '22P02', 'c', false), (1, 't', 1, 2, 'decode', '22P02', 'd', true), \
                (1, 't', 1, 3, 'skip', NULL, 'e', false)",
    );
    let retry = |conditions: &str| {
        let call = format!("SELECT pipeline_kafka.retry_errors('t', 'orders', '{conditions}')");
        let (count, said) = psql(&database.url(), &call);
        assert!(said.contains("version_column") == (count.trim() != "0"), "{said}");
        count.trim().to_owned()
    };
    for (conditions, count) in [
        ("{}", "3"),
        ("{\"sqlstate\": \"22P02\"}", "2"),
        ("{\"stage\": \"write\", \"partition\": 0}", "2"),
        ("{\"partition\": 0, \"from_offset\": 1, \"to_offset\": 2}", "1"),
        ("{\"offset\": 1}", "2"),
        ("{\"id\": 2}", "1"),
        ("{\"until\": \"2020-01-01\"}", "0"),
        ("{\"since\": \"2020-01-01\"}", "3"),
    ] {
        assert_eq!(retry(conditions), count, "{conditions}");
    }
    for conditions in ["{\"topic\": \"t\"}", "[]"] {
        let call = format!("SELECT pipeline_kafka.retry_errors('t', 'orders', '{conditions}')");
        assert!(refused(&database, &call).contains("22023"), "{conditions}");
    }
    let (_, said) = psql(&database.url(), "SELECT pipeline_kafka.drop_consumer('t', 'orders')");
    assert!(said.contains("4 dead letters are dropped"), "{said}");
}
