//! Tables and columns made from Connect schemas.
//!
//! Place in the data path: when a table or column is missing and may be created. The types are
//! chosen so that every value is kept exactly (decimals and dates as TEXT); under another
//! connector's class name they are that connector's, which puts logical types into NUMERIC.

use super::catalogue::{quote, quote_table};
use super::value::{Encoder, Form, target};
use crate::config::TypeDialect;
use crate::epoch::unit_of;
use crate::table::{Column, NewColumn, NewTable, Table};
use data::{Logical, Rows, Schema, Semantic, Type};

/// The declared type of a new column.
pub(super) fn column_type(types: TypeDialect, schema: Option<&Schema>) -> &'static str {
    let Some(schema) = schema else { return "TEXT" };
    let foreign = matches!(types, TypeDialect::CJdbc | TypeDialect::AJdbc);
    if schema.logical() != Logical::None || unit_of(schema).is_some() {
        return if foreign { "NUMERIC" } else { "TEXT" };
    }
    match Semantic::meaning(schema) {
        Some(Semantic::VariableScaleDecimal) if foreign => return "NUMERIC",
        Some(
            Semantic::Date
            | Semantic::Time(_)
            | Semantic::Timestamp(_)
            | Semantic::Instant(_)
            | Semantic::Elapsed
            | Semantic::Unsigned
            | Semantic::VariableScaleDecimal,
        ) if !foreign => return "TEXT",
        _ => {}
    }
    match schema.kind() {
        Type::Int8 | Type::Int16 | Type::Int32 | Type::Int64 | Type::Boolean => "INTEGER",
        Type::Float32 | Type::Float64 => "REAL",
        Type::Bytes => "BLOB",
        Type::String | Type::Array | Type::Map | Type::Struct => "TEXT",
    }
}

/// The statement that creates a table, unless it is there already.
pub(super) fn create_table(types: TypeDialect, encoder: &mut Encoder, table: &NewTable) -> String {
    let mut parts: Vec<String> = table
        .columns
        .iter()
        .map(|column| {
            let in_key = table.primary_key.contains(&column.name);
            definition(types, encoder, column, in_key || !column.nullable)
        })
        .collect();
    if !table.primary_key.is_empty() {
        let key: Vec<String> = table.primary_key.iter().map(|name| quote(name)).collect();
        parts.push(format!("PRIMARY KEY ({})", key.join(", ")));
    }
    let name = quote_table(&table.name);
    format!("CREATE TABLE IF NOT EXISTS {name} (\n  {}\n)", parts.join(",\n  "))
}

/// The statement that adds a column. SQLite adds a NOT NULL column only with a default; without one
/// the column may be null, since the rows that are there have no value for it.
pub(super) fn add_column(
    types: TypeDialect,
    encoder: &mut Encoder,
    table: &Table,
    column: &NewColumn,
) -> String {
    let has_default = default(types, encoder, column).is_some();
    let definition = definition(types, encoder, column, !column.nullable && has_default);
    format!("ALTER TABLE {} ADD COLUMN {definition}", quote_table(&table.name))
}

fn definition(
    types: TypeDialect,
    encoder: &mut Encoder,
    column: &NewColumn,
    not_null: bool,
) -> String {
    let mut text =
        format!("{} {}", quote(&column.name), column_type(types, column.schema.as_deref()));
    if not_null {
        text.push_str(" NOT NULL");
    }
    if let Some(default) = default(types, encoder, column) {
        text.push_str(" DEFAULT ");
        text.push_str(&default);
    }
    text
}

/// The schema's default as a literal, in the form that rows of the column have.
fn default(types: TypeDialect, encoder: &mut Encoder, column: &NewColumn) -> Option<String> {
    let schema = column.schema.as_deref()?;
    let mut rows = Rows::default();
    let cell = rows.put_value(Some(schema), schema.default()?);
    let made = Column {
        name: column.name.clone(),
        type_name: column_type(types, Some(schema)).to_owned(),
        nullable: true,
        has_default: true,
        generated: false,
        json: false,
    };
    let literal = |text: &[u8]| format!("'{}'", String::from_utf8_lossy(text).replace('\'', "''"));
    match encoder.encode(target(&made), Some(schema), cell, &rows).ok()? {
        Form::Null => None,
        Form::Integer(v) => Some(v.to_string()),
        Form::Real(v) if v.is_infinite() => Some(if v > 0.0 { "9e999" } else { "-9e999" }.into()),
        Form::Real(v) => Some(format!("{v:?}")),
        Form::Text(bytes) => Some(literal(bytes)),
        Form::Blob(bytes) => {
            Some(format!("x'{}'", bytes.iter().map(|b| format!("{b:02x}")).collect::<String>()))
        }
        Form::Buffer => Some(literal(&encoder.buffer)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::DatabaseSettings;
    use crate::table::TableName;
    use data::{SchemaBuilder, Value, Width};
    use std::sync::Arc;

    fn column(name: &str, schema: SchemaBuilder, nullable: bool) -> NewColumn {
        let schema = Some(Arc::new(schema.build().unwrap()));
        NewColumn { name: name.to_owned(), schema, nullable }
    }

    fn table() -> NewTable {
        let text = SchemaBuilder::new(Type::String).default(Value::Text("it's".to_owned()));
        let day = SchemaBuilder::date().default(Value::Instant(0));
        NewTable {
            name: TableName { schema: None, name: "a.b".to_owned() },
            columns: vec![
                column("id", SchemaBuilder::new(Type::Int64), false),
                column("amount", SchemaBuilder::decimal(2), true),
                column("at", SchemaBuilder::timestamp(), false),
                column("text", text, false),
                column("day", day, true),
                NewColumn { name: "any".to_owned(), schema: None, nullable: true },
            ],
            primary_key: vec!["id".to_owned()],
            updates_expected: false,
        }
    }

    fn encoder() -> Encoder {
        Encoder::new(&DatabaseSettings::new("sqlite:x.db", "c/g"))
    }

    #[test]
    fn own_types_keep_digits() {
        assert_eq!(
            create_table(TypeDialect::Own, &mut encoder(), &table()),
            "CREATE TABLE IF NOT EXISTS \"a.b\" (\n  \"id\" INTEGER NOT NULL,\n  \"amount\" TEXT,\n  \
             \"at\" TEXT NOT NULL,\n  \"text\" TEXT NOT NULL DEFAULT 'it''s',\n  \
             \"day\" TEXT DEFAULT '1970-01-01',\n  \"any\" TEXT,\n  PRIMARY KEY (\"id\")\n)"
        );
    }

    #[test]
    fn another_connectors_tables_have_its_types() {
        let sql = create_table(TypeDialect::CJdbc, &mut encoder(), &table());
        assert!(sql.contains("\"amount\" NUMERIC,"), "{sql}");
        assert!(sql.contains("\"at\" NUMERIC NOT NULL"), "{sql}");
        assert!(sql.contains("\"day\" NUMERIC DEFAULT 0"), "{sql}");
    }

    #[test]
    fn an_added_column_is_required_only_with_a_default() {
        let seen = Table {
            name: TableName { schema: None, name: "t".to_owned() },
            columns: Vec::new(),
            unique_keys: Vec::new(),
            has_primary_key: false,
            is_view: false,
        };
        let bare = column("n", SchemaBuilder::new(Type::Int8), false);
        let with =
            column("n", SchemaBuilder::new(Type::Int8).default(Value::Int(1, Width::W8)), false);
        let sql = |c: &NewColumn| add_column(TypeDialect::Own, &mut encoder(), &seen, c);
        assert_eq!(sql(&bare), "ALTER TABLE \"t\" ADD COLUMN \"n\" INTEGER");
        assert_eq!(sql(&with), "ALTER TABLE \"t\" ADD COLUMN \"n\" INTEGER NOT NULL DEFAULT 1");
    }
}
