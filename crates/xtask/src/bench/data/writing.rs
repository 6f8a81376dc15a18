//! Rows into JSON.

use std::hint::black_box;

use anyhow::{Result, ensure};
use api::{Converter, Encoded, Side, Topics};
use data::Batch;

use super::Args;
use super::case::{Case, Group};
use super::reading::json;
use super::records::{Fetched, Form};

pub(super) fn groups(args: &Args) -> Result<Vec<Group>> {
    let structs = decoded(json(true)?, Form::Envelope, args.effort.records());
    let maps = decoded(json(false)?, Form::Plain, args.effort.records());
    Ok(vec![Group::new(
        "Rows into JSON",
        vec![
            encode("structs, with their schema", json(true)?, structs.clone())?,
            encode("structs, without", json(false)?, structs)?,
            encode("maps without a schema", json(false)?, maps)?,
        ],
    )])
}

/// The rows of a form, ready for what is done to rows.
fn decoded(converter: Box<dyn Converter>, form: Form, records: usize) -> Vec<Batch> {
    rows(converter, &Fetched::new(form, records, None))
}

/// The rows of these records, which need no preparation.
pub(in crate::bench) fn rows(mut converter: Box<dyn Converter>, fetched: &Fetched) -> Vec<Batch> {
    let mut batches: Vec<Batch> = fetched.fresh().collect();
    for batch in &mut batches {
        converter.decode(Side::Value, batch);
    }
    batches
}

/// A pass that encodes every batch. Bytes are those of the encoded record.
pub(in crate::bench) fn encode(
    name: &str,
    mut converter: Box<dyn Converter>,
    batches: Vec<Batch>,
) -> Result<Case> {
    let mut out = Encoded::default();
    let (mut bytes, mut records) = (0, 0);
    for batch in &batches {
        let errors = converter.encode(Topics::One("t"), &batch.values, &mut out)?;
        ensure!(errors.is_empty(), "{name}: {}", errors.first().map_or("", |e| &e.message));
        bytes += out.bytes.len();
        records += out.spans.len();
        out.clear();
    }
    Ok(Case::new(name, bytes / records.max(1), records, move || {
        for batch in &batches {
            out.clear();
            // What it could not encode was found above.
            let _errors = converter.encode(Topics::One("t"), &batch.values, &mut out);
            black_box(&out);
        }
    }))
}
