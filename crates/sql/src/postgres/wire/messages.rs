//! Reads the server's messages out of the bytes received.
//!
//! Place in the data path: between the socket and `reply.rs`. Messages are handed out as ranges of one
//! buffer, so nothing is copied or allocated for a message that is only counted.
//!
//! Invariant: lengths and texts come from outside; every access is checked.

use super::error::{PgError, ServerError};
use std::ops::Range;

/// PostgreSQL's own limit for one message.
pub(super) const MAX_MESSAGE_BYTES: usize = 1 << 30;
/// Limit before the login is complete: an answer that is not PostgreSQL's would otherwise be read as
/// the length of a huge message.
pub(super) const MAX_LOGIN_MESSAGE_BYTES: usize = 64 * 1024;
const READ_BYTES: usize = 16 * 1024;
const KEEP_BYTES: usize = 256 * 1024;

/// Received bytes that have not been looked at yet.
#[derive(Debug, Default)]
pub(super) struct Incoming {
    buf: Vec<u8>,
    start: usize,
    end: usize,
}

/// One complete message: its type and where its body lies in the buffer.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) tag: u8,
    pub(super) body: Range<usize>,
}

impl Incoming {
    /// Free space to read into; at least 16 KiB.
    pub(super) fn space(&mut self) -> &mut [u8] {
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
            if self.buf.len() > KEEP_BYTES {
                self.buf.truncate(READ_BYTES);
                self.buf.shrink_to_fit();
            }
        } else if self.start > 0 && self.buf.len() - self.end < READ_BYTES {
            self.buf.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.buf.len() - self.end < READ_BYTES {
            let grown = (self.end + READ_BYTES).max(self.buf.len() * 2);
            self.buf.resize(grown, 0);
        }
        self.buf.get_mut(self.end..).unwrap_or_default()
    }

    /// Takes note of `n` bytes that were read into [`Incoming::space`].
    pub(super) fn filled(&mut self, n: usize) {
        self.end = (self.end + n).min(self.buf.len());
    }

    /// The next complete message, if it has arrived.
    pub(super) fn next(&mut self, max_bytes: usize) -> Result<Option<Frame>, PgError> {
        let Some(header) = self.buf.get(self.start..self.end).and_then(|b| b.first_chunk::<5>())
        else {
            return Ok(None);
        };
        let [tag, len @ ..] = *header;
        let len = usize::try_from(u32::from_be_bytes(len)).unwrap_or(usize::MAX);
        if !(4..=max_bytes).contains(&len) {
            return Err(PgError::Protocol(format!(
                "the server sent a message of type {:?} with the impossible length {len}; is this \
                 a PostgreSQL server?",
                char::from(tag)
            )));
        }
        let body = self.start + 5..self.start + 1 + len;
        if body.end > self.end {
            return Ok(None);
        }
        self.start = body.end;
        Ok(Some(Frame { tag, body }))
    }

    /// A message's body. Valid until [`Incoming::space`] is called.
    pub(super) fn body(&self, range: Range<usize>) -> &[u8] {
        self.buf.get(range).unwrap_or_default()
    }
}

/// Reads the parts of one message's body in order.
#[derive(Clone, Copy)]
pub(super) struct Body<'a>(pub(super) &'a [u8]);

impl<'a> Body<'a> {
    pub(super) fn bytes(&mut self, n: usize) -> Result<&'a [u8], PgError> {
        let (head, tail) = self.0.split_at_checked(n).ok_or_else(short)?;
        self.0 = tail;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], PgError> {
        let (head, tail) = self.0.split_first_chunk::<N>().ok_or_else(short)?;
        self.0 = tail;
        Ok(*head)
    }

    pub(super) fn byte(&mut self) -> Result<u8, PgError> {
        self.array::<1>().map(|[b]| b)
    }

    pub(super) fn i16(&mut self) -> Result<i16, PgError> {
        self.array().map(i16::from_be_bytes)
    }

    pub(super) fn u16(&mut self) -> Result<u16, PgError> {
        self.array().map(u16::from_be_bytes)
    }

    pub(super) fn i32(&mut self) -> Result<i32, PgError> {
        self.array().map(i32::from_be_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32, PgError> {
        self.array().map(u32::from_be_bytes)
    }

    /// A text that ends with a zero byte. Servers may use another encoding before the login is done,
    /// so invalid UTF-8 is replaced, not refused.
    pub(super) fn text(&mut self) -> Result<String, PgError> {
        let end = self.0.iter().position(|b| *b == 0).ok_or_else(short)?;
        let text = self.bytes(end)?;
        self.bytes(1)?;
        Ok(String::from_utf8_lossy(text).into_owned())
    }
}

fn short() -> PgError {
    PgError::Protocol("the server sent a message that is shorter than its parts".into())
}

/// The fields of an `ErrorResponse` or `NoticeResponse`.
pub(super) fn server_error(body: &[u8]) -> Result<ServerError, PgError> {
    let mut body = Body(body);
    let mut error = ServerError::default();
    let mut localized = String::new();
    loop {
        let field = body.byte()?;
        if field == 0 {
            break;
        }
        let text = body.text()?;
        match field {
            b'V' => error.severity = text,
            b'S' => localized = text,
            b'C' => error.code = text,
            b'M' => error.message = text,
            b'D' => error.detail = Some(text),
            b'H' => error.hint = Some(text),
            b'P' => error.position = text.parse().ok(),
            b'W' => error.context = Some(text),
            b's' => error.schema = Some(text),
            b't' => error.table = Some(text),
            b'c' => error.column = Some(text),
            b'd' => error.datatype = Some(text),
            b'n' => error.constraint = Some(text),
            b'R' => error.routine = Some(text),
            _ => {}
        }
    }
    if error.severity.is_empty() {
        // Poolers and servers before 9.6 send only this one.
        error.severity = localized;
    }
    Ok(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn feed(incoming: &mut Incoming, bytes: &[u8]) {
        for part in bytes.chunks(READ_BYTES) {
            incoming.space()[..part.len()].copy_from_slice(part);
            incoming.filled(part.len());
        }
    }

    #[test]
    fn messages_come_out_whole_whatever_the_reads() {
        let mut wire = Vec::new();
        for n in 0..2000u32 {
            wire.push(b'D');
            wire.extend((4 + n % 300).to_be_bytes());
            wire.extend(std::iter::repeat_n(b'x', (n % 300) as usize));
        }
        for step in [1, 7, 1000, 16_000] {
            let mut incoming = Incoming::default();
            let mut seen = 0u32;
            for part in wire.chunks(step) {
                feed(&mut incoming, part);
                while let Some(frame) = incoming.next(MAX_MESSAGE_BYTES).unwrap() {
                    assert_eq!(incoming.body(frame.body).len() as u32, seen % 300);
                    seen += 1;
                }
            }
            assert_eq!(seen, 2000, "step {step}");
        }
    }

    #[test]
    fn an_http_answer_is_not_waited_for() {
        let mut incoming = Incoming::default();
        feed(&mut incoming, b"HTTP/1.1 400 Bad Request\r\n");
        let error = incoming.next(MAX_LOGIN_MESSAGE_BYTES).unwrap_err();
        assert!(error.to_string().contains("is this a PostgreSQL server"));
    }

    #[test]
    fn all_error_fields_are_read() {
        let mut body = Vec::new();
        for (field, text) in [
            ('S', "FEHLER"),
            ('V', "ERROR"),
            ('C', "23505"),
            ('M', "m"),
            ('D', "d"),
            ('H', "h"),
            ('P', "7"),
            ('W', "w"),
            ('s', "s"),
            ('t', "t"),
            ('c', "c"),
            ('d', "y"),
            ('n', "n"),
            ('F', "file.c"),
            ('R', "R"),
        ] {
            body.push(field as u8);
            body.extend(text.as_bytes());
            body.push(0);
        }
        body.push(0);
        let text = |s: &str| Some(s.to_owned());
        let expect = ServerError {
            severity: "ERROR".into(),
            code: "23505".into(),
            message: "m".into(),
            detail: text("d"),
            hint: text("h"),
            position: Some(7),
            context: text("w"),
            schema: text("s"),
            table: text("t"),
            column: text("c"),
            datatype: text("y"),
            constraint: text("n"),
            routine: text("R"),
        };
        assert_eq!(server_error(&body).unwrap(), expect);
        assert!(server_error(&body[..body.len() - 1]).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = server_error(&bytes);
            let mut incoming = Incoming::default();
            feed(&mut incoming, &bytes);
            while let Ok(Some(frame)) = incoming.next(MAX_MESSAGE_BYTES) {
                let _ = incoming.body(frame.body);
            }
        }
    }
}
