//! Settings that the converters with a registry share, beside those of the client.

use crate::settings::wrong;
use api::Result;
use config::{Config, ConfigDef, ConfigKey, Importance, Props, Type, Validator, Value};
use registry::subject::Strategy;
use std::sync::Arc;
use std::time::Duration;

const STRATEGIES: &str = "io.confluent.kafka.serializers.subject.";
const IDS: &str = "io.confluent.kafka.serializers.schema.id.";

/// Keys as they are written.
#[derive(Config, Debug)]
#[config(group = "Schemas", importance = low)]
struct Keys {
    /// Whether a schema that the registry does not have is registered. If not, it is looked up, and
    /// records whose schema is not found are refused, unless use.schema.id or use.latest.version is set.
    #[config(key = "auto.register.schemas", default = true, importance = medium)]
    auto_register: bool,
    /// Whether the registry is asked to put schemas into a normal form, so that an order that does not
    /// matter makes no new version.
    #[config(key = "normalize.schemas", default = false, importance = medium)]
    normalize: bool,
    /// The id of the schema that everything is written with. It needs auto.register.schemas=false.
    #[config(key = "use.schema.id", default = -1)]
    use_schema_id: i32,
    /// Whether the schema of use.schema.id must be able to read what a record's own schema writes.
    #[config(key = "id.compatibility.strict", default = true)]
    id_strict: bool,
    /// Whether records are written with the newest schema of the subject. It needs
    /// auto.register.schemas=false.
    #[config(key = "use.latest.version", default = false)]
    use_latest: bool,
    /// Whether the newest schema of the subject must be able to read what a record's own schema writes.
    #[config(key = "latest.compatibility.strict", default = true)]
    latest_strict: bool,
    /// For how many seconds the newest schema of a subject is kept before it is asked for again; -1: for
    /// as long as the task runs.
    #[config(key = "latest.cache.ttl.sec", default = -1, at_least(-1))]
    latest_ttl_sec: i32,
    /// How the subject of a key's schema is made: TopicNameStrategy (TOPIC-key), RecordNameStrategy (the
    /// full name of the record) or TopicRecordNameStrategy (TOPIC-name), of the package
    /// io.confluent.kafka.serializers.subject.
    #[config(
        key = "key.subject.name.strategy",
        default = "io.confluent.kafka.serializers.subject.TopicNameStrategy",
        class,
        importance = medium,
        validator = strategy()
    )]
    key_strategy: String,
    /// How the subject of a value's schema is made; as for key.subject.name.strategy, with TOPIC-value.
    #[config(
        key = "value.subject.name.strategy",
        default = "io.confluent.kafka.serializers.subject.TopicNameStrategy",
        class,
        importance = medium,
        validator = strategy()
    )]
    value_strategy: String,
    /// Where the id of a key's schema is written: PrefixSchemaIdSerializer (before the payload) or
    /// HeaderSchemaIdSerializer (as a guid in the header __key_schema_id, which needs a registry that has
    /// guids), of the package io.confluent.kafka.serializers.schema.id.
    #[config(
        key = "key.schema.id.serializer",
        default = "io.confluent.kafka.serializers.schema.id.PrefixSchemaIdSerializer",
        class,
        importance = medium,
        validator = serializer()
    )]
    key_serializer: String,
    /// Where the id of a value's schema is written; as for key.schema.id.serializer, with the header
    /// __value_schema_id.
    #[config(
        key = "value.schema.id.serializer",
        default = "io.confluent.kafka.serializers.schema.id.PrefixSchemaIdSerializer",
        class,
        importance = medium,
        validator = serializer()
    )]
    value_serializer: String,
    /// Where the id of a key's schema is looked for: DualSchemaIdDeserializer (in the header, then before
    /// the payload) or PrefixSchemaIdDeserializer (before the payload), of the package
    /// io.confluent.kafka.serializers.schema.id.
    #[config(
        key = "key.schema.id.deserializer",
        default = "io.confluent.kafka.serializers.schema.id.DualSchemaIdDeserializer",
        class,
        importance = medium,
        validator = deserializer()
    )]
    key_deserializer: String,
    /// Where the id of a value's schema is looked for; as for key.schema.id.deserializer.
    #[config(
        key = "value.schema.id.deserializer",
        default = "io.confluent.kafka.serializers.schema.id.DualSchemaIdDeserializer",
        class,
        importance = medium,
        validator = deserializer()
    )]
    value_deserializer: String,
    /// How many schemas a task keeps compiled, in each direction.
    #[config(key = "schemas.cache.config", default = 1000, at_least(1))]
    schemas_max: i32,
}

/// Which schema records are written with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// Their own, registered where it is not.
    Register,
    /// Their own, which must be there.
    Lookup,
    /// The newest of the subject.
    Latest { strict: bool, ttl: Option<Duration> },
    /// The one of this id.
    Id { id: i32, strict: bool },
}

#[derive(Clone, Debug)]
pub(super) struct Options {
    pub(super) choice: Choice,
    pub(super) normalize: bool,
    pub(super) schemas_max: usize,
    pub(super) key: SideOptions,
    pub(super) value: SideOptions,
}

/// What keys and values may have different.
#[derive(Clone, Copy, Debug)]
pub(super) struct SideOptions {
    pub(super) strategy: Strategy,
    /// The id is written into a header.
    pub(super) id_to_header: bool,
    /// The id is looked for in a header first.
    pub(super) id_from_header: bool,
}

/// Keys that would change what records mean if they had an effect: what they may be, and what to do
/// instead. A key that nothing reads is only told of.
const NOT_THERE: [(&str, Type, &str, &str); 4] = [
    (
        "use.latest.with.metadata",
        Type::String,
        "",
        "The newest schema is not chosen by its metadata: use use.latest.version or use.schema.id.",
    ),
    (
        "rule.executors",
        Type::List,
        "",
        "Rules of a schema are not run. Schemas with rules for what is read or written are refused.",
    ),
    ("rule.actions", Type::List, "", "Rules of a schema are not run, nor what follows from them."),
    (
        "context.name.strategy",
        Type::Class,
        "io.confluent.kafka.serializers.context.NullContextNameStrategy",
        "A context of the registry is part of its address: http://host:8081/contexts/.name.",
    ),
];

pub(super) fn def() -> ConfigDef {
    let mut def = Keys::def();
    for (name, kind, only, instead) in NOT_THERE {
        let before = i32::try_from(def.keys().count()).unwrap_or(i32::MAX - 1);
        def.define(ConfigKey {
            default: Some(Some(only.to_owned())),
            group: Some("Schemas".to_owned()),
            order: before + 1,
            documentation: format!("Refused where it is set to anything else. {instead}"),
            validator: Some(Validator::custom(move |key, value| {
                let given = value.to_text().unwrap_or_default();
                if [Some(only), only.rsplit('.').next()].contains(&Some(given.trim())) {
                    return Ok(());
                }
                Err(config::invalid(key, &given, &format!("is not there. {instead}")))
            })),
            ..ConfigKey::new(name, kind)
        });
    }
    def
}

/// A definition of `converter.type` alone, for a converter of this class.
pub(super) fn sides(class: &'static str) -> ConfigDef {
    let side = move |_: &str, value: &Value| match value {
        Value::String(side) if side == "header" => {
            Err(format!("{}; {HEADERS_HINT}", no_headers(class)))
        }
        _ => Ok(()),
    };
    let known = Validator::OneOf(["key", "value"].map(str::to_owned).to_vec());
    let mut def = ConfigDef::new();
    def.define(ConfigKey {
        importance: Importance::Low,
        validator: Some(Validator::All(vec![Validator::custom(side), known])),
        documentation: "What the converter is for: key or value. Set by the worker.".to_owned(),
        ..ConfigKey::new("converter.type", Type::String)
    });
    def
}

pub(super) const HEADERS_HINT: &str = "set header.converter to \
     org.apache.kafka.connect.storage.SimpleHeaderConverter or org.apache.kafka.connect.json.JsonConverter";

pub(super) fn no_headers(class: &str) -> String {
    format!("{class} is no converter of headers: headers name no schema of a registry")
}

impl Options {
    /// # Errors
    /// A wrong value, with the key.
    pub(super) fn from_props(props: &Props) -> Result<Options> {
        def().parse(props).into_result().map_err(wrong)?;
        let keys = Keys::parse(props).map_err(wrong)?;
        let choice = if keys.auto_register {
            Choice::Register
        } else if keys.use_schema_id >= 0 {
            Choice::Id { id: keys.use_schema_id, strict: keys.id_strict }
        } else if keys.use_latest {
            let ttl = u64::try_from(keys.latest_ttl_sec).ok().map(Duration::from_secs);
            Choice::Latest { strict: keys.latest_strict, ttl }
        } else {
            Choice::Lookup
        };
        let side = |strategy: &str, serializer: &str, deserializer: &str| SideOptions {
            // The validator has let nothing else through.
            strategy: Strategy::parse(strategy).unwrap_or_default(),
            id_to_header: serializer.ends_with("HeaderSchemaIdSerializer"),
            id_from_header: deserializer.ends_with("DualSchemaIdDeserializer"),
        };
        Ok(Options {
            choice,
            normalize: keys.normalize,
            schemas_max: usize::try_from(keys.schemas_max).unwrap_or(1),
            key: side(&keys.key_strategy, &keys.key_serializer, &keys.key_deserializer),
            value: side(&keys.value_strategy, &keys.value_serializer, &keys.value_deserializer),
        })
    }

    pub(super) fn side(&self, key: bool) -> &SideOptions {
        if key { &self.key } else { &self.value }
    }
}

fn strategy() -> Validator {
    one_of_classes(
        STRATEGIES,
        &["TopicNameStrategy", "RecordNameStrategy", "TopicRecordNameStrategy"],
    )
}

fn serializer() -> Validator {
    one_of_classes(IDS, &["PrefixSchemaIdSerializer", "HeaderSchemaIdSerializer"])
}

fn deserializer() -> Validator {
    one_of_classes(IDS, &["DualSchemaIdDeserializer", "PrefixSchemaIdDeserializer"])
}

/// A class of this package, with or without the package.
fn one_of_classes(package: &'static str, names: &'static [&'static str]) -> Validator {
    Validator::Custom(Arc::new(move |key: &str, value: &Value| {
        let Value::Class(class) = value else { return Ok(()) };
        if names.contains(&class.strip_prefix(package).unwrap_or(class)) {
            return Ok(());
        }
        let text = format!("must be one of {}, of the package {package}*", names.join(", "));
        Err(config::invalid(key, class, &text))
    }))
}
