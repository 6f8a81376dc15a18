//! The notation of the vectors: schemas, values and records as JSON that loses nothing.
//!
//! A value is `null` or an object whose one member names the class (`{"i32": 1}`). The tag is about
//! the value, not about the schema beside it, so that values of a wrong class can be written too.
//! `bytes` and `bytebuffer` are one class here.
//!
//! Invariant: what is read from the notation and written again is the same in canonical form
//! ([`crate::compare`]).

mod record;
mod schema;
mod value;

pub use record::{Header, Kind, Pair, Record, read_pair, read_record, write_pair, write_record};
pub use schema::{read_schema, write_schema};
pub(crate) use value::{from_base64, write_float};
pub use value::{read_value, write_value};

use crate::fault::Fault;
use serde_json::Value as Json;

/// JSON that is no notation at all: a fault of the case, not an answer.
fn unreadable(what: &str, node: &Json) -> Fault {
    let mut text = node.to_string();
    let end = text.char_indices().nth(200).map_or(text.len(), |(at, _)| at);
    text.truncate(end);
    Fault::new("unreadable", format!("{what}: {text}"))
}
