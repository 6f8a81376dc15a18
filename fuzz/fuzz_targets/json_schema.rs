//! Schemas, and payloads under them: the first part of the input is the schema, the others are
//! payloads.
#![no_main]

use fuzz::{SEPARATOR, assert_same_row, assert_survives, batch, converter, decoded};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let mut parts = input.split(|byte| *byte == SEPARATOR);
    let schema = parts.next().unwrap_or_default();
    let payloads: Vec<&[u8]> = parts.collect();
    let envelopes: Vec<Vec<u8>> = payloads
        .iter()
        .map(|payload| [b"{\"schema\":", schema, b",\"payload\":", payload, b"}"].concat())
        .collect();
    let make = || converter("JsonConverter", &[]).expect("its settings are right");
    let read = decoded(&mut *make(), batch(envelopes.iter().map(Vec::as_slice), None));
    assert_survives(&mut *make(), &mut *make(), &read);

    // The same schema as a setting, for payloads without envelope.
    let Ok(schema) = std::str::from_utf8(schema) else { return };
    let Ok(mut fixed) = converter("JsonConverter", &[("schema.content", schema)]) else { return };
    let bare = decoded(&mut *fixed, batch(payloads.iter().copied(), None));
    for row in 0..payloads.len() {
        if read.alive.is_alive(row) && bare.alive.is_alive(row) {
            assert_same_row((&read, row), (&bare, row));
        }
    }
});
