//! The commands that talk to a worker, against a real one: what they print, where, and how they end.

use super::harness::{BINARY, PATIENCE, worker};
use serde_json::{Value, json};
use std::{
    fs,
    io::Write as _,
    path::PathBuf,
    process::{Command, Stdio},
};
use tempfile::TempDir;
use testkit::{
    eventually,
    kafka::{self, topic_name},
    process::Worker,
};

/// What a command printed, and how it ended.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Told {
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Told {
        assert_eq!(self.code, code, "{}\n{}", self.out, self.err);
        self
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).expect("JSON")
    }
}

/// A terminal whose user has an empty home.
pub(crate) struct Terminal {
    pub(crate) home: TempDir,
    url: String,
}

impl Terminal {
    pub(crate) fn at(address: &str) -> Terminal {
        let home = tempfile::tempdir().expect("a folder");
        Terminal { home, url: format!("http://{address}") }
    }

    pub(crate) fn file(&self, name: &str, text: &str) -> String {
        let path = self.home.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("it is made");
        fs::write(&path, text).expect("it is written");
        path.display().to_string()
    }

    pub(crate) fn run(&self, line: &str) -> Told {
        self.with(&line.split(' ').collect::<Vec<_>>(), &[("COPYCAT_URL", &self.url)], "")
    }

    pub(crate) fn with(&self, words: &[&str], env: &[(&str, &str)], input: &str) -> Told {
        let mut command = Command::new(BINARY);
        command.args(words).env("HOME", self.home.path()).env_remove("XDG_CONFIG_HOME");
        command.envs(env.iter().copied());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary runs");
        // Commands that read nothing may have closed it.
        let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
        let output = child.wait_with_output().expect("it ends");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
        Told {
            code: output.status.code().expect("no signal"),
            out: text(output.stdout),
            err: text(output.stderr),
        }
    }
}

/// A worker without connectors, and a terminal that knows it.
fn both() -> (Worker, Terminal) {
    let worker = worker(&kafka::bootstrap()).start();
    let terminal = Terminal::at(worker.address());
    (worker, terminal)
}

/// A source connector that reads a file of its own.
fn source(terminal: &Terminal, name: &str) -> String {
    let lines = terminal.file(&format!("{name}.txt"), "one\ntwo\n");
    let topic = topic_name("cli");
    kafka::create_topic(&kafka::bootstrap(), &topic, 1);
    format!("name={name}\nconnector.class=FileStreamSource\nfile={lines}\ntopic={topic}\n")
}

fn wait_for(terminal: &Terminal, line: &str, part: &str) {
    eventually(PATIENCE, part, || terminal.run(line).out.contains(part).then_some(()));
}

#[test]
fn contexts_are_kept_and_their_secrets_are_not_shown() {
    let (worker, terminal) = both();
    let url = format!("http://{}", worker.address());
    let run = |line: &str| terminal.with(&line.split(' ').collect::<Vec<_>>(), &[], "");
    // A file of kcctl's is taken as it is, until there is one of our own.
    let kcctl =
        json!({ "currentContext": "old", "old": { "cluster": url, "password": "hunter2" } });
    terminal.file(".kcctl", &kcctl.to_string());
    assert!(run("info").expect(0).out.contains(&url));
    let set = format!("config set-context new --cluster {url} --username ann --password hunter2");
    assert!(run(&set).expect(0).err.contains("use-context new"));
    run("config use-context new").expect(0);
    let all = run("config get-contexts").expect(0).out;
    assert!(all.contains("old") && all.contains("*        new"), "{all}");
    let current = run("config current-context").expect(0).out;
    assert!(current.contains("ann") && current.contains("[hidden]"), "{current}");
    for line in ["config get-contexts -o json", "config current-context -o yaml"] {
        assert!(!run(line).expect(0).out.contains("hunter2"), "{line}");
    }
    let file = terminal.home.path().join(".config/copycat/contexts.json");
    assert!(fs::read_to_string(file).expect("the file").contains("hunter2"));
    assert_eq!(run("config remove-context new").expect(2).out, "");
    run("config remove-context old").expect(0);
    let unknown = run("info --context nwe").expect(2);
    assert!(unknown.err.contains("did you mean new?"), "{}", unknown.err);
    // The context's login goes out, and a worker without users does not mind.
    assert_eq!(run("get connectors -o json").expect(0).json(), json!({}));
    let nobody = run("info --url http://127.0.0.1:1").expect(3);
    assert!(nobody.err.contains("hint: is the worker running there?"), "{}", nobody.err);
    assert_eq!(nobody.out, "");
}

#[test]
fn what_files_say_is_applied_planned_and_left_alone_the_second_time() {
    let (_worker, terminal) = both();
    let a = terminal.file("all/a.properties", &source(&terminal, "a"));
    let strimzi = "apiVersion: kafka.strimzi.io/v1\nkind: KafkaConnector\nmetadata: {name: b}\nspec:\n  \
                   class: postgres-sink\n  tasksMax: 1\n  state: stopped\n  config:\n    topics: t\n    \
                   connection.url: jdbc:postgresql://localhost:1/d\n    connection.password: hunter2\n";
    terminal.file("all/b.yaml", strimzi);
    let folder = terminal.home.path().join("all").display().to_string();
    let plan = terminal.run(&format!("plan -f {folder}")).expect(4);
    assert!(plan.out.contains("a will be created\n"), "{}", plan.out);
    assert!(plan.out.contains("  + connection.password = [hidden]\n"), "{}", plan.out);
    assert!(plan.out.ends_with("2 to create, 0 to change, 0 as they are\n"), "{}", plan.out);
    assert_eq!(terminal.run("get connectors -o name").expect(0).out, "");
    let applied = terminal.run(&format!("apply -f {folder}")).expect(0);
    assert_eq!(applied.out, "Created connector a\nCreated connector b\n");
    assert!(terminal.run("get connectors b").expect(0).out.contains("STOPPED"));
    terminal.run(&format!("plan -f {folder}")).expect(0);
    let again = terminal.run(&format!("apply -f {folder}")).expect(0);
    assert_eq!(again.out, "Unchanged connector a\nUnchanged connector b\n");

    // The same over standard input, with another state and another secret.
    let other = strimzi.replace("stopped", "paused").replace("hunter2", "hunter3");
    let url = [("COPYCAT_URL", terminal.url.as_str())];
    let plan = terminal.with(&["plan", "-f", "-", "-o", "json"], &url, &other).expect(4);
    let plan = plan.json();
    assert_eq!(plan[0]["changes"][0]["key"], "connection.password");
    assert_eq!(plan[0]["changes"][0]["after"], "[hidden]");
    assert_eq!(plan[0]["state"], json!({ "before": "STOPPED", "after": "PAUSED" }));
    let applied = terminal.with(&["apply", "-f", "-"], &url, &other).expect(0);
    assert_eq!(applied.out, "Updated connector b\n");
    wait_for(&terminal, "get connectors b", "PAUSED");
    // What the worker tells of its connectors can be applied again.
    let kept = terminal.run("get connectors -o yaml").expect(0).out;
    let restored = terminal.with(&["apply", "-f", "-", "-o", "name"], &url, &kept).expect(0);
    assert_eq!(restored.out, "a\nb\n");

    // One wrong file, and nothing is done.
    let wrong = terminal.file("wrong.json", "{");
    let refused = terminal.run(&format!("apply -f {a} {wrong}")).expect(2);
    assert!(refused.err.contains("wrong.json"), "{}", refused.err);
    let nameless = terminal.file("n.json", r#"{"connector.class": "FileStreamSink"}"#);
    let refused = terminal.run(&format!("apply -f {nameless}")).expect(2);
    assert!(refused.err.contains("hint: add name=…, or use --name"), "{}", refused.err);
    // The worker's own refusal, with its words.
    let refused = terminal.run(&format!("apply -f {nameless} -n c")).expect(2);
    assert!(refused.err.contains("contains the following"), "{}", refused.err);
}

#[test]
fn connectors_are_shown_in_every_form_with_their_secrets_hidden() {
    let (worker, terminal) = both();
    let file = terminal.file("a.properties", &source(&terminal, "shown-a"));
    terminal.run(&format!("apply -f {file} -q")).expect(0);
    let secret = json!({ "name": "shown-b", "initial_state": "STOPPED", "config": {
        "connector.class": "postgres-sink", "topics": "t", "connection.password": "hunter2",
        "connection.url": "jdbc:postgresql://localhost:1/d?user=u&password=hunter2" } });
    let file = terminal.file("b.json", &secret.to_string());
    assert_eq!(terminal.run(&format!("apply -f {file} -q")).expect(0).out, "");
    wait_for(&terminal, "get connectors", "0: RUNNING");
    let table = terminal.run("get connectors").expect(0).out;
    let lines: Vec<Vec<&str>> =
        table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["NAME", "TYPE", "STATE", "TASKS"]);
    assert_eq!(lines[1], ["shown-b", "sink", "STOPPED"]);
    assert_eq!(lines[2], ["shown-a", "source", "RUNNING", "0:", "RUNNING"]);
    let raw = worker.get("/connectors?expand=status&expand=info").body;
    let raw: Value = serde_json::from_str(&raw).expect("JSON");
    let told = terminal.run("get connectors --json").expect(0).json();
    assert_eq!(told["shown-b"]["info"], raw["shown-b"]["info"]);
    assert_eq!(terminal.run("get connectors -o name").expect(0).out, "shown-b\nshown-a\n");
    assert_eq!(terminal.run("get tasks -o name").expect(0).out, "shown-a/0\n");
    let page = terminal.run("describe connector shown-b").expect(0).out;
    assert!(page.contains("[hidden]") && !page.contains("hunter2"), "{page}");
    let page = terminal.run("describe connector -e shown-. --tasks-config").expect(0).out;
    assert!(page.contains("Name:          shown-a") && page.contains("Config:"), "{page}");
    assert!(!page.contains("hunter2"), "{page}");
    let page = terminal.run("describe task shown-a/0").expect(0).out;
    assert!(page.contains("RUNNING") && page.contains("FileStreamSource"), "{page}");
    let missing = terminal.run("describe connector shown-bb").expect(2);
    assert!(missing.err.contains("hint: did you mean shown-b?"), "{}", missing.err);
    let plugins = terminal.run("get plugins -t source").expect(0).out;
    assert!(
        plugins.contains("FileStreamSourceConnector") && !plugins.contains("Sink"),
        "{plugins}"
    );
    let keys = terminal.run("describe plugin FileStreamSource --search-name ^file$").expect(0).out;
    assert!(keys.contains("Name:          file\n") && !keys.contains("topic\n"), "{keys}");
    let info = terminal.run("info").expect(0).out;
    assert!(info.contains("Health:            healthy"), "{info}");
    assert!(!info.contains('\x1b'), "colours are for terminals");
}

#[test]
fn connectors_are_paused_stopped_restarted_patched_and_deleted() {
    let (_worker, terminal) = both();
    let file = terminal.file("c.properties", &source(&terminal, "c"));
    terminal.run(&format!("apply -f {file}")).expect(0);
    wait_for(&terminal, "get connectors", "0: RUNNING");
    assert_eq!(terminal.run("pause connector c").expect(0).out, "Paused connector c\n");
    wait_for(&terminal, "get tasks c", "PAUSED");
    assert_eq!(terminal.run("resume connector c -o name").expect(0).out, "c\n");
    wait_for(&terminal, "get tasks c", "RUNNING");
    let whole = "Restarted connector c and 1 task(s)\n";
    assert_eq!(terminal.run("restart connector c --include-tasks").expect(0).out, whole);
    wait_for(&terminal, "get tasks c", "RUNNING");
    let nothing = "Nothing of connector c has failed\n";
    assert_eq!(terminal.run("restart connector c --failed").expect(0).out, nothing);
    assert_eq!(terminal.run("restart connector c").expect(0).out, "Restarted connector c\n");
    assert_eq!(terminal.run("restart task c/0").expect(0).out, "Restarted task c/0\n");
    terminal.run("restart task c/7").expect(2);
    terminal.run("restart task c").expect(2);

    let patched = terminal.run("patch connector c -s batch.size=7 -r nothing").expect(0).out;
    assert_eq!(patched, "Updated connector c\n  + batch.size = 7\n");
    let refused = terminal.run("patch connector c -s batch.size=x").expect(2);
    assert!(refused.err.contains("batch.size"), "{}", refused.err);

    // Where it has read to, moved while it is stopped.
    wait_for(&terminal, "get offsets c", "position");
    let refused = terminal.run("delete offsets c").expect(2);
    assert!(refused.err.contains("hint: "), "{}", refused.err);
    assert_eq!(terminal.run("stop connector c").expect(0).out, "Stopped connector c\n");
    let offsets = terminal.run("get offsets c -o json").expect(0);
    let partition = offsets.json()["offsets"][0]["partition"].to_string();
    let patch = ["patch", "offsets", "c", "--source-partition", &partition, "--source-offset"];
    let words = [&patch[..], &[r#"{"position":4}"#]].concat();
    let url = [("COPYCAT_URL", terminal.url.as_str())];
    assert!(terminal.with(&words, &url, "").expect(0).out.contains("altered successfully"));
    assert!(terminal.run("get offsets c").expect(0).out.contains(r#"{"position":4}"#));
    terminal.with(&["patch", "offsets", "c", "-f", "-"], &url, &offsets.out).expect(0);
    assert!(terminal.run("delete offsets c").expect(0).out.contains("reset successfully"));
    assert_eq!(terminal.run("get offsets c -o json").expect(0).json()["offsets"], json!([]));

    assert_eq!(terminal.run("delete connector -e c.*").expect(0).out, "Deleted connector c\n");
    terminal.run(&format!("apply -f {file} -q")).expect(0);
    wait_for(&terminal, "get offsets c", "position");
    let deleted = terminal.run("delete connector c --offsets").expect(0).out;
    assert_eq!(deleted, "Deleted connector c and its offsets\n");
    let gone = terminal.run("stop connector c").expect(2);
    assert!(gone.err.contains("hint: this worker has no connectors"), "{}", gone.err);
}

#[test]
fn loggers_are_shown_and_set() {
    let (_worker, terminal) = both();
    let all = terminal.run("get loggers").expect(0).out;
    let mut names = all.lines().skip(1).filter_map(|line| line.split_whitespace().next());
    let name = names.find(|name| *name != "root").expect("a logger").to_owned();
    let set = terminal.run(&format!("patch logger {name} -l TRACE")).expect(0).out;
    assert!(set.contains(&name), "{set}");
    assert!(terminal.run(&format!("get logger {name}")).expect(0).out.contains("TRACE"));
    let cluster = terminal.run(&format!("patch logger {name} -l INFO -s cluster")).expect(0).out;
    assert!(cluster.contains("whole cluster"), "{cluster}");
    let refused = terminal.run("patch logger root -l LOUD").expect(2);
    assert!(refused.err.contains("hint: there are OFF"), "{}", refused.err);
    let unknown = terminal.run(&format!("get logger {name}x")).expect(2);
    assert!(unknown.err.contains(&format!("did you mean {name}?")), "{}", unknown.err);
}

#[test]
fn configurations_are_checked_by_the_worker() {
    let (_worker, terminal) = both();
    let good = terminal.file("good.properties", &source(&terminal, "good"));
    assert_eq!(terminal.run(&format!("validate -f {good}")).expect(0).out, "good: ok\n");
    let bad = source(&terminal, "bad").replace("file=", "tasks.max=x\nfiel=");
    let bad = terminal.file("bad.properties", &bad);
    let told = terminal.run(&format!("validate -f {bad}")).expect(2).out;
    assert!(told.contains("  tasks.max\n    Invalid value x"), "{told}");
    assert!(told.contains("fiel") && told.contains("did you mean file"), "{told}");
    let json = terminal.run(&format!("apply -f {good} {bad} --dry-run -o json")).expect(2).json();
    assert_eq!((&json[0]["valid"], &json[1]["valid"]), (&json!(true), &json!(false)));
    let classless = terminal.file("classless.json", r#"{"name": "x"}"#);
    let told = terminal.run(&format!("validate -f {classless}")).expect(2).out;
    assert!(told.contains("connector.class"), "{told}");
    let unknown = terminal.file("unknown.json", r#"{"name": "x", "connector.class": "Nope"}"#);
    let told = terminal.run(&format!("validate -f {unknown}")).expect(2).out;
    assert!(told.contains("Nope"), "{told}");
    assert_eq!(terminal.run("get connectors -o name").expect(0).out, "", "nothing was made");
}

#[test]
fn the_doctor_finds_what_is_not_there() {
    let (_worker, terminal) = both();
    let file = terminal.file("well.properties", &source(&terminal, "well"));
    terminal.run(&format!("apply -f {file}")).expect(0);
    wait_for(&terminal, "get tasks", "RUNNING");
    let well = eventually(PATIENCE, "all is well", || {
        let told = terminal.run("doctor");
        (told.code == 0).then_some(told.out)
    });
    assert!(well.contains("worker\n  ok answers: http://"), "{well}");
    assert!(well.contains("kafka\n  ok reachable: cluster "), "{well}");
    assert!(well.contains("connector well\n  ok state: RUNNING"), "{well}");
    let ill = json!({ "name": "ill", "initial_state": "STOPPED", "config": {
        "connector.class": "postgres-sink", "topics": topic_name("cli-ill"),
        "connection.url": "jdbc:postgresql://127.0.0.1:1/d", "connection.user": "u",
        "connection.password": "hunter2" } });
    let file = terminal.file("ill.json", &ill.to_string());
    terminal.run(&format!("apply -f {file}")).expect(0);
    let told = terminal.run("doctor").expect(3).out;
    assert!(told.contains("connector ill") && told.contains("failed"), "{told}");
    assert!(!told.contains("hunter2"), "{told}");
    assert_eq!(terminal.run("doctor -o name").expect(3).out, "connector ill\n");
    terminal.run("doctor --no-connect").expect(0);
    let checked = terminal.run(&format!("validate --connect -f {file}")).expect(2).out;
    assert!(checked.contains("failed") && !checked.contains("hunter2"), "{checked}");
}

#[test]
fn top_shows_what_connectors_do() {
    let (_worker, terminal) = both();
    let file = terminal.file("t.properties", &source(&terminal, "t"));
    terminal.run(&format!("apply -f {file}")).expect(0);
    wait_for(&terminal, "get tasks", "RUNNING");
    let stored = eventually(PATIENCE, "two lines are stored", || {
        let told = terminal.run("top --once -i 0.1 -o json").expect(0).json();
        let row = told["rows"][0].clone();
        (row["stored"] == json!(2.0)).then_some(row)
    });
    assert_eq!((&stored["name"], &stored["state"]), (&json!("t"), &json!("RUNNING")));
    let text = terminal.run("top -n 2 -i 0.1 --tasks t").expect(0).out;
    assert_eq!(text.matches("t/0").count(), 2, "{text}");
    assert!(!text.contains('\x1b'), "{text}");
    assert_eq!(terminal.run("top --once -i 0.1 -o name other").expect(0).out, "");
}

#[test]
fn shells_complete_commands_and_names() {
    let (_worker, terminal) = both();
    let file = terminal.file("d.properties", &source(&terminal, "done-soon"));
    terminal.run(&format!("apply -f {file}")).expect(0);
    for shell in ["bash", "zsh", "fish"] {
        let script = terminal.run(&format!("completion {shell}")).expect(0).out;
        assert!(script.contains("COPYCAT_COMPLETE"), "{script}");
    }
    let complete = |words: &[&str]| {
        let index = (words.len() - 1).to_string();
        let env = [
            ("COPYCAT_URL", terminal.url.as_str()),
            ("COPYCAT_COMPLETE", "bash"),
            ("_CLAP_COMPLETE_INDEX", &index),
            ("_CLAP_IFS", "\n"),
        ];
        terminal.with(&[&["--"], words].concat(), &env, "").expect(0).out
    };
    assert!(complete(&["copycat", "res"]).contains("restart"));
    let names = complete(&["copycat", "pause", "connector", ""]);
    assert!(names.lines().any(|name| name == "done-soon"), "{names}");
    let names = complete(&["copycat", "restart", "task", "done"]);
    assert!(names.lines().any(|name| name == "done-soon/0"), "{names}");
}

#[test]
fn manual_pages_are_written() {
    let terminal = Terminal::at("127.0.0.1:1");
    let page = terminal.run("man").expect(0).out;
    assert!(page.starts_with(".ie") || page.contains(".TH copycat 1"), "{page}");
    let folder: PathBuf = terminal.home.path().join("man");
    terminal.run(&format!("man --dir {}", folder.display())).expect(0);
    for name in ["copycat.1", "copycat-get-connectors.1", "copycat-standalone.1"] {
        assert!(folder.join(name).is_file(), "{name}");
    }
}

#[test]
fn each_option_can_be_set_by_a_variable() {
    let (_worker, terminal) = both();
    let file = terminal.file("e.properties", &source(&terminal, "e"));
    let env = [("COPYCAT_URL", terminal.url.as_str()), ("COPYCAT_APPLY_FILE", file.as_str())];
    assert_eq!(terminal.with(&["apply"], &env, "").expect(0).out, "Created connector e\n");
    let env = [("COPYCAT_URL", terminal.url.as_str()), ("COPYCAT_OUTPUT", "name")];
    assert_eq!(terminal.with(&["get", "connectors"], &env, "").expect(0).out, "e\n");
    let help = terminal.run("apply --help").expect(0).out;
    assert!(help.contains("[env: COPYCAT_APPLY_FILE]"), "{help}");
    assert!(!help.contains(&terminal.url), "values of variables are not shown: {help}");
}
