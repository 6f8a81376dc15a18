//! The text of a field somewhere in a key or value, for table names that depend on records.

use data::{Cell, Rows, Schema};

/// The text of the field that `path` leads to; of the value itself where the path is empty.
///
/// # Errors
/// Which field is missing, or is nothing that has a short text.
pub(crate) fn text_at(
    rows: &Rows,
    schema: Option<&Schema>,
    cell: Cell,
    path: &[String],
) -> Result<String, String> {
    let Some((first, rest)) = path.split_first() else {
        return scalar(rows, cell).ok_or_else(|| "it is no text and no number".to_owned());
    };
    let missing = || format!("the record has no field {first}");
    match cell {
        Cell::Struct(span) => {
            let schema = schema.ok_or_else(missing)?;
            let index = schema.field(first).ok_or_else(missing)?;
            let inner = schema.fields().get(index).map(|f| &*f.schema);
            let cell = rows.cells(span).get(index).copied().unwrap_or(Cell::Null);
            text_at(rows, inner, cell, rest).map_err(|e| within(first, &e))
        }
        Cell::Map(span) => {
            let inner = schema.and_then(|s| s.value_schema()).map(|s| &**s);
            let mut entries = rows.cells(span).chunks_exact(2).rev();
            let value = entries.find_map(|entry| match entry {
                [Cell::Text(key), value] if rows.bytes(*key) == first.as_bytes() => Some(*value),
                _ => None,
            });
            let value = value.ok_or_else(missing)?;
            text_at(rows, inner, value, rest).map_err(|e| within(first, &e))
        }
        Cell::Json(span) => {
            let value = serde_json::from_slice::<serde_json::Value>(rows.bytes(span));
            let mut value = value.map_err(|e| e.to_string())?;
            for name in path {
                value = match value.get_mut(name) {
                    Some(inner) => inner.take(),
                    None => return Err(format!("the record has no field {name}")),
                };
            }
            match value {
                serde_json::Value::String(text) => Ok(text),
                serde_json::Value::Number(number) => Ok(number.to_string()),
                serde_json::Value::Bool(value) => Ok(value.to_string()),
                _ => Err(format!("field {} is no text and no number", path.join("."))),
            }
        }
        _ => Err(missing()),
    }
}

fn within(field: &str, error: &str) -> String {
    if error.starts_with("it is") {
        format!("field {field} is{}", error.trim_start_matches("it is"))
    } else {
        error.to_owned()
    }
}

fn scalar(rows: &Rows, cell: Cell) -> Option<String> {
    match cell {
        Cell::Text(span) | Cell::Number(span) => Some(rows.text(span).to_owned()),
        Cell::Int(value, _) => Some(value.to_string()),
        Cell::Bool(value) => Some(value.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use data::{SchemaBuilder, Type};
    use std::sync::Arc;

    fn path(text: &str) -> Vec<String> {
        text.split('.').map(str::to_owned).collect()
    }

    #[test]
    fn finds_fields_of_structs_maps_and_json() {
        let mut rows = Rows::default();
        let inner = SchemaBuilder::structure()
            .field("table", Arc::new(Schema::new(Type::String)))
            .build()
            .unwrap();
        let schema = SchemaBuilder::structure().field("source", Arc::new(inner)).build().unwrap();
        let orders = Cell::Text(rows.heap.put(b"orders"));
        let source = Cell::Struct(rows.alloc_from(&[orders]));
        let root = Cell::Struct(rows.alloc_from(&[source]));
        let found = text_at(&rows, Some(&schema), root, &path("source.table"));
        assert_eq!(found.unwrap(), "orders");
        let error = text_at(&rows, Some(&schema), root, &path("source.name")).unwrap_err();
        assert_eq!(error, "the record has no field name");
        let error = text_at(&rows, Some(&schema), root, &path("source")).unwrap_err();
        assert_eq!(error, "field source is no text and no number");
        let name = Cell::Text(rows.heap.put(b"source"));
        let json = Cell::Json(rows.heap.put(br#"{"table":"orders"}"#));
        let root = Cell::Map(rows.alloc_from(&[name, json]));
        assert_eq!(text_at(&rows, None, root, &path("source.table")).unwrap(), "orders");
        assert!(text_at(&rows, None, root, &path("other")).is_err());
    }
}
