//! Workers of `copycat pg run` that die at random moments while consumers come, pause and go: at the
//! end every relation holds exactly its records.

use crate::harness::{BINARY, PATIENCE, faults};
use std::fs::File;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use testkit::kafka::{self, Producer, Record};
use testkit::postgres::{Database, database};
use testkit::{Rng, eventually};

const PARTITIONS: i32 = 4;
const SESSION_MS: u32 = 6_000;

/// A worker process; killed when dropped.
struct PgWorker {
    process: Child,
    log: std::path::PathBuf,
}

impl PgWorker {
    fn start(database: &Database, group: &str, folder: &std::path::Path) -> PgWorker {
        let log = folder.join("log");
        let file = File::options().create(true).append(true).open(&log).expect("a log");
        let process = Command::new(BINARY)
            .args(["pg", "run", "--group", group, "--database-url", &database.url()])
            .stdin(Stdio::null())
            .stdout(file.try_clone().expect("a second handle of the log"))
            .stderr(file)
            .spawn()
            .expect("the worker starts");
        PgWorker { process, log }
    }

    fn kill9(&mut self) {
        self.process.kill().expect("it runs");
        self.process.wait().expect("it has ended");
    }

    fn runs(&mut self) -> bool {
        self.process.try_wait().expect("its state").is_none()
    }
}

impl Drop for PgWorker {
    #[expect(clippy::print_stderr, reason = "shown by the test harness when a test fails")]
    fn drop(&mut self) {
        // It may have been killed by the test.
        let _ended = self.process.kill();
        let _status = self.process.wait();
        if std::thread::panicking() {
            let log = std::fs::read_to_string(&self.log).unwrap_or_default();
            let tail: Vec<&str> = log.lines().rev().take(40).collect();
            eprintln!("the worker's last lines, newest first:\n{}", tail.join("\n"));
        }
    }
}

/// Records to all partitions of a topic, until it is finished.
struct Stream {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<i64>,
}

impl Stream {
    fn start(bootstrap: &str, topic: &str) -> Stream {
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, topic) = (stop.clone(), topic.to_owned());
        let producer = Producer::new(bootstrap);
        let thread = std::thread::spawn(move || {
            let mut n = 0;
            while !stopped.load(Ordering::Acquire) {
                for partition in 0..PARTITIONS {
                    let value = format!("{{\"part\":{partition},\"n\":{n}}}");
                    producer.send(&topic, &Record::value(value).partition(partition));
                }
                n += 1;
                producer.flush();
                std::thread::park_timeout(Duration::from_millis(3));
            }
            n
        });
        Stream { stop, thread }
    }

    /// Ends it; gives the records of each partition.
    fn finish(self) -> i64 {
        self.stop.store(true, Ordering::Release);
        self.thread.join().expect("all records are acknowledged")
    }
}

/// What the relations of this run must hold at its end.
struct World {
    database: Database,
    topics: Vec<String>,
    /// Relation and the number of its topic.
    live: Vec<(String, usize)>,
    made: usize,
}

impl World {
    fn call(&self, sql: &str) {
        self.database.query(&format!("SELECT pipeline_kafka.{sql}"));
    }

    fn add(&mut self, rng: &mut Rng) {
        let topic = rng.below(self.topics.len() as u64) as usize;
        let relation = format!("t{}", self.made);
        self.made += 1;
        self.database.execute(&format!("CREATE TABLE {relation} (part int, n bigint)"));
        let together = if rng.chance(50) { "'set'" } else { "NULL" };
        self.call(&format!(
            "consume_begin('{}', '{relation}', start => 'earliest', parallelism => {}, \
             together => {together})",
            self.topics[topic],
            1 + rng.below(3)
        ));
        self.live.push((relation, topic));
    }

    fn change(&mut self, rng: &mut Rng) {
        if self.live.is_empty() || rng.chance(30) {
            return self.add(rng);
        }
        let one = rng.below(self.live.len() as u64) as usize;
        let (relation, topic) = self.live[one].clone();
        let topic = &self.topics[topic];
        match rng.below(4) {
            0 => self.call(&format!("consume_end('{topic}', '{relation}')")),
            1 => self.call(&format!("consume_begin('{topic}', '{relation}')")),
            2 => self.call(&format!(
                "alter_consumer('{topic}', '{relation}', '{{\"batchsize\": {}}}')",
                1 + rng.below(500)
            )),
            _ if self.live.len() > 2 => {
                self.call(&format!("drop_consumer('{topic}', '{relation}')"));
                self.live.remove(one);
            }
            _ => self.add(rng),
        }
    }

    fn expect_exactly(&self, records: &[i64]) {
        self.database.query("SELECT pipeline_kafka.consume_begin()");
        for (relation, topic) in &self.live {
            let wanted = records[*topic] * i64::from(PARTITIONS);
            let sql = format!("SELECT count(*), count(DISTINCT (part, n)) FROM {relation}");
            eventually(PATIENCE, &format!("all {wanted} rows of {relation}"), || {
                let found = self.database.query(&sql);
                let rows: i64 = found.first()?.first()?.as_ref()?.parse().ok()?;
                (rows >= wanted).then_some(())
            });
            let wanted = Some(wanted.to_string());
            assert_eq!(self.database.query(&sql), [[wanted.clone(), wanted]], "{relation}");
        }
        let letters = self.database.value("SELECT count(*) FROM pipeline_kafka.errors");
        assert_eq!(letters.as_deref(), Some("0"));
    }
}

fn install(database: &Database, bootstrap: &str) {
    let done = Command::new(BINARY)
        .args(["pg", "install", "--database-url", &database.url()])
        .output()
        .expect("the command runs");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    database.query(&format!(
        "SELECT pipeline_kafka.set_cluster('{bootstrap}', \
         '{{\"session.timeout.ms\": \"{SESSION_MS}\"}}')"
    ));
}

/// confluentinc/kafka-connect-jdbc#988, #874; justonedb/kafka-sink-pg-json#18.
#[test]
fn fault_pg_workers_are_killed_while_consumers_change() {
    let mut rng = Rng::seeded("pg-kills");
    let bootstrap = kafka::bootstrap();
    let database = database();
    install(&database, &bootstrap);
    let group = kafka::topic_name("pg-kills");
    let topics: Vec<String> = (0..2).map(|_| kafka::topic("pg-kills", PARTITIONS)).collect();
    let streams: Vec<Stream> = topics.iter().map(|t| Stream::start(&bootstrap, t)).collect();
    let mut world = World { database, topics, live: Vec::new(), made: 0 };
    world.add(&mut rng);
    world.add(&mut rng);
    let count = 2 + rng.below(3) as usize;
    let folders: Vec<_> = (0..count).map(|_| tempfile::tempdir().expect("a folder")).collect();
    let start = |n: usize| PgWorker::start(&world.database, &group, folders[n].path());
    let mut workers: Vec<PgWorker> = (0..count).map(start).collect();
    let mut changed = Rng::seeded("pg-changes");
    for _ in 0..faults() {
        for _ in 0..1 + rng.below(2) {
            world.change(&mut changed);
        }
        let victim = rng.below(count as u64) as usize;
        let moment = Duration::from_millis(rng.below(1_500));
        testkit::holds_for(moment, "the workers run", || workers.iter_mut().all(PgWorker::runs));
        workers[victim].kill9();
        workers[victim] = PgWorker::start(&world.database, &group, folders[victim].path());
    }
    let records: Vec<i64> = streams.into_iter().map(Stream::finish).collect();
    world.expect_exactly(&records);
}
