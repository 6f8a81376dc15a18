//! What a change event looks like: a struct whose schema's name ends with `.Envelope`.

use data::Schema;
use std::sync::Arc;

/// The field names of a change event.
pub(crate) const BEFORE: &str = "before";
pub(crate) const AFTER: &str = "after";
pub(crate) const OP: &str = "op";
pub(crate) const SOURCE: &str = "source";
pub(crate) const TRANSACTION: &str = "transaction";

/// Whether records of this schema are change events.
pub(crate) fn is_envelope(schema: Option<&Arc<Schema>>) -> bool {
    schema.and_then(|schema| schema.name()).is_some_and(|name| name.ends_with(".Envelope"))
}
