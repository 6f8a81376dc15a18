//! Positions: claimed, fenced, read after failures; and the tables they live in.

use super::pg::{FromZero, Pg, failed, numbered, open, pairs, seat, settings, write};
use api::{ResolvedStart, Seat, StartResolver};
use data::TopicPartition;
use sql::database::{ClaimError, Database, DbErrorKind};
use sql::postgres::PostgresDatabase;
use sql::write::{Advance, WriteMode};
use testkit::postgres;

const PAIRS: &str = "CREATE TABLE pairs (id bigint, v text)";

#[test]
fn a_second_owner_fences_the_first() {
    let mut first = Pg::new(PAIRS);
    let plan = first.plan("pairs", &pairs(), WriteMode::Insert, &[]);
    first.store(&plan, &numbered(0, 10)).unwrap();
    let mut second = open(&first.server);
    let taken = second.claim(&[seat("t", 0)], &mut FromZero).unwrap()[0];
    assert_eq!((taken.next_offset, taken.epoch), (10, first.at.epoch + 1));
    let error = failed(first.store(&plan, &numbered(10, 10)));
    assert_eq!(error.kind, DbErrorKind::Stale);
    assert_eq!(first.count("pairs"), 10);
    assert_eq!(first.position(), 10);
}

#[test]
fn a_wrong_offset_writes_nothing() {
    let mut pg = Pg::new(PAIRS);
    let plan = pg.plan("pairs", &pairs(), WriteMode::Insert, &[]);
    for first in [1, 5] {
        let error = failed(pg.store(&plan, &numbered(first, 2000)));
        assert_eq!(error.kind, DbErrorKind::Stale);
        assert!(error.message.contains("t-0"), "{error}");
    }
    assert_eq!(pg.count("pairs"), 0);
    pg.store(&plan, &numbered(0, 5)).unwrap();
    assert_eq!((pg.count("pairs"), pg.position()), (5, 5));
}

/// Resolves to numbers that tell the partitions apart, and counts what it was asked.
struct Counting(Vec<TopicPartition>);

impl StartResolver for Counting {
    fn resolve(&mut self, partitions: &[TopicPartition]) -> api::Result<Vec<ResolvedStart>> {
        self.0.extend_from_slice(partitions);
        Ok(partitions
            .iter()
            .map(|p| ResolvedStart { offset: 100 + i64::from(p.partition) })
            .collect())
    }
}

#[test]
fn only_missing_positions_are_resolved_and_a_mark_is_one() {
    let server = postgres::database();
    let mut database = open(&server);
    let seats = [seat("b", 1), seat("a", 0), seat("b", 0)];
    let mut resolver = Counting(Vec::new());
    let positions = database.claim(&seats, &mut resolver).unwrap();
    assert_eq!(positions.iter().map(|p| p.next_offset).collect::<Vec<_>>(), [101, 100, 100]);
    assert_eq!(resolver.0.len(), 3);
    server.execute("UPDATE copycat_offsets SET next_offset = 7 WHERE topic = 'a'");
    server.execute(
        "UPDATE copycat_offsets SET next_offset = NULL, epoch = epoch + 1 \
         WHERE topic = 'b' AND partition = 1",
    );
    let tps: Vec<TopicPartition> = seats.iter().map(|s| s.tp.clone()).collect();
    let seen = database.positions(&tps).unwrap();
    assert_eq!(seen[0], None, "a mark is no position");
    assert_eq!(seen[1].unwrap().next_offset, 7);
    let mut resolver = Counting(Vec::new());
    let positions = database.claim(&seats, &mut resolver).unwrap();
    assert_eq!(resolver.0, [TopicPartition::new("b", 1)]);
    assert_eq!(positions[0].next_offset, 101);
    assert_eq!(positions[1].next_offset, 7);
    assert_eq!((positions[0].epoch, positions[2].epoch), (3, 2));
    assert_eq!(database.positions(&[TopicPartition::new("x", 0)]).unwrap(), [None]);
}

struct Failing;

impl StartResolver for Failing {
    fn resolve(&mut self, _: &[TopicPartition]) -> api::Result<Vec<ResolvedStart>> {
        Err(api::Error::retriable("kafka is away"))
    }
}

#[test]
fn an_unresolved_start_stores_nothing() {
    let server = postgres::database();
    let mut database = open(&server);
    let result = database.claim(&[seat("a", 0)], &mut Failing);
    assert!(matches!(result, Err(ClaimError::Resolve(_))), "{result:?}");
    assert_eq!(server.value("SELECT count(*) FROM copycat_offsets").as_deref(), Some("0"));
    assert_eq!(database.claim(&[seat("a", 0)], &mut FromZero).unwrap()[0].epoch, 1);
}

#[test]
fn a_recreated_topic_is_refused_with_both_ways_on() {
    let mut pg = Pg::new("");
    let new = Seat { topic_id: Some("id-2".to_owned()), ..seat("t", 0) };
    let Err(ClaimError::Database(error)) =
        pg.database.claim(std::slice::from_ref(&new), &mut FromZero)
    else {
        panic!("another topic of the same name was taken");
    };
    assert_eq!(error.kind, DbErrorKind::Config);
    let hint = error.hint.unwrap();
    assert!(hint.contains("next_offset = NULL") && hint.contains("topic_id = 'id-2'"), "{hint}");
    let unknown = Seat { topic_id: None, ..seat("t", 0) };
    assert!(pg.database.claim(&[unknown], &mut FromZero).is_ok(), "no id is no other id");
    // The first way on, as printed.
    let first = hint.split("from its start: ").nth(1).unwrap().split("; to go on").next().unwrap();
    pg.server.execute(first);
    assert_eq!(pg.database.claim(&[new], &mut FromZero).unwrap()[0].next_offset, 0);
}

#[test]
fn a_row_that_was_deleted_is_noticed() {
    let mut pg = Pg::new(PAIRS);
    let plan = pg.plan("pairs", &pairs(), WriteMode::Insert, &[]);
    pg.server.execute("DELETE FROM copycat_offsets");
    let error = failed(pg.store(&plan, &numbered(0, 1)));
    assert_eq!(error.kind, DbErrorKind::Stale);
    assert!(error.hint.unwrap().contains("never delete"));
}

#[test]
fn a_role_without_rights_is_told_what_to_run() {
    let server = postgres::database();
    let role = testkit::unique("reader").replace('-', "_");
    server
        .execute(&format!("CREATE ROLE {role} LOGIN; REVOKE CREATE ON SCHEMA public FROM PUBLIC"));
    let mut ours = settings(&server);
    ours.user = Some(role.clone());
    let mut database = PostgresDatabase::new(ours).unwrap();
    let error = failed(database.connect());
    assert_eq!(error.kind, DbErrorKind::Config, "{error}");
    for table in ["copycat_offsets", "copycat_dead_letters"] {
        assert!(error.message.contains(table), "{error}");
    }
    let hint = error.hint.unwrap();
    let (_, sql) = hint.split_once('\n').unwrap();
    assert!(sql.contains("CREATE TABLE") && sql.contains("GRANT"), "{hint}");
    server.execute(sql);
    database.connect().unwrap();
    database.claim(&[seat("t", 0)], &mut FromZero).unwrap();
    server.execute(&format!("REVOKE UPDATE ON copycat_offsets FROM {role}"));
    database.disconnect();
    let error = failed(database.connect());
    assert!(error.hint.unwrap().contains("GRANT SELECT, INSERT, UPDATE"));
    drop(database);
    server.execute(&format!("DROP OWNED BY {role}; DROP ROLE {role}"));
}

#[test]
fn a_server_that_takes_no_writes_is_not_there() {
    let server = postgres::database();
    let sql = format!("ALTER DATABASE {} SET default_transaction_read_only = on", server.name());
    server.execute(&sql);
    let error = failed(open(&server).connect());
    assert_eq!(error.kind, DbErrorKind::Connection);
    assert!(error.hint.unwrap().contains("read-write"));
}

#[test]
fn tables_in_other_schemas_are_made_there() {
    let server = postgres::database();
    server.execute("CREATE SCHEMA \"Ops\"");
    let mut ours = settings(&server);
    ours.offsets_table.schema = Some("Ops".to_owned());
    ours.dead_letters_table.schema = Some("Ops".to_owned());
    let mut database = PostgresDatabase::new(ours).unwrap();
    database.claim(&[seat("t", 0)], &mut FromZero).unwrap();
    let made = "SELECT string_agg(relname, ',' ORDER BY relname) FROM pg_class \
                WHERE relnamespace = '\"Ops\"'::regnamespace AND relkind = 'r'";
    assert_eq!(server.value(made).as_deref(), Some("copycat_dead_letters,copycat_offsets"));
}

#[test]
fn one_stale_partition_of_several_stops_them_all() {
    let mut pg = Pg::new(PAIRS);
    let seats = [seat("t", 0), seat("t", 1)];
    let at = pg.database.claim(&seats, &mut FromZero).unwrap();
    let plan = pg.plan("pairs", &pairs(), WriteMode::Insert, &[]);
    let batch = numbered(0, 10);
    let advances = |from: i64| -> Vec<Advance> {
        let of = |n: usize, from: i64| Advance {
            batch: 0,
            tp: seats[n].tp.clone(),
            epoch: at[n].epoch,
            from,
            to: 10,
        };
        vec![of(0, 0), of(1, from)]
    };
    pg.start_with(&[write(&plan, &batch)], &batch, &advances(3), &[]).unwrap();
    let error = failed(pg.database.settle());
    assert_eq!(error.kind, DbErrorKind::Stale);
    assert!(error.message.contains("t-1 is not 3"), "{error}");
    pg.database.abandon();
    assert_eq!((pg.count("pairs"), pg.position()), (0, 0));
    pg.start_with(&[write(&plan, &batch)], &batch, &advances(0), &[]).unwrap();
    pg.database.settle().unwrap();
    assert_eq!((pg.count("pairs"), pg.position()), (10, 10));
}
