//! `copycat patch offsets`.

use crate::ask::Session;
use crate::connectors::{ask, at};
use crate::exit::Failure;
use crate::files::read_text_or_input;
use crate::lifecycle::{must_be_stopped, names_done};
use crate::names;
use clap_complete::ArgValueCandidates;
use serde_json::{Value, json};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("which").required(true).multiple(true)
    .args(["kafka_topic", "source_partition", "file"]))]
pub(super) struct Args {
    /// The connector's name
    #[arg(value_name = "CONNECTOR", add = ArgValueCandidates::new(names::connectors))]
    name: String,
    /// The topic, for a sink connector
    #[arg(long, value_name = "TOPIC", requires_all = ["kafka_partition", "kafka_offset"],
        conflicts_with_all = ["source_partition", "file"])]
    kafka_topic: Option<String>,
    /// The partition of the topic
    #[arg(long, value_name = "N", requires = "kafka_topic")]
    kafka_partition: Option<u32>,
    /// The offset to go on at
    #[arg(long, value_name = "N", requires = "kafka_topic")]
    kafka_offset: Option<u64>,
    /// The partition as JSON, for a source connector
    #[arg(long, value_name = "JSON", requires = "source_offset", value_parser = object,
        conflicts_with = "file")]
    source_partition: Option<Value>,
    /// The offset to go on at, as JSON; null takes the partition's offset away
    #[arg(long, value_name = "JSON", requires = "source_partition", value_parser = object_or_null)]
    source_offset: Option<Value>,
    /// A file of offsets in JSON, as `get offsets -o json` prints them; - is standard input
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,
}

fn object(text: &str) -> Result<Value, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| format!("JSON: {error}"))?;
    if value.is_object() { Ok(value) } else { Err("write a JSON object".to_owned()) }
}

fn object_or_null(text: &str) -> Result<Value, String> {
    if text.trim() == "null" { Ok(Value::Null) } else { object(text) }
}

pub(super) fn run(args: &Args, session: &Session) -> Result<(), Failure> {
    let body = match (&args.kafka_topic, &args.source_partition, &args.file) {
        (Some(topic), _, _) => {
            let partition =
                json!({ "kafka_topic": topic, "kafka_partition": args.kafka_partition });
            let offset = json!({ "kafka_offset": args.kafka_offset });
            json!({ "offsets": [{ "partition": partition, "offset": offset }] })
        }
        (None, Some(partition), _) => {
            json!({ "offsets": [{ "partition": partition, "offset": args.source_offset }] })
        }
        (None, None, Some(file)) => {
            let text = read_text_or_input(file)?;
            serde_json::from_str(&text).map_err(|error| {
                Failure::wrong_input(format!("{}: JSON: {error}", file.display()))
            })?
        }
        (None, None, None) => return Err(Failure::wrong_input("no offsets are given")),
    };
    let answer = ask(&session.client, "PATCH", &args.name, "/offsets", Some(&body));
    let answer = answer.map_err(|failure| must_be_stopped(&args.name, failure))?;
    session.out.done(at(&answer, "/message"))?;
    names_done(session, vec![args.name.clone()])
}
