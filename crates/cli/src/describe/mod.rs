//! `copycat describe`: everything about one thing.

mod connector;
mod plugin;
mod task;

use crate::ask::Ask;
use crate::exit::Failure;

pub(crate) use connector::trace_lines;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    ask: Ask,
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Show configuration, tasks and topics of connectors
    #[command(visible_alias = "connectors")]
    Connector(connector::Args),
    /// Show a task
    Task(task::Args),
    /// Show the configuration keys of a plugin
    Plugin(plugin::Args),
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let session = args.ask.open()?;
    match &args.what {
        What::Connector(args) => connector::run(args, &session),
        What::Task(args) => task::run(args, &session),
        What::Plugin(args) => plugin::run(args, &session),
    }
}
