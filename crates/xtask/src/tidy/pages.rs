//! A page that is named must be there: a reader of the repository has nothing else.

use std::sync::LazyLock;

use regex::Regex;

use super::{File, Finding};

static PAGE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"[A-Za-z0-9_./:-]*[A-Za-z0-9_]\.md\b").expect("constant"));

/// Kinds of files in which pages are named.
const READ: [&str; 5] = [".rs", ".md", ".toml", ".sh", ".py"];

pub(super) fn check(files: &[File]) -> Vec<Finding> {
    let pages: Vec<&str> =
        files.iter().map(|file| file.path.as_str()).filter(|path| path.ends_with(".md")).collect();
    let mut findings = Vec::new();
    for file in files {
        // The checks name pages that are not there.
        if !READ.iter().any(|end| file.path.ends_with(end))
            || file.path.starts_with("crates/xtask/src/tidy/")
            || file.path.split('/').any(|part| part == "testdata")
        {
            continue;
        }
        for (index, line) in file.text.lines().enumerate() {
            for named in PAGE.find_iter(line).map(|found| found.as_str()) {
                if !is_there(&pages, named) {
                    let message = format!("{named} is not a page of this repository");
                    findings.push(file.finding(index + 1, message));
                }
            }
        }
    }
    findings
}

fn is_there(pages: &[&str], named: &str) -> bool {
    // Addresses, and patterns such as NNNN-title.md, are not names of pages.
    if named.contains("://") || named.contains("NNNN") {
        return true;
    }
    let tail = named.trim_start_matches("../").trim_start_matches("./");
    pages.iter().any(|page| *page == tail || page.ends_with(&format!("/{tail}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::{file, messages};

    #[test]
    fn a_named_page_is_there() {
        let files = [
            file("README.md", "see docs/adr/0001-one.md, NAME/README.md and lost.md"),
            file("docs/adr/0001-one.md", "from [the top](../../README.md) and https://x.org/y.md"),
            file("crates/a/src/b.rs", "//! As docs/other/0001-one.md says."),
        ];
        assert_eq!(
            messages(check(&files)),
            [
                "NAME/README.md is not a page of this repository",
                "lost.md is not a page of this repository",
                "docs/other/0001-one.md is not a page of this repository",
            ]
        );
    }
}
