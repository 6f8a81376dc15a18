//! Many requests, good and bad, on many connections at once: every answer is one, none is our mistake, and
//! nothing is left behind. `scripts/soak` sends 50,000.

use crate::harness::worker;
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;
use testkit::{Rng, eventually, kafka, process::Worker, seed, soak};

const CONNECTIONS: u64 = 50;
const PATIENCE: Duration = Duration::from_secs(90);

/// Requests of every kind: method, path, body.
const REQUESTS: [(&str, &str, &str); 34] = [
    ("GET", "/", ""),
    ("GET", "/health", ""),
    ("GET", "/openapi.json", ""),
    ("GET", "/metrics", ""),
    ("GET", "/connectors", ""),
    ("GET", "/connectors?expand=status&expand=info", ""),
    ("GET", "/connectors/NAME", ""),
    ("GET", "/connectors/NAME/status", ""),
    ("GET", "/connectors/NAME/config", ""),
    ("GET", "/connectors/NAME/tasks", ""),
    ("GET", "/connectors/NAME/topics", ""),
    ("GET", "/connectors/nobody/offsets", ""),
    ("GET", "/connector-plugins", ""),
    ("GET", "/connector-plugins/FileStreamSink/config", ""),
    ("GET", "/admin/loggers/root", ""),
    ("POST", "/connectors", "NEW"),
    ("POST", "/connectors", "{\"name\":\"x\",\"config\":{}}"),
    ("POST", "/connectors", "{\"name\":"),
    ("POST", "/connectors", "[]"),
    ("PUT", "/connectors/NAME/config", "CONFIG"),
    ("PATCH", "/connectors/NAME/config", "{\"errors.log.enable\":\"true\"}"),
    ("PUT", "/connectors/NAME/stop", ""),
    ("PUT", "/connectors/NAME/pause", ""),
    ("DELETE", "/connectors/NAME", ""),
    ("DELETE", "/connectors/nobody", ""),
    ("POST", "/connectors/NAME/restart?includeTasks=true", ""),
    ("POST", "/connectors/nobody/tasks/x/restart", ""),
    ("PATCH", "/connectors/nobody/offsets", "{\"offsets\":[1]}"),
    ("PUT", "/connector-plugins/FileStreamSink/config/validate", "CONFIG"),
    ("PUT", "/connector-plugins/Nope/config/validate", "{}"),
    ("PUT", "/admin/loggers/load", "{\"level\":\"SHOUT\"}"),
    ("TRACE", "/connectors", ""),
    ("GET", "//", ""),
    ("GET", "/%ff", ""),
];

const CONFIG: &str = r#"{"connector.class":"FileStreamSink","topics":"t","file":"f"}"#;

/// A connection that is used again and again.
struct Client {
    address: String,
    stream: BufReader<TcpStream>,
}

impl Client {
    fn connect(address: &str) -> Client {
        let stream = TcpStream::connect(address).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        Client { address: address.to_owned(), stream: BufReader::new(stream) }
    }

    /// The status of the answer, which is read in full.
    fn ask(&mut self, method: &str, path: &str, body: &str) -> u16 {
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        );
        self.stream.get_mut().write_all(request.as_bytes()).expect("it is taken");
        let mut head = Vec::new();
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line).expect("an answer");
            assert!(!line.is_empty(), "{method} {path}: the connection ended");
            let line = line.trim_end().to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            head.push(line);
        }
        let status = head[0].split(' ').nth(1).and_then(|text| text.parse().ok()).expect("HTTP");
        let length = head.iter().find_map(|line| line.strip_prefix("content-length: "));
        let length = length.map_or(0, |text| text.parse().expect("a length"));
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).expect("the body");
        if head.iter().any(|line| line == "connection: close") {
            *self = Client::connect(&self.address);
        }
        status
    }
}

fn send_many(address: &str, number: u64, count: u64, seed: u64) -> BTreeMap<u16, u64> {
    let mut rng = Rng::new(seed.wrapping_add(number));
    let mut client = Client::connect(address);
    let mut statuses = BTreeMap::new();
    for _ in 0..count {
        let (method, path, body) = REQUESTS[rng.below(REQUESTS.len() as u64) as usize];
        // A few names for all: changes of one connector meet.
        let name = format!("load-{}", rng.below(10));
        let new = format!(r#"{{"name":"{name}","config":{CONFIG},"initial_state":"STOPPED"}}"#);
        let body = match body {
            "NEW" => new.as_str(),
            "CONFIG" => CONFIG,
            other => other,
        };
        let path = path.replace("NAME", &name);
        let status = client.ask(method, &path, body);
        assert!((200..500).contains(&status), "{method} {path}: {status}");
        *statuses.entry(status).or_default() += 1;
    }
    statuses
}

/// Open files, and resident memory in KiB.
fn used(worker: &Worker) -> (usize, u64) {
    let files = std::fs::read_dir(format!("/proc/{}/fd", worker.id())).expect("it runs").count();
    let status = std::fs::read_to_string(format!("/proc/{}/status", worker.id())).expect("it runs");
    let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let memory = memory.and_then(|text| text.split_whitespace().next()?.parse().ok());
    (files, memory.expect("the kernel counts it"))
}

#[test]
fn fault_of_clients_is_never_the_workers() {
    /// What the worker may have more of after the second half than after the first.
    const GROWTH_KIB: u64 = 16 << 10;
    let total: u64 = if soak() { 50_000 } else { 4_000 };
    let seed = seed();
    let mut worker = worker(&kafka::bootstrap()).start();
    let (address, half) = (worker.address().to_owned(), total / 2 / CONNECTIONS);
    let round = |seed: u64| {
        let clients: Vec<_> = (0..CONNECTIONS)
            .map(|number| {
                let address = address.clone();
                std::thread::spawn(move || send_many(&address, number, half, seed))
            })
            .collect();
        let mut statuses = BTreeMap::<u16, u64>::new();
        for client in clients {
            for (status, count) in client.join().expect("every answer is right") {
                *statuses.entry(status).or_default() += count;
            }
        }
        statuses
    };
    let idle = used(&worker).0;
    let first = round(seed);
    for status in [200, 201, 204, 400, 404, 405] {
        assert!(first.contains_key(&status), "{status} is missing: {first:?}");
    }
    for number in 0..10 {
        worker.request("DELETE", &format!("/connectors/load-{number}"), None);
    }
    let before = used(&worker).1;
    round(seed.wrapping_add(CONNECTIONS));
    for number in 0..10 {
        worker.request("DELETE", &format!("/connectors/load-{number}"), None);
    }
    assert_eq!(worker.get("/connectors").body, "[]");
    // A few more may be open: clients of Kafka that were not needed before.
    let spare = 24;
    eventually(PATIENCE, "connections and files are closed", || {
        (used(&worker).0 <= idle + spare).then_some(())
    });
    let after = used(&worker).1;
    assert!(after < before + GROWTH_KIB, "{before} KiB, then {after} KiB");
    assert!(worker.terminate().success(), "{}", worker.logs());
}
