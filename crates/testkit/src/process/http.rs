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
    let stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(100)))?;
    let mut stream = BufReader::new(stream);
    let body = body.unwrap_or_default();
    write!(
        stream.get_mut(),
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nAccept: application/json\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )?;
    let mut line = String::new();
    stream.read_line(&mut line)?;
    let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.ok_or_else(|| invalid(&line))?;
    let head = Head::read(&mut stream)?;
    let mut bytes = Vec::new();
    if head.chunked {
        while let length @ 1.. = chunk_length(&mut stream)? {
            (&mut stream).take(length).read_to_end(&mut bytes)?;
            stream.read_line(&mut line)?;
        }
    } else if let Some(length) = head.length {
        stream.take(length).read_to_end(&mut bytes)?;
    } else if status != 204 && method != "HEAD" {
        stream.read_to_end(&mut bytes)?;
    }
    Ok(Answer { status, body: String::from_utf8_lossy(&bytes).into_owned() })
}

#[derive(Default)]
struct Head {
    length: Option<u64>,
    chunked: bool,
}

impl Head {
    fn read(stream: &mut BufReader<TcpStream>) -> io::Result<Self> {
        let mut head = Self::default();
        loop {
            let mut line = String::new();
            if stream.read_line(&mut line)? == 0 {
                return Err(invalid("the end of the connection in a head"));
            }
            let line = line.trim().to_ascii_lowercase();
            match line.split_once(':') {
                Some(("content-length", value)) => head.length = value.trim().parse().ok(),
                Some(("transfer-encoding", value)) => head.chunked = value.trim() == "chunked",
                _ if line.is_empty() => return Ok(head),
                _ => {}
            }
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
