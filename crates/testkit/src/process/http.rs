//! The smallest HTTP client that can talk to the worker's REST API, independent of its server.

use std::{
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    time::Duration,
};

/// What the worker answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The body as text.
    pub body: String,
}

/// Sends one request on a connection of its own. A body is sent as JSON.
///
/// # Errors
///
/// When the connection fails or the answer is not HTTP.
pub fn request(address: &str, method: &str, path: &str, body: Option<&str>) -> io::Result<Answer> {
    let headers = [("Accept", "application/json"), ("Content-Type", "application/json")];
    let full = send(address, method, path, &headers, Some(body.unwrap_or_default()))?;
    Ok(Answer { status: full.status, body: full.body })
}

/// What was answered, headers included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FullAnswer {
    /// The HTTP status.
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body as text.
    pub body: String,
}

/// Sends one request with just these headers, `Host` and what the body needs.
///
/// # Errors
///
/// When the connection fails or the answer is not HTTP.
pub fn send(
    address: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: Option<&str>,
) -> io::Result<FullAnswer> {
    let stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(100)))?;
    let mut stream = BufReader::new(stream);
    let mut head = format!("{method} {path} HTTP/1.1\r\nHost: {address}\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if let Some(body) = body {
        head.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    let body = body.unwrap_or_default();
    write!(stream.get_mut(), "{head}Connection: close\r\n\r\n{body}")?;
    let mut line = String::new();
    stream.read_line(&mut line)?;
    let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.ok_or_else(|| invalid(&line))?;
    let head = Head::read(&mut stream)?;
    let mut bytes = Vec::new();
    if method == "HEAD" {
        // Its length is that of what GET would answer.
    } else if head.chunked {
        while let length @ 1.. = chunk_length(&mut stream)? {
            (&mut stream).take(length).read_to_end(&mut bytes)?;
            stream.read_line(&mut line)?;
        }
    } else if let Some(length) = head.length {
        stream.take(length).read_to_end(&mut bytes)?;
    } else if status != 204 {
        stream.read_to_end(&mut bytes)?;
    }
    let body = String::from_utf8_lossy(&bytes).into_owned();
    Ok(FullAnswer { status, headers: head.headers, body })
}

#[derive(Default)]
struct Head {
    length: Option<u64>,
    chunked: bool,
    headers: Vec<(String, String)>,
}

impl Head {
    fn read(stream: &mut BufReader<TcpStream>) -> io::Result<Self> {
        let mut head = Self::default();
        loop {
            let mut line = String::new();
            if stream.read_line(&mut line)? == 0 {
                return Err(invalid("the end of the connection in a head"));
            }
            let Some((name, value)) = line.trim().split_once(':') else {
                if line.trim().is_empty() {
                    return Ok(head);
                }
                continue;
            };
            let (name, value) = (name.to_ascii_lowercase(), value.trim());
            match name.as_str() {
                "content-length" => head.length = value.parse().ok(),
                "transfer-encoding" => head.chunked = value.eq_ignore_ascii_case("chunked"),
                _ => {}
            }
            head.headers.push((name, value.to_owned()));
        }
    }
}

fn chunk_length(stream: &mut BufReader<TcpStream>) -> io::Result<u64> {
    let mut line = String::new();
    stream.read_line(&mut line)?;
    let digits = line.trim().split(';').next().unwrap_or_default();
    u64::from_str_radix(digits, 16).map_err(|_| invalid(&line))
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("not HTTP: {what:?}"))
}
