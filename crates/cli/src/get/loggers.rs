//! `copycat get loggers` and `copycat get logger NAME`.

use crate::ask::Session;
use crate::client::path;
use crate::connectors::at;
use crate::exit::Failure;
use crate::names;
use crate::show::{Cell, Table, View};
use clap_complete::ArgValueCandidates;
use serde_json::{Value, json};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The logger's name
    #[arg(value_name = "LOGGER", add = ArgValueCandidates::new(names::loggers))]
    name: String,
}

pub(super) fn list(session: &Session) -> Result<(), Failure> {
    let answer = session.client.get("/admin/loggers")?;
    let loggers = answer.as_object().into_iter().flatten();
    let mut table = Table::new(&["LOGGER", "LEVEL"]);
    let mut names = Vec::new();
    for (name, logger) in loggers {
        table.row([Cell::of(name), Cell::state(at(logger, "/level"))]);
        names.push(name.clone());
    }
    session.out.show(View { text: table.into(), names, json: answer })
}

pub(super) fn one(args: &Args, session: &Session) -> Result<(), Failure> {
    let name = &args.name;
    let answer = session.client.send("GET", &path(&["admin", "loggers", name]), None)?;
    if answer.status == 404 {
        return Err(unknown(session, name, answer.refusal()));
    }
    let logger = answer.json()?;
    let mut table = Table::new(&["LOGGER", "LEVEL"]);
    table.row([Cell::of(name), Cell::state(at(&logger, "/level"))]);
    let json = json!({ (name): logger });
    session.out.show(View { text: table.into(), names: vec![name.clone()], json })
}

fn unknown(session: &Session, name: &str, refusal: Failure) -> Failure {
    let all = session.client.get("/admin/loggers").unwrap_or(Value::Null);
    let known = all.as_object().into_iter().flatten().map(|(name, _)| name.as_str());
    match config::suggest::nearest(name, known) {
        Some(nearest) => refusal.hint(format!("did you mean {nearest}?")),
        None => refusal.hint("copycat get loggers lists those that there are"),
    }
}
