//! Bytes as the vectors write them: as text where they are printable UTF-8, else in base64.

use crate::fault::Fault;
use crate::notation::from_base64;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value as Json, json};

/// The bytes of a node's `text` or `bytes`; `None` for a null.
///
/// # Errors
/// Text that is no base64.
pub fn read_bytes(node: &Json) -> Result<Option<Vec<u8>>, Fault> {
    if let Some(text) = node.get("text") {
        return Ok(text.as_str().map(|text| text.as_bytes().to_vec()));
    }
    let Some(text) = node["bytes"].as_str() else { return Ok(None) };
    let bytes = from_base64(text);
    bytes.map(Some).ok_or_else(|| Fault::new("unreadable", format!("no base64: {text}")))
}

/// `{"text"}` or `{"bytes"}`.
pub fn write_bytes(bytes: Option<&[u8]>) -> Json {
    let Some(bytes) = bytes else { return json!({"bytes": null}) };
    let printable = |c: char| c >= ' ' || matches!(c, '\n' | '\t' | '\r');
    match std::str::from_utf8(bytes) {
        Ok(text) if text.chars().all(printable) => json!({"text": text}),
        _ => json!({"bytes": STANDARD.encode(bytes)}),
    }
}
