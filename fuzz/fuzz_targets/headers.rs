//! Text that says data, as headers carry it.
#![no_main]

use data::Cell;
use fuzz::{batch, converter, decoded};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let mut headers = converter("SimpleHeaderConverter", &[]).expect("it has no settings");
    let read = decoded(&mut *headers, batch([input], None));
    assert!(read.rejects.is_empty(), "every bytes are some data");

    // The converter keeps some texts unseen; they must be what the parser finds.
    let text = String::from_utf8_lossy(input);
    let parsed = data::values::parse_string(&text);
    let (schema, value) = parsed.unwrap_or((None, data::Value::Null));
    assert_eq!(read.values.schema(0), schema.as_ref());
    let cell = read.values.root(0);
    if let (Cell::Text(span), data::Value::Text(text)) = (cell, &value) {
        assert_eq!(read.values.text(span), text);
    } else {
        assert_eq!(cell.is_null(), value.is_null());
    }
    let mut written = api::Encoded::default();
    let errors = headers.encode(api::Topics::One("t"), &read.values, &mut written).unwrap();
    assert!(errors.is_empty(), "every data has a text");
});
