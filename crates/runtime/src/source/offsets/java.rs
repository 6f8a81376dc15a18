//! Reads the offset file that Kafka Connect's standalone mode writes: one serialised Java
//! `HashMap<byte[], byte[]>`, as the Java Object Serialization Specification lays it out.
//!
//! Bytes from outside: every length is checked against what is left, and nothing else of the format is
//! understood than such a map needs.

/// How a file of Java's begins: magic and version.
const HEADER: [u8; 4] = [0xAC, 0xED, 0x00, 0x05];

const NULL: u8 = 0x70;
const REFERENCE: u8 = 0x71;
const CLASS: u8 = 0x72;
const OBJECT: u8 = 0x73;
const ARRAY: u8 = 0x75;
const BLOCK: u8 = 0x77;
const END_BLOCK: u8 = 0x78;
const FIRST_HANDLE: u32 = 0x7E_0000;

/// Entries of the map; a null value is an offset that was forgotten.
pub(super) type Entries = Vec<(Vec<u8>, Option<Vec<u8>>)>;

/// Whether a file begins as Java's do.
pub(super) fn is_java(bytes: &[u8]) -> bool {
    bytes.starts_with(&HEADER)
}

/// The entries of the map; `None` where the bytes are none.
pub(super) fn read(bytes: &[u8]) -> Option<Entries> {
    let mut stream = Stream { rest: bytes.strip_prefix(&HEADER)?, handles: Vec::new() };
    if stream.byte()? != OBJECT || stream.class()? != "java.util.HashMap" {
        return None;
    }
    stream.handles.push(Known::Other);
    // The load factor and the threshold, then what the map wrote itself: buckets and size.
    stream.take(8)?;
    if stream.byte()? != BLOCK || stream.byte()? != 8 {
        return None;
    }
    stream.take(4)?;
    let size = stream.number()?;
    let mut entries = Vec::new();
    for _ in 0..size {
        let key = stream.bytes()?;
        let value = stream.bytes()?;
        if let Some(key) = key {
            entries.push((key, value));
        }
    }
    (stream.byte()? == END_BLOCK).then_some(entries)
}

/// What a handle of the stream refers to.
enum Known {
    Class(String),
    Bytes(Vec<u8>),
    Other,
}

struct Stream<'a> {
    rest: &'a [u8],
    handles: Vec<Known>,
}

impl<'a> Stream<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    fn number(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    fn text(&mut self) -> Option<String> {
        let len = u16::from_be_bytes(self.take(2)?.try_into().ok()?);
        Some(String::from_utf8_lossy(self.take(len.into())?).into_owned())
    }

    fn known(&mut self) -> Option<&Known> {
        let handle = self.number()?.checked_sub(FIRST_HANDLE)?;
        self.handles.get(handle as usize)
    }

    /// A class's description; only fields of primitive types are understood.
    fn class(&mut self) -> Option<String> {
        match self.byte()? {
            REFERENCE => match self.known()? {
                Known::Class(name) => Some(name.clone()),
                _ => None,
            },
            CLASS => {
                let name = self.text()?;
                self.take(8)?;
                self.handles.push(Known::Class(name.clone()));
                let _flags = self.byte()?;
                let fields = u16::from_be_bytes(self.take(2)?.try_into().ok()?);
                for _ in 0..fields {
                    let kind = self.byte()?;
                    self.text()?;
                    if matches!(kind, b'[' | b'L') {
                        return None;
                    }
                }
                let closed = self.byte()? == END_BLOCK && self.byte()? == NULL;
                closed.then_some(name)
            }
            _ => None,
        }
    }

    /// An array of bytes; the inner `None` is a null.
    fn bytes(&mut self) -> Option<Option<Vec<u8>>> {
        match self.byte()? {
            NULL => Some(None),
            REFERENCE => match self.known()? {
                Known::Bytes(bytes) => Some(Some(bytes.clone())),
                _ => None,
            },
            ARRAY => {
                if self.class()? != "[B" {
                    return None;
                }
                let place = self.handles.len();
                self.handles.push(Known::Other);
                let len = self.number()? as usize;
                let bytes = self.take(len)?.to_vec();
                if let Some(slot) = self.handles.get_mut(place) {
                    *slot = Known::Bytes(bytes.clone());
                }
                Some(Some(bytes))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine;

    /// Written by Java 17: two entries with offsets, one with a null, and the value of one again under
    /// a second key.
    const FILE: &str = include_str!("testdata/java-offsets.base64");

    fn file() -> Vec<u8> {
        let text: String = FILE.split_whitespace().collect();
        base64::engine::general_purpose::STANDARD.decode(text).unwrap()
    }

    #[test]
    fn a_map_that_java_wrote_is_read() {
        let bytes = file();
        assert!(is_java(&bytes));
        let mut entries = read(&bytes).unwrap();
        entries.sort();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let seen: Vec<(String, Option<String>)> =
            entries.iter().map(|(k, v)| (text(k), v.as_deref().map(text))).collect();
        let entry = |k: &str, v: Option<&str>| (k.to_owned(), v.map(str::to_owned));
        assert_eq!(
            seen,
            [
                entry(r#"["a",{"filename":"/tmp/a"}]"#, Some(r#"{"position":30}"#)),
                entry(r#"["b",{"filename":"/tmp/b"}]"#, Some(r#"{"position":7}"#)),
                entry(r#"["c",{"filename":"/tmp/c"}]"#, None),
                entry(r#"["d",{"filename":"/tmp/d"}]"#, Some(r#"{"position":30}"#)),
            ]
        );
    }

    #[test]
    fn damaged_files_are_refused_and_never_panic() {
        let bytes = file();
        for end in 0..bytes.len() {
            assert_eq!(read(&bytes[..end]), None, "cut at {end}");
        }
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut damaged = bytes.clone();
                damaged[at] ^= 1 << bit;
                let _any = read(&damaged);
            }
        }
    }
}
