//! The bytes of a Protobuf message: tags, varints, fixed numbers and lengths, each checked.
//!
//! Invariants: a cursor never leaves the part of the payload that it was given; every error says what
//! is wrong at which byte of the payload; nothing here allocates.

use super::fault::Fault;

/// How a field's value is delimited on the wire.
pub(super) const VARINT: u8 = 0;
pub(super) const FIXED64: u8 = 1;
pub(super) const BYTES: u8 = 2;
pub(super) const GROUP_START: u8 = 3;
pub(super) const GROUP_END: u8 = 4;
pub(super) const FIXED32: u8 = 5;

/// The highest field number there is.
pub(super) const NUMBER_MAX: u32 = (1 << 29) - 1;

/// Messages and groups inside one another, at most.
pub(super) const DEPTH_MAX: usize = 256;

/// A place in a payload, and the end of the message that is read there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    pos: usize,
}

impl<'a> Cursor<'a> {
    /// At byte `pos` of a payload whose message ends where `bytes` ends.
    pub(super) fn new(bytes: &'a [u8], pos: usize) -> Cursor<'a> {
        Cursor { bytes, pos: pos.min(bytes.len()) }
    }

    pub(super) fn pos(&self) -> usize {
        self.pos
    }

    pub(super) fn at_end(&self) -> bool {
        self.pos >= self.bytes.len()
    }

    /// # Errors
    /// The number does not end before the message, or has more than 64 bits.
    #[inline]
    pub(super) fn varint(&mut self) -> Result<u64, Fault> {
        match self.bytes.get(self.pos) {
            Some(&byte) if byte < 0x80 => {
                self.pos += 1;
                Ok(u64::from(byte))
            }
            _ => self.long_varint(),
        }
    }

    fn long_varint(&mut self) -> Result<u64, Fault> {
        let start = self.pos;
        let mut value = 0_u64;
        for (index, &byte) in self.bytes.get(start..).unwrap_or_default().iter().enumerate() {
            let part = u64::from(byte & 0x7f);
            if index == 9 && byte > 1 {
                return Err(Fault::at("a number has more than 64 bits", start));
            }
            value |= part << (7 * index);
            if byte < 0x80 {
                self.pos = start + index + 1;
                return Ok(value);
            }
        }
        Err(Fault::at("the message ends within a number", start))
    }

    /// A field's number and wire type.
    ///
    /// # Errors
    /// A number that no field can have, a wire type that does not exist.
    #[inline]
    pub(super) fn tag(&mut self) -> Result<(u32, u8), Fault> {
        let start = self.pos;
        let tag = self.varint()?;
        let (number, wire) = (tag >> 3, (tag & 7) as u8);
        if number == 0 || number > u64::from(NUMBER_MAX) {
            return Err(Fault::at("a field has a number that is out of range", start));
        }
        if wire > FIXED32 {
            return Err(Fault::at("a field has a wire type that does not exist", start));
        }
        Ok((number as u32, wire))
    }

    /// # Errors
    /// The message ends before.
    pub(super) fn fixed32(&mut self) -> Result<u32, Fault> {
        self.array().map(u32::from_le_bytes)
    }

    /// # Errors
    /// The message ends before.
    pub(super) fn fixed64(&mut self) -> Result<u64, Fault> {
        self.array().map(u64::from_le_bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let found = self.bytes.get(self.pos..).and_then(<[u8]>::first_chunk::<N>);
        let found = found.ok_or_else(|| Fault::at("the message ends within a number", self.pos))?;
        self.pos += N;
        Ok(*found)
    }

    /// Passes what has its length in front, and gives a cursor over it.
    ///
    /// # Errors
    /// It is longer than what is left of the message.
    #[inline]
    pub(super) fn part(&mut self) -> Result<Cursor<'a>, Fault> {
        let start = self.pos;
        let len = self.varint()?;
        let rest = self.bytes.len().saturating_sub(self.pos);
        if len > rest as u64 {
            let what = format!("a length of {len} is more than the {rest} bytes that are left");
            return Err(Fault::at(&what, start));
        }
        let from = self.pos;
        self.pos += len as usize;
        Ok(Cursor { bytes: self.bytes.get(..self.pos).unwrap_or_default(), pos: from })
    }

    /// Everything from here to the end of the message.
    #[inline]
    pub(super) fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.pos..).unwrap_or_default()
    }

    /// Passes the value of a field that nobody knows.
    ///
    /// # Errors
    /// What is wrong with it; groups nested deeper than the limit.
    pub(super) fn skip(&mut self, number: u32, wire: u8, depth: usize) -> Result<(), Fault> {
        match wire {
            VARINT => self.varint().map(drop),
            FIXED64 => self.fixed64().map(drop),
            BYTES => self.part().map(drop),
            FIXED32 => self.fixed32().map(drop),
            GROUP_START if depth < DEPTH_MAX => loop {
                let start = self.pos;
                match self.tag()? {
                    (end, GROUP_END) if end == number => return Ok(()),
                    (_, GROUP_END) => return Err(stray_end(start)),
                    (number, wire) => self.skip(number, wire, depth + 1)?,
                }
            },
            GROUP_START => Err(too_deep(self.pos)),
            _ => Err(stray_end(self.pos)),
        }
    }
}

/// The fault of a group's end without its beginning.
#[cold]
pub(super) fn stray_end(at: usize) -> Fault {
    Fault::at("the end of a group that did not begin", at)
}

#[cold]
pub(super) fn too_deep(at: usize) -> Fault {
    Fault::at(&format!("messages are nested deeper than {DEPTH_MAX} levels"), at)
}

/// The integer of a zig-zag number.
pub(super) fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// The zig-zag number of an integer.
pub(super) fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// Appends a number of variable length.
pub(super) fn put_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends what `write` appends, with its length in front. A length below 128 costs no move.
pub(super) fn put_part<E>(
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
) -> Result<(), E> {
    let start = out.len();
    out.push(0);
    write(out)?;
    let len = out.len() - start - 1;
    if let (true, Some(slot)) = (len < 0x80, out.get_mut(start)) {
        *slot = len as u8;
        return Ok(());
    }
    let end = out.len();
    put_varint(len as u64, out);
    let more = out.len() - end - 1;
    // The number was written behind; it changes places with the byte that was kept for it.
    let body = out.get_mut(start..).unwrap_or_default();
    body.rotate_right(more + 1);
    let (number, rest) = body.split_at_mut_checked(more + 1).unwrap_or_default();
    debug_assert!(number.len() == more + 1);
    rest.rotate_left(1);
    out.pop();
    Ok(())
}

/// The indexes of the message in its file, which stand in front of it in Confluent's format: how
/// many, then each, as zig-zag numbers; a lone zero is the first message. Gives where the message
/// begins.
///
/// # Errors
/// No such list; more indexes than messages can be nested.
pub(super) fn message_indexes(payload: &[u8]) -> Result<(Vec<i32>, usize), Fault> {
    const NESTED_MAX: i64 = 256;
    let mut cursor = Cursor::new(payload, 0);
    let count = unzigzag(cursor.varint()?);
    if count == 0 {
        return Ok((vec![0], cursor.pos()));
    }
    if !(1..=NESTED_MAX).contains(&count) {
        return Err(Fault::at("the list of message indexes has an impossible length", 0));
    }
    let mut list = Vec::new();
    for _ in 0..count {
        let at = cursor.pos();
        let index = unzigzag(cursor.varint()?);
        let index = i32::try_from(index).ok().filter(|index| *index >= 0);
        list.push(index.ok_or_else(|| Fault::at("a message index is out of range", at))?);
    }
    Ok((list, cursor.pos()))
}

/// Appends the list of message indexes.
pub(super) fn put_message_indexes(list: &[i32], out: &mut Vec<u8>) {
    if list == [0] {
        out.push(0);
        return;
    }
    put_varint(zigzag(list.len() as i64), out);
    for index in list {
        put_varint(zigzag(i64::from(*index)), out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn varint(bytes: &[u8]) -> Result<u64, String> {
        let mut cursor = Cursor::new(bytes, 0);
        let value = cursor.varint().map_err(|fault| fault.message().to_owned())?;
        assert!(cursor.at_end());
        Ok(value)
    }

    #[test]
    fn numbers_of_every_length_come_back() {
        for shift in 0..64 {
            for value in [1_u64 << shift, (1 << shift) - 1, u64::MAX >> shift] {
                let mut out = Vec::new();
                put_varint(value, &mut out);
                assert_eq!(varint(&out), Ok(value));
                let signed = value as i64;
                assert_eq!(unzigzag(zigzag(signed)), signed);
            }
        }
    }

    #[test]
    fn numbers_that_are_none_are_told_with_their_place() {
        let too_long = varint(&[0xff; 10]).unwrap_err();
        assert_eq!(too_long, "a number has more than 64 bits at byte 0");
        let cut = varint(&[0x80, 0x80]).unwrap_err();
        assert_eq!(cut, "the message ends within a number at byte 0");
        assert!(varint(&[]).is_err());
    }

    #[test]
    fn parts_of_every_length_have_it_in_front() {
        for len in [0, 1, 127, 128, 129, 16_383, 16_384, 70_000] {
            let mut out = vec![7];
            let body: Vec<u8> = (0..len).map(|n| (n % 251) as u8).collect();
            put_part::<()>(&mut out, |out| {
                out.extend_from_slice(&body);
                Ok(())
            })
            .unwrap();
            let mut cursor = Cursor::new(&out, 1);
            let part = cursor.part().unwrap();
            assert_eq!(part.rest(), body, "{len}");
            assert!(cursor.at_end());
        }
    }

    #[test]
    fn message_indexes_as_in_the_specification() {
        for (list, bytes) in
            [(&[0][..], &[0][..]), (&[1, 0], &[4, 2, 0]), (&[3], &[2, 6]), (&[0, 0], &[4, 0, 0])]
        {
            let mut out = Vec::new();
            put_message_indexes(list, &mut out);
            assert_eq!(out, bytes);
            out.push(9);
            assert_eq!(message_indexes(&out).unwrap(), (list.to_vec(), bytes.len()));
        }
        for bad in [&[][..], &[1], &[2], &[2, 1], &[0xff, 0xff, 0xff, 0x7f], &[2, 0xfe]] {
            assert!(message_indexes(bad).is_err(), "{bad:?}");
        }
    }
}
