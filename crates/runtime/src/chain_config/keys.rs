//! The keys of a chain's transforms and predicates, as Connect's validation lists them.

use super::{Kind, NEGATE, PREDICATE, Plugin, TYPE, VERSION, aliases, check_condition, prefix};
use crate::chain_config::ChainFindings;
use crate::plugins::Plugins;
use config::{ConfigDef, ConfigKey, ConfigValue, Given, Importance, Type, Width};

/// The keys of one alias.
pub(crate) struct ChainKeys {
    /// What they begin with.
    pub(crate) prefix: String,
    pub(crate) group: String,
    /// In their order within the group.
    pub(crate) keys: ConfigDef,
    /// One a key.
    pub(crate) values: Vec<ConfigValue>,
}

impl Plugins {
    /// The keys of every transform and predicate that the configuration names.
    pub(crate) fn describe_chain(&self, given: &Given) -> Vec<ChainKeys> {
        let of = |kind| aliases(kind, &given.props).into_iter().map(move |alias| (kind, alias));
        let all = of(Kind::Transform).chain(of(Kind::Predicate));
        all.map(|(kind, alias)| self.describe_alias(kind, &alias, given)).collect()
    }

    fn describe_alias(&self, kind: Kind, alias: &str, given: &Given) -> ChainKeys {
        let prefix = prefix(kind, alias);
        let type_key = format!("{prefix}{TYPE}");
        let found = self.find_plugin(kind, &type_key, &given.props);
        let keys = self.keys(kind, alias, found.as_ref().ok()).with_prefix(&prefix);
        let mut values = keys.validate_with(|key| given.entry(key));
        for text in values.iter_mut().flat_map(|value| &mut value.errors) {
            *text = in_javas_words(std::mem::take(text));
        }
        if let Some(value) = values.iter_mut().find(|value| value.name == type_key) {
            match (&found, &value.value) {
                (Ok(plugin), _) => value.value = Some(plugin.class().to_owned()),
                (Err(error), Some(class)) => {
                    let text = error.message.split("\n  hint: ").next().unwrap_or_default();
                    let known = !text.starts_with("Invalid value");
                    let class = self.any_class(kind, class).unwrap_or(class).to_owned();
                    value.errors = vec![text.to_owned()];
                    value.value = known.then_some(class);
                }
                (Err(_), None) => {}
            }
            if matches!(kind, Kind::Transform) {
                let mut negated = ChainFindings::default();
                check_condition(alias, &given.props, &mut negated);
                let of_type = negated.errors.into_iter().filter(|error| error.key == type_key);
                value.errors.extend(of_type.map(|error| error.message));
            }
        }
        let group = format!("{}: {alias}", kind.word());
        ChainKeys { prefix, group, keys, values }
    }

    /// The class of the other kind that has this name.
    fn any_class(&self, kind: Kind, class: &str) -> Option<&'static str> {
        let other = match kind {
            Kind::Transform => (self.predicate)(class).map(|plugin| plugin.class),
            Kind::Predicate => (self.transform)(class).map(|plugin| plugin.class),
        };
        other.or_else(|| (self.converter)(class).map(|plugin| plugin.class))
    }

    fn keys(&self, kind: Kind, alias: &str, plugin: Option<&Plugin>) -> ConfigDef {
        let of_framework = |name: &str, text: &str| ConfigKey {
            importance: Importance::High,
            width: Width::Long,
            documentation: text.to_owned(),
            ..ConfigKey::new(name, Type::Class)
        };
        let word = kind.word().trim_end_matches('s');
        let word = if word == "Transform" { "Transformation" } else { word };
        let mut def = ConfigDef::new();
        let mut class = of_framework(TYPE, "The class.");
        class.display_name = format!("{word} type for {alias}");
        class.recommended = self.classes(kind);
        def.define(class);
        let version = plugin.map(|plugin| plugin.version().to_owned());
        let mut asked = of_framework(VERSION, "The version of the class.");
        asked.kind = Type::String;
        asked.display_name = format!("{word} version for {alias}");
        asked.recommended = version.clone().into_iter().collect();
        asked.default = Some(version);
        def.define(asked);
        let Some(plugin) = plugin else { return def };
        let framework = [TYPE, VERSION, PREDICATE, NEGATE];
        let own = plugin.config_def();
        let own = own.keys().filter(|key| !framework.contains(&key.name.as_str()));
        let mut more: Vec<ConfigKey> = own.cloned().collect();
        if matches!(kind, Kind::Transform) {
            let of_condition = |name: &str, kind, default: Option<&str>, text: &str| ConfigKey {
                importance: Importance::Medium,
                default: Some(default.map(str::to_owned)),
                documentation: text.to_owned(),
                ..ConfigKey::new(name, kind)
            };
            let text = "Whether it is for the records that the predicate does not choose.";
            more.push(of_condition(NEGATE, Type::Boolean, Some("false"), text));
            let text = "The alias of a predicate that chooses the records it is for.";
            more.push(of_condition(PREDICATE, Type::String, None, text));
        }
        // Connect's order: what is required, then what matters, then by name.
        more.sort_by(|a, b| {
            let rank = |key: &ConfigKey| (!key.is_required(), key.importance as u8);
            rank(a).cmp(&rank(b)).then_with(|| a.name.cmp(&b.name))
        });
        for key in more {
            def.define(key);
        }
        def
    }

    fn classes(&self, kind: Kind) -> Vec<String> {
        match kind {
            Kind::Transform => (self.transforms)().iter().map(|p| p.class.to_owned()).collect(),
            Kind::Predicate => (self.predicates)().iter().map(|p| p.class.to_owned()).collect(),
        }
    }
}

/// Cast's complaint of a type that there is not, as tools know it: with the arguments of the exception
/// the wrong way round. Our own words stand among the hints.
fn in_javas_words(text: String) -> String {
    const FAULT: &str = "Invalid type found in casting spec: ";
    match text.split_once(FAULT) {
        None => text,
        Some((_, word)) => format!(
            "Invalid value java.lang.IllegalArgumentException: No enum constant \
             org.apache.kafka.connect.data.Schema.Type.{} for configuration {FAULT}{word}",
            word.to_uppercase()
        ),
    }
}
