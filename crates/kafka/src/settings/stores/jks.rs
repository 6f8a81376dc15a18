//! Java's own key store format (JKS): the trusted certificates, and whether there are private keys.
//!
//! Layout (big endian): magic, version, number of entries; per entry a tag, an alias, a date and a
//! private key with its chain (tag 1) or a certificate (tag 2); at the end a SHA-1 digest over the
//! password, a fixed phrase and everything before.
//!
//! Invariant: every length is checked against the bytes that are there.

use super::digest::sha1;

/// What a JKS file has.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Jks {
    /// The trusted certificates as DER, in file order.
    pub(crate) certificates: Vec<Vec<u8>>,
    /// The aliases of private keys.
    pub(crate) private_keys: Vec<String>,
}

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
pub(crate) fn read(bytes: &[u8], password: Option<&str>) -> Result<Jks, String> {
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
                reader.take(length)?;
                for _ in 0..reader.number(4)? {
                    reader.certificate(version)?;
                }
                jks.private_keys.push(alias);
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

fn check_digest(body: &[u8], digest: &[u8], password: &str) -> Result<(), String> {
    let mut wide: Vec<u8> = password.encode_utf16().flat_map(u16::to_be_bytes).collect();
    let expected = sha1(&[&wide, PHRASE, body]);
    wide.fill(0);
    if expected.as_slice() == digest {
        return Ok(());
    }
    Err("keystore was tampered with, or password was incorrect".to_owned())
}
