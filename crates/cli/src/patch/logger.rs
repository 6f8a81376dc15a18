//! `copycat patch logger`.

use crate::ask::Session;
use crate::client::path;
use crate::connectors::text;
use crate::exit::Failure;
use crate::names;
use crate::show::{Format, View};
use clap::ValueEnum;
use clap_complete::ArgValueCandidates;
use serde_json::{Value, json};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Scope {
    Worker,
    Cluster,
}

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The logger's name, "root" for all
    #[arg(value_name = "LOGGER", add = ArgValueCandidates::new(names::loggers))]
    name: String,
    /// The level: OFF, ERROR, WARN, INFO, DEBUG, TRACE
    #[arg(short, long)]
    level: String,
    /// This worker alone, or all of its cluster
    #[arg(short, long, value_enum, default_value = "worker", ignore_case = true)]
    scope: Scope,
}

pub(super) fn run(args: &Args, session: &Session) -> Result<(), Failure> {
    let Session { client, out } = session;
    let scope = if args.scope == Scope::Cluster { "?scope=cluster" } else { "" };
    let path = format!("{}{scope}", path(&["admin", "loggers", &args.name]));
    let answer = client.send("PUT", &path, Some(&json!({ "level": args.level })))?.json()?;
    let changed: Vec<String> = answer.as_array().into_iter().flatten().map(text).collect();
    if out.format != Format::Table {
        let json = if answer.is_null() { json!([]) } else { answer };
        return out.show(View { json, text: String::new().into(), names: changed });
    }
    match &answer {
        Value::Array(list) if list.is_empty() => out.done("No logger had another level"),
        Value::Array(_) => {
            out.done(&format!("Updated {} logger(s): {}", changed.len(), changed.join(", ")))
        }
        _ => out.done(&format!("Updated {} in the whole cluster", args.name)),
    }
}
