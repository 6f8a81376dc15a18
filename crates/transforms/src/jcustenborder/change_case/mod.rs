//! ChangeCase: writes the names of fields in another case, `first_name` as `firstName`.

use api::Transform;
use config::{Config, ConfigErrors, Props};
use data::{Batch, Mask};

use super::renamed::Renamer;
use crate::part::Part;
use crate::plugin::key_and_value;

config::config_enum! {
    /// How the words of a name are written.
    enum Case {
        /// `first-name`.
        LowerHyphen = "LOWER_HYPHEN",
        /// `first_name`.
        LowerUnderscore = "LOWER_UNDERSCORE",
        /// `firstName`.
        LowerCamel = "LOWER_CAMEL",
        /// `FirstName`.
        UpperCamel = "UPPER_CAMEL",
        /// `FIRST_NAME`.
        UpperUnderscore = "UPPER_UNDERSCORE",
    }
}

/// The settings.
#[derive(Clone, Debug, Config)]
#[config(importance = high)]
struct ChangeCaseConfig {
    /// How the names are written: `LOWER_HYPHEN`, `LOWER_UNDERSCORE`, `LOWER_CAMEL`, `UPPER_CAMEL` or
    /// `UPPER_UNDERSCORE`.
    from: Case,
    /// How they are to be written.
    to: Case,
}

key_and_value!(
    "com.github.jcustenborder.kafka.connect.transform.common",
    "ChangeCase",
    ChangeCaseConfig,
    ChangeCase::make,
    "Writes the names of the outermost fields in another case."
);

struct ChangeCase {
    renamer: Renamer,
    from: Case,
    to: Case,
}

impl ChangeCase {
    fn make(
        class: &'static str,
        part: Part,
        props: &Props,
    ) -> Result<Box<dyn Transform>, ConfigErrors> {
        let ChangeCaseConfig { from, to } = ChangeCaseConfig::parse(props)?;
        Ok(Box::new(ChangeCase { renamer: Renamer::new(class, part), from, to }))
    }
}

impl Transform for ChangeCase {
    fn class(&self) -> &'static str {
        self.renamer.class
    }

    fn apply(&mut self, batch: &mut Batch, selected: &Mask) {
        let (from, to) = (self.from, self.to);
        self.renamer.apply(batch, selected, |name| Ok(changed(name, from, to)));
    }
}

/// What stands between words; camels have nothing.
fn separator(case: Case) -> Option<char> {
    match case {
        Case::LowerHyphen => Some('-'),
        Case::LowerUnderscore | Case::UpperUnderscore => Some('_'),
        Case::LowerCamel | Case::UpperCamel => None,
    }
}

/// The name in another case. Only ASCII letters have a case, as in the original.
fn changed(name: &str, from: Case, to: Case) -> String {
    if from == to {
        return name.to_owned();
    }
    let mut out = String::with_capacity(name.len() + 4);
    for (place, word) in words(name, from).into_iter().enumerate() {
        if place > 0 {
            out.extend(separator(to));
        }
        let first_is_upper = match to {
            Case::UpperUnderscore => {
                out.push_str(&word.to_ascii_uppercase());
                continue;
            }
            Case::UpperCamel => true,
            Case::LowerCamel => place > 0,
            Case::LowerHyphen | Case::LowerUnderscore => false,
        };
        let mut letters = word.chars();
        if let Some(first) = letters.next() {
            out.push(if first_is_upper {
                first.to_ascii_uppercase()
            } else {
                first.to_ascii_lowercase()
            });
        }
        out.extend(letters.map(|letter| letter.to_ascii_lowercase()));
    }
    out
}

/// The words of a name. Separators at its ends make empty words, so that they are kept.
fn words(name: &str, case: Case) -> Vec<&str> {
    if let Some(separator) = separator(case) {
        return name.split(separator).collect();
    }
    let mut words = Vec::new();
    let mut start = 0;
    for (place, _) in name.match_indices(|letter: char| letter.is_ascii_uppercase()) {
        if place > start || start > 0 {
            words.extend(name.get(start..place));
        }
        start = place;
    }
    words.extend(name.get(start..));
    words
}

#[cfg(test)]
mod tests {
    use super::{Case, changed};
    use crate::debezium::testing::{apply, batch, row, row_schema, shown};
    use data::Value;

    const VALUE: &str = "com.github.jcustenborder.kafka.connect.transform.common.ChangeCase$Value";

    #[test]
    fn words_are_written_in_every_case() {
        use Case::{LowerCamel, LowerHyphen, LowerUnderscore, UpperCamel, UpperUnderscore};
        for (from, name, to, wanted) in [
            (LowerUnderscore, "first_name", LowerCamel, "firstName"),
            (LowerUnderscore, "first_name", UpperCamel, "FirstName"),
            (LowerUnderscore, "first_name", UpperUnderscore, "FIRST_NAME"),
            (LowerUnderscore, "first_name", LowerHyphen, "first-name"),
            (UpperUnderscore, "FIRST_NAME", LowerCamel, "firstName"),
            (LowerCamel, "firstName", LowerUnderscore, "first_name"),
            (UpperCamel, "FirstName", LowerUnderscore, "first_name"),
            (UpperCamel, "FirstName", LowerCamel, "firstName"),
            (LowerHyphen, "first-name", UpperUnderscore, "FIRST_NAME"),
            (LowerUnderscore, "_id", LowerHyphen, "-id"),
            (LowerCamel, "aBC", LowerUnderscore, "a_b_c"),
            (LowerCamel, "id", UpperUnderscore, "ID"),
            (LowerCamel, "", UpperUnderscore, ""),
            (LowerCamel, "x\u{e9}Y", LowerUnderscore, "x\u{e9}_y"),
        ] {
            assert_eq!(changed(name, from, to), wanted, "{name} to {to}");
        }
    }

    #[test]
    fn fields_and_members_get_their_new_names() {
        let member = (Value::Text("first_name".to_owned()), Value::int(1));
        let mut batch = batch(&[
            (Some(row_schema()), row(1, "a")),
            (None, Value::Map(vec![member])),
            (None, Value::Text("stays".to_owned())),
        ]);
        apply(VALUE, &[("from", "LOWER_UNDERSCORE"), ("to", "UPPER_CAMEL")], &mut batch);
        let seen = [0, 1, 2].map(|row| shown(&batch, row));
        assert_eq!(seen, [r#"{"Id":1,"V":"a"}"#, r#"{"FirstName":1}"#, r#""stays""#]);
        assert!(batch.values.schema(0).unwrap().is_optional());
    }
}
