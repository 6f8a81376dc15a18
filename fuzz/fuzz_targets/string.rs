//! Strings in every encoding: the first byte chooses one, the rest is the record.
#![no_main]

use fuzz::{assert_survives, batch, converter, decoded};
use libfuzzer_sys::fuzz_target;

const ENCODINGS: [&str; 12] = [
    "UTF-8",
    "ISO-8859-1",
    "US-ASCII",
    "UTF-16",
    "UTF-16BE",
    "UTF-16LE",
    "windows-1252",
    "UTF-32",
    "UTF-32LE",
    "X-UTF-32LE-BOM",
    "UnicodeLittle",
    "windows-1251",
];

fuzz_target!(|input: &[u8]| {
    let Some((choice, record)) = input.split_first() else { return };
    let encoding = ENCODINGS[usize::from(*choice) % ENCODINGS.len()];
    let settings = [("converter.encoding", encoding)];
    let make = || converter("StringConverter", &settings).expect("an encoding we know");
    let read = decoded(&mut *make(), batch([record], None));
    assert!(read.rejects.is_empty(), "every bytes are some text");
    let data::Cell::Text(span) = read.values.root(0) else { panic!("no text") };
    let text = std::str::from_utf8(read.values.bytes(span)).expect("text is UTF-8");
    // UTF-32 is read with and without a mark, and written without.
    if encoding.starts_with("UTF") && !encoding.starts_with("UTF-32") {
        assert_survives(&mut *make(), &mut *make(), &read);
    }
    if encoding == "UTF-8"
        && let Ok(record) = std::str::from_utf8(record)
    {
        assert_eq!(text, record);
    }
});
