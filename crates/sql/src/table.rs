//! Tables as the protocol sees them: names, columns, unique keys. Types are the dialect's business.

use std::fmt;

/// A table's exact, unquoted name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableName {
    /// `None`: wherever the connection finds the name (search path).
    pub schema: Option<String>,
    pub name: String,
}

impl fmt::Display for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.schema {
            Some(schema) => write!(f, "{schema}.{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// A column of an existing table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    /// The type as the database prints it, for messages.
    pub type_name: String,
    pub nullable: bool,
    pub has_default: bool,
    /// Computed by the database: never written.
    pub generated: bool,
    /// The one-column destination of JSON text (json, jsonb): nested values go in as JSON.
    pub json: bool,
}

/// An existing table, as read from the catalogue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    pub name: TableName,
    /// In the table's own order.
    pub columns: Vec<Column>,
    /// Column indexes of every unique index that can serve ON CONFLICT (neither partial nor over
    /// expressions), the primary key first where there is one.
    pub unique_keys: Vec<Vec<usize>>,
    pub has_primary_key: bool,
    /// Views are written but never altered.
    pub is_view: bool,
}

impl Table {
    /// The index of a column: the exact name, else the only one that differs by case.
    pub fn column(&self, name: &str) -> Option<usize> {
        if let Some(exact) = self.columns.iter().position(|c| c.name == name) {
            return Some(exact);
        }
        let mut similar = self
            .columns
            .iter()
            .enumerate()
            .filter(|(_, c)| c.name.to_lowercase() == name.to_lowercase());
        match (similar.next(), similar.next()) {
            (Some((index, _)), None) => Some(index),
            _ => None,
        }
    }
}

/// A column to create, or to add: its type follows from the Connect schema, by dialect.
#[derive(Clone, Debug)]
pub struct NewColumn {
    pub name: String,
    /// `None`: schemaless data, kept as JSON.
    pub schema: Option<std::sync::Arc<data::Schema>>,
    pub nullable: bool,
}

/// A table to create.
#[derive(Clone, Debug)]
pub struct NewTable {
    pub name: TableName,
    pub columns: Vec<NewColumn>,
    /// Names of the primary key's columns; empty for none.
    pub primary_key: Vec<String>,
    /// Rows will be updated in place: leave room on the pages where the database can.
    pub updates_expected: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_match_exactly_first_then_by_case_if_only_one_does() {
        let column = |name: &str| Column {
            name: name.to_owned(),
            type_name: "int".to_owned(),
            nullable: true,
            has_default: false,
            generated: false,
            json: false,
        };
        let table = Table {
            name: TableName { schema: None, name: "t".to_owned() },
            columns: ["id", "Name", "a", "A"].map(column).to_vec(),
            unique_keys: Vec::new(),
            has_primary_key: false,
            is_view: false,
        };
        assert_eq!(table.column("name"), Some(1));
        assert_eq!(table.column("A"), Some(3));
        assert_eq!(table.column("ID"), Some(0));
        assert_eq!(table.column("b"), None);
    }
}
