//! DER: tags, lengths and contents, as far as PKCS12 files need them.
//!
//! Invariant: every length is checked against the bytes that are there.

pub(super) const INTEGER: u8 = 0x02;
pub(super) const OCTETS: u8 = 0x04;
pub(super) const OBJECT: u8 = 0x06;
pub(super) const SEQUENCE: u8 = 0x30;
pub(super) const SET: u8 = 0x31;
/// `[0]` around something else.
pub(super) const EXPLICIT_0: u8 = 0xA0;
/// `[0]` in place of an octet string's own tag.
pub(super) const IMPLICIT_0: u8 = 0x80;

const CUT_OFF: &str = "the file is damaged or cut off";

/// The elements of a piece of DER, one after the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Der<'a>(pub(super) &'a [u8]);

impl<'a> Der<'a> {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The tag of the next element.
    pub(super) fn peek(&self) -> Option<u8> {
        self.0.first().copied()
    }

    /// The next element: its tag and its content.
    pub(super) fn any(&mut self) -> Result<(u8, &'a [u8]), String> {
        let [tag, first, rest @ ..] = self.0 else { return Err(CUT_OFF.to_owned()) };
        let (length, rest) = match *first {
            short @ 0..=0x7F => (usize::from(short), rest),
            0x80 => return Err("the file has parts of indefinite length".to_owned()),
            long => {
                let count = usize::from(long & 0x7F);
                let (digits, rest) = rest.split_at_checked(count).ok_or(CUT_OFF)?;
                if count > size_of::<u32>() {
                    return Err(CUT_OFF.to_owned());
                }
                (digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit)), rest)
            }
        };
        let (content, rest) = rest.split_at_checked(length).ok_or(CUT_OFF)?;
        self.0 = rest;
        Ok((*tag, content))
    }

    /// The content of the next element, which must have this tag.
    pub(super) fn take(&mut self, tag: u8) -> Result<&'a [u8], String> {
        match self.any()? {
            (found, content) if found == tag => Ok(content),
            _ => Err("the file is not a PKCS12 store, or it is damaged".to_owned()),
        }
    }

    /// The elements inside the next element, which must have this tag.
    pub(super) fn inside(&mut self, tag: u8) -> Result<Der<'a>, String> {
        self.take(tag).map(Der)
    }

    /// The next element as a small number.
    pub(super) fn number(&mut self) -> Result<u32, String> {
        let digits = self.take(INTEGER)?;
        let value = digits
            .iter()
            .try_fold(0_u32, |value, digit| value.checked_mul(256)?.checked_add(u32::from(*digit)));
        value.ok_or_else(|| "a number in the file is too large".to_owned())
    }
}
