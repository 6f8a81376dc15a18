//! What a validation looks at in a database, before anything is written.
//!
//! Place: the control plane. Nothing in the database is changed. The tables follow from topics only as
//! far as their names do.

use crate::database::{DbError, DbErrorKind};
use crate::naming::NameRules;
use crate::settings::SinkSettings;
use crate::table::TableName;
use crate::write::WriteMode;
use api::Check;

pub(crate) const DATABASE: &str = "database";
/// Options that failures belong to, in their canonical names.
pub(crate) const URL: &str = "connection.url";
pub(crate) const PASSWORD: &str = "connection.password";
const TABLE_NAME: &str = "table.name.format";
pub(crate) const OFFSETS: &str = "offsets.table";
pub(crate) const DEAD_LETTERS: &str = "dead.letters.table";

/// A table to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableLook {
    /// What the line about it is called.
    pub label: String,
    pub table: TableName,
    /// It is made where it is missing.
    pub may_create: bool,
    /// Of SELECT, INSERT, UPDATE, DELETE.
    pub privileges: Vec<&'static str>,
    /// The option that a failure belongs to.
    pub key: &'static str,
}

/// The tables that records of these topics go to, and our own.
pub fn tables_of(settings: &SinkSettings, topics: &[String], renamed: bool) -> Vec<TableLook> {
    let config = &settings.config;
    let own = |setting: &str, label: &str, key| TableLook {
        label: format!("{label} {setting}"),
        table: crate::naming::setting_table(setting),
        may_create: true,
        privileges: vec!["SELECT", "INSERT", "UPDATE"],
        key,
    };
    let mut looks = Vec::new();
    if settings.exactly_once() {
        looks.push(own(&config.offsets_table, "offset table", OFFSETS));
    }
    looks.push(own(&config.dead_letters_table, "dead-letter table", DEAD_LETTERS));
    if renamed && !settings.rules.format.is_fixed() {
        return looks;
    }
    for table in names(&settings.rules, topics) {
        let look = TableLook {
            label: format!("table {table}"),
            table,
            may_create: config.auto_create,
            privileges: privileges(settings),
            key: TABLE_NAME,
        };
        if !looks.iter().any(|known| known.table == look.table) {
            looks.push(look);
        }
    }
    looks
}

/// Why the tables of records are not among those of [`tables_of`], if they are not.
pub fn why_unknown(settings: &SinkSettings, topics: &[String], renamed: bool) -> Option<Check> {
    let why = if !settings.rules.format.is_constant() {
        "the name of the table follows from each record"
    } else if renamed && !settings.rules.format.is_fixed() {
        "the name of the table follows from the topic, which a transform may change"
    } else if topics.is_empty() {
        "no topic is known"
    } else {
        return None;
    };
    Some(Check::skipped("tables", why))
}

fn names(rules: &NameRules, topics: &[String]) -> Vec<TableName> {
    if !rules.format.is_constant() {
        return Vec::new();
    }
    let name = |topic: &String| {
        let rendered = match rules.mapped(topic) {
            Some(name) => name.to_owned(),
            // A constant format asks for nothing.
            None => rules.render(topic, |_| Err(String::new())).ok()?,
        };
        rules.table(&rendered).ok()
    };
    topics.iter().filter_map(name).collect()
}

fn privileges(settings: &SinkSettings) -> Vec<&'static str> {
    let mut needed = match settings.mode() {
        WriteMode::Insert | WriteMode::InsertIgnore => vec!["INSERT"],
        WriteMode::Upsert => vec!["INSERT", "UPDATE", "SELECT"],
        WriteMode::Update => vec!["UPDATE", "SELECT"],
        WriteMode::Delete => vec!["DELETE", "SELECT"],
    };
    for more in ["DELETE", "SELECT"].into_iter().filter(|_| settings.deletes()) {
        if !needed.contains(&more) {
            needed.push(more);
        }
    }
    needed
}

/// A failure in a database's words. One that comes from the deadline says so.
pub(crate) fn failed(name: impl Into<String>, error: DbError, key: &str) -> Check {
    let message = match error.kind {
        DbErrorKind::Cancelled => "no answer in time".to_owned(),
        _ => error.message,
    };
    let check = Check::failed(name, message).key(key);
    error.hint.into_iter().fold(check, Check::hint)
}

/// What is said of a table that is missing.
pub(crate) fn missing(look: &TableLook) -> Check {
    Check::failed(&look.label, format!("there is no table {}", look.table))
        .hint("create it, correct its name, or let it be created (auto.create)")
        .key(look.key)
}
