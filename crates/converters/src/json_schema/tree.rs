//! The text of a schema as a tree: members in their order, numbers with their digits.
//!
//! Place in the data path: beside it, once a schema. Read with the scanner of JSON values, so that
//! both have one grammar and one limit of depth.
//!
//! Invariants: of repeated members the last value stays, in the place of the first; a member knows
//! where its value lies in the text.

use crate::json::fault::Fault;
use crate::json::scan::{Kind, Scanner};
use crate::json::strings::{Text, unescape};
use data::java_json::write_json_text;
use std::collections::HashMap;
use std::ops::Range;

/// A value of a schema's text.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Json {
    Null,
    Bool(bool),
    /// As it is written.
    Number(String),
    Text(String),
    List(Vec<Json>),
    Object(Vec<Member>),
}

/// A member of an object.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Member {
    pub(super) name: String,
    pub(super) value: Json,
    /// Where the value lies in the text.
    pub(super) raw: Range<usize>,
}

impl Json {
    /// # Errors
    /// What is no JSON, and at which byte.
    pub(super) fn parse(text: &[u8]) -> Result<Json, Fault> {
        let mut scan = Scanner::new(text, 0);
        scan.blank();
        let value = read(&mut scan, 0)?;
        scan.end().map(|()| value)
    }

    /// The members of an object; none of anything else.
    pub(super) fn members(&self) -> &[Member] {
        match self {
            Json::Object(members) => members,
            _ => &[],
        }
    }

    pub(super) fn member(&self, name: &str) -> Option<&Member> {
        self.members().iter().find(|member| member.name == name)
    }

    pub(super) fn get(&self, name: &str) -> Option<&Json> {
        self.member(name).map(|member| &member.value)
    }

    pub(super) fn has(&self, names: &[&str]) -> bool {
        self.members().iter().any(|member| names.contains(&member.name.as_str()))
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        match self.get(name)? {
            Json::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn integer(&self, name: &str) -> Option<i32> {
        match self.get(name)? {
            Json::Number(digits) => digits.parse().ok(),
            _ => None,
        }
    }

    pub(super) fn items(&self) -> &[Json] {
        match self {
            Json::List(items) => items,
            _ => &[],
        }
    }

    /// A scalar's own text, JSON text of the others.
    pub(super) fn plain(&self) -> String {
        match self {
            Json::Text(text) => text.clone(),
            other => {
                let mut out = Vec::new();
                other.write(&mut out);
                String::from_utf8(out).unwrap_or_default()
            }
        }
    }

    /// Appends it as JSON text.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Json::Null => out.extend_from_slice(b"null"),
            Json::Bool(true) => out.extend_from_slice(b"true"),
            Json::Bool(false) => out.extend_from_slice(b"false"),
            Json::Number(digits) => out.extend_from_slice(digits.as_bytes()),
            Json::Text(text) => write_json_text(text, out),
            Json::List(items) => {
                out.push(b'[');
                for (index, item) in items.iter().enumerate() {
                    out.extend((index > 0).then_some(b','));
                    item.write(out);
                }
                out.push(b']');
            }
            Json::Object(members) => {
                out.push(b'{');
                for (index, member) in members.iter().enumerate() {
                    out.extend((index > 0).then_some(b','));
                    write_json_text(&member.name, out);
                    out.push(b':');
                    member.value.write(out);
                }
                out.push(b'}');
            }
        }
    }
}

fn read(scan: &mut Scanner<'_>, depth: usize) -> Result<Json, Fault> {
    Ok(match scan.kind()? {
        Kind::Null => {
            scan.literal(b"null")?;
            Json::Null
        }
        Kind::Boolean => Json::Bool(scan.boolean()?),
        Kind::Number => {
            let start = scan.pos();
            let number = scan.number()?;
            let digits = scan.bytes().get(number.digits_start..number.end).unwrap_or_default();
            let sign = if scan.bytes().get(start) == Some(&b'-') { "-" } else { "" };
            Json::Number(format!("{sign}{}", String::from_utf8_lossy(digits)))
        }
        Kind::String => {
            let text = scan.string()?;
            Json::Text(string(scan, text))
        }
        Kind::Array => {
            let mut items = Vec::new();
            let mut more = scan.open(b']', depth)?;
            while more {
                items.push(read(scan, depth + 1)?);
                more = scan.more(b']')?;
            }
            Json::List(items)
        }
        Kind::Object | Kind::Missing => Json::Object(object(scan, depth)?),
    })
}

fn object(scan: &mut Scanner<'_>, depth: usize) -> Result<Vec<Member>, Fault> {
    let mut members: Vec<Member> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut more = scan.open(b'}', depth)?;
    while more {
        let name = scan.name()?;
        let name = string(scan, name);
        let start = scan.pos();
        let value = read(scan, depth + 1)?;
        let raw = start..scan.pos();
        match places.get(&name).and_then(|place| members.get_mut(*place)) {
            Some(known) => (known.value, known.raw) = (value, raw),
            None => {
                places.insert(name.clone(), members.len());
                members.push(Member { name, value, raw });
            }
        }
        more = scan.more(b'}')?;
    }
    Ok(members)
}

fn string(scan: &Scanner<'_>, text: Text) -> String {
    let raw = crate::json::read::raw(scan, text);
    if !text.escaped {
        return String::from_utf8_lossy(raw).into_owned();
    }
    let mut out = Vec::new();
    unescape(raw, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_in_its_order_with_its_digits() {
        let text = br#" {"b": [1.50, -0, null, true], "a": "x\u00e9\n", "b": {"c": 1e400}} "#;
        let tree = Json::parse(text).unwrap();
        let names: Vec<&str> = tree.members().iter().map(|member| &*member.name).collect();
        assert_eq!(names, ["b", "a"]);
        assert_eq!(tree.get("b").unwrap().get("c"), Some(&Json::Number("1e400".into())));
        assert_eq!(text.get(tree.member("b").unwrap().raw.clone()).unwrap(), b"{\"c\": 1e400}");
        assert_eq!(tree.plain(), "{\"b\":{\"c\":1e400},\"a\":\"xé\\n\"}");
        for bad in ["", "{", "{\"a\":}", "[1,]", "nul", "{} x", "{\"a\" 1}"] {
            assert!(Json::parse(bad.as_bytes()).is_err(), "{bad}");
        }
        assert!(Json::parse("[".repeat(5000).as_bytes()).is_err());
    }
}
