//! Names that a shell can complete, asked of the worker that the environment or the current context
//! names. A worker that does not answer at once has none: completion never waits and never complains.

use crate::ask::Server;
use crate::client::path;
use crate::contexts::Contexts;
use clap_complete::CompletionCandidate;
use serde_json::Value;

type Candidates = Vec<CompletionCandidate>;

pub(crate) fn contexts() -> Candidates {
    candidates(Contexts::load().map(|contexts| contexts.all.keys().cloned().collect()).ok())
}

pub(crate) fn connectors() -> Candidates {
    candidates(ask("/connectors").as_ref().map(strings))
}

/// `connector/0`.
pub(crate) fn tasks() -> Candidates {
    let answer = ask("/connectors?expand=status");
    let of = |(name, entry): (&String, &Value)| -> Vec<String> {
        let tasks = entry.pointer("/status/tasks").and_then(Value::as_array);
        let ids = tasks.into_iter().flatten().filter_map(|task| task.get("id"));
        ids.map(|id| format!("{name}/{id}")).collect()
    };
    let tasks = |answer: &Value| answer.as_object().map(|all| all.iter().flat_map(of).collect());
    candidates(answer.as_ref().and_then(tasks))
}

pub(crate) fn plugins() -> Candidates {
    let classes = |answer: Value| -> Vec<String> {
        let class = |plugin: &Value| plugin.get("class")?.as_str().map(str::to_owned);
        answer.as_array().into_iter().flatten().filter_map(class).collect()
    };
    candidates(ask("/connector-plugins?connectorsOnly=false").map(classes))
}

pub(crate) fn loggers() -> Candidates {
    let answer = ask(&path(&["admin", "loggers"]));
    let names = |answer: &Value| answer.as_object().map(|all| all.keys().cloned().collect());
    candidates(answer.as_ref().and_then(names))
}

pub(crate) fn workers() -> Candidates {
    let ids = |answer: Value| -> Vec<String> {
        let id = |worker: &Value| worker.get("id")?.as_str().map(str::to_owned);
        answer.as_array().into_iter().flatten().filter_map(id).collect()
    };
    candidates(ask("/workers").map(ids))
}

fn ask(path: &str) -> Option<Value> {
    Server::impatient().ok()?.get(path).ok()
}

fn strings(list: &Value) -> Vec<String> {
    let list = list.as_array().into_iter().flatten();
    list.filter_map(|name| name.as_str().map(str::to_owned)).collect()
}

fn candidates(names: Option<Vec<String>>) -> Candidates {
    names.unwrap_or_default().into_iter().map(CompletionCandidate::new).collect()
}
