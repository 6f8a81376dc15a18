//! Decimal numbers as text.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &str| {
    let Some((unscaled, scale)) = data::decimal_from_text(input) else { return };
    let mut text = Vec::new();
    data::decimal_to_text(&unscaled, scale, &mut text);
    let text = String::from_utf8(text).expect("digits");
    let (again, own) = data::decimal_from_text(&text).expect("digits and a point");
    if scale >= 0 {
        assert_eq!((again, own), (unscaled, scale));
    } else {
        assert_eq!(own, 0);
    }
});
