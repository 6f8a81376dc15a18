//! One table: what happened between two samples, and how things are at the second.

use super::metrics::{Counts, Sample, Task};
use crate::connectors::{at, task_state, tasks, text};
use crate::show::{Cell, Table};
use serde_json::{Value, json};
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Row {
    /// The connector, or `connector/0` of a task.
    pub(super) name: String,
    connector: String,
    state: String,
    tasks: usize,
    read_rate: f64,
    stored_rate: f64,
    now: Counts,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Frame {
    pub(super) rows: Vec<Row>,
    /// Connector, task and what it complains of.
    troubles: Vec<(String, String)>,
}

impl Frame {
    pub(super) fn new(before: &Sample, now: &Sample, statuses: &Value, each: bool) -> Frame {
        let seconds = now.at.saturating_duration_since(before.at).as_secs_f64().max(0.001);
        let mut frame = Frame::default();
        for (name, entry) in statuses.as_object().into_iter().flatten() {
            let status = &entry["status"];
            let mut rows: BTreeMap<u64, Row> = BTreeMap::new();
            for task in tasks(status) {
                let id = task["id"].as_u64().unwrap_or_default();
                let key = (name.clone(), id);
                rows.insert(id, row(&key, before, now, seconds, task_state(task)));
                frame.troubles.extend(trouble(name, task));
            }
            let state = at(status, "/connector/state");
            let trace = first_line(at(status, "/connector/trace"));
            if !trace.is_empty() {
                frame.troubles.push((name.clone(), trace));
            }
            if each {
                frame.rows.extend(rows.into_values());
            } else {
                frame.rows.push(joined(name, state, rows.into_values()));
            }
        }
        frame
    }

    /// Leaves out what nobody asked for; without names everything stays.
    pub(super) fn keep(&mut self, names: &[String]) {
        if names.is_empty() {
            return;
        }
        self.rows.retain(|row| names.contains(&row.connector));
        let of = |name: &str| name.rsplit_once('/').map_or(name, |(name, _)| name).to_owned();
        self.troubles.retain(|(name, _)| names.contains(name) || names.contains(&of(name)));
    }

    pub(super) fn text(&self, color: bool) -> String {
        let mut table = Table::new(&[
            "NAME", "STATE", "TASKS", "READ/S", "ROWS/S", "STORED", "LAG", "AGE", "DEAD", "RETRIES",
        ]);
        for row in &self.rows {
            let Counts { stored, dead_letters, retries, lag, age, .. } = row.now;
            table.row([
                Cell::of(&row.name),
                Cell::state(&row.state),
                Cell::of(&row.tasks.to_string()),
                Cell::of(&number(row.read_rate)),
                Cell::of(&number(row.stored_rate)),
                Cell::of(&number(stored)),
                Cell::of(&lag.map_or_else(|| "-".to_owned(), number)),
                Cell::of(&age.map_or_else(|| "-".to_owned(), duration)),
                Cell::of(&number(dead_letters)),
                Cell::of(&number(retries)),
            ]);
        }
        let mut text = table.render(color);
        for (name, reason) in &self.troubles {
            text.push_str(&format!("{name}: {reason}\n"));
        }
        text
    }

    pub(super) fn json(&self) -> Value {
        let row = |row: &Row| {
            let Counts { read, stored, dead_letters, retries, lag, age } = row.now;
            json!({
                "name": row.name,
                "state": row.state,
                "tasks": row.tasks,
                "read_per_second": row.read_rate,
                "stored_per_second": row.stored_rate,
                "read": read,
                "stored": stored,
                "lag_records": lag,
                "oldest_unread_age_seconds": age,
                "dead_letters": dead_letters,
                "retries": retries,
            })
        };
        let trouble = |(name, reason): &(String, String)| json!({ "name": name, "reason": reason });
        json!({
            "rows": self.rows.iter().map(row).collect::<Vec<Value>>(),
            "troubles": self.troubles.iter().map(trouble).collect::<Vec<Value>>(),
        })
    }
}

fn row(task: &Task, before: &Sample, now: &Sample, seconds: f64, state: &str) -> Row {
    let counts = now.tasks.get(task).copied().unwrap_or_default();
    let earlier = before.tasks.get(task).copied().unwrap_or_default();
    // A task that began anew counts from 0 again.
    let rate = |now: f64, earlier: f64| (now - earlier).max(0.0) / seconds;
    Row {
        name: format!("{}/{}", task.0, task.1),
        connector: task.0.clone(),
        state: state.to_owned(),
        tasks: 1,
        read_rate: rate(counts.read, earlier.read),
        stored_rate: rate(counts.stored, earlier.stored),
        now: counts,
    }
}

/// A connector: the sum of its tasks, the oldest record of all.
fn joined(name: &str, state: &str, tasks: impl Iterator<Item = Row>) -> Row {
    let mut all = Row {
        name: name.to_owned(),
        connector: name.to_owned(),
        state: state.to_owned(),
        ..Row::default()
    };
    let sum = |a: Option<f64>, b: Option<f64>| match (a, b) {
        (Some(a), Some(b)) => Some(a + b),
        (a, b) => a.or(b),
    };
    for task in tasks {
        let worse = matches!(task.state.as_str(), "FAILED")
            || task.state == "RETRYING" && all.state == "RUNNING";
        if worse {
            all.state = task.state;
        }
        all.tasks += 1;
        all.read_rate += task.read_rate;
        all.stored_rate += task.stored_rate;
        all.now.read += task.now.read;
        all.now.stored += task.now.stored;
        all.now.dead_letters += task.now.dead_letters;
        all.now.retries += task.now.retries;
        all.now.lag = sum(all.now.lag, task.now.lag);
        all.now.age = match (all.now.age, task.now.age) {
            (Some(a), Some(b)) => Some(a.max(b)),
            (a, b) => a.or(b),
        };
    }
    all
}

fn trouble(name: &str, task: &Value) -> Option<(String, String)> {
    let state = task_state(task);
    let reason = match state {
        "RETRYING" => at(task, "/copycat/reason"),
        "FAILED" => at(task, "/trace"),
        _ => return None,
    };
    Some((format!("{name}/{}", text(&task["id"])), format!("{state}: {}", first_line(reason))))
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

/// `12`, `12.3k`, `4.5M`: four letters for any number that counts.
fn number(value: f64) -> String {
    match value {
        v if v < 10.0 && v.fract() > 0.0 => format!("{v:.1}"),
        v if v < 10_000.0 => format!("{v:.0}"),
        v if v < 10_000_000.0 => format!("{:.1}k", v / 1e3),
        v if v < 1e10 => format!("{:.1}M", v / 1e6),
        v => format!("{:.1}G", v / 1e9),
    }
}

/// `0s`, `1.5s`, `12m`, `3h`, `5d`.
fn duration(seconds: f64) -> String {
    match seconds {
        s if s <= 0.0 => "0s".to_owned(),
        s if s < 10.0 => format!("{s:.1}s"),
        s if s < 600.0 => format!("{s:.0}s"),
        s if s < 36_000.0 => format!("{:.0}m", s / 60.0),
        s if s < 864_000.0 => format!("{:.0}h", s / 3600.0),
        s => format!("{:.0}d", s / 86_400.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    fn counts(stored: f64, lag: Option<f64>, age: Option<f64>) -> Counts {
        Counts { read: stored, stored, lag, age, ..Counts::default() }
    }

    fn sample(at: Instant, tasks: &[(u64, Counts)]) -> Sample {
        let task = |(id, counts): &(u64, Counts)| (("c".to_owned(), *id), *counts);
        Sample { at, tasks: tasks.iter().map(task).collect() }
    }

    #[test]
    fn a_connector_is_the_sum_of_its_tasks_in_the_worst_state() {
        let start = Instant::now();
        let before =
            sample(start, &[(0, counts(100.0, None, None)), (1, counts(50.0, None, None))]);
        let now = sample(
            start + Duration::from_secs(2),
            &[(0, counts(300.0, Some(5.0), Some(1.5))), (1, counts(10.0, Some(7.0), Some(90.0)))],
        );
        let statuses = json!({ "c": { "status": {
            "connector": { "state": "RUNNING" },
            "tasks": [
                { "id": 0, "state": "RUNNING" },
                { "id": 1, "state": "RUNNING",
                  "copycat": { "state": "RETRYING", "reason": "away\nmore" } },
            ],
        }}});
        let frame = Frame::new(&before, &now, &statuses, false);
        let [row] = &frame.rows[..] else { panic!("{frame:?}") };
        assert_eq!((row.state.as_str(), row.tasks), ("RETRYING", 2));
        assert_eq!((row.stored_rate, row.now.lag, row.now.age), (100.0, Some(12.0), Some(90.0)));
        let text = frame.text(false);
        assert!(text.ends_with("c/1: RETRYING: away\n"), "{text}");
        let each = Frame::new(&before, &now, &statuses, true);
        let names: Vec<&str> = each.rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names, ["c/0", "c/1"]);
        assert_eq!(each.rows[1].stored_rate, 0.0, "it counts from 0 again");
        let mut none = frame.clone();
        none.keep(&["d".to_owned()]);
        assert!(none.rows.is_empty() && none.troubles.is_empty());
        assert_eq!(frame.json()["rows"][0]["lag_records"], 12.0);
    }

    #[test]
    fn numbers_are_short() {
        let numbers = [0.0, 0.25, 12.0, 9_999.0, 12_345.0, 12_345_678.0].map(number);
        assert_eq!(numbers, ["0", "0.2", "12", "9999", "12.3k", "12.3M"]);
        let durations = [0.0, 1.5, 90.0, 7_200.0, 1e6].map(duration);
        assert_eq!(durations, ["0s", "1.5s", "90s", "120m", "12d"]);
    }
}
