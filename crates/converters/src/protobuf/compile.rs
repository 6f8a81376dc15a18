//! The text of a .proto file, and of those it imports, to descriptors. A schema may be a descriptor in base64, too.
//!
//! Control path: once a schema. Imports come from the schema's references; those of
//! `google/protobuf`, `google/type` and `confluent` that Confluent's converter brings along are built
//! in, unless a reference has the same name.
//!
//! Invariant: nothing is read from disk.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use prost_reflect::prost::Message as _;
use prost_reflect::prost_types::FileDescriptorProto;
use prost_reflect::{DescriptorPool, FileDescriptor, MessageDescriptor};
use protox::file::{File, FileResolver, GoogleFileResolver};
use protox::{Compiler, Error};
use std::collections::HashMap;

/// The name that the file of the schema itself has.
const MAIN: &str = "schema.proto";

/// Longer texts are refused: the schema comes from outside.
const TEXT_BYTES_MAX: usize = 8 << 20;

/// Files that may be imported without a reference, beside those of `google/protobuf`.
const BUILTIN: [(&str, &str); 19] = [
    ("confluent/meta.proto", include_str!("builtin/confluent_meta.proto")),
    ("confluent/type/decimal.proto", include_str!("builtin/confluent_decimal.proto")),
    ("google/type/calendar_period.proto", include_str!("builtin/calendar_period.proto")),
    ("google/type/color.proto", include_str!("builtin/color.proto")),
    ("google/type/date.proto", include_str!("builtin/date.proto")),
    ("google/type/datetime.proto", include_str!("builtin/datetime.proto")),
    ("google/type/dayofweek.proto", include_str!("builtin/dayofweek.proto")),
    ("google/type/decimal.proto", include_str!("builtin/decimal.proto")),
    ("google/type/expr.proto", include_str!("builtin/expr.proto")),
    ("google/type/fraction.proto", include_str!("builtin/fraction.proto")),
    ("google/type/interval.proto", include_str!("builtin/interval.proto")),
    ("google/type/latlng.proto", include_str!("builtin/latlng.proto")),
    ("google/type/localized_text.proto", include_str!("builtin/localized_text.proto")),
    ("google/type/money.proto", include_str!("builtin/money.proto")),
    ("google/type/month.proto", include_str!("builtin/month.proto")),
    ("google/type/phone_number.proto", include_str!("builtin/phone_number.proto")),
    ("google/type/postal_address.proto", include_str!("builtin/postal_address.proto")),
    ("google/type/quaternion.proto", include_str!("builtin/quaternion.proto")),
    ("google/type/timeofday.proto", include_str!("builtin/timeofday.proto")),
];

/// Texts by the name they are imported by.
pub(super) type Imports = HashMap<String, String>;

struct Texts {
    main: String,
    imports: Imports,
    google: GoogleFileResolver,
}

impl FileResolver for Texts {
    fn open_file(&self, name: &str) -> Result<File, Error> {
        if name == MAIN && !self.main.is_empty() {
            return source(name, &self.main);
        }
        if let Some(text) = self.imports.get(name) {
            return source(name, text);
        }
        match BUILTIN.iter().find(|(builtin, _)| *builtin == name) {
            Some((_, text)) => File::from_source(name, text),
            None => self.google.open_file(name),
        }
    }
}

/// A file of this name: of its text, or of a descriptor.
fn source(name: &str, text: &str) -> Result<File, Error> {
    match descriptor(text) {
        Some(mut described) => {
            described.name = Some(name.to_owned());
            Ok(File::from_file_descriptor_proto(described))
        }
        None => File::from_source(name, text),
    }
}

/// The descriptor that a schema is instead of text, in base64: so do Confluent's clients for Python, C# and
/// Go register schemas, and registries that do not translate them give them back. No text of a file
/// is base64.
fn descriptor(text: &str) -> Option<FileDescriptorProto> {
    let bytes = STANDARD.decode(text.trim()).ok().filter(|bytes| !bytes.is_empty())?;
    FileDescriptorProto::decode(&*bytes).ok()
}

/// Compiles a schema.
///
/// # Errors
/// What is wrong with the text, and where; an import that nobody has; an edition, which cannot be
/// compiled here.
pub(super) fn compile(text: &str, imports: Imports) -> Result<FileDescriptor, String> {
    let bytes = text.len() + imports.values().map(String::len).sum::<usize>();
    if bytes > TEXT_BYTES_MAX {
        return Err(format!(
            "the schema has {bytes} bytes with its references, the limit is {TEXT_BYTES_MAX}"
        ));
    }
    let editions = std::iter::once(text).chain(imports.values().map(String::as_str));
    if editions.into_iter().any(uses_editions) {
        return Err("the schema uses an edition, which is not supported: register it with \
                    syntax = \"proto2\" or \"proto3\""
            .to_owned());
    }
    let texts = Texts { main: text.to_owned(), imports, google: GoogleFileResolver::new() };
    let mut compiler = Compiler::with_file_resolver(texts);
    compiler.include_imports(true);
    compiler.open_file(MAIN).map_err(|error| describe(&error))?;
    let pool: DescriptorPool = compiler.descriptor_pool();
    pool.get_file_by_name(MAIN).ok_or_else(|| "the schema is empty".to_owned())
}

fn describe(error: &Error) -> String {
    let text = match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    };
    match error.file() {
        Some(file) if file != MAIN && !text.contains(file) => format!("{file}: {text}"),
        _ => text,
    }
}

/// Whether the first statement of a file is `edition = …`.
fn uses_editions(text: &str) -> bool {
    if let Some(described) = descriptor(text) {
        return described.syntax() == "editions";
    }
    let mut rest = text.trim_start_matches('\u{feff}').trim_start();
    loop {
        let comment = if rest.starts_with("//") {
            rest.split_once('\n')
        } else if rest.starts_with("/*") {
            rest.split_once("*/")
        } else {
            break;
        };
        rest = comment.map(|(_, rest)| rest).unwrap_or_default().trim_start();
    }
    rest.strip_prefix("edition").is_some_and(|rest| rest.trim_start().starts_with('='))
}

/// The message at these indexes: of the file, then of the messages it is nested in.
///
/// # Errors
/// There is no such message.
pub(super) fn message_at(file: &FileDescriptor, path: &[i32]) -> Result<MessageDescriptor, String> {
    let missing = || {
        let path: Vec<String> = path.iter().map(i32::to_string).collect();
        format!("the schema has no message at index [{}]", path.join(", "))
    };
    let (first, rest) = path.split_first().ok_or_else(missing)?;
    let at = |index: &i32| usize::try_from(*index).ok();
    let mut found = at(first).and_then(|index| file.messages().nth(index));
    for index in rest {
        found = match (found, at(index)) {
            (Some(outer), Some(index)) => outer.child_messages().nth(index),
            _ => None,
        };
    }
    found.ok_or_else(missing)
}

/// The indexes of a message in its file, from the outermost message in.
pub(super) fn path_of(message: &MessageDescriptor) -> Vec<i32> {
    // A descriptor's path names the member of its parent, then the index in it.
    message.path().iter().skip(1).step_by(2).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> String {
        compile(text, Imports::new()).unwrap_err()
    }

    #[test]
    fn everything_built_in_compiles() {
        for (name, text) in BUILTIN {
            compile(text, Imports::new()).unwrap_or_else(|fault| panic!("{name}: {fault}"));
        }
        let all: String = BUILTIN.iter().map(|(name, _)| format!("import \"{name}\";\n")).collect();
        let google =
            "import \"google/protobuf/any.proto\"; import \"google/protobuf/struct.proto\";";
        let text = format!("syntax = \"proto3\";\n{all}{google} message M {{ Any.A x = 1; }}");
        assert!(fault(&text).contains("Any.A"), "names that are not there are told");
    }

    #[test]
    fn imports_come_from_references_and_messages_from_indexes() {
        let imports = Imports::from([
            (
                "other.proto".to_owned(),
                "syntax=\"proto3\"; import \"third.proto\"; message O { T t = 1; }".to_owned(),
            ),
            ("third.proto".to_owned(), "syntax=\"proto3\"; message T { int32 a = 1; }".to_owned()),
        ]);
        let text = "syntax=\"proto3\"; import \"other.proto\"; message A { message B {} message C { message D {} } O o = 1; } message E {}";
        let file = compile(text, imports).unwrap();
        for (path, name) in [(&[0][..], "A"), (&[0, 1], "A.C"), (&[0, 1, 0], "A.C.D"), (&[1], "E")]
        {
            let message = message_at(&file, path).unwrap();
            assert_eq!(message.full_name(), name);
            assert_eq!(path_of(&message), path);
        }
        for path in [&[2][..], &[0, 2], &[1, 0], &[-1], &[]] {
            assert!(message_at(&file, path).unwrap_err().contains("no message at index"));
        }
        let missing = fault("syntax=\"proto3\"; import \"nowhere.proto\";");
        assert!(missing.contains("nowhere.proto"), "{missing}");
        let local = fault("syntax=\"proto3\"; import \"etc/hostname\";");
        assert!(local.contains("not found"), "nothing is read from disk: {local}");
    }

    #[test]
    fn a_descriptor_in_base64_is_a_schema_and_may_be_imported() {
        let base64 = |text: &str, imports: &Imports| {
            let file = compile(text, imports.clone()).unwrap();
            STANDARD.encode(file.file_descriptor_proto().encode_to_vec())
        };
        let other =
            base64("syntax=\"proto3\"; package p; message O { int32 a = 1; }", &Imports::new());
        let imports = Imports::from([("other.proto".to_owned(), other)]);
        let text = "syntax=\"proto2\"; import \"other.proto\"; import \"google/type/date.proto\"; message A { \
                    required p.O o = 1; optional google.type.Date d = 2; optional int32 n = 3 [default = 5]; }";
        let described = base64(text, &imports);
        let file = compile(&described, imports).unwrap();
        let message = message_at(&file, &[0]).unwrap();
        let kinds: Vec<_> = message.fields().map(|field| format!("{:?}", field.kind())).collect();
        assert_eq!(message.full_name(), "A");
        assert!(kinds[0].contains("p.O") && kinds[1].contains("google.type.Date"), "{kinds:?}");
        let missing = fault(&described);
        assert!(missing.contains("other.proto"), "{missing}");
        let mut edition =
            FileDescriptorProto::decode(&*STANDARD.decode(&described).unwrap()).unwrap();
        edition.syntax = Some("editions".to_owned());
        assert!(fault(&STANDARD.encode(edition.encode_to_vec())).contains("uses an edition"));
    }

    #[test]
    fn what_cannot_be_compiled_is_told() {
        for text in ["edition = \"2023\";", "// c\n/* d */ edition=\"2024\"; message A {}"] {
            assert!(fault(text).contains("uses an edition"), "{}", fault(text));
        }
        assert!(fault("syntax=\"proto3\"; message A { int32 a = 0; }").contains('0'));
        let deep = format!("{}{}", "message A {".repeat(5000), "}".repeat(5000));
        assert!(!fault(&deep).is_empty(), "a fault, not the end of the stack");
        let long = " ".repeat(TEXT_BYTES_MAX + 1);
        assert!(fault(&long).contains("the limit is"));
    }
}
