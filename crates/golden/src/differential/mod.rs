//! The randomized comparison: cases made from a seed, answered by Kafka Connect's own libraries behind
//! a command and by Copycat's crates, and compared.
//!
//! A difference that is deliberate is recognised by a rule ([`accepted`]), never by an id. Invariant:
//! the same seed and count make the same cases, whatever else is run.

mod accepted;
mod dice;
mod generate;
mod oracle;

pub use generate::Area;

use crate::compare::{Verdict, compare};
use crate::operations::Surroundings;
use crate::run::answer_or_panic;
use anyhow::Result;
use dice::Dice;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

/// Cases that go through one run of the oracle: starting it costs more than a thousand answers.
const BATCH_CASES: usize = 5_000;

/// What one area's run found.
#[derive(Debug, Default)]
pub struct Findings {
    pub same: usize,
    /// Of those: failures with a message of our own.
    pub other_messages: usize,
    /// Deliberate differences by rule.
    pub accepted: BTreeMap<&'static str, usize>,
    /// By kind: the operation with class, and how the answers differ.
    pub differences: BTreeMap<String, Vec<Difference>>,
}

/// A case that is answered otherwise.
#[derive(Debug)]
pub struct Difference {
    /// The whole case with Connect's answer: a vector.
    pub case: Json,
    pub seen: Json,
}

impl Findings {
    /// How many cases differ without a rule.
    pub fn different(&self) -> usize {
        self.differences.values().map(Vec::len).sum()
    }

    fn add(&mut self, case: Json, seen: Json) {
        match compare(&case["input"], &case["output"], &seen) {
            Verdict::Same => self.same += 1,
            Verdict::OtherMessage => {
                self.same += 1;
                self.other_messages += 1;
            }
            Verdict::Different => match accepted::rule(&case, &seen) {
                Some(rule) => *self.accepted.entry(rule).or_default() += 1,
                None => {
                    let kind = kind(&case, &seen);
                    self.differences.entry(kind).or_default().push(Difference { case, seen });
                }
            },
        }
    }
}

/// What cases that probably differ for one reason have in common.
fn kind(case: &Json, seen: &Json) -> String {
    let class = case["input"]["class"].as_str().unwrap_or_default();
    let class = class.rsplit('.').next().unwrap_or_default();
    let form = |answer: &Json| match answer["error"]["class"].as_str() {
        Some(class) => class.rsplit('.').next().unwrap_or_default().to_owned(),
        None => "answer".to_owned(),
    };
    let op = case["op"].as_str().unwrap_or_default();
    format!("{op} {class}: wanted {}, seen {}", form(&case["output"]), form(seen))
}

/// Makes cases of an area and compares the answers.
///
/// # Errors
/// The oracle does not answer.
pub fn run(command: &str, area: Area, seed: u64, cases: usize) -> Result<Findings> {
    let mut dice = Dice::new(seed, area.name());
    let mut findings = Findings::default();
    let mut made = 0;
    while made < cases {
        let count = BATCH_CASES.min(cases - made);
        let batch: Vec<Json> = (made..made + count)
            .map(|number| {
                let (op, input) = area.case(&mut dice);
                json!({"id": format!("{}-{seed}-{number}", area.name()), "op": op, "input": input})
            })
            .collect();
        for answered in oracle::ask(command, &batch)? {
            let seen = answer_or_panic(&answered, &Surroundings::default());
            findings.add(answered, seen);
        }
        made += count;
    }
    Ok(findings)
}
