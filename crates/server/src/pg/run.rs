//! `copycat pg run`: the worker. Crate `pipeline` does the work; here are options and signals.

use super::Database;
use crate::exit::Failure;
use crate::quickstart::Interrupt;
use pipeline::worker::{Options, Stop};
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    database: Database,
    /// Consumer group of the consumers that name none
    ///
    /// Workers with the same group share the work; each topic is read once by the group.
    #[arg(long, value_name = "ID", default_value = "pipeline_kafka")]
    group: String,
    /// A name that stays the same when this worker is started again, and that no other has
    ///
    /// Its place in the group is then kept while it is away for less than a session.
    #[arg(long, value_name = "NAME")]
    worker_name: Option<String>,
    /// Connections to the database at most
    #[arg(long, value_name = "N", default_value_t = 8)]
    #[arg(value_parser = clap::value_parser!(u16).range(4..=1000))]
    connections_max: u16,
    /// Bytes of records that wait in memory at most, over all consumers
    #[arg(long, value_name = "BYTES", default_value_t = 32 << 20)]
    #[arg(value_parser = clap::value_parser!(u64).range(1 << 20..))]
    queue_bytes_max: u64,
    /// A transaction pooler such as PgBouncer is in between
    #[arg(long)]
    pooler: bool,
    /// Go on with a copy of the database that the schema was installed into
    ///
    /// The copy gets a number of its own. Do this only if the original is not worked on any more: both
    /// together would consume as one group.
    #[arg(long)]
    accept_database: bool,
}

/// Works until SIGTERM or SIGINT.
pub(crate) fn run(args: Args) -> Result<ExitCode, Failure> {
    let interrupt = Interrupt::listen()
        .map_err(|error| Failure::unavailable(format!("signals cannot be caught: {error}")))?;
    let options = Options {
        database_url: args.database.url,
        pooler: args.pooler,
        accept_database: args.accept_database,
        group: args.group,
        worker_name: args.worker_name,
        connections_max: usize::from(args.connections_max),
        queue_bytes_max: usize::try_from(args.queue_bytes_max).unwrap_or(usize::MAX),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    pipeline::worker::run(&options, &Stop::by(interrupt.flag())).map_err(super::failure)?;
    tracing::info!("stopped");
    Ok(ExitCode::SUCCESS)
}
