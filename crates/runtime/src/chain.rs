//! The way of a batch between Kafka and the task: key converter, value converter, transforms.
//!
//! Invariant: a row that was dropped or rejected by a step is not shown to the steps behind it.

use api::{Converter, Predicate, Side, Transform};
use data::{Batch, Mask, RawBatch};
use std::sync::Arc;

/// A transform and the rows it is for.
pub struct Step {
    /// Its name in `transforms`.
    pub alias: String,
    pub transform: Box<dyn Transform>,
    /// Which rows it is applied to; all without.
    pub condition: Option<Condition>,
}

/// A predicate as a step uses it.
pub struct Condition {
    /// Its name in `predicates`.
    pub alias: String,
    pub predicate: Box<dyn Predicate>,
    /// The step is for the rows that do not match instead.
    pub negate: bool,
}

impl Step {
    /// Applies the transform to the rows that are alive and that its condition chooses; gives the
    /// rows that were chosen, dead ones among them.
    pub fn apply(&mut self, batch: &mut Batch) -> Mask {
        let selected = self.condition.as_mut().map_or_else(
            || Mask::all(batch.len()),
            |condition| selection(condition.predicate.as_mut(), condition.negate, batch),
        );
        self.transform.apply(batch, &selected);
        selected
    }
}

/// The converters and transforms of one task. Rows that fail anywhere are rejected in the batch.
pub struct Chain {
    pub key: Box<dyn Converter>,
    pub value: Box<dyn Converter>,
    pub steps: Vec<Step>,
}

impl Chain {
    /// Decodes a fetched batch and runs the transforms over it.
    pub fn run(&mut self, raw: RawBatch) -> Batch {
        let mut batch = self.decode(raw);
        for step in &mut self.steps {
            if batch.alive.count() == 0 {
                break;
            }
            step.apply(&mut batch);
        }
        batch
    }

    /// Runs the converters alone.
    pub fn decode(&mut self, raw: RawBatch) -> Batch {
        let mut batch = Batch::new(Arc::new(raw));
        if !batch.is_empty() {
            self.key.decode(Side::Key, &mut batch);
            self.value.decode(Side::Value, &mut batch);
        }
        batch
    }
}

fn selection(predicate: &mut dyn Predicate, negate: bool, batch: &Batch) -> Mask {
    let all = Mask::all(batch.len());
    let mut matching = all.clone();
    predicate.select(batch, &mut matching);
    if !negate {
        return matching;
    }
    let mut others = all;
    for row in (0..batch.len()).filter(|row| matching.is_alive(*row)) {
        others.kill(row);
    }
    others
}
