//! `copycat get plugins`.

use crate::ask::Session;
use crate::connectors::at;
use crate::exit::Failure;
use crate::show::{Cell, Table, View};
use clap::ValueEnum;
use serde_json::Value;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    Source,
    Sink,
    Converter,
    #[value(name = "header_converter", alias = "header-converter")]
    HeaderConverter,
    Transformation,
    Predicate,
}

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Only plugins of these types
    #[arg(short, long, value_enum, value_delimiter = ',', ignore_case = true)]
    types: Vec<Kind>,
}

pub(super) fn run(args: &Args, session: &Session) -> Result<(), Failure> {
    let answer = session.client.get("/connector-plugins?connectorsOnly=false")?;
    let wanted: Vec<String> = args
        .types
        .iter()
        .filter_map(|kind| Some(kind.to_possible_value()?.get_name().into()))
        .collect();
    let mut plugins: Vec<&Value> = answer.as_array().into_iter().flatten().collect();
    plugins.retain(|plugin| {
        wanted.is_empty() || wanted.iter().any(|kind| kind == at(plugin, "/type"))
    });
    plugins.sort_by_key(|plugin| (at(plugin, "/type"), at(plugin, "/class")));
    let mut table = Table::new(&["TYPE", "CLASS", "VERSION"]);
    for plugin in &plugins {
        let version = Some(at(plugin, "/version")).filter(|version| !version.is_empty());
        let cells = [at(plugin, "/type"), at(plugin, "/class"), version.unwrap_or("n/a")];
        table.row(cells.map(Cell::of));
    }
    let names = plugins.iter().map(|plugin| at(plugin, "/class").to_owned()).collect();
    let json = plugins.into_iter().cloned().collect();
    session.out.show(View { text: table.into(), names, json })
}
