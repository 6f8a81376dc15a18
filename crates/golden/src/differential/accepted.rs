//! Deliberate differences, one rule each. A rule knows the case and both answers, never an id.

use serde_json::Value as Json;

/// A case with Connect's answer, and ours.
struct Answers<'a> {
    op: &'a str,
    input: &'a Json,
    wanted: &'a Json,
    seen: &'a Json,
}

/// A deliberate difference.
struct Rule {
    name: &'static str,
    covers: fn(&Answers<'_>) -> bool,
}

const RULES: [Rule; 1] = [
    // What is not wholly a literal is text: Connect drops what follows a literal, and lets dates that
    // do not exist roll over.
    Rule {
        name: "text that is no literal stays text",
        covers: |answers| {
            answers.op == "values.parseString"
                && answers.seen["schema"] == "string"
                && answers.seen["value"]["str"] == answers.input["text"]
                && answers.wanted.get("error").is_none()
        },
    },
];

/// The rule that a difference falls under.
pub(super) fn rule(case: &Json, seen: &Json) -> Option<&'static str> {
    let (input, wanted) = (&case["input"], &case["output"]);
    let answers = Answers { op: case["op"].as_str()?, input, wanted, seen };
    RULES.iter().find(|rule| (rule.covers)(&answers)).map(|rule| rule.name)
}
