//! Several addresses, repetitions, proxies.

use crate::{client, name, record};
use api::ErrorKind;
use registry::SchemaId;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use testkit::registry::{Proxy, Reply, url};
use testkit::{free_port, unique};

fn registered() -> SchemaId {
    let text = record(&name(), "string").text;
    SchemaId::Id(testkit::registry::register(&unique("s"), "AVRO", &text))
}

#[test]
fn the_next_address_is_asked_where_one_is_away_and_stays_the_first_choice() {
    let (away, there) = (Proxy::to(url()), Proxy::to(url()));
    away.fail(503);
    let down = format!("http://127.0.0.1:{}", free_port());
    let list = format!("{down}, {},{}", away.url(), there.url());
    let registry = client(&list, &[]).expect("a client");
    for _ in 0..2 {
        registry.fetch(&registered(), None).expect("an answer").expect("it is known");
    }
    assert_eq!((away.count("GET"), there.count("GET")), (1, 2));
    there.fail(500);
    let error = registry.fetch(&registered(), None).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Retriable);
    for part in [&down, &away.url(), &there.url()] {
        assert!(error.message.contains(part), "{}", error.message);
    }
    away.heal();
    registry.fetch(&registered(), None).expect("an answer").expect("it is known");
}

#[test]
fn a_request_is_repeated_before_the_task_has_to_wait() {
    let proxy = Proxy::to(url());
    let failures = Arc::new(AtomicU32::new(2));
    proxy.set(move |_| {
        match failures.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1))
        {
            // The wait that is asked for is cut to what the settings allow.
            Ok(2) => Reply::Answer(429, &["Retry-After: 3600"], String::new()),
            Ok(_) => Reply::Hangup,
            Err(_) => Reply::Forward,
        }
    });
    let more = [("max.retries", "2"), ("retries.wait.ms", "1"), ("retries.max.wait.ms", "2")];
    let registry = client(&proxy.url(), &more).expect("a client");
    registry.fetch(&registered(), None).expect("an answer").expect("it is known");
    assert_eq!(proxy.count("GET"), 3);
}

#[test]
fn a_host_that_is_not_found_is_away() {
    let registry = client("http://registry.invalid:8081", &[]).expect("a client");
    let error = registry.fetch(&SchemaId::Id(1), None).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Retriable, "{error}");
}

#[test]
fn a_proxy_is_asked_to_connect() {
    let proxy = Proxy::answering(|_| Reply::Answer(502, &[], String::new()));
    let address = proxy.address();
    let (host, port) = address.split_once(':').expect("a port");
    let more = [("proxy.host", host), ("proxy.port", port)];
    let registry = client("http://registry.invalid:8081", &more).expect("a client");
    let error = registry.fetch(&SchemaId::Id(1), None).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Retriable);
    assert!(error.message.contains(&format!("(through the proxy {address})")), "{error:?}");
    let asked = proxy.asked();
    assert_eq!((&*asked[0].method, &*asked[0].path), ("CONNECT", "registry.invalid:8081"));
    assert!(client(url(), &[("proxy.host", "h")]).unwrap_err().message.contains("proxy.port"));
    assert!(client(url(), &[("proxy.port", "1")]).unwrap_err().message.contains("proxy.host"));
}
