//! What holds for any schema and value: what was written is read back as it was, by our reader and by
//! a library of others.

mod avro_schemas;
mod connect_schemas;
mod random;

use super::options::AvroOptions;
use super::read::{Plan, Scratch};
use super::schema::AvroSchema;
use super::write::Writer;
use apache_avro::reader::datum::GenericDatumReader;
use apache_avro::types::Value as Other;
use apache_avro::writer::datum::GenericDatumWriter;
use data::{Arena, Rows, Span, Value};
use proptest::prelude::*;
use random::Random;
use serde_json::Value as Json;
use std::sync::Arc;

fn enhanced() -> AvroOptions {
    AvroOptions { enhanced: true, ..AvroOptions::default() }
}

fn generalized() -> AvroOptions {
    AvroOptions { generalized_sum_types: true, ..AvroOptions::default() }
}

/// The value that the library reads, all of the bytes being its.
fn read_by_others(schema: &apache_avro::Schema, bytes: &[u8]) -> Other {
    let mut rest = bytes;
    let value = GenericDatumReader::builder(schema).build().unwrap().read_value(&mut rest).unwrap();
    assert!(rest.is_empty(), "{} bytes left", rest.len());
    value
}

/// Avro's Parsing Canonical Form.
fn canonical(text: &str) -> String {
    apache_avro::Schema::parse_str(text).unwrap().canonical_form()
}

/// The library reads the bytes, and what it writes of that is no other value.
fn others_agree(text: &str, bytes: &[u8]) {
    let schema = apache_avro::Schema::parse_str(text).unwrap_or_else(|why| panic!("{why}: {text}"));
    let value = read_by_others(&schema, bytes);
    let writer = GenericDatumWriter::builder(&schema).build().unwrap();
    let again = writer.write_value_to_vec(value.clone()).unwrap();
    assert_eq!(read_by_others(&schema, &again), value);
}

fn read(plan: &Plan, bytes: &[u8]) -> Rows {
    let mut rows = Rows::over(Arc::new(Arena::from(bytes.to_vec())));
    let place = Span { start: 0, len: bytes.len() as u32 };
    plan.read(bytes, place, &mut rows, &mut Scratch::default()).unwrap();
    rows
}

/// A Connect schema and some of its values, to Avro and back.
fn connect_comes_back(options: &AvroOptions, seed: u64) {
    let mut random = Random::new(seed);
    let schema = connect_schemas::any(&mut random, options);
    let writer = Writer::new(Some(&schema), options).unwrap();
    let text = writer.schema().text();
    let avro = AvroSchema::parse(&text).unwrap();
    assert_eq!(avro.text(), text, "the text of a text is the text");
    let plan = Plan::new(&avro, options, None).unwrap();
    let seen = plan.schema().unwrap();
    assert!(**seen == *schema, "{text}\n{seen:?}\n{schema:?}");
    for _ in 0..8 {
        let value = connect_schemas::value(&mut random, &schema);
        let mut rows = Rows::default();
        let cell = rows.put_value(Some(&schema), &value);
        if cell.is_null() {
            continue;
        }
        let mut bytes = Vec::new();
        writer.write(&rows, cell, &mut bytes).unwrap_or_else(|why| panic!("{why}: {text}"));
        let rows = read(&plan, &bytes);
        let seen = rows.value(Some(&schema), rows.root(0));
        assert_eq!(seen, value.with_schema(&schema), "{text}");
        others_agree(&text, &bytes);
    }
}

/// What is left of a schema without the attributes that Connect adds.
fn without_metadata(json: &Json) -> Json {
    match json {
        Json::Array(items) => Json::Array(items.iter().map(without_metadata).collect()),
        Json::Object(members) => {
            let kept = members.iter().filter(|(name, _)| !name.starts_with("connect."));
            let kept: serde_json::Map<String, Json> =
                kept.map(|(name, value)| (name.clone(), without_metadata(value))).collect();
            // A type that says nothing more is its name.
            match (kept.len(), kept.get("type")) {
                (1, Some(kind)) => kind.clone(),
                _ => Json::Object(kept),
            }
        }
        other => other.clone(),
    }
}

/// An Avro schema and some of its values, to Connect and back.
fn avro_comes_back(options: &AvroOptions, seed: u64) {
    let mut random = Random::new(seed);
    let text = avro_schemas::any(&mut random).to_string();
    let avro = AvroSchema::parse(&text).unwrap_or_else(|why| panic!("{why}: {text}"));
    let plan = Plan::new(&avro, options, Some(3)).unwrap_or_else(|why| panic!("{why}: {text}"));
    let schema = plan.schema().cloned();
    let writer = Writer::new(schema.as_deref(), options);
    let writer = writer.unwrap_or_else(|why| panic!("{why}: {text}"));
    assert_eq!(canonical(&writer.schema().text()), canonical(&text));
    assert_eq!(without_metadata(&writer.schema().to_json()), without_metadata(&avro.to_json()));
    for _ in 0..8 {
        let mut bytes = Vec::new();
        avro_schemas::value(&mut random, &avro, avro.root(), 0, &mut bytes);
        others_agree(&text, &bytes);
        let rows = read(&plan, &bytes);
        if rows.root(0).is_null() {
            continue;
        }
        let mut again = Vec::new();
        writer.write(&rows, rows.root(0), &mut again).unwrap_or_else(|why| panic!("{why}: {text}"));
        assert_eq!(again, bytes, "{text}");
        // The same under the schema that it came with.
        let given = Writer::under(schema.as_deref(), Arc::new(avro.clone()), options).unwrap();
        again.clear();
        given.write(&rows, rows.root(0), &mut again).unwrap();
        assert_eq!(again, bytes, "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_connect_schema_comes_back_as_it_was(seed: u64) {
        connect_comes_back(&AvroOptions::default(), seed);
        connect_comes_back(&enhanced(), seed);
        connect_comes_back(&generalized(), seed);
    }

    #[test]
    fn an_avro_schema_comes_back_as_it_was(seed: u64) {
        avro_comes_back(&enhanced(), seed);
        avro_comes_back(&generalized(), seed);
    }

    #[test]
    fn a_value_without_a_schema_comes_back(seed: u64) {
        let value = connect_schemas::plain(&mut Random::new(seed), 0);
        let writer = Writer::new(None, &AvroOptions::default()).unwrap();
        let plan = Plan::new(writer.schema(), &AvroOptions::default(), None).unwrap();
        prop_assert!(plan.schema().is_none());
        let mut rows = Rows::default();
        let cell = rows.put_value(None, &value);
        let mut bytes = Vec::new();
        writer.write(&rows, cell, &mut bytes).unwrap();
        others_agree(&writer.schema().text(), &bytes);
        let rows = read(&plan, &bytes);
        prop_assert_eq!(rows.value(None, rows.root(0)), value);
    }
}

#[test]
fn records_deep_within_each_other_come_back() {
    let node = |next: &str, default: &str| {
        format!(
            r#"{{"type":"record","name":"Node","fields":[{{"name":"id","type":"int"}},{{"name":"next","type":{next}{default}}}]}}"#
        )
    };
    let list = node(r#"["null","Node"]"#, r#","default":null"#);
    let tree = node(r#"{"type":"array","items":"Node"}"#, "");
    for (text, levels) in [
        (list, [[2, 2].repeat(490), vec![2, 0]].concat()),
        // Each array ends behind what is in it.
        (tree, [[2, 2].repeat(240), vec![2, 0], vec![0; 240]].concat()),
    ] {
        let avro = AvroSchema::parse(&text).unwrap();
        let plan = Plan::new(&avro, &enhanced(), None).unwrap();
        let writer = Writer::new(plan.schema().map(AsRef::as_ref), &enhanced()).unwrap();
        let rows = read(&plan, &levels);
        let mut again = Vec::new();
        writer.write(&rows, rows.root(0), &mut again).unwrap();
        assert_eq!(again, levels);
    }
}

#[test]
fn a_schema_of_200_levels_that_may_be_null_comes_back() {
    let leaf = Arc::new(data::SchemaBuilder::new(data::Type::Int32).build().unwrap());
    let schema = (0..200).fold(leaf, |inner, level| {
        let schema = data::SchemaBuilder::structure().name(&format!("a.R{level}"));
        Arc::new(schema.field("inner", inner).optional().build().unwrap())
    });
    let writer = Writer::new(Some(&schema), &AvroOptions::default()).unwrap();
    let value =
        (0..200).fold(Value::Int(1, data::Width::W32), |inner, _| Value::fields(vec![inner]));
    let mut rows = Rows::default();
    let cell = rows.put_value(Some(&schema), &value);
    let mut bytes = Vec::new();
    writer.write(&rows, cell, &mut bytes).unwrap();
    assert_eq!(bytes, [2_u8; 201]);
    let written = AvroSchema::parse(&writer.schema().text()).unwrap();
    let plan = Plan::new(&written, &AvroOptions::default(), None).unwrap();
    assert_eq!(plan.schema(), Some(&schema));
    let again = read(&plan, &bytes);
    assert_eq!(again.value(plan.schema(), again.root(0)), rows.value(Some(&schema), cell));
    let deeper = (0..400)
        .fold(schema, |inner, _| Arc::new(data::SchemaBuilder::array(inner).build().unwrap()));
    let refused = Writer::new(Some(&deeper), &AvroOptions::default()).unwrap_err();
    assert!(refused.contains("nested deeper than 330 levels"), "{refused}");
}
