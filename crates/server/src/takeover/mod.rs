//! `copycat takeover`: a running cluster of Kafka Connect, taken over with its topics as they are, and
//! handed back.
//!
//! Crate `herder` reads, notes and writes; here is what is told about it. Exit codes: 0 all well, 1
//! something cannot run or is left to do, 2 the file or the topics are wrong, or somebody is alive who
//! must not be, 3 something cannot be reached.

mod connector;
mod differences;
mod plan;
mod report;
mod rollback;
mod site;
mod start;
mod status;

use crate::logging::{self, LogArgs};
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Say what a take-over would come to, connector by connector; change nothing
    ///
    /// Reads the cluster's three topics and groups, also while its workers run. Exit code 0: all
    /// connectors can run here, 1: some cannot, or a topic is not fit, 2: the file is wrong, 3: Kafka
    /// cannot be reached.
    Plan(ReadArgs),
    /// Take the cluster over: note how everything stands, so that workers of Copycat can be started
    ///
    /// Refuses while workers of Kafka Connect are alive, and while there are connectors that cannot
    /// run here, unless these are named by --without. Exit code 0: workers may start, 1: some
    /// connectors cannot run, 2: somebody is alive, or something is wrong, 3: something cannot be reached.
    Start(StartArgs),
    /// Say how each connector is since the take-over, and what is left to do
    ///
    /// Exit code 0: nothing is left, 1: something is, 2: no take-over was started, 3: something cannot
    /// be reached.
    Status(ReadArgs),
    /// Hand the cluster back: leave the topics so that workers of Kafka Connect go on
    ///
    /// Refuses while workers of Copycat are alive. May be run again at any time. Exit code 0: workers
    /// of Kafka Connect may start, 2: somebody is alive, or something is wrong, 3: something cannot be
    /// reached.
    Rollback(RollbackArgs),
}

/// Which cluster.
#[derive(Debug, clap::Args)]
struct ClusterArgs {
    /// The properties file of its workers, unchanged, laid over by CONNECT_* variables
    /// (CONNECT_GROUP_ID is group.id); - or nothing if these have everything
    worker: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
struct ReadArgs {
    #[command(flatten)]
    cluster: ClusterArgs,
    /// Answer in JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
struct StartArgs {
    #[command(flatten)]
    cluster: ClusterArgs,
    /// Leave this connector out: it is paused until the cluster is handed back, and then is as it was
    #[arg(long, value_name = "CONNECTOR")]
    without: Vec<String>,
}

#[derive(Debug, clap::Args)]
struct RollbackArgs {
    #[command(flatten)]
    cluster: ClusterArgs,
    /// Leave the positions of this sink as its group has them, for its destination cannot be reached:
    /// the last records may be written again
    #[arg(long, value_name = "CONNECTOR")]
    without: Vec<String>,
}

pub(crate) fn run(args: &Args, log: &LogArgs) -> ExitCode {
    logging::start(log);
    let outcome = match &args.command {
        Command::Plan(args) => plan::run(args),
        Command::Start(args) => start::run(args),
        Command::Status(args) => status::run(args),
        Command::Rollback(args) => rollback::run(args),
    };
    outcome.unwrap_or_else(|failure| failure.report())
}
