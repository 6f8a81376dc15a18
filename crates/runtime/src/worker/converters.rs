//! Checks of converters: that the class exists, its settings, keys that nothing reads.

use super::Worker;
use super::describe::matches;
use super::validate::Findings;
use config::connector::UnknownKeys;
use config::unknown::{UnknownKey, unknown_keys};
use config::{ConfigDef, ConfigError, Props};

/// The converters of records.
pub(super) const SIDES: [&str; 3] = ["key.converter", "value.converter", HEADER_CONVERTER];
pub(super) const HEADER_CONVERTER: &str = "header.converter";
/// What reads headers where neither the connector nor the worker says.
pub(super) const DEFAULT_HEADER_CONVERTER: &str =
    "org.apache.kafka.connect.storage.SimpleHeaderConverter";
/// Keys that every converter has below its prefix, beside those of its definition.
const OF_ALL: [&str; 2] = [VERSION, "converter.type"];
const VERSION: &str = "plugin.version";

impl Worker {
    /// The worker's own converters, whether or not a connector uses them.
    pub(super) fn check_own_converters(&self, found: &mut Findings) {
        for side in SIDES {
            if let Some(class) = self.props.get(side) {
                self.check_converter(side, class, &self.props, UnknownKeys::Warn, found);
            }
        }
    }

    /// The connector's converters. One without a class is the worker's, which was checked before.
    pub(super) fn check_converters(
        &self,
        props: &Props,
        policy: UnknownKeys,
        found: &mut Findings,
    ) {
        for side in SIDES {
            if let Some(class) = props.get(side) {
                self.check_converter(side, class, props, policy, found);
                continue;
            }
            let prefix = format!("{side}.");
            let unused =
                props.keys().find(|k| k.starts_with(&prefix) && !k.ends_with(".plugin.version"));
            if let Some(key) = unused {
                found.notices.push(format!(
                    "{key} has no effect without {side}: the worker's converter is used with the \
                     worker's settings"
                ));
            }
        }
    }

    fn check_converter(
        &self,
        side: &str,
        class: &str,
        props: &Props,
        policy: UnknownKeys,
        found: &mut Findings,
    ) {
        match self.plugins.find_converter(class) {
            Err(text) => {
                let text = format!("Invalid value {class} for configuration {side}: {text}");
                found.errors.push(ConfigError::new(side, text));
            }
            Ok(plugin) => {
                let def = (plugin.config_def)();
                let prefix = format!("{side}.");
                let mut settings = props.with_prefix(&prefix);
                settings.insert("converter.type", side.trim_end_matches(".converter"));
                for value in def.validate(&settings) {
                    let key = format!("{prefix}{}", value.name);
                    let errors = value.errors.into_iter();
                    found.errors.extend(errors.map(|text| ConfigError::new(&*key, text)));
                }
                found.unknown(keys_below(&prefix, props, &def), policy);
                let asked = settings.get(VERSION).map(str::trim).unwrap_or_default();
                if !asked.is_empty() && !matches(asked, plugin.version) {
                    found.notices.push(format!(
                        "{prefix}{VERSION}: {asked} has no effect: {} is there in version {} alone",
                        plugin.class, plugin.version
                    ));
                }
            }
        }
    }
}

/// The keys below a converter's prefix that it does not read, with the whole names.
fn keys_below(prefix: &str, props: &Props, def: &ConfigDef) -> Vec<UnknownKey> {
    let unknown = unknown_keys(&props.with_prefix(prefix), &[def], &[]);
    let whole = |key: UnknownKey| UnknownKey {
        key: format!("{prefix}{}", key.key),
        nearest: key.nearest.map(|nearest| format!("{prefix}{nearest}")),
    };
    unknown.into_iter().filter(|key| !OF_ALL.contains(&key.key.as_str())).map(whole).collect()
}
