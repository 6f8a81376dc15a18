//! A cluster of Kafka Connect itself is taken over, with its file and its topics, and handed back.

use crate::cli::Told;
use crate::harness::{BINARY, PATIENCE, Route};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use testkit::process::Site;
use testkit::{eventually, kafka, progress};

const FILE_SOURCE: &str = "org.apache.kafka.connect.file.FileStreamSourceConnector";
const FILE_SINK: &str = "org.apache.kafka.connect.file.FileStreamSinkConnector";
const HEARTBEATS: &str = "org.apache.kafka.connect.mirror.MirrorHeartbeatConnector";
const STRING: &str = "org.apache.kafka.connect.storage.StringConverter";

/// A place with one worker, whichever it is, and the commands that were typed there.
struct Place {
    site: Site,
    cluster: String,
    typed: BTreeSet<String>,
}

impl Place {
    fn new() -> Place {
        let cluster = kafka::topic_name("takeover");
        let more = [
            ("key.converter", STRING),
            ("value.converter", STRING),
            ("offset.flush.interval.ms", "200"),
            // Kafka Connect starts sooner.
            ("plugin.discovery", "service_load"),
            // Right for Kafka Connect, whose session is longer.
            ("heartbeat.interval.ms", "3000"),
        ];
        let site = Site::new(&kafka::bootstrap(), &cluster, &more);
        Place { site, cluster, typed: BTreeSet::new() }
    }

    /// Runs a command line as the manual has it.
    #[track_caller]
    fn run(&mut self, line: &str) -> Told {
        self.typed.insert(line.to_owned());
        let words: Vec<&str> = line.split(' ').skip(1).collect();
        let mut command = Command::new(BINARY);
        // A worker that must not start would fail at the address that is taken, too.
        command
            .args(words)
            .current_dir(self.site.dir())
            .env("CONNECT_LISTENERS", "http://127.0.0.1:0");
        let output = command.output().expect("the binary runs");
        Told {
            code: output.status.code().expect("no signal"),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    #[track_caller]
    fn put(&self, name: &str, config: &Value) {
        let path = format!("/connectors/{name}/config");
        let answer = self.site.request("PUT", &path, Some(&config.to_string()));
        assert!(answer.status < 300, "{}", answer.body);
    }

    /// Waits until a connector and its one task are in these states.
    #[track_caller]
    fn wait_state(&self, name: &str, connector: &str, task: &str) {
        progress(PATIENCE, &format!("{name} is {connector}, its task {task}"), || {
            let path = format!("/connectors/{name}/status");
            let body = self.site.request("GET", &path, None).body;
            let status: Value = serde_json::from_str(&body).unwrap_or_default();
            let is = |at: &Value, state: &str| at["state"] == state;
            let well = is(&status["connector"], connector) && is(&status["tasks"][0], task);
            if well { Ok(()) } else { Err(body) }
        });
    }

    fn path(&self, file: &str) -> String {
        self.site.dir().join(file).display().to_string()
    }

    fn append(&self, lines: &[&str]) {
        let file = fs::File::options().create(true).append(true).open(self.path("in"));
        let mut file = file.expect("the folder is writable");
        for line in lines {
            writeln!(file, "{line}").expect("it is written");
        }
    }

    /// Waits until a file has these lines, and just these.
    #[track_caller]
    fn wait_lines(&self, file: &str, wanted: &[&str]) {
        progress(PATIENCE, &format!("{file} has {wanted:?}"), || {
            let text = fs::read_to_string(self.path(file)).unwrap_or_default();
            let lines: Vec<&str> = text.lines().collect();
            if lines == wanted { Ok(()) } else { Err(text) }
        });
    }

    fn topic(&self) -> String {
        format!("{}-lines", self.cluster)
    }

    fn sink(&self, out: &str) -> Value {
        json!({
            "connector.class": FILE_SINK, "topics": self.topic(), "file": self.path(out),
            "tasks.max": "1", "consumer.override.session.timeout.ms": "6000",
            // Other runs of the test have connectors of the same name.
            "consumer.override.group.id": format!("{}-out", self.cluster),
        })
    }

    /// A file source, a file sink, and one that is Java alone.
    fn make_connectors(&self) {
        kafka::create_topic(&kafka::bootstrap(), &self.topic(), 1);
        let source = json!({
            "connector.class": FILE_SOURCE, "topic": self.topic(), "file": self.path("in"),
            "tasks.max": "1",
        });
        self.put("lines-in", &source);
        self.put("lines-out", &self.sink("out"));
        let heartbeats = json!({
            "connector.class": HEARTBEATS, "tasks.max": "1",
            "source.cluster.alias": &self.cluster, "target.cluster.alias": "here",
            "source.cluster.bootstrap.servers": kafka::bootstrap(),
            "target.cluster.bootstrap.servers": kafka::bootstrap(),
            "heartbeats.topic.replication.factor": "1",
        });
        self.put("heartbeats", &heartbeats);
        for name in ["lines-in", "lines-out", "heartbeats"] {
            self.wait_state(name, "RUNNING", "RUNNING");
        }
    }

    /// What stands under keys of our own in the topics of the cluster.
    fn own_records(&self) -> Vec<String> {
        let mut own = std::collections::BTreeMap::new();
        for topic in ["config", "status"] {
            for record in kafka::read(&kafka::bootstrap(), &format!("{}-{topic}", self.cluster)) {
                let key = String::from_utf8(record.key.unwrap_or_default()).expect("text");
                if key.starts_with("copycat-") {
                    own.insert(key, record.value.is_some());
                }
            }
        }
        own.into_iter().filter_map(|(key, there)| there.then_some(key)).collect()
    }
}

fn connector<'a>(answer: &'a Value, name: &str) -> &'a Value {
    let all = answer["connectors"].as_array().expect("connectors");
    all.iter().find(|connector| connector["name"] == name).expect("the connector is there")
}

const PLAN: &str = "copycat takeover plan worker.properties";
const START: &str = "copycat takeover start worker.properties";
const START_WITHOUT: &str = "copycat takeover start worker.properties --without heartbeats";
const STATUS: &str = "copycat takeover status worker.properties";
const ROLLBACK: &str = "copycat takeover rollback worker.properties";
const WORKER: &str = "copycat distributed worker.properties";

#[test]
fn a_cluster_of_kafka_connect_is_taken_over_and_handed_back() {
    let mut place = Place::new();
    place.append(&["one", "two", "three"]);
    place.site.start_java();
    place.make_connectors();
    place.wait_lines("out", &["one", "two", "three"]);
    while_java_lives(&mut place);
    place.site.stop();

    // Nobody runs.
    place.append(&["four"]);
    let refused = place.run(START).expect(1);
    assert!(
        refused.err.contains("heartbeats") && refused.err.contains("--without heartbeats"),
        "{}",
        refused.err
    );
    assert!(place.run(STATUS).expect(2).err.contains("has not been taken over"));
    assert_eq!(place.own_records(), Vec::<String>::new(), "nothing was written");
    place.run(START_WITHOUT).expect(0);
    assert!(place.run(START).expect(0).out.contains("taken over already"));

    // Our worker goes on where the others stopped.
    place.typed.insert(WORKER.to_owned());
    place.site.start(BINARY);
    place.wait_lines("out", &["one", "two", "three", "four"]);
    place.append(&["five"]);
    place.wait_lines("out", &["one", "two", "three", "four", "five"]);
    place.wait_state("heartbeats", "PAUSED", "PAUSED");
    place.put("lines-out", &place.sink("out2"));
    // The task that has the new file makes it.
    eventually(PATIENCE, "out2 is there", || fs::exists(place.path("out2")).ok()?.then_some(()));
    place.append(&["six"]);
    place.wait_lines("out2", &["six"]);
    assert_eq!(place.site.request("PUT", "/connectors/lines-in/pause", None).status, 202);
    place.wait_state("lines-in", "PAUSED", "PAUSED");
    let level = Some(r#"{"level":"DEBUG"}"#);
    let answer = place.site.request("PUT", "/admin/loggers/kafka?scope=cluster", level);
    assert_eq!(answer.status, 204, "{}", answer.body);
    while_we_live(&mut place);
    assert!(place.site.stop().success());

    place.append(&["seven"]);
    place.run(ROLLBACK).expect(0);
    assert_eq!(place.own_records(), Vec::<String>::new());
    place.run(ROLLBACK).expect(0);
    assert_eq!(place.run(&format!("{PLAN} --json")).expect(1).json()["taken_over"], json!(false));

    // Kafka Connect goes on where we stopped.
    place.site.start_java();
    place.wait_state("lines-in", "PAUSED", "PAUSED");
    place.wait_state("lines-out", "RUNNING", "RUNNING");
    place.wait_state("heartbeats", "RUNNING", "RUNNING");
    assert_eq!(place.site.request("PUT", "/connectors/lines-in/resume", None).status, 202);
    place.wait_lines("out2", &["six", "seven"]);
    place.wait_lines("out", &["one", "two", "three", "four", "five"]);
    let lines = kafka::read(&kafka::bootstrap(), &place.topic());
    let lines: Vec<&str> = lines.iter().map(kafka::Read::text).collect();
    assert_eq!(lines, ["one", "two", "three", "four", "five", "six", "seven"]);
    // What Kafka Connect says of records that are not its own, and nothing worse.
    let log = place.site.logs();
    let errors: Vec<&str> = log.lines().filter(|line| line.contains(" ERROR ")).collect();
    let known =
        |line: &&&str| line.contains("invalid key: copycat-") || line.contains("unexpectedly null");
    assert_eq!(errors.iter().filter(|line| !known(line)).count(), 0, "{log}");
    manual_is_typed(&place);
}

/// What is said, and refused, while a worker of Kafka Connect is alive.
fn while_java_lives(place: &mut Place) {
    let url = format!("http://{}/", place.site.address());
    let plan = eventually(PATIENCE, "offsets are stored and committed", || {
        let plan = place.run(&format!("{PLAN} --json")).expect(1).json();
        let at = |name: &str| connector(&plan, name)["starts"][0]["offset"].clone();
        let there = at("lines-in")["position"] == 14 && at("lines-out")["kafka_offset"] == 3;
        there.then_some(plan)
    });
    assert_eq!(plan["workers"]["kind"], "kafka-connect");
    assert_eq!(plan["workers"]["members"][0]["url"], json!(url));
    assert!(
        plan["topics"].as_array().expect("a list").iter().all(|topic| topic["fit"] == true),
        "{plan}"
    );
    assert_eq!(plan["cannot_run"], json!(["heartbeats"]));
    assert_eq!(connector(&plan, "heartbeats")["refused"][0]["key"], "connector.class");
    assert_eq!(connector(&plan, "lines-out")["starts"][0]["lag"], 0);
    assert_eq!(connector(&plan, "lines-out")["can_run"], true);
    assert!(place.run(PLAN).expect(1).out.contains("2 of 3 connectors can run here"));
    for line in [START_WITHOUT, WORKER, ROLLBACK] {
        let refused = place.run(line).expect(2);
        let told = refused.err.contains("workers of Kafka Connect are alive")
            && refused.err.contains(&url);
        assert!(told, "{}", refused.err);
    }
}

/// What is said, and refused, while a worker of ours is alive.
fn while_we_live(place: &mut Place) {
    let status = eventually(PATIENCE, "the offsets of now are stored", || {
        let status = place.run(&format!("{STATUS} --json")).expect(1).json();
        let at = |name: &str| connector(&status, name)["offsets"][0]["now"].clone();
        let there = at("lines-in")["position"] == 28 && at("lines-out")["kafka_offset"] == 6;
        there.then_some(status)
    });
    assert_eq!(status["workers"]["kind"], "copycat");
    let was = |name: &str| connector(&status, name)["offsets"][0]["at_take_over"].clone();
    assert_eq!(was("lines-in"), json!({ "position": 14 }));
    assert_eq!(was("lines-out"), json!({ "kafka_offset": 3 }), "{status}");
    let left =
        |name: &str| connector(&status, name)["left_to_do"].as_array().expect("a list").len();
    assert_eq!([left("lines-in"), left("lines-out"), left("heartbeats")], [0, 0, 1], "{status}");
    assert!(place.run(STATUS).expect(1).out.contains("it was left out"));
    let refused = place.run(ROLLBACK).expect(2);
    assert!(refused.err.contains(place.site.address()), "{}", refused.err);
}

/// Every command of the manual was run.
fn manual_is_typed(place: &Place) {
    let manual = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/takeover.md");
    let manual = fs::read_to_string(manual).expect("the manual is there");
    let lines: Vec<&str> =
        manual.lines().filter_map(|line| line.strip_prefix("    copycat ")).collect();
    assert!(lines.len() > 4, "{lines:?}");
    for line in lines {
        assert!(place.typed.contains(&format!("copycat {line}")), "{line}");
    }
}

/// The positions of a sink in a database, there and back and there again: with a rollback, and without.
#[test]
fn positions_in_a_database_follow_the_group_at_every_take_over() {
    let route = Route::new("handed", 1);
    let mut place = Place::new();
    let properties = route.properties(&[
        ("value.converter", "org.apache.kafka.connect.json.JsonConverter"),
        ("consumer.override.session.timeout.ms", "6000"),
    ]);
    let config: serde_json::Map<String, Value> =
        properties.iter().map(|(k, v)| ((*k).to_owned(), json!(v))).collect();
    let at = |offset: i64| {
        let offsets = kafka::group_offsets(&route.bootstrap, &route.group(), &route.topic);
        assert_eq!(offsets, [(0, offset)].into());
    };
    let others_move_to = |offset: i64| {
        kafka::commit_group_offsets(&route.bootstrap, &route.group(), &route.topic, &[(0, offset)]);
    };
    place.site.start(BINARY);
    let mut away = config.clone();
    away.insert("connection.url".to_owned(), json!("postgres://127.0.0.1:1/nothing"));
    place.put("away", &Value::Object(away));
    place.put(route.name(), &Value::Object(config));
    route.produce(0, 5);
    route.wait_for_all(5);
    place.site.stop();
    // Whatever was done before it stopped is done again.
    let stopped = place.run(ROLLBACK).expect(3);
    assert!(
        stopped.err.contains("sink away") && stopped.err.contains("--without away"),
        "{}",
        stopped.err
    );
    assert_ne!(place.own_records(), Vec::<String>::new());
    place.run(&format!("{ROLLBACK} --without away")).expect(0);
    assert_eq!(place.own_records(), Vec::<String>::new());
    at(5);
    let kept = "SELECT count(*) FROM copycat_offsets WHERE next_offset IS NOT NULL";
    assert_eq!(route.database.query(kept), [[Some("0".to_owned())]]);

    // Somebody else stores three records, and the cluster is taken over again.
    route.produce(5, 3);
    others_move_to(8);
    assert!(place.run(START).expect(3).err.contains("connector away"));
    let start = format!("{START} --without away");
    place.run(&start).expect(0);
    place.site.start(BINARY);
    route.produce(8, 2);
    route.wait_for_all(7);
    place.site.stop();

    // The same once more, but nobody has rolled back.
    route.produce(10, 4);
    others_move_to(13);
    let told = place.run(START).expect(0).out;
    assert!(told.contains("goes on where its group is"), "{told}");
    place.site.start(BINARY);
    route.wait_for_all(8);
    let numbers = route.database.query("SELECT string_agg(n::text, ' ' ORDER BY n) FROM rows");
    assert_eq!(numbers, [[Some("0 1 2 3 4 8 9 13".to_owned())]]);
}
