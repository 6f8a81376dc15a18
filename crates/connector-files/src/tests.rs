//! Every form gives the same connector; what is wrong is said with the file.

use super::*;
use serde_json::json;

const PAIRS: [(&str, &str); 4] =
    [("auto.create", "true"), ("connector.class", "X"), ("name", "c"), ("tasks.max", "2")];

fn file(name: &str, text: &str) -> Result<Content, FileError> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    std::fs::write(&path, text).unwrap();
    read(&path)
}

fn one(content: Content) -> Connector {
    let [connector] = <[Connector; 1]>::try_from(content.connectors).unwrap();
    connector
}

#[test]
fn every_form_gives_the_same_connector() {
    let flat = json!({ "name": "c", "connector.class": "X", "tasks.max": 2, "auto.create": true });
    let config = json!({ "connector.class": "X", "tasks.max": "2", "auto.create": "true" });
    let nested = json!({ "name": "c", "config": config });
    let info = json!({ "name": "c", "config": config, "type": "sink", "tasks": [] });
    let expanded = json!({ "c": { "info": info, "status": { "name": "c" } } }).to_string();
    let nested = nested.to_string();
    let yaml = "name: c\nconfig:\n  connector.class: X\n  tasks.max: 2\n  auto.create: true\n";
    let properties = "name=c\nconnector.class=X\ntasks.max=2\nauto.create=true\n";
    let strimzi = "apiVersion: kafka.strimzi.io/v1beta2\nkind: KafkaConnector\nmetadata:\n  name: c\n\
                   spec:\n  class: X\n  tasksMax: 2\n  config:\n    auto.create: true\n";
    let list = format!("[{info}]");
    let forms = [
        file("a.json", &flat.to_string()),
        file("b.json", &nested),
        file("c.yaml", yaml),
        file("d.properties", properties),
        file("e.conf", &flat.to_string()),
        file("f.yml", strimzi),
        file("g.json", &expanded),
        file("h.json", &list),
        parse("-", yaml),
        parse("-", strimzi),
        parse("-", properties),
        parse("-", &format!("# a comment\n{properties}")),
        parse("-", &nested),
        parse("-", &list),
    ];
    for form in forms {
        let connector = one(form.unwrap());
        assert_eq!(connector.name.as_deref(), Some("c"));
        assert_eq!(connector.config.iter().collect::<Vec<_>>(), PAIRS, "{}", connector.source);
        assert_eq!(connector.state, None);
    }
}

#[test]
fn a_stream_of_documents_has_many_and_others_are_passed_over() {
    let text = "---\nname: a\nx: 1\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\n---\n\
                apiVersion: kafka.strimzi.io/v1\nkind: KafkaConnector\nmetadata: {name: b}\n\
                spec: {class: X, state: stopped, autoRestart: {enabled: true}}\n";
    let content = file("all.yaml", text).unwrap();
    let [a, b] = &content.connectors[..] else { panic!("{content:?}") };
    assert!(a.source.ends_with("all.yaml, document 1"), "{}", a.source);
    assert!(b.source.ends_with("all.yaml, document 3"), "{}", b.source);
    assert_eq!(b.state, Some(Wanted { state: State::Stopped, initial: false }));
    let [passed, operator] = &content.notices[..] else { panic!("{content:?}") };
    assert!(passed.contains("ConfigMap"), "{passed}");
    assert!(operator.contains("spec.autoRestart"), "{operator}");
}

#[test]
fn states_are_for_the_creation_or_for_good() {
    let initial = one(parse("-", r#"{"name":"c","config":{},"initial_state":"paused"}"#).unwrap());
    assert_eq!(initial.state, Some(Wanted { state: State::Paused, initial: true }));
    let strimzi = "apiVersion: a\nkind: KafkaConnector\nmetadata: {name: c}\nspec: {pause: true}\n";
    let strimzi = one(parse("-", strimzi).unwrap());
    assert_eq!(strimzi.state, Some(Wanted { state: State::Paused, initial: false }));
}

#[test]
fn what_is_wrong_is_said_with_the_file() {
    for (name, text, part) in [
        ("a.json", "{", "JSON"),
        ("a.json", "3", "not an object"),
        ("a.json", "[3]", "not an object"),
        ("a.json", r#"{"name":"a","config":{"name":"b"}}"#, "differs"),
        ("a.json", r#"{"name":"a","x":null}"#, "x: null"),
        ("a.json", r#"{"name":"a","config":{},"initial_state":"ASLEEP"}"#, "ASLEEP"),
        ("a.json", r#"{"name":"a","topics":"a","topics":"b"}"#, "topics is given twice"),
        ("a.conf", r#"{"name":"a","topics":"a","topics":"b"}"#, "topics is given twice"),
        ("a.yaml", "name: a\ntopics: a\ntopics: b\n", "topics is given twice"),
        ("a.yaml", "apiVersion: a\nkind: KafkaConnector\nspec: {}\n", "metadata.name"),
        ("a.yaml", "apiVersion: a\nkind: KafkaConnector\nmetadata: {name: c}\n", "spec is missing"),
        ("a.properties", "name=c\nname=d\n", "name"),
    ] {
        let error = file(name, text).unwrap_err();
        assert!(error.message.contains(part), "{}", error.message);
        assert!(error.message.contains(name), "{}", error.message);
    }
}

#[test]
fn a_folder_gives_its_files_in_order() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("sub")).unwrap();
    for name in ["b.json", "a.yaml", ".hidden.json", "notes.txt", "sub/c.properties"] {
        std::fs::write(dir.path().join(name), "").unwrap();
    }
    let names = |recursive| -> Vec<String> {
        let files = in_folder(dir.path(), recursive).unwrap();
        let below = |path: &PathBuf| path.strip_prefix(dir.path()).unwrap().display().to_string();
        files.iter().map(below).collect()
    };
    assert_eq!(names(false), ["a.yaml", "b.json"]);
    assert_eq!(names(true), ["a.yaml", "b.json", "sub/c.properties"]);
    assert!(in_folder(&dir.path().join("none"), false).is_err());
}

proptest::proptest! {
    #[test]
    fn any_text_has_an_answer(text in "[\\[\\]{}:,\"\\-# \nacekinop=\u{e9}]{0,60}") {
        let _answer = parse("-", &text);
    }

    #[test]
    fn any_object_has_an_answer(
        keys in proptest::collection::vec("apiVersion|kind|spec|config|name|info|metadata|items", 0..5),
        values in proptest::collection::vec("1|null|\"x\"|\\{\\}|\\[\\]|\"List\"|\"KafkaConnector\"", 5),
    ) {
        let members = keys.iter().zip(&values).map(|(key, value)| format!("\"{key}\":{value}"));
        let _answer = parse("-", &format!("{{{}}}", members.collect::<Vec<_>>().join(",")));
    }
}
