//! The options of the Confluent JDBC sink.

use super::{Dialect, ForeignKey, RETRIES, dialect_name, ignore, lower, map, only_if, pk_mode};
use super::{quotes, turn};
use crate::config::TypeDialect;

static KEYS: [ForeignKey; 26] = [
    map("connection.url", "connection.url"),
    map("connection.user", "connection.user"),
    map("connection.password", "connection.password"),
    ignore("connection.attempts", RETRIES),
    ignore("connection.backoff.ms", RETRIES),
    turn("dialect.name", "connection.url", None, dialect_name),
    turn("insert.mode", "insert.mode", Some("insert"), |v| Ok(lower("insert.mode", v))),
    turn("pk.mode", "pk.mode", Some("none"), pk_mode),
    map("pk.fields", "pk.fields"),
    map("fields.whitelist", "fields.include"),
    turn("quote.sql.identifiers", "quote.identifiers", Some("always"), quotes),
    map("replace.null.with.default", "replace.null.with.default"),
    map("max.retries", "max.retries"),
    ignore("retry.backoff.ms", RETRIES),
    map("timestamp.fields.list", "timestamp.fields.list"),
    turn("timestamp.precision.mode", "timestamp.precision.mode", Some("microseconds"), |v| {
        Ok(lower("timestamp.precision.mode", v))
    }),
    ignore(
        "date.timezone",
        "a date is a calendar day and is never moved to another time zone, as with UTC",
    ),
    ignore("date.calendar.system", "days are counted in the proleptic Gregorian calendar"),
    only_if(
        "jdbc.credentials.provider.class",
        &["", "io.confluent.connect.jdbc.util.defaultjdbccredentialsprovider"],
        "Java classes cannot be loaded; use connection.user and connection.password, which may \
         refer to a config provider",
    ),
    ignore("trim.sensitive.log", "log lines have no values of records in them"),
    ignore("mssql.use.merge.holdlock", "it is about another database"),
    ignore("sql.complex.types.enable", "nested values always go into json columns"),
    ignore("hstore.handling.mode", "the column's own type decides"),
    ignore("connection.ms.max.age", "connections are kept while they work"),
    ignore("database.ping.timeout.ms", "a broken connection is found out when it is used"),
    ignore("table.name.case", "names are used as they are; see quote.identifiers"),
];

pub(super) static DIALECT: Dialect = Dialect {
    types: TypeDialect::CJdbc,
    keys: &KEYS,
    ignored_prefixes: &[
        ("jdbc.credentials.provider.", "Java classes cannot be loaded"),
        ("mssql.", "it is about another database"),
        ("oracle.", "it is about another database"),
        ("confluent.", "there is no licence to check"),
    ],
    defaults: &[("replace.null.with.default", "true")],
    also: &[],
    default_notices: &[(
        "replace.null.with.default",
        "under this class name replace.null.with.default is true unless it is set: a null in an \
         optional field that has a default is stored as the default",
    )],
};
