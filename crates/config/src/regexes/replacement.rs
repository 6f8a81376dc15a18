//! Replacement texts: `$1`, `${name}` and `\$` as Java's `Matcher.appendReplacement` reads them.
//!
//! Place in the data path: routing and renaming transforms, once per name.

use super::{Found, JavaRegex, RegexFault};
use std::iter::Peekable;
use std::str::Chars;

/// A replacement text. Java reads it anew for each match, and so do we: a mistake in it shows at
/// the first match, behind whatever stands before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JavaReplacement(String);

impl JavaReplacement {
    /// Takes the text as it is; it is read when something matches.
    pub fn new(text: &str) -> JavaReplacement {
        JavaReplacement(text.to_owned())
    }

    /// The text as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the text is right for the pattern, without a match.
    ///
    /// # Errors
    /// What [`JavaRegex::replace_all`] would say at the first match.
    pub fn check(&self, regex: &JavaRegex) -> Result<(), RegexFault> {
        self.walk(regex, &mut |_| ())
    }

    /// Writes the replacement of one match.
    pub(super) fn append(
        &self,
        regex: &JavaRegex,
        found: &Found<'_>,
        out: &mut String,
    ) -> Result<(), RegexFault> {
        self.walk(regex, &mut |part| match part {
            Part::Char(c) => out.push(c),
            Part::Group(index) => out.push_str(found.group(index).unwrap_or_default()),
        })
    }

    fn walk(&self, regex: &JavaRegex, each: &mut dyn FnMut(Part)) -> Result<(), RegexFault> {
        let mut chars = self.0.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '\\' => match chars.next() {
                    Some(escaped) => each(Part::Char(escaped)),
                    None => return illegal("character to be escaped is missing"),
                },
                '$' => each(Part::Group(group(&mut chars, regex)?)),
                _ => each(Part::Char(c)),
            }
        }
        Ok(())
    }
}

enum Part {
    Char(char),
    Group(usize),
}

fn illegal<T>(text: &str) -> Result<T, RegexFault> {
    Err(RegexFault::IllegalArgument(text.to_owned()))
}

/// Reads what follows a `$`.
fn group(chars: &mut Peekable<Chars<'_>>, regex: &JavaRegex) -> Result<usize, RegexFault> {
    match chars.peek() {
        None => illegal("Illegal group reference: group index is missing"),
        Some('{') => {
            chars.next();
            named(chars, regex)
        }
        Some(c) => match c.to_digit(10) {
            Some(digit) => {
                chars.next();
                numbered(chars, digit as usize, regex)
            }
            None => illegal("Illegal group reference"),
        },
    }
}

fn named(chars: &mut Peekable<Chars<'_>>, regex: &JavaRegex) -> Result<usize, RegexFault> {
    let mut name = String::new();
    while let Some(c) = chars.next_if(char::is_ascii_alphanumeric) {
        name.push(c);
    }
    let end = chars.next();
    if name.is_empty() {
        return illegal("named capturing group has 0 length name");
    }
    if end != Some('}') {
        return illegal("named capturing group is missing trailing '}'");
    }
    if name.starts_with(|c: char| c.is_ascii_digit()) {
        return illegal(&format!("capturing group name {{{name}}} starts with digit character"));
    }
    match regex.names.get(&name) {
        Some(index) => Ok(*index),
        None => illegal(&format!("No group with name {{{name}}}")),
    }
}

/// More digits belong to the number as long as the pattern has that many groups.
fn numbered(
    chars: &mut Peekable<Chars<'_>>,
    first: usize,
    regex: &JavaRegex,
) -> Result<usize, RegexFault> {
    let mut number = first;
    if number > regex.groups {
        return Err(RegexFault::IndexOutOfBounds(format!("No group {number}")));
    }
    while let Some(digit) = chars.peek().and_then(|c| c.to_digit(10)) {
        let longer = number * 10 + digit as usize;
        if longer > regex.groups {
            break;
        }
        number = longer;
        chars.next();
    }
    Ok(number)
}
