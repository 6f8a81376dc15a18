//! RecordIsTombstone: the records whose value is null, with or without a schema.

use api::{Predicate, PredicatePlugin};
use config::ConfigDef;
use data::{Batch, Mask};

const CLASS: &str = "org.apache.kafka.connect.transforms.predicates.RecordIsTombstone";

pub(crate) static PLUGIN: PredicatePlugin = PredicatePlugin {
    class: CLASS,
    aliases: &["RecordIsTombstone"],
    version: env!("CARGO_PKG_VERSION"),
    summary: "Matches records whose value is null.",
    config_def: ConfigDef::new,
    make: |_| Ok(Box::new(RecordIsTombstone)),
};

struct RecordIsTombstone;

impl Predicate for RecordIsTombstone {
    fn class(&self) -> &'static str {
        CLASS
    }

    fn select(&mut self, batch: &Batch, mask: &mut Mask) {
        for row in 0..batch.len() {
            if !batch.values.root(row).is_null() {
                mask.kill(row);
            }
        }
    }
}
