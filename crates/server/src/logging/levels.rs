//! The loggers of the process, whose levels can be changed while it runs.
//!
//! A logger is a part of the program: `kafka`, `runtime.sink`. Its level is its own, else that of the
//! nearest part above, else the root's. Names are Kafka Connect's with dots; in the filter of the
//! logging library they are paths.

use rest::{LoggerLevel, Loggers};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

const ROOT: &str = "root";

/// The parts of the program that log.
const PARTS: [&str; 9] = [
    "connectors",
    "copycat",
    "herder",
    "kafka",
    "librdkafka",
    "rest",
    "runtime",
    "sql",
    "transforms",
];

/// Levels by Log4j's names, with what each is in a filter.
const LEVELS: [(&str, &str); 8] = [
    ("OFF", "off"),
    ("FATAL", "error"),
    ("ERROR", "error"),
    ("WARN", "warn"),
    ("INFO", "info"),
    ("DEBUG", "debug"),
    ("TRACE", "trace"),
    ("ALL", "trace"),
];

#[derive(Clone, Debug)]
struct Level {
    name: &'static str,
    changed_at: Option<u64>,
}

struct Table {
    root: Level,
    /// `None`: as the part above.
    loggers: BTreeMap<String, Option<Level>>,
    /// Parts of the filter that are more than a name and a level.
    others: Vec<String>,
}

/// Puts a new filter into effect.
type Apply = Box<dyn Fn(&str) + Send + Sync>;

/// The levels, and how they take effect.
pub(crate) struct Levels {
    table: Mutex<Table>,
    apply: Apply,
}

impl Levels {
    /// Begins with the levels of a filter such as `info,kafka=debug`.
    pub(crate) fn new(filter: &str, apply: Apply) -> Levels {
        let mut table = Table {
            root: Level { name: "ERROR", changed_at: None },
            loggers: PARTS.iter().map(|part| ((*part).to_owned(), None)).collect(),
            others: Vec::new(),
        };
        for part in filter.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (name, level) = part.split_once('=').unwrap_or((ROOT, part));
            match level_of(level).map(|name| Level { name, changed_at: None }) {
                Some(level) if name == ROOT => table.root = level,
                Some(level) if is_plain(name) => {
                    table.loggers.insert(name.replace("::", "."), Some(level));
                }
                _ => table.others.push(part.to_owned()),
            }
        }
        Levels { table: Mutex::new(table), apply }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Loggers for Levels {
    fn list(&self) -> Vec<(String, LoggerLevel)> {
        let table = self.table();
        let names = table.loggers.keys().map(String::as_str).chain([ROOT]);
        let mut all: Vec<_> =
            names.map(|name| (name.to_owned(), shown(table.effective(name)))).collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all
    }

    fn get(&self, name: &str) -> Option<LoggerLevel> {
        let table = self.table();
        let name = if is_root(name) { ROOT } else { name };
        let known = name == ROOT || table.loggers.contains_key(name);
        known.then(|| shown(table.effective(name)))
    }

    fn has_level(&self, level: &str) -> bool {
        level_of(level).is_some()
    }

    fn set(&self, name: &str, level: &str) -> Option<Vec<String>> {
        let level = level_of(level)?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let changed_at = now.ok().and_then(|since| since.as_millis().try_into().ok());
        let mut table = self.table();
        let changed = table.set(name, &Level { name: level, changed_at });
        let filter = table.filter();
        drop(table);
        (self.apply)(&filter);
        Some(changed)
    }
}

impl Levels {
    /// Takes a level that somebody has set for all workers.
    pub(crate) fn set_for_all(&self, logger: &str, level: &str) {
        match self.set(logger, level) {
            Some(changed) => tracing::info!("log level {level}, as for all workers: {changed:?}"),
            None => tracing::warn!("log level of {logger}: there is no level {level}"),
        }
    }
}

impl Table {
    fn effective(&self, name: &str) -> &Level {
        let mut name = name;
        loop {
            if let Some(Some(level)) = self.loggers.get(name) {
                return level;
            }
            match name.rsplit_once('.') {
                Some((above, _)) => name = above,
                None => return &self.root,
            }
        }
    }

    fn set(&mut self, name: &str, level: &Level) -> Vec<String> {
        let root = is_root(name);
        if !root {
            self.loggers.entry(name.to_owned()).or_default();
        }
        let names: Vec<String> = if root {
            self.loggers.keys().cloned().chain([ROOT.to_owned()]).collect()
        } else {
            self.loggers.keys().filter(|known| known.starts_with(name)).cloned().collect()
        };
        let differs = |name: &String| self.effective(name).name != level.name;
        let mut changed: Vec<String> = names.into_iter().filter(differs).collect();
        for name in &changed {
            if name == ROOT {
                self.root = level.clone();
            } else {
                self.loggers.insert(name.clone(), Some(level.clone()));
            }
        }
        changed.sort();
        changed
    }

    fn filter(&self) -> String {
        let word = |level: &Level| {
            LEVELS.iter().find(|(name, _)| *name == level.name).map_or("info", |(_, word)| word)
        };
        let mut parts = vec![word(&self.root).to_owned()];
        for (name, level) in &self.loggers {
            if let Some(level) = level.as_ref().filter(|_| is_plain(name)) {
                parts.push(format!("{}={}", name.replace('.', "::"), word(level)));
            }
        }
        parts.extend(self.others.iter().cloned());
        parts.join(",")
    }
}

fn level_of(text: &str) -> Option<&'static str> {
    LEVELS.iter().map(|(name, _)| *name).find(|name| name.eq_ignore_ascii_case(text.trim()))
}

fn is_root(name: &str) -> bool {
    name.eq_ignore_ascii_case(ROOT)
}

/// Whether a name can stand in a filter.
fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | ':');
    !name.is_empty() && name.chars().all(plain)
}

fn shown(level: &Level) -> LoggerLevel {
    LoggerLevel { level: level.name.to_owned(), last_modified: level.changed_at }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn levels(filter: &str) -> (Levels, Arc<Mutex<String>>) {
        let seen = Arc::new(Mutex::new(String::new()));
        let sees = seen.clone();
        let apply = Box::new(move |filter: &str| *sees.lock().unwrap() = filter.to_owned());
        (Levels::new(filter, apply), seen)
    }

    #[test]
    fn a_level_is_set_for_all_whose_name_begins_so_and_takes_effect() {
        let (levels, filter) = levels("info,kafka::wire=debug");
        assert_eq!(levels.get("kafka.wire").unwrap().level, "DEBUG");
        assert_eq!(levels.get("a.b"), None);
        assert_eq!(levels.set("a.b", "debug").unwrap(), ["a.b"]);
        assert_eq!(levels.set("a.b.c", "trace").unwrap(), ["a.b.c"]);
        assert_eq!(levels.set("a.b", "ERROR").unwrap(), ["a.b", "a.b.c"]);
        assert_eq!(levels.set("a.b", "error").unwrap(), Vec::<String>::new());
        let filter = || filter.lock().unwrap().clone();
        assert_eq!(filter(), "info,a::b=error,a::b::c=error,kafka::wire=debug");
        assert!(levels.get("a.b.c").unwrap().last_modified.is_some());
        assert_eq!(levels.set("a", "SHOUT"), None);
        assert_eq!(levels.set("", ""), None);
    }

    #[test]
    fn the_root_in_any_case_is_above_all() {
        let (levels, filter) = levels("warn");
        assert_eq!(levels.get("ROOT").unwrap().level, "WARN");
        let changed = levels.set("Root", "OFF").unwrap();
        assert!(changed.contains(&"root".to_owned()) && changed.contains(&"kafka".to_owned()));
        assert!(filter.lock().unwrap().starts_with("off,connectors=off,"));
        let names: Vec<String> = levels.list().into_iter().map(|(name, _)| name).collect();
        assert!(names.is_sorted() && names.contains(&"root".to_owned()));
    }
}
