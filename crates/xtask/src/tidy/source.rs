//! Rules about lines: what is never committed, and what only one file may do.

use std::sync::LazyLock;

use regex::Regex;

use super::{File, Finding};

/// The only file with unsafe code.
const UNSAFE_HOME: &str = "crates/kafka/src/ffi.rs";

/// The herder's files that decide and touch nothing: no clock, no files, no network.
const PURE: [&str; 3] =
    ["crates/herder/src/state.rs", "crates/herder/src/plan.rs", "crates/herder/src/step.rs"];

/// A pattern that no line may match. The patterns are written in pieces, or so that they do not
/// match themselves: this file is checked too.
struct Ban {
    pattern: Regex,
    message: &'static str,
    applies: fn(&File) -> bool,
    reads: Reads,
}

/// Which part of a file a ban is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reads {
    Everything,
    /// Comments may speak of what code may not do.
    Code,
    /// Nor is it a matter of the tests at the end of the file.
    CodeBeforeTests,
}

static BANS: LazyLock<Vec<Ban>> = LazyLock::new(|| {
    let ban = |pattern: &str, message, applies: fn(&File) -> bool| Ban {
        pattern: Regex::new(pattern).expect("a constant pattern"),
        message,
        applies,
        reads: Reads::Everything,
    };
    let everywhere: fn(&File) -> bool = |file| !is_data(file);
    let rust: fn(&File) -> bool = File::is_rust;
    vec![
        ban(r"\b(TO[D]O|FIX[M]E|X[X]X)\b", "finish it, or file an issue", everywhere),
        ban(r"\b(todo|unimplemented)[!]", "finish it", rust),
        ban(r"#\[[i]gnore", "an ignored test proves nothing; fix or remove it", rust),
        ban(r"#\[[s]hould_panic", "assert the error instead of any panic", rust),
        ban(r"(allow|expect)[(][^)]*\bdead_code", "remove the dead code", rust),
        ban(
            r#"(^|[\s"'`(=:])/(home|root|Users|work|workspace)/[a-z]"#,
            "a path of one machine",
            everywhere,
        ),
        ban(
            r"(?i)\b(blazing(ly)?|seamless(ly)?|world-class|cutting-edge|game-chang\w+)[ ,.]",
            "plain words, please",
            everywhere,
        ),
        Ban {
            reads: Reads::Code,
            ..ban(
                r"(\bunsafe\s*(\{|fn\b|impl\b|trait\b|extern\b))|((allow|expect)[(]unsafe_code)",
                "unsafe code lives in crates/kafka/src/ffi.rs only",
                |file| file.is_rust() && file.path != UNSAFE_HOME,
            )
        },
        Ban {
            reads: Reads::CodeBeforeTests,
            ..ban(
                r"Instant::now|SystemTime::now|\bstd::(fs|net|thread|env|process)\b|\btokio::",
                "the herder's core is pure: time and the outside come in as events",
                |file| PURE.contains(&file.path.as_str()),
            )
        },
    ]
});

pub(super) fn check(file: &File) -> Vec<Finding> {
    let bans: Vec<&Ban> = BANS.iter().filter(|ban| (ban.applies)(file)).collect();
    let mut findings = Vec::new();
    let mut in_tests = false;
    for (index, line) in file.text.lines().enumerate() {
        in_tests |= line.starts_with("#[cfg(test)]");
        let code = if file.is_rust() { line.split("//").next().unwrap_or_default() } else { line };
        for ban in &bans {
            let read = match ban.reads {
                Reads::Everything => line,
                Reads::CodeBeforeTests if in_tests => "",
                Reads::Code | Reads::CodeBeforeTests => code,
            };
            if ban.pattern.is_match(read) {
                findings.push(file.finding(index + 1, ban.message));
            }
        }
    }
    findings
}

/// Recorded, generated or legal text.
fn is_data(file: &File) -> bool {
    file.path.split('/').any(|part| part == "testdata" || part == "snapshots")
        || file.path == "Cargo.lock"
        || file.path == "LICENSE"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::{file, messages};

    #[track_caller]
    fn is_caught(path: &str, line: &str) {
        let findings = check(&file(path, &format!("//! Text.\n{line}\n")));
        assert_eq!(findings.len(), 1, "{line}: {:?}", messages(findings));
    }

    #[track_caller]
    fn passes(path: &str, line: &str) {
        let findings = messages(check(&file(path, &format!("//! Text.\n{line}\n"))));
        assert!(findings.is_empty(), "{line}: {findings:?}");
    }

    #[test]
    fn unfinished_work_is_caught() {
        is_caught("a.rs", concat!("// TO", "DO: later"));
        is_caught("docs/a.md", concat!("FIX", "ME"));
        is_caught("a.rs", concat!("    todo", "!()"));
        is_caught("a.rs", concat!("    #[ig", "nore]"));
        is_caught("a.rs", concat!("#[allow(dead", "_code)]"));
        passes("a.rs", "let method = todos();");
    }

    #[test]
    fn a_path_of_one_machine_is_caught() {
        is_caught("a.md", concat!("see /ho", "me/me/file"));
        is_caught("a.rs", concat!("let path = \"/ro", "ot/data\";"));
        passes("a.rs", "let path = \"crates/work/a\";");
    }

    #[test]
    fn unsafe_code_has_one_home() {
        let line = concat!("let x = unsa", "fe { f() };");
        is_caught("crates/sql/src/a.rs", line);
        passes("crates/kafka/src/ffi.rs", line);
        passes("crates/sql/src/a.rs", concat!("// no unsa", "fe { } here"));
    }

    #[test]
    fn the_core_of_the_herder_reads_no_clock() {
        is_caught("crates/herder/src/step.rs", "let now = Instant::now();");
        passes("crates/herder/src/standalone.rs", "let now = Instant::now();");
        let test = "#[cfg(test)]\nmod tests { fn f() { Instant::now(); } }";
        passes("crates/herder/src/step.rs", test);
    }
}
