//! A trace as text for people: the record, then what each step changed, then what is left.

use super::diff::{Change, Leaf, leaves};
use super::record::Record;
use super::trace::{Outcome, StepTrace, Trace};
use std::fmt::Write;

/// Characters of one value that are shown.
const VALUE_CHARS_MAX: usize = 200;
/// Columns that paths are padded to, at most.
const PATH_COLUMNS_MAX: usize = 40;

/// Colours, where the output is a terminal.
#[derive(Clone, Copy)]
pub(super) struct Paint {
    pub(super) on: bool,
}

impl Paint {
    fn with(self, code: &str, text: &str) -> String {
        match self.on {
            true => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            false => text.to_owned(),
        }
    }

    fn bold(self, text: &str) -> String {
        self.with("1", text)
    }

    fn dim(self, text: &str) -> String {
        self.with("2", text)
    }

    fn red(self, text: &str) -> String {
        self.with("31", text)
    }

    fn green(self, text: &str) -> String {
        self.with("32", text)
    }

    fn yellow(self, text: &str) -> String {
        self.with("33", text)
    }
}

/// One record's way through the chain.
pub(super) fn trace(number: usize, trace: &Trace, paint: Paint) -> String {
    let mut out = String::new();
    let sample = &trace.sample;
    let partition = sample.partition.map_or_else(String::new, |p| format!("-{p}"));
    let title = format!("record {number}");
    let place = format!("{}{partition} offset {}", sample.topic, sample.offset);
    line(&mut out, &format!("{}  {}", paint.bold(&title), paint.dim(&place)));
    if let Some(input) = &trace.input {
        listing(&mut out, input, paint);
    }
    for (index, step) in trace.steps.iter().enumerate() {
        step_lines(&mut out, index, step, paint);
    }
    match &trace.outcome {
        Outcome::Kept(record) if trace.steps.iter().any(|step| !step.changes.is_empty()) => {
            line(&mut out, &format!("  = {}", paint.bold("result")));
            listing(&mut out, record, paint);
        }
        Outcome::Kept(_) => line(&mut out, &format!("  = {}", paint.bold("unchanged"))),
        Outcome::Dropped(step) => {
            line(&mut out, &format!("  = {}", paint.yellow(&format!("dropped by {step}"))));
        }
        Outcome::Failed(fault) => {
            let title = format!("failed at {} in {}", fault.stage, fault.class);
            line(&mut out, &format!("  = {}", paint.red(&title)));
            line(&mut out, &format!("    {}: {}", fault.exception, fault.message));
        }
    }
    out
}

fn line(out: &mut String, text: &str) {
    out.push_str(text.trim_end());
    out.push('\n');
}

fn step_lines(out: &mut String, index: usize, step: &StepTrace, paint: Paint) {
    let class = step.class.rsplit('.').next().unwrap_or_default();
    let condition = step.condition.as_ref().map_or_else(String::new, |(alias, negate)| {
        format!("  if {}{alias}", if *negate { "not " } else { "" })
    });
    let mut title = format!("  {} {}  {class}{condition}", index + 1, paint.bold(&step.alias));
    if !step.applied {
        title += &paint.dim(": not for this record");
    } else if step.after.is_some() && step.changes.is_empty() {
        title += &paint.dim(": no change");
    }
    line(out, &title);
    out.push_str(&changes(&step.changes, paint));
}

/// A line for each change.
pub(super) fn changes(changes: &[Change], paint: Paint) -> String {
    let path = |change: &Change| match change {
        Change::Removed(leaf) | Change::Added(leaf) | Change::Changed(_, leaf) => {
            leaf.path.chars().count()
        }
    };
    let width = changes.iter().map(path).max().unwrap_or_default().min(PATH_COLUMNS_MAX);
    let mut out = String::new();
    for change in changes {
        let text = match change {
            Change::Removed(leaf) => paint.red(&format!("  - {}", shown(leaf, width))),
            Change::Added(leaf) => paint.green(&format!("  + {}", shown(leaf, width))),
            Change::Changed(old, new) => {
                let kind = match (old.kind.as_str(), new.kind.as_str()) {
                    (a, b) if a == b || a.is_empty() || b.is_empty() => String::new(),
                    (a, b) => format!("{a} → {b}"),
                };
                let text = match (old.text.as_str(), new.text.as_str()) {
                    (a, b) if a == b => short(a),
                    // A value that has parts now, or had: they have lines of their own.
                    ("", b) => format!("{} → {}", old.kind, short(b)),
                    (a, "") => format!("{} → {}", short(a), new.kind),
                    (a, b) => format!("{} → {}", short(a), short(b)),
                };
                let gap = if text.is_empty() || kind.is_empty() { "" } else { "  " };
                let text = format!("{text}{gap}{kind}");
                paint.yellow(&format!("  ~ {:width$}  {text}", new.path))
            }
        };
        line(&mut out, &text);
    }
    out
}

fn shown(leaf: &Leaf, width: usize) -> String {
    let text = short(&leaf.text);
    let gap = if text.is_empty() || leaf.kind.is_empty() { "" } else { "  " };
    format!("{:width$}  {text}{gap}{}", leaf.path, leaf.kind)
}

/// The whole record; types only where there are schemas.
fn listing(out: &mut String, record: &Record, paint: Paint) {
    let all = leaves(record);
    let schemas = |path: &str| match path.split(['.', '[']).next() {
        Some("key") => record.key.schema.is_some(),
        Some("value") => record.value.schema.is_some(),
        _ => path.starts_with("header ") && record.headers.iter().any(|(_, d)| d.schema.is_some()),
    };
    let told = |leaf: &&Leaf| match leaf.path.as_str() {
        // It stands in the title.
        "partition" => false,
        "timestamp" => leaf.text != "none",
        path => !leaf.text.is_empty() || schemas(path),
    };
    let lines: Vec<&Leaf> = all.iter().filter(told).collect();
    let width = lines.iter().map(|leaf| leaf.path.chars().count()).max().unwrap_or_default();
    let width = width.min(PATH_COLUMNS_MAX);
    for leaf in lines {
        let kind = if schemas(&leaf.path) { paint.dim(&leaf.kind) } else { String::new() };
        let gap = if leaf.text.is_empty() { "" } else { "  " };
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ok = write!(text, "    {:width$}  {}{gap}{kind}", leaf.path, short(&leaf.text));
        line(out, &text);
    }
}

fn short(text: &str) -> String {
    let count = text.chars().count();
    if count <= VALUE_CHARS_MAX {
        return text.to_owned();
    }
    let start: String = text.chars().take(VALUE_CHARS_MAX).collect();
    format!("{start}… ({count} characters)")
}
