//! Errors of a PostgreSQL connection, and what they mean for a batch.
//!
//! Place in the data path: every failure of the wire is turned into one [`PgError`] here, and
//! [`PgError::classify`] is the only function that decides what a SQLSTATE means. Callers act on the
//! [`Class`], never on the text, because servers translate their messages.
//!
//! Invariant: no error text contains a password.

use std::fmt;
use std::io;

/// What an error means for the batch that met it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// The server is gone or going: reconnect and retry the transaction; never blame a row.
    Connection,
    /// The server answers but takes no writes (a standby): reconnect, to another host if there is one.
    ReadOnly,
    /// Disk, memory, connections or time ran out: back off and retry.
    Resource,
    /// Serialization failure, deadlock or lock timeout: retry soon, with jitter.
    Concurrency,
    /// The table is not what the plan says: read the catalogue, plan again, retry once.
    SchemaDrift,
    /// A row cannot be stored: find it and report it.
    Data,
    /// Credentials or privileges: someone has to grant or configure something.
    Auth,
    /// The settings cannot work (bad URL, certificate or database name).
    Config,
    /// The caller asked to stop.
    Cancelled,
    /// A state that a correct program does not reach, or a broken server.
    Bug,
}

/// Where the server checks rows against policies and the conditions of views.
const ROW_CHECKS: &str = "ExecWithCheckOptions";

/// A failure of the connection or of a statement.
#[derive(Debug)]
pub enum PgError {
    /// The operating system refused something; `context` says what was being done and to which
    /// address.
    Io {
        /// What was being done, for example `cannot connect to 127.0.0.1:5432`.
        context: String,
        /// The system's reason.
        source: io::Error,
    },
    /// The server closed the connection without a word.
    Closed(String),
    /// The server reported an error.
    Server(Box<ServerError>),
    /// No address of the URL could be used; each attempt with its error.
    Unreachable(Vec<(String, PgError)>),
    /// TLS failed (certificate, protocol, or the server has none).
    Tls(String),
    /// The authentication exchange failed on our side.
    Auth(String),
    /// A setting cannot be used.
    Config(String),
    /// The deadline or the socket timeout passed; the text says what was waited for.
    Timeout(String),
    /// The caller's cancel function returned true.
    Cancelled,
    /// Bytes that are not the PostgreSQL protocol, or a pipeline that was built wrongly.
    Protocol(String),
}

/// The fields of an `ErrorResponse` or `NoticeResponse`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerError {
    /// `ERROR`, `FATAL`, `PANIC` or a notice level, never translated (servers ≥ 9.6).
    pub severity: String,
    /// The SQLSTATE, five characters.
    pub code: String,
    /// The message, in the server's language.
    pub message: String,
    /// Further detail.
    pub detail: Option<String>,
    /// The server's advice.
    pub hint: Option<String>,
    /// Character position in the statement, from 1.
    pub position: Option<u32>,
    /// Where it happened, one line per level, innermost first (`W`).
    pub context: Option<String>,
    /// Schema of the object concerned.
    pub schema: Option<String>,
    /// Table concerned.
    pub table: Option<String>,
    /// Column concerned.
    pub column: Option<String>,
    /// Data type concerned.
    pub datatype: Option<String>,
    /// Constraint concerned.
    pub constraint: Option<String>,
    /// The function of the server that reported it (`R`); never translated.
    pub routine: Option<String>,
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (SQLSTATE {})", self.message, self.code)?;
        if let Some(detail) = &self.detail {
            write!(f, "; {detail}")?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "; hint: {hint}")?;
        }
        Ok(())
    }
}

impl fmt::Display for PgError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PgError::Io { context, source } => write!(f, "{context}: {source}"),
            PgError::Closed(context) => write!(f, "{context}: the server closed the connection"),
            PgError::Server(error) => error.fmt(f),
            PgError::Unreachable(attempts) => {
                f.write_str("no PostgreSQL server could be used")?;
                for (n, (address, error)) in attempts.iter().enumerate() {
                    write!(f, "{} {address}: {error}", if n == 0 { ":" } else { ";" })?;
                }
                Ok(())
            }
            PgError::Tls(text) => write!(f, "tls: {text}"),
            PgError::Auth(text)
            | PgError::Config(text)
            | PgError::Timeout(text)
            | PgError::Protocol(text) => f.write_str(text),
            PgError::Cancelled => f.write_str("cancelled"),
        }
    }
}

impl std::error::Error for PgError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            PgError::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl From<ServerError> for PgError {
    fn from(error: ServerError) -> PgError {
        PgError::Server(Box::new(error))
    }
}

impl PgError {
    /// The server's report, when the server reported this error.
    pub fn server(&self) -> Option<&ServerError> {
        match self {
            PgError::Server(error) => Some(error),
            _ => None,
        }
    }

    /// The SQLSTATE, when the server reported one.
    pub fn code(&self) -> Option<&str> {
        self.server().map(|e| e.code.as_str())
    }

    /// What this error means for the batch.
    pub fn classify(&self) -> Class {
        match self {
            PgError::Io { .. } | PgError::Closed(_) => Class::Connection,
            PgError::Server(error) => error.classify(),
            PgError::Unreachable(attempts) => classify_attempts(attempts),
            PgError::Tls(_) | PgError::Config(_) => Class::Config,
            PgError::Auth(_) => Class::Auth,
            PgError::Timeout(_) => Class::Resource,
            PgError::Cancelled => Class::Cancelled,
            PgError::Protocol(_) => Class::Bug,
        }
    }
}

/// One host that may come back is enough to go on trying; only when every host gave a final answer
/// is that answer the class of the whole.
fn classify_attempts(attempts: &[(String, PgError)]) -> Class {
    let mut last = Class::Connection;
    for (_, error) in attempts {
        match error.classify() {
            class @ (Class::Auth | Class::Config) => last = class,
            other => return if other == Class::ReadOnly { other } else { Class::Connection },
        }
    }
    last
}

impl ServerError {
    /// True if the server ends the session with this error.
    pub fn is_fatal(&self) -> bool {
        matches!(self.severity.as_str(), "FATAL" | "PANIC")
    }

    /// True for the errors that named statements cause behind a transaction pooler.
    pub fn is_pooler_symptom(&self) -> bool {
        matches!(self.code.as_str(), "26000" | "42P05")
    }

    /// What the SQLSTATE means for the batch.
    ///
    /// `54000` and `54001` count as data although their group is a resource: "index row size exceeds
    /// maximum", "row is too big" and "stack depth limit" (nested JSON) belong to one row and come
    /// back for ever. `42501` is a lacking right, or a row that a policy of row-level security refuses;
    /// only the place in the server tells them apart. `25P03` and `57P05` are sessions that the server ended for idling.
    pub fn classify(&self) -> Class {
        let code = self.code.as_str();
        match code {
            "25006" => return Class::ReadOnly,
            "08P01" | "22P03" | "3F000" | "55000" => return Class::SchemaDrift,
            "57014" | "55006" => return Class::Resource,
            "25P03" | "53300" | "40003" | "HV00N" => return Class::Connection,
            "42501" if self.routine.as_deref() == Some(ROW_CHECKS) => return Class::Data,
            "42501" => return Class::Auth,
            "55P03" => return Class::Concurrency,
            "3D000" => return Class::Config,
            "54000" | "54001" | "P0001" | "P0002" | "P0003" | "P0004" => return Class::Data,
            _ => {}
        }
        match code.get(..2).unwrap_or("") {
            "08" | "57" => Class::Connection,
            "21" | "22" | "23" | "44" => Class::Data,
            "28" | "0L" | "0P" => Class::Auth,
            "40" => Class::Concurrency,
            "42" | "0A" => Class::SchemaDrift,
            "53" | "54" | "58" => Class::Resource,
            _ => Class::Bug,
        }
    }

    /// The line of COPY input (from 1) that the context names for `relation` (the unqualified name).
    ///
    /// The words around the number are translated by the server, so only its digits are read: those
    /// that follow the relation's name, in the first context line that has both. The caller must
    /// verify the answer (a trial without that row): a trigger may put anything into the context.
    pub fn copy_line(&self, relation: &str) -> Option<u64> {
        self.copy_context(relation).map(|(line, _)| line)
    }

    /// The column that COPY's context names, out of `columns` (unquoted names). Falls back to the
    /// error's own column field.
    pub fn copy_column<'a>(
        &self,
        relation: &str,
        columns: impl IntoIterator<Item = &'a str>,
    ) -> Option<&'a str> {
        let rest = self.copy_context(relation).map(|(_, rest)| rest).unwrap_or("");
        let mut best: Option<&'a str> = None;
        for name in columns {
            if self.column.as_deref() == Some(name) {
                return Some(name);
            }
            let longer = best.is_none_or(|b| name.len() > b.len());
            if longer && names_column(rest, name) {
                best = Some(name);
            }
        }
        best
    }

    fn copy_context(&self, relation: &str) -> Option<(u64, &str)> {
        let context = self.context.as_deref()?;
        context.lines().find_map(|line| {
            line.find("COPY")?;
            let after = line.split_once(relation).map_or("", |(_, after)| after);
            let start = after.find(|c: char| c.is_ascii_digit())?;
            let digits = after.get(start..)?;
            let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
            let number = digits.get(..end)?.parse().ok()?;
            Some((number, digits.get(end..)?))
        })
    }
}

/// True if `text`, which follows the line number, has `name` as a word before its first colon or at
/// its end. The value comes after the colon and must not be searched.
fn names_column(text: &str, name: &str) -> bool {
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(|t| t.find(name)).map(|n| n + from) {
        let before = text.get(..at).unwrap_or("");
        let after = text.get(at + name.len()..).unwrap_or("");
        let starts = before.ends_with(|c: char| !c.is_alphanumeric() && c != '_');
        let ends = after.is_empty() || after.starts_with([':', ' ', ',', '\u{ff1a}']);
        if starts && ends && !before.contains(": ") {
            return true;
        }
        from = at + name.len().max(1);
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(code: &str) -> ServerError {
        ServerError { code: code.into(), ..ServerError::default() }
    }

    fn with_context(text: &str) -> ServerError {
        ServerError { context: Some(text.into()), ..ServerError::default() }
    }

    #[test]
    fn each_group_has_its_class() {
        let expect = [
            ("08006", Class::Connection),
            ("08P01", Class::SchemaDrift),
            ("57P01", Class::Connection),
            ("57P02", Class::Connection),
            ("57P03", Class::Connection),
            ("57P05", Class::Connection),
            ("53300", Class::Connection),
            ("25P03", Class::Connection),
            ("25006", Class::ReadOnly),
            ("53100", Class::Resource),
            ("53200", Class::Resource),
            ("57014", Class::Resource),
            ("55006", Class::Resource),
            ("54023", Class::Resource),
            ("58030", Class::Resource),
            ("54000", Class::Data),
            ("54001", Class::Data),
            ("40001", Class::Concurrency),
            ("40P01", Class::Concurrency),
            ("55P03", Class::Concurrency),
            ("42703", Class::SchemaDrift),
            ("42P01", Class::SchemaDrift),
            ("42804", Class::SchemaDrift),
            ("0A000", Class::SchemaDrift),
            ("42P10", Class::SchemaDrift),
            ("22P03", Class::SchemaDrift),
            ("3F000", Class::SchemaDrift),
            ("22003", Class::Data),
            ("22P02", Class::Data),
            ("23505", Class::Data),
            ("21000", Class::Data),
            ("44000", Class::Data),
            ("P0001", Class::Data),
            ("28P01", Class::Auth),
            ("28000", Class::Auth),
            ("42501", Class::Auth),
            ("3D000", Class::Config),
            ("XX000", Class::Bug),
            ("25P02", Class::Bug),
            ("", Class::Bug),
            ("ü", Class::Bug),
        ];
        for (code, class) in expect {
            assert_eq!(state(code).classify(), class, "{code}");
        }
    }

    #[test]
    fn the_copy_line_is_read_in_any_language() {
        for text in [
            "COPY t2024, line 17, column amount: \"x\"",
            "COPY t2024, Zeile 17, Spalte amount: »x«",
            "COPY t2024, строка 17, столбец amount: \"x\"",
            "t2024のCOPY、行 17、列 amount: \"x\"",
            "PL/pgSQL function f() line 3 at RAISE\nCOPY t2024, line 17, column amount: \"x\"",
        ] {
            let error = with_context(text);
            assert_eq!(error.copy_line("t2024"), Some(17), "{text}");
            assert_eq!(
                error.copy_column("t2024", ["id", "amount", "am"]),
                Some("amount"),
                "{text}"
            );
        }
        assert_eq!(with_context("COPY t, line 5").copy_line("t"), Some(5));
        assert_eq!(with_context("COPY t, line 5").copy_column("t", ["line", "b"]), None);
        assert_eq!(with_context("SQL function f line 5").copy_line("t"), None);
        assert_eq!(ServerError::default().copy_line("t"), None);
    }

    #[test]
    fn the_value_is_not_searched_for_the_column() {
        let error = with_context("COPY t, line 2, column a: \"x, b: y\"");
        assert_eq!(error.copy_column("t", ["b", "a"]), Some("a"));
    }

    #[test]
    fn one_host_that_may_return_keeps_the_whole_a_connection_error() {
        let auth = || PgError::Auth("no".into());
        let down = PgError::Closed("x".into());
        assert_eq!(
            PgError::Unreachable(vec![("a".into(), auth()), ("b".into(), down)]).classify(),
            Class::Connection
        );
        assert_eq!(PgError::Unreachable(vec![("a".into(), auth())]).classify(), Class::Auth);
    }
}
