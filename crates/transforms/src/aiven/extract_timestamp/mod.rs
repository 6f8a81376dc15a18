//! ExtractTimestamp: a field of the key or value becomes the record's timestamp.

use api::Transform;
use config::{Config, ConfigErrors, Props};
use data::{Batch, Cell, Logical, Mask};

use crate::fault::{Fault, java_class};
use crate::found::{find, path};
use crate::part::{Part, chosen, refuse};
use crate::plugin::key_and_value;

config::config_enum! {
    /// What a number counts.
    enum Resolution {
        /// Milliseconds since 1970.
        Milliseconds = "milliseconds",
        /// Seconds since 1970.
        Seconds = "seconds",
    }
}

/// The settings.
#[derive(Clone, Debug, Config)]
struct ExtractTimestampConfig {
    /// The field with the time: INT64 or a timestamp. It must be there and not null.
    #[config(key = "field.name", non_empty, importance = high)]
    field_name: String,
    /// What a number counts since 1970: `milliseconds` or `seconds`.
    #[config(key = "timestamp.resolution", default = "milliseconds", case_insensitive,
        importance = low)]
    timestamp_resolution: Resolution,
}

key_and_value!(
    "io.aiven.kafka.connect.transforms",
    "ExtractTimestamp",
    ExtractTimestampConfig,
    make,
    "Makes a field of the key or value the record's timestamp."
);

struct ExtractTimestamp {
    class: &'static str,
    part: Part,
    path: Vec<String>,
    resolution: Resolution,
}

fn make(
    class: &'static str,
    part: Part,
    props: &Props,
) -> Result<Box<dyn Transform>, ConfigErrors> {
    let config = ExtractTimestampConfig::parse(props)?;
    let (path, resolution) = (path(&config.field_name), config.timestamp_resolution);
    Ok(Box::new(ExtractTimestamp { class, part, path, resolution }))
}

impl ExtractTimestamp {
    fn time(&self, batch: &mut Batch, row: usize) -> Result<i64, Fault> {
        let rows = self.part.rows_mut(batch);
        let (schema, root) = (rows.schema(row).cloned(), rows.root(row));
        let name = self.path.join(".");
        let found = find(rows, schema.as_ref(), root, &self.path);
        let Some((schema, cell)) = found.filter(|(_, cell)| !cell.is_null()) else {
            return Err(Fault::data(format!(
                "{name} field must be present and its value can't be null"
            )));
        };
        match (cell, schema.map(|schema| schema.logical())) {
            (Cell::Instant(ms), _) | (Cell::Int(ms, _), Some(Logical::Timestamp)) => Ok(ms),
            (Cell::Int(value, _), None | Some(Logical::None)) => match self.resolution {
                Resolution::Milliseconds => Ok(value),
                Resolution::Seconds => Ok(value.saturating_mul(1000)),
            },
            _ => Err(Fault::data(format!(
                "{name} field must be INT64 or org.apache.kafka.connect.data.Timestamp: {}",
                java_class(schema.map(|schema| &**schema), cell)
            ))),
        }
    }
}

impl Transform for ExtractTimestamp {
    fn class(&self) -> &'static str {
        self.class
    }

    fn apply(&mut self, batch: &mut Batch, selected: &Mask) {
        for row in chosen(batch, selected) {
            match self.time(batch, row) {
                Ok(ms) => batch.set_timestamp(row, Some(ms)),
                Err(fault) => refuse(self.class, batch, row, fault),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::debezium::testing::{apply, batch, row, row_schema, shown};
    use data::Value;

    const VALUE: &str = "io.aiven.kafka.connect.transforms.ExtractTimestamp$Value";

    #[test]
    fn a_field_becomes_the_timestamp() {
        let number = Value::Map(vec![(Value::Text("t".to_owned()), Value::int(12))]);
        let mut one = batch(&[(None, number.clone())]);
        apply(VALUE, &[("field.name", "t")], &mut one);
        assert_eq!(one.timestamp(0), Some(12));
        let mut two = batch(&[(None, number)]);
        apply(VALUE, &[("field.name", "t"), ("timestamp.resolution", "seconds")], &mut two);
        assert_eq!(two.timestamp(0), Some(12_000));
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for (field, wanted) in [("v", "v field must be INT64"), ("x", "x field must be present")] {
            let mut batch = batch(&[(Some(row_schema()), row(1, "a"))]);
            apply(VALUE, &[("field.name", field)], &mut batch);
            assert!(shown(&batch, 0).starts_with(wanted));
        }
    }
}
