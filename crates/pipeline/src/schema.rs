//! The SQL of the schema `pipeline_kafka`: tables by version, functions and views by edition.
//!
//! Place in the data path: beside it; run once by an installation or an upgrade. `sql/v1` is never
//! changed once a release has it: a change of tables is a new version. `sql/code` is replaced as a whole.

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
    include_str!("../sql/code/produce.sql"),
    include_str!("../sql/code/views.sql"),
];

/// Everything that an installation into an empty database runs, in one transaction.
pub fn install_sql() -> String {
    let mut sql = String::from("CREATE SCHEMA pipeline_kafka;\n");
    for part in VERSIONS.iter().flat_map(|(_, parts)| parts.iter()).chain(CODE) {
        sql.push_str(part);
    }
    let identifier = crate::control::SYSTEM_IDENTIFIER;
    sql.push_str(&format!(
        "INSERT INTO pipeline_kafka.installation (schema_version, system_identifier, \
         database_oid, database_name) SELECT {SCHEMA_VERSION}, {identifier}, d.oid, d.datname \
         FROM pg_catalog.pg_database d WHERE d.datname = current_database();\n"
    ));
    sql
}
