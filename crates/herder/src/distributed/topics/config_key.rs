//! The keys of the config topic.

/// What a record of the config topic is about. Names are as they stand in the key, even empty ones.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConfigKey {
    Connector(String),
    TargetState(String),
    Task(String, u32),
    /// The task configurations before it are complete.
    Commit(String),
    /// How many transactional producers the connector's tasks may have.
    Fencing(String),
    SessionKey,
    Restart(String),
    /// The level of a logger on every worker.
    LogLevel(String),
}

const TARGET_STATE: &str = "target-state-";
const CONNECTOR: &str = "connector-";
const TASK: &str = "task-";
const COMMIT: &str = "commit-";
const RESTART: &str = "restart-connector-";
const FENCING: &str = "tasks-fencing-";
const SESSION_KEY: &str = "session-key";
const LOG_LEVEL: &str = "logger-cluster-";

impl ConfigKey {
    /// `None` where the key is none of Kafka Connect's. No prefix begins another; a connector's name may
    /// have any of them.
    pub fn parse(key: &str) -> Option<ConfigKey> {
        let name = |prefix: &str| key.strip_prefix(prefix).map(str::to_owned);
        if key == SESSION_KEY {
            return Some(ConfigKey::SessionKey);
        }
        if let Some(rest) = key.strip_prefix(TASK) {
            // Dashes at the end do not count.
            let (name, number) = rest.trim_end_matches('-').rsplit_once('-')?;
            return Some(ConfigKey::Task(name.to_owned(), task_number(number)?));
        }
        name(TARGET_STATE)
            .map(ConfigKey::TargetState)
            .or_else(|| name(CONNECTOR).map(ConfigKey::Connector))
            .or_else(|| name(COMMIT).map(ConfigKey::Commit))
            .or_else(|| name(RESTART).map(ConfigKey::Restart))
            .or_else(|| name(FENCING).map(ConfigKey::Fencing))
            .or_else(|| name(LOG_LEVEL).map(ConfigKey::LogLevel))
    }

    /// The key as it is written.
    pub fn text(&self) -> String {
        match self {
            ConfigKey::Connector(name) => format!("{CONNECTOR}{name}"),
            ConfigKey::TargetState(name) => format!("{TARGET_STATE}{name}"),
            ConfigKey::Task(name, task) => format!("{TASK}{name}-{task}"),
            ConfigKey::Commit(name) => format!("{COMMIT}{name}"),
            ConfigKey::Fencing(name) => format!("{FENCING}{name}"),
            ConfigKey::SessionKey => SESSION_KEY.to_owned(),
            ConfigKey::Restart(name) => format!("{RESTART}{name}"),
            ConfigKey::LogLevel(logger) => format!("{LOG_LEVEL}{logger}"),
        }
    }
}

/// A task's number at the end of a key: up to 2³¹ - 1, zeros and a plus before it do not matter.
pub(super) fn task_number(text: &str) -> Option<u32> {
    text.parse::<i32>().ok().and_then(|number| u32::try_from(number).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_have_dashes_and_every_prefix() {
        let c = |name: &str| ConfigKey::Connector(name.to_owned());
        let t = |name: &str, task| ConfigKey::Task(name.to_owned(), task);
        for (key, wanted) in [
            ("connector-connector-x", c("connector-x")),
            ("connector-", c("")),
            ("connector-é x/中", c("é x/中")),
            ("task-a-b-1-0", t("a-b-1", 0)),
            ("task-fencing-x-0", t("fencing-x", 0)),
            ("task-c--1", t("c-", 1)),
            ("tasks-fencing-x", ConfigKey::Fencing("x".to_owned())),
            ("commit-commit-", ConfigKey::Commit("commit-".to_owned())),
            ("target-state-c", ConfigKey::TargetState("c".to_owned())),
            ("restart-connector-c", ConfigKey::Restart("c".to_owned())),
            ("logger-cluster-org.x", ConfigKey::LogLevel("org.x".to_owned())),
            ("session-key", ConfigKey::SessionKey),
        ] {
            assert_eq!(ConfigKey::parse(key), Some(wanted.clone()));
            assert_eq!(wanted.text(), key);
        }
        for odd in ["task-c-+01", "task-c-1-", "task-c-1--"] {
            assert_eq!(ConfigKey::parse(odd), Some(t("c", 1)), "{odd}");
        }
        for key in ["", "hello", "Connector-c", "task-c", "task-5", "task-c-x", "session-key-"] {
            assert_eq!(ConfigKey::parse(key), None, "{key}");
        }
        assert_eq!(ConfigKey::parse("task-c-99999999999"), None);
    }
}
