//! Values of unions: structs with a field for each type, of which one is not null.
//!
//! Place in the data path: at plan time, and once for every value of such a schema. A column gets the
//! value of whichever field has one, as if that were the column's schema.

use super::convert::{self, Val};
use super::target::Target;
use data::{Cell, Rows, Schema, Type};

/// The name that Confluent's Avro converter gives to unions.
const AVRO: &str = "io.confluent.connect.avro.Union";
/// The name that Confluent's JSON Schema converter gives to alternatives.
const JSON_SCHEMA: &str = "io.confluent.connect.json.OneOf";
/// What the names of Confluent's Protobuf converter for oneofs begin with.
const PROTOBUF: &str = "io.confluent.connect.protobuf.Union";
/// The parameter of unions where all formats have them alike (`generalized.sum.type.support`).
const GENERAL: &str = "org.apache.kafka.connect.data.Union";

/// Whether a schema stands for several types.
pub(super) fn is_union(schema: &Schema) -> bool {
    schema.kind() == Type::Struct
        && (schema.name().is_some_and(is_name) || schema.parameter(GENERAL).is_some())
}

fn is_name(name: &str) -> bool {
    name == AVRO || name == JSON_SCHEMA || name.starts_with(PROTOBUF)
}

/// Whether the column takes values of one of its types.
pub(super) fn accepts(target: &Target, schema: &Schema) -> bool {
    schema.fields().iter().any(|field| target.accepts(&field.schema))
}

/// The value of the first field that has one; `None` for null.
#[cold]
pub(super) fn value<'a>(rows: &'a Rows, schema: Option<&'a Schema>, cell: Cell) -> Option<Val<'a>> {
    let mut fields = schema?.fields().iter().zip(rows.fields(cell));
    let (field, cell) = fields.find(|(_, cell)| !cell.is_null())?;
    Some(match convert::value(rows, Some(&field.schema), *cell)? {
        // Beside other types a text is a word in a document, not a document, and so are bytes.
        Val::Text(bytes, _) => Val::Text(bytes, true),
        Val::Bytes(bytes, _) => Val::Bytes(bytes, true),
        other => other,
    })
}
