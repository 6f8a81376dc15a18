//! `copycat apply`: makes the connectors of files what the files say. What is so already is left alone, so
//! that applying twice restarts nothing.

use crate::ask::{Ask, Session};
use crate::client::path;
use crate::connectors::ask;
use crate::exit::Failure;
use crate::files::Files;
use crate::plan::{self, Plan};
use crate::show::{Format, View};
use crate::validate;
use connector_files::State;
use serde_json::{Map, Value, json};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    files: Files,
    /// Change nothing: let the worker check the configurations, as `validate` does
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    ask: Ask,
}

pub(crate) fn run(args: &Args) -> Result<u8, Failure> {
    let session = args.ask.open()?;
    let named = args.files.read(&session.out)?;
    if args.dry_run {
        return validate::all(&session, named, validate::How::default());
    }
    // Read whole before anything is done, so that a mistake in the last file changes nothing.
    let plans = plan::make(&session.client, named)?;
    for (index, plan) in plans.iter().enumerate() {
        let done = carry_out(&session, plan).map_err(|mut failure| {
            let left = plans.len() - index - 1;
            let source = &plan.named.connector.source;
            failure.message = format!("{source}: {}", failure.message);
            if left > 0 {
                failure.message.push_str(&format!("\n{left} more connector(s) were not applied"));
            }
            failure
        })?;
        session.out.done(&format!("{done} connector {}", plan.named.name))?;
    }
    let out = &session.out;
    if out.format != Format::Table {
        let json = plans.iter().map(Plan::json).collect();
        let names = plans.iter().map(|plan| plan.named.name.clone()).collect();
        out.show(View { json, names, text: String::new().into() })?;
    }
    Ok(0)
}

/// Does what is planned; gives the word for it.
fn carry_out(session: &Session, plan: &Plan) -> Result<&'static str, Failure> {
    if plan.is_nothing() {
        return Ok("Unchanged");
    }
    let client = &session.client;
    let name = &plan.named.name;
    let config = plan.named.connector.config.iter();
    let config: Map<String, Value> = config.map(|(k, v)| (k.to_owned(), json!(v))).collect();
    if plan.create {
        let mut body = json!({ "name": name, "config": config });
        if let (Some((_, state)), Some(body)) = (&plan.state, body.as_object_mut()) {
            body.insert("initial_state".to_owned(), json!(state.name()));
        }
        let answer = client.send("POST", "/connectors", Some(&body))?;
        // Made by somebody else since the plan: no reason to fail.
        if answer.status != 409 {
            answer.json()?;
            return Ok("Created");
        }
    }
    if plan.create || !plan.changes.is_empty() {
        let path = path(&["connectors", name, "config"]);
        client.send("PUT", &path, Some(&Value::Object(config)))?.json()?;
    }
    if let Some((_, state)) = &plan.state {
        let below = match state {
            State::Running => "/resume",
            State::Paused => "/pause",
            State::Stopped => "/stop",
        };
        ask(client, "PUT", name, below, None)?;
    }
    Ok("Updated")
}
