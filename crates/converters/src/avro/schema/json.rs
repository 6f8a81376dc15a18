//! JSON text to a JSON value, as deep as Connect's own parser goes.
//!
//! serde_json refuses what is nested deeper than 128 levels, and a schema of 50 records within each
//! other is; without that limit it recurses. This one keeps its own stack and leaves only scalars
//! to serde_json.

use serde_json::{Map, Value as Json};

/// Arrays and objects within each other.
const DEPTH_MAX: usize = 1000;

/// What is open around the value that is read.
enum Open {
    Array(Vec<Json>),
    /// The members so far, and the name of the one that is read.
    Object(Map<String, Json>, String),
}

/// Parses text; of repeated members the last wins.
///
/// # Errors
/// What is wrong, with its byte position.
pub(super) fn parse(text: &str) -> Result<Json, String> {
    let mut reader = Reader { text, at: 0 };
    let mut open: Vec<Open> = Vec::new();
    loop {
        let next = reader.peek();
        if matches!(next, Some(b'[' | b'{')) {
            reader.depth(open.len() + 1)?;
        }
        let mut value = match next {
            Some(b'[') => {
                reader.at += 1;
                if reader.peek() != Some(b']') {
                    open.push(Open::Array(Vec::new()));
                    continue;
                }
                reader.at += 1;
                Json::Array(Vec::new())
            }
            Some(b'{') => {
                reader.at += 1;
                if reader.peek() != Some(b'}') {
                    let name = reader.member()?;
                    open.push(Open::Object(Map::new(), name));
                    continue;
                }
                reader.at += 1;
                Json::Object(Map::new())
            }
            _ => reader.scalar()?,
        };
        // The value is an element of what is open, which may end with it.
        loop {
            match open.pop() {
                None => return reader.end().map(|()| value),
                Some(Open::Array(mut items)) => {
                    items.push(value);
                    if reader.goes_on(b']')? {
                        open.push(Open::Array(items));
                        break;
                    }
                    value = Json::Array(items);
                }
                Some(Open::Object(mut members, name)) => {
                    members.insert(name, value);
                    if reader.goes_on(b'}')? {
                        let name = reader.member()?;
                        open.push(Open::Object(members, name));
                        break;
                    }
                    value = Json::Object(members);
                }
            }
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn peek(&mut self) -> Option<u8> {
        while let Some(byte) = self.text.as_bytes().get(self.at) {
            if !matches!(byte, b' ' | b'\t' | b'\r' | b'\n') {
                return Some(*byte);
            }
            self.at += 1;
        }
        None
    }

    fn fault(&self, what: &str) -> String {
        format!("The schema is no JSON: {what} at byte {}", self.at)
    }

    fn depth(&self, depth: usize) -> Result<(), String> {
        if depth > DEPTH_MAX {
            return Err(self.fault(&format!("nested deeper than {DEPTH_MAX} levels")));
        }
        Ok(())
    }

    /// A comma: true; the end of the array or object: false.
    fn goes_on(&mut self, end: u8) -> Result<bool, String> {
        match self.peek() {
            Some(b',') => {
                self.at += 1;
                Ok(true)
            }
            Some(byte) if byte == end => {
                self.at += 1;
                Ok(false)
            }
            _ => Err(self.fault(&format!("expected , or {}", char::from(end)))),
        }
    }

    /// The name of a member and the colon behind it.
    fn member(&mut self) -> Result<String, String> {
        if self.peek() != Some(b'"') {
            return Err(self.fault("expected the name of a member"));
        }
        let Json::String(name) = self.scalar()? else {
            return Err(self.fault("expected the name of a member"));
        };
        if self.peek() != Some(b':') {
            return Err(self.fault("expected :"));
        }
        self.at += 1;
        Ok(name)
    }

    /// A string, a number, `true`, `false` or `null`.
    fn scalar(&mut self) -> Result<Json, String> {
        let bytes = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let len = if bytes.first() == Some(&b'"') {
            string_len(bytes)
        } else {
            let of_scalar = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
            bytes.iter().take_while(|byte| of_scalar(byte)).count()
        };
        let text = self.text.get(self.at..self.at + len).unwrap_or_default();
        let value = match serde_json::from_str(text) {
            Ok(value) => value,
            Err(_) if text.is_empty() => return Err(self.fault("expected a value")),
            Err(_) => return Err(self.fault("a value that is none")),
        };
        self.at += len;
        Ok(value)
    }

    fn end(&mut self) -> Result<(), String> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.fault("more than one value")),
        }
    }
}

/// The length of a string with its quotes; of all the rest where it has no end.
fn string_len(bytes: &[u8]) -> usize {
    let mut at = 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn text_is_read_as_serde_json_reads_it() {
        for text in [
            "null",
            " [ ] ",
            "{}",
            r#"{"a":[1,-2.5e3,"x\"\u00e9\\",true,false,null,{}],"b":{"c":[]},"a":2}"#,
            "[[],[[]],{\"a\":{}}]",
        ] {
            assert_eq!(parse(text).unwrap(), serde_json::from_str::<Json>(text).unwrap(), "{text}");
        }
    }

    #[test]
    fn wrong_text_is_told_with_its_place() {
        for (text, wanted) in [
            ("", "expected a value at byte 0"),
            ("[1", "expected , or ] at byte 2"),
            ("[1,]", "expected a value at byte 3"),
            ("{\"a\" 1}", "expected : at byte 5"),
            ("{\"a\":1,}", "expected the name of a member at byte 7"),
            ("\"abc", "a value that is none at byte 0"),
            ("\"abc\\", "a value that is none at byte 0"),
            ("tru", "a value that is none at byte 0"),
            ("1 2", "more than one value at byte 2"),
        ] {
            assert_eq!(parse(text), Err(format!("The schema is no JSON: {wanted}")));
        }
        let deep = |levels| [vec!["["; levels], vec!["]"; levels]].concat().concat();
        assert!(parse(&deep(1000)).is_ok());
        assert!(parse(&deep(1001)).is_err());
        assert!(parse(&"[".repeat(100_000)).is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_read_as_serde_json_reads_it(text in r#"[\[\]{}:,"\\a1\- né]{0,24}"#) {
            prop_assert_eq!(parse(&text).ok(), serde_json::from_str::<Json>(&text).ok());
        }
    }
}
