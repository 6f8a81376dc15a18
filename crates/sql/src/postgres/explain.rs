//! Which column a refused row is refused for.
//!
//! Place in the data path: after a row has failed alone, which is rare: each column costs a round
//! trip. Statements over arrays name no column, so the server is asked for the type of each whether
//! it takes the value, and the catalogue which columns a constraint is over.
//!
//! Invariant: nothing is changed but the words of the error. What cannot be found out is left out.

use super::catalog::PgTable;
use super::database::PostgresDatabase;
use super::names;
use super::session::Session;
use super::value::{Encoder, Form};
use crate::database::{DbError, DbResult};
use crate::write::TableWrite;
use data::Batch;

/// The one column of a constraint or of a unique index.
const CONSTRAINED: &str = "WITH keys AS ( \
      SELECT conrelid AS rel, conkey::int2[] AS cols FROM pg_catalog.pg_constraint \
      WHERE conrelid = to_regclass($1::text) AND conname = $2::text \
    UNION \
      SELECT i.indrelid, i.indkey::int2[] FROM pg_catalog.pg_index i \
      JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid \
      WHERE i.indrelid = to_regclass($1::text) AND c.relname = $2::text) \
    SELECT DISTINCT a.attname FROM keys JOIN pg_catalog.pg_attribute a \
      ON a.attrelid = keys.rel AND a.attnum = ANY (keys.cols)";

impl PostgresDatabase {
    /// Fills in the error's column, and names it in the message.
    pub(super) fn name_column(
        &mut self,
        error: &mut DbError,
        write: &TableWrite,
        row: usize,
        batches: &[Batch],
    ) {
        if error.column.is_none() {
            error.column = self.guilty(error, write, row, batches).unwrap_or_default();
        }
        let table = &write.plan.table;
        let named = error.column.as_ref();
        let Some(column) = named.and_then(|name| table.columns.iter().find(|c| c.name == *name))
        else {
            return;
        };
        let place = format!("column {} ({}) of {}: ", column.name, column.type_name, table.name);
        if !error.message.starts_with(&place) {
            error.message.insert_str(0, &place);
        }
    }

    fn guilty(
        &mut self,
        error: &DbError,
        write: &TableWrite,
        row: usize,
        batches: &[Batch],
    ) -> DbResult<Option<String>> {
        let state = error.sqlstate.clone().unwrap_or_default();
        let role = self.role.clone();
        let set = role.as_ref().map(|role| &*role.set);
        if let Some(constraint) = error.constraint.clone() {
            let table = names::table(&write.plan.table.name);
            let found = self.ask(|session, _| {
                session.query_as(set, CONSTRAINED, &[Some(&table), Some(&constraint)])
            })?;
            if found.len() == 1 {
                return Ok(found.text(0, 0).map(str::to_owned));
            }
        }
        if !state.starts_with("22") && state != "23514" {
            return Ok(None);
        }
        let pg = self.table_of(&write.plan)?;
        let values = self.texts(&pg, write, row, batches);
        self.ask(|session, _| Ok(refusing(session, set, &pg, &values, &state)))
    }

    /// The row's values as text, by column of the table.
    fn texts(
        &self,
        pg: &PgTable,
        write: &TableWrite,
        row: usize,
        batches: &[Batch],
    ) -> Vec<(usize, String)> {
        let mut texts = Vec::with_capacity(write.plan.columns.len());
        for column in &write.plan.columns {
            let Some(own) = pg.columns.get(column.target) else { continue };
            let encoder = Encoder::new(column.schema.as_ref(), &own.base.value, &self.values);
            let (cell, rows) = write.cell(batches, row, column);
            let mut text = Vec::new();
            if let Ok(Form::Value) = encoder.text(cell, rows, &mut text)
                && let Ok(text) = String::from_utf8(text)
            {
                texts.push((column.target, text));
            }
        }
        texts
    }
}

/// The first column whose type refuses its value.
fn refusing(
    session: &mut Session,
    role: Option<&str>,
    pg: &PgTable,
    values: &[(usize, String)],
    state: &str,
) -> Option<String> {
    // A cast cuts what is too long, where an assignment refuses it.
    let cut = matches!(state, "22001" | "22026");
    for (target, text) in values {
        let (column, own) = pg.table.columns.get(*target).zip(pg.columns.get(*target))?;
        let (kind, base) = (&column.type_name, &own.base.sql);
        let sql = match cut {
            true => format!(
                "SELECT rtrim(CAST(CAST($1::text AS {base}) AS {kind})::text) \
                 <> rtrim(CAST($1::text AS {base})::text)"
            ),
            false => format!("SELECT CAST($1::text AS {kind})"),
        };
        let refused = match session.query_as(role, &sql, &[Some(text)]) {
            Ok(rows) => cut && rows.text(0, 0) == Some("t"),
            Err(error) => {
                if !session.is_usable() {
                    return None;
                }
                error.sqlstate.is_some_and(|found| found.starts_with("22") || found == "23514")
            }
        };
        if refused {
            return Some(column.name.clone());
        }
    }
    None
}
