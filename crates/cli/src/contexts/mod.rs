//! `copycat config`: contexts, each a worker with the login to use there.

mod file;

use crate::ask::DEFAULT_URL;
use crate::client::Address;
use crate::exit::Failure;
use crate::names;
use crate::show::{Cell, Look, Out, Table, View};
use clap_complete::ArgValueCandidates;
use config::{HIDDEN, Password};
use serde_json::{Map, Value, json};
use std::path::PathBuf;

pub(crate) use file::Contexts;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Make or change a context
    SetContext(Box<SetContext>),
    /// Make a context the current one
    UseContext(Named),
    /// List all contexts
    GetContexts(Look),
    /// Show the current context
    CurrentContext(Look),
    /// Remove a context
    RemoveContext(Named),
}

#[derive(Debug, clap::Args)]
struct Named {
    /// The context's name
    #[arg(value_name = "NAME", add = ArgValueCandidates::new(names::contexts))]
    name: String,
    #[command(flatten)]
    look: Look,
}

#[derive(Debug, clap::Args)]
struct SetContext {
    /// The context's name
    #[arg(value_name = "NAME", add = ArgValueCandidates::new(names::contexts))]
    name: String,
    /// URL of a worker
    #[arg(long, visible_alias = "url", value_name = "URL", default_value = DEFAULT_URL)]
    cluster: String,
    /// User name for basic authentication
    #[arg(long, alias = "user", value_name = "NAME")]
    username: Option<String>,
    /// Password: env:NAME or file:PATH says where it is, so that it is not kept here
    #[arg(long, value_name = "PASSWORD", hide_env_values = true)]
    password: Option<String>,
    /// PEM file of the authorities that sign workers' certificates
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,
    /// Kept for kcctl; offsets are read over REST
    #[arg(long, value_name = "HOST:PORT", hide = true)]
    bootstrap_servers: Option<String>,
    /// Kept for kcctl; offsets are read over REST
    #[arg(long, value_name = "TOPIC", hide = true)]
    offset_topic: Option<String>,
    /// Kept for kcctl
    #[arg(short = 'o', long, value_name = "KEY=VALUE", hide = true)]
    client_config: Vec<String>,
    /// Kept for kcctl
    #[arg(short = 'f', long, value_name = "FILE", hide = true)]
    client_config_file: Option<PathBuf>,
    /// Say nothing when all is well
    #[arg(short, long, env = "COPYCAT_QUIET")]
    quiet: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let mut contexts = Contexts::load()?;
    match &args.what {
        What::SetContext(set) => set_context(&mut contexts, set),
        What::UseContext(Named { name, look }) => {
            contexts.check(name)?;
            contexts.current = Some(name.clone());
            contexts.save()?;
            look.out().done(&format!("Using context {name}"))
        }
        What::RemoveContext(Named { name, look }) => {
            contexts.check(name)?;
            if contexts.current.as_deref() == Some(name) {
                let text = format!("{name} is the current context");
                return Err(Failure::wrong_input(text).hint("use another one first"));
            }
            contexts.all.remove(name);
            contexts.save()?;
            look.out().done(&format!("Removed context {name}"))
        }
        What::GetContexts(look) => list(&contexts, &look.out()),
        What::CurrentContext(look) => current(&contexts, &look.out()),
    }
}

fn set_context(contexts: &mut Contexts, set: &SetContext) -> Result<(), Failure> {
    let name = &set.name;
    if name.is_empty() || name == "currentContext" {
        return Err(Failure::wrong_input(format!("{name:?} cannot name a context")));
    }
    Address::parse(&set.cluster)?;
    let ca_file = set.ca_file.as_ref().map(std::path::absolute).transpose();
    let ca_file = ca_file.map_err(|error| Failure::wrong_input(error.to_string()))?;
    let members = [
        ("cluster", Some(set.cluster.clone())),
        ("bootstrapServers", set.bootstrap_servers.clone()),
        ("offsetTopic", set.offset_topic.clone()),
        ("username", set.username.clone()),
        ("password", set.password.clone()),
        ("caFile", ca_file.map(|path| path.display().to_string())),
    ];
    let filled = members.into_iter().filter_map(|(member, text)| Some((member, text?)));
    let mut context: Map<String, Value> =
        filled.map(|(member, text)| (member.to_owned(), json!(text))).collect();
    let client = client_config(set)?;
    if !client.is_empty() {
        context.insert("clientConfig".to_owned(), Value::Object(client));
    }
    contexts.all.insert(name.clone(), Value::Object(context));
    let current = contexts.current.get_or_insert_with(|| name.clone()) == name;
    let path = contexts.save()?;
    let out = Out::plain(set.quiet);
    out.done(&format!("Configured context {name} in {}", path.display()))?;
    if !current {
        out.note(&format!("copycat config use-context {name} makes it the current one"));
    }
    Ok(())
}

/// Settings of kcctl's own Kafka client.
fn client_config(set: &SetContext) -> Result<Map<String, Value>, Failure> {
    let mut all = Map::new();
    if let Some(file) = &set.client_config_file {
        let read = connector_files::read_properties(file)?;
        all.extend(read.into_iter().map(|(key, value)| (key, json!(value))));
    }
    for pair in &set.client_config {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        all.insert(key.to_owned(), json!(value));
    }
    Ok(all)
}

fn list(contexts: &Contexts, out: &Out) -> Result<(), Failure> {
    let mut table = Table::new(&["CURRENT", "NAME", "URL", "USER"]);
    let mut json = Vec::new();
    for name in contexts.all.keys() {
        let current = contexts.current.as_deref() == Some(name);
        let url = contexts.text(name, "cluster").unwrap_or_default();
        let url = without_login(url);
        let user = contexts.text(name, "username").unwrap_or_default();
        let mark = if current { "*" } else { "" };
        table.row([Cell::of(mark), Cell::of(name), Cell::of(&url), Cell::of(user)]);
        json.push(json!({ "name": name, "current": current, "url": url, "username": user }));
    }
    if contexts.all.is_empty() {
        out.note("there are no contexts; copycat config set-context NAME --cluster URL makes one");
    }
    let names = contexts.all.keys().cloned().collect();
    out.show(View { json: json.into(), text: table.into(), names })
}

fn current(contexts: &Contexts, out: &Out) -> Result<(), Failure> {
    let Some(name) = &contexts.current else {
        return Err(Failure::wrong_input(format!(
            "there is no current context; {DEFAULT_URL} is used"
        ))
        .hint("copycat config set-context NAME --cluster URL makes one"));
    };
    contexts.check(name)?;
    let mut table = Table::new(&["KEY", "VALUE"]);
    table.row([Cell::of("name"), Cell::of(name)]);
    let mut json = Map::new();
    json.insert("name".to_owned(), json!(name));
    let members = contexts.all.get(name).and_then(Value::as_object);
    for (member, value) in members.into_iter().flatten() {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let shown = match member.as_str() {
            // Where a secret is may be told, the secret may not.
            "password" if is_place(&text) => text,
            "password" | "clientConfig" => HIDDEN.to_owned(),
            "cluster" => without_login(&text),
            _ => text,
        };
        table.row([Cell::of(member), Cell::of(&shown)]);
        json.insert(member.clone(), json!(shown));
    }
    out.show(View { json: json.into(), text: table.into(), names: vec![name.clone()] })
}

fn without_login(url: &str) -> String {
    Address::parse(url).map_or_else(|_| url.to_owned(), |address| address.base)
}

fn is_place(text: &str) -> bool {
    text.starts_with("env:") || text.starts_with("file:")
}

/// The secret that a text is, or that lies where it says.
///
/// # Errors
/// There is none there.
pub(crate) fn secret(text: &str) -> Result<Password, Failure> {
    if let Some(name) = text.strip_prefix("env:") {
        let found = std::env::var(name);
        let wrong = |_| Failure::wrong_input(format!("the password's variable {name} is not set"));
        return found.map(Password::new).map_err(wrong);
    }
    if let Some(path) = text.strip_prefix("file:") {
        let found = std::fs::read_to_string(path);
        let wrong = |error| Failure::wrong_input(format!("the password's file {path}: {error}"));
        // Editors end files with a line end that is no part of a password.
        let trimmed = |text: String| Password::new(text.trim_end_matches(['\n', '\r']));
        return found.map(trimmed).map_err(wrong);
    }
    Ok(Password::new(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_found_where_it_lies() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("p");
        std::fs::write(&path, "hunter2\n").unwrap();
        let of = |text: &str| secret(text).map(|found| found.expose().to_owned());
        assert_eq!(of(&format!("file:{}", path.display())).unwrap(), "hunter2");
        assert_eq!(of("hunter2").unwrap(), "hunter2");
        assert!(of("env:COPYCAT_TEST_NO_SUCH_VARIABLE").unwrap_err().message.contains("not set"));
        assert!(of("file:/nowhere/at/all").is_err());
    }
}
