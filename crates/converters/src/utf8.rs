//! Whether bytes are text.

/// The highest bit of each byte.
const HIGH: u128 = 0x8080_8080_8080_8080_8080_8080_8080_8080;

/// Whether bytes are UTF-8. Most texts are short and ASCII; that is seen without a call.
#[inline(always)]
pub(crate) fn is_utf8(bytes: &[u8]) -> bool {
    is_ascii(bytes) || std::str::from_utf8(bytes).is_ok()
}

/// Sixteen bytes at once where there are as many; some may be looked at twice.
#[inline(always)]
fn is_ascii(bytes: &[u8]) -> bool {
    let Some(last) = bytes.last_chunk::<16>() else { return is_ascii_short(bytes) };
    let (blocks, _) = bytes.as_chunks::<16>();
    let last = u128::from_ne_bytes(*last);
    blocks.iter().fold(last, |seen, block| seen | u128::from_ne_bytes(*block)) & HIGH == 0
}

/// The same of fewer than sixteen.
#[inline(always)]
fn is_ascii_short(bytes: &[u8]) -> bool {
    if let (Some(first), Some(last)) = (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
        return (u64::from_ne_bytes(*first) | u64::from_ne_bytes(*last)) & HIGH as u64 == 0;
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        return (u32::from_ne_bytes(*first) | u32::from_ne_bytes(*last)) & HIGH as u32 == 0;
    }
    match (bytes.first(), bytes.get(bytes.len() / 2), bytes.last()) {
        (Some(first), Some(middle), Some(last)) => (first | middle | last).is_ascii(),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_high_byte_is_seen_wherever_it_is() {
        for len in 0..40 {
            let mut bytes = vec![b'a'; len];
            assert!(is_ascii(&bytes) && is_utf8(&bytes), "{len}");
            for at in 0..len {
                bytes[at] = 0x80;
                assert!(!is_ascii(&bytes) && !is_utf8(&bytes), "{len} {at}");
                bytes[at] = b'a';
            }
        }
    }

    #[test]
    fn text_beyond_ascii_is_text() {
        for text in ["ä", "aä", "aaaaaaaä", "日本語日本語日本語"] {
            assert!(is_utf8(text.as_bytes()));
            assert!(!is_utf8(&text.as_bytes()[..text.len() - 1]));
        }
    }
}
