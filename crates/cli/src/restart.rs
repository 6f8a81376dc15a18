//! `copycat restart`: connectors, their tasks, or one task.

use crate::ask::{Ask, Session};
use crate::connectors::{Chosen, ask, at, for_each, task_name, tasks};
use crate::exit::Failure;
use crate::lifecycle::names_done;
use crate::names;
use clap::ValueEnum;
use clap_complete::ArgValueCandidates;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    ask: Ask,
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Restart connectors, with their tasks if that is asked for
    #[command(visible_alias = "connectors")]
    Connector(Connector),
    /// Restart one task
    Task(Task),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Tasks {
    All,
    Failed,
}

#[derive(Debug, clap::Args)]
struct Connector {
    #[command(flatten)]
    chosen: Chosen,
    /// Restart tasks too: all, or those that have failed
    #[arg(short, long, value_enum, ignore_case = true)]
    tasks: Option<Tasks>,
    /// The same as --tasks all
    #[arg(long, conflicts_with = "tasks")]
    include_tasks: bool,
    /// Restart only what has failed, connector and tasks
    #[arg(long, conflicts_with_all = ["tasks"])]
    failed: bool,
}

#[derive(Debug, clap::Args)]
struct Task {
    /// The task: its connector's name, a slash, its number
    #[arg(value_name = "CONNECTOR/N", add = ArgValueCandidates::new(names::tasks))]
    task: String,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let session = args.ask.open()?;
    match &args.what {
        What::Connector(args) => connectors(args, &session),
        What::Task(args) => task(args, &session),
    }
}

fn connectors(args: &Connector, session: &Session) -> Result<(), Failure> {
    let failed = args.failed || args.tasks == Some(Tasks::Failed);
    let tasks_too = failed || args.include_tasks || args.tasks.is_some();
    let below = if tasks_too {
        format!("/restart?includeTasks=true&onlyFailed={failed}")
    } else {
        "/restart".to_owned()
    };
    let chosen = args.chosen.resolve(&session.client)?;
    for_each(&chosen, |name| {
        let answer = ask(&session.client, "POST", name, &below, None)?;
        let restarted = |status: &str| status == "RESTARTING";
        let count = tasks(&answer).filter(|task| restarted(at(task, "/state"))).count();
        let connector = !tasks_too || restarted(at(&answer, "/connector/state"));
        session.out.done(&match (connector, tasks_too, count) {
            (true, false, _) => format!("Restarted connector {name}"),
            (true, true, _) => format!("Restarted connector {name} and {count} task(s)"),
            (false, _, 0) => format!("Nothing of connector {name} has failed"),
            (false, _, _) => format!("Restarted {count} task(s) of connector {name}"),
        })
    })?;
    names_done(session, chosen)
}

fn task(args: &Task, session: &Session) -> Result<(), Failure> {
    let (name, id) = task_name(&args.task)?;
    ask(&session.client, "POST", name, &format!("/tasks/{id}/restart"), None)?;
    session.out.done(&format!("Restarted task {}", args.task))?;
    names_done(session, vec![args.task.clone()])
}
