//! What workers of a cluster ask of each other: signatures, certificates, what is set for all of them, and
//! what is told where they do not reach or believe each other.

use crate::harness::{PATIENCE, member};
use aws_lc_rs::hmac;
use base64::engine::{Engine as _, general_purpose::STANDARD};
use serde_json::{Value, json};
use testkit::kafka::{STORE_PASSWORD, tls_file};
use testkit::process::{Worker, WorkerSetup, send};
use testkit::{eventually, free_port, kafka};

/// A cluster of its own; `more` is what each worker has beyond what every worker has.
fn cluster(name: &str, workers: usize, more: impl Fn(usize, WorkerSetup) -> WorkerSetup) -> Peers {
    let mut peers = launch(name, workers, more);
    peers.workers.iter_mut().for_each(Worker::wait_healthy);
    peers
}

/// The same, at once.
fn launch(name: &str, workers: usize, more: impl Fn(usize, WorkerSetup) -> WorkerSetup) -> Peers {
    let group = kafka::topic_name(name);
    let start = |number| more(number, member(&kafka::bootstrap(), &group)).launch();
    Peers { workers: (0..workers).map(start).collect(), group }
}

struct Peers {
    group: String,
    workers: Vec<Worker>,
}

impl Peers {
    /// Asks a worker, with these headers beside those that a body needs.
    fn ask(
        &self,
        worker: usize,
        (method, path): (&str, &str),
        headers: &[(&str, &str)],
        body: &str,
    ) -> (u16, Value) {
        let all = [&[("Content-Type", "application/json")], headers].concat();
        let address = self.workers[worker].address();
        let answer = send(address, method, path, &all, Some(body)).expect("an answer");
        (answer.status, serde_json::from_str(&answer.body).unwrap_or(Value::Null))
    }

    /// Makes a connector through a worker, stopped.
    fn create(&self, worker: usize, name: &str, class: &str) -> (u16, Value) {
        let mut config = json!({ "connector.class": class, "file": "f", "topic": name });
        if class.contains("Sink") {
            config["topics"] = json!(name);
        }
        let body = json!({ "name": name, "config": config, "initial_state": "STOPPED" });
        self.ask(worker, ("POST", "/connectors"), &[], &body.to_string())
    }

    /// The records of the config topic with the cluster's keys, in order.
    fn session_keys(&self) -> Vec<String> {
        let topic = format!("{}-config", self.group);
        let all = kafka::read(&kafka::bootstrap(), &topic);
        let keys = all.iter().filter(|record| record.key.as_deref() == Some(b"session-key"));
        keys.map(|record| record.text().to_owned()).collect()
    }

    fn logs(&self) -> String {
        self.workers.iter().map(Worker::logs).collect::<Vec<_>>().join("\n-- the next worker\n")
    }
}

/// The headers of Kafka Connect's signature.
fn signed(key: &[u8], body: &str) -> [(&'static str, String); 2] {
    let signature = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), body.as_bytes());
    [
        ("X-Connect-Authorization", STANDARD.encode(signature)),
        ("X-Connect-Request-Signature-Algorithm", "HmacSHA256".to_owned()),
    ]
}

#[test]
fn only_what_is_signed_with_the_key_of_the_cluster_is_believed() {
    let peers = cluster("signed", 2, |_, setup| setup);
    let record = eventually(PATIENCE, "there is a key", || peers.session_keys().pop());
    let json: Value = serde_json::from_str(&record).expect("JSON");
    let text = json["key"].as_str().expect("text");
    let key = STANDARD.decode(text).expect("base64");
    let created = json["creation-timestamp"].as_u64().expect("a time");
    assert_eq!(key.len(), 32);
    let wanted =
        format!(r#"{{"key":"{text}","algorithm":"HmacSHA256","creation-timestamp":{created}}}"#);
    assert_eq!(record, wanted);
    let (source, sink) = (kafka::topic_name("source"), kafka::topic_name("sink"));
    assert_eq!(peers.create(0, &source, "FileStreamSource").0, 201);
    assert_eq!(peers.create(1, &sink, "FileStreamSink").0, 201);
    let tasks = |name: &str| format!("/connectors/{name}/tasks");
    let fence = |name: &str| format!("/connectors/{name}/fence");
    let some = r#"[{"a":"b"}]"#;
    for worker in 0..2 {
        let ask = |key: &[u8], asked: (&str, &str), body: &str| {
            let headers = signed(key, body);
            let headers = headers.each_ref().map(|(name, value)| (*name, value.as_str()));
            let (status, answer) = peers.ask(worker, asked, &headers, body);
            (status, answer["message"].as_str().unwrap_or_default().to_owned())
        };
        for (asked, body, status, message) in [
            (("POST", tasks("none")), some, 404, "Connector none not found".to_owned()),
            (
                ("POST", tasks(&source)),
                some,
                400,
                format!(
                    "Cannot submit non-empty set of task configs for stopped connector {source}"
                ),
            ),
            (("POST", tasks(&source)), "[]", 204, String::new()),
            (
                ("POST", tasks(&source)),
                "{}",
                400,
                "the body is an object, and must be a list".into(),
            ),
            (("PUT", fence("none")), "", 404, "Connector none not found".to_owned()),
            (("PUT", fence(&sink)), "", 400, format!("Connector {sink} is not a source connector")),
            (("PUT", fence(&source)), "", 204, String::new()),
        ] {
            let asked = (asked.0, asked.1.as_str());
            assert_eq!(ask(&key, asked, body), (status, message), "{asked:?}\n{}", peers.logs());
            let forged = (403, "Internal request contained invalid signature.".to_owned());
            assert_eq!(ask(b"another", asked, body), forged);
        }
        // Who says to have passed something on and does not sign it is a client like any other.
        let stop = format!("/connectors/{source}/stop");
        let claims = [("X-Copycat-Forwarded", "h:1")];
        assert_eq!(peers.ask(worker, ("PUT", &stop), &claims, "").0, 204);
        // A signature is good for what it was made for, and nothing else.
        let other = signed(&key, "");
        let other = other.each_ref().map(|(name, value)| (*name, value.as_str()));
        let replayed = [&claims[..], &other[..]].concat();
        assert_eq!(peers.ask(worker, ("PUT", &stop), &replayed, "").0, 403);
    }
}

#[test]
fn keys_are_replaced_and_no_request_is_lost_for_that() {
    let often = |_, setup: WorkerSetup| setup.worker("inter.worker.key.ttl.ms", "100");
    let peers = cluster("rotated", 2, often);
    let name = kafka::topic_name("often");
    assert_eq!(peers.create(0, &name, "FileStreamSource").0, 201);
    let path = format!("/connectors/{name}/config");
    eventually(PATIENCE, "keys are replaced", || {
        for worker in 0..2 {
            let config = json!({ "connector.class": "FileStreamSource", "topic": name });
            let (status, answer) = peers.ask(worker, ("PUT", &path), &[], &config.to_string());
            assert_eq!(status, 200, "{answer}\n{}", peers.logs());
        }
        (peers.session_keys().len() > 2).then_some(())
    });
}

#[test]
fn workers_ask_each_other_over_https_with_their_own_certificates_and_the_login_of_the_client() {
    let folder = tempfile::tempdir().expect("a folder");
    let users = folder.path().join("users");
    let hash = bcrypt::hash("secret", 4).expect("a hash");
    std::fs::write(&users, format!("ann:{hash}:admin\n")).expect("the folder is writable");
    let users = users.display().to_string();
    // Plain HTTP is for the test; workers know each other's https alone.
    let peers = launch("https", 2, |_, setup| {
        setup
            .worker("listeners", &format!("https://127.0.0.1:{},http://{{address}}", free_port()))
            .worker("rest.advertised.listener", "https")
            .worker("listeners.https.ssl.keystore.location", &tls_file("worker.p12"))
            .worker("listeners.https.ssl.keystore.password", STORE_PASSWORD)
            .worker("listeners.https.ssl.truststore.location", &tls_file("worker-ca.pem"))
            .worker("listeners.https.ssl.client.auth", "required")
            .worker("copycat.rest.users.file", &users)
    });
    let login = format!("Basic {}", STANDARD.encode("ann:secret"));
    let login = [("Authorization", login.as_str())];
    for worker in &peers.workers {
        eventually(PATIENCE, "it is healthy", || {
            let answer = send(worker.address(), "GET", "/health", &login, None).ok()?;
            (answer.status == 200).then_some(())
        });
    }
    let name = kafka::topic_name("secured");
    let path = format!("/connectors/{name}/config");
    for worker in [0, 1, 0, 1] {
        let config = json!({ "connector.class": "datagen", "shape": "orders", "topic": name });
        let (status, answer) = peers.ask(worker, ("PUT", &path), &login, &config.to_string());
        assert!(status < 300, "{status} {answer}\n{}", peers.logs());
        assert_eq!(peers.ask(worker, ("PUT", &path), &[], &config.to_string()).0, 401);
    }
}

#[test]
fn a_log_level_for_the_cluster_is_set_on_every_worker_that_runs() {
    let mut peers = cluster("levels", 3, |_, setup| setup);
    let path = "/admin/loggers/copycat.for.all";
    let level = |peers: &Peers, worker| {
        peers.ask(worker, ("GET", path), &[], "").1["level"].as_str().map(str::to_owned)
    };
    let for_all = format!("{path}?scope=cluster");
    let set = |level: &str| {
        let body = json!({ "level": level }).to_string();
        peers.ask(1, ("PUT", &for_all), &[], &body).0
    };
    assert_eq!(set("LOUD"), 404);
    assert_eq!(set("DEBUG"), 204);
    for worker in 0..3 {
        eventually(PATIENCE, "it is set", || (level(&peers, worker)? == "DEBUG").then_some(()));
    }
    // Records of the past are no news.
    peers.workers[2].terminate();
    peers.workers[2].restart();
    assert_eq!(level(&peers, 2), None);
}

#[test]
fn topics_of_a_connector_are_forgotten_by_every_worker_through_any() {
    let peers = cluster("topics", 3, |_, setup| setup);
    let name = kafka::topic_name("used");
    for worker in &peers.workers {
        std::fs::write(worker.dir().join("lines"), "one\n").expect("the folder is there");
    }
    let config = json!({
        "connector.class": "FileStreamSource", "file": "lines", "topic": name,
        "value.converter": "org.apache.kafka.connect.storage.StringConverter",
    });
    let path = |what: &str| format!("/connectors/{name}/{what}");
    peers.ask(0, ("PUT", &path("config")), &[], &config.to_string());
    let topics = |worker| peers.ask(worker, ("GET", &path("topics")), &[], "").1[&name].clone();
    let used = json!({ "topics": [name] });
    for (asked, lines) in [(0, 2), (1, 3), (2, 4)] {
        for worker in 0..3 {
            eventually(PATIENCE, "it is used", || (topics(worker) == used).then_some(()));
        }
        assert_eq!(peers.ask(asked, ("PUT", &path("topics/reset")), &[], "").0, 202);
        assert_eq!(topics(asked), json!({ "topics": [] }), "whoever was asked knows at once");
        for worker in 0..3 {
            let gone = || (topics(worker) == json!({ "topics": [] })).then_some(());
            eventually(PATIENCE, "it is forgotten", gone);
        }
        for worker in &peers.workers {
            std::fs::write(worker.dir().join("lines"), "line\n".repeat(lines)).expect("a file");
        }
    }
}

#[test]
fn an_address_that_nobody_reaches_is_told_with_what_to_set() {
    let nobody = free_port().to_string();
    let peers = cluster("unreached", 1, |_, setup| setup.worker("rest.advertised.port", &nobody));
    let url = format!("http://127.0.0.1:{nobody}");
    eventually(PATIENCE, "it is told", || {
        let log = peers.logs();
        let told =
            log.contains(&format!("this worker advertises {url}, and does not reach itself"));
        (told && log.contains("set rest.advertised.host.name")).then_some(())
    });
    eventually(PATIENCE, "every worker can tell", || {
        let (_, workers) = peers.ask(0, ("GET", "/workers"), &[], "");
        workers[0]["troubles"][0].as_str()?.contains(&url).then_some(())
    });
    // Alone it does what it is asked to.
    assert_eq!(peers.create(0, &kafka::topic_name("alone"), "FileStreamSource").0, 201);
}

#[test]
fn workers_whose_algorithms_differ_are_told_so() {
    let algorithms = ["HmacSHA256", "HmacSHA512"];
    let peers = cluster("differ", 2, |number, setup| {
        setup
            .worker("inter.worker.signature.algorithm", algorithms[number])
            .worker("inter.worker.verification.algorithms", algorithms[number])
    });
    let answers =
        [0, 1].map(|worker| peers.create(worker, &kafka::topic_name("differ"), "FileStreamSource"));
    let refused: Vec<_> = answers.iter().filter(|(status, _)| *status == 503).collect();
    assert_eq!(refused.len(), 1, "the leader does what it is asked to: {answers:?}");
    assert_eq!(refused[0].1["code"], "workers_differ");
    let message = refused[0].1["message"].as_str().unwrap_or_default();
    assert!(message.contains("inter.worker.verification.algorithms"), "{message}");
    eventually(PATIENCE, "the log tells", || {
        peers.logs().contains("does not take what this worker signs").then_some(())
    });
}
