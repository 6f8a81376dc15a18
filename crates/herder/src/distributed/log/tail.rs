//! Reads a log from its start and follows it for ever.
//!
//! Positions are kept here: a client that is of no use any more is replaced, and reading goes on where
//! it stood.

use super::ends::{ASK_TIMEOUT, Asker, PlaceEnds};
use super::{Done, FIRST_PAUSE, LONGEST_PAUSE, LogReader, LogSettings, Shared, set};
use api::{Error, Result};
use crossbeam_channel::{Receiver, TryRecvError};
use data::TopicPartition;
use kafka::{ClientSettings, ErrorKind, NoRebalance, PollLimits, Polled, SinkConsumer};
use runtime::{Backoff, kafka_error};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Everything that must be noticed wakes the poll, but for deadlines.
const POLL: Duration = Duration::from_millis(100);
const LIMITS: PollLimits = PollLimits { rows_max: 10_000, bytes_max: 4 << 20 };

/// Kafka's codes.
const GROUP_AUTHORIZATION_FAILED: i32 = 30;
/// No leader yet, or another one.
const LEADER_MOVES: [i32; 2] = [5, 6];

/// Somebody who waits for these ends to be read.
pub(super) struct Barrier {
    pub(super) ends: PlaceEnds,
    pub(super) deadline: Instant,
    pub(super) done: Done,
}

pub(super) struct Tail {
    topic: String,
    settings: ClientSettings,
    asker: Asker,
    places: Vec<TopicPartition>,
    reader: Box<dyn LogReader>,
    barriers: Receiver<Barrier>,
    shared: Arc<Shared>,
    /// The offset of the next record.
    positions: HashMap<TopicPartition, i64>,
    /// What was there at the start, until it has been read.
    start: Option<PlaceEnds>,
    live: bool,
    waiting: Vec<Barrier>,
    troubled: bool,
    /// The topic was missed.
    gone: bool,
}

impl Tail {
    pub(super) fn new(
        settings: &LogSettings,
        places: Vec<TopicPartition>,
        reader: Box<dyn LogReader>,
        barriers: Receiver<Barrier>,
        shared: Arc<Shared>,
    ) -> Tail {
        let topic = settings.topic.name.clone();
        let mut consumer = settings.consumer.clone();
        // Nothing is joined or committed; the client wants a name all the same, and looks for its
        // coordinator: best that of a group that the worker may use.
        consumer.entry("group.id".to_owned()).or_insert_with(|| format!("copycat-reads-{topic}"));
        Tail {
            topic,
            settings: consumer,
            asker: Asker::new(settings, places.clone()),
            places,
            reader,
            barriers,
            shared,
            positions: HashMap::new(),
            start: None,
            live: false,
            waiting: Vec::new(),
            troubled: false,
            gone: false,
        }
    }

    pub(super) fn run(mut self) {
        let mut pauses = Backoff::new(FIRST_PAUSE, LONGEST_PAUSE);
        let mut again = false;
        while !self.shared.is_closed() {
            let ended = self.connect().and_then(|mut consumer| {
                pauses.succeeded();
                self.follow(&mut consumer)
            });
            set(&self.shared.reading, None);
            if let Err(error) = ended {
                // Of a topic that was just made not every broker knows the leader yet.
                if std::mem::replace(&mut again, true) || self.live {
                    self.tell(Some(&error));
                }
                self.gather();
                self.shared.pause(&mut pauses);
            }
        }
        self.gather();
        for barrier in self.waiting.drain(..).chain(self.barriers.try_iter()) {
            (barrier.done)(Err(Error::cancelled()));
        }
    }

    /// A client that reads where this one stands, from the first records on at the start.
    fn connect(&mut self) -> Result<SinkConsumer> {
        if !self.live && self.start.is_none() {
            self.start = Some(self.asker.ask(ASK_TIMEOUT)?);
        }
        let mut consumer =
            SinkConsumer::new(&self.settings, Box::new(NoRebalance)).map_err(kafka_error)?;
        set(&self.shared.reading, Some(consumer.waker()));
        for tp in &self.places {
            if !self.positions.contains_key(tp) {
                let marks = consumer.handle().watermarks(tp, ASK_TIMEOUT);
                let marks = marks.map_err(|error| self.explained(error))?;
                self.positions.insert(tp.clone(), marks.low);
            }
        }
        let starts: Vec<_> = self.positions.iter().map(|(tp, at)| (tp.clone(), *at)).collect();
        consumer.assign_manually(&starts).map_err(kafka_error)?;
        Ok(consumer)
    }

    /// Reads until the log is closed.
    ///
    /// # Errors
    /// The client is of no use any more.
    fn follow(&mut self, consumer: &mut SinkConsumer) -> Result<()> {
        self.settle();
        loop {
            if self.gather() || self.shared.is_closed() {
                return Ok(());
            }
            self.miss_topic();
            let polled = consumer.poll(POLL, LIMITS).map_err(|error| self.explained(error))?;
            self.take(&polled);
            self.settle();
            if let Some(fatal) = consumer.fatal_error() {
                return Err(kafka_error(fatal));
            }
            self.look(&polled)?;
        }
    }

    /// A topic that is gone is nothing that a reader hears of: it gets no more records.
    fn miss_topic(&mut self) {
        let gone = self.shared.gone.load(Ordering::Acquire);
        if std::mem::replace(&mut self.gone, gone) != gone {
            let topic = &self.topic;
            let error =
                kafka::Error::new(ErrorKind::UnknownTopic, format!("topic {topic} was deleted"));
            let error = self.explained(error);
            // Whatever was told before is another trouble, and most likely was the first sign of this one.
            self.troubled &= !gone;
            self.tell(Some(&error).filter(|_| gone));
        }
    }

    fn take(&mut self, polled: &Polled) {
        for batch in &polled.batches {
            self.reader.read(batch, self.live);
            self.positions.insert(batch.tp().clone(), batch.next_offset());
        }
        for (tp, end) in &polled.ends {
            let position = self.positions.entry(tp.clone()).or_insert(*end);
            *position = (*position).max(*end);
        }
        if !polled.batches.is_empty() || !polled.ends.is_empty() {
            self.tell(None);
        }
    }

    fn look(&mut self, polled: &Polled) -> Result<()> {
        for trouble in &polled.errors {
            if trouble.at.is_none() && trouble.error.code() == GROUP_AUTHORIZATION_FAILED {
                // That is the business of who joins the group.
                continue;
            }
            if LEADER_MOVES.contains(&trouble.error.code()) {
                // As where a topic was just made: the client asks for the leader by itself, and a broker that
                // is away is told of otherwise.
                continue;
            }
            let error = self.explained(trouble.error.clone());
            match (&trouble.at, trouble.error.kind()) {
                // The topic was emptied or made anew: what is there now is all there is.
                (Some(tp), ErrorKind::OffsetOutOfRange) => {
                    tracing::warn!("{tp} no longer has the next record; read again from its start");
                    self.positions.remove(tp);
                    return Err(error);
                }
                _ => self.tell(Some(&error)),
            }
        }
        Ok(())
    }

    /// What is wrong, with the right that lacks where it is one, and what a topic that is gone means.
    fn explained(&self, error: kafka::Error) -> Error {
        let topic = &self.topic;
        match error.kind() {
            ErrorKind::Authorization => Error::config(error.to_string())
                .hint(format!("grant the worker's principal Describe and Read on Topic {topic}")),
            ErrorKind::UnknownTopic => Error::retriable(error.to_string()).hint(format!(
                "the topic is gone: what was read stays in force until this worker ends. Stop all workers, \
                 restore topic {topic} or begin with an empty one, and start them again"
            )),
            _ => kafka_error(error),
        }
    }

    /// Tells of trouble when it begins and when it is over.
    fn tell(&mut self, trouble: Option<&Error>) {
        if self.troubled == trouble.is_some() {
            return;
        }
        self.troubled = trouble.is_some();
        match trouble {
            Some(error) => tracing::warn!("topic {}: {}", self.topic, error.report()),
            None => tracing::info!("topic {} is read again", self.topic),
        }
        self.reader.trouble(trouble);
    }

    /// Takes in who waits, and answers those whose deadline has passed. Whether nobody can ask any more.
    fn gather(&mut self) -> bool {
        let mut ended = false;
        loop {
            match self.barriers.try_recv() {
                Ok(barrier) => self.waiting.push(barrier),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => {
                    ended = true;
                    break;
                }
            }
        }
        self.settle();
        ended
    }

    fn settle(&mut self) {
        if let Some(start) = self.start.take_if(|start| is_read(&self.positions, start)) {
            self.live = true;
            tracing::debug!(topic = %self.topic, partitions = start.len(), "read to its end");
            self.reader.caught_up();
        }
        let now = Instant::now();
        let is_over = |barrier: &mut Barrier| {
            barrier.deadline <= now || is_read(&self.positions, &barrier.ends)
        };
        let over: Vec<Barrier> = self.waiting.extract_if(.., is_over).collect();
        for barrier in over {
            let outcome = match is_read(&self.positions, &barrier.ends) {
                true => Ok(()),
                false => Err(Error::retriable(format!(
                    "topic {} could not be read to its end in time: a broker does not answer, or a \
                     transaction is open",
                    self.topic
                ))),
            };
            (barrier.done)(outcome);
        }
    }
}

fn is_read(positions: &HashMap<TopicPartition, i64>, ends: &PlaceEnds) -> bool {
    ends.iter().all(|(tp, end)| *end == 0 || positions.get(tp).is_some_and(|at| at >= end))
}
