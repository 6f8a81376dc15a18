//! The single-message transforms and predicates that are built in.
//!
//! Place in the data path: between the converters and the task, a vectorised pass over a batch each.
//! One folder per transform or predicate, one line in [`TRANSFORMS`] or [`PREDICATES`] (two where there
//! are `$Key` and `$Value` forms). They are looked up by the spellings Kafka Connect accepts: the full
//! class name and the simple name.

mod aiven;
mod cast;
mod confluent;
mod copied;
pub mod date_pattern;
mod debezium;
mod drop_headers;
mod extract_field;
mod fault;
mod field_path;
mod filter;
mod flatten;
mod found;
mod has_header_key;
mod header_from;
mod hoist_field;
mod insert_field;
mod insert_header;
mod jcustenborder;
mod kept;
mod layout_cache;
mod mask_field;
mod part;
mod plugin;
#[cfg(test)]
mod predicates_tests;
mod record_is_tombstone;
mod regex_router;
mod replace_field;
mod routed;
mod schema_cache;
mod set_schema_metadata;
mod shape;
#[cfg(test)]
mod testing;
mod timestamp_converter;
mod timestamp_router;
mod topic_name_matches;
mod value_to_key;

use api::{PredicatePlugin, TransformPlugin};

static TRANSFORMS: &[&TransformPlugin] = &[
    &cast::KEY,
    &cast::VALUE,
    &drop_headers::PLUGIN,
    &extract_field::KEY,
    &extract_field::VALUE,
    &filter::PLUGIN,
    &flatten::KEY,
    &flatten::VALUE,
    &header_from::KEY,
    &header_from::VALUE,
    &hoist_field::KEY,
    &hoist_field::VALUE,
    &insert_field::KEY,
    &insert_field::VALUE,
    &insert_header::PLUGIN,
    &mask_field::KEY,
    &mask_field::VALUE,
    &regex_router::PLUGIN,
    &replace_field::KEY,
    &replace_field::VALUE,
    &set_schema_metadata::KEY,
    &set_schema_metadata::VALUE,
    &timestamp_converter::KEY,
    &timestamp_converter::VALUE,
    &timestamp_router::PLUGIN,
    &value_to_key::PLUGIN,
    &debezium::by_logical_table_router::PLUGIN,
    &debezium::event_router::PLUGIN,
    &debezium::extract_new_record_state::PLUGIN,
    &debezium::header_to_value::PLUGIN,
    &debezium::timezone_converter::PLUGIN,
    &debezium::scripted::FILTER,
    &debezium::scripted::ROUTER,
    &confluent::drop::KEY,
    &confluent::drop::VALUE,
    &confluent::extract_topic::KEY,
    &confluent::extract_topic::VALUE,
    &confluent::extract_topic::HEADER,
    &confluent::message_timestamp_router::PLUGIN,
    &confluent::tombstone_handler::PLUGIN,
    &aiven::extract_timestamp::KEY,
    &aiven::extract_timestamp::VALUE,
    &aiven::extract_topic::KEY,
    &aiven::extract_topic::VALUE,
    &jcustenborder::change_case::KEY,
    &jcustenborder::change_case::VALUE,
    &jcustenborder::pattern_rename::KEY,
    &jcustenborder::pattern_rename::VALUE,
];

static PREDICATES: &[&PredicatePlugin] =
    &[&has_header_key::PLUGIN, &record_is_tombstone::PLUGIN, &topic_name_matches::PLUGIN];

/// All transforms.
pub fn transforms() -> &'static [&'static TransformPlugin] {
    TRANSFORMS
}

/// All predicates.
pub fn predicates() -> &'static [&'static PredicatePlugin] {
    PREDICATES
}

/// The transform of this class name or alias.
pub fn find(name: &str) -> Option<&'static TransformPlugin> {
    TRANSFORMS.iter().copied().find(|plugin| plugin.class == name || plugin.aliases.contains(&name))
}

/// The predicate of this class name or alias.
pub fn find_predicate(name: &str) -> Option<&'static PredicatePlugin> {
    PREDICATES.iter().copied().find(|plugin| plugin.class == name || plugin.aliases.contains(&name))
}
