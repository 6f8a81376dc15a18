//! Tables: read from the catalogue, made, and given columns.

use super::pg::{Pg, failed, name, numbered, of, pairs, settings};
use data::{Schema, SchemaBuilder, Type, Value};
use sql::config::{TimestampColumn, TypeDialect};
use sql::database::{Database, DbErrorKind};
use sql::postgres::PostgresDatabase;
use sql::table::{NewColumn, NewTable, TableName};
use sql::write::WriteMode;
use std::sync::Arc;
use testkit::postgres;

#[test]
fn the_catalogue_is_read_as_it_is() {
    let mut pg = Pg::new(
        "CREATE DOMAIN short AS varchar(5) DEFAULT 'x'; CREATE DOMAIN code AS short NOT NULL; \
         CREATE TABLE \"Odd Name\" ( \
           gone int, id int GENERATED ALWAYS AS IDENTITY, \"C\" text[], code code, \
           twice int GENERATED ALWAYS AS (id * 2) STORED, doc jsonb, n numeric(10, 2) NOT NULL, \
           PRIMARY KEY (id), UNIQUE (\"C\", id), UNIQUE (n) DEFERRABLE); \
         CREATE UNIQUE INDEX ON \"Odd Name\" (code) WHERE code <> 'x'; \
         CREATE UNIQUE INDEX ON \"Odd Name\" (lower(code)); \
         CREATE UNIQUE INDEX ON \"Odd Name\" (doc) INCLUDE (n); \
         ALTER TABLE \"Odd Name\" DROP COLUMN gone",
    );
    let table = pg.table("Odd Name");
    assert_eq!(table.name, TableName { schema: Some("public".into()), name: "Odd Name".into() });
    let seen: Vec<_> = table
        .columns
        .iter()
        .map(|c| (c.name.as_str(), c.type_name.as_str(), c.nullable, c.has_default, c.generated))
        .collect();
    assert_eq!(
        seen,
        [
            ("id", "integer", false, true, false),
            ("C", "text[]", true, false, false),
            ("code", "code", false, true, false),
            ("twice", "integer", true, false, true),
            ("doc", "jsonb", true, false, false),
            ("n", "numeric(10,2)", false, false, false),
        ]
    );
    assert!(table.columns[4].json && !table.columns[1].json);
    assert_eq!(table.unique_keys, [vec![0], vec![1, 0], vec![4]]);
    assert!(table.has_primary_key && !table.is_view);
    assert_eq!(pg.database.table(&name("odd name")).unwrap(), None);
}

#[test]
fn names_are_found_by_the_search_path_and_views_are_known() {
    let server = postgres::database();
    server.execute(&format!(
        "CREATE SCHEMA app; CREATE TABLE app.t (a int); CREATE TABLE t (b int); \
         CREATE VIEW seen AS SELECT a FROM app.t; CREATE SEQUENCE counter; \
         CREATE TABLE parts (k int, v text) PARTITION BY RANGE (k); \
         CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (5000); \
         ALTER DATABASE {} SET search_path = app, public",
        server.name()
    ));
    let mut database = PostgresDatabase::new(settings(&server)).unwrap();
    let mut table = |schema: Option<&str>, name: &str| {
        let name = TableName { schema: schema.map(str::to_owned), name: name.to_owned() };
        database.table(&name)
    };
    assert_eq!(table(None, "t").unwrap().unwrap().columns[0].name, "a");
    assert_eq!(table(Some("public"), "t").unwrap().unwrap().columns[0].name, "b");
    assert!(table(Some("public"), "seen").unwrap().unwrap().is_view);
    assert_eq!(table(Some("nowhere"), "t").unwrap(), None);
    assert_eq!(failed(table(Some("public"), "counter")).kind, DbErrorKind::Config);
    assert!(!table(Some("public"), "parts").unwrap().unwrap().is_view);
}

#[test]
fn views_and_partitioned_tables_are_written_to() {
    let mut pg = Pg::new(
        "CREATE TABLE base (id bigint, v text); CREATE VIEW pairs AS SELECT * FROM base; \
         CREATE TABLE parts (id bigint, v text) PARTITION BY RANGE (id); \
         CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (3000)",
    );
    let view = pg.plan("pairs", &pairs(), WriteMode::Insert, &[]);
    pg.store(&view, &numbered(0, 1500)).unwrap();
    assert_eq!(pg.count("base"), 1500);
    let parts = pg.plan("parts", &pairs(), WriteMode::Insert, &[]);
    pg.store(&parts, &numbered(1500, 1500)).unwrap();
    let error = failed(pg.store(&parts, &numbered(3000, 1500)));
    assert_eq!((error.kind, error.location.map(|l| l.row)), (DbErrorKind::Data, Some(0)));
}

fn column(name: &str, schema: Schema, nullable: bool) -> NewColumn {
    NewColumn { name: name.to_owned(), schema: Some(Arc::new(schema)), nullable }
}

#[test]
fn a_table_is_made_with_the_types_of_its_schema() {
    let mut pg = Pg::new("");
    let array = SchemaBuilder::array(Arc::new(Schema::new(Type::Int32))).build().unwrap();
    let text = |default: &str| {
        SchemaBuilder::new(Type::String).default(Value::Text(default.into())).build().unwrap()
    };
    let day = SchemaBuilder::date().default(Value::Instant(data::DAY_MS)).build().unwrap();
    let new = NewTable {
        name: name("made"),
        columns: vec![
            column("id", Schema::new(Type::Int64), false),
            column("q\"x", text("it's \\ok"), false),
            column("day", day, true),
            column("at", SchemaBuilder::timestamp().build().unwrap(), true),
            column("list", array, true),
            column("flag", Schema::new(Type::Boolean), true),
            NewColumn { name: "any".to_owned(), schema: None, nullable: true },
        ],
        primary_key: vec!["id".to_owned()],
        updates_expected: true,
    };
    pg.database.create_table(&new).unwrap();
    pg.database.create_table(&new).unwrap();
    let types: Vec<String> = pg.table("made").columns.iter().map(|c| c.type_name.clone()).collect();
    let expect =
        ["bigint", "text", "date", "timestamp with time zone", "integer[]", "boolean", "jsonb"];
    assert_eq!(types, expect);
    pg.server.execute("INSERT INTO made (id) VALUES (1)");
    assert_eq!(
        pg.value("SELECT \"q\"\"x\" || ' ' || day FROM made").as_deref(),
        Some("it's \\ok 1970-01-02")
    );
    let fill = "SELECT reloptions::text FROM pg_class WHERE relname = 'made'";
    assert_eq!(pg.value(fill).as_deref(), Some("{fillfactor=50}"));
    let table = pg.table("made");
    let more = [column("extra", of(Type::Float64), true), column("id", of(Type::Int64), true)];
    pg.database.add_columns(&table, &more).unwrap();
    assert_eq!(pg.table("made").columns.len(), 8);
    assert!(pg.database.create_table_sql(&new).starts_with("CREATE TABLE IF NOT EXISTS \"made\""));
}

#[test]
fn names_that_would_be_cut_are_refused() {
    let mut pg = Pg::new("");
    let long = "x".repeat(64);
    let mut new = NewTable {
        name: name(&long),
        columns: vec![column("id", Schema::new(Type::Int64), false)],
        primary_key: Vec::new(),
        updates_expected: false,
    };
    assert_eq!(failed(pg.database.create_table(&new)).kind, DbErrorKind::Config);
    new.name = name("fine");
    new.columns[0].name = long;
    assert_eq!(failed(pg.database.create_table(&new)).kind, DbErrorKind::Config);
}

#[test]
fn tables_are_made_at_once_by_many() {
    let pg = Pg::new("");
    let new = NewTable {
        name: name("shared"),
        columns: vec![column("id", Schema::new(Type::Int64), false)],
        primary_key: vec!["id".to_owned()],
        updates_expected: false,
    };
    std::thread::scope(|scope| {
        let made: Vec<_> = (0..4)
            .map(|n| {
                let mut database = super::pg::open(&pg.server);
                let new = &new;
                scope.spawn(move || {
                    database.create_table(new)?;
                    let table = database.table(&new.name)?.expect("it is there");
                    let columns = [column(&format!("c{n}"), of(Type::String), true)];
                    database.add_columns(&table, &columns)
                })
            })
            .collect();
        for thread in made {
            thread.join().unwrap().unwrap();
        }
    });
    let count = "SELECT count(*) FROM information_schema.columns WHERE table_name = 'shared'";
    assert_eq!(pg.value(count).as_deref(), Some("5"));
}

#[test]
fn a_role_that_may_not_create_is_given_the_statement() {
    let server = postgres::database();
    let role = testkit::unique("writer").replace('-', "_");
    server.execute(&format!("CREATE ROLE {role} LOGIN; GRANT ALL ON SCHEMA public TO {role}"));
    let mut ours = settings(&server);
    ours.user = Some(role.clone());
    let mut database = PostgresDatabase::new(ours).unwrap();
    database.connect().unwrap();
    server.execute(&format!("REVOKE CREATE ON SCHEMA public FROM PUBLIC, {role}"));
    let new = NewTable {
        name: name("wanted"),
        columns: vec![column("id", Schema::new(Type::Int64), false)],
        primary_key: Vec::new(),
        updates_expected: false,
    };
    let error = failed(database.create_table(&new));
    assert_eq!(error.kind, DbErrorKind::Config);
    let hint = error.hint.unwrap();
    server.execute(hint.split_once('\n').unwrap().1);
    assert!(database.table(&new.name).unwrap().is_some());
    let missing = TableName { schema: Some("nowhere".into()), name: "t".into() };
    let error = failed(database.create_table(&NewTable { name: missing, ..new }));
    assert_eq!((error.kind, error.sqlstate.as_deref()), (DbErrorKind::Config, Some("3F000")));
    drop(database);
    server.execute(&format!("DROP OWNED BY {role}; DROP ROLE {role}"));
}

#[test]
fn other_connectors_timestamps_have_no_zone() {
    let mut pg = Pg::with("", |s| s.types = TypeDialect::CJdbc);
    let at = || column("at", SchemaBuilder::timestamp().build().unwrap(), true);
    let new = |table: &str| NewTable {
        name: name(table),
        columns: vec![at()],
        primary_key: Vec::new(),
        updates_expected: false,
    };
    pg.database.create_table(&new("a")).unwrap();
    assert_eq!(pg.table("a").columns[0].type_name, "timestamp without time zone");
    let mut ours = settings(&pg.server);
    ours.timestamp_column = TimestampColumn::Timestamp;
    let own = PostgresDatabase::new(ours).unwrap();
    assert!(own.create_table_sql(&new("b")).contains("\"at\" timestamp)"));
}

#[test]
fn identity_and_generated_columns_are_dealt_with() {
    let mut pg = Pg::new(
        "CREATE TABLE pairs (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, v text, \
         len int GENERATED ALWAYS AS (length(v)) STORED)",
    );
    let insert = pg.plan("pairs", &pairs(), WriteMode::Insert, &[]);
    pg.store(&insert, &numbered(0, 10)).unwrap();
    pg.store(&insert, &numbered(10, 1990)).unwrap();
    let upsert = pg.plan("pairs", &pairs(), WriteMode::Upsert, &["id"]);
    pg.store(&upsert, &numbered(2000, 10)).unwrap();
    let right = "SELECT count(*) FROM pairs WHERE v = 'v' || id AND len = length(v)";
    assert_eq!(pg.value(right).as_deref(), Some("2010"));
}
