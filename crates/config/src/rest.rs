//! The worker's keys of the REST interface: where it listens, who may ask, what it adds to answers and
//! what a client may take up.
//!
//! TLS settings of `https` listeners are [`TlsConfig`], which is read below `listeners.https.` and
//! `admin.listeners.https.`, or from the plain `ssl.` keys where there is no key with such a prefix.

use crate::validator::{Validator, invalid};
use crate::value::Value;
use crate::{Config, Password, config_enum};

config_enum! {
    /// Whether clients must show a certificate.
    pub enum ClientAuth {
        /// They must.
        Required = "required",
        /// They may.
        Requested = "requested",
        /// They need not.
        None = "none",
    }
}

/// Keys of the REST interface.
#[derive(Config, Clone, Debug)]
#[config(importance = low)]
pub struct RestConfig {
    /// Addresses of the REST interface, for example http://:8083 or https://10.0.0.1:8443, separated by
    /// commas. https needs listeners.https.ssl.keystore keys, or ssl.keystore keys.
    #[config(default = "http://:8083", non_empty)]
    pub listeners: Vec<String>,

    /// Addresses of the administrative part of the REST interface (`/admin`), which is offered with
    /// the rest if this is not set. If it is empty, that part is not offered. No password is asked for
    /// at addresses of its own.
    #[config(key = "admin.listeners")]
    pub admin_listeners: Option<Vec<String>>,

    /// Host name that others use to reach this worker; with the port it is part of the names that
    /// its tasks have in their consumer groups. The first listener's, else this host's, if not set.
    #[config(key = "rest.advertised.host.name")]
    pub advertised_host_name: Option<String>,

    /// Port that others use to reach this worker; that of the first listener with the advertised
    /// protocol if not set.
    #[config(key = "rest.advertised.port")]
    pub advertised_port: Option<u16>,

    /// Protocol that others use to reach this worker, http or https. If not set it is http where one of
    /// the listeners is.
    #[config(key = "rest.advertised.listener", validator = Validator::custom(check_scheme))]
    pub advertised_listener: Option<String>,

    /// REST extensions. One is built in, under its name in Kafka Connect:
    /// org.apache.kafka.connect.rest.basic.auth.extension.BasicAuthSecurityRestExtension, which asks
    /// for the passwords of the JAAS file. Others are named in the log and have no effect.
    #[config(key = "rest.extension.classes", default = "")]
    pub extension_classes: Vec<String>,

    /// File with the JAAS section KafkaConnect, whose login module names the file of passwords. If not
    /// set it is the one that -Djava.security.auth.login.config names in the environment variable
    /// KAFKA_OPTS.
    #[config(key = "copycat.rest.jaas.file")]
    pub jaas_file: Option<String>,

    /// File of users with bcrypt hashes and roles: NAME:HASH:ROLE lines, where the role is admin or
    /// read-only. If it is set, the REST interface asks for a password.
    #[config(key = "copycat.rest.users.file", importance = medium)]
    pub users_file: Option<String>,

    /// Origins whose pages may use the REST interface, separated by commas, or `*`; none if blank.
    #[config(key = "access.control.allow.origin", default = "")]
    pub allow_origin: String,

    /// Methods that pages of those origins may use, separated by commas; GET,POST,HEAD if blank.
    #[config(key = "access.control.allow.methods", default = "")]
    pub allow_methods: String,

    /// Headers added to REST answers: `[action] name:value` items, separated by commas. The actions are
    /// set, add, and setDate and addDate, whose value is a number of milliseconds from now.
    #[config(key = "response.http.headers.config", default = "",
        validator = Validator::custom(check_headers))]
    pub response_headers: String,

    /// Connections to the REST interface at a time. More wait until one ends.
    #[config(key = "copycat.rest.connections.max", default = 512, at_least(1))]
    pub connections_max: usize,

    /// Bytes that the body of a request may have.
    #[config(key = "copycat.rest.body.bytes.max", default = 4194304, at_least(1024))]
    pub body_bytes_max: usize,

    /// Time that a client has for the line and the headers of a request, in milliseconds, which begins
    /// with the connection or at the end of the last answer. A connection without requests ends then.
    #[config(key = "copycat.rest.head.timeout.ms", default = 30000, at_least(1))]
    pub head_timeout_ms: u64,

    /// Time that a client has to send the body of a request, in milliseconds.
    #[config(key = "copycat.rest.body.timeout.ms", default = 30000, at_least(1))]
    pub body_timeout_ms: u64,

    /// Time that a client may take nothing of an answer that waits for it, in milliseconds.
    #[config(key = "copycat.rest.write.timeout.ms", default = 30000, at_least(1))]
    pub write_timeout_ms: u64,
}

/// TLS of `https` listeners. Keys are read behind a prefix.
#[derive(Config, Clone, Debug)]
#[config(importance = low)]
pub struct TlsConfig {
    /// File with the listeners' private key and certificates: PKCS12, JKS or PEM.
    #[config(key = "ssl.keystore.location")]
    pub keystore_location: Option<String>,

    /// Password of that file.
    #[config(key = "ssl.keystore.password")]
    pub keystore_password: Option<Password>,

    /// Password of the private key, if it is another than that of the file.
    #[config(key = "ssl.key.password")]
    pub key_password: Option<Password>,

    /// The private key as PEM text, in place of a file.
    #[config(key = "ssl.keystore.key")]
    pub keystore_key: Option<Password>,

    /// The certificates that belong to that key as PEM text.
    #[config(key = "ssl.keystore.certificate.chain")]
    pub keystore_certificate_chain: Option<Password>,

    /// File with the certificates by which certificates of clients are checked: PKCS12, JKS or PEM.
    #[config(key = "ssl.truststore.location")]
    pub truststore_location: Option<String>,

    /// Password of that file.
    #[config(key = "ssl.truststore.password")]
    pub truststore_password: Option<Password>,

    /// The same certificates as PEM text, in place of a file.
    #[config(key = "ssl.truststore.certificates")]
    pub truststore_certificates: Option<Password>,

    /// Versions of TLS that are spoken: TLSv1.2, TLSv1.3.
    #[config(key = "ssl.enabled.protocols", default = "TLSv1.2,TLSv1.3")]
    pub enabled_protocols: Vec<String>,

    /// Whether REST clients must show a certificate.
    #[config(key = "ssl.client.auth", default = "none", case_insensitive)]
    pub client_auth: ClientAuth,
}

fn check_scheme(key: &str, value: &Value) -> Result<(), String> {
    match value {
        Value::String(text) if !["http", "https"].contains(&text.to_ascii_lowercase().as_str()) => {
            Err(invalid(key, value, "String must be one of: http, https"))
        }
        _ => Ok(()),
    }
}

const HEADER_ACTIONS: [&str; 5] = ["set", "add", "setDate", "addDate", ""];

/// The rules of `response.http.headers.config`: commas separate them, but not inside of quotes, where a
/// backslash takes away the meaning of what follows.
pub fn header_items(text: &str) -> Vec<String> {
    let (mut items, mut item, mut quoted) = (Vec::new(), String::new(), false);
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if quoted => quoted = false,
            '"' if item.trim().is_empty() => quoted = true,
            '\\' if quoted => item.extend(letters.next()),
            ',' if !quoted => items.push(std::mem::take(&mut item)),
            other => item.push(other),
        }
    }
    items.push(item);
    let trimmed = items.iter().map(|item| item.trim()).filter(|item| !item.is_empty());
    trimmed.map(str::to_owned).collect()
}

fn check_headers(key: &str, value: &Value) -> Result<(), String> {
    let Value::String(text) = value else { return Ok(()) };
    for item in header_items(text) {
        let fault = match item.split_once(':') {
            None => Some("must have one colon, between the header's name and its value"),
            Some((_, header)) if header.contains(':') => Some("must have no more than one colon"),
            Some((left, header)) => {
                let mut words = left.split_whitespace();
                let is_number = || header.trim().parse::<i64>().is_ok();
                match (words.next(), words.next(), words.next()) {
                    (Some(_), None, _) => None,
                    (Some("setDate" | "addDate"), Some(_), None) if !is_number() => {
                        Some("must have a number of milliseconds behind the colon")
                    }
                    (Some(action), Some(_), None) if HEADER_ACTIONS.contains(&action) => None,
                    _ => Some("must begin with set, add, setDate or addDate, and the name"),
                }
            }
        };
        if let Some(fault) = fault {
            return Err(invalid(key, value, &format!("The header '{item}' {fault}")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Props;

    fn parse(pairs: &[(&str, &str)]) -> Result<RestConfig, String> {
        let props: Props = pairs.iter().copied().collect();
        RestConfig::parse(&props).map_err(|errors| errors.to_string())
    }

    #[test]
    fn header_rules() {
        assert!(parse(&[("response.http.headers.config", "add X-A: b, set C:d")]).is_ok());
        assert!(parse(&[("response.http.headers.config", "setDate Expires: 1000")]).is_ok());
        let rule = r#""add Cache-Control: no-cache, no-store", set X-A: a"b"c, "set X-B: \"q\"""#;
        assert!(parse(&[("response.http.headers.config", rule)]).is_ok());
        let items = ["add Cache-Control: no-cache, no-store", "set X-A: a\"b\"c", "set X-B: \"q\""];
        assert_eq!(header_items(rule), items);
        for (rule, part) in [
            ("add X-A b", "must have one colon"),
            ("setDate Expires: soon", "a number of milliseconds"),
        ] {
            let error = parse(&[("response.http.headers.config", rule)]).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn the_advertised_listener_is_a_protocol() {
        assert!(parse(&[("rest.advertised.listener", "HTTPS")]).is_ok());
        let error = parse(&[("rest.advertised.listener", "ftp")]).unwrap_err();
        assert!(error.contains("one of: http, https"), "{error}");
    }
}
