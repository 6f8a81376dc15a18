//! Which recorded answers are not to be matched, and what is wanted instead.
//!
//! Two lists say so. A folder's `deviations.json` names the ids where Connect itself is wrong, with
//! the better behaviour in prose; `docs/compatibility.md` names those where Copycat differs on purpose.
//! What is wanted instead is pinned word for word in `testdata/better.jsonl`, which has Copycat's own
//! answers, read once by a person, and is written anew by `cargo xtask golden --pin`.
//!
//! A folder of others can have ids that nothing is pinned for. Of the prose, that much is checked
//! there: a "data error" is a failure at work, a "config error" one of the configuration, "STRING with
//! the whole text" that string; anything else is an answer other than Connect's, or one that loses
//! nothing.
//!
//! Invariant: a pinned answer is good for the very input it was given for, never for the id alone.

mod listed;
mod prose;

use crate::compare::{Verdict, compare};
use anyhow::{Context as _, Result};
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Our answer in the place of a recorded one.
#[derive(Clone, Debug)]
struct Pinned {
    input: Json,
    output: Json,
}

/// Everything that is known of answers that are not to be matched.
#[derive(Clone, Debug, Default)]
pub struct Exceptions {
    /// What is better, by id.
    deviations: BTreeMap<String, String>,
    listed: BTreeSet<String>,
    pinned: BTreeMap<String, Pinned>,
}

/// How a case went.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    Passed,
    /// Failed as it should, with a message of our own.
    OtherMessage {
        wanted: Json,
        seen: Json,
    },
    Failed {
        wanted: String,
        seen: Json,
    },
}

impl Exceptions {
    /// Reads the list of the documentation and the pinned answers of the project at `root`, and the
    /// deviations in the file, if it is there.
    ///
    /// # Errors
    /// Files that cannot be read or are not of their form.
    pub fn read(root: &Path, deviations: &Path) -> Result<Exceptions> {
        let page = root.join("docs/compatibility.md");
        let page = std::fs::read_to_string(&page).with_context(|| page.display().to_string())?;
        let mut exceptions = Exceptions { listed: listed::ids(&page), ..Exceptions::default() };
        if deviations.try_exists()? {
            let text = std::fs::read_to_string(deviations)?;
            let text = serde_json::from_str(&text);
            exceptions.add_deviations(&text.with_context(|| deviations.display().to_string())?);
        }
        let path = root.join(crate::TESTDATA).join("better.jsonl");
        if path.try_exists()? {
            for line in std::fs::read_to_string(&path)?.lines() {
                let case: Json =
                    serde_json::from_str(line).with_context(|| path.display().to_string())?;
                let id = case["id"].as_str().unwrap_or_default().to_owned();
                let pinned =
                    Pinned { input: case["input"].clone(), output: case["output"].clone() };
                exceptions.pinned.insert(id, pinned);
            }
        }
        Ok(exceptions)
    }

    fn add_deviations(&mut self, deviations: &Json) {
        for entry in deviations.as_array().into_iter().flatten() {
            let better = entry["better"].as_str().unwrap_or_default();
            for id in entry["ids"].as_array().into_iter().flatten().filter_map(Json::as_str) {
                self.deviations.insert(id.to_owned(), better.to_owned());
            }
        }
    }

    /// Whether the case of this id has another answer than the recorded one.
    pub fn concerns(&self, id: &str) -> bool {
        self.deviations.contains_key(id) || self.listed.contains(id)
    }

    /// Judges our answer to a case.
    pub fn judge(&self, case: &Json, seen: &Json) -> Outcome {
        let id = case["id"].as_str().unwrap_or_default();
        let (input, recorded) = (&case["input"], &case["output"]);
        let pinned = self.pinned.get(id).filter(|pinned| pinned.input == *input);
        let failed = |wanted: String| Outcome::Failed { wanted, seen: seen.clone() };
        match (self.deviations.get(id), pinned) {
            (Some(_), Some(pinned)) => match compare(input, &pinned.output, seen) {
                Verdict::Same => Outcome::Passed,
                _ => failed(pinned.output.to_string()),
            },
            (Some(better), None) => match prose::is_met(better, case, seen) {
                true => Outcome::Passed,
                false => failed(format!("better: {better}")),
            },
            (None, Some(pinned)) if self.listed.contains(id) => {
                match compare(input, &pinned.output, seen) {
                    Verdict::Same => Outcome::Passed,
                    _ => failed(pinned.output.to_string()),
                }
            }
            _ => match compare(input, recorded, seen) {
                Verdict::Same => Outcome::Passed,
                Verdict::OtherMessage => {
                    Outcome::OtherMessage { wanted: recorded.clone(), seen: seen.clone() }
                }
                Verdict::Different => failed(recorded.to_string()),
            },
        }
    }

    /// What has rotted, given our own cases with our answers to them: entries without a case, without
    /// a pinned answer, or whose case is answered as Connect does.
    pub fn rotten(&self, answered: &[(Json, Json)]) -> Vec<String> {
        let mut findings = Vec::new();
        let by_id: BTreeMap<&str, &(Json, Json)> = answered
            .iter()
            .map(|answered| (answered.0["id"].as_str().unwrap_or_default(), answered))
            .collect();
        for id in &self.listed {
            let Some((case, seen)) = by_id.get(id.as_str()) else {
                findings.push(format!("docs/compatibility.md names {id}, which no file has"));
                continue;
            };
            if compare(&case["input"], &case["output"], seen) == Verdict::Same {
                findings.push(format!(
                    "docs/compatibility.md names {id}, which is answered as Kafka Connect does"
                ));
            }
        }
        for id in self.deviations.keys().chain(&self.listed) {
            let Some((case, _)) = by_id.get(id.as_str()) else { continue };
            if self.pinned.get(id).is_none_or(|pinned| pinned.input != case["input"]) {
                findings.push(format!("{id} has no pinned answer: cargo xtask golden --pin"));
            }
        }
        for id in
            self.pinned.keys().filter(|id| !self.concerns(id) || !by_id.contains_key(id.as_str()))
        {
            findings.push(format!("better.jsonl pins {id}, which nothing names"));
        }
        findings
    }

    /// The text of `better.jsonl` for these answers to our own cases.
    pub fn pin(&self, answered: &[(Json, Json)]) -> String {
        let mut text = String::new();
        for (case, seen) in answered {
            let is_answer = seen["error"]["class"].as_str().is_none_or(|class| class.contains('.'));
            if is_answer && self.concerns(case["id"].as_str().unwrap_or_default()) {
                let line = json!({
                    "id": case["id"], "op": case["op"], "input": case["input"], "output": seen,
                });
                text.push_str(&line.to_string());
                text.push('\n');
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::{At, Fault};

    fn case(id: &str, output: Json) -> Json {
        json!({"id": id, "op": "values.parseString", "input": {"text": "x"}, "output": output})
    }

    fn exceptions() -> Exceptions {
        let mut exceptions = Exceptions::default();
        exceptions.add_deviations(&json!([{"ids": ["a"], "jvm": "j", "better": "data error"}]));
        exceptions.listed.insert("l".to_owned());
        let pinned = Pinned { input: json!({"text": "x"}), output: json!({"value": {"i8": 1}}) };
        exceptions.pinned.insert("l".to_owned(), pinned);
        exceptions
    }

    #[test]
    fn a_named_id_must_show_the_better_answer() {
        let exceptions = exceptions();
        let recorded = json!({"value": {"i8": 0}});
        let passes = |id: &str, seen: &Json| {
            exceptions.judge(&case(id, recorded.clone()), seen) == Outcome::Passed
        };
        let error = Fault::data("no").answer(At::Apply);
        assert!(passes("a", &error) && !passes("a", &recorded));
        assert!(passes("l", &json!({"value": {"i8": 1}})) && !passes("l", &recorded));
        assert!(passes("z", &recorded) && !passes("z", &error));
    }

    #[test]
    fn a_pinned_answer_is_for_its_input_alone() {
        let mut other = case("l", json!({"value": {"i8": 0}}));
        other["input"]["text"] = json!("y");
        assert_eq!(exceptions().judge(&other, &json!({"value": {"i8": 0}})), Outcome::Passed);
    }

    #[test]
    fn entries_that_say_nothing_any_more_are_found() {
        let mut exceptions = exceptions();
        exceptions.listed.insert("gone".to_owned());
        let recorded = json!({"value": {"i8": 0}});
        let answered: Vec<(Json, Json)> =
            ["a", "l"].map(|id| (case(id, recorded.clone()), recorded.clone())).into();
        let findings = exceptions.rotten(&answered);
        assert_eq!(findings.len(), 3, "{findings:?}");
        let pinned = exceptions.pin(&answered);
        assert_eq!(pinned.lines().count(), 2);
    }
}
