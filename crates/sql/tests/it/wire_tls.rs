//! TLS: each sslmode against a server with a certificate of a private authority.

use crate::wire::{patience, try_open};
use crate::wire_login::set_login_rules;
use sql::postgres::wire::{Class, Connection, PgError};
use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::time::Duration;
use testkit::postgres::Server;

const RULES: &str = "\
local all all trust
host all postgres 127.0.0.1/32 trust
hostssl all tls_only 127.0.0.1/32 trust
hostnossl all tls_only 127.0.0.1/32 reject
hostnossl all plain_only 127.0.0.1/32 trust
hostssl all plain_only 127.0.0.1/32 reject
hostssl all certified 127.0.0.1/32 cert
";

fn certs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/certs")
}

/// Starts a server whose certificate is for the name `localhost` alone.
fn tls_server() -> (Server, u16) {
    let server = Server::start();
    let data = server.socket_dir().join("data");
    let owner = std::fs::metadata(&data).expect("the server's data is there");
    for name in ["server.crt", "server.key", "ca.crt", "self-signed.crt", "self-signed.key"] {
        let target = data.join(name);
        std::fs::copy(certs().join(name), &target).expect("the certificates can be copied");
        std::fs::set_permissions(&target, Permissions::from_mode(0o600))
            .expect("the owner may do so");
        chown(&target, Some(owner.uid()), Some(owner.gid())).expect("the owner may do so");
    }
    let mut client = server.client();
    for sql in [
        "CREATE ROLE tls_only LOGIN",
        "CREATE ROLE plain_only LOGIN",
        "CREATE ROLE certified LOGIN",
        "ALTER SYSTEM SET ssl_ca_file = 'ca.crt'",
        "ALTER SYSTEM SET ssl = on",
    ] {
        client.execute(sql);
    }
    let port =
        server.url().rsplit_once(':').expect("the url has a port").1.replace("/postgres", "");
    let probe = format!("host=127.0.0.1 port={port} user=tls_only dbname=postgres sslmode=require");
    set_login_rules(&server, RULES, &probe);
    let port = port.parse().expect("a port");
    testkit::eventually(Duration::from_secs(30), "plain connections are refused", || {
        login(port, "tls_only", "sslmode=disable").err()
    });
    (server, port)
}

fn login(port: u16, user: &str, more: &str) -> Result<Connection, PgError> {
    login_at("localhost", port, user, more)
}

fn login_at(host: &str, port: u16, user: &str, more: &str) -> Result<Connection, PgError> {
    let ca = certs().join("ca.crt");
    let more = more.replace("CA", &format!("sslrootcert={}", ca.display()));
    try_open(&format!("host={host} port={port} user={user} dbname=postgres {more}"))
}

fn refused(result: Result<Connection, PgError>) -> String {
    let error = result.expect_err("the connection is refused");
    assert!(matches!(error.classify(), Class::Config | Class::Auth | Class::Connection));
    error.to_string()
}

#[test]
fn each_sslmode() {
    let (_server, port) = tls_server();
    for (user, more, tls) in [
        ("postgres", "sslmode=disable", false),
        ("postgres", "sslmode=allow", false),
        ("postgres", "sslmode=prefer", true),
        ("postgres", "sslmode=require", true),
        ("postgres", "sslmode=verify-ca CA", true),
        ("postgres", "sslmode=verify-full CA", true),
        ("tls_only", "sslmode=allow", true),
        ("tls_only", "sslmode=prefer", true),
        ("plain_only", "sslmode=prefer", false),
        ("plain_only", "sslmode=allow", false),
    ] {
        let mut c = login(port, user, more).unwrap_or_else(|e| panic!("{user} {more}: {e}"));
        assert_eq!(c.is_tls(), tls, "{user} {more}");
        let used = c
            .query_text("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()", patience())
            .unwrap();
        assert_eq!(used.text(0, 0), Some(if tls { "t" } else { "f" }), "{user} {more}");
    }
    assert!(login(port, "plain_only", "sslmode=require").is_err());
    assert!(login(port, "tls_only", "sslmode=disable").is_err());
    // The certificate is for localhost, not for the address.
    login_at("127.0.0.1", port, "postgres", "sslmode=verify-ca CA").unwrap();
    login_at("127.0.0.1", port, "postgres", "sslmode=require").unwrap();
    let name = refused(login_at("127.0.0.1", port, "postgres", "sslmode=verify-full CA"));
    assert!(name.contains("subjectAltName"), "{name}");
    // Another authority.
    let other = certs().join("other-ca.crt");
    let other = format!("sslmode=verify-ca sslrootcert={}", other.display());
    let text = refused(login(port, "postgres", &other));
    assert!(text.contains("sslrootcert"), "{text}");
    // With a root certificate require is verify-ca, as in libpq.
    assert!(login(port, "postgres", &other.replace("verify-ca", "require")).is_err());
    let text = refused(login(port, "postgres", "sslmode=verify-ca sslrootcert=/nowhere"));
    assert!(text.contains("/nowhere"), "{text}");
}

#[test]
fn a_self_signed_certificate_can_be_trusted_itself() {
    let (server, port) = tls_server();
    let mut client = server.client();
    for sql in [
        "ALTER SYSTEM SET ssl_cert_file = 'self-signed.crt'",
        "ALTER SYSTEM SET ssl_key_file = 'self-signed.key'",
        "SELECT pg_reload_conf()",
    ] {
        client.execute(sql);
    }
    let itself = certs().join("self-signed.crt");
    let trusted = format!("sslmode=verify-full sslrootcert={}", itself.display());
    testkit::eventually(Duration::from_secs(30), "the new certificate is used", || {
        login(port, "postgres", &trusted).ok()
    });
    assert!(login(port, "postgres", "sslmode=verify-full CA").is_err());
    assert!(login_at("127.0.0.1", port, "postgres", &trusted).is_err());
}

#[test]
fn client_certificates_and_large_transfers() {
    let (_server, port) = tls_server();
    let file = |name: &str| certs().join(name).display().to_string();
    for key in ["client.key", "client.pk8"] {
        let more =
            format!("sslmode=verify-full CA sslcert={} sslkey={}", file("client.crt"), file(key));
        let mut c = login(port, "certified", &more).unwrap_or_else(|e| panic!("{key}: {e}"));
        let rows = c.query_text("SELECT repeat('x', 3000000), current_user", patience()).unwrap();
        assert_eq!(rows.get(0, 0).unwrap().len(), 3_000_000);
        assert_eq!(rows.text(0, 1), Some("certified"));
        c.execute("CREATE TEMP TABLE t (a text)", patience()).unwrap();
        let mut p = sql::postgres::wire::Pipeline::new();
        p.query("COPY t FROM STDIN");
        for _ in 0..1000 {
            p.copy_data("y".repeat(10_000).as_bytes()).copy_data(b"\n");
        }
        p.copy_done();
        let reply = c.run(&mut p, patience()).unwrap().check().unwrap();
        assert_eq!(reply.row_count(0), 1000);
        c.cancel_token().cancel(patience()).unwrap();
    }
    assert!(login(port, "certified", "sslmode=require").is_err());
    let alone = format!("sslmode=require sslcert={}", file("client.crt"));
    assert!(refused(login(port, "certified", &alone)).contains("sslkey"));
    let encrypted = format!("{alone} sslkey={}", file("encrypted.key"));
    assert!(refused(login(port, "certified", &encrypted)).contains("openssl pkcs8"));
}

#[test]
fn a_server_without_tls_is_refused_or_used_plain() {
    let database = testkit::postgres::database();
    let url = database.url();
    let plain = try_open(&format!("{url}?sslmode=prefer")).unwrap();
    assert!(!plain.is_tls());
    let error = try_open(&format!("{url}?sslmode=require")).unwrap_err();
    assert!(error.to_string().contains("does not offer TLS"), "{error}");
}
