//! Headers that the worker's settings add to answers: those of the operator, and those that let pages
//! of other origins ask (CORS).

use axum::http::header::{HeaderName, HeaderValue, ORIGIN, VARY};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use config::rest::header_items;
use config::worker::WorkerConfig;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const ALLOW_ORIGIN: HeaderName = HeaderName::from_static("access-control-allow-origin");
const ALLOW_METHODS: HeaderName = HeaderName::from_static("access-control-allow-methods");
const ALLOW_HEADERS: HeaderName = HeaderName::from_static("access-control-allow-headers");
const REQUEST_METHOD: HeaderName = HeaderName::from_static("access-control-request-method");
/// What pages of other origins may send.
const CROSS_HEADERS: &str = "X-Requested-With,Content-Type,Accept,Origin";
/// What they may do unless the worker says otherwise.
const CROSS_METHODS: &str = "GET,POST,HEAD";

/// What is added to answers.
pub(super) struct Headers {
    /// The origins whose pages may ask; empty: none.
    origins: Vec<String>,
    methods: HeaderValue,
    own: Vec<Own>,
}

/// A header of the operator.
struct Own {
    /// Whether it takes the place of others of its name.
    replaces: bool,
    name: HeaderName,
    value: Content,
}

enum Content {
    Text(HeaderValue),
    /// A date, this many milliseconds from now.
    FromNow(i64),
}

impl Content {
    fn value(&self) -> Option<HeaderValue> {
        match self {
            Content::Text(text) => Some(text.clone()),
            Content::FromNow(ms) => {
                let (now, distance) = (SystemTime::now(), Duration::from_millis(ms.unsigned_abs()));
                let then =
                    if *ms < 0 { now.checked_sub(distance) } else { now.checked_add(distance) };
                // HTTP has no dates after the year 9999.
                let then =
                    then.filter(|then| *then < UNIX_EPOCH + Duration::from_secs(LAST_SECOND))?;
                let then = then.max(UNIX_EPOCH);
                HeaderValue::from_str(&httpdate::fmt_http_date(then)).ok()
            }
        }
    }
}

/// The last second of the year 9999.
const LAST_SECOND: u64 = 253_402_300_799;

impl Headers {
    pub(super) fn new(config: &WorkerConfig) -> Headers {
        let list = |text: &str| -> Vec<String> {
            let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
            items.map(str::to_owned).collect()
        };
        let methods = list(&config.rest.allow_methods).join(",");
        let methods = if methods.is_empty() { CROSS_METHODS } else { &methods };
        Headers {
            origins: list(&config.rest.allow_origin),
            methods: HeaderValue::from_str(methods)
                .unwrap_or(HeaderValue::from_static(CROSS_METHODS)),
            own: header_items(&config.rest.response_headers)
                .iter()
                .filter_map(|item| own(item))
                .collect(),
        }
    }

    /// The answer to a page that asks whether it may ask; `None` where this is no such question.
    pub(super) fn preflight(&self, method: &Method, asked: &HeaderMap) -> Option<Response> {
        let asks = *method == Method::OPTIONS && asked.contains_key(REQUEST_METHOD);
        let _allowed = self.allowed(asked).filter(|_| asks)?;
        let mut response = StatusCode::OK.into_response();
        let headers = response.headers_mut();
        headers.insert(ALLOW_METHODS, self.methods.clone());
        headers.insert(ALLOW_HEADERS, HeaderValue::from_static(CROSS_HEADERS));
        Some(response)
    }

    pub(super) fn add_to(&self, answer: &mut HeaderMap, asked: &HeaderMap) {
        if let Some(origin) = self.allowed(asked) {
            answer.insert(ALLOW_ORIGIN, origin.clone());
            answer.append(VARY, HeaderValue::from_static("Origin"));
        }
        for Own { replaces, name, value } in &self.own {
            let Some(value) = value.value() else { continue };
            if *replaces {
                answer.insert(name, value);
            } else {
                answer.append(name, value);
            }
        }
    }

    /// The origin of the page that asks, if it may.
    fn allowed<'a>(&self, asked: &'a HeaderMap) -> Option<&'a HeaderValue> {
        let origin = asked.get(ORIGIN)?;
        let text = origin.to_str().ok()?;
        self.origins.iter().any(|known| known == "*" || known == text).then_some(origin)
    }
}

/// `[set|add|setDate|addDate] name:value`.
fn own(item: &str) -> Option<Own> {
    let (left, value) = item.split_once(':')?;
    let mut words = left.split_whitespace();
    let (action, name) = match (words.next()?, words.next()) {
        (action, Some(name)) => (action, name),
        (name, None) => ("set", name),
    };
    let (replaces, is_date) = match action {
        "set" => (true, false),
        "add" => (false, false),
        "setDate" => (true, true),
        "addDate" => (false, true),
        _ => return None,
    };
    let value = match value.trim() {
        ms if is_date => Content::FromNow(ms.parse().ok()?),
        text => Content::Text(HeaderValue::from_str(text).ok()?),
    };
    Some(Own { replaces, name: name.parse().ok()?, value })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(origins: &[&str], items: &[&str]) -> Headers {
        Headers {
            origins: origins.iter().map(|origin| (*origin).to_owned()).collect(),
            methods: HeaderValue::from_static(CROSS_METHODS),
            own: items.iter().filter_map(|item| own(item)).collect(),
        }
    }

    fn of(origin: &str) -> HeaderMap {
        let mut asked = HeaderMap::new();
        asked.insert(ORIGIN, HeaderValue::from_str(origin).unwrap());
        asked
    }

    #[test]
    fn pages_of_listed_origins_alone_may_ask() {
        let listed = headers(&["http://a"], &[]);
        for (headers, origin, wanted) in [
            (&listed, "http://a", Some("http://a")),
            (&listed, "http://b", None),
            (&headers(&["*"], &[]), "http://b", Some("http://b")),
            (&headers(&[], &[]), "http://a", None),
        ] {
            let mut answer = HeaderMap::new();
            headers.add_to(&mut answer, &of(origin));
            let got = answer.get(ALLOW_ORIGIN).map(|value| value.to_str().unwrap());
            assert_eq!(got, wanted, "{origin}");
        }
        let mut asked = of("http://a");
        assert!(listed.preflight(&Method::OPTIONS, &asked).is_none());
        asked.insert(REQUEST_METHOD, HeaderValue::from_static("PUT"));
        let answer = listed.preflight(&Method::OPTIONS, &asked).unwrap();
        assert_eq!(answer.headers()[ALLOW_METHODS], CROSS_METHODS);
        assert!(listed.preflight(&Method::GET, &asked).is_none());
    }

    #[test]
    fn headers_of_the_operator_are_set_or_added() {
        let items = [
            "set X-A: 1",
            "\"add X-B:2\"",
            "X-B: 3",
            "add X-B: 4",
            "setDate X-C: 5",
            "addDate X-D: -86400000000000",
        ];
        let mut answer = HeaderMap::new();
        headers(&[], &items).add_to(&mut answer, &HeaderMap::new());
        assert_eq!(answer["x-a"], "1");
        let all: Vec<_> = answer.get_all("x-b").iter().collect();
        assert_eq!(all, ["3", "4"]);
        let date = httpdate::parse_http_date(answer["x-c"].to_str().unwrap()).unwrap();
        assert!(date.elapsed().unwrap_or_default() < Duration::from_secs(60));
        assert_eq!(answer["x-d"], "Thu, 01 Jan 1970 00:00:00 GMT");
    }
}
