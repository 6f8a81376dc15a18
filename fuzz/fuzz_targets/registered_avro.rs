//! Avro schemas, and values under them: the first part of the input is the schema, the others are
//! values. What a record was read as does not hang on the records before it.
#![no_main]

use converters::inline;
use fuzz::{SEPARATOR, assert_same_row, batch, decoded};
use libfuzzer_sys::fuzz_target;
use registry::Kind;

fuzz_target!(|input: &[u8]| {
    let mut parts = input.split(|byte| *byte == SEPARATOR);
    let Ok(schema) = std::str::from_utf8(parts.next().unwrap_or_default()) else { return };
    let values: Vec<&[u8]> = parts.collect();
    let props = config::Props::new();
    let Ok(mut first) = inline(Kind::Avro, schema, &props) else { return };
    let make = || inline(Kind::Avro, schema, &props).expect("it was one a moment ago");
    let read = decoded(&mut *first, batch(values.iter().copied(), None));
    for (row, value) in values.iter().enumerate() {
        let alone = decoded(&mut *make(), batch([*value], None));
        assert_same_row((&read, row), (&alone, 0));
    }
});
