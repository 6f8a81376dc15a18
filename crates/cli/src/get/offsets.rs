//! `copycat get offsets`.

use crate::ask::Session;
use crate::connectors::{Chosen, ask, text};
use crate::exit::Failure;
use crate::show::{Cell, Table, View};
use serde_json::{Map, Value};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    chosen: Chosen,
}

pub(super) fn run(args: &Args, session: &Session) -> Result<(), Failure> {
    let Session { client, out } = session;
    let names = args.chosen.resolve(client)?;
    let mut table = Table::new(&["CONNECTOR", "PARTITION", "OFFSET"]);
    let mut all = Map::new();
    for name in &names {
        let answer = ask(client, "GET", name, "/offsets", None)?;
        let offsets = answer.get("offsets").and_then(Value::as_array);
        if offsets.is_none_or(Vec::is_empty) {
            out.note(&format!("{name} has no offsets yet"));
        }
        for entry in offsets.into_iter().flatten() {
            let partition = partition(&entry["partition"]);
            let offset = match entry.pointer("/offset/kafka_offset") {
                Some(offset) => text(offset),
                None => entry["offset"].to_string(),
            };
            table.row([Cell::of(name), Cell::of(&partition), Cell::of(&offset)]);
        }
        all.insert(name.clone(), answer);
    }
    // One connector's answer is what `patch offsets --file` and the REST interface take.
    let json = match names.as_slice() {
        [one] => all.remove(one).unwrap_or_default(),
        _ => Value::Object(all),
    };
    out.show(View { text: table.into(), names, json })
}

/// `topic-0` for a sink; whatever a source calls its partitions.
fn partition(value: &Value) -> String {
    match (value.get("kafka_topic"), value.get("kafka_partition")) {
        (Some(topic), Some(partition)) => format!("{}-{}", text(topic), text(partition)),
        _ => value.to_string(),
    }
}
