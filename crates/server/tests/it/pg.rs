//! `copycat pg`: the schema is installed, looked at, upgraded and removed from the command line.

use crate::harness::BINARY;
use std::process::Command;
use testkit::postgres::{Database, database};
use testkit::{free_port, kafka};

struct Run {
    code: i32,
    out: String,
    err: String,
}

fn pg(url: &str, args: &[&str]) -> Run {
    let output = Command::new(BINARY)
        .arg("pg")
        .args(args)
        .env("COPYCAT_DATABASE_URL", url)
        .output()
        .expect("the binary runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    Run {
        code: output.status.code().expect("an exit code"),
        out: text(output.stdout),
        err: text(output.stderr),
    }
}

fn is_installed(database: &Database) -> bool {
    database.value("SELECT to_regclass('pipeline_kafka.consumers') IS NOT NULL").as_deref()
        == Some("t")
}

#[test]
fn the_schema_comes_and_goes() {
    let database = database();
    let url = database.url();
    let dry = pg(&url, &["install", "--dry-run"]);
    assert!(dry.out.contains("CREATE TABLE pipeline_kafka.consumers"), "{}", dry.err);
    assert!(!is_installed(&database));
    let first = pg(&url, &["install"]);
    assert_eq!((first.code, is_installed(&database)), (0, true), "{}", first.err);
    assert!(first.out.contains("is installed, version"), "{}", first.out);
    let again = pg(&url, &["install", "--dry-run"]);
    assert!(again.code == 0 && again.out.contains("nothing to do"), "{}", again.out);
    let current = pg(&url, &["upgrade"]);
    assert!(current.code == 0 && current.out.contains("up to date"), "{}", current.out);

    let asked = pg(&url, &["uninstall"]);
    assert_eq!((asked.code, is_installed(&database)), (2, true));
    assert!(asked.err.contains("--yes"), "{}", asked.err);
    let removed = pg(&url, &["uninstall", "--yes"]);
    assert_eq!((removed.code, is_installed(&database)), (0, false), "{}", removed.err);
    for command in [&["upgrade"][..], &["uninstall", "--yes"]] {
        let missing = pg(&url, command);
        assert!(
            missing.code == 2 && missing.err.contains("not in this database"),
            "{}",
            missing.err
        );
    }
}

#[test]
fn what_is_wrong_is_named_with_what_to_do() {
    let database = database();
    let url = database.url();
    let missing = pg(&url, &["doctor"]);
    assert_eq!(missing.code, 1, "{}", missing.out);
    assert!(missing.out.contains("fix: copycat pg install"), "{}", missing.out);
    pg(&url, &["install"]);
    let topic = kafka::topic_name("doctor");
    kafka::create_topic(&kafka::bootstrap(), &topic, 3);
    database.execute(&format!(
        "SELECT pipeline_kafka.set_cluster('{}'); CREATE UNLOGGED TABLE t (a int); \
         SELECT pipeline_kafka.consume_begin('{topic}', 't'); \
         SELECT pipeline_kafka.consume_begin('{topic}-missing', 't')",
        kafka::bootstrap()
    ));
    let idle = pg(&url, &["doctor"]);
    assert_eq!(idle.code, 1, "{}", idle.out);
    for line in [
        "ok       database: PostgreSQL ".to_owned(),
        "ok       schema pipeline_kafka: version 1".to_owned(),
        "ok       identity: ".to_owned(),
        "warning  consumer of ".to_owned(),
        "fix: ALTER TABLE t SET LOGGED;".to_owned(),
        "ok       cluster default: ".to_owned(),
        format!("ok       topic {topic}: 3 partitions"),
        format!("failed   topic {topic}-missing: does not exist"),
        "failed   workers: none is alive".to_owned(),
    ] {
        assert!(idle.out.contains(&line), "{line}\n{}", idle.out);
    }
    database.execute(&format!(
        "SELECT pipeline_kafka.set_cluster('127.0.0.1:{}'); ALTER TABLE t SET LOGGED; \
         SELECT pipeline_kafka.drop_consumer('{topic}-missing', 't'); \
         INSERT INTO pipeline_kafka.workers (worker, host, pid, version, group_id) \
         VALUES (gen_random_uuid(), 'here', 1, '1', 'g')",
        free_port()
    ));
    let away = pg(&url, &["doctor"]);
    assert_eq!(away.code, 3, "{}", away.out);
    assert!(away.out.contains("failed   cluster default: "), "{}", away.out);
    database.execute(&format!("SELECT pipeline_kafka.set_cluster('{}')", kafka::bootstrap()));
    let well = pg(&url, &["doctor"]);
    assert_eq!(well.code, 0, "{}", well.out);
    assert!(well.out.contains("ok       worker here:1: version 1, alive"), "{}", well.out);
}

#[test]
fn a_database_that_cannot_be_reached_is_told_by_the_exit_code() {
    let url = format!("postgres://me:hunter2@127.0.0.1:{}/x", free_port());
    for command in ["install", "upgrade", "uninstall", "doctor"] {
        let run = pg(&url, &[command]);
        assert_eq!(run.code, 3, "{command}: {}{}", run.out, run.err);
        assert!(!(run.out + &run.err).contains("hunter2"), "{command}");
    }
    let wrong = pg("mysql://x", &["install"]);
    assert_eq!(wrong.code, 2, "{}", wrong.err);
    let help = pg("postgres://me:hunter2@h/x", &["install", "--help"]);
    assert!(help.out.contains("COPYCAT_DATABASE_URL"), "{}", help.out);
    assert!(help.out.contains("--dry-run") && !help.out.contains("hunter2"), "{}", help.out);
}
