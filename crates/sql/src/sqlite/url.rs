//! Which file a connection URL names.
//!
//! Place in the data path: read once when a task is made; nothing here touches the disk. Every form
//! people write is accepted: `jdbc:sqlite:`, `sqlite:`, `sqlite://`, `file:`. A database in memory is
//! refused: its rows and positions would be gone with the connection, so nothing could be exactly
//! once across a restart.

use crate::database::{DbError, DbErrorKind, DbResult};
use std::path::PathBuf;

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// Only reading works; a sink then fails with a clear message.
    ReadOnly,
    /// The file must be there.
    ReadWrite,
    /// The file is created where it is missing. The default.
    Create,
}

/// The `synchronous` level of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Synchronous {
    /// The operating system decides when data reach the disk; a power cut may damage the file.
    Off,
    /// In WAL mode a power cut may take the last transactions, each with its positions. The default.
    Normal,
    /// Every commit waits for the disk.
    Full,
}

/// A parsed URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    pub path: PathBuf,
    pub mode: OpenMode,
    pub synchronous: Synchronous,
    pub foreign_keys: bool,
    /// How long to wait for other writers before the transaction fails and is tried again, where
    /// the URL says so.
    pub busy_timeout_ms: Option<u64>,
    /// The size the file may grow to, in pages.
    pub pages_max: Option<u32>,
    /// Parameters without a meaning here, for one log line.
    pub ignored: Vec<String>,
}

impl Location {
    /// # Errors
    /// `Config` for another database's URL, for a database in memory and for bad parameters.
    pub fn parse(url: &str) -> DbResult<Location> {
        let (rest, encoded) = strip_scheme(url.trim())?;
        let (path, query) = match rest.split_once('?') {
            Some((path, query)) => (path, query),
            None => (rest, ""),
        };
        let path = if encoded { decode(path)? } else { path.to_owned() };
        if path.is_empty() || path.starts_with(":memory:") {
            return Err(refuse(format!("{url} names a database in memory")).hint(
                "name a file, for example jdbc:sqlite:/var/lib/copycat/data.db: rows and \
                       positions must outlive the task",
            ));
        }
        if path.starts_with(":resource:") {
            return Err(refuse(format!("{url} names a Java resource, not a file"))
                .hint("name a file, for example jdbc:sqlite:/var/lib/copycat/data.db"));
        }
        let mut location = Location {
            path: PathBuf::from(path),
            mode: OpenMode::Create,
            synchronous: Synchronous::Normal,
            foreign_keys: true,
            busy_timeout_ms: None,
            pages_max: None,
            ignored: Vec::new(),
        };
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            location.parameter(key, value)?;
        }
        Ok(location)
    }

    fn parameter(&mut self, key: &str, value: &str) -> DbResult<()> {
        let lower = value.to_ascii_lowercase();
        match key.to_ascii_lowercase().as_str() {
            "mode" => {
                self.mode = match lower.as_str() {
                    "ro" => OpenMode::ReadOnly,
                    "rw" => OpenMode::ReadWrite,
                    "rwc" => OpenMode::Create,
                    "memory" => {
                        return Err(refuse("mode=memory names a database in memory")
                            .hint("name a file and leave mode out"));
                    }
                    _ => return Err(bad_parameter(key, value, "ro, rw, rwc")),
                };
            }
            "synchronous" => {
                self.synchronous = match lower.as_str() {
                    "off" | "0" => Synchronous::Off,
                    "normal" | "1" => Synchronous::Normal,
                    "full" | "2" | "extra" | "3" => Synchronous::Full,
                    _ => return Err(bad_parameter(key, value, "off, normal, full")),
                };
            }
            "foreign_keys" => {
                self.foreign_keys = match lower.as_str() {
                    "true" | "on" | "1" | "yes" => true,
                    "false" | "off" | "0" | "no" => false,
                    _ => return Err(bad_parameter(key, value, "true, false")),
                };
            }
            "busy_timeout" => {
                let ms = value.parse();
                self.busy_timeout_ms =
                    Some(ms.map_err(|_| bad_parameter(key, value, "a number of milliseconds"))?);
            }
            "max_page_count" => {
                let pages = value.parse();
                self.pages_max =
                    Some(pages.map_err(|_| bad_parameter(key, value, "a number of pages"))?);
            }
            _ => self.ignored.push(key.to_owned()),
        }
        Ok(())
    }
}

/// The part behind the scheme, and whether it is percent-encoded.
fn strip_scheme(url: &str) -> DbResult<(&str, bool)> {
    if let Some(rest) = strip_ignoring_case(url, "jdbc:sqlite:") {
        return match strip_ignoring_case(rest, "file:") {
            Some(rest) => Ok((authority(rest), true)),
            None => Ok((rest, false)),
        };
    }
    for scheme in ["sqlite:", "sqlite3:", "file:"] {
        if let Some(rest) = strip_ignoring_case(url, scheme) {
            return Ok((authority(rest), true));
        }
    }
    Err(refuse("this is no SQLite URL")
        .hint("write jdbc:sqlite:/path/file.db, sqlite:///path/file.db or file:/path/file.db"))
}

/// Skips `//` and, as in `file://localhost/path`, the local host's name.
fn authority(rest: &str) -> &str {
    let Some(rest) = rest.strip_prefix("//") else { return rest };
    match rest.strip_prefix("localhost") {
        Some(path) if path.starts_with('/') => path,
        _ => rest,
    }
}

fn strip_ignoring_case<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let head = text.get(..prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then(|| text.get(prefix.len()..)).flatten()
}

fn decode(path: &str) -> DbResult<String> {
    let mut out = Vec::with_capacity(path.len());
    let mut bytes = path.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let digit = |b: Option<u8>| b.and_then(|b| (b as char).to_digit(16));
        match (digit(bytes.next()), digit(bytes.next())) {
            (Some(high), Some(low)) => out.push((high * 16 + low) as u8),
            _ => {
                return Err(refuse(format!("the path {path} has a % without two hex digits"))
                    .hint("write %25 for a percent sign"));
            }
        }
    }
    String::from_utf8(out).map_err(|_| refuse(format!("the path {path} is not UTF-8")))
}

fn refuse(message: impl Into<String>) -> DbError {
    DbError::new(DbErrorKind::Config, message)
}

fn bad_parameter(key: &str, value: &str, allowed: &str) -> DbError {
    refuse(format!("the connection URL's {key} is {value:?}")).hint(format!("use {allowed}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_names_the_same_file() {
        for url in [
            "jdbc:sqlite:/data/my file.db",
            "JDBC:SQLITE:/data/my file.db",
            "jdbc:sqlite:file:/data/my%20file.db",
            "sqlite:/data/my%20file.db",
            "sqlite:///data/my%20file.db",
            "file:///data/my file.db",
            "file://localhost/data/my file.db",
        ] {
            assert_eq!(
                Location::parse(url).unwrap().path,
                PathBuf::from("/data/my file.db"),
                "{url}"
            );
        }
        assert_eq!(Location::parse("sqlite:rel.db").unwrap().path, PathBuf::from("rel.db"));
        assert_eq!(Location::parse("jdbc:sqlite:100%.db").unwrap().path, PathBuf::from("100%.db"));
    }

    #[test]
    fn memory_and_strangers_are_refused_with_a_hint() {
        for url in [
            "jdbc:sqlite::memory:",
            "jdbc:sqlite:",
            "sqlite://",
            "file::memory:?cache=shared",
            "file:x?mode=memory",
            "jdbc:sqlite::resource:a.db",
            "jdbc:mysql://h/db",
        ] {
            let error = Location::parse(url).unwrap_err();
            assert_eq!(error.kind, DbErrorKind::Config, "{url}");
            assert!(error.hint.is_some(), "{url}");
        }
        assert!(Location::parse("file:a%zz").is_err());
    }

    #[test]
    fn parameters_are_read_or_kept_for_the_log() {
        let url = "jdbc:sqlite:a.db?synchronous=FULL&foreign_keys=off&busy_timeout=50&cache_size=9";
        let location = Location::parse(url).unwrap();
        assert_eq!(location.synchronous, Synchronous::Full);
        assert!(!location.foreign_keys);
        assert_eq!((location.busy_timeout_ms, location.mode), (Some(50), OpenMode::Create));
        assert_eq!(location.ignored, ["cache_size"]);
        assert!(Location::parse("sqlite:a.db?mode=rx").is_err());
    }
}
