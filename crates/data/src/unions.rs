//! Schemas that stand for several types: structs with a field for each, of which one is not null.
//!
//! Source: the names that Confluent's converters give to them.

use crate::cell::Cell;
use crate::rows::Rows;
use crate::schema::{Field, Schema, Type};

/// The name that Confluent's Avro converter gives to unions.
const AVRO: &str = "io.confluent.connect.avro.Union";
/// The name that Confluent's JSON Schema converter gives to alternatives.
const JSON_SCHEMA: &str = "io.confluent.connect.json.OneOf";
/// What the names of Confluent's Protobuf converter for oneofs begin with.
const PROTOBUF: &str = "io.confluent.connect.protobuf.Union";
/// The parameter of unions where all formats have them alike (`generalized.sum.type.support`).
const GENERAL: &str = "org.apache.kafka.connect.data.Union";

impl Schema {
    /// Whether the schema stands for several types.
    pub fn is_union(&self) -> bool {
        let named = |name: &str| name == AVRO || name == JSON_SCHEMA || name.starts_with(PROTOBUF);
        self.kind() == Type::Struct
            && (self.name().is_some_and(named) || self.parameter(GENERAL).is_some())
    }

    /// The first field that has a value in a struct of this schema, and the value.
    pub fn branch(&self, rows: &Rows, cell: Cell) -> Option<(&Field, Cell)> {
        let mut fields = self.fields().iter().zip(rows.fields(cell));
        fields.find(|(_, cell)| !cell.is_null()).map(|(field, cell)| (field, *cell))
    }
}
