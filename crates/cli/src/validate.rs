//! `copycat validate`: the worker checks configurations, and every error is shown below its key, with what
//! to do where the worker knows.

use crate::ask::{Ask, Session};
use crate::client::path;
use crate::connectors::{at, text};
use crate::exit::{CHANGES, Failure, WRONG_INPUT};
use crate::files::{Files, Named};
use crate::show::{Out, View};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;

/// With this in the query the worker also looks at what a configuration connects to; others than ours
/// pass it over.
pub(crate) const CONNECT: &str = "?copycat.validate.connect=true";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    how: How,
    #[command(flatten)]
    ask: Ask,
}

#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct How {
    /// Also connect to the other side: is it reachable, are login, tables and rights right
    #[arg(long)]
    connect: bool,
    /// End with 4 where there are warnings and no errors
    #[arg(long)]
    strict: bool,
}

/// What the worker found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Findings {
    /// Key and text.
    pub(crate) errors: Vec<(String, String)>,
    /// What to do, by key.
    hints: Vec<(String, String)>,
    /// Worth knowing, and no error.
    notices: Vec<String>,
    /// Of the connection to the other side.
    pub(crate) checks: Vec<Check>,
}

/// One thing that was tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Check {
    pub(crate) name: String,
    /// `ok`, `failed` or `skipped`.
    pub(crate) outcome: String,
    /// What was found.
    pub(crate) what: String,
    pub(crate) hint: String,
}

pub(crate) fn run(args: &Args) -> Result<u8, Failure> {
    let session = args.ask.open()?;
    let named = args.files.read(&session.out)?;
    all(&session, named, args.how)
}

pub(crate) fn all(session: &Session, named: Vec<Named>, how: How) -> Result<u8, Failure> {
    let (mut page, mut json, mut names) = (String::new(), Vec::new(), Vec::new());
    let (mut errors, mut warnings) = (0, 0);
    for named in &named {
        let findings = ask(session, named, how.connect)?;
        errors += findings.errors.len() + findings.failed();
        warnings += findings.notices.len();
        page.push_str(&lines(named, &findings, &session.out));
        if findings.errors.is_empty() && findings.failed() == 0 {
            names.push(named.name.clone());
        }
        json.push(findings.json(named));
    }
    session.out.show(View { json: json.into(), text: page.into(), names })?;
    Ok(match (errors, warnings) {
        (0, 1..) if how.strict => CHANGES,
        (0, _) => 0,
        _ => WRONG_INPUT,
    })
}

fn ask(session: &Session, named: &Named, connect: bool) -> Result<Findings, Failure> {
    let config = &named.connector.config;
    let Some(class) = config.get("connector.class") else {
        let text = "the configuration names no connector.class".to_owned();
        let errors = vec![("connector.class".to_owned(), text)];
        return Ok(Findings { errors, ..Findings::default() });
    };
    let body: Map<String, Value> =
        config.iter().map(|(key, value)| (key.to_owned(), json!(value))).collect();
    let path = format!("{}{}", path_of(class), if connect { CONNECT } else { "" });
    let answer = session.client.send("PUT", &path, Some(&Value::Object(body)))?;
    if answer.status == 400 {
        let refusal = answer.refusal();
        let hints = refusal.hint.map(|hint| ("connector.class".to_owned(), hint));
        let errors = vec![("connector.class".to_owned(), refusal.message)];
        return Ok(Findings { errors, hints: hints.into_iter().collect(), ..Findings::default() });
    }
    Ok(findings(&answer.json()?))
}

/// Where configurations of a class are checked. The path takes the simple name, which every worker
/// understands.
pub(crate) fn path_of(class: &str) -> String {
    let simple = class.rsplit('.').next().unwrap_or(class);
    path(&["connector-plugins", simple, "config", "validate"])
}

/// Reads the answer of `PUT /connector-plugins/…/config/validate`.
pub(crate) fn findings(answer: &Value) -> Findings {
    let list = |value: &Value, member: &str| -> Vec<Value> {
        value.get(member).and_then(Value::as_array).cloned().unwrap_or_default()
    };
    let ours = answer.get("copycat").unwrap_or(&Value::Null);
    let mut found = Findings::default();
    for config in list(answer, "configs").iter().chain(&list(ours, "configs")) {
        for error in list(&config["value"], "errors") {
            let entry = (at(config, "/value/name").to_owned(), text(&error));
            if !found.errors.contains(&entry) {
                found.errors.push(entry);
            }
        }
    }
    let pair = |entry: &Value| (at(entry, "/name").to_owned(), at(entry, "/message").to_owned());
    for error in list(ours, "errors") {
        if !found.errors.contains(&pair(&error)) {
            found.errors.push(pair(&error));
        }
    }
    found.hints = list(ours, "hints").iter().map(pair).collect();
    found.notices = list(ours, "notices").iter().map(text).collect();
    found.checks = list(ours, "checks").iter().map(check).collect();
    // A check that failed is an error of its key too, and is told once.
    let failed: Vec<&Check> = found.checks.iter().filter(|check| check.has_failed()).collect();
    let told = |text: &String| failed.iter().any(|check| text.contains(&check.what));
    found.errors.retain(|(_, text)| !told(text));
    found.hints.retain(|(_, text)| !failed.iter().any(|check| *text == check.hint));
    found
}

fn check(entry: &Value) -> Check {
    Check {
        name: at(entry, "/name").to_owned(),
        outcome: at(entry, "/outcome").to_owned(),
        what: at(entry, "/what").to_owned(),
        hint: at(entry, "/hint").to_owned(),
    }
}

impl Check {
    pub(crate) fn has_failed(&self) -> bool {
        self.outcome == "failed"
    }
}

impl Findings {
    pub(crate) fn failed(&self) -> usize {
        self.checks.iter().filter(|check| check.has_failed()).count()
    }

    fn json(&self, named: &Named) -> Value {
        let pairs = |list: &[(String, String)]| -> Vec<Value> {
            let entry =
                |(name, message): &(String, String)| json!({ "name": name, "message": message });
            list.iter().map(entry).collect()
        };
        let check = |check: &Check| {
            let Check { name, outcome, what, hint } = check;
            json!({ "name": name, "outcome": outcome, "what": what, "hint": hint })
        };
        json!({
            "name": named.name,
            "source": named.connector.source,
            "valid": self.errors.is_empty() && self.failed() == 0,
            "errors": pairs(&self.errors),
            "hints": pairs(&self.hints),
            "notices": self.notices,
            "checks": self.checks.iter().map(check).collect::<Vec<Value>>(),
        })
    }
}

fn lines(named: &Named, found: &Findings, out: &Out) -> String {
    let count = found.errors.len();
    let mut lines = match (count, found.failed()) {
        (0, 0) => format!("{}: {}\n", named.name, out.tinted("ok")),
        (0, failed) => format!("{}: {} {failed} check(s)\n", named.name, out.tinted("failed")),
        (1, _) => format!("{}: {}\n", named.name, out.tinted("1 ERROR").to_lowercase()),
        (count, _) => format!("{}: {count} errors\n", named.name),
    };
    let mut shown: Vec<&str> = Vec::new();
    for (key, _) in &found.errors {
        if shown.contains(&key.as_str()) {
            continue;
        }
        shown.push(key);
        // Writing to a string cannot fail.
        let _ok = writeln!(lines, "  {}", out.bold(key));
        let of_key = |list: &[(String, String)]| -> Vec<String> {
            let own = list.iter().filter(|(other, _)| other == key);
            own.map(|(_, text)| text.replace('\n', "\n    ")).collect()
        };
        for error in of_key(&found.errors) {
            let _ok = writeln!(lines, "    {error}");
        }
        for hint in of_key(&found.hints) {
            let _ok = writeln!(lines, "    hint: {hint}");
        }
    }
    for notice in &found.notices {
        let _ok = writeln!(lines, "  {} {notice}", out.tinted("warning:"));
    }
    for (key, hint) in found.hints.iter().filter(|(key, _)| !shown.contains(&key.as_str())) {
        let _ok = writeln!(lines, "  hint: {key}: {hint}");
    }
    for check in &found.checks {
        lines.push_str(&check_line(check, out));
    }
    lines
}

/// A check, indented.
pub(crate) fn check_line(check: &Check, out: &Out) -> String {
    let Check { name, outcome, what, hint } = check;
    let mut line = format!("  {} {name}: {what}\n", out.tinted(outcome));
    if !hint.is_empty() {
        let _ok = writeln!(line, "    hint: {hint}");
    }
    line
}

#[cfg(test)]
mod tests;
