//! PatternRename: gives fields other names by a pattern.

use api::Transform;
use config::{Config, ConfigErrors, JavaRegex, JavaReplacement, Props};
use data::{Batch, Mask};

use super::renamed::Renamer;
use crate::fault::Fault;
use crate::part::Part;
use crate::plugin::key_and_value;

/// The settings.
#[derive(Clone, Debug, Config)]
struct PatternRenameConfig {
    /// Every part of a field's name that matches is replaced.
    #[config(key = "field.name.pattern", regex, importance = high)]
    field_name_pattern: String,
    /// How the pattern is read: a list of `CASE_INSENSITIVE`, `MULTILINE`, `DOTALL`, `COMMENTS`,
    /// `UNICODE_CASE` and `UNIX_LINES`; the default ignores case.
    #[config(key = "field.name.pattern.flags", default = "CASE_INSENSITIVE", importance = low,
        one_of("CASE_INSENSITIVE", "MULTILINE", "DOTALL", "COMMENTS", "UNICODE_CASE", "UNIX_LINES"))]
    field_name_pattern_flags: Vec<String>,
    /// What takes its place, with the pattern's groups as `$1` or `${name}`.
    #[config(key = "field.name.replacement", importance = high)]
    field_name_replacement: String,
}

key_and_value!(
    "com.github.jcustenborder.kafka.connect.transform.common",
    "PatternRename",
    PatternRenameConfig,
    PatternRename::make,
    "Gives the outermost fields other names by a pattern."
);

struct PatternRename {
    renamer: Renamer,
    regex: JavaRegex,
    replacement: JavaReplacement,
}

impl PatternRename {
    fn make(
        class: &'static str,
        part: Part,
        props: &Props,
    ) -> Result<Box<dyn Transform>, ConfigErrors> {
        let config = PatternRenameConfig::parse(props)?;
        let flags = config.field_name_pattern_flags.iter().map(|flag| match flag.as_str() {
            "CASE_INSENSITIVE" => "(?i)",
            "MULTILINE" => "(?m)",
            "DOTALL" => "(?s)",
            "COMMENTS" => "(?x)",
            "UNICODE_CASE" => "(?u)",
            "UNIX_LINES" => "(?d)",
            _ => "",
        });
        let pattern: String = flags.chain([config.field_name_pattern.as_str()]).collect();
        let regex = JavaRegex::new(&pattern)
            .map_err(|error| ConfigErrors::one("field.name.pattern", error))?;
        let replacement = JavaReplacement::new(&config.field_name_replacement);
        Ok(Box::new(PatternRename { renamer: Renamer::new(class, part), regex, replacement }))
    }
}

impl Transform for PatternRename {
    fn class(&self) -> &'static str {
        self.renamer.class
    }

    fn apply(&mut self, batch: &mut Batch, selected: &Mask) {
        let PatternRename { renamer, regex, replacement } = self;
        renamer.apply(batch, selected, |name| {
            regex.replace_all(name, replacement).map_err(|fault| Fault {
                exception: fault.java_class(),
                message: fault.to_string().into(),
            })
        });
    }
}

#[cfg(test)]
mod tests {
    use crate::debezium::testing::{apply, batch, row, row_schema, shown};

    const VALUE: &str =
        "com.github.jcustenborder.kafka.connect.transform.common.PatternRename$Value";

    #[test]
    fn names_are_replaced_by_the_pattern() {
        let renamed = |flags: &str| {
            let mut batch = batch(&[(Some(row_schema()), row(1, "a"))]);
            let config = [
                ("field.name.pattern", "^(I)"),
                ("field.name.replacement", "key_$1"),
                ("field.name.pattern.flags", flags),
            ];
            apply(VALUE, &config, &mut batch);
            shown(&batch, 0)
        };
        assert_eq!(renamed("CASE_INSENSITIVE"), r#"{"key_id":1,"v":"a"}"#);
        assert_eq!(renamed("MULTILINE"), r#"{"id":1,"v":"a"}"#);
    }

    #[test]
    fn names_that_become_one_are_refused() {
        let mut batch = batch(&[(Some(row_schema()), row(1, "a"))]);
        let config = [("field.name.pattern", ".+"), ("field.name.replacement", "x")];
        apply(VALUE, &config, &mut batch);
        assert!(shown(&batch, 0).contains("field name duplication x"));
    }
}
