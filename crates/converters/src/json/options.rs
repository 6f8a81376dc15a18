//! The settings of the JsonConverter: definition and values.

use super::scan::Scanner;
use super::schema_read::read_schema;
use crate::kind::converter_def;
use crate::settings::wrong;
use api::{Error, Result};
use config::{ConfigDef, ConfigKey, Importance, Props, Type, Validator, Value, Width};
use data::Schema;
use std::sync::Arc;

/// How a Decimal is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DecimalFormat {
    Base64,
    Numeric,
}

#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) schemas_enable: bool,
    pub(crate) schemas_cache_size: usize,
    pub(crate) decimal_format: DecimalFormat,
    pub(crate) replace_null_with_default: bool,
    /// The schema of every message, where one is configured.
    pub(crate) schema_content: Option<Arc<Schema>>,
}

/// The settings, with the one that every converter has.
pub(crate) fn config_def() -> ConfigDef {
    converter_def().merge(own_def())
}

fn own_def() -> ConfigDef {
    let key = |name: &str, kind, default: &str, importance, label: &str, text: &str| ConfigKey {
        default: Some(Some(default.to_owned())),
        importance,
        width: Width::Medium,
        display_name: label.to_owned(),
        documentation: text.to_owned(),
        ..ConfigKey::new(name, kind)
    };
    let group = |name: &str, order, key| ConfigKey { group: Some(name.to_owned()), order, ..key };
    let mut def = ConfigDef::new();
    def.define(group(
        "Schemas",
        0,
        key(
            "schemas.enable",
            Type::Boolean,
            "true",
            Importance::High,
            "Enable Schemas",
            "Whether a message is an object of schema and payload; if not, it is the value alone.",
        ),
    ));
    def.define(group(
        "Schemas",
        1,
        key(
            "schemas.cache.size",
            Type::Int,
            "1000",
            Importance::High,
            "Schema Cache Size",
            "How many schemas are kept; a few are kept in any case.",
        ),
    ));
    let content = key(
        "schema.content",
        Type::String,
        "",
        Importance::High,
        "Schema Content",
        "A schema in JSON form. With schemas.enable=true every message is then read as a payload \
         of this schema, without an envelope. It has no effect on writing.",
    );
    def.define(group("Schemas", 2, ConfigKey { default: Some(None), ..content }));
    let decimals = key(
        "decimal.format",
        Type::String,
        "BASE64",
        Importance::Low,
        "Decimal Format",
        "How decimals are written: BASE64 (the bytes of the unscaled value) or NUMERIC (a JSON \
         number). Both are read.",
    );
    let formats = vec!["NUMERIC".to_owned(), "BASE64".to_owned()];
    let validator = Some(Validator::OneOfIgnoreCase(formats));
    let decimals = ConfigKey { validator, ..decimals };
    def.define(group("Serialization", 0, decimals));
    def.define(group(
        "Serialization",
        1,
        key(
            "replace.null.with.default",
            Type::Boolean,
            "true",
            Importance::Low,
            "Replace null with default",
            "Whether a null is replaced by the default of its schema, in both directions.",
        ),
    ));
    def
}

impl Options {
    /// # Errors
    /// A wrong value, with the key; a `schema.content` that is no schema.
    pub(crate) fn new(props: &Props) -> Result<Options> {
        let parsed = own_def().parse(props).into_result().map_err(wrong)?;
        let flag = |key| matches!(parsed.value(key), Value::Boolean(true));
        let numeric = matches!(parsed.value("decimal.format"),
            Value::String(format) if format.eq_ignore_ascii_case("NUMERIC"));
        let cache = match parsed.value("schemas.cache.size") {
            Value::Int(size) => usize::try_from(*size).unwrap_or(0),
            _ => 0,
        };
        let content = match parsed.value("schema.content") {
            Value::String(text) if !text.is_empty() => {
                fixed_schema(text, flag("replace.null.with.default"))?
            }
            _ => None,
        };
        Ok(Options {
            schemas_enable: flag("schemas.enable"),
            schemas_cache_size: cache,
            decimal_format: if numeric { DecimalFormat::Numeric } else { DecimalFormat::Base64 },
            replace_null_with_default: flag("replace.null.with.default"),
            schema_content: content,
        })
    }
}

fn fixed_schema(text: &str, replace_null: bool) -> Result<Option<Arc<Schema>>> {
    let hint = "schema.content takes a schema like {\"type\":\"string\",\"optional\":true}";
    let mut scan = Scanner::new(text.as_bytes(), 0);
    if let Err(fault) = scan.skip(0).and_then(|_| scan.end()) {
        let what = "Failed to parse schema in converter config due to serialization error: ";
        return Err(Error::config(format!("{what}{}", fault.message())).hint(hint));
    }
    if text == "null" {
        return Ok(None);
    }
    let schema = read_schema(text.as_bytes(), replace_null);
    schema.map(Some).map_err(|fault| Error::config(fault.message().to_owned()).hint(hint))
}
