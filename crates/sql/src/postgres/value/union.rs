//! Values of unions: structs with a field for each type, of which one is not null.
//!
//! Place in the data path: at plan time, and once for every value of such a schema. A column gets the
//! value of whichever field has one, as if that were the column's schema.

use super::convert::{self, Val};
use super::semantic;
use super::target::Target;
use data::{Cell, Rows, Schema};

/// Whether the column takes values of one of its types.
pub(super) fn accepts(target: &Target, schema: &Schema) -> bool {
    schema.fields().iter().any(|field| target.accepts(&field.schema))
}

/// The value of the first field that has one; `None` for null.
#[cold]
pub(super) fn value<'a>(
    rows: &'a Rows,
    schema: Option<&'a Schema>,
    cell: Cell,
    target: &Target,
) -> Option<Val<'a>> {
    let (field, cell) = schema?.branch(rows, cell)?;
    let value = match semantic::of(&field.schema, target) {
        Some(kind) => semantic::value(kind, rows, &field.schema, cell, target),
        None => convert::value(rows, Some(&field.schema), cell, target),
    };
    Some(match value? {
        // Beside other types a text is a word in a document, not a document, and so are bytes.
        Val::Text(bytes, _) => Val::Text(bytes, true),
        Val::Bytes(bytes, _) => Val::Bytes(bytes, true),
        other => other,
    })
}
