//! InsertHeader: appends a header with a fixed value to every record.
//!
//! The value is read once from its text: numbers, dates, lists and the like become what they look like,
//! everything else is text. Headers of that name that a record has stay.

use api::{Transform, TransformPlugin};
use config::{Config, Props, Validator};
use data::{Batch, Header, Mask, Schema, Value, values};
use std::sync::Arc;

use crate::part::chosen;

#[cfg(test)]
mod tests;

const CLASS: &str = "org.apache.kafka.connect.transforms.InsertHeader";

/// The settings.
#[derive(Clone, Debug, Config)]
struct InsertHeaderConfig {
    /// Name of the header.
    #[config(importance = high, validator = Validator::NonNull)]
    header: String,
    /// Value of the header, as text: a number, true or false, null, a date or time in ISO 8601, a list
    /// in brackets, a map in braces; anything else is text.
    #[config(importance = high, validator = Validator::NonNull)]
    value_literal: String,
}

pub(crate) static PLUGIN: TransformPlugin = TransformPlugin {
    class: CLASS,
    aliases: &["InsertHeader"],
    version: env!("CARGO_PKG_VERSION"),
    summary: "Appends a header with a fixed value to every record.",
    config_def: InsertHeaderConfig::def,
    make: |props: &Props| {
        let config = InsertHeaderConfig::parse(props)?;
        let (schema, value) =
            values::parse_string(&config.value_literal).unwrap_or((None, Value::Null));
        Ok(Box::new(InsertHeader { name: config.header.as_str().into(), schema, value }))
    },
};

struct InsertHeader {
    name: Arc<str>,
    schema: Option<Arc<Schema>>,
    value: Value,
}

impl Transform for InsertHeader {
    fn class(&self) -> &'static str {
        CLASS
    }

    fn apply(&mut self, batch: &mut Batch, selected: &Mask) {
        // One value for the whole batch: cells may be shared.
        let value = batch.headers.values.put_value(self.schema.as_deref(), &self.value);
        let (name, schema) = (self.name.clone(), self.schema.clone());
        let rows = chosen(batch, selected);
        batch.headers.push_all(rows, &Header { name, schema, value });
    }

    fn uses_headers(&self) -> bool {
        true
    }
}
