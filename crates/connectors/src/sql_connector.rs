//! What the connectors of SQL databases share: options in the user's dialect, checks, tasks.

use api::{
    Check, Checking, Error, Result, SinkConnector, SinkTask, StoredPositions, TaskContext,
    Tolerance,
};
use config::{ConfigDef, ConfigError, Props};
use data::TopicPartition;
use sql::config::{DatabaseSettings, ExactlyOnce, SqlSinkConfig, TypeDialect};
use sql::database::{Database, DbError, DbErrorKind, DbResult};
use sql::foreign::{Dialect, Translated};
use sql::look;
use sql::settings::{DatabaseForm, SinkSettings};
use sql::sink::SqlSink;
use std::sync::Arc;
use std::time::Instant;

/// Which database an address is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UrlKind {
    Postgres,
    Sqlite,
    Other,
}

impl UrlKind {
    pub(crate) fn of(url: &str) -> UrlKind {
        let url = url.trim().to_ascii_lowercase();
        let url = url.strip_prefix("jdbc:").unwrap_or(&url);
        if url.starts_with("sqlite:") || url.starts_with("file:") {
            UrlKind::Sqlite
        } else if url.starts_with("postgresql:") || url.starts_with("postgres:") {
            UrlKind::Postgres
        } else {
            // Without a scheme: libpq's `host=… dbname=…`.
            let key = url.split('=').next().unwrap_or_default();
            let keyword = key.len() < url.len() && key.chars().all(|c| c.is_ascii_lowercase());
            if keyword { UrlKind::Postgres } else { UrlKind::Other }
        }
    }

    /// What addresses look like, for manuals.
    fn addresses(self) -> &'static str {
        match self {
            UrlKind::Sqlite => {
                "Address of the database: `sqlite:/path/to/file`, `jdbc:sqlite:/path/to/file`."
            }
            UrlKind::Postgres | UrlKind::Other => {
                "Address of the database: `postgresql://host:5432/database`, \
                 `jdbc:postgresql://host:5432/database`, `host=… dbname=…`."
            }
        }
    }

    /// Of a whole config, for plugins that share a class name.
    pub(crate) fn of_props(props: &Props) -> UrlKind {
        UrlKind::of(props.get("connection.url").unwrap_or_default())
    }
}

/// Options of servers that say nothing about a file.
const WITHOUT_EFFECT_ON_FILES: [(&str, &str); 4] = [
    ("connection.user", "Without effect: a file has no users."),
    ("connection.password", "Without effect: a file has no users."),
    ("connection.pooler", "Without effect: there is nothing between a task and the file."),
    ("timestamp.column.type", "Without effect: new columns for timestamps hold text."),
];

/// Keys that mean something only with another one.
const DEPENDENTS: [(&str, &[&str]); 6] = [
    ("connection.user", &["connection.password"]),
    ("insert.mode", &["pk.mode", "upsert.skip.unchanged"]),
    ("pk.mode", &["pk.fields", "delete.enabled"]),
    ("delete.enabled", &["behavior.on.null.values", "delete.marker.field"]),
    ("auto.evolve", &["auto.evolve.required"]),
    ("exactly.once.sink", &["offsets.table"]),
];

/// A database that rows can be written to.
pub(crate) struct SqlConnector {
    pub(crate) kind: UrlKind,
    pub(crate) class: &'static str,
    pub(crate) form: DatabaseForm,
    pub(crate) open: fn(DatabaseSettings) -> DbResult<Box<dyn Database>>,
}

impl SqlConnector {
    fn dialect(props: &Props) -> &'static Dialect {
        Dialect::of(props.get("connector.class").unwrap_or_default().trim())
    }

    fn read(props: &Props) -> (&'static Dialect, Translated) {
        let dialect = Self::dialect(props);
        (dialect, dialect.translate(props))
    }

    fn url_error(&self, config: &SqlSinkConfig) -> Option<String> {
        let url = config.connection_url.trim();
        match UrlKind::of(url) {
            kind if kind == self.kind => None,
            UrlKind::Other => {
                let scheme: String = url.chars().take_while(|c| *c != '/' && *c != '@').collect();
                Some(format!(
                    "{scheme} is not the address of a database that is supported: PostgreSQL \
                     (postgresql://host/db, jdbc:postgresql://host/db, host=… dbname=…) and \
                     SQLite (sqlite:/path/file.db, jdbc:sqlite:/path/file.db)"
                ))
            }
            UrlKind::Postgres => Some(format!(
                "this is the address of a PostgreSQL database, and {} writes to SQLite; use \
                 connector.class={}",
                self.class,
                crate::postgres::PLUGIN.class
            )),
            UrlKind::Sqlite => Some(format!(
                "this is the address of an SQLite file, and {} writes to PostgreSQL; use \
                 connector.class={}",
                self.class,
                crate::sqlite::PLUGIN.class
            )),
        }
    }

    /// # Errors
    /// Settings that cannot work, with the user's own keys.
    fn config(&self, props: &Props) -> Result<(&'static Dialect, SqlSinkConfig)> {
        let (dialect, read) = Self::read(props);
        let config = read.parse().map_err(|errors| {
            let each = errors.iter().map(|e| format!("{}: {}", e.key, e.message));
            Error::config(each.collect::<Vec<_>>().join("; "))
        })?;
        match self.url_error(&config) {
            None => Ok((dialect, config)),
            Some(text) => {
                Err(Error::config(format!("{}: {text}", read.user_key("connection.url"))))
            }
        }
    }

    fn make(
        &self,
        context: &TaskContext,
        dialect: &Dialect,
        config: SqlSinkConfig,
    ) -> Result<(Box<dyn Database>, SinkSettings)> {
        let settings = SinkSettings::new(config, context.tolerance, self.form)?;
        let database = (self.open)(settings.database(context, dialect.types));
        let database = database.map_err(|error| {
            let told = Error::config(format!("connection.url: {}", error.message));
            match error.hint {
                Some(hint) => told.hint(hint),
                None => told,
            }
        })?;
        Ok((database, settings))
    }
}

/// The rows of positions, for those who look at them or set them.
struct SqlPositions {
    database: Box<dyn Database>,
}

impl StoredPositions for SqlPositions {
    fn list(&mut self) -> Result<Vec<(TopicPartition, i64)>> {
        self.database.connect().and_then(|()| self.database.stored()).map_err(told)
    }

    fn alter(&mut self, changes: &[(TopicPartition, Option<i64>)]) -> Result<()> {
        let done = self.database.connect().and_then(|()| self.database.set_positions(changes));
        done.map_err(told)
    }
}

/// What a database could not do for a person who asks.
fn told(error: DbError) -> Error {
    use DbErrorKind::{Concurrency, Connection, Resource};
    let told = match error.kind {
        Connection | Resource | Concurrency => Error::retriable(error.message),
        _ => Error::config(error.message),
    };
    let told = error.sqlstate.into_iter().fold(told, Error::sqlstate);
    error.hint.into_iter().fold(told, Error::hint)
}

impl SinkConnector for SqlConnector {
    fn config_def(&self, class: &str) -> ConfigDef {
        let dialect = Dialect::of(class.trim());
        let mut def = dialect.def();
        // The other sinks' class names stand for both databases.
        let ours = dialect.types == TypeDialect::Own;
        if let Some(key) = def.get_mut("connection.url").filter(|_| ours) {
            self.kind.addresses().clone_into(&mut key.documentation);
        }
        if ours && self.kind == UrlKind::Sqlite {
            for (name, text) in WITHOUT_EFFECT_ON_FILES {
                if let Some(key) = def.get_mut(name) {
                    text.clone_into(&mut key.documentation);
                }
            }
        }
        let mut def = def.completed("Common");
        for (name, dependents) in DEPENDENTS {
            let there: Vec<String> = dependents.iter().map(ToString::to_string).collect();
            let there = there.into_iter().filter(|name| def.get(name).is_some()).collect();
            if let Some(key) = def.get_mut(name) {
                key.dependents = there;
            }
        }
        def
    }

    fn known_prefixes(&self, class: &str) -> Vec<&'static str> {
        Dialect::of(class.trim()).known_prefixes()
    }

    fn keeps_positions(&self, props: &Props) -> bool {
        let config = Self::read(props).1.parse();
        config.is_ok_and(|config| config.exactly_once != ExactlyOnce::Disabled)
    }

    fn stored_positions(
        &self,
        context: &TaskContext,
        props: &Props,
    ) -> Result<Box<dyn StoredPositions>> {
        let (dialect, config) = self.config(props)?;
        let (database, _) = self.make(context, dialect, config)?;
        Ok(Box::new(SqlPositions { database }))
    }

    fn validate(&self, props: &Props) -> Vec<ConfigError> {
        let (dialect, read) = Self::read(props);
        let config = match read.parse() {
            Ok(config) => config,
            Err(errors) => return errors,
        };
        let key = read.user_key("connection.url");
        if let Some(text) = self.url_error(&config) {
            return vec![ConfigError::new(key, text)];
        }
        let context = TaskContext {
            connector: props.get("name").unwrap_or("connector").to_owned(),
            task: 0,
            cluster_id: String::new(),
            group_id: String::new(),
            tolerance: Tolerance::None,
        };
        match self.make(&context, dialect, config) {
            Ok(_) => Vec::new(),
            Err(error) => {
                let message = error.message.strip_prefix("connection.url: ");
                let hint = error.hint.as_deref().map(|h| format!("; {h}")).unwrap_or_default();
                let text = format!("{}{hint}", message.unwrap_or(&error.message));
                vec![ConfigError::new(key, text)]
            }
        }
    }

    fn check(&self, asked: &Checking, props: &Props) -> Vec<Check> {
        let context = TaskContext {
            connector: asked.connector.clone(),
            task: 0,
            cluster_id: String::new(),
            group_id: String::new(),
            tolerance: if asked.tolerant { Tolerance::All } else { Tolerance::None },
        };
        let made = self.config(props);
        let made = made.and_then(|(dialect, config)| self.make(&context, dialect, config));
        let (mut database, settings) = match made {
            Ok(made) => made,
            Err(error) => return vec![Check::of_error("database", &error)],
        };
        let deadline = asked.deadline;
        database.set_cancel(Arc::new(move || Instant::now() >= deadline));
        let tables = look::tables_of(&settings, &asked.topics, asked.renamed);
        let mut checks = database.look(&tables);
        checks.extend(look::why_unknown(&settings, &asked.topics, asked.renamed));
        let names = Self::read(props).1;
        for check in &mut checks {
            check.key = check.key.take().map(|key| names.user_key(&key));
        }
        checks
    }

    fn notices(&self, props: &Props) -> Vec<String> {
        let (_, read) = Self::read(props);
        let config = read.parse();
        let mut notices = read.notices;
        if config.is_ok_and(|config| config.exactly_once == ExactlyOnce::Disabled) {
            notices.push(
                "exactly.once.sink is disabled: positions are the consumer group's alone, and a \
                 record may be stored again after a failure"
                    .to_owned(),
            );
        }
        notices
    }

    fn task_configs(&self, props: &Props, tasks_max: u32) -> Result<Vec<Props>> {
        Ok(vec![props.clone(); tasks_max.max(1) as usize])
    }

    fn task(&self, context: &TaskContext, props: &Props) -> Result<Box<dyn SinkTask>> {
        let (dialect, config) = self.config(props)?;
        let (database, mut settings) = self.make(context, dialect, config)?;
        settings.names = Self::read(props).1.key_names();
        Ok(Box::new(SqlSink::new(database, settings)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_tell_their_database() {
        for (url, kind) in [
            ("jdbc:postgresql://h:5432/d?user=x", UrlKind::Postgres),
            ("postgres://u:p@h/d", UrlKind::Postgres),
            ("host=h dbname=d", UrlKind::Postgres),
            ("JDBC:SQLite:/tmp/a.db", UrlKind::Sqlite),
            ("sqlite:///tmp/a.db", UrlKind::Sqlite),
            ("file:a.db?mode=rw", UrlKind::Sqlite),
            ("jdbc:mysql://h/d?user=x", UrlKind::Other),
            ("jdbc:oracle:thin:@h:1521/x", UrlKind::Other),
            ("http://h", UrlKind::Other),
            ("", UrlKind::Other),
        ] {
            assert_eq!(UrlKind::of(url), kind, "{url}");
        }
    }
}
