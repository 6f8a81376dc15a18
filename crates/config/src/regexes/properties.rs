//! Character properties: `\p{…}` with Java's names.
//!
//! Place in the data path: none; read once per pattern.
//!
//! The code points come from the Unicode tables of `regex-syntax`. A Java 17 knows an older
//! Unicode version: characters that are new since then differ.

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, HirKind};

/// A set of characters.
pub(super) type CharSet = ClassUnicode;

/// The set of the given ranges, both ends included.
pub(super) fn ranges(list: &[(char, char)]) -> CharSet {
    CharSet::new(list.iter().map(|&(low, high)| ClassUnicodeRange::new(low, high)))
}

/// A set in the engine's own words.
fn engine(pattern: &str) -> Option<CharSet> {
    let hir = regex_syntax::Parser::new().parse(pattern).ok()?;
    match hir.into_kind() {
        HirKind::Class(Class::Unicode(set)) => Some(set),
        HirKind::Class(Class::Bytes(set)) => set.to_unicode_class(),
        // A class of one character is read as that character.
        HirKind::Literal(literal) => {
            let mut chars = std::str::from_utf8(&literal.0).ok()?.chars();
            let only = chars.next()?;
            Some(ranges(&[(only, only)]))
        }
        _ => None,
    }
}

/// A Unicode property, as `regex-syntax` names them.
fn unicode(name: &str) -> Option<CharSet> {
    let plain =
        name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '=' | '-' | ' '));
    if !plain || name.is_empty() {
        return None;
    }
    engine(&format!("\\p{{{name}}}"))
}

/// `\d`, `\s` and `\w`; with `(?U)` all of Unicode.
pub(super) fn shorthand(letter: char, all: bool) -> CharSet {
    let found = match (letter, all) {
        ('d', true) => unicode("Nd"),
        ('s', true) => unicode("White_Space"),
        ('w', true) => engine(r"[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]"),
        _ => None,
    };
    found.unwrap_or_else(|| match letter {
        'd' => ranges(&[('0', '9')]),
        's' => ranges(&[('\t', '\r'), (' ', ' ')]),
        _ => ranges(&[('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')]),
    })
}

/// `\h`: blanks of all scripts.
pub(super) fn horizontal_space() -> CharSet {
    ranges(&[
        ('\t', '\t'),
        (' ', ' '),
        ('\u{a0}', '\u{a0}'),
        ('\u{1680}', '\u{1680}'),
        ('\u{180e}', '\u{180e}'),
        ('\u{2000}', '\u{200a}'),
        ('\u{202f}', '\u{202f}'),
        ('\u{205f}', '\u{205f}'),
        ('\u{3000}', '\u{3000}'),
    ])
}

/// `\v`: everything that ends a line.
pub(super) fn vertical_space() -> CharSet {
    ranges(&[('\n', '\r'), ('\u{85}', '\u{85}'), ('\u{2028}', '\u{2029}')])
}

/// What `.` does not match, and what `^` and `$` look for.
pub(super) fn line_terminators(unix: bool) -> CharSet {
    if unix {
        return ranges(&[('\n', '\n')]);
    }
    ranges(&[('\n', '\n'), ('\r', '\r'), ('\u{85}', '\u{85}'), ('\u{2028}', '\u{2029}')])
}

/// The set of a `\p{name}`.
///
/// # Errors
/// Java's message.
pub(super) fn named(name: &str, all: bool, any_case: bool) -> Result<CharSet, String> {
    let unknown = || format!("Unknown character property name {{{name}}}");
    if let Some((key, value)) = name.split_once('=') {
        return keyed(key, value).ok_or_else(|| {
            let key = key.to_lowercase();
            format!("Unknown Unicode property {{name=<{key}>, value=<{value}>}}")
        });
    }
    if let Some(block) = name.strip_prefix("In") {
        return self::block(block).ok_or_else(unknown);
    }
    if let Some(rest) = name.strip_prefix("Is") {
        return binary(rest)
            .or_else(|| general(rest, any_case))
            .or_else(|| script(rest))
            .ok_or_else(unknown);
    }
    let wide = if all { unicode_posix(name) } else { None };
    wide.or_else(|| posix(name, any_case))
        .or_else(|| general(name, any_case))
        .or_else(|| java_method(name))
        .ok_or_else(unknown)
}

fn keyed(key: &str, value: &str) -> Option<CharSet> {
    match key.to_ascii_lowercase().as_str() {
        "sc" | "script" => script(value),
        "blk" | "block" => block(value),
        "gc" | "general_category" => general(value, false),
        _ => None,
    }
}

fn script(name: &str) -> Option<CharSet> {
    unicode(&format!("sc={name}"))
}

/// General categories, and the sets of them that Java adds.
fn general(name: &str, any_case: bool) -> Option<CharSet> {
    match name {
        "Lu" | "Ll" | "Lt" if any_case => engine(r"[\p{Lu}\p{Ll}\p{Lt}]"),
        "LC" => engine(r"[\p{Lu}\p{Ll}\p{Lt}]"),
        "LD" => engine(r"[\p{L}\p{Nd}]"),
        "L1" => Some(ranges(&[('\0', '\u{ff}')])),
        "all" => Some(ranges(&[('\0', char::MAX)])),
        "Cs" => Some(CharSet::empty()),
        _ => {
            let known = matches!(name.len(), 1 | 2)
                && name.starts_with(|c: char| "LMNZCPS".contains(c))
                && name.chars().skip(1).all(|c| c.is_ascii_lowercase());
            if known { unicode(&format!("gc={name}")) } else { None }
        }
    }
}

fn posix(name: &str, any_case: bool) -> Option<CharSet> {
    Some(ranges(match name {
        "Lower" | "Upper" if any_case => &[('A', 'Z'), ('a', 'z')],
        "Lower" => &[('a', 'z')],
        "Upper" => &[('A', 'Z')],
        "ASCII" => &[('\0', '\x7f')],
        "Alpha" => &[('A', 'Z'), ('a', 'z')],
        "Digit" => &[('0', '9')],
        "Alnum" => &[('0', '9'), ('A', 'Z'), ('a', 'z')],
        "Punct" => &[('!', '/'), (':', '@'), ('[', '`'), ('{', '~')],
        "Graph" => &[('!', '~')],
        "Print" => &[(' ', '~')],
        "Blank" => &[('\t', '\t'), (' ', ' ')],
        "Cntrl" => &[('\0', '\x1f'), ('\x7f', '\x7f')],
        "XDigit" => &[('0', '9'), ('A', 'F'), ('a', 'f')],
        "Space" => &[('\t', '\r'), (' ', ' ')],
        _ => return None,
    }))
}

/// The POSIX names under `(?U)`.
fn unicode_posix(name: &str) -> Option<CharSet> {
    match name {
        "Lower" => unicode("Lowercase"),
        "Upper" => unicode("Uppercase"),
        "Alpha" => unicode("Alphabetic"),
        "Digit" => unicode("Nd"),
        "Alnum" => engine(r"[\p{Alphabetic}\p{Nd}]"),
        "Punct" => unicode("P"),
        "Graph" => engine(r"[^\p{White_Space}\p{Cc}\p{Cn}]"),
        "Print" => engine(r"[[^\p{White_Space}\p{Cc}\p{Cn}]\p{Zs}]"),
        "Blank" => engine(r"[\p{Zs}\t]"),
        "Cntrl" => unicode("Cc"),
        "XDigit" => engine(r"[\p{Nd}\p{Hex_Digit}]"),
        "Space" => unicode("White_Space"),
        _ => None,
    }
}

/// The binary properties that Java knows behind `Is`, in any case.
fn binary(name: &str) -> Option<CharSet> {
    match name.to_ascii_uppercase().as_str() {
        "ALPHABETIC" => unicode("Alphabetic"),
        "LETTER" => unicode("L"),
        "IDEOGRAPHIC" => unicode("Ideographic"),
        "LOWERCASE" => unicode("Lowercase"),
        "UPPERCASE" => unicode("Uppercase"),
        "TITLECASE" => unicode("Lt"),
        "CONTROL" => unicode("Cc"),
        "PUNCTUATION" => unicode("P"),
        "HEX_DIGIT" | "HEXDIGIT" => engine(r"[\p{Nd}\p{Hex_Digit}]"),
        "ASSIGNED" => engine(r"[^\p{Cn}]"),
        "NONCHARACTER_CODE_POINT" | "NONCHARACTERCODEPOINT" => unicode("Noncharacter_Code_Point"),
        "DIGIT" => unicode("Nd"),
        "ALNUM" => unicode_posix("Alnum"),
        "BLANK" => unicode_posix("Blank"),
        "GRAPH" => unicode_posix("Graph"),
        "PRINT" => unicode_posix("Print"),
        "WORD" => Some(shorthand('w', true)),
        "WHITE_SPACE" | "WHITESPACE" => unicode("White_Space"),
        "JOIN_CONTROL" | "JOINCONTROL" => unicode("Join_Control"),
        _ => None,
    }
}

/// `javaLowerCase` and its kin: the methods of `java.lang.Character`.
fn java_method(name: &str) -> Option<CharSet> {
    match name.strip_prefix("java")? {
        "LowerCase" => unicode("Lowercase"),
        "UpperCase" => unicode("Uppercase"),
        "Alphabetic" => unicode("Alphabetic"),
        "Ideographic" => unicode("Ideographic"),
        "TitleCase" => unicode("Lt"),
        "Digit" => unicode("Nd"),
        "Defined" => engine(r"[^\p{Cn}]"),
        "Letter" => unicode("L"),
        "LetterOrDigit" => engine(r"[\p{L}\p{Nd}]"),
        "JavaIdentifierStart" => engine(r"[\p{L}\p{Nl}\p{Sc}\p{Pc}]"),
        "JavaIdentifierPart" => {
            engine(r"[\p{L}\p{Nl}\p{Sc}\p{Pc}\p{Nd}\p{Mn}\p{Mc}\p{Cf}\x00-\x08\x0e-\x1b\x7f-\x9f]")
        }
        "UnicodeIdentifierStart" => unicode("ID_Start"),
        "UnicodeIdentifierPart" => engine(r"[\p{ID_Continue}\p{Cf}\x00-\x08\x0e-\x1b\x7f-\x9f]"),
        "IdentifierIgnorable" => engine(r"[\p{Cf}\x00-\x08\x0e-\x1b\x7f-\x9f]"),
        "SpaceChar" => unicode("Z"),
        "Whitespace" => engine(r"[[\p{Z}--[\u00a0\u2007\u202f]]\t-\r\x1c-\x1f]"),
        "ISOControl" => unicode("Cc"),
        "Mirrored" => unicode("Bidi_Mirrored"),
        _ => None,
    }
}

/// The Unicode blocks that patterns name; Java ignores case, blanks, `-` and `_` in most spellings.
fn block(name: &str) -> Option<CharSet> {
    let mut key: String = name.chars().filter(|c| !matches!(c, ' ' | '_' | '-')).collect();
    key.make_ascii_uppercase();
    let (low, high) = match key.as_str() {
        "BASICLATIN" => (0x0000, 0x007f),
        "LATIN1SUPPLEMENT" => (0x0080, 0x00ff),
        "LATINEXTENDEDA" => (0x0100, 0x017f),
        "LATINEXTENDEDB" => (0x0180, 0x024f),
        "IPAEXTENSIONS" => (0x0250, 0x02af),
        "COMBININGDIACRITICALMARKS" => (0x0300, 0x036f),
        "GREEK" | "GREEKANDCOPTIC" => (0x0370, 0x03ff),
        "CYRILLIC" => (0x0400, 0x04ff),
        "ARMENIAN" => (0x0530, 0x058f),
        "HEBREW" => (0x0590, 0x05ff),
        "ARABIC" => (0x0600, 0x06ff),
        "DEVANAGARI" => (0x0900, 0x097f),
        "BENGALI" => (0x0980, 0x09ff),
        "TAMIL" => (0x0b80, 0x0bff),
        "THAI" => (0x0e00, 0x0e7f),
        "GEORGIAN" => (0x10a0, 0x10ff),
        "HANGULJAMO" => (0x1100, 0x11ff),
        "LATINEXTENDEDADDITIONAL" => (0x1e00, 0x1eff),
        "GREEKEXTENDED" => (0x1f00, 0x1fff),
        "GENERALPUNCTUATION" => (0x2000, 0x206f),
        "CURRENCYSYMBOLS" => (0x20a0, 0x20cf),
        "LETTERLIKESYMBOLS" => (0x2100, 0x214f),
        "NUMBERFORMS" => (0x2150, 0x218f),
        "ARROWS" => (0x2190, 0x21ff),
        "MATHEMATICALOPERATORS" => (0x2200, 0x22ff),
        "BOXDRAWING" => (0x2500, 0x257f),
        "CJKSYMBOLSANDPUNCTUATION" => (0x3000, 0x303f),
        "HIRAGANA" => (0x3040, 0x309f),
        "KATAKANA" => (0x30a0, 0x30ff),
        "CJKUNIFIEDIDEOGRAPHS" => (0x4e00, 0x9fff),
        "HANGULSYLLABLES" => (0xac00, 0xd7af),
        "PRIVATEUSEAREA" => (0xe000, 0xf8ff),
        "HALFWIDTHANDFULLWIDTHFORMS" => (0xff00, 0xffef),
        "EMOTICONS" => (0x1f600, 0x1f64f),
        _ => return None,
    };
    Some(ranges(&[(char::from_u32(low)?, char::from_u32(high)?)]))
}
