//! What a record must be to have fields, and what a schema keeps when its struct is rebuilt.
//!
//! Place in the data path: the first step of every transform that looks into a key or value. Invariant:
//! JSON text that nobody has read yet is a map or a list before its class is judged, so a record is
//! taken or refused alike however it came. Cells are looked at where they lie: one that is taken apart
//! and put together again is slow to read.

use crate::fault::Fault;
use data::{Cell, Rows, Schema, SchemaBuilder, Span, Type};

/// The fields of a struct under its schema; `None` for a null.
#[inline]
pub(crate) fn struct_or_null(
    purpose: &str,
    schema: &Schema,
    cell: &Cell,
) -> Result<Option<Span>, Fault> {
    match cell {
        Cell::Struct(span) => Ok(Some(*span)),
        Cell::Null => Ok(None),
        _ => Err(no_struct(purpose, schema, cell)),
    }
}

/// The same where a null is refused.
#[inline]
pub(crate) fn struct_only(purpose: &str, schema: &Schema, cell: &Cell) -> Result<Span, Fault> {
    match cell {
        Cell::Struct(span) => Ok(*span),
        _ => Err(no_struct(purpose, schema, cell)),
    }
}

#[cold]
fn no_struct(purpose: &str, schema: &Schema, cell: &Cell) -> Fault {
    Fault::not_a_struct(purpose, Some(schema), *cell)
}

/// The pairs of a map that has no schema, read if it is JSON text; `None` for a null.
#[inline]
pub(crate) fn map_or_null(
    purpose: &str,
    rows: &mut Rows,
    cell: &Cell,
) -> Result<Option<Span>, Fault> {
    match cell {
        Cell::Map(span) => Ok(Some(*span)),
        Cell::Null => Ok(None),
        _ => expanded(purpose, rows, *cell).map(Some),
    }
}

/// The same where a null is refused.
#[inline]
pub(crate) fn map_only(purpose: &str, rows: &mut Rows, cell: &Cell) -> Result<Span, Fault> {
    match cell {
        Cell::Map(span) => Ok(*span),
        _ => expanded(purpose, rows, *cell),
    }
}

#[cold]
fn expanded(purpose: &str, rows: &mut Rows, cell: Cell) -> Result<Span, Fault> {
    match rows.expand(cell) {
        Cell::Map(span) => Ok(span),
        other => Err(Fault::not_a_map(purpose, other)),
    }
}

/// Gives a new schema the old one's name, version, doc and parameters: what Connect keeps of a schema
/// whose fields change. Not kept are optionality and default.
pub(crate) fn with_basics(mut builder: SchemaBuilder, old: &Schema) -> SchemaBuilder {
    if let Some(name) = old.name() {
        builder = builder.name(name);
    }
    if let Some(version) = old.version() {
        builder = builder.version(version);
    }
    if let Some(doc) = old.doc() {
        builder = builder.doc(doc);
    }
    for (name, value) in old.parameters().unwrap_or_default() {
        builder = builder.parameter(name, value);
    }
    builder
}

/// A builder of the same type, elements and basics, without fields, optionality and default.
pub(crate) fn rebuilt(old: &Schema) -> SchemaBuilder {
    let builder = match (old.kind(), old.key_schema(), old.value_schema()) {
        (Type::Array, _, Some(items)) => SchemaBuilder::array(items.clone()),
        (Type::Map, Some(keys), Some(values)) => SchemaBuilder::map(keys.clone(), values.clone()),
        (kind, ..) => SchemaBuilder::new(kind),
    };
    with_basics(builder, old)
}

#[cfg(test)]
mod tests {
    use super::*;
    use data::Value;

    #[test]
    fn what_is_rebuilt_keeps_its_basics_only() {
        let items = std::sync::Arc::new(Schema::new(Type::Int8));
        let base = SchemaBuilder::array(items).name("N").version(3).doc("d").parameter("p", "q");
        let old = base.clone().optional().default(Value::List(Vec::new())).build().unwrap();
        assert_eq!(rebuilt(&old).build().unwrap(), base.build().unwrap());
    }

    #[test]
    fn json_text_is_judged_by_what_it_holds() {
        let mut rows = Rows::default();
        let [map, list] = [&b"{\"a\":1}"[..], b"[1]"].map(|text| Cell::Json(rows.heap.put(text)));
        let span = map_only("p", &mut rows, &map).unwrap();
        assert_eq!(rows.cells(span).len(), 2);
        let refused = map_only("p", &mut rows, &list).unwrap_err();
        assert!(refused.message.ends_with("[p], found: java.util.ArrayList"), "{refused:?}");
        assert_eq!(map_or_null("p", &mut rows, &Cell::Null), Ok(None));
        assert!(map_only("p", &mut rows, &Cell::Null).unwrap_err().message.ends_with("null"));
    }
}
