//! `copycat takeover start`: notes how everything stands, and lets workers begin.
//!
//! Invariant: what is noted of a cluster is how Kafka Connect left it: a second start changes nothing
//! of it.

use super::StartArgs;
use super::connector::ConnectorPlan;
use super::plan::Plan;
use super::report::{self, Lines};
use super::site::Site;
use crate::exit::{Failure, INTERNAL};
use crate::failures::failure;
use herder::Target;
use herder::distributed::topics::ConfigRecord;
use herder::takeover::{Company, Contents, TakeOver, Was, at_once};
use runtime::Direction;
use std::collections::BTreeSet;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

pub(super) fn run(args: &StartArgs) -> Result<ExitCode, Failure> {
    let site = Site::of(&args.cluster)?;
    site.company()?.without_java(&site.group).map_err(|e| failure(&e))?;
    let seen = site.fit()?;
    let contents = site.contents(&seen)?;
    let company = site.company_left(&contents)?;
    company.without_java(&site.group).map_err(|e| failure(&e))?;
    let without: BTreeSet<String> = args.without.iter().cloned().collect();
    let mut lines = Lines::default();
    let noted = contents.taken_over.as_ref();
    if let (Some(_), Company::Ours(_)) = (noted, &company) {
        lines.add(0, &format!("cluster {} is taken over, and its workers run", site.group));
        report::print(lines);
        return Ok(ExitCode::SUCCESS);
    }
    company.without_ours(&site.group, &contents.names_of_ours()).map_err(|e| failure(&e))?;
    let plan = Plan::of(&site, company, seen, &contents);
    match noted {
        Some(note) => again(&site, note, &plan, &without, &mut lines)?,
        None => {
            check(&site, &plan, &without)?;
            take_over(&site, &contents, &plan, without, &mut lines)?;
        }
    }
    let command = site.command("copycat distributed");
    lines.add(0, &format!("next, on every machine that had a worker: {command}"));
    report::print(lines);
    Ok(ExitCode::SUCCESS)
}

/// What was noted stays; Kafka Connect may have run since, without a rollback.
fn again(
    site: &Site,
    note: &TakeOver,
    plan: &Plan,
    without: &BTreeSet<String>,
    lines: &mut Lines,
) -> Result<(), Failure> {
    let late: Vec<&str> = without.difference(&note.left_out).map(String::as_str).collect();
    if !late.is_empty() {
        let text = format!("this cluster has been taken over with {}", late.join(", "));
        return Err(Failure::wrong_input(text)
            .hint("pause or stop it by the REST interface, or roll back and start again"));
    }
    lines.add(0, &format!("cluster {} has been taken over already", site.group));
    set_aside(site, plan, &note.left_out, lines)
}

/// Refuses where a connector cannot run that is not left out, and names of connectors that there are
/// not.
fn check(site: &Site, plan: &Plan, without: &BTreeSet<String>) -> Result<(), Failure> {
    let known = |name: &&String| plan.connectors.iter().any(|connector| connector.name == **name);
    if let Some(unknown) = without.iter().find(|name| !known(name)) {
        return Err(Failure::wrong_input(format!("there is no connector {unknown}")));
    }
    let cannot: Vec<&ConnectorPlan> =
        plan.cannot().filter(|connector| !without.contains(&connector.name)).collect();
    if cannot.is_empty() {
        return Ok(());
    }
    let why = cannot.iter().map(|connector| {
        let first = connector.refused.first();
        let told = first.map(|refused| format!("{}: {}", refused.key, refused.message));
        format!("\n  {}: {}", connector.name, told.unwrap_or_default().replace('\n', "; "))
    });
    let mut message = format!("{} of the connectors cannot run here:", cannot.len());
    message.extend(why);
    let without = without.iter().map(String::as_str);
    let names = without.chain(cannot.iter().map(|connector| connector.name.as_str()));
    let options: String = names.map(|name| format!(" --without {name}")).collect();
    let start = site.command("copycat takeover start");
    Err(Failure { code: INTERNAL, message, hint: None }
        .hint(format!("mend their configurations, or leave them out: {start}{options}")))
}

/// Notes everything in one transaction.
fn take_over(
    site: &Site,
    contents: &Contents,
    plan: &Plan,
    without: BTreeSet<String>,
    lines: &mut Lines,
) -> Result<(), Failure> {
    set_aside(site, plan, &without, lines)?;
    let mut records = Vec::new();
    for connector in &plan.connectors {
        let starts = connector.starts.iter();
        let offsets = starts.map(|start| (start.partition.clone(), start.offset.clone()));
        let task_class = connector.task_class.as_deref();
        let was = Was::new(connector.target, &connector.class, task_class, offsets.collect());
        records.push(was.written(&connector.name));
        // Paused, it keeps its tasks and statuses, and nobody runs it.
        if without.contains(&connector.name) && connector.target == Target::Started {
            let (name, target) = (connector.name.clone(), Some(Target::Paused));
            records.push(ConfigRecord::TargetState { name, target }.written());
        }
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let note = TakeOver {
        at_ms: u64::try_from(now.as_millis()).unwrap_or(u64::MAX),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ends: contents.ends.clone(),
        left_out: without,
    };
    records.push(note.written());
    let topic = &site.topics.configs.topic.name;
    let still = || Company::look(&site.admin, &site.group)?.without_java(&site.group);
    at_once(&site.writer, topic, &records, &still).map_err(|e| failure(&e))?;
    let all = plan.connectors.len();
    let out = note.left_out.len();
    lines.add(
        0,
        &format!("cluster {} is taken over: {} of {all} connectors", site.group, all - out),
    );
    for name in &note.left_out {
        lines.add(1, &format!("left out, as it is: {name}"));
    }
    Ok(())
}

/// A destination that has positions of an earlier take-over must not go on there where Kafka Connect
/// has gone further since.
fn set_aside(
    site: &Site,
    plan: &Plan,
    left_out: &BTreeSet<String>,
    lines: &mut Lines,
) -> Result<(), Failure> {
    let sinks = plan.connectors.iter().filter(|c| c.direction == Some(Direction::Sink));
    for ConnectorPlan { name, config, .. } in sinks.filter(|c| !left_out.contains(&c.name)) {
        let moved = site.worker.positions_from_group(name, config).map_err(|error| {
            let failure = failure(&error);
            let message = format!("connector {name}: {}", failure.message);
            Failure { message, ..failure }
        })?;
        for tp in moved {
            lines.add(1, &format!("connector {name}: {tp} goes on where its group is"));
        }
    }
    Ok(())
}
