//! The operations of the vectors, each answered by Copycat's own crates through their public API.
//!
//! Invariant: nothing here knows a rule of Connect's; what an operation answers is what the crate
//! that it asks says, put into the notation.

mod chain;
mod conversion;
mod definition;
mod echo;
mod internal;
mod schemas;
mod values;
mod variables;

use crate::fault::{At, Fault};
use serde_json::Value as Json;

/// What cases of one folder share: the secrets that references of `config.reverse` stand for, which
/// only the cases of `config.transform` say.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    pub(crate) providers: Json,
}

impl Surroundings {
    /// Gathers what is shared by these cases.
    pub fn of<'a>(cases: impl IntoIterator<Item = &'a Json>) -> Surroundings {
        let of_op = |case: &&Json| case["op"] == "config.transform";
        let first = cases.into_iter().find(of_op);
        Surroundings { providers: first.map_or(Json::Null, |c| c["input"]["providers"].clone()) }
    }
}

/// The answer to a case; a failure is an answer. `None`: there is no such operation.
pub fn answer(case: &Json, surroundings: &Surroundings) -> Option<Json> {
    let input = &case["input"];
    Some(match case["op"].as_str()? {
        "transform" => chain::transform(input),
        "predicate" => chain::predicate(input),
        "converter.toConnectData" => conversion::to_connect(input),
        "converter.fromConnectData" => conversion::from_connect(input),
        "configdef.validate" => definition::validate(input),
        "configdef.describe" => definition::describe(input),
        "config.transform" => variables::transform(input),
        "config.reverse" => variables::reverse(input, surroundings),
        "internal.configs" => internal::configs(input),
        "internal.offsets" => internal::offsets(input),
        "internal.statuses" => internal::statuses(input),
        "internal.record" => internal::record(case),
        // What was asked of the worker that wrote the records; it has no answer.
        "internal.actions" => Json::Null,
        "value.echo" => echo::value(input),
        "record.echo" => echo::record(input),
        "values.parseString" => values::parse_string(input),
        "values.inferSchema" => values::infer_schema(input),
        "schema.build" => schemas::build(input),
        "schema.equals" => schemas::equals(input),
        "schema.validate" => schemas::validate(input),
        "schema.project" => schemas::project(input),
        "struct" => schemas::structs(input),
        other => return values::convert(other.strip_prefix("values.convertTo")?, input),
    })
}

/// Whether a file is of a part of Copycat that is not built yet: the file connectors, dead letters as a
/// whole, and REST, whose lines have a method or none instead of an operation.
pub fn is_not_built(cases: &[Json]) -> bool {
    let is_rest = cases.iter().any(|case| case["method"].is_string());
    let of_case = |case: &Json| match case["op"].as_str() {
        None => is_rest,
        Some("dead-letter") => true,
        Some(op) => op.starts_with("file."),
    };
    !cases.is_empty() && cases.iter().all(of_case)
}

/// The settings of a case; a null counts as absent.
fn props(node: &Json) -> config::Props {
    let members = node.as_object().into_iter().flatten();
    members.filter_map(|(key, value)| Some((key.clone(), text_of(value)?))).collect()
}

/// A setting as text: JSON that is no text is written as it stands.
fn text_of(value: &Json) -> Option<String> {
    match value {
        Json::Null => None,
        Json::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// The answer of what either works or fails at the stage.
fn settled(result: Result<Json, (Fault, At)>) -> Json {
    result.unwrap_or_else(|(fault, at)| fault.answer(at))
}

fn at(at: At) -> impl Fn(Fault) -> (Fault, At) {
    move |fault| (fault, at)
}
