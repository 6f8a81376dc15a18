//! Property files.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &str| {
    // Each value is found again when its key and it are written with every character escaped.
    let Ok(props) = config::properties::parse(input) else { return };
    let escaped = |text: &str| -> String {
        text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect()
    };
    let text: String =
        props.iter().map(|(key, value)| format!("{}={}\n", escaped(key), escaped(value))).collect();
    let again = config::properties::parse(&text).expect("nothing but escapes");
    assert!(props.iter().eq(again.iter()));
});
