//! What user interfaces render of a key and nobody wrote out: label, width, values to offer, place.
//!
//! For definitions of our own. Those of Kafka Connect stay as they are there, gaps included.

use crate::def::{ConfigDef, Width};
use crate::value::Type;

impl ConfigDef {
    /// The same keys with nothing left empty; those without a group are put into `group`.
    #[must_use]
    pub fn completed(mut self, group: &str) -> ConfigDef {
        let names: Vec<String> = self.keys().map(|key| key.name.clone()).collect();
        let mut last = self.keys().filter(|key| key.group.as_deref() == Some(group)).count() as i32;
        for name in names {
            let Some(key) = self.get_mut(&name) else { continue };
            if key.group.is_none() {
                last += 1;
                key.group = Some(group.to_owned());
                key.order = last;
            }
            if key.display_name == key.name {
                key.display_name = label(&key.name);
            }
            if key.recommended.is_empty() {
                let choices = key.validator.as_ref().map(|validator| validator.choices());
                key.recommended = match key.kind {
                    Type::Boolean => vec!["true".to_owned(), "false".to_owned()],
                    _ => choices.unwrap_or_default().iter().map(ToString::to_string).collect(),
                };
            }
            if key.width == Width::None {
                key.width = match key.kind {
                    _ if !key.recommended.is_empty() => Width::Short,
                    Type::Int | Type::Long | Type::Short | Type::Double | Type::Boolean => {
                        Width::Short
                    }
                    Type::List | Type::Class => Width::Long,
                    _ => Width::Medium,
                };
            }
        }
        self
    }
}

/// `connection.user` as `Connection user`.
fn label(name: &str) -> String {
    let words = name.replace(['.', '_', '-'], " ");
    let mut chars = words.chars();
    let first = chars.next().map(|c| c.to_ascii_uppercase());
    first.into_iter().chain(chars).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::def::ConfigKey;
    use crate::validator::Validator;

    #[test]
    fn gaps_are_filled_and_what_is_said_stays() {
        let mut def = ConfigDef::new();
        let mut said = ConfigKey::new("said", Type::String);
        said.group = Some("G".to_owned());
        (said.order, said.width) = (1, Width::Long);
        said.display_name = "What is said".to_owned();
        let mut choice = ConfigKey::new("insert.mode", Type::String);
        choice.validator = Some(Validator::OneOf(vec!["a".to_owned(), "b".to_owned()]));
        def.define(said.clone()).define(choice).define(ConfigKey::new("on", Type::Boolean));
        let def = def.completed("G");
        let facts = |name: &str| {
            let key = def.get(name).unwrap();
            let recommended = key.recommended.join(",");
            (key.order, key.width, key.display_name.clone(), recommended)
        };
        assert_eq!(facts("said"), (1, Width::Long, said.display_name, String::new()));
        let short = Width::Short;
        assert_eq!(facts("insert.mode"), (2, short, "Insert mode".into(), "a,b".into()));
        assert_eq!(facts("on"), (3, short, "On".into(), "true,false".into()));
        assert!(def.keys().all(|key| key.group.as_deref() == Some("G")));
    }
}
