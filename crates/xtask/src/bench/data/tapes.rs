//! The yardsticks: JSON parsers of others that build nothing but their own notes of where things are.
//!
//! They get what they ask for, and what that costs is counted: a copy to write in, bytes behind the
//! end. Their buffers are kept from record to record.

use std::hint::black_box;

use simd_json::{Buffers, INPUT_PADDING, Tape, fill_tape_padded};
use sonic_rs::{LazyValue, Value};

use super::case::Case;
use super::records::Fetched;

pub(super) const NOTE: &str = "simd-json writes into its input, so each record is copied into a \
     buffer with room behind it. The lazy value has looked at no more than brackets and quotes, and \
     is no yardstick: it does not know a number from a word.";

pub(super) fn simd_json(fetched: Fetched) -> Case {
    let mut buffers = Buffers::new(1024);
    let mut input = Vec::new();
    let mut nodes = Tape(Vec::new());
    Case::new("simd-json, tape", fetched.bytes, fetched.records, move || {
        fetched.each_value(|value| {
            input.clear();
            input.extend_from_slice(value);
            input.resize(value.len() + INPUT_PADDING, 0);
            let mut tape = std::mem::replace(&mut nodes, Tape(Vec::new())).reset();
            let read = fill_tape_padded(&mut input, value.len(), &mut buffers, &mut tape);
            assert!(read.is_ok() && !tape.0.is_empty(), "a benchmark's record is JSON");
            black_box(&tape);
            nodes = tape.reset();
        });
    })
}

pub(super) fn sonic(fetched: Fetched) -> Case {
    Case::new("sonic-rs, value", fetched.bytes, fetched.records, move || {
        fetched.each_value(|value| {
            let read = sonic_rs::from_slice::<Value>(value);
            assert!(read.is_ok(), "a benchmark's record is JSON");
            let _read = black_box(read);
        });
    })
}

pub(super) fn sonic_lazy(fetched: Fetched) -> Case {
    Case::new("sonic-rs, lazy value", fetched.bytes, fetched.records, move || {
        fetched.each_value(|value| {
            let read = sonic_rs::from_slice::<LazyValue<'_>>(value);
            assert!(read.is_ok(), "a benchmark's record is JSON");
            let _read = black_box(read);
        });
    })
}
