//! The task: batches to lines, and what has become of them.
//!
//! Invariants: a line is whole or not there, as far as the operating system lets us; a position is told
//! once every record before it is written, was filtered, or has its dead letter in Kafka.

use super::letters::Letters;
use super::output::Output;
use api::{
    DeadLetter, Error, Result, Seat, SinkContext, SinkTask, StartResolver, Tolerance,
};
use data::java_text::write_cell;
use data::{Batch, Cell, Reject, Stage, TopicPartition};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The class that Connect names for what a sink refuses.
const CLASS: &str = "org.apache.kafka.connect.sink.SinkTask";
/// How often a file is synced that is written without a pause.
const SYNC_EVERY: Duration = Duration::from_secs(1);

pub(super) struct Settings {
    pub(super) tolerance: Tolerance,
    pub(super) sync: bool,
    /// A dead-letter topic takes what cannot be written.
    pub(super) letters: bool,
}

/// Where a partition stands.
struct Position {
    /// Everything before it is in the output, or has its letter.
    accepted: i64,
    /// What the runtime was told last.
    told: i64,
}

pub(super) struct FileTask {
    output: Output,
    settings: Settings,
    letters: Letters,
    positions: BTreeMap<TopicPartition, Position>,
    synced_at: Instant,
    unsynced: bool,
}

impl FileTask {
    pub(super) fn new(output: Output, settings: Settings) -> FileTask {
        FileTask {
            output,
            settings,
            letters: Letters::default(),
            positions: BTreeMap::new(),
            synced_at: Instant::now(),
            unsynced: false,
        }
    }

    /// Takes a batch: its lines to the output, its rejects to the letters. `Err`: the task ends with
    /// it; what comes before the record is taken.
    fn take(&mut self, mut batch: Batch, context: &mut dyn SinkContext) -> Result<()> {
        let end = batch.next_offset();
        let mut rows = batch.len();
        let mut end_at = end;
        let mut poison = None;
        let stored = loop {
            let mark = self.output.buffer().len();
            let (stored, refused) = write_lines(&batch, rows, self.output.buffer());
            // Rows that have no text are known only now, and their number is to be tolerated.
            for reject in refused {
                batch.reject(reject);
            }
            let Some(first) = batch.rejects.iter().find(|reject| (reject.row as usize) < rows)
            else {
                break stored;
            };
            if self.settings.tolerance == Tolerance::All {
                let failed = batch.rejects.len() as u64;
                if let Err(error) = context.tolerate(batch.len() as u64, failed, &first.message) {
                    self.output.buffer().truncate(mark);
                    return Err(error);
                }
                break stored;
            }
            self.output.buffer().truncate(mark);
            rows = first.row as usize;
            end_at = offset(&batch, rows);
            poison = Some(poisoned(&batch, first));
        };
        let rejects = if poison.is_some() { &[][..] } else { batch.rejects.as_slice() };
        if !rejects.is_empty() {
            if self.settings.letters {
                rejects.iter().for_each(|reject| self.letters.push(&batch, reject));
            }
            context.reported(&batch, rejects);
        }
        context.settled(rows as u64, rejects.len() as u64);
        context.stored(stored);
        if let Some(position) = self.positions.get_mut(batch.tp()) {
            position.accepted = position.accepted.max(end_at);
        }
        poison.map_or(Ok(()), Err)
    }

    /// Writes what is gathered and tells how far things are.
    fn settle(&mut self, context: &mut dyn SinkContext, now: bool) -> Result<()> {
        self.unsynced |= !self.output.is_empty();
        self.output.write()?;
        if self.settings.sync && self.unsynced {
            if !now && self.synced_at.elapsed() < SYNC_EVERY {
                return Ok(());
            }
            self.output.sync()?;
            self.synced_at = Instant::now();
        }
        self.unsynced = false;
        for (tp, position) in &mut self.positions {
            let hold = self.letters.hold(tp).unwrap_or(i64::MAX);
            let reached = position.accepted.min(hold);
            if reached > position.told {
                position.told = reached;
                context.durable(tp, reached);
            }
        }
        Ok(())
    }
}

/// Appends the lines of the first `rows` rows, as far as they are alive; gives their number, and those
/// that have no text.
fn write_lines(batch: &Batch, rows: usize, out: &mut Vec<u8>) -> (u64, Vec<Reject>) {
    let mut stored = 0;
    let mut refused = Vec::new();
    let values = &batch.values;
    let all = batch.alive.count() == batch.len();
    for run in values.runs() {
        let schema = run.schema.as_deref();
        for row in run.range().take_while(|row| *row < rows) {
            if !all && !batch.alive.is_alive(row) {
                continue;
            }
            let start = out.len();
            match values.root(row) {
                Cell::Text(span) => out.extend_from_slice(values.bytes(span)),
                cell => {
                    if let Err(no_text) = write_cell(values, schema, cell, out) {
                        out.truncate(start);
                        let text = format!(
                            "{no_text}: a line of a file is text; use the StringConverter, or a \
                             transform, to make it"
                        );
                        refused.push(Reject::data(row, Stage::TaskPut, CLASS, text));
                        continue;
                    }
                }
            }
            out.push(b'\n');
            stored += 1;
        }
    }
    (stored, refused)
}

fn offset(batch: &Batch, row: usize) -> i64 {
    batch.raw.records().get(row).map_or(batch.next_offset(), |record| record.offset)
}

/// The error of a task that tolerates none.
fn poisoned(batch: &Batch, reject: &Reject) -> Error {
    Error::data(reject.message.clone())
        .hint("correct the record's source, or set errors.tolerance=all to report such records and go on")
        .record(batch.tp().clone(), offset(batch, reject.row as usize))
}

impl SinkTask for FileTask {
    fn open(
        &mut self,
        seats: &[Seat],
        resolver: &mut dyn StartResolver,
        _context: &mut dyn SinkContext,
    ) -> Result<Vec<i64>> {
        self.output.open()?;
        let partitions: Vec<TopicPartition> = seats.iter().map(|seat| seat.tp.clone()).collect();
        let starts = resolver.resolve(&partitions)?;
        if starts.len() != partitions.len() {
            return Err(Error::bug("not every partition that was asked for has a start"));
        }
        let starts: Vec<i64> = starts.iter().map(|start| start.offset).collect();
        for (tp, start) in partitions.into_iter().zip(&starts) {
            self.letters.drop_partition(&tp);
            self.positions.insert(tp, Position { accepted: *start, told: *start });
        }
        Ok(starts)
    }

    fn put(&mut self, batches: Vec<Batch>, context: &mut dyn SinkContext) -> Result<()> {
        let mut failed = None;
        for batch in batches {
            if !self.positions.contains_key(batch.tp()) {
                continue;
            }
            if let Err(error) = self.take(batch, context) {
                self.settle(context, true)?;
                return Err(error);
            }
            // Batches are not given again, so all are taken even if the disk is full.
            if self.output.is_full() && failed.is_none() {
                self.unsynced = true;
                failed = self.output.write().err();
            }
        }
        failed.map_or_else(|| self.settle(context, false), Err)
    }

    fn flush(&mut self, context: &mut dyn SinkContext) -> Result<()> {
        self.settle(context, true)
    }

    fn close(&mut self, partitions: &[TopicPartition], lost: bool, context: &mut dyn SinkContext) {
        if !lost && let Err(error) = self.settle(context, true) {
            tracing::warn!("closed before everything was written: {}", error.report());
        }
        for tp in partitions {
            self.positions.remove(tp);
            self.letters.drop_partition(tp);
        }
    }

    fn keeps_positions(&self) -> bool {
        false
    }

    fn keeps_letters(&self) -> bool {
        false
    }

    fn outbox(&mut self, letters_max: usize) -> Result<Vec<DeadLetter>> {
        Ok(self.letters.first(letters_max))
    }

    fn forwarded(&mut self, ids: &[i64]) -> Result<()> {
        self.letters.forwarded(ids);
        Ok(())
    }
}
