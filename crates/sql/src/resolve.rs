//! Which columns of a table the wanted ones are.

use crate::ddl::plain_table;
use crate::foreign::KeyNames;
use crate::table::Table;
use crate::wanted::{Wanted, WantedRow};
use crate::write::Source;
use std::sync::Arc;

/// The wanted columns, found or not.
#[derive(Debug, Default)]
pub(crate) struct Resolved {
    /// Column indexes of the table, ascending, and what fills them.
    pub columns: Vec<(usize, Wanted)>,
    /// Certain columns that the table does not have.
    pub missing: Vec<Wanted>,
    /// Names of the uncertain ones that it does not have.
    pub ignored: Vec<Arc<str>>,
}

/// Finds each wanted column: by its exact name, else by the only one that differs by case.
///
/// # Errors
/// What concerns every record of the form, such as a value without a column to go to.
pub(crate) fn resolve(
    table: &Table,
    wanted: &WantedRow,
    names: &KeyNames,
) -> Result<Resolved, String> {
    let mut found = Resolved::default();
    let mut values = 0;
    for (pass, exact) in [(0, true), (1, false)] {
        for want in &wanted.columns {
            let Some(name) = &want.name else { continue };
            let is_exact = table.columns.iter().any(|c| *c.name == **name);
            if is_exact != exact {
                continue;
            }
            let target = table.column(name).filter(|target| {
                pass == 0 || !found.columns.iter().any(|(taken, _)| taken == target)
            });
            match target {
                Some(target) => {
                    values += usize::from(!want.key);
                    add(table, &mut found, target, want.clone());
                }
                None if want.certain => found.missing.push(want.clone()),
                None => found.ignored.push(name.clone()),
            }
        }
    }
    unnamed(table, wanted, names, &mut found)?;
    if values == 0 {
        whole_into_json(table, wanted, &mut found);
    }
    found.columns.sort_by_key(|(target, _)| *target);
    Ok(found)
}

fn add(table: &Table, found: &mut Resolved, target: usize, want: Wanted) {
    let generated = table.columns.get(target).is_some_and(|c| c.generated);
    // A name that a record repeats: the first entry reads the last value.
    let taken = found.columns.iter().any(|(t, _)| *t == target);
    if !taken && (want.key || !generated) {
        found.columns.push((target, want));
    }
}

/// Columns that nothing names: the single key column, the single other one.
fn unnamed(
    table: &Table,
    wanted: &WantedRow,
    names: &KeyNames,
    found: &mut Resolved,
) -> Result<(), String> {
    for want in wanted.columns.iter().filter(|w| w.name.is_none()) {
        let shown = plain_table(&table.name);
        let target = if want.key {
            match table.unique_keys.first().filter(|_| table.has_primary_key).map(Vec::as_slice) {
                Some([column]) => *column,
                _ => {
                    return Err(format!(
                        "the record's key is a single value, and table {shown} has no primary key \
                         of one column: set {} to the column's name",
                        names.name("pk.fields")
                    ));
                }
            }
        } else {
            let usual = table.column(crate::wanted::VALUE_COLUMN);
            match (usual, free(table, found).as_slice()) {
                (Some(column), _) | (None, &[column]) => column,
                (None, free) => {
                    return Err(format!(
                        "the record's value is no object, and table {shown} has {} columns for \
                         it: set {}",
                        free.len(),
                        names.name("string.output.value.column.name")
                    ));
                }
            }
        };
        add(table, found, target, want.clone());
    }
    Ok(())
}

/// Columns that can be written and are not yet.
fn free(table: &Table, found: &Resolved) -> Vec<usize> {
    let taken = |index: &usize| found.columns.iter().any(|(target, _)| target == index);
    let columns = table.columns.iter().enumerate().filter(|(_, c)| !c.generated);
    columns.map(|(index, _)| index).filter(|index| !taken(index)).collect()
}

/// An object of which no member is a column goes whole into the table's only column of JSON.
fn whole_into_json(table: &Table, wanted: &WantedRow, found: &mut Resolved) {
    let objects = wanted
        .columns
        .iter()
        .any(|w| !w.key && matches!(w.source, Source::ValueField(_) | Source::ValueMember(_)));
    let [target] = *free(table, found) else { return };
    if objects && table.columns.get(target).is_some_and(|c| c.json) {
        found.missing.retain(|w| w.key);
        found.ignored.clear();
        let want = Wanted {
            name: None,
            source: Source::ValueRoot,
            schema: wanted.value_schema.clone(),
            key: false,
            certain: true,
        };
        found.columns.push((target, want));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Column, TableName};

    fn table(columns: &[&str]) -> Table {
        let column = |name: &&str| Column {
            name: name.trim_start_matches(['*', '=']).to_owned(),
            type_name: "x".to_owned(),
            nullable: true,
            has_default: false,
            generated: name.starts_with('='),
            json: name.starts_with('*'),
        };
        Table {
            name: TableName { schema: None, name: "t".to_owned() },
            columns: columns.iter().map(column).collect(),
            unique_keys: vec![vec![0]],
            has_primary_key: true,
            is_view: false,
        }
    }

    fn want(name: Option<&str>, key: bool, certain: bool) -> Wanted {
        let source = match name {
            Some(name) => Source::ValueMember(name.into()),
            None if key => Source::KeyRoot,
            None => Source::ValueRoot,
        };
        Wanted { name: name.map(Arc::from), source, schema: None, key, certain }
    }

    fn row(columns: Vec<Wanted>) -> WantedRow {
        WantedRow { columns, ..WantedRow::default() }
    }

    #[test]
    fn names_match_exactly_first_and_unknown_ones_are_told_apart() {
        let wanted = row(vec![
            want(Some("ID"), false, false),
            want(Some("id"), false, false),
            want(Some("B"), false, false),
            want(Some("x"), false, false),
            want(Some("y"), false, true),
            want(Some("g"), false, true),
        ]);
        let found = resolve(&table(&["id", "b", "=g"]), &wanted, &KeyNames::default()).unwrap();
        let columns: Vec<_> =
            found.columns.iter().map(|(t, w)| (*t, w.name.as_deref().unwrap())).collect();
        assert_eq!(columns, [(0, "id"), (1, "B")]);
        assert_eq!(found.ignored, [Arc::from("ID"), Arc::from("x")]);
        assert_eq!(found.missing.len(), 1);
    }

    #[test]
    fn single_values_find_the_single_column() {
        let wanted = row(vec![want(None, true, true), want(None, false, true)]);
        let found = resolve(&table(&["id", "v", "=g"]), &wanted, &KeyNames::default()).unwrap();
        assert_eq!(found.columns.iter().map(|(t, _)| *t).collect::<Vec<_>>(), [0, 1]);
        let error = resolve(&table(&["id", "v", "w"]), &wanted, &KeyNames::default()).unwrap_err();
        assert!(error.contains("2 columns") && error.contains("string.output"), "{error}");
    }

    #[test]
    fn an_object_goes_whole_into_the_only_json_column() {
        let wanted = row(vec![want(Some("a"), false, false)]);
        let found = resolve(&table(&["*j"]), &wanted, &KeyNames::default()).unwrap();
        assert!(matches!(found.columns.as_slice(), [(0, w)] if w.source == Source::ValueRoot));
        assert!(found.ignored.is_empty());
        assert!(resolve(&table(&["j"]), &wanted, &KeyNames::default()).unwrap().columns.is_empty());
    }
}
