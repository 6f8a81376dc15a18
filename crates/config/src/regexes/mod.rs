//! Regular expressions in configuration: Java's dialect, run by a backtracking engine.
//!
//! Place in the data path: patterns are compiled once, when a config is read. Transforms that route
//! or rename then match topic and field names against them.
//!
//! A pattern is read by our own parser ([`parser`]), which knows Java's syntax and error texts, and
//! rewritten in terms that leave the engine no choice of dialect: explicit character sets, plain
//! numbered groups, look-around, atomic groups.
//!
//! Invariants:
//! - [`JavaRegex::matches`] means the whole text, as Java's `matches` does;
//! - work is bounded: a pattern that backtracks too much ends in [`RegexFault::Limit`], never in a
//!   hang.
//!
//! Known limits: `\X`, `\b{g}` and `\N{…}` are refused with a message; `\b` knows ASCII words
//! only unless `(?U)` is set, as Java does since version 19 (older ones count all letters).

mod classes;
mod escapes;
mod groups;
mod parser;
mod properties;
mod replacement;

pub use replacement::JavaReplacement;

use fancy_regex::{Captures, Regex, RegexBuilder};
use std::collections::HashMap;
use std::sync::OnceLock;

/// Steps of backtracking that one match may take; about a tenth of a second.
const BACKTRACK_STEPS_MAX: usize = 1_000_000;
/// What the automata of one pattern may take.
const PROGRAM_BYTES_MAX: usize = 32 << 20;

/// What can go wrong when a pattern is applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegexFault {
    /// A replacement that cannot be read; Java's `IllegalArgumentException`.
    #[error("{0}")]
    IllegalArgument(String),
    /// A group that the pattern does not have; Java's `IndexOutOfBoundsException`.
    #[error("{0}")]
    IndexOutOfBounds(String),
    /// The match was given up: Java would go on, for seconds or for ever.
    #[error(
        "The regular expression {0} backtracks too much on this text; \
         make its repetitions exclude each other, or possessive"
    )]
    Limit(String),
}

impl RegexFault {
    /// The Java class of the exception that users know.
    pub fn java_class(&self) -> &'static str {
        match self {
            RegexFault::IllegalArgument(_) => "java.lang.IllegalArgumentException",
            RegexFault::IndexOutOfBounds(_) => "java.lang.IndexOutOfBoundsException",
            RegexFault::Limit(_) => "java.lang.StackOverflowError",
        }
    }
}

/// A compiled Java pattern. Cloning is cheap.
#[derive(Clone)]
pub struct JavaRegex {
    pattern: String,
    /// The pattern in the engine's terms.
    engine_text: String,
    whole: Regex,
    /// Built at the first search; most patterns only ever match whole names.
    anywhere: OnceLock<Regex>,
    names: HashMap<String, usize>,
    groups: usize,
}

impl std::fmt::Debug for JavaRegex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("JavaRegex").field(&self.pattern).finish()
    }
}

impl JavaRegex {
    /// Compiles a Java pattern.
    ///
    /// # Errors
    /// The text of Java's `PatternSyntaxException`; our own words for what is not supported.
    pub fn new(pattern: &str) -> Result<JavaRegex, String> {
        let parsed = parser::parse(pattern)?;
        let unsupported = |error: fancy_regex::Error| {
            let text = error.to_string();
            format!("Not supported: {}\n{pattern}", text.lines().last().unwrap_or_default())
        };
        // Where the last match ended is the start here; the engine does better with the latter.
        let text = parsed.text.replace("\\G", "\\A");
        let whole = build(&format!("\\A(?:{text})\\z")).map_err(unsupported)?;
        Ok(JavaRegex {
            pattern: pattern.to_owned(),
            engine_text: parsed.text,
            whole,
            anywhere: OnceLock::new(),
            names: parsed.names,
            groups: parsed.groups,
        })
    }

    /// The pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.pattern
    }

    /// Whether the whole text matches. A match that was given up ([`RegexFault::Limit`]) counts as
    /// none: this is for choosing names, where not chosen is the safe side.
    pub fn matches(&self, text: &str) -> bool {
        self.try_matches(text).unwrap_or(false)
    }

    /// Whether the whole text matches.
    ///
    /// # Errors
    /// [`RegexFault::Limit`].
    pub fn try_matches(&self, text: &str) -> Result<bool, RegexFault> {
        self.whole.is_match(text).map_err(|_| self.limit())
    }

    /// Java's `matcher.matches()` followed by `replaceFirst`, as `RegexRouter` does: nothing if the
    /// whole text does not match; else the text with its first match replaced. That first match
    /// is searched anew and need not be the whole text (`a|ab` on `ab`).
    ///
    /// # Errors
    /// A bad replacement, a group that is not there, or too much backtracking.
    pub fn replace_first_if_whole_match(
        &self,
        text: &str,
        replacement: &JavaReplacement,
    ) -> Result<Option<String>, RegexFault> {
        if !self.try_matches(text)? {
            return Ok(None);
        }
        self.replace(text, replacement, 1).map(Some)
    }

    /// Java's `replaceFirst`: the text itself if nothing matches.
    ///
    /// # Errors
    /// As [`JavaRegex::replace_first_if_whole_match`].
    pub fn replace_first(
        &self,
        text: &str,
        replacement: &JavaReplacement,
    ) -> Result<String, RegexFault> {
        self.replace(text, replacement, 1)
    }

    /// Java's `replaceAll`: the text itself if nothing matches.
    ///
    /// # Errors
    /// As [`JavaRegex::replace_first_if_whole_match`].
    pub fn replace_all(
        &self,
        text: &str,
        replacement: &JavaReplacement,
    ) -> Result<String, RegexFault> {
        self.replace(text, replacement, usize::MAX)
    }

    /// Java's `find()`: whether some part of the text matches.
    ///
    /// # Errors
    /// [`RegexFault::Limit`].
    pub fn is_found(&self, text: &str) -> Result<bool, RegexFault> {
        self.searching()?.is_match(text).map_err(|_| self.limit())
    }

    /// The parts of the text that match, in order, as repeated calls of Java's `find()` give them:
    /// an empty match directly behind another match counts.
    pub fn find_iter<'r, 't>(&'r self, text: &'t str) -> FindIter<'r, 't> {
        FindIter { regex: self, text, next: Some(0) }
    }

    fn replace(
        &self,
        text: &str,
        replacement: &JavaReplacement,
        limit: usize,
    ) -> Result<String, RegexFault> {
        let mut out = String::with_capacity(text.len() + replacement.as_str().len());
        let mut copied = 0;
        for found in self.find_iter(text).take(limit) {
            let found = found?;
            out.push_str(text.get(copied..found.start()).unwrap_or_default());
            replacement.append(self, &found, &mut out)?;
            copied = found.end();
        }
        out.push_str(text.get(copied..).unwrap_or_default());
        Ok(out)
    }

    fn searching(&self) -> Result<&Regex, RegexFault> {
        if self.anywhere.get().is_none() {
            let built = build(&self.engine_text).map_err(|_| self.limit())?;
            let _ = self.anywhere.set(built);
        }
        self.anywhere.get().ok_or_else(|| self.limit())
    }

    fn limit(&self) -> RegexFault {
        RegexFault::Limit(self.pattern.clone())
    }
}

fn build(text: &str) -> Result<Regex, fancy_regex::Error> {
    RegexBuilder::new(text)
        .backtrack_limit(BACKTRACK_STEPS_MAX)
        .delegate_size_limit(PROGRAM_BYTES_MAX)
        .build()
}

/// One match: where it is and what its groups hold.
#[derive(Debug)]
pub struct Found<'t> {
    captures: Captures<'t, str>,
    start: usize,
    end: usize,
}

impl<'t> Found<'t> {
    /// Byte where the match starts.
    pub fn start(&self) -> usize {
        self.start
    }

    /// Byte behind the match.
    pub fn end(&self) -> usize {
        self.end
    }

    /// The text of a group, 0 being the whole match; none if the group took no part.
    pub fn group(&self, index: usize) -> Option<&'t str> {
        self.captures.get(index).map(|found| found.as_str())
    }
}

/// What [`JavaRegex::find_iter`] returns; ends after the first error.
#[derive(Debug)]
pub struct FindIter<'r, 't> {
    regex: &'r JavaRegex,
    text: &'t str,
    /// The byte to search from.
    next: Option<usize>,
}

impl<'t> Iterator for FindIter<'_, 't> {
    type Item = Result<Found<'t>, RegexFault>;

    fn next(&mut self) -> Option<Self::Item> {
        let from = self.next.take()?;
        let regex = match self.regex.searching() {
            Ok(regex) => regex,
            Err(fault) => return Some(Err(fault)),
        };
        let captures = match regex.captures_from_pos(self.text, from) {
            Ok(captures) => captures?,
            Err(_) => return Some(Err(self.regex.limit())),
        };
        let found = captures.get(0)?;
        let (start, end) = (found.start(), found.end());
        // Behind an empty match Java goes on one character later.
        self.next = if start < end {
            Some(end)
        } else {
            self.text.get(end..).and_then(|rest| rest.chars().next()).map(|c| end + c.len_utf8())
        };
        Some(Ok(Found { captures, start, end }))
    }
}

/// What is wrong with the pattern, or none: the text of Java's `PatternSyntaxException`.
pub fn invalid_regex_text(pattern: &str) -> Option<String> {
    JavaRegex::new(pattern).err()
}

#[cfg(test)]
mod tests;
