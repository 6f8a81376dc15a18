//! JSON in envelopes: what a converter has seen before, and what the fetch has left out, makes no
//! difference.
#![no_main]

use fuzz::{SEPARATOR, assert_same_row, batch, converter, decoded};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let make = || converter("JsonConverter", &[]).expect("its settings are right");
    let records: Vec<&[u8]> = input.split(|byte| *byte == SEPARATOR).collect();
    let mut knowing = make();
    let first = decoded(&mut *knowing, batch(records.iter().copied(), None));
    let prefix = knowing.value_prefix();
    let second = decoded(&mut *knowing, batch(records.iter().copied(), prefix));
    for (row, record) in records.iter().enumerate() {
        let alone = decoded(&mut *make(), batch([*record], None));
        assert_same_row((&first, row), (&alone, 0));
        assert_same_row((&second, row), (&alone, 0));
        assert_eq!(second.raw.value(row).as_deref(), Some(*record));
    }
});
