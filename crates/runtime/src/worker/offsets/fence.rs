//! Takes the transactional ids of a source's former tasks over, so that nothing they have open is
//! committed.

use super::TIMEOUT;
use crate::source::not_allowed;
use crate::worker::Worker;
use api::{Error, Result};
use config::Props;
use config::worker::ExactlyOnceSupport;
use kafka::{ErrorKind, TransactionalProducer};

/// Ids that are taken over at the same time: each needs a client of its own for that long.
const AT_ONCE: usize = 8;

impl Worker {
    /// Ends the producers of so many tasks of a connector, and what they have open.
    ///
    /// # Errors
    /// With the rights that lack; retriable where the brokers do not answer.
    pub fn fence_producers(&self, name: &str, raw: &Props, producers: u32) -> Result<()> {
        let props = self.resolve(raw)?.props;
        match self.take_over(name, &props, producers) {
            // Whoever may not use these ids has not used them.
            Err(Unfenced { forbidden: true, error }) if !self.uses_transactions() => {
                tracing::warn!(connector = name, "{}", error.report());
                Ok(())
            }
            fenced => fenced.map(drop).map_err(|unfenced| self.discreet(raw, unfenced.error)),
        }
    }

    fn uses_transactions(&self) -> bool {
        self.config.exactly_once_source_support == ExactlyOnceSupport::Enabled
    }

    /// The same, before offsets are changed: the topic could not be read to its end otherwise. Gives the
    /// producer of the first task, whether or not it is one of them.
    pub(super) fn fence(
        &self,
        name: &str,
        props: &Props,
        producers: u32,
    ) -> Result<TransactionalProducer> {
        self.take_over(name, props, producers.max(1))
            .map_err(|unfenced| unfenced.error)?
            .ok_or_else(|| {
                Error::bug("no transactional id was taken over, though one was asked for")
            })
    }

    fn take_over(
        &self,
        name: &str,
        props: &Props,
        producers: u32,
    ) -> std::result::Result<Option<TransactionalProducer>, Unfenced> {
        let mut first = None;
        let tasks: Vec<u32> = (0..producers).collect();
        for some in tasks.chunks(AT_ONCE) {
            let taken = std::thread::scope(|scope| {
                let take = |task: &u32| {
                    let task = *task;
                    scope.spawn(move || self.take_over_one(name, task, props))
                };
                let taking: Vec<_> = some.iter().map(take).collect();
                let ended = taking.into_iter().map(|thread| thread.join());
                ended.collect::<Vec<_>>()
            });
            for one in taken {
                let gone = || Unfenced::of(Error::bug("a thread that fences has panicked"));
                let producer = one.unwrap_or_else(|_| Err(gone()))?;
                first.get_or_insert(producer);
            }
        }
        Ok(first)
    }

    fn take_over_one(
        &self,
        name: &str,
        task: u32,
        props: &Props,
    ) -> std::result::Result<TransactionalProducer, Unfenced> {
        let settings = self.source_producer(name, task, props, true).map_err(Unfenced::of)?;
        let failed = |error: kafka::Error| Unfenced {
            forbidden: error.kind() == ErrorKind::Authorization,
            error: not_allowed(&settings, error),
        };
        let producer = TransactionalProducer::new(&settings).map_err(failed)?;
        producer.init(TIMEOUT).map_err(failed)?;
        Ok(producer)
    }
}

/// Why an id could not be taken over.
struct Unfenced {
    forbidden: bool,
    error: Error,
}

impl Unfenced {
    fn of(error: Error) -> Unfenced {
        Unfenced { forbidden: false, error }
    }
}
