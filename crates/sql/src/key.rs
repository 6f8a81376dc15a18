//! Keys of rows as bytes: equal keys have equal bytes, and the order of bytes is the same in every
//! worker, so that transactions lock rows in one order.

use data::{Cell, Rows, decimal_to_text, write_json};

/// Appends the bytes of one key column. The kind follows the value, so that a run of columns can
/// only be read one way (from its end) and the first bytes are those that tell keys apart.
///
/// Numbers that are whole have one form, however the record writes them, text included: a column that
/// takes both stores the same of them, and a record without a value may have as text the key that rows
/// have as a number.
pub(crate) fn push_key(rows: &Rows, cell: Cell, out: &mut Vec<u8>) {
    let start = out.len();
    match cell {
        Cell::Null => out.push(b'0'),
        Cell::Bool(value) => out.extend_from_slice(&[u8::from(value), b'b']),
        Cell::Int(value, _) | Cell::Instant(value) => push_int(value, out),
        Cell::Float(value) => push_float(value, out),
        Cell::Float32(value) => push_float(f64::from(value), out),
        Cell::Number(span) => match rows.text(span).parse::<i64>() {
            Ok(value) => push_int(value, out),
            Err(_) => push_bytes(rows.bytes(span), b'n', out),
        },
        Cell::Text(span) => match whole_number(rows.bytes(span)) {
            Some(value) => push_int(value, out),
            None => push_bytes(rows.bytes(span), b't', out),
        },
        Cell::Bytes(span) => push_bytes(rows.bytes(span), b'y', out),
        Cell::Decimal { unscaled, scale } => {
            decimal_to_text(rows.bytes(unscaled), scale, out);
            let text = out.get(start..).and_then(|t| std::str::from_utf8(t).ok());
            match text.and_then(|t| t.parse::<i64>().ok()) {
                Some(value) => {
                    out.truncate(start);
                    push_int(value, out);
                }
                None => end(start, b'n', out),
            }
        }
        Cell::List(_) | Cell::Map(_) | Cell::Struct(_) | Cell::Json(_) => {
            write_json(rows, None, cell, out);
            end(start, b'j', out);
        }
    }
}

/// The first eight bytes as a number whose order agrees with that of the bytes.
pub(crate) fn prefix(key: &[u8]) -> u64 {
    let mut first = [0; 8];
    for (slot, byte) in first.iter_mut().zip(key) {
        *slot = *byte;
    }
    u64::from_be_bytes(first)
}

fn push_int(value: i64, out: &mut Vec<u8>) {
    // The sign bit is turned around, so that negative numbers come first.
    out.extend_from_slice(&((value as u64) ^ (1 << 63)).to_be_bytes());
    out.push(b'i');
}

/// The number that a text is, if a number would be written just so.
fn whole_number(text: &[u8]) -> Option<i64> {
    const LEN_MAX: usize = "-9223372036854775808".len();
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let plain = match digits.first()? {
        b'0' => text.len() == 1,
        first => first.is_ascii_digit() && text.len() <= LEN_MAX,
    };
    plain.then(|| std::str::from_utf8(text).ok()?.parse().ok())?
}

fn push_float(value: f64, out: &mut Vec<u8>) {
    // Below 2^53 every whole number has an exact form.
    if value.fract() == 0.0 && value.abs() < 9_007_199_254_740_992.0 {
        push_int(value as i64, out);
    } else {
        out.extend_from_slice(&value.to_bits().to_be_bytes());
        out.push(b'f');
    }
}

fn push_bytes(bytes: &[u8], kind: u8, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(bytes);
    end(start, kind, out);
}

fn end(start: usize, kind: u8, out: &mut Vec<u8>) {
    let len = (out.len() - start) as u32;
    out.extend_from_slice(&len.to_be_bytes());
    out.push(kind);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key(values: &[Cell], rows: &Rows) -> Vec<u8> {
        let mut out = Vec::new();
        for value in values {
            push_key(rows, *value, &mut out);
        }
        out
    }

    #[test]
    fn whole_numbers_have_one_form() {
        let mut rows = Rows::default();
        let text = rows.heap.put(b"42");
        let unscaled = rows.heap.put(&[42]);
        let expected = key(&[Cell::int(42)], &rows);
        for cell in [
            Cell::Number(text),
            Cell::Float(42.0),
            Cell::Float32(42.0),
            Cell::Decimal { unscaled, scale: 0 },
            Cell::Text(text),
        ] {
            assert_eq!(key(&[cell], &rows), expected, "{cell:?}");
        }
        // A column of text keeps these apart from the number.
        for other in ["042", "+42", "42.0", " 42", "-0", "", "-", "92233720368547758080"] {
            let other = Cell::Text(rows.heap.put(other.as_bytes()));
            assert!(key(&[other], &rows).ends_with(b"t"), "{other:?}");
        }
    }

    proptest! {
        #[test]
        fn different_keys_have_different_bytes(
            a in proptest::collection::vec(".{0,6}", 2),
            b in proptest::collection::vec(".{0,6}", 2),
        ) {
            let mut rows = Rows::default();
            let mut cells = |texts: &[String]| -> Vec<Cell> {
                texts.iter().map(|t| Cell::Text(rows.heap.put(t.as_bytes()))).collect()
            };
            let (x, y) = (cells(&a), cells(&b));
            prop_assert_eq!(key(&x, &rows) == key(&y, &rows), a == b);
        }

        #[test]
        fn numbers_sort_as_numbers(a: i64, b: i64) {
            let rows = Rows::default();
            let (x, y) = (key(&[Cell::int(a)], &rows), key(&[Cell::int(b)], &rows));
            prop_assert_eq!(x.cmp(&y), a.cmp(&b));
            prop_assert_eq!(prefix(&x).cmp(&prefix(&y)), a.cmp(&b));
        }
    }
}
