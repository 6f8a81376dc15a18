//! The house rules that neither rustfmt nor clippy knows, as a check. CONTRIBUTING.md has them for
//! people; a test of this crate runs the check, so that `cargo test` does.

mod connectors;
mod files;
mod layers;
mod pages;
mod source;

use std::{
    fmt, fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context as _, Result};

/// One broken rule: where, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    path: String,
    /// Counted from 1; 0 where the rule is about the whole file.
    line: usize,
    message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.message),
            line => write!(f, "{}:{line}: {}", self.path, self.message),
        }
    }
}

/// A text file of the repository.
#[derive(Debug)]
struct File {
    /// From the top of the repository, with forward slashes.
    path: String,
    text: String,
}

impl File {
    fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    fn finding(&self, line: usize, message: impl Into<String>) -> Finding {
        Finding { path: self.path.clone(), line, message: message.into() }
    }
}

/// Checks the whole repository and prints what is wrong.
#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a command's output")]
pub(crate) fn run() -> Result<ExitCode> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
    let files = read_all(&root)?;
    let mut findings = Vec::new();
    for file in &files {
        findings.extend(files::check(file));
        findings.extend(source::check(file));
    }
    findings.extend(pages::check(&files));
    findings.extend(connectors::check(&files));
    findings.extend(layers::check(&root)?);
    findings.sort();
    findings.dedup();
    for finding in &findings {
        println!("{finding}");
    }
    if findings.is_empty() {
        println!("tidy: {} files, nothing to say", files.len());
        return Ok(ExitCode::SUCCESS);
    }
    let noun = if findings.len() == 1 { "finding" } else { "findings" };
    eprintln!("tidy: {} {noun}; the rules are in CONTRIBUTING.md", findings.len());
    Ok(ExitCode::FAILURE)
}

/// Folders with nothing that people wrote.
const SKIPPED: [&str; 4] = [".git", ".dev", "target", "node_modules"];

fn read_all(root: &Path) -> Result<Vec<File>> {
    let mut files = Vec::new();
    let mut folders: Vec<PathBuf> = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).with_context(|| folder.display().to_string())?;
        for entry in entries {
            let entry = entry?;
            let (kind, path) = (entry.file_type()?, entry.path());
            // In a second work tree `.git` is a file.
            if SKIPPED.iter().any(|skipped| entry.file_name() == *skipped) {
                continue;
            }
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file()
                && let Ok(text) = fs::read_to_string(&path)
            {
                // What is not text in UTF-8 is data.
                let path = path.strip_prefix(root)?.display().to_string();
                files.push(File { path, text });
            }
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

#[cfg(test)]
fn file(path: &str, text: &str) -> File {
    File { path: path.to_owned(), text: text.to_owned() }
}

#[cfg(test)]
fn messages(findings: impl IntoIterator<Item = Finding>) -> Vec<String> {
    findings.into_iter().map(|finding| finding.message).collect()
}
