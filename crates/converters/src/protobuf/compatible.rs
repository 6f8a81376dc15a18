//! Whether messages of one schema can be read with another.

use super::wire::{BYTES, FIXED32, FIXED64, VARINT};
use prost_reflect::{FileDescriptor, Kind, MessageDescriptor};
use std::collections::HashSet;

/// Asks it for every message that both files have.
///
/// # Errors
/// The field that cannot be read, with its path.
pub(super) fn compatible(written: &FileDescriptor, read: &FileDescriptor) -> Result<(), String> {
    let mut seen = HashSet::new();
    let target = |message: &MessageDescriptor| {
        read.messages().find(|other| other.full_name() == message.full_name())
    };
    written.messages().try_for_each(|message| match target(&message) {
        Some(target) => check(&message, &target, &mut seen),
        None => Err(format!("the message {} is missing", message.full_name())),
    })
}

fn check(
    written: &MessageDescriptor,
    read: &MessageDescriptor,
    seen: &mut HashSet<(String, String)>,
) -> Result<(), String> {
    let pair = (written.full_name().to_owned(), read.full_name().to_owned());
    if !seen.insert(pair) {
        return Ok(());
    }
    for target in read.fields() {
        let Some(field) = written.get_field(target.number()) else {
            if target.is_required() {
                let name = target.full_name();
                return Err(format!("the required field {name} is not written"));
            }
            continue;
        };
        let name = field.full_name().to_owned();
        match (field.kind(), target.kind()) {
            (Kind::Message(a), Kind::Message(b)) => check(&a, &b, seen)?,
            (a, b) if encoding(&a) == encoding(&b) => {}
            (a, b) => return Err(format!("the field {name} is {a:?} and would be read as {b:?}")),
        }
        let lists = (field.is_list() || field.is_map(), target.is_list() || target.is_map());
        if lists.0 != lists.1 && encoding(&field.kind()).0 != BYTES {
            return Err(format!("the field {name} is a list on one side only"));
        }
    }
    Ok(())
}

/// How values are on the wire; types of one encoding can be read as one another.
fn encoding(kind: &Kind) -> (u8, u8) {
    match kind {
        Kind::Sint32 | Kind::Sint64 => (VARINT, 1),
        Kind::Fixed32 | Kind::Sfixed32 => (FIXED32, 0),
        Kind::Float => (FIXED32, 1),
        Kind::Fixed64 | Kind::Sfixed64 => (FIXED64, 0),
        Kind::Double => (FIXED64, 1),
        Kind::String | Kind::Bytes => (BYTES, 0),
        Kind::Message(_) => (BYTES, 1),
        _ => (VARINT, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::super::compile::{Imports, compile};
    use super::*;

    #[test]
    fn fields_are_compared_by_number_and_encoding() {
        let asked = |a: &str, b: &str| {
            let file = |fields: &str| {
                let text = format!(
                    "syntax=\"proto2\"; message N {{ {fields} }} message M {{ optional N n = 1; }}"
                );
                compile(&text, Imports::new()).unwrap()
            };
            compatible(&file(a), &file(b))
        };
        for (a, b) in [
            ("optional int32 a = 1;", "optional bool b = 1;"),
            ("optional int32 a = 1;", "optional string b = 2;"),
            ("optional string a = 1;", "repeated bytes a = 1;"),
        ] {
            assert_eq!(asked(a, b), Ok(()), "{a} {b}");
        }
        for (a, b) in [
            ("optional int32 a = 1;", "optional sint32 a = 1;"),
            ("optional int32 a = 1;", "optional string a = 1;"),
            ("optional int32 a = 1;", "repeated int32 a = 1;"),
            ("optional int32 a = 1;", "required int32 b = 2;"),
        ] {
            assert!(asked(a, b).is_err(), "{a} {b}");
        }
    }
}
