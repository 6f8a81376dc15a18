//! Reads a Java pattern and writes it in the engine's terms.
//!
//! Place in the data path: none; read once per pattern.
//!
//! Invariants: what is written uses character sets with explicit ranges, `(?:…)`, `(…)`, `(?=…)`,
//! `(?!…)`, `(?<=…)`, `(?<!…)`, `(?>…)`, `\A`, `\z`, `\G`, numbered back references and
//! quantifiers, and nothing else, so that flags and dialects of the engine play no part. Groups keep
//! Java's numbers.

use super::properties::{CharSet, line_terminators, ranges};
use std::collections::HashMap;
use std::fmt::Write as _;

/// Java counts repetitions in an `int`.
const REPETITIONS_MAX: u64 = i32::MAX as u64;

/// What never matches; the engine repeats nothing that takes no room, so it takes some.
pub(super) const NEVER: &str = "(?:(?!)x)";

/// A pattern in the engine's terms.
pub(super) struct Parsed {
    pub(super) text: String,
    pub(super) names: HashMap<String, usize>,
    /// Capturing groups, without the whole match.
    pub(super) groups: usize,
}

/// Reads the pattern.
///
/// # Errors
/// The text of Java's `PatternSyntaxException`.
pub(super) fn parse(pattern: &str) -> Result<Parsed, String> {
    let tokens = tokens(pattern);
    // The first run counts the groups: a reference may stand before its group.
    let total = run(pattern, &tokens, usize::MAX)?.groups;
    run(pattern, &tokens, total)
}

fn run(pattern: &str, tokens: &[Token], total: usize) -> Result<Parsed, String> {
    let mut parser = Parser {
        pattern,
        tokens,
        at: 0,
        flags: Flags::default(),
        groups: 0,
        total,
        names: HashMap::new(),
        depth: 0,
    };
    let piece = parser.alternatives()?;
    if parser.peek().is_some() {
        return Err(match parser.at {
            0 => format!("Unmatched closing ')'\n{pattern}"),
            at => parser.fault_at("Unmatched closing ')'", at - 1),
        });
    }
    Ok(Parsed { text: piece.text, names: parser.names, groups: parser.groups })
}

/// A character of the pattern; a quoted one (`\Q..\E`) has no special meaning.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Token {
    pub(super) c: char,
    pub(super) quoted: bool,
}

/// Takes `\Q..\E` out, wherever it stands.
fn tokens(pattern: &str) -> Vec<Token> {
    let mut tokens = Vec::with_capacity(pattern.len());
    let mut chars = pattern.chars().peekable();
    let mut quoting = false;
    while let Some(c) = chars.next() {
        match (c, chars.peek().copied()) {
            ('\\', Some('E')) if quoting => {
                chars.next();
                quoting = false;
            }
            ('\\', Some('Q')) if !quoting => {
                chars.next();
                quoting = true;
            }
            ('\\', Some(next)) if !quoting => {
                chars.next();
                tokens.push(Token { c, quoted: false });
                tokens.push(Token { c: next, quoted: false });
            }
            _ => tokens.push(Token { c, quoted: quoting }),
        }
    }
    tokens
}

/// What `(?imsuxdU)` sets.
#[derive(Clone, Copy, Default)]
pub(super) struct Flags {
    pub(super) any_case: bool,
    pub(super) multiline: bool,
    pub(super) dot_all: bool,
    pub(super) unicode_case: bool,
    pub(super) comments: bool,
    pub(super) unix_lines: bool,
    pub(super) unicode_classes: bool,
}

/// A part of the pattern in the engine's terms.
pub(super) struct Piece {
    pub(super) text: String,
    /// The most characters it can match; none if there is no bound that Java would see.
    pub(super) longest: Option<u64>,
    /// Whether a quantifier may follow without a group around.
    pub(super) single: bool,
}

impl Piece {
    /// Something that takes no room.
    pub(super) fn empty(text: &str) -> Piece {
        Piece { text: text.to_owned(), longest: Some(0), single: false }
    }

    /// One character out of a set.
    pub(super) fn set(set: &CharSet) -> Piece {
        let mut text = String::new();
        write_set(set, &mut text);
        Piece { text, longest: Some(1), single: true }
    }
}

/// A set with its ranges; letters and digits stand for themselves.
pub(super) fn write_set(set: &CharSet, out: &mut String) {
    let list = set.ranges();
    match list {
        [] => out.push_str(NEVER),
        [only] if only.start() == only.end() => write_char(only.start(), out),
        [only] if only.start() == '\0' && only.end() == char::MAX => out.push_str("(?s:.)"),
        _ => {
            out.push('[');
            for range in list {
                write_char(range.start(), out);
                if range.end() != range.start() {
                    out.push('-');
                    write_char(range.end(), out);
                }
            }
            out.push(']');
        }
    }
}

fn write_char(c: char, out: &mut String) {
    if c.is_ascii_alphanumeric() {
        out.push(c);
    } else {
        let _ = write!(out, "\\x{{{:x}}}", u32::from(c));
    }
}

/// A quantifier behind something that takes no room: the engine knows no such thing, and going
/// round more than once changes nothing.
fn repeated_nothing(text: &str, low: u64, lazy: bool, possessive: bool) -> Piece {
    let text = match (low, lazy) {
        (0, true) => format!("(?:|{text})"),
        (0, false) => format!("(?:{text}|)"),
        _ => format!("(?:{text})"),
    };
    Piece::empty(&if possessive { format!("(?>{text})") } else { text })
}

pub(super) struct Parser<'p> {
    pub(super) pattern: &'p str,
    pub(super) tokens: &'p [Token],
    /// The token that is read next.
    pub(super) at: usize,
    pub(super) flags: Flags,
    /// Groups opened so far.
    pub(super) groups: usize,
    /// Groups that the whole pattern has.
    pub(super) total: usize,
    pub(super) names: HashMap<String, usize>,
    pub(super) depth: usize,
}

pub(super) type Read<T> = Result<T, String>;

impl Parser<'_> {
    /// Java's layout: what, where, the pattern, and a mark under the place if it is inside.
    pub(super) fn fault_at(&self, what: &str, index: usize) -> String {
        // Java turns `\Q..\E` into backslashes first and counts those.
        let escaped =
            |token: &&Token| token.quoted && token.c.is_ascii() && !token.c.is_ascii_alphanumeric();
        let index = index + self.tokens.iter().take(index).filter(escaped).count();
        let mut text = format!("{what} near index {index}\n{}", self.pattern);
        if index < self.pattern.encode_utf16().count() {
            text.push('\n');
            text.extend(std::iter::repeat_n(' ', index));
            text.push('^');
        }
        text
    }

    /// A fault at the token that was read last.
    pub(super) fn fault<T>(&self, what: &str) -> Read<T> {
        Err(self.fault_at(what, self.at.saturating_sub(1)))
    }

    /// The next token; under `(?x)` blanks and comments are passed over.
    pub(super) fn peek(&mut self) -> Option<Token> {
        while self.flags.comments {
            let token = *self.tokens.get(self.at)?;
            if token.quoted || !matches!(token.c, '\t'..='\r' | ' ' | '#') {
                break;
            }
            self.at += 1;
            if token.c == '#' {
                self.skip_comment();
            }
        }
        self.tokens.get(self.at).copied()
    }

    fn skip_comment(&mut self) {
        let unix = self.flags.unix_lines;
        while let Some(token) = self.tokens.get(self.at) {
            let ends = match token.c {
                '\n' => true,
                '\r' | '\u{85}' | '\u{2028}' | '\u{2029}' => !unix,
                _ => false,
            };
            if ends {
                break;
            }
            self.at += 1;
        }
    }

    /// The next special character, none if it is quoted or the pattern has ended.
    pub(super) fn special(&mut self) -> Option<char> {
        self.peek().filter(|token| !token.quoted).map(|token| token.c)
    }

    /// The very next character, blanks included; quoted or not.
    pub(super) fn raw(&self) -> Option<char> {
        self.tokens.get(self.at).map(|token| token.c)
    }

    /// Passes over the character if it is next.
    pub(super) fn accept(&mut self, c: char) -> bool {
        let is = self.special() == Some(c);
        self.at += usize::from(is);
        is
    }

    pub(super) fn alternatives(&mut self) -> Read<Piece> {
        let mut piece = self.sequence()?;
        while self.accept('|') {
            let next = self.sequence()?;
            piece.text.push('|');
            piece.text.push_str(&next.text);
            piece.longest = piece.longest.zip(next.longest).map(|(a, b)| a.max(b));
            piece.single = false;
        }
        Ok(piece)
    }

    fn sequence(&mut self) -> Read<Piece> {
        let mut all = Piece::empty("");
        while let Some(token) = self.peek() {
            let special = if token.quoted { None } else { Some(token.c) };
            let atom = match special {
                Some('|' | ')') => break,
                Some('(') => match self.group()? {
                    Some(group) => group,
                    None => continue,
                },
                Some('?' | '*' | '+') => {
                    self.at += 1;
                    return self.fault(&format!("Dangling meta character '{}'", token.c));
                }
                // A count without anything before it repeats nothing.
                Some('{') => Piece::empty(""),
                _ => self.atom(token, special)?,
            };
            let repeated = self.repetition(atom)?;
            all.text.push_str(&repeated.text);
            all.longest = all.longest.zip(repeated.longest).map(|(a, b)| a.saturating_add(b));
        }
        Ok(all)
    }

    fn atom(&mut self, token: Token, special: Option<char>) -> Read<Piece> {
        self.at += 1;
        Ok(match special {
            Some('[') => Piece::set(&self.class(true)?),
            Some('\\') => self.escape()?,
            Some('^') => Piece::empty(self.line_start()),
            Some('$') => Piece::empty(self.line_end(self.flags.multiline)),
            Some('.') => {
                let mut set = if self.flags.dot_all {
                    CharSet::empty()
                } else {
                    line_terminators(self.flags.unix_lines)
                };
                set.negate();
                Piece::set(&set)
            }
            _ => Piece::set(&self.one(token.c)),
        })
    }

    /// One character, in both cases where the flags say so.
    pub(super) fn one(&self, c: char) -> CharSet {
        self.cased(ranges(&[(c, c)]))
    }

    /// A set with the other case of its letters, where the flags say so.
    pub(super) fn cased(&self, mut set: CharSet) -> CharSet {
        if !self.flags.any_case {
            return set;
        }
        if self.flags.unicode_case {
            // Without tables the set stays as it is; they are built in.
            let _ = set.try_case_fold_simple();
            return set;
        }
        for (from, to) in [('A', 'a'), ('a', 'A')] {
            let last = char::from(from as u8 + 25);
            let mut letters = ranges(&[(from, last)]);
            letters.intersect(&set);
            let other = |c: char| char::from((c as u8) - (from as u8) + (to as u8));
            let moved: Vec<(char, char)> =
                letters.iter().map(|range| (other(range.start()), other(range.end()))).collect();
            set.union(&ranges(&moved));
        }
        set
    }

    fn line_start(&self) -> &'static str {
        match (self.flags.multiline, self.flags.unix_lines) {
            (false, _) => r"\A",
            // Never at the end, not even of an empty text.
            (true, true) => r"(?:(?:\A|(?<=\x{a}))(?!\z))",
            (true, false) => {
                r"(?:(?:\A|(?<=[\x{a}\x{85}\x{2028}\x{2029}])|(?<=\x{d})(?!\x{a}))(?!\z))"
            }
        }
    }

    /// `$` and `\Z`: the end, or before a line terminator that ends the text or, with `(?m)`, a
    /// line.
    pub(super) fn line_end(&self, multiline: bool) -> &'static str {
        match (multiline, self.flags.unix_lines) {
            (false, true) => r"(?=\x{a}?\z)",
            (true, true) => r"(?=\x{a}|\z)",
            (false, false) => {
                r"(?:(?=(?:\x{d}\x{a}|[\x{d}\x{85}\x{2028}\x{2029}])?\z)|(?<!\x{d})(?=\x{a}\z))"
            }
            (true, false) => r"(?:(?=[\x{d}\x{85}\x{2028}\x{2029}]|\z)|(?<!\x{d})(?=\x{a}))",
        }
    }

    /// Reads the quantifier behind an atom, if there is one.
    fn repetition(&mut self, atom: Piece) -> Read<Piece> {
        let (low, high) = match self.special() {
            Some('?') => (0, Some(1)),
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('{') => self.count()?,
            _ => return Ok(atom),
        };
        self.at += 1;
        let lazy = self.accept('?');
        let possessive = !lazy && self.accept('+');
        if atom.longest == Some(0) {
            return Ok(repeated_nothing(&atom.text, low, lazy, possessive));
        }
        let mut text = if atom.single { atom.text } else { format!("(?:{})", atom.text) };
        match (low, high) {
            (0, None) => text.push('*'),
            (1, None) => text.push('+'),
            (0, Some(1)) => text.push('?'),
            (low, None) => _ = write!(text, "{{{low},}}"),
            (low, Some(high)) => _ = write!(text, "{{{low},{high}}}"),
        }
        if lazy {
            text.push('?');
        }
        if possessive {
            text = format!("(?>{text})");
        }
        let longest = match high {
            Some(times) => atom.longest.map(|one| one.saturating_mul(times)),
            // The one case that Java thinks is bounded.
            None if atom.longest == Some(1) => Some(REPETITIONS_MAX),
            None => None,
        };
        Ok(Piece { text, longest, single: possessive })
    }

    /// Reads `{n`, `{n,` or `{n,m`; the brace that closes is next.
    fn count(&mut self) -> Read<(u64, Option<u64>)> {
        self.at += 1;
        if !self.raw().is_some_and(|c| c.is_ascii_digit()) {
            self.at += 1;
            return self.fault("Illegal repetition");
        }
        let low = self.number()?;
        let mut high = Some(low);
        if self.accept(',') {
            high = match self.special() {
                Some(c) if c.is_ascii_digit() => Some(self.number()?),
                _ => None,
            };
        }
        if self.special() != Some('}') {
            self.at += 1;
            return self.fault("Unclosed counted closure");
        }
        if high.is_some_and(|high| high < low) {
            self.at += 1;
            return self.fault("Illegal repetition range");
        }
        Ok((low, high))
    }

    fn number(&mut self) -> Read<u64> {
        let mut number = 0_u64;
        while let Some(digit) = self.special().and_then(|c| c.to_digit(10)) {
            number = number * 10 + u64::from(digit);
            self.at += 1;
            if number > REPETITIONS_MAX {
                return self.fault("Illegal repetition range");
            }
        }
        Ok(number)
    }
}
