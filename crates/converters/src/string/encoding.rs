//! The character encodings of the StringConverter, with Java's names for them and Java's answers
//! to bytes and characters that have no place in them.

use super::tables::Table;

/// An encoding.
#[derive(Clone, Copy)]
pub(super) enum Encoding {
    Utf8,
    Latin1,
    Ascii,
    Windows1252,
    /// Big-endian unless a mark says otherwise; written with a mark.
    Utf16,
    Utf16Be,
    Utf16Le,
    /// Little-endian unless a mark says otherwise; written with a mark.
    Utf16LeMarked,
    /// Four bytes a character.
    Utf32(Utf32),
    Table(&'static Table),
}

/// The forms of UTF-32.
#[derive(Clone, Copy)]
pub(super) struct Utf32 {
    little: bool,
    /// A mark of the other order turns it.
    turns: bool,
    /// Written with a mark.
    marked: bool,
}

/// What is offered where a name is unknown.
pub(super) const NAMES: &str = "UTF-8, UTF-16, UTF-16BE, UTF-16LE, UTF-32, UTF-32BE, UTF-32LE, \
    US-ASCII, ISO-8859-1 to -9, -13, -15, -16, windows-1250 to -1258, KOI8-R, KOI8-U, IBM437, \
    IBM850, IBM852, IBM855, IBM866, TIS-620, x-MacRoman";

/// Characters of the bytes 0x80..0xa0 of windows-1252; the five that have none are U+FFFD.
const WINDOWS_1252: [char; 32] = [
    '€', '\u{fffd}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{fffd}', 'Ž',
    '\u{fffd}', '\u{fffd}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{fffd}',
    'ž', 'Ÿ',
];

impl Encoding {
    /// By one of the names Java knows, in any case.
    pub(super) fn from_name(name: &str) -> Option<Encoding> {
        Some(match name.to_ascii_lowercase().as_str() {
            "utf-8" | "utf8" | "unicode-1-1-utf-8" => Encoding::Utf8,
            "iso-8859-1" | "iso8859-1" | "iso8859_1" | "iso_8859-1" | "iso_8859_1"
            | "iso_8859-1:1987" | "iso-ir-100" | "csisolatin1" | "latin1" | "l1" | "8859_1"
            | "cp819" | "ibm819" | "ibm-819" | "819" => Encoding::Latin1,
            "us-ascii" | "ascii" | "ascii7" | "iso646-us" | "iso_646.irv:1991"
            | "iso_646.irv:1983" | "ansi_x3.4-1968" | "ansi_x3.4-1986" | "iso-ir-6" | "csascii"
            | "default" | "646" | "us" | "cp367" | "ibm367" => Encoding::Ascii,
            "windows-1252" | "cp1252" | "cp5348" | "ibm-1252" | "ibm1252" => Encoding::Windows1252,
            "utf-16" | "utf_16" | "utf16" | "unicode" | "unicodebig" => Encoding::Utf16,
            "utf-16be" | "utf_16be" | "iso-10646-ucs-2" | "x-utf-16be" | "unicodebigunmarked" => {
                Encoding::Utf16Be
            }
            "utf-16le" | "utf_16le" | "x-utf-16le" | "unicodelittleunmarked" => Encoding::Utf16Le,
            "x-utf-16le-bom" | "unicodelittle" => Encoding::Utf16LeMarked,
            "utf-32" | "utf_32" | "utf32" => utf32(false, true, false),
            "utf-32be" | "utf_32be" | "x-utf-32be" => utf32(false, false, false),
            "utf-32le" | "utf_32le" | "x-utf-32le" => utf32(true, false, false),
            "x-utf-32be-bom" | "utf_32be_bom" | "utf-32be-bom" => utf32(false, false, true),
            "x-utf-32le-bom" | "utf_32le_bom" | "utf-32le-bom" => utf32(true, false, true),
            other => Encoding::Table(Table::find(other)?),
        })
    }

    /// Whether these bytes are their own UTF-8 text.
    pub(super) fn is_text(self, bytes: &[u8]) -> bool {
        match self {
            Encoding::Utf8 => std::str::from_utf8(bytes).is_ok(),
            Encoding::Latin1 | Encoding::Ascii | Encoding::Windows1252 | Encoding::Table(_) => {
                bytes.is_ascii()
            }
            _ => bytes.is_empty(),
        }
    }

    /// Appends the text of bytes as UTF-8; U+FFFD stands for what is none.
    pub(super) fn decode(self, bytes: &[u8], out: &mut Vec<u8>) {
        let mut push = |c: char| out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        match self {
            Encoding::Utf8 => decode_utf8(bytes, &mut push),
            Encoding::Latin1 => bytes.iter().for_each(|byte| push(char::from(*byte))),
            Encoding::Ascii => bytes.iter().for_each(|byte| {
                push(if byte.is_ascii() { char::from(*byte) } else { char::REPLACEMENT_CHARACTER });
            }),
            Encoding::Windows1252 => bytes.iter().for_each(|byte| {
                let place = usize::from(byte.wrapping_sub(0x80));
                push(WINDOWS_1252.get(place).copied().unwrap_or(char::from(*byte)));
            }),
            Encoding::Utf16 => match bytes {
                [0xff, 0xfe, rest @ ..] => decode_utf16(rest, u16::from_le_bytes, push),
                [0xfe, 0xff, rest @ ..] => decode_utf16(rest, u16::from_be_bytes, push),
                _ => decode_utf16(bytes, u16::from_be_bytes, push),
            },
            Encoding::Utf16Be => decode_utf16(bytes, u16::from_be_bytes, push),
            Encoding::Utf16Le => decode_utf16(bytes, u16::from_le_bytes, push),
            Encoding::Utf16LeMarked => match bytes {
                [0xff, 0xfe, rest @ ..] => decode_utf16(rest, u16::from_le_bytes, push),
                [0xfe, 0xff, rest @ ..] => decode_utf16(rest, u16::from_be_bytes, push),
                _ => decode_utf16(bytes, u16::from_le_bytes, push),
            },
            Encoding::Utf32(form) => form.decode(bytes, push),
            Encoding::Table(table) => bytes.iter().for_each(|byte| {
                push(if byte.is_ascii() { char::from(*byte) } else { table.char_of(*byte) });
            }),
        }
    }

    /// Appends the bytes of a text; `?` stands for characters that have none.
    pub(super) fn encode(self, text: &str, out: &mut Vec<u8>) {
        let byte = |c: char| match (self, u32::from(c)) {
            (Encoding::Ascii, code) if code >= 0x80 => b'?',
            (Encoding::Windows1252, 0x80..0xa0) => b'?',
            (Encoding::Windows1252, code) if code >= 0x100 => {
                let place = WINDOWS_1252.iter().position(|known| *known == c);
                place
                    .filter(|_| c != char::REPLACEMENT_CHARACTER)
                    .map_or(b'?', |at| at as u8 + 0x80)
            }
            (Encoding::Table(table), 0x80..) => table.byte_of(c).unwrap_or(b'?'),
            (_, code) => u8::try_from(code).unwrap_or(b'?'),
        };
        match self {
            Encoding::Utf8 => out.extend_from_slice(text.as_bytes()),
            Encoding::Latin1 | Encoding::Ascii | Encoding::Windows1252 | Encoding::Table(_) => {
                out.extend(text.chars().map(byte));
            }
            _ if text.is_empty() => {}
            Encoding::Utf16 => {
                out.extend_from_slice(&[0xfe, 0xff]);
                out.extend(text.encode_utf16().flat_map(u16::to_be_bytes));
            }
            Encoding::Utf16Be => out.extend(text.encode_utf16().flat_map(u16::to_be_bytes)),
            Encoding::Utf16Le => out.extend(text.encode_utf16().flat_map(u16::to_le_bytes)),
            Encoding::Utf16LeMarked => {
                out.extend_from_slice(&[0xff, 0xfe]);
                out.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
            }
            Encoding::Utf32(form) => form.encode(text, out),
        }
    }
}

fn utf32(little: bool, turns: bool, marked: bool) -> Encoding {
    Encoding::Utf32(Utf32 { little, turns, marked })
}

impl Utf32 {
    fn decode(self, bytes: &[u8], mut push: impl FnMut(char)) {
        let (bytes, little) = match bytes {
            [0, 0, 0xfe, 0xff, rest @ ..] if !self.little => (rest, false),
            [0xff, 0xfe, 0, 0, rest @ ..] if self.little || self.turns => (rest, true),
            _ => (bytes, self.little),
        };
        let (units, rest) = bytes.as_chunks::<4>();
        for unit in units {
            let code = if little { u32::from_le_bytes(*unit) } else { u32::from_be_bytes(*unit) };
            push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        if !rest.is_empty() {
            push(char::REPLACEMENT_CHARACTER);
        }
    }

    fn encode(self, text: &str, out: &mut Vec<u8>) {
        let bytes = |c: char| {
            let code = u32::from(c);
            if self.little { code.to_le_bytes() } else { code.to_be_bytes() }
        };
        let mark = self.marked.then_some('\u{feff}');
        out.extend(mark.into_iter().chain(text.chars()).flat_map(bytes));
    }
}

/// UTF-16 as Java reads it: half a pair takes the unit behind it along, and one at the end whatever
/// is left.
fn decode_utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16, mut push: impl FnMut(char)) {
    let (pairs, odd) = bytes.as_chunks::<2>();
    let mut units = pairs.iter().map(|pair| unit(*pair));
    while let Some(first) = units.next() {
        let c = match first {
            0xd800..0xdc00 => match units.next() {
                Some(second) => char::decode_utf16([first, second]).next().and_then(Result::ok),
                None => {
                    push(char::REPLACEMENT_CHARACTER);
                    return;
                }
            },
            single => char::from_u32(single.into()),
        };
        push(c.unwrap_or(char::REPLACEMENT_CHARACTER));
    }
    if !odd.is_empty() {
        push(char::REPLACEMENT_CHARACTER);
    }
}

/// UTF-8 with as many replacement characters as Java puts: a broken sequence counts once as far as
/// it was well begun, and an encoded surrogate, whole or not, counts once.
pub(crate) fn decode_utf8(bytes: &[u8], push: &mut impl FnMut(char)) {
    let mut rest = bytes;
    while !rest.is_empty() {
        match std::str::from_utf8(rest) {
            Ok(text) => {
                text.chars().for_each(&mut *push);
                return;
            }
            Err(error) => {
                let (good, bad) = rest.split_at(error.valid_up_to());
                std::str::from_utf8(good).unwrap_or_default().chars().for_each(&mut *push);
                push(char::REPLACEMENT_CHARACTER);
                let len = match (bad, error.error_len()) {
                    ([0xed, 0xa0..=0xbf, 0x80..=0xbf, ..], _) => 3,
                    ([0xed, 0xa0..=0xbf, ..], _) => 2,
                    (_, Some(len)) => len,
                    (_, None) => bad.len(),
                };
                rest = bad.get(len..).unwrap_or_default();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_utf8_counts_as_in_java() {
        for (bytes, wanted) in [
            (&b"\xff\xc0!"[..], "\u{fffd}\u{fffd}!"),
            (b"\xe2\x98", "\u{fffd}"),
            (b"a\xe2\x98b", "a\u{fffd}b"),
            (b"\xed\xa0\xbd\xed\xb8", "\u{fffd}\u{fffd}"),
            (b"\xed\xa0\xbd\xed\xb8\x80z", "\u{fffd}\u{fffd}z"),
            (b"\xed\xa0z", "\u{fffd}z"),
            (b"\xed\xad\xd5\x51", "\u{fffd}\u{fffd}Q"),
            (b"\xe0\x80A", "\u{fffd}\u{fffd}A"),
            (b"\xf0\x9f\x98", "\u{fffd}"),
            (b"\xc3\xa9", "é"),
        ] {
            let mut out = Vec::new();
            Encoding::Utf8.decode(bytes, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), wanted, "{bytes:x?}");
        }
    }

    #[test]
    fn windows_1252_goes_both_ways() {
        let mut bytes = Vec::new();
        Encoding::Windows1252.encode("€é\u{80}中Ÿ", &mut bytes);
        assert_eq!(bytes, [0x80, 0xe9, b'?', b'?', 0x9f]);
        let mut text = Vec::new();
        Encoding::Windows1252.decode(&bytes, &mut text);
        assert_eq!(text, "€é??Ÿ".as_bytes());
    }

    #[test]
    fn utf16_follows_its_mark() {
        let decode = |bytes: &[u8]| {
            let mut out = Vec::new();
            Encoding::Utf16.decode(bytes, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(decode(&[0xff, 0xfe, b'a', 0]), "a");
        assert_eq!(decode(&[0, b'a', 0xd8, 0x3d, 0xde, 0]), "a😀");
        assert_eq!(decode(&[0, b'a', 0xd8, 0x3d, 9]), "a\u{fffd}");
        assert_eq!(decode(&[0xd8, 0x3d, 0, b'A', 0, b'B']), "\u{fffd}B");
        assert_eq!(decode(&[0xdc, 0, 0, b'A', 9]), "\u{fffd}A\u{fffd}");
    }

    #[test]
    fn encodings_of_one_and_of_four_bytes_go_both_ways() {
        for (name, text, bytes) in [
            ("windows-1251", "Привет, €", &b"\xcf\xf0\xe8\xe2\xe5\xf2, \x88"[..]),
            ("KOI8_R", "Привет", b"\xf0\xd2\xc9\xd7\xc5\xd4"),
            ("latin9", "€é", b"\xa4\xe9"),
            ("UTF-32", "a😀", &[0, 0, 0, b'a', 0, 1, 0xf6, 0]),
            ("X-UTF-32LE-BOM", "a", &[0xff, 0xfe, 0, 0, b'a', 0, 0, 0]),
            ("UnicodeLittle", "a", &[0xff, 0xfe, b'a', 0]),
        ] {
            let encoding = Encoding::from_name(name).unwrap();
            let (mut written, mut read) = (Vec::new(), Vec::new());
            encoding.encode(text, &mut written);
            assert_eq!(written, bytes, "{name}");
            encoding.decode(bytes, &mut read);
            assert_eq!(String::from_utf8(read).unwrap(), text, "{name}");
        }
        let mut out = Vec::new();
        Encoding::from_name("windows-1251").unwrap().encode("中\u{fffd}", &mut out);
        assert_eq!(out, b"??");
        assert!(Encoding::from_name("KLINGON").is_none());
    }
}
