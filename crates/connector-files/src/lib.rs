//! Files that describe connectors: properties, JSON or YAML, in the forms that users of Kafka Connect
//! have. Read by the worker at its start and by the commands that talk to one.
//!
//! A JSON or YAML document holds one of: the flat configuration with a `name` in it; Connect's
//! `{"name", "config", "initial_state"}`, also as a worker answers it; a list of those; what
//! `GET /connectors?expand=info` answers; Strimzi's `KafkaConnector`, alone, among others in a
//! stream of YAML documents, or in a `List`. Nothing here talks to anybody or resolves a secret.

mod document;
mod forms;
mod text;

use config::Props;
use std::fmt;
use std::path::{Path, PathBuf};

pub use text::read_properties;

/// One connector of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connector {
    /// The file, and the place in it if it has several.
    pub source: String,
    /// Its name, if the file has one.
    pub name: Option<String>,
    /// The configuration; holds `name` if there is one.
    pub config: Props,
    /// The state it is to have.
    pub state: Option<Wanted>,
}

/// The state that a file asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Running, paused or stopped.
    pub state: State,
    /// Whether it is meant for the connector's creation only (Connect's `initial_state`) or for
    /// good (Strimzi's `state`).
    pub initial: bool,
}

/// A state that can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Its tasks run.
    Running,
    /// Its tasks are there and do nothing.
    Paused,
    /// It has no tasks.
    Stopped,
}

impl State {
    /// As Connect writes it.
    pub fn name(self) -> &'static str {
        match self {
            State::Running => "RUNNING",
            State::Paused => "PAUSED",
            State::Stopped => "STOPPED",
        }
    }
}

/// What a file has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Content {
    /// The connectors, in their order.
    pub connectors: Vec<Connector>,
    /// What was passed over, in words for users.
    pub notices: Vec<String>,
}

/// A file that cannot be read or understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError {
    /// What is wrong, and where.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

impl FileError {
    fn new(message: impl Into<String>) -> FileError {
        FileError { message: message.into(), hint: None }
    }

    #[must_use]
    fn hint(mut self, hint: impl Into<String>) -> FileError {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for FileError {}

/// Reads one file.
///
/// # Errors
/// It cannot be read or understood.
pub fn read(path: &Path) -> Result<Content, FileError> {
    let source = path.display().to_string();
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
    match extension.to_ascii_lowercase().as_str() {
        "json" => json(&source, &text::read_text(path)?),
        "yaml" | "yml" => yaml(&source, &text::read_text(path)?),
        _ => {
            // Connect tries JSON first, whatever the file is called. What is not UTF-8 is not JSON.
            let text = text::read_text(path).unwrap_or_default();
            if is_json(&text) {
                return json(&source, &text);
            }
            properties(&source, read_properties(path)?)
        }
    }
}

/// Understands text that has no file name to tell its form: JSON, YAML or properties.
///
/// # Errors
/// It is none of them.
pub fn parse(source: &str, text: &str) -> Result<Content, FileError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim_start().starts_with(['{', '[']) {
        return json(source, text);
    }
    if looks_like_yaml(text) {
        return yaml(source, text);
    }
    let read = config::properties::parse(text);
    properties(source, read.map_err(|error| FileError::new(format!("{source}: {error}")))?)
}

/// The configuration of the only connector of a file; it needs no name.
///
/// # Errors
/// The file cannot be read or understood, or has several.
pub fn read_config(path: &Path) -> Result<Props, FileError> {
    let mut connectors = read(path)?.connectors.into_iter();
    match (connectors.next(), connectors.next()) {
        (Some(one), None) => Ok(one.config),
        (None, _) => {
            Err(FileError::new(format!("{}: there is no connector in it", path.display())))
        }
        (Some(_), Some(_)) => {
            let text = format!("{}: there are several connectors in it", path.display());
            Err(FileError::new(text).hint("name a file with one"))
        }
    }
}

/// The files of connectors in a folder, sorted; those of its folders too if that is asked for.
/// Hidden ones are left out.
///
/// # Errors
/// The folder cannot be read.
pub fn in_folder(folder: &Path, recursive: bool) -> Result<Vec<PathBuf>, FileError> {
    const KINDS: [&str; 4] = ["json", "yaml", "yml", "properties"];
    /// Nobody has connectors that deep; a link to its own parent ends here.
    const DEPTH_MAX: usize = 16;
    let mut files = Vec::new();
    let mut folders = vec![(folder.to_owned(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        let wrong = |error: std::io::Error| {
            FileError::new(format!("{}: {error}", folder.display()))
                .hint("check the path and its permissions")
        };
        for entry in std::fs::read_dir(&folder).map_err(wrong)? {
            let path = entry.map_err(wrong)?.path();
            let hidden = path.file_name().is_some_and(|n| n.to_string_lossy().starts_with('.'));
            let kind = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
            if hidden {
                continue;
            }
            if path.is_dir() {
                if recursive && depth < DEPTH_MAX {
                    folders.push((path, depth + 1));
                }
            } else if KINDS.contains(&kind.to_ascii_lowercase().as_str()) {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

fn is_json(text: &str) -> bool {
    text.trim_start().starts_with('{')
        && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// A line of properties may have `: ` in it too; a YAML document starts with `---` or has only lines
/// that YAML has, the first of which is `key: value` with a plain key and no `=` before the colon.
fn looks_like_yaml(text: &str) -> bool {
    let mut lines = text.lines().filter(|l| !l.trim().is_empty() && !l.starts_with('#'));
    let Some(first) = lines.next() else { return false };
    first.starts_with("---")
        || first.starts_with("- ")
        || first.split_once(':').is_some_and(|(key, rest)| {
            !key.contains('=') && (rest.is_empty() || rest.starts_with(' '))
        })
}

fn json(source: &str, text: &str) -> Result<Content, FileError> {
    let wrong = |message: String| FileError::new(format!("{source}: {message}"));
    let value = document::from_json(text).map_err(wrong)?;
    let mut content = Content::default();
    forms::read(source, value, &mut content)?;
    Ok(content)
}

fn yaml(source: &str, text: &str) -> Result<Content, FileError> {
    let wrong = |message: String| FileError::new(format!("{source}: {message}"));
    let documents = document::from_yaml(text).map_err(wrong)?;
    let mut content = Content::default();
    let several = documents.len() > 1;
    for (index, document) in documents.into_iter().enumerate() {
        let place =
            if several { format!("{source}, document {}", index + 1) } else { source.into() };
        forms::read(&place, document, &mut content)?;
    }
    Ok(content)
}

fn properties(source: &str, config: Props) -> Result<Content, FileError> {
    if config.is_empty() {
        return Ok(Content::default());
    }
    let name = forms::name_in(&config);
    let connector = Connector { source: source.to_owned(), name, config, state: None };
    Ok(Content { connectors: vec![connector], notices: Vec::new() })
}

#[cfg(test)]
mod tests;
