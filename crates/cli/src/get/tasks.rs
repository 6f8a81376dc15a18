//! `copycat get tasks`.

use crate::ask::Session;
use crate::connectors::{ask, at, task_state, tasks, text};
use crate::exit::Failure;
use crate::names;
use crate::show::{Cell, Table, View};
use clap_complete::ArgValueCandidates;
use serde_json::{Value, json};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Only those of these connectors
    #[arg(value_name = "CONNECTOR", add = ArgValueCandidates::new(names::connectors))]
    names: Vec<String>,
}

pub(super) fn run(args: &Args, session: &Session) -> Result<(), Failure> {
    let Session { client, out } = session;
    let mut statuses: Vec<(String, Value)> = Vec::new();
    if args.names.is_empty() {
        let answer = client.get("/connectors?expand=status")?;
        for (name, entry) in answer.as_object().into_iter().flatten() {
            statuses.push((name.clone(), entry.get("status").cloned().unwrap_or_default()));
        }
    }
    for name in &args.names {
        statuses.push((name.clone(), ask(client, "GET", name, "/status", None)?));
    }
    // Counters are Copycat's own; other workers of Kafka Connect have none.
    let mut table =
        Table::new(&["CONNECTOR", "TASK", "STATE", "WORKER", "READ", "STORED", "REPORTED"]);
    let (mut json, mut names) = (Vec::new(), Vec::new());
    for (name, status) in &statuses {
        for task in tasks(status) {
            let id = text(&task["id"]);
            let count = |member| Cell::of(&text(&task["copycat"][member]));
            table.row([
                Cell::of(name),
                Cell::of(&id),
                Cell::state(task_state(task)),
                Cell::of(at(task, "/worker_id")),
                count("records_read"),
                count("records_stored"),
                count("records_reported"),
            ]);
            names.push(format!("{name}/{id}"));
            let mut entry = task.clone();
            if let Some(entry) = entry.as_object_mut() {
                entry.insert("connector".to_owned(), json!(name));
            }
            json.push(entry);
        }
    }
    out.show(View { text: table.into(), names, json: json.into() })
}
