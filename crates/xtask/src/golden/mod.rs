//! `cargo xtask golden`: recorded answers of Kafka Connect put to Copycat's crates.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use golden::exceptions::Exceptions;
use golden::run::{Options, run_folder};

#[derive(Args)]
pub(crate) struct Golden {
    /// A folder of *.jsonl files; without it, the project's own.
    folder: Option<PathBuf>,
    /// The list of ids where Connect is wrong; without it, deviations.json of the folder, else the
    /// project's own.
    #[arg(long)]
    deviations: Option<PathBuf>,
    /// Prints failures whose message is not Connect's too.
    #[arg(long)]
    messages: bool,
    /// Writes our answers to the ids that have a better one than Connect's into the project's
    /// better.jsonl. Read what changed before you commit it.
    #[arg(long, conflicts_with = "folder")]
    pin: bool,
}

#[expect(clippy::print_stdout, reason = "a command's output")]
pub(crate) fn run(args: &Golden) -> Result<ExitCode> {
    let own = golden::project().join(golden::TESTDATA);
    let folder = args.folder.as_ref().unwrap_or(&own);
    let is_own = folder.canonicalize()? == own;
    let beside = folder.join("deviations.json");
    let found = if beside.try_exists()? { beside } else { own.join("deviations.json") };
    let deviations = args.deviations.clone().unwrap_or(found);
    let mut exceptions = Exceptions::read(&golden::project(), &deviations)?;
    let options = Options { messages: args.messages };
    let mut tell = |line: &str| println!("{line}");
    let mut summary = run_folder(folder, &exceptions, options, &mut tell)?;
    if args.pin {
        std::fs::write(own.join("better.jsonl"), exceptions.pin(&summary.answered))?;
        exceptions = Exceptions::read(&golden::project(), &deviations)?;
        println!("pinned; what follows is with the pinned answers");
        summary = run_folder(folder, &exceptions, options, &mut tell)?;
    }
    let mut rotten = Vec::new();
    if is_own {
        rotten = exceptions.rotten(&summary.answered);
        for finding in &rotten {
            println!("{finding}");
        }
    }
    let failed = summary.failed + rotten.len();
    println!("{} passed only by class: their messages are our own", summary.other_messages);
    println!("{} passed, {failed} failed", summary.passed);
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
