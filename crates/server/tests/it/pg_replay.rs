//! `copycat pg replay`: interrupted and killed in the middle, and gone on with; every row once.

use crate::harness::{BINARY, PATIENCE};
use std::process::{Child, Command, Output, Stdio};
use testkit::eventually;
use testkit::kafka::{self, Record};
use testkit::postgres::{Database, database};

const ROWS: i64 = 60_000;

fn copycat(database: &Database, more: &[&str]) -> Command {
    let mut command = Command::new(BINARY);
    command.args(["pg", more[0], "--database-url", &database.url()]).args(&more[1..]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn text(output: &Output) -> String {
    let stderr = String::from_utf8_lossy(&output.stderr);
    format!("{}{stderr}", String::from_utf8_lossy(&output.stdout))
}

fn rows(database: &Database) -> i64 {
    database.value("SELECT count(*) FROM again").expect("a count").parse().expect("a number")
}

/// Waits until it has written something more, while it runs.
fn writes(database: &Database, before: i64) {
    eventually(PATIENCE, "the replay writes", || (rows(database) > before).then_some(()));
}

fn interrupt(child: &Child) {
    let pid = child.id().to_string();
    let sent = Command::new("kill").args(["-INT", &pid]).status().expect("kill runs");
    assert!(sent.success());
}

#[test]
fn a_replay_survives_interruptions_and_kill_9() {
    let (database, bootstrap) = (database(), kafka::bootstrap());
    let topic = kafka::topic("replay", 2);
    let record = |n: i64| Record::value(format!("{{\"n\":{n}}}")).partition((n % 2) as i32);
    kafka::produce(&bootstrap, &topic, (0..ROWS).map(record));
    let installed = copycat(&database, &["install"]).output().expect("it runs");
    assert!(installed.status.success(), "{}", text(&installed));
    database.execute(&format!(
        "CREATE TABLE orders (n bigint); CREATE TABLE again (n bigint); \
         SELECT pipeline_kafka.set_cluster('{bootstrap}'); \
         SELECT pipeline_kafka.consume_begin('{topic}', 'orders', batchsize => 100)"
    ));
    let arguments = [&topic, "orders", "--start", "earliest", "--into", "again"];
    let refused = copycat(&database, &["replay", &topic, "orders", "--start", "earliest"]).output();
    let refused = refused.expect("it runs");
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused));
    assert!(text(&refused).contains("force"), "{}", text(&refused));
    let mut all = vec!["replay"];
    all.extend(arguments);
    let first = copycat(&database, &all).spawn().expect("it starts");
    writes(&database, 0);
    interrupt(&first);
    let ended = first.wait_with_output().expect("it ends");
    assert_eq!(ended.status.code(), Some(130), "{}", text(&ended));
    let id = database.value("SELECT id FROM pipeline_kafka.replays").expect("one replay");
    assert!(text(&ended).contains(&format!("--resume {id}")), "{}", text(&ended));
    let before = rows(&database);
    assert!(before < ROWS);
    let mut second = copycat(&database, &["replay", "--resume", &id]).spawn().expect("it starts");
    writes(&database, before);
    second.kill().expect("it runs");
    second.wait().expect("it has ended");
    // The lease of who was killed runs out.
    eventually(PATIENCE, "the replay is done", || {
        let last = copycat(&database, &["replay", "--resume", &id]).output().expect("it runs");
        let said = text(&last);
        assert!(last.status.success() || said.contains("another process"), "{said}");
        (last.status.success() && said.contains("done")).then_some(())
    });
    let once = database.value("SELECT count(*) || ' ' || count(DISTINCT n) FROM again");
    assert_eq!(once.expect("counts"), format!("{ROWS} {ROWS}"));
}
