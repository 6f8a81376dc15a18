//! The working folder: the worker's configuration and log, and the SQLite file of a run without a
//! database of the user's own. Each run makes a new one; nothing of an earlier run is touched.

use crate::exit::Failure;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

const NAME: &str = "copycat-quickstart";
/// So many earlier runs may lie in one place.
const RUNS_MAX: u32 = 10_000;

pub(super) struct Folder {
    path: PathBuf,
}

impl Folder {
    /// A new folder in the current one.
    pub(super) fn create() -> Result<Folder, Failure> {
        let here = std::env::current_dir().map_err(|error| {
            Failure::unavailable(format!("the current folder cannot be used: {error}"))
        })?;
        Folder::create_in(&here)
    }

    fn create_in(parent: &Path) -> Result<Folder, Failure> {
        let mut number = 1;
        loop {
            let name = if number == 1 { NAME.to_owned() } else { format!("{NAME}-{number}") };
            let path = parent.join(name);
            match fs::create_dir(&path) {
                Ok(()) => {
                    let folder = Folder { path };
                    // What is in here belongs into no repository.
                    folder.write(".gitignore", "*\n")?;
                    return Ok(folder);
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists && number < RUNS_MAX => {
                    number += 1;
                }
                Err(error) => {
                    let message = format!("cannot make the folder {}: {error}", path.display());
                    return Err(Failure::unavailable(message)
                        .hint("run this in a folder where you may write"));
                }
            }
        }
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The folder's name, as a path from the current folder.
    pub(super) fn shown(&self) -> String {
        let name = self.path.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    /// A Java properties file; each line of the title becomes a comment. It may hold a password, so
    /// only its owner can read it.
    pub(super) fn properties(
        &self,
        name: &str,
        title: &str,
        properties: &[(&str, String)],
    ) -> Result<(), Failure> {
        let mut text: String = title.lines().map(|line| format!("# {line}\n")).collect();
        for (key, value) in properties {
            text.push_str(&format!("{key}={}\n", escape(value)));
        }
        self.write(name, &text)
    }

    fn write(&self, name: &str, text: &str) -> Result<(), Failure> {
        let path = self.file(name);
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| {
            Failure::unavailable(format!("cannot write {}: {error}", path.display()))
                .hint("is the disk full?")
        })
    }

    /// Removes everything in it but these files; the folder too if none is left.
    pub(super) fn remove_all_but(&self, kept: &[&str]) {
        let Ok(entries) = fs::read_dir(&self.path) else { return };
        let mut left = false;
        for entry in entries.flatten() {
            let keep = kept.iter().any(|kept| entry.file_name() == **kept);
            left |= keep;
            if !keep {
                // What cannot be removed is left; the folder's name has been printed.
                let _ = fs::remove_file(entry.path());
            }
        }
        if !left {
            let _ = fs::remove_dir(&self.path);
        }
    }
}

/// A value as Java's properties files want it.
fn escape(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    for (index, c) in value.chars().enumerate() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            ' ' if index == 0 => out.push_str("\\ "),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_run_leaves_the_first_alone() {
        let parent = tempfile::tempdir().unwrap();
        let first = Folder::create_in(parent.path()).unwrap();
        first.properties("a.properties", "A\nB", &[("k", r" a\b".to_owned())]).unwrap();
        let second = Folder::create_in(parent.path()).unwrap();
        assert_eq!((first.shown(), second.shown()), (NAME.to_owned(), format!("{NAME}-2")));
        second.remove_all_but(&[]);
        assert!(!second.path().try_exists().unwrap());
        let text = fs::read_to_string(first.file("a.properties")).unwrap();
        assert_eq!(text, "# A\n# B\nk=\\ a\\\\b\n");
        first.remove_all_but(&["a.properties"]);
        assert_eq!(fs::read_dir(first.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named() {
        let failure = Folder::create_in(Path::new("no/such/place")).err().unwrap();
        assert_eq!(failure.code, crate::exit::UNAVAILABLE);
        assert!(failure.message.contains("no/such/place/copycat-quickstart"));
    }
}
