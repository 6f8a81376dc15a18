//! Logging in: methods, refusals, hosts that do not answer, kinds of server, unix sockets.

use crate::wire::{open, patience, try_open};
use sql::postgres::wire::{Class, ConnectConfig, Connection, PgError, Wait};
use std::io::Write as _;
use std::net::TcpListener;
use std::time::Duration;
use testkit::postgres::Server;

/// Replaces the server's login rules and waits until they hold: `probe` is refused before that.
pub(crate) fn set_login_rules(server: &Server, rules: &str, probe: &str) {
    let path = server.socket_dir().join("data/pg_hba.conf");
    std::fs::write(&path, rules).expect("the rules can be written");
    server.client().execute("SELECT pg_reload_conf()");
    testkit::eventually(Duration::from_secs(30), "the login rules hold", || try_open(probe).ok());
}

fn host_of(server: &Server) -> String {
    let url = server.url();
    url.rsplit_once('@').expect("the url names a user").1.replace("/postgres", "")
}

const RULES: &str = "\
local all all trust
host all postgres 127.0.0.1/32 trust
host all probe 127.0.0.1/32 trust
host all clear 127.0.0.1/32 password
host all hashed 127.0.0.1/32 md5
host all scram 127.0.0.1/32 scram-sha-256
host all barred 127.0.0.1/32 reject
";

#[test]
fn each_login_method_and_each_refusal() {
    let server = Server::start();
    server.client().execute(
        "SET password_encryption = 'md5'; CREATE ROLE hashed LOGIN PASSWORD 'p ü@s';\
         SET password_encryption = 'scram-sha-256'; CREATE ROLE scram LOGIN PASSWORD 'p ü@s';\
         CREATE ROLE clear LOGIN PASSWORD 'p ü@s'; CREATE ROLE barred LOGIN; \
         CREATE ROLE probe LOGIN",
    );
    let host = host_of(&server);
    // Before the change everyone is trusted, so the probe must ask for a password.
    let scram = format!("postgres://scram:p%20%C3%BC%40s@{host}/postgres");
    set_login_rules(&server, RULES, &scram);
    testkit::eventually(Duration::from_secs(30), "passwords are asked for", || {
        try_open(&format!("postgres://scram@{host}/postgres")).err()
    });
    for user in ["scram", "hashed", "clear"] {
        let mut c = open(&format!("postgres://{user}:p%20%C3%BC%40s@{host}/postgres"));
        let rows = c.query_text("SELECT current_user", patience()).unwrap();
        assert_eq!(rows.text(0, 0), Some(user));
        let wrong = try_open(&format!("postgres://{user}:hunter2@{host}/postgres")).unwrap_err();
        assert_eq!((wrong.code(), wrong.classify()), (Some("28P01"), Class::Auth), "{user}");
        assert!(!format!("{wrong} {wrong:?}").contains("hunter2"));
        let none = try_open(&format!("postgres://{user}@{host}/postgres")).unwrap_err();
        assert_eq!(none.classify(), Class::Auth);
        assert!(none.to_string().contains("none is configured"), "{none}");
    }
    let barred = try_open(&format!("postgres://barred@{host}/postgres")).unwrap_err();
    assert_eq!((barred.code(), barred.classify()), (Some("28000"), Class::Auth));
    let missing = try_open(&format!("postgres://postgres@{host}/nowhere")).unwrap_err();
    assert_eq!((missing.code(), missing.classify()), (Some("3D000"), Class::Config));
    assert!(missing.to_string().contains("nowhere"));
    let dir = server.socket_dir();
    let port = host.split(':').nth(1).unwrap();
    let mut c = open(&format!("host={} port={port} user=postgres", dir.display()));
    assert_eq!(c.query_text("SELECT 1", patience()).unwrap().text(0, 0), Some("1"));
    assert!(c.peer().ends_with(&format!(".s.PGSQL.{port}")));
}

#[test]
fn a_refused_connection_names_the_address() {
    let port = testkit::free_port();
    let error = try_open(&format!("postgres://u@127.0.0.1:{port}/d")).unwrap_err();
    assert!(error.to_string().contains(&format!("127.0.0.1:{port}")), "{error}");
    assert_eq!(error.classify(), Class::Connection);
    let both = try_open(&format!("postgres://u@127.0.0.1:{port},[::1]:{port}/d")).unwrap_err();
    let text = both.to_string();
    assert!(text.contains("127.0.0.1:") && text.contains("[::1]:"), "{text}");
    let name = try_open("postgres://u@no-such-host.invalid/d").unwrap_err();
    assert!(name.to_string().contains("no-such-host.invalid"), "{name}");
    assert_eq!(name.classify(), Class::Connection);
    let socket = try_open("host=/nowhere user=u dbname=d").unwrap_err();
    assert!(socket.to_string().contains("/nowhere/.s.PGSQL.5432"), "{socket}");
}

#[test]
fn a_host_that_never_answers_costs_its_time_limit_and_no_more() {
    // Takes the connection and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let database = testkit::postgres::database();
    let good = database.url();
    let good = good.rsplit_once('@').unwrap().1;
    let url =
        format!("postgres://postgres@127.0.0.1:{port},{good}?connectTimeout=1&sslmode=disable");
    let mut c = open(&url);
    assert_eq!(c.query_text("SELECT 1", patience()).unwrap().text(0, 0), Some("1"));
    let alone = format!("postgres://u@127.0.0.1:{port}/d?connectTimeout=1");
    let error = try_open(&alone).unwrap_err();
    assert!(error.to_string().contains(&port.to_string()), "{error}");
    assert_eq!(error.classify(), Class::Connection);
    let config = ConnectConfig::parse(&format!("postgres://u@127.0.0.1:{port}/d")).unwrap();
    let late = Connection::connect(&config, Wait::at_most(Duration::from_millis(100)));
    let late = late.unwrap_err();
    assert!(late.to_string().contains(&port.to_string()), "{late}");
    assert_eq!(late.classify(), Class::Connection);
    let cancelled = Connection::connect(&config, Wait::forever().or_cancelled(&|| true));
    assert!(matches!(cancelled, Err(PgError::Cancelled)));
}

#[test]
fn something_else_than_postgres_is_recognised() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = std::thread::spawn(move || {
        for _ in 0..2 {
            let (mut stream, _) = listener.accept().unwrap();
            stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n").unwrap();
        }
    });
    for mode in ["disable", "require"] {
        let url = format!("postgres://u@127.0.0.1:{port}/d?sslmode={mode}");
        let error = try_open(&url).unwrap_err();
        assert!(error.to_string().contains("PostgreSQL server?"), "{mode}: {error}");
    }
    server.join().unwrap();
}

#[test]
fn the_wanted_kind_of_server_is_found() {
    let database = testkit::postgres::database();
    let url = database.url();
    let read_only = "options=-c%20default_transaction_read_only%3Don";
    let try_kind =
        |kind: &str, more: &str| try_open(&format!("{url}?targetServerType={kind}&{more}"));
    for kind in ["any", "primary", "master", "preferPrimary", "preferSecondary"] {
        try_kind(kind, "").unwrap_or_else(|e| panic!("{kind}: {e}"));
    }
    assert_eq!(try_kind("secondary", "").unwrap_err().classify(), Class::ReadOnly);
    assert_eq!(try_kind("primary", read_only).unwrap_err().classify(), Class::ReadOnly);
    for kind in ["secondary", "preferSecondary", "preferPrimary", "any"] {
        try_kind(kind, read_only).unwrap_or_else(|e| panic!("{kind}: {e}"));
    }
    let both = format!("{url}?target_session_attrs=read-only");
    assert!(try_open(&both).unwrap_err().to_string().contains("takes writes"));
}

#[test]
fn hosts_are_tried_in_turn_or_at_random() {
    let database = testkit::postgres::database();
    let url = database.url();
    let (_, place) = url.rsplit_once('@').unwrap();
    let dead = testkit::free_port();
    for balance in ["false", "true"] {
        open(&format!("postgres://postgres@127.0.0.1:{dead},{place}?loadBalanceHosts={balance}"));
    }
}
