//! What the server does to us: locks, lost connections, refused COPYs, poolers, silence.

use super::pg::{FromZero, Pg, failed, numbered, open, pairs, seat, settings};
use sql::config::Pooler;
use sql::database::{Database, DbErrorKind};
use sql::postgres::PostgresDatabase;
use sql::write::WriteMode;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use testkit::{eventually, postgres};

const PAIRS: &str = "CREATE TABLE pairs (id bigint, v text)";
const LIMIT: Duration = Duration::from_secs(30);

/// True while a backend of ours waits for a lock in this database.
fn someone_waits(server: &postgres::Database) -> Option<()> {
    let waiting = server.value(
        "SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid) \
         WHERE NOT l.granted AND a.datname = current_database()",
    );
    (waiting.as_deref() != Some("0")).then_some(())
}

fn terminate_ours(server: &postgres::Database) -> u64 {
    let sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
               WHERE datname = current_database() AND application_name LIKE 'copycat%'";
    server.execute(sql)
}

#[test]
fn a_locked_table_is_waited_for_and_then_tried_again() {
    for len in [5i64, 2000] {
        let mut pg = Pg::with(PAIRS, |s| s.lock_timeout = Duration::from_millis(50));
        let plan = pg.plan("pairs", &pairs(), WriteMode::Insert, &[]);
        let mut other = pg.server.client();
        other.execute("BEGIN; LOCK TABLE pairs");
        let error = failed(pg.store(&plan, &numbered(0, len)));
        assert_eq!(
            (error.kind, error.sqlstate.as_deref()),
            (DbErrorKind::Concurrency, Some("55P03"))
        );
        other.execute("COMMIT");
        pg.store(&plan, &numbered(0, len)).unwrap();
        assert_eq!(pg.count("pairs"), len);
    }
}

#[test]
fn a_deferred_constraint_fails_inside_the_transaction() {
    for (len, mode) in
        [(5i64, WriteMode::Insert), (2000, WriteMode::Insert), (5, WriteMode::Upsert)]
    {
        let mut pg = Pg::new(
            "CREATE TABLE parents (id bigint PRIMARY KEY); \
             INSERT INTO parents SELECT generate_series(0, 2999); \
             CREATE TABLE pairs (id bigint PRIMARY KEY REFERENCES parents \
             DEFERRABLE INITIALLY DEFERRED, v text)",
        );
        let plan = pg.plan("pairs", &pairs(), mode, &["id"]);
        pg.store(&plan, &numbered(0, len)).unwrap();
        pg.server.execute(&format!("DELETE FROM parents WHERE id = {}", len + 2));
        let error = failed(pg.store(&plan, &numbered(len, len)));
        assert_eq!((error.kind, error.sqlstate.as_deref()), (DbErrorKind::Data, Some("23503")));
        assert_eq!((pg.count("pairs"), pg.position()), (len, len));
    }
}

/// A table whose rows are restricted for a role of its own, and a connection as that role.
fn restricted() -> (Pg, String) {
    let role = testkit::unique("tenant").replace('-', "_");
    let sql = format!(
        "{PAIRS}; CREATE ROLE {role} LOGIN; GRANT ALL ON SCHEMA public TO {role}; \
         GRANT ALL ON pairs TO {role}; \
         CREATE POLICY small ON pairs USING (id < 5000) WITH CHECK (id < 5000)"
    );
    let pg = Pg::with(&sql, |s| s.user = Some(role.clone()));
    (pg, role)
}

fn drop_role(pg: Pg, role: &str) {
    let Pg { database, server, .. } = pg;
    drop(database);
    server.execute(&format!("DROP OWNED BY {role}; DROP ROLE {role}"));
}

#[test]
fn row_level_security_is_written_through_without_copy() {
    let (mut pg, role) = restricted();
    pg.server.execute("ALTER TABLE pairs ENABLE ROW LEVEL SECURITY");
    let plan = pg.plan("pairs", &pairs(), WriteMode::Insert, &[]);
    pg.store(&plan, &numbered(0, 2000)).unwrap();
    assert_eq!(pg.count("pairs"), 2000);
    let error = failed(pg.store(&plan, &numbered(2000, 4000)));
    assert_eq!((error.kind, error.sqlstate.as_deref()), (DbErrorKind::Data, Some("42501")));
    drop_role(pg, &role);
}

#[test]
fn row_level_security_that_comes_later_is_noticed() {
    let (mut pg, role) = restricted();
    let plan = pg.plan("pairs", &pairs(), WriteMode::Insert, &[]);
    pg.store(&plan, &numbered(0, 1000)).unwrap();
    pg.server.execute("ALTER TABLE pairs ENABLE ROW LEVEL SECURITY");
    let error = failed(pg.store(&plan, &numbered(1000, 1000)));
    assert_eq!(error.kind, DbErrorKind::Concurrency, "{error}");
    pg.store(&plan, &numbered(1000, 1000)).unwrap();
    assert_eq!(pg.count("pairs"), 2000);
    drop_role(pg, &role);
}

#[test]
fn a_role_without_rights_on_the_table_is_told_which() {
    let (mut pg, role) = restricted();
    let plan = pg.plan("pairs", &pairs(), WriteMode::Insert, &[]);
    pg.server.execute(&format!("REVOKE INSERT ON pairs FROM {role}"));
    let error = failed(pg.store(&plan, &numbered(0, 1)));
    assert_eq!(error.kind, DbErrorKind::Config);
    let grant = format!("GRANT INSERT ON \"public\".\"pairs\" TO \"{role}\"");
    assert!(error.hint.unwrap().contains(&grant));
    assert!(error.message.contains(&format!("the role {role} needs INSERT")), "{}", error.message);
    drop_role(pg, &role);
}

#[test]
fn a_role_that_may_only_insert_inserts() {
    let (mut pg, role) = restricted();
    pg.server.execute(&format!("REVOKE ALL ON pairs FROM {role}; GRANT INSERT ON pairs TO {role}"));
    let plan = pg.plan("pairs", &pairs(), WriteMode::Insert, &[]);
    for (first, len) in [(0, 10), (10, 2000)] {
        pg.store(&plan, &numbered(first, len)).unwrap();
    }
    assert_eq!(pg.count("pairs"), 2010);
    drop_role(pg, &role);
}

#[test]
fn a_lost_connection_leaves_the_truth_in_the_table() {
    let mut rng = testkit::Rng::new(testkit::seed());
    let mut pg = Pg::new(PAIRS);
    let plan = pg.plan("pairs", &pairs(), WriteMode::Insert, &[]);
    let mut at = 0;
    for round in 0..20 {
        let (first, second) = (numbered(at, 1500), numbered(at + 1500, 500));
        pg.start(&plan, &first).unwrap();
        if rng.below(2) == 0 {
            pg.start(&plan, &second).unwrap();
        }
        // Each look takes about as long as a transaction: the end comes anywhere around the commits.
        for _ in 0..rng.below(4) {
            pg.count("pairs");
        }
        terminate_ours(&pg.server);
        while pg.database.in_flight() > 0 {
            if let Err(error) = pg.database.settle() {
                assert_eq!(error.kind, DbErrorKind::Connection, "round {round}: {error}");
                break;
            }
        }
        pg.database.abandon();
        let tp = [pg.tp.clone()];
        let seen =
            eventually(LIMIT, "positions are read again", || pg.database.positions(&tp).ok());
        at = seen[0].unwrap().next_offset;
        assert_eq!(pg.count("pairs"), at, "round {round}");
    }
    pg.store(&plan, &numbered(at, 10)).unwrap();
}

#[test]
fn the_locked_read_waits_for_an_orphaned_transaction() {
    let mut pg = Pg::new("");
    let mut orphan = pg.server.client();
    orphan.execute("BEGIN; UPDATE copycat_offsets SET next_offset = 77");
    std::thread::scope(|scope| {
        let mut other = open(&pg.server);
        let tp = pg.tp.clone();
        let read = scope.spawn(move || other.positions(&[tp]));
        eventually(LIMIT, "the read waits for the row", || someone_waits(&pg.server));
        orphan.execute("COMMIT");
        let seen = read.join().unwrap().unwrap();
        assert_eq!(seen[0].unwrap().next_offset, 77);
    });
    assert_eq!(pg.position(), 77);
}

#[test]
fn a_wait_ends_soon_after_the_task_was_told_to_stop() {
    let mut pg = Pg::new(PAIRS);
    let plan = pg.plan("pairs", &pairs(), WriteMode::Insert, &[]);
    let stop = Arc::new(AtomicBool::new(false));
    let seen = stop.clone();
    pg.database.set_cancel(Arc::new(move || seen.load(Ordering::Relaxed)));
    let mut other = pg.server.client();
    other.execute("BEGIN; LOCK TABLE pairs");
    pg.start(&plan, &numbered(0, 2000)).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            eventually(LIMIT, "the write waits for the table", || someone_waits(&pg.server));
            stop.store(true, Ordering::Relaxed);
        });
        assert_eq!(failed(pg.database.settle()).kind, DbErrorKind::Cancelled);
    });
    assert_eq!(pg.database.in_flight(), 1, "its outcome is not known");
    pg.database.abandon();
    assert_eq!(pg.database.in_flight(), 0);
    stop.store(false, Ordering::Relaxed);
    other.execute("COMMIT");
    assert_eq!(pg.position(), 0);
    pg.store(&plan, &numbered(0, 2000)).unwrap();
}

#[test]
fn a_server_that_never_answers_is_given_up() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("postgres://u@{}/d?sslmode=disable", silent.local_addr().unwrap());
    let mut ours = sql::config::DatabaseSettings::new(&url, "o");
    ours.connect_timeout = Duration::from_millis(200);
    let mut database = PostgresDatabase::new(ours).unwrap();
    let begun = Instant::now();
    let error = failed(database.connect());
    assert_eq!(error.kind, DbErrorKind::Connection, "{error}");
    assert!(begun.elapsed() < LIMIT);
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let port = testkit::free_port();
    let url = format!("postgres://u@127.0.0.1:{port}/d");
    let ours = sql::config::DatabaseSettings::new(&url, "o");
    let error = failed(PostgresDatabase::new(ours).unwrap().connect());
    assert_eq!(error.kind, DbErrorKind::Connection);
    assert!(error.message.contains(&port.to_string()), "{error}");
}

#[test]
fn nothing_has_a_name_behind_a_pooler() {
    let mut pg = Pg::with(PAIRS, |s| s.pooler = Pooler::Transaction);
    let plan = pg.plan("pairs", &pairs(), WriteMode::Insert, &[]);
    for (first, len) in [(0, 10), (10, 2000)] {
        pg.store(&plan, &numbered(first, len)).unwrap();
    }
    assert_eq!((pg.count("pairs"), pg.position()), (2010, 2010));
    // The limits are those of the transaction alone.
    let mut other = pg.server.client();
    other.execute("BEGIN; LOCK TABLE pairs");
    drop(other);
    pg.store(&plan, &numbered(2010, 5)).unwrap();
}

#[test]
fn a_pooler_is_found_out_by_its_first_error() {
    let forget = "CREATE FUNCTION forget() RETURNS trigger LANGUAGE plpgsql AS \
                  $$BEGIN DEALLOCATE ALL; RETURN NULL; END$$; \
                  CREATE TRIGGER forget AFTER INSERT ON pairs EXECUTE FUNCTION forget()";
    let mut pg = Pg::new(&format!("{PAIRS}; {forget}"));
    let plan = pg.plan("pairs", &pairs(), WriteMode::Insert, &[]);
    pg.store(&plan, &numbered(0, 10)).unwrap();
    let error = failed(pg.store(&plan, &numbered(10, 10)));
    assert_eq!(error.kind, DbErrorKind::Concurrency, "{error}");
    for first in [10, 2010, 4010] {
        pg.store(&plan, &numbered(first, 2000)).unwrap();
    }
    assert_eq!(pg.count("pairs"), 6010);
}

#[test]
fn something_else_may_be_asked_while_transactions_are_under_way() {
    let mut pg = Pg::new(&format!("{PAIRS}; CREATE TABLE other (id bigint)"));
    let plan = pg.plan("pairs", &pairs(), WriteMode::Insert, &[]);
    pg.start(&plan, &numbered(0, 5)).unwrap();
    pg.start(&plan, &numbered(5, 5)).unwrap();
    assert_eq!(pg.table("other").columns.len(), 1);
    assert_eq!(pg.position(), 10);
    assert_eq!(pg.database.in_flight(), 2);
    pg.database.settle().unwrap();
    pg.database.settle().unwrap();
    assert_eq!(failed(pg.database.settle()).kind, DbErrorKind::Bug);
}

#[test]
fn a_table_of_ours_that_was_dropped_is_made_again() {
    let mut pg = Pg::new(PAIRS);
    let plan = pg.plan("pairs", &pairs(), WriteMode::Insert, &[]);
    pg.store(&plan, &numbered(0, 5)).unwrap();
    pg.server.execute("DROP TABLE copycat_offsets");
    let error = failed(pg.store(&plan, &numbered(5, 5)));
    assert_eq!(error.kind, DbErrorKind::Connection, "{error}");
    pg.database.disconnect();
    assert_eq!(pg.database.positions(&[pg.tp.clone()]).unwrap(), [None]);
    assert_eq!(pg.database.claim(&[seat("t", 0)], &mut FromZero).unwrap()[0].epoch, 1);
}

#[test]
fn without_exactly_once_rows_go_in_without_positions() {
    let server = postgres::database();
    server.execute(PAIRS);
    let mut ours = settings(&server);
    ours.exactly_once = false;
    let mut database = PostgresDatabase::new(ours).unwrap();
    database.connect().unwrap();
    assert_eq!(server.value("SELECT to_regclass('copycat_offsets')"), None);
    let table = database.table(&super::pg::name("pairs")).unwrap().unwrap();
    let plan = super::pg::plan(&table, &pairs(), WriteMode::Insert, &[], false);
    let batch = numbered(0, 1200);
    let transaction = sql::write::Transaction {
        batches: std::slice::from_ref(&batch),
        advances: &[],
        writes: &[super::pg::write(&plan, &batch)],
        truncates: &[],
        rejects: &[],
    };
    database.start(&transaction).unwrap();
    database.settle().unwrap();
    assert_eq!(server.value("SELECT count(*) FROM pairs").as_deref(), Some("1200"));
}
