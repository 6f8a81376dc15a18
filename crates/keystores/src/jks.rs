//! Java's own key store format (JKS): the trusted certificates and the private keys.
//!
//! Layout (big endian): magic, version, number of entries; per entry a tag, an alias, a date and a
//! private key with its chain (tag 1) or a certificate (tag 2); at the end a SHA-1 digest over the
//! password, a fixed phrase and everything before.
//!
//! Invariant: every length is checked against the bytes that are there.

use super::aes::WRONG_PASSWORD;
use super::der::{Der, OBJECT, OCTETS, SEQUENCE};
use super::digest::sha1;
use super::identity::Identity;

/// What a JKS file has.
#[derive(Debug, PartialEq, Eq)]
pub struct Jks {
    /// The trusted certificates as DER, in file order.
    pub certificates: Vec<Vec<u8>>,
    /// The private keys, still encrypted, each with its certificates.
    private_keys: Vec<(Vec<u8>, Vec<Vec<u8>>)>,
}

/// Sun's own way to protect a key, 1.3.6.1.4.1.42.2.17.1.1.
const KEY_PROTECTOR: &[u8] = &[0x2B, 6, 1, 4, 1, 0x2A, 2, 0x11, 1, 1];

const MAGIC: u32 = 0xFEED_FEED;
/// What Sun put between password and data.
const PHRASE: &[u8] = b"Mighty Aphrodite";
const DIGEST_BYTES: usize = 20;

struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], String> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or("the file is cut off")?;
        self.rest = rest;
        Ok(taken)
    }

    fn number(&mut self, bytes: usize) -> Result<u64, String> {
        let taken = self.take(bytes)?;
        Ok(taken.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn length(&mut self, bytes: usize) -> Result<usize, String> {
        usize::try_from(self.number(bytes)?).map_err(|_| "the file is cut off".to_owned())
    }

    fn text(&mut self) -> Result<String, String> {
        let length = self.length(2)?;
        Ok(String::from_utf8_lossy(self.take(length)?).into_owned())
    }

    fn certificate(&mut self, version: u64) -> Result<Vec<u8>, String> {
        if version >= 2 {
            let kind = self.text()?;
            if kind != "X.509" {
                return Err(format!("a certificate is of kind {kind}; X.509 is expected"));
            }
        }
        let length = self.length(4)?;
        Ok(self.take(length)?.to_owned())
    }
}

/// Reads a JKS file; with a password, its digest is checked.
///
/// # Errors
/// The file is damaged, or the password is another one.
pub fn read(bytes: &[u8], password: Option<&str>) -> Result<Jks, String> {
    let body_length = bytes.len().checked_sub(DIGEST_BYTES).ok_or("the file is cut off")?;
    let (body, digest) = bytes.split_at(body_length);
    if let Some(password) = password {
        check_digest(body, digest, password)?;
    }
    let mut reader = Reader { rest: body };
    if reader.number(4)? != u64::from(MAGIC) {
        return Err("the file is not a JKS store".to_owned());
    }
    let version = reader.number(4)?;
    if !(1..=2).contains(&version) {
        return Err(format!("the file has JKS version {version}; 1 and 2 are known"));
    }
    let entries = reader.number(4)?;
    let mut jks = Jks { certificates: Vec::new(), private_keys: Vec::new() };
    for _ in 0..entries {
        let tag = reader.number(4)?;
        let alias = reader.text()?;
        reader.take(8)?;
        match tag {
            1 => {
                let length = reader.length(4)?;
                let key = reader.take(length)?.to_owned();
                let mut chain = Vec::new();
                for _ in 0..reader.number(4)? {
                    chain.push(reader.certificate(version)?);
                }
                jks.private_keys.push((key, chain));
            }
            2 => jks.certificates.push(reader.certificate(version)?),
            _ => return Err(format!("the entry {alias} has the unknown tag {tag}")),
        }
    }
    if !reader.rest.is_empty() {
        return Err("there are bytes after the last entry".to_owned());
    }
    Ok(jks)
}

/// The private key of a file and its certificates.
///
/// # Errors
/// As for [`read`]; or there is no key, or more than one.
pub(super) fn identity(
    bytes: &[u8],
    password: Option<&str>,
    key_password: Option<&str>,
) -> Result<Identity, String> {
    let jks = read(bytes, password)?;
    let [(key, chain)] = jks.private_keys.as_slice() else {
        return Err(match jks.private_keys.len() {
            0 => "the store has no private key".to_owned(),
            count => format!("the store has {count} private keys; one is needed"),
        });
    };
    let password = key_password.ok_or("ssl.keystore.password must be set to read the store")?;
    let mut encrypted = Der(key).inside(SEQUENCE)?;
    if encrypted.inside(SEQUENCE)?.take(OBJECT)? != KEY_PROTECTOR {
        return Err("the private key is protected in a way that is not known".to_owned());
    }
    let key = unprotect(encrypted.take(OCTETS)?, password)?;
    Ok(Identity { key, chain: chain.clone() })
}

/// Undoes Sun's protection: 20 bytes of salt, the key under a stream of digests that begins with the
/// salt's, and a digest by which a wrong password shows.
fn unprotect(bytes: &[u8], password: &str) -> Result<Vec<u8>, String> {
    let damaged = || "the private key is damaged".to_owned();
    let (salt, rest) = bytes.split_at_checked(DIGEST_BYTES).ok_or_else(damaged)?;
    let length = rest.len().checked_sub(DIGEST_BYTES).ok_or_else(damaged)?;
    let (hidden, check) = rest.split_at(length);
    let mut wide: Vec<u8> = password.encode_utf16().flat_map(u16::to_be_bytes).collect();
    let mut stream = salt.to_vec();
    let mut key = Vec::with_capacity(length);
    for chunk in hidden.chunks(DIGEST_BYTES) {
        stream = sha1(&[&wide, &stream]);
        key.extend(chunk.iter().zip(&stream).map(|(byte, mask)| byte ^ mask));
    }
    let right = sha1(&[&wide, &key]).as_slice() == check;
    wide.fill(0);
    if right { Ok(key) } else { Err(WRONG_PASSWORD.to_owned()) }
}

fn check_digest(body: &[u8], digest: &[u8], password: &str) -> Result<(), String> {
    let mut wide: Vec<u8> = password.encode_utf16().flat_map(u16::to_be_bytes).collect();
    let expected = sha1(&[&wide, PHRASE, body]);
    wide.fill(0);
    if expected.as_slice() == digest {
        return Ok(());
    }
    Err("keystore was tampered with, or password was incorrect".to_owned())
}
