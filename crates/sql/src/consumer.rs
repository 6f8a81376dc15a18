//! What a consumer of the SQL control plane does with its records, beyond a connector's options.
//!
//! Place in the data path: [`ConsumerWrites::settings`] makes the settings of a task; the planner and
//! the binder ask [`ConsumerRules`] where such a task differs. Rows are bound, reduced and written by
//! the same code as a connector's.

use crate::config::{InsertMode, NulHandling, NullValues, PkMode, SqlSinkConfig};
use crate::database::{DbError, DbErrorKind, DbResult};
use crate::ddl::{plain_name, plain_table};
use crate::foreign::KeyNames;
use crate::settings::{DatabaseForm, SinkSettings};
use crate::table::{Table, TableName};
use api::{Error, Result, Tolerance};
use config::{Config, Props};
use std::sync::Arc;

/// What happens where a row is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConsumerMode {
    /// Rows are added.
    Append,
    /// A row whose key is there is left out.
    Ignore,
    /// It gets the new values.
    Upsert,
}

/// What a record without a value does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tombstones {
    /// Nothing; it is counted.
    Ignore,
    /// Deletes the row of its key. The decoded key must be an object with the conflict columns as
    /// members or, for a single conflict column, the value itself.
    Delete,
    /// It is an error of that record.
    Error,
}

/// What is done with fields that the relation has no column for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnknownFields {
    /// They are left out and counted.
    Ignore,
    /// They are an error of that record.
    Error,
    /// They go, as an object, into this column of type json or jsonb.
    Collect(String),
}

/// Where a record names its relation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RouteBy {
    /// The bytes of its key, as text.
    Key,
    /// The last header of that name.
    Header(String),
    /// A field of its value.
    Field(Vec<String>),
}

/// The relations that records may name. Nothing else is ever looked up by what a record says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Routes {
    pub by: RouteBy,
    /// Name in the record, and relation. A relation may have several names.
    pub relations: Vec<(String, TableName)>,
}

/// A consumer's definition, as far as it concerns writing.
#[derive(Clone, Debug)]
pub struct ConsumerWrites {
    pub mode: ConsumerMode,
    /// Columns of a unique index; empty: the primary key.
    pub conflict_columns: Vec<String>,
    /// An upsert changes a row only if its value in this column is less than the new one, or null.
    pub version_column: Option<String>,
    pub tombstones: Tombstones,
    pub unknown_fields: UnknownFields,
    /// Fields with a type that the relation has no column for get one.
    pub auto_evolve: bool,
    pub nul: NulHandling,
    /// Rows of a transaction.
    pub rows_max: usize,
    /// `None`: the first record that cannot be stored ends the task.
    pub tolerance: Tolerance,
    /// Values are what a mapping made of the record: they are never stored whole.
    pub mapped: bool,
    /// Columns and the SQL expressions over the other columns that fill them.
    pub expressions: Vec<(String, String)>,
    /// The schema-qualified, quoted name of the function that makes rows of records, with or without
    /// `(jsonb)` behind it.
    pub transform: Option<String>,
    pub routes: Option<Routes>,
}

impl ConsumerWrites {
    /// Everything else as it is by default.
    pub fn new(mode: ConsumerMode) -> ConsumerWrites {
        ConsumerWrites {
            mode,
            conflict_columns: Vec::new(),
            version_column: None,
            tombstones: Tombstones::Ignore,
            unknown_fields: UnknownFields::Ignore,
            auto_evolve: false,
            nul: NulHandling::Fail,
            rows_max: 10_000,
            tolerance: Tolerance::All,
            mapped: false,
            expressions: Vec::new(),
            transform: None,
            routes: None,
        }
    }

    /// # Errors
    /// `Config`: parts of the definition that contradict each other.
    pub fn settings(self) -> Result<SinkSettings> {
        let refuse = |text: &str| Err(Error::config(text).sqlstate("22023"));
        let deletes = self.tombstones == Tombstones::Delete;
        if deletes && self.mode == ConsumerMode::Append {
            return refuse("tombstones => 'delete' needs mode => 'upsert' or 'ignore'");
        }
        if deletes && self.transform.is_some() {
            return refuse("with a transform, tombstones => 'delete' has no key to delete by");
        }
        if self.version_column.is_some() && self.mode != ConsumerMode::Upsert {
            return refuse("version_column needs mode => 'upsert'");
        }
        if self.transform.is_some() && !self.expressions.is_empty() {
            return refuse("a transform makes whole rows: it goes with no mapping");
        }
        if self.auto_evolve && self.unknown_fields != UnknownFields::Ignore {
            return refuse("auto_evolve needs unknown_fields => 'ignore'");
        }
        let mut props = Props::new();
        props.insert("connection.url", "postgresql://");
        props.insert("table.types", "TABLE,PARTITIONED TABLE,VIEW");
        props.insert("batch.size", self.rows_max.max(1).to_string());
        let parsed = SqlSinkConfig::parse(&props).map_err(|e| Error::config(e.to_string()))?;
        let mut settings = SinkSettings::new(parsed, self.tolerance, DatabaseForm::POSTGRES)?;
        let config = &mut settings.config;
        config.insert_mode = match self.mode {
            ConsumerMode::Append => InsertMode::Insert,
            ConsumerMode::Ignore => InsertMode::InsertIgnore,
            ConsumerMode::Upsert => InsertMode::Upsert,
        };
        let keyed =
            self.mode == ConsumerMode::Upsert || deletes || !self.conflict_columns.is_empty();
        let keyed = keyed && self.mode != ConsumerMode::Append;
        config.pk_mode = if keyed { PkMode::RecordValue } else { PkMode::None };
        config.null_values = match self.tombstones {
            Tombstones::Ignore => NullValues::Ignore,
            Tombstones::Delete => NullValues::Delete,
            Tombstones::Error => NullValues::Fail,
        };
        config.nul_handling = self.nul;
        config.auto_evolve = self.auto_evolve;
        settings.names = names();
        settings.consumer = Some(Arc::new(ConsumerRules {
            keyed,
            conflict_columns: self.conflict_columns,
            version_column: self.version_column,
            unknown_fields: self.unknown_fields,
            mapped: self.mapped,
            expressions: self.expressions,
            transform: self.transform.map(|text| function_name(&text)),
            routes: self.routes,
        }));
        Ok(settings)
    }
}

/// The name without the arguments of a signature; a quoted name may have parentheses of its own.
fn function_name(text: &str) -> Arc<str> {
    match text.strip_suffix(')').and_then(|text| text.rfind('(').map(|at| text.split_at(at).0)) {
        Some(name) if !name.is_empty() => name.into(),
        _ => text.into(),
    }
}

fn names() -> KeyNames {
    let ours = [
        ("pk.fields", "conflict_columns"),
        ("pk.mode", "mode"),
        ("insert.mode", "mode"),
        ("behavior.on.null.values", "tombstones"),
        ("string.output.value.column.name", "mapping"),
        ("auto.evolve", "unknown_fields"),
    ];
    KeyNames::new(ours.into_iter().map(|(ours, name)| {
        let shown = (ours == "auto.evolve").then(|| "error".to_owned());
        (ours.to_owned(), (name.to_owned(), shown))
    }))
}

/// Where a consumer's task differs from a connector's.
#[derive(Debug)]
pub(crate) struct ConsumerRules {
    /// Rows are told apart by the conflict columns.
    pub keyed: bool,
    conflict_columns: Vec<String>,
    pub version_column: Option<String>,
    pub unknown_fields: UnknownFields,
    pub mapped: bool,
    pub expressions: Vec<(String, String)>,
    pub transform: Option<Arc<str>>,
    pub routes: Option<Routes>,
}

impl ConsumerRules {
    /// The names of the columns that rows are told apart by.
    ///
    /// # Errors
    /// `Config`: there is no primary key, and nothing else was named.
    pub(crate) fn key_of(&self, table: &Table) -> DbResult<Vec<String>> {
        if !self.keyed {
            return Ok(Vec::new());
        }
        if !self.conflict_columns.is_empty() {
            return Ok(self.conflict_columns.clone());
        }
        let key = table.unique_keys.first().filter(|_| table.has_primary_key);
        let Some(key) = key else {
            let shown = plain_table(&table.name);
            let text = format!("{shown} has no primary key, and no conflict_columns are given");
            return Err(DbError::new(DbErrorKind::Config, text).sqlstate("42P10").hint(format!(
                "ALTER TABLE {shown} ADD PRIMARY KEY (…), or set conflict_columns"
            )));
        };
        let name = |at: &usize| table.columns.get(*at).map(|column| column.name.clone());
        Ok(key.iter().filter_map(name).collect())
    }

    /// The column that a whole document goes into: the only one that takes values.
    pub(crate) fn document(&self, table: &Table) -> Option<usize> {
        if self.mapped {
            return None;
        }
        let mut open = table.columns.iter().enumerate().filter(|(_, column)| !column.generated);
        match (open.next(), open.next()) {
            (Some((at, column)), None) if column.json => Some(at),
            _ => None,
        }
    }

    /// The place of a column that the definition names.
    ///
    /// # Errors
    /// `Config`: there is none, or it is computed by the database.
    pub(crate) fn named(&self, table: &Table, name: &str, by: &str) -> DbResult<usize> {
        let shown = plain_table(&table.name);
        let found = table.columns.iter().enumerate().find(|(_, column)| column.name == name);
        let fault = |state: &str, text: String| {
            Err(DbError::new(DbErrorKind::Config, text).sqlstate(state).hint(format!(
                "alter the consumer, or the table: ALTER TABLE {shown} ADD COLUMN {} …",
                plain_name(name)
            )))
        };
        match found {
            None => fault("42703", format!("{shown} has no column {name}, which {by} names")),
            Some((_, column)) if column.generated => {
                fault("428C9", format!("{by} names {name} of {shown}, which is generated"))
            }
            Some((at, _)) => Ok(at),
        }
    }

    /// The relation that a name in a record stands for.
    pub(crate) fn routed(&self, name: &str) -> Option<&TableName> {
        let relations = self.routes.as_ref().map(|routes| &routes.relations)?;
        relations.iter().find(|(known, _)| known == name).map(|(_, relation)| relation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_known_without_its_arguments() {
        for (text, name) in [
            ("public.f(jsonb)", "public.f"),
            ("\"public\".\"f (x)\"(jsonb)", "\"public\".\"f (x)\""),
            ("\"f (x)\"", "\"f (x)\""),
            ("f", "f"),
        ] {
            assert_eq!(&*function_name(text), name);
        }
    }
}
