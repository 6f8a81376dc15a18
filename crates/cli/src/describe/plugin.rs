//! `copycat describe plugin`: its configuration keys.

use crate::ask::Session;
use crate::client::path;
use crate::connectors::{at, text};
use crate::exit::Failure;
use crate::names;
use crate::show::View;
use clap_complete::ArgValueCandidates;
use serde_json::Value;
use std::fmt::Write as _;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The plugin's class or alias
    #[arg(value_name = "PLUGIN", add = ArgValueCandidates::new(names::plugins))]
    name: String,
    /// Only keys whose name or documentation matches this regular expression
    #[arg(long, value_name = "REGEX", group = "searching")]
    search: Option<String>,
    /// Only keys whose name matches
    #[arg(long, value_name = "REGEX", group = "searching")]
    search_name: Option<String>,
    /// Only keys whose documentation matches
    #[arg(long, value_name = "REGEX", group = "searching")]
    search_description: Option<String>,
}

pub(super) fn run(args: &Args, session: &Session) -> Result<(), Failure> {
    let found =
        session.client.send("GET", &path(&["connector-plugins", &args.name, "config"]), None)?;
    if found.status == 404 {
        let hint = "copycat get plugins lists those that there are";
        let refusal = found.refusal();
        return Err(if refusal.hint.is_some() { refusal } else { refusal.hint(hint) });
    }
    let found = found.json()?;
    let keys = found.as_array().into_iter().flatten();
    let keys: Vec<&Value> = args.filter(keys)?;
    let mut page = String::new();
    for key in &keys {
        let mut line = |name: &str, value: &str| {
            let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
            let name = format!("{name}:");
            // Writing to a string cannot fail.
            let _ok = writeln!(page, "{}", format!("{name:<14} {value}").trim_end());
        };
        line("Name", &session.out.bold(at(key, "/name")));
        line("Type", at(key, "/type"));
        line("Required", &text(&key["required"]));
        line("Default", &text(&key["default_value"]));
        line("Documentation", at(key, "/documentation"));
        page.push('\n');
    }
    let names = keys.iter().map(|key| at(key, "/name").to_owned()).collect();
    let json = keys.into_iter().cloned().collect();
    session.out.show(View { json, text: page.into(), names })
}

impl Args {
    fn filter<'a>(&self, keys: impl Iterator<Item = &'a Value>) -> Result<Vec<&'a Value>, Failure> {
        let searches = [
            (&self.search, [true, true]),
            (&self.search_name, [true, false]),
            (&self.search_description, [false, true]),
        ];
        let search = searches.into_iter().find_map(|(search, of)| Some((search.as_ref()?, of)));
        let Some((pattern, [in_name, in_documentation])) = search else {
            return Ok(keys.collect());
        };
        let pattern = regex::Regex::new(pattern)
            .map_err(|_| Failure::wrong_input(format!("{pattern} is no regular expression")))?;
        Ok(keys
            .filter(|key| {
                in_name && pattern.is_match(at(key, "/name"))
                    || in_documentation && pattern.is_match(at(key, "/documentation"))
            })
            .collect())
    }
}
