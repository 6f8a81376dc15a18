//! Statements that make tables and columns, and the types columns get.
//!
//! Place in the data path: only where auto.create or auto.evolve say so. Tables that are made under
//! another connector's class name get that connector's types.

use super::names;
use super::session::Session;
use super::store;
use crate::config::{TimestampColumn, TypeDialect};
use crate::database::{DbError, DbErrorKind, DbResult};
use crate::epoch::{hides_default, unit_of};
use crate::table::{NewColumn, NewTable, TableName};
use data::{Logical, Rows, Schema, Semantic, Type, Value, write_plain_json};
use std::fmt::Write;

/// What decides a new column's type beside the schema.
#[derive(Clone, Copy, Debug)]
pub(super) struct Typing {
    pub(super) dialect: TypeDialect,
    pub(super) timestamps: TimestampColumn,
}

/// `CREATE TABLE IF NOT EXISTS …`, without a semicolon.
pub(super) fn create_table(table: &NewTable, typing: Typing) -> String {
    let mut sql = format!("CREATE TABLE IF NOT EXISTS {} (", names::table(&table.name));
    sql.push_str(&names::list(&table.columns, |out, column| push_column(out, column, typing)));
    if !table.primary_key.is_empty() {
        let key = names::list(&table.primary_key, |out, name| names::push_ident(out, name));
        // Writing to a string cannot fail.
        let _ok = write!(sql, ", PRIMARY KEY ({key})");
    }
    sql.push(')');
    if table.updates_expected {
        // Room on each page lets updates stay there and spares the indexes.
        sql.push_str(" WITH (fillfactor = 50)");
    }
    sql
}

/// `ALTER TABLE … ADD COLUMN IF NOT EXISTS …`, without a semicolon.
pub(super) fn add_columns(table: &TableName, columns: &[NewColumn], typing: Typing) -> String {
    let list = names::list(columns, |out, column| {
        out.push_str("ADD COLUMN IF NOT EXISTS ");
        push_column(out, column, typing);
    });
    format!("ALTER TABLE {} {list}", names::table(table))
}

/// The statement with others held back that make or alter the same table.
pub(super) fn locked(table: &TableName, ddl: &str) -> String {
    format!("{};\n{ddl}", store::lock(table))
}

/// The error of a statement that makes or alters a table, with the statement where a right is missing.
pub(super) fn refused(
    session: &mut Session,
    error: DbError,
    table: &TableName,
    ddl: &str,
) -> DbError {
    match error.sqlstate.as_deref() {
        Some("42501") => {}
        Some("3F000") => {
            return match store::missing_schema(session, table) {
                Ok((text, sql)) => DbError::new(DbErrorKind::Config, text)
                    .sqlstate("3F000")
                    .hint(format!("run as a role that may:\n{sql}")),
                Err(other) => other,
            };
        }
        _ => return error,
    }
    let role = session.role().map_or_else(|_| "the role".to_owned(), |role| names::ident(&role));
    let text = format!("the table {table} cannot be made or altered: {}", error.message);
    let state = error.sqlstate.unwrap_or_default();
    DbError::new(DbErrorKind::Config, text).sqlstate(state).hint(format!(
        "run it as a role that may, and grant the table to ours:\n{ddl};\n\
         GRANT SELECT, INSERT, UPDATE, DELETE ON {} TO {role};",
        names::table(table)
    ))
}

fn push_column(out: &mut String, column: &NewColumn, typing: Typing) {
    names::push_ident(out, &column.name);
    out.push(' ');
    let kind = column_type(column.schema.as_deref(), typing);
    out.push_str(&kind);
    let default = column.schema.as_deref().and_then(|s| default_literal(s, s.default()?, &kind));
    if let Some(default) = default {
        out.push_str(" DEFAULT ");
        out.push_str(&default);
    }
    if !column.nullable {
        out.push_str(" NOT NULL");
    }
}

/// # Errors
/// `Config`: PostgreSQL would cut a name, so that two columns or tables could become one.
pub(super) fn check_names<'a>(names: impl IntoIterator<Item = &'a str>) -> DbResult<()> {
    let max = names::IDENTIFIER_BYTES_MAX;
    match names.into_iter().find(|n| n.len() > max || n.is_empty() || n.contains('\0')) {
        None => Ok(()),
        Some(name) => Err(DbError::new(
            DbErrorKind::Config,
            format!("the name \"{name}\" cannot be that of a table or column in PostgreSQL"),
        )
        .hint(format!("names have 1 to {max} bytes and no NUL character; set another name"))),
    }
}

/// The type of a new column for values of a schema; without one they are kept as JSON.
fn column_type(schema: Option<&Schema>, typing: Typing) -> String {
    let Some(schema) = schema else { return "jsonb".to_owned() };
    let foreign = typing.dialect != TypeDialect::Own;
    if unit_of(schema).is_some() {
        return timestamp(typing).to_owned();
    }
    if let Some(kind) = Semantic::meaning(schema).and_then(|s| semantic_type(schema, s, typing)) {
        return kind;
    }
    match schema.logical() {
        Logical::Decimal(scale) => return decimal(schema, scale, typing.dialect),
        Logical::Date => return "date".to_owned(),
        Logical::Time if foreign => return "time".to_owned(),
        Logical::Time => return "time(3)".to_owned(),
        Logical::Timestamp => return timestamp(typing).to_owned(),
        Logical::None => {}
    }
    match schema.kind() {
        Type::Int8 | Type::Int16 => "smallint".to_owned(),
        Type::Int32 => "integer".to_owned(),
        Type::Int64 => "bigint".to_owned(),
        Type::Float32 => "real".to_owned(),
        Type::Float64 => "double precision".to_owned(),
        Type::Boolean => "boolean".to_owned(),
        Type::String => "text".to_owned(),
        Type::Bytes => "bytea".to_owned(),
        Type::Array => match schema.value_schema() {
            Some(items) if is_flat(items) => format!("{}[]", column_type(Some(items), typing)),
            _ => "jsonb".to_owned(),
        },
        Type::Map | Type::Struct => "jsonb".to_owned(),
    }
}

/// The type for values of one of Debezium's types; `None`: their plain type says enough, as it does to
/// the sinks that do not know Debezium's.
fn semantic_type(schema: &Schema, semantic: Semantic, typing: Typing) -> Option<String> {
    let dialect = typing.dialect;
    const BITS_MAX: u32 = 10_485_760 * 8;
    if semantic == Semantic::VariableScaleDecimal {
        return Some("numeric".to_owned());
    }
    if matches!(dialect, TypeDialect::CJdbc | TypeDialect::AJdbc) {
        return None;
    }
    let kind = match semantic {
        Semantic::Date | Semantic::IsoDate => "date",
        Semantic::Time(_) | Semantic::IsoTime => "time(6)",
        Semantic::Timestamp(_) | Semantic::IsoTimestamp => "timestamp(6)",
        Semantic::ZonedTimestamp => "timestamptz",
        Semantic::Instant(_) => timestamp(typing),
        Semantic::ZonedTime => "timetz",
        Semantic::Duration(_) | Semantic::Interval | Semantic::Period | Semantic::Elapsed => {
            "interval"
        }
        Semantic::Unsigned if dialect == TypeDialect::Own => "numeric(20)",
        Semantic::Json if dialect == TypeDialect::DJdbc => "json",
        Semantic::Json => "jsonb",
        Semantic::Xml => "xml",
        Semantic::Uuid => "uuid",
        Semantic::TsVector => "tsvector",
        Semantic::Bits => {
            let length = schema.parameter("length").and_then(|n| n.parse::<u32>().ok());
            return Some(match length {
                Some(length @ 1..=BITS_MAX) => format!("bit({length})"),
                _ => "bit varying".to_owned(),
            });
        }
        // ltree is an extension's type; enums and the rest are what their plain type is.
        Semantic::Ltree
        | Semantic::Enum
        | Semantic::EnumSet
        | Semantic::Year
        | Semantic::Geometry
        | Semantic::Unsigned
        | Semantic::VariableScaleDecimal => return None,
    };
    Some(kind.to_owned())
}

/// Elements with a column type of their own, arrays of them included.
fn is_flat(items: &Schema) -> bool {
    match items.kind() {
        Type::Array => items.value_schema().is_some_and(|inner| is_flat(inner)),
        _ => items.is_primitive(),
    }
}

fn timestamp(typing: Typing) -> &'static str {
    match (typing.dialect, typing.timestamps) {
        (TypeDialect::Own, TimestampColumn::Timestamptz) => "timestamptz",
        (TypeDialect::DJdbc, _) => "timestamp(6)",
        _ => "timestamp",
    }
}

/// numeric, with a precision where the schema names one that PostgreSQL can hold.
fn decimal(schema: &Schema, scale: Option<i32>, dialect: TypeDialect) -> String {
    const PRECISION_MAX: i32 = 1000;
    if matches!(dialect, TypeDialect::CJdbc | TypeDialect::AJdbc) {
        return "numeric".to_owned();
    }
    let precision = schema.parameter("connect.decimal.precision").and_then(|p| p.parse().ok());
    match (precision, scale) {
        (Some(precision @ 1..=PRECISION_MAX), Some(scale)) if (0..=precision).contains(&scale) => {
            format!("numeric({precision},{scale})")
        }
        _ => "numeric".to_owned(),
    }
}

/// Columns that hold Debezium's numbers and bytes as they are.
fn is_plain_kind(kind: &str) -> bool {
    matches!(kind, "integer" | "bigint" | "bytea")
}

/// The SQL of a default; `None` where PostgreSQL has no form for it.
fn default_literal(schema: &Schema, value: &Value, kind: &str) -> Option<String> {
    let text = match value {
        Value::Null => return None,
        // A number is no default of a column of timestamps; rows have theirs written out.
        _ if hides_default(schema) && !is_plain_kind(kind) => return None,
        // The text is the document, not a word in it.
        Value::Text(text) if Semantic::meaning(schema) == Some(Semantic::Json) => {
            return Some(names::literal(text)).filter(|_| !text.contains('\0'));
        }
        Value::Bytes(bytes) => return Some(names::bytes_literal(bytes)),
        Value::List(items) if kind.ends_with("[]") => {
            let (element, items_schema) = (kind.strip_suffix("[]")?, schema.value_schema()?);
            let literals = items
                .iter()
                .map(|item| match item {
                    Value::Null => Some("NULL".to_owned()),
                    item => default_literal(items_schema, item, element),
                })
                .collect::<Option<Vec<_>>>()?;
            return Some(format!("ARRAY[{}]::{kind}", literals.join(", ")));
        }
        // A column of numbers holds the number, whatever it stands for.
        Value::Int(number, _) if hides_default(schema) => number.to_string(),
        other => json_text(schema, other)?,
    };
    let plain = match serde_json::from_str(&text) {
        // Dates and times, NaN and ordinary text; JSON text stays JSON where the column is.
        Ok(serde_json::Value::String(plain)) if kind != "jsonb" => plain,
        _ => text,
    };
    if plain.contains('\0') || plain.contains("\\u0000") {
        return None;
    }
    let bare = matches!(value, Value::Bool(_)) || (!plain.is_empty() && is_number(&plain));
    Some(if bare && kind != "text" && kind != "jsonb" { plain } else { names::literal(&plain) })
}

/// Dates and times as ISO 8601 text, numbers with all their digits.
fn json_text(schema: &Schema, value: &Value) -> Option<String> {
    let mut rows = Rows::default();
    let cell = rows.put_value(Some(schema), value);
    let mut out = Vec::new();
    write_plain_json(&rows, Some(schema), cell, &mut out);
    String::from_utf8(out).ok()
}

/// Digits with at most a sign and a point: nothing that needs quotes.
fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    digits.bytes().all(|b| b.is_ascii_digit() || b == b'.')
        && digits.bytes().filter(|b| *b == b'.').count() <= 1
        && digits.bytes().any(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use data::SchemaBuilder;
    use std::sync::Arc;

    const OWN: Typing =
        Typing { dialect: TypeDialect::Own, timestamps: TimestampColumn::Timestamptz };

    fn kind(schema: Schema, dialect: TypeDialect) -> String {
        column_type(Some(&schema), Typing { dialect, ..OWN })
    }

    #[test]
    fn debeziums_types_have_the_types_of_the_database() {
        let named =
            |name: &str, kind: Type| SchemaBuilder::new(kind).name(&format!("io.debezium.{name}"));
        let bits = named("data.Bits", Type::Bytes).parameter("length", "3");
        for (schema, own, debezium, others) in [
            (named("time.Date", Type::Int32), "date", "date", "integer"),
            (named("time.MicroTime", Type::Int64), "time(6)", "time(6)", "bigint"),
            (named("time.MicroTimestamp", Type::Int64), "timestamp(6)", "timestamp(6)", "bigint"),
            (named("time.ZonedTimestamp", Type::String), "timestamptz", "timestamptz", "text"),
            (named("time.ZonedTime", Type::String), "timetz", "timetz", "text"),
            (named("time.MicroDuration", Type::Int64), "interval", "interval", "bigint"),
            (named("time.Year", Type::Int32), "integer", "integer", "integer"),
            (named("data.Json", Type::String), "jsonb", "json", "text"),
            (named("data.Uuid", Type::String), "uuid", "uuid", "text"),
            (named("data.Xml", Type::String), "xml", "xml", "text"),
            (named("data.Enum", Type::String), "text", "text", "text"),
            (bits, "bit(3)", "bit(3)", "bytea"),
            (named("data.Bits", Type::Bytes), "bit varying", "bit varying", "bytea"),
            (named("data.VariableScaleDecimal", Type::Struct), "numeric", "numeric", "numeric"),
        ] {
            let schema = schema.build().unwrap();
            let kinds =
                [TypeDialect::Own, TypeDialect::DJdbc, TypeDialect::CJdbc, TypeDialect::AJdbc];
            let seen = kinds.map(|dialect| kind(schema.clone(), dialect));
            assert_eq!(seen, [own, debezium, others, others], "{:?}", schema.name());
        }
    }

    #[test]
    fn defaults_of_debeziums_types_are_left_to_the_rows_or_written_as_text() {
        let literal = |name: &str, kind: Type, value: Value, column: &str| {
            let schema = SchemaBuilder::new(kind).name(&format!("io.debezium.{name}"));
            default_literal(&schema.build().unwrap(), &value, column)
        };
        let text = |text: &str| Value::Text(text.to_owned());
        let zero = || Value::int(0);
        assert_eq!(literal("time.MicroTimestamp", Type::Int64, zero(), "timestamp(6)"), None);
        let raw = literal("time.MicroTimestamp", Type::Int64, zero(), "bigint");
        assert_eq!(raw.as_deref(), Some("0"));
        let json = literal("data.Json", Type::String, text("{\"a\": 1}"), "jsonb");
        assert_eq!(json.as_deref(), Some("'{\"a\": 1}'"));
        let zoned = literal(
            "time.ZonedTimestamp",
            Type::String,
            text("1970-01-01T00:00:00Z"),
            "timestamptz",
        );
        assert_eq!(zoned.as_deref(), Some("'1970-01-01T00:00:00Z'"));
    }

    #[test]
    fn every_schema_type_has_its_column_type() {
        let string = Arc::new(Schema::new(Type::String));
        let nested = Arc::new(SchemaBuilder::array(string.clone()).build().unwrap());
        let map = SchemaBuilder::map(string.clone(), string.clone()).build().unwrap();
        let structs = SchemaBuilder::array(Arc::new(SchemaBuilder::structure().build().unwrap()));
        for (schema, expect) in [
            (Schema::new(Type::Int8), "smallint"),
            (Schema::new(Type::Int32), "integer"),
            (Schema::new(Type::Int64), "bigint"),
            (Schema::new(Type::Float32), "real"),
            (Schema::new(Type::Float64), "double precision"),
            (Schema::new(Type::Boolean), "boolean"),
            (Schema::new(Type::String), "text"),
            (Schema::new(Type::Bytes), "bytea"),
            (SchemaBuilder::array(string).build().unwrap(), "text[]"),
            (SchemaBuilder::array(nested).build().unwrap(), "text[][]"),
            (structs.build().unwrap(), "jsonb"),
            (map, "jsonb"),
            (SchemaBuilder::date().build().unwrap(), "date"),
            (SchemaBuilder::time().build().unwrap(), "time(3)"),
            (SchemaBuilder::timestamp().build().unwrap(), "timestamptz"),
            (SchemaBuilder::decimal(2).build().unwrap(), "numeric"),
        ] {
            assert_eq!(kind(schema, TypeDialect::Own), expect);
        }
        assert_eq!(column_type(None, OWN), "jsonb");
    }

    #[test]
    fn other_connectors_types_are_theirs() {
        let money = || {
            let builder = SchemaBuilder::decimal(2).parameter("connect.decimal.precision", "10");
            builder.build().unwrap()
        };
        let time = || SchemaBuilder::timestamp().build().unwrap();
        assert_eq!(kind(money(), TypeDialect::Own), "numeric(10,2)");
        assert_eq!(kind(money(), TypeDialect::DJdbc), "numeric(10,2)");
        assert_eq!(kind(money(), TypeDialect::CJdbc), "numeric");
        assert_eq!(kind(time(), TypeDialect::CJdbc), "timestamp");
        assert_eq!(kind(time(), TypeDialect::DJdbc), "timestamp(6)");
        assert_eq!(kind(SchemaBuilder::time().build().unwrap(), TypeDialect::AJdbc), "time");
    }

    #[test]
    fn defaults_are_literals() {
        let of = |builder: SchemaBuilder, value: Value| {
            let schema = builder.build().unwrap();
            let kind = column_type(Some(&schema), OWN);
            default_literal(&schema, &value, &kind)
        };
        let plain = SchemaBuilder::new;
        for (builder, value, expect) in [
            (plain(Type::Int32), Value::int(-7), "-7"),
            (plain(Type::Boolean), Value::Bool(true), "true"),
            (plain(Type::String), Value::Text("it's".into()), "'it''s'"),
            (plain(Type::String), Value::Text("7".into()), "'7'"),
            (plain(Type::Float64), Value::Float(f64::NAN), "'NaN'"),
            (plain(Type::Bytes), Value::Bytes(vec![1]), "decode('01', 'hex')"),
            (SchemaBuilder::date(), Value::int(0), "'1970-01-01'"),
            (SchemaBuilder::decimal(2), Value::Decimal { unscaled: vec![125], scale: 2 }, "1.25"),
            (
                SchemaBuilder::array(Arc::new(Schema::new(Type::Int32))),
                Value::List(vec![Value::int(1), Value::Null]),
                "ARRAY[1, NULL]::integer[]",
            ),
        ] {
            assert_eq!(of(builder, value).as_deref(), Some(expect));
        }
        assert_eq!(of(plain(Type::String), Value::Text("a\0b".into())), None);
    }

    #[test]
    fn statements_hold_back_nothing_unquoted() {
        let column = |name: &str, nullable| NewColumn {
            name: name.to_owned(),
            schema: Some(Arc::new(Schema::new(Type::Int64))),
            nullable,
        };
        let name = TableName { schema: Some("s".to_owned()), name: "t\"x".to_owned() };
        let table = NewTable {
            name: name.clone(),
            columns: vec![column("id", false), column("b", true)],
            primary_key: vec!["id".to_owned()],
            updates_expected: true,
        };
        assert_eq!(
            create_table(&table, OWN),
            "CREATE TABLE IF NOT EXISTS \"s\".\"t\"\"x\" (\"id\" bigint NOT NULL, \"b\" bigint, \
             PRIMARY KEY (\"id\")) WITH (fillfactor = 50)"
        );
        assert_eq!(
            add_columns(&name, &[column("c", true), column("d", true)], OWN),
            "ALTER TABLE \"s\".\"t\"\"x\" ADD COLUMN IF NOT EXISTS \"c\" bigint, \
             ADD COLUMN IF NOT EXISTS \"d\" bigint"
        );
        assert!(check_names(["a", &"x".repeat(64)]).is_err());
    }
}
