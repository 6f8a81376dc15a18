//! The `copycat` binary: commands, wiring, exit codes. Everything else is in the library crates.
//!
//! Data go to standard output, logs to standard error. Exit codes: 0 all well, 1 internal error or a
//! check that failed, 2 the request or a file is wrong, 3 something that is needed is not reachable,
//! 4 a plan has changes.

mod cli;
#[cfg(test)]
mod deploy;
mod distributed;
mod failures;
mod logging;
mod options;
mod pg;
mod quickstart;
mod standalone;
mod takeover;
mod transform;

use ::cli::exit;
use clap::{CommandFactory as _, FromArgMatches as _};
use cli::{Cli, Command};
use std::process::ExitCode;

/// The whole command line.
fn program() -> clap::Command {
    ::cli::with_environment(Cli::command())
}

fn main() -> ExitCode {
    ::cli::complete(program);
    let cli = Cli::from_arg_matches(&program().get_matches()).unwrap_or_else(|error| error.exit());
    match cli.command {
        Command::Standalone(args) => {
            let levels = logging::start(&cli.log);
            standalone::run(args, levels)
        }
        Command::Distributed(args) => {
            let levels = logging::start(&cli.log);
            distributed::run(args, levels)
        }
        Command::Takeover(args) => takeover::run(&args, &cli.log),
        Command::Quickstart(args) => quickstart::run(args),
        Command::Transform(args) => transform::run(&args),
        Command::Pg(args) => pg::run(args, &cli.log),
        Command::Options(args) => options::run(&args),
        Command::Verb(verb) => ::cli::run(&verb, program),
    }
}
