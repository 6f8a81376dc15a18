//! `GET /metrics`: everything that is measured, for Prometheus.
//!
//! What tasks count is read where it stands; no task waits for a reader. The text is made on a thread of
//! its own, since with thousands of tasks it is long.

use crate::codes::Code;
use crate::errors::RestError;
use crate::request::Asked;
use crate::server::{App, Facts};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use herder::{ConnectorView, Herder, Leader, Target, TaskView, View};
use runtime::Direction;
use runtime::metrics::{Format, Metric as M, Page, Room};

/// # Errors
/// The thread that writes the text has failed.
pub(crate) async fn answer(app: &App, asked: &Asked) -> Result<Response, RestError> {
    let format = Format::wanted(&asked.accept());
    let (herder, facts) = (app.herder.clone(), app.facts.clone());
    let text = tokio::task::spawn_blocking(move || text(&herder, &facts, format)).await;
    let text = text.map_err(|error| RestError::new(Code::Internal, error.to_string()))?;
    Ok(([(CONTENT_TYPE, format.content_type())], text).into_response())
}

fn text(herder: &Herder, facts: &Facts, format: Format) -> String {
    let mut page = Page::new(format);
    let build = [facts.version.as_str(), facts.commit.as_str()];
    page.add(M::BuildInfo, &build, 1.0);
    page.add(M::AppInfo, &build, 1.0);
    herder.worker().write_metrics(&mut page);
    let view = herder.view();
    let mut room = Room::default();
    let (mut connectors, mut tasks) = (0, 0);
    for (name, connector) in &view.connectors {
        connectors += usize::from(connector.elsewhere.is_none());
        write_connector(&mut page, name, connector);
        for (number, task) in (0..).zip(&connector.tasks) {
            // Each worker of a cluster counts what it has: whoever adds them up has all.
            if !is_own(task) {
                continue;
            }
            tasks += 1;
            let state = connector.task_state(task);
            let (label, state_label) = (u32::to_string(&number), state.to_lowercase());
            page.add(M::TaskStatus, &[name, &label, &state_label], 1.0);
            let paused = state == "PAUSED";
            task.status.metrics().write(&mut page, name, number, paused, &mut room);
        }
    }
    page.add(M::ConnectorCount, &[], connectors as f64);
    page.add(M::TaskCount, &[], f64::from(tasks));
    write_cluster(&mut page, &view);
    room.write(&mut page);
    page.finish()
}

/// Whether this worker has the task.
fn is_own(task: &TaskView) -> bool {
    task.elsewhere.is_none() && !task.unplaced
}

/// How a worker of a cluster stands among the others.
fn write_cluster(page: &mut Page, view: &View) {
    let Some(standing) = &view.standing else { return };
    if let Some(generation) = standing.generation {
        page.add(M::ClusterEpoch, &[], f64::from(generation));
    }
    page.add(M::ClusterRebalances, &[], standing.joins as f64);
    page.add(M::ClusterRebalancing, &[], f64::from(u8::from(!standing.seated)));
    let since = standing.joined.map_or(f64::INFINITY, |at| at.elapsed().as_secs_f64() * 1e3);
    page.add(M::ClusterSince, &[], since);
    let leads = standing.seated && view.leader == Leader::Here && !view.ended;
    page.add(M::ClusterLeads, &[], f64::from(u8::from(leads)));
    if let Some(workers) = standing.workers {
        page.add(M::ClusterWorkers, &[], workers as f64);
    }
    let started = view.connectors.values().filter(|c| c.target == Target::Started);
    let waits = |task: &&TaskView| task.unplaced || task.at.as_ref().is_some_and(|at| at.dead);
    let waiting = started.flat_map(|connector| &connector.tasks).filter(waits).count();
    page.add(M::ClusterWaiting, &[], waiting as f64);
}

fn write_connector(page: &mut Page, name: &str, connector: &ConnectorView) {
    if connector.elsewhere.is_none() {
        page.add(M::ConnectorStatus, &[name, &connector.state().to_lowercase()], 1.0);
        let kind = connector.direction.map_or("unknown", Direction::name);
        let class = connector.config.get("connector.class").unwrap_or_default();
        let version = connector.version.unwrap_or("unknown");
        page.add(M::ConnectorInfo, &[name, kind, class, version], 1.0);
    }
    let own = connector.tasks.iter().filter(|task| is_own(task));
    let states: Vec<&str> = own.map(|task| connector.task_state(task)).collect();
    page.add(M::ConnectorTasks, &[name], states.len() as f64);
    for (metric, state) in [
        (M::ConnectorRunning, "RUNNING"),
        (M::ConnectorPaused, "PAUSED"),
        (M::ConnectorFailed, "FAILED"),
        (M::ConnectorUnassigned, "UNASSIGNED"),
        (M::ConnectorDestroyed, "DESTROYED"),
        (M::ConnectorRestarting, "RESTARTING"),
    ] {
        let count = states.iter().filter(|other| **other == state).count();
        page.add(metric, &[name], count as f64);
    }
}
