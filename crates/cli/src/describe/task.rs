//! `copycat describe task`.

use super::trace_lines;
use crate::ask::Session;
use crate::connectors::{ask, props, shown, task_name, task_state, text};
use crate::exit::Failure;
use crate::names;
use crate::show::View;
use clap_complete::ArgValueCandidates;
use serde_json::{Value, json};
use std::fmt::Write as _;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The task: its connector's name, a slash, its number
    #[arg(value_name = "CONNECTOR/N", add = ArgValueCandidates::new(names::tasks))]
    task: String,
}

pub(super) fn run(args: &Args, session: &Session) -> Result<(), Failure> {
    let (name, id) = task_name(&args.task)?;
    let Session { client, out } = session;
    let status = ask(client, "GET", name, &format!("/tasks/{id}/status"), None)?;
    let configs = ask(client, "GET", name, "/tasks", None)?;
    let of_task = |config: &&Value| config.pointer("/id/task") == Some(&json!(id));
    let config = configs.as_array().into_iter().flatten().find(of_task);
    let config = config.and_then(|config| config.get("config")).cloned().unwrap_or_default();
    let mut page = format!("{:<18} {}\n", "Name:", args.task);
    let mut line = |key: &str, value: &str| {
        if !value.is_empty() {
            let key = format!("{key}:");
            // Writing to a string cannot fail.
            let _ok = writeln!(page, "{key:<18} {value}");
        }
    };
    line("State", &out.tinted(task_state(&status)));
    let members = status.as_object().into_iter().flatten();
    let ours = status.get("copycat").and_then(Value::as_object).into_iter().flatten();
    for (member, value) in members.chain(ours) {
        if !matches!(member.as_str(), "id" | "state" | "copycat") {
            line(member, &trace_lines(&text(value), 4));
        }
    }
    let _ok = writeln!(page, "{}:", out.bold("Config"));
    for (key, value) in props(&config).iter() {
        let _ok = writeln!(page, "  {key}: {}", shown(key, value).replace('\n', "\\n"));
    }
    let json = json!({ "status": status, "config": config });
    out.show(View { json, text: page.into(), names: vec![args.task.clone()] })
}
