//! `copycat drain`: a worker gives its tasks to the others, and is waited for.
//!
//! Invariant: what was asked of the worker stays asked when this command ends early; it says so.

use super::{all, id};
use crate::ask::{Ask, Session};
use crate::client::path;
use crate::connectors::{at, tasks, text};
use crate::exit::Failure;
use crate::names;
use crate::show::{Format, View};
use crate::top::wait_until;
use clap_complete::ArgValueCandidates;
use serde_json::Value;
use std::time::{Duration, Instant};

/// Between two looks at the workers.
const LOOK: Duration = Duration::from_millis(250);
/// Tasks that are named in a line of progress.
const NAMED: usize = 5;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    ask: Ask,
    /// The worker, as `copycat workers` names it: HOST:PORT
    #[arg(value_name = "WORKER", required_unless_present = "this",
        add = ArgValueCandidates::new(names::workers))]
    worker: Option<String>,
    /// The worker that is asked, whatever its name: for hooks that run beside it
    #[arg(long, conflicts_with = "worker")]
    this: bool,
    /// Let it take tasks again
    #[arg(long, conflicts_with = "force")]
    undo: bool,
    /// Drain it though no other worker is active: its tasks stay until there is one
    #[arg(long)]
    force: bool,
    /// Seconds to wait until it has no task; 0 only asks for it
    #[arg(long, value_name = "SECONDS", default_value_t = 300,
        value_parser = clap::value_parser!(u64).range(0..=86_400))]
    timeout: u64,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let session = args.ask.open()?;
    let name = match &args.worker {
        Some(name) => name.clone(),
        None => here(&all(&session.client)?)?,
    };
    let method = if args.undo { "DELETE" } else { "PUT" };
    let mut target = path(&["workers", &name, "drain"]);
    if args.force {
        target.push_str("?force=true");
    }
    let answer = session.client.send(method, &target, None)?;
    if answer.status == 404 {
        // Of a worker that has no such route the list says so, with what to do.
        let _known = all(&session.client)?;
    }
    answer.json().map_err(|failure| {
        let alone = answer.status == 409 && failure.message.contains("only active");
        if alone { failure.hint(ALONE) } else { failure }
    })?;
    if args.undo {
        session.out.done(&format!("{name} takes tasks again"))?;
        return finish(&session, &name);
    }
    if args.timeout == 0 {
        session.out.done(&format!("{name} drains"))?;
        return finish(&session, &name);
    }
    wait(&session, &name, Duration::from_secs(args.timeout))?;
    session.out.done(&format!("{name} has no task any more"))?;
    finish(&session, &name)
}

const ALONE: &str = "start another worker first, or stop this one: a stop needs no draining, its tasks \
                     stop cleanly and go on where they were; --force drains it as soon as there is another";

/// What programs are told of the worker.
fn finish(session: &Session, name: &str) -> Result<(), Failure> {
    if session.out.format == Format::Table {
        return Ok(());
    }
    let workers = all(&session.client)?.into_iter();
    let json: Value = workers.filter(|worker| id(worker) == name).collect();
    session.out.show(View { json, text: String::new().into(), names: vec![name.to_owned()] })
}

/// The worker that answers.
fn here(workers: &[Value]) -> Result<String, Failure> {
    let here = |worker: &&Value| worker.get("here").and_then(Value::as_bool) == Some(true);
    let found = workers.iter().find(here).map(|worker| id(worker).to_owned());
    found.ok_or_else(|| Failure::unavailable("the worker has no place in its cluster yet"))
}

/// How far a worker is.
#[derive(Debug, PartialEq)]
enum Left {
    Nothing,
    Tasks(Vec<String>),
    /// It does not drain any more.
    Undone,
    /// It ended while it had tasks.
    Ended,
}

fn left(workers: &[Value], name: &str) -> Left {
    let of_name = || workers.iter().filter(|worker| id(worker) == name);
    let has = |word: &str| of_name().any(|worker| at(worker, "/state") == word);
    let task = |task: &Value| format!("{}/{}", at(task, "/connector"), text(&task["task"]));
    let held: Vec<String> = of_name().flat_map(tasks).map(task).collect();
    match (has("ACTIVE"), has("DRAINING")) {
        (true, _) => Left::Undone,
        _ if held.is_empty() => Left::Nothing,
        (_, true) => Left::Tasks(held),
        _ => Left::Ended,
    }
}

fn wait(session: &Session, name: &str, timeout: Duration) -> Result<(), Failure> {
    let end = Instant::now() + timeout;
    let mut told = Vec::new();
    loop {
        let workers = all(&session.client)?;
        let held = match left(&workers, name) {
            Left::Nothing => return Ok(()),
            Left::Tasks(held) => held,
            Left::Undone => {
                let message = format!("{name} takes tasks again: it was restarted, or told to");
                return Err(Failure::unavailable(message));
            }
            Left::Ended => {
                let message = format!("{name} has ended before all its tasks had left");
                return Err(Failure::unavailable(message)
                    .hint("they go on elsewhere, or with it once it is back: copycat workers"));
            }
        };
        if held != told {
            session.out.note(&progress(name, &held));
            if told.is_empty() && !workers.iter().any(|w| at(w, "/state") == "ACTIVE") {
                session.out.note("no other worker is active: they stay until there is one");
            }
        }
        if Instant::now() >= end {
            let message = format!(
                "{name} still has {} task(s) after {} s; it goes on draining",
                held.len(),
                timeout.as_secs()
            );
            return Err(Failure::unavailable(message).hint(format!(
                "look at them: copycat workers --tasks; take it back: copycat drain {name} --undo"
            )));
        }
        told = held;
        wait_until(Instant::now() + LOOK);
    }
}

fn progress(name: &str, held: &[String]) -> String {
    let named = held.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    let more = if held.len() > NAMED { ", …" } else { "" };
    format!("{name} has {} task(s) left: {named}{more}", held.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn worker(id: &str, state: &str, tasks: usize) -> Value {
        let tasks: Vec<Value> =
            (0..tasks).map(|task| json!({ "connector": "c", "task": task })).collect();
        json!({ "id": id, "state": state, "tasks": tasks })
    }

    #[test]
    fn a_worker_is_empty_when_no_start_of_it_has_tasks() {
        let left = |workers: &[Value]| left(workers, "a:1");
        let other = worker("b:1", "ACTIVE", 4);
        assert_eq!(left(&[worker("a:1", "DRAINING", 0), other.clone()]), Left::Nothing);
        assert_eq!(left(std::slice::from_ref(&other)), Left::Nothing);
        let held = left(&[worker("a:1", "DRAINING", 2), other.clone()]);
        assert_eq!(held, Left::Tasks(vec!["c/0".to_owned(), "c/1".to_owned()]));
        assert_eq!(left(&[worker("a:1", "RESTARTING", 1), other.clone()]), Left::Ended);
        let again = [worker("a:1", "LOST", 0), worker("a:1", "ACTIVE", 1), other];
        assert_eq!(left(&again), Left::Undone);
    }

    #[test]
    fn long_lists_of_tasks_are_cut() {
        let held: Vec<String> = (0..7).map(|n| format!("c/{n}")).collect();
        assert_eq!(progress("w:1", &held[..1]), "w:1 has 1 task(s) left: c/0");
        assert_eq!(progress("w:1", &held), "w:1 has 7 task(s) left: c/0, c/1, c/2, c/3, c/4, …");
    }
}
