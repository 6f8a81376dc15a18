//! `cargo xtask bench pg`: topics into relations by the SQL control plane, against COPY in text form of
//! the same rows in equal transactions, in the same run.
//!
//! Every run is checked: a figure of a run that lost or doubled a row is none. Rates are taken between
//! the first and the last visible row.

mod bulk;
mod light;
mod replay;
mod worker;

use std::{collections::BTreeSet, fs, path::PathBuf, process::ExitCode};

use anyhow::{Context as _, Result};
use testkit::postgres::Database;

use super::{machine, print, root, say, table::Section};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// A small run, to see that everything works
    #[arg(long)]
    quick: bool,
    /// Also a replay of 10 million records, to see that memory stays flat (minutes, 2 GB of disk)
    #[arg(long)]
    ten_million: bool,
    /// Runs of each case; the median is told
    #[arg(long, default_value_t = 3)]
    runs: usize,
    /// A binary to measure instead of a new release build
    #[arg(long)]
    binary: Option<PathBuf>,
    /// Only these subjects
    #[arg(long, value_enum)]
    only: Vec<Subject>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
enum Subject {
    /// One topic into one relation, and into eight
    Bulk,
    /// One record at a time into eight relations; 200 topics
    Light,
    Replay,
}

/// What all subjects share.
struct Bench {
    binary: PathBuf,
    bootstrap: String,
    records: u64,
    runs: usize,
    quick: bool,
}

impl Bench {
    /// A database with the control schema.
    fn database(&self) -> Result<Database> {
        let database = testkit::postgres::database();
        worker::command(self, &["install", "--database-url", &database.url()])?;
        database.execute(&format!("SELECT pipeline_kafka.set_cluster('{}')", self.bootstrap));
        Ok(database)
    }
}

pub(super) fn run(args: &Args) -> Result<ExitCode> {
    let mut subjects: BTreeSet<Subject> = args.only.iter().copied().collect();
    if subjects.is_empty() {
        subjects.extend([Subject::Bulk, Subject::Light]);
    }
    if args.ten_million {
        subjects.insert(Subject::Replay);
    }
    let bench = Bench {
        binary: match &args.binary {
            Some(binary) => binary.canonicalize().with_context(|| binary.display().to_string())?,
            None => super::build_copycat()?,
        },
        bootstrap: testkit::kafka::bootstrap(),
        records: if args.quick { 100_000 } else { 1_000_000 },
        runs: if args.quick { 1 } else { args.runs.max(1) },
        quick: args.quick,
    };
    let mut report = opening(&bench);
    print(&report);
    for subject in &subjects {
        say(&format!("measuring {subject:?}"));
        let sections: Vec<Section> = match subject {
            Subject::Bulk => bulk::run(&bench),
            Subject::Light => light::run(&bench),
            Subject::Replay => replay::run(&bench),
        }
        .with_context(|| format!("{subject:?}"))?;
        for section in sections {
            let text = format!("\n{}", section.markdown());
            print(&text);
            report.push_str(&text);
        }
    }
    if args.quick || !args.only.is_empty() {
        say("a part of the whole: nothing is written to bench/results");
        return Ok(ExitCode::SUCCESS);
    }
    let name = format!("bench/results/pg-{}.md", machine::date());
    fs::write(root().join(&name), report).with_context(|| name.clone())?;
    say(&format!("written to {name}"));
    Ok(ExitCode::SUCCESS)
}

fn opening(bench: &Bench) -> String {
    let version = testkit::postgres::database().value("SHOW server_version").unwrap_or_default();
    let machine: Vec<String> =
        machine::describe(&version).into_iter().map(|line| format!("- {line}\n")).collect();
    format!(
        "# Kafka into PostgreSQL by SQL, {}\n\n{}\n{} orders in plain JSON a bulk run, one partition, \
         lz4; {} runs a case, which take turns: median (least–most). Broker, database and worker share \
         the machine. Rates are from the first to the last visible row.\n",
        machine::date(),
        machine.concat(),
        bench.records,
        bench.runs,
    )
}
