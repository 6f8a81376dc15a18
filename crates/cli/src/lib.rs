//! The commands that talk to a worker over REST, in kcctl's grammar: `copycat get connectors`,
//! `copycat apply -f FILE`. They work with any worker of Kafka Connect; what only ours answers (hints,
//! checks, counters) is shown where it is there.
//!
//! Nothing here keeps anything but the file of contexts. Data go to standard output, everything else
//! to standard error, and a secret to neither, except where JSON or YAML of a worker's own answer is
//! asked for and the worker shows it.

mod apply;
mod ask;
mod client;
mod completion;
mod connectors;
mod contexts;
mod describe;
mod doctor;
mod environment;
pub mod exit;
mod files;
mod get;
mod info;
mod lifecycle;
mod man;
mod names;
mod patch;
mod plan;
mod reference;
mod restart;
mod show;
mod top;
mod validate;
mod workers;

use exit::Failure;
use lifecycle::Action;
use std::process::ExitCode;

pub use completion::complete;
pub use environment::with_environment;
pub use reference::page as reference;

/// A command of this crate.
#[derive(Debug, clap::Subcommand)]
pub enum Verb {
    /// Show what a worker says of itself
    Info(Info),
    /// Keep contexts: which workers there are and who asks there
    Config(Config),
    /// List connectors, tasks, plugins, offsets or loggers
    Get(Get),
    /// Show everything about a connector, a task or a plugin
    Describe(Describe),
    /// Create connectors from files, or change those that there are
    Apply(Apply),
    /// Show what apply would change; ends with 4 where something would
    Plan(Plan),
    /// Let the worker check the configurations of files
    Validate(Validate),
    /// Change a part of a connector, its offsets or a logger
    Patch(Patch),
    /// Pause connectors: their tasks stay and do nothing
    Pause(Lifecycle),
    /// Resume connectors that are paused or stopped
    Resume(Lifecycle),
    /// Stop connectors: they keep their configurations and offsets, and have no tasks
    Stop(Lifecycle),
    /// Restart connectors or a task
    Restart(Restart),
    /// Delete connectors or their offsets
    Delete(Delete),
    /// Check worker, Kafka, connectors and what they connect to
    Doctor(Doctor),
    /// Watch connectors at work: rows a second, lag, age, errors
    Top(Top),
    /// List the workers of a cluster: how they are, who leads, how many tasks they have
    Workers(Workers),
    /// Let a worker give its tasks to the others before maintenance, and wait until it has none
    Drain(Drain),
    /// Print a script that lets a shell complete commands and names
    Completion(Completion),
    /// Print the manual page, or write those of all commands into a folder
    Man(Man),
}

/// Gives the arguments of each command a public name without showing what is in them.
macro_rules! arguments {
    ($($name:ident = $inner:ty;)*) => {$(
        #[doc = concat!("The arguments of `", stringify!($name), "`.")]
        #[derive(Debug, clap::Args)]
        pub struct $name {
            #[command(flatten)]
            inner: $inner,
        }
    )*};
}

arguments! {
    Info = info::Args;
    Config = contexts::Args;
    Get = get::Args;
    Describe = describe::Args;
    Apply = apply::Args;
    Plan = plan::Args;
    Validate = validate::Args;
    Patch = patch::Args;
    Lifecycle = lifecycle::Args;
    Restart = restart::Args;
    Delete = lifecycle::DeleteArgs;
    Doctor = doctor::Args;
    Top = top::Args;
    Workers = workers::Args;
    Drain = workers::drain::Args;
    Completion = completion::Args;
    Man = man::Args;
}

/// Carries a command out. `program` is the whole command line, for manual pages.
pub fn run(verb: &Verb, program: fn() -> clap::Command) -> ExitCode {
    match carry_out(verb, program) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => failure.report(),
    }
}

fn carry_out(verb: &Verb, program: fn() -> clap::Command) -> Result<u8, Failure> {
    match verb {
        Verb::Info(args) => info::run(&args.inner)?,
        Verb::Config(args) => contexts::run(&args.inner)?,
        Verb::Get(args) => get::run(&args.inner)?,
        Verb::Describe(args) => describe::run(&args.inner)?,
        Verb::Apply(args) => return apply::run(&args.inner),
        Verb::Plan(args) => return plan::run(&args.inner),
        Verb::Validate(args) => return validate::run(&args.inner),
        Verb::Patch(args) => patch::run(&args.inner)?,
        Verb::Pause(args) => lifecycle::run(Action::Pause, &args.inner)?,
        Verb::Resume(args) => lifecycle::run(Action::Resume, &args.inner)?,
        Verb::Stop(args) => lifecycle::run(Action::Stop, &args.inner)?,
        Verb::Restart(args) => restart::run(&args.inner)?,
        Verb::Delete(args) => lifecycle::delete(&args.inner)?,
        Verb::Doctor(args) => return doctor::run(&args.inner),
        Verb::Top(args) => top::run(&args.inner)?,
        Verb::Workers(args) => workers::run(&args.inner)?,
        Verb::Drain(args) => workers::drain::run(&args.inner)?,
        Verb::Completion(args) => completion::run(&args.inner)?,
        Verb::Man(args) => man::run(&args.inner, program)?,
    }
    Ok(0)
}
