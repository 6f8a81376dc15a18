//! Types without children: numbers, text, bytes, and the named types that text and bytes may be.

use super::super::attributes::{
    DECIMAL_PRECISION, DECIMAL_PRECISION_DEFAULT, ENUM, ENUM_DEFAULT_PREFIX, ENUM_DOC,
    ENUM_DOC_PREFIX, SUM_ENUM,
};
use super::super::schema::{Enum, Fixed, Id, Kind, Name, Node, Props};
use super::{Mapper, fixed_size};
use data::{Logical, Schema, Type};
use serde_json::Value as Json;

/// An enum in the parameters of a text schema: the prefix of its parameters and its full name.
pub(in crate::avro) fn enum_of(schema: &Schema, generalized: bool) -> Option<(&'static str, &str)> {
    let of = |prefix: &'static str| Some((prefix, schema.parameter(prefix)?));
    if schema.kind() != Type::String {
        return None;
    }
    match generalized {
        true => of(SUM_ENUM).or_else(|| of(ENUM)),
        false => of(ENUM).or_else(|| of(SUM_ENUM)),
    }
}

impl Mapper<'_> {
    /// Adds the type of a schema without children, its nulls left out.
    pub(super) fn primitive(&mut self, schema: &Schema) -> Result<Id, String> {
        let (kind, connect_type) = match schema.kind() {
            Type::Int8 => (Kind::Int, Some("int8")),
            Type::Int16 => (Kind::Int, Some("int16")),
            Type::Int32 => (Kind::Int, None),
            Type::Int64 => (Kind::Long, None),
            Type::Float32 => (Kind::Float, None),
            Type::Float64 => (Kind::Double, None),
            Type::Boolean => (Kind::Boolean, None),
            Type::String => match self.enumeration(schema)? {
                Some(symbols) => return self.named(schema, symbols, Props::new()),
                None => (Kind::String, None),
            },
            _ => return self.bytes(schema),
        };
        let props = self.attributes(schema, Props::new(), connect_type)?;
        Ok(self.builder.add(Node { kind, props }))
    }

    fn enumeration(&mut self, schema: &Schema) -> Result<Option<Kind>, String> {
        if !self.options.generalized_sum_types && !self.options.enhanced {
            return Ok(None);
        }
        let Some((prefix, full)) = enum_of(schema, self.options.generalized_sum_types) else {
            return Ok(None);
        };
        if schema.name().is_none() {
            // As in Confluent's: what names it takes a number from the structs without a name.
            self.names.next_unnamed();
        }
        let mut symbols = Vec::new();
        for (name, _) in schema.parameters().unwrap_or_default() {
            let symbol = name.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('.'));
            symbols.extend(symbol.map(str::to_owned));
        }
        let simple = schema.name().map_or(full, |name| name.rsplit('.').next().unwrap_or(name));
        let of = |prefix: &str| schema.parameter(&format!("{prefix}{simple}")).map(str::to_owned);
        let (doc, default) = match self.options.discard_type_doc_default {
            true => (schema.parameter(ENUM_DOC).map(str::to_owned), None),
            false => (of(ENUM_DOC_PREFIX), of(ENUM_DEFAULT_PREFIX)),
        };
        if symbols.is_empty() {
            return Err(format!("The enum {full} has no symbols"));
        }
        if let Some(default) = default.as_ref().filter(|symbol| !symbols.contains(symbol)) {
            return Err(format!("The default {default} of the enum {full} is none of its symbols"));
        }
        let name = self.name(full)?;
        Ok(Some(Kind::Enum(Enum { name, doc, aliases: Vec::new(), symbols, default })))
    }

    fn bytes(&mut self, schema: &Schema) -> Result<Id, String> {
        let mut props = Props::new();
        if let Logical::Decimal(scale) = schema.logical() {
            let scale =
                scale.ok_or("Invalid Decimal schema: scale parameter not found or no integer")?;
            props.insert("scale".to_owned(), Json::from(scale));
            props.insert("precision".to_owned(), Json::from(precision(schema)?));
        }
        let Some(text) = fixed_size(schema) else {
            let props = self.attributes(schema, props, None)?;
            return Ok(self.builder.add(Node { kind: Kind::Bytes, props }));
        };
        let size = text.parse::<u32>().map_err(|_| {
            format!("The parameter connect.fixed.size is '{text}', not a number of bytes")
        })?;
        let name = self.name(schema.name().unwrap_or_default())?;
        let fixed =
            |name| Kind::Fixed(Fixed { name, doc: None, aliases: Vec::new(), size: size as usize });
        if schema.logical() == Logical::None {
            return self.named(schema, fixed(name), props);
        }
        // All decimals of a fixed size have the one name of Decimal.
        let props = self.attributes(schema, props, None)?;
        self.distinct(name, |name, _| Node { kind: fixed(name), props: props.clone() })
    }

    /// Adds an enum or a fixed; one that is there already is that one.
    fn named(&mut self, schema: &Schema, kind: Kind, props: Props) -> Result<Id, String> {
        let node = Node { kind, props: self.attributes(schema, props, None)? };
        let full = node.name().map(Name::full).unwrap_or_default();
        match self.builder.named(&full) {
            None => Ok(self.builder.add(node)),
            Some(id) if self.same_node(self.builder.node(id), &node) => Ok(id),
            Some(_) => {
                Err(format!("Two different types are named {full}; Avro takes one for the other"))
            }
        }
    }
}

/// Digits that a Decimal has room for.
pub(super) fn precision(schema: &Schema) -> Result<i64, String> {
    let Some(text) = schema.parameter(DECIMAL_PRECISION) else {
        return Ok(DECIMAL_PRECISION_DEFAULT);
    };
    text.parse::<i32>().map(i64::from).map_err(|_| {
        format!("The parameter connect.decimal.precision is '{text}', not a number of digits")
    })
}
