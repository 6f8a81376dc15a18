//! From the formats with schemas, the registry of a cluster and the options of a consumer to converters.
//!
//! Place in the data path: at the start of a lane. The schema is the registry's, or stands in the
//! definition. Invariants: properties have Confluent's names, and none is dropped silently; no
//! message shows a value.

use super::properties::resolved;
use crate::control::{Format, Registry, Settings};
use crate::formats::Stated;
use api::{Converter, ConverterPlugin, Side};
use config::Props;
use config::unknown::unknown_keys;
use registry::Kind;

/// What is better for rows than what connectors have by default.
const DEFAULTS: [(Format, &str, &str); 2] = [
    // The members of a oneof are fields like others.
    (Format::Protobuf, "flatten.unions", "true"),
    // Columns have microseconds, intervals and numbers beyond 2^63, Connect has not.
    (Format::Protobuf, "exact", "true"),
];

/// What reads keys or values of a format with schemas.
///
/// # Errors
/// What is wrong with the registry's properties or the schema; for the detail of a blocked consumer.
pub(crate) fn converter(
    settings: &Settings,
    format: Format,
    side: Side,
) -> Result<Box<dyn Converter>, String> {
    let option = |of_value: &'static str, of_key: &'static str| {
        settings.options.get(if side == Side::Key { of_key } else { of_value })
    };
    let (class, kind) = class_of(format);
    let plugin = converters::find(class).ok_or_else(|| format!("there is no converter {class}"))?;
    let mut props = Props::new();
    for (_, key, value) in DEFAULTS.iter().filter(|(of, ..)| *of == format) {
        props.insert(*key, *value);
    }
    let made = match option("schema", "key_schema") {
        Some(schema) => {
            let text = schema.as_str().map_or_else(|| schema.to_string(), str::to_owned);
            if let Some(message) = option("message", "key_message").and_then(|m| m.as_str()) {
                props.insert("message", message);
            }
            if settings.option_is("framed", true) {
                props.insert("framed", "true");
            }
            converters::inline(kind, &text, &props)
        }
        None => {
            of_registry(plugin, settings.registry.as_ref(), &mut props)?;
            (plugin.make)(&props, side)
        }
    };
    let inner = made.map_err(|error| error.report())?;
    Ok(match format {
        Format::JsonSchema => Box::new(Stated::text(inner)),
        _ => Box::new(Stated::binary(inner)),
    })
}

/// What names of properties may begin with.
const PREFIXES: [&str; 1] = ["request.header."];

fn class_of(format: Format) -> (&'static str, Kind) {
    match format {
        Format::Protobuf => ("io.confluent.connect.protobuf.ProtobufConverter", Kind::Protobuf),
        Format::JsonSchema => ("io.confluent.connect.json.JsonSchemaConverter", Kind::Json),
        _ => ("io.confluent.connect.avro.AvroConverter", Kind::Avro),
    }
}

/// Adds the address of the registry and its properties; those of other formats' converters are no
/// mistake.
fn of_registry(
    plugin: &ConverterPlugin,
    registry: Option<&Registry>,
    props: &mut Props,
) -> Result<(), String> {
    let url = registry.and_then(|registry| registry.url.as_deref()).ok_or_else(|| {
        "the format needs a Schema Registry, and the cluster names none\n  hint: SELECT \
         pipeline_kafka.set_cluster(BOOTSTRAP_SERVERS, registry_url => 'http://HOST:8081');"
            .to_owned()
    })?;
    let mut given = Props::new();
    for (key, value) in registry.iter().flat_map(|registry| &registry.properties) {
        given.insert(key.as_str(), resolved(key, value)?);
    }
    let unknown =
        |plugin: &ConverterPlugin| unknown_keys(&given, &[&(plugin.config_def)()], &PREFIXES);
    let others = [Format::Avro, Format::Protobuf, Format::JsonSchema].map(class_of);
    let others = || others.iter().filter_map(|(class, _)| converters::find(class));
    let mine = unknown(plugin);
    for key in &mine {
        let known = others().any(|other| unknown(other).iter().all(|one| one.key != key.key));
        if !known {
            return Err(format!("registry_properties: {key}"));
        }
    }
    for (key, value) in given.iter().filter(|(key, _)| mine.iter().all(|one| one.key != *key)) {
        props.insert(key, value);
    }
    props.insert("schema.registry.url", url);
    Ok(())
}
