//! Names of types and fields: what Avro allows, what is made of the rest, and which are taken.

use super::super::attributes::CONNECT_DEFAULT;
use super::super::schema::{Id, Kind, Name, Node};
use super::Mapper;
use data::Schema;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// Types of Avro's own that a type without a namespace would hide.
const PRIMITIVES: [&str; 8] =
    ["null", "boolean", "int", "long", "float", "double", "bytes", "string"];

/// The names that were met so far.
#[derive(Default)]
pub(super) struct Names<'a> {
    /// Records by the name of their struct, begun ones included.
    records: HashMap<&'a str, Id>,
    /// Names of the schemas of fields.
    fields: HashSet<String>,
    /// How many structs had no name.
    unnamed: u32,
}

impl<'a> Names<'a> {
    pub(super) fn record(&self, name: &str) -> Option<Id> {
        self.records.get(name).copied()
    }

    pub(super) fn begin(&mut self, name: &'a str, id: Id) {
        self.records.insert(name, id);
    }

    pub(super) fn next_unnamed(&mut self) -> Name {
        self.unnamed += 1;
        match self.unnamed {
            1 => Name::new(CONNECT_DEFAULT),
            number => Name::new(&format!("{CONNECT_DEFAULT}{number}")),
        }
    }

    /// Whether a field with a schema of this name was met before; it is from now on.
    pub(super) fn seen(&mut self, schema: &Schema, scrub: bool) -> bool {
        schema.name().is_some_and(|name| !self.fields.insert(scrubbed_full(name, scrub)))
    }
}

impl Mapper<'_> {
    /// The name of a type.
    pub(super) fn name(&self, full: &str) -> Result<Name, String> {
        let name = Name::new(&scrubbed_full(full, self.options.scrub_invalid_names));
        if !is_valid(&name.simple) {
            return Err(not_allowed("type", full));
        }
        if name.namespace.is_empty() && PRIMITIVES.contains(&name.simple.as_str()) {
            return Err(format!("A type may not be named {full}: it is a type of Avro's own"));
        }
        Ok(name)
    }

    pub(super) fn field_name(&self, name: &str) -> Result<String, String> {
        let scrubbed = scrubbed(name, self.options.scrub_invalid_names);
        match is_valid(&scrubbed) {
            true => Ok(scrubbed.into_owned()),
            false => Err(not_allowed("field", name)),
        }
    }

    /// Adds a type under the name that is wanted for it. Where another type has that name, which a
    /// reader would take for this one, it gets a number behind it (`make` is told); an equal type
    /// with the same attributes is that one.
    pub(super) fn distinct(
        &mut self,
        wanted: Name,
        make: impl Fn(Name, bool) -> Node,
    ) -> Result<Id, String> {
        let mut name = wanted.clone();
        for number in 2.. {
            let node = make(name.clone(), number > 2);
            let Some(id) = self.builder.named(&name.full()) else {
                return Ok(self.builder.add(node));
            };
            let known = self.builder.node(id);
            if known.props == node.props && self.same_node(known, &node) {
                return Ok(id);
            }
            name.simple = format!("{}{number}", wanted.simple);
        }
        Err(format!("Too many types are named {wanted}"))
    }

    /// Whether two types read data alike.
    fn same(&self, one: Id, other: Id) -> bool {
        one == other || self.same_node(self.builder.node(one), self.builder.node(other))
    }

    pub(super) fn same_node(&self, one: &Node, other: &Node) -> bool {
        let logical = ["logicalType", "precision", "scale"];
        if logical.iter().any(|name| one.props.get(*name) != other.props.get(*name)) {
            return false;
        }
        match (&one.kind, &other.kind) {
            (Kind::Record(one), Kind::Record(other)) => {
                one.name == other.name
                    && one.fields.len() == other.fields.len()
                    && one.fields.iter().zip(&other.fields).all(|(one, other)| {
                        one.name == other.name && self.same(one.schema, other.schema)
                    })
            }
            (Kind::Enum(one), Kind::Enum(other)) => {
                one.name == other.name && one.symbols == other.symbols
            }
            (Kind::Fixed(one), Kind::Fixed(other)) => {
                one.name == other.name && one.size == other.size
            }
            (Kind::Array(one), Kind::Array(other)) | (Kind::Map(one), Kind::Map(other)) => {
                self.same(*one, *other)
            }
            (Kind::Union(one), Kind::Union(other)) => {
                one.len() == other.len()
                    && one.iter().zip(other).all(|(one, other)| self.same(*one, *other))
            }
            (one, other) => one == other,
        }
    }
}

fn not_allowed(what: &str, name: &str) -> String {
    format!(
        "The {what} name '{name}' is not allowed in Avro (letters, digits and underscores, no digit \
         first); scrub.invalid.names=true writes it with others"
    )
}

/// As Java's library of Avro checks it: letters of any script.
fn is_valid(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|first| first.is_alphabetic() || first == '_')
        && chars.all(|c| c.is_alphanumeric() || c == '_')
}

/// A full name, its parts scrubbed. As Java splits: empty parts at the end do not count.
pub(in crate::avro) fn scrubbed_full(full: &str, scrub: bool) -> String {
    let parts = full.trim_end_matches('.').split('.');
    let parts: Vec<Cow<'_, str>> = parts.map(|part| scrubbed(part, scrub)).collect();
    parts.join(".")
}

/// The name if it is good or may not be changed; else percent-encoded as for a form in a URL, an x
/// before a digit, and all that is no letter, digit or underscore then an underscore.
pub(in crate::avro) fn scrubbed(name: &str, scrub: bool) -> Cow<'_, str> {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let good = name.bytes().all(word) && !name.starts_with(|c: char| c.is_ascii_digit());
    if !scrub || good {
        return Cow::Borrowed(name);
    }
    let mut out = String::with_capacity(name.len() + 8);
    for byte in name.bytes() {
        match byte {
            _ if word(byte) => out.push(char::from(byte)),
            b'.' | b'-' | b'*' | b' ' => out.push('_'),
            _ => out.push_str(&format!("_{byte:02X}")),
        }
    }
    if out.starts_with(|c: char| c.is_ascii_digit()) {
        out.insert(0, 'x');
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_scrubbed_as_form_data() {
        for (name, wanted) in [
            ("", ""),
            ("abc_DEF_123", "abc_DEF_123"),
            ("abc+-.*_", "abc_2B____"),
            ("abc-def", "abc_def"),
            ("abc+def", "abc_2Bdef"),
            ("abc  def", "abc__def"),
            ("0abc.def", "x0abc_def"),
            ("0abc", "x0abc"),
            ("é", "_C3_A9"),
            ("größe", "gr_C3_B6_C3_9Fe"),
        ] {
            assert_eq!(scrubbed(name, true), wanted);
            assert_eq!(scrubbed(name, false), name);
        }
        assert_eq!(scrubbed_full("org.acme-corp.a b", true), "org.acme_corp.a_b");
        assert_eq!(scrubbed_full("a.b..", false), "a.b");
    }
}
