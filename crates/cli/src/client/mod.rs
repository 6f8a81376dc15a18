//! The client of a worker's REST interface: blocking, one request at a time. It works with any worker
//! of Kafka Connect.

mod address;
mod tls;

use crate::exit::Failure;
use config::Password;
use serde_json::Value;
use std::error::Error;
use std::path::Path;
use std::time::Duration;
use ureq::http::{Method, Request};

pub(crate) use address::Address;

/// Answers larger than this are refused: a thousand connectors have some megabytes.
const ANSWER_BYTES_MAX: u64 = 256 << 20;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Who asks.
#[derive(Clone, Debug)]
pub(crate) struct Login {
    pub(crate) username: String,
    pub(crate) password: Password,
}

/// A worker that can be asked.
#[derive(Debug)]
pub(crate) struct Client {
    agent: ureq::Agent,
    /// Without a slash at its end.
    base: String,
    authorization: Option<Password>,
}

/// What was answered, whatever it is.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: String,
    /// Method and URL.
    asked: String,
}

impl Client {
    /// # Errors
    /// The certificates cannot be read.
    pub(crate) fn new(
        address: &Address,
        login: Option<Login>,
        ca_file: Option<&Path>,
        timeout: Duration,
    ) -> Result<Client, Failure> {
        let mut config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(None)
            .timeout_connect(Some(CONNECT_TIMEOUT.min(timeout)))
            .timeout_global(Some(timeout))
            .user_agent(concat!("copycat/", env!("CARGO_PKG_VERSION")))
            .accept("application/json");
        if address.is_tls() {
            config = config.tls_config(tls::config(ca_file)?);
        }
        let authorization = login.or_else(|| address.login.clone()).map(|login| {
            let text = format!("{}:{}", login.username, login.password.expose());
            use base64::Engine as _;
            let encoded = base64::engine::general_purpose::STANDARD.encode(text);
            Password::new(format!("Basic {encoded}"))
        });
        Ok(Client { agent: config.build().new_agent(), base: address.base.clone(), authorization })
    }

    /// Where it asks; without a login.
    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    /// `GET`; what is no success is an error.
    ///
    /// # Errors
    /// No worker answers, or it refuses.
    pub(crate) fn get(&self, path: &str) -> Result<Value, Failure> {
        self.send("GET", path, None)?.json()
    }

    /// Any request, with whatever status it is answered.
    ///
    /// # Errors
    /// No worker answers.
    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Answer, Failure> {
        let url = format!("{}{path}", self.base);
        let asked = format!("{method} {url}");
        let wrong = |error: String| {
            Failure::wrong_input(format!("{asked}: {error}"))
                .hint("a URL looks like http://localhost:8083")
        };
        let verb = Method::from_bytes(method.as_bytes()).map_err(|e| wrong(e.to_string()))?;
        let mut request = Request::builder().method(verb).uri(&url);
        if let Some(authorization) = &self.authorization {
            request = request.header("Authorization", authorization.expose());
        }
        let answered = if matches!(method, "GET" | "DELETE") {
            let request = request.body(()).map_err(|error| wrong(error.to_string()))?;
            self.agent.run(request)
        } else {
            let text = body.map(Value::to_string).unwrap_or_default();
            let request = request.header("Content-Type", "application/json").body(text);
            self.agent.run(request.map_err(|error| wrong(error.to_string()))?)
        };
        let mut response = answered.map_err(|error| unreachable(&self.base, &error))?;
        let status = response.status().as_u16();
        let read = response.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_to_string();
        let body = read.map_err(|error| unreachable(&self.base, &error))?;
        Ok(Answer { status, body, asked })
    }
}

impl Answer {
    /// Whether the worker did what was asked.
    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The body of a success, null if it is empty.
    ///
    /// # Errors
    /// The worker refused, in its own words and with its hint; or it is none.
    pub(crate) fn json(&self) -> Result<Value, Failure> {
        if !self.is_success() {
            return Err(self.refusal());
        }
        if self.body.trim().is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_str(&self.body).map_err(|_| self.stranger())
    }

    /// Why it was no success.
    pub(crate) fn refusal(&self) -> Failure {
        let body: Value = serde_json::from_str(&self.body).unwrap_or_default();
        let Some(message) = body.get("message").and_then(Value::as_str) else {
            return self.without_message();
        };
        // No part of the interface of a worker is there.
        if self.status == 404 && message == "HTTP 404 Not Found" {
            let hint = "is the path of the URL right? Most workers have none: http://HOST:8083";
            return Failure::wrong_input(format!("{}: {message}", self.asked)).hint(hint);
        }
        let at = body.get("path").and_then(Value::as_str).map(|path| format!(" (at {path})"));
        let message = format!("{message}{}", at.unwrap_or_default());
        let mut failure = match self.status {
            503 => Failure::unavailable(message),
            500.. => Failure::internal(message),
            _ => Failure::wrong_input(message),
        };
        failure.hint = body.get("hint").and_then(Value::as_str).map(str::to_owned);
        failure
    }

    fn without_message(&self) -> Failure {
        match self.status {
            401 => Failure::wrong_input(format!("{}: the worker wants a login", self.asked)).hint(
                "give --username and --password, or put them into the context: \
                 copycat config set-context NAME --username … --password file:/path",
            ),
            403 => Failure::wrong_input(format!("{}: this login may not do that", self.asked)),
            301..=308 => Failure::wrong_input(format!("{}: the worker is elsewhere", self.asked))
                .hint("use the URL of the worker itself; is it https?"),
            502..=504 => Failure::unavailable(format!("{}: HTTP {}", self.asked, self.status)),
            _ => self.stranger(),
        }
    }

    fn stranger(&self) -> Failure {
        let text = format!("{}: HTTP {}, and no JSON", self.asked, self.status);
        Failure::unavailable(text).hint("is this the URL of a worker of Kafka Connect or Copycat?")
    }
}

fn unreachable(base: &str, error: &ureq::Error) -> Failure {
    // The last cause says it best: connection refused, a name that is not known, a certificate.
    let mut cause: &dyn Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    let text = match error {
        ureq::Error::Timeout(_) => "no answer in time".to_owned(),
        ureq::Error::Io(error) => error.to_string(),
        ureq::Error::BadUri(_) | ureq::Error::Http(_) => {
            return Failure::wrong_input(format!("{base} is no URL of a worker: {error}"))
                .hint("a URL looks like http://localhost:8083");
        }
        _ => cause.to_string(),
    };
    let hint = hint_for(&text);
    Failure::unavailable(format!("{base} cannot be reached: {text}")).hint(hint)
}

/// What to do about an answer that did not come, by the words of the cause.
fn hint_for(cause: &str) -> &'static str {
    let has = |words: &[&str]| words.iter().any(|word| cause.contains(word));
    if has(&["CaUsedAsEndEntity"]) {
        "the worker shows the certificate of an authority: give it one of its own \
         (basicConstraints CA:FALSE)"
    } else if has(&["not valid for name", "NotValidForName"]) {
        "use a name in the URL that the worker's certificate has"
    } else if has(&["expired", "Expired"]) {
        "the worker needs a new certificate"
    } else if has(&["certificate", "UnknownIssuer"]) {
        "name the file of the authority that signed the worker's certificate: --ca-file"
    } else if has(&["InvalidContentType"]) {
        "what answers there does not speak TLS: write http:// if it is a worker"
    } else if has(&["http parse fail", "Peer disconnected", "reset by peer"]) {
        "what answers there does not speak HTTP: write https:// if it is a worker"
    } else {
        "is the worker running there? --url, --context, COPYCAT_URL or `copycat config` say where"
    }
}

/// A path of these parts, each encoded.
pub(crate) fn path(parts: &[&str]) -> String {
    use std::fmt::Write as _;
    let mut path = String::new();
    for part in parts {
        path.push('/');
        for &byte in part.as_bytes() {
            if byte.is_ascii_alphanumeric() || b"-._~$".contains(&byte) {
                path.push(byte as char);
            } else {
                // Writing to a string cannot fail.
                let _ok = write!(path, "%{byte:02X}");
            }
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::{INTERNAL, UNAVAILABLE, WRONG_INPUT};

    fn answer(status: u16, body: &str) -> Answer {
        Answer { status, body: body.to_owned(), asked: "GET http://h/x".to_owned() }
    }

    /// Answers one request with nothing in it, and gives what was asked.
    fn listen() -> (String, std::thread::JoinHandle<String>) {
        use std::io::{BufRead as _, Write as _};
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let thread = std::thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            let mut asked = String::new();
            let mut reader = std::io::BufReader::new(stream);
            while reader.read_line(&mut asked).unwrap() > 2 {}
            let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
            reader.get_mut().write_all(answer.as_bytes()).unwrap();
            asked
        });
        (address, thread)
    }

    #[test]
    fn who_asks_is_told_to_the_worker_and_to_nobody_else() {
        let (address, thread) = listen();
        let address = Address::parse(&format!("http://ann:hunter2@{address}/connect/")).unwrap();
        let client = Client::new(&address, None, None, CONNECT_TIMEOUT).unwrap();
        client.get("/connectors").unwrap();
        let asked = thread.join().unwrap().to_ascii_lowercase();
        assert!(asked.starts_with("get /connect/connectors http/1.1\r\n"), "{asked}");
        assert!(asked.contains("authorization: basic yw5uomh1bnrlcji="), "{asked}");
        assert!(asked.contains("user-agent: copycat/"), "{asked}");
        let shown = format!("{client:?} {address:?}");
        assert!(!shown.contains("hunter2") && !shown.contains("YW5uOmh1bnRlcjI="), "{shown}");
    }

    #[test]
    fn nobody_there_is_another_end_than_a_wrong_request() {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let address = Address::parse(&free.to_string()).unwrap();
        let client = Client::new(&address, None, None, CONNECT_TIMEOUT).unwrap();
        let failure = client.get("/").unwrap_err();
        assert_eq!(failure.code, UNAVAILABLE);
        assert!(failure.message.contains(&format!("{free} cannot be reached")), "{failure:?}");
    }

    #[test]
    fn what_speaks_otherwise_is_told_from_what_is_not_there() {
        for (cause, part) in [
            ("received corrupt message of type InvalidContentType", "write http://"),
            ("protocol: http parse fail: invalid HTTP version", "write https://"),
            ("invalid peer certificate: UnknownIssuer", "--ca-file"),
            ("invalid peer certificate: Other(OtherError(CaUsedAsEndEntity))", "CA:FALSE"),
            ("invalid peer certificate: certificate not valid for name \"h\"", "name in the URL"),
            ("Connection refused (os error 111)", "is the worker running"),
        ] {
            assert!(hint_for(cause).contains(part), "{cause}: {}", hint_for(cause));
        }
    }

    #[test]
    fn names_are_parts_of_a_path() {
        assert_eq!(path(&["connectors", "a b/ü", "status"]), "/connectors/a%20b%2F%C3%BC/status");
    }

    #[test]
    fn refusals_have_the_workers_words_and_hint() {
        let body = r#"{"error_code":400,"message":"no","hint":"do","path":"/config"}"#;
        let failure = answer(400, body).json().unwrap_err();
        assert_eq!(failure.message, "no (at /config)");
        assert_eq!(failure.hint.as_deref(), Some("do"));
        for (status, code) in [(400, 2), (404, 2), (409, 2), (500, 1), (503, 3)] {
            assert_eq!(answer(status, r#"{"message":"m"}"#).refusal().code, code);
        }
        let elsewhere = answer(404, r#"{"message":"HTTP 404 Not Found"}"#).refusal();
        assert!(elsewhere.hint.unwrap().contains("path of the URL"));
        assert_eq!(answer(401, "no").refusal().code, WRONG_INPUT);
        assert_eq!(answer(502, "<html>").refusal().code, UNAVAILABLE);
        assert_eq!(answer(500, "").refusal().code, UNAVAILABLE);
        assert_ne!(INTERNAL, answer(200, "<html>").json().unwrap_err().code);
        assert!(answer(204, "").json().unwrap().is_null());
    }
}
