//! `copycat get`: lists.

mod connectors;
mod loggers;
mod offsets;
mod plugins;
mod tasks;

use crate::ask::Ask;
use crate::exit::Failure;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    ask: Ask,
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// List connectors and their states
    #[command(visible_alias = "connector")]
    Connectors(connectors::Args),
    /// List tasks, their states and what they have done
    #[command(visible_alias = "task")]
    Tasks(tasks::Args),
    /// List plugins: connectors, converters, transforms, predicates
    #[command(visible_alias = "plugin")]
    Plugins(plugins::Args),
    /// Show where connectors have read to
    Offsets(offsets::Args),
    /// List loggers and their levels
    Loggers,
    /// Show the level of a logger
    Logger(loggers::Args),
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let session = args.ask.open()?;
    match &args.what {
        What::Connectors(args) => connectors::run(args, &session),
        What::Tasks(args) => tasks::run(args, &session),
        What::Plugins(args) => plugins::run(args, &session),
        What::Offsets(args) => offsets::run(args, &session),
        What::Loggers => loggers::list(&session),
        What::Logger(args) => loggers::one(args, &session),
    }
}
