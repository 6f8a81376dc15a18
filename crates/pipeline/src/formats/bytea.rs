//! Text as the input function of bytea reads it: `\x` and hexadecimal digits, or bytes with escapes.

use super::Fault;

/// Appends the bytes that a text stands for.
///
/// # Errors
/// With the server's SQLSTATE.
pub(super) fn read(text: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
    let fault = |sqlstate, what| Fault::new(sqlstate, what);
    match text.strip_prefix(b"\\x") {
        Some(digits) => {
            hex(digits, out).ok_or_else(|| fault("22023", "invalid hexadecimal data for bytea"))
        }
        None => {
            escaped(text, out).ok_or_else(|| fault("22P02", "invalid input syntax for type bytea"))
        }
    }
}

fn hex(digits: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|value| value as u8);
    let mut rest = digits;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        // Blanks may stand between bytes.
        if matches!(first, b' ' | b'\n' | b'\t' | b'\r') {
            continue;
        }
        let (second, after) = after.split_first()?;
        out.push(digit(*first)? << 4 | digit(*second)?);
        rest = after;
    }
    Some(())
}

fn escaped(text: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let mut rest = text;
    while let Some(at) = rest.iter().position(|byte| *byte == b'\\') {
        out.extend_from_slice(rest.get(..at)?);
        let (byte, taken) = match rest.get(at + 1..)? {
            [b'\\', ..] => (b'\\', 1),
            [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..] => {
                ((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'), 3)
            }
            _ => return None,
        };
        out.push(byte);
        rest = rest.get(at + 1 + taken..)?;
    }
    out.extend_from_slice(rest);
    Some(())
}
