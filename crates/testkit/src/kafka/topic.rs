//! Topics: created, changed, measured.

use std::{
    collections::BTreeMap,
    future::Future,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread},
    time::Instant,
};

use rdkafka::{
    admin::{AdminClient, AdminOptions, NewPartitions, NewTopic, TopicReplication, TopicResult},
    client::DefaultClientContext,
    consumer::{BaseConsumer, Consumer as _},
    error::KafkaError,
    types::RDKafkaErrorCode,
};

use super::{PATIENCE, bootstrap, client, topic_name};
use crate::eventually;

/// Creates a topic of a unique name on the shared broker and returns the name.
pub fn topic(prefix: &str, partitions: i32) -> String {
    let name = topic_name(prefix);
    create_topic(&bootstrap(), &name, partitions);
    name
}

/// Creates a topic and waits until it can be used.
///
/// # Panics
///
/// When it exists or the broker refuses.
pub fn create_topic(bootstrap: &str, name: &str, partitions: i32) {
    create_topic_with(bootstrap, name, partitions, &[]);
}

/// Creates a topic with topic settings such as `cleanup.policy`.
pub fn create_topic_with(bootstrap: &str, name: &str, partitions: i32, settings: &[(&str, &str)]) {
    // As often as brokers have it by default: once where there is one.
    let mut topic = NewTopic::new(name, partitions, TopicReplication::Fixed(-1));
    for (key, value) in settings {
        topic = topic.set(key, value);
    }
    let topics = [topic];
    one(block_on(admin(bootstrap).create_topics(&topics, &options())));
    eventually(PATIENCE, "the new topic has leaders", || {
        (partition_count(bootstrap, name) == partitions).then_some(())
    });
}

/// Gives a topic more partitions, up to `total`.
pub fn add_partitions(bootstrap: &str, name: &str, total: usize) {
    let more = [NewPartitions::new(name, total)];
    one(block_on(admin(bootstrap).create_partitions(&more, &options())));
    eventually(PATIENCE, "the new partitions have leaders", || {
        (usize::try_from(partition_count(bootstrap, name)) == Ok(total)).then_some(())
    });
}

/// Deletes a topic. Where somebody writes to it, a broker may make it anew at once.
pub fn delete_topic_in_use(bootstrap: &str, name: &str) {
    one(block_on(admin(bootstrap).delete_topics(&[name], &options())));
}

/// Deletes a topic and waits until it has gone.
pub fn delete_topic(bootstrap: &str, name: &str) {
    delete_topic_in_use(bootstrap, name);
    eventually(PATIENCE, "the topic is gone", || (!topic_exists(bootstrap, name)).then_some(()));
}

/// Whether there is a topic of that name; asking does not create it.
pub fn topic_exists(bootstrap: &str, name: &str) -> bool {
    // Metadata of one name could create it; the list of all never does.
    let metadata = consumer(bootstrap).fetch_metadata(None, PATIENCE).expect("the broker answers");
    metadata.topics().iter().any(|topic| topic.name() == name)
}

/// The number of partitions that have a leader; 0 where there is no such topic.
pub fn partition_count(bootstrap: &str, name: &str) -> i32 {
    led_partitions(&consumer(bootstrap), name)
}

pub(super) fn led_partitions(consumer: &BaseConsumer, name: &str) -> i32 {
    let metadata = consumer.fetch_metadata(None, PATIENCE).expect("the broker answers");
    let topic = metadata.topics().iter().find(|topic| topic.name() == name);
    let led =
        topic.map_or(0, |topic| topic.partitions().iter().filter(|p| p.leader() >= 0).count());
    i32::try_from(led).expect("a partition number is an i32")
}

/// Waits until all replicas of all partitions are in step.
pub(super) fn settled(bootstrap: &str) {
    let consumer = consumer(bootstrap);
    eventually(2 * PATIENCE, "all replicas are in step", || {
        let metadata = consumer.fetch_metadata(None, PATIENCE).ok()?;
        let mut partitions = metadata.topics().iter().flat_map(|topic| topic.partitions());
        partitions.all(|p| p.leader() >= 0 && p.isr().len() == p.replicas().len()).then_some(())
    });
}

/// The offset after the last record of each partition (control records of transactions count).
pub fn end_offsets(bootstrap: &str, name: &str) -> BTreeMap<i32, i64> {
    let consumer = consumer(bootstrap);
    (0..partition_count(bootstrap, name))
        .map(|partition| {
            // A broker that has just been started may lead the partition a moment later.
            let (_, end) = eventually(PATIENCE, "the end of a partition", || {
                consumer.fetch_watermarks(name, partition, PATIENCE).ok()
            });
            (partition, end)
        })
        .collect()
}

fn consumer(bootstrap: &str) -> BaseConsumer {
    client(bootstrap).create().expect("the settings are valid")
}

fn admin(bootstrap: &str) -> AdminClient<DefaultClientContext> {
    client(bootstrap).create().expect("the settings are valid")
}

fn options() -> AdminOptions {
    AdminOptions::new().request_timeout(Some(PATIENCE)).operation_timeout(Some(PATIENCE))
}

fn one(result: Result<Vec<TopicResult>, KafkaError>) {
    for answer in result.expect("the broker answers") {
        if let Err((topic, code)) = answer {
            let code: RDKafkaErrorCode = code;
            panic!("topic {topic}: {code}");
        }
    }
}

/// Runs one future to its end on this thread; the admin client has a thread of its own behind it.
fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    let start = Instant::now();
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        assert!(
            start.elapsed() < 2 * PATIENCE,
            "no answer of the broker within {:?}",
            2 * PATIENCE
        );
        thread::park_timeout(PATIENCE);
    }
}
