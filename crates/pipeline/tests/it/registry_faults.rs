//! A registry that is away, refuses us, or has lost a schema.

use crate::bench::Bench;
use crate::schemas::{begin, letters, rows, set_registry, wait_until_read, with_registry};
use testkit::avro::Avro;
use testkit::kafka::{Record, produce};
use testkit::registry::{self, Proxy, Reply};

const SCHEMA: &str =
    r#"{"type": "record", "name": "R", "fields": [{"name": "n", "type": "long"}]}"#;

fn record(id: i32, n: i64) -> Record {
    Record::value(Avro::of(id).long(n).done())
}

/// A topic with a schema, and a table for it.
fn topic(bench: &Bench) -> (String, i32) {
    bench.database.execute("CREATE TABLE r (n bigint)");
    let topic = bench.topic(1);
    let id = registry::register(&format!("{topic}-value"), "AVRO", SCHEMA);
    (topic, id)
}

#[test]
fn a_registry_that_is_away_is_waited_for() {
    let proxy = Proxy::to(registry::url());
    proxy.fail(500);
    let properties = r#"{"max.retries": "0", "missing.id.cache.ttl.sec": 0}"#;
    let bench = with_registry(&proxy.url(), properties);
    let (topic, id) = topic(&bench);
    produce(&bench.bootstrap, &topic, (0..10).map(|n| record(id, n)));
    let consumer = begin(&bench, &topic, "r", "format => 'avro'");
    let worker = bench.worker();
    let detail = bench.wait_for_state(consumer, "backing_off");
    assert!(detail.contains("500"), "{detail}");
    assert_eq!((bench.count("r"), letters(&bench, consumer).len()), (0, 0));
    // It ends meanwhile as it should, and nothing is lost.
    worker.stop();
    let worker = bench.worker();
    bench.wait_for_state(consumer, "backing_off");
    proxy.heal();
    wait_until_read(&bench, consumer, &[10]);
    bench.wait_for_state(consumer, "running");
    assert_eq!((bench.count("r"), letters(&bench, consumer).len()), (10, 0));
    worker.stop();
}

/// Bug: the consumer was blocked by a page that a proxy showed.
#[test]
fn a_page_in_place_of_the_registry_is_waited_for() {
    let proxy = Proxy::to(registry::url());
    proxy.set(|_| Reply::Answer(200, &["Content-Type: text/html"], "<html>soon</html>".to_owned()));
    let bench = with_registry(&proxy.url(), r#"{"max.retries": "0"}"#);
    let (topic, id) = topic(&bench);
    produce(&bench.bootstrap, &topic, [record(id, 1)]);
    let consumer = begin(&bench, &topic, "r", "format => 'avro'");
    let worker = bench.worker();
    let detail = bench.wait_for_state(consumer, "backing_off");
    assert!(detail.contains("or is registry_url not the address"), "in words of SQL: {detail}");
    proxy.heal();
    wait_until_read(&bench, consumer, &[1]);
    worker.stop();
}

#[test]
fn wrong_credentials_block_and_are_not_shown() {
    let proxy = Proxy::to(registry::url());
    proxy.fail(401);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("login");
    std::fs::write(&path, "shop:hunter2\n").unwrap();
    let properties = format!(
        "{{\"basic.auth.credentials.source\": \"USER_INFO\", \"basic.auth.user.info\": \"file:{}\"}}",
        path.display()
    );
    let bench = with_registry(&proxy.url(), &properties);
    let (topic, id) = topic(&bench);
    produce(&bench.bootstrap, &topic, [record(id, 1)]);
    let consumer = begin(&bench, &topic, "r", "format => 'avro'");
    let worker = bench.worker();
    let detail = bench.wait_for_state(consumer, "blocked");
    assert!(detail.contains("401") && !detail.contains("hunter2"), "{detail}");
    assert!(detail.contains("in registry_properties of pipeline_kafka.set_cluster"), "{detail}");
    assert_eq!(letters(&bench, consumer).len(), 0);
    // A registry that lets us in, by a change of the cluster, is enough.
    set_registry(&bench, registry::url(), "{}");
    wait_until_read(&bench, consumer, &[1]);
    assert_eq!(bench.count("r"), 1);
    worker.stop();
}

#[test]
fn an_unknown_property_of_the_registry_is_named() {
    let bench = with_registry(registry::url(), r#"{"basic.auth.user.inf": "env:NOTHING_SUCH"}"#);
    let (topic, _) = topic(&bench);
    let consumer = begin(&bench, &topic, "r", "format => 'avro'");
    let worker = bench.worker();
    let detail = bench.wait_for_state(consumer, "blocked");
    assert!(detail.contains("basic.auth.user.inf"), "{detail}");
    set_registry(&bench, registry::url(), r#"{"basic.auth.user.inf": "x"}"#);
    let detail = testkit::eventually(crate::bench::PATIENCE, "the property is named", || {
        Some(bench.state(consumer).1).filter(|detail| detail.contains("registry_properties"))
    });
    assert!(detail.contains("basic.auth.user.info"), "{detail}");
    worker.stop();
}

/// What a registry has lost are dead letters with the id, which can be had once it has found it again;
/// replays read by the same schemas.
#[test]
fn a_lost_id_is_a_dead_letter_that_can_be_retried() {
    let proxy = Proxy::to(registry::url());
    let bench = with_registry(&proxy.url(), r#"{"missing.id.cache.ttl.sec": 0}"#);
    let (topic, id) = topic(&bench);
    let other = SCHEMA.replace("\"R\"", "\"Other\"");
    let lost = registry::register(&format!("{topic}-other"), "AVRO", &other);
    proxy.lose(lost);
    let records = [record(id, 1), record(lost, 2), Record::value("no frame"), record(id, 3)];
    produce(&bench.bootstrap, &topic, records);
    let consumer = begin(&bench, &topic, "r", "format => 'avro', error_limit => 1");
    let worker = bench.worker();
    wait_until_read(&bench, consumer, &[4]);
    assert_eq!(rows(&bench, "n", "r"), ["1", "3"]);
    assert_eq!(
        letters(&bench, consumer),
        [format!("1|decode|22P03|{lost}"), "2|decode|22P03|-".to_owned()]
    );
    let said =
        bench.database.value("SELECT message FROM pipeline_kafka.errors WHERE \"offset\" = 1");
    assert!(said.as_ref().unwrap().contains(&format!("{lost}")), "{said:?}");
    proxy.heal();
    bench.database.execute(&format!("SELECT pipeline_kafka.retry_errors('{topic}', 'r')"));
    testkit::eventually(crate::bench::PATIENCE, "one letter is left", || {
        (letters(&bench, consumer) == ["2|decode|22P03|-"]).then_some(())
    });
    assert_eq!(rows(&bench, "n", "r"), ["1", "2", "3"]);
    bench.database.execute("CREATE TABLE again (n bigint)");
    bench.database.execute(&format!(
        "SELECT pipeline_kafka.replay('{topic}', 'r', 'earliest', 'latest', 'again')"
    ));
    testkit::eventually(crate::bench::PATIENCE, "the replay is done", || {
        (bench.database.value("SELECT state FROM pipeline_kafka.replays WHERE NOT is_retry")?
            == "done")
            .then_some(())
    });
    assert_eq!(rows(&bench, "n", "again"), ["1", "2", "3"]);
    worker.stop();
}
