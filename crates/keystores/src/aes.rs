//! AES decryption in CBC mode, for the certificates of PKCS12 files.
//!
//! Plain table look-ups: fit for a file that is read once, not for secrets on a wire.

const BLOCK: usize = 16;

struct Tables {
    forward: [u8; 256],
    inverse: [u8; 256],
}

/// What is said when the deciphered bytes make no sense.
pub const WRONG_PASSWORD: &str = "keystore password was incorrect, or the file is damaged";

/// Decrypts and takes the padding off.
///
/// # Errors
/// The key's length is not one of AES, or the padding is wrong: another password, or damage.
pub(super) fn decrypt_cbc(key: &[u8], iv: &[u8], data: &[u8]) -> Result<Vec<u8>, String> {
    let tables = tables();
    let mut before: [u8; BLOCK] =
        iv.try_into().map_err(|_| "the initialisation vector is not 16 bytes long".to_owned())?;
    if ![16, 24, 32].contains(&key.len()) {
        return Err(format!("a key of {} bytes is not one of AES", key.len()));
    }
    if data.is_empty() || !data.len().is_multiple_of(BLOCK) {
        return Err(WRONG_PASSWORD.to_owned());
    }
    let round_keys = expand(key, &tables);
    let mut plain = Vec::with_capacity(data.len());
    for chunk in data.chunks_exact(BLOCK) {
        let mut block = [0; BLOCK];
        block.copy_from_slice(chunk);
        let cipher = block;
        decrypt_block(&mut block, &round_keys, &tables);
        xor(&mut block, &before);
        plain.extend_from_slice(&block);
        before = cipher;
    }
    let padding = plain.last().copied().map_or(0, usize::from);
    let length = plain.len().checked_sub(padding).filter(|_| (1..=BLOCK).contains(&padding));
    let length = length.ok_or_else(|| WRONG_PASSWORD.to_owned())?;
    let (_, tail) = plain.split_at(length);
    if tail.iter().any(|byte| usize::from(*byte) != padding) {
        return Err(WRONG_PASSWORD.to_owned());
    }
    plain.truncate(length);
    Ok(plain)
}

fn xor(block: &mut [u8; BLOCK], with: &[u8; BLOCK]) {
    for (byte, other) in block.iter_mut().zip(with) {
        *byte ^= other;
    }
}

/// Twice a number of the field GF(2^8).
fn double(byte: u8) -> u8 {
    byte << 1 ^ if byte & 0x80 != 0 { 0x1B } else { 0 }
}

fn multiply(mut a: u8, mut b: u8) -> u8 {
    let mut product = 0;
    while b != 0 {
        if b & 1 != 0 {
            product ^= a;
        }
        a = double(a);
        b >>= 1;
    }
    product
}

/// The substitution and its inverse, computed from the field's inverses.
fn tables() -> Tables {
    let mut tables = Tables { forward: [0; 256], inverse: [0; 256] };
    let (mut number, mut reciprocal) = (1_u8, 1_u8);
    loop {
        // Times three, and the reciprocal divided by three.
        number ^= double(number);
        reciprocal ^= reciprocal << 1;
        reciprocal ^= reciprocal << 2;
        reciprocal ^= reciprocal << 4;
        if reciprocal & 0x80 != 0 {
            reciprocal ^= 0x09;
        }
        let turned = (1..5).fold(reciprocal, |sum, by| sum ^ reciprocal.rotate_left(by));
        tables.forward[usize::from(number)] = turned ^ 0x63;
        if number == 1 {
            break;
        }
    }
    tables.forward[0] = 0x63;
    for byte in 0..=255_u8 {
        let to = tables.forward[usize::from(byte)];
        tables.inverse[usize::from(to)] = byte;
    }
    tables
}

fn expand(key: &[u8], tables: &Tables) -> Vec<[u8; BLOCK]> {
    let length = key.len() / 4;
    let rounds = length + 7;
    let mut words: Vec<[u8; 4]> =
        key.chunks_exact(4).map(|word| [word[0], word[1], word[2], word[3]]).collect();
    let mut constant = 1;
    let substitute = |word: [u8; 4]| word.map(|byte| tables.forward[usize::from(byte)]);
    for at in length..rounds * 4 {
        let mut word = words[at - 1];
        if at % length == 0 {
            word.rotate_left(1);
            word = substitute(word);
            word[0] ^= constant;
            constant = double(constant);
        } else if length > 6 && at % length == 4 {
            word = substitute(word);
        }
        for (byte, other) in word.iter_mut().zip(words[at - length]) {
            *byte ^= other;
        }
        words.push(word);
    }
    words
        .chunks_exact(4)
        .map(|four| {
            let mut key = [0; BLOCK];
            key.copy_from_slice(&four.concat());
            key
        })
        .collect()
}

fn decrypt_block(block: &mut [u8; BLOCK], round_keys: &[[u8; BLOCK]], tables: &Tables) {
    let last = round_keys.len() - 1;
    for (round, key) in round_keys.iter().enumerate().rev() {
        if round < last {
            // Rows move right by their number; columns are the four bytes in sequence.
            let old = *block;
            for (at, byte) in block.iter_mut().enumerate() {
                let row = at % 4;
                let from = old[(at + BLOCK - 4 * row) % BLOCK];
                *byte = tables.inverse[usize::from(from)];
            }
        }
        xor(block, key);
        if round > 0 && round < last {
            for column in block.chunks_exact_mut(4) {
                mix(column);
            }
        }
    }
}

/// The inverse mixing of a column.
fn mix(column: &mut [u8]) {
    let old = column.to_vec();
    for (row, byte) in column.iter_mut().enumerate() {
        *byte = [14, 11, 13, 9]
            .iter()
            .enumerate()
            .fold(0, |sum, (step, factor)| sum ^ multiply(old[(row + step) % 4], *factor));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        let digits: Vec<char> = hex.chars().collect();
        let byte = |pair: &[char]| u8::from_str_radix(&pair.iter().collect::<String>(), 16);
        digits.chunks(2).map(|pair| byte(pair).unwrap()).collect()
    }

    /// The example vectors of FIPS 197: one block each.
    #[test]
    fn published_vectors() {
        let plain = bytes("00112233445566778899aabbccddeeff");
        let key = bytes("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f");
        let ciphers = [
            (16, "69c4e0d86a7b0430d8cdb78070b4c55a"),
            (24, "dda97ca4864cdfe06eaf70a0ec0d7191"),
            (32, "8ea2b7ca516745bfeafc49904b496089"),
        ];
        for (length, cipher) in ciphers {
            let tables = tables();
            let mut block: [u8; BLOCK] = bytes(cipher).try_into().unwrap();
            decrypt_block(&mut block, &expand(&key[..length], &tables), &tables);
            assert_eq!(block.to_vec(), plain, "{length}");
        }
    }

    #[test]
    fn wrong_padding_and_lengths_are_refused() {
        let key = [0; 32];
        for data in [vec![], vec![0; 15], vec![0; 16]] {
            let error = decrypt_cbc(&key, &[0; 16], &data).unwrap_err();
            assert!(error.contains("password was incorrect"), "{error}");
        }
        assert!(decrypt_cbc(&[0; 5], &[0; 16], &[0; 16]).unwrap_err().contains("5 bytes"));
        assert!(decrypt_cbc(&key, &[0; 3], &[0; 16]).unwrap_err().contains("16 bytes"));
    }
}
