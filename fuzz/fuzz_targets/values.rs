//! Text that says data, as headers do: what is read from text that was written is written alike.
#![no_main]

use data::{Value, values};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &str| {
    let text = Value::Text(input.to_owned());
    // Answers of any kind will do.
    let _ = values::convert_to_boolean(None, &text);
    let _ = values::convert_to_long(None, &text);
    let _ = values::convert_to_double(None, &text);
    let _ = values::convert_to_date(None, &text);
    let _ = values::convert_to_decimal(None, &text, 2);
    let Some((schema, value)) = values::parse_string(input) else { return };
    let schema = schema.expect("what is read has a schema");
    schema.validate(None, &value).ok();
    if matches!(value, Value::Text(_)) {
        assert_eq!(value, text, "text stays as it is");
        return;
    }
    let written = |value: &Value| {
        let mut out = Vec::new();
        values::write_string(Some(&schema), value, &mut out);
        String::from_utf8(out).expect("text is UTF-8")
    };
    let once = written(&value);
    // Escapes stay when text is read, and a float that is whole is read as an integer.
    let whole = once.as_bytes().windows(2).any(|pair| matches!(pair, [b'E', b'0'..=b'9']));
    if !once.contains('\\')
        && !once.contains(".0")
        && !whole
        && let Some((_, again)) = values::parse_string(&once)
    {
        assert_eq!(written(&again), once);
    }
});
