//! `cargo xtask`: the project's own chores, one module each.

mod bench;
mod differential;
mod golden;
mod tidy;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "The project's own chores.")]
struct Cli {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Checks the house rules that neither rustfmt nor clippy knows.
    Tidy,
    /// Puts recorded answers of Kafka Connect to Copycat's crates and prints what differs.
    Golden(golden::Golden),
    /// Puts random cases to Kafka Connect's libraries and to Copycat's crates and prints what differs.
    Differential(differential::Differential),
    /// Measures the built binary against references in the same run.
    #[command(subcommand)]
    Bench(bench::Bench),
}

fn main() -> anyhow::Result<ExitCode> {
    match Cli::parse().chore {
        Chore::Tidy => tidy::run(),
        Chore::Golden(args) => golden::run(&args),
        Chore::Differential(args) => differential::run(&args),
        Chore::Bench(bench) => bench::run(bench),
    }
}
