//! What a backslash means in a Java pattern.
//!
//! Place in the data path: none; read once per pattern.

use super::parser::{NEVER, Parser, Piece, write_set};
use super::properties::{CharSet, horizontal_space, named, shorthand, vertical_space};

/// A word boundary of ASCII words, and the lack of one.
const BOUNDARY: &str = "(?:(?<=[0-9A-Z_a-z])(?![0-9A-Z_a-z])|(?<![0-9A-Z_a-z])(?=[0-9A-Z_a-z]))";
const NO_BOUNDARY: &str = "(?:(?<=[0-9A-Z_a-z])(?=[0-9A-Z_a-z])|(?<![0-9A-Z_a-z])(?![0-9A-Z_a-z]))";

/// What an escape that stands for characters gives.
pub(super) enum Escaped {
    Char(char),
    Set(CharSet),
    /// Half a surrogate pair: our text cannot have it.
    Nothing,
}

impl Parser<'_> {
    /// Reads an escape outside a class; the backslash has been read.
    pub(super) fn escape(&mut self) -> Result<Piece, String> {
        let Some(c) = self.raw() else { return self.fault_at_end() };
        let boundary = |unicode: &'static str, ascii: &'static str, all: bool| {
            Piece::empty(if all { unicode } else { ascii })
        };
        let all = self.flags.unicode_classes;
        let piece = match c {
            '1'..='9' => return self.reference(),
            'k' => return self.named_reference(),
            'A' => Piece::empty(r"\A"),
            'z' => Piece::empty(r"\z"),
            'G' => Piece::empty(r"\G"),
            'Z' => Piece::empty(self.line_end(false)),
            'b' if self.comes("{g}", 1) => {
                return self.fault("Grapheme boundaries are not supported");
            }
            'b' => boundary(r"\b", BOUNDARY, all),
            'B' => boundary(r"\B", NO_BOUNDARY, all),
            'R' => {
                let mut text = String::from(r"(?:\x{d}\x{a}|");
                write_set(&vertical_space(), &mut text);
                text.push(')');
                Piece { text, longest: Some(2), single: true }
            }
            'X' => return self.fault("Grapheme clusters are not supported"),
            _ => {
                return Ok(match self.escaped_character()? {
                    Escaped::Char(c) => Piece::set(&self.one(c)),
                    Escaped::Set(set) => Piece::set(&set),
                    Escaped::Nothing => Piece::set(&CharSet::empty()),
                });
            }
        };
        self.at += 1;
        Ok(piece)
    }

    /// Whether this text comes, so many characters ahead.
    fn comes(&self, text: &str, ahead: usize) -> bool {
        let here = self.tokens.get(self.at + ahead..).unwrap_or_default();
        here.len() >= text.len() && text.chars().zip(here).all(|(c, token)| token.c == c)
    }

    fn fault_at_end<T>(&mut self) -> Result<T, String> {
        self.at = self.tokens.len() + 1;
        self.fault("Unexpected internal error")
    }

    /// Reads an escape that stands for characters, inside or outside a class; the backslash has
    /// been read.
    pub(super) fn escaped_character(&mut self) -> Result<Escaped, String> {
        let Some(c) = self.raw() else { return self.fault_at_end() };
        self.at += 1;
        let all = self.flags.unicode_classes;
        let char = |c| Ok(Escaped::Char(c));
        let set = |mut set: CharSet, negated: bool| {
            if negated {
                set.negate();
            }
            Ok(Escaped::Set(set))
        };
        match c {
            'd' | 's' | 'w' => set(shorthand(c, all), false),
            'D' | 'S' | 'W' => set(shorthand(c.to_ascii_lowercase(), all), true),
            'h' | 'H' => set(horizontal_space(), c == 'H'),
            'v' | 'V' => set(vertical_space(), c == 'V'),
            'p' | 'P' => {
                let family = self.family()?;
                set(family, c == 'P')
            }
            '0' => self.octal(),
            'x' => self.hexadecimal(),
            'u' => self.utf16(),
            'a' => char('\x07'),
            'e' => char('\x1b'),
            'f' => char('\x0c'),
            'n' => char('\n'),
            'r' => char('\r'),
            't' => char('\t'),
            'c' => match self.raw() {
                Some(control) => {
                    self.at += 1;
                    Ok(code_point(u32::from(control) ^ 64))
                }
                None => self.fault("Illegal control escape sequence"),
            },
            'N' => self.fault("Character names are not supported"),
            c if c.is_ascii_alphanumeric() => self.fault("Illegal/unsupported escape sequence"),
            c => char(c),
        }
    }

    fn family(&mut self) -> Result<CharSet, String> {
        let Some(c) = self.raw() else {
            self.at += 1;
            return self.fault("Unknown character property name {\0}");
        };
        self.at += 1;
        let mut name = String::new();
        if c == '{' {
            loop {
                let Some(c) = self.raw() else {
                    self.at = self.tokens.len() + 1;
                    return self.fault("Unclosed character family");
                };
                self.at += 1;
                if c == '}' {
                    break;
                }
                name.push(c);
            }
            if name.is_empty() {
                return self.fault("Empty character family");
            }
        } else {
            name.push(c);
        }
        let any_case = self.flags.any_case;
        named(&name, self.flags.unicode_classes, any_case)
            .map_err(|what| self.fault_at(&what, self.at.saturating_sub(1)))
    }

    fn octal(&mut self) -> Result<Escaped, String> {
        let digit = |parser: &Self| parser.raw().and_then(|c| c.to_digit(8));
        let Some(mut number) = digit(self) else {
            self.at += 1;
            return self.fault("Illegal octal escape sequence");
        };
        self.at += 1;
        let more = if number <= 3 { 2 } else { 1 };
        for _ in 0..more {
            let Some(next) = digit(self) else { break };
            number = number * 8 + next;
            self.at += 1;
        }
        Ok(code_point(number))
    }

    fn hex_digits(&mut self, count: usize) -> Option<u32> {
        let mut number = 0;
        for _ in 0..count {
            let digit = self.raw().and_then(|c| c.to_digit(16));
            self.at += 1;
            number = number * 16 + digit?;
        }
        Some(number)
    }

    fn hexadecimal(&mut self) -> Result<Escaped, String> {
        if self.raw() != Some('{') {
            return match self.hex_digits(2) {
                Some(number) => Ok(code_point(number)),
                None => self.fault("Illegal hexadecimal escape sequence"),
            };
        }
        self.at += 1;
        if !self.raw().is_some_and(|c| c.is_ascii_hexdigit()) {
            return self.fault("Illegal hexadecimal escape sequence");
        }
        let mut number: u32 = 0;
        while let Some(digit) = self.raw().and_then(|c| c.to_digit(16)) {
            number = number * 16 + digit;
            self.at += 1;
            if number > u32::from(char::MAX) {
                return self.fault("Hexadecimal codepoint is too big");
            }
        }
        self.at += 1;
        if self.tokens.get(self.at - 1).map(|token| token.c) != Some('}') {
            return self.fault("Unclosed hexadecimal escape sequence");
        }
        Ok(code_point(number))
    }

    /// `\uXXXX`, and two of them for a character beyond the first 65,536.
    fn utf16(&mut self) -> Result<Escaped, String> {
        let Some(first) = self.hex_digits(4) else {
            return self.fault("Illegal Unicode escape sequence");
        };
        let next = |offset: usize| self.tokens.get(self.at + offset).map(|token| token.c);
        if (0xd800..0xdc00).contains(&first) && next(0) == Some('\\') && next(1) == Some('u') {
            let back = self.at;
            self.at += 2;
            match self.hex_digits(4) {
                Some(low) if (0xdc00..0xe000).contains(&low) => {
                    return Ok(code_point(0x1_0000 + ((first - 0xd800) << 10) + (low - 0xdc00)));
                }
                _ => self.at = back,
            }
        }
        Ok(code_point(first))
    }

    /// `\1`: more digits belong to the number as long as that many groups are open or closed.
    fn reference(&mut self) -> Result<Piece, String> {
        let mut number = 0;
        while let Some(digit) = self.raw().and_then(|c| c.to_digit(10)) {
            let longer = number * 10 + digit as usize;
            if number > 0 && longer > self.groups {
                break;
            }
            number = longer;
            self.at += 1;
        }
        Ok(self.refer(number))
    }

    fn named_reference(&mut self) -> Result<Piece, String> {
        self.at += 1;
        if self.raw() != Some('<') {
            self.at += 1;
            return self.fault("\\k is not followed by '<' for named capturing group");
        }
        self.at += 1;
        let name = self.group_name()?;
        match self.names.get(&name) {
            Some(number) => Ok(self.refer(*number)),
            None => self.fault(&format!("named capturing group <{name}> does not exist")),
        }
    }

    fn refer(&self, number: usize) -> Piece {
        // A group that the pattern does not have never matches.
        let text = if number > self.total {
            NEVER.to_owned()
        } else if self.flags.any_case {
            format!("(?i:\\{number})")
        } else {
            format!("(?:\\{number})")
        };
        Piece { text, longest: None, single: true }
    }
}

fn code_point(number: u32) -> Escaped {
    char::from_u32(number).map_or(Escaped::Nothing, Escaped::Char)
}
