//! What workers read and write.

use pipeline::control::{
    BlockedRecord, Control, ControlOptions, Observed, Questions, Settings, Start, State, Target,
};
use std::sync::Arc;
use std::time::Duration;
use testkit::postgres::{Database, database};

pub(crate) fn installed() -> Database {
    let database = database();
    pipeline::install::Installer::connect(&database.url()).unwrap().install(None, false).unwrap();
    database
}

pub(crate) fn control(database: &Database) -> Control {
    let options = ControlOptions {
        database_url: database.url(),
        pooler: false,
        accept_database: false,
        stop: Arc::new(|| false),
    };
    Control::connect(options).unwrap()
}

fn one_consumer(database: &Database) {
    database.execute(
        "CREATE TABLE public.orders (id int8); \
         INSERT INTO pipeline_kafka.clusters (name, bootstrap_servers, properties) \
         VALUES ('default', 'k:9092', '{\"a\": 1}'); \
         INSERT INTO pipeline_kafka.consumers (topic, relation, start) \
         VALUES ('orders', 'orders', 'earliest')",
    );
}

#[test]
fn definitions_are_read_with_every_setting() {
    let database = installed();
    one_consumer(&database);
    let mut control = control(&database);
    let definitions = control.definitions().unwrap();
    assert_eq!(definitions.unreadable, []);
    assert_eq!(definitions.clusters[0].properties["a"], "1");
    let consumer = &definitions.consumers[0];
    assert!(
        matches!(&consumer.target, Target::Relation(r) if r.table.to_string() == "public.orders")
    );
    let Settings { start, owner, owner_reachable, started, .. } = &consumer.settings;
    assert_eq!(
        (start, owner.as_str(), *owner_reachable, *started),
        (&Start::Earliest, "postgres", true, false)
    );
    database.execute("ALTER TABLE orders RENAME TO \"Orders\"");
    let renamed = control.definitions().unwrap();
    assert_ne!(renamed.version, definitions.version);
    database.execute("UPDATE pipeline_kafka.consumers SET state = 'running', mode = 'newer'");
    assert_eq!(control.definitions().unwrap().unreadable[0].key, "1");
}

#[test]
fn a_notification_ends_the_wait() {
    let database = installed();
    let mut control = control(&database);
    assert!(control.wait_for_change(Duration::ZERO).unwrap().definitions);
    database.execute("NOTIFY pipeline_kafka, 'outbox'");
    let change = control.wait_for_change(Duration::from_secs(60)).unwrap();
    assert!(change.outbox && !change.definitions, "{change:?}");
}

#[test]
fn the_gravest_state_of_all_workers_is_the_consumers() {
    let database = installed();
    one_consumer(&database);
    let (mut first, mut second) = (control(&database), control(&database));
    first.register("a", "1", "g", 1).unwrap();
    second.register("b", "1", "g", 1).unwrap();
    let version = first.definitions().unwrap().consumers[0].settings.config_version;
    let state = || database.value("SELECT state FROM pipeline_kafka.consumers").unwrap();
    assert!(first.set_state(1, version, State::Running, None, None).unwrap());
    let record = Some(BlockedRecord { partition: 0, offset: 7 });
    assert!(second.set_state(1, version, State::Blocked, Some("why"), record).unwrap());
    assert!(first.set_state(1, version, State::Running, None, None).unwrap());
    assert_eq!(state(), "blocked");
    assert!(!first.set_state(1, version + 1, State::Running, None, None).unwrap());
    second.leave().unwrap();
    assert_eq!(state(), "running");
}

#[test]
fn what_a_worker_has_said_ends_with_its_life() {
    let database = installed();
    one_consumer(&database);
    let (mut killed, mut other) = (control(&database), control(&database));
    let id = killed.register("a", "1", "g", 1).unwrap().id;
    other.register("b", "1", "g", 1).unwrap();
    let version = other.definitions().unwrap().consumers[0].settings.config_version;
    let state = || database.value("SELECT state FROM pipeline_kafka.consumers").unwrap();
    other.set_state(1, version, State::Running, None, None).unwrap();
    killed.set_state(1, version, State::Blocked, Some("why"), None).unwrap();
    other.heartbeat(1).unwrap();
    assert_eq!(state(), "blocked");
    database.execute(&format!(
        "UPDATE pipeline_kafka.workers SET heartbeat_at = heartbeat_at - interval '1 minute' \
         WHERE worker = '{id}'"
    ));
    other.heartbeat(1).unwrap();
    assert_eq!(state(), "running");
    // It was only slow.
    killed.heartbeat(1).unwrap();
    assert_eq!(state(), "blocked");
}

#[test]
fn starts_are_stored_once_and_under_the_definition_that_they_belong_to() {
    let database = installed();
    one_consumer(&database);
    let mut control = control(&database);
    let questions = Questions::new(&database.url()).unwrap();
    let version = control.definitions().unwrap().consumers[0].settings.config_version;
    assert!(!questions.store_starts((1, version + 1), None, &[(0, 5)]).unwrap());
    assert!(questions.store_starts((1, version), None, &[(0, 5), (1, 9)]).unwrap());
    // A worker that has not heard of the start resolves it again, and knows a younger partition.
    assert!(questions.store_starts((1, version), None, &[(0, 77), (2, 50)]).unwrap());
    let rows = database.query("SELECT next_offset FROM pipeline_kafka.offsets ORDER BY partition");
    assert_eq!(rows, [[Some("5".to_owned())], [Some("9".to_owned())]]);
    assert!(control.definitions().unwrap().consumers[0].settings.started);
}

#[test]
fn what_kafka_tells_is_kept() {
    let database = installed();
    one_consumer(&database);
    let mut control = control(&database);
    let mut seen = Observed {
        cluster: "default".to_owned(),
        topic: "orders".to_owned(),
        partition: 0,
        low: Some(1),
        high: Some(9),
        last_stable: Some(8),
        leader: None,
    };
    control.observe(std::slice::from_ref(&seen)).unwrap();
    seen.high = Some(10);
    control.observe(&[seen]).unwrap();
    let high = database.value("SELECT high FROM pipeline_kafka.partitions");
    assert_eq!(high.as_deref(), Some("10"));
}
