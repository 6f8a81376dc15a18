//! What Confluent's options `confluent.field_meta` and `confluent.message_meta` say.
//!
//! Their parameters carry what Protobuf has no word for: Connect's narrow integers, scale and
//! precision of decimals, and, written only with `enhanced.protobuf.schema.support`, names, versions
//! and parameters of Connect schemas.

use super::options::names;
use data::{SchemaBuilder, Type};
use prost_reflect::{
    DescriptorPool, DynamicMessage, FieldDescriptor, MapKey, MessageDescriptor, Value,
};

/// The parameters of one option, sorted by name.
#[derive(Default)]
pub(super) struct Meta {
    params: Vec<(String, String)>,
}

impl Meta {
    pub(super) fn of_field(field: &FieldDescriptor) -> Meta {
        if field.field_descriptor_proto().options.is_none() {
            return Meta::default();
        }
        Meta::read(field.parent_pool(), "confluent.field_meta", &field.options())
    }

    pub(super) fn of_message(message: &MessageDescriptor) -> Meta {
        if message.descriptor_proto().options.is_none() {
            return Meta::default();
        }
        Meta::read(message.parent_pool(), "confluent.message_meta", &message.options())
    }

    fn read(pool: &DescriptorPool, name: &str, options: &DynamicMessage) -> Meta {
        let Some(extension) = pool.get_extension_by_name(name) else { return Meta::default() };
        if !options.has_extension(&extension) {
            return Meta::default();
        }
        let value = options.get_extension(&extension);
        let params = value.as_message().and_then(|meta| meta.get_field_by_name("params"));
        let entries = params.as_deref().and_then(Value::as_map).into_iter().flatten();
        let mut params: Vec<(String, String)> = entries
            .filter_map(|(key, value)| match (key, value) {
                (MapKey::String(key), Value::String(value)) => Some((key.clone(), value.clone())),
                _ => None,
            })
            .collect();
        params.sort();
        Meta { params }
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.params.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Connect's type of an integer that is narrower than Protobuf's.
    pub(super) fn connect_type(&self) -> Option<Type> {
        match self.get(names::CONNECT_TYPE)? {
            "int8" => Some(Type::Int8),
            "int16" => Some(Type::Int16),
            _ => None,
        }
    }

    /// The schema of a decimal of this scale and precision; the scale is 0 where nothing is said.
    pub(super) fn decimal(&self) -> SchemaBuilder {
        let number = |name| self.get(name).and_then(|text| text.parse::<i32>().ok());
        let builder = SchemaBuilder::decimal(number("scale").unwrap_or(0));
        match number("precision") {
            Some(precision) => builder.parameter(names::PRECISION, &precision.to_string()),
            None => builder,
        }
    }

    /// Whether the version of the Connect schema is written here.
    pub(super) fn has_version(&self) -> bool {
        self.get(names::CONNECT_VERSION).is_some_and(|text| text.parse::<i32>().is_ok())
    }

    /// Gives a schema the name, version and parameters that are written here.
    pub(super) fn apply(&self, mut builder: SchemaBuilder) -> SchemaBuilder {
        if let Some(name) = self.get(names::CONNECT_NAME) {
            builder = builder.name(name);
        }
        if let Some(version) = self.get(names::CONNECT_VERSION).and_then(|text| text.parse().ok()) {
            builder = builder.version(version);
        }
        for (key, value) in &self.params {
            if let Some(name) = key.strip_prefix(names::CONNECT_PARAMETER) {
                builder = builder.parameter(name, value);
            }
        }
        builder
    }
}
