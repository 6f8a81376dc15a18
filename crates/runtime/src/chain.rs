//! The way of a batch between Kafka and the task: key converter, value converter, transforms.

use api::{Converter, Predicate, Side, Transform};
use data::{Batch, Mask, RawBatch};
use std::sync::Arc;

/// A transform and the rows it is for.
pub struct Step {
    pub transform: Box<dyn Transform>,
    pub predicate: Option<Box<dyn Predicate>>,
    /// Applies to the rows that do not match instead.
    pub negate: bool,
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
        let mut batch = Batch::new(Arc::new(raw));
        if batch.is_empty() {
            return batch;
        }
        self.key.decode(Side::Key, &mut batch);
        self.value.decode(Side::Value, &mut batch);
        for step in &mut self.steps {
            let selected = selection(step, &batch);
            step.transform.apply(&mut batch, &selected);
        }
        batch
    }
}

fn selection(step: &mut Step, batch: &Batch) -> Mask {
    let all = Mask::all(batch.len());
    let Some(predicate) = &mut step.predicate else { return all };
    let mut matching = all.clone();
    predicate.select(batch, &mut matching);
    if !step.negate {
        return matching;
    }
    let mut others = all;
    for row in (0..batch.len()).filter(|row| matching.is_alive(*row)) {
        others.kill(row);
    }
    others
}
