//! Why a transform refuses a record, in the exception classes that Connect's users know from
//! dead-letter headers and logs.
//!
//! Invariant: a message names the field and the kind of the value, never its content, unless
//! Connect's own text does.

use data::{Cell, Logical, Schema, Type, Width};
use std::borrow::Cow;

/// A refusal; becomes the record's reject.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fault {
    pub(crate) exception: &'static str,
    pub(crate) message: Cow<'static, str>,
}

impl Fault {
    /// The record's data are not what the transform takes.
    pub(crate) fn data(message: impl Into<Cow<'static, str>>) -> Fault {
        Fault {
            exception: "org.apache.kafka.connect.errors.DataException",
            message: message.into(),
        }
    }

    /// A field that is not there, and the like.
    pub(crate) fn illegal_argument(message: impl Into<Cow<'static, str>>) -> Fault {
        Fault { exception: "java.lang.IllegalArgumentException", message: message.into() }
    }

    /// A key of a map that is no text, where fields are looked up by name.
    pub(crate) fn not_text(class: &str) -> Fault {
        Fault {
            exception: "java.lang.ClassCastException",
            message: format!("Only maps with text keys have fields, found a key of class {class}")
                .into(),
        }
    }

    /// The same as an error of the data, where Connect's class is an accident.
    pub(crate) fn not_text_data(class: &str) -> Fault {
        Fault { exception: Fault::data("").exception, ..Fault::not_text(class) }
    }

    /// A schema that cannot be built.
    pub(crate) fn builder(message: impl Into<Cow<'static, str>>) -> Fault {
        Fault {
            exception: "org.apache.kafka.connect.errors.SchemaBuilderException",
            message: message.into(),
        }
    }

    /// A schema that cannot be built, in the words of the data model.
    pub(crate) fn from_schema(error: data::SchemaError) -> Fault {
        Fault { exception: error.exception(), message: Cow::Owned(error.0) }
    }

    /// What Connect calls neither a data error nor a wrong argument.
    pub(crate) fn connect(message: impl Into<Cow<'static, str>>) -> Fault {
        Fault {
            exception: "org.apache.kafka.connect.errors.ConnectException",
            message: message.into(),
        }
    }

    /// A null in a struct where the field allows none.
    pub(crate) fn null_for_required(field: &str, schema: &Schema) -> Fault {
        let kind = schema.kind().name();
        Fault::data(format!(
            "Invalid value: null used for required field: \"{field}\", schema type: {kind}"
        ))
    }

    /// A record that is not a struct, where the schema says that there is one.
    pub(crate) fn not_a_struct(purpose: &str, schema: Option<&Schema>, cell: Cell) -> Fault {
        let found = java_class(schema, cell);
        Fault::data(format!("Only Struct objects supported for [{purpose}], found: {found}"))
    }

    /// A record that is not a map, where there is no schema.
    pub(crate) fn not_a_map(purpose: &str, cell: Cell) -> Fault {
        let found = java_class(None, cell);
        Fault::data(format!(
            "Only Map objects supported in absence of schema for [{purpose}], found: {found}"
        ))
    }
}

/// The Java class that a cell stands for, as Connect's messages name it; `null` for a null.
pub(crate) fn java_class(schema: Option<&Schema>, cell: Cell) -> &'static str {
    match (cell, schema.map(|schema| (schema.logical(), schema.kind()))) {
        (Cell::Int(..), Some((Logical::Date | Logical::Time | Logical::Timestamp, _)))
        | (Cell::Instant(_), _) => "java.util.Date",
        (Cell::Int(..), Some((_, Type::Int8))) => "java.lang.Byte",
        (Cell::Int(..), Some((_, Type::Int16))) => "java.lang.Short",
        (Cell::Int(..), Some((_, Type::Int32))) => "java.lang.Integer",
        (Cell::Int(..), Some((_, Type::Int64))) => "java.lang.Long",
        (Cell::Float(_), Some((_, Type::Float32))) | (Cell::Float32(_), _) => "java.lang.Float",
        (Cell::Null, _) => "null",
        (Cell::Bool(_), _) => "java.lang.Boolean",
        (Cell::Int(_, Width::W8), _) => "java.lang.Byte",
        (Cell::Int(_, Width::W16), _) => "java.lang.Short",
        (Cell::Int(_, Width::W32), _) => "java.lang.Integer",
        (Cell::Int(_, Width::W64), _) => "java.lang.Long",
        (Cell::Float(_), _) => "java.lang.Double",
        // What is left of a number that fits no other class.
        (Cell::Number(_), _) => "java.math.BigInteger",
        (Cell::Decimal { .. }, _) => "java.math.BigDecimal",
        (Cell::Text(_), _) => "java.lang.String",
        (Cell::Bytes(_), _) => "[B",
        (Cell::List(_), _) => "java.util.ArrayList",
        (Cell::Map(_) | Cell::Json(_), _) => "java.util.HashMap",
        (Cell::Struct(_), _) => "org.apache.kafka.connect.data.Struct",
    }
}
