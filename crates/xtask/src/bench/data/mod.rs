//! `cargo xtask bench data`: what happens to a record between the fetch and the destination, without
//! either.
//!
//! A group is measured in one run: its cases and references take turns, pass by pass, each over
//! records that fill more memory than a core's caches hold. Ratios are of passes that were neighbours, so
//! that they hold on a machine that is busy with other things too.
//!
//! A new subject is a module with `groups`, named in [`SUBJECTS`].

pub(super) mod case;
pub(super) mod reading;
pub(super) mod records;
mod tapes;
mod transforming;
pub(super) mod writing;

use std::{fs, process::ExitCode};

use anyhow::{Context as _, Result};

use self::case::Group;
use super::{machine, print, root, say};

/// Makes the groups of a subject and their records.
type Groups = fn(&Args) -> Result<Vec<Group>>;

/// Every subject, in the order of the report.
const SUBJECTS: [(Subject, Groups); 3] = [
    (Subject::Reading, reading::groups),
    (Subject::Transforming, transforming::groups),
    (Subject::Writing, writing::groups),
];

/// How much is measured, of converters and transforms.
#[derive(clap::Args)]
pub(super) struct Effort {
    /// A small run, to see that everything works
    #[arg(long)]
    pub(super) quick: bool,
    /// Passes of each case of the converters and transforms; the median is told
    #[arg(long, default_value_t = 15)]
    passes: usize,
    /// Records a pass
    #[arg(long, default_value_t = 200_000)]
    records: usize,
}

impl Effort {
    pub(super) fn passes(&self) -> usize {
        if self.quick { 1 } else { self.passes.max(1) }
    }

    pub(super) fn records(&self) -> usize {
        if self.quick { 20_000 } else { self.records.max(1) }
    }
}

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    effort: Effort,
    /// Only these subjects
    #[arg(long, value_enum)]
    only: Vec<Subject>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Subject {
    Reading,
    Transforming,
    Writing,
}

pub(super) fn run(args: &Args) -> Result<ExitCode> {
    let mut report = opening(args);
    print(&report);
    for (subject, groups) in SUBJECTS {
        if !args.only.is_empty() && !args.only.contains(&subject) {
            continue;
        }
        say(&format!("measuring {subject:?}"));
        for mut group in groups(args).with_context(|| format!("{subject:?}"))? {
            let text = format!("\n{}", group.measure(args.effort.passes()).markdown());
            print(&text);
            report.push_str(&text);
        }
    }
    if args.effort.quick || !args.only.is_empty() {
        say("a part of the whole: nothing is written to bench/results");
        return Ok(ExitCode::SUCCESS);
    }
    let name = format!("bench/results/data-{}.md", machine::date());
    let path = root().join(&name);
    fs::write(&path, report).with_context(|| path.display().to_string())?;
    say(&format!("written to {name}"));
    Ok(ExitCode::SUCCESS)
}

fn opening(args: &Args) -> String {
    let machine = machine::describe_process();
    let machine: String = machine.iter().map(|line| format!("- {line}\n")).collect();
    format!(
        "# Records into rows and back, {}\n\n{machine}- load average at the start: {}\n\n\
         Processor time of one thread, {} records a pass in batches of {}; {} passes a case, which take turns: median \
         (least–most). A ratio is the median of the ratios of neighbouring passes. Allocations are \
         counted over one pass after a first one; those of a batch are spread over its records.\n{}",
        machine::date(),
        machine::load(),
        args.effort.records(),
        records::BATCH_ROWS,
        args.effort.passes(),
        if args.effort.quick { "\nThis was a quick run: its figures mean little.\n" } else { "" }
    )
}
