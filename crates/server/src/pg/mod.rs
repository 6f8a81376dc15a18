//! `copycat pg`: the schema `pipeline_kafka`, which SQL people use to consume Kafka topics.
//!
//! Crate `pipeline` does the work; here are the words of the command line and the exit codes.

mod doctor;
mod replay;
mod run;
mod schema;

use crate::exit::Failure;
use crate::logging::{self, LogArgs};
use pipeline::control::{Error, ErrorKind};
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Put the schema pipeline_kafka into a database
    ///
    /// No extension and no superuser are needed, only the right to create a schema. Nothing happens
    /// where this version is in place. Afterwards, GRANT USAGE ON SCHEMA pipeline_kafka TO a role lets
    /// that role consume topics into relations that it may write to.
    Install(schema::InstallArgs),
    /// Bring the schema up to the version of this program
    ///
    /// Definitions, positions and dead letters stay. Workers of another version say what to do.
    Upgrade(schema::UpgradeArgs),
    /// Remove the schema with all definitions and positions; the rows that were consumed stay
    ///
    /// Without --yes it only says what would be lost.
    Uninstall(schema::UninstallArgs),
    /// Consume: carry out what consume_begin and its like have defined, until SIGTERM
    ///
    /// Any number of workers share the work. They wait for the database and for Kafka as long as it
    /// takes, and follow changes of the definitions by themselves. Exit code 2: the URL, the
    /// credentials or the schema cannot be used.
    Run(run::Args),
    /// Read a range of a topic once more, in this process, beside the live flow
    ///
    /// Its rows are written once, also after an interruption: --resume goes on. The login needs the
    /// rights of a worker. Exit code 0: done, 1: blocked or cancelled, 2: refused, 3: something cannot
    /// be reached, 130: interrupted.
    Replay(replay::Args),
    /// Check the database, Kafka and the workers, and say what to do about what is wrong
    ///
    /// Exit code 0: all is well (warnings included), 1: a check failed, 3: something cannot be reached.
    Doctor(doctor::Args),
}

/// Where the database is.
#[derive(Debug, clap::Args)]
pub(crate) struct Database {
    /// The database, as postgres://user:password@host:port/name?… or as a JDBC URL
    #[arg(long = "database-url", value_name = "URL", env = "COPYCAT_DATABASE_URL")]
    #[arg(hide_env_values = true)]
    url: String,
}

pub(crate) fn run(args: Args, log: &LogArgs) -> ExitCode {
    logging::start(log);
    let outcome = match args.command {
        Command::Install(args) => schema::install(&args),
        Command::Upgrade(args) => schema::upgrade(&args),
        Command::Uninstall(args) => schema::uninstall(&args),
        Command::Run(args) => run::run(args),
        Command::Replay(args) => replay::run(&args),
        Command::Doctor(args) => Ok(doctor::run(&args)),
    };
    outcome.unwrap_or_else(|failure| failure.report())
}

/// The exit code goes by who has to act.
pub(crate) fn failure(error: Error) -> Failure {
    let failure = match error.kind {
        ErrorKind::Unreachable | ErrorKind::Cancelled => Failure::unavailable(error.message),
        ErrorKind::Schema | ErrorKind::Copied | ErrorKind::Refused => {
            Failure::wrong_input(error.message)
        }
        ErrorKind::Bug => Failure { code: 1, message: error.message, hint: None },
    };
    match error.hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}
