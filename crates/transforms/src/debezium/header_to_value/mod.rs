//! HeaderToValue: copies or moves headers into fields of the value.
//!
//! A field `a.b` is put into the struct `a`, which is made if it is not there. Where that struct is
//! null nothing is put, and its schema stays: Debezium would say that it may not be null any more.

mod plan;
#[cfg(test)]
mod tests;

use ::config::{Config, ConfigError, ConfigErrors, Props};
use api::{Transform, TransformPlugin};
use data::{Batch, Cell, Mask, Roots, Rows, Schema};
use std::sync::Arc;

use self::plan::{Plan, Target};
use crate::fault::Fault;
use crate::part::{Part, Row, rewrite};

const CLASS: &str = "io.debezium.transforms.HeaderToValue";

/// Plans kept.
const PLANS_MAX: usize = 64;

pub(crate) static PLUGIN: TransformPlugin = TransformPlugin {
    class: CLASS,
    aliases: &["HeaderToValue"],
    version: env!("CARGO_PKG_VERSION"),
    summary: "Copies or moves headers into fields of the value, nested ones too.",
    config_def: HeaderToValueConfig::def,
    make: |props| Ok(Box::new(HeaderToValue::new(props)?)),
};

::config::config_enum! {
    /// What becomes of the headers.
    enum Operation {
        /// They go.
        Move = "move",
        /// They stay.
        Copy = "copy",
    }
}

/// The settings.
#[derive(Clone, Debug, Config)]
#[config(importance = high, check = complete)]
struct HeaderToValueConfig {
    /// The headers, as a list. Of several with one name the last counts.
    #[config(non_empty, repeats)]
    headers: Vec<String>,
    /// The fields they become, in the same order; `a.b` is the field `b` of the struct `a`.
    #[config(non_empty, repeats)]
    fields: Vec<String>,
    /// Whether headers `move` or are left where they are (`copy`).
    #[config(case_insensitive)]
    operation: Operation,
}

fn complete(config: &HeaderToValueConfig) -> Vec<ConfigError> {
    let mut errors = Vec::new();
    if config.headers.len() != config.fields.len() {
        let text = "'fields' config must have the same number of elements as 'headers' config.";
        errors.push(ConfigError::new("fields", text));
    }
    for field in &config.fields {
        if field.split('.').count() > 2 || field.split('.').any(str::is_empty) {
            let text = format!("{field:?} is no field's name and no struct.field");
            errors.push(ConfigError::new("fields", text));
        }
    }
    errors
}

/// A plan, and what it holds for.
struct Known {
    value: Arc<Schema>,
    headers: Vec<Option<Arc<Schema>>>,
    plan: Arc<Plan>,
}

struct HeaderToValue {
    /// Headers and where they go, each header once.
    pairs: Vec<(String, Target)>,
    operation: Operation,
    known: Vec<Known>,
}

impl HeaderToValue {
    fn new(props: &Props) -> Result<HeaderToValue, ConfigErrors> {
        let config = HeaderToValueConfig::parse(props)?;
        let mut pairs: Vec<(String, Target)> = Vec::new();
        for (header, field) in config.headers.into_iter().zip(&config.fields) {
            if pairs.iter().all(|(known, _)| *known != header) {
                pairs.push((header, Target::parse(field)));
            }
        }
        Ok(HeaderToValue { pairs, operation: config.operation, known: Vec::new() })
    }

    fn plan(
        &mut self,
        value: &Arc<Schema>,
        headers: Vec<Option<Arc<Schema>>>,
    ) -> Result<Arc<Plan>, Fault> {
        let same = |known: &&Known| known.value == *value && known.headers == headers;
        if let Some(known) = self.known.iter().find(same) {
            return Ok(known.plan.clone());
        }
        let targets = self.pairs.iter().map(|(_, target)| target);
        let plan = Arc::new(Plan::new(value, targets.zip(&headers))?);
        self.known.truncate(PLANS_MAX - 1);
        self.known.insert(0, Known { value: value.clone(), headers, plan: plan.clone() });
        Ok(plan)
    }

    fn record(
        &mut self,
        rows: &mut Rows,
        batch: &mut Batch,
        row: Row<'_>,
        roots: &mut Roots,
    ) -> Result<(), Fault> {
        let (Some(schema), Cell::Struct(span)) = (row.schema, row.cell) else {
            let schema = row.schema.map(|schema| &**schema);
            return Err(Fault::not_a_struct("Header field insertion", schema, row.cell));
        };
        let mut schemas = Vec::with_capacity(self.pairs.len());
        let mut cells = Vec::with_capacity(self.pairs.len());
        for (name, target) in &self.pairs {
            let header = batch.headers.last(row.number, name);
            let header = header.filter(|_| !target.is_closed(schema, rows.cells(span)));
            let Some(header) = header else {
                schemas.push(None);
                continue;
            };
            let Some(own) = &header.schema else {
                return Err(Fault::builder(format!(
                    "fieldSchema for field {} cannot be null.",
                    target.field
                )));
            };
            schemas.push(Some(own.clone()));
            cells.push(rows.adopt(&batch.headers.values, header.value));
        }
        if cells.is_empty() {
            roots.push(row.schema, row.cell);
            return Ok(());
        }
        let plan = self.plan(schema, schemas)?;
        let cell = plan.apply(rows, span, &cells);
        if self.operation == Operation::Move {
            let pairs = &self.pairs;
            let moved = |name: &str| pairs.iter().any(|(known, _)| known == name);
            batch.headers.retain(row.number, |header| !moved(&header.name));
        }
        roots.push(Some(&plan.schema), cell);
        Ok(())
    }
}

impl Transform for HeaderToValue {
    fn class(&self) -> &'static str {
        CLASS
    }

    fn apply(&mut self, batch: &mut Batch, selected: &Mask) {
        rewrite(CLASS, Part::Value, batch, selected, |rows, batch, row, roots| {
            if row.cell.is_null() {
                roots.push(row.schema, row.cell);
                return Ok(());
            }
            self.record(rows, batch, row, roots)
        });
    }

    fn uses_headers(&self) -> bool {
        true
    }
}
