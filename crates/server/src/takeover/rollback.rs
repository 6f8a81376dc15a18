//! `copycat takeover rollback`: leaves the topics, groups and destinations so that workers of Kafka
//! Connect go on where ours have stopped.
//!
//! The config topic comes last and in one transaction: until then the take-over is noted there, and
//! the same command does the rest.

use super::RollbackArgs;
use super::report::{self, Lines};
use super::site::Site;
use crate::exit::Failure;
use crate::failures::failure;
use herder::takeover::{Back, Company, Contents, at_once, hand_back, plainly};
use runtime::Direction;
use std::process::ExitCode;

pub(super) fn run(args: &RollbackArgs) -> Result<ExitCode, Failure> {
    let site = Site::of(&args.cluster)?;
    let seen = site.fit()?;
    let contents = site.contents(&seen)?;
    site.company_left(&contents)?;
    nobody_lives(&site, &contents).map_err(|e| failure(&e))?;
    for name in &args.without {
        if !contents.configs.get(name).is_some_and(|state| state.exists()) {
            return Err(Failure::wrong_input(format!("there is no connector {name}")));
        }
    }
    let mut lines = Lines::default();
    positions(&site, &contents, &args.without, &mut lines)?;
    let topic = &site.topics.configs.topic.name;
    let back = hand_back(&contents, topic);
    let statuses = &site.topics.statuses;
    plainly(&statuses.producer, &statuses.topic.name, &back.statuses).map_err(|e| failure(&e))?;
    if !back.configs.is_empty() {
        let still = || nobody_lives(&site, &contents);
        at_once(&site.writer, topic, &back.configs, &still).map_err(|e| failure(&e))?;
    }
    tell(&site, &back, &mut lines);
    report::print(lines);
    Ok(ExitCode::SUCCESS)
}

fn nobody_lives(site: &Site, contents: &Contents) -> api::Result<()> {
    let company = Company::look(&site.admin, &site.group)?;
    company.without_java(&site.group)?;
    company.without_ours(&site.group, &contents.names_of_ours())
}

/// Gives the groups of sinks what their destinations have.
fn positions(
    site: &Site,
    contents: &Contents,
    without: &[String],
    lines: &mut Lines,
) -> Result<(), Failure> {
    let left_out = contents.taken_over.as_ref().map(|note| &note.left_out);
    for (name, state) in contents.configs.connectors() {
        let config = state.config().map(|config| config.to_props()).unwrap_or_default();
        let is_sink = site.worker.direction(&config) == Some(Direction::Sink);
        if !is_sink || left_out.is_some_and(|names| names.contains(name)) {
            continue;
        }
        if without.iter().any(|other| other == name) {
            lines.add(1, &format!("sink {name}: its group's offsets are left as they are"));
            continue;
        }
        let told = site.worker.positions_to_group(name, &config).map_err(|error| {
            let failure = failure(&error);
            let message = format!("sink {name}: {}", failure.message);
            let hint = failure.hint.unwrap_or_else(|| {
                format!(
                    "bring its destination up and run this again, or add --without {name}: its \
                     group's offsets are then left as they are"
                )
            });
            Failure { message, hint: Some(hint), ..failure }
        })?;
        if !told.is_empty() {
            let text =
                format!("sink {name}: its group has the positions of {} partitions", told.len());
            lines.add(1, &text);
        }
    }
    Ok(())
}

fn tell(site: &Site, back: &Back, lines: &mut Lines) {
    for (name, target) in &back.restored {
        lines.add(
            1,
            &format!("connector {name}, which was left out, is {} again", report::word(*target)),
        );
    }
    for name in &back.without_tasks {
        lines
            .add(1, &format!("connector {name}: Kafka Connect works its tasks out when it starts"));
    }
    for name in &back.repeated {
        lines.add(1, &format!("connector {name}: written again, over what was never committed"));
    }
    lines.add(0, &format!("cluster {} is handed back", site.group));
    let command = site.command("connect-distributed.sh");
    lines.add(0, &format!("next, on every machine that is to have a worker: {command}"));
}
