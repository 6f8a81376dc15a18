//! Tests of who may use the REST interface, of what slow clients may take up, and of who waits for whom.

use super::plugins;
use api::ConnectorPlugin;
use base64::Engine as _;
use config::Props;
use herder::Herder;
use runtime::{Plugins, Worker};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;
use testkit::process::{request, send};
use tokio::runtime::Runtime;

const STRING: &str = "org.apache.kafka.connect.storage.StringConverter";
const EXTENSION: &str =
    "org.apache.kafka.connect.rest.basic.auth.extension.BasicAuthSecurityRestExtension";
const MODULE: &str = "org.apache.kafka.connect.rest.basic.auth.extension.PropertyFileLoginModule";

/// The interface of a worker without connectors; ends with the runtime.
pub(super) fn interface(runtime: &Runtime, worker: Worker) -> (Herder, rest::Server) {
    let config = worker.config().rest.clone();
    let limits = rest::Limits::of(worker.config());
    let users = super::users::read(&config).unwrap();
    let users = users.map(|files| Arc::new(rest::Users::new(files).unwrap()));
    let herder = Herder::start(Arc::new(worker)).unwrap();
    herder.set_ready();
    let server = runtime.block_on(async {
        let listener = rest::bind(&"http://127.0.0.1:0".parse().unwrap()).await.unwrap();
        let admin = config.admin_listeners.is_some();
        let offer = if admin { rest::Offer::Main } else { rest::Offer::All };
        rest::serve(rest::Setup {
            sockets: vec![rest::Socket { listener, tls: None, offer }],
            herder: herder.clone(),
            facts: rest::Facts {
                version: "1".to_owned(),
                commit: "c".to_owned(),
                worker_id: "w".to_owned(),
                kafka_cluster_id: tokio::sync::watch::channel(None).1,
            },
            loggers: Arc::new(crate::logging::Levels::new("info", Box::new(|_| {}))),
            users,
            limits,
            peers: None,
        })
    });
    (herder, server)
}

fn start(runtime: &Runtime, more: &[(&str, &str)]) -> (Herder, rest::Server, String) {
    start_with(runtime, more, plugins())
}

fn start_with(
    runtime: &Runtime,
    more: &[(&str, &str)],
    plugins: Plugins,
) -> (Herder, rest::Server, String) {
    let base = [("key.converter", STRING), ("value.converter", STRING)];
    let props: Props = base.iter().chain(more).copied().collect();
    let worker = Worker::new(props, plugins, "localhost:8083".to_owned()).unwrap();
    let (herder, server) = interface(runtime, worker);
    let address = server.addresses()[0].to_string();
    (herder, server, address)
}

/// What a request by this user is answered: status, content type, body.
fn by(address: &str, user: &str, method: &str, path: &str) -> (u16, String, String) {
    let login = base64::engine::general_purpose::STANDARD.encode(user);
    let login = format!("Basic {login}");
    let mut headers = vec![("Content-Type", "application/json")];
    if !user.is_empty() {
        headers.push(("Authorization", &login));
    }
    let answer = send(address, method, path, &headers, Some("{}")).unwrap();
    let kind = answer.headers.iter().find(|(name, _)| name == "content-type");
    (answer.status, kind.map(|(_, kind)| kind.clone()).unwrap_or_default(), answer.body)
}

/// Everything that a connection answers to these bytes, until it ends.
fn raw(address: &str, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(90))).unwrap();
    stream.write_all(bytes).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn connects_password_file_guards_everything_but_the_internal_routes() {
    let runtime = Runtime::new().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).display().to_string();
    std::fs::write(path("users"), "ann=secret\n").unwrap();
    let module = format!("KafkaConnect {{ {MODULE} required file=\"{}\"; }};", path("users"));
    std::fs::write(path("jaas"), module).unwrap();
    let keys = [("rest.extension.classes", EXTENSION), ("copycat.rest.jaas.file", &path("jaas"))];
    let (herder, _server, address) = start(&runtime, &keys);
    for (method, path) in [
        ("GET", "/"),
        ("GET", "/health"),
        ("GET", "/nowhere"),
        ("GET", "/admin/loggers"),
        ("OPTIONS", "/connectors"),
        ("POST", "/connectors"),
    ] {
        for user in ["", "ann:wrong", "eve:secret"] {
            let (status, kind, body) = by(&address, user, method, path);
            assert_eq!(status, 401, "{method} {path} by {user}");
            assert_eq!(kind, "text/plain");
            assert_eq!(body, "User cannot access the resource.");
        }
    }
    assert_eq!(by(&address, "ann:secret", "GET", "/health").0, 200);
    assert_eq!(by(&address, "ann:secret", "POST", "/connectors").0, 400);
    for (method, path) in [("POST", "/connectors/c/tasks"), ("PUT", "/connectors/c/fence")] {
        assert_eq!(by(&address, "", method, path).0, 500, "{method} {path}");
    }
    assert_eq!(by(&address, "", "GET", "/connectors/c/tasks").0, 401);
    let document = by(&address, "ann:secret", "GET", "/openapi.json").2;
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["components"]["securitySchemes"]["basic"]["scheme"], "basic");
    herder.shutdown();
}

#[test]
fn users_with_roles_read_or_change() {
    let runtime = Runtime::new().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("users").display().to_string();
    let hash = bcrypt::hash("secret", 4).unwrap();
    std::fs::write(&path, format!("ann:{hash}:admin\nbob:{hash}:read-only\n")).unwrap();
    let (herder, _server, address) = start(&runtime, &[("copycat.rest.users.file", &path)]);
    for (user, method, path, wanted) in [
        ("bob:secret", "GET", "/connectors", 200),
        ("bob:secret", "HEAD", "/connectors", 200),
        ("bob:secret", "OPTIONS", "/connectors", 200),
        ("bob:secret", "POST", "/connectors", 403),
        ("bob:secret", "DELETE", "/connectors/c", 403),
        ("bob:secret", "PUT", "/admin/loggers/root", 403),
        ("ann:secret", "DELETE", "/connectors/c", 404),
        ("ann:wrong", "GET", "/connectors", 401),
        ("", "GET", "/connectors", 401),
    ] {
        let (status, _, body) = by(&address, user, method, path);
        assert_eq!(status, wanted, "{method} {path} by {user}: {body}");
        if wanted == 403 {
            let body: serde_json::Value = serde_json::from_str(&body).unwrap();
            assert_eq!(body["code"], "read_only", "{body}");
            assert!(body["hint"].as_str().unwrap().contains("admin"), "{body}");
        }
    }
    herder.shutdown();
}

#[test]
fn clients_that_are_slow_or_send_too_much_are_left() {
    let runtime = Runtime::new().unwrap();
    let keys = [
        ("copycat.rest.head.timeout.ms", "200"),
        ("copycat.rest.body.timeout.ms", "200"),
        ("copycat.rest.body.bytes.max", "1024"),
    ];
    let (herder, _server, address) = start(&runtime, &keys);
    // Nothing, a head that does not end, and a connection that is not used any more.
    assert_eq!(raw(&address, b""), "");
    assert_eq!(raw(&address, b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow"), "");
    let idle = raw(&address, b"GET /connectors HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(idle.ends_with("[]"), "{idle}");
    let head = "POST /connectors HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n";
    let slow = raw(&address, format!("{head}Content-Length: 10\r\n\r\n{{").as_bytes());
    assert!(slow.starts_with("HTTP/1.1 408 "), "{slow}");
    assert!(slow.contains("\"body_too_slow\""), "{slow}");
    let large = raw(&address, format!("{head}Content-Length: 1025\r\n\r\n").as_bytes());
    assert!(large.starts_with("HTTP/1.1 413 "), "{large}");
    let chunk = "x".repeat(0x500);
    let chunks = format!("{head}Transfer-Encoding: chunked\r\n\r\n500\r\n{chunk}\r\n0\r\n\r\n");
    let large = raw(&address, chunks.as_bytes());
    assert!(large.contains("\"body_too_large\""), "{large}");
    herder.shutdown();
}

#[test]
fn connections_beyond_the_limit_wait_for_a_place() {
    let runtime = Runtime::new().unwrap();
    let keys = [("copycat.rest.connections.max", "2"), ("copycat.rest.head.timeout.ms", "60000")];
    let (herder, server, address) = start(&runtime, &keys);
    let held: Vec<TcpStream> = (0..2).map(|_| TcpStream::connect(&address).unwrap()).collect();
    let mut third = TcpStream::connect(&address).unwrap();
    third.write_all(b"GET /connectors HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    third.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let mut byte = [0];
    let error = third.read(&mut byte).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
    drop(held);
    third.set_read_timeout(Some(Duration::from_secs(90))).unwrap();
    let mut answer = String::new();
    third.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    // A connection that nobody uses does not hold up the end.
    let idle = TcpStream::connect(&address).unwrap();
    assert!(runtime.block_on(server.stop(Duration::from_secs(60))));
    assert!(TcpStream::connect(&address).is_err());
    drop(idle);
    herder.shutdown();
}

/// The connector of a configuration; where its file is named `pipe`, what stands there is read first.
fn found_after_the_pipe(class: &str, props: &Props) -> Result<&'static ConnectorPlugin, String> {
    if let Some(pipe) = props.get("file").filter(|file| file.ends_with("/pipe")) {
        std::fs::read(pipe).unwrap();
    }
    connectors::find(class, props)
}

/// A configuration that waits for a pipe: whoever checks it waits until somebody writes.
#[test]
fn a_running_change_holds_up_neither_reads_nor_changes_of_others() {
    let runtime = Runtime::new().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).display().to_string();
    let made = std::process::Command::new("mkfifo").arg(path("pipe")).status().unwrap();
    assert!(made.success());
    let plugins = Plugins { connector: found_after_the_pipe, ..plugins() };
    let (herder, _server, address) = start_with(&runtime, &[], plugins);
    let sink = |name: &str, file: &str| {
        let config = serde_json::json!({
            "connector.class": "FileStreamSink", "topics": "t", "file": file,
        });
        serde_json::json!({ "name": name, "config": config, "initial_state": "STOPPED" })
            .to_string()
    };
    let ask = |method: &str, path: &str, body: Option<&str>| {
        let answer = request(&address, method, path, body).unwrap();
        (answer.status, answer.body)
    };
    assert_eq!(ask("POST", "/connectors", Some(&sink("a", &path("a")))).0, 201);
    let waiting = serde_json::json!({ "file": path("pipe") }).to_string();
    let changes: Vec<_> = [waiting.as_str(), "{\"tasks.max\": \"2\"}"]
        .into_iter()
        .map(|patch| {
            let (address, patch) = (address.clone(), patch.to_owned());
            std::thread::spawn(move || {
                request(&address, "PATCH", "/connectors/a/config", Some(&patch)).unwrap()
            })
        })
        .collect();
    // Opening it waits for the reader: from here on the change is running.
    let pipe = std::fs::File::options().write(true).open(path("pipe")).unwrap();
    for path in ["/connectors/a", "/connectors/a/status", "/connectors?expand=info", "/health"] {
        assert_eq!(ask("GET", path, None).0, 200, "{path}");
    }
    assert_eq!(ask("POST", "/connectors", Some(&sink("b", &path("b")))).0, 201);
    assert_eq!(ask("POST", "/connectors", Some(&sink("b", &path("b")))).0, 409);
    // Whoever reads it again, to check the second change, finds a file.
    std::fs::write(path("file"), "").unwrap();
    std::fs::rename(path("file"), path("pipe")).unwrap();
    drop(pipe);
    for change in changes {
        let answer = change.join().unwrap();
        assert_eq!(answer.status, 200, "{}", answer.body);
    }
    let (_, info) = ask("GET", "/connectors/a/config", None);
    let info: serde_json::Value = serde_json::from_str(&info).unwrap();
    assert_eq!(info["tasks.max"], "2", "{info}");
    assert_eq!(info["file"], path("pipe"), "{info}");
    herder.shutdown();
}
