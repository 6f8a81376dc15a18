//! Who asks: what is sent, to whom, and that nobody else sees it.

use crate::client;
use api::ErrorKind;
use registry::SchemaId;
use serde_json::json;
use std::sync::atomic::{AtomicU32, Ordering};
use testkit::registry::{Proxy, Reply};

/// `user:hunter2` in base64.
const BASIC: &str = "Basic dXNlcjpodW50ZXIy";

/// Answers every question with one schema.
fn schemas() -> Proxy {
    Proxy::answering(|_| Reply::json(200, &json!({"schema": "\"int\""})))
}

/// The header Authorization of a request made with these settings.
fn sent(url: impl Fn(&Proxy) -> String, more: &[(&str, &str)]) -> Option<String> {
    let proxy = schemas();
    let registry = client(&url(&proxy), more).expect("a client");
    registry.fetch(&SchemaId::Id(1), None).expect("an answer").expect("a schema");
    assert!(!format!("{registry:?}").contains("hunter2"));
    proxy.asked()[0].header("authorization").map(str::to_owned)
}

#[test]
fn user_and_password_come_from_where_the_settings_say() {
    let jaas = "org.apache.kafka.common.security.plain.PlainLoginModule required \
                username=\"user\" password=\"hunter2\";";
    let source = "basic.auth.credentials.source";
    assert_eq!(sent(Proxy::url, &[]), None);
    let with_login = |proxy: &Proxy| format!("http://user:hunter%32@{}", proxy.address());
    assert_eq!(sent(with_login, &[]).as_deref(), Some(BASIC));
    for more in [
        [(source, "USER_INFO"), ("basic.auth.user.info", "user:hunter2")],
        [(source, "user_info"), ("schema.registry.basic.auth.user.info", "user:hunter2")],
        [(source, "SASL_INHERIT"), ("sasl.jaas.config", jaas)],
    ] {
        assert_eq!(sent(Proxy::url, &more).as_deref(), Some(BASIC), "{more:?}");
        assert_eq!(sent(with_login, &more).as_deref(), Some(BASIC), "{more:?}");
    }
}

#[test]
fn tokens_and_other_headers_are_sent() {
    let token = [("bearer.auth.token", "hunter2")];
    assert_eq!(sent(Proxy::url, &token).as_deref(), Some("Bearer hunter2"));
    let source = ("bearer.auth.credentials.source", "STATIC_TOKEN");
    let token = [source, ("bearer.auth.token", "hunter2")];
    assert_eq!(sent(Proxy::url, &token).as_deref(), Some("Bearer hunter2"));
    let proxy = schemas();
    let more = [
        ("request.header.X-Team", "a"),
        ("bearer.auth.token", "t"),
        ("bearer.auth.logical.cluster", "lsrc-1"),
        ("bearer.auth.identity.pool.id", "pool-1"),
    ];
    let registry = client(&proxy.url(), &more).expect("a client");
    registry.fetch(&SchemaId::Id(1), None).expect("an answer").expect("a schema");
    let asked = &proxy.asked()[0];
    for (name, value) in
        [("x-team", "a"), ("target-sr-cluster", "lsrc-1"), ("confluent-identity-pool-id", "pool-1")]
    {
        assert_eq!(asked.header(name), Some(value));
    }
}

/// An identity provider that gives `token-1`, `token-2` and so on.
fn provider() -> Proxy {
    let given = AtomicU32::new(0);
    Proxy::answering(move |_| {
        let number = given.fetch_add(1, Ordering::SeqCst) + 1;
        let answer = json!({"access_token": format!("token-{number}"), "expires_in": 3600});
        Reply::json(200, &answer)
    })
}

#[test]
fn a_token_of_an_identity_provider_is_kept_and_renewed_where_it_is_refused() {
    let provider = provider();
    let registry_side = schemas();
    let jaas = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required \
                clientId=\"user\" clientSecret=\"hunter2\" scope=\"c\";";
    let token_url = provider.url();
    let source = "bearer.auth.credentials.source";
    let own = [
        (source, "OAUTHBEARER"),
        ("bearer.auth.issuer.endpoint.url", &*token_url),
        ("bearer.auth.client.id", "user"),
        ("bearer.auth.client.secret", "hunter2"),
        ("bearer.auth.scope", "a b"),
    ];
    let registry = client(&registry_side.url(), &own).expect("a client");
    for id in 1..4 {
        registry.fetch(&SchemaId::Id(id), None).expect("an answer").expect("a schema");
    }
    let asked = provider.asked();
    assert_eq!(asked.len(), 1, "once for all requests");
    assert_eq!(asked[0].header("authorization"), Some(BASIC));
    assert_eq!(asked[0].body, "grant_type=client_credentials&scope=a%20b");
    registry_side.set(|asked| match asked.header("authorization") {
        Some("Bearer token-1") => Reply::json(401, &json!({"message": "it is withdrawn"})),
        _ => Reply::json(200, &json!({"schema": "\"int\""})),
    });
    registry.fetch(&SchemaId::Id(4), None).expect("an answer").expect("a schema");
    assert_eq!(provider.asked().len(), 2);
    let inherited = [
        (source, "SASL_OAUTHBEARER_INHERIT"),
        ("sasl.oauthbearer.token.endpoint.url", &*token_url),
        ("sasl.jaas.config", jaas),
    ];
    let registry = client(&registry_side.url(), &inherited).expect("a client");
    registry.fetch(&SchemaId::Id(1), None).expect("an answer").expect("a schema");
    assert_eq!(provider.asked()[2].body, "grant_type=client_credentials&scope=c");
    provider.set(|_| Reply::json(401, &json!({"error": "invalid_client"})));
    let other = [&own[..3], &[("bearer.auth.client.secret", "hunter2x")]].concat();
    let registry = client(&registry_side.url(), &other).expect("a client");
    let error = registry.fetch(&SchemaId::Id(9), None).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Config);
    let report = error.report();
    assert!(
        report.contains("invalid_client") && report.contains("bearer.auth.client.secret"),
        "{report}"
    );
    assert!(!report.contains("hunter2"), "{report}");
}

#[test]
fn wrong_credentials_are_an_error_that_names_the_keys_and_no_secret() {
    let proxy =
        Proxy::answering(|_| Reply::json(401, &json!({"error_code": 401, "message": "no"})));
    let url = format!("http://user:hunter2@{}", proxy.address());
    let error = client(&url, &[]).expect("a client").fetch(&SchemaId::Id(1), None).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Config);
    let report = error.report();
    assert!(report.contains("basic.auth.user.info") && report.contains("HTTP 401"), "{report}");
    assert!(!report.contains("hunter2"), "{report}");
}

#[test]
fn settings_that_do_not_belong_together_are_told() {
    let source = "basic.auth.credentials.source";
    let bearer = "bearer.auth.credentials.source";
    for (more, part) in [
        (vec![(source, "USER_INFO"), ("basic.auth.user.info", "hunter2")], "user:password"),
        (vec![(source, "SASL_INHERIT")], "sasl.jaas.config must be set"),
        (vec![(source, "SASL_INHERIT"), ("sasl.jaas.config", "x \"hunter2")], "sasl.jaas.config"),
        (vec![(source, "URL"), (bearer, "STATIC_TOKEN")], "cannot be set together"),
        (vec![(source, "NOPE")], "NOPE"),
        (vec![(bearer, "STATIC_TOKEN")], "bearer.auth.token must be set"),
        (vec![(bearer, "OAUTHBEARER")], "bearer.auth.issuer.endpoint.url must be set"),
    ] {
        let error = client("http://h", &more).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Config);
        assert!(error.report().contains(part), "{}", error.report());
        assert!(!error.report().contains("hunter2"), "{}", error.report());
    }
}
