//! Tables as SQLite's catalogue describes them, and what a declared type means.
//!
//! Place in the data path: once per table, until the tables are forgotten. A column's type is the
//! text of its declaration; [`Affinity`] is SQLite's own reading of it, [`is_temporal`] is ours.

use super::error::{Doing, classify};
use crate::database::{DbError, DbErrorKind, DbResult};
use crate::table::{Column, Table, TableName};
use rusqlite::{Connection, OptionalExtension, Row};

/// How SQLite converts what is stored in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Affinity {
    Integer,
    Real,
    Text,
    /// Text that looks like a number becomes one.
    Numeric,
    /// Nothing is converted.
    Blob,
}

/// SQLite's rules for declared types, in their order; `ANY` is the type of strict tables that
/// converts nothing.
pub(super) fn affinity(declared: &str) -> Affinity {
    let upper = declared.to_ascii_uppercase();
    let has = |part: &str| upper.contains(part);
    if has("INT") {
        Affinity::Integer
    } else if has("CHAR") || has("CLOB") || has("TEXT") {
        Affinity::Text
    } else if upper.is_empty() || has("BLOB") || upper == "ANY" {
        Affinity::Blob
    } else if has("REAL") || has("FLOA") || has("DOUB") {
        Affinity::Real
    } else {
        Affinity::Numeric
    }
}

/// Declared as a date or time: such columns hold ISO text, whatever SQLite's affinity is.
pub(super) fn is_temporal(declared: &str) -> bool {
    let upper = declared.to_ascii_uppercase();
    upper.contains("DATE") || upper.contains("TIME")
}

fn is_json(declared: &str) -> bool {
    declared.eq_ignore_ascii_case("json") || declared.eq_ignore_ascii_case("jsonb")
}

/// Quotes a name.
pub(super) fn quote(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A table's quoted name, with its schema where it has one.
pub(super) fn quote_table(name: &TableName) -> String {
    match &name.schema {
        Some(schema) => format!("{}.{}", quote(schema), quote(&name.name)),
        None => quote(&name.name),
    }
}

/// Reads a table or view; `None` where there is none.
/// # Errors
/// `Config` for a schema that is not attached.
pub(super) fn read(connection: &Connection, name: &TableName) -> DbResult<Option<Table>> {
    let fail = |e: rusqlite::Error| classify(&e, Doing::Statement);
    if let Some(schema) = &name.schema {
        check_schema(connection, schema, name)?;
    }
    let sql = format!(
        "SELECT name, type FROM {}sqlite_schema \
         WHERE type IN ('table', 'view') AND name = ?1 COLLATE NOCASE",
        name.schema.as_deref().map(|s| quote(s) + ".").unwrap_or_default()
    );
    let found = connection
        .query_row(&sql, [&name.name], |r| Ok((r.get::<_, String>(0)?, r.get::<_, String>(1)?)))
        .optional()
        .map_err(fail)?;
    let Some((exact, kind)) = found else { return Ok(None) };
    let (columns, primary_key) = columns(connection, name).map_err(fail)?;
    let mut unique_keys = unique_indexes(connection, name).map_err(fail)?;
    let has_primary_key = !primary_key.is_empty();
    if has_primary_key {
        unique_keys.retain(|key| *key != primary_key);
        unique_keys.insert(0, primary_key);
    }
    Ok(Some(Table {
        name: TableName { schema: name.schema.clone(), name: exact },
        columns,
        unique_keys,
        has_primary_key,
        is_view: kind == "view",
    }))
}

fn check_schema(connection: &Connection, schema: &str, name: &TableName) -> DbResult<()> {
    let known: Vec<String> = connection
        .prepare("SELECT name FROM pragma_database_list")
        .and_then(|mut s| s.query_map([], |r| r.get(0))?.collect())
        .map_err(|e| classify(&e, Doing::Statement))?;
    if known.iter().any(|k| k.eq_ignore_ascii_case(schema)) {
        return Ok(());
    }
    Err(DbError::new(
        DbErrorKind::Config,
        format!("the table {name} is in no database of this file"),
    )
    .sqlstate("3F000")
    .hint(format!(
        "SQLite knows no schemas; {schema:?} came from a dot in the table's name: set \
             table.name.format to a name without one"
    )))
}

/// The columns in the table's order, and the indexes of those in the primary key.
fn columns(
    connection: &Connection,
    name: &TableName,
) -> rusqlite::Result<(Vec<Column>, Vec<usize>)> {
    let mut statement = connection.prepare(
        "SELECT name, type, \"notnull\", dflt_value IS NOT NULL, pk, hidden \
         FROM pragma_table_xinfo(?1, ?2)",
    )?;
    let schema = name.schema.as_deref().unwrap_or("main");
    let read = |r: &Row<'_>| {
        let column = Column {
            name: r.get(0)?,
            type_name: r.get(1)?,
            nullable: !r.get::<_, bool>(2)?,
            has_default: r.get(3)?,
            // 1 is a hidden column of a virtual table, 2 and 3 are generated.
            generated: r.get::<_, i64>(5)? > 0,
            json: is_json(&r.get::<_, String>(1)?),
        };
        Ok((column, r.get::<_, i64>(4)?))
    };
    let rows: Vec<(Column, i64)> =
        statement.query_map([&name.name, schema], read)?.collect::<rusqlite::Result<_>>()?;
    let mut key: Vec<(i64, usize)> = rows
        .iter()
        .enumerate()
        .filter(|(_, (_, pk))| *pk > 0)
        .map(|(index, (_, pk))| (*pk, index))
        .collect();
    key.sort_unstable();
    let key: Vec<usize> = key.into_iter().map(|(_, index)| index).collect();
    let mut columns: Vec<Column> = rows.into_iter().map(|(column, _)| column).collect();
    if let [only] = key[..]
        && let Some(column) = columns.get_mut(only)
        && column.type_name.eq_ignore_ascii_case("INTEGER")
    {
        // Another name of the row id: SQLite numbers the rows where no value is given.
        column.has_default = true;
    }
    Ok((columns, key))
}

/// The column indexes of unique indexes that ON CONFLICT can name.
fn unique_indexes(connection: &Connection, name: &TableName) -> rusqlite::Result<Vec<Vec<usize>>> {
    let schema = name.schema.as_deref().unwrap_or("main");
    let mut indexes = connection.prepare(
        "SELECT name FROM pragma_index_list(?1, ?2) WHERE \"unique\" = 1 AND partial = 0 \
         ORDER BY origin = 'pk' DESC, seq DESC",
    )?;
    let mut parts =
        connection.prepare("SELECT cid FROM pragma_index_info(?1, ?2) ORDER BY seqno")?;
    let names: Vec<String> =
        indexes.query_map([&name.name, schema], |r| r.get(0))?.collect::<rusqlite::Result<_>>()?;
    let mut keys = Vec::new();
    for index in names {
        let columns: Vec<i64> =
            parts.query_map([&index, schema], |r| r.get(0))?.collect::<rusqlite::Result<_>>()?;
        // -1 is the row id, -2 an expression.
        let columns: Option<Vec<usize>> =
            columns.into_iter().map(|c| usize::try_from(c).ok()).collect();
        keys.extend(columns.filter(|columns| !columns.is_empty()));
    }
    Ok(keys)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(sql: &str, name: &str) -> Table {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(sql).unwrap();
        let name = TableName { schema: None, name: name.to_owned() };
        read(&connection, &name).unwrap().unwrap()
    }

    #[test]
    fn affinities_follow_sqlites_rules() {
        for (declared, expected) in [
            ("BIGINT", Affinity::Integer),
            ("CHARINT", Affinity::Integer),
            ("varchar(10)", Affinity::Text),
            ("", Affinity::Blob),
            ("ANY", Affinity::Blob),
            ("double precision", Affinity::Real),
            ("DECIMAL(10,2)", Affinity::Numeric),
            ("BOOLEAN", Affinity::Numeric),
            ("DATETIME", Affinity::Numeric),
        ] {
            assert_eq!(affinity(declared), expected, "{declared}");
        }
        assert!(is_temporal("timestamptz") && is_temporal("Date") && !is_temporal("NUMERIC"));
    }

    #[test]
    fn keys_and_generated_columns_are_seen() {
        let seen = table(
            "CREATE TABLE T(a TEXT NOT NULL, b INTEGER DEFAULT 3, c AS (b + 1), d JSON, \
               PRIMARY KEY (b, a));
             CREATE UNIQUE INDEX good ON T(d);
             CREATE UNIQUE INDEX partial ON T(a) WHERE b > 0;
             CREATE UNIQUE INDEX expression ON T(lower(a));",
            "t",
        );
        assert_eq!(seen.name.name, "T");
        assert_eq!(seen.unique_keys, [vec![1, 0], vec![3]]);
        assert!(seen.has_primary_key && !seen.is_view);
        let flags: Vec<_> =
            seen.columns.iter().map(|c| (c.nullable, c.has_default, c.generated, c.json)).collect();
        assert_eq!(
            flags,
            [
                (false, false, false, false),
                (true, true, false, false),
                (true, false, true, false),
                (true, false, false, true)
            ]
        );
    }

    #[test]
    fn row_ids_views_and_tables_without_row_id() {
        let rowid = table("CREATE TABLE t(id INTEGER PRIMARY KEY, x)", "t");
        assert_eq!(rowid.unique_keys, [vec![0]]);
        assert!(rowid.columns[0].has_default);
        let without = table("CREATE TABLE t(id TEXT PRIMARY KEY, x) WITHOUT ROWID", "T");
        assert_eq!(without.unique_keys, [vec![0]]);
        assert!(!without.columns[0].nullable && !without.columns[0].has_default);
        let view = table("CREATE TABLE t(a); CREATE VIEW v AS SELECT a FROM t", "v");
        assert!(view.is_view && view.unique_keys.is_empty());
    }

    #[test]
    fn a_dot_in_a_name_is_explained() {
        let connection = Connection::open_in_memory().unwrap();
        let name = TableName { schema: Some("sales".to_owned()), name: "orders".to_owned() };
        let error = read(&connection, &name).unwrap_err();
        assert_eq!(error.kind, DbErrorKind::Config);
        assert!(error.hint.unwrap().contains("sales"));
    }
}
