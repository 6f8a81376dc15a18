//! JSON text as Kafka Connect's JsonConverter reads and writes it, for records that Java workers share
//! with ours: byte for byte, since they look some of them up by their bytes.

use crate::java_text::{put, write_double};
use serde_json::Value;

/// The value that a text begins with. Lenient, so that two kinds of worker do not disagree about a
/// record: nothing at all is null, and what comes after the first value is not looked at.
///
/// # Errors
/// The text begins with no JSON. Nothing of it is quoted.
pub fn read_json(bytes: &[u8]) -> serde_json::Result<Value> {
    let values = serde_json::Deserializer::from_slice(bytes).into_iter();
    values.take(1).next().unwrap_or(Ok(Value::Null))
}

/// Appends a value: members in their order, no spaces, doubles as Java prints them.
pub fn write_json(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null | Value::Bool(_) => put(out, format_args!("{value}")),
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(float) => write_double(float, out),
            None => put(out, format_args!("{number}")),
        },
        Value::String(text) => write_json_text(text, out),
        Value::Array(items) => {
            out.push(b'[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write_json(item, out);
            }
            out.push(b']');
        }
        Value::Object(members) => {
            out.push(b'{');
            for (index, (name, member)) in members.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write_json_text(name, out);
                out.push(b':');
                write_json(member, out);
            }
            out.push(b'}');
        }
    }
}

/// Appends a string; control characters have Java's short forms and capital digits.
pub fn write_json_text(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    for byte in text.bytes() {
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            8 => out.extend_from_slice(b"\\b"),
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\n' => out.extend_from_slice(b"\\n"),
            0xc => out.extend_from_slice(b"\\f"),
            b'\r' => out.extend_from_slice(b"\\r"),
            0..0x20 => put(out, format_args!("\\u{byte:04X}")),
            _ => out.push(byte),
        }
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn nothing_is_null_and_what_comes_after_a_value_is_not_looked_at() {
        for (text, wanted) in [
            ("", json!(null)),
            (" \n", json!(null)),
            ("null", json!(null)),
            (r#"{"a":1} x"#, json!({"a": 1})),
            (r#"{"a":1}{}"#, json!({"a": 1})),
            (r#"{"a":1,"a":2}"#, json!({"a": 2})),
        ] {
            assert_eq!(read_json(text.as_bytes()).unwrap(), wanted, "{text}");
        }
        for text in ["{", r#"{"a":1x}"#, "x", "5x", "\u{feff}{}"] {
            assert!(read_json(text.as_bytes()).is_err(), "{text}");
        }
        assert!(read_json(b"{\"a\":\"\xff\"}").is_err());
    }

    #[test]
    fn values_are_written_as_java_does() {
        let text =
            r#"["c",{"b":1,"a":1.0,"x":1e10,"s":"é\u001f\b\u007f/","n":null,"t":true,"l":[]}]"#;
        let value: Value = serde_json::from_str(text).unwrap();
        let mut out = Vec::new();
        write_json(&value, &mut out);
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "[\"c\",{\"b\":1,\"a\":1.0,\"x\":1.0E10,\"s\":\"é\\u001F\\b\u{7f}/\",\"n\":null,\"t\":true,\"l\":[]}]"
        );
    }
}
