//! The body of `GET /connectors/{name}/status`.

use herder::{ConnectorView, Target};
use runtime::{Counters, Retrying, State, TaskStatus};
use serde_json::{Map, Value, json};
use std::time::{SystemTime, UNIX_EPOCH};

/// Connect's status, with our `copycat` member in each task: counters, and while something is
/// retried RETRYING, why, since when and when next.
pub(crate) fn body(name: &str, view: &ConnectorView, worker_id: &str, version: &str) -> Value {
    let state = match (&view.failure, view.target) {
        (Some(_), _) => "FAILED",
        (None, Target::Started) => "RUNNING",
        (None, Target::Stopped) => "STOPPED",
    };
    let mut connector = json!({ "state": state, "worker_id": worker_id, "version": version });
    if let (Some(trace), Some(connector)) = (&view.failure, connector.as_object_mut()) {
        connector.insert("trace".to_owned(), json!(trace));
    }
    let statuses = view.tasks.iter().map(|task| task.status.get());
    let tasks: Vec<Value> =
        (0..).zip(statuses).map(|(id, status)| task(id, &status, worker_id, version)).collect();
    let direction = view.direction.name();
    json!({ "name": name, "connector": connector, "tasks": tasks, "type": direction })
}

fn task(id: u32, status: &TaskStatus, worker_id: &str, version: &str) -> Value {
    let mut task = Map::new();
    task.insert("id".to_owned(), json!(id));
    task.insert("state".to_owned(), json!(status.state.name()));
    task.insert("worker_id".to_owned(), json!(worker_id));
    task.insert("version".to_owned(), json!(version));
    if let Some(trace) = &status.trace {
        task.insert("trace".to_owned(), json!(trace));
    }
    task.insert("copycat".to_owned(), ours(status));
    Value::Object(task)
}

fn ours(status: &TaskStatus) -> Value {
    let Counters { records_read, records_stored, records_reported, values_ignored } =
        status.counters;
    let state = match (&status.retrying, status.state) {
        (Some(_), State::Running) => "RETRYING",
        (_, state) => state.name(),
    };
    let mut ours = json!({
        "state": state,
        "records_read": records_read,
        "records_stored": records_stored,
        "records_reported": records_reported,
        "values_ignored": values_ignored,
    });
    if let (Some(notice), Some(ours)) = (&status.notice, ours.as_object_mut()) {
        ours.insert("notice".to_owned(), json!(notice));
    }
    if let (Some(retrying), Some(ours)) = (&status.retrying, ours.as_object_mut()) {
        let Retrying { reason, sqlstate, attempts, since, next_attempt } = retrying;
        ours.insert("reason".to_owned(), json!(reason));
        ours.insert("sqlstate".to_owned(), json!(sqlstate));
        ours.insert("attempts".to_owned(), json!(attempts));
        ours.insert("since_ms".to_owned(), json!(epoch_ms(*since)));
        ours.insert("next_attempt_ms".to_owned(), json!(epoch_ms(*next_attempt)));
    }
    ours
}

fn epoch_ms(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use config::Props;

    #[test]
    fn a_failed_connector_shows_why_and_a_stopped_one_has_no_tasks() {
        let mut view = ConnectorView {
            direction: runtime::Direction::Sink,
            config: Props::new(),
            target: Target::Started,
            failure: Some("no".to_owned()),
            tasks: Vec::new(),
        };
        let failed = body("c", &view, "h:1", "0");
        assert_eq!(failed["connector"]["state"], "FAILED");
        assert_eq!(failed["connector"]["trace"], "no");
        (view.failure, view.target) = (None, Target::Stopped);
        let stopped = body("c", &view, "h:1", "0");
        assert_eq!(stopped["connector"]["state"], "STOPPED");
        assert_eq!(stopped["connector"].get("trace"), None);
        assert_eq!(stopped["tasks"], json!([]));
    }

    #[test]
    fn retrying_is_told_in_our_member_alone() {
        let status = TaskStatus {
            state: State::Running,
            retrying: Some(Retrying {
                reason: "down".to_owned(),
                sqlstate: Some("57P01".to_owned()),
                attempts: 2,
                since: UNIX_EPOCH,
                next_attempt: UNIX_EPOCH + std::time::Duration::from_millis(5),
            }),
            notice: Some("waiting".to_owned()),
            ..TaskStatus::default()
        };
        let task = task(0, &status, "h:1", "0");
        assert_eq!(task["state"], "RUNNING");
        assert_eq!(task["copycat"]["state"], "RETRYING");
        assert_eq!(task["copycat"]["next_attempt_ms"], 5);
        assert_eq!(task["copycat"]["sqlstate"], "57P01");
        assert_eq!(task["copycat"]["notice"], "waiting");
    }
}
