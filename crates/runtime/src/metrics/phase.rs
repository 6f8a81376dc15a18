//! The stages that a task's time goes into.

use super::task::TaskMetrics;
use std::time::Instant;

/// What a task does with a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Reading, from Kafka or from the source, without waiting for something to read.
    Fetch,
    /// Bytes to rows.
    Decode,
    Transform,
    /// Rows to bytes.
    Encode,
    /// A connector's put, or handing records to the producer.
    Write,
    /// Waiting until what was written is safe; storing offsets.
    Commit,
}

impl Phase {
    pub(crate) const ALL: [Phase; 6] =
        [Phase::Fetch, Phase::Decode, Phase::Transform, Phase::Encode, Phase::Write, Phase::Commit];

    /// As the label `stage` has it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Phase::Fetch => "fetch",
            Phase::Decode => "decode",
            Phase::Transform => "transform",
            Phase::Encode => "encode",
            Phase::Write => "write",
            Phase::Commit => "commit",
        }
    }
}

/// Measures stages that follow each other: each ends where the next begins.
pub(crate) struct Watch<'a> {
    metrics: &'a TaskMetrics,
    at: Instant,
}

impl<'a> Watch<'a> {
    pub(crate) fn start(metrics: &'a TaskMetrics) -> Watch<'a> {
        Watch { metrics, at: Instant::now() }
    }

    /// What was done since the last call was this stage; gives how long it took, in microseconds.
    pub(crate) fn end(&mut self, stage: Phase) -> u64 {
        let now = Instant::now();
        let took = now - std::mem::replace(&mut self.at, now);
        self.metrics.spent(stage, took);
        took.as_micros() as u64
    }
}
