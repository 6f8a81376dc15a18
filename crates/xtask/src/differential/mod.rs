//! `cargo xtask differential`: random cases put to Kafka Connect's libraries and to Copycat's crates.

use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::Args;
use golden::differential::{Area, Findings, run as compare};
use golden::run::cut;

#[derive(Args)]
pub(crate) struct Differential {
    /// The command that answers cases as Kafka Connect does: JSON lines in and out.
    #[arg(long)]
    oracle: String,
    /// The same seed makes the same cases.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Cases in each area.
    #[arg(long, default_value_t = 10_000)]
    cases: usize,
    /// Only this area: data, values, projection, converters, transforms, predicates or configdef.
    #[arg(long)]
    area: Option<String>,
    /// Differences that are shown of each kind.
    #[arg(long, default_value_t = 3)]
    show: usize,
}

pub(crate) fn run(args: &Differential) -> Result<ExitCode> {
    let areas = match &args.area {
        Some(name) => vec![Area::named(name).with_context(|| format!("there is no area {name}"))?],
        None => Area::ALL.to_vec(),
    };
    // A panic is an answer that differs; its text is in the difference.
    std::panic::set_hook(Box::new(|_| {}));
    let (mut same, mut different) = (0, 0);
    for area in areas {
        let findings = compare(&args.oracle, area, args.seed, args.cases)?;
        print(area, &findings, args.show);
        same += findings.same + findings.accepted.values().sum::<usize>();
        different += findings.different();
    }
    Ok(outcome(args.seed, same, different))
}

#[expect(clippy::print_stdout, reason = "a command's output")]
fn outcome(seed: u64, same: usize, different: usize) -> ExitCode {
    println!("seed {seed}: {same} passed, {different} failed");
    if different == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[expect(clippy::print_stdout, reason = "a command's output")]
fn print(area: Area, findings: &Findings, show: usize) {
    for (kind, differences) in &findings.differences {
        println!("{} {kind}: {}", area.name(), differences.len());
        for difference in differences.iter().take(show) {
            println!("  {}", cut(&difference.case["id"].to_string()));
            println!("  input  {}", difference.case["input"]);
            println!("  wanted {}", cut(&difference.case["output"].to_string()));
            println!("  seen   {}", cut(&difference.seen.to_string()));
        }
    }
    for (rule, count) in &findings.accepted {
        println!("{}: {count} differ on purpose: {rule}", area.name());
    }
    let (same, messages) = (findings.same, findings.other_messages);
    let different = findings.different();
    println!(
        "{}: {same} the same ({messages} with another message), {different} differ",
        area.name()
    );
}
