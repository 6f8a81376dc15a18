//! `copycat transform`: chains of transforms, tested without Kafka, and what there is to chain.

mod diff;
mod expect;
mod json;
mod list;
mod record;
mod report;
mod sample;
mod setup;
mod test;
mod text;
mod topic;
mod trace;

use std::process::ExitCode;

#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Run the chain of a configuration over sample records, step by step
    Test(Box<test::Args>),
    /// Name every transform and predicate
    List(list::ListArgs),
    /// Print the configuration keys of a transform or predicate
    Describe(list::DescribeArgs),
}

pub(crate) fn run(args: &Args) -> ExitCode {
    let outcome = match &args.command {
        Command::Test(args) => test::run(args),
        Command::List(args) => Ok(list::list(args)),
        Command::Describe(args) => list::describe(args),
    };
    outcome.unwrap_or_else(|failure| failure.report())
}

pub(crate) use list::{predicates_page, transforms_page};
