//! Records that are not UTF-8 without a mark: Connect's parser finds out from the first bytes.

use super::fault::Fault;
use std::borrow::Cow;

/// The record as UTF-8 text; borrowed, from some byte on, unless it is UTF-16 or UTF-32.
///
/// # Errors
/// UTF-16 or UTF-32 that is broken.
pub(crate) fn to_utf8(record: &[u8]) -> Result<Cow<'_, [u8]>, Fault> {
    // A record that begins like any JSON text has neither a mark nor a zero byte.
    if !matches!(record, [0xef | 0xfe | 0xff | 0, ..] | [_, 0, ..]) {
        return Ok(Cow::Borrowed(record));
    }
    let unit16_be: fn(&[u8; 2]) -> u16 = |b| u16::from_be_bytes(*b);
    let unit16_le: fn(&[u8; 2]) -> u16 = |b| u16::from_le_bytes(*b);
    match record {
        [0xef, 0xbb, 0xbf, rest @ ..] => Ok(Cow::Borrowed(rest)),
        [0, 0, 0xfe, 0xff, rest @ ..] => utf32(rest, u32::from_be_bytes),
        [0xff, 0xfe, 0, 0, rest @ ..] => utf32(rest, u32::from_le_bytes),
        [0, 0, 0, _, ..] => utf32(record, u32::from_be_bytes),
        [_, 0, 0, 0, ..] => utf32(record, u32::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => utf16(rest, unit16_be),
        [0xff, 0xfe, rest @ ..] => utf16(rest, unit16_le),
        [0, _, ..] => utf16(record, unit16_be),
        [_, 0, ..] => utf16(record, unit16_le),
        _ => Ok(Cow::Borrowed(record)),
    }
}

fn utf16(bytes: &[u8], unit: fn(&[u8; 2]) -> u16) -> Result<Cow<'_, [u8]>, Fault> {
    let (units, rest) = bytes.as_chunks::<2>();
    let text = char::decode_utf16(units.iter().map(unit)).collect::<Result<String, _>>();
    match text {
        Ok(text) if rest.is_empty() => Ok(Cow::Owned(text.into_bytes())),
        _ => Err(Fault::syntax("invalid UTF-16", 0)),
    }
}

fn utf32(bytes: &[u8], unit: fn([u8; 4]) -> u32) -> Result<Cow<'_, [u8]>, Fault> {
    let (units, rest) = bytes.as_chunks::<4>();
    let text = units.iter().map(|b| char::from_u32(unit(*b))).collect::<Option<String>>();
    match text {
        Some(text) if rest.is_empty() => Ok(Cow::Owned(text.into_bytes())),
        _ => Err(Fault::syntax("invalid UTF-32", 0)),
    }
}
