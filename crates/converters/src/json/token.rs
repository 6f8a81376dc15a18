//! A member's name in the bytes that producers write, made ready for comparison.
//!
//! Most names with quotes and colon have at most 16 bytes: two words under masks, instead of a call
//! for each member of each record.

/// A name, quoted and with its colon.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Token {
    bytes: Box<[u8]>,
    /// The first 16 bytes, and which of their bits count.
    word: u128,
    mask: u128,
}

impl Token {
    pub(crate) fn new(bytes: &[u8]) -> Token {
        let (mut word, mut mask) = ([0; 16], [0; 16]);
        for ((word, mask), byte) in word.iter_mut().zip(&mut mask).zip(bytes) {
            (*word, *mask) = (*byte, 0xff);
        }
        Token {
            bytes: bytes.into(),
            word: u128::from_le_bytes(word),
            mask: u128::from_le_bytes(mask),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether `rest` begins with the token.
    #[inline]
    pub(crate) fn begins(&self, rest: &[u8]) -> bool {
        match rest.first_chunk::<16>() {
            Some(chunk) => {
                (u128::from_le_bytes(*chunk) ^ self.word) & self.mask == 0
                    && (self.bytes.len() <= 16 || rest.starts_with(&self.bytes))
            }
            None => rest.starts_with(&self.bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_of_every_length_are_compared_to_their_end() {
        let text = "\"abcdefghijklmnopqrstuvwxyz\":123456789012345678901234567890";
        for len in 1..text.len() {
            let token = Token::new(&text.as_bytes()[..len]);
            assert!(token.begins(text.as_bytes()));
            for changed in 0..text.len() {
                let mut other = text.as_bytes().to_vec();
                other[changed] ^= 1;
                assert_eq!(token.begins(&other), changed >= len, "{len} {changed}");
            }
            assert!(!token.begins(&text.as_bytes()[..len - 1]));
        }
    }
}
