//! The options of a task in the form in which binding uses them, and what a database is like.

use crate::config::{
    ChangeEvents, DatabaseSettings, ExactlyOnce, InsertMode, NullValues, PkMode, SqlSinkConfig,
    TypeDialect,
};
use crate::consumer::{ConsumerRules, UnknownFields};
use crate::foreign::KeyNames;
use crate::naming::{NameRules, setting_table};
use crate::table::TableName;
use crate::write::WriteMode;
use api::{Error, TaskContext, Tolerance};
use config::{Config, Props};
use std::sync::Arc;
use std::time::Duration;

/// What names a kind of database allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatabaseForm {
    /// Whether tables lie in schemas.
    pub schemas: bool,
    /// The longest name it keeps whole, in bytes.
    pub name_bytes_max: Option<usize>,
}

impl DatabaseForm {
    pub const POSTGRES: DatabaseForm = DatabaseForm { schemas: true, name_bytes_max: Some(63) };
    pub const SQLITE: DatabaseForm = DatabaseForm { schemas: false, name_bytes_max: None };
}

/// The settings of one sink task.
#[derive(Clone, Debug)]
pub struct SinkSettings {
    pub config: SqlSinkConfig,
    pub rules: NameRules,
    pub tolerance: Tolerance,
    pub form: DatabaseForm,
    pub include: FieldFilter,
    pub exclude: FieldFilter,
    /// Fields that are points in time.
    pub timestamps: FieldFilter,
    /// What the user calls the options.
    pub names: KeyNames,
    /// The one table of all records; `None`: the options say which.
    pub relation: Option<TableName>,
    /// The definition of a consumer of the SQL control plane.
    pub(crate) consumer: Option<Arc<ConsumerRules>>,
}

impl SinkSettings {
    /// # Errors
    /// `Config`: a table name format that does not exist; validation finds it first.
    pub fn new(
        config: SqlSinkConfig,
        tolerance: Tolerance,
        form: DatabaseForm,
    ) -> Result<SinkSettings, Error> {
        let rules = NameRules::new(&config, form.schemas, form.name_bytes_max)
            .map_err(|text| Error::config(format!("table.name.format: {text}")))?;
        Ok(SinkSettings {
            include: FieldFilter::new(&config.fields_include),
            exclude: FieldFilter::new(&config.fields_exclude),
            timestamps: FieldFilter::new(&config.timestamp_fields),
            names: KeyNames::default(),
            relation: None,
            consumer: None,
            rules,
            tolerance,
            form,
            config,
        })
    }

    /// From canonical options.
    ///
    /// # Errors
    /// `Config`: what is wrong with the options; validation finds it first.
    pub fn from_props(
        props: &Props,
        tolerance: Tolerance,
        form: DatabaseForm,
    ) -> Result<SinkSettings, Error> {
        let config = SqlSinkConfig::parse(props).map_err(|e| Error::config(e.to_string()))?;
        SinkSettings::new(config, tolerance, form)
    }

    /// What a record without a value does. Only keys and headers are left of it to name a row.
    pub fn null_values(&self) -> NullValues {
        let named = matches!(self.config.pk_mode, PkMode::RecordKey | PkMode::RecordHeader);
        match self.config.null_values {
            NullValues::Auto if self.config.delete_enabled && named => NullValues::Delete,
            NullValues::Auto => NullValues::Ignore,
            other => other,
        }
    }

    /// Whether records may delete rows.
    pub fn deletes(&self) -> bool {
        self.null_values() == NullValues::Delete || !self.config.delete_marker_field.is_empty()
    }

    pub fn mode(&self) -> WriteMode {
        match self.config.insert_mode {
            InsertMode::Insert => WriteMode::Insert,
            InsertMode::InsertIgnore => WriteMode::InsertIgnore,
            InsertMode::Upsert => WriteMode::Upsert,
            InsertMode::Update => WriteMode::Update,
        }
    }

    /// Whether tables are named after the source of change events, which a tombstone does not have.
    pub(crate) fn tables_of_events(&self) -> bool {
        self.config.change_events != ChangeEvents::Off && self.rules.format.asks_source()
    }

    /// Whether plans depend on the form of records' keys.
    pub(crate) fn looks_at_keys(&self) -> bool {
        self.config.pk_mode == PkMode::RecordKey || (self.consumer.is_some() && self.deletes())
    }

    /// Whether the fields of a struct that has no column are left out instead of refused.
    pub(crate) fn leaves_out_fields(&self) -> bool {
        !self.config.auto_evolve
            && self
                .consumer
                .as_ref()
                .is_some_and(|rules| rules.unknown_fields != UnknownFields::Error)
    }

    /// Whether members of an object that has no column are refused.
    pub(crate) fn refuses_members(&self) -> bool {
        self.consumer.as_ref().is_some_and(|rules| rules.unknown_fields == UnknownFields::Error)
    }

    pub fn exactly_once(&self) -> bool {
        self.config.exactly_once == ExactlyOnce::Enabled
    }

    pub fn metadata_max_age(&self) -> Duration {
        Duration::from_millis(self.config.metadata_max_age_ms)
    }

    /// Whether a field of the topic's values is written.
    pub fn writes_field(&self, topic: &str, field: &str) -> bool {
        (self.include.is_empty() || self.include.has(topic, field))
            && !self.exclude.has(topic, field)
    }

    /// What the database is made from.
    pub fn database(&self, context: &TaskContext, types: TypeDialect) -> DatabaseSettings {
        let config = &self.config;
        let owner = format!("{}/{}", context.cluster_id, context.group_id);
        DatabaseSettings {
            user: config.connection_user.clone(),
            password: config.connection_password.clone(),
            connector: context.connector.clone(),
            task: context.task,
            offsets_table: setting_table(&config.offsets_table),
            dead_letters_table: setting_table(&config.dead_letters_table),
            exactly_once: self.exactly_once(),
            types,
            timestamp_column: config.timestamp_column,
            // Checked by the configuration.
            timezone: jiff::tz::TimeZone::get(&config.db_timezone)
                .unwrap_or(jiff::tz::TimeZone::UTC),
            nul_handling: config.nul_handling,
            bytes_encoding: config.bytes_encoding,
            pooler: config.connection_pooler,
            ..DatabaseSettings::new(&config.connection_url, &owner)
        }
    }
}

/// A list of fields, each of every topic or of one.
#[derive(Clone, Debug, Default)]
pub struct FieldFilter {
    entries: Vec<(Option<String>, String)>,
}

impl FieldFilter {
    pub fn new(entries: &[String]) -> FieldFilter {
        let entry = |text: &String| match text.split_once(':') {
            Some((topic, field)) => (Some(topic.trim().to_owned()), field.trim().to_owned()),
            None => (None, text.trim().to_owned()),
        };
        FieldFilter { entries: entries.iter().map(entry).collect() }
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub fn has(&self, topic: &str, field: &str) -> bool {
        self.entries
            .iter()
            .any(|(only, name)| name == field && only.as_deref().is_none_or(|only| only == topic))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_know_fields_of_single_topics() {
        let filter = FieldFilter::new(&["id".to_owned(), "orders:note".to_owned()]);
        assert!(filter.has("x", "id") && filter.has("orders", "note"));
        assert!(!filter.has("x", "note") && !filter.has("orders", "y"));
    }

    #[test]
    fn nulls_delete_only_where_deletes_are_enabled() {
        let make = |pairs: &[(&str, &str)]| {
            let mut props: Props = pairs.iter().copied().collect();
            props.insert("connection.url", "sqlite::memory:");
            SinkSettings::from_props(&props, Tolerance::None, DatabaseForm::SQLITE)
        };
        let plain = make(&[]).unwrap();
        assert_eq!((plain.null_values(), plain.deletes()), (NullValues::Ignore, false));
        let deleting = make(&[("delete.enabled", "true"), ("pk.mode", "record_key")]).unwrap();
        assert_eq!(deleting.null_values(), NullValues::Delete);
        let marked = [
            ("delete.enabled", "true"),
            ("pk.mode", "record_value"),
            ("delete.marker.field", "__deleted"),
        ];
        let marked = make(&marked).unwrap();
        assert_eq!((marked.null_values(), marked.deletes()), (NullValues::Ignore, true));
        let error = make(&[("delete.enabled", "true")]).unwrap_err();
        assert!(error.message.contains("pk.mode=record_key"), "{}", error.message);
    }
}
