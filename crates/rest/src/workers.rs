//! `/workers`: the workers of the cluster, as the one that is asked knows them, and draining one.
//!
//! A request to drain a worker may be sent to any: it is passed on to the one that is meant, which
//! alone can say of itself that it drains.

use crate::codes::Code;
use crate::dispatch::dispatch;
use crate::errors::RestError;
use crate::forward;
use crate::peers::Presences;
use crate::request::Asked;
use crate::routes::{Found, Operation};
use crate::server::App;
use crate::status;
use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use herder::{At, HeldTask, View, WorkerState, WorkerView};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long the worker that was asked waits until it has read what the one that is meant has said.
const READ_WAIT: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(10);

pub(crate) async fn list(app: &App, asked: &Asked) -> Result<Response, RestError> {
    let view = app.herder.view();
    let workers = known(app, asked, &view).await?;
    let others = app.presences(&urls_of_others(&workers)).await;
    let body = |worker: &WorkerView| worker_body(app, &view, worker, &others);
    Ok(Json(workers.iter().map(body).collect::<Vec<_>>()).into_response())
}

/// The workers; a worker without a cluster is the only one.
async fn known(app: &App, asked: &Asked, view: &View) -> Result<Vec<WorkerView>, RestError> {
    if let Some(workers) = app.herder.workers().await? {
        return Ok(workers);
    }
    let tasks = view.connectors.iter().flat_map(|(name, connector)| {
        let name: Arc<str> = name.as_str().into();
        let held = move |task| HeldTask { connector: name.clone(), task, leaving: false };
        (0..connector.tasks.len() as u32).map(held)
    });
    Ok(vec![WorkerView {
        id: app.facts.worker_id.as_str().into(),
        run: None,
        url: format!("{}://{}", asked.scheme(), app.facts.worker_id).into(),
        version: app.facts.version.as_str().into(),
        state: WorkerState::Active,
        leader: true,
        here: true,
        partitions: BTreeSet::new(),
        troubles: Vec::new(),
        heard_ms: None,
        tasks: tasks.collect(),
    }])
}

fn worker_body(app: &App, view: &View, worker: &WorkerView, others: &Presences) -> Value {
    let mut troubles = worker.troubles.clone();
    let at = worker.run.map(|run| At { url: worker.url.clone(), run, dead: false });
    let lost = at.and_then(|at| others.lost(&at));
    troubles.extend(lost.map(|lost| lost.of(&format!("this worker ({})", worker.url))));
    let task = |held: &HeldTask| {
        let connector = view.connectors.get(&*held.connector);
        let body =
            connector.and_then(|c| status::task_body(c, held.task, &app.facts.worker_id, others));
        // A task that is on its way out may be of no connector any more.
        let state = body.and_then(|body| body.get("state").cloned());
        json!({
            "connector": &*held.connector,
            "task": held.task,
            "state": state.unwrap_or_else(|| json!("UNASSIGNED")),
            "leaving": held.leaving,
        })
    };
    json!({
        "id": &*worker.id,
        "url": &*worker.url,
        "version": &*worker.version,
        // A number of 64 bits is not safe in every reader of JSON.
        "run": worker.run.map(|run| format!("{run:016x}")),
        "state": worker.state.name(),
        "leader": worker.leader,
        "here": worker.here,
        "partitions": worker.partitions,
        "troubles": troubles,
        "last_heard": worker.heard_ms,
        "tasks": worker.tasks.iter().map(task).collect::<Vec<_>>(),
    })
}

/// Answers here, or through the worker that is meant.
///
/// # Errors
/// There is no such worker, it cannot be reached, or it refuses.
pub(crate) async fn answer(app: &App, asked: &Asked, found: Found) -> Result<Response, RestError> {
    let name = found.name.clone();
    if name == app.facts.worker_id {
        return dispatch(app, asked, Some(found)).await;
    }
    let workers = known(app, asked, &app.herder.view()).await?;
    let meant = workers.iter().filter(|worker| *worker.id == *name);
    // Of several starts of one address the last one is there.
    let meant = meant.max_by_key(|worker| worker.run);
    let operation = found.place.operation(asked.method.as_str()).unwrap_or(Operation::Drain);
    let passed_on = forward::was_passed_on(app, asked, operation)?;
    let Some(meant) = meant.filter(|_| !passed_on) else {
        let names: BTreeSet<&str> = workers.iter().map(|worker| &*worker.id).collect();
        let names = names.into_iter().collect::<Vec<_>>().join(", ");
        return Err(RestError::new(Code::WorkerNotFound, format!("Unknown worker: {name}"))
            .hint(format!("there are {names}")));
    };
    if !is_there(meant.state) {
        let message = format!("worker {name} is {}: it cannot be asked", meant.state.name());
        return Err(RestError::new(Code::WorkerUnreached, message)
            .hint("its tasks go to other workers by themselves"));
    }
    let response = forward::ask_worker(app, asked, operation, &name, &meant.url).await?;
    if response.status().is_success() {
        let drains = operation == Operation::Drain;
        read_of(app, &name, meant.run, drains).await;
    }
    Ok(response)
}

/// Where the other workers are asked that are there.
pub(crate) fn urls_of_others(workers: &[WorkerView]) -> BTreeSet<Arc<str>> {
    let others = workers.iter().filter(|worker| !worker.here && is_there(worker.state));
    others.map(|worker| worker.url.clone()).filter(|url| !url.is_empty()).collect()
}

/// Whether one that is so answers.
fn is_there(state: WorkerState) -> bool {
    use WorkerState as S;
    match state {
        S::Active | S::Draining | S::Waiting => true,
        S::Ending | S::Restarting | S::Left | S::Lost => false,
    }
}

/// Waits until this worker has read what the other has said, so that the next question finds it.
async fn read_of(app: &App, name: &str, run: Option<u64>, drains: bool) {
    let end = Instant::now() + READ_WAIT;
    let read = |worker: &WorkerView| {
        let same = *worker.id == *name && worker.run == run;
        same && (worker.state == WorkerState::Draining) == drains
    };
    while Instant::now() < end {
        match app.herder.workers().await {
            Ok(Some(workers)) if !workers.iter().any(read) => tokio::time::sleep(LOOK).await,
            _ => return,
        }
    }
}

/// Of this worker itself.
pub(crate) async fn drain(app: &App, asked: &Asked, drain: bool) -> Result<Response, RestError> {
    let force = asked.flag("force", false);
    app.herder.drain(drain, force).await.map_err(|error| {
        let error = RestError::from(error);
        match error.code {
            Code::NoTaker => error.hint(
                "start another worker first; stopping this one needs no draining: its tasks wait for it, \
                 or stop with it",
            ),
            _ => error,
        }
    })?;
    Ok(StatusCode::ACCEPTED.into_response())
}
