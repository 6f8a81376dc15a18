//! A real Schema Registry that the tests of a run share, and a proxy that gives it faults.

mod foreign;
mod proxy;

pub use foreign::{
    Foreign, guids, read_by_others, read_in_javascript, written_by_others, written_in_javascript,
};
pub use proxy::{Asked, Proxy, Reply};

use std::sync::OnceLock;

use serde_json::Value;

use crate::{process, shared};

/// The base address of the shared registry (Apicurio's, Confluent's interface). Started by the first
/// test that asks for it, once a run: subjects are to be unique.
///
/// # Panics
///
/// When it cannot be started; the message has the script's own words.
pub fn url() -> &'static str {
    static URL: OnceLock<String> = OnceLock::new();
    URL.get_or_init(|| match std::env::var("COPYCAT_TEST_REGISTRY") {
        Ok(url) => url,
        Err(_) => shared::script(&["registry"]).unwrap_or_else(|error| {
            panic!("the test needs a Schema Registry; see scripts/servers registry: {error:#}")
        }),
    })
}

/// Sends a request to a registry and gives the status and the answer, null where it is no JSON.
///
/// # Panics
///
/// When nothing answers.
pub fn call(base: &str, method: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
    let (host, below) = split(base);
    let body = body.map(Value::to_string).unwrap_or_default();
    let headers = [("Content-Type", "application/vnd.schemaregistry.v1+json")];
    let answer = process::send(host, method, &format!("{below}{path}"), &headers, Some(&body))
        .unwrap_or_else(|error| panic!("{method} {base}{path}: {error}"));
    (answer.status, serde_json::from_str(&answer.body).unwrap_or_default())
}

/// Registers a schema in the shared registry and gives its id. `kind` is AVRO, JSON or PROTOBUF.
///
/// # Panics
///
/// When the registry refuses it.
pub fn register(subject: &str, kind: &str, schema: &str) -> i32 {
    let body = serde_json::json!({"schema": schema, "schemaType": kind});
    let path = format!("/subjects/{subject}/versions");
    let (status, answer) = call(url(), "POST", &path, Some(&body));
    let id = answer.get("id").and_then(Value::as_i64).and_then(|id| i32::try_from(id).ok());
    id.unwrap_or_else(|| panic!("{subject} is refused with {status}: {answer}"))
}

/// `host:port` and the path of a base address.
fn split(base: &str) -> (&str, &str) {
    let rest = base.strip_prefix("http://").unwrap_or(base);
    rest.split_at(rest.find('/').unwrap_or(rest.len()))
}
