//! Options under the names of other JDBC sinks.
//!
//! A dialect is a table: each foreign key is mapped to one of ours, ignored with a reason, or
//! refused where ignoring it would change data. Our own names work under every class. Errors are
//! told under the name that the user wrote. Invariant: nothing is dropped without a notice.

mod aiven;
mod confluent;
mod debezium;
mod names;

pub use names::KeyNames;

use crate::config::{SqlSinkConfig, TypeDialect};
use config::{Config, ConfigDef, ConfigError, ConfigKey, Importance, Props, Type};
use std::collections::BTreeMap;

/// What becomes of a foreign key.
#[derive(Clone, Copy)]
enum Rule {
    /// The same under our name.
    Map(&'static str),
    /// The value becomes settings of ours.
    Turn { into: &'static str, turn: Turn },
    /// It has no meaning here, for this reason.
    Ignore(&'static str),
    /// Refused unless the value is one of these (compared in lower case).
    OnlyIf { values: &'static [&'static str], else_why: &'static str },
}

/// Our settings for a value, or why it is refused.
type Turn = fn(&str) -> Result<Vec<(&'static str, String)>, String>;

struct ForeignKey {
    name: &'static str,
    rule: Rule,
    /// The default that the other sink documents, where it is not ours.
    default: Option<&'static str>,
}

const fn map(name: &'static str, ours: &'static str) -> ForeignKey {
    ForeignKey { name, rule: Rule::Map(ours), default: None }
}

const fn turn(
    name: &'static str,
    into: &'static str,
    default: Option<&'static str>,
    turn: Turn,
) -> ForeignKey {
    ForeignKey { name, rule: Rule::Turn { into, turn }, default }
}

const fn ignore(name: &'static str, why: &'static str) -> ForeignKey {
    ForeignKey { name, rule: Rule::Ignore(why), default: None }
}

const fn only_if(
    name: &'static str,
    values: &'static [&'static str],
    else_why: &'static str,
) -> ForeignKey {
    ForeignKey { name, rule: Rule::OnlyIf { values, else_why }, default: None }
}

/// The options of one kind of connector class.
pub struct Dialect {
    pub types: TypeDialect,
    keys: &'static [ForeignKey],
    /// Prefixes of keys without a meaning here, and why.
    ignored_prefixes: &'static [(&'static str, &'static str)],
    /// Our settings where neither the user nor our own defaults decide.
    defaults: &'static [(&'static str, &'static str)],
    /// Further keys of ours and the user's keys that set them.
    also: &'static [(&'static str, &'static str)],
    /// Said once where the default decides: our key and the text.
    default_notices: &'static [(&'static str, &'static str)],
}

static OWN: Dialect = Dialect {
    types: TypeDialect::Own,
    keys: &[],
    ignored_prefixes: &[],
    defaults: &[],
    also: &[],
    default_notices: &[],
};

/// The Confluent class name.
pub const CONFLUENT_CLASS: &str = "io.confluent.connect.jdbc.JdbcSinkConnector";
/// Its short names.
pub const CONFLUENT_NAMES: [&str; 2] = ["JdbcSinkConnector", "JdbcSink"];
/// The Aiven class name.
pub const AIVEN_CLASS: &str = "io.aiven.connect.jdbc.JdbcSinkConnector";
/// The Debezium class name.
pub const DEBEZIUM_CLASS: &str = "io.debezium.connector.jdbc.JdbcSinkConnector";

impl Dialect {
    /// The dialect of a class name; our own for every other.
    pub fn of(class: &str) -> &'static Dialect {
        match class {
            AIVEN_CLASS => &aiven::DIALECT,
            DEBEZIUM_CLASS => &debezium::DIALECT,
            CONFLUENT_CLASS => &confluent::DIALECT,
            _ if CONFLUENT_NAMES.contains(&class) => &confluent::DIALECT,
            _ => &OWN,
        }
    }

    fn key(&self, name: &str) -> Option<&'static ForeignKey> {
        self.keys.iter().find(|key| key.name == name)
    }

    /// Prefixes of keys that are ignored with a notice, each.
    pub fn known_prefixes(&self) -> Vec<&'static str> {
        self.ignored_prefixes.iter().map(|(prefix, _)| *prefix).collect()
    }

    /// The definition under the user's names.
    pub fn def(&self) -> ConfigDef {
        let ours = SqlSinkConfig::def();
        let mut def = ConfigDef::new();
        for key in self.keys {
            def.define(self.define(key, &ours));
        }
        for key in ours.keys() {
            let shadowed = self.key(&key.name).is_some();
            let renamed = key.is_required() && self.name_of(&key.name) != key.name;
            if !shadowed && !renamed {
                let mut key = key.clone();
                if let Some((_, value)) = self.defaults.iter().find(|(name, _)| *name == key.name) {
                    key.default = Some(Some((*value).to_owned()));
                }
                // Another name may have set it.
                if self.name_of(&key.name) != key.name {
                    key.importance = Importance::Low;
                }
                def.define(key);
            }
        }
        def
    }

    fn define(&self, key: &ForeignKey, ours: &ConfigDef) -> ConfigKey {
        let plain = |documentation: String| ConfigKey {
            default: Some(key.default.map(str::to_owned)),
            documentation,
            ..ConfigKey::new(key.name, Type::String)
        };
        match key.rule {
            Rule::Map(canonical) => match ours.get(canonical) {
                None => plain(String::new()),
                Some(own) => {
                    let mut renamed = own.clone();
                    key.name.clone_into(&mut renamed.name);
                    key.name.clone_into(&mut renamed.display_name);
                    let default = self.defaults.iter().find(|(name, _)| *name == canonical);
                    if let Some((_, value)) = default {
                        renamed.default = Some(Some((*value).to_owned()));
                    }
                    // Of several names for one required key each alone is enough.
                    let names = self.keys.iter().filter(
                        |other| matches!(other.rule, Rule::Map(target) if target == canonical),
                    );
                    if names.count() > 1 && renamed.is_required() {
                        renamed.default = Some(None);
                    }
                    renamed
                }
            },
            Rule::Turn { into, .. } => {
                let own = ours.get(into);
                let documentation = own.map(|own| own.documentation.clone()).unwrap_or_default();
                ConfigKey {
                    importance: own.map_or(Importance::Low, |own| own.importance),
                    group: own.and_then(|own| own.group.clone()),
                    order: own.map_or(-1, |own| own.order),
                    ..plain(format!("{documentation} Sets {into}."))
                }
            }
            Rule::Ignore(why) => plain(format!("Accepted without effect: {why}.")),
            Rule::OnlyIf { values, else_why } => plain(format!(
                "Accepted without effect if {}; else: {else_why}.",
                values.join(", ")
            )),
        }
    }

    /// The name under which the user knows one of our keys, where nothing was set.
    fn name_of(&self, canonical: &str) -> String {
        let named = self.keys.iter().find(|key| match key.rule {
            Rule::Map(target) => target == canonical,
            Rule::Turn { into, .. } => into == canonical,
            _ => false,
        });
        let also = self.also.iter().find(|(ours, _)| *ours == canonical).map(|(_, name)| *name);
        named.map(|key| key.name).or(also).unwrap_or(canonical).to_owned()
    }

    /// Reads a configuration.
    pub fn translate(&self, props: &Props) -> Translated {
        let mut out = Translated::default();
        let ours = SqlSinkConfig::def();
        for (name, value) in props.iter() {
            match self.key(name) {
                Some(key) => out.apply(key, value),
                None if ours.get(name).is_some() => out.set(name, name, value),
                None => {
                    let known = self.ignored_prefixes.iter().find(|(p, _)| name.starts_with(p));
                    if let Some((_, why)) = known {
                        out.notices.push(format!("{name} has no effect: {why}"));
                    }
                }
            }
        }
        for (canonical, text) in self.default_notices {
            if !out.props.contains(canonical) {
                out.notices.push((*text).to_owned());
            }
        }
        for (canonical, value) in self.defaults {
            if !out.props.contains(canonical) {
                out.props.insert(*canonical, *value);
            }
        }
        for key in ours.keys() {
            let name = self.name_of(&key.name);
            if let (false, Some(default)) =
                (out.names.contains_key(&key.name), self.key(&name).and_then(|key| key.default))
            {
                out.given.insert(name.clone(), default.to_owned());
            }
            out.names.entry(key.name.clone()).or_insert(name);
        }
        out.check_retries();
        out
    }
}

/// A configuration under our names.
#[derive(Debug, Default)]
pub struct Translated {
    pub props: Props,
    /// Keys without effect, values changed by a default.
    pub notices: Vec<String>,
    /// Under the user's names.
    pub errors: Vec<ConfigError>,
    /// From our names to the user's.
    names: BTreeMap<String, String>,
    /// What the keys that are turned into ours were set to, or are by default.
    given: BTreeMap<String, String>,
}

impl Translated {
    fn set(&mut self, canonical: &str, name: &str, value: &str) {
        if let Some(before) = self.props.insert(canonical, value)
            && before != value
        {
            let other = self.names.get(canonical).cloned().unwrap_or_default();
            let text = format!("{name} and {other} mean the same and have different values");
            self.errors.push(ConfigError::new(name, text));
        }
        self.names.insert(canonical.to_owned(), name.to_owned());
    }

    fn apply(&mut self, key: &ForeignKey, value: &str) {
        let name = key.name;
        match key.rule {
            Rule::Map(canonical) => self.set(canonical, name, value),
            Rule::Turn { turn, .. } => match turn(value.trim()) {
                Ok(settings) => {
                    self.given.insert(name.to_owned(), value.trim().to_owned());
                    for (canonical, value) in settings {
                        self.set(canonical, name, &value);
                    }
                }
                Err(why) => {
                    let text = format!("Invalid value {value} for configuration {name}: {why}");
                    self.errors.push(ConfigError::new(name, text));
                }
            },
            Rule::Ignore(why) => self.notices.push(format!("{name} has no effect: {why}")),
            Rule::OnlyIf { values, else_why } => {
                let given = value.trim().to_lowercase();
                if !values.contains(&given.as_str()) {
                    let text =
                        format!("Invalid value {value} for configuration {name}: {else_why}");
                    self.errors.push(ConfigError::new(name, text));
                }
            }
        }
    }

    fn check_retries(&mut self) {
        let strict = self.props.get("max.retries.strict").is_some_and(|v| v.trim() == "true");
        if self.props.contains("max.retries") && !strict {
            let name = self.user_key("max.retries");
            self.notices.push(format!(
                "{name} has no effect: attempts that fail because the database is down or busy are \
                 repeated for ever; max.retries.strict=true makes it a limit"
            ));
        }
    }

    /// The user's name of one of our keys.
    pub fn user_key(&self, canonical: &str) -> String {
        self.names.get(canonical).cloned().unwrap_or_else(|| canonical.to_owned())
    }

    /// The names for messages about records and tables.
    pub fn key_names(&self) -> KeyNames {
        let foreign = self.names.iter().filter(|(ours, name)| ours != name);
        KeyNames::new(
            foreign
                .map(|(ours, name)| (ours.clone(), (name.clone(), self.given.get(name).cloned()))),
        )
    }

    /// An error about one of our keys, told under the user's name.
    pub fn told(&self, error: ConfigError) -> ConfigError {
        let key = self.user_key(&error.key);
        if key == error.key {
            return error;
        }
        let message = error.message.replace(&error.key, &key);
        ConfigError { key, message }
    }

    /// The options, or everything that is wrong, under the user's names.
    ///
    /// # Errors
    /// Every wrong or missing value at once.
    pub fn parse(&self) -> Result<SqlSinkConfig, Vec<ConfigError>> {
        let parsed = SqlSinkConfig::parse(&self.props);
        let mut errors = self.errors.clone();
        match parsed {
            Ok(config) if errors.is_empty() => return Ok(config),
            Ok(_) => {}
            Err(found) => errors.extend(found.errors.into_iter().map(|e| self.told(e))),
        }
        Err(errors)
    }
}

// Turns that several dialects need.

fn lower(into: &'static str, value: &str) -> Vec<(&'static str, String)> {
    vec![(into, value.to_ascii_lowercase())]
}

fn boolean_quotes(value: &str) -> Result<Vec<(&'static str, String)>, String> {
    match value.to_ascii_lowercase().as_str() {
        "true" => Ok(vec![("quote.identifiers", "always".to_owned())]),
        "false" => Ok(vec![("quote.identifiers", "never".to_owned())]),
        _ => Err("Expected value to be either true or false".to_owned()),
    }
}

fn pk_mode(value: &str) -> Result<Vec<(&'static str, String)>, String> {
    Ok(lower("pk.mode", value))
}

fn quotes(value: &str) -> Result<Vec<(&'static str, String)>, String> {
    Ok(lower("quote.identifiers", value))
}

fn dialect_name(value: &str) -> Result<Vec<(&'static str, String)>, String> {
    let lower = value.to_ascii_lowercase();
    let known = lower.is_empty() || lower.starts_with("postgres") || lower.starts_with("sqlite");
    match known {
        true => Ok(Vec::new()),
        false => Err("the databases are PostgreSQL and SQLite; the URL decides which".to_owned()),
    }
}

const RETRIES: &str = "failed attempts are repeated for ever, after pauses that grow";

#[cfg(test)]
mod tests;
