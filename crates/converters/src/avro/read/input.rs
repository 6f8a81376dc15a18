//! The bytes of one value: Avro's binary encoding, checked at every step.
//!
//! Invariant: a position never leaves the bytes; nothing is trusted that the bytes say of their own
//! length.

/// What is wrong with the bytes, and where.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) what: String,
    pub(super) at: usize,
}

/// A read failed; the [`Input`] knows why. Small, since every read may return it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Failed;

pub(super) struct Input<'a> {
    bytes: &'a [u8],
    pos: usize,
    /// Apart, so that an input is small and costs nothing to let go.
    fault: Option<Box<Fault>>,
}

impl<'a> Input<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Input<'a> {
        Input { bytes, pos: 0, fault: None }
    }

    pub(super) fn pos(&self) -> usize {
        self.pos
    }

    pub(super) fn left(&self) -> usize {
        self.bytes.len() - self.pos
    }

    /// What is not read yet.
    #[inline(always)]
    pub(super) fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.pos..).unwrap_or_default()
    }

    /// Goes on where so many bytes are left.
    #[inline(always)]
    pub(super) fn leave(&mut self, left: usize) {
        self.pos = self.bytes.len().saturating_sub(left).max(self.pos);
    }

    pub(super) fn take_fault(&mut self) -> Option<Fault> {
        self.fault.take().map(|fault| *fault)
    }

    /// Notes what is wrong at the current position; the first fault stays.
    #[cold]
    pub(super) fn fail(&mut self, what: impl Into<String>) -> Failed {
        let at = self.pos;
        self.fail_at(at, what)
    }

    #[cold]
    pub(super) fn fail_at(&mut self, at: usize, what: impl Into<String>) -> Failed {
        self.fault.get_or_insert_with(|| Box::new(Fault { what: what.into(), at }));
        Failed
    }

    #[cold]
    fn short(&mut self, wanted: usize) -> Failed {
        let left = self.left();
        self.fail(format!(
            "the value ends too early: {wanted} more bytes are missing, {left} are left"
        ))
    }

    /// A zig-zag number of up to 64 bits.
    #[inline(always)]
    pub(super) fn long(&mut self) -> Result<i64, Failed> {
        match self.bytes.get(self.pos) {
            Some(byte) if *byte < 0x80 => {
                self.pos += 1;
                Ok(unzigzag(u64::from(*byte)))
            }
            _ => self.long_of_more(),
        }
    }

    fn long_of_more(&mut self) -> Result<i64, Failed> {
        let rest = self.bytes.get(self.pos..).unwrap_or_default();
        let mut value = 0;
        for (at, byte) in rest.iter().take(10).enumerate() {
            // The tenth byte has room for one more bit.
            if at == 9 && *byte > 1 {
                break;
            }
            value |= u64::from(byte & 0x7f) << (7 * at);
            if *byte < 0x80 {
                self.pos += at + 1;
                return Ok(unzigzag(value));
            }
        }
        if rest.len() < 10 {
            return Err(self.short(1));
        }
        Err(self.fail("a number has more than 64 bits"))
    }

    /// A number of up to 32 bits.
    #[inline(always)]
    pub(super) fn int(&mut self) -> Result<i32, Failed> {
        let start = self.pos;
        let value = self.long()?;
        match i32::try_from(value) {
            Ok(value) => Ok(value),
            Err(_) => Err(self.fail_at(start, format!("{value} is no number of 32 bits"))),
        }
    }

    /// So many bytes.
    #[inline(always)]
    pub(super) fn take(&mut self, len: usize) -> Result<&'a [u8], Failed> {
        let taken = self.pos.checked_add(len).and_then(|end| self.bytes.get(self.pos..end));
        match taken {
            Some(bytes) => {
                self.pos += len;
                Ok(bytes)
            }
            None => Err(self.short(len)),
        }
    }

    /// A length and as many bytes.
    #[inline(always)]
    pub(super) fn block(&mut self) -> Result<&'a [u8], Failed> {
        let start = self.pos;
        let len = self.long()?;
        match usize::try_from(len) {
            Ok(len) if len <= self.left() => self.take(len),
            _ => Err(self.wrong_length(start, len)),
        }
    }

    #[cold]
    fn wrong_length(&mut self, start: usize, len: i64) -> Failed {
        let left = self.left();
        self.fail_at(start, format!("a length of {len} bytes, of which {left} are left"))
    }

    #[inline(always)]
    pub(super) fn boolean(&mut self) -> Result<bool, Failed> {
        match self.bytes.get(self.pos) {
            Some(0) => {
                self.pos += 1;
                Ok(false)
            }
            Some(1) => {
                self.pos += 1;
                Ok(true)
            }
            Some(other) => {
                let what = format!("the byte {other} is no boolean");
                Err(self.fail(what))
            }
            None => Err(self.short(1)),
        }
    }

    #[inline(always)]
    pub(super) fn float(&mut self) -> Result<f32, Failed> {
        let bytes = self.take(4)?;
        Ok(f32::from_le_bytes(bytes.try_into().unwrap_or_default()))
    }

    #[inline(always)]
    pub(super) fn double(&mut self) -> Result<f64, Failed> {
        let bytes = self.take(8)?;
        Ok(f64::from_le_bytes(bytes.try_into().unwrap_or_default()))
    }

    /// The number of a symbol or a branch, of which there are `len`.
    #[inline(always)]
    pub(super) fn choice(&mut self, len: usize, of: &str) -> Result<usize, Failed> {
        let start = self.pos;
        let number = self.long()?;
        match usize::try_from(number) {
            Ok(choice) if choice < len => Ok(choice),
            _ => Err(self.wrong_choice(start, number, len, of)),
        }
    }

    #[cold]
    fn wrong_choice(&mut self, start: usize, number: i64, len: usize, of: &str) -> Failed {
        self.fail_at(start, format!("{of} number {number}, of which there are {len}"))
    }

    /// How many items follow in an array or map, and where they end if that is told; 0: no more.
    pub(super) fn items(&mut self, empty: bool) -> Result<(u64, Option<usize>), Failed> {
        let start = self.pos;
        let count = self.long()?;
        let mut end = None;
        if count < 0 {
            let size = self.long()?;
            end = usize::try_from(size).ok().filter(|size| *size <= self.left());
            match end {
                Some(size) => end = Some(self.pos + size),
                None => return Err(self.wrong_length(start, size)),
            }
        }
        let count = count.unsigned_abs();
        if !empty && count > self.left() as u64 {
            let left = self.left();
            return Err(self.fail_at(start, format!("{count} items, and {left} bytes are left")));
        }
        Ok((count, end))
    }

    /// Demands that items ended where they were said to.
    pub(super) fn ended(&mut self, end: Option<usize>) -> Result<(), Failed> {
        match end {
            Some(end) if end != self.pos => {
                Err(self.fail(format!("items that were to end at byte {end} do not")))
            }
            _ => Ok(()),
        }
    }

    /// Passes over everything up to a position that [`Input::items`] gave.
    pub(super) fn jump(&mut self, end: usize) {
        self.pos = end.min(self.bytes.len()).max(self.pos);
    }
}

#[inline(always)]
pub(super) fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(bytes: &[u8]) -> Result<i64, Fault> {
        let mut input = Input::new(bytes);
        input.long().map_err(|_| input.take_fault().unwrap())
    }

    #[test]
    fn numbers_are_read_up_to_64_bits() {
        for (bytes, wanted) in [
            (&[0][..], 0),
            (&[1], -1),
            (&[2], 1),
            (&[0x7f], -64),
            (&[0x80, 1], 64),
            (&[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1], i64::MAX),
            (&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1], i64::MIN),
            (&[0x80, 0], 0),
        ] {
            assert_eq!(number(bytes).unwrap(), wanted, "{bytes:?}");
        }
        for (bytes, what) in [
            (&[0xff; 10][..], "a number has more than 64 bits"),
            (
                &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2],
                "a number has more than 64 bits",
            ),
            (&[0xff; 9], "the value ends too early: 1 more bytes are missing, 9 are left"),
            (&[], "the value ends too early: 1 more bytes are missing, 0 are left"),
        ] {
            assert_eq!(number(bytes).unwrap_err(), Fault { what: what.to_owned(), at: 0 });
        }
    }
}
