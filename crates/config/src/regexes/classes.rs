//! Character classes: `[a-z&&[^b]]` with Java's unions and intersections.
//!
//! Place in the data path: none; read once per pattern.

use super::escapes::Escaped;
use super::parser::{Parser, Token};
use super::properties::{CharSet, ranges};

/// One part of a class: a character that may start a range, or a set.
enum Item {
    Char(char),
    Set(CharSet),
}

impl Parser<'_> {
    /// Reads a class; its `[` has been read. Without `consume` it is the right side of `&&`: no
    /// `^`, and the `]` is left to the class around it.
    pub(super) fn class(&mut self, consume: bool) -> Result<CharSet, String> {
        self.depth += 1;
        if self.depth > 100 {
            return self.fault("Character classes are nested too deeply");
        }
        let negated = consume && self.accept('^');
        let mut set: Option<CharSet> = None;
        loop {
            let Some(token) = self.peek() else {
                return self.fault("Unclosed character class");
            };
            match Some(token.c).filter(|_| !token.quoted) {
                Some('[') => {
                    self.at += 1;
                    let inner = self.class(true)?;
                    add(&mut set, &inner);
                }
                Some('&') if self.follows('&') => {
                    self.at += 2;
                    self.intersection(&mut set)?;
                }
                Some(']') if set.is_some() => {
                    self.at += usize::from(consume);
                    break;
                }
                _ => {
                    let part = self.range(token)?;
                    add(&mut set, &part);
                }
            }
        }
        self.depth -= 1;
        let mut set = set.unwrap_or_else(CharSet::empty);
        if negated {
            set.negate();
        }
        Ok(set)
    }

    /// Whether the token behind the next one is this special character.
    fn follows(&self, c: char) -> bool {
        self.tokens.get(self.at + 1) == Some(&Token { c, quoted: false })
    }

    /// Reads the right side of `&&`.
    fn intersection(&mut self, left: &mut Option<CharSet>) -> Result<(), String> {
        let mut right: Option<CharSet> = None;
        while let Some(c) = self.peek().map(|token| if token.quoted { '\0' } else { token.c }) {
            let part = match c {
                ']' | '&' => break,
                '[' => {
                    self.at += 1;
                    self.class(true)?
                }
                _ => self.class(false)?,
            };
            add(&mut right, &part);
        }
        match (left.as_mut(), right) {
            (Some(left), Some(right)) => left.intersect(&right),
            (None, Some(right)) => *left = Some(right),
            (Some(_), None) => {}
            (None, None) => {
                return self.fault("Bad class syntax");
            }
        }
        Ok(())
    }

    fn range(&mut self, token: Token) -> Result<CharSet, String> {
        let low = match self.item(token)? {
            Item::Set(set) => return Ok(set),
            Item::Char(low) => low,
        };
        let ends = |token: &Token| !token.quoted && matches!(token.c, '[' | ']');
        if self.special() != Some('-') || self.tokens.get(self.at + 1).is_some_and(ends) {
            return Ok(self.one(low));
        }
        self.at += 1;
        let Some(token) = self.peek() else {
            self.at += 1;
            return self.fault("Illegal character range");
        };
        if token.c == '\\' && !token.quoted {
            // A property cannot end a range, and Java does not know it there.
            let next = self.tokens.get(self.at + 1).map(|token| token.c);
            if matches!(next, Some('p' | 'P')) {
                self.at += 2;
                return self.fault("Illegal/unsupported escape sequence");
            }
        }
        match self.item(token)? {
            Item::Char(high) if high >= low => Ok(self.cased(ranges(&[(low, high)]))),
            _ => self.fault("Illegal character range"),
        }
    }

    fn item(&mut self, token: Token) -> Result<Item, String> {
        self.at += 1;
        if token.quoted || token.c != '\\' {
            return Ok(Item::Char(token.c));
        }
        if self.raw().is_none() {
            self.at += 1;
            return self.fault("Unclosed character class");
        }
        Ok(match self.escaped_character()? {
            Escaped::Char(c) => Item::Char(c),
            Escaped::Set(set) => Item::Set(set),
            Escaped::Nothing => Item::Set(CharSet::empty()),
        })
    }
}

fn add(set: &mut Option<CharSet>, part: &CharSet) {
    match set {
        Some(set) => set.union(part),
        None => *set = Some(part.clone()),
    }
}
