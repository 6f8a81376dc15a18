//! What a client says about itself: librdkafka's log lines and global errors.
//!
//! Log lines go to `tracing` under the target `kafka`. Connection failures are kept as typed errors
//! for the owner of the client, and written as one readable line per address, at most every
//! [`REPEAT`], instead of librdkafka's line per attempt.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};

use crate::error::{Error, ErrorKind};

/// How often the same address may be complained about.
const REPEAT: Duration = Duration::from_secs(30);

/// Errors kept for the owner; older ones are dropped first.
const KEPT: usize = 64;

/// Collects logs and errors of one client. Shared with librdkafka's callbacks.
pub(crate) struct Reporter {
    /// What the client is, for log lines: "consumer 'group'", "producer".
    name: String,
    bootstrap: String,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    errors: VecDeque<Error>,
    /// The last connection failure, which explains a later timeout.
    last_failure: Option<(Instant, Error)>,
    warned: HashMap<String, Instant>,
}

impl Reporter {
    pub(crate) fn new(name: String, bootstrap: Option<&str>) -> Reporter {
        let bootstrap = bootstrap.unwrap_or("(no bootstrap.servers)").to_owned();
        Reporter { name, bootstrap, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere leaves the lists valid.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A log line of librdkafka.
    pub(crate) fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        use RDKafkaLogLevel::*;
        let client = self.name.as_str();
        match (level, facility) {
            // The error callback tells the same, once and readably.
            (Warning | Notice | Info, "FAIL") => self.connection_closed(message),
            // What becomes of a transaction its owner is told by the call that waits for it.
            (_, "FAIL" | "ERROR" | "FATAL" | "TXNERR") => {
                tracing::debug!(target: "kafka", client, facility, "{message}");
            }
            // A member that was away for long, and a producer that has been replaced, are told what became
            // of them; nobody can do anything about these lines.
            (Error, "REBALANCE" | "ADDPARTS") => {
                tracing::debug!(target: "kafka", client, facility, "{message}");
            }
            // It asks again by itself, and an answer that is none is an error of whoever waits for it.
            (Warning, "GETPID") => tracing::debug!(target: "kafka", client, facility, "{message}"),
            (Emerg | Alert | Critical | Error, _) => {
                tracing::error!(target: "kafka", client, facility, "{message}");
            }
            (Warning, _) => tracing::warn!(target: "kafka", client, facility, "{message}"),
            (Notice | Info, _) => tracing::info!(target: "kafka", client, facility, "{message}"),
            (Debug, _) => tracing::debug!(target: "kafka", client, facility, "{message}"),
        }
    }

    /// A connection that a broker has closed; of this there is a log line alone.
    fn connection_closed(&self, message: &str) {
        // "[thrd:NAME]: " comes before what an error's reason would be.
        let reason = message.split_once("]: ").map_or(message, |(_, reason)| reason);
        if is_everyday_close(reason) {
            tracing::debug!(target: "kafka", client = self.name, "{message}");
        } else {
            self.push(self.classify(RDKafkaErrorCode::BrokerTransportFailure as i32, reason));
        }
    }

    /// A global error of librdkafka with its reason.
    pub(crate) fn error(&self, error: &KafkaError, reason: &str) {
        let code = error.rdkafka_error_code().map_or(0, |c| c as i32);
        let error = self.classify(code, reason);
        // "n/n brokers are down" only counts what the broker's own error has explained.
        let explained = self.state().last_failure.is_some();
        if code == RDKafkaErrorCode::AllBrokersDown as i32 && explained {
            return;
        }
        self.push(error);
    }

    fn classify(&self, code: i32, reason: &str) -> Error {
        const SSL: i32 = RDKafkaErrorCode::SSL as i32;
        let mut error = Error::from_code(code, "", Some(reason));
        // Also what a broker does that is being stopped: no reason to give up.
        if code == SSL && reason.contains("Disconnected") {
            error = error.with_kind(ErrorKind::Unreachable);
        }
        let certificate = Certificate::at_fault(reason);
        if certificate.is_some() {
            error = error.with_kind(ErrorKind::Authentication);
        }
        match error.kind() {
            ErrorKind::Unreachable | ErrorKind::Authentication | ErrorKind::TimedOut => {
                let (address, cause) = split_reason(reason);
                let address = address.unwrap_or(&self.bootstrap);
                let what = match error.kind() {
                    _ if certificate.is_some() => "cannot reach kafka broker",
                    ErrorKind::Authentication if code != SSL => "kafka broker refuses the login",
                    _ => "cannot reach kafka broker",
                };
                let kind = error.kind();
                let cause = certificate.map_or(cause.into(), |at_fault| at_fault.explain(cause));
                let told = Error::from_code(code, &format!("{what} {address}"), Some(&cause));
                let told = told.with_kind(kind);
                match certificate {
                    Some(at_fault) => told.with_hint(at_fault.hint()),
                    None => told,
                }
            }
            _ => error,
        }
    }

    fn push(&self, error: Error) {
        let now = Instant::now();
        let mut state = self.state();
        let connection = matches!(
            error.kind(),
            ErrorKind::Unreachable | ErrorKind::Authentication | ErrorKind::TimedOut
        );
        if connection {
            state.last_failure = Some((now, error.clone()));
            let key = error.to_string();
            let due = state.warned.get(&key).is_none_or(|at| now.duration_since(*at) >= REPEAT);
            if due {
                state.warned.retain(|_, at| now.duration_since(*at) < REPEAT);
                state.warned.insert(key, now);
                let hint = error.hint().unwrap_or_default();
                // A refused login is not tried again by those who use the client.
                let next = if error.is_retriable() { "; trying again" } else { "" };
                tracing::warn!(target: "kafka", client = self.name, hint, "{error}{next}");
            }
        }
        if state.errors.back() == Some(&error) {
            return;
        }
        if state.errors.len() == KEPT {
            state.errors.pop_front();
        }
        state.errors.push_back(error);
    }

    /// The errors since the last call.
    pub(crate) fn take(&self) -> VecDeque<Error> {
        std::mem::take(&mut self.state().errors)
    }

    /// Why no broker answers: the last connection failure, however long ago the library told of it
    /// (it tells the same failure seldom).
    pub(crate) fn why_silent(&self) -> Error {
        let known = self.state().last_failure.clone();
        known.map(|(_, failure)| failure).unwrap_or_else(|| {
            let text = format!("no kafka broker answers at {}", self.bootstrap);
            Error::new(ErrorKind::Unreachable, text).with_kind(ErrorKind::Unreachable)
        })
    }

    /// Explains a timeout by the connection failure behind it, if there was one recently.
    pub(crate) fn explain(&self, error: Error) -> Error {
        if !matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::Unreachable) {
            return error;
        }
        match &self.state().last_failure {
            Some((at, failure)) if at.elapsed() < REPEAT => {
                let kind = failure.kind();
                Error::from_code(error.code(), &error.to_string(), Some(&failure.to_string()))
                    .with_kind(kind)
            }
            _ => error.about(format!("kafka at {}", self.bootstrap)),
        }
    }
}

/// Whether a connection in use was closed: brokers do that when it is idle or when they stop, and if
/// they cannot be reached again, that is told by itself. A connection that is closed while it is set
/// up is another matter: the broker was spoken to in the wrong way.
fn is_everyday_close(reason: &str) -> bool {
    reason.contains(" in state UP") && !reason.contains("security.protocol")
}

/// Whose certificate the other side does not accept. Waiting does not help in either case.
#[derive(Clone, Copy)]
enum Certificate {
    Brokers,
    Ours,
}

impl Certificate {
    fn at_fault(reason: &str) -> Option<Certificate> {
        /// TLS alerts that a broker answers a client's certificate with, or its lack.
        const ALERTS: [&str; 8] = ["42", "43", "44", "45", "46", "48", "49", "116"];
        if reason.contains("certificate verify failed") {
            return Some(Certificate::Brokers);
        }
        // With TLS 1.3 it comes after the handshake, and looks like a broken connection.
        let (_, alert) = reason.split_once("SSL alert number ")?;
        let number = alert.split(|c: char| !c.is_ascii_digit()).next()?;
        ALERTS.contains(&number).then_some(Certificate::Ours)
    }

    /// The library's words, with its advice (its own names of settings) replaced.
    fn explain(self, cause: &str) -> String {
        let end = match self {
            Certificate::Brokers => {
                "the broker's certificate is signed by nobody in the trust store, has expired, or \
                 names another host"
            }
            Certificate::Ours => {
                "the broker wants a client's certificate and got none, or one that it does not trust"
            }
        };
        let cause = cause.split_once(": broker certificate").map_or(cause, |(cause, _)| cause);
        format!("{cause}: {end}")
    }

    fn hint(self) -> &'static str {
        match self {
            Certificate::Brokers => {
                "set ssl.truststore.location to a store with the certificate of the broker's \
                 authority, and connect by a name that the broker's certificate has \
                 (ssl.endpoint.identification.algorithm with an empty value accepts any name)"
            }
            Certificate::Ours => {
                "set ssl.keystore.location to a store with a key and a certificate that the broker \
                 trusts"
            }
        }
    }
}

/// Splits "sasl_ssl://host:9092/bootstrap: Connect to ipv4#… failed: Connection refused (after 1ms
/// in state CONNECT)" into address and cause. Unknown shapes come back whole.
fn split_reason(reason: &str) -> (Option<&str>, &str) {
    let rest = reason.split_once("://").map_or(reason, |(_, rest)| rest);
    let Some((address, cause)) = rest.split_once(": ") else { return (None, reason) };
    let address = address.split('/').next().unwrap_or(address);
    let port = address.rsplit_once(':').map(|(_, port)| port);
    if !port.is_some_and(|p| !p.is_empty() && p.bytes().all(|b| b.is_ascii_digit())) {
        return (None, reason);
    }
    let cause = cause.split_once(" (after ").map_or(cause, |(cause, _)| cause);
    (Some(address), cause)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rdkafka::error::RDKafkaErrorCode as Code;

    const REFUSED: &str = "127.0.0.1:1/bootstrap: Connect to ipv4#127.0.0.1:1 failed: Connection \
                           refused (after 0ms in state CONNECT, 3 identical error(s) suppressed)";

    #[test]
    fn unreachable_broker_is_named_with_what_was_tried() {
        let r = Reporter::new("c".into(), Some("127.0.0.1:1"));
        r.error(&KafkaError::Global(Code::BrokerTransportFailure), REFUSED);
        let errors = r.take();
        assert_eq!(errors.len(), 1);
        assert_eq!(errors[0].kind(), ErrorKind::Unreachable);
        assert_eq!(
            errors[0].to_string(),
            "cannot reach kafka broker 127.0.0.1:1: Connect to ipv4#127.0.0.1:1 failed: \
             Connection refused"
        );
        let timeout = Error::from_code(Code::OperationTimedOut as i32, "read metadata", None);
        let explained = r.explain(timeout);
        assert_eq!(explained.kind(), ErrorKind::Unreachable);
        assert!(explained.to_string().contains("127.0.0.1:1"), "{explained}");
    }

    #[test]
    fn silence_is_explained_by_the_last_failure_for_good() {
        let r = Reporter::new("c".into(), Some("h:1,i:2"));
        assert_eq!(r.why_silent().to_string(), "no kafka broker answers at h:1,i:2");
        r.error(&KafkaError::Global(Code::BrokerTransportFailure), REFUSED);
        r.error(&KafkaError::Global(Code::AllBrokersDown), "1/1 brokers are down");
        r.take();
        assert!(r.why_silent().to_string().ends_with("Connection refused"));
    }

    #[test]
    fn only_connections_that_are_closed_at_once_are_complained_of() {
        let r = Reporter::new("c".into(), None);
        let closed = |how: &str| {
            let line = format!("[thrd:h:1/1]: h:1/1: Disconnected{how}");
            r.log(RDKafkaLogLevel::Info, "FAIL", &line);
            r.take().len()
        };
        assert_eq!(closed(" (after 600000ms in state UP)"), 0);
        assert_eq!(closed(": verify that security.protocol is right (after 9ms in state UP)"), 1);
        assert_eq!(closed(": requesting ApiVersion (after 9ms in state APIVERSION_QUERY)"), 1);
        let text = r.why_silent().to_string();
        assert_eq!(text, "cannot reach kafka broker h:1: Disconnected: requesting ApiVersion");
    }

    #[test]
    fn tls_trouble_is_no_refused_login() {
        let r = Reporter::new("c".into(), None);
        let ssl = |cause: &str| {
            let reason = format!("ssl://h:1/bootstrap: SSL handshake failed: {cause}");
            r.error(&KafkaError::Global(Code::SSL), &reason);
            r.take().pop_front().unwrap()
        };
        let closed = ssl("Disconnected: connecting to a PLAINTEXT broker listener?");
        assert_eq!(closed.kind(), ErrorKind::Unreachable);
        let wrong = ssl("certificate verify failed");
        assert_eq!(wrong.kind(), ErrorKind::Authentication);
        for error in [closed, wrong] {
            let text = error.to_string();
            assert!(text.starts_with("cannot reach kafka broker h:1: SSL handshake"), "{text}");
        }
    }

    /// As Apache Kafka 4 refuses a client without a certificate: TLS 1.3 knows of it after the
    /// handshake, so that it comes as a transport failure.
    #[test]
    fn a_certificate_that_is_not_accepted_is_no_outage() {
        let r = Reporter::new("c".into(), None);
        let alert = "ssl://h:1/1: Receive failed: error:0A000412:SSL routines::sslv3 alert bad \
                     certificate: SSL alert number 42 (after 3ms in state APIVERSION_QUERY)";
        let verify = "ssl://h:1/1: SSL handshake failed: error:0A000086:SSL routines::certificate \
                      verify failed: broker certificate could not be verified, verify that \
                      ssl.ca.location is correctly configured (after 5ms in state SSL_HANDSHAKE)";
        let internal = "ssl://h:1/1: Receive failed: x: SSL alert number 80";
        for (code, reason, kind, key) in [
            (Code::BrokerTransportFailure, alert, ErrorKind::Authentication, "ssl.keystore."),
            (Code::SSL, verify, ErrorKind::Authentication, "ssl.truststore."),
            (Code::BrokerTransportFailure, internal, ErrorKind::Unreachable, "bootstrap.servers"),
        ] {
            r.error(&KafkaError::Global(code), reason);
            let error = r.take().pop_front().unwrap();
            assert_eq!(error.kind(), kind, "{error}");
            assert!(error.hint().unwrap().contains(key), "{error:?}");
            let text = error.to_string();
            assert!(text.starts_with("cannot reach kafka broker h:1: "), "{text}");
            assert!(!text.contains("ssl.ca.location") && !text.contains("(after"), "{text}");
        }
    }

    #[test]
    fn repeated_errors_are_kept_once_and_bounded() {
        let r = Reporter::new("c".into(), None);
        for _ in 0..3 {
            r.error(&KafkaError::Global(Code::AllBrokersDown), "1/1 brokers are down");
        }
        assert_eq!(r.take().len(), 1);
        for i in 0..200 {
            r.error(&KafkaError::Global(Code::Fail), &format!("error {i}"));
        }
        assert_eq!(r.take().len(), KEPT);
        assert!(r.take().is_empty());
    }

    #[test]
    fn reasons_of_other_shapes_stay_whole() {
        assert_eq!(split_reason("2/2 brokers are down"), (None, "2/2 brokers are down"));
        assert_eq!(
            split_reason("sasl_ssl://[::1]:9092/1: SASL authentication error: bad password"),
            (Some("[::1]:9092"), "SASL authentication error: bad password")
        );
    }
}
