//! The file in which a standalone worker's connectors outlive it.
//!
//! A line that says what the file is, how many connectors follow and what their lines add up to, then a
//! line a connector. The whole file is written anew beside the old one, synced, and put in its place,
//! so that a crash or a full disk leaves the old one. Configurations are as users wrote them: references
//! to secrets are never resolved here. What users wrote out stands there, so only the owner may read it.
//!
//! Invariants: one process has the file (a lock beside it); what was answered is in it.

use crate::state::Target;
use config::Props;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

const VERSION: u64 = 1;
const WHAT: &str = "connectors";
/// A file bigger than this is no file of ours.
const FILE_BYTES_MAX: u64 = 1 << 28;
const OWNER_ONLY: u32 = 0o600;

/// Why the file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StateFileError {
    #[error("copycat.state.file: {path} cannot be {what}: {source}")]
    Io { path: String, what: &'static str, source: std::io::Error },
    #[error(
        "copycat.state.file: another worker keeps its connectors in {0}; each needs a file of its own"
    )]
    Taken(String),
    /// It was cut off or changed, or never was such a file.
    #[error("copycat.state.file: {path} cannot be trusted: {fault}")]
    Damaged { path: String, fault: String },
    #[error(
        "copycat.state.file: {path} has version {version}, and this program knows {VERSION}; run a newer program, or move the file away"
    )]
    Newer { path: String, version: u64 },
}

/// A connector as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    pub config: Props,
    pub target: Target,
}

/// The file, and what it has.
#[derive(Debug)]
pub struct StateFile {
    path: PathBuf,
    connectors: BTreeMap<String, Kept>,
    /// What is known here is not in the file: a write has failed.
    behind: bool,
    _lock: File,
}

impl StateFile {
    /// Opens or begins the file.
    ///
    /// # Errors
    /// It cannot be read or written, another process has it, or it is not whole.
    pub fn open(path: impl Into<PathBuf>) -> Result<StateFile, StateFileError> {
        let path = path.into();
        let lock = lock(&path)?;
        let connectors = match fs::metadata(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => BTreeMap::new(),
            Err(error) => return Err(io(&path, "looked at", error)),
            Ok(found) if found.len() > FILE_BYTES_MAX => {
                let fault = "it is too large for a file of connectors".to_owned();
                return Err(StateFileError::Damaged { path: shown(&path), fault });
            }
            Ok(_) => {
                let bytes = fs::read(&path).map_err(|error| io(&path, "read", error))?;
                read(&path, &bytes)?
            }
        };
        let file = StateFile { path, connectors, behind: false, _lock: lock };
        // A folder that cannot be written is told now, not with the first change.
        file.write()?;
        Ok(file)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What was kept, by name.
    pub fn connectors(&self) -> &BTreeMap<String, Kept> {
        &self.connectors
    }

    /// Takes changes in, `None` for a connector that is gone, and writes them; does nothing if there
    /// are none.
    ///
    /// # Errors
    /// The file could not be written; it is tried again with the next changes.
    pub(super) fn keep(
        &mut self,
        changes: impl Iterator<Item = (String, Option<Kept>)>,
    ) -> Result<(), StateFileError> {
        for (name, kept) in changes {
            if self.connectors.get(&name) == kept.as_ref() {
                continue;
            }
            self.behind = true;
            match kept {
                Some(kept) => self.connectors.insert(name, kept),
                None => self.connectors.remove(&name),
            };
        }
        if self.behind {
            self.write()?;
            self.behind = false;
        }
        Ok(())
    }

    fn write(&self) -> Result<(), StateFileError> {
        let mut lines = String::new();
        for (name, Kept { config, target }) in &self.connectors {
            let config: Map<String, Value> =
                config.iter().map(|(key, value)| (key.to_owned(), json!(value))).collect();
            let line = json!({ "name": name, "state": word(*target), "config": config });
            lines.push_str(&line.to_string());
            lines.push('\n');
        }
        let sum = sum(lines.as_bytes());
        let count = self.connectors.len();
        let first = json!({ "copycat": WHAT, "version": VERSION, "count": count, "sum": sum });
        let new = beside(&self.path, ".new");
        // One that a crash left may have other permissions.
        let _gone = fs::remove_file(&new);
        let written = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(OWNER_ONLY)
            .open(&new)
            .and_then(|mut file| {
                file.write_all(format!("{first}\n{lines}").as_bytes())?;
                file.sync_all()
            })
            .and_then(|()| fs::rename(&new, &self.path))
            .and_then(|()| sync_folder(&self.path));
        written.map_err(|error| {
            // The next attempt makes it anew.
            let _gone = fs::remove_file(&new);
            io(&self.path, "written", error)
        })
    }
}

fn io(path: &Path, what: &'static str, source: std::io::Error) -> StateFileError {
    StateFileError::Io { path: shown(path), what, source }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Makes the new name durable.
fn sync_folder(path: &Path) -> std::io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

fn lock(path: &Path) -> Result<File, StateFileError> {
    let name = beside(path, ".lock");
    let mut options = OpenOptions::new();
    let options = options.create(true).truncate(false).write(true).mode(OWNER_ONLY);
    let file = options.open(&name).map_err(|error| io(&name, "made", error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StateFileError::Taken(shown(path))),
        Err(TryLockError::Error(error)) => Err(io(&name, "locked", error)),
    }
}

/// FNV-1a of 64 bits, as text: finds what was cut off or changed by accident.
fn sum(bytes: &[u8]) -> String {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

fn read(path: &Path, bytes: &[u8]) -> Result<BTreeMap<String, Kept>, StateFileError> {
    let damaged = |fault: &str| StateFileError::Damaged {
        path: shown(path),
        fault: format!(
            "{fault}; put a copy of it back, or move it away to start with the connectors of the \
             command line alone"
        ),
    };
    let text = std::str::from_utf8(bytes).map_err(|_| damaged("it is no text"))?;
    let (first, lines) = text.split_once('\n').ok_or_else(|| damaged("it has no first line"))?;
    let first: Value =
        serde_json::from_str(first).map_err(|_| damaged("its first line is not ours"))?;
    if first["copycat"] != WHAT {
        return Err(damaged("its first line is not ours"));
    }
    match first["version"].as_u64() {
        Some(VERSION) => {}
        Some(version) => return Err(StateFileError::Newer { path: shown(path), version }),
        None => return Err(damaged("its first line has no version")),
    }
    if first["sum"].as_str() != Some(sum(lines.as_bytes()).as_str()) {
        return Err(damaged("its lines are not those that were written"));
    }
    let mut connectors = BTreeMap::new();
    for (index, line) in lines.lines().enumerate() {
        let kept = connector(line);
        let (name, kept) =
            kept.ok_or_else(|| damaged(&format!("line {} is no connector", index + 2)))?;
        connectors.insert(name, kept);
    }
    if first["count"].as_u64() != Some(connectors.len() as u64) {
        return Err(damaged("it has not as many connectors as it says"));
    }
    Ok(connectors)
}

fn connector(line: &str) -> Option<(String, Kept)> {
    let line: Value = serde_json::from_str(line).ok()?;
    let name = line["name"].as_str()?.to_owned();
    let state = line["state"].as_str()?;
    let target = TARGETS.into_iter().find(|target| word(*target) == state)?;
    let config = line["config"].as_object()?;
    let entry = |(key, value): (&String, &Value)| Some((key.clone(), value.as_str()?.to_owned()));
    let config: Option<Props> = config.iter().map(entry).collect();
    Some((name, Kept { config: config?, target }))
}

const TARGETS: [Target; 3] = [Target::Started, Target::Paused, Target::Stopped];

fn word(target: Target) -> &'static str {
    match target {
        Target::Started => "RUNNING",
        Target::Paused => "PAUSED",
        Target::Stopped => "STOPPED",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn kept(value: &str, target: Target) -> Kept {
        Kept { config: [("k", value), ("password", "${file:/x:y}")].into_iter().collect(), target }
    }

    fn keep(file: &mut StateFile, name: &str, kept: Option<Kept>) -> Result<(), StateFileError> {
        file.keep(std::iter::once((name.to_owned(), kept)))
    }

    #[test]
    fn what_was_kept_comes_back_and_belongs_to_the_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        let mut file = StateFile::open(&path).unwrap();
        assert!(file.connectors().is_empty());
        keep(&mut file, "a \"b\"\n", Some(kept("é\u{1F600}\n", Target::Paused))).unwrap();
        keep(&mut file, "gone", Some(kept("x", Target::Started))).unwrap();
        keep(&mut file, "c", Some(kept("", Target::Stopped))).unwrap();
        keep(&mut file, "gone", None).unwrap();
        let taken = StateFile::open(&path).unwrap_err();
        assert!(matches!(taken, StateFileError::Taken(_)), "{taken}");
        let expected = file.connectors().clone();
        drop(file);
        let file = StateFile::open(&path).unwrap();
        assert_eq!(file.connectors(), &expected);
        assert_eq!(expected.len(), 2);
        assert_eq!(expected["a \"b\"\n"], kept("é\u{1F600}\n", Target::Paused));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, OWNER_ONLY);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains("${file:/x:y}"), "references stay as written: {text}");
    }

    /// Whatever is cut off or flipped is noticed; nothing is started from half a file.
    #[test]
    fn a_damaged_file_is_refused_with_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        let mut file = StateFile::open(&path).unwrap();
        keep(&mut file, "a", Some(kept("1", Target::Started))).unwrap();
        keep(&mut file, "b", Some(kept("2", Target::Started))).unwrap();
        drop(file);
        let whole = fs::read(&path).unwrap();
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            let error = StateFile::open(&path).unwrap_err().to_string();
            assert!(error.contains("cannot be trusted") && error.contains("put a copy"), "{error}");
        }
        for place in 0..whole.len() {
            let mut other = whole.clone();
            other[place] ^= 1;
            fs::write(&path, &other).unwrap();
            StateFile::open(&path).unwrap_err();
        }
        let newer = String::from_utf8(whole).unwrap().replace("\"version\":1", "\"version\":9");
        fs::write(&path, newer).unwrap();
        let error = StateFile::open(&path).unwrap_err().to_string();
        assert!(error.contains("version 9"), "{error}");
        fs::write(&path, "name=c\n").unwrap();
        assert!(StateFile::open(&path).unwrap_err().to_string().contains("not ours"));
    }

    #[test]
    fn a_write_that_fails_is_told_and_made_up_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("below/state");
        assert!(StateFile::open(&path).unwrap_err().to_string().contains("below/state.lock"));
        fs::create_dir(folder.path().join("below")).unwrap();
        let mut file = StateFile::open(&path).unwrap();
        // A folder under the name of the new file cannot be written over, by root neither.
        let obstacle = beside(&path, ".new");
        fs::create_dir(&obstacle).unwrap();
        let error = keep(&mut file, "a", Some(kept("1", Target::Started))).unwrap_err();
        assert!(error.to_string().contains("cannot be written"), "{error}");
        fs::remove_dir(&obstacle).unwrap();
        file.keep(std::iter::empty()).unwrap();
        drop(file);
        assert_eq!(StateFile::open(&path).unwrap().connectors().len(), 1);
    }
}
