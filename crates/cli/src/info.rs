//! `copycat info`: what a worker says of itself.

use crate::ask::{Ask, Session};
use crate::connectors::{at, text};
use crate::exit::Failure;
use crate::show::View;
use serde_json::json;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    ask: Ask,
    /// End with 3 unless the worker is healthy: for probes
    #[arg(long)]
    healthy: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let Session { client, out } = args.ask.open()?;
    let root = client.get("/")?;
    // Workers before 4.0 have no such route.
    let health = client.send("GET", "/health", None)?;
    if args.healthy && !health.is_success() {
        return Err(health.refusal());
    }
    let health = serde_json::from_str::<serde_json::Value>(&health.body).unwrap_or_default();
    let health = at(&health, "/status").to_owned();
    let lines = [
        ("URL", client.base().to_owned()),
        ("Version", text(&root["version"])),
        ("Commit", text(&root["commit"])),
        ("Kafka Cluster ID", text(&root["kafka_cluster_id"])),
        ("Health", out.tinted(&health)),
    ];
    let lines: String = lines
        .iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| format!("{:<19}{value}\n", format!("{name}:")))
        .collect();
    let json = json!({
        "url": client.base(),
        "version": root["version"],
        "commit": root["commit"],
        "kafka_cluster_id": root["kafka_cluster_id"],
        "health": health,
    });
    out.show(View { json, text: lines.into(), names: vec![client.base().to_owned()] })
}
