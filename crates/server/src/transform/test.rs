//! `copycat transform test`: a chain over sample records, step by step, compared with what is
//! expected.
//!
//! Traces go to standard output, what is worth saying about the configuration to standard error.
//! Exit codes: 0 all well, 1 a record failed or came out otherwise than expected, 2 the request or a
//! file is wrong, 3 Kafka cannot be reached.

use super::diff::Change;
use super::record::Writer;
use super::sample::{self, Defaults, Sample};
use super::setup::Setup;
use super::text::Paint;
use super::topic::{self, From, Wanted};
use super::trace::{Outcome, Trace};
use super::{expect, report, text, trace};
use crate::exit::Failure;
use data::Origin;
use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// A check that failed, or a record.
const DIFFERENT: u8 = 1;

const EXAMPLES: &str = r#"Records are JSON objects, mostly one a line:

  {"topic": "orders", "partition": 0, "offset": 7, "timestamp": 1700000000000,
   "key": "k1", "value": {"id": 1, "amount": 12.5}, "headers": {"source": "web"}}

  Every member may be left out. key, value and the values of headers are plain JSON, which has no
  schema, or {"schema": ..., "payload": ...} as Kafka Connect's JsonConverter writes it. keyText and
  valueText, keyBase64 and valueBase64 are what a topic holds instead; they go through key.converter
  and value.converter. Headers are an object or a list: {"key": "source", "value": "web"}, or
  valueText, valueBase64.

Expected output has a line for each record: the record that comes out, {"dropped": "STEP"} or
{"failed": {"stage", "class", "exception", "message"}}. Members that a line leaves out are not
compared. Write it by --update, read it, keep it with the configuration.

Examples:
  copycat transform test orders-sink.properties records.jsonl
  copycat transform test chain.json records.jsonl --expect expected.jsonl
  echo '{"value": {"id": "1"}}' | copycat transform test orders-sink.properties
  copycat transform test orders-sink.properties --worker worker.properties --topic orders --limit 5"#;

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// A connector's configuration (properties, JSON or YAML), or a file with its transforms and
    /// predicates alone
    config: PathBuf,
    /// Records as JSON; standard input if not given or "-"
    #[arg(conflicts_with = "topic")]
    records: Option<PathBuf>,
    /// The worker's properties file: for converters, secrets and brokers that the configuration does
    /// not have itself
    #[arg(long)]
    worker: Option<PathBuf>,
    /// Take the records from this topic
    #[arg(long)]
    topic: Option<String>,
    /// Brokers of that topic, if the worker's file does not name them
    #[arg(long, requires = "topic")]
    bootstrap_servers: Option<String>,
    /// Where in the topic to begin: earliest, latest (the newest that are there) or an offset
    #[arg(long, default_value = "earliest", requires = "topic")]
    from: From,
    /// How many records to take from the topic
    #[arg(long, default_value_t = 10, requires = "topic")]
    limit: usize,
    /// The records are a source connector's: they have no offset yet
    #[arg(long, conflicts_with = "topic")]
    source: bool,
    /// Print one JSON object a record
    #[arg(long)]
    json: bool,
    /// Compare with the output in this file; only records that differ are printed
    #[arg(long)]
    expect: Option<PathBuf>,
    /// Write that file from what comes out now
    #[arg(long, requires = "expect", conflicts_with = "json")]
    update: bool,
    /// Compare keys, values and headers without their schemas
    #[arg(long, requires = "expect")]
    ignore_schemas: bool,
}

/// What came of the records, in numbers.
#[derive(Default)]
struct Tally {
    kept: usize,
    dropped: usize,
    failed: usize,
    different: usize,
}

pub(super) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let mut setup = Setup::read(&args.config, args.worker.as_deref())?;
    for notice in &setup.notices {
        say(&format!("{}: {notice}", args.config.display()));
    }
    let samples = samples(args, &setup)?;
    let origin = if args.source { Origin::Source } else { Origin::Sink };
    let mut writer = Writer::new()?;
    if let (true, Some(path)) = (args.update, &args.expect) {
        let mut lines = Vec::new();
        for sample in samples {
            let trace = trace::run(&mut setup, sample, origin)?;
            lines.push(report::outcome(&trace.outcome, &mut writer));
        }
        expect::write(path, &lines)?;
        print(&format!("{}: {} written\n", path.display(), counted(lines.len(), "record")));
        return Ok(ExitCode::SUCCESS);
    }
    let expected = args.expect.as_deref().map(expect::read).transpose()?;
    let mut tally = Tally::default();
    let total = samples.len();
    for (index, sample) in samples.into_iter().enumerate() {
        let trace = trace::run(&mut setup, sample, origin)?;
        let differences = expected.as_ref().map(|expected| {
            let actual = report::outcome(&trace.outcome, &mut writer);
            match expected.get(index) {
                Some(expected) => expect::compare(expected, &actual, !args.ignore_schemas),
                None => expect::unexpected(),
            }
        });
        tally.count(&trace, differences.as_deref());
        show(args, index + 1, &trace, differences.as_deref(), &mut writer);
    }
    let missing = expected.as_ref().map_or(0, |expected| expected.len().saturating_sub(total));
    conclude(args, &tally, total, missing)
}

impl Tally {
    fn count(&mut self, trace: &Trace, differences: Option<&[Change]>) {
        match trace.outcome {
            Outcome::Kept(_) => self.kept += 1,
            Outcome::Dropped(_) => self.dropped += 1,
            Outcome::Failed(_) => self.failed += 1,
        }
        self.different += usize::from(differences.is_some_and(|found| !found.is_empty()));
    }
}

fn samples(args: &Args, setup: &Setup) -> Result<Vec<Sample>, Failure> {
    if let Some(topic) = &args.topic {
        let bootstrap = args.bootstrap_servers.as_deref();
        let wanted = Wanted { topic, bootstrap, from: args.from, limit: args.limit };
        return topic::read(setup, &wanted);
    }
    let defaults = Defaults { topic: setup.topic(), source: args.source };
    let path = args.records.as_deref().filter(|path| *path != Path::new("-"));
    let (origin, text) = match path {
        Some(path) => (path.display().to_string(), std::fs::read_to_string(path)),
        None => {
            let mut text = String::new();
            let read = std::io::stdin().lock().read_to_string(&mut text);
            ("standard input".to_owned(), read.map(|_| text))
        }
    };
    let text = text.map_err(|error| Failure::wrong_input(format!("{origin}: {error}")))?;
    let samples = sample::read(&text, &origin, &defaults)?;
    if samples.is_empty() {
        return Err(Failure::wrong_input(format!("{origin}: there are no records in it"))
            .hint("a record is a JSON object: copycat transform test --help"));
    }
    Ok(samples)
}

fn show(
    args: &Args,
    number: usize,
    trace: &Trace,
    differences: Option<&[Change]>,
    writer: &mut Writer,
) {
    if args.json {
        print(&format!("{}\n", report::trace(number, trace, differences, writer)));
        return;
    }
    let paint = paint();
    match differences {
        None => print(&format!("{}\n", text::trace(number, trace, paint))),
        Some([]) => {}
        Some(found) => {
            let shown = text::trace(number, trace, paint);
            let found = text::changes(found, paint);
            print(&format!(
                "{shown}  differs from what was expected (expected → here):\n{found}\n"
            ));
        }
    }
}

fn conclude(args: &Args, tally: &Tally, total: usize, missing: usize) -> Result<ExitCode, Failure> {
    let records = counted(total, "record");
    let Tally { kept, dropped, failed, different } = tally;
    let code = match &args.expect {
        None => {
            if !args.json {
                print(&format!("{records}: {kept} kept, {dropped} dropped, {failed} failed\n"));
            }
            if *failed > 0 { DIFFERENT } else { 0 }
        }
        Some(path) => {
            let extra = match missing {
                0 => String::new(),
                n => format!("; {} expected beyond the last", counted(n, "record")),
            };
            if !args.json {
                let path = path.display();
                print(&format!("{records}: {different} other than in {path}{extra}\n"));
            } else if missing > 0 {
                say(extra.trim_start_matches("; "));
            }
            if *different + missing > 0 { DIFFERENT } else { 0 }
        }
    };
    Ok(ExitCode::from(code))
}

fn counted(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

fn paint() -> Paint {
    let on = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    Paint { on }
}

#[expect(clippy::print_stdout, reason = "the command's answer")]
fn print(text: &str) {
    print!("{text}");
}

#[expect(clippy::print_stderr, reason = "remarks that are no part of the answer")]
fn say(text: &str) {
    eprintln!("copycat: {text}");
}
