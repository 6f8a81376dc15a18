//! A connector is a folder with its manual and examples that can be tried.

use std::collections::{BTreeMap, BTreeSet};

use super::{File, Finding};

const HOME: &str = "crates/connectors/src/";

pub(super) fn check(files: &[File]) -> Vec<Finding> {
    let mut folders: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for file in files {
        let inside = file.path.strip_prefix(HOME).and_then(|path| path.split_once('/'));
        if let Some((folder, rest)) = inside {
            folders.entry(folder).or_default().insert(rest);
        }
    }
    let mut findings = Vec::new();
    for (folder, contents) in folders {
        let mut lacks = |what: &str| {
            findings.push(Finding {
                path: format!("{HOME}{folder}"),
                line: 0,
                message: format!("the connector lacks {what}"),
            });
        };
        if !contents.contains("README.md") {
            lacks("README.md: what it does, its settings, its limits");
        }
        if !contents.iter().any(|path| path.starts_with("examples/")) {
            lacks("examples/ with at least one configuration");
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::{file, messages};

    #[test]
    fn a_connector_comes_with_manual_and_examples() {
        let whole = ["lib.rs", "good/mod.rs", "good/README.md", "good/examples/a.json"];
        let mut files: Vec<File> =
            whole.iter().map(|path| file(&format!("{HOME}{path}"), "")).collect();
        assert!(check(&files).is_empty());
        files.push(file("crates/connectors/src/bare/mod.rs", ""));
        assert_eq!(messages(check(&files)).len(), 2);
    }
}
