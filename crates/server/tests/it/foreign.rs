//! Records that Confluent's own client wrote, read by our converters; and the reverse.
//!
//! What is expected is in `testdata`, a line for each case: the Connect schema in a short form and the
//! value of a record that we read; or a Connect value, the schema that we register for it, and what the
//! client sees. `COPYCAT_PIN=1` writes them anew, to be read before they are committed.

#![expect(
    clippy::unwrap_used,
    reason = "clippy does not see the helpers of an integration test as tests"
)]

use api::{Converter, Encoded, Side, Topics};
use config::Props;
use data::{Batch, RawBatchBuilder, TimestampType, TopicPartition};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use testkit::registry::{
    Foreign, call, guids, read_by_others, read_in_javascript, written_by_others,
    written_in_javascript,
};

fn class(format: &str) -> &'static str {
    match format {
        "avro" => "io.confluent.connect.avro.AvroConverter",
        "json" => "io.confluent.connect.json.JsonSchemaConverter",
        _ => "io.confluent.connect.protobuf.ProtobufConverter",
    }
}

const JSON: &str = "org.apache.kafka.connect.json.JsonConverter";

/// The converter of JSON with these settings.
fn json_converter(settings: &[(&str, &str)]) -> Box<dyn Converter> {
    let props: Props = settings.iter().copied().collect();
    (converters::find(JSON).unwrap().make)(&props, Side::Value).unwrap()
}

/// A batch of one value.
fn batch(value: &str) -> Batch {
    let mut builder = RawBatchBuilder::new(TopicPartition::new("t", 0));
    builder.push(0, 0, TimestampType::CreateTime, None, Some(value.as_bytes()));
    Batch::new(Arc::new(builder.finish(1)))
}

fn registered(format: &str, url: &str, side: Side, more: &[(&str, &str)]) -> Box<dyn Converter> {
    let base = [("schema.registry.url", url)];
    let props: Props = base.into_iter().chain(more.iter().copied()).collect();
    (converters::find(class(format)).unwrap().make)(&props, side).unwrap()
}

/// Connect's envelopes of rows: schema and payload.
fn envelopes(batch: &Batch, side: Side) -> Vec<Value> {
    let rows = if side == Side::Key { &batch.keys } else { &batch.values };
    let mut encoded = Encoded::default();
    let errors = json_converter(&[("decimal.format", "NUMERIC")])
        .encode(Topics::One("t"), rows, &mut encoded)
        .unwrap();
    assert!(errors.is_empty(), "{errors:?}");
    let envelope = |row| serde_json::from_slice(encoded.get(row).unwrap()).unwrap();
    (0..rows.len()).map(envelope).collect()
}

/// A batch of one record, read by this converter.
fn decoded(converter: &mut dyn Converter, record: &Foreign, side: Side) -> Batch {
    let mut builder = RawBatchBuilder::new(TopicPartition::new(&*record.topic, 0));
    let (key, value) = match side {
        Side::Key => (Some(&*record.data), None),
        _ => (None, Some(&*record.data)),
    };
    for (name, value) in &record.headers {
        builder.header(name, Some(value));
    }
    builder.push(0, 0, TimestampType::CreateTime, key, value);
    let raw = Arc::new(builder.finish(1));
    converter.prepare(side, &raw).unwrap();
    let mut batch = Batch::new(raw);
    converter.decode(side, &mut batch);
    batch
}

/// A record as our converter reads it.
fn read(url: &str, record: &Foreign) -> Value {
    let side = if record.side == "key" { Side::Key } else { Side::Value };
    let batch = decoded(&mut *registered(&record.format, url, side, &[]), record, side);
    if let Some(reject) = batch.rejects.first() {
        return json!({"case": record.case, "format": record.format, "refused": reject.message});
    }
    let envelope = envelopes(&batch, side).remove(0);
    let (schema, value) = (&envelope["schema"], &envelope["payload"]);
    let (shape, value) = (shape(schema), in_order(schema, value));
    json!({"case": record.case, "format": record.format, "schema": shape, "value": value})
}

/// A value with the entries of its maps sorted: Protobuf's own library writes them in another order each
/// time. A type within itself, which the envelope has as a map of nothing, is left as it is.
fn in_order(schema: &Value, value: &Value) -> Value {
    match (schema["type"].as_str(), value) {
        (Some("struct"), Value::Object(fields)) => {
            let of = |name: &str| schema["fields"].as_array()?.iter().find(|f| f["field"] == name);
            let fields = fields.iter();
            fields.map(|(k, v)| (k.clone(), in_order(of(k).unwrap(), v))).collect()
        }
        (Some("array"), Value::Array(items)) => {
            items.iter().map(|item| in_order(&schema["items"], item)).collect()
        }
        (Some("map"), Value::Object(entries)) if !schema["values"]["type"].is_null() => {
            let entries = entries.iter().map(|(k, v)| (k.clone(), in_order(&schema["values"], v)));
            entries.collect::<BTreeMap<_, _>>().into_iter().collect()
        }
        (Some("map"), Value::Array(pairs)) => {
            let pairs = pairs.iter().map(|pair| {
                json!([in_order(&schema["keys"], &pair[0]), in_order(&schema["values"], &pair[1])])
            });
            let mut pairs: Vec<Value> = pairs.collect();
            pairs.sort_by_key(Value::to_string);
            Value::Array(pairs)
        }
        _ => value.clone(),
    }
}

/// A schema of an envelope in short: `Name{field: int32?, …}` with `= default` and `(parameters)`.
fn shape(schema: &Value) -> String {
    let text = |name: &str| schema[name].as_str().unwrap_or_default();
    let mut out = text("name").to_owned();
    match text("type") {
        "struct" => {
            let fields = schema["fields"].as_array().unwrap().iter();
            let fields = fields
                .map(|field| format!("{}: {}", field["field"].as_str().unwrap(), shape(field)));
            out += &format!("{{{}}}", fields.collect::<Vec<_>>().join(", "));
        }
        "array" => out += &format!("[{}]", shape(&schema["items"])),
        "map" => out += &format!("<{}, {}>", shape(&schema["keys"]), shape(&schema["values"])),
        scalar if out.is_empty() => out += scalar,
        scalar => out += &format!(":{scalar}"),
    }
    if schema["optional"] == json!(true) {
        out += "?";
    }
    if let Some(version) = schema["version"].as_i64() {
        out += &format!(" v{version}");
    }
    if let Some(doc) = schema["doc"].as_str() {
        out += &format!(" \"{doc}\"");
    }
    if let Some(parameters) = schema["parameters"].as_object() {
        let mut pairs: Vec<_> = parameters
            .iter()
            .map(|(key, value)| format!("{key}={}", value.as_str().unwrap()))
            .collect();
        pairs.sort();
        out += &format!(" ({})", pairs.join(", "));
    }
    if let Some(default) = schema.get("default") {
        out += &format!(" = {default}");
    }
    out
}

/// Compares lines with the file of this name.
#[track_caller]
fn compare(name: &str, lines: &[Value]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/schemas").join(name);
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    if std::env::var_os("COPYCAT_PIN").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap();
    let differences: Vec<_> = expected
        .lines()
        .zip(text.lines())
        .filter(|(expected, found)| expected != found)
        .map(|(expected, found)| format!("expected {expected}\n   found {found}"))
        .collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert_eq!(expected.lines().count(), lines.len());
}

#[test]
fn what_others_write_is_read_with_its_types_and_values() {
    let registry = guids();
    let prefix = testkit::unique("others-");
    let records = written_by_others(&registry.url(), &prefix);
    let read: Vec<_> = records
        .iter()
        .map(|record| {
            let text = read(&registry.url(), record).to_string();
            serde_json::from_str(&text.replace(&prefix, "")).unwrap()
        })
        .collect();
    compare("written_by_others.jsonl", &read);
}

/// Connect values, a line each: case, schema of the envelope, payload.
const CONNECT_VALUES: &str = include_str!("../../testdata/schemas/connect_values.jsonl");

/// The schemas that are registered for Connect's, and the values that others read.
#[test]
fn what_is_written_others_read_and_the_schema_is_as_expected() {
    let registry = guids();
    let prefix = testkit::unique("ours-");
    let (mut records, mut lines) = (Vec::new(), Vec::new());
    let plain: &[(&str, &str)] = &[];
    let settings = [
        ("avro", plain),
        ("json", plain),
        ("json", &[("decimal.format", "NUMERIC"), ("json.schema.spec.version", "draft_2019_09")]),
        ("protobuf", plain),
        ("protobuf", &[("optional.for.nullables", "true")]),
        ("protobuf", &[("wrapper.for.nullables", "true")]),
    ];
    for (n, (format, settings)) in settings.into_iter().enumerate() {
        for line in CONNECT_VALUES.lines() {
            let value: Value = serde_json::from_str(line).unwrap();
            let case = value["case"].as_str().unwrap();
            // Apicurio's registry takes only schemas of objects for JSON Schema, and the client cannot
            // read Protobuf's own wrappers, whose file it has already.
            if format != "avro" && case.starts_with("a ") {
                continue;
            }
            let topic = format!("{prefix}{n}-{}", case.replace(' ', "-"));
            let envelope = json!({"schema": value["schema"], "payload": value["payload"]});
            let mut batch = batch(&envelope.to_string());
            json_converter(&[]).decode(Side::Value, &mut batch);
            assert!(batch.rejects.is_empty(), "{case}: {:?}", batch.rejects);
            let mut out = Encoded::default();
            let mut writer = registered(format, &registry.url(), Side::Value, settings);
            let errors = writer.encode(Topics::One(&topic), &batch.values, &mut out).unwrap();
            assert!(errors.is_empty(), "{format} {case}: {errors:?}");
            let data = out.get(0).unwrap().to_vec();
            let id = i32::from_be_bytes(data[1..5].try_into().unwrap());
            let (_, answer) = call(&registry.url(), "GET", &format!("/schemas/ids/{id}"), None);
            let schema = answer["schema"].as_str().unwrap();
            let schema = serde_json::from_str(schema).unwrap_or_else(|_| json!(schema));
            lines.push(json!({"case": case, "format": format, "settings": format!("{settings:?}"), "schema": schema}));
            records.push(Foreign {
                case: case.to_owned(),
                format: format.to_owned(),
                topic,
                side: "value".to_owned(),
                strategy: "topic".to_owned(),
                headers: Vec::new(),
                data,
            });
        }
    }
    let seen = read_by_others(&registry.url(), &records);
    for (line, seen) in lines.iter_mut().zip(seen) {
        line["seen"] = seen;
    }
    compare("read_by_others.jsonl", &lines);
}

/// The client for JavaScript, where there is Node: what it writes we read, and it reads what we write of it.
#[test]
fn the_client_for_javascript_reads_what_it_wrote_after_us() {
    let registry = guids();
    let prefix = testkit::unique("js-");
    let records = match written_in_javascript(&registry.url(), &prefix) {
        Ok(records) => records,
        Err(missing) => return eprintln!("skipped: {missing}"),
    };
    let mut lines: Vec<_> = records.iter().map(|record| read(&registry.url(), record)).collect();
    let ours: Vec<_> =
        records.iter().map(|record| written_again(&registry.url(), record)).collect();
    let seen = read_in_javascript(&registry.url(), &ours).unwrap();
    for (line, seen) in lines.iter_mut().zip(seen) {
        line["seen"] = seen;
    }
    compare("javascript.jsonl", &lines);
}

/// A record that is read and written by our converter, to another topic.
fn written_again(url: &str, record: &Foreign) -> Foreign {
    let mut converter = registered(&record.format, url, Side::Value, &[]);
    let batch = decoded(&mut *converter, record, Side::Value);
    let topic = format!("{}-again", record.topic);
    let mut out = Encoded::default();
    let errors = converter.encode(Topics::One(&topic), &batch.values, &mut out).unwrap();
    assert!(errors.is_empty(), "{}: {errors:?}", record.case);
    let data = out.get(0).unwrap().to_vec();
    Foreign { topic, headers: Vec::new(), data, ..record.clone() }
}
