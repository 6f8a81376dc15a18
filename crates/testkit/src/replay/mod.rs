//! Replays recorded REST requests, in order, and says where the answers differ.
//!
//! A file has a JSON object a line: what is asked (`method`, `path`, `headers`, `body`) and the answer
//! `expect`ed. `wait`: asked again until it is right. `match`: `exact` (default), `unordered` (lists are
//! sets), `contains` (there may be more). `better`: another answer that is right, where the recorded
//! worker's own is a mistake. `{{run}}` becomes a word that is new in every run. A line with a
//! `fixture` has files for the worker's folder. Texts may hold `<<text>>`, `<<number>>`, `<<any>>` and,
//! inside longer ones, `<<name>>` for anything.

mod compare;

use crate::process::send;
use crate::{unique, wait::look_for};
use compare::{How, compare};
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

/// How long a state is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// A request whose answer was not right.
#[derive(Debug)]
pub struct Difference {
    /// The id of the line.
    pub id: String,
    /// What was asked, and each difference on a line of its own.
    pub text: String,
}

/// Sends every request of `lines` to the worker at `address` (`host:port`); `dirs` are the folders of
/// all workers that may run what is made there. Gives the number of requests and those that were answered wrongly.
///
/// # Panics
///
/// When a line is none.
pub fn replay(lines: &str, address: &str, dirs: &[&Path]) -> (usize, Vec<Difference>) {
    let run: String = unique("r").chars().filter(char::is_ascii_alphanumeric).collect();
    let (mut count, mut differences) = (0, Vec::new());
    for line in lines.lines() {
        let line = line.replace("{{run}}", &run);
        let case: Value = serde_json::from_str(&line).expect("a line of JSON");
        if let Some(files) = case["fixture"]["files"].as_object() {
            for (name, content) in files {
                let content = content.as_str().expect("files are text");
                for dir in dirs {
                    std::fs::write(dir.join(name), content).expect("the folder takes files");
                }
            }
            continue;
        }
        count += 1;
        let patience = if case["wait"] == true { PATIENCE } else { Duration::ZERO };
        let mut last = Vec::new();
        let right = look_for(patience, || {
            last = ask(&case, address);
            last.is_empty()
        });
        if !right {
            let id = text(&case["id"]);
            let asked = format!("{} {}", text(&case["method"]), text(&case["path"]));
            differences.push(Difference { id, text: format!("{asked}\n  {}", last.join("\n  ")) });
        }
    }
    (count, differences)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Sends a request; gives what is wrong with the answer.
fn ask(case: &Value, address: &str) -> Vec<String> {
    let method = text(&case["method"]);
    let given = case["headers"].as_object();
    let headers: Vec<(&str, &str)> = given
        .into_iter()
        .flatten()
        .filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)))
        .collect();
    let body = case["body"].as_str();
    let takes_body = matches!(method.as_str(), "POST" | "PUT" | "PATCH");
    let body = body.or_else(|| takes_body.then_some(""));
    let answer = match send(address, &method, &text(&case["path"]), &headers, body) {
        Ok(answer) => answer,
        Err(error) => return vec![format!("no answer: {error}")],
    };
    let how = match case["match"].as_str() {
        Some("unordered") => How::Unordered,
        Some("contains") => How::Contains,
        _ => How::Exact,
    };
    let wrong = compare(&case["expect"], &answer, how);
    let better = case
        .get("better")
        .is_some_and(|better| !wrong.is_empty() && compare(better, &answer, How::Exact).is_empty());
    if better { Vec::new() } else { wrong }
}
