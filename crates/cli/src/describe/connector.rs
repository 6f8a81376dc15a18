//! `copycat describe connector`.

use crate::ask::Session;
use crate::connectors::{Chosen, ask, at, props, shown, task_state, tasks, text};
use crate::exit::Failure;
use crate::show::{Out, View};
use serde_json::{Value, json};
use std::fmt::Write as _;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    chosen: Chosen,
    /// Show the configurations of tasks too
    #[arg(long)]
    tasks_config: bool,
}

pub(super) fn run(args: &Args, session: &Session) -> Result<(), Failure> {
    let Session { client, out } = session;
    let names = args.chosen.resolve(client)?;
    let (mut all, mut pages) = (Vec::new(), Vec::new());
    for name in &names {
        let info = ask(client, "GET", name, "", None)?;
        let status = ask(client, "GET", name, "/status", None)?;
        let tasks = match args.tasks_config {
            true => ask(client, "GET", name, "/tasks", None)?,
            false => Value::Null,
        };
        // A worker may keep no account of topics.
        let topics = ask(client, "GET", name, "/topics", None).unwrap_or_default();
        let topics = topics.get(name).and_then(|topics| topics.get("topics")).cloned();
        let topics = topics.unwrap_or_default();
        pages.push(page(name, &info, &status, &tasks, &topics, out));
        all.push(json!({ "info": info, "status": status, "tasks": tasks, "topics": topics }));
    }
    let json = if all.len() == 1 { all.remove(0) } else { all.into() };
    out.show(View { json, text: pages.join("\n").into(), names })
}

// Writing to a string cannot fail.
fn page(
    name: &str,
    info: &Value,
    status: &Value,
    configs: &Value,
    topics: &Value,
    out: &Out,
) -> String {
    let mut page = String::new();
    let mut line = |depth: usize, key: &str, value: &str| {
        let key = format!("{:1$}{key}:", "", 2 * depth);
        let _ok = writeln!(page, "{}", format!("{key:<14} {value}").trim_end());
    };
    line(0, "Name", name);
    line(0, "Type", at(status, "/type"));
    line(0, "State", &out.tinted(at(status, "/connector/state")));
    line(0, "Worker ID", at(status, "/connector/worker_id"));
    let trace = at(status, "/connector/trace");
    if !trace.is_empty() {
        line(0, "Trace", &trace_lines(trace, 2));
    }
    let _ok = writeln!(page, "{}:", out.bold("Config"));
    page.push_str(&config_lines(&info["config"], 2));
    let _ok = writeln!(page, "{}:", out.bold("Tasks"));
    for task in tasks(status) {
        page.push_str(&task_lines(task, out));
        let id = &task["id"];
        let config = configs.as_array().into_iter().flatten();
        let config = config.filter(|config| config.pointer("/id/task") == Some(id));
        for config in config {
            let _ok = writeln!(page, "    Config:");
            page.push_str(&config_lines(&config["config"], 6));
        }
    }
    let _ok = writeln!(page, "{}:", out.bold("Topics"));
    let mut topics: Vec<String> = topics.as_array().into_iter().flatten().map(text).collect();
    topics.sort();
    for topic in topics {
        let _ok = writeln!(page, "  {topic}");
    }
    page
}

/// A configuration, aligned, with secrets hidden.
fn config_lines(config: &Value, indent: usize) -> String {
    let config = props(config);
    let width = config.keys().map(|key| key.chars().count()).max().unwrap_or_default() + 1;
    let line = |(key, value): (&str, &str)| {
        let value = shown(key, value).replace('\n', "\\n");
        let key = format!("{key}:");
        format!("{:indent$}{}\n", "", format!("{key:<width$} {value}").trim_end())
    };
    config.iter().map(line).collect()
}

/// A task below its connector.
fn task_lines(task: &Value, out: &Out) -> String {
    let mut lines = format!("  {}:\n", text(&task["id"]));
    let mut line = |key: &str, value: &str| {
        if !value.is_empty() {
            let key = format!("{key}:");
            let _ok = writeln!(lines, "    {key:<11} {value}");
        }
    };
    line("State", &out.tinted(task_state(task)));
    line("Worker ID", at(task, "/worker_id"));
    let ours = &task["copycat"];
    let counts =
        [("records_read", "read"), ("records_stored", "stored"), ("records_reported", "reported")];
    let counts = counts.iter().filter(|(member, _)| ours.get(member).is_some());
    let counts: Vec<String> =
        counts.map(|(member, word)| format!("{} {word}", text(&ours[*member]))).collect();
    line("Records", &counts.join(", "));
    line("Retries", &trace_lines(at(ours, "/reason"), 6));
    line("Notice", at(ours, "/notice"));
    line("Trace", &trace_lines(at(task, "/trace"), 6));
    lines
}

/// Text of several lines, those after the first indented.
pub(crate) fn trace_lines(text: &str, indent: usize) -> String {
    text.trim_end().replace('\n', &format!("\n{:indent$}", ""))
}
