//! `psql`, the client that the functions are made for.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use testkit::postgres::Database;

/// Runs a script, each statement by itself, and gives what psql says of both kinds: results without
/// decoration, then everything else (notices and errors with their SQLSTATE, details and hints).
pub(crate) fn psql(url: &str, script: &str) -> (String, String) {
    let folder = std::env::var_os("COPYCAT_TEST_PG_BIN").map(PathBuf::from).unwrap_or_default();
    let mut child = Command::new(folder.join("psql"))
        .args([url, "-X", "-q", "-A", "-t", "-F", "|", "-v", "VERBOSITY=verbose", "-f", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("psql, which comes with PostgreSQL");
    child.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr))
}

/// Results of a script without an error.
pub(crate) fn results(database: &Database, script: &str) -> String {
    let (results, rest) = psql(&database.url(), script);
    assert!(!rest.contains("ERROR:"), "{script}\n{rest}");
    results.trim_end().to_owned()
}

/// The one error of a script: what psql says of it.
pub(crate) fn refused(database: &Database, script: &str) -> String {
    let (_, rest) = psql(&database.url(), script);
    assert_eq!(rest.matches("ERROR:").count(), 1, "{script}\n{rest}");
    rest
}
