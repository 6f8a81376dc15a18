//! Definitions: which keys there are, what they mean, and what a configuration says about them.
//!
//! Invariants: keys keep their order of definition; a redefinition replaces the key in its place;
//! the messages of a validation are Kafka's, in Kafka's order (parse or missing, then validator).

use std::collections::{BTreeMap, BTreeSet};

use crate::error::{ConfigError, ConfigErrors};
use crate::props::Props;
use crate::validator::{Validator, invalid};
use crate::value::{Type, Value};

/// How much a key matters; decides its place in documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Importance {
    /// Most users set it.
    High,
    /// Some users set it.
    Medium,
    /// Few users set it.
    Low,
}

impl Importance {
    /// The name in REST answers.
    pub fn name(self) -> &'static str {
        match self {
            Importance::High => "HIGH",
            Importance::Medium => "MEDIUM",
            Importance::Low => "LOW",
        }
    }
}

/// The width of the input field in user interfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// Not said.
    None,
    /// A number or a choice.
    Short,
    /// A name.
    Medium,
    /// A list or a path.
    Long,
}

impl Width {
    /// The name in REST answers.
    pub fn name(self) -> &'static str {
        match self {
            Width::None => "NONE",
            Width::Short => "SHORT",
            Width::Medium => "MEDIUM",
            Width::Long => "LONG",
        }
    }
}

/// The definition of one key.
#[derive(Clone, Debug)]
pub struct ConfigKey {
    /// The key.
    pub name: String,
    /// The type of its value.
    pub kind: Type,
    /// None: the key is required. `Some(None)`: null when absent.
    pub default: Option<Option<String>>,
    /// How much it matters.
    pub importance: Importance,
    /// The group in user interfaces.
    pub group: Option<String>,
    /// The place in the group; -1 without a group.
    pub order: i32,
    /// The width of the input field.
    pub width: Width,
    /// The label in user interfaces.
    pub display_name: String,
    /// What it does, in sentences.
    pub documentation: String,
    /// What the value must fulfil beyond its type.
    pub validator: Option<Validator>,
    /// Keys whose meaning depends on this one.
    pub dependents: Vec<String>,
    /// Values to offer.
    pub recommended: Vec<String>,
    /// The first version that has the key.
    pub since: Option<String>,
}

impl ConfigKey {
    /// A required key of low importance, in no group, labelled with its own name.
    pub fn new(name: impl Into<String>, kind: Type) -> ConfigKey {
        let name = name.into();
        ConfigKey {
            display_name: name.clone(),
            name,
            kind,
            default: None,
            importance: Importance::Low,
            group: None,
            order: -1,
            width: Width::None,
            documentation: String::new(),
            validator: None,
            dependents: Vec::new(),
            recommended: Vec::new(),
            since: None,
        }
    }

    /// Whether the key must be set.
    pub fn is_required(&self) -> bool {
        self.default.is_none()
    }

    /// The default as REST answers show it.
    pub fn default_text(&self) -> Option<String> {
        let text = self.default.as_ref()?.as_ref()?;
        Value::parse(self.kind, text).ok()?.to_text()
    }

    /// The value of an entry: `None` is an absent key, `Some(None)` an explicit null.
    fn read(&self, entry: Option<Option<&str>>) -> (Value, Vec<String>) {
        let mut errors = Vec::new();
        // Connect stumbles over a null pattern; it is as good as none.
        let is_pattern = self.validator.as_ref().is_some_and(Validator::is_regex);
        let entry = entry.filter(|given| given.is_some() || !is_pattern || !self.is_required());
        let text = match entry {
            Some(given) => given,
            None => match &self.default {
                Some(default) => default.as_deref(),
                None => {
                    errors.push(ConfigError::missing(&self.name).message);
                    None
                }
            },
        };
        let value = match text.map(|text| (text, Value::parse(self.kind, text))) {
            None => Value::Null,
            Some((_, Ok(value))) => value,
            Some((text, Err(fault))) => {
                errors.push(invalid(&self.name, &text, &fault));
                Value::Null
            }
        };
        if let Some(validator) = &self.validator
            && let Err(fault) = validator.check(&self.name, &value)
        {
            errors.push(fault);
        }
        (value, errors)
    }
}

/// What a configuration says about one key, as the validation endpoint answers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigValue {
    /// The key.
    pub name: String,
    /// The value, the default if absent; none for null or text that did not parse.
    pub value: Option<String>,
    /// Every message.
    pub errors: Vec<String>,
    /// Values to offer.
    pub recommended: Vec<String>,
    /// Whether a user interface shows it.
    pub visible: bool,
}

/// The typed values of a configuration, with everything that is wrong.
#[derive(Clone, Debug, Default)]
pub struct Parsed {
    values: BTreeMap<String, Value>,
    /// Every message, in the order of the definition.
    pub errors: Vec<ConfigError>,
}

impl Parsed {
    /// The value of `key`; null for a key that is not defined.
    pub fn value(&self, key: &str) -> &Value {
        self.values.get(key).unwrap_or(&Value::Null)
    }

    /// `Ok` when nothing is wrong.
    ///
    /// # Errors
    /// Everything that is wrong.
    pub fn into_result(self) -> Result<Parsed, ConfigErrors> {
        if self.errors.is_empty() { Ok(self) } else { Err(ConfigErrors { errors: self.errors }) }
    }
}

/// An ordered set of key definitions.
#[derive(Clone, Debug, Default)]
pub struct ConfigDef {
    keys: Vec<ConfigKey>,
    index: BTreeMap<String, usize>,
}

impl ConfigDef {
    /// No keys.
    pub fn new() -> ConfigDef {
        ConfigDef::default()
    }

    /// Adds a key, or replaces the one of the same name in its place.
    pub fn define(&mut self, key: ConfigKey) -> &mut ConfigDef {
        match self.index.get(&key.name).and_then(|&at| self.keys.get_mut(at)) {
            Some(old) => *old = key,
            None => {
                self.index.insert(key.name.clone(), self.keys.len());
                self.keys.push(key);
            }
        }
        self
    }

    /// All keys, in order of definition.
    pub fn keys(&self) -> impl Iterator<Item = &ConfigKey> {
        self.keys.iter()
    }

    /// The definition of `name`.
    pub fn get(&self, name: &str) -> Option<&ConfigKey> {
        self.keys.get(*self.index.get(name)?)
    }

    /// The definition of `name`, to change it.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut ConfigKey> {
        self.keys.get_mut(*self.index.get(name)?)
    }

    /// Adds the keys of `other`; a key that is there already is replaced in its place.
    pub fn extend(&mut self, other: ConfigDef) -> &mut ConfigDef {
        for key in other.keys {
            self.define(key);
        }
        self
    }

    /// The same as [`ConfigDef::extend`], by value.
    #[must_use]
    pub fn merge(mut self, other: ConfigDef) -> ConfigDef {
        self.extend(other);
        self
    }

    /// The same keys under a prefix, as transforms and converters are configured.
    #[must_use]
    pub fn with_prefix(&self, prefix: &str) -> ConfigDef {
        let mut prefixed = ConfigDef::new();
        for key in &self.keys {
            let mut key = key.clone();
            key.name = format!("{prefix}{}", key.name);
            key.dependents = key.dependents.iter().map(|d| format!("{prefix}{d}")).collect();
            prefixed.define(key);
        }
        prefixed
    }

    /// The groups, in the order in which they first occur.
    pub fn groups(&self) -> Vec<&str> {
        let mut groups = Vec::new();
        for group in self.keys.iter().filter_map(|key| key.group.as_deref()) {
            if !groups.contains(&group) {
                groups.push(group);
            }
        }
        groups
    }

    /// Checks every key of the definition; keys without a definition are left alone.
    pub fn validate(&self, props: &Props) -> Vec<ConfigValue> {
        self.validate_with(|key| props.get(key).map(Some))
    }

    /// The same for a JSON configuration, where a key can be null: the look-up answers `Some(None)`
    /// for such a key and `None` for one that is absent.
    pub fn validate_with<'a>(
        &self,
        entry: impl Fn(&str) -> Option<Option<&'a str>>,
    ) -> Vec<ConfigValue> {
        let read = |key: &ConfigKey| {
            let (value, errors) = key.read(entry(&key.name));
            ConfigValue {
                name: key.name.clone(),
                value: value.to_text(),
                errors,
                recommended: key.recommended.clone(),
                visible: true,
            }
        };
        self.keys.iter().map(read).collect()
    }

    /// The same properties, where items that a list must not repeat stand once. Kafka reports repeats
    /// when it validates a configuration, and passes over them when a plugin reads its own.
    #[must_use]
    pub fn without_repeats(&self, props: &Props) -> Props {
        let mut props = props.clone();
        for key in &self.keys {
            let refuses = key.validator.as_ref().is_some_and(Validator::refuses_repeats);
            let text = props.get(&key.name).filter(|_| refuses && key.kind == Type::List);
            if let Some(Ok(Value::List(items))) = text.map(|text| Value::parse(key.kind, text)) {
                let mut seen = BTreeSet::new();
                let once: Vec<_> = items.iter().filter(|item| seen.insert(*item)).collect();
                // An item without text needs a comma to be one.
                if once.len() < items.len() && once.iter().any(|item| !item.is_empty()) {
                    let once: Vec<&str> = once.into_iter().map(String::as_str).collect();
                    props.insert(&key.name, once.join(","));
                }
            }
        }
        props
    }

    /// The typed value of every key.
    pub fn parse(&self, props: &Props) -> Parsed {
        let mut parsed = Parsed::default();
        for key in &self.keys {
            let (value, errors) = key.read(props.get(&key.name).map(Some));
            parsed.values.insert(key.name.clone(), value);
            parsed.errors.extend(errors.into_iter().map(|text| ConfigError::new(&key.name, text)));
        }
        parsed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tasks_max() -> ConfigDef {
        let mut def = ConfigDef::new();
        def.define(ConfigKey {
            default: Some(Some("1".to_owned())),
            validator: Some(Validator::range(Some(1.into()), None)),
            ..ConfigKey::new("tasks.max", Type::Int)
        });
        def
    }

    #[test]
    fn repeated_items_are_reported_unless_they_are_taken_out_before() {
        let mut def = ConfigDef::new();
        def.define(ConfigKey {
            validator: Some(Validator::List { empty: false, null: false }),
            ..ConfigKey::new("fields", Type::List)
        });
        for (text, once) in [("a, b,a", "a,b"), ("a,,,b", "a,,b"), ("a,b", "a,b"), (",", ",")] {
            let props: Props = [("fields", text)].into_iter().collect();
            let errors = def.validate(&props).remove(0).errors;
            let expected = match text {
                "a,b" => Vec::new(),
                _ => vec!["Configuration 'fields' values must not be duplicated.".to_owned()],
            };
            assert_eq!(errors, expected, "{text}");
            assert_eq!(def.without_repeats(&props).get("fields"), Some(once));
        }
    }

    #[test]
    fn a_number_that_does_not_parse_gives_two_messages() {
        let values = tasks_max().validate(&[("tasks.max", "abc")].into_iter().collect());
        assert_eq!(
            values.first().unwrap().errors,
            [
                "Invalid value abc for configuration tasks.max: Not a number of type INT",
                "Invalid value null for configuration tasks.max: Value must be non-null",
            ]
        );
    }

    #[test]
    fn a_redefinition_keeps_its_place() {
        let mut def = tasks_max();
        def.define(ConfigKey::new("b", Type::String));
        def.define(ConfigKey::new("tasks.max", Type::Long));
        let keys: Vec<_> = def.keys().map(|key| (key.name.as_str(), key.kind)).collect();
        assert_eq!(keys, [("tasks.max", Type::Long), ("b", Type::String)]);
    }
}
