//! Lenient JSON made strict: numbers lose superfluous zeros, lone surrogates become U+FFFD.
//!
//! Off the hot path: only texts in which the scanner met one of these come here.

use super::scan::Scanner;
use super::strings::unescape_unit;

/// Appends the strict form of a text that the scanner has passed.
pub(super) fn repair(text: &[u8], out: &mut Vec<u8>) {
    let mut scan = Scanner::new(text, 0);
    while let Some(byte) = scan.peek() {
        let start = scan.pos();
        match byte {
            b'"' => match scan.string() {
                Ok(_) => repair_string(text.get(start..scan.pos()).unwrap_or_default(), out),
                Err(_) => return,
            },
            b'-' | b'0'..=b'9' => match scan.number() {
                Ok(number) => {
                    if number.negative {
                        out.push(b'-');
                    }
                    let digits = text.get(number.digits_start..number.end).unwrap_or_default();
                    out.extend_from_slice(digits);
                }
                Err(_) => return,
            },
            other => {
                out.push(other);
                scan.eat(other);
            }
        }
    }
}

fn repair_string(string: &[u8], out: &mut Vec<u8>) {
    let mut rest = string;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        let (plain, escape) = rest.split_at(at);
        out.extend_from_slice(plain);
        let len = match escape.get(1) {
            Some(b'u') => match unescape_unit(escape) {
                (char::REPLACEMENT_CHARACTER, len) => {
                    out.extend_from_slice(b"\\ufffd");
                    len
                }
                (_, len) => {
                    out.extend_from_slice(escape.get(..len).unwrap_or_default());
                    len
                }
            },
            _ => {
                out.extend_from_slice(escape.get(..2).unwrap_or_default());
                2
            }
        };
        rest = escape.get(len..).unwrap_or_default();
    }
    out.extend_from_slice(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_lenient_changes() {
        let mut out = Vec::new();
        let text =
            br#"{"a\\\ud800\n":[007.50,-00,0,-0.5e1],"b":"\ud83d\ude00\udc00x","true":null}"#;
        repair(text, &mut out);
        let strict = r#"{"a\\\ufffd\n":[7.50,-0,0,-0.5e1],"b":"\ud83d\ude00\ufffdx","true":null}"#;
        assert_eq!(String::from_utf8(out).unwrap(), strict);
    }
}
