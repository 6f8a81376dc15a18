//! `cargo xtask bench files`: lines of a file into Kafka, and out of it again.
//!
//! Runs that are compared take turns. Every run is checked: a figure of a run that lost or doubled a
//! line is none. The rate of ours and of the JVM is taken from the first line that is there to the
//! last, because the references have no start either; CPU is that of the whole process.

mod bare;
mod jvm;
mod lines;
mod transfer;

use std::{fs, path::PathBuf, process::ExitCode};

use anyhow::{Context as _, Result};
use tempfile::TempDir;

use self::jvm::Connect;
pub(super) use self::jvm::is_there as is_java_there;
use self::transfer::{Figures, Worker};
use super::{
    machine, print, root, say,
    table::{Goal, Section, Series, paired_ratio, thousands},
};

/// Lines per CPU-second of the JVM's connectors, warm and tuned, where no Java is there to measure.
/// Measured once, on the reference machine (2 virtual cores with AVX-512).
const JVM_SOURCE_PER_CPU_S: f64 = 147_000.0;
const JVM_SINK_PER_CPU_S: f64 = 421_000.0;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// A small run, to see that everything works
    #[arg(long)]
    quick: bool,
    /// Runs of each case; the median is told
    #[arg(long, default_value_t = 3)]
    runs: usize,
    /// A binary to measure instead of a new release build
    #[arg(long)]
    binary: Option<PathBuf>,
    /// Leave Kafka Connect out, also where Java and Maven are there
    #[arg(long)]
    without_jvm: bool,
}

/// What all cases share.
struct Bench {
    binary: PathBuf,
    bootstrap: String,
    folder: TempDir,
    lines: u64,
    runs: usize,
    connect: Option<Connect>,
}

impl Bench {
    fn new(args: &Args) -> Result<Bench> {
        let binary = match &args.binary {
            Some(binary) => binary.canonicalize().with_context(|| binary.display().to_string())?,
            None => super::build_copycat()?,
        };
        let connect = if args.without_jvm { None } else { Connect::find()? };
        let folder = tempfile::tempdir().context("a folder")?;
        let lines = if args.quick { 100_000 } else { 2_000_000 };
        say(&format!("writing {lines} lines"));
        lines::write(&folder.path().join("lines.txt"), lines)?;
        Ok(Bench {
            binary,
            bootstrap: testkit::kafka::bootstrap(),
            folder,
            lines,
            runs: if args.quick { 1 } else { args.runs.max(1) },
            connect,
        })
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("lines.txt")
    }
}

/// Figures of one case over the runs.
#[derive(Default)]
struct Case {
    rates: Series,
    per_cpu_s: Series,
    peaks_mb: Series,
}

impl Case {
    fn push(&mut self, figures: Figures) {
        self.rates.push(figures.rate);
        self.per_cpu_s.push(figures.per_cpu_s);
        self.peaks_mb.push(figures.peak_mb);
    }

    fn row(&self, section: &mut Section, name: &str) {
        let peak = if self.peaks_mb.median() > 0.0 {
            format!("{:.0}", self.peaks_mb.max())
        } else {
            String::new()
        };
        section.row([
            name.to_owned(),
            self.rates.spread(thousands),
            self.per_cpu_s.spread(thousands),
            peak,
        ]);
    }
}

fn ratio(value: f64) -> String {
    format!("{value:.2} ×")
}

fn source(bench: &Bench) -> Result<Section> {
    let (mut bare, mut ours, mut once, mut jvm) =
        (Case::default(), Case::default(), Case::default(), Case::default());
    for _ in 0..bench.runs {
        bare.push(bare::produce(bench)?);
        ours.push(transfer::source(bench, Worker::Ours { exactly_once: false })?);
        once.push(transfer::source(bench, Worker::Ours { exactly_once: true })?);
        if let Some(connect) = &bench.connect {
            jvm.push(transfer::source(bench, Worker::Jvm(connect))?);
        }
    }
    let mut section =
        Section::new("File into Kafka", &["case", "lines/s", "lines per CPU-s", "peak MB"]);
    bare.row(&mut section, "librdkafka's producer, given the lines, nothing else");
    ours.row(&mut section, "FileStreamSource, at least once");
    once.row(&mut section, "FileStreamSource, exactly once");
    if bench.connect.is_some() {
        jvm.row(&mut section, "Kafka Connect 4.3.1's FileStreamSource");
    }
    judge(&mut section, bench, "At least once", (&ours, &bare, &jvm), (JVM_SOURCE_PER_CPU_S, 8.0));
    judge(&mut section, bench, "Exactly once", (&once, &bare, &jvm), (JVM_SOURCE_PER_CPU_S, 8.0));
    let cost = 1.0 - paired_ratio(&once.rates, &ours.rates);
    section.note(format!(
        "Exactly once costs {:.0} % of the rate at which lines come into Kafka, in transactions of \
         {} ms; who reads committed records has them so much later.",
        cost * 100.0,
        transfer::TRANSACTION_MS
    ));
    Ok(section)
}

fn sink(bench: &Bench) -> Result<Section> {
    let topic = transfer::filled(bench)?;
    let (mut bare, mut ours, mut jvm) = (Case::default(), Case::default(), Case::default());
    for _ in 0..bench.runs {
        bare.push(bare::consume(bench, &topic)?);
        ours.push(transfer::sink(bench, &topic, Worker::Ours { exactly_once: false })?);
        if let Some(connect) = &bench.connect {
            jvm.push(transfer::sink(bench, &topic, Worker::Jvm(connect))?);
        }
    }
    testkit::kafka::delete_topic(&bench.bootstrap, &topic);
    let mut section =
        Section::new("Kafka into a file", &["case", "lines/s", "lines per CPU-s", "peak MB"]);
    bare.row(&mut section, "librdkafka's consumer, each record looked at, nothing done");
    ours.row(&mut section, "FileStreamSink");
    if bench.connect.is_some() {
        jvm.row(&mut section, "Kafka Connect 4.3.1's FileStreamSink");
    }
    judge(&mut section, bench, "At least once", (&ours, &bare, &jvm), (JVM_SINK_PER_CPU_S, 6.0));
    Ok(section)
}

/// Ours against what the client alone takes, and against the JVM's CPU.
fn judge(
    section: &mut Section,
    bench: &Bench,
    how: &str,
    (ours, bare, jvm): (&Case, &Case, &Case),
    (jvm_once, goal): (f64, f64),
) {
    let of_bare = paired_ratio(&ours.rates, &bare.rates);
    let told = Goal::AtLeast(0.8).judge(of_bare, ratio);
    section.note(format!("{how}, of the client alone: {told}."));
    let (of_jvm, which) = match bench.connect {
        Some(_) => (paired_ratio(&ours.per_cpu_s, &jvm.per_cpu_s), "in this run"),
        None => (ours.per_cpu_s.median() / jvm_once, "as measured once, on the reference machine"),
    };
    let told = Goal::AtLeast(goal).judge(of_jvm, ratio);
    section.note(format!("{how}, lines per CPU-second, of Kafka Connect's {which}: {told}."));
}

pub(super) fn run(args: &Args) -> Result<ExitCode> {
    let bench = Bench::new(args)?;
    let mut report = opening(&bench, args);
    print(&report);
    for case in [source, sink] {
        let text = format!("\n{}", case(&bench)?.markdown());
        print(&text);
        report.push_str(&text);
    }
    if args.quick {
        say("a quick run: nothing is written to bench/results");
        return Ok(ExitCode::SUCCESS);
    }
    let path = root().join(format!("bench/results/files-{}.md", machine::date()));
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(&path, report).with_context(|| path.display().to_string())?;
    say(&format!("written to bench/results/files-{}.md", machine::date()));
    Ok(ExitCode::SUCCESS)
}

fn opening(bench: &Bench, args: &Args) -> String {
    let machine: Vec<String> =
        machine::describe_broker().into_iter().map(|line| format!("- {line}\n")).collect();
    format!(
        "# Files into Kafka and back, {}\n\n{}\n{} lines of 100 bytes a run, one partition, lz4, \
         linger.ms 5, acks all; {} runs a case, which take turns: median (least–most). Broker, \
         worker and references share the machine.\n{}",
        machine::date(),
        machine.concat(),
        bench.lines,
        bench.runs,
        if args.quick { "\nThis was a quick run: its figures mean little.\n" } else { "" }
    )
}
