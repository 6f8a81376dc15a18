//! The deliver loop against destinations of one behaviour each.

use super::super::mailbox::Limits;
use super::*;
use crate::errors::{Breaker, ErrorLog};
use crate::sink::{DeadLetterSettings, StopSignal};
use crate::status::StatusCell;
use api::{DeadLetter, Result, Seat, Side, SinkContext, StartResolver};
use config::Props;
use data::{Batch, RawBatchBuilder, TimestampType};
use kafka::{ClientSettings, NoRebalance, SinkConsumer};
use std::sync::atomic::{AtomicBool, Ordering};

fn tp(partition: i32) -> TopicPartition {
    TopicPartition::new("t", partition)
}

fn record(offset: i64) -> RawBatch {
    let mut builder = RawBatchBuilder::new(tp(0));
    builder.push(offset, 0, TimestampType::CreateTime, None, Some(b"1"));
    builder.finish(offset + 1)
}

/// Cannot open partition 1 at first; whenever it has taken a record there is the next one, until
/// the task is told to stop.
struct Busy {
    shared: Arc<Shared>,
    opened: bool,
    left: i64,
    /// Letters were asked for while there was work to do.
    asked: Arc<AtomicBool>,
}

impl SinkTask for Busy {
    fn open(
        &mut self,
        seats: &[Seat],
        _: &mut dyn StartResolver,
        _: &mut dyn SinkContext,
    ) -> Result<Vec<i64>> {
        if seats.iter().any(|seat| seat.tp == tp(1)) && !std::mem::replace(&mut self.opened, true) {
            return Err(Error::retriable("not now"));
        }
        Ok(vec![0; seats.len()])
    }

    fn put(&mut self, batches: Vec<Batch>, _: &mut dyn SinkContext) -> Result<()> {
        self.left -= 1;
        match batches.first() {
            Some(batch) if self.left > 0 => {
                self.shared.mailbox.push(record(batch.next_offset()));
            }
            _ => self.shared.mailbox.command(Command::Stop),
        }
        Ok(())
    }

    fn flush(&mut self, _: &mut dyn SinkContext) -> Result<()> {
        Ok(())
    }

    fn close(&mut self, _: &[TopicPartition], _: bool, _: &mut dyn SinkContext) {}

    fn outbox(&mut self, _: usize) -> Result<Vec<DeadLetter>> {
        self.asked.fetch_or(self.left > 0, Ordering::Relaxed);
        Ok(Vec::new())
    }

    fn forwarded(&mut self, _: &[i64]) -> Result<()> {
        Ok(())
    }
}

struct Anywhere;

impl Starts for Anywhere {
    fn seats(&mut self, _: &ClientHandle, partitions: &[TopicPartition]) -> Result<Vec<Seat>> {
        let seat = |tp: &TopicPartition| Seat { tp: tp.clone(), topic_id: None };
        Ok(partitions.iter().map(seat).collect())
    }

    fn resolve(
        &mut self,
        _: &ClientHandle,
        _: &[TopicPartition],
        _: bool,
    ) -> Result<Vec<api::ResolvedStart>> {
        Ok(Vec::new())
    }
}

fn busy(shared: &Arc<Shared>, opened: bool, left: i64) -> Busy {
    Busy { shared: shared.clone(), opened, left, asked: Arc::default() }
}

fn letters(shared: &Arc<Shared>, log: &ErrorLog) -> DeadLetterTopic {
    let settings = DeadLetterSettings {
        topic: "letters".to_owned(),
        replication_factor: None,
        context_headers: false,
        producer: ClientSettings::new(),
    };
    let metrics = shared.status.metrics().clone();
    DeadLetterTopic::new(settings, ClientSettings::new(), log, StopSignal::default(), metrics)
}

fn deliver(shared: &Arc<Shared>, task: Busy) -> Deliver {
    let connector = "c".to_owned();
    let log = ErrorLog { connector, task: 0, each_record: false, coordinates: false };
    let letters = letters(shared, &log);
    let context = Context::new(shared.clone(), Breaker::new(1.0), log, "");
    let make =
        |class: &str, side| (converters::find(class).unwrap().make)(&Props::new(), side).unwrap();
    let chain = Chain::new(
        make("ByteArrayConverter", Side::Key),
        make("ByteArrayConverter", Side::Value),
        make("SimpleHeaderConverter", Side::Header),
        Vec::new(),
    );
    // The pause is over when the thread looks next, as after a command that took long.
    let (starts, backoff_max) = (Box::new(Anywhere), Duration::ZERO);
    Deliver::new(Box::new(task), chain, context, shared.clone(), starts, Some(letters), backoff_max)
}

fn shared() -> Arc<Shared> {
    let limits = Limits { batch_rows_max: 9, batch_bytes_max: 999, queue_bytes_max: 999 };
    Arc::new(Shared::new(limits, None, StatusCell::default(), None))
}

fn consumer() -> SinkConsumer {
    let settings: ClientSettings = [("group.id", "g"), ("bootstrap.servers", "127.0.0.1:1")]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into();
    SinkConsumer::new(&settings, Box::new(NoRebalance)).unwrap()
}

#[test]
fn a_partition_that_could_not_be_opened_is_not_held_up_by_those_that_are_busy() {
    let shared = shared();
    let deliver = deliver(&shared, busy(&shared, false, 20));
    let consumer = consumer();
    for partition in 0..2 {
        shared.open(consumer.handle(), &[tp(partition)]);
    }
    shared.mailbox.push(record(0));
    deliver.run().unwrap();
    assert_eq!(shared.take_seats().into_keys().collect::<Vec<_>>(), [tp(0), tp(1)]);
}

#[test]
fn dead_letters_do_not_wait_for_the_end_of_a_backlog() {
    let shared = shared();
    let task = busy(&shared, true, 20);
    let asked = task.asked.clone();
    let (deliver, consumer) = (deliver(&shared, task), consumer());
    shared.open(consumer.handle(), &[tp(0)]);
    shared.mailbox.push(record(0));
    deliver.run().unwrap();
    assert!(asked.load(Ordering::Relaxed));
}

/// Else records from behind the place where the fetch thread stood then would be taken for the next.
#[test]
fn the_answer_to_an_earlier_start_says_nothing_about_a_later_one() {
    let shared = shared();
    let mut deliver = deliver(&shared, busy(&shared, true, 1));
    let consumer = consumer();
    deliver.serve(Command::Open { partitions: vec![tp(0)], client: consumer.handle().clone() });
    let first = shared.take_seats();
    for _ in 0..2 {
        deliver.take_back(&[tp(0)]);
        deliver.open().unwrap();
    }
    deliver.serve(Command::Reseated(first));
    assert!(deliver.state.reseating.contains_key(&tp(0)), "still waits for the last one");
    deliver.serve(Command::Reseated(shared.take_seats()));
    assert!(deliver.state.reseating.is_empty());
}
