//! The task: bytes of the input to batches of lines, with the position after each.
//!
//! Invariant: a position is that of the first byte after a whole line, so that a restart begins at the
//! start of one.

use super::input::{Found, Input};
use super::lines::Lines;
use crate::clock::now_ms;
use api::{
    Error, PollLimits, Polled, Result, SourceBatch, SourceMap, SourceOffsets, SourceTask,
    StoredOffsets,
};
use data::{ArenaPool, Batch, Cell, RawBatch, Roots, Schema, Span, Type};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// How often a file that is not there is looked for.
const MISSING_WAIT: Duration = Duration::from_secs(1);
/// How often the end of a file is looked at.
const GROWTH_WAIT: Duration = Duration::from_millis(100);
const READ_BYTES_MIN: usize = 64 << 10;
const READ_BYTES_MAX: usize = 1 << 20;
/// A line that is longer is no line: the file is another kind of file.
const LINE_BYTES_MAX: usize = 256 << 20;
/// Memory of batches that is used again.
const POOL_BYTES_MAX: usize = 8 << 20;

pub(super) struct FileTask {
    /// `None`: the standard input.
    file: Option<String>,
    topic: Arc<str>,
    batch_rows_max: usize,
    partition: Arc<SourceMap>,
    position_name: Arc<str>,
    schema: Arc<Schema>,
    pool: ArenaPool,
    input: Option<Input>,
    /// Read and not given yet; begins at the start of a line.
    buffer: Vec<u8>,
    /// Where the buffer begins in the file.
    position: i64,
    /// Of a line with its end, lately.
    line_bytes: usize,
}

impl FileTask {
    pub(super) fn new(file: Option<String>, topic: &str, batch_rows_max: usize) -> FileTask {
        let name = file.clone().map_or(Value::Null, Value::String);
        FileTask {
            topic: topic.into(),
            batch_rows_max,
            partition: Arc::new(SourceMap::from_iter([("filename".to_owned(), name)])),
            position_name: "position".into(),
            schema: Arc::new(Schema::new(Type::String)),
            pool: ArenaPool::new(POOL_BYTES_MAX),
            input: None,
            buffer: Vec::new(),
            position: 0,
            line_bytes: 128,
            file,
        }
    }

    #[cfg(test)]
    pub(super) fn input(&mut self) -> Option<&mut Input> {
        self.input.as_mut()
    }

    /// Bytes that are held for lines to come.
    #[cfg(test)]
    pub(super) fn buffered(&self) -> usize {
        self.buffer.capacity()
    }

    /// Fills the buffer to what a batch needs, as far as there is something.
    fn fill(&mut self) -> Result<Found> {
        let Some(input) = &mut self.input else { return Ok(Found::Nothing) };
        let wanted = self.batch_rows_max.saturating_mul(self.line_bytes);
        let wanted = wanted.clamp(READ_BYTES_MIN, READ_BYTES_MAX);
        // A long line needs more, and ever more at once.
        let missing = wanted.saturating_sub(self.buffer.len()).max(self.buffer.len());
        input.read(missing.max(READ_BYTES_MIN), &mut self.buffer)
    }

    /// The complete lines of the buffer as a batch; `None` if there is none.
    fn batch(&mut self, limits: &PollLimits) -> Option<SourceBatch> {
        let rows_max = self.batch_rows_max.min(limits.rows_max);
        let mut spans = Vec::new();
        let mut after = Vec::new();
        let mut used = 0;
        for line in Lines::new(&self.buffer).take(rows_max) {
            if used > 0 && line.end > limits.bytes_max {
                break;
            }
            let len = (line.end - line.start) as u32;
            spans.push(Span { start: line.start as u32, len });
            after.push(self.position + line.next as i64);
            used = line.next;
        }
        if spans.is_empty() {
            return None;
        }
        let mut arena = self.pool.take();
        let taken = self.buffer.get(..used).unwrap_or_default();
        arena.extend_from_slice(taken);
        let valid = std::str::from_utf8(taken).is_ok();
        self.buffer.drain(..used);
        // What a long line needed is given back.
        self.buffer.shrink_to(2 * READ_BYTES_MAX);
        self.position += used as i64;
        self.line_bytes = (used / spans.len()).max(1);
        let raw = RawBatch::made(self.topic.clone(), arena, spans.len(), now_ms());
        let mut records = Batch::made(raw);
        self.rows(&mut records, &spans, valid);
        let offsets = match self.file {
            Some(_) => SourceOffsets::Number { name: self.position_name.clone(), after },
            None => SourceOffsets::None,
        };
        Some(SourceBatch { records, partition: self.partition.clone(), offsets })
    }

    fn rows(&self, records: &mut Batch, spans: &[Span], valid: bool) {
        let mut values = Roots::default();
        let mut keys = Roots::default();
        values.reserve(spans.len());
        keys.reserve(spans.len());
        for span in spans {
            let text = if valid { *span } else { replaced(records, *span) };
            values.push(Some(&self.schema), Cell::Text(text));
            keys.push(None, Cell::Null);
        }
        records.values.set_roots(values);
        records.keys.set_roots(keys);
    }
}

/// Text in which what is not UTF-8 is replaced, as Java's reader does.
fn replaced(records: &mut Batch, span: Span) -> Span {
    let text = String::from_utf8_lossy(records.values.bytes(span)).into_owned();
    records.values.heap.put(text.as_bytes())
}

impl SourceTask for FileTask {
    fn start(&mut self, stored: &dyn StoredOffsets) -> Result<()> {
        let Some(file) = self.file.clone() else {
            // What was read and not sent cannot be read again.
            if self.input.is_none() {
                self.input = Some(Input::stdin()?);
            }
            return Ok(());
        };
        let offset = stored.offset(&self.partition)?;
        self.position = position(offset.as_ref())?;
        self.buffer.clear();
        self.input = Some(Input::file(&file, self.position as u64));
        Ok(())
    }

    fn poll(&mut self, limits: &PollLimits) -> Result<Polled> {
        if let Some(batch) = self.batch(limits) {
            return Ok(Polled { batches: vec![batch], ..Polled::default() });
        }
        match self.fill()? {
            Found::Bytes => {
                let batches: Vec<SourceBatch> = self.batch(limits).into_iter().collect();
                if batches.is_empty() && self.buffer.len() > LINE_BYTES_MAX {
                    return Err(Error::data(format!(
                        "the line at position {} is longer than {} MB",
                        self.position,
                        LINE_BYTES_MAX >> 20
                    ))
                    .hint("files of text lines are read here; is this one?"));
                }
                Ok(Polled { batches, idle: Some(Duration::ZERO), ..Polled::default() })
            }
            Found::Anew => {
                self.buffer.clear();
                self.position = 0;
                Ok(Polled { idle: Some(Duration::ZERO), ..Polled::default() })
            }
            Found::Replaced => {
                if !self.buffer.is_empty() {
                    self.buffer.push(b'\n');
                }
                let batches = self.batch(limits).into_iter().collect();
                self.position = 0;
                Ok(Polled { batches, idle: Some(Duration::ZERO), ..Polled::default() })
            }
            Found::Nothing => {
                let missing = self.notice().is_some();
                let idle = if missing { MISSING_WAIT } else { GROWTH_WAIT };
                Ok(Polled { idle: Some(idle), ..Polled::default() })
            }
        }
    }

    fn notice(&self) -> Option<String> {
        match &self.input {
            Some(Input::File(file)) => file.waiting.clone(),
            _ => None,
        }
    }
}

fn position(offset: Option<&SourceMap>) -> Result<i64> {
    let Some(offset) = offset else { return Ok(0) };
    match offset.get("position") {
        None | Some(Value::Null) => Ok(0),
        Some(value) => value.as_i64().filter(|position| *position >= 0).ok_or_else(|| {
            Error::config(format!("Offset position is the incorrect type: {value}"))
                .hint("the stored position must be a number of bytes, 0 or more")
        }),
    }
}
