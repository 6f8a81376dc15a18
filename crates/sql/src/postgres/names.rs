//! Identifiers and literals in SQL text.
//!
//! Place in the data path: every statement of the PostgreSQL destination is put together with these,
//! once per plan. Names come from topics, headers and records, so nothing is ever pasted in unquoted.

use crate::table::TableName;
use std::fmt::Write;

/// The longest identifier PostgreSQL keeps, in bytes; it cuts longer ones silently.
pub(super) const IDENTIFIER_BYTES_MAX: usize = 63;

/// `name` in double quotes.
pub(super) fn ident(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 2);
    push_ident(&mut out, name);
    out
}

pub(super) fn push_ident(out: &mut String, name: &str) {
    out.push('"');
    for c in name.chars() {
        if c == '"' {
            out.push('"');
        }
        out.push(c);
    }
    out.push('"');
}

/// `"schema"."name"`, or the name alone.
pub(super) fn table(name: &TableName) -> String {
    match &name.schema {
        Some(schema) => format!("{}.{}", ident(schema), ident(&name.name)),
        None => ident(&name.name),
    }
}

/// A text literal that reads the same whatever `standard_conforming_strings` is.
pub(super) fn literal(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 3);
    if text.contains('\\') {
        out.push('E');
    }
    out.push('\'');
    for c in text.chars() {
        if c == '\'' || c == '\\' {
            out.push(c);
        }
        out.push(c);
    }
    out.push('\'');
    out
}

/// A bytea literal.
pub(super) fn bytes_literal(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() * 2 + 18);
    out.push_str("decode('");
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ok = write!(out, "{byte:02x}");
    }
    out.push_str("', 'hex')");
    out
}

/// `items` with `write` applied, separated by commas.
pub(super) fn list<T>(
    items: impl IntoIterator<Item = T>,
    mut write: impl FnMut(&mut String, T),
) -> String {
    let mut out = String::new();
    for (n, item) in items.into_iter().enumerate() {
        if n > 0 {
            out.push_str(", ");
        }
        write(&mut out, item);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leaves_its_quotes() {
        assert_eq!(ident("a\"; DROP TABLE t; --"), "\"a\"\"; DROP TABLE t; --\"");
        assert_eq!(literal("it's"), "'it''s'");
        assert_eq!(literal("a\\'b"), "E'a\\\\''b'");
        assert_eq!(bytes_literal(&[0, 255]), "decode('00ff', 'hex')");
    }
}
