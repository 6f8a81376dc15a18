//! `copycat top`: connectors at work, from the worker's metrics and statuses.

mod frame;
mod metrics;

use crate::ask::{Ask, Session};
use crate::client::Client;
use crate::exit::{Failure, UNAVAILABLE};
use crate::show::{Format, Out, View, printable};
use frame::Frame;
use metrics::Sample;
use serde_json::Value;
use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only these connectors
    #[arg(value_name = "CONNECTOR",
        add = clap_complete::ArgValueCandidates::new(crate::names::connectors))]
    names: Vec<String>,
    /// Seconds between two looks, over which rates are taken
    #[arg(short, long, value_name = "SECONDS", default_value_t = 2.0, value_parser = seconds)]
    interval: f64,
    /// End after this many tables
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Print one table, then end
    #[arg(long, conflicts_with = "count")]
    once: bool,
    /// A line for each task
    #[arg(short, long)]
    tasks: bool,
    #[command(flatten)]
    ask: Ask,
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if (0.1..=3600.0).contains(&seconds) { Ok(seconds) } else { Err("0.1 to 3600".to_owned()) }
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let Session { client, out } = args.ask.open()?;
    let count = if args.once { Some(1) } else { args.count };
    let live = count.is_none() && out.format == Format::Table && std::io::stdout().is_terminal();
    let mut before = sample(&client)?;
    let mut looked = before.at;
    let mut shown = 0;
    while count.is_none_or(|count| shown < count) {
        wait_until(looked + Duration::from_secs_f64(args.interval));
        looked = Instant::now();
        let found =
            sample(&client).and_then(|now| Ok((now, client.get("/connectors?expand=status")?)));
        let (now, statuses) = match found {
            Ok(found) => found,
            Err(failure) => {
                out.data(&page(&away(failure, live)?, false))?;
                continue;
            }
        };
        let mut frame = Frame::new(&before, &now, &statuses, args.tasks);
        frame.keep(&args.names);
        show(&frame, &out, live, shown > 0)?;
        before = now;
        shown += 1;
    }
    Ok(())
}

/// A thread that is not woken may be: it waits on.
pub(crate) fn wait_until(until: Instant) {
    while let Some(left) = until.checked_duration_since(Instant::now()).filter(|l| !l.is_zero()) {
        std::thread::park_timeout(left);
    }
}

fn sample(client: &Client) -> Result<Sample, Failure> {
    let answer = client.send("GET", "/metrics", None)?;
    if matches!(answer.status, 404 | 406) {
        return Err(Failure::wrong_input(format!("{} has no metrics", client.base()))
            .hint("top is for workers of Copycat; copycat get tasks works with every worker"));
    }
    if !answer.is_success() {
        return Err(answer.refusal());
    }
    Ok(Sample { at: Instant::now(), tasks: metrics::tasks(&answer.body) })
}

/// What stands on the page of those who watch while the worker is away: it may be back soon.
///
/// # Errors
/// Nobody watches, or it is another failure.
fn away(failure: Failure, live: bool) -> Result<String, Failure> {
    if !live || failure.code != UNAVAILABLE {
        return Err(failure);
    }
    Ok(format!("{}\ntrying again; Ctrl-C ends this\n", failure.message))
}

/// To the upper left corner; what is below goes.
fn page(text: &str, color: bool) -> String {
    format!("\x1b[H\x1b[J{}", printable(text, color))
}

fn show(frame: &Frame, out: &Out, live: bool, again: bool) -> Result<(), Failure> {
    if live {
        return out.data(&page(&frame.text(out.color), out.color));
    }
    match out.format {
        Format::Table if again => out.data("\n")?,
        Format::Yaml if again => out.data("---\n")?,
        _ => {}
    }
    let names = frame.rows.iter().map(|row| row.name.clone()).collect();
    let json: Value = frame.json();
    out.show(View { json, text: frame.text(out.color).into(), names })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_that_is_away_is_waited_for_by_those_who_watch() {
        let gone = || Failure::unavailable("h:1 cannot be reached");
        assert!(away(gone(), true).unwrap().starts_with("h:1 cannot be reached\ntrying again"));
        assert!(away(gone(), false).is_err());
        assert!(away(Failure::wrong_input("no"), true).is_err());
    }
}
