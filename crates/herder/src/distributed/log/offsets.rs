//! The offsets of a worker's sources in the cluster's offsets topic, which is followed all the time: a
//! task that takes up position asks for what is new, it does not read the topic.
//!
//! Sources whose offsets are in the transactions of their records have a topic reader of their own
//! ([`runtime::source::offsets::OffsetTopic`]).

use super::{KafkaLog, LogReader, LogSettings};
use api::{Error, Result, SourceMap};
use crossbeam_channel::{RecvTimeoutError, bounded};
use data::RawBatch;
use runtime::source::offsets::{OffsetChange, OffsetEntries, OffsetStore};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Longer than a transaction that nobody ends may stay open by default.
const READ_TIMEOUT: Duration = Duration::from_secs(90);
const LOOK: Duration = Duration::from_millis(100);

/// The store of all source connectors of a worker.
pub struct OffsetLog {
    log: KafkaLog,
    entries: Arc<Mutex<OffsetEntries>>,
}

struct Reader(Arc<Mutex<OffsetEntries>>);

fn locked(entries: &Mutex<OffsetEntries>) -> MutexGuard<'_, OffsetEntries> {
    entries.lock().unwrap_or_else(PoisonError::into_inner)
}

impl LogReader for Reader {
    fn read(&mut self, batch: &RawBatch, _live: bool) {
        let mut entries = locked(&self.0);
        for (row, record) in batch.records().iter().enumerate() {
            let (key, value) = (batch.key(row), batch.value(row));
            if let Err(why) = entries.apply(key, value.as_deref(), record.timestamp) {
                tracing::warn!(
                    "{}: the record at offset {} with key '{}' is no source offset: {why}. It is passed \
                     over; it goes with a record of that key without a value (a tombstone)",
                    batch.tp(),
                    record.offset,
                    String::from_utf8_lossy(key.unwrap_or_default())
                );
            }
        }
    }

    fn caught_up(&mut self) {}

    fn trouble(&mut self, _trouble: Option<&Error>) {}
}

impl OffsetLog {
    /// As [`KafkaLog::open`].
    ///
    /// # Errors
    /// As there.
    pub fn open(settings: LogSettings, stopped: &dyn Fn() -> bool) -> Result<OffsetLog> {
        let entries = Arc::new(Mutex::new(OffsetEntries::default()));
        let log = KafkaLog::open(settings, Box::new(Reader(entries.clone())), stopped)?;
        Ok(OffsetLog { log, entries })
    }
}

impl OffsetStore for OffsetLog {
    fn refresh(&self, stopped: &dyn Fn() -> bool) -> Result<()> {
        let (told, answer) = bounded(1);
        let tell = move |outcome| {
            // Whoever waited may be gone.
            let _gone = told.send(outcome);
        };
        self.log.at_end(Instant::now() + READ_TIMEOUT, Box::new(tell));
        loop {
            match answer.recv_timeout(LOOK) {
                Ok(outcome) => return outcome,
                Err(RecvTimeoutError::Timeout) if !stopped() => {}
                Err(_) => return Err(Error::cancelled()),
            }
        }
    }

    fn get(&self, connector: &str, partition: &SourceMap) -> Result<Option<SourceMap>> {
        Ok(locked(&self.entries).get(connector, partition))
    }

    fn forgot(&self, connector: &str, partition: &SourceMap) -> bool {
        locked(&self.entries).forgot(connector, partition)
    }

    fn list(&self, connector: &str) -> Result<Vec<(SourceMap, SourceMap)>> {
        let entries = locked(&self.entries);
        let usable =
            |(partition, offset): (SourceMap, Option<SourceMap>)| Some((partition, offset?));
        Ok(entries.partitions(connector).filter_map(usable).collect())
    }

    fn put(&self, connector: &str, changes: &[OffsetChange]) -> Result<()> {
        let records = {
            let entries = locked(&self.entries);
            let of = |(partition, offset): &OffsetChange| {
                entries.records(connector, partition, offset.as_ref())
            };
            changes.iter().flat_map(of).collect()
        };
        self.log.write_and_wait(records)?;
        // The log says the same a moment later.
        locked(&self.entries).note(connector, changes);
        Ok(())
    }
}
