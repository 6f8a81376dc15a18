//! What the tests of the worker share: a database with the control schema, topics, workers on threads.

use pipeline::worker::{Options, Stop, run};
use std::thread::JoinHandle;
use std::time::Duration;
use testkit::eventually;
use testkit::kafka::{self, Record};
use testkit::postgres::Database;

/// What must happen at all happens within this, also on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A database and a group of its own, on the shared servers.
pub(crate) struct Bench {
    pub(crate) database: Database,
    pub(crate) bootstrap: String,
    pub(crate) group: String,
}

/// A worker of this process; ends when dropped.
pub(crate) struct Worker {
    stop: Stop,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    pub(crate) fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        self.stop.stop();
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            if !std::thread::panicking() {
                ended.expect("the worker ends in order");
            }
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.end();
    }
}

impl Bench {
    pub(crate) fn new() -> Bench {
        Bench::over(&kafka::bootstrap())
    }

    pub(crate) fn over(bootstrap: &str) -> Bench {
        Bench::on(bootstrap, testkit::postgres::database())
    }

    /// In a database without the schema yet.
    pub(crate) fn on(bootstrap: &str, database: Database) -> Bench {
        pipeline::install::Installer::connect(&database.url())
            .unwrap()
            .install(None, false)
            .unwrap();
        let bench =
            Bench { database, bootstrap: bootstrap.to_owned(), group: kafka::topic_name("group") };
        bench.set_cluster("{\"session.timeout.ms\": \"6000\"}");
        bench
    }

    pub(crate) fn set_cluster(&self, properties: &str) {
        self.database.execute(&format!(
            "INSERT INTO pipeline_kafka.clusters (name, bootstrap_servers, properties) \
             VALUES ('default', '{}', '{properties}') ON CONFLICT (name) DO UPDATE \
             SET properties = excluded.properties, \
             config_version = nextval('pipeline_kafka.config_versions')",
            self.bootstrap
        ));
        self.notify();
    }

    pub(crate) fn options(&self) -> Options {
        Options {
            database_url: self.database.url(),
            pooler: false,
            accept_database: false,
            group: self.group.clone(),
            worker_name: None,
            connections_max: 8,
            queue_bytes_max: 32 << 20,
            version: "test".to_owned(),
        }
    }

    pub(crate) fn worker(&self) -> Worker {
        self.worker_with(|_| {})
    }

    pub(crate) fn worker_with(&self, change: impl FnOnce(&mut Options)) -> Worker {
        let mut options = self.options();
        change(&mut options);
        let stop = Stop::default();
        let told = stop.clone();
        let body = move || run(&options, &told).expect("the worker can start");
        Worker { stop, thread: Some(std::thread::spawn(body)) }
    }

    /// A topic.
    pub(crate) fn topic(&self, partitions: i32) -> String {
        let name = kafka::topic_name("pg");
        kafka::create_topic(&self.bootstrap, &name, partitions);
        name
    }

    /// A table for records as [`record`] makes them.
    pub(crate) fn table(&self, name: &str) {
        self.database.execute(&format!("CREATE TABLE {name} (part int, n bigint)"));
    }

    fn notify(&self) {
        self.database.execute("NOTIFY pipeline_kafka, 'consumers'");
    }

    /// Adds a consumer with settings as `column = value`.
    pub(crate) fn consumer(&self, topic: &str, relation: &str, more: &[(&str, &str)]) -> i32 {
        let (columns, values): (Vec<_>, Vec<_>) = more.iter().copied().unzip();
        let list = |first: &str, list: Vec<&str>| {
            list.iter().fold(first.to_owned(), |all, one| format!("{all}, {one}"))
        };
        let sql = format!(
            "INSERT INTO pipeline_kafka.consumers ({}) VALUES ({}) RETURNING id",
            list("topic, relation", columns),
            list(&format!("'{topic}', '{relation}'"), values)
        );
        let id = self.database.value(&sql).expect("an id").parse().expect("a number");
        self.notify();
        id
    }

    /// Changes a consumer as the functions do: a new definition, which fences the old one.
    pub(crate) fn alter(&self, id: i32, set: &str) {
        self.database.execute(&format!(
            "WITH c AS (UPDATE pipeline_kafka.consumers SET {set}, \
             config_version = nextval('pipeline_kafka.config_versions') WHERE id = {id} \
             RETURNING id) UPDATE pipeline_kafka.offsets o SET epoch = epoch + 1 FROM c \
             WHERE o.consumer_id = c.id"
        ));
        self.notify();
    }

    /// Records `from..to` to each of the partitions.
    pub(crate) fn produce(&self, topic: &str, partitions: i32, from: i64, to: i64) {
        let records = (from..to).flat_map(|n| (0..partitions).map(move |part| record(part, n)));
        kafka::produce(&self.bootstrap, topic, records);
    }

    pub(crate) fn count(&self, table: &str) -> i64 {
        let sql = format!("SELECT count(*) FROM {table}");
        self.ask(&sql).and_then(|rows| rows.first()?.first()?.as_ref()?.parse().ok()).unwrap_or(0)
    }

    /// `None` while the server is away.
    fn ask(&self, sql: &str) -> Option<testkit::postgres::Rows> {
        testkit::postgres::Client::try_connect(&self.database.url()).ok()?.try_query(sql).ok()
    }

    /// Waits until the table holds so many rows, and checks that each is there once.
    #[track_caller]
    pub(crate) fn wait_for(&self, table: &str, rows: i64) {
        eventually(PATIENCE, &format!("{rows} rows in {table}"), || {
            (self.count(table) >= rows).then_some(())
        });
        let sql = format!("SELECT count(*), count(DISTINCT (part, n)) FROM {table}");
        let found = self.database.query(&sql);
        assert_eq!(found, [[Some(rows.to_string()), Some(rows.to_string())]]);
    }

    pub(crate) fn state(&self, id: i32) -> (String, String) {
        let sql = format!(
            "SELECT state, coalesce(state_detail, '') FROM pipeline_kafka.consumers WHERE id = {id}"
        );
        let row = self.ask(&sql).and_then(|mut rows| rows.pop()).unwrap_or_default();
        let mut row = row.into_iter().map(Option::unwrap_or_default);
        (row.next().unwrap_or_default(), row.next().unwrap_or_default())
    }

    #[track_caller]
    pub(crate) fn wait_for_state(&self, id: i32, state: &str) -> String {
        eventually(PATIENCE, &format!("state {state}"), || {
            let (now, detail) = self.state(id);
            (now == state).then_some(detail)
        })
    }

    /// The stored positions of a consumer, by partition.
    pub(crate) fn positions(&self, id: i32) -> Vec<i64> {
        let sql = format!(
            "SELECT next_offset FROM pipeline_kafka.offsets WHERE consumer_id = {id} \
             ORDER BY partition"
        );
        let rows = self.database.query(&sql);
        rows.into_iter().filter_map(|row| row.into_iter().next()??.parse().ok()).collect()
    }
}

pub(crate) fn record(part: i32, n: i64) -> Record {
    Record::value(format!("{{\"part\":{part},\"n\":{n}}}")).partition(part)
}
