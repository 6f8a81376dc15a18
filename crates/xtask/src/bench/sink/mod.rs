//! `cargo xtask bench sink`: Kafka into SQL databases.
//!
//! Runs that are compared take turns, so that a ratio is of the same minutes. Every run is checked:
//! a figure of a run that lost or doubled a row is none. A checkpoint precedes each.
//!
//! The rate of a run is taken between its first and its last visible row, because the references
//! have no start either; what the start adds is told beside it.

mod append;
mod consume;
mod exactly_once;
mod latency;
mod memory;
mod restart;
mod sqlite;
pub(super) mod topics;
pub(super) mod transfer;
mod upsert;
pub(super) mod write;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context as _, Result};
use testkit::postgres::{Client, Database};

use self::topics::{Form, Topic};
use super::{machine, print, root, say, table::Section, workload::Generation};

/// Rows per CPU-second of the worker that the fastest JVM sink reaches with inserts and with upserts,
/// warm and tuned. Measured once, on the reference machine (2 virtual cores with AVX-512).
const JVM_INSERT_PER_CPU_S: f64 = 137_000.0;
const JVM_UPSERT_PER_CPU_S: f64 = 141_000.0;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// A small run, to see that everything works
    #[arg(long)]
    quick: bool,
    /// Also 10 million records, to see that memory stays flat (minutes, 1 GB of disk)
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
    Append,
    Upsert,
    ExactlyOnce,
    Latency,
    Sqlite,
    Restart,
    Memory,
}

impl Subject {
    const USUAL: [Subject; 6] = [
        Subject::Append,
        Subject::Upsert,
        Subject::ExactlyOnce,
        Subject::Latency,
        Subject::Sqlite,
        Subject::Restart,
    ];
}

/// What all subjects share.
pub(super) struct Bench {
    pub(super) binary: PathBuf,
    pub(super) bootstrap: String,
    pub(super) database: Database,
    pub(super) records: u64,
    pub(super) runs: usize,
    quick: bool,
    topics: Topics,
}

/// Topics, made when first asked for.
#[derive(Default)]
struct Topics {
    envelope: Option<Topic>,
    second: Option<Topic>,
    plain: Option<Topic>,
}

impl Bench {
    /// With this binary, or a new release build.
    pub(super) fn new(binary: Option<&Path>, quick: bool, runs: usize) -> Result<Bench> {
        let binary = match binary {
            Some(binary) => binary.canonicalize().with_context(|| binary.display().to_string())?,
            None => super::build_copycat()?,
        };
        Ok(Bench {
            binary,
            bootstrap: testkit::kafka::bootstrap(),
            database: testkit::postgres::database(),
            records: if quick { 100_000 } else { 1_000_000 },
            runs: if quick { 1 } else { runs.max(1) },
            quick,
            topics: Topics::default(),
        })
    }

    /// Fills the topics that these subjects read.
    fn fill(&mut self, subjects: &BTreeSet<Subject>) -> Result<()> {
        let fill =
            |form, generation| Topic::filled(&self.bootstrap, form, generation, self.records);
        let bulk = [
            Subject::Append,
            Subject::Upsert,
            Subject::ExactlyOnce,
            Subject::Sqlite,
            Subject::Restart,
        ];
        if bulk.iter().any(|subject| subjects.contains(subject)) {
            self.topics.envelope = Some(fill(Form::Envelope, Generation::First)?);
        }
        if subjects.contains(&Subject::Upsert) {
            self.topics.second = Some(fill(Form::Envelope, Generation::Second)?);
        }
        if subjects.contains(&Subject::Append) {
            self.topics.plain = Some(fill(Form::Plain, Generation::First)?);
        }
        Ok(())
    }

    fn envelope(&self) -> Result<&Topic> {
        self.topics.envelope.as_ref().context("the topic was not filled")
    }

    fn second_generation(&self) -> Result<&Topic> {
        self.topics.second.as_ref().context("the topic was not filled")
    }

    fn plain(&self) -> Result<&Topic> {
        self.topics.plain.as_ref().context("the topic was not filled")
    }

    pub(super) fn client(&self) -> Client {
        self.database.client()
    }

    fn run(&self, subject: Subject) -> Result<Vec<Section>> {
        match subject {
            Subject::Append => {
                let mut sections = append::run(self)?;
                sections.push(consume::run(self)?);
                Ok(sections)
            }
            Subject::Upsert => Ok(vec![upsert::run(self)?]),
            Subject::ExactlyOnce => Ok(vec![exactly_once::run(self)?]),
            Subject::Latency => Ok(vec![latency::run(self)?]),
            Subject::Sqlite => Ok(vec![sqlite::run(self)?]),
            Subject::Restart => Ok(vec![restart::run(self)?]),
            Subject::Memory => Ok(vec![memory::run(self)?]),
        }
    }
}

pub(super) fn run(args: &Args) -> Result<ExitCode> {
    let mut subjects: BTreeSet<Subject> = args.only.iter().copied().collect();
    if subjects.is_empty() {
        subjects.extend(Subject::USUAL);
    }
    if args.ten_million {
        subjects.insert(Subject::Memory);
    }
    let mut bench = Bench::new(args.binary.as_deref(), args.quick, args.runs)?;
    bench.fill(&subjects)?;
    let mut report = opening(&bench, args);
    print(&report);
    for subject in &subjects {
        say(&format!("measuring {subject:?}"));
        for section in bench.run(*subject).with_context(|| format!("{subject:?}"))? {
            let text = format!("\n{}", section.markdown());
            print(&text);
            report.push_str(&text);
        }
    }
    let path = root().join(format!("bench/results/sink-{}.md", machine::date()));
    if args.quick || !args.only.is_empty() {
        say("a part of the whole: nothing is written to bench/results");
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(&path, report).with_context(|| path.display().to_string())?;
    say(&format!("written to bench/results/sink-{}.md", machine::date()));
    Ok(ExitCode::SUCCESS)
}

fn opening(bench: &Bench, args: &Args) -> String {
    let version = bench.client().value("SHOW server_version").unwrap_or_default();
    let machine: Vec<String> =
        machine::describe(&version).into_iter().map(|line| format!("- {line}\n")).collect();
    format!(
        "# Kafka into SQL databases, {}\n\n{}\n{} orders a run, {} bytes each with their schema, one \
         partition, lz4; {} runs a case, which take turns: median (least–most). Broker, database \
         and worker share the machine. Rates are from the first to the last visible row; *with \
         start* counts from exec. CPU is the worker's own, from exec to the last row.\n{}",
        machine::date(),
        machine.concat(),
        bench.records,
        663,
        bench.runs,
        if args.quick { "\nThis was a quick run: its figures mean little.\n" } else { "" }
    )
}
