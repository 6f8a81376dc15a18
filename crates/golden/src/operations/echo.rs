//! The notation itself: what is read is written again, by way of the cells that records are made of.

use super::{at, settled};
use crate::batches;
use crate::fault::At;
use crate::notation::{read_pair, read_record, write_pair, write_record};
use data::Rows;
use serde_json::{Value as Json, json};

pub(super) fn value(input: &Json) -> Json {
    let echoed = read_pair(input).map(|pair| {
        let mut rows = Rows::default();
        let cell = rows.put_value(pair.schema.as_deref(), &pair.value);
        write_pair(pair.schema.as_ref(), &rows.value(pair.schema.as_ref(), cell))
    });
    settled(echoed.map_err(at(At::Input)))
}

pub(super) fn record(input: &Json) -> Json {
    let echoed = read_record(&input["record"]).map(|record| {
        let batch = batches::of_records(std::slice::from_ref(&record));
        json!({"record": write_record(&batches::record(&batch, 0, &record))})
    });
    settled(echoed.map_err(at(At::Input)))
}
