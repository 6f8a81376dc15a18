//! The PostgreSQL sink. Everything it does is in crate `sql`; here are its names.

use crate::sql_connector::{SqlConnector, UrlKind};
use api::{Connector, ConnectorPlugin};
use sql::foreign::{AIVEN_CLASS, CONFLUENT_CLASS, CONFLUENT_NAMES, DEBEZIUM_CLASS};
use sql::postgres::PostgresDatabase;
use sql::settings::DatabaseForm;

const CLASS: &str = "io.copycat.PostgresSinkConnector";

/// The registry entry.
pub static PLUGIN: ConnectorPlugin = ConnectorPlugin {
    class: CLASS,
    aliases: &[
        "postgres-sink",
        "PostgresSinkConnector",
        "PostgresSink",
        CONFLUENT_CLASS,
        CONFLUENT_NAMES[0],
        CONFLUENT_NAMES[1],
        AIVEN_CLASS,
        DEBEZIUM_CLASS,
    ],
    version: env!("CARGO_PKG_VERSION"),
    summary: "Writes records into PostgreSQL tables, each exactly once",
    claims: |props| UrlKind::of_props(props) == UrlKind::Postgres,
    make: || {
        Connector::Sink(Box::new(SqlConnector {
            kind: UrlKind::Postgres,
            class: CLASS,
            form: DatabaseForm::POSTGRES,
            open: |settings| Ok(Box::new(PostgresDatabase::new(settings)?)),
        }))
    },
};
