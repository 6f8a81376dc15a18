//! `copycat transform`: chains tested on sample records, without Kafka and with.

use crate::harness::BINARY;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use testkit::kafka::{self, Record};

const CHAIN: &str = "\
name=orders-sink
connector.class=postgres-sink
topics=orders
transforms=wrap,drop
transforms.wrap.type=org.apache.kafka.connect.transforms.HoistField$Value
transforms.wrap.field=line
transforms.drop.type=Filter
";

struct Run {
    code: i32,
    out: String,
    err: String,
}

fn copycat(folder: &Path, input: &str, args: &[&str]) -> Run {
    use std::io::Write;
    let mut child = Command::new(BINARY)
        .current_dir(folder)
        .args(["transform"])
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    // One that refuses its arguments reads nothing.
    let _written = child.stdin.take().expect("piped").write_all(input.as_bytes());
    let output = child.wait_with_output().expect("the binary ends");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    Run {
        code: output.status.code().expect("an exit code"),
        out: text(output.stdout),
        err: text(output.stderr),
    }
}

fn folder(files: &[(&str, &str)]) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        std::fs::write(dir.path().join(name), text).expect("a file");
    }
    let path = dir.path().to_owned();
    (dir, path)
}

/// A chain that hoists alone.
fn hoist() -> String {
    CHAIN.replace("wrap,drop", "wrap").replace("transforms.drop.type=Filter\n", "")
}

#[test]
fn every_step_shows_what_it_changed() {
    let (_dir, path) = folder(&[("c.properties", CHAIN)]);
    let run = copycat(&path, r#"{"key": "k", "value": {"id": 1}}"#, &["test", "c.properties"]);
    assert_eq!((run.code, &*run.err), (0, ""), "{}", run.out);
    assert_eq!(
        run.out,
        "record 1  orders-0 offset 0
    topic     orders
    key       \"k\"
    value.id  1
  1 wrap  HoistField$Value
  + value.line     map
  + value.line.id  1  int64
  - value.id       1  int64
  2 drop  Filter
  = dropped by drop

1 record: 0 kept, 1 dropped, 0 failed
"
    );
}

#[test]
fn a_misspelt_key_is_named_beside_the_one_that_is_missed() {
    let misspelt = CHAIN.replace("transforms.wrap.field", "transforms.wrap.fild");
    let (_dir, path) = folder(&[("c.properties", &misspelt)]);
    let run = copycat(&path, r#"{"value": 1}"#, &["test", "c.properties"]);
    assert_eq!(run.code, 2, "{}", run.out);
    let hint = "transforms.wrap.fild is not a key, did you mean transforms.wrap.field?";
    assert!(run.err.contains(hint), "{}", run.err);
}

#[test]
fn every_form_of_a_configuration_gives_the_same() {
    let flat = r#"{"transforms": "w", "transforms.w.type": "HoistField$Value",
                   "transforms.w.field": "line"}"#;
    let nested = format!(r#"{{"name": "c", "config": {flat}}}"#);
    let yaml = "transforms: w\ntransforms.w.type: HoistField$Value\ntransforms.w.field: line\n";
    let properties = "transforms=w\ntransforms.w.type=HoistField$Value\ntransforms.w.field=line\n";
    let (_dir, path) = folder(&[
        ("a.json", flat),
        ("b.json", &nested),
        ("c.yaml", yaml),
        ("d.properties", properties),
        (
            "r.jsonl",
            "{\"value\": 1}\n{\"value\": {\"schema\": {\"type\": \"int8\"}, \"payload\": 2}}\n",
        ),
    ]);
    let outputs = ["a.json", "b.json", "c.yaml", "d.properties"].map(|file| {
        let run = copycat(&path, "", &["test", file, "r.jsonl", "--json"]);
        assert_eq!(run.code, 0, "{}", run.err);
        run.out
    });
    assert!(outputs.iter().all(|output| *output == outputs[0]), "{outputs:?}");
    let last: serde_json::Value =
        serde_json::from_str(outputs[0].lines().last().expect("two lines")).expect("JSON");
    let schema = &last["output"]["value"]["schema"]["fields"][0];
    assert_eq!((&schema["field"], &schema["type"]), (&"line".into(), &"int8".into()));
    assert_eq!(last["steps"][0]["changes"][0]["before"]["text"], "2");
}

#[test]
fn expected_output_is_written_and_compared() {
    let records = "{\"value\":{\"a\":1.50}}\n{\"value\":{\"schema\":{\"type\":\"int32\"},\"payload\":\"x\"}}\n";
    let (_dir, path) = folder(&[("c.properties", &hoist()), ("r.jsonl", records)]);
    let test = ["test", "c.properties", "r.jsonl", "--expect", "e.jsonl"];
    let missing = copycat(&path, "", &test);
    assert_eq!(missing.code, 2);
    assert!(missing.err.contains("e.jsonl") && missing.err.contains("--update"), "{}", missing.err);
    let written = copycat(&path, "", &[&test[..], &["--update"]].concat());
    assert_eq!((written.code, &*written.out), (0, "e.jsonl: 2 records written\n"));
    let equal = copycat(&path, "", &test);
    assert_eq!((equal.code, &*equal.out), (0, "2 records: 0 other than in e.jsonl\n"));

    let expected = std::fs::read_to_string(path.join("e.jsonl")).expect("it was written");
    let other = expected.replace("\"a\":1.5", "\"a\":1.25").replace("VALUE_CONVERTER", "TASK_PUT");
    std::fs::write(path.join("e.jsonl"), other + "{}\n").expect("a file");
    let different = copycat(&path, "", &test);
    assert_eq!(different.code, 1);
    for part in [
        "value.line.a  1.25 → 1.5",
        "failed.stage  \"TASK_PUT\" → \"VALUE_CONVERTER\"",
        "2 records: 2 other than in e.jsonl; 1 record expected beyond the last",
    ] {
        assert!(different.out.contains(part), "{part}: {}", different.out);
    }
    std::fs::write(path.join("e.jsonl"), "{\"value\":{\"line\":{\"a\":1.50}}}\n").expect("a file");
    let short = copycat(&path, "", &test);
    assert_eq!(short.code, 1, "a record that nobody expected: {}", short.out);
    std::fs::write(path.join("e.jsonl"), "{\"value\":{\"line\":{\"a\":1.5}}}{\"failed\":{}}")
        .expect("");
    assert_eq!(copycat(&path, "", &test).code, 0, "what is left out is not compared");
}

#[test]
fn a_failed_record_names_stage_and_class_and_not_its_content() {
    let (_dir, path) = folder(&[("c.properties", &hoist())]);
    let records = r#"{"value": {"schema": {"type": "int32"}, "payload": "hush"}} {"value": 1}"#;
    let run = copycat(&path, records, &["test", "c.properties"]);
    assert_eq!(run.code, 1, "{}", run.out);
    for part in [
        "failed at VALUE_CONVERTER in org.apache.kafka.connect.json.JsonConverter",
        "org.apache.kafka.connect.errors.DataException: ",
        "2 records: 1 kept, 0 dropped, 1 failed",
    ] {
        assert!(run.out.contains(part), "{part}: {}", run.out);
    }
    assert!(!run.out.contains("hush"), "{}", run.out);
}

#[test]
fn bytes_go_through_the_configured_converters() {
    const STRING: &str = "org.apache.kafka.connect.storage.StringConverter";
    let worker = format!("key.converter={STRING}\nvalue.converter={STRING}\n");
    let (_dir, path) = folder(&[("c.properties", &hoist()), ("w.properties", &worker)]);
    let records = r#"{"keyText": "k", "valueBase64": "eA=="}"#;
    let run = copycat(&path, records, &["test", "c.properties", "--worker", "w.properties"]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.out.contains("value.line  \"x\"  string?"), "{}", run.out);
    let without = copycat(&path, records, &["test", "c.properties"]);
    assert_eq!(without.code, 2);
    assert!(without.err.contains("there is no key.converter"), "{}", without.err);
}

#[test]
fn what_is_wrong_ends_with_2_and_the_way_out() {
    let broken = CHAIN.replace("HoistField$Value", "HoistField");
    let (_dir, path) = folder(&[("c.properties", CHAIN), ("b.properties", &broken)]);
    for (args, input, part) in [
        (&["test", "b.properties"][..], "{}", "Did you mean org.apache.kafka.connect.transforms"),
        (&["test", "no.properties"], "{}", "no.properties"),
        (&["test", "c.properties", "no.jsonl"], "", "no.jsonl"),
        (&["test", "c.properties"], "", "there are no records"),
        (&["test", "c.properties"], "{\"vale\": 1}", "line 1: unknown field `vale`"),
        (&["test", "c.properties", "--update"], "{}", "--expect"),
        (&["test", "c.properties", "--topic", "t"], "", "--bootstrap-servers"),
        (&["describe", "HoistFeld"], "", "did you mean HoistField?"),
    ] {
        let run = copycat(&path, input, args);
        assert_eq!(run.code, 2, "{args:?}: {}", run.out);
        assert!(run.err.contains(part), "{args:?}: {}", run.err);
    }
}

#[test]
fn classes_are_listed_and_described() {
    let (_dir, path) = folder(&[]);
    let list = copycat(&path, "", &["list"]);
    assert!(list.out.contains("transforms.HoistField$Key|$Value\n      Wraps"), "{}", list.out);
    for class in
        ["HoistField", "HoistField$Key", "org.apache.kafka.connect.transforms.HoistField$Value"]
    {
        let page = copycat(&path, "", &["describe", class]);
        assert_eq!(page.code, 0, "{}", page.err);
        assert!(
            page.out.contains("**`transforms.ALIAS.field`** (string, required)"),
            "{}",
            page.out
        );
    }
    let json = copycat(&path, "", &["list", "--json"]);
    let classes: Vec<serde_json::Value> =
        json.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert!(
        classes.iter().any(|class| class["class"] == "org.apache.kafka.connect.transforms.Filter")
    );
}

#[test]
fn records_come_from_a_topic() {
    let bootstrap = kafka::bootstrap();
    let topic = kafka::topic_name("samples");
    kafka::create_topic(&bootstrap, &topic, 2);
    let records = (0..6).map(|n| Record::value(format!("{{\"n\":{n}}}")).partition(n % 2));
    kafka::produce(&bootstrap, &topic, records);
    let config = format!(
        "{}key.converter=org.apache.kafka.connect.storage.StringConverter\n\
         value.converter=org.apache.kafka.connect.json.JsonConverter\n\
         value.converter.schemas.enable=false\n",
        hoist()
    );
    let (_dir, path) = folder(&[("c.properties", &config)]);
    let take = |from: &str, limit: &str| {
        let place = ["--bootstrap-servers", &bootstrap, "--topic", &topic];
        let range = ["--from", from, "--limit", limit, "--json"];
        let run = copycat(&path, "", &[&["test", "c.properties"], &place[..], &range].concat());
        assert_eq!(run.code, 0, "{}", run.err);
        let line = |line: &str| -> i64 {
            let value: serde_json::Value = serde_json::from_str(line).expect("JSON");
            value["output"]["value"]["line"]["n"].as_i64().expect("a number")
        };
        let mut numbers: Vec<i64> = run.out.lines().map(line).collect();
        numbers.sort_unstable();
        numbers
    };
    assert_eq!(take("earliest", "100"), [0, 1, 2, 3, 4, 5]);
    assert_eq!(take("2", "100"), [4, 5]);
    assert_eq!(take("earliest", "4").len(), 4);
    assert_eq!(take("latest", "6"), [0, 1, 2, 3, 4, 5]);
    assert_eq!(take("9", "6"), [0_i64; 0]);
    let args =
        ["test", "c.properties", "--bootstrap-servers", &bootstrap, "--topic", "no-such-topic"];
    let unknown = copycat(&path, "", &args);
    assert_eq!(unknown.code, 2, "{}", unknown.err);
}

/// The chain of the README, its sample record and what it prints.
#[test]
fn the_readme_tells_what_happens() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let readme = std::fs::read_to_string(root.join("README.md")).expect("the README");
    let section = readme.split("## Change records on the way").nth(1).expect("the section");
    let block = |language: &str| {
        let start = format!("```{language}\n");
        let rest = section.split(start.as_str()).nth(1).expect("a block of that language");
        rest.split("```").next().expect("its end").to_owned()
    };
    let command = block("sh");
    let record = command.split('\'').nth(1).expect("a record in quotes").to_owned();
    let config = command.split_whitespace().last().expect("a file").to_owned();
    let (_dir, path) = folder(&[(&config, &block("properties"))]);
    let run = copycat(&path, &record, &["test", &config]);
    assert_eq!((run.code, &*run.err), (0, ""));
    assert_eq!(run.out, block("text"));
}

/// The examples of the help text, with files of these names.
#[test]
fn the_examples_of_the_help_run() {
    let help = copycat(Path::new("."), "", &["test", "--help"]);
    assert_eq!(help.code, 0, "{}", help.err);
    let record = help.out.split("one a line:").nth(1).expect("the notation");
    let record = record.split("Every member").next().expect("a record");
    let (_dir, path) = folder(&[
        ("orders-sink.properties", &hoist()),
        ("chain.json", r#"{"transforms": "f", "transforms.f.type": "Filter"}"#),
        ("records.jsonl", record),
        ("expected.jsonl", r#"{"dropped": "f"}"#),
    ]);
    let examples =
        help.out.lines().map(str::trim).filter(|line| line.contains("copycat transform"));
    // The one with a topic needs a broker; see `records_come_from_a_topic`.
    let examples: Vec<&str> = examples
        .filter(|line| line.starts_with("copycat") || line.starts_with("echo"))
        .filter(|line| !line.contains("--topic"))
        .collect();
    assert!(examples.len() >= 3, "{}", help.out);
    for example in examples {
        let (input, command) = match example.split_once(" | ") {
            Some((echo, command)) => (echo.split('\'').nth(1).expect("quotes"), command),
            None => ("", example),
        };
        let args: Vec<&str> = command.split_whitespace().skip(2).collect();
        let run = copycat(&path, input, &args);
        assert_eq!(run.code, 0, "{example}: {}{}", run.out, run.err);
    }
}
