//! `cargo xtask bench avro`: records written with a Schema Registry.
//!
//! Two subjects: the converters alone beside readers and writers of others, as `bench data` measures
//! them; and Kafka into PostgreSQL with a real registry beside the same rows as plain JSON, as
//! `bench sink` does. What is compared takes turns.

mod codecs;
mod generic;
mod orders;
mod transfers;

use std::{fs, path::PathBuf, process::ExitCode};

use anyhow::{Context as _, Result};

use super::{
    data::{Effort, records::BATCH_ROWS},
    machine, print, root, say,
    sink::Bench,
    table::Section,
};

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    effort: Effort,
    /// Runs of each case into PostgreSQL; the median is told
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// A binary to measure instead of a new release build
    #[arg(long)]
    binary: Option<PathBuf>,
    /// Only this subject
    #[arg(long, value_enum)]
    only: Option<Subject>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Subject {
    Codecs,
    Transfers,
}

impl Args {
    fn has(&self, subject: Subject) -> bool {
        self.only.is_none_or(|only| only == subject)
    }
}

pub(super) fn run(args: &Args) -> Result<ExitCode> {
    let mut report = opening(args);
    print(&report);
    let mut tell = |section: Section| {
        let text = format!("\n{}", section.markdown());
        print(&text);
        report.push_str(&text);
    };
    if args.has(Subject::Codecs) {
        say("measuring the converters");
        for mut group in codecs::groups(args.effort.records())? {
            tell(group.measure(args.effort.passes()));
        }
    }
    if args.has(Subject::Transfers) {
        let bench = Bench::new(args.binary.as_deref(), args.effort.quick, args.runs)?;
        say("measuring Kafka into PostgreSQL");
        transfers::run(&bench)?.into_iter().for_each(&mut tell);
    }
    report.push_str(&format!("\nLoad average at the end: {}.\n", machine::load()));
    if args.effort.quick || args.only.is_some() {
        say("a part of the whole: nothing is written to bench/results");
        return Ok(ExitCode::SUCCESS);
    }
    let name = format!("bench/results/avro-{}.md", machine::date());
    let path = root().join(&name);
    fs::write(&path, report).with_context(|| path.display().to_string())?;
    say(&format!("written to {name}"));
    Ok(ExitCode::SUCCESS)
}

fn opening(args: &Args) -> String {
    let postgres = testkit::postgres::database().value("SHOW server_version");
    let machine = machine::describe(&postgres.unwrap_or_default());
    let machine: String = machine.iter().map(|line| format!("- {line}\n")).collect();
    format!(
        "# Records with a Schema Registry, {}\n\n{machine}- load average at the start: {}\n\n\
         Converters: processor time of one thread, {} records a pass in batches of {BATCH_ROWS}; {} \
         passes a case, which take turns: median (least–most). A ratio is the median of the ratios \
         of neighbouring passes. Allocations are counted over one pass after a first one.\n{}",
        machine::date(),
        machine::load(),
        args.effort.records(),
        args.effort.passes(),
        if args.effort.quick { "\nThis was a quick run: its figures mean little.\n" } else { "" }
    )
}
