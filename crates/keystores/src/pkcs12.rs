//! PKCS12 stores: the trusted certificates, or a private key with its own.
//!
//! Reads what `keytool` of Java 9 and later and OpenSSL 3 write: bags in the clear or encrypted with
//! PBES2 (PBKDF2 with HMAC-SHA1 or -SHA256, AES-CBC). Of a store with private keys only certificates
//! that Java marked as trusted count; of a store without keys all do.

use super::aes::decrypt_cbc;
use super::der::{Der, EXPLICIT_0, IMPLICIT_0, INTEGER, OBJECT, OCTETS, SEQUENCE, SET};
use super::digest::Hash;
use super::identity::Identity;

// Object identifiers, as DER has them.
const PKCS7_DATA: &[u8] = &[0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 7, 1];
const PKCS7_ENCRYPTED: &[u8] = &[0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 7, 6];
const PBES2: &[u8] = &[0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 5, 13];
const PBKDF2: &[u8] = &[0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 5, 12];
const HMAC_SHA1: &[u8] = &[0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 2, 7];
const HMAC_SHA256: &[u8] = &[0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 2, 9];
const AES_PREFIX: &[u8] = &[0x60, 0x86, 0x48, 1, 0x65, 3, 4, 1];
const BAGS_PREFIX: &[u8] = &[0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 12, 10, 1];
const X509: &[u8] = &[0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 9, 22, 1];
/// Oracle's mark of a trusted certificate, 2.16.840.1.113894.746875.1.1.
const TRUSTED: &[u8] = &[0x60, 0x86, 0x48, 1, 0x86, 0xF9, 0x66, 0xAD, 0xCA, 0x7B, 1, 1];

/// A store must not make the worker hash for minutes.
const MAX_ROUNDS: u32 = 1_000_000;

/// What the bags of a file hold.
#[derive(Default)]
struct Found {
    trusted: Vec<Vec<u8>>,
    other: Vec<Vec<u8>>,
    /// Private keys, and whether they are encrypted.
    keys: Vec<(bool, Vec<u8>)>,
}

/// The trusted certificates of a file as DER, in file order.
///
/// # Errors
/// The file is damaged, the password is another one or missing, or the file is protected with
/// ciphers of old Java versions.
pub fn read(bytes: &[u8], password: Option<&str>) -> Result<Vec<Vec<u8>>, String> {
    let found = open(bytes, password)?;
    let has_keys = !found.keys.is_empty();
    Ok(if found.trusted.is_empty() && !has_keys { found.other } else { found.trusted })
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
    let found = match open(bytes, password) {
        Err(_) if password.is_none() => {
            return Err("ssl.keystore.password must be set to read the store".to_owned());
        }
        other => other?,
    };
    let [(encrypted, key)] = found.keys.as_slice() else {
        return Err(format!("the store has {} private keys; one is needed", found.keys.len()));
    };
    let key = match (encrypted, key_password) {
        (false, _) => key.clone(),
        (true, Some(password)) => decrypt_key(key, password)?,
        (true, None) => {
            return Err("ssl.keystore.password must be set to read the store".to_owned());
        }
    };
    Ok(Identity { key, chain: found.other })
}

/// The private key inside an encrypted one (PKCS8).
///
/// # Errors
/// It is damaged, or the password is another one.
pub(super) fn decrypt_key(der: &[u8], password: &str) -> Result<Vec<u8>, String> {
    let mut encrypted = Der(der).inside(SEQUENCE)?;
    let algorithm = encrypted.inside(SEQUENCE)?;
    decrypt_pbes2(algorithm, encrypted.take(OCTETS)?, password)
}

fn open(bytes: &[u8], password: Option<&str>) -> Result<Found, String> {
    let mut file = Der(bytes).inside(SEQUENCE)?;
    file.take(INTEGER)?;
    let mut content = file.inside(SEQUENCE)?;
    if content.take(OBJECT)? != PKCS7_DATA {
        return Err("the file is protected with a public key, which is not supported".to_owned());
    }
    let safe = content.inside(EXPLICIT_0)?.take(OCTETS)?;
    let mut parts = Der(safe).inside(SEQUENCE)?;
    let mut found = Found::default();
    while !parts.is_empty() {
        let mut part = parts.inside(SEQUENCE)?;
        let kind = part.take(OBJECT)?;
        let mut body = part.inside(EXPLICIT_0)?;
        if kind == PKCS7_DATA {
            read_bags(body.take(OCTETS)?, &mut found)?;
        } else if kind == PKCS7_ENCRYPTED {
            read_bags(&decrypt(body.inside(SEQUENCE)?, password)?, &mut found)?;
        } else {
            return Err("a part of the file has a form that is not supported".to_owned());
        }
    }
    Ok(found)
}

fn decrypt(mut data: Der<'_>, password: Option<&str>) -> Result<Vec<u8>, String> {
    let password = password.ok_or("ssl.truststore.password must be set to read the store")?;
    data.take(INTEGER)?;
    let mut content = data.inside(SEQUENCE)?;
    content.take(OBJECT)?;
    let algorithm = content.inside(SEQUENCE)?;
    decrypt_pbes2(algorithm, content.take(IMPLICIT_0)?, password)
}

fn decrypt_pbes2(mut algorithm: Der<'_>, data: &[u8], password: &str) -> Result<Vec<u8>, String> {
    const OLD: &str = "the store is protected with a cipher of old Java versions; write it again \
                       with a newer keytool (-importkeystore -deststoretype PKCS12)";
    if algorithm.take(OBJECT)? != PBES2 {
        return Err(OLD.to_owned());
    }
    let mut schemes = algorithm.inside(SEQUENCE)?;
    let mut derivation = schemes.inside(SEQUENCE)?;
    let mut cipher = schemes.inside(SEQUENCE)?;
    let name = cipher.take(OBJECT)?;
    // The last number of AES's identifiers: CBC with keys of 16, 24 and 32 bytes.
    let length = match name.strip_prefix(AES_PREFIX) {
        Some([2]) => 16,
        Some([22]) => 24,
        Some([42]) => 32,
        _ => return Err(OLD.to_owned()),
    };
    let iv = cipher.take(OCTETS)?;
    if derivation.take(OBJECT)? != PBKDF2 {
        return Err("the store's key is derived in a way that is not supported".to_owned());
    }
    let key = derive(derivation.inside(SEQUENCE)?, password, length)?;
    decrypt_cbc(&key, iv, data)
}

fn derive(mut parameters: Der<'_>, password: &str, length: usize) -> Result<Vec<u8>, String> {
    let salt = parameters.take(OCTETS)?;
    let rounds = parameters.number()?;
    if rounds == 0 || rounds > MAX_ROUNDS {
        return Err(format!("the store asks for {rounds} rounds of hashing; damaged?"));
    }
    if parameters.peek() == Some(INTEGER) {
        parameters.take(INTEGER)?;
    }
    let hash = if parameters.is_empty() {
        Hash::Sha1
    } else {
        match parameters.inside(SEQUENCE)?.take(OBJECT)? {
            name if name == HMAC_SHA1 => Hash::Sha1,
            name if name == HMAC_SHA256 => Hash::Sha256,
            _ => return Err("the store's key is derived with a hash that is not supported".into()),
        }
    };
    Ok(hash.pbkdf2(password.as_bytes(), salt, rounds, length))
}

fn read_bags(bytes: &[u8], found: &mut Found) -> Result<(), String> {
    let mut bags = Der(bytes).inside(SEQUENCE)?;
    while !bags.is_empty() {
        let mut bag = bags.inside(SEQUENCE)?;
        let kind = bag.take(OBJECT)?;
        let mut value = bag.inside(EXPLICIT_0)?;
        // The last number: 1 and 2 are keys, 3 a certificate; lists and secrets do not matter.
        match kind.strip_prefix(BAGS_PREFIX) {
            Some([kind @ (1 | 2)]) => found.keys.push((*kind == 2, value.0.to_owned())),
            Some([3]) => {
                let mut certificate = value.inside(SEQUENCE)?;
                if certificate.take(OBJECT)? != X509 {
                    continue;
                }
                let der = certificate.inside(EXPLICIT_0)?.take(OCTETS)?.to_owned();
                if is_trusted(bag)? {
                    found.trusted.push(der);
                } else {
                    found.other.push(der);
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether the attributes at the end of a bag have Java's mark.
fn is_trusted(mut bag: Der<'_>) -> Result<bool, String> {
    if bag.is_empty() {
        return Ok(false);
    }
    let mut attributes = bag.inside(SET)?;
    while !attributes.is_empty() {
        if attributes.inside(SEQUENCE)?.take(OBJECT)? == TRUSTED {
            return Ok(true);
        }
    }
    Ok(false)
}
