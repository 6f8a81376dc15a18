//! The settings of the JsonSchemaConverter beside those of the registry: definition and values.

use crate::json::options::DecimalFormat;
use crate::settings::wrong;
use api::Result;
use config::{ConfigDef, ConfigKey, Importance, Props, Type, Validator, Value, Width};

/// The draft that a written schema says it is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Draft {
    Draft4,
    Draft6,
    Draft7,
    Draft2019,
    Draft2020,
}

impl Draft {
    const NAMES: [(&'static str, Draft); 5] = [
        ("draft_4", Draft::Draft4),
        ("draft_6", Draft::Draft6),
        ("draft_7", Draft::Draft7),
        ("draft_2019_09", Draft::Draft2019),
        ("draft_2020_12", Draft::Draft2020),
    ];

    /// What `$schema` says; nothing for the default, as Confluent's converter has it.
    pub(super) fn url(self) -> Option<&'static str> {
        match self {
            Draft::Draft4 => Some("http://json-schema.org/draft-04/schema#"),
            Draft::Draft6 => Some("http://json-schema.org/draft-06/schema#"),
            Draft::Draft7 => None,
            Draft::Draft2019 => Some("https://json-schema.org/draft/2019-09/schema"),
            Draft::Draft2020 => Some("https://json-schema.org/draft/2020-12/schema"),
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Options {
    pub(super) additional_properties: bool,
    pub(super) optional_for_nonrequired: bool,
    pub(super) decimals: DecimalFormat,
    pub(super) draft: Draft,
    pub(super) iso_dates: bool,
    pub(super) validate: bool,
    pub(super) flatten_singletons: bool,
    pub(super) generalized: bool,
    pub(super) ignore_modern: bool,
    pub(super) ignore_defaults: bool,
}

/// Key, type, default, importance, documentation.
type Key = (&'static str, Type, &'static str, Importance, &'static str);

const KEYS: [Key; 10] = [
    (
        "object.additional.properties",
        Type::Boolean,
        "true",
        Importance::Medium,
        "Whether schemas that are written for structs allow members beside the fields; if not, they \
         have additionalProperties=false.",
    ),
    (
        "use.optional.for.nonrequired",
        Type::Boolean,
        "false",
        Importance::Medium,
        "Whether properties that a schema does not list as required are optional fields.",
    ),
    (
        "decimal.format",
        Type::String,
        "BASE64",
        Importance::Low,
        "How decimals are written: BASE64 (the bytes of the unscaled value) or NUMERIC (a JSON \
         number). Both are read.",
    ),
    (
        "json.schema.spec.version",
        Type::String,
        "draft_7",
        Importance::Medium,
        "The draft of written schemas: draft_4, draft_6, draft_7, draft_2019_09 or draft_2020_12. \
         Another one than draft_7 is named in $schema.",
    ),
    (
        "json.write.dates.iso8601",
        Type::Boolean,
        "false",
        Importance::Medium,
        "Whether dates, times and timestamps are written as ISO 8601 text, with a schema of type \
         string and the format date, time or date-time, instead of as numbers. Both are read.",
    ),
    (
        "json.fail.invalid.schema",
        Type::Boolean,
        "false",
        Importance::Medium,
        "Whether each value is checked against all that its schema says (pattern, minimum, required \
         and so on), when it is read and when it is written. It costs several times the conversion.",
    ),
    (
        "flatten.singleton.unions",
        Type::Boolean,
        "true",
        Importance::Low,
        "Whether a combination of one schema is that schema.",
    ),
    (
        "generalized.sum.type.support",
        Type::Boolean,
        "false",
        Importance::Medium,
        "Whether unions and enums have the names that all of Confluent's converters share \
         (connect_union_0, org.apache.kafka.connect.data.Enum) instead of those of JSON Schema.",
    ),
    (
        "ignore.modern.dialects",
        Type::Boolean,
        "false",
        Importance::Low,
        "Whether a schema of a draft after 7 is read as one of draft 7: what stands beside a $ref \
         then means nothing.",
    ),
    (
        "ignore.default.for.nullables",
        Type::Boolean,
        "false",
        Importance::Medium,
        "Whether a null is written as null even if its schema has a default.",
    ),
];

/// The converter's own settings.
pub(super) fn own_def() -> ConfigDef {
    let mut def = ConfigDef::new();
    for (order, (name, kind, default, importance, text)) in (0..).zip(KEYS) {
        let validator = match name {
            "decimal.format" => {
                Some(Validator::OneOfIgnoreCase(["BASE64", "NUMERIC"].map(str::to_owned).to_vec()))
            }
            "json.schema.spec.version" => Some(Validator::OneOfIgnoreCase(
                Draft::NAMES.iter().map(|(name, _)| (*name).to_owned()).collect(),
            )),
            _ => None,
        };
        def.define(ConfigKey {
            default: Some(Some(default.to_owned())),
            importance,
            width: Width::Medium,
            group: Some("JSON Schema".to_owned()),
            order,
            display_name: name.to_owned(),
            documentation: text.to_owned(),
            validator,
            ..ConfigKey::new(name, kind)
        });
    }
    def
}

impl Options {
    /// # Errors
    /// A wrong value, with its key.
    pub(super) fn new(props: &Props) -> Result<Options> {
        let parsed = own_def().parse(props).into_result().map_err(wrong)?;
        let flag = |key| matches!(parsed.value(key), Value::Boolean(true));
        let text = |key| match parsed.value(key) {
            Value::String(text) => text.to_ascii_lowercase(),
            _ => String::new(),
        };
        let draft = text("json.schema.spec.version");
        let draft = Draft::NAMES.iter().find(|(name, _)| *name == draft);
        Ok(Options {
            additional_properties: flag("object.additional.properties"),
            optional_for_nonrequired: flag("use.optional.for.nonrequired"),
            decimals: match text("decimal.format").as_str() {
                "numeric" => DecimalFormat::Numeric,
                _ => DecimalFormat::Base64,
            },
            draft: draft.map_or(Draft::Draft7, |(_, draft)| *draft),
            iso_dates: flag("json.write.dates.iso8601"),
            validate: flag("json.fail.invalid.schema"),
            flatten_singletons: flag("flatten.singleton.unions"),
            generalized: flag("generalized.sum.type.support"),
            ignore_modern: flag("ignore.modern.dialects"),
            ignore_defaults: flag("ignore.default.for.nullables"),
        })
    }
}
