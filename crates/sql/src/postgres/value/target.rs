//! What a column is taken for, and which values go into it.
//!
//! Place in the data path: plan time only. The tables of this file are the manual's list of accepted
//! pairs.

use super::{semantic, union};
use crate::epoch::unit_of;
use data::{Logical, Schema, Semantic, Type};

/// A column's type as `pg_type` describes it. Domains are resolved to their base type by the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnType {
    /// `pg_type.oid`.
    pub oid: u32,
    /// `pg_type.typname`.
    pub name: String,
    /// `pg_type.typtype`: `b`ase, `c`omposite, `e`num, `r`ange, `m`ultirange, `d`omain.
    pub kind: char,
    /// The element type of a true array.
    pub element: Option<Box<ColumnType>>,
    /// The attributes of a composite type, in their order. Empty: values are not taken apart, and
    /// only text goes in.
    pub attributes: Vec<(String, ColumnType)>,
}

impl ColumnType {
    /// A type without elements and attributes.
    pub fn scalar(oid: u32, name: &str, kind: char) -> ColumnType {
        ColumnType { oid, name: name.to_owned(), kind, element: None, attributes: Vec::new() }
    }

    /// An array of `element`.
    pub fn array(oid: u32, name: &str, element: ColumnType) -> ColumnType {
        ColumnType { element: Some(Box::new(element)), ..ColumnType::scalar(oid, name, 'b') }
    }
}

/// What a column is taken for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Bool,
    Int2,
    Int4,
    Int8,
    Oid,
    Float4,
    Float8,
    Numeric,
    Money,
    /// `bit` and `bit varying`.
    Bits,
    /// `text`, `varchar`, `char(n)`, `name`, `citext`.
    Text,
    Bytea,
    Uuid,
    Json,
    Jsonb,
    Date,
    Time,
    TimeTz,
    Timestamp,
    TimestampTz,
    Interval,
    Hstore,
    /// pgvector's `vector` and `halfvec`, whose text form is a JSON array.
    Vector,
    /// PostGIS, whose text form of bytes is hex.
    Geometry,
    /// Any other type: what its input function reads.
    Other,
    Array(Box<Target>),
    Composite(Vec<(String, Target)>),
}

impl Target {
    pub(super) fn of(column: &ColumnType) -> Target {
        if let Some(element) = &column.element {
            return Target::Array(Box::new(Target::of(element)));
        }
        if column.kind == 'c' && !column.attributes.is_empty() {
            let attributes = column.attributes.iter();
            return Target::Composite(
                attributes.map(|(name, kind)| (name.clone(), Target::of(kind))).collect(),
            );
        }
        if column.kind != 'b' {
            return Target::Other;
        }
        match column.oid {
            16 => Target::Bool,
            17 => Target::Bytea,
            20 => Target::Int8,
            21 => Target::Int2,
            23 => Target::Int4,
            19 | 25 | 1042 | 1043 => Target::Text,
            26 => Target::Oid,
            114 => Target::Json,
            700 => Target::Float4,
            701 => Target::Float8,
            790 => Target::Money,
            1082 => Target::Date,
            1083 => Target::Time,
            1114 => Target::Timestamp,
            1184 => Target::TimestampTz,
            1186 => Target::Interval,
            1266 => Target::TimeTz,
            1560 | 1562 => Target::Bits,
            1700 => Target::Numeric,
            2950 => Target::Uuid,
            3802 => Target::Jsonb,
            // Types of extensions have an oid of their own in every database.
            _ => match column.name.as_str() {
                "citext" => Target::Text,
                "hstore" => Target::Hstore,
                "vector" | "halfvec" => Target::Vector,
                "geometry" | "geography" => Target::Geometry,
                _ => Target::Other,
            },
        }
    }

    /// The type's name in messages.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Target::Bool => "boolean",
            Target::Int2 => "smallint",
            Target::Int4 => "integer",
            Target::Int8 => "bigint",
            Target::Oid => "oid",
            Target::Float4 => "real",
            Target::Float8 => "double precision",
            Target::Numeric => "numeric",
            Target::Money => "money",
            Target::Bits => "bit",
            Target::Text => "text",
            Target::Bytea => "bytea",
            Target::Uuid => "uuid",
            Target::Json => "json",
            Target::Jsonb => "jsonb",
            Target::Date => "date",
            Target::Time => "time",
            Target::TimeTz => "time with time zone",
            Target::Timestamp => "timestamp",
            Target::TimestampTz => "timestamp with time zone",
            Target::Interval => "interval",
            Target::Hstore => "hstore",
            Target::Vector => "vector",
            Target::Geometry => "geometry",
            Target::Other => "this column",
            Target::Array(_) => "array",
            Target::Composite(_) => "composite",
        }
    }

    /// Text of a record is this type's text form without a look at it: its input function decides.
    pub(super) fn takes_any_text(&self) -> bool {
        !matches!(
            self,
            Target::Bytea
                | Target::Json
                | Target::Jsonb
                | Target::Numeric
                | Target::Float4
                | Target::Float8
        )
    }

    pub(super) fn is_integer(&self) -> bool {
        matches!(self, Target::Int2 | Target::Int4 | Target::Int8 | Target::Oid)
    }

    pub(super) fn is_float(&self) -> bool {
        matches!(self, Target::Float4 | Target::Float8)
    }

    /// Whether this is a column of days or points in time.
    pub(super) fn is_calendar(&self) -> bool {
        matches!(self, Target::Date | Target::Timestamp | Target::TimestampTz)
    }

    /// Whether values of a schema go into this column.
    pub(super) fn accepts(&self, schema: &Schema) -> bool {
        if matches!(self, Target::Text | Target::Json | Target::Jsonb)
            || schema.kind() == Type::String
            || (self.is_calendar() && unit_of(schema).is_some())
            || Semantic::meaning(schema).is_some_and(|semantic| semantic::takes(self, semantic))
        {
            return true;
        }
        if schema.is_union() {
            return union::accepts(self, schema);
        }
        let number = self.is_float() || matches!(self, Target::Numeric | Target::Money);
        match (schema.logical(), schema.kind()) {
            (Logical::Date, _) => {
                matches!(self, Target::Date | Target::Timestamp | Target::TimestampTz)
            }
            (Logical::Time, _) => matches!(self, Target::Time | Target::TimeTz | Target::Interval),
            (Logical::Timestamp, _) => matches!(
                self,
                Target::Timestamp | Target::TimestampTz | Target::Date | Target::Int8
            ),
            (Logical::Decimal(_), _) => number || self.is_integer(),
            (_, Type::Float32 | Type::Float64) => number || self.is_integer(),
            (_, Type::Boolean) => {
                self.is_integer()
                    || matches!(self, Target::Bool | Target::Numeric | Target::Bits | Target::Other)
            }
            (_, kind) if kind.is_integer() => {
                number
                    || self.is_integer()
                    || matches!(self, Target::Bool | Target::Bits | Target::Other)
            }
            (_, Type::Bytes) => {
                matches!(self, Target::Bytea | Target::Uuid | Target::Bits | Target::Geometry)
            }
            (_, Type::Array) => self.accepts_items(schema),
            (_, Type::Map) => match self {
                Target::Hstore => is_text(schema.key_schema()) && is_text(schema.value_schema()),
                Target::Composite(_) => is_text(schema.key_schema()),
                _ => false,
            },
            _ => matches!(self, Target::Composite(_)),
        }
    }

    /// Arrays of arrays are arrays with more dimensions of the same element type.
    fn accepts_items(&self, schema: &Schema) -> bool {
        let Some(items) = schema.value_schema() else { return false };
        match self {
            Target::Array(_) if items.kind() == Type::Array => self.accepts_items(items),
            Target::Array(element) => element.accepts(items),
            Target::Vector => matches!(items.kind(), Type::Float32 | Type::Float64),
            _ => false,
        }
    }

    /// Whether every value of a schema has a binary form for this column.
    pub(super) fn has_binary(&self, schema: Option<&Schema>) -> bool {
        match self {
            // Values that describe themselves have one where any value has.
            Target::Text | Target::Json | Target::Jsonb => true,
            _ => schema.is_some_and(|schema| self.has_typed_binary(schema)),
        }
    }

    fn has_typed_binary(&self, schema: &Schema) -> bool {
        let form = matches!(
            self,
            Target::Bool
                | Target::Int2
                | Target::Int4
                | Target::Int8
                | Target::Oid
                | Target::Float4
                | Target::Float8
                | Target::Numeric
                | Target::Bytea
                | Target::Uuid
                | Target::Date
                | Target::Time
                | Target::Timestamp
                | Target::TimestampTz
        );
        match schema.kind() {
            // A value may be of a type that the column reads as text only.
            Type::Struct if schema.is_union() => false,
            // Other text needs the column's input function.
            Type::String => matches!(self, Target::Bytea | Target::Uuid),
            _ => form && self.accepts(schema),
        }
    }
}

fn is_text(schema: Option<&std::sync::Arc<Schema>>) -> bool {
    schema.is_some_and(|s| s.kind() == Type::String)
}
