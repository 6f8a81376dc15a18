//! Key and trust store files: which form a file has, and the certificates in it.
//!
//! As in Java, the content decides between JKS and PKCS12, whatever `ssl.*.type` says. The digests
//! and the cipher here open store files that lie on this machine; connections use those of their
//! library.

mod aes;
mod der;
mod digest;
mod identity;
mod jks;
pub mod pem;
mod pkcs12;

pub use aes::WRONG_PASSWORD;
pub use identity::{Identity, identity, identity_of_pem, trusted};
pub use jks::read as read_jks;
pub use pkcs12::read as read_pkcs12;

/// The form of a store file, by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Jks,
    Jceks,
    Pkcs12,
    Pem,
    Unknown,
}

impl Form {
    /// The form of a file with this content.
    pub fn of(bytes: &[u8]) -> Form {
        match bytes {
            [0xFE, 0xED, 0xFE, 0xED, ..] => Form::Jks,
            [0xCE, 0xCE, 0xCE, 0xCE, ..] => Form::Jceks,
            // A DER sequence with a length of its own.
            [0x30, 0x80..=0x84, ..] => Form::Pkcs12,
            _ if bytes.windows(11).any(|window| window == b"-----BEGIN ") => Form::Pem,
            _ => Form::Unknown,
        }
    }
}
