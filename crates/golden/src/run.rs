//! Runs the vector files of a folder and says what differs.
//!
//! Invariants: nothing is skipped but files of parts that are not built yet, which are named with
//! their counts; an operation that nobody knows, a line that is no case and a panic count as failed.

use crate::exceptions::{Exceptions, Outcome};
use crate::operations::{Surroundings, answer, is_not_built};
use anyhow::{Context as _, Result, ensure};
use serde_json::{Value as Json, json};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// The length in characters that is shown of an answer.
const SHOWN_CHARS: usize = 400;

/// The result of a run.
#[derive(Debug, Default)]
pub struct Summary {
    pub passed: usize,
    pub failed: usize,
    /// Of those that passed: with a message of our own.
    pub other_messages: usize,
    /// Every case that was run, with our answer.
    pub answered: Vec<(Json, Json)>,
}

/// What to print beside differences.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Each failure whose message is not Connect's.
    pub messages: bool,
}

/// Runs every `*.jsonl` file of a folder, in the order of their names, and tells what is found a
/// line at a time.
///
/// # Errors
/// A folder or file that cannot be read, or a folder without vectors.
pub fn run_folder(
    folder: &Path,
    exceptions: &Exceptions,
    options: Options,
    tell: &mut dyn FnMut(&str),
) -> Result<Summary> {
    let files = vector_files(folder)?;
    ensure!(!files.is_empty(), "{} has no *.jsonl files", folder.display());
    let mut read = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        let cases: Vec<Json> = lines
            .map(|line| serde_json::from_str(line).unwrap_or_else(|_| json!({"id": line})))
            .collect();
        read.push((name, cases));
    }
    let surroundings = Surroundings::of(read.iter().flat_map(|(_, cases)| cases));
    let mut summary = Summary::default();
    for (name, cases) in read {
        if is_not_built(&cases) {
            tell(&format!("{name}: {} skipped, this part is not built yet", cases.len()));
            continue;
        }
        let before = (summary.passed, summary.failed, summary.other_messages);
        for case in cases {
            run_case(case, exceptions, &surroundings, options, &mut summary, tell);
        }
        let passed = summary.passed - before.0;
        let failed = summary.failed - before.1;
        let messages = summary.other_messages - before.2;
        tell(&format!(
            "{name}: {passed} passed ({messages} with another message), {failed} failed"
        ));
    }
    Ok(summary)
}

fn vector_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        let is_pinned = path.file_name().is_some_and(|name| name == "better.jsonl");
        if path.extension().is_some_and(|extension| extension == "jsonl") && !is_pinned {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn run_case(
    case: Json,
    exceptions: &Exceptions,
    surroundings: &Surroundings,
    options: Options,
    summary: &mut Summary,
    tell: &mut dyn FnMut(&str),
) {
    let id = case["id"].as_str().unwrap_or_default().to_owned();
    let seen = answer_or_panic(&case, surroundings);
    match exceptions.judge(&case, &seen) {
        Outcome::Passed => summary.passed += 1,
        Outcome::OtherMessage { wanted, seen } => {
            summary.passed += 1;
            summary.other_messages += 1;
            if options.messages {
                tell(&format!("{id}\n  message {}\n  ours    {}", wanted["error"], seen["error"]));
            }
        }
        Outcome::Failed { wanted, seen } => {
            summary.failed += 1;
            tell(&format!("{id}\n  wanted {}\n  seen   {}", cut(&wanted), cut(&seen.to_string())));
        }
    }
    summary.answered.push((case, seen));
}

/// Our answer; what is none has an error of a class that no recorded answer has.
pub fn answer_or_panic(case: &Json, surroundings: &Surroundings) -> Json {
    let nothing = |class: &str, message: String| json!({"error": {"class": class, "message": message, "at": "input"}});
    match catch_unwind(AssertUnwindSafe(|| answer(case, surroundings))) {
        Ok(Some(seen)) => seen,
        Ok(None) => nothing("unknown", format!("no operation {}", case["op"])),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            nothing("panic", text.unwrap_or_default())
        }
    }
}

/// A text cut to what is worth showing.
pub fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
