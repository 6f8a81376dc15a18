//! `copycat plan`: what `apply` would change, key by key, with secrets hidden. The comparison itself is
//! pure; `apply` carries out the same plan.

use crate::ask::{Ask, Session};
use crate::client::Client;
use crate::connectors::{ask, at, config_of, shown};
use crate::exit::{CHANGES, Failure};
use crate::files::{Files, Named};
use crate::show::View;
use config::Props;
use connector_files::State;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write as _;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    ask: Ask,
}

/// A key whose value is another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) key: String,
    pub(crate) before: Option<String>,
    pub(crate) after: Option<String>,
}

/// What is to be done for a connector.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) named: Named,
    /// It is not there yet.
    pub(crate) create: bool,
    pub(crate) changes: Vec<Change>,
    /// The state it has and the one it is to have, where these differ.
    pub(crate) state: Option<(String, State)>,
}

impl Plan {
    pub(crate) fn is_nothing(&self) -> bool {
        !self.create && self.changes.is_empty() && self.state.is_none()
    }

    /// `create`, `update`, `none`.
    pub(crate) fn action(&self) -> &'static str {
        match (self.create, self.is_nothing()) {
            (true, _) => "create",
            (false, true) => "none",
            (false, false) => "update",
        }
    }

    pub(crate) fn json(&self) -> Value {
        let text = |key: &str, value: &Option<String>| {
            value.as_ref().map(|value| shown(key, value).to_owned())
        };
        let change = |change: &Change| {
            let Change { key, before, after } = change;
            json!({ "key": key, "before": text(key, before), "after": text(key, after) })
        };
        let state = self.state.as_ref();
        json!({
            "name": self.named.name,
            "source": self.named.connector.source,
            "action": self.action(),
            "changes": self.changes.iter().map(change).collect::<Vec<Value>>(),
            "state": state.map(|(from, to)| json!({ "before": from, "after": to.name() })),
        })
    }
}

/// What to do for each connector.
///
/// # Errors
/// The worker does not answer.
pub(crate) fn make(client: &Client, all: Vec<Named>) -> Result<Vec<Plan>, Failure> {
    all.into_iter().map(|named| one(client, named)).collect()
}

fn one(client: &Client, named: Named) -> Result<Plan, Failure> {
    let found = config_of(client, &named.name)?;
    let create = found.is_none();
    let changes = changes(&found.unwrap_or_default(), &named.connector.config);
    let wanted = named.connector.state;
    let state = match wanted {
        Some(wanted) if create => {
            Some((String::new(), wanted.state)).filter(|_| wanted.state != State::Running)
        }
        Some(wanted) if !wanted.initial => {
            let status = ask(client, "GET", &named.name, "/status", None)?;
            differing(at(&status, "/connector/state"), wanted.state)
        }
        _ => None,
    };
    Ok(Plan { named, create, changes, state })
}

/// A connector that has failed, or is about to start, is meant to run.
fn differing(found: &str, wanted: State) -> Option<(String, State)> {
    let meant = match found {
        "PAUSED" => State::Paused,
        "STOPPED" => State::Stopped,
        _ => State::Running,
    };
    (meant != wanted).then(|| (found.to_owned(), wanted))
}

/// The keys in which two configurations differ, sorted.
pub(crate) fn changes(before: &Props, after: &Props) -> Vec<Change> {
    let keys: BTreeSet<&str> = before.keys().chain(after.keys()).collect();
    let text = |props: &Props, key| props.get(key).map(str::to_owned);
    keys.into_iter()
        .filter(|key| before.get(key) != after.get(key))
        .map(|key| Change {
            key: key.to_owned(),
            before: text(before, key),
            after: text(after, key),
        })
        .collect()
}

/// Lines `+ key = value`, `- key = value`, `~ key = before → after`, with secrets hidden.
pub(crate) fn change_lines(changes: &[Change]) -> String {
    let mut lines = String::new();
    for Change { key, before, after } in changes {
        let text = |value: &str| shown(key, value).replace('\n', "\\n");
        // Writing to a string cannot fail.
        let _ok = match (before, after) {
            (Some(before), Some(after)) => {
                writeln!(lines, "  ~ {key} = {} → {}", text(before), text(after))
            }
            (None, Some(after)) => writeln!(lines, "  + {key} = {}", text(after)),
            (Some(before), None) => writeln!(lines, "  - {key} = {}", text(before)),
            (None, None) => Ok(()),
        };
    }
    lines
}

/// A plan for people.
pub(crate) fn lines(plan: &Plan) -> String {
    let name = &plan.named.name;
    let mut lines = match plan.action() {
        "create" => format!("{name} will be created\n"),
        "update" => format!("{name} will be changed\n"),
        _ => return format!("{name} stays as it is\n"),
    };
    lines.push_str(&change_lines(&plan.changes));
    if let Some((from, to)) = &plan.state {
        let from = if from.is_empty() { String::new() } else { format!("{from} → ") };
        let _ok = writeln!(lines, "  state {from}{}", to.name());
    }
    lines
}

/// The exit code is [`CHANGES`] where something would change.
pub(crate) fn run(args: &Args) -> Result<u8, Failure> {
    let Session { client, out } = args.ask.open()?;
    let plans = make(&client, args.files.read(&out)?)?;
    let changed: Vec<&Plan> = plans.iter().filter(|plan| !plan.is_nothing()).collect();
    let code = if changed.is_empty() { 0 } else { CHANGES };
    let count = |action| plans.iter().filter(|plan| plan.action() == action).count();
    let (new, other, same) = (count("create"), count("update"), count("none"));
    let mut text: String = plans.iter().map(lines).collect();
    let _ok = writeln!(text, "{new} to create, {other} to change, {same} as they are");
    out.show(View {
        json: plans.iter().map(Plan::json).collect(),
        names: changed.iter().map(|plan| plan.named.name.clone()).collect(),
        text: text.into(),
    })?;
    Ok(code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use config::HIDDEN;
    use connector_files::Connector;

    fn props(pairs: &[(&str, &str)]) -> Props {
        pairs.iter().copied().collect()
    }

    fn plan(create: bool, before: &Props, after: &Props) -> Plan {
        let connector = Connector {
            source: "f".to_owned(),
            name: Some("c".to_owned()),
            config: after.clone(),
            state: None,
        };
        let named = Named { name: "c".to_owned(), connector };
        Plan { named, create, changes: changes(before, after), state: None }
    }

    #[test]
    fn each_key_that_differs_is_shown_and_secrets_are_not() {
        let before = props(&[("a", "1"), ("b", "2"), ("password", "hunter2"), ("same", "s")]);
        let after = props(&[("a", "3"), ("c", "4"), ("password", "hunter3"), ("same", "s")]);
        let mut plan = plan(false, &before, &after);
        let wanted = format!(
            "c will be changed\n  ~ a = 1 → 3\n  - b = 2\n  + c = 4\n  \
             ~ password = {HIDDEN} → {HIDDEN}\n"
        );
        assert_eq!(lines(&plan), wanted);
        let json = plan.json().to_string();
        assert!(!json.contains("hunter"), "{json}");
        plan.state = differing("RUNNING", State::Paused);
        assert!(lines(&plan).ends_with("  state RUNNING → PAUSED\n"));
    }

    #[test]
    fn what_is_there_as_it_is_wanted_is_nothing_to_do() {
        let same = props(&[("a", "1")]);
        let nothing = plan(false, &same, &same);
        assert!(nothing.is_nothing());
        assert_eq!((nothing.action(), lines(&nothing).as_str()), ("none", "c stays as it is\n"));
        assert!(!plan(true, &Props::new(), &Props::new()).is_nothing());
    }

    #[test]
    fn a_failed_connector_is_one_that_runs() {
        for running in ["RUNNING", "FAILED", "UNASSIGNED", "RESTARTING"] {
            assert_eq!(differing(running, State::Running), None);
        }
        assert_eq!(differing("PAUSED", State::Paused), None);
        let change = differing("STOPPED", State::Running);
        assert_eq!(change, Some(("STOPPED".to_owned(), State::Running)));
    }
}
