//! `security.protocol` and the login: mechanism and `sasl.jaas.config`.

use super::NoticeKind;
use super::draft::Draft;
use config::jaas::{self, Login};

/// How the connection is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Protocol {
    pub(super) tls: bool,
    pub(super) sasl: bool,
}

const PLAINTEXT: Protocol = Protocol { tls: false, sasl: false };

/// Java's names and what they mean.
const PROTOCOLS: [(&str, Protocol); 4] = [
    ("PLAINTEXT", PLAINTEXT),
    ("SSL", Protocol { tls: true, sasl: false }),
    ("SASL_PLAINTEXT", Protocol { tls: false, sasl: true }),
    ("SASL_SSL", Protocol { tls: true, sasl: true }),
];

const PLAIN_MODULE: &str = "org.apache.kafka.common.security.plain.PlainLoginModule";
const SCRAM_MODULE: &str = "org.apache.kafka.common.security.scram.ScramLoginModule";
const MECHANISMS: [&str; 3] = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"];

/// The protocol; plain text if the value is wrong, which is an error of its own.
pub(super) fn security_protocol(draft: &mut Draft) -> Protocol {
    let Some(value) = draft.given("security.protocol").map(str::to_owned) else {
        return PLAINTEXT;
    };
    match PROTOCOLS.iter().find(|(name, _)| name.eq_ignore_ascii_case(&value)) {
        Some((name, protocol)) => {
            draft.set("security.protocol", name.to_ascii_lowercase());
            *protocol
        }
        None => {
            let names: Vec<&str> = PROTOCOLS.iter().map(|(name, _)| *name).collect();
            let text = format!("String must be one of (case insensitive): {}", names.join(", "));
            draft.reject("security.protocol", &value, &text);
            PLAINTEXT
        }
    }
}

/// Translates the login.
pub(super) fn translate(draft: &mut Draft, protocol: Protocol) {
    if !protocol.sasl {
        let keys = [
            "sasl.mechanism",
            "sasl.jaas.config",
            "sasl.login.class",
            "sasl.login.callback.handler.class",
            "sasl.client.callback.handler.class",
        ];
        for key in keys {
            if draft.given(key).is_some() {
                let text =
                    "has no effect: security.protocol is neither SASL_SSL nor SASL_PLAINTEXT";
                draft.notice(NoticeKind::NoEffect, key, text);
            }
        }
        return;
    }
    for key in [
        "sasl.client.callback.handler.class",
        "sasl.login.callback.handler.class",
        "sasl.login.class",
    ] {
        if draft.filled(key).is_some() {
            let text = "classes of the JVM cannot be used; put user name and password into \
                        sasl.jaas.config";
            draft.fail(key, text);
        }
    }
    let mechanism = mechanism(draft);
    let Some(jaas) = draft.filled("sasl.jaas.config").map(str::to_owned) else {
        if mechanism.is_some() && draft.value("sasl.username").is_none() {
            let text = format!(
                "must be set when security.protocol uses SASL, for example: \
                 {PLAIN_MODULE} required username=\"…\" password=\"…\";"
            );
            draft.fail("sasl.jaas.config", text);
        }
        return;
    };
    match jaas::parse(&jaas) {
        Ok(login) => apply_login(draft, &login, mechanism.as_deref()),
        Err(fault) => draft.fail("sasl.jaas.config", fault),
    }
}

/// The mechanism, if it is one that works here.
fn mechanism(draft: &mut Draft) -> Option<String> {
    if let Some(own) = draft.value("sasl.mechanisms") {
        // librdkafka's own name for the key: its own values too.
        return Some(own.to_owned());
    }
    let Some(value) = draft.filled("sasl.mechanism").map(str::to_owned) else {
        let text = format!(
            "must be set when security.protocol uses SASL (Java's default GSSAPI is not part of \
             this program); one of: {}",
            MECHANISMS.join(", ")
        );
        draft.fail("sasl.mechanism", text);
        return None;
    };
    let unsecured = draft.value("enable.sasl.oauthbearer.unsecure.jwt") == Some("true");
    if MECHANISMS.contains(&value.as_str()) {
        draft.set("sasl.mechanism", value.as_str());
        return Some(value);
    }
    if value == "OAUTHBEARER" && unsecured {
        draft.set("sasl.mechanism", value);
        return None;
    }
    let text = format!("supported are: {}", MECHANISMS.join(", "));
    draft.reject("sasl.mechanism", &value, &text);
    None
}

fn apply_login(draft: &mut Draft, login: &Login, mechanism: Option<&str>) {
    const KEY: &str = "sasl.jaas.config";
    // Products that repackage Kafka put a name of their own before these.
    let is = |module: &str| login.module.ends_with(module);
    let fits = match mechanism {
        _ if !is(PLAIN_MODULE) && !is(SCRAM_MODULE) => {
            let text = format!(
                "the login module {} is not supported; supported are {PLAIN_MODULE} (PLAIN) and \
                 {SCRAM_MODULE} (SCRAM-SHA-256, SCRAM-SHA-512)",
                login.module
            );
            return draft.fail(KEY, text);
        }
        Some("PLAIN") => is(PLAIN_MODULE),
        Some(mechanism) if mechanism.starts_with("SCRAM-") => is(SCRAM_MODULE),
        _ => true,
    };
    if !fits {
        let needed = if is(PLAIN_MODULE) { SCRAM_MODULE } else { PLAIN_MODULE };
        let text = format!(
            "the login module {} does not fit sasl.mechanism {}, which needs {needed}",
            login.module,
            mechanism.unwrap_or_default()
        );
        return draft.fail(KEY, text);
    }
    let token = login.options.get("tokenauth");
    if token.is_some_and(|token| token.expose().eq_ignore_ascii_case("true")) {
        let text = "delegation tokens (tokenauth) are not supported; use a user name and password";
        return draft.fail(KEY, text);
    }
    for (option, to) in [("username", "sasl.username"), ("password", "sasl.password")] {
        match login.options.get(option) {
            Some(value) => draft.set(to, value.expose()),
            None => draft.fail(KEY, format!("the login module has no option {option}")),
        }
    }
    for option in login.options.keys() {
        if !["username", "password", "tokenauth", "serviceName"].contains(&option.as_str()) {
            let text = format!("the option {option} of the login module has no effect here");
            draft.notice(NoticeKind::NoEffect, KEY, text);
        }
    }
}
