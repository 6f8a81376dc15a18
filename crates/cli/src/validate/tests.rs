//! Answers of workers, ours and others.

use super::*;
use connector_files::Connector;

fn named() -> Named {
    let connector = Connector {
        source: "f".to_owned(),
        name: Some("c".to_owned()),
        config: Default::default(),
        state: None,
    };
    Named { name: "c".to_owned(), connector }
}

fn out() -> Out {
    Out::plain(false)
}

#[test]
fn errors_stand_below_their_key_with_what_to_do() {
    let answer = json!({
        "error_count": 2,
        "configs": [
            { "value": { "name": "tasks.max", "errors": ["not a number", "null"] } },
            { "value": { "name": "topics", "errors": [] } },
        ],
        "copycat": {
            "hints": [
                { "name": "tasks.max", "message": "write a number" },
                { "name": "topic", "message": "did you mean topics?" },
            ],
            "errors": [{ "name": "tasks.max", "message": "null" }],
            "notices": ["the key x is not read"],
        },
    });
    let found = findings(&answer);
    let wanted = "c: 2 errors\n  tasks.max\n    not a number\n    null\n    hint: write a number\n  \
                  warning: the key x is not read\n  hint: topic: did you mean topics?\n";
    assert_eq!(lines(&named(), &found, &out()), wanted);
    assert_eq!(found.json(&named())["valid"], false);
}

#[test]
fn a_worker_of_kafka_connect_has_errors_alone() {
    let answer = json!({ "configs": [
        { "value": { "name": "file", "errors": ["missing"] } },
        { "definition": {}, "value": null },
    ]});
    assert_eq!(lines(&named(), &findings(&answer), &out()), "c: 1 error\n  file\n    missing\n");
}

#[test]
fn checks_of_the_other_side_count() {
    let check = |name: &str, outcome: &str, hint: Option<&str>| json!({ "name": name, "outcome": outcome, "what": "w", "hint": hint, "key": null });
    let checks = [check("server", "ok", None), check("table", "failed", Some("make it"))];
    let error = json!({ "value": { "name": "url", "errors": ["table: w\n  hint: make it"] } });
    let hints = [json!({ "name": "url", "message": "make it" })];
    let ours = json!({ "checks": checks, "hints": hints });
    let found = findings(&json!({ "configs": [error], "copycat": ours }));
    assert_eq!(found.failed(), 1);
    let wanted = "c: failed 1 check(s)\n  ok server: w\n  failed table: w\n    hint: make it\n";
    assert_eq!(lines(&named(), &found, &out()), wanted);
    assert_eq!(lines(&named(), &findings(&json!({})), &out()), "c: ok\n");
}
