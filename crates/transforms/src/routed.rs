//! Topics that come from the records themselves: what the ExtractTopic of Confluent and that of Aiven
//! share.

use data::{Batch, Cell, Mask, Rows, Schema};
use std::fmt::Write;
use std::sync::Arc;

use crate::fault::Fault;
use crate::found::find;
use crate::part::{Part, chosen, refuse};

/// Where a topic's name is looked for.
pub(crate) enum Place {
    Part(Part),
    Header,
}

/// Sends records to the topics they name.
pub(crate) struct TopicFrom {
    pub(crate) class: &'static str,
    pub(crate) place: Place,
    /// For a header, its name alone.
    pub(crate) path: Vec<String>,
    /// Whether records that name none keep their topic.
    pub(crate) skip_missing: bool,
    /// Whether numbers and booleans are names too.
    pub(crate) takes_numbers: bool,
}

impl TopicFrom {
    pub(crate) fn apply(&mut self, batch: &mut Batch, selected: &Mask) {
        let mut topic = String::new();
        for row in chosen(batch, selected) {
            topic.clear();
            match self.topic(batch, row, &mut topic) {
                Ok(true) => batch.set_topic(row, &topic),
                Ok(false) if self.skip_missing => {}
                Ok(false) => refuse(self.class, batch, row, self.missing()),
                Err(fault) => refuse(self.class, batch, row, fault),
            }
        }
    }

    fn missing(&self) -> Fault {
        let what = match (&self.place, self.path.is_empty()) {
            (Place::Header, _) => format!("The header {}", self.path.join(".")),
            (Place::Part(Part::Key), true) => "The key".to_owned(),
            (Place::Part(Part::Value), true) => "The value".to_owned(),
            (Place::Part(_), false) => format!("The field {}", self.path.join(".")),
        };
        Fault::data(format!("{what} can't be null or empty: it names the topic"))
    }

    /// Writes the topic's name; whether there is one.
    fn topic(&self, batch: &mut Batch, row: usize, out: &mut String) -> Result<bool, Fault> {
        let Place::Part(part) = self.place else {
            let Some(header) = self.path.first().and_then(|name| batch.headers.last(row, name))
            else {
                return Ok(false);
            };
            return self.write(&batch.headers.values, header.schema.as_ref(), header.value, out);
        };
        let rows = part.rows_mut(batch);
        let (schema, root) = (rows.schema(row).cloned(), rows.root(row));
        match find(rows, schema.as_ref(), root, &self.path) {
            Some((schema, cell)) => self.write(rows, schema, cell, out),
            None => Ok(false),
        }
    }

    fn write(
        &self,
        rows: &Rows,
        schema: Option<&Arc<Schema>>,
        cell: Cell,
        out: &mut String,
    ) -> Result<bool, Fault> {
        match cell {
            Cell::Text(span) => out.push_str(rows.text(span)),
            Cell::Null => {}
            // Writing to a string cannot fail.
            Cell::Int(value, _) if self.takes_numbers => {
                let _ok = write!(out, "{value}");
            }
            Cell::Bool(value) if self.takes_numbers => {
                out.push_str(if value { "true" } else { "false" });
            }
            other => {
                let class = crate::fault::java_class(schema.map(|schema| &**schema), other);
                return Err(Fault::data(format!(
                    "{} names the topic and must be a text, found: {class}",
                    if self.path.is_empty() { "It" } else { self.path.last().map_or("", |p| p) },
                )));
            }
        }
        Ok(!out.is_empty())
    }
}
