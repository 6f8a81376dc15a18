//! Schemas as a registry keeps them: what is asked for, what is answered.
//!
//! Invariant: a [`Registered`] schema never changes; its references are resolved and without cycles.

use std::fmt;
use std::sync::Arc;

/// The language of a schema; the registry's `schemaType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    Avro,
    Json,
    Protobuf,
}

impl Kind {
    /// The registry's name.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Avro => "AVRO",
            Kind::Json => "JSON",
            Kind::Protobuf => "PROTOBUF",
        }
    }

    /// The kind of this name; an answer without one is Avro.
    pub fn parse(name: &str) -> Option<Kind> {
        [Kind::Avro, Kind::Json, Kind::Protobuf].into_iter().find(|kind| kind.name() == name)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Avro => "Avro",
            Kind::Json => "JSON Schema",
            Kind::Protobuf => "Protobuf",
        })
    }
}

/// A schema that another one needs: the name it is known by there, and where it is registered.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reference {
    pub name: String,
    pub subject: String,
    pub version: i32,
}

/// A schema that is to be registered or looked up.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Draft {
    pub kind: Kind,
    pub text: String,
    pub references: Vec<Reference>,
}

/// What a record names its schema by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SchemaId {
    Id(i32),
    Guid([u8; 16]),
}

impl fmt::Display for SchemaId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SchemaId::Id(id) => write!(f, "{id}"),
            SchemaId::Guid(bytes) => {
                for (at, byte) in bytes.iter().enumerate() {
                    if [4, 6, 8, 10].contains(&at) {
                        f.write_str("-")?;
                    }
                    write!(f, "{byte:02x}")?;
                }
                Ok(())
            }
        }
    }
}

/// A schema of the registry.
#[derive(Clone, Debug, PartialEq)]
pub struct Registered {
    pub id: SchemaId,
    pub kind: Kind,
    pub text: Arc<str>,
    /// The subject it was asked for under, where that was known.
    pub subject: Option<String>,
    /// Its version in that subject, where the registry says so.
    pub version: Option<i32>,
    /// What it refers to, itself resolved.
    pub references: Vec<(Reference, Arc<Registered>)>,
    /// Those that are not switched off.
    pub rules: Vec<Rule>,
}

/// A rule that a schema of the registry has for its values. None is run here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    pub name: String,
    /// Who would run it, such as `ENCRYPT` or `CEL`.
    pub executor: String,
    /// It is for values that are read.
    pub reads: bool,
    /// It is for values that are written.
    pub writes: bool,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.executor)
    }
}

/// What the registry knows of a schema that it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    pub id: i32,
    /// Newer registries have one for each schema.
    pub guid: Option<[u8; 16]>,
    /// Its version in the subject, where the registry says so.
    pub version: Option<i32>,
}

/// Why there is no schema of an id: the registry does not know it, or it cannot be read. An answer
/// about the records that name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing(pub String);

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why the registry does not take, or does not have, a schema of a subject; its own reason included.
/// An answer about the rows to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The HTTP status: 404 unknown, 409 incompatible, 422 invalid.
    pub status: u16,
    /// The registry's own number, such as 40401 for an unknown subject; 0 where it has none.
    pub code: i64,
    pub message: String,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
