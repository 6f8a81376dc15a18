//! What one schema object says: each of its keywords belongs to a part, and all parts hold at once.
//!
//! As the loader under Confluent's converter splits it (Everit): `enum`, the combinations, `not`,
//! `const` and the type are parts of their own; a keyword of another type than the one given, or
//! without a type, adds that type's part.

use super::documents::At;
use super::tree::Json;

/// One part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Part<'t> {
    Enum(&'t [Json]),
    Const(&'t Json),
    /// `oneOf` or `anyOf`.
    Any(&'t [Json]),
    All(&'t [Json]),
    /// `type` with a list.
    Types(&'t [Json]),
    Boolean,
    Integer,
    Number,
    Text,
    Array,
    Object,
    Null,
    /// `not`, `if`: says what a value is not, or when.
    Condition,
}

const ARRAY: &[&str] =
    &["items", "additionalItems", "minItems", "maxItems", "uniqueItems", "contains", "prefixItems"];
const OBJECT: &[&str] = &[
    "properties",
    "required",
    "minProperties",
    "maxProperties",
    "dependencies",
    "patternProperties",
    "additionalProperties",
    "propertyNames",
];
const NUMBER: &[&str] =
    &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];
const TEXT: &[&str] = &["minLength", "maxLength", "pattern", "format"];

/// The parts of a schema object.
///
/// # Errors
/// A type that there is not.
pub(super) fn parts(node: &Json) -> Result<Vec<Part<'_>>, String> {
    let mut parts = Vec::new();
    if let Some(Json::List(values)) = node.get("enum") {
        parts.push(Part::Enum(values));
    }
    for key in ["allOf", "anyOf", "oneOf"] {
        if let Some(Json::List(list)) = node.get(key) {
            parts.push(if key == "allOf" { Part::All(list) } else { Part::Any(list) });
        }
    }
    if node.has(&["not"]) {
        parts.push(Part::Condition);
    }
    if let Some(value) = node.get("const") {
        parts.push(Part::Const(value));
    }
    let mut typed = Vec::new();
    match node.get("type") {
        Some(Json::Text(name)) => {
            let part = of_type(name)?;
            typed.push(part);
            parts.push(part);
        }
        Some(Json::List(names)) => {
            for name in names {
                typed.push(of_type(&name.plain())?);
            }
            parts.push(Part::Types(names));
        }
        Some(other) => return Err(format!("\"type\" is {}", other.plain())),
        None => {}
    }
    for (keywords, part) in
        [(ARRAY, Part::Array), (OBJECT, Part::Object), (NUMBER, Part::Number), (TEXT, Part::Text)]
    {
        let known = typed.contains(&part) || part == Part::Number && typed.contains(&Part::Integer);
        if !known && node.has(keywords) {
            parts.push(part);
        }
    }
    if node.has(&["if", "then", "else"]) {
        parts.push(Part::Condition);
    }
    Ok(parts)
}

/// # Errors
/// A type that there is not.
pub(super) fn of_type(name: &str) -> Result<Part<'static>, String> {
    Ok(match name {
        "boolean" => Part::Boolean,
        "integer" => Part::Integer,
        "number" => Part::Number,
        "string" => Part::Text,
        "array" => Part::Array,
        "object" => Part::Object,
        "null" => Part::Null,
        other => return Err(format!("unknown type \"{other}\"")),
    })
}

/// A schema, or one type of a schema that has several.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sub<'t> {
    pub(super) at: At<'t>,
    pub(super) only: Option<Part<'t>>,
}

impl<'t> Sub<'t> {
    pub(super) fn new(at: At<'t>) -> Sub<'t> {
        Sub { at, only: None }
    }

    /// Whether null is all that it takes.
    pub(super) fn is_null(&self) -> bool {
        let only = |parts: Vec<Part<'_>>| parts == [Part::Null];
        match self.only {
            Some(part) => part == Part::Null,
            None => !self.at.node.has(&["$ref"]) && parts(self.at.node).is_ok_and(only),
        }
    }
}

/// The alternatives of a combination.
///
/// # Errors
/// A type that there is not.
pub(super) fn alternatives<'t>(at: At<'t>, part: Part<'t>) -> Result<Vec<Sub<'t>>, String> {
    match part {
        Part::Types(names) => {
            let of = |name: &Json| Ok(Sub { at, only: Some(of_type(&name.plain())?) });
            names.iter().map(of).collect()
        }
        Part::Any(list) | Part::All(list) => {
            let of = |node| Sub::new(At { document: at.document, node });
            Ok(list.iter().map(of).collect())
        }
        _ => Ok(Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_keyword_belongs_to_a_part() {
        let of = |text: &str| {
            let tree = Json::parse(text.as_bytes()).unwrap();
            let list = parts(&tree).map(|list| {
                let name = |part: &Part<'_>| {
                    let text = format!("{part:?}");
                    text.split('(').next().unwrap_or_default().to_owned()
                };
                list.iter().map(name).collect::<Vec<_>>().join(" ")
            });
            list.unwrap_or_else(|error| format!("error: {error}"))
        };
        for (text, wanted) in [
            (r#"{"title":"x"}"#, ""),
            (r#"{"type":"string","enum":["a"]}"#, "Enum Text"),
            (r#"{"type":"integer","format":"int32","minimum":1}"#, "Integer Text"),
            (r#"{"type":["integer","null"],"enum":[1]}"#, "Enum Types"),
            (r#"{"type":"object","anyOf":[{}],"properties":{}}"#, "Any Object"),
            (r#"{"properties":{},"if":{}}"#, "Object Condition"),
            (r#"{"minLength":3}"#, "Text"),
            (r#"{"type":"object","items":{}}"#, "Object Array"),
            (r#"{"not":{}}"#, "Condition"),
            (r#"{"const":null}"#, "Const"),
            (r#"{"type":"int"}"#, "error: unknown type \"int\""),
        ] {
            assert_eq!(of(text), wanted, "{text}");
        }
    }
}
