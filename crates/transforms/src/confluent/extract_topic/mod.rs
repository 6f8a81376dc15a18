//! ExtractTopic: a field of the key or value, or a header, names the topic.

use api::{Transform, TransformPlugin};
use config::{Config, ConfigErrors, Props};
use data::{Batch, Mask};

use crate::found::path;
use crate::part::Part;
use crate::plugin::key_and_value;
use crate::routed::{Place, TopicFrom};

config::config_enum! {
    /// How `field` is written.
    enum FieldFormat {
        /// A name.
        Plain = "PLAIN",
        /// `$.a.b` or `$["a"]["b"]`.
        JsonPath = "JSON_PATH",
    }
}

/// The settings.
#[derive(Clone, Debug, Config)]
struct ExtractTopicConfig {
    /// The field that holds the topic's name; empty: the whole key or value is the name. Of the
    /// `$Header` form: the header, the last one of that name.
    #[config(default = "", importance = medium)]
    field: String,
    /// How `field` is written: `PLAIN`, a name, or `JSON_PATH`, such as `$.a.b` or `$["a"]["b"]`.
    #[config(key = "field.format", default = "PLAIN", case_insensitive, importance = medium)]
    field_format: FieldFormat,
    /// Whether records without a name keep their topic; else they are refused.
    #[config(key = "skip.missing.or.null", default = false, importance = low)]
    skip_missing_or_null: bool,
}

key_and_value!(
    "io.confluent.connect.transforms",
    "ExtractTopic",
    ExtractTopicConfig,
    make,
    "Sends records to the topic that a field of the key or value names."
);

const HEADER_CLASS: &str = "io.confluent.connect.transforms.ExtractTopic$Header";

pub(crate) static HEADER: TransformPlugin = TransformPlugin {
    class: HEADER_CLASS,
    aliases: &["ExtractTopic$Header"],
    version: env!("CARGO_PKG_VERSION"),
    summary: "Sends records to the topic that a header names.",
    config_def: ExtractTopicConfig::def,
    make: |props| {
        let config = ExtractTopicConfig::parse(props)?;
        if config.field.is_empty() {
            return Err(ConfigErrors::one("field", "must name the header that names the topic"));
        }
        let (class, place, path) = (HEADER_CLASS, Place::Header, vec![config.field]);
        let skip_missing = config.skip_missing_or_null;
        let from = TopicFrom { class, place, path, skip_missing, takes_numbers: false };
        Ok(Box::new(ExtractTopic(from)))
    },
};

struct ExtractTopic(TopicFrom);

fn make(
    class: &'static str,
    part: Part,
    props: &Props,
) -> Result<Box<dyn Transform>, ConfigErrors> {
    let config = ExtractTopicConfig::parse(props)?;
    let path = match config.field_format {
        FieldFormat::Plain if config.field.is_empty() => Vec::new(),
        FieldFormat::Plain => vec![config.field],
        FieldFormat::JsonPath => json_path(&config.field).ok_or_else(|| {
            let text =
                format!("{:?} is no path of the form $.a.b or $[\"a\"][\"b\"]", config.field);
            ConfigErrors::one("field", text)
        })?,
    };
    let (place, skip_missing) = (Place::Part(part), config.skip_missing_or_null);
    let from = TopicFrom { class, place, path, skip_missing, takes_numbers: false };
    Ok(Box::new(ExtractTopic(from)))
}

/// The names of a JSON path that has nothing but names.
fn json_path(text: &str) -> Option<Vec<String>> {
    let rest = text.trim().strip_prefix('$')?;
    let mut plain = String::new();
    for part in rest.replace("['", ".").replace("[\"", ".").split('.') {
        let name = part.trim_end_matches("']").trim_end_matches("\"]");
        if name.contains(['[', ']', '*', '?', '(', '@']) {
            return None;
        }
        plain.push('.');
        plain.push_str(name);
    }
    Some(path(&plain)).filter(|path| !path.is_empty())
}

impl Transform for ExtractTopic {
    fn class(&self) -> &'static str {
        self.0.class
    }

    fn apply(&mut self, batch: &mut Batch, selected: &Mask) {
        self.0.apply(batch, selected);
    }

    fn uses_headers(&self) -> bool {
        matches!(self.0.place, Place::Header)
    }
}

#[cfg(test)]
mod tests {
    use super::{HEADER_CLASS, json_path};
    use crate::debezium::testing::{apply, batch, row, row_schema, shown};
    use data::{Cell, Header, Value};

    const VALUE: &str = "io.confluent.connect.transforms.ExtractTopic$Value";

    #[test]
    fn a_field_or_the_whole_value_names_the_topic() {
        let mut one = batch(&[(Some(row_schema()), row(1, "here"))]);
        apply(VALUE, &[("field", "v")], &mut one);
        assert_eq!(&**one.topic(0), "here");
        let mut two = batch(&[(None, Value::Text("there".to_owned()))]);
        apply(VALUE, &[], &mut two);
        assert_eq!(&**two.topic(0), "there");
        let mut three = batch(&[(Some(row_schema()), row(1, "x"))]);
        apply(VALUE, &[("field", "id")], &mut three);
        assert!(shown(&three, 0).contains("must be a text, found: java.lang.Integer"));
    }

    #[test]
    fn records_without_a_name_are_refused_or_stay() {
        for (skip, wanted) in [("false", "The field nope can't be null"), ("true", "{\"id\":1")] {
            let mut batch = batch(&[(Some(row_schema()), row(1, ""))]);
            apply(VALUE, &[("field", "nope"), ("skip.missing.or.null", skip)], &mut batch);
            assert!(shown(&batch, 0).starts_with(wanted), "{}", shown(&batch, 0));
            assert_eq!(&**batch.topic(0), "s.t");
        }
    }

    #[test]
    fn a_header_names_the_topic() {
        let mut batch = batch(&[(None, Value::Null)]);
        let value = Cell::Text(batch.headers.values.heap.put(b"from header"));
        batch.headers.push(0, Header { name: "h".into(), schema: None, value });
        apply(HEADER_CLASS, &[("field", "h")], &mut batch);
        assert_eq!(&**batch.topic(0), "from header");
    }

    #[test]
    fn json_paths_of_names_are_read() {
        let names = Some(vec!["a".to_owned(), "b".to_owned()]);
        assert_eq!(json_path("$.a.b"), names);
        assert_eq!(json_path("$[\"a\"]['b']"), names);
        for bad in ["a.b", "$", "$.a[0]", "$..*"] {
            assert_eq!(json_path(bad), None, "{bad}");
        }
    }
}
