//! `cargo xtask bench cluster`: what happens when workers of a cluster die and come, how soon a
//! configuration runs, and what a thousand connectors cost, with Kafka Connect beside it where Java is.
//!
//! The workers are processes of the built binary on a real broker, all on one machine; what the leader
//! of a large cluster decides is measured in memory.

mod added;
mod config_write;
mod control;
mod death;
mod feed;
mod flow;
mod java;
mod memory;
mod workers;

use std::{collections::BTreeSet, fs, path::PathBuf, process::ExitCode};

use anyhow::{Context as _, Result};

use super::{machine, print, root, say, table::Section};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// A small run, to see that everything works
    #[arg(long)]
    quick: bool,
    /// Workers that are killed of each kind; the median is told
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// A binary to measure instead of a new release build
    #[arg(long)]
    binary: Option<PathBuf>,
    /// Only these subjects
    #[arg(long, value_enum)]
    only: Vec<Subject>,
    /// Leave Kafka Connect out, also where Java and Maven are there
    #[arg(long)]
    without_jvm: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
enum Subject {
    /// kill -9 of a worker until its tasks give records elsewhere
    Death,
    /// A worker more, beside tasks that are busy
    Added,
    /// From a configuration to the task that runs
    Config,
    /// Steps of a leader with 1,000 connectors, in memory
    Control,
    /// What 1,000 connectors take of a worker's memory
    Memory,
}

/// What all subjects share.
struct Bench {
    binary: String,
    bootstrap: String,
    runs: usize,
    quick: bool,
    jvm: bool,
}

pub(super) fn run(args: &Args) -> Result<ExitCode> {
    let mut subjects: BTreeSet<Subject> = args.only.iter().copied().collect();
    if subjects.is_empty() {
        use Subject::{Added, Config, Control, Death, Memory};
        subjects.extend([Death, Added, Config, Control, Memory]);
    }
    let processes = subjects.iter().any(|subject| *subject != Subject::Control);
    let bench = Bench {
        binary: match &args.binary {
            Some(binary) => binary.canonicalize().with_context(|| binary.display().to_string())?,
            None if processes => super::build_copycat()?,
            None => PathBuf::new(),
        }
        .display()
        .to_string(),
        bootstrap: if processes { testkit::kafka::bootstrap() } else { String::new() },
        runs: if args.quick { 1 } else { args.runs.max(1) },
        quick: args.quick,
        jvm: processes && !args.without_jvm && super::files::is_java_there(),
    };
    let before = machine::load();
    let mut report = opening(args);
    print(&report);
    for subject in &subjects {
        say(&format!("measuring {subject:?}"));
        let sections: Vec<Section> = match subject {
            Subject::Death => death::run(&bench),
            Subject::Added => added::run(&bench),
            Subject::Config => config_write::run(&bench),
            Subject::Control => control::run(&bench),
            Subject::Memory => memory::run(&bench),
        }
        .with_context(|| format!("{subject:?}"))?;
        for section in sections {
            let text = format!("\n{}", section.markdown());
            print(&text);
            report.push_str(&text);
        }
    }
    report.push_str(&format!("\nLoad before and after: {before}; {}\n", machine::load()));
    if args.quick || !args.only.is_empty() {
        say("a part of the whole: nothing is written to bench/results");
        return Ok(ExitCode::SUCCESS);
    }
    let name = format!("bench/results/cluster-{}.md", machine::date());
    fs::write(root().join(&name), report).with_context(|| name.clone())?;
    say(&format!("written to {name}"));
    Ok(ExitCode::SUCCESS)
}

fn opening(args: &Args) -> String {
    let machine: Vec<String> =
        machine::describe_broker().into_iter().map(|line| format!("- {line}\n")).collect();
    format!(
        "# Clusters, {}\n\n`cargo xtask bench cluster`. Broker, database and all workers share the \
         machine; every worker has the settings that it has where nothing is set.\n\n{}{}",
        machine::date(),
        machine.concat(),
        if args.quick { "\nThis was a quick run: its figures mean little.\n" } else { "" }
    )
}
