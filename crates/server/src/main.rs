//! The `copycat` binary: commands, wiring, exit codes. Everything else is in the library crates.
//!
//! Data go to standard output, logs to standard error. Exit codes: 0 all well, 1 internal error or a
//! check that failed, 2 the request or a file is wrong, 3 something that is needed is not reachable.

mod cli;
mod exit;
mod logging;
mod options;
mod quickstart;
mod standalone;
mod transform;

use clap::Parser;
use cli::{Cli, Command};
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = Cli::parse();
    match cli.command {
        Command::Standalone(args) => {
            let levels = logging::start(&cli.log);
            standalone::run(args, levels)
        }
        Command::Quickstart(args) => quickstart::run(args),
        Command::Transform(args) => transform::run(&args),
        Command::Options(args) => options::run(&args),
    }
}
