//! A schema made ready for reading: which JSON each part of it wants, and how members are found.
//!
//! Plans are built once per schema and shared with it. A struct's plan holds each field's name in
//! the very bytes a producer writes (`"name":`), so that the usual member order costs one
//! comparison a field.
//!
//! Invariant: schemas are at most [`LEVELS_MAX`] levels deep, so reading may recurse.

use super::fault::Fault;
use super::read::Reader;
use super::scan::Kind;
use super::token::Token;
use data::{Cell, DATE, DAY_MS, DECIMAL, Schema, TIME, TIMESTAMP, Type, Width};
use foldhash::fast::RandomState;
use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::Arc;

/// How deep a schema may be.
pub(crate) const LEVELS_MAX: usize = 100;

#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) schema: Arc<Schema>,
    pub(crate) read: Read,
}

/// What a value of this schema is read as.
#[derive(Debug)]
pub(crate) enum Read {
    Integer {
        min: i64,
        max: i64,
        width: Width,
    },
    Float32,
    Float64,
    Boolean,
    Text,
    Bytes,
    /// The schema's scale.
    Decimal(i32),
    /// A date or time whose schema has the name of one but not the type.
    Instant {
        /// Milliseconds of one.
        unit_ms: i64,
        min: i64,
        max: i64,
    },
    List(Box<Plan>),
    /// The key schema is STRING: a JSON object. The plan is the values'.
    Object(Box<Plan>),
    /// Any other key schema: an array of pairs.
    Pairs(Box<Plan>, Box<Plan>),
    Struct(Fields),
    /// No value but null can be read, and why not.
    Nothing(String),
    /// What only another format has.
    Custom(Box<dyn Custom>),
}

/// A way to read a value that is not one of JsonConverter's own.
pub(crate) trait Custom: Debug + Send + Sync {
    /// Reads the value that begins at the reader's place and is no null.
    fn read(&self, reader: &mut Reader<'_>, plan: &Plan) -> Result<Cell, Fault>;

    /// What is told where this wants something else.
    fn wanted(&self) -> &'static str;

    /// For a choice between schemas.
    fn as_any(&self) -> &dyn std::any::Any;
}

/// What becomes of a field whose member is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Absent {
    /// Its default, else what an explicit null gives.
    AsNull,
    /// Its default, else null whatever the field's schema says.
    Null,
    /// Its default, else a fault.
    Fault,
}

/// The fields of a struct.
#[derive(Debug, Default)]
pub(crate) struct Fields {
    pub(crate) list: Vec<FieldPlan>,
    /// Whether the schema allows no other members. They are passed over all the same.
    pub(crate) closed: bool,
    by_name: HashMap<Box<[u8]>, usize, RandomState>,
}

#[derive(Debug)]
pub(crate) struct FieldPlan {
    /// The member's name as it usually comes: quoted, with its colon.
    pub(crate) token: Token,
    pub(crate) plan: Plan,
    pub(crate) absent: Absent,
}

impl Plan {
    /// `levels` schemas are around this one.
    ///
    /// # Errors
    /// A schema that is too deep.
    pub(crate) fn new(schema: &Arc<Schema>, levels: usize) -> Result<Plan, Fault> {
        if levels >= LEVELS_MAX {
            return Err(too_deep());
        }
        let part = |part: Option<&Arc<Schema>>| match part {
            Some(part) => Plan::new(part, levels + 1).map(Box::new),
            None => Err(Fault::data("the schema of the elements is missing")),
        };
        let read = match (logical_of(schema), schema.kind()) {
            (Some(read), _) => read,
            (None, Type::Int8) => integer(i8::MIN.into(), i8::MAX.into(), Width::W8),
            (None, Type::Int16) => integer(i16::MIN.into(), i16::MAX.into(), Width::W16),
            (None, Type::Int32) => integer(i32::MIN.into(), i32::MAX.into(), Width::W32),
            (None, Type::Int64) => integer(i64::MIN, i64::MAX, Width::W64),
            (None, Type::Float32) => Read::Float32,
            (None, Type::Float64) => Read::Float64,
            (None, Type::Boolean) => Read::Boolean,
            (None, Type::String) => Read::Text,
            (None, Type::Bytes) => Read::Bytes,
            (None, Type::Array) => Read::List(part(schema.value_schema())?),
            (None, Type::Map) => match schema.key_schema() {
                Some(key) if key.kind() == Type::String => {
                    Read::Object(part(schema.value_schema())?)
                }
                key => Read::Pairs(part(key)?, part(schema.value_schema())?),
            },
            (None, Type::Struct) => Read::Struct(Fields::new(schema, levels + 1)?),
        };
        Ok(Plan { schema: Arc::clone(schema), read })
    }

    /// Whether the name is that of a date, time or timestamp.
    pub(crate) fn is_temporal(&self) -> bool {
        matches!(self.schema.name(), Some(DATE | TIME | TIMESTAMP))
    }

    /// The fault of a value of the wrong kind.
    #[cold]
    pub(crate) fn mismatch(&self, found: Kind) -> Fault {
        let found = found.name();
        let kind = self.schema.kind().name();
        let logical = self.schema.name().and_then(|name| name.rsplit('.').next()).unwrap_or("");
        Fault::data(match &self.read {
            Read::Nothing(why) => why.clone(),
            Read::Custom(custom) => format!("{}, but found {found}", custom.wanted()),
            Read::Decimal(_) => format!(
                "Invalid type for Decimal, underlying representation should be numeric or bytes \
                 but was {found}"
            ),
            _ if self.is_temporal() => format!(
                "Invalid type for {logical}, underlying representation should be {} but was {found}",
                if logical == "Timestamp" { "integral" } else { "integer" }
            ),
            Read::Object(_) => format!(
                "Maps with string fields should be encoded as JSON objects, but found {found}"
            ),
            Read::Pairs(..) => format!(
                "Maps with non-string fields should be encoded as JSON array of tuples, but found \
                 {found}"
            ),
            Read::Struct(_) => {
                format!("Structs should be encoded as JSON objects, but found {found}")
            }
            _ => format!("Invalid value for {kind} field: found JSON {found}"),
        })
    }

    /// The fault of a value of the right kind that cannot be had exactly.
    #[cold]
    pub(crate) fn unfit(&self, why: &str) -> Fault {
        if self.is_temporal() {
            return self.mismatch(Kind::Number);
        }
        Fault::data(format!("Invalid value for {} field: {why}", self.schema.kind().name()))
    }
}

pub(crate) fn too_deep() -> Fault {
    Fault::data(format!("the schema is nested deeper than {LEVELS_MAX} levels"))
}

fn integer(min: i64, max: i64, width: Width) -> Read {
    Read::Integer { min, max, width }
}

/// What the four logical names make of a schema; the name alone decides, as in Connect.
fn logical_of(schema: &Schema) -> Option<Read> {
    let (ints, longs) = ((i32::MIN.into(), i32::MAX.into()), (i64::MIN, i64::MAX));
    let (natural, unit_ms, (min, max)) = match schema.name()? {
        DATE => (Type::Int32, DAY_MS, ints),
        TIME => (Type::Int32, 1, (0, DAY_MS)),
        TIMESTAMP => (Type::Int64, 1, longs),
        DECIMAL => {
            let scale = schema.parameter("scale").and_then(|scale| scale.parse().ok());
            let text = "Invalid Decimal schema: the scale parameter is missing or no integer";
            return Some(scale.map_or_else(|| Read::Nothing(text.to_owned()), Read::Decimal));
        }
        _ => return None,
    };
    Some(match natural {
        natural if natural != schema.kind() => Read::Instant { unit_ms, min, max },
        Type::Int64 => integer(min, max, Width::W64),
        _ => integer(min, max, Width::W32),
    })
}

impl Fields {
    fn new(schema: &Schema, levels: usize) -> Result<Fields, Fault> {
        let mut fields = Fields::default();
        for field in schema.fields() {
            fields.push(&field.name, Plan::new(&field.schema, levels)?, Absent::AsNull);
        }
        Ok(fields)
    }

    /// Fields whose plans are there, in the order of the schema.
    pub(crate) fn of<'a>(plans: impl IntoIterator<Item = (&'a str, Plan, Absent)>) -> Fields {
        let mut fields = Fields::default();
        for (name, plan, absent) in plans {
            fields.push(name, plan, absent);
        }
        fields
    }

    fn push(&mut self, name: &str, plan: Plan, absent: Absent) {
        let mut token = Vec::with_capacity(name.len() + 3);
        data::write_json_string(name, &mut token);
        token.push(b':');
        self.by_name.insert(name.as_bytes().into(), self.list.len());
        self.list.push(FieldPlan { token: Token::new(&token), plan, absent });
    }

    /// The field of this name, which is not the expected one.
    pub(crate) fn find(&self, name: &[u8]) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// The name of a field, for messages.
    pub(crate) fn name(schema: &Schema, index: usize) -> &str {
        schema.fields().get(index).map_or("", |field| &field.name)
    }
}
