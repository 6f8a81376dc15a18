//! TLS: whom the client trusts, what it shows, and what is said where the two sides do not agree.

use crate::client;
use api::ErrorKind;
use keystores::identity;
use registry::SchemaId;
use rustls::crypto::aws_lc_rs;
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use testkit::kafka::{STORE_PASSWORD, tls_file};

const TRUST: &str = "schema.registry.ssl.truststore.location";
const TRUST_PASSWORD: &str = "schema.registry.ssl.truststore.password";
const OWN: &str = "schema.registry.ssl.keystore.location";
const OWN_PASSWORD: &str = "schema.registry.ssl.keystore.password";

/// Answers with one schema over TLS until the test ends; gives its address.
fn serve(store: &str, asks_for_certificate: bool) -> String {
    let own = std::fs::read(tls_file(store)).expect("a store");
    let own = identity(&own, Some(STORE_PASSWORD), None).expect("a key");
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .expect("TLS");
    let builder = if asks_for_certificate {
        let mut roots = RootCertStore::empty();
        let authority = CertificateDer::from_pem_file(tls_file("ca.pem")).expect("the authority");
        roots.add(authority).expect("a certificate");
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
        builder.with_client_cert_verifier(verifier.build().expect("a verifier"))
    } else {
        builder.with_no_client_auth()
    };
    let chain = own.chain.into_iter().map(CertificateDer::from).collect();
    let key = PrivateKeyDer::try_from(own.key).expect("a key");
    let config = Arc::new(builder.with_single_cert(chain, key).expect("they belong together"));
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let connection = ServerConnection::new(config.clone()).expect("a connection");
            let mut stream = BufReader::new(StreamOwned::new(connection, stream));
            let mut line = String::new();
            // What goes wrong here is seen by the client.
            while stream.read_line(&mut line).is_ok_and(|read| read > 2) {
                line.clear();
            }
            let body = "{\"schema\":\"\\\"int\\\"\"}";
            let length = body.len();
            let _sent = write!(
                stream.get_mut(),
                "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
            );
            stream.get_mut().conn.send_close_notify();
            let _sent = stream.get_mut().flush();
        }
    });
    format!("https://{address}")
}

/// The address of a server that does not speak TLS.
fn plain() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _sent = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
            // Until the client has read it and goes.
            let _read = stream.read_to_end(&mut Vec::new());
        }
    });
    address
}

fn ask(url: &str, more: &[(&str, &str)]) -> api::Result<()> {
    let found = client(url, more)?.fetch(&SchemaId::Id(1), None)?;
    found.map(|_| ()).map_err(|missing| api::Error::data(missing.0))
}

#[test]
fn stores_of_every_form_are_read() {
    let open = serve("broker.p12", false);
    let (pem, p12) = (tls_file("ca.pem"), tls_file("trust.p12"));
    let text = std::fs::read_to_string(&pem).expect("the authority");
    ask(&open, &[(TRUST, &pem), ("schema.registry.ssl.truststore.type", "PEM")]).expect("PEM");
    ask(&open, &[(TRUST, &p12), (TRUST_PASSWORD, STORE_PASSWORD)]).expect("PKCS12");
    ask(&open, &[("schema.registry.ssl.truststore.certificates", &text)]).expect("text");
    let closed = serve("broker.p12", true);
    let client_store = tls_file("client.p12");
    let own = [(TRUST, &*pem), (OWN, &*client_store), (OWN_PASSWORD, STORE_PASSWORD)];
    ask(&closed, &own).expect("a certificate of our own");
    let error = ask(&closed, &own[..1]).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Config, "{error}");
    assert!(error.report().contains(OWN), "{}", error.report());
}

#[test]
fn what_does_not_fit_is_told_with_the_key_that_changes_it() {
    let pem = tls_file("ca.pem");
    let open = serve("broker.p12", false);
    let error = ask(&open, &[]).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Config, "{error}");
    assert!(error.report().contains(TRUST), "{}", error.report());
    let error = ask(&serve("misnamed.p12", false), &[(TRUST, &pem)]).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Config, "{error}");
    assert!(error.report().contains("host name"), "{}", error.report());
    let error = ask(&format!("https://{}", plain()), &[(TRUST, &pem)]).unwrap_err();
    assert!(error.report().contains("write http://"), "{}", error.report());
    let store = tls_file("client.p12");
    for (more, part) in [
        (vec![(TRUST, "/nowhere/x.jks")], "/nowhere/x.jks"),
        (vec![(TRUST, &*pem), (OWN, &*store)], "schema.registry.ssl.keystore.password"),
        (vec![(TRUST, &*pem), (OWN, &*store), (OWN_PASSWORD, "hunter2")], "incorrect"),
        (vec![(TRUST, &*store), ("schema.registry.ssl.truststore.type", "PEM")], "not a PEM file"),
        (vec![("schema.registry.ssl.keystore.key", "hunter2")], "must be set together"),
        (vec![("schema.registry.ssl.endpoint.identification.algorithm", "")], "https"),
    ] {
        let error = client("https://127.0.0.1:1", &more).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Config);
        assert!(error.report().contains(part), "{part}: {}", error.report());
        assert!(!error.report().contains("hunter2"), "{}", error.report());
    }
}
