//! JSON as trees that keep what was written: the order of members and the digits of numbers.
//!
//! Records are compared and printed digit by digit, which a reader that makes every number a double
//! could not do.

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;

/// A JSON value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Tree {
    Null,
    Bool(bool),
    /// The digits as written.
    Number(String),
    Text(String),
    List(Vec<Tree>),
    /// Members in order.
    Object(Vec<(String, Tree)>),
}

impl Tree {
    /// # Errors
    /// Not one JSON value, or a member is given twice.
    pub(super) fn parse(text: &str) -> Result<Tree, serde_json::Error> {
        let Any(any) = serde_json::from_str(text)?;
        Ok(match any {
            Parts::Null => Tree::Null,
            Parts::Bool(value) => Tree::Bool(value),
            Parts::Text(text) => Tree::Text(text),
            // Read as a number of some class; what was written is the text itself.
            Parts::Number => Tree::Number(text.trim().to_owned()),
            Parts::List(items) => {
                let items = items.iter().map(|item| Tree::parse(item.get()));
                Tree::List(items.collect::<Result<_, _>>()?)
            }
            Parts::Object(members) => {
                let read = members
                    .into_iter()
                    .map(|(name, member)| Tree::parse(member.get()).map(|tree| (name, tree)));
                let members: Vec<(String, Tree)> = read.collect::<Result<_, _>>()?;
                for (index, (name, _)) in members.iter().enumerate() {
                    if members.iter().take(index).any(|(other, _)| other == name) {
                        let text = format!("the member {name} is given twice");
                        return Err(serde_json::Error::custom(text));
                    }
                }
                Tree::Object(members)
            }
        })
    }

    /// A text.
    pub(super) fn text(text: impl Into<String>) -> Tree {
        Tree::Text(text.into())
    }

    /// An integer.
    pub(super) fn number(value: impl fmt::Display) -> Tree {
        Tree::Number(value.to_string())
    }

    pub(super) fn member(&self, name: &str) -> Option<&Tree> {
        match self {
            Tree::Object(members) => {
                members.iter().find(|(own, _)| own == name).map(|(_, tree)| tree)
            }
            _ => None,
        }
    }

    /// The payload, where this is a schema and its payload as the JSON converter writes them.
    pub(super) fn payload(&self) -> Option<&Tree> {
        match self {
            Tree::Object(members) if members.len() == 2 => {
                self.member("schema").and(self.member("payload"))
            }
            _ => None,
        }
    }

    /// Whether two values say the same: members in any order, numbers digit by digit except that
    /// floats may be written in two ways.
    pub(super) fn same(&self, other: &Tree) -> bool {
        match (self, other) {
            (Tree::Number(a), Tree::Number(b)) => a == b || same_float(a, b),
            (Tree::List(a), Tree::List(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same(b))
            }
            (Tree::Object(a), Tree::Object(b)) => {
                let found = |(name, tree): &(String, Tree)| {
                    other.member(name).is_some_and(|other| tree.same(other))
                };
                a.len() == b.len() && a.iter().all(found)
            }
            _ => self == other,
        }
    }
}

/// `1e3` and `1000.0`; not decimals that differ in their trailing zeros alone.
fn same_float(a: &str, b: &str) -> bool {
    let exponent = |text: &str| text.contains(['e', 'E']);
    let float = |text: &str| text.contains('.') || exponent(text);
    float(a) && float(b) && (exponent(a) || exponent(b)) && a.parse::<f64>() == b.parse::<f64>()
}

impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tree::Null => f.write_str("null"),
            Tree::Bool(value) => write!(f, "{value}"),
            Tree::Number(digits) => f.write_str(digits),
            Tree::Text(text) => f.write_str(&quoted(text)),
            Tree::List(items) => {
                f.write_str("[")?;
                for (index, item) in items.iter().enumerate() {
                    let comma = if index > 0 { "," } else { "" };
                    write!(f, "{comma}{item}")?;
                }
                f.write_str("]")
            }
            Tree::Object(members) => {
                f.write_str("{")?;
                for (index, (name, tree)) in members.iter().enumerate() {
                    let comma = if index > 0 { "," } else { "" };
                    write!(f, "{comma}{}:{tree}", quoted(name))?;
                }
                f.write_str("}")
            }
        }
    }
}

/// A JSON string.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// One level of a value.
enum Parts {
    Null,
    Bool(bool),
    Number,
    Text(String),
    List(Vec<Box<RawValue>>),
    Object(Vec<(String, Box<RawValue>)>),
}

struct Any(Parts);

impl<'de> Deserialize<'de> for Any {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader).map(Any)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Parts;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Parts, E> {
        Ok(Parts::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Parts, E> {
        Ok(Parts::Bool(value))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Parts, E> {
        Ok(Parts::Number)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Parts, E> {
        Ok(Parts::Number)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Parts, E> {
        Ok(Parts::Number)
    }

    fn visit_str<E>(self, text: &str) -> Result<Parts, E> {
        Ok(Parts::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Parts, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Parts::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Parts, A::Error> {
        let mut object = Vec::new();
        while let Some(member) = members.next_entry()? {
            object.push(member);
        }
        Ok(Parts::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_comes_back() {
        for text in [
            r#"{"b":1.10,"a":[12345678901234567890123,-0.0,1e400,null,true],"c":{"x":"\"é\n"}}"#,
            "null",
            "[]",
            "3",
        ] {
            let tree = match Tree::parse(text) {
                Ok(tree) => tree,
                // The one number that no reader takes.
                Err(error) => {
                    assert!(text.contains("1e400"), "{error}");
                    Tree::parse(&text.replace("1e400", "1e40")).unwrap()
                }
            };
            assert_eq!(tree.to_string(), text.replace("1e400", "1e40"));
        }
        assert!(
            Tree::parse(r#"{"a":1,"a":2}"#).unwrap_err().to_string().contains("a is given twice")
        );
        assert!(Tree::parse("{").is_err());
    }

    #[test]
    fn values_are_the_same_whatever_their_order() {
        let same = |a: &str, b: &str| Tree::parse(a).unwrap().same(&Tree::parse(b).unwrap());
        assert!(same(r#"{"a":1,"b":[2]}"#, r#"{"b":[2],"a":1}"#));
        assert!(same("1e3", "1000.0"));
        for (a, b) in [("1", "1.0"), ("1.0", "1.00"), ("[1]", "[1,1]"), (r#"{"a":1}"#, "{}")] {
            assert!(!same(a, b), "{a} {b}");
        }
    }
}
