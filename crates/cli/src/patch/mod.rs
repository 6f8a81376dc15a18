//! `copycat patch`: a part of something is changed.

mod connector;
mod logger;
mod offsets;

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
    /// Set or remove configuration keys of connectors
    #[command(visible_alias = "connectors")]
    Connector(connector::Args),
    /// Move offsets of a stopped connector
    Offsets(offsets::Args),
    /// Set the level of a logger
    Logger(logger::Args),
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let session = args.ask.open()?;
    match &args.what {
        What::Connector(args) => connector::run(args, &session),
        What::Offsets(args) => offsets::run(args, &session),
        What::Logger(args) => logger::run(args, &session),
    }
}
