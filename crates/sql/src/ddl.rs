//! Pieces of SQL for messages: what an operator could run to help.

use crate::plan::Catalog;
use crate::table::{NewColumn, NewTable, TableName};

/// A name as one would write it by hand: quoted only where it must be.
pub(crate) fn plain_name(name: &str) -> String {
    let plain = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

/// A table's name as one would write it by hand.
pub(crate) fn plain_table(name: &TableName) -> String {
    match &name.schema {
        Some(schema) => format!("{}.{}", plain_name(schema), plain_name(&name.name)),
        None => plain_name(&name.name),
    }
}

/// A column's definition, as the dialect writes it within CREATE TABLE.
pub(crate) fn column_sql(catalog: &dyn Catalog, column: &NewColumn) -> String {
    let sql = catalog.create_table_sql(&NewTable {
        name: TableName { schema: None, name: "t".to_owned() },
        columns: vec![column.clone()],
        primary_key: Vec::new(),
        updates_expected: false,
    });
    let inner =
        sql.find('(').zip(sql.rfind(')')).and_then(|(open, close)| sql.get(open + 1..close));
    inner.map_or_else(|| plain_name(&column.name), |text| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_only_where_they_must_be() {
        for (name, plain) in
            [("id", "id"), ("Id", "\"Id\""), ("a b", "\"a b\""), ("q\"", "\"q\"\"\""), ("", "\"\"")]
        {
            assert_eq!(plain_name(name), plain);
        }
        let table = TableName { schema: Some("public".to_owned()), name: "Orders".to_owned() };
        assert_eq!(plain_table(&table), "public.\"Orders\"");
    }
}
