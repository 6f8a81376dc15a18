//! Puts the schema `pipeline_kafka` in place, brings it up to date, and takes it away.
//!
//! Place in the data path: before it; run by `copycat pg`. Each is one transaction under an advisory
//! lock, so that it happens wholly or not at all, and once when started twice.

use crate::control::{Error, ErrorKind, SYSTEM_IDENTIFIER};
use crate::schema::{self, SCHEMA_VERSION};
use sql::postgres::wire::{ConnectConfig, Connection, Wait};
use std::time::Duration;

/// The oldest server that has everything.
const SERVER_VERSION_MIN: u32 = 130_000;
const CONNECT_MAX: Duration = Duration::from_secs(30);
/// Another installation may have to be waited for, and sessions that use the functions.
const WORK_MAX: Duration = Duration::from_secs(120);
/// Keeps installations of one database apart; ends with the transaction, poolers included.
const LOCK: &str = "SELECT pg_advisory_xact_lock(hashtextextended('pipeline_kafka install', 0))";

/// What is to be done, and what was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// In one sentence, for people.
    pub summary: String,
    /// The statements, without BEGIN and COMMIT; empty: nothing to do.
    pub sql: String,
}

/// What is in the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Nothing,
    /// An empty schema that someone has made for us.
    Empty,
    /// Something else of that name: what it is.
    Foreign(String),
    Installed {
        version: i32,
        code: String,
    },
}

/// A connection for one of the commands.
pub struct Installer {
    connection: Connection,
    /// Where it leads to, without a password.
    pub place: String,
}

impl Installer {
    /// # Errors
    /// `Refused`, `Unreachable`, and `Schema` where the server is too old.
    pub fn connect(url: &str) -> Result<Installer, Error> {
        let config = ConnectConfig::parse(url)?;
        for notice in &config.notices {
            tracing::warn!("{notice}");
        }
        let connection = Connection::connect(&config, Wait::at_most(CONNECT_MAX))?;
        if connection.server_version() < SERVER_VERSION_MIN {
            let version = connection.parameter("server_version").unwrap_or("?");
            let text = format!("PostgreSQL {version} is too old");
            return Err(
                Error::new(ErrorKind::Schema, text).hint("PostgreSQL 13 or newer is needed")
            );
        }
        Ok(Installer { connection, place: config.to_string() })
    }

    fn run(&mut self, sql: &str) -> Result<(), Error> {
        self.connection.execute(sql, Wait::at_most(WORK_MAX))?;
        Ok(())
    }

    pub(crate) fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }

    /// Does `work` in a transaction that no other installation runs beside.
    fn alone<T>(
        &mut self,
        keep: bool,
        work: impl FnOnce(&mut Installer) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.run("BEGIN")?;
        let result = self.run(LOCK).and_then(|()| work(self));
        let end = if keep && result.is_ok() { "COMMIT" } else { "ROLLBACK" };
        match (self.run(end), result) {
            (_, Err(error)) | (Err(error), Ok(_)) => Err(error),
            (Ok(()), Ok(value)) => Ok(value),
        }
    }

    /// Installs; nothing happens where this version is in place. `worker_role`: the role that workers
    /// log in as, if it is another one than that of this connection. With `dry_run` only the plan
    /// is made.
    pub fn install(&mut self, worker_role: Option<&str>, dry_run: bool) -> Result<Plan, Error> {
        self.alone(!dry_run, |me| {
            let mut plan = me.plan_install()?;
            plan.sql.push_str(&grants(worker_role));
            if !dry_run && !plan.sql.is_empty() {
                me.run(&plan.sql).map_err(refused)?;
            }
            Ok(plan)
        })
    }

    fn plan_install(&mut self) -> Result<Plan, Error> {
        let found = find(&mut self.connection)?;
        let sql = match found {
            Found::Nothing => format!("CREATE SCHEMA pipeline_kafka;\n{}", schema::all_sql()),
            Found::Empty => schema::all_sql(),
            Found::Foreign(what) => return Err(foreign(&what)),
            Found::Installed { version, code } => {
                let summary = format!("the schema pipeline_kafka is in place, version {version}");
                if version > SCHEMA_VERSION {
                    return Err(newer(version));
                }
                if version < SCHEMA_VERSION || code != schema::code_digest() {
                    let text = format!("{summary}, and not as this program has it");
                    return Err(Error::new(ErrorKind::Schema, text).hint("run copycat pg upgrade"));
                }
                return Ok(Plan { summary, sql: String::new() });
            }
        };
        let sql = format!("{sql}{}", record_installation());
        let summary = format!("the schema pipeline_kafka is installed, version {SCHEMA_VERSION}");
        Ok(Plan { summary, sql })
    }

    /// Brings tables, functions and views up to what this program has.
    pub fn upgrade(&mut self, dry_run: bool) -> Result<Plan, Error> {
        self.alone(!dry_run, |me| {
            let plan = me.plan_upgrade()?;
            if !dry_run && !plan.sql.is_empty() {
                me.run(&plan.sql).map_err(refused)?;
            }
            Ok(plan)
        })
    }

    fn plan_upgrade(&mut self) -> Result<Plan, Error> {
        let (version, code) = match find(&mut self.connection)? {
            Found::Nothing | Found::Empty => {
                let text = "the schema pipeline_kafka is not in this database";
                return Err(Error::new(ErrorKind::Schema, text).hint("run copycat pg install"));
            }
            Found::Foreign(what) => return Err(foreign(&what)),
            Found::Installed { version, code } => (version, code),
        };
        if version > SCHEMA_VERSION {
            return Err(newer(version));
        }
        if version == SCHEMA_VERSION && code == schema::code_digest() {
            let summary = format!("the schema pipeline_kafka is up to date, version {version}");
            return Ok(Plan { summary, sql: String::new() });
        }
        let summary = if version == SCHEMA_VERSION {
            format!("the functions of the schema pipeline_kafka are replaced, version {version}")
        } else {
            format!(
                "the schema pipeline_kafka is upgraded from version {version} to {SCHEMA_VERSION}"
            )
        };
        let sql = format!("{}{}{}", schema::sql_since(version), record_upgrade(), GRANT_AGAIN);
        Ok(Plan { summary, sql })
    }

    /// What an uninstallation would destroy, a line each.
    pub fn losses(&mut self) -> Result<Vec<String>, Error> {
        match find(&mut self.connection)? {
            Found::Installed { .. } => {}
            Found::Nothing | Found::Empty => {
                let text = "the schema pipeline_kafka is not in this database";
                return Err(Error::new(ErrorKind::Schema, text));
            }
            Found::Foreign(what) => return Err(foreign(&what)),
        }
        let rows = self.connection.query_text(LOSSES, Wait::at_most(WORK_MAX))?;
        Ok((0..rows.len()).filter_map(|row| rows.text(row, 0).map(str::to_owned)).collect())
    }

    /// Removes the schema and everything that depends on it.
    pub fn uninstall(&mut self) -> Result<(), Error> {
        self.alone(true, |me| me.run(UNINSTALL))
    }
}

/// The statement that takes the schema away.
pub const UNINSTALL: &str = "DROP SCHEMA pipeline_kafka CASCADE";

/// What people would miss. Each line is a whole sentence part; empty kinds are left out.
const LOSSES: &str = "SELECT line FROM ( \
    SELECT 1, format('the consumer of %s into %s, with its position in %s partitions', c.topic, \
      coalesce(c.relation::text, array_to_string(c.relations, ', ')), \
      (SELECT count(*) FROM pipeline_kafka.offsets o WHERE o.consumer_id = c.id)) \
      FROM pipeline_kafka.consumers c \
    UNION ALL SELECT 2, format('%s dead letters that are not resolved', count(*)) \
      FROM pipeline_kafka.errors e WHERE NOT e.resolved HAVING count(*) > 0 \
    UNION ALL SELECT 3, format('%s messages that are not sent yet', count(*)) \
      FROM pipeline_kafka.outbox HAVING count(*) > 0 \
    UNION ALL SELECT 4, format('%s replays that are not done', count(*)) \
      FROM pipeline_kafka.replays r WHERE r.state NOT IN ('done', 'cancelled') HAVING count(*) > 0 \
    UNION ALL SELECT 5, format('the trigger %I on %s', t.tgname, t.tgrelid::regclass) \
      FROM pg_catalog.pg_trigger t JOIN pg_catalog.pg_proc p ON p.oid = t.tgfoid \
      WHERE p.pronamespace = 'pipeline_kafka'::regnamespace AND NOT t.tgisinternal \
    UNION ALL SELECT 6, format('%s workers are running and will stop', count(*)) \
      FROM pipeline_kafka.workers w WHERE pipeline_kafka._alive(w.heartbeat_at) \
      HAVING count(*) > 0) AS l(place, line) ORDER BY place, line";

/// Workers of other roles get rights on what is new.
const GRANT_AGAIN: &str = "SELECT pipeline_kafka.grant_worker(i.worker_role) \
    FROM pipeline_kafka.installation i JOIN pg_catalog.pg_roles r ON r.rolname = i.worker_role \
    WHERE NOT pg_has_role(r.oid, (SELECT n.nspowner FROM pg_catalog.pg_namespace n \
      WHERE n.nspname = 'pipeline_kafka'), 'MEMBER');\n";

fn grants(worker_role: Option<&str>) -> String {
    let Some(role) = worker_role else { return String::new() };
    let role = role.replace('\'', "''");
    format!(
        "UPDATE pipeline_kafka.installation SET worker_role = '{role}';\n\
         SELECT pipeline_kafka.grant_worker('{role}');\n"
    )
}

fn record_installation() -> String {
    format!(
        "INSERT INTO pipeline_kafka.installation (schema_version, code_digest, \
         system_identifier, database_oid, database_name) \
         SELECT {SCHEMA_VERSION}, '{digest}', {SYSTEM_IDENTIFIER}, d.oid, d.datname \
         FROM pg_catalog.pg_database d WHERE d.datname = current_database();\n\
         INSERT INTO pipeline_kafka.migrations (version, program) \
         VALUES ({SCHEMA_VERSION}, 'copycat {program}');\n",
        digest = schema::code_digest(),
        program = env!("CARGO_PKG_VERSION"),
    )
}

fn record_upgrade() -> String {
    format!(
        "UPDATE pipeline_kafka.installation SET schema_version = {SCHEMA_VERSION}, \
         code_digest = '{digest}';\n\
         INSERT INTO pipeline_kafka.migrations (version, program) \
         VALUES ({SCHEMA_VERSION}, 'copycat {program}') ON CONFLICT (version) DO UPDATE \
         SET program = excluded.program, applied_at = now(), applied_by = current_user;\n\
         SELECT pg_notify('pipeline_kafka', 'clusters');\n",
        digest = schema::code_digest(),
        program = env!("CARGO_PKG_VERSION"),
    )
}

/// Looks what is there.
pub(crate) fn find(connection: &mut Connection) -> Result<Found, Error> {
    let rows = connection.query_text(
        "SELECT n.oid IS NOT NULL, to_regclass('pipeline_kafka.installation') IS NOT NULL, \
         (SELECT e.extname FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_extension e \
            ON e.oid = d.refobjid WHERE d.objid = n.oid AND d.deptype = 'e' LIMIT 1), \
         EXISTS (SELECT FROM pg_catalog.pg_class c WHERE c.relnamespace = n.oid) \
         OR EXISTS (SELECT FROM pg_catalog.pg_proc p WHERE p.pronamespace = n.oid) \
         FROM (SELECT) AS one LEFT JOIN pg_catalog.pg_namespace n ON n.nspname = 'pipeline_kafka'",
        Wait::at_most(WORK_MAX),
    )?;
    if rows.text(0, 0) != Some("t") {
        return Ok(Found::Nothing);
    }
    if let Some(extension) = rows.text(0, 2) {
        return Ok(Found::Foreign(format!("it belongs to the extension {extension}")));
    }
    if rows.text(0, 1) != Some("t") {
        return Ok(match rows.text(0, 3) {
            Some("t") => Found::Foreign("it has objects that are not ours".to_owned()),
            _ => Found::Empty,
        });
    }
    let rows = connection.query_text(
        "SELECT schema_version, code_digest FROM pipeline_kafka.installation",
        Wait::at_most(WORK_MAX),
    )?;
    let version = rows.parsed(0, 0).unwrap_or(0);
    Ok(Found::Installed { version, code: rows.text(0, 1).unwrap_or_default().to_owned() })
}

fn foreign(what: &str) -> Error {
    Error::new(
        ErrorKind::Schema,
        format!("there is a schema pipeline_kafka already, and it is not ours: {what}"),
    )
    .hint(
        "keep what you need of it (its consumers and offsets), then DROP EXTENSION pipeline_kafka or \
         ALTER SCHEMA pipeline_kafka RENAME TO pipeline_kafka_old",
    )
}

fn newer(version: i32) -> Error {
    let text = format!(
        "the schema pipeline_kafka has version {version}, and this program knows {SCHEMA_VERSION}"
    );
    Error::new(ErrorKind::Schema, text).hint("run a newer copycat")
}

/// A missing right is told with the statement that helps.
fn refused(error: Error) -> Error {
    if error.sqlstate.as_deref() != Some("42501") {
        return error;
    }
    error.hint(
        "run it as a role that may create schemas here (GRANT CREATE ON DATABASE … TO …), or have the \
         schema made: CREATE SCHEMA pipeline_kafka AUTHORIZATION the role of this connection",
    )
}
