//! JSON as Java workers read and write it in these topics: without envelope, members in the order
//! given, absent members as null.

use super::Unusable;
use data::java_json::{read_json, write_json_text};
use serde_json::{Map, Value};

/// The value of a record.
pub(super) fn read(bytes: Option<&[u8]>) -> Result<Value, Unusable> {
    let Some(bytes) = bytes else { return Ok(Value::Null) };
    // The error quotes nothing of the input, which may hold secrets.
    read_json(bytes)
        .map_err(|error| Unusable::undecodable(format!("its value is no JSON: {error}")))
}

/// The members of a value that has to be an object.
pub(super) fn members(value: Value) -> Result<Map<String, Value>, Unusable> {
    match value {
        Value::Object(members) => Ok(members),
        Value::Null => Err(Unusable::new("it has no value")),
        _ => Err(Unusable::new("its value is no JSON object")),
    }
}

/// A member that has to be a whole number of 0 to 2³¹ - 1.
pub(super) fn count(members: &Map<String, Value>, name: &str) -> Result<u32, Unusable> {
    let number = members.get(name).and_then(Value::as_i64);
    let number = number.and_then(|number| i32::try_from(number).ok());
    number
        .and_then(|number| u32::try_from(number).ok())
        .ok_or_else(|| Unusable::new(format!("its member '{name}' is no count")))
}

/// Writes an object member by member.
pub(super) struct Writer {
    out: Vec<u8>,
}

impl Writer {
    pub(super) fn new() -> Writer {
        Writer { out: vec![b'{'] }
    }

    fn name(&mut self, name: &str) {
        if self.out.last() != Some(&b'{') {
            self.out.push(b',');
        }
        write_json_text(name, &mut self.out);
        self.out.push(b':');
    }

    /// A member with a text, or null.
    pub(super) fn text(mut self, name: &str, value: Option<&str>) -> Writer {
        self.name(name);
        match value {
            Some(text) => write_json_text(text, &mut self.out),
            None => self.out.extend_from_slice(b"null"),
        }
        self
    }

    /// A member whose text is JSON as it stands: numbers, booleans, objects written by another.
    pub(super) fn raw(mut self, name: &str, value: impl std::fmt::Display) -> Writer {
        self.name(name);
        self.out.extend_from_slice(value.to_string().as_bytes());
        self
    }

    /// A member that is an object.
    pub(super) fn object(mut self, name: &str, value: Writer) -> Writer {
        self.name(name);
        self.out.extend_from_slice(&value.finish());
        self
    }

    pub(super) fn finish(mut self) -> Vec<u8> {
        self.out.push(b'}');
        self.out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_written_in_order_and_escaped_as_java_does() {
        let inner = Writer::new().text("x", None);
        let written = Writer::new()
            .text("é\"\u{1f}\u{8}/", Some("\n\u{c}\u{7f}"))
            .raw("n", 5)
            .object("o", inner)
            .object("e", Writer::new());
        assert_eq!(
            String::from_utf8(written.finish()).unwrap(),
            "{\"é\\\"\\u001F\\b/\":\"\\n\\f\u{7f}\",\"n\":5,\"o\":{\"x\":null},\"e\":{}}"
        );
    }
}
