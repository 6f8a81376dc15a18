//! Advice that works: what is told where something is missing can be run as it is.

use super::pg::{failed, name, settings};
use super::pg_partial::{Told, objects, put, sink};
use api::{ErrorKind, Tolerance};
use data::{Cell, Rows};
use sql::database::{Database, DbErrorKind};
use sql::postgres::PostgresDatabase;
use sql::table::{NewColumn, NewTable, TableName};
use testkit::postgres;

#[test]
fn one_message_tells_what_both_tables_of_ours_need() {
    let server = postgres::database();
    let role = testkit::unique("reader").replace('-', "_");
    server.execute(&format!(
        "CREATE ROLE {role} LOGIN; REVOKE ALL ON SCHEMA public FROM PUBLIC; \
         GRANT USAGE ON SCHEMA public TO {role}"
    ));
    let mut ours = settings(&server);
    ours.user = Some(role.clone());
    let mut database = PostgresDatabase::new(ours).unwrap();
    for round in 0..2 {
        let error = failed(database.connect());
        assert_eq!(error.kind, DbErrorKind::Config);
        assert!(
            error.message.contains("copycat_offsets") && error.message.contains("_dead_letters"),
            "{error}"
        );
        let hint = error.hint.unwrap();
        let (_, sql) = hint.split_once('\n').unwrap();
        if round == 0 {
            server.execute(sql);
            server.execute(&format!(
                "REVOKE ALL ON copycat_offsets, copycat_dead_letters FROM {role}"
            ));
        } else {
            assert!(!sql.contains("CREATE"), "{sql}");
            server.execute(sql);
        }
    }
    database.connect().unwrap();
    drop(database);
    server.execute(&format!("DROP OWNED BY {role}; DROP ROLE {role}"));
}

#[test]
fn a_missing_schema_is_named_with_the_statement_that_makes_it() {
    let server = postgres::database();
    let mut ours = settings(&server);
    let inside = |table: &str| TableName { schema: Some("no where".into()), name: table.into() };
    (ours.offsets_table, ours.dead_letters_table) = (inside("positions"), inside("letters"));
    let mut database = PostgresDatabase::new(ours).unwrap();
    let error = failed(database.connect());
    assert_eq!((error.kind, error.sqlstate.as_deref()), (DbErrorKind::Config, Some("3F000")));
    assert!(error.message.contains("the schema no where does not exist"), "{error}");
    let hint = error.hint.unwrap();
    assert!(!hint.contains("GRANT") && hint.matches("CREATE SCHEMA").count() == 1, "{hint}");
    server.execute(hint.split_once('\n').unwrap().1);
    database.connect().unwrap();
    server.execute("DROP SCHEMA \"no where\" CASCADE; CREATE SCHEMA other");
    let mut database = PostgresDatabase::new(settings(&server)).unwrap();
    let column = NewColumn { name: "a".into(), schema: None, nullable: true };
    let new = NewTable {
        name: inside("t"),
        columns: vec![column],
        primary_key: Vec::new(),
        updates_expected: false,
    };
    let error = failed(database.create_table(&new));
    assert!(error.message.contains("the schema no where does not exist"), "{error}");
    server.execute(error.hint.unwrap().split_once('\n').unwrap().1);
    database.create_table(&new).unwrap();
    assert!(database.table(&name("t")).unwrap().is_none());
}

#[test]
fn a_missing_database_and_an_unwanted_primary_are_explained() {
    let server = postgres::database();
    let mut ours = settings(&server);
    let url = server.url().replace(server.name(), "no_such_database");
    ours.url = config::Password::new(&url);
    let error = failed(PostgresDatabase::new(ours).unwrap().connect());
    assert_eq!((error.kind, error.sqlstate.as_deref()), (DbErrorKind::Config, Some("3D000")));
    assert!(error.hint.unwrap().contains("CREATE DATABASE \"no_such_database\""));
    let mut ours = settings(&server);
    let glue = if server.url().contains('?') { '&' } else { '?' };
    ours.url = config::Password::new(format!("{}{glue}targetServerType=secondary", server.url()));
    let error = failed(PostgresDatabase::new(ours).unwrap().connect());
    assert!(error.message.contains("takes writes"), "{error}");
    let hint = error.hint.unwrap();
    assert!(hint.contains("targetServerType=primary") && !hint.contains("no writes"), "{hint}");
}

#[test]
fn a_proposed_table_fits_the_records_without_a_schema() {
    let server = postgres::database();
    let fill = |rows: &mut Rows, n: i64| {
        let text = Cell::Text(rows.heap.put(b"x"));
        let json = Cell::Json(rows.heap.put(br#"{"a":1}"#));
        vec![("id", Cell::int(n)), ("s", text), ("b", Cell::Bool(true)), ("j", json)]
    };
    let options = [("table.name.format", "app.events")];
    let mut told = Told::default();
    let mut first = sink(&server, &options, Tolerance::None, &mut told);
    let error = put(&mut first, objects(0, 1, fill), &mut told).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Config);
    assert!(error.message.starts_with("schema app does not exist"), "{error}");
    let hint = error.hint.unwrap();
    server.execute(hint.split_once("example: ").unwrap().1);
    let mut again = sink(&server, &options, Tolerance::None, &mut told);
    put(&mut again, objects(0, 2, fill), &mut told).unwrap();
    let types = "SELECT concat_ws(',', pg_typeof(id), pg_typeof(s), pg_typeof(b), pg_typeof(j), id, s, j) \
                 FROM app.events WHERE id = 1";
    assert_eq!(server.value(types).as_deref(), Some("numeric,text,boolean,jsonb,1,x,{\"a\": 1}"));
}

#[test]
fn no_table_is_made_without_columns() {
    let server = postgres::database();
    let options = [("auto.create", "true")];
    let mut told = Told::default();
    let mut sink = sink(&server, &options, Tolerance::None, &mut told);
    let error = put(&mut sink, objects(0, 1, |_, _| Vec::new()), &mut told).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Config);
    assert!(error.message.contains("no fields to make columns of"), "{error}");
    assert_eq!(server.value("SELECT to_regclass('t')"), None);
}
