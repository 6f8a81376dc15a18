//! Requests to the registry: several addresses, repetitions, limits, and what an answer means.
//!
//! Invariants: a request ends within its time limits; an answer says something about a schema only if
//! the registry itself gave it, with its own error numbers; no secret is in a message.

mod fault;
mod token;

use crate::bounds::Bounds;
use crate::settings::{Limits, Login, Settings, TlsSide, Token, Url};
use api::{Error, Result, SCHEMA_LOOKUPS};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use config::Password;
use serde_json::Value;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use token::Tokens;
use ureq::http::header::RETRY_AFTER;
use ureq::http::{Request, Response};
use ureq::{Agent, AsSendBody, Body, Proxy};

/// Larger answers are refused; a registry takes schemas of a megabyte unless told otherwise.
const ANSWER_BYTES_MAX: u64 = 16 << 20;
const CONTENT_TYPE: &str = "application/vnd.schemaregistry.v1+json";
/// Connections that stay open for the next request.
const IDLE_MAX: usize = 4;

/// How often a pause looks whether it is to end.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// One request.
pub(crate) struct Ask<'a> {
    /// Below the address, with a slash in front.
    pub(crate) path: &'a str,
    /// With a body it is a POST, without a GET.
    pub(crate) body: Option<&'a Value>,
    /// Not every registry has this path: that it is not there is an answer, of code 0.
    pub(crate) optional: bool,
}

/// What the registry answers: a success, or its own reason for none.
#[derive(Debug)]
pub(crate) enum Answer {
    Success(Value),
    Refusal(crate::Refused),
}

/// The way to one registry.
pub(crate) struct Http {
    agent: Agent,
    urls: Vec<Url>,
    /// For messages: the proxy that they are asked through.
    via: String,
    /// The address that answered last.
    current: AtomicUsize,
    login: Login,
    headers: Vec<(String, Password)>,
    tokens: Tokens,
    limits: Limits,
}

/// Why an address gave no answer.
enum Trouble {
    /// The next address, or a later time, may do better. A wait that was asked for.
    Away(String, Option<Duration>),
    /// Somebody has to change something.
    Wrong(Error),
}

impl Http {
    /// # Errors
    /// `Config`: the proxy is none.
    pub(crate) fn new(settings: &Settings, tls: TlsSide) -> Result<Http> {
        let limits = settings.limits.clone();
        let proxy = settings.proxy.as_ref().map(|(host, port)| {
            Proxy::new(&format!("http://{host}:{port}")).map_err(|why| {
                Error::config(format!("proxy.host={host}, proxy.port={port}: {why}"))
            })
        });
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(proxy.transpose()?)
            .timeout_resolve(Some(limits.connect_timeout))
            .timeout_connect(Some(limits.connect_timeout))
            .timeout_send_request(Some(limits.read_timeout))
            .timeout_send_body(Some(limits.read_timeout))
            .timeout_recv_response(Some(limits.read_timeout))
            .timeout_recv_body(Some(limits.read_timeout))
            .max_idle_connections_per_host(IDLE_MAX)
            .user_agent(concat!("copycat/", env!("CARGO_PKG_VERSION")))
            .accept(CONTENT_TYPE)
            .tls_config(tls.config)
            .build()
            .new_agent();
        Ok(Http {
            agent,
            urls: settings.urls.clone(),
            via: settings.proxy.as_ref().map_or_else(String::new, |(host, port)| {
                format!(" (through the proxy {host}:{port})")
            }),
            current: AtomicUsize::new(0),
            login: settings.login.clone(),
            headers: settings.headers.clone(),
            tokens: Tokens::default(),
            limits,
        })
    }

    /// The addresses, for messages.
    pub(crate) fn shown(&self) -> String {
        let bases: Vec<&str> = self.urls.iter().map(|url| url.base.as_str()).collect();
        bases.join(", ")
    }

    /// Asks the addresses in turn, beginning with the one that answered last, and all of them again
    /// after a while.
    ///
    /// # Errors
    /// `Retriable`: none answers; `Config`: one refuses us, or is no registry.
    pub(crate) fn send(&self, ask: &Ask<'_>, bounds: &Bounds) -> Result<Answer> {
        let mut repetition = 0;
        loop {
            let mut troubles = Vec::new();
            let mut wait_asked = None;
            let first = self.current.load(Ordering::Relaxed);
            for place in 0..self.urls.len() {
                let place = (first + place) % self.urls.len();
                let Some(url) = self.urls.get(place) else { continue };
                bounds.check()?;
                let began = Instant::now();
                let answer = self.try_one(url, ask, bounds);
                SCHEMA_LOOKUPS.asked(began.elapsed(), answer.is_err());
                match answer {
                    Ok(answer) => {
                        self.current.store(place, Ordering::Relaxed);
                        return Ok(answer);
                    }
                    Err(Trouble::Wrong(error)) => return Err(error),
                    Err(Trouble::Away(why, wait)) => {
                        troubles.push(format!("{}{}: {why}", url.base, self.via));
                        wait_asked = wait_asked.max(wait);
                    }
                }
            }
            if repetition == self.limits.retries_max {
                let text = format!("the Schema Registry does not answer: {}", troubles.join("; "));
                return Err(Error::retriable(text)
                    .hint("nothing is lost: it is asked again until it answers"));
            }
            self.pause(repetition, wait_asked, bounds);
            repetition += 1;
        }
    }

    fn pause(&self, repetition: u32, asked: Option<Duration>, bounds: &Bounds) {
        let doubled = self.limits.retries_wait.saturating_mul(2_u32.saturating_pow(repetition));
        let longest = doubled.min(self.limits.retries_wait_max);
        // A random part of it, so that tasks that failed together do not come again together.
        let part = RandomState::new().hash_one(repetition) % 1024;
        let wait = longest.mul_f64(0.5 + part as f64 / 2048.0);
        let wait = asked.map_or(wait, |asked| asked.max(wait)).min(self.limits.retries_wait_max);
        let until = Instant::now() + wait;
        while bounds.check().is_ok() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            nap(left.min(LOOK_EVERY));
        }
    }

    fn try_one(&self, url: &Url, ask: &Ask<'_>, bounds: &Bounds) -> Result<Answer, Trouble> {
        let mut response = self.request(url, ask, bounds)?;
        // A token may have been withdrawn before its end.
        if response.status() == 401 && self.tokens.forget() {
            response = self.request(url, ask, bounds)?;
        }
        let status = response.status().as_u16();
        let wait = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
        let wait = wait.and_then(|text| text.trim().parse().ok()).map(Duration::from_secs);
        let location = response.headers().get("location").and_then(|value| value.to_str().ok());
        let location = location.map(str::to_owned);
        let read = response.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_to_string();
        let body = match read {
            Ok(body) => body,
            Err(ureq::Error::BodyExceedsLimit(_)) => {
                let message = format!("the answer is larger than {ANSWER_BYTES_MAX} bytes");
                return Ok(Answer::Refusal(crate::Refused { status, code: 0, message }));
            }
            Err(error) => return Err(fault::of_transport(url, &error)),
        };
        let json: Option<Value> = serde_json::from_str(&body).ok();
        match (status, json) {
            (200..=299, Some(json)) => Ok(Answer::Success(json)),
            // A page that something on the way shows while the registry is out of reach.
            (200..=299, None) => Err(Trouble::Away(fault::no_json(status), wait)),
            (408 | 425 | 429 | 500.., json) => {
                Err(Trouble::Away(fault::status_text(status, json.as_ref()), wait))
            }
            (404 | 405, json) if ask.optional && !fault::is_numbered(json.as_ref()) => {
                let message = format!("it does not have {}", ask.path);
                Ok(Answer::Refusal(crate::Refused { status, code: 0, message }))
            }
            (_, json) => {
                let asked = format!("{} {}{}", ask.method(), url.base, ask.path);
                fault::of_answer(status, json, location.as_deref(), &asked)
                    .map(Answer::Refusal)
                    .map_err(Trouble::Wrong)
            }
        }
    }

    fn request(
        &self,
        url: &Url,
        ask: &Ask<'_>,
        bounds: &Bounds,
    ) -> Result<Response<Body>, Trouble> {
        let uri = format!("{}{}", url.base, ask.path);
        let mut request = Request::builder().method(ask.method()).uri(&uri);
        for (name, value) in &self.headers {
            request = request.header(name, value.expose());
        }
        if let Some(authorization) = self.authorization(url, bounds)? {
            request = request.header("Authorization", authorization.expose());
        }
        if let Login::Token(_, headers) = &self.login {
            for (name, value) in headers {
                request = request.header(*name, value);
            }
        }
        let sent = match ask.body {
            None => request.body(()).map(|request| run(&self.agent, request, bounds)),
            Some(body) => {
                let request = request.header("Content-Type", CONTENT_TYPE).body(body.to_string());
                request.map(|request| run(&self.agent, request, bounds))
            }
        };
        let sent = sent.map_err(|_| {
            let text = format!("a request to {} cannot be made of the settings", url.base);
            let hint =
                "is there a line break or another odd letter in request.header.* or a token?";
            Trouble::Wrong(Error::config(text).hint(hint))
        })?;
        sent.map_err(|error| fault::of_transport(url, &error))
    }

    fn authorization(&self, url: &Url, bounds: &Bounds) -> Result<Option<Password>, Trouble> {
        let basic = |user: &str, password: &Password| {
            let text = format!("{user}:{}", password.expose());
            Password::new(format!("Basic {}", STANDARD.encode(text)))
        };
        Ok(match &self.login {
            Login::Url => url.login.as_ref().map(|(user, password)| basic(user, password)),
            Login::Basic(user, password) => Some(basic(user, password)),
            Login::Token(Token::Static(token), _) => {
                Some(Password::new(format!("Bearer {}", token.expose())))
            }
            Login::Token(Token::OAuth(oauth), _) => {
                Some(self.tokens.get(&self.agent, oauth, bounds)?)
            }
        })
    }
}

#[expect(clippy::disallowed_methods, reason = "a tenth of a second, then stops are looked for")]
fn nap(time: Duration) {
    std::thread::sleep(time);
}

/// Sends a request that takes no longer than the caller waits.
fn run<B: AsSendBody>(
    agent: &Agent,
    request: Request<B>,
    bounds: &Bounds,
) -> Result<Response<Body>, ureq::Error> {
    match bounds.left() {
        None => agent.run(request),
        Some(left) => {
            agent.run(agent.configure_request(request).timeout_global(Some(left)).build())
        }
    }
}

impl Ask<'_> {
    fn method(&self) -> &'static str {
        if self.body.is_some() { "POST" } else { "GET" }
    }
}
