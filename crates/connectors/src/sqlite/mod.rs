//! The SQLite sink. Everything it does is in crate `sql`; here are its names.

use crate::sql_connector::{SqlConnector, UrlKind};
use api::{Connector, ConnectorPlugin};
use sql::foreign::{AIVEN_CLASS, CONFLUENT_CLASS, CONFLUENT_NAMES, DEBEZIUM_CLASS};
use sql::settings::DatabaseForm;
use sql::sqlite::SqliteDatabase;

const CLASS: &str = "io.copycat.SqliteSinkConnector";

/// The registry entry.
pub static PLUGIN: ConnectorPlugin = ConnectorPlugin {
    class: CLASS,
    aliases: &[
        "sqlite-sink",
        "SqliteSinkConnector",
        "SqliteSink",
        CONFLUENT_CLASS,
        CONFLUENT_NAMES[0],
        CONFLUENT_NAMES[1],
        AIVEN_CLASS,
        DEBEZIUM_CLASS,
    ],
    version: env!("CARGO_PKG_VERSION"),
    summary: "Writes records into tables of an SQLite file, each exactly once",
    claims: |props| UrlKind::of_props(props) == UrlKind::Sqlite,
    make: || {
        Connector::Sink(Box::new(SqlConnector {
            kind: UrlKind::Sqlite,
            class: CLASS,
            form: DatabaseForm::SQLITE,
            open: |settings| Ok(Box::new(SqliteDatabase::new(settings)?)),
        }))
    },
};
