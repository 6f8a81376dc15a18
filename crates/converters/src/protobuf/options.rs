//! The settings of the ProtobufConverter itself; those of every converter with a registry are beside.

use crate::settings::wrong;
use api::Result;
use config::{ConfigDef, ConfigKey, Importance, Props, Type, Value, Width};

/// Names and defaults are those of Confluent's converter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) enhanced: bool,
    pub(super) scrub_invalid_names: bool,
    pub(super) int_for_enums: bool,
    pub(super) optional_for_nullables: bool,
    pub(super) optional_for_proto2: bool,
    pub(super) wrapper_for_nullables: bool,
    pub(super) wrapper_for_raw_primitives: bool,
    pub(super) generate_index_for_unions: bool,
    pub(super) generate_struct_for_nulls: bool,
    pub(super) flatten_unions: bool,
    pub(super) generalized_sum_types: bool,
    /// What Connect's own types have no room for is kept: microseconds, durations, numbers without a sign.
    /// For rows of SQL.
    pub(super) exact: bool,
}

/// Not a setting of the converter: only the SQL control plane sets it.
const EXACT_KEY: &str = "exact";

/// Each key with its default, label and documentation.
const KEYS: [(&str, bool, &str, &str); 11] = [
    (
        "enhanced.protobuf.schema.support",
        false,
        "Enhanced Protobuf Schema Support",
        "Whether names of messages, enums and unions keep their package in Connect schemas, and what \
         Protobuf has no place for (names of plain types, versions, parameters) is written into the \
         options of fields and messages, from where it is read back.",
    ),
    (
        "scrub.invalid.names",
        false,
        "Scrub Invalid Names",
        "Whether names that Protobuf does not allow are changed to ones that it does.",
    ),
    ("int.for.enums", false, "Integers for Enums", "Whether enums are read as INT32, not STRING."),
    (
        "optional.for.nullables",
        false,
        "Optional for Nullables",
        "Whether only fields with the keyword optional are optional in Connect, and optional fields \
         are written with it.",
    ),
    (
        "optional.for.proto2",
        true,
        "Optional for Proto2",
        "Whether an optional field of proto2 that is not set is read as null, not as its default.",
    ),
    (
        "wrapper.for.nullables",
        false,
        "Wrapper for Nullables",
        "Whether optional primitives are written as wrapper messages (google.protobuf.Int32Value and \
         so on), and only these are optional when read.",
    ),
    (
        "wrapper.for.raw.primitives",
        true,
        "Wrapper for Raw Primitives",
        "Whether wrapper messages are read as the primitives in them; so keys and values that are \
         plain primitives come back as such.",
    ),
    (
        "generate.index.for.unions",
        true,
        "Generate Index for Unions",
        "Whether the field of a oneof is named with the oneof's index behind its name.",
    ),
    (
        "generate.struct.for.nulls",
        false,
        "Generate Struct for Nulls",
        "Whether fields that are not set are read as the default values of their types, messages as \
         structs of such, not as nulls.",
    ),
    (
        "flatten.unions",
        false,
        "Flatten Unions",
        "Whether the members of a oneof are read as fields of the message, not of a struct of their \
         own.",
    ),
    (
        "generalized.sum.type.support",
        false,
        "Generalized Sum Type Support",
        "Whether unions and enums have the names and parameters that all of Confluent's converters \
         share.",
    ),
];

/// The definition of these keys.
pub(super) fn config_def() -> ConfigDef {
    let mut def = ConfigDef::new();
    for (order, (name, default, label, text)) in KEYS.into_iter().enumerate() {
        def.define(ConfigKey {
            default: Some(Some(default.to_string())),
            importance: Importance::Medium,
            width: Width::Medium,
            display_name: label.to_owned(),
            documentation: text.to_owned(),
            group: Some("Protobuf".to_owned()),
            order: order as _,
            ..ConfigKey::new(name, Type::Boolean)
        });
    }
    def
}

impl Options {
    /// # Errors
    /// A wrong value, with the key.
    pub(super) fn new(props: &Props) -> Result<Options> {
        let parsed = config_def().parse(props).into_result().map_err(wrong)?;
        let flag = |index: usize| {
            KEYS.get(index).is_some_and(|key| matches!(parsed.value(key.0), Value::Boolean(true)))
        };
        Ok(Options {
            enhanced: flag(0),
            scrub_invalid_names: flag(1),
            int_for_enums: flag(2),
            optional_for_nullables: flag(3),
            optional_for_proto2: flag(4),
            wrapper_for_nullables: flag(5),
            wrapper_for_raw_primitives: flag(6),
            generate_index_for_unions: flag(7),
            generate_struct_for_nulls: flag(8),
            flatten_unions: flag(9),
            generalized_sum_types: flag(10),
            exact: props.get(EXACT_KEY) == Some("true"),
        })
    }

    /// Whether a wrapper message in a field is read as the primitive in it.
    pub(super) fn unwraps(&self) -> bool {
        self.wrapper_for_nullables || self.wrapper_for_raw_primitives
    }

    /// The parameter that says a schema is an enum; those of its symbols begin with it and a dot.
    pub(super) fn enum_parameter(&self) -> &'static str {
        if self.generalized_sum_types { names::GENERAL_ENUM } else { names::ENUM }
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            enhanced: false,
            scrub_invalid_names: false,
            int_for_enums: false,
            optional_for_nullables: false,
            optional_for_proto2: true,
            wrapper_for_nullables: false,
            wrapper_for_raw_primitives: true,
            generate_index_for_unions: true,
            generate_struct_for_nulls: false,
            flatten_unions: false,
            generalized_sum_types: false,
            exact: false,
        }
    }
}

/// Names of parameters and types on both sides.
pub(super) mod names {
    pub(in super::super) const ENUM: &str = "io.confluent.connect.protobuf.Enum";
    pub(in super::super) const GENERAL_ENUM: &str = "org.apache.kafka.connect.data.Enum";
    pub(in super::super) const UNION: &str = "io.confluent.connect.protobuf.Union";
    pub(in super::super) const GENERAL_UNION: &str = "org.apache.kafka.connect.data.Union";
    pub(in super::super) const TAG: &str = "io.confluent.connect.protobuf.Tag";
    pub(in super::super) const TYPE: &str = data::PROTOBUF_TYPE;
    /// Marks the place where a message contains itself; the value is the message's full name.
    pub(in super::super) const RECURSIVE: &str = "io.confluent.connect.protobuf.recursive";
    pub(in super::super) const PRECISION: &str = "connect.decimal.precision";
    pub(in super::super) const CONNECT_TYPE: &str = "connect.type";
    pub(in super::super) const CONNECT_NAME: &str = "connect.name";
    pub(in super::super) const CONNECT_VERSION: &str = "connect.version";
    pub(in super::super) const CONNECT_PARAMETER: &str = "connect.parameter.";

    pub(in super::super) const DECIMAL: &str = "confluent.type.Decimal";
    pub(in super::super) const DATE: &str = "google.type.Date";
    pub(in super::super) const TIME: &str = "google.type.TimeOfDay";
    pub(in super::super) const TIMESTAMP: &str = "google.protobuf.Timestamp";
    pub(in super::super) const DURATION: &str = "google.protobuf.Duration";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_those_of_the_definition() {
        assert_eq!(Options::new(&Props::new()).unwrap(), Options::default());
        for (key, default, ..) in KEYS {
            let props = Props::from_iter([(key.to_owned(), (!default).to_string())]);
            assert_ne!(Options::new(&props).unwrap(), Options::default(), "{key}");
            let props = Props::from_iter([(key.to_owned(), "perhaps".to_owned())]);
            assert!(Options::new(&props).unwrap_err().to_string().contains(key));
        }
    }
}
