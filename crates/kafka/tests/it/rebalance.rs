//! Members that join and leave while records flow and while all stand at the end: every record
//! reaches exactly one member, once, in order.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use data::TopicPartition;
use kafka::{ClientHandle, Producer, Rebalance, SinkConsumer};

use crate::support::{DEADLINE, LIMITS, send, settings, tp};

const PARTITIONS: i32 = 6;
const ROUNDS: usize = 10;

/// The offset row of each partition, as a destination would keep it.
type Store = Arc<Mutex<BTreeMap<TopicPartition, i64>>>;

struct Handler {
    store: Store,
    /// Leave out every second partition and seat it later.
    late: bool,
    waiting: Arc<Mutex<Vec<TopicPartition>>>,
    held: Arc<AtomicUsize>,
}

impl Rebalance for Handler {
    fn assigned(&mut self, _: &ClientHandle, partitions: &[TopicPartition]) -> Vec<Option<i64>> {
        self.held.fetch_add(partitions.len(), Ordering::SeqCst);
        let store = self.store.lock().unwrap();
        let start = |tp: &TopicPartition| {
            if self.late && tp.partition % 2 == 0 {
                self.waiting.lock().unwrap().push(tp.clone());
                return None;
            }
            Some(store.get(tp).copied().unwrap_or(0))
        };
        partitions.iter().map(start).collect()
    }

    fn revoked(&mut self, _: &ClientHandle, partitions: &[TopicPartition], lost: bool) {
        assert!(!lost);
        self.held.fetch_sub(partitions.len(), Ordering::SeqCst);
        self.waiting.lock().unwrap().retain(|tp| !partitions.contains(tp));
    }
}

struct Member {
    stop: Arc<AtomicBool>,
    held: Arc<AtomicUsize>,
    thread: JoinHandle<()>,
}

impl Member {
    fn start(topic: &str, strategy: &str, late: bool, store: &Store) -> Member {
        let stop = Arc::new(AtomicBool::new(false));
        let held = Arc::new(AtomicUsize::new(0));
        let waiting = Arc::new(Mutex::new(Vec::new()));
        let handler =
            Handler { store: store.clone(), late, waiting: waiting.clone(), held: held.clone() };
        let more = [
            ("group.id", topic),
            ("partition.assignment.strategy", strategy),
            ("heartbeat.interval.ms", "200"),
        ];
        let settings = settings(&testkit::kafka::bootstrap(), &more);
        let mut consumer = SinkConsumer::new(&settings, Box::new(handler)).unwrap();
        consumer.subscribe(&[topic]).unwrap();
        let (store, stopping) = (store.clone(), stop.clone());
        let run = move || {
            while !stopping.load(Ordering::SeqCst) {
                let polled = consumer.poll(Duration::from_millis(20), LIMITS).unwrap();
                for trouble in &polled.errors {
                    assert!(trouble.error.is_retriable(), "{trouble:?}");
                }
                for batch in polled.batches {
                    let mut store = store.lock().unwrap();
                    let next = store.entry(batch.tp().clone()).or_insert(0);
                    for record in batch.records() {
                        assert_eq!(record.offset, *next, "gap or double in {}", batch.tp());
                        *next += 1;
                    }
                }
                let late = std::mem::take(&mut *waiting.lock().unwrap());
                for tp in late {
                    let start = store.lock().unwrap().get(&tp).copied().unwrap_or(0);
                    assert!(consumer.seat(&tp, start).unwrap(), "{tp} waits for its seat");
                }
            }
            assert_eq!(consumer.main_queue_records(), 0);
            consumer.leave();
        };
        Member { stop, held, thread: std::thread::spawn(run) }
    }

    fn end(self) {
        self.stop.store(true, Ordering::SeqCst);
        self.thread.join().unwrap();
    }
}

fn wait_for_all(store: &Store, topic: &str, sent: i64) {
    testkit::eventually(DEADLINE, "every record is stored", || {
        let store = store.lock().unwrap();
        let all = (0..PARTITIONS).all(|p| store.get(&tp(topic, p)) == Some(&sent));
        all.then_some(())
    });
}

fn run(strategy: &str, late: bool) {
    let topic = testkit::kafka::topic(&format!("rebalance-{strategy}"), PARTITIONS);
    let store = Store::default();
    let producer = Producer::new(&settings(&testkit::kafka::bootstrap(), &[])).unwrap();
    let mut sent = 0;
    let mut more = |n: usize| {
        for p in 0..PARTITIONS {
            send(&producer, &tp(&topic, p), sent..sent + n);
        }
        sent += n;
        sent as i64
    };
    let start = || Member::start(&topic, strategy, late, &store);
    let (first, second) = (start(), start());
    let total = more(100);
    wait_for_all(&store, &topic, total);
    for round in 0..ROUNDS {
        let third = start();
        // Half of the rounds with records under way, half with every member standing at the end.
        if round % 2 == 0 {
            more(200);
        }
        testkit::eventually(DEADLINE, "the third member has partitions", || {
            (third.held.load(Ordering::SeqCst) > 0).then_some(())
        });
        let total = more(10);
        wait_for_all(&store, &topic, total);
        third.end();
        let total = more(10);
        wait_for_all(&store, &topic, total);
    }
    first.end();
    second.end();
}

#[test]
fn cooperative_members_lose_and_double_nothing() {
    run("cooperative-sticky", false);
}

#[test]
fn cooperative_members_with_late_seats_lose_and_double_nothing() {
    run("cooperative-sticky", true);
}

#[test]
fn eager_members_lose_and_double_nothing() {
    run("range", false);
}

#[test]
fn eager_members_with_late_seats_lose_and_double_nothing() {
    run("range", true);
}
