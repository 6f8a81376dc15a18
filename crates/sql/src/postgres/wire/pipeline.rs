//! Builds the messages of one transaction in one buffer.
//!
//! Place in the data path: encoders append values and COPY rows straight into this buffer, and
//! `Connection::start` writes it out whole; a row is not copied again. The buffer is kept between
//! batches.
//!
//! Invariants: a pipeline ends with exactly one `Sync` or is one simple query, so that exactly one
//! `ReadyForQuery` answers it. A mistake in building it (a NUL in a name, a message over 1 GiB) is
//! remembered and refused when the pipeline is started, before a byte is sent.

use super::error::PgError;
use super::messages::MAX_MESSAGE_BYTES;
use smallvec::SmallVec;

/// Size at which a CopyData message is closed.
const COPY_CHUNK_BYTES: usize = 64 * 1024;

/// The form of a parameter or result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The type's text form.
    Text,
    /// The type's binary form.
    Binary,
}

impl Format {
    pub(super) fn code(self) -> i16 {
        match self {
            Format::Text => 0,
            Format::Binary => 1,
        }
    }
}

/// One parameter of a statement.
#[derive(Clone, Copy, Debug)]
pub enum Param<'a> {
    /// NULL.
    Null,
    /// The type's text form.
    Text(&'a [u8]),
    /// The type's binary form.
    Binary(&'a [u8]),
}

/// What answer is due next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StepKind {
    Parse,
    Bind,
    Describe,
    Execute,
    Close,
    Query,
}

/// One message that will be answered, and the statement it belongs to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) kind: StepKind,
    pub(super) statement: usize,
    /// COPY data follows, so a CopyInResponse is expected.
    pub(super) copies: bool,
}

pub(super) type Steps = SmallVec<[Step; 8]>;

/// The messages of one transaction.
#[derive(Debug, Default)]
pub struct Pipeline {
    buf: Vec<u8>,
    steps: Steps,
    statements: usize,
    /// Where the open CopyData message begins.
    chunk: Option<usize>,
    ended: bool,
    fault: Option<String>,
}

impl Pipeline {
    /// An empty pipeline.
    pub fn new() -> Pipeline {
        Pipeline::default()
    }

    /// Forgets everything but the buffer's memory.
    pub fn clear(&mut self) {
        self.buf.clear();
        self.steps.clear();
        self.statements = 0;
        self.chunk = None;
        self.ended = false;
        self.fault = None;
    }

    /// Bytes to be sent so far.
    pub fn len(&self) -> usize {
        self.buf.len()
    }

    /// Bytes the buffer has room for.
    pub fn capacity(&self) -> usize {
        self.buf.capacity()
    }

    /// True if nothing has been added.
    pub fn is_empty(&self) -> bool {
        self.buf.is_empty()
    }

    fn fault(&mut self, text: impl Into<String>) {
        self.fault.get_or_insert_with(|| text.into());
    }

    /// Writes one message: type, length, and what `body` appends.
    fn message(&mut self, tag: u8, body: impl FnOnce(&mut Vec<u8>) -> Result<(), String>) {
        self.end_chunk();
        if self.ended && !matches!(tag, b'd' | b'c' | b'f') {
            self.fault("a message follows the end of the pipeline");
        }
        self.buf.push(tag);
        let start = self.buf.len();
        self.buf.extend([0; 4]);
        if let Err(text) = body(&mut self.buf) {
            self.fault(text);
        }
        self.patch_length(start);
    }

    /// Puts the length of the message whose length field begins at `start` into that field.
    fn patch_length(&mut self, start: usize) {
        let len = self.buf.len() - start;
        match (u32::try_from(len), self.buf.get_mut(start..).and_then(|b| b.first_chunk_mut::<4>()))
        {
            (Ok(value), Some(field)) if len < MAX_MESSAGE_BYTES => *field = value.to_be_bytes(),
            _ => self.fault(format!(
                "a message of {len} bytes is too large for PostgreSQL; its limit is 1 GiB"
            )),
        }
    }

    fn step(&mut self, kind: StepKind) {
        let statement = self.statements;
        self.steps.push(Step { kind, statement, copies: false });
    }

    /// Prepares `sql` as the statement `name` (empty: unnamed). A type of 0 is left to the server.
    pub fn parse(&mut self, name: &str, sql: &str, types: &[u32]) -> &mut Pipeline {
        self.step(StepKind::Parse);
        self.message(b'P', |buf| {
            cstr(buf, name)?;
            cstr(buf, sql)?;
            count(buf, types.len())?;
            types.iter().for_each(|t| buf.extend(t.to_be_bytes()));
            Ok(())
        });
        self
    }

    /// Binds `params` to the statement `name`, in the unnamed portal; all result columns have the form
    /// `results`.
    pub fn bind(&mut self, name: &str, params: &[Param<'_>], results: Format) -> &mut Pipeline {
        let formats: SmallVec<[Format; 16]> = params
            .iter()
            .map(|p| if matches!(p, Param::Binary(_)) { Format::Binary } else { Format::Text })
            .collect();
        self.bind_with(name, &formats, results, |writer| {
            for param in params {
                match param {
                    Param::Null => writer.null(),
                    Param::Text(bytes) | Param::Binary(bytes) => {
                        writer.value(|buf| buf.extend_from_slice(bytes));
                    }
                }
            }
        })
    }

    /// Like [`Pipeline::bind`] with values that `fill` writes in place: one per entry of `formats`.
    pub fn bind_with(
        &mut self,
        name: &str,
        formats: &[Format],
        results: Format,
        fill: impl FnOnce(&mut ParamWriter<'_>),
    ) -> &mut Pipeline {
        self.step(StepKind::Bind);
        self.message(b'B', |buf| {
            cstr(buf, "")?;
            cstr(buf, name)?;
            count(buf, formats.len())?;
            formats.iter().for_each(|f| buf.extend(f.code().to_be_bytes()));
            count(buf, formats.len())?;
            let mut writer = ParamWriter { buf, written: 0, fault: None };
            fill(&mut writer);
            let (written, fault) = (writer.written, writer.fault);
            if let Some(fault) = fault {
                return Err(fault);
            }
            if written != formats.len() {
                return Err(format!("{written} parameters were written for {}", formats.len()));
            }
            count(buf, 1)?;
            buf.extend(results.code().to_be_bytes());
            Ok(())
        });
        self
    }

    /// Asks for the parameter types and result columns of the statement `name`. Without an `execute`
    /// behind it the answer is a statement result of its own, without a tag.
    pub fn describe_statement(&mut self, name: &str) -> &mut Pipeline {
        self.describe(b'S', name)
    }

    /// Asks for the result columns of the portal bound last.
    pub fn describe_portal(&mut self) -> &mut Pipeline {
        self.describe(b'P', "")
    }

    fn describe(&mut self, what: u8, name: &str) -> &mut Pipeline {
        self.step(StepKind::Describe);
        self.message(b'D', |buf| {
            buf.push(what);
            cstr(buf, name)
        });
        self
    }

    /// Runs the portal bound last. `max_rows` of 0 means all.
    pub fn execute(&mut self, max_rows: u32) -> &mut Pipeline {
        self.step(StepKind::Execute);
        self.statements += 1;
        self.message(b'E', |buf| {
            cstr(buf, "")?;
            buf.extend(max_rows.to_be_bytes());
            Ok(())
        });
        self
    }

    /// Forgets the prepared statement `name`; no error if there is none.
    pub fn close_statement(&mut self, name: &str) -> &mut Pipeline {
        self.step(StepKind::Close);
        self.message(b'C', |buf| {
            buf.push(b'S');
            cstr(buf, name)
        });
        self
    }

    /// Appends COPY data for the statement executed last, in place. What `write` appends may be any
    /// part of the data; messages of about 64 KiB are made of it. If `write` fails, what it appended
    /// is taken back and its error is returned.
    pub fn copy_row<E>(
        &mut self,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.chunk.is_none() {
            self.open_chunk();
        }
        let before = self.buf.len();
        let result = write(&mut self.buf);
        if result.is_err() {
            self.buf.truncate(before);
        }
        if self.chunk.is_some_and(|start| self.buf.len() - start >= COPY_CHUNK_BYTES) {
            self.end_chunk();
        }
        result
    }

    /// Appends COPY data for the statement executed last.
    pub fn copy_data(&mut self, data: &[u8]) -> &mut Pipeline {
        for part in data.chunks(COPY_CHUNK_BYTES) {
            let appended: Result<(), std::convert::Infallible> = self.copy_row(|buf| {
                buf.extend_from_slice(part);
                Ok(())
            });
            let Ok(()) = appended;
        }
        self
    }

    fn open_chunk(&mut self) {
        match self.steps.last_mut() {
            Some(step) if matches!(step.kind, StepKind::Execute | StepKind::Query) => {
                step.copies = true;
            }
            _ => self.fault("copy data does not follow a statement"),
        }
        self.buf.push(b'd');
        self.chunk = Some(self.buf.len());
        self.buf.extend([0; 4]);
    }

    fn end_chunk(&mut self) {
        if let Some(start) = self.chunk.take() {
            self.patch_length(start);
        }
    }

    /// Ends the COPY data.
    pub fn copy_done(&mut self) -> &mut Pipeline {
        self.copy_end();
        self.message(b'c', |_| Ok(()));
        self
    }

    /// Ends the COPY data with an error of our own; the server rolls back and reports 57014.
    pub fn copy_fail(&mut self, reason: &str) -> &mut Pipeline {
        self.copy_end();
        self.message(b'f', |buf| cstr(buf, reason));
        self
    }

    /// A COPY without any data still ends with an expected CopyInResponse.
    fn copy_end(&mut self) {
        if let Some(step) = self.steps.last_mut() {
            step.copies = true;
        }
    }

    /// Ends the pipeline: the server commits, or rolls everything back if anything failed.
    pub fn sync(&mut self) -> &mut Pipeline {
        self.message(b'S', |_| Ok(()));
        self.ended = true;
        self
    }

    /// A simple query (one or more statements, one implicit transaction) as the whole pipeline. COPY
    /// data may follow if a statement in it is a COPY.
    pub fn query(&mut self, sql: &str) -> &mut Pipeline {
        if !self.steps.is_empty() {
            self.fault("a simple query must be a pipeline of its own");
        }
        self.step(StepKind::Query);
        self.message(b'Q', |buf| cstr(buf, sql));
        self.ended = true;
        self
    }

    /// The bytes and the answers due, if the pipeline is complete and sound.
    pub(super) fn finished(&mut self) -> Result<(&[u8], Steps), PgError> {
        self.end_chunk();
        if let Some(fault) = &self.fault {
            return Err(PgError::Protocol(fault.clone()));
        }
        if !self.ended {
            return Err(PgError::Protocol("the pipeline does not end with a sync".into()));
        }
        Ok((&self.buf, self.steps.clone()))
    }
}

/// Writes the parameters of one Bind message in place.
pub struct ParamWriter<'a> {
    buf: &'a mut Vec<u8>,
    written: usize,
    fault: Option<String>,
}

impl ParamWriter<'_> {
    /// The next parameter is NULL.
    pub fn null(&mut self) {
        self.written += 1;
        self.buf.extend((-1i32).to_be_bytes());
    }

    /// The next parameter is what `write` appends.
    pub fn value(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        self.written += 1;
        let start = self.buf.len();
        self.buf.extend([0; 4]);
        write(self.buf);
        let len = self.buf.len().saturating_sub(start + 4);
        match (i32::try_from(len), self.buf.get_mut(start..).and_then(|b| b.first_chunk_mut::<4>()))
        {
            (Ok(value), Some(field)) => *field = value.to_be_bytes(),
            _ => self.fault = Some(format!("a parameter of {len} bytes is too large")),
        }
    }
}

fn cstr(buf: &mut Vec<u8>, text: &str) -> Result<(), String> {
    if text.as_bytes().contains(&0) {
        return Err("a statement or name contains a NUL character".into());
    }
    buf.extend_from_slice(text.as_bytes());
    buf.push(0);
    Ok(())
}

fn count(buf: &mut Vec<u8>, n: usize) -> Result<(), String> {
    let n = u16::try_from(n).map_err(|_| format!("{n} parameters are more than 65535"))?;
    buf.extend(n.to_be_bytes());
    Ok(())
}

#[cfg(test)]
#[path = "pipeline_tests.rs"]
mod tests;
