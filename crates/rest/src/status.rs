//! The body of `GET /connectors/{name}/status`.

use crate::peers::{Lost, Presences};
use herder::{ConnectorView, Target, TaskView};
use runtime::{Counters, Retrying, State, TaskStatus};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// What a restart starts again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Selection {
    pub(crate) connector: bool,
    pub(crate) tasks: BTreeSet<u32>,
}

impl Selection {
    const CONNECTOR: &str = "connector";

    /// As one worker tells another: `connector,0,2`.
    pub(crate) fn text(&self) -> String {
        let connector = self.connector.then(|| Self::CONNECTOR.to_owned());
        let tasks = self.tasks.iter().map(u32::to_string);
        connector.into_iter().chain(tasks).collect::<Vec<_>>().join(",")
    }

    /// None where it is no such text.
    pub(crate) fn read(text: &str) -> Option<Selection> {
        let mut selection = Selection::default();
        for piece in text.split(',').filter(|piece| !piece.is_empty()) {
            match piece {
                Self::CONNECTOR => selection.connector = true,
                task => {
                    selection.tasks.insert(task.parse().ok()?);
                }
            }
        }
        Some(selection)
    }
}

/// The other workers, by their URLs, that have these connectors or run tasks of them as far as they have
/// told.
pub(crate) fn others<'a>(
    connectors: impl IntoIterator<Item = &'a ConnectorView>,
) -> BTreeSet<Arc<str>> {
    let mut urls = BTreeSet::new();
    for connector in connectors {
        let running = |task: &&TaskView| task.status.get().state == State::Running;
        let of_tasks = connector.tasks.iter().filter(running).map(|task| &task.at);
        for at in of_tasks.chain([&connector.at]).flatten() {
            if !at.dead && !urls.contains(&at.url) {
                urls.insert(at.url.clone());
            }
        }
    }
    urls
}

/// Connect's status, with our `copycat` member in each task: counters, and while something is
/// retried RETRYING, why, since when and when next. What is `restarting` says so, and what ran on a
/// worker that is lost is not said to run.
pub(crate) fn body(
    name: &str,
    view: &ConnectorView,
    worker_id: &str,
    (restarting, others): (Option<&Selection>, &Presences),
) -> Value {
    let restarts = restarting.is_some_and(|selection| selection.connector);
    let lost = view.at.as_ref().and_then(|at| others.lost(at)).is_some();
    let state = match view.state() {
        _ if restarts => "RESTARTING",
        "RUNNING" if lost => State::Unassigned.name(),
        state => state,
    };
    let version = view.version.filter(|_| view.failure.is_none());
    let own = view.elsewhere.as_deref().unwrap_or(worker_id);
    let mut connector = json!({ "state": state, "worker_id": own, "version": version });
    if let (Some(trace), Some(connector)) = (&view.failure, connector.as_object_mut()) {
        connector.insert("trace".to_owned(), json!(trace));
    }
    let body = |id: u32| {
        let mut body = task_body(view, id, worker_id, others)?;
        if restarting.is_some_and(|selection| selection.tasks.contains(&id)) {
            body["state"] = json!("RESTARTING");
        }
        Some(body)
    };
    let tasks: Vec<Value> = (0..view.tasks.len() as u32).filter_map(body).collect();
    json!({ "name": name, "connector": connector, "tasks": tasks, "type": direction(view) })
}

/// Which way a connector's records go.
pub(crate) fn direction(view: &ConnectorView) -> &'static str {
    view.direction.map_or("unknown", runtime::Direction::name)
}

/// The status of one task; `None` if there is none.
pub(crate) fn task_body(
    view: &ConnectorView,
    id: u32,
    worker_id: &str,
    others: &Presences,
) -> Option<Value> {
    let task = view.tasks.get(id as usize)?;
    let TaskView { restarting, elsewhere, at, .. } = task;
    let status = task.status.get();
    let worker_id = elsewhere.as_deref().unwrap_or(worker_id);
    let at_rest = matches!(status.state, State::Unassigned | State::Destroyed);
    let lost = at.as_ref().and_then(|at| others.lost(at));
    let lost = lost.filter(|_| status.state == State::Running);
    let state = match view.target {
        _ if *restarting => "RESTARTING",
        _ if lost.is_some() => State::Unassigned.name(),
        Target::Paused if at_rest => "PAUSED",
        _ => status.state.name(),
    };
    let version = view.version.filter(|_| status.has_run || state == "PAUSED");
    let mut task = Map::new();
    task.insert("id".to_owned(), json!(id));
    task.insert("state".to_owned(), json!(state));
    task.insert("worker_id".to_owned(), json!(worker_id));
    task.insert("version".to_owned(), json!(version));
    if let Some(trace) = &status.trace {
        task.insert("trace".to_owned(), json!(trace));
    }
    // What another worker counts, only it knows.
    let ours = match (&elsewhere, lost, at) {
        (None, _, _) => ours(&status),
        (Some(worker), Some(lost), _) => ours_lost(worker, lost),
        (Some(_), None, None) => json!({ "state": status.state.name() }),
        (Some(_), None, Some(at)) => json!({ "state": status.state.name(), "more_at": &*at.url }),
    };
    task.insert("copycat".to_owned(), ours);
    Some(Value::Object(task))
}

/// Of a task that is not said to run, though its worker has said so.
fn ours_lost(worker: &str, lost: Lost) -> Value {
    let mut ours = json!({
        "state": State::Unassigned.name(),
        "reason": lost.of(&format!("worker {worker}")),
    });
    if let Lost::Silent(since) | Lost::Anew(since) = lost {
        ours["since_ms"] = json!(epoch_ms(since));
    }
    ours
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
    use herder::At;

    fn view() -> ConnectorView {
        ConnectorView {
            direction: Some(runtime::Direction::Sink),
            config: Props::new(),
            elsewhere: None,
            at: None,
            version: Some("1"),
            target: Target::Started,
            failure: Some("no".to_owned()),
            tasks: Vec::new(),
            topics: Default::default(),
        }
    }

    fn task() -> TaskView {
        TaskView {
            config: Props::new(),
            elsewhere: None,
            at: None,
            unplaced: false,
            restarting: false,
            status: Default::default(),
        }
    }

    #[test]
    fn a_task_elsewhere_has_no_counters_and_says_who_has_them() {
        let mut view = view();
        view.failure = None;
        view.tasks = vec![TaskView { elsewhere: Some("h:2".into()), ..task() }];
        let body = |view: &ConnectorView| task_body(view, 0, "h:1", &Presences::default()).unwrap();
        assert_eq!(body(&view)["worker_id"], "h:2");
        assert_eq!(body(&view)["copycat"], json!({ "state": "UNASSIGNED" }));
        view.tasks[0].at = Some(At { url: "http://h:2".into(), run: 1, dead: false });
        let told = json!({ "state": "UNASSIGNED", "more_at": "http://h:2" });
        assert_eq!(body(&view)["copycat"], told);
        view.tasks[0].elsewhere = None;
        assert_eq!(body(&view)["copycat"]["records_read"], 0);
    }

    #[test]
    fn a_task_of_a_worker_that_is_lost_is_not_said_to_run() {
        let mut view = view();
        view.failure = None;
        let on = |state: State, url: &str| TaskView {
            elsewhere: Some("h:2".into()),
            at: Some(At { url: url.into(), run: 2, dead: false }),
            status: runtime::StatusCell::told(state, None),
            ..task()
        };
        let (there, gone) = ("http://h:3", "http://h:2");
        view.tasks =
            vec![on(State::Running, gone), on(State::Failed, gone), on(State::Running, there)];
        assert_eq!(others([&view]).iter().map(AsRef::as_ref).collect::<Vec<_>>(), [gone, there]);
        let since = UNIX_EPOCH + std::time::Duration::from_millis(7);
        let silent = Presences::of([(gone, 2, Lost::Silent(since)), (there, 2, Lost::Anew(since))]);
        let told = body("c", &view, "h:1", (None, &silent));
        let states = [0, 1, 2].map(|task| told["tasks"][task]["state"].clone());
        assert_eq!(states, ["UNASSIGNED", "FAILED", "RUNNING"]);
        assert_eq!(told["connector"]["state"], "RUNNING");
        view.at = view.tasks[0].at.clone();
        let told = body("c", &view, "h:1", (None, &silent));
        assert_eq!(told["connector"]["state"], "UNASSIGNED");
        let ours = &told["tasks"][0]["copycat"];
        assert_eq!((&ours["state"], &ours["since_ms"]), (&json!("UNASSIGNED"), &json!(7)));
        assert!(ours["reason"].as_str().unwrap().contains("worker h:2 does not answer"));
        assert_eq!(told["tasks"][2]["copycat"]["more_at"], there);
        for (answered, wanted) in [(1, "RUNNING"), (2, "RUNNING"), (3, "UNASSIGNED")] {
            let anew = Presences::of([(gone, answered, Lost::Anew(since))]);
            let task = task_body(&view, 0, "h:1", &anew).unwrap();
            assert_eq!(task["state"], wanted);
        }
        view.tasks[2].at = Some(At { url: there.into(), run: 2, dead: true });
        assert!(!others([&view]).contains(there), "nobody has to ask");
        let task = task_body(&view, 2, "h:1", &Presences::default()).unwrap();
        assert_eq!(task["state"], "UNASSIGNED");
        assert!(task["copycat"]["reason"].as_str().unwrap().contains("is gone"));
    }

    #[test]
    fn a_failed_connector_shows_why_and_a_stopped_one_has_no_tasks() {
        let mut view = view();
        let failed = body("c", &view, "h:1", (None, &Presences::default()));
        assert_eq!(failed["connector"]["state"], "FAILED");
        assert_eq!(failed["connector"]["trace"], "no");
        assert_eq!(failed["connector"]["version"], Value::Null);
        (view.failure, view.target) = (None, Target::Stopped);
        let stopped = body("c", &view, "h:1", (None, &Presences::default()));
        assert_eq!(stopped["connector"]["state"], "STOPPED");
        assert_eq!(stopped["connector"].get("trace"), None);
        assert_eq!(stopped["tasks"], json!([]));
    }

    #[test]
    fn a_selection_is_told_to_another_worker() {
        for (text, connector, tasks) in
            [("", false, vec![]), ("connector", true, vec![]), ("connector,0,7", true, vec![0, 7])]
        {
            let selection = Selection { connector, tasks: tasks.into_iter().collect() };
            assert_eq!(selection.text(), text);
            assert_eq!(Selection::read(text), Some(selection));
        }
        assert_eq!(Selection::read("connector,x"), None);
    }

    #[test]
    fn what_is_restarted_and_what_is_paused_says_so() {
        let mut view = view();
        let task = task();
        (view.failure, view.tasks) = (None, vec![task]);
        let all = Selection { connector: true, tasks: [0].into() };
        let restarting = body("c", &view, "h:1", (Some(&all), &Presences::default()));
        assert_eq!(restarting["connector"]["state"], "RESTARTING");
        assert_eq!(restarting["tasks"][0]["state"], "RESTARTING");
        let none = body("c", &view, "h:1", (Some(&Selection::default()), &Presences::default()));
        assert_eq!(none["connector"]["state"], "RUNNING");
        assert_eq!(none["tasks"][0]["version"], Value::Null);
        view.target = Target::Paused;
        assert_eq!(
            body("c", &view, "h:1", (None, &Presences::default()))["tasks"][0]["state"],
            "PAUSED"
        );
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
        let ours = ours(&status);
        assert_eq!(ours["state"], "RETRYING");
        assert_eq!(ours["reason"], "down");
        assert_eq!(ours["sqlstate"], "57P01");
        assert_eq!(ours["next_attempt_ms"], 5);
        assert_eq!(ours["notice"], "waiting");
    }
}
