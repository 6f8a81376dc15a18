//! Avro's binary form of what has no parts.

/// An int or a long: zigzag, seven bits a byte, the lowest first.
#[inline]
pub(in crate::avro) fn put_long(value: i64, out: &mut Vec<u8>) {
    let mut rest = ((value << 1) ^ (value >> 63)) as u64;
    if rest < 0x80 {
        out.push(rest as u8);
        return;
    }
    let mut bytes = [0_u8; 10];
    let mut len = 0;
    for slot in &mut bytes {
        len += 1;
        if rest < 0x80 {
            *slot = rest as u8;
            break;
        }
        *slot = rest as u8 | 0x80;
        rest >>= 7;
    }
    out.extend_from_slice(bytes.get(..len).unwrap_or_default());
}

/// Text or bytes: the length before them.
#[inline]
pub(super) fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    put_long(bytes.len() as i64, out);
    out.extend_from_slice(bytes);
}

#[inline]
pub(super) fn put_float(value: f32, out: &mut Vec<u8>) {
    out.extend_from_slice(&value.to_le_bytes());
}

#[inline]
pub(super) fn put_double(value: f64, out: &mut Vec<u8>) {
    out.extend_from_slice(&value.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_zigzag_and_short() {
        let of = |value| {
            let mut out = Vec::new();
            put_long(value, &mut out);
            out
        };
        for (value, wanted) in [
            (0, &[0][..]),
            (-1, &[1]),
            (1, &[2]),
            (-64, &[0x7f]),
            (64, &[0x80, 1]),
            (i64::from(i32::MAX), &[0xfe, 0xff, 0xff, 0xff, 0x0f]),
            (i64::MIN, &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]),
        ] {
            assert_eq!(of(value), wanted, "{value}");
        }
    }
}
