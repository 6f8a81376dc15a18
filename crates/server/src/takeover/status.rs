//! `copycat takeover status`: how each connector is since the take-over, and what is left to do.

use super::ReadArgs;
use super::connector::{reads, sink_entry};
use super::report::{self, Lines};
use super::site::Site;
use crate::exit::{Failure, INTERNAL};
use api::SourceMap;
use herder::Target;
use herder::distributed::topics::{Reported, Status};
use herder::takeover::{Company, Contents, TakeOver, Was};
use runtime::Direction;
use runtime::source::offsets::{OffsetKey, OffsetStore};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::process::ExitCode;

/// Offsets of a connector that are shown to people; programs get them all.
const SHOWN_MAX: usize = 20;

/// Where a partition was and is.
struct Moved {
    partition: SourceMap,
    was: Option<SourceMap>,
    now: Option<SourceMap>,
}

/// How a connector is.
struct Connector {
    name: String,
    target: Option<Target>,
    state: Option<String>,
    tasks: Vec<(u32, String)>,
    offsets: Vec<Moved>,
    /// What is left to do about it.
    left: Vec<String>,
}

pub(super) fn run(args: &ReadArgs) -> Result<ExitCode, Failure> {
    let site = Site::of(&args.cluster)?;
    let company = site.company()?;
    let contents = site.contents(&site.seen()?)?;
    let Some(note) = &contents.taken_over else {
        let text = format!("cluster {} has not been taken over", site.group);
        return Err(Failure::wrong_input(text).hint(site.command("copycat takeover plan")));
    };
    let mut names: Vec<&str> = contents.configs.connectors().map(|(name, _)| name).collect();
    names.extend(contents.was.keys().map(String::as_str));
    names.sort_unstable();
    names.dedup();
    let connectors: Vec<Connector> =
        names.into_iter().map(|name| Connector::of(&site, &contents, note, name)).collect();
    let left = left_for_all(&site, &company);
    if args.json {
        report::print_json(&json!({
            "group": site.group,
            "taken_over_at_ms": note.at_ms,
            "by_version": note.version,
            "workers": report::company_json(&company),
            "left_to_do": left,
            "connectors": connectors.iter().map(Connector::json).collect::<Vec<_>>(),
        }));
    } else {
        let mut lines = Lines::default();
        lines.add(0, &format!("cluster {}, taken over by version {}", site.group, note.version));
        report::company_lines(&company, &mut lines);
        connectors.iter().for_each(|connector| connector.lines(&mut lines));
        let nothing = left.is_empty() && connectors.iter().all(|c| c.left.is_empty());
        left.iter().for_each(|told| lines.add(0, &format!("left to do: {told}")));
        if nothing {
            lines.add(0, "nothing is left to do");
        }
        report::print(lines);
    }
    let well = left.is_empty() && connectors.iter().all(|connector| connector.left.is_empty());
    Ok(if well { ExitCode::SUCCESS } else { ExitCode::from(INTERNAL) })
}

fn left_for_all(site: &Site, company: &Company) -> Vec<String> {
    match company {
        Company::Ours(_) => Vec::new(),
        Company::Nobody => {
            vec![format!("no worker is there; start some: {}", site.command("copycat distributed"))]
        }
        Company::Java(_) => vec![
            "workers of Kafka Connect are alive; stop them, or, to go back to them, stop them and \
             hand the cluster back first"
                .to_owned(),
        ],
        Company::Others { .. } => vec!["something else has the group of the workers".to_owned()],
    }
}

impl Connector {
    fn of(site: &Site, contents: &Contents, note: &TakeOver, name: &str) -> Connector {
        let was = contents.was.get(name);
        let state = contents.configs.get(name).filter(|state| state.exists());
        let Some(state) = state else {
            return Connector {
                name: name.to_owned(),
                target: None,
                state: None,
                tasks: Vec::new(),
                offsets: moved(was, Vec::new()),
                left: Vec::new(),
            };
        };
        let config = state.config().map(|config| config.to_props()).unwrap_or_default();
        let statuses = contents.statuses.get(name);
        let own = statuses.and_then(|statuses| statuses.own.as_ref());
        let count = state.task_count();
        let tasks: Vec<(u32, &Status)> = statuses
            .into_iter()
            .flat_map(|statuses| statuses.tasks.range(..count))
            .map(|(task, status)| (*task, status))
            .collect();
        let mut left = Vec::new();
        if note.left_out.contains(name) {
            left.push(
                "it was left out, and runs nowhere until the cluster is handed back".to_owned(),
            );
        } else {
            left.extend(own.and_then(|own| failed("it", own)));
            left.extend(tasks.iter().filter_map(|(task, s)| failed(&format!("task {task}"), s)));
        }
        let now = match site.worker.direction(&config) {
            Some(Direction::Sink) => sink_now(site, name, &config),
            Some(Direction::Source) if config.get("offsets.storage.topic").is_some() => {
                site.worker.offsets(name, &config)
            }
            _ => contents.list(name),
        };
        let offsets = now.unwrap_or_else(|error| {
            left.push(format!("its offsets could not be read: {}", error.report()));
            Vec::new()
        });
        Connector {
            name: name.to_owned(),
            target: state.target(),
            state: own.map(|own| own.state.name().to_owned()),
            tasks: tasks.iter().map(|(n, s)| (*n, s.state.name().to_owned())).collect(),
            offsets: moved(was, offsets),
            left,
        }
    }

    fn json(&self) -> Value {
        let task = |(id, state): &(u32, String)| json!({ "id": id, "state": state });
        let moved =
            |m: &Moved| json!({ "partition": m.partition, "at_take_over": m.was, "now": m.now });
        json!({
            "name": self.name,
            "exists": self.target.is_some(),
            "target": self.target.map(report::word),
            "state": self.state,
            "tasks": self.tasks.iter().map(task).collect::<Vec<_>>(),
            "offsets": self.offsets.iter().map(moved).collect::<Vec<_>>(),
            "left_to_do": self.left,
        })
    }

    fn lines(&self, lines: &mut Lines) {
        let Connector { name, state, .. } = self;
        let state = match (self.target, state) {
            (None, _) => "was deleted since",
            (Some(_), Some(state)) => state.as_str(),
            (Some(target), None) => report::word(target),
        };
        let tasks: Vec<&str> = self.tasks.iter().map(|(_, state)| state.as_str()).collect();
        let tasks =
            if tasks.is_empty() { String::new() } else { format!(", tasks {}", tasks.join(", ")) };
        lines.add(0, &format!("connector {name}: {state}{tasks}"));
        let text = |map: &Option<SourceMap>| {
            map.as_ref().map_or("nothing".to_owned(), |m| json!(m).to_string())
        };
        for Moved { partition, was, now } in self.offsets.iter().take(SHOWN_MAX) {
            lines.add(
                1,
                &format!("{}: was at {}, is at {}", json!(partition), text(was), text(now)),
            );
        }
        if self.offsets.len() > SHOWN_MAX {
            lines.add(1, &format!("and {} partitions more", self.offsets.len() - SHOWN_MAX));
        }
        self.left.iter().for_each(|told| lines.add(1, &format!("left to do: {told}")));
    }
}

/// What is to be done about a status; the first line of its trace.
fn failed(what: &str, status: &Status) -> Option<String> {
    let why = status.trace.as_deref().and_then(|trace| trace.lines().next()).unwrap_or_default();
    (status.state == Reported::Failed).then(|| format!("{what} has FAILED: {why}"))
}

/// Where a sink is: at what its destination keeps, else at what its group has.
fn sink_now(
    site: &Site,
    name: &str,
    config: &config::Props,
) -> api::Result<Vec<(SourceMap, SourceMap)>> {
    let standing = site.worker.sink_standing(name, config, true)?;
    let mut now: BTreeMap<_, i64> =
        standing.committed.into_iter().map(|committed| (committed.tp, committed.offset)).collect();
    now.extend(standing.stored.transpose()?.unwrap_or_default());
    now.retain(|tp, _| reads(config, &tp.topic));
    Ok(now.iter().map(|(tp, offset)| sink_entry(tp, *offset)).collect())
}

/// What was and what is, by partition.
fn moved(was: Option<&Was>, now: Vec<(SourceMap, SourceMap)>) -> Vec<Moved> {
    let mut all: BTreeMap<Vec<u8>, Moved> = BTreeMap::new();
    let key = |partition: &SourceMap| {
        OffsetKey { connector: String::new(), partition: partition.clone() }.to_bytes()
    };
    for (partition, offset) in was.into_iter().flat_map(|was| was.offsets.iter().cloned()) {
        let moved = Moved { partition: partition.clone(), was: Some(offset), now: None };
        all.insert(key(&partition), moved);
    }
    for (partition, offset) in now {
        let place = all.entry(key(&partition));
        place.or_insert(Moved { partition, was: None, now: None }).now = Some(offset);
    }
    all.into_values().collect()
}
