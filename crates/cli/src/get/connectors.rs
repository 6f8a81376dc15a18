//! `copycat get connectors`.

use crate::ask::Session;
use crate::connectors::{at, missing, task_state, tasks, text};
use crate::exit::Failure;
use crate::names;
use crate::show::{Cell, Table, View};
use clap_complete::ArgValueCandidates;
use serde_json::{Map, Value};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Only these
    #[arg(value_name = "CONNECTOR", add = ArgValueCandidates::new(names::connectors))]
    names: Vec<String>,
}

pub(super) fn run(args: &Args, session: &Session) -> Result<(), Failure> {
    let Session { client, out } = session;
    let all = chosen(&args.names, session)?;
    // By type and then by name, as kcctl lists them.
    let kind = |entry: &Value| match at(entry, "/status/type") {
        "" => at(entry, "/info/type").to_owned(),
        kind => kind.to_owned(),
    };
    let mut rows: Vec<(String, &String, &Value)> =
        all.iter().map(|(name, entry)| (kind(entry), name, entry)).collect();
    rows.sort_by(|a, b| (&a.0, a.1).cmp(&(&b.0, b.1)));
    let mut table = Table::new(&["NAME", "TYPE", "STATE", "TASKS"]);
    for (kind, name, entry) in &rows {
        let status = entry.get("status").unwrap_or(&Value::Null);
        let of_task = |task: &Value| format!("{}: {}", text(&task["id"]), task_state(task));
        let of_tasks = tasks(status).map(of_task).collect::<Vec<_>>().join(", ");
        let state = at(status, "/connector/state");
        table.row([Cell::of(name), Cell::of(kind), Cell::state(state), Cell::state(&of_tasks)]);
    }
    if rows.is_empty() {
        out.note(&format!("{} has no connectors", client.base()));
    }
    let names = rows.iter().map(|(_, name, _)| (*name).clone()).collect();
    out.show(View { text: table.into(), names, json: Value::Object(all) })
}

fn chosen(names: &[String], session: &Session) -> Result<Map<String, Value>, Failure> {
    let answer = session.client.get("/connectors?expand=status&expand=info")?;
    let Value::Object(mut all) = answer else {
        return Err(Failure::unavailable("the worker answers with no list of connectors"));
    };
    if names.is_empty() {
        return Ok(all);
    }
    let mut chosen = Map::new();
    for name in names {
        if chosen.contains_key(name) {
            continue;
        }
        let Some(entry) = all.remove(name) else {
            let refusal = Failure::wrong_input(format!("Connector {name} not found"));
            return Err(missing(&session.client, name, refusal));
        };
        chosen.insert(name.clone(), entry);
    }
    Ok(chosen)
}
