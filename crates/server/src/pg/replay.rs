//! `copycat pg replay`: reads a range of a topic once more, in this process.
//!
//! Crate `pipeline` does the work; here are options, the display and exit codes: 0 done, 1 blocked or
//! cancelled, 2 refused, 3 something cannot be reached, 130 interrupted.

use super::{Database, failure};
use crate::exit::Failure;
use crate::quickstart::Interrupt;
use pipeline::control::Mode;
use pipeline::replay::Progress;
use pipeline::replay::client::{self, Connection, Outcome, Request};
use std::io::{IsTerminal as _, Write as _, stderr};
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

const INTERRUPTED: u8 = 130;
const BAR: usize = 30;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    database: Database,
    /// Topic of the consumer
    #[arg(required_unless_present = "resume")]
    topic: Option<String>,
    /// Relation of the consumer, with its schema if that is not in the search path
    #[arg(required_unless_present = "resume")]
    relation: Option<String>,
    /// Where to begin: earliest, a time, -N for the last N records of each partition, or a map of
    /// partitions to offsets such as {"0": 42}
    #[arg(long, value_name = "POSITION", allow_hyphen_values = true)]
    #[arg(required_unless_present = "resume")]
    start: Option<String>,
    /// The first position that is not read any more: latest (where the topic ends now), a time or a map
    #[arg(long, value_name = "POSITION", default_value = "latest")]
    end: String,
    /// The relation to write to, if not the consumer's own
    #[arg(long, value_name = "RELATION")]
    into: Option<String>,
    /// What happens where a row is there already, if not what the consumer does
    #[arg(long, value_name = "MODE", value_parser = ["append", "ignore", "upsert"])]
    mode: Option<String>,
    /// Write to the consumer's own relation although records may be stored a second time or older
    /// values put over newer ones
    #[arg(long)]
    force: bool,
    /// Read these partitions only, separated by commas
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    #[arg(value_parser = clap::value_parser!(i32).range(0..))]
    partitions: Vec<i32>,
    /// Kafka cluster of the consumer, where the topic has consumers in several
    #[arg(long, value_name = "NAME")]
    cluster: Option<String>,
    /// Go on with a replay that was interrupted
    #[arg(long, value_name = "ID", conflicts_with_all = ["topic", "relation", "start", "into", "mode"])]
    #[arg(conflicts_with_all = ["force", "partitions", "cluster", "end"])]
    resume: Option<i64>,
    /// Leave the work to the workers, and end
    #[arg(long)]
    detach: bool,
    /// A transaction pooler such as PgBouncer is in between
    #[arg(long)]
    pooler: bool,
}

/// Replays, until it is done or interrupted.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let interrupt = Interrupt::listen()
        .map_err(|error| Failure::unavailable(format!("signals cannot be caught: {error}")))?;
    let connection = Connection { database_url: args.database.url.clone(), pooler: args.pooler };
    let id = match args.resume {
        Some(id) => id,
        None => client::ask(&connection, &request(args), !args.detach).map_err(failure)?,
    };
    if args.detach {
        if args.resume.is_some() {
            client::hand_over(&connection, id).map_err(failure)?;
        }
        say(&format!(
            "replay {id}: left to the workers; how it fares: \
                      SELECT state, state_detail FROM pipeline_kafka.replays WHERE id = {id};"
        ));
        return Ok(ExitCode::SUCCESS);
    }
    let stop = interrupt.flag();
    let mut display = Display::new(id);
    let outcome =
        client::run(&connection, id, &|| stop.load(Ordering::Relaxed), &mut |p| display.show(p));
    display.end();
    Ok(report(id, outcome.map_err(failure)?, &display))
}

fn request(args: &Args) -> Request {
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    Request {
        topic: text(&args.topic),
        relation: text(&args.relation),
        start: text(&args.start),
        end: args.end.clone(),
        into: args.into.clone(),
        mode: args.mode.as_deref().map(|mode| match mode {
            "append" => Mode::Append,
            "ignore" => Mode::Ignore,
            _ => Mode::Upsert,
        }),
        force: args.force,
        partitions: (!args.partitions.is_empty()).then(|| args.partitions.clone()),
        cluster: args.cluster.clone(),
    }
}

fn report(id: i64, outcome: Outcome, display: &Display) -> ExitCode {
    let go_on = format!(
        "go on with: copycat pg replay --resume {id}, or leave it to the workers by adding \
         --detach; end it with: SELECT pipeline_kafka.replay_cancel({id});"
    );
    match outcome {
        Outcome::Done(progress) => {
            let seconds = display.began.elapsed().as_secs_f64().max(0.001);
            let rate = progress.rows as f64 / seconds;
            say(&format!(
                "replay {id}: done, {} rows in {seconds:.1} s ({rate:.0} rows/s), {} dead letters",
                progress.rows, progress.letters
            ));
            ExitCode::SUCCESS
        }
        Outcome::Stopped(progress) => {
            say(&format!(
                "replay {id}: interrupted at {} of {} offsets\n{go_on}",
                progress.done, progress.all
            ));
            ExitCode::from(INTERRUPTED)
        }
        Outcome::Cancelled(progress) => {
            say(&format!(
                "replay {id}: cancelled at {} of {} offsets; its rows stay",
                progress.done, progress.all
            ));
            ExitCode::FAILURE
        }
        Outcome::Blocked(error) => {
            say(&format!("replay {id}: blocked: {}\nafterwards {go_on}", error.report()));
            ExitCode::FAILURE
        }
        Outcome::Taken => {
            say(&format!("replay {id}: another process runs it"));
            ExitCode::FAILURE
        }
    }
}

#[expect(clippy::print_stdout, reason = "the command's answer")]
fn say(text: &str) {
    println!("{text}");
}

/// A bar on a terminal, else a line now and then, on standard error.
struct Display {
    id: i64,
    live: bool,
    began: Instant,
    shown: Option<Instant>,
    trouble: Option<String>,
}

impl Display {
    fn new(id: i64) -> Display {
        let live = stderr().is_terminal();
        Display { id, live, began: Instant::now(), shown: None, trouble: None }
    }

    fn show(&mut self, progress: &Progress) {
        let every = Duration::from_millis(if self.live { 200 } else { 5_000 });
        let news = progress.trouble != self.trouble;
        if !news && self.shown.is_some_and(|shown| shown.elapsed() < every) {
            return;
        }
        self.shown = Some(Instant::now());
        self.trouble.clone_from(&progress.trouble);
        let line = line(self.id, progress, self.began.elapsed());
        // A display that cannot be written to is no reason to stop.
        let _gone = if self.live {
            write!(stderr(), "\r\x1b[K{line}")
        } else {
            writeln!(stderr(), "{line}")
        };
        let _gone = stderr().flush();
    }

    fn end(&self) {
        if self.live && self.shown.is_some() {
            let _gone = writeln!(stderr());
        }
    }
}

fn line(id: i64, progress: &Progress, time: Duration) -> String {
    let all = progress.all.max(1) as f64;
    let part = (progress.done as f64 / all).clamp(0.0, 1.0);
    let full = (part * BAR as f64) as usize;
    let rate = progress.rows as f64 / time.as_secs_f64().max(0.001);
    let bar = format!("{}{}", "#".repeat(full), ".".repeat(BAR - full));
    let mut line = format!(
        "replay {id} [{bar}] {:3.0} % {} of {} offsets, {rate:.0} rows/s",
        part * 100.0,
        progress.done,
        progress.all
    );
    if progress.letters > 0 {
        line.push_str(&format!(", {} dead letters", progress.letters));
    }
    if let Some(trouble) = &progress.trouble {
        line.push_str(&format!("; {}", trouble.replace('\n', " ")));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_how_far_and_how_fast() {
        let progress = Progress { done: 50, all: 100, rows: 40, letters: 2, trouble: None };
        assert_eq!(
            line(7, &progress, Duration::from_secs(2)),
            "replay 7 [###############...............]  50 % 50 of 100 offsets, 20 rows/s, \
             2 dead letters"
        );
        let nothing = Progress { trouble: Some("a\nb".to_owned()), ..Progress::default() };
        assert!(line(7, &nothing, Duration::ZERO).ends_with("0 rows/s; a b"));
    }
}
