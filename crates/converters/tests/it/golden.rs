//! Vectors recorded from Apache Kafka Connect 4.4.0, in both directions. A line is a case: what
//! went into the converter, and what came out.
//!
//! Where Connect loses data in silence, the case is in [`better`] and must show the better answer;
//! what cells cannot say at all is in [`INEXPRESSIBLE`].

use crate::notation::{canonical, cell, schema, written};
use crate::{batch, plugin};
use api::{Encoded, Side};
use base64::Engine;
use base64::alphabet;
use base64::engine::general_purpose::STANDARD;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use config::Props;
use data::Rows;
use serde_json::{Value, json};

/// Values of a Java class that a cell under a schema does not carry: the schema alone says it.
const INEXPRESSIBLE: [&str; 3] = [
    "to-json-mismatch-long-as-int",
    "to-json-mismatch-double-as-float",
    "to-json-date-wrong-class",
];

/// Numbers beyond 64 bits are written as they were read; Connect cannot write them.
const WRITTEN_ANYWAY: [&str; 2] = ["to-json-schemaless-bigint", "to-json-schemaless-plain-bigint"];

/// One case's last base64 letter has bits that mean nothing.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// What is demanded instead of Connect's answer, where that one loses data; `None`: a data error.
fn better(id: &str) -> Option<Option<Value>> {
    let value = match id {
        "from-json-plain-too-long" => json!({"bigint": "9223372036854775808"}),
        "from-json-plain-huge" => json!({"bigint": "123456789012345678901234567890"}),
        "from-json-plain-lone-surrogate" => json!({"str": "\u{fffd}"}),
        "from-json-boolean-given-true" => json!({"bool": true}),
        "from-json-int64-given-big" => json!({"i64": 99_999_999_999_999_i64}),
        "from-json-Decimal-given-int" => json!({"decimal": ["500", 2]}),
        "from-json-Decimal-given-big" => json!({"decimal": ["999999999999900", 2]}),
        "from-json-Decimal-given-float" => json!({"decimal": ["150", 2]}),
        "from-json-Decimal-given-zero" => json!({"decimal": ["0", 2]}),
        "from-json-decimal-number-trailing-zeros" => json!({"decimal": ["150", 2]}),
        "from-json-decimal-number-neg" => json!({"decimal": ["0", 2]}),
        "from-json-struct-absent-rnd-false" => {
            json!({"struct": {"a": {"str": "d"}, "r": {"i32": 3}, "q": {"i32": 2},
                "n": {"struct": {"b": {"i32": 7}}}}})
        }
        "from-json-struct-extra-rnd-false" => {
            json!({"struct": {"a": {"str": "d"}, "r": {"i32": 3}, "q": {"i32": 2}}})
        }
        "from-json-struct-n-null-rnd-false" => {
            json!({"struct": {"a": {"str": "d"}, "r": {"i32": 3}, "q": {"i32": 1}}})
        }
        "from-json-optional-defaults-absent-rnd-false" => {
            json!({"struct": {"a": {"str": "d"}, "n": {"struct": {"b": {"i32": 7}}}}})
        }
        "from-json-optional-defaults-empty-rnd-false" => json!({"struct": {"a": {"str": "d"}}}),
        "from-json-plain-two-values"
        | "from-json-schema-default-wrong"
        | "from-json-decimal-number-long"
        | "from-json-decimal-no-scale"
        | "to-json-decimal-no-scale"
        | "string-from-connect-bytes"
        | "string-from-connect-buffer"
        | "string-header-from-connect-bytes" => return Some(None),
        id => {
            let (kind, given) = id.strip_prefix("from-json-")?.split_once("-given-")?;
            let lost = match kind {
                "int8" | "int16" | "int32" => true,
                "int64" => given != "big",
                "float" | "double" => !matches!(given, "float" | "big"),
                "boolean" => given != "true",
                "string" => !matches!(given, "word" | "text"),
                "bytes" => !matches!(given, "word" | "text"),
                _ => false,
            };
            return lost.then_some(None);
        }
    };
    Some(Some(value))
}

fn cases(file: &str) -> Vec<Value> {
    file.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Runs every case of a file and fails with all that differ.
fn run(file: &str) {
    let cases = cases(file);
    let mut wrong = Vec::new();
    for case in &cases {
        let id = case["id"].as_str().unwrap();
        if INEXPRESSIBLE.contains(&id) || WRITTEN_ANYWAY.contains(&id) {
            continue;
        }
        let seen = answer(case);
        if let Err(difference) = compare(id, &case["output"], &seen) {
            wrong.push(format!("{id}: {difference}"));
        }
    }
    assert!(!cases.is_empty());
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

fn fault(class: &str, message: &str) -> Value {
    json!({"error": {"class": class, "message": message}})
}

fn answer(case: &Value) -> Value {
    const DATA: &str = "org.apache.kafka.connect.errors.DataException";
    let input = &case["input"];
    let props: Props = input["config"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(key, value)| (key.clone(), value.as_str().unwrap().to_owned()))
        .collect();
    let side = if input["use"] == "key" { Side::Key } else { Side::Value };
    let mut converter = match (plugin(input["class"].as_str().unwrap()).make)(&props, side) {
        Ok(converter) => converter,
        Err(error) => return fault("configuration", &error.message),
    };
    if case["op"] == "converter.toConnectData" {
        let bytes = match (input["text"].as_str(), input["bytes"].as_str()) {
            (Some(text), _) => Some(text.as_bytes().to_vec()),
            (None, bytes) => bytes.map(|bytes| LENIENT.decode(bytes).unwrap()),
        };
        let mut batch = batch(&[bytes.as_deref()]);
        converter.decode(side, &mut batch);
        let rows = if side == Side::Key { &batch.keys } else { &batch.values };
        assert_eq!(rows.len(), 1);
        if let Some(reject) = batch.rejects.first() {
            return fault(&reject.exception, &reject.message);
        }
        let schema = rows.schema(0).map(AsRef::as_ref);
        return json!({
            "schema": format!("{schema:?}"),
            "value": canonical(&written(rows, schema, rows.root(0))),
        });
    }
    let schema = schema(&input["schema"]);
    let mut rows = Rows::default();
    let cell = cell(&mut rows, schema.as_deref(), &input["value"]);
    rows.push(schema.as_ref(), cell);
    let mut out = Encoded::default();
    let errors = converter.encode(&rows, &mut out);
    assert_eq!(out.spans.len(), 1);
    if let Some(error) = errors.first() {
        assert_eq!(out.get(0), None);
        return fault(DATA, &error.message);
    }
    match out.get(0) {
        Some(bytes) => json!({"bytes": STANDARD.encode(bytes)}),
        None => json!({"bytes": null}),
    }
}

fn compare(id: &str, wanted: &Value, seen: &Value) -> Result<(), String> {
    match better(id) {
        Some(None) => {
            return if seen.get("error").is_some() { Ok(()) } else { Err(format!("{seen}")) };
        }
        Some(Some(value)) => {
            let same = seen["value"] == canonical(&value);
            return if same { Ok(()) } else { Err(format!("{seen}, better is {value}")) };
        }
        None => {}
    }
    if let Some(error) = wanted.get("error") {
        let message = error["message"].as_str().unwrap();
        let (class, text) = (&seen["error"]["class"], seen["error"]["message"].as_str());
        let text = text.ok_or_else(|| format!("{seen}, wanted {error}"))?;
        // Behind a syntax error's text stands what is wrong, and where.
        let same = text == message || message.ends_with(": ") && text.starts_with(message);
        let class_is_right = *class == error["class"] || error["at"] == "configure";
        return if same && class_is_right {
            Ok(())
        } else {
            Err(format!("{seen}, wanted {error}"))
        };
    }
    if let Some(value) = wanted.get("value") {
        let schema = format!("{:?}", schema(&wanted["schema"]).as_deref());
        let same = seen["schema"] == schema && seen["value"] == canonical(value);
        return if same { Ok(()) } else { Err(format!("{seen}, wanted {wanted}")) };
    }
    let bytes = seen["bytes"].as_str().map(|bytes| STANDARD.decode(bytes).unwrap());
    let wanted_bytes = match wanted["text"].as_str() {
        Some(text) => Some(text.as_bytes().to_vec()),
        None => wanted["bytes"].as_str().map(|bytes| STANDARD.decode(bytes).unwrap()),
    };
    if bytes == wanted_bytes {
        return Ok(());
    }
    // The digits of floats may differ where the numbers do not.
    let parsed = |bytes: &Option<Vec<u8>>| {
        bytes.as_ref().and_then(|bytes| serde_json::from_slice::<Value>(bytes).ok())
    };
    match (parsed(&bytes), parsed(&wanted_bytes)) {
        (Some(seen), Some(wanted)) if seen == wanted => Ok(()),
        _ => Err(format!(
            "{:?}, wanted {wanted}",
            bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        )),
    }
}

#[test]
fn json_converter_answers_as_connect_does() {
    run(include_str!("../testdata/json-converter.jsonl"));
}

#[test]
fn string_and_byte_array_converters_answer_as_connect_does() {
    run(include_str!("../testdata/simple-converters.jsonl"));
}

#[test]
fn numbers_of_any_size_are_written_as_they_were_read() {
    for case in cases(include_str!("../testdata/json-converter.jsonl")) {
        if WRITTEN_ANYWAY.contains(&case["id"].as_str().unwrap()) {
            assert!(answer(&case)["bytes"].is_string());
        }
    }
}
