//! Entries whose definition depends on the plugins there are: converters, transforms, predicates.

use super::{ConfigInfo, ConfigInfos};
use crate::chain_config::ChainKeys;
use crate::worker::Worker;
use crate::worker::converters::{DEFAULT_HEADER_CONVERTER, HEADER_CONVERTER, SIDES};
use config::{ConfigDef, ConfigKey, ConfigValue, Given, invalid};

impl Worker {
    /// Converters and their versions: the worker's are the defaults, the plugins what is offered.
    pub(super) fn enrich_converters(&self, def: &mut ConfigDef, given: &Given) {
        for side in SIDES {
            let default = self
                .props
                .get(side)
                .or((side == HEADER_CONVERTER).then_some(DEFAULT_HEADER_CONVERTER));
            let resolved = default.and_then(|class| (self.plugins.converter)(class));
            let asked = given.props.get(side).map(|class| (self.plugins.converter)(class));
            if let Some(key) = def.get_mut(side) {
                key.default = Some(resolved.map(|plugin| plugin.class.to_owned()));
                let fits = |class: &&str| side == HEADER_CONVERTER || !is_header_only(class);
                let all = (self.plugins.converters)();
                key.recommended = all.into_iter().filter(fits).map(str::to_owned).collect();
            }
            if let Some(key) = def.get_mut(&format!("{side}.plugin.version")) {
                let version = asked.unwrap_or(resolved).map(|plugin| plugin.version.to_owned());
                key.recommended = version.clone().into_iter().collect();
                key.default = Some(version);
            }
        }
    }

    /// Says a converter's class in full, and what is wrong with it.
    pub(super) fn resolve_converter(
        &self,
        key: &ConfigKey,
        value: &mut ConfigValue,
        given: &Given,
    ) {
        if let Some(side) = key.name.strip_suffix(".plugin.version").filter(|s| SIDES.contains(s)) {
            let known = given.props.get(side).is_none_or(|class| self.is_plugin(class));
            if !known {
                value.visible = false;
                value.recommended.clear();
                value.value = None;
            }
        }
        if !SIDES.contains(&key.name.as_str()) {
            return;
        }
        let Some(class) = given.props.get(&key.name).map(str::trim) else { return };
        let plugin = (self.plugins.converter)(class);
        if let Some(plugin) =
            plugin.filter(|p| key.name == HEADER_CONVERTER || !is_header_only(p.class))
        {
            value.value = Some(plugin.class.to_owned());
            return;
        }
        match plugin.map(|plugin| plugin.class).or_else(|| self.other_plugin(class)) {
            Some(other) => {
                let header = key.name == HEADER_CONVERTER;
                let interface = if header { "HeaderConverter" } else { "Converter" };
                value.value = Some(other.to_owned());
                value.errors = vec![format!(
                    "Class class {other} does not implement the {interface} interface"
                )];
            }
            None => {
                value.value = None;
                let fault = format!("Class {class} could not be found.");
                value.errors = vec![invalid(&key.name, &class, &fault)];
            }
        }
    }

    fn is_plugin(&self, class: &str) -> bool {
        (self.plugins.converter)(class).is_some() || self.other_plugin(class).is_some()
    }

    fn other_plugin(&self, class: &str) -> Option<&'static str> {
        let transform = (self.plugins.transform)(class).map(|plugin| plugin.class);
        transform.or_else(|| (self.plugins.predicate)(class).map(|plugin| plugin.class))
    }

    /// The keys of transforms and predicates.
    pub(super) fn describe_chain(&self, given: &Given, infos: &mut ConfigInfos) {
        for ChainKeys { prefix, group, keys, mut values } in self.plugins.describe_chain(given) {
            for (index, key) in keys.keys().enumerate() {
                let Some(value) = values.get_mut(index) else { break };
                let mut key = key.clone();
                key.group = Some(group.clone());
                key.order = index as i32;
                debug_assert!(key.name.starts_with(&prefix), "keys stand below their alias");
                infos.configs.push(ConfigInfo { key: Some(key), value: value.clone() });
            }
        }
    }

    /// The keys of converters that the configuration names; counted by key.
    pub(super) fn describe_converters(&self, given: &Given, infos: &mut ConfigInfos) {
        for side in [HEADER_CONVERTER, "key.converter", "value.converter"] {
            let wrong = infos.entry(side).is_some_and(|info| !info.value.errors.is_empty());
            let plugin = given.props.get(side).and_then(self.plugins.converter).filter(|_| !wrong);
            let Some(plugin) = plugin else { continue };
            let prefix = format!("{side}.");
            let mut settings = given.props.with_prefix(&prefix);
            settings.insert("converter.type", side.trim_end_matches(".converter"));
            let def = (plugin.config_def)();
            let values = def.validate(&settings);
            for (key, mut value) in def.keys().zip(values) {
                let mut key = key.clone();
                key.name = format!("{prefix}{}", key.name);
                key.dependents = key.dependents.iter().map(|d| format!("{prefix}{d}")).collect();
                value.name.clone_from(&key.name);
                infos.error_count += usize::from(!value.errors.is_empty());
                infos.configs.push(ConfigInfo { key: Some(key), value });
            }
        }
    }
}

/// Converters that read headers alone.
pub(crate) fn is_header_only(class: &str) -> bool {
    class.ends_with("HeaderConverter")
}

/// Whether a version is the one asked for, or lies in the range asked for.
pub(crate) fn matches(asked: &str, version: &str) -> bool {
    let Some((low_open, inside, high_open)) = range(asked) else { return asked == version };
    let (low, high) = inside.split_once(',').unwrap_or((inside, inside));
    let (low, high) = (low.trim(), high.trim());
    let order = |bound: &str| numbers(version).cmp(&numbers(bound));
    let above = low.is_empty() || if low_open { order(low).is_gt() } else { order(low).is_ge() };
    let below =
        high.is_empty() || if high_open { order(high).is_lt() } else { order(high).is_le() };
    above && below
}

/// The parts of a Maven range of versions: whether its ends are left out, and what is between them.
fn range(text: &str) -> Option<(bool, &str, bool)> {
    let low_open = text.starts_with('(');
    let high_open = text.ends_with(')');
    let inside = text.strip_prefix(['(', '['])?.strip_suffix([')', ']'])?;
    Some((low_open, inside, high_open))
}

fn numbers(version: &str) -> Vec<u64> {
    version.split(['.', '-']).map(|part| part.parse().unwrap_or(0)).collect()
}

/// Connect's words for a version that there is not.
pub(crate) fn no_such_version(class: &str, asked: &str, version: &str) -> String {
    let asked =
        if range(asked).is_some() { asked.to_owned() } else { format!("[{asked},{asked}]") };
    format!(
        "Plugin {class} not found that matches the version range {asked}, available versions: \
         [{version}]"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_match_exactly_or_by_range() {
        for (asked, fits) in [
            ("4.4.0", true),
            ("0.0.1", false),
            ("[4.0,5)", true),
            ("(4.4.0,)", false),
            ("[4.4.0,)", true),
            ("(,4.4.0)", false),
            ("[4.4.0]", true),
        ] {
            assert_eq!(matches(asked, "4.4.0"), fits, "{asked}");
        }
        assert!(no_such_version("C", "0.0.1", "4.4.0").contains("range [0.0.1,0.0.1], available"));
    }
}
