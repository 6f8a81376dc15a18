//! Installing, upgrading, removing; copies of a database.

use crate::psql::{psql, results};
use crate::reports::{control, installed};
use pipeline::control::{Control, ControlOptions, ErrorKind};
use pipeline::install::Installer;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use testkit::postgres::{Database, database, url};

fn installer(database: &Database) -> Installer {
    Installer::connect(&database.url()).unwrap()
}

#[test]
fn an_installation_happens_once_also_when_it_is_started_twice() {
    let database = database();
    let started: Vec<_> = (0..4)
        .map(|_| {
            let url = database.url();
            std::thread::spawn(move || {
                Installer::connect(&url).unwrap().install(None, false).map(|plan| plan.sql.len())
            })
        })
        .collect();
    let sizes: Vec<_> = started.into_iter().map(|t| t.join().unwrap().unwrap()).collect();
    assert_eq!(sizes.iter().filter(|size| **size > 0).count(), 1, "{sizes:?}");
    results(&database, "SELECT pipeline_kafka.set_cluster('k:9092')");
    assert_eq!(installer(&database).install(None, false).unwrap().sql, "");
    assert_eq!(results(&database, "SELECT count(*) FROM pipeline_kafka.clusters"), "1");
}

#[test]
fn a_dry_run_changes_nothing_and_its_sql_installs() {
    let database = database();
    let plan = installer(&database).install(None, true).unwrap();
    assert_eq!(results(&database, "SELECT to_regnamespace('pipeline_kafka') IS NULL"), "t");
    results(&database, &format!("BEGIN;\n{}COMMIT;", plan.sql));
    assert_eq!(installer(&database).install(None, false).unwrap().sql, "");
    control(&database);
}

#[test]
fn an_upgrade_brings_functions_up_to_date_and_keeps_everything_else() {
    let database = installed();
    results(
        &database,
        "SELECT pipeline_kafka.set_cluster('k:9092'); CREATE TABLE t (a int); \
         SELECT pipeline_kafka.consume_begin('t', 't'); \
         CREATE TRIGGER e AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION pipeline_kafka.emit_tuple('o'); \
         CREATE VIEW mine AS SELECT topic FROM pipeline_kafka.status; \
         CREATE OR REPLACE FUNCTION pipeline_kafka.replay_cancel(id bigint) RETURNS void \
           LANGUAGE sql AS 'SELECT'; \
         UPDATE pipeline_kafka.installation SET code_digest = 'of an older program'",
    );
    let error = installer(&database).install(None, false).unwrap_err();
    assert_eq!(error.hint.as_deref(), Some("run copycat pg upgrade"));
    let plan = installer(&database).upgrade(false).unwrap();
    assert!(!plan.sql.contains("CREATE TABLE"));
    assert_eq!(installer(&database).upgrade(false).unwrap().sql, "");
    let (_, error) = psql(&database.url(), "SELECT pipeline_kafka.replay_cancel(77)");
    assert!(error.contains("42704"), "{error}");
    assert_eq!(results(&database, "INSERT INTO t VALUES (1); SELECT topic FROM mine"), "t");
}

#[test]
fn a_newer_schema_is_left_alone() {
    let database = installed();
    database.execute("UPDATE pipeline_kafka.installation SET schema_version = 99");
    for error in [
        installer(&database).install(None, false).unwrap_err(),
        installer(&database).upgrade(false).unwrap_err(),
    ] {
        assert!(error.message.contains("version 99"), "{error}");
    }
    let options = options(&database, false);
    assert_eq!(Control::connect(options).err().unwrap().kind, ErrorKind::Schema);
}

#[test]
fn a_schema_of_somebody_else_is_left_alone() {
    let database = database();
    database
        .execute("CREATE SCHEMA pipeline_kafka; CREATE TABLE pipeline_kafka.brokers (host text)");
    let error = installer(&database).install(None, false).unwrap_err();
    assert!(error.message.contains("not ours"), "{error}");
    database.execute("DROP TABLE pipeline_kafka.brokers");
    installer(&database).install(None, false).unwrap();
}

#[test]
fn an_installation_that_fails_leaves_nothing_behind() {
    let database = database();
    let error = installer(&database).install(Some("nobody at all"), false).unwrap_err();
    assert_eq!(error.sqlstate.as_deref(), Some("42704"));
    assert_eq!(results(&database, "SELECT to_regnamespace('pipeline_kafka') IS NULL"), "t");
}

#[test]
fn what_an_uninstallation_destroys_is_told() {
    let database = installed();
    results(
        &database,
        "SELECT pipeline_kafka.set_cluster('k:9092'); CREATE TABLE t (a int); \
         SELECT pipeline_kafka.consume_begin('orders', 't'); \
         SELECT pipeline_kafka.set_offsets('orders', 't', '{\"0\": 1}'); \
         CREATE TRIGGER e AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION pipeline_kafka.emit_tuple('o'); \
         INSERT INTO t VALUES (1)",
    );
    let losses = installer(&database).losses().unwrap();
    assert_eq!(
        losses,
        [
            "the consumer of orders into t, with its position in 1 partitions",
            "1 messages that are not sent yet",
            "the trigger e on t",
        ]
    );
    installer(&database).uninstall().unwrap();
    assert_eq!(results(&database, "SELECT count(*) FROM t"), "1");
    assert!(installer(&database).losses().is_err());
}

fn options(database: &Database, accept_database: bool) -> ControlOptions {
    ControlOptions {
        database_url: database.url(),
        pooler: false,
        accept_database,
        stop: Arc::new(|| false),
    }
}

#[test]
fn a_cloned_database_is_refused_until_it_is_accepted() {
    let database = installed();
    let clone = format!("{}_clone", database.name());
    let mut server = testkit::postgres::Client::connect(&url());
    server.execute(&format!("CREATE DATABASE {clone} TEMPLATE {}", database.name()));
    let at_clone = |accept| {
        let (base, _) =
            database.url().rsplit_once('/').map(|(a, b)| (a.to_owned(), b.len())).unwrap();
        Control::connect(ControlOptions {
            database_url: format!("{base}/{clone}"),
            ..options(&database, accept)
        })
    };
    let error = at_clone(false).err().unwrap();
    assert_eq!(error.kind, ErrorKind::Copied);
    assert!(error.hint.unwrap().contains("--accept-database"));
    at_clone(true).unwrap();
    at_clone(false).unwrap();
    control(&database);
    server.execute(&format!("DROP DATABASE {clone} WITH (FORCE)"));
}

#[test]
fn a_dump_keeps_definitions_positions_and_dead_letters() {
    let database = installed();
    results(
        &database,
        "SELECT pipeline_kafka.set_cluster('k:9092'); CREATE TABLE \"My Orders\" (a int); \
         SELECT pipeline_kafka.consume_begin('orders', '\"My Orders\"', start => 'earliest'); \
         SELECT pipeline_kafka.set_offsets('orders', '\"My Orders\"', '{\"0\": 5, \"1\": 9}'); \
         SELECT pipeline_kafka.skip('orders', '\"My Orders\"', 0, 5); \
         SELECT pipeline_kafka.produce_message('out', 'x')",
    );
    let bin = PathBuf::from(std::env::var_os("COPYCAT_TEST_PG_BIN").unwrap_or_default());
    let dump = Command::new(bin.join("pg_dump")).arg(database.url()).output().unwrap();
    assert!(dump.status.success(), "{}", String::from_utf8_lossy(&dump.stderr));
    let restored = testkit::postgres::database();
    let (_, errors) = psql(&restored.url(), &String::from_utf8(dump.stdout).unwrap());
    assert!(!errors.contains("ERROR"), "{errors}");
    let all = "SELECT topic, relation, start, config_version FROM pipeline_kafka.consumers; \
               SELECT * FROM pipeline_kafka.offsets ORDER BY partition; \
               SELECT message FROM pipeline_kafka.errors; SELECT topic FROM pipeline_kafka.outbox";
    assert_eq!(results(&restored, all), results(&database, all));
    // Numbers go on where they were.
    let more = "SELECT pipeline_kafka.alter_consumer('orders', '\"My Orders\"', '{\"batchsize\": 7}'); \
                SELECT pipeline_kafka.produce_message('out', 'y')";
    assert!(results(&restored, more).ends_with('2'));
    let error = Control::connect(options(&restored, false)).err().unwrap();
    assert_eq!(error.kind, ErrorKind::Copied);
}

#[test]
fn every_object_says_what_it_is() {
    let database = installed();
    let silent = results(
        &database,
        "SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'pipeline_kafka'::regnamespace \
         AND (c.relkind IN ('r', 'v') OR c.relname = 'config_versions') \
         AND obj_description(c.oid, 'pg_class') IS NULL \
         UNION ALL SELECT p.proname FROM pg_proc p \
         WHERE p.pronamespace = 'pipeline_kafka'::regnamespace \
         AND obj_description(p.oid, 'pg_proc') IS NULL",
    );
    assert_eq!(silent, "");
    let wrong = results(
        &database,
        "SELECT p.oid::regprocedure FROM pg_proc p \
         WHERE p.pronamespace = 'pipeline_kafka'::regnamespace AND (p.prosecdef \
         OR p.provolatile <> 'v' AND p.proname NOT IN ('_may_act_as', '_is_mine') \
         OR p.prokind = 'f' AND p.proname LIKE '\\_%' AND p.proconfig IS NULL)",
    );
    assert_eq!(wrong, "", "invoker's rights, volatile, and a fixed search path");
}
