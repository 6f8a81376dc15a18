//! Names that Protobuf allows, and what of a Connect schema goes into options.

use super::fault::Fault;
use super::options::names;
use data::{Logical, Schema, SchemaBuilder, Type};
use std::sync::Arc;

/// How names of Connect become names of Protobuf.
#[derive(Clone, Copy)]
pub(super) struct Names {
    /// `scrub.invalid.names`
    pub(super) scrub: bool,
}

impl Names {
    /// The name, changed where that is wanted.
    ///
    /// # Errors
    /// Protobuf does not allow it, and it is not to be changed.
    pub(super) fn checked(self, name: &str) -> Result<String, Fault> {
        if self.scrub && !is_clean(name) {
            return Ok(scrubbed(name));
        }
        self.checked_as_is(name)?;
        Ok(name.to_owned())
    }

    /// # Errors
    /// Protobuf does not allow the name.
    pub(super) fn checked_as_is(self, name: &str) -> Result<(), Fault> {
        let mut bytes = name.bytes();
        let first = bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
        if first && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_') {
            return Ok(());
        }
        Err(Fault::new(format!(
            "{name:?} is no name in Protobuf; scrub.invalid.names=true would change it"
        )))
    }
}

fn is_clean(name: &str) -> bool {
    name.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// The name as Confluent's converter changes it: encoded as in a URL, an `x` in front where it begins
/// with a digit or underscore, and underscores for everything that is still not allowed.
fn scrubbed(name: &str) -> String {
    let mut out = String::new();
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' => out.push(char::from(byte)),
            // Left alone by the encoding, or a blank's plus.
            b'.' | b'-' | b'*' | b' ' => out.push('_'),
            other => out.push_str(&format!("_{other:02X}")),
        }
    }
    // What was a letter of another kind begins with an underscore only after the look at it.
    let begins = name.bytes().next().is_some_and(|b| b.is_ascii_digit() || b == b'_');
    if begins { format!("x{out}") } else { out }
}

/// What is behind the last dot.
pub(super) fn simple_name(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

/// The parameters that Confluent's converter writes for a field.
pub(super) fn param_set(schema: &Schema) -> Vec<(String, String)> {
    let mut params = Vec::new();
    let mut put = |name: &str, value: &str| params.push((name.to_owned(), value.to_owned()));
    match (schema.logical(), schema.kind()) {
        (Logical::Decimal(_), _) => {
            if let Some(precision) = schema.parameter(names::PRECISION) {
                put("precision", precision);
            }
            if let Some(scale) = schema.parameter("scale") {
                put("scale", scale);
            }
        }
        (Logical::None, Type::Int8) => put(names::CONNECT_TYPE, "int8"),
        (Logical::None, Type::Int16) => put(names::CONNECT_TYPE, "int16"),
        _ => {}
    }
    params
}

/// Name, version and parameters of a schema that Protobuf has no place for, as parameters.
pub(super) fn extras(schema: &Schema, with_name: bool) -> Vec<(String, String)> {
    let mut params = Vec::new();
    let is_enum = [names::ENUM, names::GENERAL_ENUM].iter().any(|p| schema.parameter(p).is_some());
    if let Some(name) = schema.name().filter(|_| with_name && !is_enum) {
        params.push((names::CONNECT_NAME.to_owned(), name.to_owned()));
    }
    if let Some(version) = schema.version().filter(|_| schema.logical() == Logical::None) {
        params.push((names::CONNECT_VERSION.to_owned(), version.to_string()));
    }
    let is_decimal = matches!(schema.logical(), Logical::Decimal(_));
    for (name, value) in schema.parameters().unwrap_or_default() {
        let own = [
            names::ENUM,
            names::GENERAL_ENUM,
            names::UNION,
            names::GENERAL_UNION,
            names::TAG,
            names::TYPE,
            names::RECURSIVE,
        ];
        let own = own.iter().any(|own| name.starts_with(own));
        let of_decimal = is_decimal && matches!(&**name, "scale" | names::PRECISION);
        if !(own || of_decimal) {
            params.push((format!("{}{name}", names::CONNECT_PARAMETER), value.to_string()));
        }
    }
    params
}

/// A type's schema without what its place in a struct adds: its number, whether it is optional, its
/// default.
pub(super) fn without_place(schema: &Schema) -> Arc<Schema> {
    let mut builder = match (schema.kind(), schema.value_schema()) {
        (Type::Map, value) => SchemaBuilder::map_of(schema.key_schema().cloned(), value.cloned()),
        (kind, _) => SchemaBuilder::new(kind),
    };
    for field in schema.fields() {
        builder = builder.field(&field.name, Arc::clone(&field.schema));
    }
    if let Some(name) = schema.name() {
        builder = builder.name(name);
    }
    if let Some(version) = schema.version() {
        builder = builder.version(version);
    }
    for (name, value) in schema.parameters().unwrap_or_default() {
        if &**name != names::TAG {
            builder = builder.parameter(name, value);
        }
    }
    Arc::new(builder.build().unwrap_or_else(|_| schema.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_scrubbed_as_confluent_does() {
        let names = Names { scrub: true };
        for (name, clean) in [
            ("abc_1", "abc_1"),
            ("1a", "x1a"),
            ("_a", "x_a"),
            ("a-b.c d", "a_b_c_d"),
            ("$a", "_24a"),
            ("é", "_C3_A9"),
        ] {
            assert_eq!(names.checked(name).unwrap(), clean, "{name}");
        }
        let plain = Names { scrub: false };
        assert_eq!(plain.checked("_a").unwrap(), "_a");
        for bad in ["a-b", "1a", "", "é"] {
            let fault = plain.checked(bad).unwrap_err();
            assert!(fault.message().contains("scrub.invalid.names"), "{bad}");
        }
    }
}
