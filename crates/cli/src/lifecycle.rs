//! `copycat pause`, `resume`, `stop` and `delete`.

use crate::ask::{Ask, Session};
use crate::connectors::{Chosen, ask, at, for_each};
use crate::exit::Failure;
use crate::show::{Format, View};
use serde_json::json;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    ask: Ask,
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// The connectors
    #[command(visible_alias = "connectors")]
    Connector(Chosen),
}

#[derive(Debug, clap::Args)]
pub(crate) struct DeleteArgs {
    #[command(flatten)]
    ask: Ask,
    #[command(subcommand)]
    what: Deleted,
}

#[derive(Debug, clap::Subcommand)]
enum Deleted {
    /// Delete connectors; their offsets stay unless they are to go too
    #[command(visible_alias = "connectors")]
    Connector(DeletedConnector),
    /// Delete the offsets of stopped connectors, so that they read from the start
    Offsets(Chosen),
}

#[derive(Debug, clap::Args)]
struct DeletedConnector {
    #[command(flatten)]
    chosen: Chosen,
    /// Delete their offsets too: each is stopped first
    #[arg(long)]
    offsets: bool,
}

/// What is done to connectors.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Action {
    Pause,
    Resume,
    Stop,
}

pub(crate) fn run(action: Action, args: &Args) -> Result<(), Failure> {
    let session = args.ask.open()?;
    let What::Connector(chosen) = &args.what;
    let (below, done) = match action {
        Action::Pause => ("/pause", "Paused"),
        Action::Resume => ("/resume", "Resumed"),
        Action::Stop => ("/stop", "Stopped"),
    };
    each(chosen, &session, "PUT", below, done)
}

pub(crate) fn delete(args: &DeleteArgs) -> Result<(), Failure> {
    let session = args.ask.open()?;
    match &args.what {
        Deleted::Connector(DeletedConnector { chosen, offsets: false }) => {
            each(chosen, &session, "DELETE", "", "Deleted")
        }
        Deleted::Connector(DeletedConnector { chosen, offsets: true }) => {
            with_offsets(chosen, &session)
        }
        Deleted::Offsets(chosen) => offsets(chosen, &session),
    }
}

fn each(
    chosen: &Chosen,
    session: &Session,
    method: &str,
    below: &str,
    done: &str,
) -> Result<(), Failure> {
    let names = chosen.resolve(&session.client)?;
    for_each(&names, |name| {
        ask(&session.client, method, name, below, None)?;
        session.out.done(&format!("{done} connector {name}"))
    })?;
    names_done(session, names)
}

/// What programs are told of connectors to which something was done.
pub(crate) fn names_done(session: &Session, names: Vec<String>) -> Result<(), Failure> {
    if names.is_empty() {
        session.out.note("no connector matches");
    }
    if session.out.format == Format::Table {
        return Ok(());
    }
    session.out.show(View { json: json!(names), text: String::new().into(), names })
}

/// By steps that every worker of Kafka Connect understands.
fn with_offsets(chosen: &Chosen, session: &Session) -> Result<(), Failure> {
    let names = chosen.resolve(&session.client)?;
    for_each(&names, |name| {
        ask(&session.client, "PUT", name, "/stop", None)?;
        ask(&session.client, "DELETE", name, "/offsets", None)?;
        ask(&session.client, "DELETE", name, "", None)?;
        session.out.done(&format!("Deleted connector {name} and its offsets"))
    })?;
    names_done(session, names)
}

fn offsets(chosen: &Chosen, session: &Session) -> Result<(), Failure> {
    let names = chosen.resolve(&session.client)?;
    for_each(&names, |name| {
        let answer = ask(&session.client, "DELETE", name, "/offsets", None);
        let answer = answer.map_err(|failure| must_be_stopped(name, failure))?;
        session.out.done(&format!("{name}: {}", at(&answer, "/message")))
    })?;
    names_done(session, names)
}

/// Offsets move while nobody uses them.
pub(crate) fn must_be_stopped(name: &str, failure: Failure) -> Failure {
    if failure.hint.is_none() && failure.message.contains("STOPPED") {
        return failure.hint(format!("copycat stop connector {name}"));
    }
    failure
}
