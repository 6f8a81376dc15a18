//! `copycat workers` and `copycat drain`: the workers of a cluster, and one emptied before maintenance.

pub(crate) mod drain;

use crate::ask::{Ask, Session};
use crate::client::Client;
use crate::connectors::{at, tasks, text};
use crate::exit::Failure;
use crate::show::{Cell, Table, View};
use serde_json::Value;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    ask: Ask,
    /// A line for each task
    #[arg(short, long)]
    tasks: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let Session { client, out } = args.ask.open()?;
    let workers = all(&client)?;
    let table = if args.tasks { by_task(&workers) } else { by_worker(&workers) };
    for worker in &workers {
        let troubles = worker.get("troubles").and_then(Value::as_array);
        for trouble in troubles.into_iter().flatten() {
            out.note(&format!("{}: {}", id(worker), text(trouble)));
        }
    }
    let names = workers.iter().map(|worker| id(worker).to_owned()).collect();
    out.show(View { text: table.into(), names, json: workers.into() })
}

fn by_worker(workers: &[Value]) -> Table {
    let mut table = Table::new(&["WORKER", "STATE", "LEADER", "TASKS", "VERSION", "URL"]);
    for worker in workers {
        let leads = worker.get("leader").and_then(Value::as_bool) == Some(true);
        table.row([
            Cell::of(id(worker)),
            Cell::state(at(worker, "/state")),
            Cell::of(if leads { "yes" } else { "" }),
            Cell::of(&tasks(worker).count().to_string()),
            Cell::of(at(worker, "/version")),
            Cell::of(at(worker, "/url")),
        ]);
    }
    table
}

fn by_task(workers: &[Value]) -> Table {
    let mut table = Table::new(&["WORKER", "CONNECTOR", "TASK", "STATE", "LEAVING"]);
    for worker in workers {
        for task in tasks(worker) {
            let leaves = task.get("leaving").and_then(Value::as_bool) == Some(true);
            table.row([
                Cell::of(id(worker)),
                Cell::of(at(task, "/connector")),
                Cell::of(&text(&task["task"])),
                Cell::state(at(task, "/state")),
                Cell::of(if leaves { "yes" } else { "" }),
            ]);
        }
    }
    table
}

fn id(worker: &Value) -> &str {
    at(worker, "/id")
}

/// The workers of the cluster, as the one that is asked knows them.
///
/// # Errors
/// It does not answer, or is a worker of Kafka Connect, which tells of no others.
fn all(client: &Client) -> Result<Vec<Value>, Failure> {
    let answer = client.send("GET", "/workers", None)?;
    if answer.status == 404 {
        return Err(Failure::wrong_input(format!("{} tells of no workers", client.base())).hint(
            "workers and drain are for workers of Copycat; copycat get tasks says where tasks run in \
             every cluster",
        ));
    }
    match answer.json()? {
        Value::Array(workers) => Ok(workers),
        _ => Err(Failure::unavailable("the worker answers with no list of workers")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn workers_and_their_tasks_are_lines() {
        let task = json!({ "connector": "c", "task": 3, "state": "RUNNING", "leaving": true });
        let workers = [
            json!({ "id": "a:1", "url": "http://a:1", "version": "1", "state": "DRAINING",
                "leader": true, "tasks": [task] }),
            json!({ "id": "b:1", "url": "http://b:1", "version": "1", "state": "ACTIVE",
                "leader": false, "tasks": [] }),
        ];
        assert_eq!(
            by_worker(&workers).render(false),
            "WORKER  STATE     LEADER  TASKS  VERSION  URL\n\
             a:1     DRAINING  yes     1      1        http://a:1\n\
             b:1     ACTIVE            0      1        http://b:1\n"
        );
        assert_eq!(
            by_task(&workers).render(false),
            "WORKER  CONNECTOR  TASK  STATE    LEAVING\na:1     c          3     RUNNING  yes\n"
        );
    }
}
