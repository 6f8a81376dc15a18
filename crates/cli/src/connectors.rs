//! Connectors as a worker tells of them, and the choice of some by name.

use crate::client::{Client, path};
use crate::exit::{Failure, UNAVAILABLE};
use crate::names;
use clap_complete::ArgValueCandidates;
use config::{HIDDEN, Props};
use serde_json::Value;

/// Which connectors a command is about.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Chosen {
    /// Names of connectors
    #[arg(value_name = "CONNECTOR", required = true,
        add = ArgValueCandidates::new(names::connectors))]
    names: Vec<String>,
    /// The names are regular expressions; every connector whose whole name matches one is meant
    #[arg(short = 'e', long)]
    reg_exp: bool,
}

impl Chosen {
    /// The names, each once.
    ///
    /// # Errors
    /// An expression is none, or the worker does not answer.
    pub(crate) fn resolve(&self, client: &Client) -> Result<Vec<String>, Failure> {
        if self.reg_exp {
            return matching(&self.names, &all(client)?);
        }
        let mut names: Vec<String> = Vec::new();
        for name in &self.names {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        Ok(names)
    }
}

fn matching(patterns: &[String], names: &[String]) -> Result<Vec<String>, Failure> {
    let mut compiled = Vec::new();
    for pattern in patterns {
        let whole = regex::Regex::new(&format!("^(?:{pattern})$"));
        compiled.push(whole.map_err(|_| {
            Failure::wrong_input(format!("{pattern} is no regular expression"))
                .hint("leave --reg-exp out for plain names")
        })?);
    }
    let matches = |name: &&String| compiled.iter().any(|pattern| pattern.is_match(name));
    Ok(names.iter().filter(matches).cloned().collect())
}

/// Does something to each. One that is refused keeps nobody from the others; a worker that is away does.
///
/// # Errors
/// What was refused, all in one.
pub(crate) fn for_each(
    names: &[String],
    mut act: impl FnMut(&str) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut refused: Option<Failure> = None;
    for name in names {
        let Err(failure) = act(name) else { continue };
        let away = failure.code == UNAVAILABLE;
        match &mut refused {
            None => refused = Some(failure),
            Some(first) => first.message.push_str(&format!("\n{}", failure.message)),
        }
        if away {
            break;
        }
    }
    refused.map_or(Ok(()), Err)
}

/// The names of all connectors, sorted.
///
/// # Errors
/// The worker does not answer.
pub(crate) fn all(client: &Client) -> Result<Vec<String>, Failure> {
    let answer = client.get("/connectors")?;
    let list = answer.as_array().into_iter().flatten();
    let mut names: Vec<String> = list.filter_map(|n| n.as_str().map(str::to_owned)).collect();
    names.sort();
    Ok(names)
}

/// Asks for something of a connector. One that is not there is told with the nearest name.
///
/// # Errors
/// The worker does not answer, or refuses.
pub(crate) fn ask(
    client: &Client,
    method: &str,
    name: &str,
    below: &str,
    body: Option<&Value>,
) -> Result<Value, Failure> {
    let answer = client.send(method, &format!("{}{below}", path(&["connectors", name])), body)?;
    if answer.status != 404 {
        return answer.json();
    }
    Err(missing(client, name, answer.refusal()))
}

/// The refusal to do something with a connector that may not be there, with what is there.
pub(crate) fn missing(client: &Client, name: &str, refusal: Failure) -> Failure {
    let Ok(names) = all(client) else { return refusal };
    if names.iter().any(|other| other == name) || refusal.hint.is_some() {
        return refusal;
    }
    let nearest = config::suggest::nearest(name, names.iter().map(String::as_str));
    let hint = match nearest {
        Some(nearest) => format!("did you mean {nearest}?"),
        None if names.is_empty() => "this worker has no connectors".to_owned(),
        None => "copycat get connectors lists those that there are".to_owned(),
    };
    refusal.hint(hint)
}

/// `None` if there is no such connector.
///
/// # Errors
/// The worker does not answer, or refuses.
pub(crate) fn config_of(client: &Client, name: &str) -> Result<Option<Props>, Failure> {
    let answer = client.send("GET", &path(&["connectors", name, "config"]), None)?;
    if answer.status == 404 {
        return Ok(None);
    }
    Ok(Some(props(&answer.json()?)))
}

/// A configuration as a worker answers it.
pub(crate) fn props(value: &Value) -> Props {
    let members = value.as_object().into_iter().flatten();
    members.map(|(key, value)| (key.clone(), text(value))).collect()
}

/// A member of an answer as text; empty where there is none.
pub(crate) fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// A member of an answer as text, by its JSON pointer.
pub(crate) fn at<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The state of a task: ours says more than Connect's where it is RETRYING.
pub(crate) fn task_state(task: &Value) -> &str {
    match at(task, "/copycat/state") {
        "RETRYING" => "RETRYING",
        _ => at(task, "/state"),
    }
}

/// The tasks of a status.
pub(crate) fn tasks(status: &Value) -> impl Iterator<Item = &Value> {
    status.get("tasks").and_then(Value::as_array).into_iter().flatten()
}

/// The name of a task and its number: `connector/0`.
///
/// # Errors
/// It is something else.
pub(crate) fn task_name(text: &str) -> Result<(&str, u32), Failure> {
    let parts = text.rsplit_once('/').and_then(|(name, id)| Some((name, id.parse().ok()?)));
    parts.filter(|(name, _)| !name.is_empty()).ok_or_else(|| {
        Failure::wrong_input(format!("{text} names no task")).hint("write CONNECTOR/0")
    })
}

/// A value as people may see it. Where a secret lies (`${env:…}`) may be told.
pub(crate) fn shown<'a>(key: &str, value: &'a str) -> &'a str {
    let place = value.starts_with("${") && value.ends_with('}') && value.matches("${").count() == 1;
    let secret = config::looks_secret(key) || config::holds_credentials(value);
    if secret && !place { HIDDEN } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_is_refused_keeps_nobody_from_the_others() {
        let names = ["a", "b", "c", "d"].map(str::to_owned);
        let mut seen = Vec::new();
        let refused = for_each(&names, |name| {
            seen.push(name.to_owned());
            match name {
                "a" => Err(Failure::wrong_input("no a").hint("look")),
                "c" => Err(Failure::unavailable("away")),
                _ => Ok(()),
            }
        });
        let refused = refused.unwrap_err();
        assert_eq!(seen, ["a", "b", "c"]);
        assert_eq!((refused.message.as_str(), refused.code), ("no a\naway", 2));
        assert_eq!(refused.hint.as_deref(), Some("look"));
    }

    #[test]
    fn expressions_match_whole_names() {
        let names: Vec<String> = ["a", "ab", "b"].map(str::to_owned).to_vec();
        let find = |pattern: &str| matching(&[pattern.to_owned()], &names);
        assert_eq!(find("a").unwrap(), ["a"]);
        assert_eq!(find("a.*").unwrap(), ["a", "ab"]);
        assert_eq!(find("a|b").unwrap(), ["a", "b"]);
        assert!(find("(").unwrap_err().hint.is_some());
    }

    #[test]
    fn tasks_are_named_by_connector_and_number() {
        assert_eq!(task_name("a/b/3").unwrap(), ("a/b", 3));
        for wrong in ["a", "a/", "/0", "a/x", "a/-1"] {
            assert!(task_name(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn secrets_are_hidden_and_their_places_are_not() {
        assert_eq!(shown("connection.password", "hunter2"), HIDDEN);
        assert_eq!(shown("connection.url", "jdbc:postgresql://h/d?password=hunter2"), HIDDEN);
        assert_eq!(shown("connection.password", "${env:PW}"), "${env:PW}");
        assert_eq!(shown("connection.password", "${a}hunter2${b}"), HIDDEN);
        assert_eq!(shown("topics", "orders"), "orders");
    }
}
