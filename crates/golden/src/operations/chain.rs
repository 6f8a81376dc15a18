//! Transforms and predicates: one step or a chain, one record or several through the same instances.
//!
//! Several records go as one batch, and again each as a batch of its own: both must give the same.

use super::{at, props, settled};
use crate::batches;
use crate::fault::{At, CONFIG, Fault};
use crate::notation::{Record, read_record, write_record};
use api::{Predicate, Transform};
use config::ConfigErrors;
use data::{Batch, Mask};
use serde_json::{Value as Json, json};

struct Step {
    transform: Box<dyn Transform>,
    predicate: Option<Box<dyn Predicate>>,
    negate: bool,
}

fn configured<T>(made: Result<T, ConfigErrors>) -> Result<T, (Fault, At)> {
    made.map_err(|errors| {
        let first = errors.errors.into_iter().next().map(|error| error.message);
        (Fault::new(CONFIG, first.unwrap_or_default()), At::Configure)
    })
}

fn unknown(what: &str, class: &str) -> (Fault, At) {
    (Fault::new("unknown", format!("no {what} {class}")), At::Configure)
}

fn make_transform(node: &Json) -> Result<Box<dyn Transform>, (Fault, At)> {
    let class = node["class"].as_str().unwrap_or_default();
    let plugin = transforms::find(class).ok_or_else(|| unknown("transform", class))?;
    configured((plugin.make)(&props(&node["config"])))
}

fn make_predicate(node: &Json) -> Result<Box<dyn Predicate>, (Fault, At)> {
    let class = node["class"].as_str().unwrap_or_default();
    let plugin = transforms::find_predicate(class).ok_or_else(|| unknown("predicate", class))?;
    configured((plugin.make)(&props(&node["config"])))
}

fn steps(input: &Json) -> Result<Vec<Step>, (Fault, At)> {
    let nodes = input["chain"].as_array().map_or(std::slice::from_ref(input), Vec::as_slice);
    let step = |node: &Json| {
        let predicate = Some(&node["predicate"]).filter(|predicate| !predicate.is_null());
        Ok(Step {
            transform: make_transform(node)?,
            predicate: predicate.map(make_predicate).transpose()?,
            negate: node["negate"] == true,
        })
    };
    nodes.iter().map(step).collect()
}

/// Runs the steps over a batch; each sees what the one before it left.
fn run(steps: &mut [Step], batch: &mut Batch) {
    for step in steps {
        let mut selected = batch.alive.clone();
        if let Some(predicate) = &mut step.predicate {
            predicate.select(batch, &mut selected);
            if step.negate {
                selected = inverted(&batch.alive, &selected);
            }
        }
        step.transform.apply(batch, &selected);
    }
}

fn inverted(alive: &Mask, selected: &Mask) -> Mask {
    let mut rest = alive.clone();
    for row in (0..selected.len()).filter(|row| selected.is_alive(*row)) {
        rest.kill(row);
    }
    rest
}

/// The records that come out, in order, `None` for one that was dropped; or the first failure.
fn through(steps: &mut [Step], records: &[Record]) -> Result<Vec<Json>, Fault> {
    let mut batch = batches::of_records(records);
    run(steps, &mut batch);
    if let Some(reject) = batch.rejects.first() {
        return Err(Fault::new(reject.exception.to_string(), reject.message.clone()));
    }
    let written = records.iter().enumerate().map(|(row, record)| {
        let alive = batch.alive.is_alive(row);
        if alive { write_record(&batches::record(&batch, row, record)) } else { Json::Null }
    });
    Ok(written.collect())
}

/// As few batches as the records allow, or one batch a record.
fn all_through(
    input: &Json,
    records: &[Record],
    one_by_one: bool,
) -> Result<Vec<Json>, (Fault, At)> {
    let mut steps = steps(input)?;
    let mut written = Vec::with_capacity(records.len());
    let mut rest = records;
    while !rest.is_empty() {
        let len = if one_by_one { 1 } else { batches::run_length(rest) };
        let (now, later) = rest.split_at(len);
        written.extend(through(&mut steps, now).map_err(at(At::Apply))?);
        rest = later;
    }
    Ok(written)
}

pub(super) fn transform(input: &Json) -> Json {
    settled(answer(input))
}

fn answer(input: &Json) -> Result<Json, (Fault, At)> {
    // Connect refuses a configuration before it sees a record.
    steps(input)?;
    let several = input["records"].as_array();
    let nodes = several.map_or(std::slice::from_ref(&input["record"]), Vec::as_slice);
    let read = nodes.iter().map(read_record).collect::<Result<Vec<_>, _>>();
    let records = read.map_err(at(At::Input))?;
    let together = all_through(input, &records, false);
    if several.is_some() {
        let apart = all_through(input, &records, true);
        if apart != together {
            let text = format!("one batch gives {together:?}, one batch a record {apart:?}");
            return Err((Fault::new("bug", text), At::Apply));
        }
    }
    let mut written = together?;
    Ok(match several {
        Some(_) => json!({"records": written}),
        None => json!({"record": written.pop()}),
    })
}

pub(super) fn predicate(input: &Json) -> Json {
    let answer = make_predicate(input).and_then(|mut predicate| {
        let record = read_record(&input["record"]).map_err(at(At::Input))?;
        let batch = batches::of_records(std::slice::from_ref(&record));
        let mut mask = Mask::all(1);
        predicate.select(&batch, &mut mask);
        Ok(json!({"result": mask.is_alive(0)}))
    });
    settled(answer)
}
