//! The path of a field, in both syntaxes: V1, a plain name, and V2, names with dots between them.
//!
//! In V2 a step may stand between backticks, to have dots in it. A backtick inside that no dot and no
//! end follows is itself; one that a dot or the end follows closes the step, unless a backslash stands
//! before it, which goes. Source: KIP-821.
//!
//! Place in the data path: configuration reads paths, schemas resolve them once, records are looked
//! into by index, or near the place where the last record had the member ([`Near`]).
//! Invariant: a path whose steps the schema lacks is found out by the schema, not by a record.

use crate::fault::Fault;
use crate::part::{Near, member_near, with_default};
use crate::shape::map_or_null;
use config::ConfigErrors;
use data::{Cell, Rows, Schema, Span, Type};
use std::sync::Arc;

config::config_enum! {
    /// How a field is named.
    pub(crate) enum FieldSyntax {
        /// By its name, dots included.
        V1 = "V1",
        /// By the names on the way to it.
        V2 = "V2",
    }
}

/// A field's path as it is configured.
#[derive(Clone, Debug)]
pub(crate) struct FieldPath {
    text: String,
    /// None for an empty path of V2, which no record has.
    steps: Vec<String>,
}

impl FieldPath {
    /// Reads the path that is set under `key`.
    ///
    /// # Errors
    /// A backtick that opens a step which none closes.
    pub(crate) fn parse(key: &str, text: &str, syntax: FieldSyntax) -> Result<Self, ConfigErrors> {
        let names = match syntax {
            FieldSyntax::V1 => vec![text.to_owned()],
            FieldSyntax::V2 => steps(text).map_err(|position| {
                ConfigErrors::one(
                    key,
                    format!(
                        "Incomplete backtick pair in path: [{text}], consider adding a backslash \
                         before backtick at position {position} to escape it"
                    ),
                )
            })?,
        };
        Ok(FieldPath { text: text.to_owned(), steps: names })
    }

    /// The path as configured.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Where the path leads under a schema; `None` where a step is no field.
    pub(crate) fn resolve(&self, schema: &Schema) -> Result<Option<Resolved>, Fault> {
        self.check_not_empty()?;
        let mut places = Vec::with_capacity(self.steps.len());
        let mut schema = schema;
        for name in &self.steps {
            if schema.kind() != Type::Struct {
                return Err(Fault::data("Cannot look up fields on non-struct type"));
            }
            let Some(index) = schema.field(name) else { return Ok(None) };
            let Some(field) = schema.fields().get(index) else { return Ok(None) };
            places.push((index, field.schema.clone()));
            schema = &field.schema;
        }
        Ok(Some(Resolved { places }))
    }

    /// The cell of the value in a map without schema, if the path has one step; null where it is missing.
    #[inline]
    pub(crate) fn near<'a>(&self, rows: &'a Rows, map: Span, near: &mut Near) -> Option<&'a Cell> {
        match self.steps.as_slice() {
            [name] => Some(member_near(rows, map, name, near)),
            _ => None,
        }
    }

    /// The value at the path in a map without schema; null where it or a step before it is missing.
    pub(crate) fn find(&self, rows: &mut Rows, map: Span) -> Result<Cell, Fault> {
        self.check_not_empty()?;
        let mut map = Some(map);
        let mut found = Cell::Null;
        let last = self.steps.len().saturating_sub(1);
        for (index, name) in self.steps.iter().enumerate() {
            let Some(span) = map.take() else { return Ok(Cell::Null) };
            found = *member_near(rows, span, name, &mut Near::default());
            if index < last {
                map = map_or_null("nested field access", rows, &found)?;
            }
        }
        Ok(found)
    }

    fn check_not_empty(&self) -> Result<(), Fault> {
        match self.steps.is_empty() {
            true => Err(Fault::illegal_argument("Unknown field: ")),
            false => Ok(()),
        }
    }
}

/// A path under one schema.
#[derive(Clone, Debug)]
pub(crate) struct Resolved {
    /// Index and schema of the field of every step; at least one.
    places: Vec<(usize, Arc<Schema>)>,
}

impl Resolved {
    /// The schema of the field.
    #[inline]
    pub(crate) fn schema(&self) -> Option<&Arc<Schema>> {
        self.places.last().map(|(_, schema)| schema)
    }

    /// The cell of the field in a struct, if the path has one step and it is not null.
    #[inline]
    pub(crate) fn near<'a>(&self, rows: &'a Rows, fields: Span) -> Option<&'a Cell> {
        match self.places.as_slice() {
            [(index, _)] => rows.cells(fields).get(*index).filter(|cell| !cell.is_null()),
            _ => None,
        }
    }

    /// The field's value in a struct; null where a step before it is. A null on the way always gives
    /// way to its default, as in Connect, the field's own only if `replace`.
    pub(crate) fn cell(&self, rows: &mut Rows, fields: Span, replace: bool) -> Cell {
        let mut cell = Cell::Struct(fields);
        let last = self.places.len().saturating_sub(1);
        for (step, (index, schema)) in self.places.iter().enumerate() {
            let Cell::Struct(fields) = cell else { return Cell::Null };
            let inner = rows.cell(fields, *index);
            cell = match inner {
                Cell::Null => with_default(rows, Some(schema), inner, replace || step < last),
                _ => inner,
            };
        }
        cell
    }
}

/// The steps of a path in V2.
///
/// # Errors
/// The position of the backtick that is not closed, in UTF-16 units as Java counts.
fn steps(text: &str) -> Result<Vec<String>, usize> {
    let mut steps = Vec::new();
    if text.is_empty() {
        return Ok(steps);
    }
    let mut rest = Some(text);
    while let Some(from) = rest {
        let after = match from.strip_prefix('`') {
            Some(quoted) => match closed(quoted) {
                Some((step, after)) => {
                    steps.push(step);
                    after
                }
                None => {
                    let before = text.get(..text.len() - from.len()).unwrap_or_default();
                    return Err(before.encode_utf16().count());
                }
            },
            None => {
                let end = from.find('.').unwrap_or(from.len());
                let (step, after) = from.split_at(end);
                steps.push(step.to_owned());
                after
            }
        };
        // What is left begins with the dot between two steps, after which there is always one.
        rest = after.strip_prefix('.');
    }
    Ok(steps)
}

/// The step up to its closing backtick, and what follows that.
fn closed(quoted: &str) -> Option<(String, &str)> {
    let mut step = String::new();
    let mut rest = quoted;
    loop {
        let (before, after) = rest.split_once('`')?;
        step.push_str(before);
        let closes = after.is_empty() || after.starts_with('.');
        if !closes {
            step.push('`');
        } else if before.ends_with('\\') {
            step.pop();
            step.push('`');
        } else {
            return Some((step, after));
        }
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Vec<String>, ConfigErrors> {
        let path = FieldPath::parse("field", text, FieldSyntax::V2)?;
        Ok(path.steps)
    }

    #[test]
    fn dots_separate_steps_and_backticks_keep_them() {
        for (text, wanted) in [
            ("a", &["a"][..]),
            ("a.b", &["a", "b"]),
            ("a.`b.c`.d", &["a", "b.c", "d"]),
            ("`a`", &["a"]),
            ("`a`b`", &["a`b"]),
            ("`a\\`.b`", &["a`.b"]),
            ("a`.b`", &["a`", "b`"]),
            ("a.", &["a", ""]),
            (".a..b", &["", "a", "", "b"]),
            ("``", &[""]),
            ("`\\a`", &["\\a"]),
            ("", &[]),
        ] {
            assert_eq!(parse(text).unwrap(), wanted, "{text}");
        }
    }

    #[test]
    fn an_open_backtick_is_told_with_its_position() {
        for (text, position) in [("`a.b", 0), ("in.`x", 3), ("`in`x", 0), ("\u{1F600}.`", 3)] {
            let fault = parse(text).unwrap_err().to_string();
            assert!(fault.contains(&format!("[{text}], consider")), "{fault}");
            assert!(fault.contains(&format!("position {position} to escape it")), "{fault}");
        }
        assert!(parse("`a\\`").is_err(), "an escaped backtick closes nothing");
    }

    #[test]
    fn v1_takes_the_text_as_one_name() {
        let path = FieldPath::parse("field", "a.`b", FieldSyntax::V1).unwrap();
        assert_eq!((path.steps.len(), path.text()), (1, "a.`b"));
    }
}
