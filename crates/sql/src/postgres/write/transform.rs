//! Records that go to a function, whose rows are stored.
//!
//! Place in the data path: one call a transaction, with an array of `{key, value, headers, topic,
//! partition, offset, timestamp}` as its only argument. Nothing tells which record an error belongs
//! to: it is found by halves, like those of arrays.

use super::PlanState;
use super::sql::newer;
use crate::database::DbResult;
use crate::postgres::building::Building;
use crate::postgres::catalog::PgTable;
use crate::postgres::names;
use crate::postgres::value::clean_jsonb;
use crate::postgres::wire::Format;
use crate::write::{RowRef, Special, TableWrite, Transform, WriteMode, WritePlan};
use data::{Batch, write_json_string, write_plain_json};
use std::fmt::Write;
use std::sync::Arc;

/// The statement over one parameter, the array. Of rows with the same key the newest counts, else
/// the last; they are stored in the order of their keys, so that two workers do not block each other.
pub(super) fn sql(
    transform: &Transform,
    plan: &WritePlan,
    pg: &PgTable,
    special: &Special,
) -> String {
    let name = |at: usize| pg.table.columns.get(at).map_or("", |column| column.name.as_str());
    let open = transform
        .columns
        .iter()
        .filter(|at| pg.columns.get(**at).is_some_and(|column| !column.identity_always));
    let open: Vec<usize> = open.copied().collect();
    let list = |columns: &[usize], prefix: &str| {
        names::list(columns, |out, at| {
            out.push_str(prefix);
            names::push_ident(out, name(*at));
        })
    };
    let target = format!("INSERT INTO {} AS t ({})", names::table(&pg.table.name), list(&open, ""));
    let function = &transform.function;
    let (keys, columns) = (list(&transform.key, "r."), list(&open, "r."));
    let conflict = match transform.key.is_empty() {
        true => String::new(),
        false => format!(" ({})", list(&transform.key, "")),
    };
    if plan.mode == WriteMode::Insert || (transform.key.is_empty()) {
        let end = if plan.mode == WriteMode::Insert { "" } else { " ON CONFLICT DO NOTHING" };
        return format!("{target} SELECT {columns} FROM {function}($1::jsonb) AS r{end}");
    }
    let newest = special
        .version
        .map(|at| format!("r.{} DESC NULLS LAST, ", names::ident(name(at))))
        .unwrap_or_default();
    let last = if plan.mode == WriteMode::Upsert { " DESC" } else { "" };
    let mut sql = format!(
        "{target} SELECT DISTINCT ON ({keys}) {columns} FROM (SELECT f.*, row_number() OVER () \
         AS \"copycat place\" FROM {function}($1::jsonb) AS f) AS r \
         ORDER BY {keys}, {newest}r.\"copycat place\"{last} ON CONFLICT{conflict}"
    );
    let changed: Vec<usize> =
        open.iter().filter(|at| !transform.key.contains(at)).copied().collect();
    if plan.mode == WriteMode::InsertIgnore || changed.is_empty() {
        sql.push_str(" DO NOTHING");
        return sql;
    }
    let set = names::list(&changed, |out, at| {
        let column = names::ident(name(*at));
        // Writing to a string cannot fail, here and below.
        let _ok = write!(out, "{column} = EXCLUDED.{column}");
    });
    let _ok = write!(sql, " DO UPDATE SET {set}");
    if let Some(at) = special.version {
        let _ok = write!(sql, " WHERE {}", newer(name(at)));
    }
    sql
}

/// Adds the statement with the records of a write.
pub(super) fn push(
    building: &mut Building<'_>,
    state: &PlanState,
    sql: &Arc<str>,
    index: usize,
    write: &TableWrite,
    batches: &[Batch],
) -> DbResult<()> {
    let name = building.prepare(sql);
    let mut fault = None;
    building.pipeline.bind_with(&name, &[Format::Text], Format::Binary, |w| {
        w.value(|buf| {
            buf.push(b'[');
            for (n, place) in write.rows.iter().enumerate() {
                if n > 0 {
                    buf.push(b',');
                }
                let start = buf.len();
                record(place, batches, buf);
                if fault.is_none()
                    && let Err(found) = clean_jsonb(&state.settings, buf, start)
                {
                    fault = Some((n, found));
                }
            }
            buf.push(b']');
        });
    });
    building.pipeline.execute(0);
    match fault {
        Some((row, fault)) => Err(super::not_jsonb(state, fault, index, row)),
        None => Ok(()),
    }
}

fn record(place: &RowRef, batches: &[Batch], out: &mut Vec<u8>) {
    let Some(batch) = batches.get(place.batch as usize) else {
        out.extend_from_slice(b"null");
        return;
    };
    let row = place.row as usize;
    for (name, rows) in [("{\"key\":", &batch.keys), (",\"value\":", &batch.values)] {
        out.extend_from_slice(name.as_bytes());
        write_plain_json(rows, rows.schema(row).map(|schema| &**schema), rows.root(row), out);
    }
    out.extend_from_slice(b",\"headers\":{");
    for (n, (name, value)) in batch.raw.headers(row).enumerate() {
        if n > 0 {
            out.push(b',');
        }
        write_json_string(name, out);
        out.push(b':');
        match value.map(String::from_utf8_lossy) {
            Some(text) => write_json_string(&text, out),
            None => out.extend_from_slice(b"null"),
        }
    }
    out.extend_from_slice(b"},\"topic\":");
    write_json_string(batch.topic(row), out);
    let offset = batch.offset(row).unwrap_or(-1);
    // Writing to a vector cannot fail.
    let _ok = std::io::Write::write_fmt(
        out,
        format_args!(",\"partition\":{},\"offset\":{offset},\"timestamp\":", batch.raw.partition()),
    );
    let _ok = match batch.timestamp(row) {
        Some(time) => std::io::Write::write_fmt(out, format_args!("{time}}}")),
        None => std::io::Write::write_fmt(out, format_args!("null}}")),
    };
}
