//! The options of the Aiven JDBC sink.

use super::{
    Dialect, ForeignKey, RETRIES, boolean_quotes, dialect_name, ignore, map, pk_mode, turn,
};
use crate::config::TypeDialect;

static KEYS: [ForeignKey; 13] = [
    map("connection.url", "connection.url"),
    map("connection.user", "connection.user"),
    map("connection.password", "connection.password"),
    ignore("connection.attempts", RETRIES),
    ignore("connection.backoff.ms", RETRIES),
    turn("dialect.name", "connection.url", None, dialect_name),
    turn("insert.mode", "insert.mode", Some("insert"), |value| {
        // Many rows a statement are the rule here.
        let mode = value.to_ascii_lowercase();
        let mode = if mode == "multi" { "insert".to_owned() } else { mode };
        Ok(vec![("insert.mode", mode)])
    }),
    turn("pk.mode", "pk.mode", Some("none"), pk_mode),
    map("pk.fields", "pk.fields"),
    map("fields.whitelist", "fields.include"),
    turn("sql.quote.identifiers", "quote.identifiers", Some("true"), boolean_quotes),
    map("max.retries", "max.retries"),
    ignore("retry.backoff.ms", RETRIES),
];

pub(super) static DIALECT: Dialect = Dialect {
    types: TypeDialect::AJdbc,
    keys: &KEYS,
    ignored_prefixes: &[("mssql.", "it is about another database")],
    defaults: &[],
    also: &[],
    default_notices: &[],
};
