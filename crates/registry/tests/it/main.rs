//! The client against a real registry, and against answers that a test makes up.

mod addresses;
mod answers;
mod login;
mod tls;

use config::Props;
use registry::{Draft, Kind, Registry, Settings};

/// A client of this address; nothing is repeated unless `more` says so.
fn client(url: &str, more: &[(&str, &str)]) -> api::Result<Registry> {
    let base = [("schema.registry.url", url), ("max.retries", "0")];
    let props: Props = base.into_iter().chain(more.iter().copied()).collect();
    Registry::shared(&Settings::from_props(&props)?)
}

/// A record of this name with one field of this type.
fn record(name: &str, kind: &str) -> Draft {
    let text =
        format!(r#"{{"type":"record","name":"{name}","fields":[{{"name":"f","type":"{kind}"}}]}}"#);
    Draft { kind: Kind::Avro, text, references: Vec::new() }
}

/// The name of a record that nobody else has.
fn name() -> String {
    testkit::unique("R").replace('-', "_")
}
