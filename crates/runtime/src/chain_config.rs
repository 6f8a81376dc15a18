//! A chain of transforms as configurations describe it: `transforms`, `transforms.A.type` and the keys
//! beside it, `predicates` and theirs.
//!
//! Place in the data path: before it; checked with the rest of a connector's configuration, built when
//! a task starts. Texts are Kafka Connect's where it has texts; what Connect finds only when the task
//! starts (settings that a class refuses, predicates that do not exist) is found here.

mod keys;

pub(crate) use keys::ChainKeys;

use crate::chain::{Condition, Step};
use crate::plugins::Plugins;
use api::{Predicate, PredicatePlugin, Transform, TransformPlugin};
use config::suggest::nearest;
use config::unknown::{UnknownKey, name_misspelt, unknown_keys};
use config::{ConfigDef, ConfigError, ConfigErrors, ConfigKey, Props, Type, Value, invalid};

/// Keys that the framework reads below an alias.
const TYPE: &str = "type";
const VERSION: &str = "plugin.version";
const PREDICATE: &str = "predicate";
const NEGATE: &str = "negate";

/// What there is to say about a chain.
#[derive(Debug, Default)]
pub struct ChainFindings {
    pub errors: Vec<ConfigError>,
    /// What classes refuse that single keys allow: Connect finds it when the tasks start.
    pub refused: Vec<ConfigError>,
    /// Keys below an alias that its class does not read.
    pub unknown: Vec<UnknownKey>,
    /// Keys below aliases that are in no list, and predicates that nothing uses: one entry an alias.
    pub unused: Vec<ConfigError>,
}

/// The two kinds of plugins of a chain, for what is the same with both.
#[derive(Clone, Copy)]
enum Kind {
    Transform,
    Predicate,
}

impl Kind {
    /// The key of the list of aliases; keys of an alias begin with it.
    fn list(self) -> &'static str {
        match self {
            Kind::Transform => "transforms",
            Kind::Predicate => "predicates",
        }
    }

    /// As groups of keys are named.
    fn word(self) -> &'static str {
        match self {
            Kind::Transform => "Transforms",
            Kind::Predicate => "Predicates",
        }
    }

    /// The Java interface, as Connect's messages name it.
    fn interface(self) -> &'static str {
        match self {
            Kind::Transform => "Transformation",
            Kind::Predicate => "Predicate",
        }
    }
}

/// A class that was found, with what all kinds have.
enum Plugin {
    Transform(&'static TransformPlugin),
    Predicate(&'static PredicatePlugin),
}

impl Plugin {
    fn class(&self) -> &'static str {
        match self {
            Plugin::Transform(plugin) => plugin.class,
            Plugin::Predicate(plugin) => plugin.class,
        }
    }

    fn version(&self) -> &'static str {
        match self {
            Plugin::Transform(plugin) => plugin.version,
            Plugin::Predicate(plugin) => plugin.version,
        }
    }

    fn config_def(&self) -> ConfigDef {
        match self {
            Plugin::Transform(plugin) => (plugin.config_def)(),
            Plugin::Predicate(plugin) => (plugin.config_def)(),
        }
    }

    /// Makes an instance and lets go of it: its constructor may refuse what single keys allow.
    fn try_make(&self, props: &Props) -> Result<(), ConfigErrors> {
        match self {
            Plugin::Transform(plugin) => (plugin.make)(props).map(drop),
            Plugin::Predicate(plugin) => (plugin.make)(props).map(drop),
        }
    }
}

impl Plugins {
    /// Checks the transforms and predicates of a configuration, unused predicates included.
    pub fn check_chain(&self, props: &Props) -> ChainFindings {
        let mut found = ChainFindings::default();
        let mut used = Vec::new();
        for alias in aliases(Kind::Transform, props) {
            self.check_alias(Kind::Transform, &alias, props, &mut found);
            used.extend(check_condition(&alias, props, &mut found));
        }
        for alias in aliases(Kind::Predicate, props) {
            self.check_alias(Kind::Predicate, &alias, props, &mut found);
            if !used.contains(&alias) {
                let text = format!("predicate {alias} is not used by any transform");
                found.unused.push(ConfigError::new("predicates", text));
            }
        }
        for kind in [Kind::Transform, Kind::Predicate] {
            found.unused.extend(stray_aliases(kind, props));
        }
        found
    }

    /// Makes the chain of a configuration.
    ///
    /// # Errors
    /// Everything that is wrong with it, as [`Plugins::check_chain`] finds it.
    pub fn steps(&self, props: &Props) -> Result<Vec<Step>, ConfigErrors> {
        let ChainFindings { mut errors, refused, unknown, .. } = self.check_chain(props);
        name_misspelt(&mut errors, &unknown);
        errors.extend(refused);
        ConfigErrors { errors }.into_result()?;
        aliases(Kind::Transform, props).into_iter().map(|alias| self.step(alias, props)).collect()
    }

    fn step(&self, alias: String, props: &Props) -> Result<Step, ConfigErrors> {
        let prefix = prefix(Kind::Transform, &alias);
        let condition = match props.get(&format!("{prefix}{PREDICATE}")) {
            None => None,
            Some(name) => Some(Condition {
                alias: name.to_owned(),
                predicate: self.make_predicate(name, props)?,
                negate: is_negated(&prefix, props),
            }),
        };
        let transform = self.make_transform(&alias, props)?;
        Ok(Step { alias, transform, condition })
    }

    fn make_transform(
        &self,
        alias: &str,
        props: &Props,
    ) -> Result<Box<dyn Transform>, ConfigErrors> {
        let key = format!("{}{TYPE}", prefix(Kind::Transform, alias));
        let plugin = props.get(&key).and_then(self.transform);
        let plugin = plugin.ok_or_else(|| ConfigErrors::one(&*key, missing(&key)))?;
        (plugin.make)(&own_props(Kind::Transform, alias, props))
    }

    fn make_predicate(
        &self,
        alias: &str,
        props: &Props,
    ) -> Result<Box<dyn Predicate>, ConfigErrors> {
        let key = format!("{}{TYPE}", prefix(Kind::Predicate, alias));
        let plugin = props.get(&key).and_then(self.predicate);
        let plugin = plugin.ok_or_else(|| ConfigErrors::one(&*key, missing(&key)))?;
        (plugin.make)(&own_props(Kind::Predicate, alias, props))
    }

    fn check_alias(&self, kind: Kind, alias: &str, props: &Props, found: &mut ChainFindings) {
        let prefix = prefix(kind, alias);
        let plugin = match self.find_plugin(kind, &format!("{prefix}{TYPE}"), props) {
            Ok(plugin) => plugin,
            Err(error) => {
                found.errors.push(error);
                // The class may be there under a misspelt key.
                let def = framework_keys(kind, &ConfigDef::new());
                let unknown = keys_below(kind, alias, props, &def);
                found.unknown.extend(unknown.into_iter().filter(|key| key.nearest.is_some()));
                return;
            }
        };
        let def = framework_keys(kind, &plugin.config_def());
        let mut errors = Vec::new();
        for value in def.with_prefix(&prefix).validate(props) {
            let texts = value.errors.iter();
            errors.extend(texts.map(|text| ConfigError::new(&*value.name, text.as_str())));
        }
        if errors.is_empty()
            && let Err(refused) = plugin.try_make(&own_props(kind, alias, props))
        {
            let whole = |error: ConfigError| {
                let key = format!("{prefix}{}", error.key);
                ConfigError::new(key.trim_end_matches('.'), error.message)
            };
            found.refused.extend(refused.errors.into_iter().map(whole));
        }
        found.errors.extend(errors);
        found.unknown.extend(keys_below(kind, alias, props, &def));
    }

    fn find_plugin(&self, kind: Kind, key: &str, props: &Props) -> Result<Plugin, ConfigError> {
        let Some(class) = props.get(key).map(str::trim) else {
            return Err(ConfigError::new(key, missing(key)));
        };
        let plugin = match kind {
            Kind::Transform => (self.transform)(class).map(Plugin::Transform),
            Kind::Predicate => (self.predicate)(class).map(Plugin::Predicate),
        };
        plugin.ok_or_else(|| ConfigError::new(key, self.no_such_class(kind, key, class)))
    }

    /// Why there is no plugin of that kind under a name, in Connect's words, with a hint.
    fn no_such_class(&self, kind: Kind, key: &str, class: &str) -> String {
        let names: Vec<(&str, &[&str])> = match kind {
            Kind::Transform => (self.transforms)().iter().map(|p| (p.class, p.aliases)).collect(),
            Kind::Predicate => (self.predicates)().iter().map(|p| (p.class, p.aliases)).collect(),
        };
        let of_base = |name: &str| {
            name.strip_prefix(class).is_some_and(|rest| rest == "$Key" || rest == "$Value")
        };
        let forms: Vec<&str> = names
            .iter()
            .filter(|(name, aliases)| of_base(name) || aliases.iter().any(|alias| of_base(alias)))
            .map(|(name, _)| *name)
            .collect();
        if !forms.is_empty() {
            let forms = forms.join(", ");
            return format!("This class is abstract and cannot be created. Did you mean {forms}?");
        }
        let of_other_kind = match kind {
            Kind::Transform => (self.predicate)(class).map(|plugin| plugin.class),
            Kind::Predicate => (self.transform)(class).map(|plugin| plugin.class),
        };
        let other = of_other_kind.or_else(|| (self.converter)(class).map(|plugin| plugin.class));
        if let Some(other) = other {
            let interface = kind.interface();
            return format!("Class class {other} does not implement the {interface} interface");
        }
        let all = names
            .iter()
            .flat_map(|(name, aliases)| std::iter::once(*name).chain(aliases.iter().copied()));
        let guess = nearest(class, all).map(|name| format!("did you mean {name}? "));
        let text = invalid(key, &class, &format!("Class {class} could not be found."));
        format!("{text}\n  hint: {}copycat transform list names all", guess.unwrap_or_default())
    }
}

/// The rules between the keys of a step's condition; gives the predicate it uses.
fn check_condition(alias: &str, props: &Props, found: &mut ChainFindings) -> Option<String> {
    let prefix = prefix(Kind::Transform, alias);
    let key = format!("{prefix}{PREDICATE}");
    let Some(name) = props.get(&key) else {
        let negate = format!("{prefix}{NEGATE}");
        if props.contains(&negate) {
            let text = format!(
                "Config '{negate}' was provided but there is no config '{key}' defining a \
                 predicate to be negated."
            );
            found.errors.push(ConfigError::new(format!("{prefix}{TYPE}"), text));
        }
        return None;
    };
    let declared = aliases(Kind::Predicate, props);
    if !declared.iter().any(|known| known == name) {
        let list = declared.join(",");
        let hint = match nearest(name, declared.iter().map(String::as_str)) {
            Some(near) => format!("did you mean {near}?"),
            None => format!("add it to predicates, with predicates.{name}.type"),
        };
        let fault = format!("there is no such predicate in predicates={list}\n  hint: {hint}");
        found.errors.push(ConfigError::new(&*key, invalid(&key, &name, &fault)));
    }
    Some(name.to_owned())
}

/// Aliases in their order, each once: a repeat is an error of the list's own.
fn aliases(kind: Kind, props: &Props) -> Vec<String> {
    let list = props.get(kind.list()).unwrap_or_default();
    let Ok(Value::List(items)) = Value::parse(Type::List, list) else { return Vec::new() };
    let mut aliases: Vec<String> = Vec::new();
    for alias in items {
        if !alias.is_empty() && !aliases.contains(&alias) {
            aliases.push(alias);
        }
    }
    aliases
}

fn prefix(kind: Kind, alias: &str) -> String {
    format!("{}.{alias}.", kind.list())
}

fn missing(key: &str) -> String {
    format!("Missing required configuration \"{key}\" which has no default value.")
}

fn is_negated(prefix: &str, props: &Props) -> bool {
    let text = props.get(&format!("{prefix}{NEGATE}")).unwrap_or_default();
    matches!(Value::parse(Type::Boolean, text), Ok(Value::Boolean(true)))
}

/// The keys of an alias that are its class's own.
fn own_props(kind: Kind, alias: &str, props: &Props) -> Props {
    let framework: &[&str] = match kind {
        Kind::Transform => &[TYPE, VERSION, PREDICATE, NEGATE],
        Kind::Predicate => &[TYPE, VERSION],
    };
    let all = props_below(kind, alias, props);
    all.iter().filter(|(key, _)| !framework.contains(key)).collect()
}

/// The keys below an alias, except those of another alias that begins with it (`a` and `a.b`).
fn props_below(kind: Kind, alias: &str, props: &Props) -> Props {
    let inner = format!("{alias}.");
    let others: Vec<String> = aliases(kind, props)
        .iter()
        .filter_map(|other| other.strip_prefix(&inner).map(|rest| format!("{rest}.")))
        .collect();
    let below = props.with_prefix(&prefix(kind, alias));
    below.iter().filter(|(key, _)| !others.iter().any(|other| key.starts_with(other))).collect()
}

/// The keys below an alias: those of its class, and the framework's, which hide namesakes.
fn framework_keys(kind: Kind, own: &ConfigDef) -> ConfigDef {
    let mut def = ConfigDef::new();
    let optional = |name, kind, default: Option<&str>| ConfigKey {
        default: Some(default.map(str::to_owned)),
        ..ConfigKey::new(name, kind)
    };
    def.define(ConfigKey::new(TYPE, Type::Class));
    def.define(optional(VERSION, Type::String, None));
    def.extend(own.clone());
    if matches!(kind, Kind::Transform) {
        def.define(optional(NEGATE, Type::Boolean, Some("false")));
        def.define(optional(PREDICATE, Type::String, None));
    }
    def
}

fn keys_below(kind: Kind, alias: &str, props: &Props, def: &ConfigDef) -> Vec<UnknownKey> {
    let prefix = prefix(kind, alias);
    let whole = |key: UnknownKey| UnknownKey {
        key: format!("{prefix}{}", key.key),
        nearest: key.nearest.map(|nearest| format!("{prefix}{nearest}")),
    };
    let unknown = unknown_keys(&props_below(kind, alias, props), &[def], &[]);
    unknown.into_iter().map(whole).collect()
}

/// Aliases that have keys and are in no list: their keys have no effect.
fn stray_aliases(kind: Kind, props: &Props) -> Vec<ConfigError> {
    let list = kind.list();
    let declared = aliases(kind, props);
    let prefixes: Vec<String> = declared.iter().map(|alias| format!("{alias}.")).collect();
    let mut strays: Vec<String> = Vec::new();
    for (key, _) in props.with_prefix(&format!("{list}.")).iter() {
        let alias = key.split('.').next().unwrap_or_default();
        let known = prefixes.iter().any(|prefix| key.starts_with(prefix));
        if !known && !strays.iter().any(|stray| stray == alias) {
            strays.push(alias.to_owned());
        }
    }
    let error = |alias: String| {
        let near = nearest(&alias, declared.iter().map(String::as_str));
        let guess = near.map_or_else(String::new, |near| format!("; did you mean {list}.{near}?"));
        let text = format!("{list}.{alias}.* has no effect: {alias} is not in {list}{guess}");
        ConfigError::new(format!("{list}.{alias}"), text)
    };
    strays.into_iter().map(error).collect()
}
