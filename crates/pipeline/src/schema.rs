//! The SQL of the schema `pipeline_kafka`: tables by version, functions and views by edition.
//!
//! Place in the data path: beside it; run once by an installation or an upgrade. `sql/v1` is never
//! changed once a release has it: a change of tables is a new version. `sql/code` is replaced as a whole.

use std::hash::{DefaultHasher, Hash, Hasher};

/// The version of the tables that this program works with.
pub const SCHEMA_VERSION: i32 = 1;

/// Statements of each version, in order; each is run once.
pub(crate) const VERSIONS: [(i32, &[&str]); 1] = [(
    1,
    &[
        include_str!("../sql/v1/definitions.sql"),
        include_str!("../sql/v1/progress.sql"),
        include_str!("../sql/v1/rights.sql"),
    ],
)];

/// Functions and views, each `CREATE OR REPLACE`.
pub(crate) const CODE: &[&str] = &[
    include_str!("../sql/code/worker.sql"),
    include_str!("../sql/code/checks.sql"),
    include_str!("../sql/code/definition.sql"),
    include_str!("../sql/code/clusters.sql"),
    include_str!("../sql/code/consumers.sql"),
    include_str!("../sql/code/positions.sql"),
    include_str!("../sql/code/replays.sql"),
    include_str!("../sql/code/produce.sql"),
    include_str!("../sql/code/views.sql"),
];

/// Tables of all versions, then functions and views.
pub(crate) fn all_sql() -> String {
    sql_since(0)
}

/// Tables of the versions after that one, then functions and views.
pub(crate) fn sql_since(version: i32) -> String {
    let newer = VERSIONS.iter().filter(|(own, _)| *own > version);
    newer.flat_map(|(_, parts)| parts.iter()).chain(CODE).copied().collect()
}

/// Tells editions of functions and views apart.
pub(crate) fn code_digest() -> String {
    let mut hasher = DefaultHasher::new();
    CODE.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_upgrade_of_the_newest_version_replaces_functions_only() {
        assert!(all_sql().contains("CREATE TABLE pipeline_kafka.consumers"));
        assert!(!sql_since(SCHEMA_VERSION).contains("CREATE TABLE"));
        assert_eq!(VERSIONS.last().map(|(version, _)| *version), Some(SCHEMA_VERSION));
    }

    /// What is created anew with every upgrade must not be dropped before: people's triggers and
    /// views depend on it.
    #[test]
    fn code_is_replaced_in_place() {
        for code in CODE {
            for line in code.lines().filter(|line| line.starts_with("CREATE")) {
                assert!(line.starts_with("CREATE OR REPLACE"), "{line}");
            }
        }
    }
}
