//! Filter: drops the records it is applied to; a predicate says which.

use api::{Transform, TransformPlugin};
use config::ConfigDef;
use data::{Batch, Mask};

use crate::part::chosen;

const CLASS: &str = "org.apache.kafka.connect.transforms.Filter";

pub(crate) static PLUGIN: TransformPlugin = TransformPlugin {
    class: CLASS,
    aliases: &["Filter"],
    version: env!("CARGO_PKG_VERSION"),
    summary: "Drops the records it is applied to. Give it a predicate, or nothing is left.",
    config_def: ConfigDef::new,
    make: |_| Ok(Box::new(Filter)),
};

struct Filter;

impl Transform for Filter {
    fn class(&self) -> &'static str {
        CLASS
    }

    fn apply(&mut self, batch: &mut Batch, selected: &Mask) {
        for row in chosen(batch, selected) {
            batch.alive.kill(row);
        }
    }
}
