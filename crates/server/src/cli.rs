//! The command line.

use crate::logging::LogArgs;
use crate::{options, quickstart, standalone, transform};
use clap::{Parser, Subcommand};

/// Moves data between Apache Kafka and databases, each record exactly once.
#[derive(Debug, Parser)]
#[command(name = "copycat", version, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) log: LogArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a worker on its own, with Kafka Connect's configuration files
    Standalone(standalone::Args),
    /// Watch orders go from Kafka into a database, exactly once, through a kill -9
    Quickstart(quickstart::Args),
    /// Test chains of transforms on sample records; list and describe transforms and predicates
    Transform(transform::Args),
    /// Print the configuration keys of a connector, a converter or the worker
    Options(options::Args),
}
