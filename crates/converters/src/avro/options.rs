//! The settings of how schemas and values of Avro become those of Connect, and back.

use config::{ConfigDef, ConfigKey, Importance, Parsed, Type, Value};

/// What both directions need to know. The default is that of each setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AvroOptions {
    /// Names of enums and of the branches of unions with their namespaces.
    pub(crate) enhanced: bool,
    /// `connect.*` attributes are written, and read as parameters and docs.
    pub(crate) connect_meta_data: bool,
    /// Names that Avro refuses are changed.
    pub(crate) scrub_invalid_names: bool,
    pub(crate) allow_optional_map_keys: bool,
    /// A union of one type is that type.
    pub(crate) flatten_singleton_unions: bool,
    /// Docs and defaults of Avro's fields alone are kept.
    pub(crate) discard_type_doc_default: bool,
    /// Unions and enums in the form that all three formats of the registry share.
    pub(crate) generalized_sum_types: bool,
    /// A null in an optional field with a default is written as null.
    pub(crate) ignore_default_for_nullables: bool,
}

impl Default for AvroOptions {
    fn default() -> AvroOptions {
        AvroOptions {
            enhanced: false,
            connect_meta_data: true,
            scrub_invalid_names: false,
            allow_optional_map_keys: false,
            flatten_singleton_unions: true,
            discard_type_doc_default: false,
            generalized_sum_types: false,
            ignore_default_for_nullables: false,
        }
    }
}

/// Name, default and documentation of each.
const FLAGS: [(&str, bool, &str); 8] = [
    (
        "enhanced.avro.schema.support",
        false,
        "Whether enums are written as enums again, and the branches of unions are named with their \
         namespaces.",
    ),
    (
        "connect.meta.data",
        true,
        "Whether names, versions, docs and parameters of Connect schemas are written into Avro \
         schemas as connect.* attributes, and read from there.",
    ),
    (
        "scrub.invalid.names",
        false,
        "Whether names that Avro does not allow are changed into some that it does.",
    ),
    (
        "allow.optional.map.keys",
        false,
        "Whether a map with optional string keys is written as a map of Avro.",
    ),
    ("flatten.singleton.unions", true, "Whether a union of one type is read as that type."),
    (
        "discard.type.doc.default",
        false,
        "Whether docs and defaults are only kept as those of fields, as in Avro.",
    ),
    (
        "generalized.sum.type.support",
        false,
        "Whether unions and enums take the form that is the same for Avro, JSON Schema and Protobuf.",
    ),
    (
        "ignore.default.for.nullables",
        false,
        "Whether a null in an optional field that has a default is written as null, not as the \
         default.",
    ),
];

impl AvroOptions {
    /// The definition of these settings alone.
    pub(crate) fn config_def() -> ConfigDef {
        let mut def = ConfigDef::new();
        for (order, (name, default, text)) in (0..).zip(FLAGS) {
            def.define(ConfigKey {
                group: Some("Avro".to_owned()),
                order,
                default: Some(Some(default.to_string())),
                importance: Importance::Medium,
                documentation: text.to_owned(),
                ..ConfigKey::new(name, Type::Boolean)
            });
        }
        def
    }

    /// The values, from settings that were parsed by a definition with these in it.
    pub(crate) fn from_parsed(parsed: &Parsed) -> AvroOptions {
        let flag = |name: &str| matches!(parsed.value(name), Value::Boolean(true));
        AvroOptions {
            enhanced: flag("enhanced.avro.schema.support"),
            connect_meta_data: flag("connect.meta.data"),
            scrub_invalid_names: flag("scrub.invalid.names"),
            allow_optional_map_keys: flag("allow.optional.map.keys"),
            flatten_singleton_unions: flag("flatten.singleton.unions"),
            discard_type_doc_default: flag("discard.type.doc.default"),
            generalized_sum_types: flag("generalized.sum.type.support"),
            ignore_default_for_nullables: flag("ignore.default.for.nullables"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use config::Props;

    fn of(settings: &[(&str, &str)]) -> AvroOptions {
        let props: Props = settings.iter().copied().collect();
        let parsed = AvroOptions::config_def().parse(&props).into_result();
        AvroOptions::from_parsed(&parsed.unwrap_or_else(|_| panic!("{settings:?}")))
    }

    #[test]
    fn defaults_are_those_of_the_definition() {
        assert_eq!(of(&[]), AvroOptions::default());
    }

    #[test]
    fn every_setting_changes_its_own_option() {
        let mut seen = vec![AvroOptions::default()];
        for (name, default, _) in FLAGS {
            let options = of(&[(name, if default { "false" } else { "true" })]);
            assert!(!seen.contains(&options), "{name}");
            seen.push(options);
        }
    }
}
