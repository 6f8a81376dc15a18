//! Benchmarks of the built binary and of its parts, each against references that are measured in the
//! same run.
//!
//! They run for minutes on a quiet machine, so they are a chore and no tests. Results are kept in
//! `bench/results` with the machine described.

mod avro;
mod cluster;
mod data;
mod files;
mod machine;
mod pg;
mod process;
mod rest;
mod sink;
mod table;
mod workload;

use std::{
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use anyhow::{Context as _, Result, ensure};

#[derive(clap::Subcommand)]
pub(crate) enum Bench {
    /// Kafka into PostgreSQL and SQLite: throughput, latency, memory, restarts
    Sink(sink::Args),
    /// Files into Kafka and back: throughput, CPU, memory
    Files(files::Args),
    /// Kafka into PostgreSQL by SQL: throughput, broadcast, light load
    Pg(pg::Args),
    /// Converters alone: nanoseconds and allocations a record
    Data(data::Args),
    /// Avro: nanoseconds a record beside other readers, and Kafka into PostgreSQL with a registry
    Avro(avro::Args),
    /// The REST interface with a thousand connectors: time to list them, memory
    Rest(rest::Args),
    /// Clusters: workers that die and come, configurations, a thousand connectors
    Cluster(cluster::Args),
}

pub(crate) fn run(bench: Bench) -> Result<ExitCode> {
    if cfg!(debug_assertions) {
        // The references run in this process; built without optimisation they would look slow.
        return again_in_release();
    }
    match bench {
        Bench::Sink(args) => sink::run(&args),
        Bench::Files(args) => files::run(&args),
        Bench::Pg(args) => pg::run(&args),
        Bench::Data(args) => data::run(&args),
        Bench::Avro(args) => avro::run(&args),
        Bench::Rest(args) => rest::run(&args),
        Bench::Cluster(args) => cluster::run(&args),
    }
}

fn again_in_release() -> Result<ExitCode> {
    let status = cargo()
        .args(["run", "--quiet", "--release", "--package", "xtask", "--"])
        .args(std::env::args_os().skip(1))
        .status()
        .context("cargo does not run")?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Builds the binary as users get it and returns its path.
fn build_copycat() -> Result<PathBuf> {
    let output = cargo()
        .args(["build", "--release", "--package", "server", "--message-format", "json"])
        .stderr(std::process::Stdio::inherit())
        .current_dir(root())
        .output()
        .context("cargo does not run")?;
    ensure!(output.status.success(), "the release build failed");
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter(|message| message["target"]["name"] == "copycat")
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
        .context("cargo does not say where it has put the binary")
}

/// The top folder of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What is going on, for the person who waits.
#[expect(clippy::print_stderr, reason = "a command's progress")]
fn say(line: &str) {
    eprintln!("{line}");
}

#[expect(clippy::print_stdout, reason = "a command's output")]
fn print(text: &str) {
    println!("{text}");
}
