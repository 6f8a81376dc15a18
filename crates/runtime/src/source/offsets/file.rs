//! The offset file of a standalone worker.
//!
//! One JSON line a partition, `[["connector",{partition}],{offset}]`, after a line that says what the
//! file is. The whole file is written anew beside the old one, synced, and put in its place, so that a
//! crash or a full disk leaves the old one. A file that a Java worker wrote is read once, kept under
//! its name with `.java` behind it, and written in this form from then on.
//!
//! Invariants: one process has the file (a lock beside it); memory holds what the file says, and never
//! what could not be written.

use super::key::{OffsetKey, canonical};
use super::{OffsetChange, OffsetStore, java};
use api::{Error, Result, SourceMap};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{ErrorKind as Io, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

const FIRST_LINE: &str = r#"{"copycat":"source offsets","version":1}"#;

/// A file bigger than this is no offset file.
const FILE_BYTES_MAX: u64 = 1 << 30;

/// Offsets by connector and canonical partition.
type Entries = BTreeMap<(String, String), (SourceMap, SourceMap)>;

/// The offsets of all connectors of one worker, in one file.
pub struct OffsetFile {
    path: PathBuf,
    entries: Mutex<Entries>,
    /// Held as long as the file is ours; `None`: it is only looked at.
    lock: Option<File>,
}

impl OffsetFile {
    /// Opens or begins the file.
    ///
    /// # Errors
    /// A folder that is not there, a file that is none of ours nor Java's, or that another process has.
    pub fn open(path: impl Into<PathBuf>) -> Result<OffsetFile> {
        let path = path.into();
        let lock = lock(&path)?;
        let bytes = match fs::metadata(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Ok(meta) if meta.len() > FILE_BYTES_MAX => return Err(foreign(&path)),
            _ => fs::read(&path).map_err(|error| unusable(&path, "read", error))?,
        };
        let entries = if java::is_java(&bytes) {
            let entries = of_java(&path, &bytes)?;
            let kept = beside(&path, ".java");
            fs::copy(&path, &kept).map_err(|error| unusable(&kept, "write", error))?;
            tracing::info!(file = %path.display(), kept = %kept.display(), offsets = entries.len(),
                "offsets of a Java worker taken over");
            write(&path, &entries)?;
            entries
        } else {
            of_lines(&path, &bytes)?
        };
        Ok(OffsetFile { path, entries: Mutex::new(entries), lock: Some(lock) })
    }

    /// Looks at a file that others may have, in either form; no file is an empty one.
    ///
    /// # Errors
    /// It cannot be read, or is none of ours nor Java's.
    pub fn look(path: impl Into<PathBuf>) -> Result<OffsetFile> {
        let path = path.into();
        let bytes = match fs::read(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            read => read.map_err(|error| unusable(&path, "read", error))?,
        };
        let java = java::is_java(&bytes);
        let entries = if java { of_java(&path, &bytes)? } else { of_lines(&path, &bytes)? };
        Ok(OffsetFile { path, entries: Mutex::new(entries), lock: None })
    }

    fn entries(&self) -> std::sync::MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OffsetStore for OffsetFile {
    fn get(&self, connector: &str, partition: &SourceMap) -> Result<Option<SourceMap>> {
        let key = (connector.to_owned(), canonical(partition));
        Ok(self.entries().get(&key).map(|(_, offset)| offset.clone()))
    }

    fn list(&self, connector: &str) -> Result<Vec<(SourceMap, SourceMap)>> {
        let entries = self.entries();
        let own = entries.iter().filter(|((name, _), _)| name == connector);
        Ok(own.map(|(_, entry)| entry.clone()).collect())
    }

    fn put(&self, connector: &str, changes: &[OffsetChange]) -> Result<()> {
        if self.lock.is_none() {
            return Err(Error::bug("an offset file that is only looked at is not written"));
        }
        let mut entries = self.entries();
        let mut changed = entries.clone();
        for (partition, offset) in changes {
            let key = (connector.to_owned(), canonical(partition));
            match offset {
                None => {
                    changed.remove(&key);
                }
                Some(offset) => {
                    let known = changed.remove(&key).map(|(partition, _)| partition);
                    let partition = known.unwrap_or_else(|| SourceMap::clone(partition));
                    changed.insert(key, (partition, offset.clone()));
                }
            }
        }
        write(&self.path, &changed)?;
        *entries = changed;
        Ok(())
    }
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

fn lock(path: &Path) -> Result<File> {
    let name = beside(path, ".lock");
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(&name);
    let file = file.map_err(|error| unusable(&name, "make", error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            Err(Error::config(format!("another process keeps its offsets in {}", path.display()))
                .hint("give each worker an offset.storage.file.filename of its own"))
        }
        Err(TryLockError::Error(error)) => Err(unusable(&name, "lock", error)),
    }
}

fn unusable(path: &Path, what: &str, error: std::io::Error) -> Error {
    Error::config(format!("cannot {what} {}", path.display())).source(error).hint(
        "offset.storage.file.filename must name a file in a folder that is there, and that this \
         user may write",
    )
}

fn foreign(path: &Path) -> Error {
    Error::config(format!("{} is no file of source offsets", path.display()))
        .hint("name another file in offset.storage.file.filename, or move this one away")
}

fn of_java(path: &Path, bytes: &[u8]) -> Result<Entries> {
    let read = java::read(bytes).ok_or_else(|| foreign(path))?;
    let mut entries = Entries::new();
    for (key, value) in read {
        let offset = value.and_then(|value| serde_json::from_slice(&value).ok());
        match (OffsetKey::parse(&key), offset) {
            (Some(key), Some(Value::Object(offset))) => {
                let place = (key.connector, canonical(&key.partition));
                entries.insert(place, (key.partition, offset));
            }
            // A null is an offset that was forgotten.
            (Some(_), None) => {}
            _ => tracing::warn!(
                file = %path.display(), key = %String::from_utf8_lossy(&key),
                "left out an entry that is no source offset"
            ),
        }
    }
    Ok(entries)
}

fn of_lines(path: &Path, bytes: &[u8]) -> Result<Entries> {
    let mut entries = Entries::new();
    if bytes.is_empty() {
        return Ok(entries);
    }
    let text = std::str::from_utf8(bytes).map_err(|_| foreign(path))?;
    let mut lines = text.lines();
    if lines.next() != Some(FIRST_LINE) {
        return Err(foreign(path));
    }
    for (index, line) in lines.enumerate() {
        let entry = line_entry(line).ok_or_else(|| {
            Error::config(format!("line {} of {} is damaged", index + 2, path.display())).hint(
                "mend the line, [[\"connector\",{partition}],{offset}], or take it out: its \
                 partition is then read from the start",
            )
        })?;
        let (connector, partition, offset) = entry;
        entries.insert((connector, canonical(&partition)), (partition, offset));
    }
    Ok(entries)
}

fn line_entry(line: &str) -> Option<(String, SourceMap, SourceMap)> {
    let parts: [Value; 2] = serde_json::from_str(line).ok()?;
    let [Value::Array(key), Value::Object(offset)] = parts else { return None };
    let [Value::String(connector), Value::Object(partition)] = <[Value; 2]>::try_from(key).ok()?
    else {
        return None;
    };
    Some((connector, partition, offset))
}

fn write(path: &Path, entries: &Entries) -> Result<()> {
    let mut text = format!("{FIRST_LINE}\n");
    for ((connector, _), (partition, offset)) in entries {
        let line = serde_json::json!([[connector, partition], offset]);
        text.push_str(&line.to_string());
        text.push('\n');
    }
    let new = beside(path, ".new");
    let written = File::create(&new)
        .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&new, path))
        .and_then(|()| sync_folder(path));
    written.map_err(|error| {
        // The next attempt makes it anew.
        let _gone = fs::remove_file(&new);
        let full = matches!(error.kind(), Io::StorageFull | Io::QuotaExceeded);
        let told =
            Error::retriable(format!("source offsets cannot be written to {}", path.display()));
        let told = told.source(error);
        if full { told.hint("make room on its disk") } else { told }
    })
}

/// Makes the new name durable.
fn sync_folder(path: &Path) -> std::io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

/// The store as tasks share it.
impl From<OffsetFile> for Arc<dyn OffsetStore> {
    fn from(file: OffsetFile) -> Self {
        Arc::new(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine;

    fn map(json: &str) -> SourceMap {
        serde_json::from_str(json).unwrap()
    }

    fn change(partition: &str, offset: Option<&str>) -> OffsetChange {
        (Arc::new(map(partition)), offset.map(map))
    }

    #[test]
    fn what_was_put_is_there_when_opened_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("offsets");
        let store = OffsetFile::open(&path).unwrap();
        store.put("c", &[change(r#"{"f":"a","n":1}"#, Some(r#"{"p":3}"#))]).unwrap();
        store.put("d", &[change(r#"{"f":"a"}"#, Some(r#"{"p":9}"#))]).unwrap();
        let again = change(r#"{"n":1.0,"f":"a"}"#, Some(r#"{"p":4}"#));
        store.put("c", &[again, change(r#"{"f":"b"}"#, None)]).unwrap();
        assert!(OffsetFile::open(&path).is_err_and(|e| e.message.contains("another process")));
        drop(store);
        let store = OffsetFile::open(&path).unwrap();
        let asked = map(r#"{"n":1,"f":"a"}"#);
        assert_eq!(store.get("c", &asked).unwrap(), Some(map(r#"{"p":4}"#)));
        assert_eq!(store.get("d", &asked).unwrap(), None);
        assert_eq!(store.list("c").unwrap(), [(map(r#"{"f":"a","n":1}"#), map(r#"{"p":4}"#))]);
        store.put("c", &[change(r#"{"n":1,"f":"a"}"#, None)]).unwrap();
        assert_eq!(store.list("c").unwrap(), []);
    }

    #[test]
    fn a_java_file_is_taken_over_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("connect.offsets");
        let text = include_str!("testdata/java-offsets.base64");
        let text: String = text.split_whitespace().collect();
        let bytes = base64::engine::general_purpose::STANDARD.decode(text).unwrap();
        fs::write(&path, &bytes).unwrap();
        for _ in 0..2 {
            let store = OffsetFile::open(&path).unwrap();
            let seen = store.get("a", &map(r#"{"filename":"/tmp/a"}"#)).unwrap();
            assert_eq!(seen, Some(map(r#"{"position":30}"#)));
            assert_eq!(store.list("c").unwrap(), []);
        }
        assert_eq!(fs::read(beside(&path, ".java")).unwrap(), bytes);
        assert!(fs::read_to_string(&path).unwrap().starts_with(FIRST_LINE));
    }

    #[test]
    fn a_write_that_fails_changes_nothing_and_can_be_tried_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("offsets");
        let store = OffsetFile::open(&path).unwrap();
        store.put("c", &[change("{}", Some(r#"{"p":1}"#))]).unwrap();
        // A folder in the place of the new file stands for a disk that takes nothing.
        fs::create_dir(beside(&path, ".new")).unwrap();
        let error = store.put("c", &[change("{}", Some(r#"{"p":2}"#))]).unwrap_err();
        assert_eq!(error.kind, api::ErrorKind::Retriable);
        assert_eq!(store.get("c", &map("{}")).unwrap(), Some(map(r#"{"p":1}"#)));
        fs::remove_dir(beside(&path, ".new")).unwrap();
        store.put("c", &[change("{}", Some(r#"{"p":2}"#))]).unwrap();
        assert!(fs::read_to_string(&path).unwrap().contains(r#"[["c",{}],{"p":2}]"#));
    }

    #[test]
    fn other_files_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes");
        for (text, wanted) in [
            ("my notes\n".to_owned(), "no file of source offsets"),
            (format!("{FIRST_LINE}\nrubbish\n"), "line 2"),
            ("\u{ac}".to_owned(), "no file of source offsets"),
        ] {
            fs::write(&path, &text).unwrap();
            let error = OffsetFile::open(&path).err().unwrap();
            assert!(error.message.contains(wanted), "{}", error.message);
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
    }
}
