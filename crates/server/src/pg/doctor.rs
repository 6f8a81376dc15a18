//! `copycat pg doctor`: one line for each thing that was looked at.

use super::Database;
use crate::exit::UNAVAILABLE;
use pipeline::doctor::{Check, Outcome, examine};
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    database: Database,
}

#[expect(clippy::print_stdout, reason = "the command's answer")]
pub(crate) fn run(args: &Args) -> ExitCode {
    let mut worst = 0;
    let mut tell = |check: Check| {
        println!("{check}");
        worst = worst.max(match check.outcome {
            Outcome::Ok | Outcome::Warning => 0,
            Outcome::Failed => 1,
            Outcome::Unreachable => UNAVAILABLE,
        });
    };
    examine(&args.database.url, &pipeline::worker::admin_settings, &mut tell);
    ExitCode::from(worst)
}
