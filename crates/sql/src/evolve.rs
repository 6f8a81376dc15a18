//! Tables and columns to make, and what is said where they may not be made.

use crate::database::{DbError, DbErrorKind, DbResult};
use crate::ddl::{column_sql, plain_name, plain_table};
use crate::epoch::hides_default;
use crate::group::record_cell;
use crate::plan::Catalog;
use crate::resolve::Resolved;
use crate::settings::SinkSettings;
use crate::table::{NewColumn, NewTable, Table, TableName};
use crate::wanted::{Wanted, WantedRow};
use crate::write::WriteMode;
use data::{Batch, Cell, SchemaBuilder, Type};
use std::sync::Arc;

/// A record of the form that is planned for.
#[derive(Clone, Copy)]
pub(crate) struct Sample<'a> {
    pub batch: &'a Batch,
    pub row: usize,
}

/// Why a table that is missing is not made; `None`: it is to be made.
pub(crate) fn not_created(
    settings: &SinkSettings,
    new: &NewTable,
    wanted: &WantedRow,
    sample: Sample<'_>,
    catalog: &mut dyn Catalog,
) -> DbResult<Option<DbError>> {
    let shown = plain_table(&new.name);
    let config =
        |text: String, hint: String| Ok(Some(DbError::new(DbErrorKind::Config, text).hint(hint)));
    if new.columns.is_empty() {
        let text = format!(
            "table {shown} does not exist and cannot be created: the record has no fields to \
             make columns of"
        );
        return config(text, "create it, with the columns that records are to fill".to_owned());
    }
    let typed = wanted.columns.iter().all(|c| c.schema.is_some());
    if !settings.config.auto_create || !typed {
        let why = match settings.config.auto_create {
            true => "records without a schema do not say the types of its columns".to_owned(),
            false => settings.names.state("auto.create", "false"),
        };
        let sql = catalog.create_table_sql(&guessed(new, wanted, sample));
        return match &new.name.schema {
            Some(schema) if catalog.lacks_schema(&new.name)? => config(
                format!("schema {schema} does not exist, nor does table {shown}; {why}"),
                format!("create both, for example: CREATE SCHEMA {}; {sql}", plain_name(schema)),
            ),
            _ => config(
                format!("table {shown} does not exist; {why}"),
                format!("create it, for example: {sql}"),
            ),
        };
    }
    if new.columns.iter().any(|c| c.name.is_empty()) {
        let fields = settings.names.name("pk.fields");
        return config(
            format!("table {shown} cannot be created: its key column has no name"),
            format!("set {fields} to one name"),
        );
    }
    Ok(None)
}

/// The table with types that fit a record's own values where no schema gives one; nested values and
/// nulls stay JSON.
fn guessed(new: &NewTable, wanted: &WantedRow, sample: Sample<'_>) -> NewTable {
    let mut new = new.clone();
    for (column, wanted) in new.columns.iter_mut().zip(&wanted.columns) {
        if column.schema.is_some() {
            continue;
        }
        let builder = match record_cell(sample.batch, sample.row, &wanted.source).0 {
            Cell::Bool(_) => SchemaBuilder::new(Type::Boolean),
            Cell::Int(..) | Cell::Float(_) | Cell::Float32(_) | Cell::Number(_) => {
                SchemaBuilder::decimal(0)
            }
            Cell::Text(_) => SchemaBuilder::new(Type::String),
            Cell::Bytes(_) => SchemaBuilder::new(Type::Bytes),
            _ => continue,
        };
        column.schema = builder.optional().build().ok().map(Arc::new);
    }
    new
}

/// Why the missing columns are not added: the reason for each record, or for the task.
pub(crate) fn refusal(
    settings: &SinkSettings,
    table: &Table,
    resolved: &Resolved,
    columns: &[NewColumn],
    evolved: bool,
    catalog: &dyn Catalog,
) -> DbResult<Option<String>> {
    let shown = plain_table(&table.name);
    let first = resolved.missing.first().and_then(|w| w.name.as_deref()).unwrap_or_default();
    let sql: Vec<_> = columns
        .iter()
        .map(|column| format!("ADD COLUMN {}", column_sql(catalog, column)))
        .collect();
    let hint = format!("ALTER TABLE {shown} {}", sql.join(", "));
    if resolved.missing.iter().any(|w| w.key) {
        let text = format!("table {shown} has no column {first}, which the key needs");
        return Err(DbError::new(DbErrorKind::Config, text).hint(hint));
    }
    let config = &settings.config;
    let required = resolved
        .missing
        .iter()
        .find(|w| w.schema.as_ref().is_some_and(|s| !s.is_optional() && s.default().is_none()));
    let why = if table.is_view {
        "views are not altered".to_owned()
    } else if !config.auto_evolve {
        settings.names.state("auto.evolve", "false")
    } else if let (Some(field), crate::config::EvolveRequired::Fail) =
        (required, config.auto_evolve_required)
    {
        let name = field.name.as_deref().unwrap_or_default();
        return Ok(Some(format!(
            "table {shown} has no column for the required field {name}, and \
             auto.evolve.required is fail; this would help: {hint}"
        )));
    } else if evolved {
        "it is missing after it was added".to_owned()
    } else {
        return Ok(None);
    };
    Ok(Some(format!(
        "table {shown} has no column for field {first}; {why}; this would help: {hint}"
    )))
}

/// The columns to add for the missing ones.
pub(crate) fn new_columns(settings: &SinkSettings, missing: &[Wanted]) -> Vec<NewColumn> {
    let column = |wanted: &Wanted| NewColumn {
        name: settings.rules.column(wanted.name.as_deref().unwrap_or_default()),
        schema: wanted.schema.clone(),
        // Rows that are there already have no value for it.
        nullable: wanted
            .schema
            .as_ref()
            .is_none_or(|s| s.is_optional() || s.default().is_none() || hides_default(s)),
    };
    missing.iter().map(column).collect()
}

/// The table that would be created for a form of record.
pub(crate) fn new_table(settings: &SinkSettings, name: &TableName, wanted: &WantedRow) -> NewTable {
    let column_name = |wanted: &Wanted| match &wanted.name {
        Some(name) => settings.rules.column(name),
        None if wanted.key => String::new(),
        None => settings.rules.column(crate::wanted::VALUE_COLUMN),
    };
    let columns = wanted.columns.iter().map(|wanted| NewColumn {
        name: column_name(wanted),
        schema: wanted.schema.clone(),
        nullable: !wanted.key && wanted.schema.as_ref().is_none_or(|s| s.is_optional()),
    });
    let mode = settings.mode();
    NewTable {
        name: name.clone(),
        columns: columns.collect(),
        primary_key: wanted.columns.iter().filter(|w| w.key).map(column_name).collect(),
        updates_expected: matches!(mode, WriteMode::Upsert | WriteMode::Update),
    }
}

/// Upserts need a unique index on exactly the key's columns; without it every batch would fail.
pub(crate) fn check_unique(
    settings: &SinkSettings,
    table: &Table,
    columns: &[(usize, Wanted)],
) -> DbResult<()> {
    let key: Vec<usize> = columns.iter().filter(|(_, w)| w.key).map(|(t, _)| *t).collect();
    let serves = |index: &Vec<usize>| {
        index.len() == key.len() && key.iter().all(|column| index.contains(column))
    };
    if table.unique_keys.iter().any(serves) {
        return Ok(());
    }
    let names: Vec<_> = key
        .iter()
        .filter_map(|column| table.columns.get(*column))
        .map(|column| plain_name(&column.name))
        .collect();
    let (names, shown) = (names.join(", "), plain_table(&table.name));
    let index = match settings.form.schemas {
        true => String::new(),
        // Where indexes must be named.
        false => format!("{} ", plain_name(&format!("{}_key", table.name.name))),
    };
    let text = format!("table {shown} needs a unique index on ({names}) for insert.mode=upsert");
    Err(DbError::new(DbErrorKind::Config, text)
        .hint(format!("CREATE UNIQUE INDEX {index}ON {shown} ({names})")))
}
