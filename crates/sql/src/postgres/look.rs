//! What a validation asks a PostgreSQL server: address, TLS, login, database, tables, privileges.
//!
//! Place: the control plane. A connection of its own, only SELECTs, and an end at the deadline that the
//! caller's cancel function knows.

use super::errors::convert_connect;
use super::names;
use super::session::{Cancel, Session, named_database};
use super::settings::PgSettings;
use super::store::{dead_letters_ddl, grant, offsets_ddl};
use super::wire::{Connection, PgError, SslMode, Wait};
use crate::database::{DbErrorKind, DbResult};
use crate::look::{DATABASE, DEAD_LETTERS, OFFSETS, PASSWORD, TableLook, URL, failed, missing};
use api::Check;
use std::time::Duration;

const CONNECT_MAX: Duration = Duration::from_secs(10);
const TLS: &str = "database TLS";
const LOGIN: &str = "database login";
const NAME: &str = "database name";
const WRITES: &str = "database writes";

/// The column-wise privileges count: a role may have only those.
const TABLE: &str = "SELECT t.oid IS NOT NULL, has_any_column_privilege(t.oid, 'SELECT'), \
    has_any_column_privilege(t.oid, 'INSERT'), has_any_column_privilege(t.oid, 'UPDATE'), \
    has_table_privilege(t.oid, 'DELETE'), t.schema, has_schema_privilege(t.schema, 'CREATE') \
    FROM (SELECT to_regclass($1::text)::oid AS oid, (SELECT nspname::text \
      FROM pg_catalog.pg_namespace WHERE nspname = coalesce($2::text, current_schema())) AS schema) t";

pub(super) fn look(
    settings: &PgSettings,
    named: bool,
    cancel: &Cancel,
    tables: &[TableLook],
) -> Vec<Check> {
    let stop = || cancel();
    let wait = Wait::at_most(CONNECT_MAX).or_cancelled(&stop);
    let connection = match Connection::connect(&settings.connect, wait) {
        Ok(connection) => connection,
        Err(error) => return not_connected(&error, settings),
    };
    let version = connection.server_version();
    let answers = format!(
        "{} answers, PostgreSQL {}.{}",
        connection.peer(),
        version / 10_000,
        version % 10_000
    );
    let mut checks = vec![Check::ok(DATABASE, answers), tls(&connection, settings)];
    match Session::set_up(connection, settings, named, cancel) {
        Ok(mut session) => {
            if let Err(error) = look_inside(&mut session, tables, &mut checks) {
                checks.push(failed(LOGIN, error, URL));
            }
        }
        Err(error) => checks.push(failed(LOGIN, error, URL)),
    }
    checks
}

fn tls(connection: &Connection, settings: &PgSettings) -> Check {
    if connection.is_tls() {
        return Check::ok(TLS, "the connection is encrypted");
    }
    let why = match settings.connect.ssl_mode {
        SslMode::Disable => "not asked for (sslmode=disable)",
        _ => "the connection is not encrypted, which sslmode allows",
    };
    Check::skipped(TLS, why)
}

/// What a failed connection has got to: lines up to the one that failed, and those behind it.
fn not_connected(error: &PgError, settings: &PgSettings) -> Vec<Check> {
    let stage = stage(error);
    let told = named_database(convert_connect(error), settings);
    let kind = told.kind;
    let key = match stage {
        LOGIN if settings.common.password.is_some() => PASSWORD,
        _ => URL,
    };
    let line = failed(stage, told, key);
    if stage == DATABASE {
        let hint = "check host, port and network: is the server up, and does it listen there?";
        let unhinted = line.hint.is_none() && kind != DbErrorKind::Cancelled;
        let line = if unhinted { line.hint(hint) } else { line };
        return vec![line, Check::skipped(LOGIN, "no server answers")];
    }
    let answers = Check::ok(DATABASE, format!("{} answers", settings.connect));
    vec![answers, line, Check::skipped("tables", "nobody is logged in")]
}

fn stage(error: &PgError) -> &'static str {
    match error {
        PgError::Unreachable(attempts) => {
            let mut stages = attempts.iter().map(|(_, error)| stage(error));
            stages.rfind(|stage| *stage != DATABASE).unwrap_or(DATABASE)
        }
        PgError::Tls(_) => TLS,
        PgError::Auth(_) => LOGIN,
        PgError::Server(server) if server.code == "3D000" => NAME,
        PgError::Server(server) if server.code.starts_with("28") || server.code == "42501" => LOGIN,
        _ => DATABASE,
    }
}

fn look_inside(
    session: &mut Session,
    tables: &[TableLook],
    checks: &mut Vec<Check>,
) -> DbResult<()> {
    let rows = session.query(
        "SELECT current_user, current_database(), current_setting('transaction_read_only')",
        &[],
    )?;
    let text = |column| rows.text(0, column).unwrap_or_default().to_owned();
    let (role, database) = (text(0), text(1));
    checks.push(Check::ok(LOGIN, format!("role {role}, database {database}")));
    if rows.text(0, 2) == Some("on") {
        let line = Check::failed(WRITES, "the server takes no writes")
            .hint("list all hosts in the URL with target_session_attrs=read-write");
        checks.push(line.key(URL));
        return Ok(());
    }
    for look in tables {
        let line = look_at(session, look, &role)?;
        checks.push(line);
    }
    Ok(())
}

fn look_at(session: &mut Session, look: &TableLook, role: &str) -> DbResult<Check> {
    let quoted = names::table(&look.table);
    let rows = session.query(TABLE, &[Some(&quoted), look.table.schema.as_deref()])?;
    let has = |column| rows.text(0, column) == Some("t");
    if has(0) {
        let columns = [("SELECT", 1), ("INSERT", 2), ("UPDATE", 3), ("DELETE", 4)];
        let lacks = columns.iter().filter(|(name, at)| look.privileges.contains(name) && !has(*at));
        let lacks: Vec<&str> = lacks.map(|(name, _)| *name).collect();
        if lacks.is_empty() {
            let text = format!("it is there, with {}", look.privileges.join(", "));
            return Ok(Check::ok(&look.label, text));
        }
        let lacks = lacks.join(", ");
        let text = format!("the role {role} lacks {lacks}");
        let sql = format!("GRANT {lacks} ON {quoted} TO {};", names::ident(role));
        return Ok(Check::failed(&look.label, text).hint(sql).key(look.key));
    }
    if !look.may_create {
        return Ok(missing(look));
    }
    let Some(schema) = rows.text(0, 5) else {
        let text = match &look.table.schema {
            Some(schema) => format!("the schema {schema} does not exist"),
            None => "no schema of the search path exists".to_owned(),
        };
        let name = look.table.schema.as_deref().unwrap_or(role);
        let (name, role) = (names::ident(name), names::ident(role));
        let sql = format!("CREATE SCHEMA {name} AUTHORIZATION {role};");
        return Ok(Check::failed(&look.label, text).hint(sql).key(look.key));
    };
    if has(6) {
        return Ok(Check::ok(&look.label, "it is not there and may be created"));
    }
    let text = format!("it is not there, and the role {role} may not create it in {schema}");
    let sql = match own_ddl(look) {
        Some(ddl) => format!("{ddl};\n{};", grant(&look.table, role)),
        None => format!(
            "create the table, or: GRANT CREATE ON SCHEMA {} TO {};",
            names::ident(schema),
            names::ident(role)
        ),
    };
    Ok(Check::failed(&look.label, text).hint(sql).key(look.key))
}

/// The statement for one of our own tables.
fn own_ddl(look: &TableLook) -> Option<String> {
    match look.key {
        OFFSETS => Some(offsets_ddl(&look.table)),
        DEAD_LETTERS => Some(dead_letters_ddl(&look.table)),
        _ => None,
    }
}
