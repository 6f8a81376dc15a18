//! Whether this is the database that the schema was installed into.
//!
//! Place in the data path: looked at with every new connection. A dump that was restored elsewhere, or
//! `CREATE DATABASE … TEMPLATE`, brings consumers and positions along; a worker there would join the
//! production group. A promoted replica is the same database.

use super::error::{Error, ErrorKind};
use crate::schema::{SCHEMA_VERSION, code_digest};
use sql::postgres::wire::{Connection, Wait};

/// `pg_control_system()` is open to everyone unless someone took it away.
pub(crate) const SYSTEM_IDENTIFIER: &str = "CASE WHEN has_function_privilege(\
    'pg_catalog.pg_control_system()', 'EXECUTE') \
    THEN (SELECT s.system_identifier FROM pg_catalog.pg_control_system() s) END";

/// # Errors
/// `Schema`: not installed, or of another version. `Copied`: another database.
pub(super) fn check(connection: &mut Connection, wait: Wait<'_>) -> Result<(), Error> {
    let exists =
        "SELECT to_regclass('pipeline_kafka.installation') IS NOT NULL, current_database()";
    let rows = connection.query_text(exists, wait)?;
    let database = rows.text(0, 1).unwrap_or_default().to_owned();
    if rows.text(0, 0) != Some("t") {
        let text = format!("the schema pipeline_kafka is not in the database {database}");
        return Err(Error::new(ErrorKind::Schema, text).hint("run copycat pg install"));
    }
    let sql = format!(
        "SELECT i.schema_version, i.database_oid = d.oid AND i.database_name = d.datname, \
         i.system_identifier = {SYSTEM_IDENTIFIER}, i.database_name, i.code_digest \
         FROM pipeline_kafka.installation i, pg_catalog.pg_database d \
         WHERE d.datname = current_database()"
    );
    let rows = connection.query_text(&sql, wait)?;
    let version: i32 = rows.parsed(0, 0).unwrap_or(0);
    if version != SCHEMA_VERSION {
        let text = format!(
            "the schema pipeline_kafka has version {version}, and this program works with {SCHEMA_VERSION}"
        );
        let hint = if version < SCHEMA_VERSION {
            "run copycat pg upgrade"
        } else {
            "run a newer copycat; an older one ran here before"
        };
        return Err(Error::new(ErrorKind::Schema, text).hint(hint));
    }
    if rows.text(0, 4) != Some(&*code_digest()) {
        tracing::warn!(
            "the functions of the schema pipeline_kafka are not as this program has them; run \
             copycat pg upgrade once all workers are of one version"
        );
    }
    if rows.text(0, 1) != Some("t") || rows.text(0, 2) == Some("f") {
        let was = rows.text(0, 3).unwrap_or_default();
        let text = format!(
            "the schema pipeline_kafka was installed into another database ({was}); this one, \
             {database}, is a copy, whose consumers and positions came along"
        );
        return Err(Error::new(ErrorKind::Copied, text).hint(
            "if it takes the place of the other one, run again with --accept-database; if it lives \
             beside it, remove the consumers first: SELECT pipeline_kafka.drop_consumer(topic, \
             relation) FROM pipeline_kafka.consumers",
        ));
    }
    Ok(())
}

/// From now on this is the database.
pub(super) fn accept(connection: &mut Connection, wait: Wait<'_>) -> Result<(), Error> {
    let sql = format!(
        "UPDATE pipeline_kafka.installation SET id = gen_random_uuid(), \
         system_identifier = {SYSTEM_IDENTIFIER}, database_oid = d.oid, \
         database_name = d.datname, accepted_at = now() \
         FROM pg_catalog.pg_database d WHERE d.datname = current_database()"
    );
    connection.execute(&sql, wait)?;
    Ok(())
}
