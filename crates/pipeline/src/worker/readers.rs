//! A reader that catches up: reads old records for one destination, without the group, until the live
//! reader can take over.

use super::fetch::GroupShared;
use super::router::{Errand, Keep, Router};
use data::{RawBatch, TopicPartition};
use kafka::{ClientSettings, ErrorKind as K, NoRebalance, PollLimits, Polled, SinkConsumer};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const POLL_WAIT: Duration = Duration::from_millis(100);
const ROOM_WAIT: Duration = Duration::from_millis(100);
const LIMITS: PollLimits = PollLimits { rows_max: 10_000, bytes_max: 2 << 20 };
/// Where others wait for a reader they take turns.
const TURN: Duration = Duration::from_secs(30);

/// Starts the reader's thread.
pub(super) fn start(
    settings: &ClientSettings,
    router: Arc<Router>,
    shared: Arc<GroupShared>,
    errand: Errand,
) -> std::io::Result<JoinHandle<()>> {
    let settings = settings.clone();
    let span = tracing::info_span!("catch_up", consumer = errand.consumer);
    let body = move || {
        let _entered = span.entered();
        let reader = Reader { router: &router, shared: &shared, errand: &errand };
        if let Err(error) = reader.run(&settings) {
            tracing::warn!("catching up is interrupted: {error}");
        }
        router.end_errand(&errand);
    };
    std::thread::Builder::new().name("catch-up".to_owned()).spawn(body)
}

struct Reader<'a> {
    router: &'a Router,
    shared: &'a GroupShared,
    errand: &'a Errand,
}

impl Reader<'_> {
    fn run(&self, settings: &ClientSettings) -> kafka::Result<()> {
        let mut consumer = SinkConsumer::new(settings, Box::new(NoRebalance))?;
        consumer.assign_manually(&self.errand.partitions)?;
        for (tp, from) in &self.errand.partitions {
            tracing::info!(partition = %tp, from, "catching up");
        }
        let mut left: Vec<TopicPartition> =
            self.errand.partitions.iter().map(|(tp, _)| tp.clone()).collect();
        let began = Instant::now();
        while !left.is_empty() && !self.shared.is_stopping() && self.errand.lane.is_delivering() {
            if began.elapsed() > TURN && self.router.waits_for_reader() {
                break;
            }
            if !self.router.has_budget() || !self.errand.lane.has_room() {
                self.errand.lane.wait_for_room(ROOM_WAIT);
                consumer.poll(Duration::ZERO, PollLimits { rows_max: 0, bytes_max: 0 })?;
                left.retain(|tp| self.router.wanted(self.errand, tp));
                continue;
            }
            let polled = consumer.poll(POLL_WAIT, LIMITS)?;
            self.take(polled, &mut left)?;
            left.retain(|tp| self.router.wanted(self.errand, tp));
        }
        consumer.close();
        Ok(())
    }

    fn take(&self, polled: Polled, left: &mut Vec<TopicPartition>) -> kafka::Result<()> {
        let ends = polled.ends.into_iter().map(|(tp, end)| RawBatch::empty(tp, end));
        for batch in polled.batches.into_iter().chain(ends) {
            if left.contains(batch.tp()) && self.router.push_read(self.errand, &batch) == Keep::Done
            {
                tracing::info!(partition = %batch.tp(), at = batch.next_offset(), "caught up");
                left.retain(|tp| tp != batch.tp());
            }
        }
        for trouble in polled.errors {
            match (trouble.error.kind(), trouble.at) {
                (K::OffsetOutOfRange, Some(tp)) => {
                    self.router.reopen_read(self.errand, &tp);
                    left.retain(|other| *other != tp);
                }
                (K::Fatal, _) => return Err(trouble.error),
                // The client goes on trying; the group's own says what is wrong.
                _ => tracing::debug!("{}", trouble.error),
            }
        }
        Ok(())
    }
}
