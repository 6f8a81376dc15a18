//! Tests of URL parsing: the forms people use, and the promise that nothing leaks or panics.

use super::super::config::{SslMode, TargetServer};
use super::*;
use proptest::prelude::*;
use std::time::Duration;

fn parse(text: &str) -> ConnectConfig {
    ConnectConfig::parse(text).unwrap()
}

fn tcp(host: &str, port: u16) -> Host {
    Host::Tcp { host: host.into(), port }
}

fn refused(text: &str) -> String {
    ConnectConfig::parse(text).unwrap_err().to_string()
}

#[test]
fn jdbc_urls() {
    let c = parse(
        "jdbc:postgresql://h1:5432,h2:5433/my%20db?user=bob&password=s%2Bc+t&sslmode=require",
    );
    assert_eq!(c.hosts, [tcp("h1", 5432), tcp("h2", 5433)]);
    assert_eq!(c.database.as_deref(), Some("my db"));
    assert_eq!(c.user.as_deref(), Some("bob"));
    assert_eq!(c.password.as_ref().unwrap().reveal(), "s+c t");
    assert_eq!(c.ssl_mode, SslMode::Require);
    assert_eq!(parse("jdbc:postgresql:orders").database.as_deref(), Some("orders"));
    assert_eq!(parse("jdbc:postgresql:orders").hosts, [tcp("localhost", 5432)]);
    assert_eq!(parse("jdbc:postgresql:/").database, None);
    assert_eq!(parse("jdbc:postgresql://h/").hosts, [tcp("h", 5432)]);
    assert_eq!(parse("jdbc:postgresql://h").hosts, [tcp("h", 5432)]);
    assert_eq!(parse("JDBC:PostgreSQL://h/d").database.as_deref(), Some("d"));
    assert_eq!(parse("jdbc:postgresql://[::1]:5740/acc").hosts, [tcp("::1", 5740)]);
}

#[test]
fn libpq_urls() {
    let c =
        parse("postgres://user:p%40ss@[2001:db8::1]:6432,other/db?target_session_attrs=read-write");
    assert_eq!(c.hosts, [tcp("2001:db8::1", 6432), tcp("other", 5432)]);
    assert_eq!(c.password.as_ref().unwrap().reveal(), "p@ss");
    assert_eq!(c.target_server, TargetServer::Primary);
    let unix = |dir: &str, port| Host::Unix { dir: dir.into(), port };
    assert_eq!(parse("postgresql:///db?host=/run/pg").hosts, [unix("/run/pg", 5432)]);
    assert_eq!(parse("postgresql://%2Frun%2Fpg:5433/db").hosts, [unix("/run/pg", 5433)]);
    assert_eq!(parse("postgresql:///db?host=a,b&port=1,2").hosts, [tcp("a", 1), tcp("b", 2)]);
    assert_eq!(parse("postgresql://").hosts, [tcp("localhost", 5432)]);
    assert_eq!(parse("postgresql://u@/db").user.as_deref(), Some("u"));
    // A plus is a plus here, and a blank only in JDBC URLs.
    assert_eq!(parse("postgresql://u:a+b@h").password.unwrap().reveal(), "a+b");
}

#[test]
fn conninfo_strings() {
    let c = parse("host=h1,h2 port=5433 dbname = 'my db' user='o\\'neil' password=a\\ b");
    assert_eq!(c.hosts, [tcp("h1", 5433), tcp("h2", 5433)]);
    assert_eq!(c.database.as_deref(), Some("my db"));
    assert_eq!(c.user.as_deref(), Some("o'neil"));
    assert_eq!(c.password.unwrap().reveal(), "a b");
    assert_eq!(parse("dbname=x").hosts, [tcp("localhost", 5432)]);
    assert!(refused("host='x").contains("not closed"));
    assert!(refused("host=x y").contains("name=value"));
}

#[test]
fn parameters() {
    let c = parse(
        "jdbc:postgresql://h/d?currentSchema=a,b&options=-c%20geqo=off&ApplicationName=me\
         &connectTimeout=3&socketTimeout=4&loginTimeout=5&tcpKeepAlive=false\
         &targetServerType=preferSecondary&loadBalanceHosts=true&stringtype=unspecified\
         &reWriteBatchedInserts=true&prepareThreshold=0&defaultRowFetchSize=10\
         &binaryTransfer=true&assumeMinServerVersion=9.0",
    );
    assert_eq!(c.current_schema.as_deref(), Some("a,b"));
    assert_eq!(c.options.as_deref(), Some("-c geqo=off"));
    assert_eq!(c.application_name.as_deref(), Some("me"));
    assert_eq!(c.connect_timeout, Duration::from_secs(3));
    assert_eq!(c.socket_timeout, Duration::from_secs(4));
    assert_eq!(c.login_timeout, Duration::from_secs(5));
    assert!(!c.tcp_keep_alive);
    assert_eq!(c.target_server, TargetServer::PreferSecondary);
    assert!(c.load_balance);
    assert_eq!(c.notices, Vec::<String>::new());
}

#[test]
fn ssl_words() {
    let mode = |q: &str| parse(&format!("jdbc:postgresql://h/d?{q}")).ssl_mode;
    assert_eq!(mode(""), SslMode::Prefer);
    assert_eq!(mode("ssl=true"), SslMode::VerifyFull);
    assert_eq!(mode("ssl"), SslMode::VerifyFull);
    assert_eq!(mode("ssl=false"), SslMode::Prefer);
    assert_eq!(mode("ssl=true&sslmode=verify-ca"), SslMode::VerifyCa);
    assert_eq!(mode("sslmode=require&sslrootcert=/ca.pem"), SslMode::VerifyCa);
    assert_eq!(
        mode("ssl=true&sslfactory=org.postgresql.ssl.NonValidatingFactory"),
        SslMode::Require
    );
    assert!(refused("jdbc:postgresql://h/d?sslmode=full").contains("verify-full"));
}

#[test]
fn unknown_parameters_are_noticed_with_the_nearest_name() {
    let c = parse("jdbc:postgresql://h/d?sslmod=require");
    assert_eq!(c.notices.len(), 1);
    assert!(c.notices[0].contains("\"sslmod\"") && c.notices[0].contains("\"sslmode\""));
}

#[test]
fn other_databases_are_refused_and_the_supported_ones_named() {
    for url in ["jdbc:mysql://u:secret@h/d", "mysql://u:secret@h/d", "jdbc:oracle:thin:@h:1:d"] {
        let text = refused(url);
        assert!(text.contains("postgresql and sqlite"), "{text}");
        assert!(!text.contains("secret"), "{text}");
    }
    assert!(refused("localhost").contains("not understood"));
    assert!(refused("").contains("not understood"));
}

#[test]
fn malformed_urls_say_which_part_and_never_its_text() {
    for (url, part) in [
        ("postgres://u:sec/ret@h/d", "port of host 1"),
        ("postgres://h:0/d", "port of host 1"),
        ("postgres://h,g:70000/d", "port of host 2"),
        ("postgres://u:s%zzret@h/d", "password"),
        ("postgres://[::1/d", "host 1"),
        ("postgres://::1/d", "brackets"),
        ("postgres://h/d?connectTimeout=secret", "connectTimeout"),
        ("postgres://h/d?host=a,b,c&port=1,2", "3 hosts and 2 ports"),
    ] {
        let text = refused(url);
        assert!(text.contains(part), "{url}: {text}");
        assert!(!text.contains("sec") || part.contains("Timeout"), "{text}");
        assert!(!text.contains("secret"), "{text}");
    }
}

#[test]
fn passwords_are_hidden() {
    let c = parse("postgres://u:hunter2@h/d");
    assert!(format!("{c:?}").contains("[hidden]"));
    assert!(!format!("{c:?}{c}").contains("hunter2"));
    for url in [
        "postgres://u:hunter2@h/d",
        "postgres://u:hunter2/x@h/d",
        "jdbc:postgresql://h/d?user=u&password=hunter2&ssl=true",
        "jdbc:postgresql://h/d?PASSWORD=hunter2",
        "host=h password = 'hun ter2\\'hunter2' dbname=d",
        "host=h password=hunter2",
    ] {
        let shown = hide_passwords(url);
        assert!(!shown.contains("hunter2") && shown.contains("[hidden]"), "{shown}");
        assert!(shown.contains('h'), "{shown}");
    }
    assert_eq!(hide_passwords("postgres://u@h/d"), "postgres://u@h/d");
    assert_eq!(
        hide_passwords("jdbc:postgresql://h/d?password=x&ssl=true"),
        "jdbc:postgresql://h/d?password=[hidden]&ssl=true"
    );
}

proptest! {
    #[test]
    fn no_text_panics(text in ".*") {
        let _ = ConnectConfig::parse(&text);
        let _ = hide_passwords(&text);
    }

    #[test]
    fn no_url_panics_or_leaks(
        prefix in prop::sample::select(vec![
            "jdbc:postgresql://", "postgres://", "jdbc:postgresql:", "jdbc:", "host=",
        ]),
        rest in "[a-z0-9:/?&=@,%\\[\\]' \\\\.+-]{0,60}",
    ) {
        let url = format!("{prefix}{rest}");
        if let Ok(config) = ConnectConfig::parse(&url) {
            prop_assert!(!config.hosts.is_empty());
        }
        let _ = hide_passwords(&url);
    }

    #[test]
    fn an_encoded_password_is_read_back(password in "[ -~]{1,20}") {
        let encoded: String =
            password.bytes().map(|b| format!("%{b:02x}")).collect();
        let config = parse(&format!("postgres://u:{encoded}@h/d"));
        prop_assert_eq!(config.password.as_ref().unwrap().reveal(), &password);
        let jdbc = parse(&format!("jdbc:postgresql://h/d?password={encoded}"));
        prop_assert_eq!(jdbc.password.as_ref().unwrap().reveal(), &password);
    }

    #[test]
    fn a_plain_password_never_shows(password in "[a-z0-9]{12,20}") {
        for url in [
            format!("postgres://user:{password}@h:x/d"),
            format!("postgres://user:{password}@h/d?sslmode=x"),
            format!("jdbc:postgresql://h/d?password={password}&connectTimeout=x"),
            format!("host=h password={password} port=x"),
        ] {
            prop_assert!(!refused(&url).contains(&password));
            prop_assert!(!hide_passwords(&url).contains(&password));
        }
    }
}
