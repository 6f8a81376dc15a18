//! A trace as one JSON object a line, for machines, and the line that expected output has.

use super::diff::{Change, Leaf};
use super::json::Tree;
use super::record::Writer;
use super::trace::{Fault, Outcome, StepTrace, Trace};

fn object(members: Vec<(&str, Tree)>) -> Tree {
    Tree::Object(members.into_iter().map(|(name, tree)| (name.to_owned(), tree)).collect())
}

/// What came out, as expected output says it: the record, `{"dropped": STEP}` or `{"failed": {…}}`.
pub(super) fn outcome(outcome: &Outcome, writer: &mut Writer) -> Tree {
    match outcome {
        Outcome::Kept(record) => writer.tree(record),
        Outcome::Dropped(step) => object(vec![("dropped", Tree::text(step))]),
        Outcome::Failed(fault) => object(vec![("failed", failed(fault))]),
    }
}

fn failed(fault: &Fault) -> Tree {
    object(vec![
        ("stage", Tree::text(fault.stage)),
        ("class", Tree::text(&fault.class)),
        ("exception", Tree::text(&fault.exception)),
        ("message", Tree::text(&fault.message)),
    ])
}

/// The whole trace. `differences`: from what was expected, if anything was.
pub(super) fn trace(
    number: usize,
    trace: &Trace,
    differences: Option<&[Change]>,
    writer: &mut Writer,
) -> Tree {
    let input = trace.input.as_ref().map_or(Tree::Null, |record| writer.tree(record));
    let steps = trace.steps.iter().map(|one| step(one, writer)).collect();
    let name = match &trace.outcome {
        Outcome::Kept(_) => "kept",
        Outcome::Dropped(_) => "dropped",
        Outcome::Failed(_) => "failed",
    };
    let mut members = vec![
        ("record", Tree::number(number)),
        ("input", input),
        ("steps", Tree::List(steps)),
        ("outcome", Tree::text(name)),
        ("output", outcome(&trace.outcome, writer)),
    ];
    if let Some(differences) = differences {
        members.push(("expected", Tree::Bool(differences.is_empty())));
        members.push(("differences", Tree::List(differences.iter().map(change).collect())));
    }
    object(members)
}

fn step(step: &StepTrace, writer: &mut Writer) -> Tree {
    let mut members = vec![("step", Tree::text(&step.alias)), ("class", Tree::text(step.class))];
    if let Some((alias, negate)) = &step.condition {
        members.push(("predicate", Tree::text(alias)));
        members.push(("negate", Tree::Bool(*negate)));
    }
    members.push(("applied", Tree::Bool(step.applied)));
    members.push(("changes", Tree::List(step.changes.iter().map(change).collect())));
    if let Some(after) = step.after.as_ref().filter(|_| !step.changes.is_empty()) {
        members.push(("after", writer.tree(after)));
    }
    object(members)
}

fn change(change: &Change) -> Tree {
    let (path, before, after) = match change {
        Change::Removed(old) => (&old.path, Some(old), None),
        Change::Added(new) => (&new.path, None, Some(new)),
        Change::Changed(old, new) => (&new.path, Some(old), Some(new)),
    };
    let side = |leaf: Option<&Leaf>| match leaf {
        None => Tree::Null,
        Some(leaf) if leaf.kind.is_empty() => Tree::text(&leaf.text),
        Some(leaf) => {
            object(vec![("text", Tree::text(&leaf.text)), ("type", Tree::text(&leaf.kind))])
        }
    };
    object(vec![("path", Tree::text(path)), ("before", side(before)), ("after", side(after))])
}
