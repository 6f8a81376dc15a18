//! Databases, the client, and private servers.

use std::time::Duration;

use testkit::{
    eventually,
    postgres::{Client, Fault, Point, Proxy, Server, Stop, database, url},
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

#[test]
fn a_proxy_breaks_the_connection_on_the_side_of_the_commit_that_was_asked_for() {
    let database = database();
    database.execute("CREATE TABLE t (a int)");
    let proxy = Proxy::start(&database.url(), "INSERT");
    for (point, stored) in [(Point::BeforeCommit, "0"), (Point::AfterCommit, "1")] {
        database.execute("TRUNCATE t");
        let mut client = Client::connect(&proxy.url(&database.url()));
        client.query("SELECT 'no mark, no fault'");
        proxy.arm(point, Fault::Cut, 0);
        let failure = client.try_query("INSERT INTO t VALUES (1)").expect_err("it was cut");
        assert_eq!(failure.sqlstate, "", "{failure}");
        assert_eq!(database.value("SELECT count(*) FROM t").as_deref(), Some(stored), "{point:?}");
    }
    assert_eq!((proxy.hits(), proxy.transactions()), (2, 2));
}

#[test]
fn a_held_connection_ends_on_the_servers_side_when_the_client_goes() {
    let database = database();
    database.execute("CREATE TABLE t (a int)");
    let proxy = Proxy::start(&database.url(), "INSERT");
    proxy.arm(Point::AtCommit, Fault::Hold, 1);
    let mut first = Client::connect(&proxy.url(&database.url()));
    first.execute("INSERT INTO t VALUES (1)");
    let held = std::thread::spawn(move || first.try_query("INSERT INTO t VALUES (2)").is_err());
    let sessions = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
                    AND pid <> pg_backend_pid()";
    eventually(Duration::from_secs(5), "the fault", || (proxy.hits() == 1).then_some(()));
    assert_eq!(database.value(sessions).as_deref(), Some("1"));
    proxy.cut_all();
    assert!(held.join().expect("no panic"));
    eventually(Duration::from_secs(5), "the session ends", || {
        (database.value(sessions).as_deref() == Some("0")).then_some(())
    });
    assert_eq!(database.value("SELECT count(*) FROM t").as_deref(), Some("2"));
}
