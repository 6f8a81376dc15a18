//! Queries, parameters, prepared statements and settings over a real connection.

use sql::postgres::wire::{
    Command, ConnectConfig, Connection, Format, PgError, Pipeline, SessionSettings,
    TransactionStatus, Wait,
};
use std::time::Duration;

/// The longest that any step of these tests may take.
pub(crate) fn patience() -> Wait<'static> {
    Wait::at_most(Duration::from_secs(60))
}

/// Opens a connection.
pub(crate) fn open(url: &str) -> Connection {
    try_open(url).expect("the server takes the connection")
}

pub(crate) fn try_open(url: &str) -> Result<Connection, PgError> {
    let config = ConnectConfig::parse(url).expect("the url is well-formed");
    Connection::connect(&config, patience())
}

#[test]
fn text_queries_return_rows_nulls_and_counts() {
    let database = testkit::postgres::database();
    let mut c = open(&database.url());
    let rows = c.query_text("SELECT 1, NULL, 'ä' UNION ALL SELECT 2, 'x', ''", patience()).unwrap();
    assert_eq!((rows.len(), rows.columns()), (2, 3));
    assert_eq!(rows.parsed::<i32>(0, 0), Some(1));
    assert_eq!(rows.get(0, 1), None);
    assert_eq!(rows.text(0, 2), Some("ä"));
    assert_eq!(rows.text(1, 2), Some(""));
    assert_eq!(rows.get(2, 0), None);
    assert_eq!(rows.get(0, 3), None);
    c.execute("CREATE TABLE t (a int, b text)", patience()).unwrap();
    let count = c.execute("INSERT INTO t SELECT n, n FROM generate_series(1, 5) n", patience());
    assert_eq!(count.unwrap(), 5);
    assert!(c.query_text("", patience()).unwrap().is_empty());
    let rows = c
        .query_params(
            "SELECT a, b FROM t WHERE a = $1::int OR b = $2 ORDER BY a",
            &[Some("2"), Some("4")],
            patience(),
        )
        .unwrap();
    assert_eq!((rows.text(0, 0), rows.text(1, 1)), (Some("2"), Some("4")));
    let none = c.query_params("SELECT $1::text", &[None], patience()).unwrap();
    assert_eq!((none.len(), none.get(0, 0)), (1, None));
}

#[test]
fn a_statement_error_leaves_the_connection_usable() {
    let database = testkit::postgres::database();
    let mut c = open(&database.url());
    let error = c.query_text("SELECT 1; SELECT no_such_column", patience()).unwrap_err();
    let server = error.server().unwrap();
    assert_eq!((server.code.as_str(), server.severity.as_str()), ("42703", "ERROR"));
    assert_eq!(server.position, Some(18));
    c.execute("CREATE TABLE t (a int CONSTRAINT positive CHECK (a > 0) NOT NULL)", patience())
        .unwrap();
    let error = c.execute("INSERT INTO t VALUES (-1)", patience()).unwrap_err();
    let server = error.server().unwrap();
    assert_eq!(server.table.as_deref(), Some("t"));
    assert_eq!(server.schema.as_deref(), Some("public"));
    assert_eq!(server.constraint.as_deref(), Some("positive"));
    let error = c.execute("INSERT INTO t VALUES (NULL)", patience()).unwrap_err();
    assert_eq!(error.server().unwrap().column.as_deref(), Some("a"));
    assert!(c.query_params("SELECT $1::int", &[Some("x")], patience()).is_err());
    assert_eq!(c.query_text("SELECT 7", patience()).unwrap().text(0, 0), Some("7"));
}

#[test]
fn prepared_statements_are_described_and_run_with_binary_parameters() {
    let database = testkit::postgres::database();
    let mut c = open(&database.url());
    let (types, fields) =
        c.prepare("add", "SELECT $1::int8 + $2::int8 AS sum, 'x'::text", &[], patience()).unwrap();
    assert_eq!(types, [20, 20]);
    assert_eq!((fields[0].name.as_str(), fields[0].type_oid), ("sum", 20));
    assert_eq!(fields[1].type_oid, 25);
    let mut p = Pipeline::new();
    let formats = [Format::Binary, Format::Text];
    p.bind_with("add", &formats, Format::Binary, |w| {
        w.value(|buf| buf.extend(40i64.to_be_bytes()));
        w.value(|buf| buf.extend(b"2"));
    });
    p.execute(0).sync();
    let reply = c.run(&mut p, patience()).unwrap();
    assert_eq!(reply.statements[0].rows.get(0, 0), Some(&42i64.to_be_bytes()[..]));
    assert_eq!(reply.statements[0].tag.unwrap().command, Command::Select);
    p.close_statement("add").sync();
    c.run(&mut p, patience()).unwrap().check().unwrap();
    p.bind("add", &[], Format::Text).execute(0).sync();
    let error = c.run(&mut p, patience()).unwrap().check().unwrap_err();
    assert!(error.server().unwrap().is_pooler_symptom());
}

#[test]
fn max_rows_suspends_a_statement() {
    let database = testkit::postgres::database();
    let mut c = open(&database.url());
    let mut p = Pipeline::new();
    p.parse("", "SELECT generate_series(1, 10)", &[])
        .bind("", &[], Format::Text)
        .describe_portal()
        .execute(4)
        .execute(0)
        .sync();
    let reply = c.run(&mut p, patience()).unwrap().check().unwrap();
    assert_eq!(reply.statements[0].rows.len(), 4);
    assert_eq!(reply.statements[0].tag, None);
    assert_eq!(reply.statements[0].fields[0].name, "generate_series");
    assert_eq!(reply.statements[1].rows.len(), 6);
}

#[test]
fn the_session_is_set_up_as_the_encoders_expect() {
    let database = testkit::postgres::database();
    let url = format!(
        "{}?currentSchema=pg_catalog&ApplicationName=me&options=-c%20geqo%3Doff",
        database.url()
    );
    let mut c = open(&url);
    assert_eq!(c.parameter("client_encoding"), Some("UTF8"));
    assert_eq!(c.parameter("TimeZone"), Some("UTC"));
    assert_eq!(c.parameter("DateStyle"), Some("ISO, MDY"));
    assert_eq!(c.parameter("application_name"), Some("me"));
    assert!(c.server_version() >= 90_600);
    assert!(c.backend_pid() > 0);
    assert_eq!(c.transaction_status(), TransactionStatus::Idle);
    let mut show = |name: &str| {
        let rows = c.query_text(&format!("SHOW {name}"), patience()).unwrap();
        rows.text(0, 0).unwrap().to_owned()
    };
    assert_eq!(show("search_path"), "pg_catalog");
    assert_eq!(show("geqo"), "off");
    assert_eq!(show("extra_float_digits"), "3");
}

#[test]
fn session_settings_reach_the_server() {
    let database = testkit::postgres::database();
    let mut c = open(&database.url());
    let settings = SessionSettings {
        statement_timeout: Some(Duration::from_secs(31)),
        lock_timeout: Some(Duration::from_secs(9)),
        idle_in_transaction_session_timeout: Some(Duration::from_secs(30)),
        client_connection_check_interval: Some(Duration::from_secs(10)),
        synchronous_commit: Some("off"),
    };
    c.configure(&settings, patience()).unwrap();
    let rows = c
        .query_text(
            "SELECT name, setting FROM pg_settings WHERE source = 'session' AND name IN \
             ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', \
             'client_connection_check_interval', 'synchronous_commit') ORDER BY name",
            patience(),
        )
        .unwrap();
    let values: Vec<_> = (0..rows.len()).map(|n| rows.text(n, 1).unwrap()).collect();
    assert_eq!(values, ["10000", "30000", "9000", "31000", "off"]);
}

#[test]
fn transaction_blocks_are_followed() {
    let database = testkit::postgres::database();
    let mut c = open(&database.url());
    c.execute("BEGIN", patience()).unwrap();
    assert_eq!(c.transaction_status(), TransactionStatus::InTransaction);
    assert!(c.execute("SELECT 1/0", patience()).is_err());
    assert_eq!(c.transaction_status(), TransactionStatus::Failed);
    // A COMMIT of a failed transaction succeeds and stores nothing; only the tag tells.
    let mut p = Pipeline::new();
    p.query("COMMIT");
    let reply = c.run(&mut p, patience()).unwrap().check().unwrap();
    assert_eq!(reply.statements[0].tag.unwrap().command, Command::Rollback);
    assert_eq!(c.transaction_status(), TransactionStatus::Idle);
}
