//! Groups of a Java pattern: capturing, named, look-around, flags.
//!
//! Place in the data path: none; read once per pattern.

use super::parser::{Flags, Parser, Piece, Read};

/// Groups inside groups; more would be a risk for the stack.
const NESTING_MAX: usize = 50;

impl Parser<'_> {
    /// Reads a group; none for flags and comments, which a quantifier cannot follow.
    pub(super) fn group(&mut self) -> Read<Option<Piece>> {
        let before = self.flags;
        self.at += 1;
        if self.raw() != Some('?') {
            self.groups += 1;
            return self.group_body("(", before).map(Some);
        }
        self.at += 1;
        let kind = self.raw();
        self.at += 1;
        match kind {
            Some(':') => self.group_body("(?:", before).map(Some),
            Some('>') => self.group_body("(?>", before).map(Some),
            Some('=') => self.look("(?=", before).map(Some),
            Some('!') => self.look("(?!", before).map(Some),
            Some('<') => match self.raw() {
                Some('=') => {
                    self.at += 1;
                    self.look("(?<=", before).map(Some)
                }
                Some('!') => {
                    self.at += 1;
                    self.look("(?<!", before).map(Some)
                }
                _ => self.named_group(before).map(Some),
            },
            Some('$' | '@') => self.fault("Unknown group type"),
            _ => {
                self.at -= 1;
                self.read_flags()?;
                let end = self.raw();
                self.at += 1;
                match end {
                    Some(')') => Ok(None),
                    Some(':') => self.group_body("(?:", before).map(Some),
                    _ => self.fault("Unknown inline modifier"),
                }
            }
        }
    }

    fn group_body(&mut self, opening: &str, before: Flags) -> Read<Piece> {
        self.depth += 1;
        if self.depth > NESTING_MAX {
            return self.fault("Groups are nested too deeply");
        }
        let inner = self.alternatives()?;
        self.depth -= 1;
        if opening.starts_with("(?<") && inner.longest.is_none() {
            return self.fault("Look-behind group does not have an obvious maximum length");
        }
        if !self.accept(')') {
            self.at = self.tokens.len() + 1;
            return self.fault("Unclosed group");
        }
        self.flags = before;
        let text = format!("{opening}{})", inner.text);
        Ok(Piece { text, longest: inner.longest, single: true })
    }

    fn look(&mut self, opening: &str, before: Flags) -> Read<Piece> {
        let piece = self.group_body(opening, before)?;
        Ok(Piece { longest: Some(0), single: false, ..piece })
    }

    fn named_group(&mut self, before: Flags) -> Read<Piece> {
        let name = self.group_name()?;
        if self.names.contains_key(&name) {
            return self.fault(&format!("Named capturing group <{name}> is already defined"));
        }
        self.groups += 1;
        self.names.insert(name, self.groups);
        self.group_body("(", before)
    }

    /// Reads `name>`.
    pub(super) fn group_name(&mut self) -> Read<String> {
        let mut name = String::new();
        while let Some(c) = self.raw().filter(char::is_ascii_alphanumeric) {
            if name.is_empty() && !c.is_ascii_alphabetic() {
                break;
            }
            name.push(c);
            self.at += 1;
        }
        self.at += 1;
        if name.is_empty() {
            return self.fault("capturing group name does not start with a Latin letter");
        }
        if self.tokens.get(self.at - 1).map(|token| token.c) != Some('>') {
            return self.fault("named capturing group is missing trailing '>'");
        }
        Ok(name)
    }

    /// Reads `imsdux-imsdux`.
    fn read_flags(&mut self) -> Read<()> {
        let mut on = true;
        while let Some(c) = self.raw() {
            match c {
                'i' => self.flags.any_case = on,
                'm' => self.flags.multiline = on,
                's' => self.flags.dot_all = on,
                'd' => self.flags.unix_lines = on,
                'u' => self.flags.unicode_case = on,
                'x' => self.flags.comments = on,
                'c' => {} // Canonical equivalence: known to Java, never right in names.
                'U' => {
                    self.flags.unicode_classes = on;
                    self.flags.unicode_case = on;
                }
                '-' if on => on = false,
                _ => break,
            }
            self.at += 1;
        }
        Ok(())
    }
}
