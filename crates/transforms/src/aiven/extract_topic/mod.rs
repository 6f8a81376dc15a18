//! Aiven's ExtractTopic: the key or value, or a field of it, names the topic.

use api::Transform;
use config::{Config, ConfigErrors, Props};
use data::{Batch, Mask};

use crate::found::path;
use crate::part::Part;
use crate::plugin::key_and_value;
use crate::routed::{Place, TopicFrom};

/// The settings.
#[derive(Clone, Debug, Config)]
struct ExtractTopicConfig {
    /// The field that holds the topic's name, or a path `a.b`; not set: the whole key or value is the
    /// name. Text, integers and booleans are names.
    #[config(key = "field.name", importance = medium)]
    field_name: Option<String>,
    /// Whether records without a name keep their topic; else they are refused.
    #[config(key = "skip.missing.or.null", default = false, importance = low)]
    skip_missing_or_null: bool,
}

key_and_value!(
    "io.aiven.kafka.connect.transforms",
    "ExtractTopic",
    ExtractTopicConfig,
    make,
    "Sends records to the topic that the key or value, or a field of it, names (Aiven's settings).",
    no_alias
);

struct ExtractTopic(TopicFrom);

fn make(
    class: &'static str,
    part: Part,
    props: &Props,
) -> Result<Box<dyn Transform>, ConfigErrors> {
    let config = ExtractTopicConfig::parse(props)?;
    Ok(Box::new(ExtractTopic(TopicFrom {
        class,
        place: Place::Part(part),
        path: path(config.field_name.as_deref().unwrap_or_default()),
        skip_missing: config.skip_missing_or_null,
        takes_numbers: true,
    })))
}

impl Transform for ExtractTopic {
    fn class(&self) -> &'static str {
        self.0.class
    }

    fn apply(&mut self, batch: &mut Batch, selected: &Mask) {
        self.0.apply(batch, selected);
    }
}

#[cfg(test)]
mod tests {
    use crate::debezium::testing::{apply, batch, row, row_schema, shown};
    use data::Value;

    const VALUE: &str = "io.aiven.kafka.connect.transforms.ExtractTopic$Value";

    #[test]
    fn numbers_are_names_too() {
        let mut one = batch(&[(Some(row_schema()), row(7, "a")), (None, Value::Null)]);
        apply(VALUE, &[("field.name", "id"), ("skip.missing.or.null", "true")], &mut one);
        assert_eq!([0, 1].map(|row| one.topic(row).to_string()), ["7", "s.t"]);
        let mut two = batch(&[(None, Value::Float(1.5))]);
        apply(VALUE, &[], &mut two);
        assert!(shown(&two, 0).contains("found: java.lang.Double"));
    }
}
