//! What the server answered to one pipeline.
//!
//! Place in the data path: the reading half of `connection.rs` feeds messages into a `ReplyBuilder`
//! until the server is ready for the next query.
//!
//! Invariant: a transaction is committed only if its reply has no error. An error may come after all
//! statements succeeded (a deferred constraint at the implicit commit), so tags alone prove nothing.

use super::error::{PgError, ServerError};
use super::messages::{Body, server_error};
use super::pipeline::{Format, StepKind, Steps};

/// The first word of a command tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// `INSERT`.
    Insert,
    /// `UPDATE`.
    Update,
    /// `DELETE`.
    Delete,
    /// `MERGE`.
    Merge,
    /// `SELECT`, also of `VALUES`.
    Select,
    /// `COPY`.
    Copy,
    /// `BEGIN`.
    Begin,
    /// `COMMIT`: the transaction is durable.
    Commit,
    /// `ROLLBACK`: also the answer to a `COMMIT` of a failed transaction.
    Rollback,
    /// Any other command, and the empty query.
    Other,
}

/// A statement's command tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// What was done.
    pub command: Command,
    /// Rows inserted, updated, deleted, selected or copied; 0 for commands that do not count.
    pub rows: u64,
}

impl Tag {
    fn parse(text: &str) -> Tag {
        let mut words = text.split(' ');
        let command = match words.next().unwrap_or("") {
            "INSERT" => Command::Insert,
            "UPDATE" => Command::Update,
            "DELETE" => Command::Delete,
            "MERGE" => Command::Merge,
            "SELECT" => Command::Select,
            "COPY" => Command::Copy,
            "BEGIN" => Command::Begin,
            "COMMIT" => Command::Commit,
            "ROLLBACK" => Command::Rollback,
            _ => Command::Other,
        };
        Tag { command, rows: words.next_back().and_then(|w| w.parse().ok()).unwrap_or(0) }
    }
}

/// One column of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldInfo {
    /// Name.
    pub name: String,
    /// Table it comes from, 0 if none.
    pub table_oid: u32,
    /// Attribute number in that table, 0 if none.
    pub column: i16,
    /// Type.
    pub type_oid: u32,
    /// Type modifier, -1 if none.
    pub type_modifier: i32,
    /// Form of the values.
    pub format: Format,
}

/// Rows of a result: one buffer, and where each value lies in it.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    data: Vec<u8>,
    cells: Vec<Option<(usize, usize)>>,
    columns: usize,
    rows: usize,
}

impl Rows {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// True without rows.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// A value's bytes in the form that was asked for; `None` for NULL and outside the result.
    pub fn get(&self, row: usize, column: usize) -> Option<&[u8]> {
        if column >= self.columns {
            return None;
        }
        let cell = self.cells.get(row.checked_mul(self.columns)?.checked_add(column)?)?;
        cell.and_then(|(from, to)| self.data.get(from..to))
    }

    /// A value as text; `None` for NULL, outside the result, and if it is not UTF-8.
    pub fn text(&self, row: usize, column: usize) -> Option<&str> {
        std::str::from_utf8(self.get(row, column)?).ok()
    }

    /// A text value parsed; `None` as for [`Rows::text`] and if it does not parse.
    pub fn parsed<T: std::str::FromStr>(&self, row: usize, column: usize) -> Option<T> {
        self.text(row, column)?.parse().ok()
    }

    fn push(&mut self, body: &[u8]) -> Result<(), PgError> {
        let mut body = Body(body);
        let columns = usize::from(body.u16()?);
        if self.rows > 0 && columns != self.columns {
            return Err(PgError::Protocol("rows of one result differ in length".into()));
        }
        self.columns = columns;
        for _ in 0..columns {
            let cell = match usize::try_from(body.i32()?) {
                Ok(len) => {
                    let from = self.data.len();
                    self.data.extend_from_slice(body.bytes(len)?);
                    Some((from, self.data.len()))
                }
                Err(_) => None,
            };
            self.cells.push(cell);
        }
        self.rows += 1;
        Ok(())
    }

    /// A piece of COPY output, as a row of one column.
    fn push_piece(&mut self, piece: &[u8]) {
        let from = self.data.len();
        self.data.extend_from_slice(piece);
        self.cells.push(Some((from, self.data.len())));
        self.columns = 1;
        self.rows += 1;
    }
}

/// What one statement returned.
#[derive(Clone, Debug, Default)]
pub struct StatementResult {
    /// The command tag; absent after a describe without execute, and when `max_rows` was reached.
    pub tag: Option<Tag>,
    /// Result columns, if they were described (simple queries always are).
    pub fields: Vec<FieldInfo>,
    /// Parameter types, if the statement was described.
    pub param_types: Vec<u32>,
    /// Result rows. COPY output comes as rows of one column.
    pub rows: Rows,
}

impl StatementResult {
    /// Rows that the tag counts.
    pub fn row_count(&self) -> u64 {
        self.tag.map_or(0, |t| t.rows)
    }
}

/// The error that ended a pipeline.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Number (from 0) of the statement that failed, counted by `execute`s; `None` if all statements
    /// succeeded and the implicit commit failed.
    pub statement: Option<usize>,
    /// The server's report.
    pub error: ServerError,
}

/// Where the session stands between pipelines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionStatus {
    /// Outside a transaction block.
    Idle,
    /// Inside one.
    InTransaction,
    /// Inside one that failed.
    Failed,
}

impl TransactionStatus {
    pub(super) fn parse(byte: u8) -> Result<TransactionStatus, PgError> {
        match byte {
            b'I' => Ok(TransactionStatus::Idle),
            b'T' => Ok(TransactionStatus::InTransaction),
            b'E' => Ok(TransactionStatus::Failed),
            _ => Err(PgError::Protocol("the server sent an unknown transaction status".into())),
        }
    }
}

/// The answer to one pipeline.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The statements that completed, in order.
    pub statements: Vec<StatementResult>,
    /// The error, if there was one: then nothing of the pipeline's implicit transaction was stored.
    pub failure: Option<Box<Failure>>,
    /// Where the session stands now.
    pub status: TransactionStatus,
}

impl Reply {
    /// The reply itself, or its error.
    pub fn check(self) -> Result<Reply, PgError> {
        match self.failure {
            Some(failure) => Err(failure.error.into()),
            None => Ok(self),
        }
    }

    /// Rows counted by the tag of statement `n` (from 0); 0 if it did not complete.
    pub fn row_count(&self, n: usize) -> u64 {
        self.statements.get(n).map_or(0, StatementResult::row_count)
    }
}

/// What the connection has to do after a message.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// Go on reading.
    More,
    /// The server waits for COPY data and none was prepared.
    UnwantedCopy,
    /// The reply is complete.
    Ready(TransactionStatus),
}

/// Collects the answers to one pipeline.
#[derive(Debug, Default)]
pub(super) struct ReplyBuilder {
    steps: Steps,
    at: usize,
    statements: Vec<StatementResult>,
    current: StatementResult,
    described: bool,
    pub(super) failure: Option<Box<Failure>>,
}

impl ReplyBuilder {
    pub(super) fn new(steps: Steps) -> ReplyBuilder {
        ReplyBuilder { steps, ..ReplyBuilder::default() }
    }

    pub(super) fn finish(self, status: TransactionStatus) -> Reply {
        Reply { statements: self.statements, failure: self.failure, status }
    }

    /// Takes one message. Notices, notifications and parameter changes are not given here.
    pub(super) fn take(&mut self, tag: u8, body: &[u8]) -> Result<Event, PgError> {
        match tag {
            b'1' => self.done(StepKind::Parse)?,
            b'2' => self.done(StepKind::Bind)?,
            b'3' => self.done(StepKind::Close)?,
            b't' => {
                let mut body = Body(body);
                let count = body.u16()?;
                let types: Result<Vec<u32>, PgError> = (0..count).map(|_| body.u32()).collect();
                self.current.param_types = types?;
            }
            b'T' => {
                self.current.fields = fields(body)?;
                self.described()?;
            }
            b'n' => self.described()?,
            b'D' => self.current.rows.push(body)?,
            b'C' => {
                let text = Body(body).text()?;
                self.completed(Some(Tag::parse(&text)))?;
            }
            b'I' => self.completed(Some(Tag { command: Command::Other, rows: 0 }))?,
            b's' => self.completed(None)?,
            b'G' => return Ok(self.copy_in()),
            b'H' | b'c' => {}
            b'd' => self.current.rows.push_piece(body),
            b'E' => self.failed(server_error(body)?),
            b'Z' => {
                let status = TransactionStatus::parse(Body(body).byte()?)?;
                if self.described {
                    self.statements.push(std::mem::take(&mut self.current));
                }
                return Ok(Event::Ready(status));
            }
            other => {
                return Err(PgError::Protocol(format!(
                    "the server sent an unexpected message of type {:?}",
                    char::from(other)
                )));
            }
        }
        Ok(Event::More)
    }

    fn step(&self) -> Option<StepKind> {
        self.steps.get(self.at).map(|s| s.kind)
    }

    fn done(&mut self, kind: StepKind) -> Result<(), PgError> {
        if self.step() != Some(kind) {
            return Err(PgError::Protocol(format!(
                "the server answered a {kind:?} out of turn; the answers do not match the pipeline"
            )));
        }
        self.at += 1;
        Ok(())
    }

    /// A described result also comes without being asked for in a simple query.
    fn described(&mut self) -> Result<(), PgError> {
        if self.step() == Some(StepKind::Query) {
            return Ok(());
        }
        self.described = true;
        self.done(StepKind::Describe)
    }

    fn completed(&mut self, tag: Option<Tag>) -> Result<(), PgError> {
        if self.step() != Some(StepKind::Query) {
            self.done(StepKind::Execute)?;
        }
        self.described = false;
        self.current.tag = tag;
        self.statements.push(std::mem::take(&mut self.current));
        Ok(())
    }

    fn copy_in(&self) -> Event {
        match self.steps.get(self.at) {
            Some(step) if step.copies => Event::More,
            _ => Event::UnwantedCopy,
        }
    }

    fn failed(&mut self, error: ServerError) {
        // The first error is the cause. A later one can only be the end of the session.
        if self.failure.is_some() && !error.is_fatal() {
            return;
        }
        let statement = match self.steps.get(self.at) {
            Some(step) if step.kind == StepKind::Query => Some(self.statements.len()),
            Some(step) => Some(step.statement),
            None => None,
        };
        self.described = false;
        self.failure = Some(Box::new(Failure { statement, error }));
    }
}

fn fields(body: &[u8]) -> Result<Vec<FieldInfo>, PgError> {
    let mut body = Body(body);
    let count = body.u16()?;
    (0..count)
        .map(|_| {
            let name = body.text()?;
            let table_oid = body.u32()?;
            let column = body.i16()?;
            let type_oid = body.u32()?;
            body.i16()?;
            let type_modifier = body.i32()?;
            let format = if body.i16()? == 1 { Format::Binary } else { Format::Text };
            Ok(FieldInfo { name, table_oid, column, type_oid, type_modifier, format })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::pipeline::Pipeline;
    use super::*;
    use proptest::prelude::*;

    fn builder(build: impl FnOnce(&mut Pipeline)) -> ReplyBuilder {
        let mut p = Pipeline::new();
        build(&mut p);
        ReplyBuilder::new(p.finished().unwrap().1)
    }

    fn two_statements() -> ReplyBuilder {
        builder(|p| {
            p.bind("a", &[], Format::Text).execute(0);
            p.bind("b", &[], Format::Text).execute(0).copy_done().sync();
        })
    }

    const ERROR: &[u8] = b"VERROR\0C22P02\0Mbad\0\0";

    #[test]
    fn tags_are_read() {
        let tag = |t: &str| Tag::parse(t);
        assert_eq!(tag("INSERT 0 5"), Tag { command: Command::Insert, rows: 5 });
        assert_eq!(tag("COPY 10000"), Tag { command: Command::Copy, rows: 10_000 });
        assert_eq!(tag("ROLLBACK"), Tag { command: Command::Rollback, rows: 0 });
        assert_eq!(tag("CREATE TABLE"), Tag { command: Command::Other, rows: 0 });
        assert_eq!(tag(""), Tag { command: Command::Other, rows: 0 });
    }

    #[test]
    fn an_error_belongs_to_the_statement_being_answered() {
        let mut b = two_statements();
        for (tag, body) in [(b'2', &b""[..]), (b'C', b"UPDATE 1\0"), (b'2', b""), (b'G', b"")] {
            assert_eq!(b.take(tag, body).unwrap(), Event::More);
        }
        b.take(b'E', ERROR).unwrap();
        let Event::Ready(status) = b.take(b'Z', b"I").unwrap() else { panic!() };
        let reply = b.finish(status);
        assert_eq!(reply.failure.as_ref().unwrap().statement, Some(1));
        assert_eq!(reply.row_count(0), 1);
        assert_eq!(reply.check().unwrap_err().code(), Some("22P02"));
    }

    #[test]
    fn an_error_after_all_statements_is_the_commit() {
        let mut b = two_statements();
        for (tag, body) in [
            (b'2', &b""[..]),
            (b'C', b"UPDATE 1\0"),
            (b'2', b""),
            (b'G', b""),
            (b'C', b"COPY 3\0"),
            (b'E', ERROR),
        ] {
            b.take(tag, body).unwrap();
        }
        let failure = b.failure.unwrap();
        assert_eq!(failure.statement, None);
    }

    #[test]
    fn answers_out_of_turn_are_refused() {
        let mut b = two_statements();
        assert!(b.take(b'1', b"").is_err());
        assert!(two_statements().take(b'?', b"").is_err());
        let mut b = builder(|p| {
            p.bind("a", &[], Format::Text).execute(0).sync();
        });
        b.take(b'2', b"").unwrap();
        assert_eq!(b.take(b'G', b"").unwrap(), Event::UnwantedCopy);
    }

    proptest! {
        #[test]
        fn no_message_panics(
            messages in prop::collection::vec((any::<u8>(), prop::collection::vec(any::<u8>(), 0..40)), 0..20)
        ) {
            let mut b = two_statements();
            for (tag, body) in &messages {
                let _ = b.take(*tag, body);
            }
            for tag in *b"tTDCGEZ" {
                for (_, body) in &messages {
                    let _ = two_statements().take(tag, body);
                }
            }
        }
    }
}
