//! A request taken apart: path, query, what the client sends and takes.
//!
//! Paths are read as Connect reads them: a slash at the end changes nothing, parameters (`;a=b`) are
//! passed over, names are percent-decoded piece by piece, so that they may hold slashes.

use crate::codes::Code;
use crate::errors::RestError;
use crate::server::Scheme;
use axum::body::{Body, Bytes, HttpBody as _};
use axum::http::header::{ACCEPT, CONTENT_TYPE, HOST};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method};
use http_body_util::BodyExt as _;
use std::time::Duration;
use tokio::sync::Semaphore;

/// What is asked.
pub(crate) struct Asked {
    pub(crate) method: Method,
    /// Path and query, as they came.
    pub(crate) target: String,
    query: Vec<(String, String)>,
    headers: HeaderMap,
    pub(crate) body: Bytes,
    /// Whether it came over TLS.
    secure: bool,
}

impl Asked {
    /// The pieces of a request's path.
    ///
    /// # Errors
    /// A path that is none.
    pub(crate) fn path(parts: &Parts) -> Result<Vec<String>, RestError> {
        segments(parts.uri.path())
    }

    pub(crate) fn new(parts: Parts, body: Bytes, secure: bool) -> Asked {
        let query = parts.uri.query().map(pairs).unwrap_or_default();
        let target = parts.uri.path_and_query().map_or("/", |target| target.as_str()).to_owned();
        Asked { method: parts.method, target, query, headers: parts.headers, body, secure }
    }

    /// The values of a query parameter, in their order.
    pub(crate) fn params<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.query.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// A query parameter.
    pub(crate) fn param(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// A query parameter that is true or, whatever else it is, false.
    pub(crate) fn flag(&self, name: &str, default: bool) -> bool {
        self.param(name).map_or(default, |value| value.eq_ignore_ascii_case("true"))
    }

    pub(crate) fn header(&self, name: &HeaderName) -> Option<&HeaderValue> {
        self.headers.get(name)
    }

    pub(crate) fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// A URL of another worker's, at the address that the client believes to talk to.
    pub(crate) fn at_own_address(&self, url: &str) -> Option<String> {
        let (_, rest) = url.split_once("://")?;
        let path = rest.find('/').and_then(|at| rest.get(at..))?;
        Some(format!("{}://{}{path}", self.scheme(), self.host()?))
    }

    /// The host that the client believes to talk to.
    pub(crate) fn host(&self) -> Option<&str> {
        self.headers.get(HOST)?.to_str().ok()
    }

    /// What kinds of answers the client takes; empty if it does not say.
    pub(crate) fn accept(&self) -> String {
        let ranges = self.headers.get_all(ACCEPT).iter();
        ranges.filter_map(|value| value.to_str().ok()).collect::<Vec<_>>().join(",")
    }

    /// `https` where the client speaks TLS to us.
    pub(crate) fn scheme(&self) -> &'static str {
        if self.secure { Scheme::Https.name() } else { Scheme::Http.name() }
    }

    /// # Errors
    /// The client sends something else than JSON, or takes none.
    pub(crate) fn negotiate(&self) -> Result<(), RestError> {
        let changes = matches!(self.method, Method::POST | Method::PUT | Method::PATCH);
        let sent = self.headers.get(CONTENT_TYPE).map(|value| value.to_str().unwrap_or_default());
        let is_json = match sent {
            Some(sent) => kind(sent) == "application/json",
            None => self.body.is_empty(),
        };
        if changes && !is_json {
            return Err(RestError::http(Code::UnsupportedMediaType)
                .hint("send JSON, with the header Content-Type: application/json"));
        }
        let mut taken = self.headers.get_all(ACCEPT).iter().peekable();
        let anything = taken.peek().is_none();
        let takes = |range: &str| {
            let refused = range.split(';').skip(1).any(|part| {
                let part = part.trim();
                part.strip_prefix("q=").and_then(|q| q.parse::<f32>().ok()) == Some(0.0)
            });
            let json = matches!(kind(range).as_str(), "*/*" | "application/*" | "application/json");
            json && !refused
        };
        let mut ranges = taken.filter_map(|value| value.to_str().ok()).flat_map(|v| v.split(','));
        if anything || ranges.any(takes) {
            return Ok(());
        }
        Err(RestError::http(Code::NotAcceptable)
            .hint("answers are JSON: send Accept: application/json, or no Accept"))
    }
}

/// A media type without its parameters.
fn kind(text: &str) -> String {
    text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Reads bodies, within limits: of a body, and of what large bodies take together.
pub(crate) struct Bodies {
    bytes_max: usize,
    timeout: Duration,
    /// Places for bodies that are large.
    large: Semaphore,
}

/// Every connection may hold a body of this size; larger ones need a place.
const SMALL_BYTES: usize = 64 << 10;
/// Large bodies at a time.
const LARGE_MAX: usize = 8;

impl Bodies {
    pub(crate) fn new(bytes_max: usize, timeout: Duration) -> Bodies {
        Bodies { bytes_max, timeout, large: Semaphore::new(LARGE_MAX) }
    }

    /// # Errors
    /// A body that is too large, too slow or breaks off.
    pub(crate) async fn read(&self, body: Body) -> Result<Bytes, RestError> {
        let reading = tokio::time::timeout(self.timeout, self.collect(body));
        reading.await.unwrap_or_else(|_| {
            let hint = format!("send it within {} s", self.timeout.as_secs_f32());
            Err(RestError::http(Code::BodyTooSlow).hint(hint))
        })
    }

    async fn collect(&self, mut body: Body) -> Result<Bytes, RestError> {
        let too_large = || {
            let hint = format!("a body has at most {} bytes", self.bytes_max);
            RestError::http(Code::BodyTooLarge).hint(hint)
        };
        let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
        if announced > self.bytes_max {
            return Err(too_large());
        }
        let mut bytes = Vec::new();
        let mut place = None;
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| {
                RestError::new(Code::BodyBroken, format!("the body breaks off: {error}"))
            })?;
            let Ok(data) = frame.into_data() else { continue };
            let length = bytes.len() + data.len();
            if length > self.bytes_max {
                return Err(too_large());
            }
            if length > SMALL_BYTES && place.is_none() {
                // A place is given back when the body was read and answered to soon after.
                place = self.large.acquire().await.ok();
            }
            bytes.extend_from_slice(&data);
        }
        Ok(bytes.into())
    }
}

fn segments(path: &str) -> Result<Vec<String>, RestError> {
    let path = path.strip_prefix('/').unwrap_or(path);
    let path = path.strip_suffix('/').unwrap_or(path);
    if path.is_empty() {
        return Ok(Vec::new());
    }
    let segment = |text: &str| {
        let text = text.split(';').next().unwrap_or_default();
        if text.is_empty() {
            let text = "the path has an empty part, as in //";
            return Err(RestError::new(Code::BadPath, text));
        }
        decode(text, false).ok_or_else(|| {
            RestError::http(Code::RouteNotFound).hint(format!("{text} is not encoded UTF-8"))
        })
    };
    path.split('/').map(segment).collect()
}

fn pairs(query: &str) -> Vec<(String, String)> {
    let pair = |text: &str| {
        let (key, value) = text.split_once('=').unwrap_or((text, ""));
        Some((decode(key, true)?, decode(value, true)?))
    };
    query.split('&').filter(|text| !text.is_empty()).filter_map(pair).collect()
}

/// Percent-decodes; `None` for what is no UTF-8. A `%` without two digits stands for itself.
fn decode(text: &str, plus_is_space: bool) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        let digits = after.first_chunk::<2>().filter(|_| byte == b'%');
        let decoded = digits.and_then(|digits| {
            let digit = |byte: u8| (byte as char).to_digit(16);
            Some((digit(digits[0])? * 16 + digit(digits[1])?) as u8)
        });
        match decoded {
            Some(decoded) => {
                bytes.push(decoded);
                rest = after.get(2..).unwrap_or_default();
            }
            None if byte == b'+' && plus_is_space => bytes.push(b' '),
            None => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).ok()
}

/// A name as it stands in the path of a `Location`; slashes and `+` stay as they are.
pub(crate) fn encode(name: &str) -> String {
    use std::fmt::Write;
    let mut text = String::with_capacity(name.len());
    for &byte in name.as_bytes() {
        let plain = byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/".contains(&byte);
        if plain {
            text.push(byte as char);
        } else {
            // Writing to a string cannot fail.
            let _ok = write!(text, "%{byte:02X}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read_as_connect_reads_them() {
        let of = |path| segments(path).map_err(|error| error.code.facts().1);
        let parts = |parts: &[&str]| Ok(parts.iter().map(|part| (*part).to_owned()).collect());
        assert_eq!(of("/"), parts(&[]));
        assert_eq!(of("/connectors/"), parts(&["connectors"]));
        assert_eq!(of("/connectors;a=b/x%2Fy;c"), parts(&["connectors", "x/y"]));
        assert_eq!(of("/connectors/a%20b%3F+%C3%A9"), parts(&["connectors", "a b?+é"]));
        assert_eq!(of("/connectors/100%"), parts(&["connectors", "100%"]));
        assert_eq!(of("//connectors"), Err(400));
        assert_eq!(of("/connectors/%ff"), Err(404));
    }

    #[test]
    fn queries_are_forms_and_names_in_locations_are_paths() {
        let wanted = [("a", "x y"), ("a", ""), ("b", "")];
        let wanted: Vec<_> =
            wanted.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        assert_eq!(pairs("a=x+y&a=&b&&c=%ff"), wanted);
        assert_eq!(encode("a b?+é&= /%"), "a%20b%3F+%C3%A9&=%20/%25");
    }
}
