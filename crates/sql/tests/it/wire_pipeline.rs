//! The exactly-once write path over the wire: advance and COPY in one implicit transaction, two
//! pipelines under way.

use crate::wire::{open, patience};
use sql::postgres::wire::{Class, Connection, Failure, Format, Param, Pipeline, Reply};
use testkit::postgres::Database;

const ADVANCE: &str = "UPDATE offsets SET next_offset = CASE WHEN next_offset = $1 AND epoch = $2 \
                       THEN $3 ELSE 1/(epoch-epoch) END WHERE part = 0";

fn prepared(extra: &str) -> (Database, Connection) {
    let database = testkit::postgres::database();
    let mut c = open(&database.url());
    c.execute(
        "CREATE TABLE offsets (part int PRIMARY KEY, next_offset bigint, epoch bigint); \
         INSERT INTO offsets VALUES (0, 0, 1); \
         CREATE TABLE t (id bigint NOT NULL, amount int, note text);",
        patience(),
    )
    .expect("the tables are made");
    c.execute(extra, patience()).expect("the extra statements run");
    c.prepare("advance", ADVANCE, &[20, 20, 20], patience()).expect("advance is prepared");
    c.prepare("copy", "COPY t (id, amount, note) FROM STDIN", &[], patience())
        .expect("copy is prepared");
    (database, c)
}

/// A batch that moves the offset row from `begin` to `end` and copies one row for each offset.
fn batch(begin: i64, end: i64, row: impl Fn(i64) -> String) -> Pipeline {
    let mut p = Pipeline::new();
    let numbers = [begin, 1, end].map(i64::to_be_bytes);
    let params = numbers.each_ref().map(|n| Param::Binary(n));
    p.bind("advance", &params, Format::Text).execute(0);
    p.bind("copy", &[], Format::Text).execute(0);
    for offset in begin..end {
        p.copy_data(row(offset).as_bytes());
    }
    p.copy_done().sync();
    p
}

fn good(offset: i64) -> String {
    format!("{offset}\t{offset}\tnote {offset}\n")
}

fn state(c: &mut Connection) -> (i64, i64) {
    let rows = c
        .query_text(
            "SELECT (SELECT next_offset FROM offsets), (SELECT count(*) FROM t)",
            patience(),
        )
        .expect("the state can be read");
    (rows.parsed(0, 0).expect("an offset"), rows.parsed(0, 1).expect("a count"))
}

fn failure(reply: Reply) -> Failure {
    *reply.failure.expect("the batch fails")
}

#[test]
fn batches_commit_offset_and_rows_together() {
    let (_database, mut c) = prepared("");
    c.start(&mut batch(0, 1000, good), patience()).unwrap();
    c.start(&mut batch(1000, 2500, good), patience()).unwrap();
    assert_eq!(c.in_flight(), 2);
    let first = c.finish(patience()).unwrap().check().unwrap();
    assert_eq!((first.row_count(0), first.row_count(1)), (1, 1000));
    // The third goes out while the second is still under way.
    c.start(&mut batch(2500, 2501, good), patience()).unwrap();
    assert_eq!(c.finish(patience()).unwrap().check().unwrap().row_count(1), 1500);
    assert_eq!(c.finish(patience()).unwrap().check().unwrap().row_count(1), 1);
    assert_eq!(state(&mut c), (2501, 2501));
}

#[test]
fn a_stale_begin_stores_nothing_and_its_copy_data_is_skipped() {
    let (_database, mut c) = prepared("");
    let failed = failure(c.run(&mut batch(5, 50_000, good), patience()).unwrap());
    assert_eq!(failed.statement, Some(0));
    assert_eq!(failed.error.code, "22012");
    assert_eq!(state(&mut c), (0, 0));
    c.run(&mut batch(0, 10, good), patience()).unwrap().check().unwrap();
    assert_eq!(state(&mut c), (10, 10));
}

#[test]
fn a_bad_row_in_the_second_of_three_batches_keeps_out_that_batch_and_all_behind_it() {
    let (_database, mut c) = prepared("");
    let bad = |n: i64| if n == 1700 { format!("{n}\tmuch\tx\n") } else { good(n) };
    c.start(&mut batch(0, 1000, good), patience()).unwrap();
    c.start(&mut batch(1000, 2000, bad), patience()).unwrap();
    c.start(&mut batch(2000, 3000, good), patience()).unwrap();
    assert!(c.finish(patience()).unwrap().failure.is_none());
    let second = failure(c.finish(patience()).unwrap());
    assert_eq!(second.statement, Some(1));
    assert_eq!(second.error.classify(), Class::Data);
    assert_eq!(second.error.copy_line("t"), Some(701));
    let columns = ["id", "amount", "note"];
    assert_eq!(second.error.copy_column("t", columns), Some("amount"));
    let third = failure(c.finish(patience()).unwrap());
    assert_eq!((third.statement, third.error.code.as_str()), (Some(0), "22012"));
    assert_eq!(state(&mut c), (1000, 1000));
}

#[test]
fn a_deferred_constraint_fails_after_all_statements_succeeded() {
    let (_database, mut c) = prepared(
        "CREATE TABLE parent (id int PRIMARY KEY); \
         ALTER TABLE t ADD FOREIGN KEY (amount) REFERENCES parent DEFERRABLE INITIALLY DEFERRED",
    );
    let reply = c.run(&mut batch(0, 3, good), patience()).unwrap();
    assert_eq!(reply.statements.len(), 2);
    assert_eq!(reply.row_count(1), 3);
    let failed = failure(reply);
    assert_eq!((failed.statement, failed.error.code.as_str()), (None, "23503"));
    assert_eq!(state(&mut c), (0, 0));
}

#[test]
fn the_simple_protocol_carries_the_same_batch() {
    let (_database, mut c) = prepared("");
    let advance = |begin: i64, end: i64| {
        format!(
            "UPDATE offsets SET next_offset = CASE WHEN next_offset = {begin} THEN {end} \
             ELSE 1/(epoch-epoch) END; COPY t (id, amount, note) FROM STDIN"
        )
    };
    let simple = |begin: i64, end: i64, row: &dyn Fn(i64) -> String| {
        let mut p = Pipeline::new();
        p.query(&advance(begin, end));
        for n in begin..end {
            p.copy_data(row(n).as_bytes());
        }
        p.copy_done();
        p
    };
    c.start(&mut simple(0, 100, &good), patience()).unwrap();
    c.start(&mut simple(100, 200, &|n| format!("{n}\tmuch\tx\n")), patience()).unwrap();
    c.start(&mut simple(200, 300, &good), patience()).unwrap();
    assert_eq!(c.finish(patience()).unwrap().check().unwrap().row_count(1), 100);
    let second = failure(c.finish(patience()).unwrap());
    assert_eq!((second.statement, second.error.copy_line("t")), (Some(1), Some(1)));
    assert_eq!(failure(c.finish(patience()).unwrap()).statement, Some(0));
    assert_eq!(state(&mut c), (100, 100));
}

#[test]
fn copies_of_20_mb_under_way_do_not_block_each_other() {
    let (_database, mut c) = prepared("");
    let pad = "x".repeat(10_000);
    let wide = |n: i64| format!("{n}\t1\t{pad}\n");
    for n in 0..3 {
        c.start(&mut batch(n * 2000, (n + 1) * 2000, wide), patience()).unwrap();
    }
    for _ in 0..3 {
        assert_eq!(c.finish(patience()).unwrap().check().unwrap().row_count(1), 2000);
    }
    assert_eq!(state(&mut c), (6000, 6000));
}

#[test]
fn a_server_that_sends_more_than_it_is_read_does_not_block_us() {
    // A notice for each row: the server blocks on sending them while we send rows.
    let (_database, mut c) = prepared(
        "CREATE FUNCTION shout() RETURNS trigger LANGUAGE plpgsql AS \
         $$BEGIN RAISE NOTICE 'row % %', NEW.id, repeat('!', 2000); RETURN NEW; END$$; \
         CREATE TRIGGER shout BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION shout()",
    );
    let pad = "x".repeat(2_000);
    let wide = |n: i64| format!("{n}\t1\t{pad}\n");
    c.start(&mut batch(0, 10_000, wide), patience()).unwrap();
    assert_eq!(c.finish(patience()).unwrap().check().unwrap().row_count(1), 10_000);
}

#[test]
fn a_trigger_may_refuse_a_row() {
    let (_database, mut c) = prepared(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS \
         $$BEGIN IF NEW.id = 7 THEN RAISE 'not seven'; END IF; RETURN NEW; END$$; \
         CREATE TRIGGER refuse BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION refuse()",
    );
    let failed = failure(c.run(&mut batch(0, 10, good), patience()).unwrap());
    assert_eq!(failed.error.classify(), Class::Data);
    assert_eq!(failed.error.copy_line("t"), Some(8));
}

#[test]
fn a_copy_without_data_is_refused_and_the_session_goes_on() {
    let (_database, mut c) = prepared("");
    let error = c.query_text("COPY t FROM STDIN", patience()).unwrap_err();
    assert_eq!(error.code(), Some("57014"));
    let mut p = Pipeline::new();
    p.bind("copy", &[], Format::Text).execute(0).sync();
    let failed = failure(c.run(&mut p, patience()).unwrap());
    assert_eq!(failed.error.code, "57014");
    assert_eq!(state(&mut c), (0, 0));
    // One that is meant to be empty is not an error.
    p.bind("copy", &[], Format::Text).execute(0).copy_done().sync();
    assert_eq!(c.run(&mut p, patience()).unwrap().check().unwrap().row_count(0), 0);
}

#[test]
fn copy_fail_rolls_back() {
    let (_database, mut c) = prepared("");
    let mut p = Pipeline::new();
    p.bind("copy", &[], Format::Text).execute(0);
    p.copy_data(good(1).as_bytes()).copy_fail("changed our mind").sync();
    let failed = failure(c.run(&mut p, patience()).unwrap());
    assert!(failed.error.message.contains("changed our mind"));
    assert_eq!(state(&mut c), (0, 0));
}

#[test]
fn copy_out_comes_as_rows_of_pieces() {
    let (_database, mut c) = prepared("");
    c.run(&mut batch(0, 3, good), patience()).unwrap().check().unwrap();
    let rows = c.query_text("COPY (SELECT id, note FROM t ORDER BY 1) TO STDOUT", patience());
    let rows = rows.unwrap();
    assert_eq!((rows.len(), rows.text(1, 0)), (3, Some("1\tnote 1\n")));
}

#[test]
fn a_pipeline_in_flight_keeps_other_queries_out() {
    let (_database, mut c) = prepared("");
    c.start(&mut batch(0, 3, good), patience()).unwrap();
    assert!(c.query_text("SELECT 1", patience()).is_err());
    assert!(c.finish(patience()).unwrap().failure.is_none());
    assert!(c.finish(patience()).is_err());
    assert_eq!(state(&mut c), (3, 3));
}
