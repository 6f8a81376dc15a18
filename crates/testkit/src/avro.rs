//! Values of Avro as bytes, written by hand, so that what is tested reads what it has not written.

/// The bytes of a message: in front of it the id of its schema, if there is one.
#[derive(Debug, Default)]
pub struct Avro(Vec<u8>);

impl Avro {
    /// A message with the id of a registry.
    pub fn of(id: i32) -> Avro {
        Avro([&[0], &id.to_be_bytes()[..]].concat())
    }

    /// An int or a long; also the number of a union's branch, or of an enum's symbol.
    pub fn long(mut self, value: i64) -> Avro {
        let mut rest = ((value << 1) ^ (value >> 63)) as u64;
        while rest >= 0x80 {
            self.0.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        self.0.push(rest as u8);
        self
    }

    /// A string.
    pub fn text(self, value: &str) -> Avro {
        self.bytes(value.as_bytes())
    }

    /// Bytes of any length.
    pub fn bytes(self, value: &[u8]) -> Avro {
        self.long(value.len() as i64).fixed(value)
    }

    /// Bytes as they are: of a fixed.
    pub fn fixed(mut self, value: &[u8]) -> Avro {
        self.0.extend_from_slice(value);
        self
    }

    /// A float.
    pub fn float(self, value: f32) -> Avro {
        self.fixed(&value.to_le_bytes())
    }

    /// The message.
    pub fn done(self) -> Vec<u8> {
        self.0
    }
}
