//! An HTTP server that answers as a test wants: by itself, or by passing requests on to a registry.

use std::{
    fmt,
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use serde_json::json;

use super::split;
use crate::process;

/// A request that was made.
#[derive(Clone, Debug)]
pub struct Asked {
    pub method: String,
    /// With the query, below the upstream's path.
    pub path: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Asked {
    /// The value of a header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// What becomes of a request.
#[derive(Clone, Debug)]
pub enum Reply {
    /// The upstream answers.
    Forward,
    /// The upstream answers after this time.
    Late(Duration),
    /// A status, headers as lines, and a body.
    Answer(u16, &'static [&'static str], String),
    /// No answer until the rule changes; then the connection is closed.
    Hold,
    /// The connection is closed at once.
    Hangup,
}

impl Reply {
    /// An answer in JSON.
    pub fn json(status: u16, body: &serde_json::Value) -> Reply {
        Reply::Answer(status, &[], body.to_string())
    }
}

type Rule = dyn Fn(&Asked) -> Reply + Send + Sync;

/// A server on a port of its own; it ends when dropped.
pub struct Proxy {
    port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    upstream: Option<String>,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    rule: Arc<Rule>,
    /// Counts rules.
    edition: u64,
    asked: Vec<Asked>,
    ended: bool,
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Proxy({})", self.port)
    }
}

impl Proxy {
    /// One in front of the registry at this base address; everything is passed on.
    pub fn to(upstream: &str) -> Proxy {
        Proxy::start(Some(upstream.to_owned()), Arc::new(|_: &Asked| Reply::Forward))
    }

    /// One that answers by itself.
    pub fn answering(rule: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Proxy {
        Proxy::start(None, Arc::new(rule))
    }

    fn start(upstream: Option<String>, rule: Arc<Rule>) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port of 127.0.0.1 is free");
        let port = listener.local_addr().expect("a bound socket has an address").port();
        let state = State { rule, edition: 0, asked: Vec::new(), ended: false };
        let shared =
            Arc::new(Shared { upstream, state: Mutex::new(state), changed: Condvar::new() });
        let accepting = shared.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                if accepting.state().ended {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let shared = accepting.clone();
                // What goes wrong with a connection is seen by its client.
                thread::spawn(move || shared.serve(stream));
            }
        });
        Proxy { port, shared }
    }

    /// The base address of this server.
    pub fn url(&self) -> String {
        let below = self.shared.upstream.as_deref().map_or("", |upstream| split(upstream).1);
        format!("http://{}{below}", self.address())
    }

    /// `host:port`.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// From now on this decides what becomes of a request; those that are held are let go.
    pub fn set(&self, rule: impl Fn(&Asked) -> Reply + Send + Sync + 'static) {
        let mut state = self.shared.state();
        state.rule = Arc::new(rule);
        state.edition += 1;
        self.shared.changed.notify_all();
    }

    /// Everything is passed on again.
    pub fn heal(&self) {
        self.set(|_| Reply::Forward);
    }

    /// Every request is answered with this status, as a registry says it.
    pub fn fail(&self, status: u16) {
        let body = json!({"error_code": status, "message": "on purpose"});
        self.set(move |_| Reply::json(status, &body));
    }

    /// The registry has lost the schema of this id.
    pub fn lose(&self, id: i32) {
        let path = format!("/schemas/ids/{id}");
        let lost = json!({"error_code": 40403, "message": format!("Schema {id} not found")});
        self.set(move |asked| match asked.path.strip_prefix(&path) {
            Some(rest) if !rest.starts_with(|c: char| c.is_ascii_digit()) => {
                Reply::json(404, &lost)
            }
            _ => Reply::Forward,
        });
    }

    /// All requests so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.shared.state().asked.clone()
    }

    /// How many requests there were whose method and path begin so: `GET /schemas/ids/7`.
    pub fn count(&self, start: &str) -> usize {
        let begins = |asked: &&Asked| format!("{} {}", asked.method, asked.path).starts_with(start);
        self.shared.state().asked.iter().filter(begins).count()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.ended = true;
        state.edition += 1;
        self.shared.changed.notify_all();
        drop(state);
        // Wakes the thread that accepts; an error means that it is gone.
        let _ = TcpStream::connect(self.address());
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self, stream: TcpStream) -> io::Result<()> {
        let mut stream = BufReader::new(stream);
        let Some(asked) = read(&mut stream, self.upstream.as_deref().map_or("", |u| split(u).1))?
        else {
            return Ok(());
        };
        let (rule, edition) = {
            let mut state = self.state();
            state.asked.push(asked.clone());
            (state.rule.clone(), state.edition)
        };
        let (status, headers, body) = match rule(&asked) {
            Reply::Hangup => return Ok(()),
            Reply::Hold => {
                self.wait(edition, None);
                return Ok(());
            }
            Reply::Answer(status, headers, body) => (status, headers, body),
            Reply::Forward => self.forward(&asked)?,
            Reply::Late(time) => {
                self.wait(edition, Some(time));
                self.forward(&asked)?
            }
        };
        let lines: String = headers.iter().map(|line| format!("{line}\r\n")).collect();
        let length = body.len();
        write!(
            stream.get_mut(),
            "HTTP/1.1 {status} X\r\nContent-Length: {length}\r\n{lines}Connection: close\r\n\r\n{body}"
        )
    }

    /// Until the rule is another one, or for a time.
    fn wait(&self, edition: u64, time: Option<Duration>) {
        let same = |state: &mut State| state.edition == edition;
        let state = self.state();
        match time {
            None => drop(self.changed.wait_while(state, same)),
            Some(time) => drop(self.changed.wait_timeout_while(state, time, same)),
        }
    }

    fn forward(&self, asked: &Asked) -> io::Result<(u16, &'static [&'static str], String)> {
        let Some(upstream) = &self.upstream else {
            return Ok((502, &[], "there is no upstream".to_owned()));
        };
        let (host, below) = split(upstream);
        // What is compressed would not be text.
        let own = ["host", "content-length", "connection", "transfer-encoding", "accept-encoding"];
        let headers = asked.headers.iter().filter(|(name, _)| !own.contains(&name.as_str()));
        let headers: Vec<_> =
            headers.map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let path = format!("{below}{}", asked.path);
        let body = Some(asked.body.as_str());
        let answer = process::send(host, &asked.method, &path, &headers, body)?;
        Ok((answer.status, &[], answer.body))
    }
}

fn read(stream: &mut BufReader<TcpStream>, below: &str) -> io::Result<Option<Asked>> {
    let mut line = String::new();
    if stream.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = path.strip_prefix(below).unwrap_or(path);
    let mut asked = Asked {
        method: method.to_owned(),
        path: path.to_owned(),
        headers: Vec::new(),
        body: String::new(),
    };
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':') {
            asked.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
    let length = asked.header("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
    let mut body = Vec::new();
    stream.take(length).read_to_end(&mut body)?;
    asked.body = String::from_utf8_lossy(&body).into_owned();
    Ok(Some(asked))
}
