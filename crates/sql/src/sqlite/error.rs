//! What SQLite's result codes mean for a transaction and its rows.
//!
//! Place in the data path: every failure of a SQLite call passes [`classify`] once. Codes decide;
//! texts are read only for column names and for the few schema errors that have no code of their
//! own. SQLite has no SQLSTATEs: those of PostgreSQL that mean the same are given, so that reports
//! and dead letters read alike for both databases.

use crate::database::{DbError, DbErrorKind, RowLocation};
use rusqlite::ffi;

/// What was being done when the error came up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doing {
    /// A statement was compiled, or something other than a row was at work.
    Statement,
    /// A row was written.
    Row(RowLocation),
    /// The transaction was being committed.
    Commit,
}

/// Turns an error of rusqlite into ours.
pub(super) fn classify(error: &rusqlite::Error, doing: Doing) -> DbError {
    let (code, text) = match error {
        rusqlite::Error::SqliteFailure(e, text) => {
            (e.extended_code, text.clone().unwrap_or_else(|| e.to_string()))
        }
        rusqlite::Error::SqlInputError { error, msg, .. } => (error.extended_code, msg.clone()),
        other => return DbError::new(DbErrorKind::Bug, format!("SQLite: {other}")),
    };
    let mut found = by_code(code, &text, doing);
    if found.kind == DbErrorKind::Data {
        found.column = column_of(&text);
        if let Doing::Row(location) = doing {
            found.location = Some(location);
        }
    }
    found
}

fn by_code(code: i32, text: &str, doing: Doing) -> DbError {
    let (kind, sqlstate, hint) = match code & 0xff {
        ffi::SQLITE_CONSTRAINT => (DbErrorKind::Data, constraint(code), None),
        ffi::SQLITE_MISMATCH => (DbErrorKind::Data, "22P02", None),
        ffi::SQLITE_TOOBIG => {
            (DbErrorKind::Data, "54000", Some("SQLite holds values of up to 1,000,000,000 bytes"))
        }
        ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED => (
            DbErrorKind::Concurrency,
            "55P03",
            Some("another process holds the file's write lock; it is tried again"),
        ),
        ffi::SQLITE_FULL => (
            DbErrorKind::Resource,
            "53100",
            Some("make room on the disk, or raise PRAGMA max_page_count; it is tried again"),
        ),
        ffi::SQLITE_NOMEM => (DbErrorKind::Resource, "53200", Some("give the process more memory")),
        ffi::SQLITE_IOERR => (
            DbErrorKind::Connection,
            "58030",
            Some("look at the disk and at the system's log; the file is opened again"),
        ),
        ffi::SQLITE_PROTOCOL => (DbErrorKind::Concurrency, "55P03", None),
        ffi::SQLITE_READONLY if code == ffi::SQLITE_READONLY_DBMOVED => {
            (DbErrorKind::Connection, "58P01", Some("the file was moved; it is opened again"))
        }
        ffi::SQLITE_READONLY => (
            DbErrorKind::Config,
            "25006",
            Some("give the user of this process write access to the file and its directory"),
        ),
        ffi::SQLITE_CORRUPT => (
            DbErrorKind::Config,
            "XX001",
            Some("the file is damaged: run PRAGMA integrity_check, then restore or .recover it"),
        ),
        ffi::SQLITE_NOTADB => (
            DbErrorKind::Config,
            "58P01",
            Some("the file is no SQLite database, or it is encrypted: name another file"),
        ),
        ffi::SQLITE_CANTOPEN => (
            DbErrorKind::Resource,
            "58030",
            Some("check the directory's permissions and the limit of open files"),
        ),
        ffi::SQLITE_PERM | ffi::SQLITE_AUTH => {
            (DbErrorKind::Config, "42501", Some("give the user of this process access"))
        }
        ffi::SQLITE_INTERRUPT => (DbErrorKind::Cancelled, "57014", None),
        ffi::SQLITE_SCHEMA => (DbErrorKind::Drift, "42P01", None),
        ffi::SQLITE_ERROR => return by_text(text, doing),
        _ => (DbErrorKind::Bug, "XX000", None),
    };
    finish(kind, sqlstate, hint, text, doing)
}

fn finish(
    kind: DbErrorKind,
    sqlstate: &str,
    hint: Option<&str>,
    text: &str,
    doing: Doing,
) -> DbError {
    let message = match doing {
        Doing::Commit => format!("the commit failed: {text}"),
        _ => text.to_owned(),
    };
    let error = DbError::new(kind, message).sqlstate(sqlstate);
    match hint {
        Some(hint) => error.hint(hint),
        None => error,
    }
}

fn constraint(code: i32) -> &'static str {
    match code {
        ffi::SQLITE_CONSTRAINT_UNIQUE
        | ffi::SQLITE_CONSTRAINT_PRIMARYKEY
        | ffi::SQLITE_CONSTRAINT_ROWID => "23505",
        ffi::SQLITE_CONSTRAINT_NOTNULL => "23502",
        ffi::SQLITE_CONSTRAINT_CHECK => "23514",
        ffi::SQLITE_CONSTRAINT_FOREIGNKEY => "23503",
        ffi::SQLITE_CONSTRAINT_TRIGGER => "P0001",
        ffi::SQLITE_CONSTRAINT_DATATYPE => "22P02",
        _ => "23000",
    }
}

/// `SQLITE_ERROR` covers everything else: a table that changed, a statement that can never work, and
/// functions (in checks, triggers, generated columns) that refuse a row's value.
fn by_text(text: &str, doing: Doing) -> DbError {
    let drift = |sqlstate| finish(DbErrorKind::Drift, sqlstate, None, text, doing);
    if text.starts_with("no such table") {
        return drift("42P01");
    }
    if text.starts_with("no such column") || text.contains("has no column named") {
        return drift("42703");
    }
    if text.contains("ON CONFLICT clause does not match") {
        let hint = "create a unique index on exactly the key columns, without a WHERE";
        return drift("42P10").hint(hint);
    }
    if text.contains("cannot INSERT into generated column")
        || text.contains("cannot UPDATE generated column")
    {
        return drift("428C9");
    }
    if text.contains("because it is a view") || text.contains("cannot UPSERT a view") {
        let hint = "write to a table, or give the view an INSTEAD OF trigger and use insert";
        return finish(DbErrorKind::Config, "42809", Some(hint), text, doing);
    }
    if text.starts_with("too many SQL variables") || text.starts_with("too many columns") {
        return finish(DbErrorKind::Config, "54011", None, text, doing);
    }
    match doing {
        Doing::Row(_) => finish(DbErrorKind::Data, "22000", None, text, doing),
        _ => finish(DbErrorKind::Config, "42601", None, text, doing),
    }
}

/// The column that a message names; `None` where there is none or more than one.
fn column_of(text: &str) -> Option<String> {
    let last = |path: &str| path.rsplit('.').next().map(str::to_owned);
    for prefix in ["UNIQUE constraint failed: ", "NOT NULL constraint failed: "] {
        if let Some(columns) = text.strip_prefix(prefix) {
            return if columns.contains(", ") { None } else { last(columns) };
        }
    }
    let (_, column) = text.strip_prefix("cannot store ")?.split_once(" column ")?;
    last(column)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(code: i32, text: &str, doing: Doing) -> DbError {
        let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), Some(text.to_owned()));
        classify(&error, doing)
    }

    #[test]
    fn only_errors_of_a_row_are_located() {
        let at = RowLocation { write: 1, row: 7 };
        let text = "NOT NULL constraint failed: orders.amount";
        let error = failure(ffi::SQLITE_CONSTRAINT_NOTNULL, text, Doing::Row(at));
        assert_eq!(error.location, Some(at));
        assert_eq!(error.sqlstate.as_deref(), Some("23502"));
        assert_eq!(error.column.as_deref(), Some("amount"));
        let full = failure(ffi::SQLITE_FULL, "database or disk is full", Doing::Row(at));
        assert_eq!((full.kind, full.location), (DbErrorKind::Resource, None));
        let late = failure(ffi::SQLITE_CONSTRAINT_FOREIGNKEY, "FOREIGN KEY", Doing::Commit);
        assert_eq!((late.kind, late.location), (DbErrorKind::Data, None));
    }

    #[test]
    fn codes_have_their_kinds() {
        for (code, kind) in [
            (ffi::SQLITE_BUSY_SNAPSHOT, DbErrorKind::Concurrency),
            (ffi::SQLITE_LOCKED, DbErrorKind::Concurrency),
            (ffi::SQLITE_IOERR_FSYNC, DbErrorKind::Connection),
            (ffi::SQLITE_CORRUPT, DbErrorKind::Config),
            (ffi::SQLITE_NOTADB, DbErrorKind::Config),
            (ffi::SQLITE_READONLY, DbErrorKind::Config),
            (ffi::SQLITE_READONLY_DBMOVED, DbErrorKind::Connection),
            (ffi::SQLITE_MISUSE, DbErrorKind::Bug),
        ] {
            assert_eq!(failure(code, "x", Doing::Statement).kind, kind, "{code}");
        }
    }

    #[test]
    fn a_changed_table_is_drift_and_a_refusing_function_is_data() {
        let at = Doing::Row(RowLocation { write: 0, row: 0 });
        for text in ["no such column: a", "table t has no column named b", "no such table: main.t"]
        {
            assert_eq!(failure(ffi::SQLITE_ERROR, text, at).kind, DbErrorKind::Drift, "{text}");
        }
        assert_eq!(failure(ffi::SQLITE_ERROR, "malformed JSON", at).kind, DbErrorKind::Data);
        let two = "UNIQUE constraint failed: t.a, t.b";
        assert_eq!(failure(ffi::SQLITE_CONSTRAINT_UNIQUE, two, at).column, None);
    }
}
