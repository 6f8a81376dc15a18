//! Messages out of the database into a real Kafka: order, rollbacks, refusals, and a database that has
//! forgotten that it sent something.

use crate::reports::{control, installed};
use kafka::ClientSettings;
use pipeline::control::{Cluster, Control, Questions};
use pipeline::outbox::{Clients, Options, Outbox};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use testkit::kafka::{self as broker, Read};
use testkit::postgres::Database;
use testkit::progress;

const PATIENCE: Duration = Duration::from_secs(90);

/// A worker that does nothing but empty the outbox.
struct Sending {
    outbox: Option<Outbox>,
    stop: Arc<AtomicBool>,
    control: Control,
}

impl Sending {
    fn start(database: &Database) -> Sending {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let mut control = control(database);
        let worker = control.register("here", "1", "g", 1).unwrap();
        let options = Options {
            questions: Arc::new(Questions::new(&database.url()).unwrap()),
            worker: worker.id,
            clients: Box::new(|_| Ok(clients())),
            stop: Arc::new(move || stopped.load(Ordering::Acquire)),
        };
        Sending { outbox: Some(Outbox::start(options).unwrap()), stop, control }
    }

    fn wake(&self) {
        self.outbox.as_ref().unwrap().wake(vec![cluster()]);
    }

    /// Tells that there is something, again and again, until it is reached.
    fn until(&self, database: &Database, what: &str, mut reached: impl FnMut() -> bool) {
        progress(PATIENCE, what, || {
            self.wake();
            if reached() {
                return Ok(());
            }
            let stands = "SELECT count(*), min(error), (SELECT min(detail) FROM \
                          pipeline_kafka.outbox_senders) FROM pipeline_kafka.outbox";
            Err(database.query(stands))
        });
    }

    fn stop(mut self) {
        self.stop.store(true, Ordering::Release);
        self.outbox = None;
        self.control.leave().unwrap();
    }
}

fn clients() -> Clients {
    let with = |more: &[(&str, &str)]| {
        let bootstrap = broker::bootstrap();
        let all = [("bootstrap.servers", bootstrap.as_str())];
        let all = all.iter().chain(more);
        all.map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect::<ClientSettings>()
    };
    Clients {
        producer: with(&[]),
        consumer: with(&[("isolation.level", "read_committed")]),
        admin: with(&[]),
    }
}

fn cluster() -> Cluster {
    Cluster {
        name: "default".to_owned(),
        bootstrap_servers: broker::bootstrap(),
        properties: Default::default(),
        registry_url: None,
        registry_properties: Default::default(),
        config_version: 1,
    }
}

fn ready() -> Database {
    let database = installed();
    let servers = broker::bootstrap();
    database.execute(&format!("SELECT pipeline_kafka.set_cluster('{servers}')"));
    database
}

fn left(database: &Database) -> i64 {
    let count = database.value("SELECT count(*) FROM pipeline_kafka.outbox").unwrap();
    count.parse().unwrap()
}

fn values(read: &[Read]) -> Vec<&str> {
    read.iter().map(Read::text).collect()
}

#[test]
fn what_is_committed_is_sent_in_order_and_what_is_rolled_back_never() {
    let database = ready();
    let topic = broker::topic("outbox", 3);
    let say = |text: &str| {
        format!("SELECT pipeline_kafka.produce_message('{topic}', '{text}', key => 'k')")
    };
    database.execute(&format!("BEGIN; {}; ROLLBACK", say("never")));
    for n in 0..50 {
        database.execute(&say(&n.to_string()));
    }
    let sending = Sending::start(&database);
    sending.until(&database, "all is sent", || left(&database) == 0);
    let headers = "'{\"source\": \"here\", \"none\": null}'";
    database.execute(&format!(
        "SELECT pipeline_kafka.produce_message('{topic}', NULL, 2, '\\x6b00', {headers})"
    ));
    sending.until(&database, "the tombstone is sent", || left(&database) == 0);
    sending.stop();
    let read = broker::read(&broker::bootstrap(), &topic);
    let (tombstones, messages): (Vec<_>, Vec<_>) =
        read.into_iter().partition(|r| r.value.is_none());
    let wanted: Vec<String> = (0..50).map(|n| n.to_string()).collect();
    assert_eq!(values(&messages), wanted);
    let tombstone = &tombstones[0];
    assert_eq!((tombstone.partition, tombstone.key.as_deref()), (2, Some(&b"k\0"[..])));
    assert_eq!(tombstone.header("source"), Some("here"));
    assert!(tombstone.headers.contains(&("none".to_owned(), None)), "{tombstone:?}");
}

/// A promoted replica that lagged has rows again that were sent, and gives ids a second time.
#[test]
fn rows_that_come_back_are_not_sent_again_and_ids_that_do_are() {
    let database = ready();
    let topic = broker::topic("outbox-back", 1);
    database.execute(&format!(
        "SELECT pipeline_kafka.produce_message('{topic}', 'once'); \
         CREATE TABLE kept AS SELECT * FROM pipeline_kafka.outbox"
    ));
    let sending = Sending::start(&database);
    sending.until(&database, "it is sent", || left(&database) == 0);
    sending.stop();
    database.execute("INSERT INTO pipeline_kafka.outbox SELECT * FROM kept");
    let id = database.value("SELECT id FROM kept").unwrap();
    let again = Sending::start(&database);
    again.until(&database, "it is known to be sent", || left(&database) == 0);
    database.execute(&format!(
        "INSERT INTO pipeline_kafka.outbox (id, topic, value) VALUES ({id}, '{topic}', 'new')"
    ));
    again.until(&database, "the new one is sent", || left(&database) == 0);
    again.stop();
    let third = Sending::start(&database);
    database.execute(&format!("SELECT pipeline_kafka.produce_message('{topic}', 'last')"));
    third.until(&database, "the last is sent", || left(&database) == 0);
    // They come back while the sender stays: all it can see is another connection.
    database.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() \
         AND datname = current_database() AND query LIKE '%outbox%'; \
         INSERT INTO pipeline_kafka.outbox SELECT * FROM kept",
    );
    third.until(&database, "it is known to be sent", || left(&database) == 0);
    third.stop();
    let read = broker::read(&broker::bootstrap(), &topic);
    assert_eq!(values(&read), ["once", "new", "last"]);
}

#[test]
fn a_message_that_is_refused_holds_up_no_other() {
    let database = ready();
    let topic = broker::topic_name("outbox-small");
    let small = [("max.message.bytes", "1000")];
    broker::create_topic_with(&broker::bootstrap(), &topic, 1, &small);
    let large = format!(
        "SELECT pipeline_kafka.produce_message('{topic}', convert_to(string_agg(md5(n::text), ''), \
         'UTF8')) FROM generate_series(1, 500) n"
    );
    database.execute(&large);
    database.execute(&format!("SELECT pipeline_kafka.produce_message('{topic}', 'small')"));
    let sending = Sending::start(&database);
    sending.until(&database, "one is left", || left(&database) == 1);
    sending.stop();
    let row = "SELECT retry_at = 'infinity', error FROM pipeline_kafka.outbox";
    let row = database.query(row).remove(0);
    assert_eq!(row[0].as_deref(), Some("t"));
    assert!(row[1].as_deref().is_some_and(|why| why.contains(&topic)), "{row:?}");
    assert_eq!(values(&broker::read(&broker::bootstrap(), &topic)), ["small"]);
}

#[test]
fn one_worker_sends_and_another_takes_over() {
    let database = ready();
    let topic = broker::topic("outbox-two", 1);
    let (first, second) = (Sending::start(&database), Sending::start(&database));
    let mut wanted = Vec::new();
    let mut say = |n: u32| {
        database.execute(&format!("SELECT pipeline_kafka.produce_message('{topic}', '{n}')"));
        wanted.push(n.to_string());
    };
    for n in 0..20 {
        say(n);
        first.wake();
        second.wake();
    }
    first.until(&database, "all is sent", || {
        second.wake();
        left(&database) == 0
    });
    let holders = "SELECT count(*) FROM pipeline_kafka.outbox_senders";
    assert_eq!(database.value(holders).as_deref(), Some("1"));
    first.stop();
    say(20);
    second.until(&database, "the other one sends", || left(&database) == 0);
    second.stop();
    assert_eq!(values(&broker::read(&broker::bootstrap(), &topic)), wanted);
}
