//! `copycat patch connector`.

use crate::ask::Session;
use crate::client::path;
use crate::connectors::{Chosen, config_of, missing, props};
use crate::exit::Failure;
use crate::plan::{change_lines, changes};
use crate::show::{Format, View};
use config::Props;
use serde_json::{Map, Value, json};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    chosen: Chosen,
    /// Set a key
    #[arg(short, long, value_name = "KEY=VALUE", value_parser = pair,
        required_unless_present = "remove")]
    set: Vec<(String, String)>,
    /// Remove a key
    #[arg(short, long, value_name = "KEY")]
    remove: Vec<String>,
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => {
            Ok((key.trim().to_owned(), value.to_owned()))
        }
        _ => Err("write KEY=VALUE".to_owned()),
    }
}

pub(super) fn run(args: &Args, session: &Session) -> Result<(), Failure> {
    let Session { client, out } = session;
    let mut patch = Map::new();
    patch.extend(args.remove.iter().map(|key| (key.clone(), Value::Null)));
    patch.extend(args.set.iter().map(|(key, value)| (key.clone(), json!(value))));
    let chosen = args.chosen.resolve(client)?;
    let mut all = Map::new();
    for name in &chosen {
        let Some(before) = config_of(client, name)? else {
            let refusal = Failure::wrong_input(format!("Connector {name} not found"));
            return Err(missing(client, name, refusal));
        };
        let info = send(session, name, &before, &patch)?;
        let after = props(&info["config"]);
        out.done(&format!("Updated connector {name}"))?;
        out.done(change_lines(&changes(&before, &after)).trim_end())?;
        all.insert(name.clone(), info);
    }
    if out.format == Format::Table {
        return Ok(());
    }
    out.show(View { json: Value::Object(all), text: String::new().into(), names: chosen })
}

/// Workers before 3.9 cannot patch: there the whole configuration is written.
fn send(
    session: &Session,
    name: &str,
    before: &Props,
    patch: &Map<String, Value>,
) -> Result<Value, Failure> {
    let path = path(&["connectors", name, "config"]);
    let answer = session.client.send("PATCH", &path, Some(&Value::Object(patch.clone())))?;
    if answer.status != 405 {
        return answer.json();
    }
    let mut whole: Map<String, Value> =
        before.iter().map(|(key, value)| (key.to_owned(), json!(value))).collect();
    for (key, value) in patch {
        match value {
            Value::Null => whole.remove(key),
            value => whole.insert(key.clone(), value.clone()),
        };
    }
    session.client.send("PUT", &path, Some(&Value::Object(whole)))?.json()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_may_hold_equals_signs() {
        let read = |text: &str| pair(text).unwrap();
        assert_eq!(read("a=b=c"), ("a".to_owned(), "b=c".to_owned()));
        assert_eq!(read("a="), ("a".to_owned(), String::new()));
        assert!(pair("a").is_err() && pair("=b").is_err());
    }
}
