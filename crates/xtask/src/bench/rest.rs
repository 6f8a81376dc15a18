//! `cargo xtask bench rest`: a worker with a thousand connectors that are stopped. What they cost in
//! memory, how long it takes to make one and to list all with status and configuration.

use std::{fs, path::PathBuf, process::ExitCode, time::Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use testkit::{kafka, process::Worker, process::request};

use super::{
    machine, print,
    process::memory,
    root, say,
    table::{Goal, Section, Series},
};

const LIST: &str = "/connectors?expand=status&expand=info";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// A small run, to see that everything works
    #[arg(long)]
    quick: bool,
    /// A binary to measure instead of a new release build
    #[arg(long)]
    binary: Option<PathBuf>,
}

pub(super) fn run(args: &Args) -> Result<ExitCode> {
    let binary = match &args.binary {
        Some(binary) => binary.canonicalize().with_context(|| binary.display().to_string())?,
        None => super::build_copycat()?,
    };
    let (connectors, lists) = if args.quick { (50, 20) } else { (1000, 500) };
    let before = machine::load();
    let section = measure(&binary.display().to_string(), connectors, lists)?;
    let lines: Vec<String> =
        machine::describe_process().into_iter().map(|line| format!("- {line}\n")).collect();
    let report = format!(
        "# REST, {}\n\n`cargo xtask bench rest`. Every answer is checked for all connectors; each request \
         has a connection of its own.\n\n{}- load before and after: {before}; {}\n\n{}",
        machine::date(),
        lines.concat(),
        machine::load(),
        section.markdown()
    );
    print(&report);
    if args.quick {
        say("a quick run: nothing is written to bench/results");
    } else {
        let name = format!("bench/results/rest-{}.md", machine::date());
        fs::write(root().join(&name), &report).with_context(|| name.clone())?;
        say(&format!("written to {name}"));
    }
    Ok(ExitCode::SUCCESS)
}

fn measure(binary: &str, connectors: usize, lists: usize) -> Result<Section> {
    let worker = Worker::standalone(binary)
        .worker("bootstrap.servers", &kafka::bootstrap())
        .worker("key.converter", "org.apache.kafka.connect.storage.StringConverter")
        .worker("value.converter", "org.apache.kafka.connect.json.JsonConverter")
        .start();
    let idle = memory(worker.id())?.now;
    say(&format!("making {connectors} connectors"));
    let mut making = Series::default();
    for number in 0..connectors {
        let body = connector(number).to_string();
        let start = Instant::now();
        let answer = request(worker.address(), "POST", "/connectors", Some(&body))?;
        making.push(start.elapsed().as_secs_f64() * 1e3);
        ensure!(answer.status == 201, "{}", answer.body);
    }
    let made = memory(worker.id())?.now;
    let mut listing = Series::default();
    let mut bytes = 0;
    for round in 0..lists {
        let start = Instant::now();
        let answer = request(worker.address(), "GET", LIST, None)?;
        listing.push(start.elapsed().as_secs_f64() * 1e3);
        bytes = answer.body.len();
        if round == 0 {
            let all: Value = serde_json::from_str(&answer.body)?;
            let count = all.as_object().map_or(0, serde_json::Map::len);
            ensure!(count == connectors, "{count} connectors are listed");
        }
    }
    let after = memory(worker.id())?;
    let ms = |value: f64| format!("{value:.1} ms");
    let mb = |value: f64| format!("{value:.1} MB");
    let mut section = Section::new(&format!("{connectors} connectors, stopped"), &["", "measured"]);
    let mut row = |name: &str, told: String| section.row([name.to_owned(), told]);
    row("make one, median", ms(making.median()));
    row("make one, 99 %", ms(making.quantile(0.99)));
    row("list all with status and info, median", ms(listing.median()));
    let goal = Goal::AtMost(50.0).judge(listing.quantile(0.99), ms);
    row("list all with status and info, 99 %", goal);
    row("bytes of that answer", bytes.to_string());
    row("memory before", mb(idle));
    row("memory with all of them", mb(made));
    // 20 KB for each.
    let allowed = 64.0 + connectors as f64 * 20.0 / 1024.0;
    row("memory after all lists", Goal::AtMost(allowed).judge(after.now, mb));
    row("peak", mb(after.peak));
    Ok(section)
}

/// A stopped one, as large as a usual sink, as it is made by POST.
pub(super) fn connector(number: usize) -> Value {
    json!({
        "name": format!("connector-{number}"),
        "initial_state": "STOPPED",
        "config": {
            "connector.class": "postgres-sink",
            "topics": format!("orders-{number}"),
            "connection.url": format!("jdbc:postgresql://localhost:5432/shop-{number}?user=shop"),
            "table.name.format": "orders",
            "insert.mode": "upsert",
            "pk.mode": "record_key",
            "pk.fields": "id",
            "errors.tolerance": "all",
            "tasks.max": "4",
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            "value.converter.schemas.enable": "false",
        },
    })
}
