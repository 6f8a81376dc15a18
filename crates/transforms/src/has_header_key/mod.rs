//! HasHeaderKey: the records that have a header of a name, whatever its value.

use api::{Predicate, PredicatePlugin};
use config::{Config, Props};
use data::{Batch, Mask};

const CLASS: &str = "org.apache.kafka.connect.transforms.predicates.HasHeaderKey";

/// The settings.
#[derive(Clone, Debug, Config)]
struct HasHeaderKeyConfig {
    /// Name of the header.
    #[config(non_empty, importance = medium)]
    name: String,
}

pub(crate) static PLUGIN: PredicatePlugin = PredicatePlugin {
    class: CLASS,
    aliases: &["HasHeaderKey"],
    version: env!("CARGO_PKG_VERSION"),
    summary: "Matches records that have a header of this name.",
    config_def: HasHeaderKeyConfig::def,
    make: |props: &Props| {
        let HasHeaderKeyConfig { name } = HasHeaderKeyConfig::parse(props)?;
        Ok(Box::new(HasHeaderKey { name }))
    },
};

struct HasHeaderKey {
    name: String,
}

impl Predicate for HasHeaderKey {
    fn class(&self) -> &'static str {
        CLASS
    }

    fn select(&mut self, batch: &Batch, mask: &mut Mask) {
        for row in 0..batch.len() {
            if batch.headers.last(row, &self.name).is_none() {
                mask.kill(row);
            }
        }
    }

    fn uses_headers(&self) -> bool {
        true
    }
}
