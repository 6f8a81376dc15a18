//! How bytes name their schema: Confluent's wire formats.
//!
//! A magic byte 0 and a big-endian id of four bytes, or a magic byte 1 and a guid of sixteen; before
//! the payload, or in the header `__key_schema_id` or `__value_schema_id`.

use crate::SchemaId;
use std::fmt;

/// The header that has the id of a key's schema.
pub const KEY_HEADER: &str = "__key_schema_id";
/// The header that has the id of a value's schema.
pub const VALUE_HEADER: &str = "__value_schema_id";

const MAGIC_ID: u8 = 0;
const MAGIC_GUID: u8 = 1;

/// Why bytes do not name a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unframed {
    /// Shorter than a frame: as many bytes.
    Short(usize),
    /// So many bytes behind a magic byte 1, which stands for a guid.
    ShortGuid(usize),
    /// Another first byte, of so many.
    Magic(u8),
}

impl fmt::Display for Unframed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unframed::Short(len) => write!(
                f,
                "{len} bytes are too short for a magic byte and the id of a schema: the record was \
                 not written with a Schema Registry"
            ),
            Unframed::ShortGuid(len) => write!(
                f,
                "the magic byte 0x01 stands for a guid of 16 bytes, and {len} follow it: the record was \
                 not written with a Schema Registry, or was cut off"
            ),
            Unframed::Magic(byte) => write!(
                f,
                "unknown magic byte {byte:#04x}: the record was not written with a Schema Registry"
            ),
        }
    }
}

/// The id at the head of these bytes, and the rest of them.
///
/// # Errors
/// The bytes begin otherwise.
#[inline]
pub fn read(bytes: &[u8]) -> Result<(SchemaId, &[u8]), Unframed> {
    let short = Unframed::Short(bytes.len());
    match bytes.split_first().ok_or(short)? {
        (&MAGIC_ID, rest) => {
            let (id, payload) = rest.split_first_chunk::<4>().ok_or(short)?;
            Ok((SchemaId::Id(i32::from_be_bytes(*id)), payload))
        }
        (&MAGIC_GUID, rest) => {
            let short = Unframed::ShortGuid(rest.len());
            let (guid, payload) = rest.split_first_chunk::<16>().ok_or(short)?;
            Ok((SchemaId::Guid(*guid), payload))
        }
        (&other, _) => Err(Unframed::Magic(other)),
    }
}

/// The bytes that name the schema of this id.
pub fn head(id: i32) -> [u8; 5] {
    let [a, b, c, d] = id.to_be_bytes();
    [MAGIC_ID, a, b, c, d]
}

/// Appends the head that names a schema.
pub fn write(id: SchemaId, out: &mut Vec<u8>) {
    match id {
        SchemaId::Id(id) => out.extend_from_slice(&head(id)),
        SchemaId::Guid(guid) => {
            out.push(MAGIC_GUID);
            out.extend_from_slice(&guid);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_guids_come_back_with_the_payload() {
        for id in [SchemaId::Id(1), SchemaId::Id(i32::MAX), SchemaId::Guid([7; 16])] {
            let mut bytes = Vec::new();
            write(id, &mut bytes);
            bytes.extend_from_slice(b"payload");
            assert_eq!(read(&bytes), Ok((id, &b"payload"[..])));
        }
    }

    #[test]
    fn anything_else_is_told() {
        assert_eq!(read(b""), Err(Unframed::Short(0)));
        assert_eq!(read(b"\0\0\0\x01"), Err(Unframed::Short(4)));
        assert_eq!(read(&[1; 16]), Err(Unframed::ShortGuid(15)));
        assert!(Unframed::ShortGuid(4).to_string().contains("guid of 16 bytes, and 4 follow"));
        assert_eq!(read(b"{\"a\":1}"), Err(Unframed::Magic(b'{')));
        assert!(Unframed::Magic(b'{').to_string().contains("0x7b"));
    }
}
