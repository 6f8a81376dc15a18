//! `copycat takeover plan`: reads everything, changes nothing.

use super::connector::{ConnectorPlan, Part, Refused, Start};
use super::report::{self, Lines};
use super::site::Site;
use super::{ReadArgs, differences};
use crate::exit::{Failure, INTERNAL};
use herder::distributed::topics::ConnectorState;
use herder::takeover::{Company, Contents, TopicSeen};
use serde_json::{Value, json};
use std::panic::resume_unwind;
use std::process::ExitCode;

/// Offsets of a connector that are shown to people; programs get them all.
const SHOWN_MAX: usize = 20;
/// Connectors that are looked at side by side.
const ASKED_AT_ONCE: usize = 8;

/// What a take-over would come to.
pub(super) struct Plan {
    pub(super) company: Company,
    pub(super) topics: Vec<TopicSeen>,
    worker: Vec<String>,
    pub(super) connectors: Vec<ConnectorPlan>,
    /// Records that are of no use to anybody.
    oddities: Vec<String>,
    is_taken_over: bool,
}

pub(super) fn run(args: &ReadArgs) -> Result<ExitCode, Failure> {
    let site = Site::of(&args.cluster)?;
    let company = site.company()?;
    let seen = site.seen()?;
    let contents = site.contents(&seen)?;
    let plan = Plan::of(&site, company, seen, &contents);
    if args.json {
        report::print_json(&plan.json(&site));
    } else {
        report::print(plan.lines(&site));
    }
    let fit = plan.topics.iter().all(|topic| topic.trouble.is_none());
    let all = fit && plan.cannot().next().is_none();
    Ok(if all { ExitCode::SUCCESS } else { ExitCode::from(INTERNAL) })
}

impl Plan {
    pub(super) fn of(
        site: &Site,
        company: Company,
        topics: Vec<TopicSeen>,
        contents: &Contents,
    ) -> Plan {
        let mut oddities = contents.oddities.clone();
        if contents.more_oddities > 0 {
            oddities.push(format!("and {} more", contents.more_oddities));
        }
        Plan {
            company,
            topics,
            worker: differences::of_worker(&site.worker, &site.file.props),
            connectors: of_connectors(site, contents),
            oddities,
            is_taken_over: contents.taken_over.is_some(),
        }
    }

    /// The connectors that cannot run here.
    pub(super) fn cannot(&self) -> impl Iterator<Item = &ConnectorPlan> {
        self.connectors.iter().filter(|connector| !connector.can_run())
    }

    fn json(&self, site: &Site) -> Value {
        let cannot: Vec<&str> = self.cannot().map(|connector| connector.name.as_str()).collect();
        json!({
            "group": site.group,
            "taken_over": self.is_taken_over,
            "workers": report::company_json(&self.company),
            "topics": self.topics.iter().map(report::topic_json).collect::<Vec<_>>(),
            "unusable_records": self.oddities,
            "differs": self.worker,
            "connectors": self.connectors.iter().map(connector_json).collect::<Vec<_>>(),
            "can_run": self.connectors.len() - cannot.len(),
            "cannot_run": cannot,
        })
    }

    fn lines(&self, site: &Site) -> Lines {
        let mut lines = Lines::default();
        lines.add(0, &format!("cluster {}", site.group));
        report::company_lines(&self.company, &mut lines);
        lines.add(0, "topics:");
        self.topics.iter().for_each(|topic| report::topic_lines(topic, &mut lines));
        if !self.oddities.is_empty() {
            lines.add(0, "records that nobody can use, and that are skipped:");
            self.oddities.iter().for_each(|oddity| lines.add(1, oddity));
        }
        lines.add(0, "for all connectors:");
        self.worker.iter().for_each(|told| lines.add(1, told));
        self.connectors.iter().for_each(|connector| connector_lines(connector, &mut lines));
        let cannot: Vec<&str> = self.cannot().map(|connector| connector.name.as_str()).collect();
        let all = self.connectors.len();
        lines.add(0, &format!("{} of {all} connectors can run here", all - cannot.len()));
        lines.add(0, &self.next(site, &cannot));
        lines
    }

    /// What to do next.
    fn next(&self, site: &Site, cannot: &[&str]) -> String {
        if self.is_taken_over {
            return "this cluster has been taken over: see copycat takeover status".to_owned();
        }
        let without: String = cannot.iter().map(|name| format!(" --without {name}")).collect();
        let start = site.command("copycat takeover start");
        match self.company {
            Company::Java(_) => {
                format!("next: stop the workers of Kafka Connect, then {start}{without}")
            }
            _ => format!("next: {start}{without}"),
        }
    }
}

/// Every connector's plan, by name. Each has questions to the brokers, so several are asked at once.
fn of_connectors(site: &Site, contents: &Contents) -> Vec<ConnectorPlan> {
    let there: Vec<_> = contents.configs.connectors().collect();
    let share = there.len().div_ceil(ASKED_AT_ONCE).max(1);
    std::thread::scope(|scope| {
        let plans = |part: &[(&str, &ConnectorState)]| {
            let plan = |(name, state): &(&str, &ConnectorState)| {
                ConnectorPlan::of(site, contents, name, state)
            };
            part.iter().map(plan).collect::<Vec<_>>()
        };
        let asking: Vec<_> =
            there.chunks(share).map(|part| scope.spawn(move || plans(part))).collect();
        asking
            .into_iter()
            .flat_map(|part| part.join().unwrap_or_else(|e| resume_unwind(e)))
            .collect()
    })
}

fn connector_json(plan: &ConnectorPlan) -> Value {
    let part = |part: &Part| json!({ "key": part.key, "class": part.class, "here": part.here });
    let refused = |refused: &Refused| json!({ "key": refused.key, "message": refused.message, "hint": refused.hint });
    let start = |start: &Start| json!({ "partition": start.partition, "offset": start.offset, "lag": start.lag });
    json!({
        "name": plan.name,
        "type": plan.direction.map(|direction| direction.name()),
        "target": report::word(plan.target),
        "can_run": plan.can_run(),
        "classes": plan.parts.iter().map(part).collect::<Vec<_>>(),
        "refused": plan.refused.iter().map(refused).collect::<Vec<_>>(),
        "differs": plan.differs,
        "delivery": plan.delivery,
        "group": plan.group,
        "starts": plan.starts.iter().map(start).collect::<Vec<_>>(),
        "notes": plan.notes,
    })
}

fn connector_lines(plan: &ConnectorPlan, lines: &mut Lines) {
    let kind = plan.direction.map_or("connector", |direction| direction.name());
    let can = if plan.can_run() { "can run here" } else { "cannot run here" };
    let target = report::word(plan.target);
    lines.add(0, &format!("{kind} {} ({target}) {can}", plan.name));
    for refused in &plan.refused {
        lines.add(1, &format!("refused: {}: {}", refused.key, refused.message));
        if let Some(hint) = &refused.hint {
            lines.add(2, &format!("hint: {hint}"));
        }
    }
    for Part { key, class, here } in &plan.parts {
        match here {
            Some(here) if here == class => lines.add(1, &format!("{key}: {class}")),
            Some(here) => lines.add(1, &format!("{key}: {class}, here {here}")),
            None => lines.add(1, &format!("{key}: {class}, which is not there")),
        }
    }
    if let Some(told) = &plan.delivery {
        lines.add(1, &format!("delivery: {told}"));
    }
    plan.differs.iter().for_each(|told| lines.add(1, &format!("differs: {told}")));
    if let Some(group) = &plan.group {
        let lag: i64 = plan.starts.iter().filter_map(|start| start.lag).sum();
        lines.add(1, &format!("group {group}, {lag} records behind"));
    }
    for Start { partition, offset, lag } in plan.starts.iter().take(SHOWN_MAX) {
        let (partition, offset) = (json!(partition), json!(offset));
        let lag = lag.map(|lag| format!(", {lag} records behind")).unwrap_or_default();
        lines.add(1, &format!("starts: {partition} at {offset}{lag}"));
    }
    if plan.starts.len() > SHOWN_MAX {
        lines.add(1, &format!("and {} partitions more", plan.starts.len() - SHOWN_MAX));
    }
    plan.notes.iter().for_each(|told| lines.add(1, &format!("note: {told}")));
}
