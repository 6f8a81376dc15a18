//! Avro's binary form of what has no parts.

/// An int or a long: zigzag, seven bits a byte, the lowest first.
#[inline]
pub(in crate::avro) fn put_long(value: i64, out: &mut Vec<u8>) {
    let rest = ((value << 1) ^ (value >> 63)) as u64;
    if rest < 0x80 {
        out.push(rest as u8);
    } else if rest < 1 << 56 {
        // Eight bytes at once, and those taken back that are none of it.
        let (spread, len) = spread(rest);
        let start = out.len();
        out.extend_from_slice(&spread.to_le_bytes());
        out.truncate(start + len);
    } else {
        put_longest(rest, out);
    }
}

/// The bytes of a number of up to 56 bits, the first lowest, and how many they are.
#[inline]
fn spread(rest: u64) -> (u64, usize) {
    let len = (63 - (rest | 1).leading_zeros() as usize) / 7 + 1;
    let x = (rest & 0x00ff_ffff_f000_0000) << 4 | rest & 0x0fff_ffff;
    let x = (x & 0x0fff_c000_0fff_c000) << 2 | x & 0x0000_3fff_0000_3fff;
    let x = (x & 0x3f80_3f80_3f80_3f80) << 1 | x & 0x007f_007f_007f_007f;
    let all_but_last = (1_u64 << (8 * (len - 1))) - 1;
    (x | 0x8080_8080_8080_8080 & all_but_last, len)
}

fn put_longest(mut rest: u64, out: &mut Vec<u8>) {
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
