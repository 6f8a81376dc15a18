//! `copycat quickstart` as a user sees it: what it prints, what it leaves, how it fails.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use rusqlite::Connection;
use testkit::{eventually, kafka, postgres};

const RECORDS: &str = "20000";
const STORED: i64 = 19_994;
const SET_ASIDE: i64 = 6;

fn quickstart(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_copycat"));
    command.arg("quickstart").args(args).current_dir(dir).stdin(Stdio::null());
    command
}

fn run(dir: &Path, args: &[&str]) -> Output {
    quickstart(dir, args).output().expect("copycat runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The run was right, and says so.
#[track_caller]
fn is_right(output: &Output) -> String {
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "\n{out}\n{err}");
    assert_eq!(err, "");
    for (name, number) in [("produced", "20,000"), ("stored", "19,994"), ("dead-lettered", "6")] {
        let found = out.lines().any(|line| line.split_whitespace().eq([name, number]));
        assert!(found, "{name} {number} is missing:\n{out}");
    }
    for line in ["  duplicates: 0", "  lost: 0"] {
        assert!(out.lines().any(|found| found == line), "'{line}' is missing:\n{out}");
    }
    assert!(out.contains("kill -9; started again as process"), "\n{out}");
    assert!(out.contains("after the kill"), "\n{out}");
    out
}

fn count(connection: &Connection, sql: &str) -> i64 {
    connection.query_row(sql, [], |row| row.get(0)).expect("the query runs")
}

fn names(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).expect("the folder is there");
    let name = |entry: std::io::Result<std::fs::DirEntry>| {
        entry.expect("an entry").file_name().to_string_lossy().into_owned()
    };
    let mut names: Vec<String> = entries.map(name).collect();
    names.sort();
    names
}

#[test]
fn nothing_is_needed_and_a_second_run_leaves_the_first_alone() {
    let dir = tempfile::tempdir().expect("a folder");
    let out = is_right(&run(dir.path(), &["--records", RECORDS]));
    assert!(out.contains("sqlite3 -header -column copycat-quickstart/orders.db"), "\n{out}");
    let first = dir.path().join("copycat-quickstart");
    assert_eq!(names(&first), [".gitignore", "orders.db"]);
    let before = std::fs::read(first.join("orders.db")).expect("the file is there");

    let out = is_right(&run(dir.path(), &["--records", RECORDS, "--keep"]));
    assert!(out.contains("copycat-quickstart-2/orders.db"), "\n{out}");
    let second = dir.path().join("copycat-quickstart-2");
    let kept = [".gitignore", "orders.db", "orders.properties", "worker.log", "worker.properties"];
    let found = names(&second);
    assert!(kept.iter().all(|name| found.iter().any(|found| found == name)), "{found:?}");
    assert!(before == std::fs::read(first.join("orders.db")).expect("the file is there"));

    for folder in [first, second] {
        let connection = Connection::open(folder.join("orders.db")).expect("a database");
        assert_eq!(count(&connection, "SELECT count(*) FROM orders"), STORED);
        assert_eq!(count(&connection, "SELECT count(DISTINCT id) FROM orders"), STORED);
        assert_eq!(count(&connection, "SELECT count(*) FROM copycat_dead_letters"), SET_ASIDE);
    }
}

#[test]
fn a_file_of_the_users_own_takes_more_than_one_run() {
    let dir = tempfile::tempdir().expect("a folder");
    let args = ["--records", RECORDS, "--database-url", "jdbc:sqlite:mine.db"];
    for _ in 0..2 {
        let out = is_right(&run(dir.path(), &args));
        assert!(out.contains("sqlite3 -header -column mine.db"), "\n{out}");
        assert_eq!(names(dir.path()), ["mine.db"]);
    }
    let connection = Connection::open(dir.path().join("mine.db")).expect("a database");
    let tables = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name LIKE 'quickstart\\_%' ESCAPE '\\'";
    // Orders, positions and dead letters of each run.
    assert_eq!(count(&connection, tables), 6);
}

#[test]
fn real_kafka_and_postgresql_are_left_as_they_were() {
    let (dir, database) = (tempfile::tempdir().expect("a folder"), postgres::database());
    let bootstrap = kafka::bootstrap();
    let jdbc = database.jdbc_url();
    let args = ["--bootstrap-servers", &bootstrap, "--database-url", &jdbc, "--records", RECORDS];
    let out = is_right(&run(dir.path(), &args));
    assert!(names(dir.path()).is_empty());
    let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'";
    assert_eq!(database.client().value(tables).as_deref(), Some("0"));
    let topic = out.split("topic ").nth(1).and_then(|rest| rest.split_whitespace().next());
    let topic = topic.expect("the topic is named");
    assert!(!kafka::topic_exists(&bootstrap, topic), "{topic}");

    let kept = is_right(&run(dir.path(), &[&args[2..], &["--keep"]].concat()));
    assert!(kept.contains("psql -h 127.0.0.1"), "\n{kept}");
    assert_eq!(database.client().value(tables).as_deref(), Some("3"));
}

/// Runs until something is visible; gives the command and its worker's process id.
fn under_way(dir: &Path) -> (Child, String) {
    let child = quickstart(dir, &["--records", "2000000"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("copycat runs");
    let file = dir.join("copycat-quickstart/orders.db");
    eventually(Duration::from_secs(60), "orders are visible", || {
        let connection = Connection::open(&file).ok()?;
        let found = connection.query_row("SELECT max(rowid) FROM orders", [], |row| row.get(0));
        found.ok().filter(|rows: &i64| *rows > 0)
    });
    let mut workers = children(child.id());
    assert_eq!(workers.len(), 1, "one worker");
    (child, workers.remove(0))
}

/// Sends a signal in the middle of a run.
fn interrupted(dir: &Path, signal: &str) -> (Option<i32>, String) {
    let (mut child, worker) = under_way(dir);
    send(&child, signal);
    let status = child.wait().expect("it ends");
    assert!(!Path::new("/proc").join(worker).try_exists().expect("it can be looked up"));
    let mut out = String::new();
    let mut stdout = child.stdout.take().expect("a pipe");
    std::io::Read::read_to_string(&mut stdout, &mut out).expect("text");
    (status.code(), out)
}

fn children(parent: u32) -> Vec<String> {
    let output = Command::new("ps").args(["-A", "-o", "pid=,ppid="]).output().expect("ps runs");
    let child = |line: &str| {
        let (pid, ppid) = line.trim().split_once(' ')?;
        (ppid.trim() == parent.to_string()).then(|| pid.to_owned())
    };
    text(&output.stdout).lines().filter_map(child).collect()
}

fn send(child: &Child, signal: &str) {
    let script = format!("kill -s {signal} {}", child.id());
    assert!(Command::new("sh").arg("-c").arg(script).status().expect("sh runs").success());
}

#[test]
fn an_interrupt_leaves_nothing_behind() {
    for signal in ["INT", "TERM"] {
        let dir = tempfile::tempdir().expect("a folder");
        let (code, out) = interrupted(dir.path(), signal);
        assert_eq!(code, Some(130), "\n{out}");
        assert!(out.contains("interrupted"), "\n{out}");
        assert!(names(dir.path()).is_empty(), "{:?}", names(dir.path()));
    }
}

#[test]
fn a_killed_quickstart_takes_its_worker_along() {
    let dir = tempfile::tempdir().expect("a folder");
    let (mut child, worker) = under_way(dir.path());
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    eventually(Duration::from_secs(60), "the worker has ended", || {
        // Gone, or only waiting for the system to take note of its end.
        let stat = std::fs::read_to_string(Path::new("/proc").join(&worker).join("stat"));
        stat.map_or(true, |stat| stat.contains(") Z ")).then_some(())
    });
}

/// The command fails with this code, one message that has all of `words`, and nothing left behind.
#[track_caller]
fn fails(args: &[&str], code: i32, words: &[&str]) {
    let dir = tempfile::tempdir().expect("a folder");
    let output = run(dir.path(), args);
    let err = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{args:?}\n{}{err}", text(&output.stdout));
    for word in words {
        assert!(err.contains(word), "'{word}' is missing:\n{err}");
    }
    assert!(names(dir.path()).is_empty(), "{args:?}: {:?}", names(dir.path()));
}

#[test]
fn wrong_arguments_are_told_with_the_right_form() {
    fails(&["--records", "5"], 2, &["--records", "100"]);
    fails(&["--database-url", "jdbc:mysql://h/d"], 2, &["mysql", "postgresql", "sqlite"]);
    fails(&["--database-url", "orders.db"], 2, &["hint:", "jdbc:sqlite:"]);
}

#[test]
fn what_cannot_be_reached_is_named() {
    let unused = testkit::free_port();
    let url = format!("jdbc:postgresql://127.0.0.1:{unused}/d");
    fails(&["--database-url", &url], 3, &[&unused.to_string(), "refused", "--database-url"]);
    let bootstrap = format!("127.0.0.1:{unused}");
    fails(&["--bootstrap-servers", &bootstrap], 3, &[&bootstrap, "hint:"]);
    fails(&["--database-url", "jdbc:sqlite:no/such/folder/x.db"], 3, &["no/such/folder/x.db"]);
    let database = postgres::database();
    let missing = format!("{}_missing", database.url());
    fails(&["--database-url", &missing], 3, &["_missing", "does not exist"]);
}
