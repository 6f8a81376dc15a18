//! `copycat options`: the configuration keys of a connector, a converter or the worker, as Markdown.
//!
//! The text comes from the definitions that also check a configuration; `docs/reference` holds the
//! same pages, which a test keeps fresh.

use crate::exit::Failure;
use api::Connector;
use config::connector::SinkConnectorConfig;
use config::distributed::DistributedConfig;
use config::source::SourceConnectorConfig;
use config::worker::StandaloneConfig;
use config::{Config, ConfigDef, ConfigKey, Props};
use runtime::metrics::{Group, Metric};
use std::fmt::Write;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A connector or converter class, in any spelling a configuration may use; "worker" and
    /// "distributed-worker" for the worker file, "connector" and "source-connector" for the keys that every sink and every source
    /// has, "transforms", "predicates", "metrics" for what the worker measures
    #[arg(default_value = "connector")]
    subject: String,
}

#[expect(clippy::print_stdout, reason = "the command's answer")]
pub(crate) fn run(args: &Args) -> ExitCode {
    match page(&args.subject) {
        Ok(page) => {
            print!("{page}");
            ExitCode::SUCCESS
        }
        Err(text) => Failure::wrong_input(text)
            .hint("copycat options worker, copycat options distributed-worker, copycat options connector, copycat options CLASS")
            .report(),
    }
}

/// The page of a subject.
fn page(subject: &str) -> Result<String, String> {
    if subject == "worker" {
        let intro = "Keys of the worker file of `copycat standalone`.";
        return Ok(render("Worker", intro, &StandaloneConfig::def()));
    }
    if subject == "distributed-worker" {
        let intro = "Keys of the worker file of `copycat distributed`. `group.id` and the three topics \
                     behind `.storage.topic` are required here.";
        return Ok(render("Distributed worker", intro, &DistributedConfig::def()));
    }
    if subject == "connector" {
        let intro = "Keys that every sink connector has, beside its own.";
        return Ok(render("Sink connectors", intro, &SinkConnectorConfig::def()));
    }
    if subject == "source-connector" {
        let intro = "Keys that every source connector has, beside its own. Topics that are missing are \
                     made by the keys behind `topic.creation.`: see `topic.creation.groups`.";
        return Ok(render("Source connectors", intro, &SourceConnectorConfig::def()));
    }
    if subject == "transforms" {
        return Ok(crate::transform::transforms_page());
    }
    if subject == "metrics" {
        return Ok(metrics_page());
    }
    if subject == "predicates" {
        return Ok(crate::transform::predicates_page());
    }
    if let Some(plugin) = converters::find(subject) {
        let intro = "Keys of the converter, each behind `key.converter.` or `value.converter.`.";
        return Ok(render(plugin.class, intro, &(plugin.config_def)()));
    }
    let plugin = connectors::find(subject, &Props::new())?;
    let connector = (plugin.make)();
    let def = connector.config_def(subject);
    let kind = match connector {
        Connector::Sink(_) => "sink",
        Connector::Source(_) => "source",
    };
    let intro = format!("{}. Keys that every {kind} has come on top.", plugin.summary);
    Ok(render(subject, &intro, &def))
}

/// What `/metrics` has.
fn metrics_page() -> String {
    let intro = "What `GET /metrics` tells, in the text format of Prometheus, or as OpenMetrics where that is \
                 asked for. Kafka Connect's metrics have the names that the JMX exporter gives them. A \
                 connector or task that is gone has no metrics any more, and a task that starts again \
                 counts from 0. Means, extremes and rates are of the last `metrics.num.samples` windows of \
                 `metrics.sample.window.ms`; without a value they are NaN.";
    let mut page = heading("Metrics", intro);
    for group in Group::ALL {
        // Writing to a string cannot fail.
        let _ok = write!(page, "\n## {}\n\n", group.title());
        page.push_str("| name | kind | labels | |\n| --- | --- | --- | --- |\n");
        let own = Metric::ALL.iter().map(|metric| metric.definition());
        for metric in own.filter(|metric| metric.group == group) {
            let labels: Vec<String> =
                metric.labels.iter().map(|label| format!("`{label}`")).collect();
            let (name, kind, labels) = (metric.name, metric.kind.name(), labels.join(", "));
            let _ok = writeln!(page, "| `{name}` | {kind} | {labels} | {} |", metric.help);
        }
    }
    page
}

fn render(title: &str, intro: &str, def: &ConfigDef) -> String {
    let mut page = heading(title, intro);
    page.push_str(&keys(def, "##"));
    if def.keys().next().is_none() {
        page.push_str("\nThere are none.\n");
    }
    page
}

pub(crate) fn heading(title: &str, intro: &str) -> String {
    format!("# {title}\n\n{intro}\n")
}

/// The keys of a definition, by group under headings of that level; without headings if it is empty.
pub(crate) fn keys(def: &ConfigDef, level: &str) -> String {
    let mut page = String::new();
    let mut group: Option<&str> = None;
    for key in def.keys() {
        if key.group.as_deref() != group && !level.is_empty() {
            group = key.group.as_deref();
            // Writing to a string cannot fail.
            let _ok = write!(page, "\n{level} {}\n", group.unwrap_or("Others"));
        }
        let _ok = write!(page, "\n**`{}`** ({})  \n{}\n", key.name, facts(key), text(key));
    }
    page
}

fn facts(key: &ConfigKey) -> String {
    let mut facts = key.kind.name().to_lowercase();
    match &key.default {
        None => facts.push_str(", required"),
        Some(None) => {}
        Some(Some(default)) if default.is_empty() => facts.push_str(", empty by default"),
        Some(Some(default)) => {
            let _ok = write!(facts, ", default `{default}`");
        }
    }
    let choices = key.validator.as_ref().map(|validator| validator.choices()).unwrap_or_default();
    if !choices.is_empty() {
        let _ok = write!(facts, ", one of `{}`", choices.join("`, `"));
    }
    facts
}

fn text(key: &ConfigKey) -> String {
    key.documentation.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    /// The one page that is about no configuration.
    const REST: &str = "rest";

    /// Every page of `docs/reference` and the subject it is about: its first alias for a plugin.
    fn pages() -> Vec<(String, &'static str)> {
        let connectors = connectors::plugins().iter().map(|plugin| plugin.aliases);
        let converters = converters::plugins().iter().map(|plugin| plugin.aliases);
        let plugins = connectors.chain(converters).map(|aliases| aliases[0]);
        let fixed = [
            "worker",
            "distributed-worker",
            "connector",
            "source-connector",
            "transforms",
            "predicates",
            "metrics",
        ];
        let subjects = fixed.into_iter().chain(plugins);
        subjects.map(|subject| (format!("{}.md", dashed(subject)), subject)).collect()
    }

    /// `JsonConverter` as `json-converter`.
    fn dashed(name: &str) -> String {
        let mut out = String::new();
        for c in name.chars() {
            if c.is_ascii_uppercase() && !out.is_empty() {
                out.push('-');
            }
            out.push(c.to_ascii_lowercase());
        }
        out
    }

    #[test]
    fn the_reference_pages_are_fresh() {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference");
        let refresh = std::env::var_os("COPYCAT_REFRESH_DOCS").is_some();
        for (file, subject) in pages().into_iter().chain([("rest.md".to_owned(), REST)]) {
            let page =
                if subject == REST { rest::reference_page() } else { page(subject).unwrap() };
            let path = folder.join(&file);
            if refresh {
                std::fs::create_dir_all(&folder).unwrap();
                std::fs::write(&path, &page).unwrap();
            }
            let kept = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(
                kept == page,
                "docs/reference/{file} is stale: COPYCAT_REFRESH_DOCS=1 cargo test -p server pages"
            );
        }
    }

    #[test]
    fn every_key_says_what_it_is_for() {
        for (_, subject) in pages() {
            let page = page(subject).unwrap();
            assert!(!page.contains(")  \n\n"), "a key without text in {subject}");
        }
    }

    #[test]
    fn an_unknown_subject_is_told_what_exists() {
        let error = page("postgress-sink").unwrap_err();
        assert!(error.contains("postgres-sink"), "{error}");
    }
}
