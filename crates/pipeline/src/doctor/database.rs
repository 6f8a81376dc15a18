//! The database's half of `copycat pg doctor`.

use super::Check;
use crate::control::{Error, check_identity};
use crate::install::{Found, Installer, find};
use crate::schema::{SCHEMA_VERSION, code_digest};
use sql::postgres::wire::{Rows, Wait};
use std::time::Duration;

const LOOK_MAX: Duration = Duration::from_secs(30);

/// False where there is no schema to look at further.
pub(super) fn examine(installer: &mut Installer, tell: &mut dyn FnMut(Check)) -> bool {
    let version = installer.connection().parameter("server_version").unwrap_or("?").to_owned();
    tell(Check::ok("database", format!("PostgreSQL {version} at {} answers", installer.place)));
    let result = read_only(installer, tell)
        .and_then(|()| schema(installer, tell))
        .and_then(|there| if there { rights(installer, tell).map(|()| true) } else { Ok(false) });
    match result {
        Ok(there) => there,
        Err(error) => {
            tell(Check::of_error("database", error));
            false
        }
    }
}

fn query(installer: &mut Installer, sql: &str) -> Result<Rows, Error> {
    Ok(installer.connection().query_text(sql, Wait::at_most(LOOK_MAX))?)
}

fn read_only(installer: &mut Installer, tell: &mut dyn FnMut(Check)) -> Result<(), Error> {
    let rows = query(installer, "SELECT current_setting('transaction_read_only'), current_user")?;
    let role = rows.text(0, 1).unwrap_or_default().to_owned();
    tell(match rows.text(0, 0) {
        Some("on") => Check::failed(
            "writes",
            "the server takes none (a standby, or default_transaction_read_only)",
            "list all hosts in the URL with target_session_attrs=read-write",
        ),
        _ => Check::ok("writes", format!("the server takes them, as the role {role}")),
    });
    Ok(())
}

fn schema(installer: &mut Installer, tell: &mut dyn FnMut(Check)) -> Result<bool, Error> {
    const SUBJECT: &str = "schema pipeline_kafka";
    let check = match find(installer.connection())? {
        Found::Nothing | Found::Empty => {
            tell(Check::failed(SUBJECT, "is not installed", "copycat pg install"));
            return Ok(false);
        }
        Found::Foreign(what) => {
            let fix = "keep what you need of it, rename or drop it, then copycat pg install";
            tell(Check::failed(SUBJECT, format!("is not ours: {what}"), fix));
            return Ok(false);
        }
        Found::Installed { version, .. } if version > SCHEMA_VERSION => {
            let text = format!("version {version}; this program knows {SCHEMA_VERSION}");
            Check::failed(SUBJECT, text, "run a newer copycat")
        }
        Found::Installed { version, code } if version < SCHEMA_VERSION || code != code_digest() => {
            let text = format!("version {version} is not as this program has it");
            Check::failed(SUBJECT, text, "copycat pg upgrade")
        }
        Found::Installed { version, .. } => Check::ok(SUBJECT, format!("version {version}")),
    };
    let known = check.outcome == super::Outcome::Ok;
    tell(check);
    if known {
        tell(match check_identity(installer.connection()) {
            Ok(()) => Check::ok("identity", "the database is the one it was installed into"),
            Err(error) => Check::of_error("identity", error),
        });
    }
    Ok(known)
}

const TABLES: &str = "SELECT string_agg(DISTINCT c.relname, ', '), current_user \
    FROM pg_catalog.pg_class c, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS p \
    WHERE c.relnamespace = 'pipeline_kafka'::regnamespace AND c.relkind = 'r' \
    AND c.relname NOT IN ('installation', 'migrations') AND NOT has_table_privilege(c.oid, p)";

const OWNERS: &str = "SELECT c.owner, count(*), bool_or(r.oid IS NULL), current_user, \
      pipeline_kafka._way_to_act(c.owner, quote_ident(current_user)) \
    FROM pipeline_kafka.consumers c LEFT JOIN pg_catalog.pg_roles r ON r.rolname = c.owner \
    WHERE NOT pipeline_kafka._can_become(current_user, c.owner) GROUP BY 1 ORDER BY 1";

const TARGETS: &str = "SELECT c.topic, r.relation::text, t.oid IS NULL, t.relpersistence = 'u', \
      NOT coalesce(has_table_privilege(o.oid, t.oid, 'INSERT') \
        OR has_any_column_privilege(o.oid, t.oid, 'INSERT'), true), c.owner \
    FROM pipeline_kafka.consumers c \
    CROSS JOIN LATERAL unnest(coalesce(c.relations, ARRAY[c.relation])) AS r(relation) \
    LEFT JOIN pg_catalog.pg_class t ON t.oid = r.relation \
    LEFT JOIN pg_catalog.pg_roles o ON o.rolname = c.owner ORDER BY c.id, 2";

/// What a worker that logs in as this role may do.
fn rights(installer: &mut Installer, tell: &mut dyn FnMut(Check)) -> Result<(), Error> {
    let rows = query(installer, TABLES)?;
    let role = rows.text(0, 1).unwrap_or_default().to_owned();
    tell(match rows.text(0, 0) {
        Some(tables) => Check::failed(
            "rights",
            format!("the role {role} lacks rights on {tables}"),
            format!("as the owner of the schema: SELECT pipeline_kafka.grant_worker('{role}')"),
        ),
        None => Check::ok("rights", format!("the role {role} may use all tables of the schema")),
    });
    let rows = query(installer, OWNERS)?;
    for row in 0..rows.len() {
        let owner = rows.text(row, 0).unwrap_or_default();
        tell(match rows.text(row, 2) {
            Some("t") => Check::failed(
                format!("role {owner}"),
                "owns consumers and does not exist any more",
                "drop_consumer, and consume_begin as another role",
            ),
            _ => Check::failed(
                format!("role {owner}"),
                format!("owns consumers, and {role} is no member of it"),
                rows.text(row, 4).unwrap_or_default(),
            ),
        });
    }
    let rows = query(installer, TARGETS)?;
    for row in 0..rows.len() {
        tell(target(&rows, row));
    }
    Ok(())
}

fn target(rows: &Rows, row: usize) -> Check {
    let topic = rows.text(row, 0).unwrap_or_default();
    let relation = rows.text(row, 1).unwrap_or_default();
    let owner = rows.text(row, 5).unwrap_or_default();
    let subject = format!("consumer of {topic} into {relation}");
    if rows.text(row, 2) == Some("t") {
        let fix = format!("SELECT pipeline_kafka.drop_consumer('{topic}', {relation}::regclass);");
        return Check::failed(subject, "the relation does not exist any more", fix);
    }
    if rows.text(row, 4) == Some("t") {
        let fix = format!("GRANT INSERT ON {relation} TO {owner};");
        return Check::failed(subject, format!("its owner {owner} may not insert"), fix);
    }
    if rows.text(row, 3) == Some("t") {
        let text = "the relation is UNLOGGED: a crash empties it while the position stays";
        return Check::warning(subject, text, &format!("ALTER TABLE {relation} SET LOGGED;"));
    }
    Check::ok(subject, "the relation is there and can be written to")
}

const SNAPSHOT: &str = "SELECT date_trunc('second', pipeline_kafka._old_snapshot())";
const WORKERS: &str = "SELECT host, pid, version, \
    extract(epoch FROM clock_timestamp() - heartbeat_at)::int, pipeline_kafka._alive(heartbeat_at) \
    FROM pipeline_kafka.workers ORDER BY heartbeat_at DESC LIMIT 20";
const BLOCKED: &str = "SELECT topic, coalesce(relation::text, 'several relations'), \
    coalesce(state_detail, '') FROM pipeline_kafka.consumers WHERE enabled AND state = 'blocked' \
    ORDER BY id";

/// Vacuum, workers, and consumers that wait for a person.
pub(super) fn examine_running(installer: &mut Installer, tell: &mut dyn FnMut(Check)) {
    if let Err(error) = running(installer, tell) {
        tell(Check::of_error("database", error));
    }
}

fn running(installer: &mut Installer, tell: &mut dyn FnMut(Check)) -> Result<(), Error> {
    tell(match query(installer, SNAPSHOT)?.text(0, 0) {
        None => Check::ok("vacuum", "no transaction that we see is older than ten minutes"),
        Some(age) => Check::warning(
            "vacuum",
            format!("a transaction has been open for {age}, which slows the table of positions"),
            "find it: SELECT pid, query FROM pg_stat_activity ORDER BY xact_start LIMIT 1;",
        ),
    });
    let rows = query(installer, WORKERS)?;
    let mut alive = false;
    for row in 0..rows.len() {
        let text = |at| rows.text(row, at).unwrap_or_default();
        let subject = format!("worker {}:{}", text(0), text(1));
        if text(4) == "t" {
            alive = true;
            tell(Check::ok(subject, format!("version {}, alive", text(2))));
        } else {
            let finding = format!("has said nothing for {} s", text(3));
            tell(Check::warning(
                subject,
                finding,
                "look at its log, or forget it if it was stopped",
            ));
        }
    }
    if !alive {
        let fix = "copycat pg run --database-url …";
        tell(Check::failed("workers", "none is alive, so nothing is consumed", fix));
    }
    let rows = query(installer, BLOCKED)?;
    for row in 0..rows.len() {
        let text = |at| rows.text(row, at).unwrap_or_default().to_owned();
        let subject = format!("consumer of {} into {}", text(0), text(1));
        tell(Check::failed(subject, "is blocked", text(2)));
    }
    Ok(())
}
