//! Schemas and values both ways.
#![expect(clippy::indexing_slicing, reason = "tests")]

use super::*;
use crate::json::fault::Fault;
use crate::json::plan::Plan;
use crate::json::read::{Reader, Scratch};
use crate::json::scan::Scanner;
use data::{Rows, Value};
use options::Options;
use registry::{Kind, Registered, SchemaId};

fn options(settings: &[(&str, &str)]) -> Options {
    Options::new(&settings.iter().copied().collect()).unwrap()
}

fn registered(text: &str) -> Registered {
    Registered {
        id: SchemaId::Id(7),
        kind: Kind::Json,
        text: text.into(),
        subject: Some("t-value".into()),
        version: None,
        references: Vec::new(),
    }
}

fn plan(text: &str, settings: &[(&str, &str)]) -> Result<Plan, String> {
    connect::compile(&options(settings), &registered(text))
}

fn read(plan: &Plan, text: &str) -> Result<Value, (String, Option<String>)> {
    let mut rows = Rows::default();
    let base = rows.heap.put(text.as_bytes());
    let mut scratch = Scratch::default();
    let mut reader = Reader {
        scan: Scanner::new(text.as_bytes(), 0),
        base,
        rows: &mut rows,
        scratch: &mut scratch,
        replace_null: true,
        depth: 0,
    };
    let told = |fault: Fault| {
        let rejection = fault.reject_by("c");
        (rejection.message, rejection.column)
    };
    let cell =
        reader.value(plan).and_then(|cell| reader.scan.end().map(|()| cell)).map_err(told)?;
    Ok(rows.value(Some(&plan.schema), cell))
}

#[test]
fn smoke() {
    let text = r#"{"type":"object","title":"T","properties":{"b":{"type":"string","connect.index":1},"a":{"type":"integer","connect.type":"int32","connect.index":0}}}"#;
    let plan = plan(text, &[]).unwrap();
    println!("{:?}", plan.schema);
    println!("{:?}", read(&plan, r#"{"a":1,"b":"x"}"#));
    println!("{}", text::write_schema(&options(&[]), &plan.schema).unwrap());
}
