//! The dashboard and the alert rules in `monitoring/`: they name metrics and labels that there are.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

const PAGE: &str = include_str!("../../../../docs/reference/metrics.md");
const DASHBOARD: &str = include_str!("../../../../monitoring/grafana-dashboard.json");
const ALERTS: &str = include_str!("../../../../monitoring/prometheus-alerts.yml");

/// What Prometheus adds to everything that it scrapes.
const OF_ALL: [&str; 2] = ["job", "instance"];
const WORDS: [&str; 13] = [
    "sum",
    "max",
    "by",
    "count",
    "and",
    "rate",
    "increase",
    "delta",
    "topk",
    "label_values",
    "up",
    "humanizeDuration",
    "value",
];

/// Metrics with their labels.
fn table() -> BTreeMap<&'static str, BTreeSet<&'static str>> {
    let rows = PAGE.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.map(|row| {
        let (name, rest) = row.split_once("` | ").expect("a name");
        let labels = rest.split(" | ").nth(1).unwrap_or_default();
        let labels = labels.split(", ").map(|label| label.trim_matches('`'));
        (name, labels.filter(|label| !label.is_empty()).chain(OF_ALL).collect())
    })
    .collect()
}

/// The names in an expression, without what stands in quotes.
fn names(text: &str) -> Vec<String> {
    let outside: String = text.split('"').step_by(2).collect::<Vec<_>>().join("\"\"");
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    let names = outside
        .split(|c| !part(c))
        .filter(|name| name.starts_with(|c: char| c.is_ascii_lowercase()));
    names.map(str::to_owned).collect()
}

/// Checks an expression and the texts beside it; gives the metrics that it names.
fn check(expr: &str, texts: &[&str]) -> BTreeSet<String> {
    let table = table();
    let (metrics, others): (Vec<String>, Vec<String>) =
        names(expr).into_iter().partition(|name| table.contains_key(name.as_str()));
    let labels: BTreeSet<&str> =
        metrics.iter().flat_map(|name| &table[name.as_str()]).copied().chain(OF_ALL).collect();
    for name in others {
        let known = labels.contains(name.as_str()) || WORDS.contains(&name.as_str());
        assert!(known, "{name} in {expr}");
    }
    for text in texts {
        for inside in text.split("{{").skip(1).filter_map(|rest| rest.split("}}").next()) {
            let name = inside.trim().trim_start_matches("$labels.");
            let name = name.trim_start_matches('$').split(' ').next().unwrap_or_default();
            assert!(labels.contains(name) || name == "value", "{inside} beside {expr}");
        }
    }
    metrics.into_iter().collect()
}

fn str_of<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

#[test]
fn the_dashboard_shows_metrics_that_there_are() {
    let dashboard: Value = serde_json::from_str(DASHBOARD).expect("JSON");
    let mut shown = BTreeSet::new();
    let mut ids = BTreeSet::new();
    for panel in dashboard["panels"].as_array().expect("panels") {
        assert!(ids.insert(panel["id"].as_i64()), "two panels have one id");
        assert!(!str_of(panel, "title").is_empty(), "{panel}");
        for target in panel["targets"].as_array().into_iter().flatten() {
            let named = check(str_of(target, "expr"), &[str_of(target, "legendFormat")]);
            assert!(!named.is_empty(), "{target}");
            shown.extend(named);
        }
    }
    for variable in dashboard["templating"]["list"].as_array().expect("variables") {
        check(variable["query"]["query"].as_str().unwrap_or_default(), &[]);
    }
    assert!(shown.len() > 20, "{shown:?}");
}

#[test]
fn the_alerts_watch_metrics_that_there_are() {
    let alerts: Value = serde_saphyr::from_str(ALERTS).expect("YAML");
    let rules = alerts["groups"][0]["rules"].as_array().expect("rules");
    let mut alarms = BTreeSet::new();
    for rule in rules {
        assert!(alarms.insert(str_of(rule, "alert")), "{rule}");
        let texts = rule["annotations"].as_object().expect("annotations").values();
        let texts: Vec<&str> = texts.filter_map(Value::as_str).collect();
        let expr = str_of(rule, "expr");
        let named = check(expr, &texts);
        assert!(!named.is_empty() || expr.starts_with("up{"), "{expr}");
        assert!(["warning", "critical"].contains(&str_of(&rule["labels"], "severity")), "{rule}");
    }
    assert!(rules.len() >= 8);
}

#[test]
fn a_name_that_is_not_there_is_found() {
    let wrong = [
        ("rate(copycat_task_records_stored[5m])", ""),
        ("copycat_task_lag_records{partition=\"0\"}", ""),
        ("copycat_task_lag_records", "{{topic}}"),
    ];
    for (expr, text) in wrong {
        assert!(std::panic::catch_unwind(|| check(expr, &[text])).is_err(), "{expr} {text}");
    }
    let named = check("sum by (connector) (copycat_task_lag_records{task=~\"$x\"}) > 3", &[]);
    assert_eq!(named.into_iter().collect::<Vec<_>>(), ["copycat_task_lag_records"]);
}
