//! Rules about a file as such: its length, its name, its opening.

use super::{File, Finding};

/// A file has fewer lines than this; above it there are two responsibilities.
const LINES_MAX: usize = 500;

/// Names that say nothing about what is inside.
const EMPTY_NAMES: [&str; 7] = ["util", "utils", "common", "helper", "helpers", "types", "misc"];

pub(super) fn check(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    if is_written_by_hand(&file.path) {
        let lines = file.text.lines().count();
        if lines >= LINES_MAX {
            let message = format!("{lines} lines; split it by responsibility to below {LINES_MAX}");
            findings.push(file.finding(0, message));
        }
    }
    if file.is_rust() {
        if !file.text.starts_with("//!") {
            let message = "open with `//!`: purpose, place in the data path, invariants";
            findings.push(file.finding(1, message));
        }
        let mut names = file.path.split(['/', '.']);
        if let Some(name) = names.find(|name| EMPTY_NAMES.contains(name)) {
            let message = format!("`{name}` says nothing; name the module after what it does");
            findings.push(file.finding(0, message));
        }
    }
    findings
}

fn is_written_by_hand(path: &str) -> bool {
    let source = [".rs", ".py", ".sh", ".sql"].iter().any(|end| path.ends_with(end));
    let script = path.starts_with("scripts/") || path.starts_with(".ci/");
    let lock = path.ends_with("/package-lock.json");
    (source || script) && !lock && !path.split('/').any(|folder| folder == "testdata")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::{file, messages};

    #[test]
    fn a_long_file_is_to_be_split_and_data_may_be_long() {
        let text = format!("//! Long.\n{}", "\n".repeat(499));
        assert_eq!(messages(check(&file("crates/a/src/b.rs", &text))).len(), 1);
        assert_eq!(messages(check(&file("scripts/long", &text))).len(), 1);
        assert!(check(&file("crates/a/testdata/b.sql", &text)).is_empty());
        let text = format!("//! Short enough.\n{}", "\n".repeat(498));
        assert!(check(&file("crates/a/src/b.rs", &text)).is_empty());
    }

    #[test]
    fn rust_opens_with_what_it_is_for() {
        assert_eq!(messages(check(&file("crates/a/src/b.rs", "use c;\n"))).len(), 1);
        assert!(check(&file("scripts/b", "# no Rust\n")).is_empty());
    }

    #[test]
    fn a_module_is_named_after_what_it_does() {
        for path in
            ["crates/a/src/utils.rs", "crates/a/src/common/mod.rs", "crates/types/src/lib.rs"]
        {
            assert_eq!(messages(check(&file(path, "//! Things.\n"))).len(), 1, "{path}");
        }
        assert!(check(&file("crates/a/src/uncommon.rs", "//! Things.\n")).is_empty());
    }
}
