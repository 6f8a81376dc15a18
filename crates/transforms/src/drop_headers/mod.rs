//! DropHeaders: removes headers by name, all of a name.

use api::{Transform, TransformPlugin};
use config::{Config, Props};
use data::{Batch, Mask};

use crate::part::chosen;

#[cfg(test)]
mod tests;

const CLASS: &str = "org.apache.kafka.connect.transforms.DropHeaders";

/// The settings.
#[derive(Clone, Debug, Config)]
struct DropHeadersConfig {
    /// Names of the headers to remove.
    #[config(non_empty, importance = high)]
    headers: Vec<String>,
}

pub(crate) static PLUGIN: TransformPlugin = TransformPlugin {
    class: CLASS,
    aliases: &["DropHeaders"],
    version: env!("CARGO_PKG_VERSION"),
    summary: "Removes the headers of these names; the others keep their order.",
    config_def: DropHeadersConfig::def,
    make: |props: &Props| {
        let DropHeadersConfig { headers } = DropHeadersConfig::parse_plugin(props)?;
        Ok(Box::new(DropHeaders { headers }))
    },
};

struct DropHeaders {
    headers: Vec<String>,
}

impl Transform for DropHeaders {
    fn class(&self) -> &'static str {
        CLASS
    }

    fn apply(&mut self, batch: &mut Batch, selected: &Mask) {
        let dropped = |name: &str| self.headers.iter().any(|header| header == name);
        for row in chosen(batch, selected) {
            batch.headers.retain(row, |header| !dropped(&header.name));
        }
    }

    fn uses_headers(&self) -> bool {
        true
    }
}
