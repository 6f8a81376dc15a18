//! One sample through the chain, and what each step made of it.

use super::diff::{Change, changes, leaves};
use super::record::Record;
use super::sample::Sample;
use super::setup::Setup;
use crate::exit::Failure;
use data::{Batch, Origin, Reject};

/// What happened to one sample.
pub(super) struct Trace {
    pub(super) sample: Sample,
    /// The record as the converters read it; `None` where one refused.
    pub(super) input: Option<Record>,
    /// The steps that were reached.
    pub(super) steps: Vec<StepTrace>,
    pub(super) outcome: Outcome,
}

/// One step and one record.
pub(super) struct StepTrace {
    pub(super) alias: String,
    pub(super) class: &'static str,
    /// The predicate's alias, and whether it is negated.
    pub(super) condition: Option<(String, bool)>,
    /// Whether the condition chose the record.
    pub(super) applied: bool,
    pub(super) changes: Vec<Change>,
    /// The record behind the step; `None` where it was dropped or refused.
    pub(super) after: Option<Record>,
}

pub(super) enum Outcome {
    Kept(Record),
    /// By the step of this alias.
    Dropped(String),
    Failed(Fault),
}

/// Why a record was refused.
pub(super) struct Fault {
    pub(super) stage: &'static str,
    pub(super) class: String,
    pub(super) exception: String,
    pub(super) message: String,
}

impl From<&Reject> for Fault {
    fn from(reject: &Reject) -> Fault {
        Fault {
            stage: reject.stage.name(),
            class: reject.class.to_string(),
            exception: reject.exception.to_string(),
            message: reject.message.clone(),
        }
    }
}

/// Runs a sample.
///
/// # Errors
/// It needs a converter that is not configured.
pub(super) fn run(setup: &mut Setup, sample: Sample, origin: Origin) -> Result<Trace, Failure> {
    let mut batch = sample.decode(&mut setup.decoders, origin)?;
    if let Some(fault) = fault(&batch) {
        let (input, steps, outcome) = (None, Vec::new(), Outcome::Failed(fault));
        return Ok(Trace { sample, input, steps, outcome });
    }
    let input = Record::of(&batch);
    let mut current = input.clone();
    let mut steps = Vec::new();
    for step in &mut setup.steps {
        let applied = step.apply(&mut batch).is_alive(0);
        let gone = match fault(&batch) {
            Some(fault) => Some(Outcome::Failed(fault)),
            None if !batch.alive.is_alive(0) => Some(Outcome::Dropped(step.alias.clone())),
            None => None,
        };
        let after = gone.is_none().then(|| Record::of(&batch));
        let changes = after.as_ref().map(|after| changes(&leaves(&current), &leaves(after)));
        steps.push(StepTrace {
            alias: step.alias.clone(),
            class: step.transform.class(),
            condition: step.condition.as_ref().map(|c| (c.alias.clone(), c.negate)),
            applied,
            changes: changes.unwrap_or_default(),
            after: after.clone(),
        });
        if let Some(outcome) = gone {
            return Ok(Trace { sample, input: Some(input), steps, outcome });
        }
        current = after.unwrap_or(current);
    }
    Ok(Trace { sample, input: Some(input), steps, outcome: Outcome::Kept(current) })
}

fn fault(batch: &Batch) -> Option<Fault> {
    let mut reject = batch.rejects.first()?.clone();
    runtime::explain(&mut reject, true);
    Some(Fault::from(&reject))
}
