//! The converters alone: with a registry's framing, and with a schema that is given.

use anyhow::{Context as _, Result};
use api::{Converter, Side};
use config::Props;
use testkit::registry::Proxy;

use super::generic;
use super::orders::{AVRO, Language, fetched, registry};
use crate::bench::data::{
    case::Group,
    reading::decode,
    records::Fetched,
    writing::{encode, rows},
};

/// At most so many ns a record, and of what the fastest yardstick takes.
const NS: f64 = 60.0;
const RATIO: f64 = 0.2;

pub(super) fn groups(records: usize) -> Result<Vec<Group>> {
    let registry = registry();
    let framed = fetched(Language::Avro, records, true);
    let bare = fetched(Language::Avro, records, false);
    Ok(vec![
        reading(&registry, &framed, &bare)?,
        writing(&registry, &bare)?,
        others(&registry, records)?,
    ])
}

fn reading(registry: &Proxy, framed: &Fetched, bare: &Fetched) -> Result<Group> {
    let ours = [
        decode(
            "with a registry, id in front",
            registered(registry, Language::Avro)?,
            framed.clone(),
        )?,
        decode("schema given, bare values", inline()?, bare.clone())?,
    ];
    let mut cases: Vec<_> = ours.map(|case| case.wanted_ns(NS).wanted_ratio(RATIO)).into();
    cases.extend(generic::readers(bare)?);
    Ok(Group::new("Avro of 8 fields into rows", cases).note(generic::READING))
}

fn writing(registry: &Proxy, bare: &Fetched) -> Result<Group> {
    let batches = rows(inline()?, bare);
    let ours = [
        encode(
            "with a registry, id in front",
            registered(registry, Language::Avro)?,
            batches.clone(),
        )?,
        encode("schema given, bare values", inline()?, batches)?,
    ];
    let mut cases: Vec<_> = ours.map(|case| case.wanted_ns(NS).wanted_ratio(RATIO)).into();
    cases.extend(generic::writers(bare)?);
    Ok(Group::new("Rows into Avro of 8 fields", cases).note(generic::WRITING))
}

/// The same orders in the other languages. Nothing is wanted of them.
fn others(registry: &Proxy, records: usize) -> Result<Group> {
    let cases = [Language::Json, Language::Protobuf].map(|language| {
        let name = format!("{language:?}, id in front");
        decode(&name, registered(registry, language)?, fetched(language, records, true))
    });
    let cases = cases.into_iter().collect::<Result<_>>()?;
    Ok(Group::new("JSON Schema and Protobuf of the same 8 fields into rows", cases))
}

fn registered(registry: &Proxy, language: Language) -> Result<Box<dyn Converter>> {
    let plugin = converters::find(language.converter()).context("the converter is not there")?;
    let url = registry.url();
    let props: Props = [("schema.registry.url", url.as_str())].into_iter().collect();
    Ok((plugin.make)(&props, Side::Value)?)
}

fn inline() -> Result<Box<dyn Converter>> {
    Ok(converters::inline(::registry::Kind::Avro, AVRO, &Props::new())?)
}
