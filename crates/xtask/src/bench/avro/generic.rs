//! What ours are compared with: libraries that read any schema into values of their own, and write
//! them.

use std::hint::black_box;

use anyhow::Result;
use apache_avro::{
    reader::datum::GenericDatumReader, types::Value as ApacheValue,
    writer::datum::GenericDatumWriter,
};
use serde::{Deserialize, Serialize};
use serde_avro_fast::{from_datum_slice, ser::SerializerConfig, to_datum};

use super::orders::AVRO;
use crate::bench::data::{case::Case, records::Fetched};

pub(super) const READING: &str = "The yardsticks read any schema into values of their own and get \
     the value without the id before it. The struct is known when the program is built and borrows \
     its texts, so it is no yardstick.";
pub(super) const WRITING: &str = "The yardsticks write values of any schema, which they are given \
     ready, into memory that is used again. The struct is known when the program is built, so it is no yardstick.";

/// Values in memory before a pass of writing; more would not be those of a batch.
const VALUES: usize = 20_000;

const APACHE_READS: &str = "apache-avro, Value";
const FAST_READS: &str = "serde_avro_fast, serde_json's Value";

/// An order as a program knows it that reads nothing else.
#[derive(Debug, Serialize, Deserialize)]
struct Order<'a> {
    id: i64,
    customer: &'a str,
    amount: f64,
    currency: &'a str,
    created: i64,
    note: &'a str,
    paid: bool,
    terms: &'a str,
}

/// The libraries' readers and writers borrow their schema, and live as long as the process.
fn apache() -> Result<&'static apache_avro::Schema> {
    Ok(Box::leak(Box::new(apache_avro::Schema::parse_str(AVRO)?)))
}

fn fast() -> Result<&'static serde_avro_fast::Schema> {
    Ok(Box::leak(Box::new(AVRO.parse()?)))
}

/// `bare` are values without an id.
pub(super) fn readers(bare: &Fetched) -> Result<[Case; 3]> {
    let reader = GenericDatumReader::builder(apache()?).build()?;
    let apache = case(APACHE_READS, bare, move |mut value| {
        let read = reader.read_value(&mut value);
        assert!(read.is_ok(), "a benchmark's record is of the schema");
        let _read = black_box(read);
    });
    let schema = fast()?;
    let json = case(FAST_READS, bare, move |value| {
        let read = from_datum_slice::<serde_json::Value>(value, schema);
        assert!(read.is_ok(), "a benchmark's record is of the schema");
        let _read = black_box(read);
    });
    let known = case("serde_avro_fast, a struct", bare, move |value| {
        let read = from_datum_slice::<Order<'_>>(value, schema);
        assert!(read.is_ok(), "a benchmark's record is of the schema");
        let _read = black_box(read);
    });
    Ok([apache.yardstick(), json.yardstick(), known.aside()])
}

fn case(name: &str, bare: &Fetched, mut read: impl FnMut(&[u8]) + 'static) -> Case {
    let bare = bare.clone();
    Case::new(name, bare.bytes, bare.records, move || bare.each_value(&mut read))
}

/// Each writes the first of these records, again and again, into memory that is used again.
pub(super) fn writers(bare: &Fetched) -> Result<[Case; 3]> {
    let reader = GenericDatumReader::builder(apache()?).build()?;
    let schema = fast()?;
    let (mut apache_values, mut json_values): (Vec<ApacheValue>, Vec<serde_json::Value>) =
        Default::default();
    let mut failed = None;
    bare.each_value(|mut value| {
        if apache_values.len() < VALUES && failed.is_none() {
            match from_datum_slice(value, schema) {
                Ok(read) => json_values.push(read),
                Err(error) => failed = Some(anyhow::Error::from(error)),
            }
            match reader.read_value(&mut value) {
                Ok(read) => apache_values.push(read),
                Err(error) => failed = Some(error.into()),
            }
        }
    });
    if let Some(error) = failed {
        return Err(error);
    }
    let texts: &'static [serde_json::Value] = json_values.clone().leak();
    let orders: Vec<Order<'static>> =
        texts.iter().map(Order::deserialize).collect::<Result<_, _>>()?;

    let writer = GenericDatumWriter::builder(apache()?).validate(false).build()?;
    let apache =
        pass("apache-avro, Value, not validated", bare, apache_values, move |value, out| {
            writer.write_value_ref(out, value).is_ok()
        });
    let (mut of_json, mut of_struct) =
        (SerializerConfig::new(schema), SerializerConfig::new(schema));
    let json = pass(FAST_READS, bare, json_values, move |value, out| {
        to_datum(value, out, &mut of_json).is_ok()
    });
    let known = pass("serde_avro_fast, a struct", bare, orders, move |order, out| {
        to_datum(order, out, &mut of_struct).is_ok()
    });
    Ok([apache.yardstick(), json.yardstick(), known.aside()])
}

fn pass<T: 'static>(
    name: &str,
    bare: &Fetched,
    values: Vec<T>,
    mut write: impl FnMut(&T, &mut Vec<u8>) -> bool + 'static,
) -> Case {
    let mut out = Vec::new();
    Case::new(name, bare.bytes, values.len(), move || {
        out.clear();
        for value in &values {
            assert!(write(value, &mut out), "a benchmark's record is of the schema");
        }
        black_box(&out);
    })
}
