//! A .proto file as a model, and its text.

use std::collections::BTreeSet;
use std::fmt::{self, Display, Formatter};

#[derive(Default)]
pub(super) struct ProtoFile {
    pub(super) package: String,
    pub(super) imports: BTreeSet<&'static str>,
    pub(super) message: ProtoMessage,
}

#[derive(Default)]
pub(super) struct ProtoMessage {
    pub(super) name: String,
    pub(super) items: Vec<Item>,
    pub(super) messages: Vec<ProtoMessage>,
    pub(super) enums: Vec<ProtoEnum>,
    pub(super) params: Vec<(String, String)>,
}

pub(super) enum Item {
    Field(ProtoField),
    Oneof(String, Vec<ProtoField>),
}

pub(super) struct ProtoField {
    /// `repeated`, `optional` or nothing.
    pub(super) label: &'static str,
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) number: u32,
    pub(super) params: Vec<(String, String)>,
}

pub(super) struct ProtoEnum {
    pub(super) name: String,
    pub(super) values: Vec<(String, i32)>,
}

/// Parameters as the value of one of Confluent's options.
struct Params<'a>(&'a [(String, String)]);

impl Display for Params<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("{ params: [")?;
        for (index, (key, value)) in self.0.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            write!(f, "{comma} {{ key: {}, value: {} }}", Quoted(key), Quoted(value))?;
        }
        f.write_str(" ] }")
    }
}

/// Text as a literal. All but plain ASCII is escaped byte by byte.
struct Quoted<'a>(&'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        for byte in self.0.bytes() {
            match byte {
                b'"' | b'\\' => write!(f, "\\{}", char::from(byte))?,
                b' '..=b'~' => write!(f, "{}", char::from(byte))?,
                other => write!(f, "\\{other:03o}")?,
            }
        }
        f.write_str("\"")
    }
}

impl Display for ProtoFile {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("syntax = \"proto3\";\n")?;
        if !self.package.is_empty() {
            writeln!(f, "package {};", self.package)?;
        }
        f.write_str("\n")?;
        for import in &self.imports {
            writeln!(f, "import \"{import}\";")?;
        }
        if !self.imports.is_empty() {
            f.write_str("\n")?;
        }
        self.message.print(f, 0)
    }
}

impl ProtoMessage {
    fn print(&self, f: &mut Formatter<'_>, level: usize) -> fmt::Result {
        let pad = "  ".repeat(level);
        writeln!(f, "{pad}message {} {{", self.name)?;
        if !self.params.is_empty() {
            writeln!(f, "{pad}  option (confluent.message_meta) = {};", Params(&self.params))?;
        }
        for item in &self.items {
            match item {
                Item::Field(field) => field.print(f, &pad)?,
                Item::Oneof(name, members) => {
                    writeln!(f, "{pad}  oneof {name} {{")?;
                    for member in members {
                        member.print(f, &format!("{pad}  "))?;
                    }
                    writeln!(f, "{pad}  }}")?;
                }
            }
        }
        for message in &self.messages {
            message.print(f, level + 1)?;
        }
        for symbols in &self.enums {
            symbols.print(f, &pad)?;
        }
        writeln!(f, "{pad}}}")
    }
}

impl ProtoField {
    fn print(&self, f: &mut Formatter<'_>, pad: &str) -> fmt::Result {
        let space = if self.label.is_empty() { "" } else { " " };
        write!(f, "{pad}  {}{space}{} {} = {}", self.label, self.kind, self.name, self.number)?;
        if !self.params.is_empty() {
            write!(f, " [(confluent.field_meta) = {}]", Params(&self.params))?;
        }
        f.write_str(";\n")
    }
}

impl ProtoEnum {
    fn print(&self, f: &mut Formatter<'_>, pad: &str) -> fmt::Result {
        writeln!(f, "{pad}  enum {} {{", self.name)?;
        let mut numbers = BTreeSet::new();
        if !self.values.iter().all(|(_, number)| numbers.insert(number)) {
            writeln!(f, "{pad}    option allow_alias = true;")?;
        }
        for (symbol, number) in &self.values {
            writeln!(f, "{pad}    {symbol} = {number};")?;
        }
        writeln!(f, "{pad}  }}")
    }
}
