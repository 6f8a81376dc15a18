//! Plain inserts: pipelined, located, by COPY and by arrays.

use super::pg::{Pg, batch, failed, numbered, of, pairs, schema};
use data::{Type, Value};
use sql::database::{Database, DbErrorKind, RowLocation};
use sql::write::WriteMode;

const PAIRS: &str = "CREATE TABLE pairs (id bigint, v text)";

#[test]
fn rows_arrive_in_order_whatever_the_way() {
    let mut pg = Pg::new(PAIRS);
    let plan = pg.plan("pairs", &pairs(), WriteMode::Insert, &[]);
    let mut at = 0;
    for len in [1, 7, 999, 1000, 5000] {
        pg.store(&plan, &numbered(at, len)).unwrap();
        at += len;
    }
    assert_eq!(pg.position(), at);
    let wrong = "SELECT count(*) FROM (SELECT row_number() OVER () - 1 AS n, * FROM pairs) p \
                 WHERE n <> id OR v <> 'v' || id";
    assert_eq!((pg.count("pairs"), pg.value(wrong).as_deref()), (at, Some("0")));
}

#[test]
fn a_bad_row_in_the_second_of_three_leaves_only_the_first() {
    for len in [10i64, 2000] {
        let mut pg = Pg::new("CREATE TABLE pairs (id bigint CHECK (id <> 13), v text)");
        let plan = pg.plan("pairs", &pairs(), WriteMode::Insert, &[]);
        let batches = [numbered(0, 5), numbered(5, len), numbered(5 + len, 5)];
        pg.start(&plan, &batches[0]).unwrap();
        pg.start(&plan, &batches[1]).unwrap();
        assert_eq!(pg.database.in_flight(), 2);
        pg.database.settle().unwrap();
        pg.start(&plan, &batches[2]).unwrap();
        let error = failed(pg.database.settle());
        assert_eq!(error.kind, DbErrorKind::Data);
        assert_eq!(error.sqlstate.as_deref(), Some("23514"));
        if len >= 1000 {
            assert_eq!(error.location, Some(RowLocation { write: 0, row: 8 }));
        }
        assert_eq!(failed(pg.database.settle()).kind, DbErrorKind::Stale);
        pg.database.abandon();
        assert_eq!((pg.position(), pg.count("pairs")), (5, 5));
        pg.store(&plan, &numbered(5, 8)).unwrap();
        assert_eq!(pg.count("pairs"), 13);
    }
}

#[test]
fn a_value_without_a_form_is_found_before_anything_is_sent() {
    let mut pg = Pg::new("CREATE TABLE small (id integer, v text)");
    let fields = schema(&[("id", of(Type::Int64)), ("v", of(Type::String))]);
    let plan = pg.plan("small", &fields, WriteMode::Insert, &[]);
    for len in [10usize, 3000] {
        let rows = (0..len).map(|n| {
            let id = if n == 7 { i64::MAX } else { n as i64 };
            vec![Value::int(id), Value::Null]
        });
        let error = failed(pg.start(&plan, &batch(&fields, 0, rows.collect())));
        assert_eq!(error.kind, DbErrorKind::Data);
        assert_eq!(error.location, Some(RowLocation { write: 0, row: 7 }));
        assert_eq!(error.column.as_deref(), Some("id"));
        assert_eq!(pg.database.in_flight(), 0);
    }
    pg.store(&plan, &numbered(0, 2000)).unwrap();
}

#[test]
fn a_type_altered_between_batches_never_stores_wrong_numbers() {
    let mut pg = Pg::new(PAIRS);
    let plan = pg.plan("pairs", &pairs(), WriteMode::Insert, &[]);
    pg.store(&plan, &numbered(0, 2000)).unwrap();
    pg.server.execute("ALTER TABLE pairs ALTER COLUMN id TYPE double precision");
    let error = failed(pg.store(&plan, &numbered(2000, 2000)));
    assert_eq!(error.kind, DbErrorKind::Drift, "{error}");
    assert_eq!(pg.count("pairs"), 2000);
    pg.database.forget_tables();
    let plan = pg.plan("pairs", &pairs(), WriteMode::Insert, &[]);
    pg.store(&plan, &numbered(2000, 2000)).unwrap();
    let sum = pg.value("SELECT sum(id)::bigint FROM pairs");
    assert_eq!(sum, Some((3999 * 4000 / 2).to_string()));
}

#[test]
fn a_dropped_column_and_a_renamed_table_are_drift() {
    for len in [5i64, 2000] {
        for change in ["ALTER TABLE pairs DROP COLUMN v", "ALTER TABLE pairs RENAME TO other"] {
            let mut pg = Pg::new(PAIRS);
            let plan = pg.plan("pairs", &pairs(), WriteMode::Insert, &[]);
            pg.store(&plan, &numbered(0, len)).unwrap();
            pg.server.execute(change);
            let error = failed(pg.store(&plan, &numbered(len, len)));
            assert_eq!(error.kind, DbErrorKind::Drift, "{change}: {error}");
            assert_eq!(pg.position(), len);
        }
    }
}

#[test]
fn a_plan_of_an_older_table_is_drift() {
    let mut pg = Pg::new(PAIRS);
    let plan = pg.plan("pairs", &pairs(), WriteMode::Insert, &[]);
    pg.server.execute("ALTER TABLE pairs ALTER COLUMN v TYPE integer USING 0");
    pg.database.forget_tables();
    assert_eq!(failed(pg.store(&plan, &numbered(0, 1))).kind, DbErrorKind::Drift);
}
