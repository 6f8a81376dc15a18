//! Where a line of COPY's input ends, and whether anything is behind it.
//!
//! Source: the manual's page on COPY, and its behaviour where the page is silent.

use super::Fault;

/// The one line of a message, without its end.
///
/// # Errors
/// There is more than one line, or the mark that ends COPY's input.
pub(super) fn of_text(bytes: &[u8]) -> Result<&[u8], Fault> {
    let mut at = 0;
    while let Some(found) = bytes.get(at..).and_then(|rest| rest.iter().position(|b| special(*b))) {
        at += found;
        match bytes.get(at) {
            Some(b'\\') if bytes.get(at + 1) == Some(&b'.') => return Err(end_marker()),
            // What follows a backslash ends no line.
            Some(b'\\') => at += 2,
            _ => return one(bytes, at),
        }
    }
    Ok(bytes)
}

fn special(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r' | b'\\')
}

/// The same for csv, where line ends between quotes are data.
pub(super) fn of_csv(bytes: &[u8], quote: u8, escape: u8) -> Result<&[u8], Fault> {
    let escape = Some(escape).filter(|escape| *escape != quote);
    let (mut quoted, mut escaped) = (false, false);
    for (at, byte) in bytes.iter().copied().enumerate() {
        if quoted && Some(byte) == escape {
            escaped = !escaped;
        }
        if byte == quote && !escaped {
            quoted = !quoted;
        }
        if Some(byte) != escape {
            escaped = false;
        }
        if matches!(byte, b'\n' | b'\r') && !quoted {
            return one(bytes, at).and_then(marker_alone);
        }
    }
    marker_alone(bytes)
}

fn marker_alone(line: &[u8]) -> Result<&[u8], Fault> {
    if line == b"\\." { Err(end_marker()) } else { Ok(line) }
}

fn end_marker() -> Fault {
    Fault::copy("the message has the mark \\. that ends the input of COPY")
}

/// The line that ends at `at`, if nothing follows its end.
fn one(bytes: &[u8], at: usize) -> Result<&[u8], Fault> {
    let (line, end) = bytes.split_at_checked(at).unwrap_or((bytes, b""));
    match end {
        b"\n" | b"\r" | b"\r\n" => Ok(line),
        _ => Err(Fault::copy(
            "the message has more than one line; each message has to be one row, so split it \
             before it is sent",
        )),
    }
}
