//! The way of text logs to standard error. What is logged quotes configurations and records, so that whoever
//! writes those could write whole lines of the log, or steer the terminal it is read at. Invariant: only an
//! event begins at the start of a line.

use std::borrow::Cow;
use std::io::{self, Write};
use tracing_subscriber::fmt::MakeWriter;

/// Writes each event to standard error.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lines;

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Lines;

    fn make_writer(&'a self) -> Lines {
        Lines
    }
}

impl Write for Lines {
    /// Takes one whole event.
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        io::stderr().lock().write_all(&clean(event))?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// The event with its further lines indented and without control characters. Escapes are left: the logger
/// has taken away all but its own colours.
fn clean(event: &[u8]) -> Cow<'_, [u8]> {
    let end = event.len().saturating_sub(usize::from(event.ends_with(b"\n")));
    let inside = event.get(..end).unwrap_or_default();
    // Almost every event is one line.
    if !inside.iter().any(|byte| byte.is_ascii_control() && !matches!(byte, b'\t' | 0x1b)) {
        return Cow::Borrowed(event);
    }
    let text = String::from_utf8_lossy(inside);
    let mut clean = String::with_capacity(event.len() + 8);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\n' => {
                clean.push('\n');
                if letters.peek() != Some(&' ') {
                    clean.push_str("  ");
                }
            }
            // A line may end as on Windows.
            '\r' if letters.peek() == Some(&'\n') => {}
            '\t' | '\x1b' => clean.push(letter),
            other if other.is_control() => clean.push(char::REPLACEMENT_CHARACTER),
            other => clean.push(other),
        }
    }
    clean.push('\n');
    Cow::Owned(clean.into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_quoted_begins_no_line_of_its_own() {
        let of = |text: &str| String::from_utf8(clean(text.as_bytes()).into_owned()).unwrap();
        let forged = "T INFO file a\0\x07\r\nT ERROR forged\rX is not there\n";
        let told = "T INFO file a\u{fffd}\u{fffd}\n  T ERROR forged\u{fffd}X is not there\n";
        assert_eq!(of(forged), told);
        for same in ["T INFO a\tb ü\n", "T INFO a\n  hint: b\n", "\x1b[2mT\x1b[0m a\n", ""] {
            assert_eq!(of(same), same);
        }
    }
}
