//! The connectors that a worker starts with, from files of any form that crate `connector-files` reads.

use crate::exit::Failure;
use config::{ConfigErrors, Props};
use connector_files::{FileError, State};
use herder::Target;
use std::path::{Path, PathBuf};

/// One connector to create.
#[derive(Debug)]
pub(super) struct ConnectorFile {
    /// The file, and the place in it.
    pub(super) source: String,
    pub(super) name: String,
    pub(super) config: Props,
    pub(super) target: Target,
}

impl ConnectorFile {
    pub(super) fn wrong(&self, errors: &ConfigErrors) -> Failure {
        Failure::wrong_input(format!("{}: {errors}", self.source))
    }
}

/// # Errors
/// A file cannot be read or understood, a connector has no name, or two have the same.
pub(super) fn read_all(paths: &[PathBuf]) -> Result<Vec<ConnectorFile>, Failure> {
    let mut files: Vec<ConnectorFile> = Vec::new();
    for path in paths {
        let content = connector_files::read(path)?;
        for notice in content.notices {
            tracing::warn!("{notice}");
        }
        for connector in content.connectors {
            let file = of(connector)?;
            if let Some(other) = files.iter().find(|other| other.name == file.name) {
                let (source, other) = (file.source, &other.source);
                return Err(Failure::wrong_input(format!(
                    "{source}: a connector named {} is already in {other}",
                    file.name
                ))
                .hint("give each connector its own name"));
            }
            files.push(file);
        }
    }
    Ok(files)
}

/// The configuration of a connector, or a part of one: it needs no name.
///
/// # Errors
/// The file cannot be read or understood.
pub(crate) fn read_config(path: &Path) -> Result<Props, FileError> {
    connector_files::read_config(path)
}

fn of(connector: connector_files::Connector) -> Result<ConnectorFile, Failure> {
    let connector_files::Connector { source, name, config, state } = connector;
    let Some(name) = name else {
        return Err(Failure::wrong_input(format!("{source}: the connector has no name"))
            .hint("add name=..."));
    };
    let target = match state.map(|wanted| wanted.state) {
        None | Some(State::Running) => Target::Started,
        Some(State::Paused) => Target::Paused,
        Some(State::Stopped) => Target::Stopped,
    };
    Ok(ConnectorFile { source, name, config, target })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(files: &[(&str, &str)]) -> Result<Vec<ConnectorFile>, Failure> {
        let dir = tempfile::tempdir().unwrap();
        let path = |(name, text): &(&str, &str)| {
            let path = dir.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        read_all(&files.iter().map(path).collect::<Vec<_>>())
    }

    #[test]
    fn a_file_may_have_several_connectors_each_with_its_state() {
        let stream = "name: a\n---\nname: b\nconfig: {}\ninitial_state: PAUSED\n";
        let files = read(&[("s.yaml", stream), ("c.properties", "name=c\n")]).unwrap();
        let told: Vec<_> = files.iter().map(|file| (file.name.as_str(), file.target)).collect();
        assert_eq!(told, [("a", Target::Started), ("b", Target::Paused), ("c", Target::Started)]);
    }

    #[test]
    fn names_are_there_and_differ() {
        for (files, part) in [
            (&[("a.properties", "topics=t\n")][..], "a.properties: the connector has no name"),
            (&[("a.properties", "name=c\n"), ("b.json", r#"{"name":"c"}"#)][..], "is already in"),
        ] {
            let failure = read(files).unwrap_err();
            assert_eq!(failure.code, crate::exit::WRONG_INPUT);
            assert!(failure.message.contains(part), "{}", failure.message);
        }
    }
}
