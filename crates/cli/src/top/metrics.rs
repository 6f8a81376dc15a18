//! The worker's page of metrics, read for what a task does.

use std::collections::BTreeMap;
use std::time::Instant;

/// A task: its connector and its number.
pub(super) type Task = (String, u64);

/// What the worker told at a moment.
#[derive(Debug)]
pub(super) struct Sample {
    pub(super) at: Instant,
    pub(super) tasks: BTreeMap<Task, Counts>,
}

/// What a task has done. What the worker does not tell is missing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Counts {
    pub(super) read: f64,
    pub(super) stored: f64,
    pub(super) dead_letters: f64,
    pub(super) retries: f64,
    /// Records.
    pub(super) lag: Option<f64>,
    /// Seconds.
    pub(super) age: Option<f64>,
}

/// Reads a page in Prometheus' text format; lines that are none are passed over.
pub(super) fn tasks(page: &str) -> BTreeMap<Task, Counts> {
    let mut tasks: BTreeMap<Task, Counts> = BTreeMap::new();
    for (name, labels, value) in page.lines().filter_map(line) {
        let Some(of_task) = name.strip_prefix("copycat_task_") else { continue };
        let label = |wanted: &str| labels.iter().find(|(name, _)| name == wanted).map(|l| &l.1);
        let (Some(connector), Some(task)) = (label("connector"), label("task")) else { continue };
        let Ok(task) = task.parse() else { continue };
        let counts = tasks.entry((connector.clone(), task)).or_default();
        match of_task {
            "records_read_total" => counts.read = value,
            "records_stored_total" => counts.stored = value,
            "dead_letters_total" => counts.dead_letters = value,
            "retries_total" => counts.retries = value,
            "lag_records" => counts.lag = Some(value).filter(|v| v.is_finite()),
            "oldest_unread_age_seconds" => counts.age = Some(value).filter(|v| v.is_finite()),
            _ => {}
        }
    }
    tasks
}

type Line<'a> = (&'a str, Vec<(String, String)>, f64);

/// `name{label="value",…} number`.
fn line(text: &str) -> Option<Line<'_>> {
    if text.starts_with('#') {
        return None;
    }
    let end = text.find(['{', ' '])?;
    let (name, rest) = text.split_at(end);
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(rest) => labels(rest)?,
        None => (Vec::new(), rest),
    };
    let value = rest.split_whitespace().next()?.parse().ok()?;
    Some((name, labels, value))
}

/// Labels, and what stands behind their closing brace.
fn labels(text: &str) -> Option<(Vec<(String, String)>, &str)> {
    let mut labels = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches([',', ' ']);
        if let Some(rest) = rest.strip_prefix('}') {
            return Some((labels, rest));
        }
        let (name, after) = rest.split_once("=\"")?;
        let mut value = String::new();
        let mut chars = after.chars();
        loop {
            match chars.next()? {
                '"' => break,
                '\\' => value.push(match chars.next()? {
                    'n' => '\n',
                    other => other,
                }),
                other => value.push(other),
            }
        }
        labels.push((name.to_owned(), value));
        rest = chars.as_str();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_read_and_the_rest_is_passed_over() {
        let page = concat!(
            "# HELP copycat_task_records_read_total Records.\n",
            "copycat_task_records_read_total{connector=\"a\\\"b\\\\c\\nd}\",task=\"0\"} 3\n",
            "copycat_task_lag_records{connector=\"x\",task=\"10\"} 1e3\n",
            "copycat_task_oldest_unread_age_seconds{connector=\"x\",task=\"10\"} NaN\n",
            "kafka_connect_worker_task_count 2\n",
            "copycat_task_lag_records{connector=\"x\"} 4\n",
            "copycat_task_lag_records{connector=\"x\",task=\"1 4\n\n",
        );
        let tasks = tasks(page);
        assert_eq!(tasks.len(), 2);
        assert_eq!(tasks[&("a\"b\\c\nd}".to_owned(), 0)].read, 3.0);
        let other = tasks[&("x".to_owned(), 10)];
        assert_eq!((other.lag, other.age), (Some(1000.0), None));
    }

    proptest::proptest! {
        #[test]
        fn any_page_has_an_answer(page in "(copycat_task_|[{}\"\\\\=, \n0-9ae.+-]|connector|task){0,40}") {
            let _answer = tasks(&page);
        }
    }
}
