//! Expected output: read, compared, written.
//!
//! A line says what becomes of the record of the same number: a record, `{"dropped": STEP}` or
//! `{"failed": {…}}`. Members that an expected record or failure leaves out are not compared.

use super::diff::{Change, Leaf, changes, json_leaves};
use super::json::Tree;
use crate::exit::Failure;
use serde_json::value::RawValue;
use std::path::Path;

/// # Errors
/// The file cannot be read, or is not JSON.
pub(super) fn read(path: &Path) -> Result<Vec<Tree>, Failure> {
    let name = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| {
        Failure::wrong_input(format!("{name}: {error}"))
            .hint("--update writes the file from what comes out now")
    })?;
    let mut lines = Vec::new();
    for item in serde_json::Deserializer::from_str(&text).into_iter::<Box<RawValue>>() {
        let tree = item.and_then(|item| Tree::parse(item.get()));
        let wrong = |error| {
            let number = lines.len() + 1;
            Failure::wrong_input(format!("{name}: expected output {number}: {error}"))
        };
        lines.push(tree.map_err(wrong)?);
    }
    Ok(lines)
}

/// # Errors
/// The file cannot be written.
pub(super) fn write(path: &Path, lines: &[Tree]) -> Result<(), Failure> {
    let mut text = String::new();
    for line in lines {
        text.push_str(&line.to_string());
        text.push('\n');
    }
    std::fs::write(path, text)
        .map_err(|error| Failure::wrong_input(format!("{}: {error}", path.display())))
}

/// How what came out differs from what was expected; empty if it does not.
pub(super) fn compare(expected: &Tree, actual: &Tree, schemas: bool) -> Vec<Change> {
    let strip = |tree: &Tree| if schemas { tree.clone() } else { without_schemas(tree) };
    let expected = strip(expected);
    let actual = strip(&named(&expected, actual));
    if expected.same(&actual) {
        return Vec::new();
    }
    let kinds = [&expected, &actual].map(outcome);
    let [wanted, seen] = kinds.map(|kind| leaf("outcome", kind.to_owned()));
    if wanted != seen {
        return vec![Change::Changed(wanted, seen)];
    }
    let found = changes(&json_leaves(&expected), &json_leaves(&actual));
    match found.is_empty() {
        // They differ in what has no leaf, such as an empty object beside an absent one.
        true => changes(&whole(&expected), &whole(&actual)),
        false => found,
    }
}

/// The difference of a record that was not expected at all.
pub(super) fn unexpected() -> Vec<Change> {
    let nothing = leaf("outcome", "no more records".to_owned());
    vec![Change::Changed(nothing, leaf("outcome", "a record".to_owned()))]
}

/// What became of a record, in a word.
fn outcome(tree: &Tree) -> &'static str {
    let is = |name: &str| tree.member(name).is_some();
    match (is("dropped"), is("failed")) {
        (true, _) => "dropped",
        (_, true) => "failed",
        _ => "kept",
    }
}

fn whole(tree: &Tree) -> Vec<Leaf> {
    vec![leaf("record", tree.to_string())]
}

fn leaf(path: &str, text: String) -> Leaf {
    Leaf { path: path.to_owned(), text, kind: String::new() }
}

/// The members that are expected, and the kind of outcome, whatever is expected.
fn named(expected: &Tree, actual: &Tree) -> Tree {
    let Tree::Object(members) = actual else { return actual.clone() };
    let kept = members.iter().filter_map(|(name, tree)| {
        let outcome = matches!(name.as_str(), "dropped" | "failed");
        let inner = match (expected.member(name), name.as_str()) {
            (Some(failed), "failed") => named(failed, tree),
            // By whatever step.
            (Some(Tree::Bool(true)), "dropped") => Tree::Bool(true),
            (Some(_), _) => tree.clone(),
            (None, _) if outcome => tree.clone(),
            (None, _) => return None,
        };
        Some((name.clone(), inner))
    });
    Tree::Object(kept.collect())
}

/// Keys, values and headers as payloads alone.
fn without_schemas(tree: &Tree) -> Tree {
    let bare = |tree: &Tree| tree.payload().unwrap_or(tree).clone();
    let Tree::Object(members) = tree else { return tree.clone() };
    let member = |(name, tree): &(String, Tree)| {
        let inner = match (name.as_str(), tree) {
            ("key" | "value", _) => bare(tree),
            ("headers", Tree::List(headers)) => {
                let header = |header: &Tree| match header {
                    Tree::Object(members) => Tree::Object(
                        members.iter().map(|(name, tree)| (name.clone(), bare(tree))).collect(),
                    ),
                    other => other.clone(),
                };
                Tree::List(headers.iter().map(header).collect())
            }
            _ => tree.clone(),
        };
        (name.clone(), inner)
    };
    Tree::Object(members.iter().map(member).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn differences(expected: &str, actual: &str, schemas: bool) -> usize {
        let (expected, actual) = (Tree::parse(expected).unwrap(), Tree::parse(actual).unwrap());
        compare(&expected, &actual, schemas).len()
    }

    const RECORD: &str = r#"{"topic":"t","offset":3,"value":{"schema":{"type":"int32"},"payload":1},
        "headers":[{"key":"h","value":{"schema":{"type":"string"},"payload":"x"}}]}"#;
    const FAILED: &str = r#"{"failed":{"stage":"TRANSFORMATION","message":"m"}}"#;

    #[test]
    fn what_is_left_out_is_not_compared() {
        assert_eq!(differences(r#"{"topic":"t"}"#, RECORD, true), 0);
        assert_eq!(differences(r#"{"offset":4,"topic":"t"}"#, RECORD, true), 1);
        assert_eq!(differences(r#"{"failed":{"stage":"TRANSFORMATION"}}"#, FAILED, true), 0);
        assert_eq!(differences(r#"{"failed":{"message":"n"}}"#, FAILED, true), 1);
    }

    #[test]
    fn outcomes_of_another_kind_differ() {
        let dropped = r#"{"dropped":"f"}"#;
        assert_eq!(differences(r#"{"dropped":true}"#, dropped, true), 0);
        assert_eq!(differences(dropped, dropped, true), 0);
        for (expected, actual) in
            [("{}", dropped), ("{}", FAILED), (dropped, RECORD), (r#"{"dropped":"g"}"#, dropped)]
        {
            assert_eq!(differences(expected, actual, true), 1, "{expected} {actual}");
        }
        assert_ne!(differences(r#"{"value":{}}"#, r#"{"value":[]}"#, true), 0);
    }

    #[test]
    fn schemas_count_unless_told_otherwise() {
        let bare = r#"{"value":1,"headers":[{"key":"h","value":"x"}]}"#;
        assert_ne!(differences(bare, RECORD, true), 0);
        assert_eq!(differences(bare, RECORD, false), 0);
        assert_ne!(differences(r#"{"value":2}"#, RECORD, false), 0);
    }
}
