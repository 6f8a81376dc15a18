//! Whether bytes are text.

/// The highest bit of each byte.
const HIGH: u64 = 0x8080_8080_8080_8080;

/// Whether bytes are UTF-8. Most texts are short and ASCII; that is seen without a call.
#[inline(always)]
pub(crate) fn is_utf8(bytes: &[u8]) -> bool {
    is_ascii(bytes) || std::str::from_utf8(bytes).is_ok()
}

#[inline(always)]
fn is_ascii(bytes: &[u8]) -> bool {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut seen = words.iter().fold(0, |seen, word| seen | u64::from_ne_bytes(*word));
    // Words and bytes may be looked at twice.
    match (bytes.last_chunk::<8>(), rest.first_chunk::<4>(), rest.last_chunk::<4>()) {
        (Some(last), _, _) => seen |= u64::from_ne_bytes(*last),
        (None, Some(first), Some(last)) => {
            seen |= u64::from(u32::from_ne_bytes(*first) | u32::from_ne_bytes(*last));
        }
        _ => seen = rest.iter().fold(seen, |seen, byte| seen | u64::from(*byte)),
    }
    seen & HIGH == 0
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
