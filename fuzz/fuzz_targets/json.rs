//! JSON without schemas: compared with serde_json wherever that accepts the text.
#![no_main]

use fuzz::{SEPARATOR, assert_same_row, assert_survives, batch, converter, decoded, json};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

const PLAIN: &[(&str, &str)] = &[("schemas.enable", "false")];

fuzz_target!(|input: &[u8]| {
    let make = || converter("JsonConverter", PLAIN).expect("its settings are right");
    let records: Vec<&[u8]> = input.split(|byte| *byte == SEPARATOR).collect();
    let all = decoded(&mut *make(), batch(records.iter().copied(), None));
    for (row, record) in records.iter().enumerate() {
        let alone = decoded(&mut *make(), batch([*record], None));
        assert_same_row((&all, row), (&alone, 0));
        let ours = all.alive.is_alive(row).then(|| json(&all, row));
        if let Some(ours) = &ours {
            serde_json::from_str::<serde::de::IgnoredAny>(ours).map_or_else(
                |error| assert!(limits(&error), "not strict JSON: {error}: {ours}"),
                |_| (),
            );
        }
        if let Ok(theirs) = serde_json::from_slice::<Value>(record) {
            let ours = ours.expect("what serde_json reads is JSON");
            let ours: Value = serde_json::from_str(&ours).expect("strict JSON");
            assert!(same(&ours, &theirs), "{ours} is not {theirs}");
        }
    }
    assert_survives(&mut *make(), &mut *make(), &all);
});

/// Equal, but for zeros, which are negative to serde_json even where they are integers.
fn same(ours: &Value, theirs: &Value) -> bool {
    match (ours, theirs) {
        (Value::Number(a), Value::Number(b)) => {
            a == b || (a.as_f64(), b.as_f64()) == (Some(0.0), Some(0.0))
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            let pairs = || a.iter().zip(b);
            a.len() == b.len() && pairs().all(|((k, a), (l, b))| k == l && same(a, b))
        }
        _ => ours == theirs,
    }
}

/// Of serde_json, not of ours: depth 128, and numbers that are no double.
fn limits(error: &serde_json::Error) -> bool {
    let text = error.to_string();
    text.contains("recursion limit") || text.contains("number out of range")
}
