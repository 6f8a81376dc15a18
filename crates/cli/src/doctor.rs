//! `copycat doctor`: is the worker there, is Kafka, do the connectors run, and is there what they connect to.

use crate::ask::{Ask, Session};
use crate::client::Client;
use crate::connectors::{at, props, task_state, tasks, text};
use crate::exit::{Failure, INTERNAL, UNAVAILABLE};
use crate::show::View;
use crate::validate::{CONNECT, Check, check_line, findings, path_of};
use serde_json::{Value, json};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    ask: Ask,
    /// Leave out what connectors connect to
    #[arg(long)]
    no_connect: bool,
}

/// What was looked at: the worker, Kafka, or a connector.
struct Part {
    name: String,
    checks: Vec<Check>,
    /// A failure here means that something cannot be reached.
    outside: bool,
}

/// Ends with 3 where something cannot be reached, else with 1 where a check failed.
pub(crate) fn run(args: &Args) -> Result<u8, Failure> {
    let Session { client, out } = args.ask.open()?;
    let mut parts = vec![worker(&client)?, kafka(&client)?];
    let all = client.get("/connectors?expand=status&expand=info")?;
    for (name, entry) in all.as_object().into_iter().flatten() {
        parts.push(state(name, &entry["status"]));
        if !args.no_connect {
            parts.extend(other_side(&client, name, &entry["info"]["config"])?);
        }
    }
    let mut page = String::new();
    let mut last = "";
    for part in &parts {
        if part.name != last {
            page.push_str(&format!("{}\n", out.bold(&part.name)));
        }
        last = &part.name;
        page.extend(part.checks.iter().map(|check| check_line(check, &out)));
    }
    let failed = |part: &&Part| part.checks.iter().any(Check::has_failed);
    let names = parts.iter().filter(failed).map(|part| part.name.clone()).collect();
    let code = match parts.iter().find(failed) {
        None => 0,
        Some(_) if parts.iter().filter(failed).any(|part| part.outside) => UNAVAILABLE,
        Some(_) => INTERNAL,
    };
    let json = parts.iter().flat_map(|part| part.checks.iter().map(|check| json(part, check)));
    out.show(View { json: json.collect(), text: page.into(), names })?;
    Ok(code)
}

fn json(part: &Part, check: &Check) -> Value {
    let Check { name, outcome, what, hint } = check;
    json!({ "about": part.name, "name": name, "outcome": outcome, "what": what, "hint": hint })
}

fn check(name: &str, good: bool, what: impl Into<String>) -> Check {
    let outcome = if good { "ok" } else { "failed" }.to_owned();
    Check { name: name.to_owned(), outcome, what: what.into(), hint: String::new() }
}

/// That it answers is the first check: where it does not, the command ends with the reason.
fn worker(client: &Client) -> Result<Part, Failure> {
    let root = client.get("/")?;
    let what = format!("{}, version {}", client.base(), text(&root["version"]));
    let mut checks = vec![check("answers", true, what)];
    let health = client.send("GET", "/health", None)?;
    // Workers before 4.0 have no such route.
    if health.status != 404 {
        let body: Value = serde_json::from_str(&health.body).unwrap_or_default();
        checks.push(check("health", health.is_success(), at(&body, "/message")));
    }
    Ok(Part { name: "worker".to_owned(), checks, outside: true })
}

fn kafka(client: &Client) -> Result<Part, Failure> {
    let id = text(&client.get("/")?["kafka_cluster_id"]);
    let mut found = match id.is_empty() {
        false => check("reachable", true, format!("cluster {id}")),
        true => check("reachable", false, "no broker has told the worker the cluster's id"),
    };
    if found.has_failed() {
        found.hint =
            "look at the worker's bootstrap.servers, its security settings and its log".to_owned();
    }
    Ok(Part { name: "kafka".to_owned(), checks: vec![found], outside: true })
}

/// What a connector and its tasks say of themselves.
fn state(name: &str, status: &Value) -> Part {
    let state = at(status, "/connector/state");
    let first = |trace: &str| trace.lines().next().unwrap_or_default().to_owned();
    let mut checks = Vec::new();
    let own = match at(status, "/connector/trace") {
        "" => state.to_owned(),
        trace => format!("{state}: {}", first(trace)),
    };
    checks.push(check("state", state != "FAILED", own));
    for task in tasks(status) {
        let state = task_state(task);
        let reason = match state {
            "RETRYING" => at(task, "/copycat/reason"),
            _ => at(task, "/trace"),
        };
        let what = if reason.is_empty() {
            state.to_owned()
        } else {
            format!("{state}: {}", first(reason))
        };
        let good = !matches!(state, "FAILED" | "RETRYING");
        let mut found = check(&format!("task {}", text(&task["id"])), good, what);
        if state == "FAILED" {
            found.hint =
                format!("correct the cause, then: copycat restart connector --failed {name}");
        }
        checks.push(found);
    }
    Part { name: format!("connector {name}"), checks, outside: false }
}

/// What it connects to, as far as the worker can look; others than ours cannot.
fn other_side(client: &Client, name: &str, config: &Value) -> Result<Option<Part>, Failure> {
    let props = props(config);
    let class = props.get("connector.class").unwrap_or_default();
    if class.is_empty() {
        return Ok(None);
    }
    let answer = client.send("PUT", &format!("{}{CONNECT}", path_of(class)), Some(config))?;
    if !answer.is_success() {
        let refused = check("configuration", false, answer.refusal().message);
        let name = format!("connector {name}");
        return Ok(Some(Part { name, checks: vec![refused], outside: false }));
    }
    let found = findings(&answer.json()?);
    let wrong = found.errors.iter().map(|(key, text)| check(key, false, text.clone()));
    let outside = found.failed() > 0;
    let checks: Vec<Check> = wrong.chain(found.checks.iter().cloned()).collect();
    Ok(Some(Part { name: format!("connector {name}"), checks, outside }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_connector_says_of_itself_is_judged() {
        let task = |id: u32, state: &str, ours: &str, trace: &str| {
            json!({ "id": id, "state": state, "trace": trace,
                "copycat": { "state": ours, "reason": "the server is away\nmore" } })
        };
        let status = json!({ "connector": { "state": "RUNNING" }, "tasks": [
            task(0, "RUNNING", "RUNNING", ""),
            task(1, "RUNNING", "RETRYING", ""),
            task(2, "FAILED", "FAILED", "a bad row\n\tat x"),
        ]});
        let part = state("c", &status);
        let told: Vec<(&str, &str)> =
            part.checks.iter().map(|c| (c.outcome.as_str(), c.what.as_str())).collect();
        assert_eq!(
            told,
            [
                ("ok", "RUNNING"),
                ("ok", "RUNNING"),
                ("failed", "RETRYING: the server is away"),
                ("failed", "FAILED: a bad row"),
            ]
        );
        assert!(part.checks[3].hint.contains("--failed c"));
    }
}
