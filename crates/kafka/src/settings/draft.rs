//! The state of a translation: what was given, what comes out, what has to be said.

use std::collections::{BTreeMap, BTreeSet};

use config::suggest::nearest;
use config::{ConfigError, ConfigErrors, Props, invalid, java_trim, looks_secret};

use super::rules::{Action, Rule};
use super::{ClientKind, ClientSettings, Notice, NoticeKind, RuntimeSettings, native, rules};

/// A translation under way.
pub(super) struct Draft {
    pub(super) kind: ClientKind,
    /// The merged layers, trimmed.
    given: BTreeMap<String, String>,
    /// librdkafka's own names that were given; they win over what is translated.
    native: BTreeMap<String, String>,
    pub(super) out: BTreeMap<String, String>,
    pub(super) runtime: RuntimeSettings,
    notices: Vec<Notice>,
    errors: Vec<ConfigError>,
}

impl Draft {
    pub(super) fn new(kind: ClientKind, layers: &[&Props]) -> Draft {
        let mut given = BTreeMap::new();
        for (key, value) in layers.iter().flat_map(|layer| layer.iter()) {
            given.insert(key.to_owned(), java_trim(value).to_owned());
        }
        Draft {
            kind,
            given,
            native: BTreeMap::new(),
            out: BTreeMap::new(),
            runtime: RuntimeSettings::default(),
            notices: Vec::new(),
            errors: Vec::new(),
        }
    }

    /// The value given for a key.
    pub(super) fn given(&self, key: &str) -> Option<&str> {
        self.given.get(key).map(String::as_str)
    }

    /// The same, none if it is empty.
    pub(super) fn filled(&self, key: &str) -> Option<&str> {
        self.given(key).filter(|value| !value.is_empty())
    }

    /// The keys given that start with `prefix`.
    pub(super) fn keys_below(&self, prefix: &str) -> Vec<String> {
        self.given.keys().filter(|key| key.starts_with(prefix)).cloned().collect()
    }

    pub(super) fn set(&mut self, key: &str, value: impl Into<String>) {
        self.out.insert(key.to_owned(), value.into());
    }

    /// The value of a librdkafka setting so far; its own name wins.
    pub(super) fn value(&self, key: &str) -> Option<&str> {
        self.native.get(key).or_else(|| self.out.get(key)).map(String::as_str)
    }

    pub(super) fn number(&self, key: &str) -> Option<i64> {
        self.value(key)?.parse().ok()
    }

    pub(super) fn notice(&mut self, kind: NoticeKind, key: &str, message: impl Into<String>) {
        self.notices.push(Notice { key: key.to_owned(), message: message.into(), kind });
    }

    pub(super) fn fail(&mut self, key: &str, message: impl Into<String>) {
        self.errors.push(ConfigError::new(key, message));
    }

    /// A value that is not accepted; `accepted` says what is.
    pub(super) fn reject(&mut self, key: &str, value: &str, accepted: &str) {
        let shown = if looks_secret(key) { config::HIDDEN } else { value };
        self.fail(key, invalid(key, &shown, accepted));
    }

    /// Treats every given key by its rule.
    pub(super) fn apply_rules(&mut self) {
        for (key, value) in self.given.clone() {
            match rules::find(&key) {
                Some(rule) if rule.is_for(self.kind) => self.apply(rule, &value),
                Some(rule) => {
                    let owners = rule.owners();
                    let text = format!("is a setting of {owners}; a {} has none", self.kind.name());
                    self.notice(NoticeKind::NoEffect, &key, text);
                }
                None => self.apply_unruled(&key, &value),
            }
        }
    }

    fn apply_unruled(&mut self, key: &str, value: &str) {
        match native::find(key) {
            Some(native::Native::Passed) => {
                self.native.insert(key.to_owned(), value.to_owned());
            }
            Some(native::Native::Refused(reason)) => self.fail(key, reason),
            None if rules::SILENT_PREFIXES.iter().any(|prefix| key.starts_with(prefix)) => {
                let text = "has no effect here: it configures metrics of the JVM";
                self.notice(NoticeKind::NoEffect, key, text);
            }
            None => {
                let names: BTreeSet<&str> =
                    rules::names(self.kind).chain(native::names()).collect();
                let text = match nearest(key, names.into_iter()) {
                    Some(near) => format!("is not a known client setting; did you mean {near}?"),
                    None => "is not a known client setting".to_owned(),
                };
                self.notice(NoticeKind::Unknown, key, text);
            }
        }
    }

    fn apply(&mut self, rule: &'static Rule, value: &str) {
        let key = rule.key;
        match &rule.action {
            Action::Text(to) => self.set(to, value),
            Action::Bool(to) => {
                if let Some(value) = self.boolean(key, value) {
                    self.set(to, value.to_string());
                }
            }
            Action::Choice(to, choices) => {
                let found = choices.iter().find(|(java, _)| java.eq_ignore_ascii_case(value));
                match found {
                    Some((_, own)) => self.set(to, *own),
                    None => {
                        let names: Vec<&str> = choices.iter().map(|(java, _)| *java).collect();
                        let text = format!("String must be one of: {}", names.join(", "));
                        self.reject(key, value, &text);
                    }
                }
            }
            Action::Number { to, java, own } => {
                if let Some(number) = self.whole(key, value, *java) {
                    let possible = self.clamp(key, number, *own);
                    self.set(to, possible.to_string());
                }
            }
            Action::Special(function) => function(self, key, value),
            Action::Later => {}
            Action::NoEffect(reason) => {
                self.notice(NoticeKind::NoEffect, key, format!("has no effect here: {reason}"));
            }
            Action::Refused(reason) => self.fail(key, *reason),
        }
    }

    pub(super) fn boolean(&mut self, key: &str, value: &str) -> Option<bool> {
        match value.to_ascii_lowercase().as_str() {
            "true" => Some(true),
            "false" => Some(false),
            _ => {
                self.reject(key, value, "Expected value to be either true or false");
                None
            }
        }
    }

    /// A whole number within Java's bounds.
    pub(super) fn whole(&mut self, key: &str, value: &str, bounds: (i64, i64)) -> Option<i64> {
        let (least, most) = bounds;
        let text = match value.parse::<i64>() {
            Err(_) => {
                let kind = if most > i64::from(i32::MAX) { "LONG" } else { "INT" };
                format!("Not a number of type {kind}; a whole number from {least} is accepted")
            }
            Ok(number) if number < least => format!("Value must be at least {least}"),
            Ok(number) if number > most => format!("Value must be no more than {most}"),
            Ok(number) => return Some(number),
        };
        self.reject(key, value, &text);
        None
    }

    /// The nearest number that librdkafka takes, with a notice if it is another one.
    pub(super) fn clamp(&mut self, key: &str, number: i64, own: (i64, i64)) -> i64 {
        let possible = number.clamp(own.0, own.1);
        if possible != number {
            let limit = if possible < number { "most" } else { "least" };
            let text = format!("{number} becomes {possible}, the {limit} that librdkafka takes");
            self.notice(NoticeKind::Adjusted, key, text);
        }
        possible
    }

    pub(super) fn finish(mut self) -> Result<ClientSettings, ConfigErrors> {
        if !self.errors.is_empty() {
            return Err(ConfigErrors { errors: self.errors });
        }
        self.out.append(&mut self.native);
        Ok(ClientSettings { librdkafka: self.out, runtime: self.runtime, notices: self.notices })
    }
}
