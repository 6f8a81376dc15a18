//! The options of the Debezium JDBC sink.

use super::turn;
use super::{Dialect, ForeignKey, RETRIES, boolean_quotes, ignore, lower, map, only_if, pk_mode};
use crate::config::TypeDialect;

const NAMING: &str = "Java classes cannot be loaded; see table.name.format, table.name.normalize \
                      and topics.to.tables.mapping";

static KEYS: [ForeignKey; 32] = [
    map("connection.url", "connection.url"),
    map("connection.username", "connection.user"),
    map("connection.password", "connection.password"),
    ignore("connection.provider", "each task has one connection"),
    ignore("connection.restart.on.errors", RETRIES),
    turn("insert.mode", "insert.mode", Some("insert"), |v| Ok(lower("insert.mode", v))),
    map("truncate.enabled", "truncate.enabled"),
    turn("primary.key.mode", "pk.mode", Some("none"), pk_mode),
    map("primary.key.fields", "pk.fields"),
    turn("schema.evolution", "auto.evolve", Some("none"), evolution),
    turn("quote.identifiers", "quote.identifiers", Some("false"), boolean_quotes),
    map("collection.name.format", "table.name.format"),
    map("table.name.format", "table.name.format"),
    only_if(
        "collection.naming.strategy",
        &["", "io.debezium.sink.naming.defaultcollectionnamingstrategy"],
        NAMING,
    ),
    only_if(
        "table.naming.strategy",
        &[
            "",
            "io.debezium.connector.jdbc.naming.defaulttablenamingstrategy",
            "io.debezium.sink.naming.defaultcollectionnamingstrategy",
        ],
        NAMING,
    ),
    only_if(
        "column.naming.strategy",
        &[
            "",
            "io.debezium.connector.jdbc.naming.defaultcolumnnamingstrategy",
            "io.debezium.sink.naming.defaultcolumnnamingstrategy",
        ],
        NAMING,
    ),
    map("use.time.zone", "db.timezone"),
    map("database.time_zone", "db.timezone"),
    map("field.include.list", "fields.include"),
    map("field.exclude.list", "fields.exclude"),
    map("flush.max.retries", "max.retries"),
    ignore("flush.retry.delay.ms", RETRIES),
    ignore("use.reduction.buffer", "operations on one key are always reduced to the last"),
    ignore("keyed.message.batch.mode", "operations on one key are always reduced to the last"),
    ignore("dialect.postgres.postgis.schema", "the column's own type decides"),
    ignore("dialect.postgres.unnest.insert.enabled", "the fastest way to write is always chosen"),
    ignore("cloud.events.schema.name.pattern", "values are written as the converter reads them"),
    ignore("connection.pool.min_size", "each task has one connection"),
    ignore("connection.pool.max_size", "each task has one connection"),
    ignore("connection.pool.acquire_increment", "each task has one connection"),
    ignore("connection.pool.timeout", "each task has one connection"),
    ignore("value.converter.schemas.cache.size", "schemas are kept as long as they are used"),
];

fn evolution(value: &str) -> Result<Vec<(&'static str, String)>, String> {
    let evolve = match value.to_ascii_lowercase().as_str() {
        "basic" => "true",
        // A field without a column is an error either way.
        "none" | "validate-only" => "false",
        _ => return Err("String must be one of: none, validate-only, basic".to_owned()),
    };
    Ok(vec![("auto.create", evolve.to_owned()), ("auto.evolve", evolve.to_owned())])
}

pub(super) static DIALECT: Dialect = Dialect {
    types: TypeDialect::DJdbc,
    keys: &KEYS,
    ignored_prefixes: &[
        ("hibernate.", "there is no ORM layer"),
        ("dialect.", "it is about another database"),
        ("connection.pool.", "each task has one connection"),
    ],
    defaults: &[
        ("table.name.dots", "underscore"),
        ("quote.identifiers", "never"),
        ("change.events", "any"),
    ],
    also: &[("auto.create", "schema.evolution")],
    default_notices: &[],
};
