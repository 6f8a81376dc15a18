//! Whether two answers to a case are the same.
//!
//! The rules: classes and numbers exactly, floats as numbers of their width, maps as sets of pairs,
//! struct fields and headers in order, parameters in any. Text that is JSON is compared as JSON, and
//! digits of floats in any text as numbers, since Java 17 may print more of them than needed. Failures
//! are compared by stage and class; that their messages differ is noted, not held against us.
//!
//! Two classes count as one where Connect's is an accident of the JVM: a null pointer, a failed cast
//! or an index out of bounds stand for no kind of error of their own, so any refusal at the same
//! stage is the same. When a plugin is configured there is one kind of failure: the configuration is
//! wrong, whatever the JVM calls it.

mod canonical;
mod texts;

pub use canonical::canonical;
pub use texts::{Floats, same_text};

use crate::notation::from_base64;
use serde_json::Value as Json;

/// How an answer relates to the one wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Same,
    /// A failure of the same class at the same stage, with another message.
    OtherMessage,
    Different,
}

/// Classes of failures that only say that the JVM stumbled.
const ACCIDENTS: [&str; 4] = [
    "java.lang.NullPointerException",
    "java.lang.ClassCastException",
    "java.lang.ArrayIndexOutOfBoundsException",
    "java.lang.IndexOutOfBoundsException",
];

/// Compares two answers to the case with this input.
pub fn compare(input: &Json, wanted: &Json, seen: &Json) -> Verdict {
    match (wanted.get("error"), seen.get("error")) {
        (Some(wanted), Some(seen)) => compare_errors(wanted, seen),
        (None, None) => {
            let floats = Floats::of(input);
            let same = equal(&canonical(wanted), &canonical(seen), floats);
            if same { Verdict::Same } else { Verdict::Different }
        }
        _ => Verdict::Different,
    }
}

fn compare_errors(wanted: &Json, seen: &Json) -> Verdict {
    let class = |error: &Json| error["class"].as_str().unwrap_or_default().to_owned();
    let (wanted_class, seen_class) = (class(wanted), class(seen));
    // Our own names for what is no answer at all.
    let is_answer = seen_class.contains('.');
    let one_kind = wanted_class == seen_class
        || ACCIDENTS.contains(&wanted_class.as_str())
        || wanted["at"] == "configure";
    if wanted["at"] != seen["at"] || !one_kind || !is_answer {
        Verdict::Different
    } else if wanted["message"] == seen["message"] && wanted_class == seen_class {
        Verdict::Same
    } else {
        Verdict::OtherMessage
    }
}

/// Bytes that are text in some encoding can hold floats too.
fn same_bytes(wanted: &str, seen: &str, floats: Floats) -> bool {
    let text = |base64: &str| {
        let bytes = from_base64(base64)?;
        match bytes.strip_prefix(&[0xfe, 0xff]) {
            Some(rest) => {
                let units = rest.chunks_exact(2).map(|unit| u16::from_be_bytes([unit[0], unit[1]]));
                String::from_utf16(&units.collect::<Vec<_>>()).ok()
            }
            // Of other encodings only the digits matter, which are the same in all of them.
            None => Some(bytes.into_iter().map(char::from).collect()),
        }
    };
    wanted == seen
        || floats != Floats::None
            && text(wanted).zip(text(seen)).is_some_and(|(a, b)| same_text(&a, &b, floats, true))
}

/// Equality of canonical answers; inside, only `text` is not compared as it stands.
fn equal(wanted: &Json, seen: &Json, floats: Floats) -> bool {
    match (wanted, seen) {
        // A call within an answer can fail too.
        (Json::Object(a), Json::Object(b))
            if a.contains_key("error") && b.contains_key("error") =>
        {
            compare_errors(&wanted["error"], &seen["error"]) != Verdict::Different
        }
        (Json::Object(a), Json::Object(b)) => {
            a.len() == b.len()
                && a.iter().all(|(name, wanted)| {
                    b.get(name).is_some_and(|seen| match (name.as_str(), wanted, seen) {
                        // The value of a case, or a text by class: floats may have other digits.
                        ("text" | "str", Json::String(wanted), Json::String(seen)) => {
                            same_text(wanted, seen, floats, name == "text")
                        }
                        ("bytes", Json::String(wanted), Json::String(seen)) => {
                            same_bytes(wanted, seen, floats)
                        }
                        _ => equal(wanted, seen, floats),
                    })
                })
        }
        (Json::Array(a), Json::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b, floats))
        }
        _ => wanted == seen,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn verdict(wanted: Json, seen: Json) -> Verdict {
        compare(&json!({}), &wanted, &seen)
    }

    #[test]
    fn classes_and_numbers_count_and_forms_do_not() {
        for (a, b) in [
            (json!({"value": {"f32": 0.1}}), json!({"value": {"f32": 0.100000001}})),
            (json!({"value": {"f64": 1}}), json!({"value": {"f64": 1.0}})),
            (json!({"value": {"bytes": "AQ=="}}), json!({"value": {"bytebuffer": "AQ=="}})),
            (
                json!({"value": {"map": [[{"str": "a"}, null], [{"str": "b"}, {"i8": 1}]]}}),
                json!({"value": {"map": [[{"str": "b"}, {"i8": 1}], [{"str": "a"}, null]]}}),
            ),
            (json!({"schema": "int8"}), json!({"schema": {"type": "int8"}})),
            (
                json!({"schema": {"type": "int8", "parameters": {"a": "1", "b": "2"}}}),
                json!({"schema": {"parameters": {"b": "2", "a": "1"}, "type": "int8"}}),
            ),
            (json!({"text": "{\"a\": 1, \"b\": 2}"}), json!({"text": "{\"b\":2,\"a\":1}"})),
        ] {
            assert_eq!(verdict(a, b), Verdict::Same);
        }
        for (a, b) in [
            (json!({"value": {"i8": 1}}), json!({"value": {"i16": 1}})),
            (json!({"value": {"f64": 0}}), json!({"value": {"f64": "-0.0"}})),
            (json!({"value": {"decimal": ["10", 1]}}), json!({"value": {"decimal": ["1", 0]}})),
            (json!({"value": {"list": [{"i8": 1}]}}), json!({"value": {"list": []}})),
            (json!({"schema": "int8"}), json!({"schema": {"type": "int8", "optional": true}})),
            (json!({"text": "1"}), json!({"text": "1.0"})),
            (json!({"text": "12345678901234567890"}), json!({"text": "12345678901234567891"})),
            (json!({"text": "a"}), json!({"bytes": "YQ=="})),
        ] {
            assert_eq!(verdict(a, b), Verdict::Different);
        }
    }

    #[test]
    fn fields_and_headers_have_an_order() {
        let schema = |names: [&str; 2]| {
            let fields = names.map(|name| json!({"name": name, "schema": "int8"}));
            json!({"schema": {"type": "struct", "fields": fields}})
        };
        assert_eq!(verdict(schema(["a", "b"]), schema(["b", "a"])), Verdict::Different);
        let record = |names: [&str; 2]| {
            let headers = names.map(|name| json!({"key": name, "schema": null, "value": null}));
            json!({"record": {"headers": headers}})
        };
        assert_eq!(verdict(record(["a", "a"]), record(["a", "a"])), Verdict::Same);
        assert_eq!(verdict(record(["a", "b"]), record(["b", "a"])), Verdict::Different);
    }

    #[test]
    fn failures_are_compared_by_stage_and_class() {
        let error = |class: &str, message: &str, at: &str| json!({"error": {"class": class, "message": message, "at": at}});
        let data = crate::fault::DATA;
        let pointer = "java.lang.NullPointerException";
        for (wanted, seen, verdict) in [
            (error(data, "m", "apply"), error(data, "m", "apply"), Verdict::Same),
            (error(data, "m", "apply"), error(data, "n", "apply"), Verdict::OtherMessage),
            (error(pointer, "m", "apply"), error(data, "n", "apply"), Verdict::OtherMessage),
            (error(data, "m", "apply"), error(data, "m", "configure"), Verdict::Different),
            (error(data, "m", "apply"), error("a.B", "m", "apply"), Verdict::Different),
            (error(pointer, "m", "apply"), error("bug", "n", "apply"), Verdict::Different),
            (error(data, "m", "apply"), json!({"value": null}), Verdict::Different),
            (json!({"value": null}), error(data, "m", "apply"), Verdict::Different),
        ] {
            assert_eq!(compare(&json!({}), &wanted, &seen), verdict, "{wanted} {seen}");
        }
    }
}
