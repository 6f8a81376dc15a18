//! Text and bytes: NUL characters, escapes, hex and base64, uuids and bit strings.
//!
//! Place in the data path: once for every text. The common case (nothing to escape, no NUL) is one
//! pass that only looks, and one copy.

use super::convert::{NOT_IN_JSON, NOT_IN_TEXT, NOT_VALID, Val, as_json, no_form, shown};
use super::target::Target;
use super::{Context, Encoded, Fault};
use crate::config::{BytesEncoding, NulHandling};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

const HEX: &[u8; 16] = b"0123456789abcdef";
const REPLACEMENT: &[u8] = "\u{fffd}".as_bytes();

/// True if a text may not be copied as it is: control characters and backslashes. Looks at all bytes
/// without a branch, which is faster than to stop at the first.
#[inline]
pub(super) fn needs_care(bytes: &[u8]) -> bool {
    bytes.iter().fold(false, |care, b| care | (*b < 0x20) | (*b == b'\\'))
}

/// Text into a column of any type.
pub(super) fn write(
    context: Context<'_>,
    target: &Target,
    bytes: &[u8],
    schemaless: bool,
    out: &mut Vec<u8>,
) -> Encoded {
    match target {
        Target::Bytea => {
            out.extend_from_slice(b"\\x");
            let start = out.len();
            decode(context, bytes, out)?;
            hex_in_place(out, start);
            Ok(())
        }
        Target::Json | Target::Jsonb => as_json(context, target, Val::Text(bytes, schemaless), out),
        Target::Numeric | Target::Float4 | Target::Float8 => match bytes {
            // Debezium's words, which PostgreSQL does not read.
            b"POSITIVE_INFINITY" => append(out, b"Infinity"),
            b"NEGATIVE_INFINITY" => append(out, b"-Infinity"),
            _ => put(context, bytes, out),
        },
        _ => put(context, bytes, out),
    }
}

fn append(out: &mut Vec<u8>, text: &[u8]) -> Encoded {
    out.extend_from_slice(text);
    Ok(())
}

/// Appends text; what happens to NUL characters is a setting.
#[inline]
pub(super) fn put(context: Context<'_>, bytes: &[u8], out: &mut Vec<u8>) -> Encoded {
    if !bytes.contains(&0) {
        out.extend_from_slice(bytes);
        return Ok(());
    }
    let handling = context.settings.nul;
    if handling == NulHandling::Fail {
        return Err(Fault {
            sqlstate: NOT_IN_TEXT,
            message: format!("the text {} has a NUL character", shown(bytes)),
            hint: Some("set string.nul.handling to strip or replace"),
        });
    }
    for (n, part) in bytes.split(|b| *b == 0).enumerate() {
        if n > 0 && handling == NulHandling::Replace {
            out.extend_from_slice(REPLACEMENT);
        }
        out.extend_from_slice(part);
    }
    Ok(())
}

pub(super) fn not_utf8() -> Fault {
    Fault {
        sqlstate: NOT_IN_TEXT,
        message: "the bytes are no UTF-8 text, as JSON must be".to_owned(),
        hint: Some("store them in a column of type bytea"),
    }
}

/// Sees to NUL characters in JSON text that begins at `start`: as a byte no type takes them; as the
/// escape `\u0000` only `jsonb` refuses them.
pub(super) fn clean_json(
    context: Context<'_>,
    jsonb: bool,
    out: &mut Vec<u8>,
    start: usize,
) -> Encoded {
    let tail = out.get(start..).unwrap_or_default();
    let raw = tail.contains(&0);
    let escaped = jsonb && next_nul_escape(tail, 0).is_some();
    if !raw && !escaped {
        return Ok(());
    }
    let handling = context.settings.nul;
    if handling == NulHandling::Fail {
        return Err(Fault {
            sqlstate: NOT_IN_JSON,
            message: format!("the JSON text {} has a NUL character", shown(tail)),
            hint: Some("set string.nul.handling to strip or replace, or store it as json"),
        });
    }
    let replacement: &[u8] = if handling == NulHandling::Replace { REPLACEMENT } else { b"" };
    let mut clean = Vec::with_capacity(tail.len());
    let mut at = 0;
    while jsonb && let Some(found) = next_nul_escape(tail, at) {
        clean.extend_from_slice(tail.get(at..found).unwrap_or_default());
        clean.extend_from_slice(replacement);
        at = found + 6;
    }
    clean.extend_from_slice(tail.get(at..).unwrap_or_default());
    clean.retain(|b| *b != 0);
    out.truncate(start);
    out.extend_from_slice(&clean);
    Ok(())
}

/// The place of the next escape `\u0000` from `from` on; a backslash before a backslash is none.
fn next_nul_escape(json: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        at += json.get(at..)?.iter().position(|b| *b == b'\\')?;
        if json.get(at + 1..at + 6) == Some(b"u0000") {
            return Some(at);
        }
        at += 2;
    }
}

/// Escapes what was appended from `start` on for COPY's text format.
pub(super) fn escape_for_copy(out: &mut Vec<u8>, start: usize) {
    if !needs_care(out.get(start..).unwrap_or_default()) {
        return;
    }
    escape(out, start, |byte| match byte {
        b'\\' => Some(b'\\'),
        b'\n' => Some(b'n'),
        b'\r' => Some(b'r'),
        b'\t' => Some(b't'),
        _ => None,
    });
}

/// Puts what was appended from `start` on in double quotes, as an element of an array or record.
pub(super) fn quote(out: &mut Vec<u8>, start: usize) {
    escape(out, start, |byte| matches!(byte, b'"' | b'\\').then_some(byte));
    out.insert(start, b'"');
    out.push(b'"');
}

/// Puts a backslash before each byte for which `form` has one, and that form in its place. Works from
/// the end, so that every byte moves once.
fn escape(out: &mut Vec<u8>, start: usize, form: impl Fn(u8) -> Option<u8>) {
    let tail = out.get(start..).unwrap_or_default();
    let extra = tail.iter().filter(|b| form(**b).is_some()).count();
    if extra == 0 {
        return;
    }
    let mut from = out.len();
    out.resize(from + extra, 0);
    let mut to = out.len();
    let tail = out.as_mut_slice();
    while from > start && from < to {
        from -= 1;
        let byte = tail.get(from).copied().unwrap_or_default();
        let (first, second) = match form(byte) {
            Some(escaped) => (Some(b'\\'), escaped),
            None => (None, byte),
        };
        to -= 1;
        if let Some(slot) = tail.get_mut(to) {
            *slot = second;
        }
        if let Some(first) = first {
            to -= 1;
            if let Some(slot) = tail.get_mut(to) {
                *slot = first;
            }
        }
    }
}

/// Bytes in a column of text, as `bytes.string.encoding` says.
pub(super) fn put_encoded(context: Context<'_>, bytes: &[u8], out: &mut Vec<u8>) {
    match context.settings.bytes {
        BytesEncoding::Hex => put_hex(bytes, out),
        BytesEncoding::Base64 => put_base64(bytes, out),
    }
}

pub(super) fn put_base64(bytes: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + bytes.len().div_ceil(3) * 4, 0);
    let room = out.get_mut(start..).unwrap_or_default();
    let written = STANDARD.encode_slice(bytes, room).unwrap_or(0);
    out.truncate(start + written);
}

fn put_hex(bytes: &[u8], out: &mut Vec<u8>) {
    out.reserve(bytes.len() * 2);
    for byte in bytes {
        out.extend_from_slice(&hex(*byte));
    }
}

#[inline]
fn hex(byte: u8) -> [u8; 2] {
    let digit = |n: u8| HEX.get(usize::from(n)).copied().unwrap_or(b'0');
    [digit(byte >> 4), digit(byte & 15)]
}

/// Turns the bytes from `start` on into their hex digits.
fn hex_in_place(out: &mut Vec<u8>, start: usize) {
    let len = out.len().saturating_sub(start);
    out.resize(start + len * 2, 0);
    for n in (0..len).rev() {
        let byte = out.get(start + n).copied().unwrap_or_default();
        if let Some(pair) = out.get_mut(start + n * 2..start + n * 2 + 2) {
            pair.copy_from_slice(&hex(byte));
        }
    }
}

/// Text that stands for bytes, decoded as `bytes.string.encoding` says. Hex may begin with `\x`.
fn decode(context: Context<'_>, text: &[u8], out: &mut Vec<u8>) -> Encoded {
    let bad = |kind: &str| Fault {
        sqlstate: NOT_VALID,
        message: format!("the text {} is no {kind}, as a column of type bytea needs", shown(text)),
        hint: Some("set bytes.string.encoding to the encoding of such texts"),
    };
    match context.settings.bytes {
        BytesEncoding::Hex => {
            let digits = text.strip_prefix(b"\\x").unwrap_or(text);
            if !digits.len().is_multiple_of(2) {
                return Err(bad("hexadecimal number of whole bytes"));
            }
            for pair in digits.chunks_exact(2) {
                let mut byte = 0;
                for digit in pair {
                    let value = char::from(*digit).to_digit(16);
                    byte = byte << 4 | value.ok_or_else(|| bad("hexadecimal"))? as u8;
                }
                out.push(byte);
            }
            Ok(())
        }
        BytesEncoding::Base64 => {
            let start = out.len();
            out.resize(start + text.len().div_ceil(4) * 3, 0);
            let room = out.get_mut(start..).unwrap_or_default();
            let written = STANDARD.decode_slice(text, room).map_err(|_| bad("base64"))?;
            out.truncate(start + written);
            Ok(())
        }
    }
}

/// Bytes into columns that hold bytes: the text form.
pub(super) fn write_bytes(target: &Target, bytes: &[u8], out: &mut Vec<u8>) -> Encoded {
    match target {
        Target::Uuid => {
            let uuid = sixteen(bytes)?;
            for (n, byte) in uuid.iter().enumerate() {
                if matches!(n, 4 | 6 | 8 | 10) {
                    out.push(b'-');
                }
                out.extend_from_slice(&hex(*byte));
            }
        }
        Target::Bytea => {
            out.extend_from_slice(b"\\x");
            put_hex(bytes, out);
        }
        _ => put_hex(bytes, out),
    }
    Ok(())
}

fn sixteen(bytes: &[u8]) -> Encoded<&[u8; 16]> {
    bytes.try_into().map_err(|_| Fault {
        sqlstate: NOT_VALID,
        message: format!("{} bytes are no uuid, which has 16", bytes.len()),
        hint: None,
    })
}

/// Bytes or text into columns that hold bytes: the binary form.
pub(super) fn write_bytes_binary(
    context: Context<'_>,
    target: &Target,
    value: Val<'_>,
    out: &mut Vec<u8>,
) -> Encoded {
    match (target, value) {
        (Target::Bytea, Val::Bytes(bytes, _)) => out.extend_from_slice(bytes),
        (Target::Bytea, Val::Text(text, _)) => decode(context, text, out)?,
        (Target::Uuid, Val::Bytes(bytes, _)) => out.extend_from_slice(sixteen(bytes)?),
        (Target::Uuid, Val::Text(text, _)) => out.extend_from_slice(&uuid_of_text(text)?),
        _ => return Err(no_form(target, value)),
    }
    Ok(())
}

/// Reads a uuid as PostgreSQL does: 32 digits, a hyphen allowed after each four, braces allowed.
fn uuid_of_text(text: &[u8]) -> Encoded<[u8; 16]> {
    let bad = || Fault {
        sqlstate: NOT_VALID,
        message: format!("the text {} is no uuid", shown(text)),
        hint: None,
    };
    let braced = text.strip_prefix(b"{").and_then(|t| t.strip_suffix(b"}"));
    let mut uuid = [0u8; 16];
    let mut digits = 0usize;
    let mut after_hyphen = true;
    for byte in braced.unwrap_or(text) {
        if *byte == b'-' && !after_hyphen && digits.is_multiple_of(4) && digits < 32 {
            after_hyphen = true;
            continue;
        }
        let value = char::from(*byte).to_digit(16).ok_or_else(bad)? as u8;
        let slot = uuid.get_mut(digits / 2).ok_or_else(bad)?;
        *slot = *slot << 4 | value;
        digits += 1;
        after_hyphen = false;
    }
    if digits == 32 { Ok(uuid) } else { Err(bad()) }
}

/// `bit` and `bit varying`: the bits of bytes from the highest down, and 0 or 1. Debezium's bits have
/// the lowest first.
pub(super) fn write_bits(value: Val<'_>, out: &mut Vec<u8>) -> Encoded {
    match value {
        Val::Bytes(bytes, _) => {
            for byte in bytes {
                out.extend((0..8).rev().map(|n| b'0' + (byte >> n & 1)));
            }
        }
        Val::Bits(bytes, length) => out.extend((0..length).rev().map(|n| {
            let byte = bytes.get(n / 8).copied().unwrap_or_default();
            b'0' + (byte >> (n % 8) & 1)
        })),
        _ => out.push(b'0' + u8::from(super::number::boolean(&Target::Bits, value)?)),
    }
    Ok(())
}
