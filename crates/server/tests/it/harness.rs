//! What the tests of the worker share: a topic with its table, a stream of records, what must be in
//! the database at the end.

use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};
use testkit::{
    Rng, eventually, holds_for,
    kafka::{self, Producer, Record},
    postgres::{Client, Database, database},
    process::{Worker, WorkerSetup},
    progress, soak,
};

/// The binary under test.
pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_copycat");
/// What must happen at all happens within this, also on a busy machine; where much has to happen,
/// something of it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);
/// How long the broker keeps the seat of a worker that is silent.
pub(crate) const SESSION_MS: u64 = 6_000;
/// A piece of the statement that moves a position, which every transaction of a sink has.
pub(crate) const ADVANCE: &str = "SET next_offset";
/// What one connector's properties look like.
pub(crate) type Properties<'a> = Vec<(&'a str, &'a str)>;

/// How many faults a fault test causes.
pub(crate) fn faults() -> u64 {
    if soak() { 100 } else { 15 }
}

/// A worker on this broker: envelope JSON unless a connector says otherwise.
pub(crate) fn worker(bootstrap: &str) -> WorkerSetup {
    with_clients(Worker::standalone(BINARY), bootstrap)
}

/// The same as one worker of a cluster.
pub(crate) fn member(bootstrap: &str, cluster: &str) -> WorkerSetup {
    with_clients(Worker::distributed(BINARY, cluster), bootstrap)
}

fn with_clients(setup: WorkerSetup, bootstrap: &str) -> WorkerSetup {
    setup
        .worker("bootstrap.servers", bootstrap)
        .worker("key.converter", "org.apache.kafka.connect.storage.StringConverter")
        .worker("value.converter", "org.apache.kafka.connect.json.JsonConverter")
        .worker("offset.flush.interval.ms", "200")
        // A member that was killed and does not come back is missed soon.
        .worker("consumer.session.timeout.ms", &SESSION_MS.to_string())
        .worker("consumer.reconnect.backoff.max.ms", "500")
}

/// A topic and the table `rows` that its records go to.
pub(crate) struct Route {
    pub(crate) bootstrap: String,
    pub(crate) topic: String,
    pub(crate) partitions: i32,
    pub(crate) database: Database,
    /// What the worker is told; differs from the database's own where a proxy is in between.
    pub(crate) url: String,
}

impl Route {
    /// On the shared broker and the shared server, with an empty table without a key.
    pub(crate) fn new(name: &str, partitions: i32) -> Self {
        Self::over(&kafka::bootstrap(), name, partitions, database())
    }

    pub(crate) fn over(bootstrap: &str, name: &str, partitions: i32, database: Database) -> Self {
        let topic = kafka::topic_name(name);
        kafka::create_topic(bootstrap, &topic, partitions);
        database.execute(
            "CREATE TABLE rows (part int, n bigint, note text, price double precision, ok boolean)",
        );
        let url = format!("{}?sslmode=disable", database.url());
        Self { bootstrap: bootstrap.to_owned(), topic, partitions, database, url }
    }

    /// The connector's name; its group is `connect-` and this.
    pub(crate) fn name(&self) -> &str {
        &self.topic
    }

    pub(crate) fn group(&self) -> String {
        format!("connect-{}", self.topic)
    }

    /// The properties of the connector; later ones of the same key win.
    pub(crate) fn properties<'a>(&'a self, more: &[(&'a str, &'a str)]) -> Properties<'a> {
        let mut all = vec![
            ("connector.class", "postgres-sink"),
            ("topics", self.topic.as_str()),
            ("connection.url", self.url.as_str()),
            ("table.name.format", "rows"),
        ];
        all.retain(|(key, _)| !more.iter().any(|(other, _)| key == other));
        all.extend_from_slice(more);
        all
    }

    /// A worker with this connector alone.
    pub(crate) fn worker(&self, more: &[(&str, &str)]) -> WorkerSetup {
        worker(&self.bootstrap).connector(self.name(), &self.properties(more))
    }

    /// How many rows are stored; 0 while the server is away.
    pub(crate) fn stored(&self) -> u64 {
        count(&self.database.url(), "SELECT count(*) FROM rows").unwrap_or(0)
    }

    /// Waits until there are more rows than `before`.
    #[track_caller]
    pub(crate) fn wait_for_more_than(&self, before: u64) -> u64 {
        eventually(PATIENCE, "more rows", || Some(self.stored()).filter(|&now| now > before))
    }

    /// Waits until so many rows are stored.
    #[track_caller]
    pub(crate) fn wait_for_all(&self, rows: u64) {
        progress(PATIENCE, &format!("{rows} rows are stored"), || {
            let stored = self.stored();
            if stored >= rows { Ok(()) } else { Err(stored) }
        });
    }

    /// Waits until everything is stored, then until the group's offsets say so, and compares.
    #[track_caller]
    pub(crate) fn expect_exactly(&self, produced: &BTreeMap<i32, u64>) {
        let total: u64 = produced.values().sum();
        self.wait_for_all(total);
        self.wait_for_no_lag();
        let tally = self.database.query(
            "SELECT part, count(*), count(DISTINCT n), min(n), max(n) FROM rows \
             GROUP BY part ORDER BY part",
        );
        let expected: Vec<Vec<Option<String>>> = produced
            .iter()
            .filter(|(_, count)| **count > 0)
            .map(|(part, &count)| {
                let numbers = [count, count, 0, count - 1].map(|n| Some(n.to_string()));
                [Some(part.to_string())].into_iter().chain(numbers).collect()
            })
            .collect();
        assert_eq!(tally, expected, "partition, rows, distinct, first, last");
        assert_eq!(self.dead_letters(), 0);
    }

    /// Waits until the group's offset of every partition is its end.
    #[track_caller]
    pub(crate) fn wait_for_no_lag(&self) {
        let ends = kafka::end_offsets(&self.bootstrap, &self.topic);
        let group = self.group();
        progress(PATIENCE, "the lag is 0", || {
            let offsets = kafka::group_offsets(&self.bootstrap, &group, &self.topic);
            let at_end = |(part, end): (&i32, &i64)| *end == 0 || offsets.get(part) == Some(end);
            let told = format!("{offsets:?} of {ends:?}");
            if ends.iter().all(at_end) { Ok(()) } else { Err(told) }
        });
    }

    /// Waits until the broker has no member of the group any more.
    #[track_caller]
    pub(crate) fn wait_for_no_members(&self) {
        eventually(PATIENCE, "the group is empty", || {
            let group = kafka::group(&self.bootstrap, &self.group());
            group.is_none_or(|group| group.members.is_empty()).then_some(())
        });
    }

    pub(crate) fn dead_letters(&self) -> u64 {
        let url = self.database.url();
        count(&url, "SELECT count(*) FROM copycat_dead_letters").expect("the table is there")
    }

    /// Produces records all the time, to all partitions, until it is finished.
    pub(crate) fn stream(&self) -> Stream {
        Stream::start(&self.bootstrap, &self.topic, self.partitions)
    }

    /// Produces `count` records to each partition, continuing a count from `first`.
    pub(crate) fn produce(&self, first: u64, count: u64) {
        let numbers = first..first + count;
        let records = numbers.flat_map(|n| (0..self.partitions).map(move |part| record(part, n)));
        kafka::produce(&self.bootstrap, &self.topic, records);
    }

    /// What [`Route::produce`] must have come to.
    pub(crate) fn each(&self, count: u64) -> BTreeMap<i32, u64> {
        (0..self.partitions).map(|part| (part, count)).collect()
    }
}

/// The single number of a query, if the server answers.
pub(crate) fn count(url: &str, sql: &str) -> Option<u64> {
    let rows = Client::try_connect(url).ok()?.try_query(sql).ok()?;
    rows.first()?.first()?.as_ref()?.parse().ok()
}

/// Record number `n` of a partition, with the schema in it.
pub(crate) fn record(part: i32, n: u64) -> Record {
    Record::value(envelope(part, n)).partition(part)
}

/// Connect's envelope as the JSON converter writes it.
pub(crate) fn envelope(part: i32, n: u64) -> String {
    format!(
        r#"{{"schema":{{"type":"struct","fields":[{{"type":"int32","optional":false,"field":"part"}},{{"type":"int64","optional":false,"field":"n"}},{{"type":"string","optional":true,"field":"note"}},{{"type":"double","optional":false,"field":"price"}},{{"type":"boolean","optional":false,"field":"ok"}}],"optional":false,"name":"row"}},"payload":{{"part":{part},"n":{n},"note":"number {n} of {part}","price":{n}.25,"ok":{}}}}}"#,
        n.is_multiple_of(2)
    )
}

/// A producer on a thread of its own.
pub(crate) struct Stream {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<BTreeMap<i32, u64>>>,
}

impl Stream {
    fn start(bootstrap: &str, topic: &str, partitions: i32) -> Self {
        /// Records of a partition at once, and the pause after them: a pace that a debug build keeps.
        const AT_ONCE: u64 = 20;
        const PAUSE: Duration = Duration::from_millis(10);
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, topic) = (stop.clone(), topic.to_owned());
        let producer = Producer::new(bootstrap);
        let thread = thread::spawn(move || {
            let mut sent = 0;
            while !stopped.load(Ordering::Acquire) {
                for n in sent..sent + AT_ONCE {
                    for part in 0..partitions {
                        producer.send(&topic, &record(part, n));
                    }
                }
                sent += AT_ONCE;
                producer.flush();
                thread::park_timeout(PAUSE);
            }
            (0..partitions).map(|part| (part, sent)).collect()
        });
        Self { stop, thread: Some(thread) }
    }

    /// Ends it. Returns the number of records of each partition, all acknowledged.
    pub(crate) fn finish(mut self) -> BTreeMap<i32, u64> {
        self.stop.store(true, Ordering::Release);
        let thread = self.thread.take().expect("it is finished once");
        thread.join().expect("all records are acknowledged")
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
    }
}

/// Lets a random time pass in which the worker must not end by itself.
pub(crate) fn random_moment(rng: &mut Rng, worker: &mut Worker) {
    let moment = Duration::from_millis(rng.below(300));
    holds_for(moment, "the worker runs", || worker.runs());
}

/// The status of a connector as the worker tells it.
pub(crate) fn status(worker: &Worker, name: &str) -> Value {
    let answer = worker.get(&format!("/connectors/{name}/status"));
    assert_eq!(answer.status, 200, "{}", answer.body);
    serde_json::from_str(&answer.body).expect("a status in JSON")
}

/// The first task's part of it; null while there are no tasks.
pub(crate) fn task(worker: &Worker, name: &str) -> Value {
    status(worker, name)["tasks"][0].clone()
}

/// Waits until the first task is FAILED; gives the reason.
#[track_caller]
pub(crate) fn wait_failed(worker: &Worker, name: &str) -> String {
    eventually(PATIENCE, "the task is FAILED", || {
        let task = task(worker, name);
        let failed = task["state"] == json!("FAILED");
        failed.then(|| task["trace"].as_str().expect("a failed task says why").to_owned())
    })
}

/// Waits until the first task, RUNNING for Connect's clients, retries something; gives our member.
#[track_caller]
pub(crate) fn wait_retrying(worker: &Worker, name: &str) -> Value {
    eventually(PATIENCE, "the task is RETRYING", || {
        let task = task(worker, name);
        let retrying = task["copycat"]["state"] == json!("RETRYING");
        assert!(!retrying || task["state"] == json!("RUNNING"), "{task}");
        assert_ne!(task["state"], json!("FAILED"), "{task}");
        retrying.then(|| task["copycat"].clone())
    })
}

/// Waits until the first task runs and retries nothing.
#[track_caller]
pub(crate) fn wait_running(worker: &Worker, name: &str) {
    eventually(PATIENCE, "the task is RUNNING", || {
        let task = task(worker, name);
        assert_ne!(task["state"], json!("FAILED"), "{task}");
        (task["copycat"]["state"] == json!("RUNNING")).then_some(())
    });
}

/// Waits until the first task has something to say: it failed, retries, or has read records.
#[track_caller]
pub(crate) fn eventually_ended(worker: &Worker, name: &str) {
    eventually(PATIENCE, "the task has something to say", || {
        let status = status(worker, name);
        let task = &status["tasks"][0];
        let read = task["copycat"]["records_read"].as_u64().unwrap_or_default() > 0;
        let told = status["connector"]["state"] == "FAILED"
            || task["state"] == "FAILED"
            || task["copycat"]["state"] == "RETRYING"
            || read;
        told.then_some(())
    });
}
