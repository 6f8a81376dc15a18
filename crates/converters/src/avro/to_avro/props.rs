//! The attributes of a type that carry what Avro has no place for, in the order of Confluent's
//! converter.

use super::super::attributes::{
    AVRO_PREFIX, DEFAULT, DOC, FIELD_DEFAULT_FLAG, NAME, PARAMETERS, TYPE, VERSION,
};
use super::super::markers;
use super::super::schema::Props;
use super::{Mapper, default};
use data::{Logical, Schema};
use serde_json::{Map, Value as Json};

impl Mapper<'_> {
    /// All attributes of the type of a schema, behind those that are there already.
    pub(super) fn attributes(
        &self,
        schema: &Schema,
        mut props: Props,
        connect_type: Option<&str>,
    ) -> Result<Props, String> {
        if self.options.connect_meta_data {
            self.meta_data(schema, &mut props, connect_type)?;
        }
        if let Some(logical) = markers::logical_type(schema) {
            props.insert("logicalType".to_owned(), Json::from(logical));
        }
        for (name, value) in schema.parameters().unwrap_or_default() {
            if !name.starts_with(AVRO_PREFIX) || markers::is_marker(name) {
                continue;
            }
            if let Some(known) = props.get(&**name).filter(|known| *known != &**value) {
                return Err(format!("The parameter {name} is {value}, the attribute is {known}"));
            }
            props.insert(name.to_string(), Json::from(&**value));
        }
        Ok(props)
    }

    fn meta_data(
        &self,
        schema: &Schema,
        props: &mut Props,
        connect_type: Option<&str>,
    ) -> Result<(), String> {
        let mut put = |name: &str, value: Json| props.insert(name.to_owned(), value);
        if let Some(doc) = schema.doc() {
            put(DOC, Json::from(doc));
        }
        if let Some(version) = schema.version() {
            put(VERSION, Json::from(version));
        }
        for (name, value) in self.parameters_prop(schema) {
            put(&name, value);
        }
        let of_field = !self.options.discard_type_doc_default
            && schema.parameter(FIELD_DEFAULT_FLAG).is_some();
        if let Some(value) = schema.default().filter(|_| !of_field) {
            put(DEFAULT, default::json(self.options, schema, value)?);
        }
        if let Some(name) = schema.name() {
            put(NAME, Json::from(name));
        }
        if let Some(kind) = connect_type {
            put(TYPE, Json::from(kind));
        }
        Ok(())
    }

    /// `connect.parameters` alone, if there are any.
    pub(super) fn parameters_prop(&self, schema: &Schema) -> Props {
        let kept = |name: &str| self.options.discard_type_doc_default || name != FIELD_DEFAULT_FLAG;
        let parameters = schema.parameters().unwrap_or_default().iter();
        let parameters = parameters.filter(|(name, _)| kept(name) && !markers::is_marker(name));
        let parameters: Map<String, Json> =
            parameters.map(|(name, value)| (name.to_string(), Json::from(&**value))).collect();
        let mut props = Props::new();
        if !parameters.is_empty() {
            props.insert(PARAMETERS.to_owned(), Json::Object(parameters));
        }
        props
    }
}

/// The logical type that Connect's own name of a schema stands for.
pub(in crate::avro) fn connect_logical_type(schema: &Schema) -> Option<&'static str> {
    match schema.logical() {
        Logical::None => None,
        Logical::Decimal(_) => Some("decimal"),
        Logical::Date => Some("date"),
        Logical::Time => Some("time-millis"),
        Logical::Timestamp => Some("timestamp-millis"),
    }
}

/// Whether two schemas are equal but for being optional.
pub(super) fn same_required(one: &Schema, other: &Schema) -> bool {
    let sorted = |schema: &Schema| {
        let mut list = schema.parameters().unwrap_or_default().to_vec();
        list.sort();
        list
    };
    let attributes = |schema: &Schema| (schema.kind(), schema.version());
    attributes(one) == attributes(other)
        && one.name() == other.name()
        && one.doc() == other.doc()
        && one.fields() == other.fields()
        && one.key_schema() == other.key_schema()
        && one.value_schema() == other.value_schema()
        && one.default() == other.default()
        && sorted(one) == sorted(other)
}
