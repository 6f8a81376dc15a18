//! `copycat transform list` and `describe`, and the reference pages made from the same definitions.

use crate::exit::Failure;
use crate::options::{heading, keys};
use config::ConfigDef;
use config::suggest::nearest;
use std::fmt::Write;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub(super) struct ListArgs {
    /// Print one JSON object a class
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct DescribeArgs {
    /// The class of a transform or predicate, in any spelling a configuration may use; without $Key
    /// or $Value for both
    class: String,
}

/// A transform or predicate as users name it: one entry for the forms of keys and values.
struct Entry {
    /// The class without `$Key` and `$Value`.
    base: &'static str,
    /// Every class of it.
    classes: Vec<&'static str>,
    aliases: Vec<&'static str>,
    summary: &'static str,
    def: ConfigDef,
}

impl Entry {
    /// The simple name of the class.
    fn name(&self) -> &'static str {
        self.base.rsplit('.').next().unwrap_or_default()
    }

    fn names(&self) -> impl Iterator<Item = &'static str> {
        self.classes.iter().chain(&self.aliases).copied().chain([self.base, self.name()])
    }
}

fn entries(
    plugins: impl Iterator<
        Item = (&'static str, &'static [&'static str], &'static str, fn() -> ConfigDef),
    >,
) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for (class, aliases, summary, def) in plugins {
        let base = class.strip_suffix("$Key").or(class.strip_suffix("$Value")).unwrap_or(class);
        match entries.iter_mut().find(|entry| entry.base == base) {
            Some(entry) => {
                entry.classes.push(class);
                entry.aliases.extend(aliases);
            }
            None => entries.push(Entry {
                base,
                classes: vec![class],
                aliases: aliases.to_vec(),
                summary,
                def: def(),
            }),
        }
    }
    entries.sort_by_key(Entry::name);
    entries
}

fn transforms() -> Vec<Entry> {
    let all = transforms::transforms().iter();
    entries(all.map(|plugin| (plugin.class, plugin.aliases, plugin.summary, plugin.config_def)))
}

fn predicates() -> Vec<Entry> {
    let all = transforms::predicates().iter();
    entries(all.map(|plugin| (plugin.class, plugin.aliases, plugin.summary, plugin.config_def)))
}

/// The first sentence of a summary, in one line.
fn first_sentence(summary: &str) -> String {
    let text = summary.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.find(". ") {
        Some(end) => text.get(..=end).unwrap_or(&text).to_owned(),
        None => text,
    }
}

#[expect(clippy::print_stdout, reason = "the command's answer")]
pub(super) fn list(args: &ListArgs) -> ExitCode {
    for (kind, entries) in [("transform", transforms()), ("predicate", predicates())] {
        if args.json {
            for entry in entries {
                for class in &entry.classes {
                    let summary = first_sentence(entry.summary);
                    let line = serde_json::json!({
                        "kind": kind, "class": class, "summary": summary });
                    println!("{line}");
                }
            }
            continue;
        }
        println!("{}s", if kind == "transform" { "Transform" } else { "Predicate" });
        for entry in entries {
            println!("  {}\n      {}", forms(&entry), first_sentence(entry.summary));
        }
    }
    ExitCode::SUCCESS
}

/// `org.x.Cast$Key, org.x.Cast$Value` as `org.x.Cast$Key|$Value`.
fn forms(entry: &Entry) -> String {
    let forms = entry.classes.iter().map(|class| class.strip_prefix(entry.base).unwrap_or(class));
    format!("{}{}", entry.base, forms.collect::<Vec<_>>().join("|"))
}

#[expect(clippy::print_stdout, reason = "the command's answer")]
pub(super) fn describe(args: &DescribeArgs) -> Result<ExitCode, Failure> {
    let class = args.class.as_str();
    let (transforms, predicates) = (transforms(), predicates());
    let kinds = [("transforms", &transforms), ("predicates", &predicates)];
    for (kind, entries) in kinds {
        if let Some(entry) = entries.iter().find(|entry| entry.names().any(|name| name == class)) {
            print!("{}", section(entry, kind, "#"));
            return Ok(ExitCode::SUCCESS);
        }
    }
    let names = transforms.iter().chain(&predicates).flat_map(Entry::names);
    let guess = nearest(class, names).map(|name| format!("did you mean {name}? "));
    let failure = Failure::wrong_input(format!("there is no transform or predicate {class}"));
    Err(failure.hint(format!("{}copycat transform list names all", guess.unwrap_or_default())))
}

/// The part of a page that is about one class.
fn section(entry: &Entry, list: &str, level: &str) -> String {
    let mut page = String::new();
    let classes: Vec<String> = entry.classes.iter().map(|class| format!("`{class}`")).collect();
    let summary = entry
        .summary
        .split("\n\n")
        .map(|paragraph| paragraph.split_whitespace().collect::<Vec<_>>().join(" "));
    let summary = summary.collect::<Vec<_>>().join("\n\n");
    // Writing to a string cannot fail.
    let _ok = write!(page, "{level} {}\n\n{}\n\n{summary}\n", entry.name(), classes.join(", "));
    match entry.def.keys().next() {
        None => page.push_str("\nIt has no keys of its own.\n"),
        Some(_) => page.push_str(&keys(&entry.def.with_prefix(&format!("{list}.ALIAS.")), "")),
    }
    page
}

/// The reference page of all transforms.
pub(crate) fn transforms_page() -> String {
    let intro = "Changes to single records on their way from the converters to the destination. \
        `transforms` names them by aliases of your own, in the order in which they are applied; \
        `transforms.ALIAS.type` is the class, `transforms.ALIAS.predicate` the alias of a \
        [predicate](predicates.md) that chooses the records it is for, `transforms.ALIAS.negate=true` \
        turns the choice round. Forms ending in `$Key` and `$Value` work on the key and the value of \
        a record. `copycat transform test` runs a chain over sample records.";
    page("Transforms", intro, &transforms(), "transforms")
}

/// The reference page of all predicates.
pub(crate) fn predicates_page() -> String {
    let intro = "Conditions of [transforms](transforms.md). `predicates` names them by aliases of \
        your own, `predicates.ALIAS.type` is the class; a transform uses one by \
        `transforms.ALIAS.predicate`.";
    page("Predicates", intro, &predicates(), "predicates")
}

fn page(title: &str, intro: &str, entries: &[Entry], list: &str) -> String {
    let mut page = heading(title, intro);
    for entry in entries {
        page.push('\n');
        page.push_str(&section(entry, list, "##"));
    }
    page
}
