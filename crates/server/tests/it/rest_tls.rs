//! HTTPS listeners: certificates from stores, certificates of clients, SIGHUP, addresses of the
//! administrative part.

use crate::harness::{PATIENCE, worker};
use keystores::identity;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject as _};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use testkit::kafka::{STORE_PASSWORD, tls_file};
use testkit::{eventually, free_port, kafka};

/// Asks over TLS, with a certificate of our own if `certified`; gives the whole answer.
fn ask(address: &str, certified: bool, head: &str, body: &str) -> std::io::Result<String> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(tls_file("ca.pem")).expect("the authority") {
        roots.add(certificate.expect("PEM")).expect("a certificate");
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("TLS")
        .with_root_certificates(roots);
    let config = if certified {
        let store = std::fs::read(tls_file("client.p12")).expect("the client's store");
        let own = identity(&store, Some(STORE_PASSWORD), None).expect("a key");
        let chain = own.chain.into_iter().map(CertificateDer::from).collect();
        let key = PrivateKeyDer::try_from(own.key).expect("a key");
        builder.with_client_auth_cert(chain, key).expect("they belong together")
    } else {
        builder.with_no_client_auth()
    };
    let name = ServerName::try_from("127.0.0.1").expect("an address");
    let connection = ClientConnection::new(Arc::new(config), name).expect("a client");
    let mut stream = StreamOwned::new(connection, TcpStream::connect(address)?);
    let length = body.len();
    write!(
        stream,
        "{head} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

#[test]
fn https_shows_certificates_that_sighup_renews() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = folder.path().join("store.p12");
    std::fs::copy(tls_file("broker.p12"), &store).expect("the folder is writable");
    let secure = format!("127.0.0.1:{}", free_port());
    let mut worker = worker(&kafka::bootstrap())
        .worker("listeners", &format!("http://{{address}},https://{secure}"))
        .worker("listeners.https.ssl.keystore.location", &store.display().to_string())
        .worker("listeners.https.ssl.keystore.password", STORE_PASSWORD)
        .start();
    let answer = ask(&secure, false, "GET /", "").expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    let config = r#"{"connector.class":"FileStreamSink","topics":"t","file":"f"}"#;
    let body = format!(r#"{{"name":"c","config":{config},"initial_state":"STOPPED"}}"#);
    let answer = ask(&secure, false, "POST /connectors", &body).expect("an answer");
    assert!(answer.contains(&format!("location: https://{secure}/connectors/c")), "{answer}");
    // Another name: clients that have been given this one turn away.
    std::fs::copy(tls_file("misnamed.p12"), &store).expect("the folder is writable");
    worker.signal("HUP");
    eventually(PATIENCE, "the new certificate is shown", || {
        ask(&secure, false, "GET /", "").err().map(|error| error.to_string())
    });
    // What cannot be used changes nothing.
    std::fs::copy(tls_file("broker.p12"), &store).expect("the folder is writable");
    worker.signal("HUP");
    eventually(PATIENCE, "the first certificate is shown again", || {
        ask(&secure, false, "GET /", "").ok()
    });
    std::fs::write(&store, "no store").expect("the folder is writable");
    worker.signal("HUP");
    eventually(PATIENCE, "the log names the store", || {
        worker.logs().contains("certificates stay as they were").then_some(())
    });
    ask(&secure, false, "GET /", "").expect("an answer");
    assert!(worker.terminate().success(), "{}", worker.logs());
    assert!(!worker.logs().contains(STORE_PASSWORD));
}

#[test]
fn clients_without_a_certificate_are_turned_away_where_one_is_required() {
    let (secure, admin) =
        (format!("127.0.0.1:{}", free_port()), format!("127.0.0.1:{}", free_port()));
    let worker = worker(&kafka::bootstrap())
        .worker("listeners", &format!("https://{secure},http://{{address}}"))
        .worker("admin.listeners", &format!("http://{admin}"))
        .worker("rest.advertised.listener", "https")
        .worker("ssl.keystore.location", &tls_file("broker.p12"))
        .worker("ssl.keystore.password", STORE_PASSWORD)
        .worker("ssl.truststore.location", &tls_file("trust.jks"))
        .worker("ssl.truststore.password", STORE_PASSWORD)
        .worker("ssl.client.auth", "required")
        .start();
    assert!(ask(&secure, false, "GET /", "").is_err());
    let answer = ask(&secure, true, "GET /connectors", "").expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    // The administrative part has its address, and nothing else is there.
    let at = |address: &str, path: &str| {
        testkit::process::request(address, "GET", path, None).expect("an answer").status
    };
    assert_eq!(at(&admin, "/admin/loggers"), 200);
    assert_eq!(at(&admin, "/connectors"), 404);
    assert_eq!(at(worker.address(), "/admin/loggers"), 404);
    assert_eq!(at(worker.address(), "/connectors"), 200);
}
