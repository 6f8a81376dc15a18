//! The copy that a transform makes of a struct or map before it changes it.
//!
//! Place in the data path: inside the transforms. Invariants: the original's cells stay as they are;
//! the copy of a struct is one that Connect would let exist, with no null where its field allows none.

use crate::fault::Fault;
use data::{Cell, Rows, Schema, Span};

/// Copies the struct at `span`, which is of `schema`, and appends `more` nulls. Nulls of fields with
/// a default become the default if `replace`.
///
/// # Errors
/// A null that its field does not allow.
pub(crate) fn copy_struct(
    rows: &mut Rows,
    schema: &Schema,
    span: Span,
    more: usize,
    replace: bool,
) -> Result<Span, Fault> {
    let copy = rows.copy(span, more);
    if rows.cells(span).contains(&Cell::Null) {
        fill(rows, schema, copy, replace)?;
    }
    Ok(copy)
}

/// Sees to the nulls of a struct's copy.
fn fill(rows: &mut Rows, schema: &Schema, copy: Span, replace: bool) -> Result<(), Fault> {
    for (index, field) in schema.fields().iter().enumerate() {
        if rows.cells(copy).get(index).is_some_and(|cell| !cell.is_null()) {
            continue;
        }
        match field.schema.default() {
            Some(default) if replace && !default.is_null() => {
                let cell = rows.put_value(Some(&field.schema), default);
                rows.set(copy, index, cell);
            }
            _ if field.schema.is_optional() => {}
            _ => return Err(Fault::null_for_required(&field.name, &field.schema)),
        }
    }
    Ok(())
}

/// The place of a map's member of that name, of its value in the map's cells. Looked for first where
/// `hint` says that the map before had it; there it mostly is again.
pub(crate) fn member_near(rows: &Rows, map: Span, name: &str, hint: &mut usize) -> Option<usize> {
    let cells = rows.cells(map);
    let at = |pair: usize| match cells.get(pair * 2) {
        Some(Cell::Text(key)) => rows.bytes(*key) == name.as_bytes(),
        _ => false,
    };
    if !at(*hint) {
        *hint = (0..cells.len() / 2).find(|pair| at(*pair))?;
    }
    Some(*hint * 2 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use data::{SchemaBuilder, Type, Value};
    use std::sync::Arc;

    #[test]
    fn nulls_become_defaults_only_if_asked_and_required_ones_are_refused() {
        let with_default = SchemaBuilder::new(Type::Int32).default(Value::int(9));
        let optional = Arc::new(with_default.clone().optional().build().unwrap());
        let required = Arc::new(with_default.build().unwrap());
        let of = |field: &Arc<Schema>| {
            SchemaBuilder::structure().field("a", field.clone()).build().unwrap()
        };
        let mut rows = Rows::default();
        let null = rows.alloc(1);
        for (field, replace, wanted) in [
            (&optional, true, Ok(Cell::int(9))),
            (&optional, false, Ok(Cell::Null)),
            (&required, true, Ok(Cell::int(9))),
            (&required, false, Err(())),
        ] {
            let copy = copy_struct(&mut rows, &of(field), null, 1, replace);
            let seen = copy.map(|copy| rows.cells(copy)[0]).map_err(|_| ());
            assert_eq!(seen, wanted, "{field:?} {replace}");
        }
        assert_eq!(rows.cells(null), [Cell::Null]);
    }

    #[test]
    fn members_are_found_wherever_the_hint_points() {
        let mut rows = Rows::default();
        let value = Value::Map(vec![
            (Value::int(1), Value::Null),
            (Value::Text("a".into()), Value::Null),
            (Value::Text("b".into()), Value::Null),
        ]);
        let Cell::Map(map) = rows.put_value(None, &value) else { panic!() };
        for start in [0, 1, 2, 3, 99] {
            let mut hint = start;
            assert_eq!(member_near(&rows, map, "b", &mut hint), Some(5));
            assert_eq!(hint, 2);
            assert_eq!(member_near(&rows, map, "zz", &mut hint), None);
            assert_eq!(member_near(&rows, map, "a", &mut hint), Some(3));
        }
    }
}
