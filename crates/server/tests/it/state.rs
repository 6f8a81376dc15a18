//! What a worker keeps of its connectors over restarts and kills: `copycat.state.file`.

use crate::harness::{BINARY, PATIENCE, faults, random_moment, status, task, worker};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use testkit::{
    Rng, eventually, free_port,
    kafka::{self, topic_name},
    process::{Worker, WorkerSetup, request},
};

const SECRET: &str = "s3cret-of-a-file";

fn setup(path: &str) -> WorkerSetup {
    worker(&kafka::bootstrap()).worker("copycat.state.file", path)
}

/// A file source that waits for its file.
fn config(name: &str, more: &[(&str, &str)]) -> String {
    let topic = topic_name("state");
    let mut config = json!({
        "name": name, "connector.class": "FileStreamSource", "file": "none", "topic": topic,
    });
    for (key, value) in more {
        config[*key] = json!(value);
    }
    config.to_string()
}

#[track_caller]
fn ask(worker: &Worker, method: &str, path: &str, body: Option<&str>, expected: u16) -> Value {
    let answer = worker.request(method, path, body);
    assert_eq!(answer.status, expected, "{method} {path}: {}", answer.body);
    serde_json::from_str(&answer.body).unwrap_or_default()
}

fn create(worker: &Worker, name: &str, state: &str, more: &[(&str, &str)]) {
    let config = config(name, more);
    let body = format!(r#"{{"name":"{name}","config":{config},"initial_state":"{state}"}}"#);
    ask(worker, "POST", "/connectors", Some(&body), 201);
}

fn state_of(worker: &Worker, name: &str) -> String {
    status(worker, name)["connector"]["state"].as_str().expect("a state").to_owned()
}

#[test]
fn connectors_and_their_states_outlive_the_worker() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(at("secrets"), format!("path={SECRET}\n")).expect("room");
    let reference = format!("${{f:{}:path}}", at("secrets"));
    let named = [("connector.class", "FileStreamSource"), ("file", "none"), ("topic", "by-file")];
    let mut worker = setup(&at("state"))
        .worker("config.providers", "f")
        .worker("config.providers.f.class", "FileConfigProvider")
        .connector("named", &named)
        .start();
    create(&worker, "runs", "RUNNING", &[("file", &reference)]);
    create(&worker, "stopped", "STOPPED", &[]);
    create(&worker, "paused", "RUNNING", &[("batch.size", "7")]);
    create(&worker, "gone", "RUNNING", &[]);
    ask(&worker, "PUT", "/connectors/paused/pause", None, 202);
    ask(&worker, "DELETE", "/connectors/gone", None, 204);
    ask(&worker, "PATCH", "/connectors/paused/config", Some(r#"{"batch.size":"8"}"#), 200);
    ask(&worker, "PUT", "/connectors/named/stop", None, 204);
    ask(&worker, "PATCH", "/connectors/named/config", Some(r#"{"batch.size":"9"}"#), 200);
    worker.kill9();
    worker.restart();
    let names = ask(&worker, "GET", "/connectors", None, 200);
    assert_eq!(names, json!(["named", "paused", "runs", "stopped"]));
    for (name, state) in
        [("runs", "RUNNING"), ("paused", "PAUSED"), ("stopped", "STOPPED"), ("named", "STOPPED")]
    {
        assert_eq!(state_of(&worker, name), state, "{name}");
    }
    let kept = ask(&worker, "GET", "/connectors/paused/config", None, 200);
    assert_eq!(kept["batch.size"], "8");
    assert_eq!(
        ask(&worker, "GET", "/connectors/runs/config", None, 200)["file"],
        reference.as_str()
    );
    // What the command line names has the configuration of its file.
    let by_file = ask(&worker, "GET", "/connectors/named/config", None, 200);
    assert_eq!(by_file.get("batch.size"), None);
    assert!(worker.logs().contains("connector named: its file takes the place"));
    let text = std::fs::read_to_string(at("state")).expect("the file");
    assert!(text.contains("${f:") && !text.contains(SECRET), "{text}");
    let mode = std::fs::metadata(at("state")).expect("the file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(worker.terminate().success());
}

/// What is wrong with one connector by now does not keep the others from coming back.
#[test]
fn a_connector_that_cannot_run_any_more_is_failed_and_the_others_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("state").display().to_string();
    let secret = folder.path().join("secrets");
    std::fs::write(&secret, "rows=5\n").expect("room");
    let reference = format!("${{f:{}:rows}}", secret.display());
    let mut worker = setup(&path)
        .worker("config.providers", "f")
        .worker("config.providers.f.class", "FileConfigProvider")
        .start();
    create(&worker, "well", "RUNNING", &[]);
    create(&worker, "ill", "RUNNING", &[("batch.size", &reference)]);
    assert!(worker.terminate().success());
    std::fs::remove_file(&secret).expect("it was there");
    worker.restart();
    assert_eq!(state_of(&worker, "well"), "RUNNING");
    eventually(PATIENCE, "it is FAILED", || (state_of(&worker, "ill") == "FAILED").then_some(()));
}

/// Whatever was answered is there after a kill, and nothing is half there.
#[test]
fn fault_kill9_in_the_middle_of_changes() {
    let mut rng = Rng::seeded("state-kill9");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("state").display().to_string();
    let mut worker = setup(&path).start();
    create(&worker, "kept", "STOPPED", &[("batch.size", "1")]);
    let mut next = 2_u64;
    for _ in 0..faults().min(20) {
        let (stop, acked) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(next - 1)));
        let (stopped, told, address) = (stop.clone(), acked.clone(), worker.address().to_owned());
        let changes = thread::spawn(move || {
            let mut n = next;
            while !stopped.load(Ordering::Acquire) {
                let body = config("kept", &[("batch.size", &n.to_string())]);
                match request(&address, "PUT", "/connectors/kept/config", Some(&body)) {
                    Ok(answer) if answer.status == 200 => told.store(n, Ordering::Release),
                    _ => break,
                }
                let other = format!("other{}", n % 3);
                let made = config(&other, &[]);
                let body =
                    format!(r#"{{"name":"{other}","config":{made},"initial_state":"STOPPED"}}"#);
                let _any = request(&address, "POST", "/connectors", Some(&body));
                let gone = format!("/connectors/other{}", (n + 1) % 3);
                let _any = request(&address, "DELETE", &gone, None);
                n += 1;
            }
            n
        });
        let before = acked.load(Ordering::Acquire);
        eventually(PATIENCE, "changes", || (acked.load(Ordering::Acquire) > before).then_some(()));
        random_moment(&mut rng, &mut worker);
        worker.kill9();
        stop.store(true, Ordering::Release);
        let tried = changes.join().expect("the changes end");
        let acked = acked.load(Ordering::Acquire);
        worker.restart();
        let kept = ask(&worker, "GET", "/connectors/kept/config", None, 200);
        let kept: u64 = kept["batch.size"].as_str().and_then(|n| n.parse().ok()).expect("a number");
        assert!((acked..=tried).contains(&kept), "{kept} is not in {acked}..={tried}");
        assert_eq!(state_of(&worker, "kept"), "STOPPED");
        next = tried + 1;
    }
}

#[test]
fn a_file_that_is_not_whole_is_refused_and_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("state");
    let text = path.display().to_string();
    let mut worker = setup(&text).start();
    create(&worker, "a", "STOPPED", &[]);
    assert!(worker.terminate().success());
    let whole = std::fs::read(&path).expect("the file");
    std::fs::write(&path, &whole[..whole.len() - 3]).expect("room");
    worker.launch();
    assert_eq!(worker.wait_exit(PATIENCE).code(), Some(2));
    let logs = worker.logs();
    assert!(logs.contains(&format!("{text} cannot be trusted")), "{logs}");
    std::fs::write(&path, whole).expect("room");
    worker.restart();
    let mut second = setup(&text).launch();
    assert_eq!(second.wait_exit(PATIENCE).code(), Some(2));
    assert!(second.logs().contains("another worker keeps its connectors"), "{}", second.logs());
}

/// B018: a null is refused with the name of its key, in validation and in creation.
#[test]
fn a_null_is_told_with_its_key_everywhere() {
    let worker = worker(&kafka::bootstrap()).start();
    let config = r#"{"name":"c","connector.class":"FileStreamSink","topics":"t","file":null}"#;
    let path = "/connector-plugins/FileStreamSink/config/validate";
    let answer = ask(&worker, "PUT", path, Some(config), 200);
    let told = "Null value can not be supplied as the configuration value.";
    assert_eq!(answer["copycat"]["errors"], json!([{ "name": "file", "message": told }]));
    let body = format!(r#"{{"name":"c","config":{config}}}"#);
    for (method, path, body) in
        [("PUT", "/connectors/c/config", config), ("POST", "/connectors", body.as_str())]
    {
        let answer = ask(&worker, method, path, Some(body), 400);
        let message = answer["message"].as_str().expect("a message");
        assert!(message.contains("file: ") && message.contains(told), "{message}");
    }
    assert_eq!(worker.get("/connectors").body, "[]");
}

/// A worker whose keys are in the environment, as container images have them.
#[test]
fn keys_of_the_worker_come_from_the_environment() {
    let mut running = worker(&kafka::bootstrap())
        .worker("offset.flush.timeout.ms", "no number")
        .env("CONNECT_OFFSET_FLUSH_TIMEOUT_MS", "1000")
        .env("CONNECT_CONSUMER_SASL_JAAS_CONFIG", SECRET)
        .env("KAFKA_HEAP_OPTS", "-Xmx1g")
        .start();
    let logs = running.logs();
    let jvm = logs.matches("KAFKA_HEAP_OPTS: without effect").count();
    assert_eq!(jvm, 1, "{logs}");
    assert!(logs.contains("consumer.sasl.jaas.config, offset.flush.timeout.ms"), "{logs}");
    assert!(!logs.contains(SECRET), "{logs}");
    assert!(running.terminate().success());

    let folder = tempfile::tempdir().expect("a folder");
    let port = free_port();
    let alone = |more: &[(&str, &str)], file: Option<&str>| {
        let mut command = Command::new(BINARY);
        command.arg("standalone").args(file).current_dir(folder.path());
        command.env("CONNECT_BOOTSTRAP_SERVERS", kafka::bootstrap());
        command.env("CONNECT_LISTENERS", format!("http://127.0.0.1:{port}"));
        command.env("CONNECT_KEY_CONVERTER", "org.apache.kafka.connect.storage.StringConverter");
        command.env("CONNECT_OFFSET_STORAGE_FILE_FILENAME", "offsets");
        command.envs(more.iter().copied());
        command
    };
    let lacking = alone(&[], None).output().expect("it runs");
    let told = String::from_utf8_lossy(&lacking.stderr).into_owned();
    assert_eq!(lacking.status.code(), Some(2), "{told}");
    assert!(
        told.contains("CONNECT_* variables: ") && told.contains("\"value.converter\""),
        "{told}"
    );
    let json = ("CONNECT_VALUE_CONVERTER", "org.apache.kafka.connect.json.JsonConverter");
    for file in [None, Some("-"), Some("absent.properties")] {
        let mut process = alone(&[json], file).spawn().expect("it runs");
        let address = format!("127.0.0.1:{port}");
        eventually(PATIENCE, "it answers", || request(&address, "GET", "/health", None).ok());
        process.kill().expect("it runs");
        process.wait().expect("it ends");
    }
    let nothing = Command::new(BINARY).arg("standalone").output().expect("it runs");
    assert_eq!(nothing.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&nothing.stderr).contains("no worker file is named"));
}

/// Changing one connector leaves the tasks of the others, and its own where theirs are the same. A task
/// that starts again counts anew.
#[test]
fn only_what_changed_starts_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let lines = folder.path().join("lines").display().to_string();
    std::fs::write(&lines, "a\nb\nc\n").expect("room");
    let worker = worker(&kafka::bootstrap()).start();
    let read = |name: &str| task(&worker, name)["copycat"]["records_read"].as_u64();
    let converter = ("value.converter", "org.apache.kafka.connect.storage.StringConverter");
    for name in ["one", "two"] {
        create(&worker, name, "RUNNING", &[("file", &lines), converter]);
        eventually(PATIENCE, "it has read", || (read(name) == Some(3)).then_some(()));
    }
    // Offsets are stored, so that a task that starts again reads nothing.
    let stored = |name: &str| {
        let offsets = ask(&worker, "GET", &format!("/connectors/{name}/offsets"), None, 200);
        offsets["offsets"].as_array().is_some_and(|all| !all.is_empty())
    };
    eventually(PATIENCE, "offsets", || (stored("one") && stored("two")).then_some(()));
    let config = worker.get("/connectors/one/config").body;
    ask(&worker, "PUT", "/connectors/one/config", Some(&config), 200);
    assert_eq!([read("one"), read("two")], [Some(3), Some(3)]);
    ask(&worker, "PATCH", "/connectors/one/config", Some(r#"{"batch.size":"3"}"#), 200);
    eventually(PATIENCE, "it started again", || (read("one") == Some(0)).then_some(()));
    assert_eq!(read("two"), Some(3));
    ask(&worker, "DELETE", "/connectors/one", None, 204);
    create(&worker, "one", "STOPPED", &[("file", &lines), converter]);
    assert!(stored("one"), "B022: offsets are kept");
    ask(&worker, "DELETE", "/connectors/one?offsets=true", None, 204);
    create(&worker, "one", "STOPPED", &[("file", &lines), converter]);
    assert!(!stored("one"), "B022: offsets went with the connector");
    let resumed = "resuming from stored offsets: {\"filename\"";
    eventually(PATIENCE, "B022", || worker.logs().contains(resumed).then_some(()));
}
