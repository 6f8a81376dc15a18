//! A field of a key or value by its path, with or without a schema: what routers look for.
//!
//! Invariant: a part of the path that is missing, null or no struct or map gives nothing; whether that
//! is an error is the transform's to say.

use crate::part::member;
use data::{Cell, Rows, Schema};
use std::sync::Arc;

/// The value at a path of names, and its schema; none of either for an empty path's root.
pub(crate) fn find<'a>(
    rows: &mut Rows,
    schema: Option<&'a Arc<Schema>>,
    root: Cell,
    path: &[String],
) -> Option<(Option<&'a Arc<Schema>>, Cell)> {
    let (mut schema, mut cell) = (schema, root);
    for name in path {
        (schema, cell) = match rows.expand(cell) {
            Cell::Struct(span) => {
                let place = schema?.field(name)?;
                let field = schema?.fields().get(place)?;
                (Some(&field.schema), rows.cells(span).get(place).copied()?)
            }
            Cell::Map(span) => {
                let place = member(rows, span, name)?;
                let inner = schema.and_then(|schema| schema.value_schema());
                (inner, rows.cells(span).get(place).copied()?)
            }
            _ => return None,
        };
    }
    Some((schema, cell))
}

/// A path in its written form, `a.b.c`; nothing for an empty one.
pub(crate) fn path(text: &str) -> Vec<String> {
    let parts = text.split('.').map(str::trim).filter(|part| !part.is_empty());
    parts.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use data::{SchemaBuilder, Type, Value};

    #[test]
    fn paths_lead_through_structs_maps_and_unread_json() {
        let text = Arc::new(Schema::new(Type::String));
        let inner = SchemaBuilder::structure().field("b", text.clone()).build().unwrap();
        let outer = SchemaBuilder::structure().field("a", Arc::new(inner)).build().unwrap();
        let outer = Arc::new(outer);
        let mut rows = Rows::default();
        let value = Value::fields(vec![Value::fields(vec![Value::Text("x".into())])]);
        let root = rows.put_value(Some(&outer), &value);
        let found = find(&mut rows, Some(&outer), root, &path("a.b")).unwrap();
        assert_eq!(found.0, Some(&text));
        assert!(find(&mut rows, Some(&outer), root, &path("a.c")).is_none());
        assert!(find(&mut rows, Some(&outer), root, &path("a.b.c")).is_none());
        let json = Cell::Json(rows.heap.put(br#"{"a":{"b":5}}"#));
        let found = find(&mut rows, None, json, &path("a.b")).unwrap();
        assert_eq!(found.1, Cell::int(5));
        assert_eq!(find(&mut rows, None, root, &path("")).unwrap().1, root);
    }
}
