//! JSON into rows, beside parsers that build nothing but their tape.

use std::hint::black_box;

use anyhow::{Context as _, Result, ensure};
use api::{Converter, Side};
use config::Props;

use super::Args;
use super::case::{Case, Group};
use super::records::{Fetched, Form};
use super::tapes;

pub(super) fn groups(args: &Args) -> Result<Vec<Group>> {
    Ok(vec![envelopes(args.effort.records())?, plain(args.effort.records())?])
}

fn envelopes(records: usize) -> Result<Group> {
    let whole = Fetched::new(Form::Envelope, records, None);
    let mut converter = json(true)?;
    // As between a sink's tasks and its fetch: the head is known after the first batch.
    decode_first(&mut *converter, &whole);
    let head = converter.value_prefix().context("the converter shares no head")?;
    let cut = Fetched::new(Form::Envelope, records, Some(&head));
    let of = |form| Fetched::new(form, records, None);
    let other = |name, form| decode(name, json(true)?, of(form));
    Ok(Group::new(
        "JSON with its schema into rows",
        vec![
            decode("schema first, not fetched again", converter, cut)?.wanted_ns(200.0),
            decode("schema first", json(true)?, whole.clone())?.wanted_ns(200.0),
            other("schema last", Form::SchemaLast)?,
            other("members in another order", Form::EnvelopeReordered)?,
            other("blanks after colons and commas", Form::EnvelopeSpaced)?,
            tapes::simd_json(whole.clone()).yardstick(),
            tapes::sonic(whole.clone()).yardstick(),
            tapes::sonic_lazy(whole).aside(),
        ],
    )
    .note(tapes::NOTE))
}

fn plain(records: usize) -> Result<Group> {
    let usual = Fetched::new(Form::Plain, records, None);
    let of = |form| Fetched::new(form, records, None);
    let other = |name, form| decode(name, json(false)?, of(form));
    Ok(Group::new(
        "Plain JSON of 8 members into rows",
        vec![
            decode("members as in the record before", json(false)?, usual.clone())?
                .wanted_ratio(1.3),
            other("four orders of the members", Form::PlainReordered)?,
            other("blanks after colons and commas", Form::PlainSpaced)?,
            tapes::simd_json(usual.clone()).yardstick(),
            tapes::sonic(usual.clone()).yardstick(),
            tapes::sonic_lazy(usual).aside(),
        ],
    )
    .note(tapes::NOTE))
}

/// Our JSON converter, as a task makes it.
pub(in crate::bench) fn json(schemas: bool) -> Result<Box<dyn Converter>> {
    let plugin = converters::find("JsonConverter").context("there is no JSON converter")?;
    let schemas = if schemas { "true" } else { "false" };
    let props: Props = [("schemas.enable", schemas)].into_iter().collect();
    Ok((plugin.make)(&props, Side::Value)?)
}

fn decode_first(converter: &mut dyn Converter, fetched: &Fetched) {
    if let Some(mut batch) = fetched.fresh().next() {
        converter.decode(Side::Value, &mut batch);
    }
}

/// A pass that prepares and decodes every batch. Every record must be readable.
pub(in crate::bench) fn decode(
    name: &str,
    mut converter: Box<dyn Converter>,
    fetched: Fetched,
) -> Result<Case> {
    for mut batch in fetched.fresh() {
        converter.prepare(Side::Value, &batch.raw)?;
        converter.decode(Side::Value, &mut batch);
        let first = batch.rejects.first();
        ensure!(first.is_none(), "{name}: {}", first.map_or("", |reject| &reject.message));
    }
    Ok(Case::new(name, fetched.bytes, fetched.records, move || {
        for mut batch in fetched.fresh() {
            let prepared = converter.prepare(Side::Value, &batch.raw);
            assert!(prepared.is_ok(), "it was prepared for the same records before");
            converter.decode(Side::Value, &mut batch);
            black_box(&batch.values);
        }
    }))
}
