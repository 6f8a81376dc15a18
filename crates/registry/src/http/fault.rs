//! What an answer that is no success means, and who has to act.

use super::Trouble;
use crate::Refused;
use crate::settings::Url;
use api::Error;
use serde_json::Value;
use std::error::Error as _;

/// The registry's message, in one line.
fn message(json: Option<&Value>) -> Option<&str> {
    json?.get("message")?.as_str().map(str::trim).filter(|text| !text.is_empty())
}

/// `HTTP 500: the registry's words`.
pub(super) fn status_text(status: u16, json: Option<&Value>) -> String {
    match message(json) {
        Some(text) => format!("HTTP {status}: {text}"),
        None => format!("HTTP {status}"),
    }
}

/// A success that says nothing: a proxy's page, mostly, and it may be another one in a moment.
pub(super) fn no_json(status: u16) -> String {
    format!(
        "HTTP {status} with something else than JSON: a proxy's page, or is schema.registry.url not \
         the address of a Schema Registry?"
    )
}

/// Whether it is the registry that does not have something: it numbers such answers from 40401. A path
/// that is not there is no such thing.
pub(super) fn is_numbered(json: Option<&Value>) -> bool {
    code(json).is_some_and(|code| (40400..40500).contains(&code))
}

fn code(json: Option<&Value>) -> Option<i64> {
    json?.get("error_code")?.as_i64()
}

/// A refusal in the registry's own words, which is an answer about the schema.
///
/// # Errors
/// `Config`: the answer is about us, or does not come from a registry.
pub(super) fn of_answer(
    status: u16,
    json: Option<Value>,
    location: Option<&str>,
    asked: &str,
) -> Result<Refused, Error> {
    let text = status_text(status, json.as_ref());
    let wrong = |hint: &str| Err(Error::config(format!("{asked}: {text}")).hint(hint));
    match status {
        300..=399 => {
            let to = location.map(|to| format!(" to {}", without_login(to))).unwrap_or_default();
            Err(Error::config(format!("{asked}: HTTP {status}, redirected{to}"))
                .hint("set schema.registry.url to where the registry itself answers; is it https?"))
        }
        401 => wrong(
            "the Schema Registry wants another login: set basic.auth.credentials.source=USER_INFO \
             and basic.auth.user.info=user:password, or bearer.auth.token, under the converter's \
             prefix",
        ),
        403 => wrong("this login may not do that; give it the right in the Schema Registry"),
        407 => wrong("the proxy of proxy.host wants a login"),
        404 | 405 if !is_numbered(json.as_ref()) => wrong(
            "nothing answers under this path: is the path of schema.registry.url right? That of \
             Apicurio Registry is /apis/ccompat/v7",
        ),
        406 | 415 => wrong("is schema.registry.url the address of a Schema Registry?"),
        // A proxy, or a server of something else; a registry gives its reasons a number. What is too large
        // is refused in front of it.
        _ if code(json.as_ref()).is_none() && status != 413 => wrong(
            "this is no answer of a Schema Registry: is schema.registry.url its address, and is it http \
             or https?",
        ),
        _ => {
            let message = message(json.as_ref()).unwrap_or("no reason is given").to_owned();
            Ok(Refused { status, code: code(json.as_ref()).unwrap_or(0), message })
        }
    }
}

fn without_login(url: &str) -> &str {
    let end = url.find(['?', '#']).unwrap_or(url.len());
    let url = url.get(..end).unwrap_or_default();
    match url.split_once("://").map(|(_, rest)| rest.split('/').next().unwrap_or_default()) {
        Some(authority) if authority.contains('@') => "an address with a login",
        _ => url,
    }
}

/// Why there is no answer at all.
pub(super) fn of_transport(url: &Url, error: &ureq::Error) -> Trouble {
    let wrong = |why: String, hint: &str| {
        Trouble::Wrong(Error::config(format!("{}: {why}", url.base)).hint(hint))
    };
    if let Some(tls) = tls_of(error) {
        return match hint_of_tls(tls) {
            Some(hint) => wrong(format!("TLS: {tls}"), hint),
            None => Trouble::Away(format!("TLS: {tls}"), None),
        };
    }
    match error {
        ureq::Error::Timeout(what) => Trouble::Away(format!("no answer in time ({what})"), None),
        ureq::Error::Io(error) => Trouble::Away(error.to_string(), None),
        ureq::Error::HostNotFound => Trouble::Away("the host is not found".to_owned(), None),
        ureq::Error::BadUri(_) | ureq::Error::Http(_) => {
            wrong("this is no URL".to_owned(), "schema.registry.url looks like http://host:8081")
        }
        ureq::Error::ConnectProxyFailed(why) => {
            Trouble::Away(format!("the proxy does not connect: {why}"), None)
        }
        ureq::Error::Tls(why) => wrong(
            format!("TLS: {why}"),
            "see schema.registry.ssl.truststore.location and schema.registry.ssl.keystore.location",
        ),
        other => Trouble::Away(last_cause(other), None),
    }
}

/// What TLS itself says, wherever it is kept.
fn tls_of(error: &ureq::Error) -> Option<&rustls::Error> {
    match error {
        ureq::Error::Rustls(error) => Some(error),
        ureq::Error::Io(error) => error.get_ref()?.downcast_ref(),
        _ => None,
    }
}

/// What to do where repeating does not help.
fn hint_of_tls(error: &rustls::Error) -> Option<&'static str> {
    use rustls::CertificateError as Certificate;
    Some(match error {
        rustls::Error::InvalidCertificate(
            Certificate::NotValidForName | Certificate::NotValidForNameContext { .. },
        ) => "use a host name in schema.registry.url that the registry's certificate has",
        rustls::Error::InvalidCertificate(
            Certificate::Expired | Certificate::ExpiredContext { .. },
        ) => "the Schema Registry needs a new certificate",
        rustls::Error::InvalidCertificate(_) => {
            "name the authority that signed the registry's certificate: \
             schema.registry.ssl.truststore.location, under the converter's prefix"
        }
        rustls::Error::AlertReceived(_) => {
            "the registry refuses the connection; does it want a client's certificate? It is set by \
             schema.registry.ssl.keystore.location, under the converter's prefix"
        }
        rustls::Error::InvalidMessage(_) => {
            "what answers there does not speak TLS: write http:// if it is the registry"
        }
        rustls::Error::PeerIncompatible(_) => "the registry speaks neither TLS 1.2 nor TLS 1.3",
        _ => return None,
    })
}

fn last_cause(error: &ureq::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = error.to_string();
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use api::ErrorKind;
    use serde_json::json;

    fn answer(status: u16, json: Option<Value>) -> Result<Refused, Error> {
        of_answer(status, json, Some("https://u:hunter2@h/x?token=hunter2"), "GET http://h/x")
    }

    #[test]
    fn the_registrys_own_refusals_are_answers() {
        for (status, code) in [(404, 40401), (404, 40403), (409, 409), (422, 42201), (409, 40901)] {
            let said = json!({"error_code": code, "message": " no \n"});
            let refused = answer(status, Some(said)).unwrap();
            assert_eq!(refused, Refused { status, code, message: "no".to_owned() });
        }
    }

    #[test]
    fn everything_else_has_to_be_changed_by_somebody() {
        for (status, json, part) in [
            (302, None, "is it https"),
            (401, Some(json!({"error_code": 401, "message": "Unauthorized"})), "basic.auth"),
            (403, None, "the right in"),
            (404, None, "/apis/ccompat/v7"),
            (404, Some(json!({"error_code": 404, "message": "HTTP 404 Not Found"})), "path of"),
            (404, Some(json!({"error_code": 0, "message": "RESTEASY003210"})), "path of"),
            (405, None, "path of"),
            (407, None, "proxy"),
            (400, None, "is it http or https"),
            (421, Some(json!({"message": "misdirected"})), "no answer of a Schema Registry"),
        ] {
            let error = answer(status, json).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Config, "{status}");
            let report = error.report();
            assert!(report.contains(part) && report.contains("GET http://h/x"), "{report}");
            assert!(!report.contains("hunter2"), "{report}");
        }
    }
}
