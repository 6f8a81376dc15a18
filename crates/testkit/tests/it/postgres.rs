//! Databases, the client, and private servers.

use std::time::Duration;

use testkit::{
    eventually,
    postgres::{Client, Server, Stop, database, url},
};

#[test]
fn text_null_and_counts_come_back() {
    let database = database();
    assert_eq!(database.execute("CREATE TABLE t (a int, b text)"), 0);
    assert_eq!(database.execute("INSERT INTO t VALUES (1, 'x'), (2, NULL)"), 2);
    let rows = database.query("SELECT a, b FROM t ORDER BY a");
    let text = |s: &str| Some(s.to_owned());
    assert_eq!(rows, [[text("1"), text("x")], [text("2"), None]]);
    assert_eq!(database.value("SELECT count(*) FROM t"), text("2"));
}

#[test]
fn a_refused_statement_has_its_sqlstate_and_leaves_the_connection_usable() {
    let mut client = Client::connect(&url());
    let failure = client.try_query("SELECT * FROM no_such_table").expect_err("no such table");
    assert_eq!(failure.sqlstate, "42P01");
    assert_eq!(client.value("SELECT 1").as_deref(), Some("1"));
}

#[test]
fn a_database_goes_with_its_value() {
    let database = database();
    let name = database.name().to_owned();
    let _still_connected = database.client();
    drop(database);
    let count = format!("SELECT count(*) FROM pg_database WHERE datname = '{name}'");
    assert_eq!(Client::connect(&url()).value(&count).as_deref(), Some("0"));
}

#[test]
fn a_private_server_keeps_committed_rows_over_restarts() {
    let mut server = Server::start_with(&["max_connections=20"]);
    assert_eq!(server.client().value("SHOW max_connections").as_deref(), Some("20"));
    server.client().execute("CREATE TABLE t (a int); INSERT INTO t VALUES (1)");
    for how in [Stop::Fast, Stop::Immediate] {
        let mut before = server.client();
        server.restart(how);
        assert!(before.try_query("SELECT 1").is_err(), "its connections are gone");
        assert_eq!(server.client().value("SELECT count(*) FROM t").as_deref(), Some("1"));
    }
}

#[test]
fn backends_are_terminated_and_a_paused_server_goes_on() {
    let server = Server::start();
    let mut victim = server.client();
    assert_eq!(victim.value("SELECT 1").as_deref(), Some("1"));
    assert_eq!(server.terminate_backends(), 1);
    let failure = victim.try_query("SELECT 1").expect_err("its backend was terminated");
    assert_eq!(failure.sqlstate, "57P01");

    let mut asker = server.client();
    server.pause();
    let answer = std::thread::spawn(move || asker.value("SELECT 2"));
    testkit::holds_for(Duration::from_millis(300), "no answer while paused", || {
        !answer.is_finished()
    });
    server.resume();
    eventually(Duration::from_secs(10), "an answer", || answer.is_finished().then_some(()));
    assert_eq!(answer.join().expect("no panic").as_deref(), Some("2"));
}
