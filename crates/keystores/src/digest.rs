//! SHA-1 and SHA-256, HMAC and PBKDF2 over them: what store files are protected with.

/// A hash function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hash {
    Sha1,
    Sha256,
}

const BLOCK_BYTES: usize = 64;

/// The SHA-1 digest of several pieces, one after the other.
pub(super) fn sha1(pieces: &[&[u8]]) -> Vec<u8> {
    Hash::Sha1.digest(pieces)
}

/// A state between blocks.
type State = [u32; 8];

/// A password, hashed as far as it goes: what HMAC has in front of the message and around it.
struct Hmac {
    hash: Hash,
    inner: State,
    outer: State,
}

impl Hash {
    fn start(self) -> State {
        match self {
            Hash::Sha1 => {
                [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0, 0, 0, 0]
            }
            Hash::Sha256 => [
                0x6A09_E667,
                0xBB67_AE85,
                0x3C6E_F372,
                0xA54F_F53A,
                0x510E_527F,
                0x9B05_688C,
                0x1F83_D9AB,
                0x5BE0_CD19,
            ],
        }
    }

    fn compress(self, state: &mut State, block: &[u8]) {
        match self {
            Hash::Sha1 => compress_sha1(state, block),
            Hash::Sha256 => compress_sha256(state, block),
        }
    }

    fn digest(self, pieces: &[&[u8]]) -> Vec<u8> {
        self.finish(self.start(), 0, pieces)
    }

    /// The digest of the pieces after `before` bytes that `state` has seen already.
    fn finish(self, mut state: State, before: usize, pieces: &[&[u8]]) -> Vec<u8> {
        let mut message: Vec<u8> = pieces.concat();
        // A length in bits beyond 64 bits cannot be in memory.
        let bits = ((before + message.len()) as u64).wrapping_mul(8);
        message.push(0x80);
        while message.len() % BLOCK_BYTES != BLOCK_BYTES - 8 {
            message.push(0);
        }
        message.extend_from_slice(&bits.to_be_bytes());
        for block in message.chunks_exact(BLOCK_BYTES) {
            self.compress(&mut state, block);
        }
        let words = if self == Hash::Sha1 { 5 } else { 8 };
        state.iter().take(words).flat_map(|word| word.to_be_bytes()).collect()
    }

    fn hmac(self, key: &[u8]) -> Hmac {
        let short = if key.len() > BLOCK_BYTES { self.digest(&[key]) } else { key.to_vec() };
        let padded = |with: u8| {
            let mut pad = [with; BLOCK_BYTES];
            for (to, byte) in pad.iter_mut().zip(&short) {
                *to ^= byte;
            }
            let mut state = self.start();
            self.compress(&mut state, &pad);
            state
        };
        Hmac { hash: self, inner: padded(0x36), outer: padded(0x5C) }
    }

    /// A key of `length` bytes from a password, by PBKDF2.
    pub(super) fn pbkdf2(
        self,
        password: &[u8],
        salt: &[u8],
        rounds: u32,
        length: usize,
    ) -> Vec<u8> {
        let hmac = self.hmac(password);
        let mut key = Vec::new();
        let mut block = 1_u32;
        while key.len() < length {
            let mut last = hmac.of(&[salt, &block.to_be_bytes()]);
            let mut sum = last.clone();
            for _ in 1..rounds {
                last = hmac.of(&[&last]);
                for (to, byte) in sum.iter_mut().zip(&last) {
                    *to ^= byte;
                }
            }
            key.extend_from_slice(&sum);
            block += 1;
        }
        key.truncate(length);
        key
    }
}

impl Hmac {
    fn of(&self, pieces: &[&[u8]]) -> Vec<u8> {
        let inside = self.hash.finish(self.inner, BLOCK_BYTES, pieces);
        self.hash.finish(self.outer, BLOCK_BYTES, &[&inside])
    }
}

/// The message words of a block, extended to `N` by `next`, which sees the words so far.
fn schedule<const N: usize>(block: &[u8], next: impl Fn(&[u32; N], usize) -> u32) -> [u32; N] {
    let mut words = [0; N];
    for (word, bytes) in words.iter_mut().zip(block.chunks_exact(4)) {
        *word = bytes.iter().fold(0, |word, byte| word << 8 | u32::from(*byte));
    }
    for at in 16..N {
        words[at] = next(&words, at);
    }
    words
}

fn compress_sha1(state: &mut [u32; 8], block: &[u8]) {
    let words: [u32; 80] = schedule(block, |words, at| {
        (words[at - 3] ^ words[at - 8] ^ words[at - 14] ^ words[at - 16]).rotate_left(1)
    });
    let [mut a, mut b, mut c, mut d, mut e, ..] = *state;
    for (round, word) in words.into_iter().enumerate() {
        let (mix, constant) = match round {
            0..20 => (b & c | !b & d, 0x5A82_7999),
            20..40 => (b ^ c ^ d, 0x6ED9_EBA1),
            40..60 => (b & c | b & d | c & d, 0x8F1B_BCDC),
            _ => (b ^ c ^ d, 0xCA62_C1D6_u32),
        };
        let next = a
            .rotate_left(5)
            .wrapping_add(mix)
            .wrapping_add(e)
            .wrapping_add(constant)
            .wrapping_add(word);
        (e, d, c, b, a) = (d, c, b.rotate_left(30), a, next);
    }
    for (word, add) in state.iter_mut().zip([a, b, c, d, e]) {
        *word = word.wrapping_add(add);
    }
}

fn compress_sha256(state: &mut [u32; 8], block: &[u8]) {
    let words: [u32; 64] = schedule(block, |words, at| {
        let (near, far) = (words[at - 2], words[at - 15]);
        let near = near.rotate_right(17) ^ near.rotate_right(19) ^ near >> 10;
        let far = far.rotate_right(7) ^ far.rotate_right(18) ^ far >> 3;
        near.wrapping_add(words[at - 7]).wrapping_add(far).wrapping_add(words[at - 16])
    });
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
    for (word, constant) in words.into_iter().zip(SHA256_CONSTANTS) {
        let high = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
        let first = h
            .wrapping_add(high)
            .wrapping_add(e & f ^ !e & g)
            .wrapping_add(constant)
            .wrapping_add(word);
        let low = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
        let second = low.wrapping_add(a & b ^ a & c ^ b & c);
        (h, g, f, e, d, c, b, a) =
            (g, f, e, d.wrapping_add(first), c, b, a, first.wrapping_add(second));
    }
    for (word, add) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
        *word = word.wrapping_add(add);
    }
}

#[rustfmt::skip]
const SHA256_CONSTANTS: [u32; 64] = [
    0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4,
    0xab1c_5ed5, 0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe,
    0x9bdc_06a7, 0xc19b_f174, 0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f,
    0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da, 0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7,
    0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967, 0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc,
    0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85, 0xa2bf_e8a1, 0xa81a_664b,
    0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070, 0x19a4_c116,
    0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
    0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7,
    0xc671_78f2,
];

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    const LONG: &[u8] = b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";

    #[test]
    fn published_vectors_of_sha1() {
        assert_eq!(hex(&sha1(&[b""])), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
        assert_eq!(hex(&sha1(&[b"a", b"bc"])), "a9993e364706816aba3e25717850c26c9cd0d89d");
        assert_eq!(hex(&sha1(&[LONG])), "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
    }

    #[test]
    fn published_vectors_of_sha256() {
        assert_eq!(
            hex(&Hash::Sha256.digest(&[b"abc"])),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert_eq!(
            hex(&Hash::Sha256.digest(&[LONG])),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        );
    }

    /// RFC 6070 and the vectors in the same form for SHA-256.
    #[test]
    fn published_vectors_of_pbkdf2() {
        let key = Hash::Sha1.pbkdf2(b"password", b"salt", 2, 20);
        assert_eq!(hex(&key), "ea6c014dc72d6f8ccd1ed92ace1d41f0d8de8957");
        // A password longer than a block, a key longer than a digest.
        let key = Hash::Sha1.pbkdf2(&b"passwordPASSWORDpassword".repeat(3), b"saltSALTsalt", 3, 32);
        assert_eq!(hex(&key), "7c2e3cc0abcea38ff2691236a70d3615379707badd0196f6dfe51b30dc49e510");
        let key = Hash::Sha256.pbkdf2(b"password", b"salt", 2, 32);
        assert_eq!(hex(&key), "ae4d0c95af6b46d32d0adff928f06dd02a303f8ef3c251dfd6e2d85a95474c43");
    }
}
