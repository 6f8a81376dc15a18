//! A steady stream into the partitions of a topic, or of lines into files, from a thread of its own.

use std::{
    fs::File,
    io::Write as _,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};
use rdkafka::producer::{BaseRecord, Producer as _};

use crate::bench::{process::pause, say, sink::topics::producer};

/// How often something is sent.
const EVERY: Duration = Duration::from_millis(20);

/// Ends with this value.
pub(super) struct Feed {
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Feed {
    /// `send` is given the number of the round, and nothing at the end.
    fn start(mut send: impl FnMut(Option<u64>) -> Result<()> + Send + 'static) -> Feed {
        let ended = Arc::new(AtomicBool::new(false));
        let told = ended.clone();
        let body = move || {
            let start = Instant::now();
            for round in 0_u32.. {
                let round_or_end = Some(u64::from(round)).filter(|_| !told.load(Ordering::Acquire));
                if let Err(error) = send(round_or_end) {
                    return say(&format!("the stream has ended: {error}"));
                }
                if round_or_end.is_none() {
                    return;
                }
                pause((EVERY * (round + 1)).saturating_sub(start.elapsed()));
            }
        };
        Feed { ended, thread: Some(std::thread::spawn(body)) }
    }

    /// So many records a round into each partition; there are 50 rounds a second.
    pub(super) fn topic(
        bootstrap: &str,
        topic: &str,
        partitions: i32,
        records: u64,
        value: impl Fn(i32, u64) -> String + Send + 'static,
    ) -> Result<Feed> {
        let producer = producer(bootstrap, 5)?;
        let topic = topic.to_owned();
        Ok(Feed::start(move |round| {
            let Some(round) = round else {
                return producer.flush(Duration::from_secs(60)).context("the last records");
            };
            for n in round * records..(round + 1) * records {
                for partition in 0..partitions {
                    let value = value(partition, n);
                    let record: BaseRecord<'_, [u8], str> =
                        BaseRecord::to(&topic).partition(partition).payload(value.as_str());
                    producer.send(record).map_err(|(error, _)| error)?;
                }
            }
            producer.poll(Duration::ZERO);
            if producer.in_flight_count() > 100_000 {
                producer.flush(Duration::from_secs(60)).context("records are not taken")?;
            }
            Ok(())
        }))
    }

    /// A line a round into each file.
    pub(super) fn files(paths: &[PathBuf]) -> Result<Feed> {
        let open = |path: &PathBuf| File::options().create(true).append(true).open(path);
        let mut files: Vec<File> = paths.iter().map(open).collect::<std::io::Result<_>>()?;
        Ok(Feed::start(move |round| {
            let Some(round) = round else { return Ok(()) };
            for file in &mut files {
                writeln!(file, "line {round}")?;
            }
            Ok(())
        }))
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            // It has said why.
            let _ended = thread.join();
        }
    }
}
