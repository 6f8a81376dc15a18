//! What all converters with a registry do, with a toy format: against a real registry behind a proxy
//! that counts and breaks, and against answers that the real one does not give.

mod beside;
mod several;
mod toy;

use super::make;
use api::{Converter, Encoded, ErrorKind, Side, Topics};
use config::Props;
use data::{Batch, Cell, RawBatch, RawBatchBuilder, Rows, Schema, TimestampType, TopicPartition};
use serde_json::json;
use std::sync::Arc;
use testkit::registry::{Proxy, Reply, call, url};
use testkit::unique;
use toy::{Toy, schema};

/// Settings for this address: nothing is repeated, and nothing that is missing is remembered.
fn props(url: &str, more: &[(&str, &str)]) -> Props {
    let base = [
        ("schema.registry.url", url),
        ("max.retries", "0"),
        ("missing.id.cache.ttl.sec", "0"),
        ("missing.version.cache.ttl.sec", "0"),
        ("missing.schema.cache.ttl.sec", "0"),
    ];
    base.into_iter().chain(more.iter().copied()).collect()
}

fn values(url: &str, more: &[(&str, &str)]) -> Box<dyn Converter> {
    make::<Toy>(&props(url, more), Side::Value).unwrap()
}

/// The name of a record that nobody else has.
fn record() -> String {
    unique("Toy").replace('-', "_")
}

/// Rows of texts; `None` is a null.
fn rows(schema: Option<&Arc<Schema>>, texts: &[Option<&str>]) -> Rows {
    let mut rows = Rows::default();
    for text in texts {
        let cell = text.map_or(Cell::Null, |text| Cell::Text(rows.heap.put(text.as_bytes())));
        rows.push(schema, cell);
    }
    rows
}

fn encode(
    converter: &mut dyn Converter,
    topic: &str,
    rows: &Rows,
) -> api::Result<(Encoded, Vec<String>)> {
    let mut out = Encoded::default();
    let errors = converter.encode(Topics::One(topic), rows, &mut out)?;
    assert_eq!(out.spans.len(), rows.len(), "one span a row");
    Ok((out, errors.into_iter().map(|error| format!("{}: {}", error.row, error.message)).collect()))
}

fn batch(topic: &str, values: &[Option<&[u8]>]) -> RawBatch {
    let mut builder = RawBatchBuilder::new(TopicPartition::new(topic, 0));
    for (offset, value) in (0..).zip(values) {
        builder.push(offset, 0, TimestampType::CreateTime, None, *value);
    }
    builder.finish(values.len() as i64)
}

fn decode(converter: &mut dyn Converter, raw: RawBatch) -> api::Result<Batch> {
    let raw = Arc::new(raw);
    converter.prepare(Side::Value, &raw)?;
    let mut batch = Batch::new(raw);
    converter.decode(Side::Value, &mut batch);
    assert_eq!(batch.values.len(), batch.len(), "one row a record");
    Ok(batch)
}

fn texts(batch: &Batch) -> Vec<Option<&str>> {
    let text = |row| match batch.values.root(row) {
        Cell::Text(span) => Some(batch.values.text(span)),
        _ => None,
    };
    (0..batch.len()).map(text).collect()
}

fn messages(batch: &Batch) -> Vec<String> {
    batch.rejects.iter().map(|reject| format!("{}: {}", reject.row, reject.message)).collect()
}

/// A record of schema `id`.
fn framed(id: i32, payload: &str) -> Vec<u8> {
    [&[0], &id.to_be_bytes()[..], payload.as_bytes()].concat()
}

#[test]
fn what_is_written_is_read_again_and_each_id_is_asked_for_once() {
    let (proxy, topic) = (Proxy::to(url()), unique("toy"));
    let schema = schema(&record(), "string");
    let mut writer = values(&proxy.url(), &[]);
    let written = rows(Some(&schema), &[Some("a"), None, Some("b")]);
    let (encoded, errors) = encode(&mut *writer, &topic, &written).unwrap();
    assert!(errors.is_empty(), "{errors:?}");
    let bytes: Vec<_> = (0..3).map(|row| encoded.get(row)).collect();
    let id = i32::from_be_bytes(bytes[0].unwrap()[1..5].try_into().unwrap());
    assert_eq!(bytes, [Some(&*framed(id, "#a")), None, Some(&*framed(id, "#b"))]);
    // Three tasks, each with batches.
    for _task in 0..3 {
        let mut reader = values(&proxy.url(), &[]);
        for _batch in 0..3 {
            let read = decode(&mut *reader, batch(&topic, &bytes)).unwrap();
            assert_eq!(texts(&read), [Some("#a"), None, Some("#b")]);
            assert_eq!(read.values.schema(0).and_then(|schema| schema.version()), Some(1));
            assert!(read.values.schema(1).is_none(), "a null has no schema");
        }
        encode(&mut *values(&proxy.url(), &[]), &topic, &written).unwrap();
    }
    let mut asked: Vec<_> =
        proxy.asked().into_iter().map(|asked| format!("{} {}", asked.method, asked.path)).collect();
    asked.sort();
    assert_eq!(
        asked,
        [
            format!("GET /schemas/ids/{id}"),
            format!("GET /schemas/ids/{id}/versions"),
            format!("POST /subjects/{topic}-value/versions"),
        ]
    );
}

#[test]
fn records_are_read_without_the_registry_once_they_are_prepared() {
    let (proxy, topic) = (Proxy::to(url()), unique("toy"));
    let id = testkit::registry::register(
        &format!("{topic}-value"),
        "AVRO",
        &toy::draft(&schema(&record(), "string")).text,
    );
    let mut reader = values(&proxy.url(), &[]);
    let record = framed(id, "a");
    let raw = Arc::new(batch(&topic, &[Some(&record)]));
    reader.prepare(Side::Value, &raw).unwrap();
    proxy.set(|_| Reply::Hangup);
    let mut decoded = Batch::new(raw.clone());
    reader.decode(Side::Value, &mut decoded);
    assert_eq!(texts(&decoded), [Some("a")]);
    reader.prepare(Side::Value, &raw).unwrap();
}

#[test]
fn bad_records_are_told_and_the_good_ones_go_on() {
    let (proxy, topic) = (Proxy::to(url()), unique("toy"));
    let subject = format!("{topic}-value");
    let register =
        |subject: &str, kind: &str, text: &str| testkit::registry::register(subject, kind, text);
    let good = register(&subject, "AVRO", &toy::draft(&schema(&record(), "string")).text);
    let broken = register(&unique("b"), "AVRO", &toy::draft(&schema("broken", "string")).text);
    let other = register(
        &unique("j"),
        "PROTOBUF",
        &format!("syntax = \"proto3\"; message {} {{}}", record()),
    );
    let unknown = 987_654_321;
    let records = [
        framed(good, "a"),
        b"{\"a\":1}".to_vec(),
        vec![0, 0, 0],
        Vec::new(),
        framed(unknown, "x"),
        framed(broken, "x"),
        framed(other, "x"),
        framed(good, "bad"),
        framed(good, "b"),
    ];
    let records: Vec<Option<&[u8]>> =
        records.iter().map(|record| Some(record.as_slice())).collect();
    let read = decode(&mut *values(&proxy.url(), &[]), batch(&topic, &records)).unwrap();
    assert_eq!(texts(&read).iter().flatten().collect::<Vec<_>>(), [&"a", &"b"]);
    let messages = messages(&read);
    assert_eq!(messages.len(), 7, "{messages:?}");
    for (message, parts) in messages.iter().zip([
        vec!["1: ", "unknown magic byte 0x7b"],
        vec!["2: ", "3 bytes are too short"],
        vec!["3: ", "0 bytes are too short"],
        vec!["4: ", "schema 987654321 is not in the registry", &proxy.url()],
        vec!["5: ", "the schema cannot be read: f: it is broken", &format!("schema id {broken}")],
        vec!["6: ", "is Protobuf, not Avro"],
        vec!["7: ", "it is bad", &format!("(schema id {good}, subject {subject})")],
    ]) {
        assert!(parts.iter().all(|part| message.contains(part)), "{message}: {parts:?}");
    }
    assert_eq!(read.rejects[6].column.as_deref(), Some("f"));
    assert_eq!(read.rejects[0].class, "test.ToyConverter");
}

#[test]
fn a_registry_that_is_away_says_nothing_about_records() {
    let topic = unique("toy");
    let text = toy::draft(&schema(&record(), "string")).text;
    let id = testkit::registry::register(&format!("{topic}-value"), "AVRO", &text);
    let record = framed(id, "a");
    type Rule = (&'static str, ErrorKind, fn(&Proxy));
    let rules: [Rule; 5] = [
        ("HTTP 500: on purpose", ErrorKind::Retriable, |proxy| proxy.fail(500)),
        ("HTTP 429", ErrorKind::Retriable, |proxy| proxy.fail(429)),
        ("does not answer", ErrorKind::Retriable, |proxy| proxy.set(|_| Reply::Hangup)),
        ("no answer in time", ErrorKind::Retriable, |proxy| proxy.set(|_| Reply::Hold)),
        ("HTTP 401", ErrorKind::Config, |proxy| proxy.fail(401)),
    ];
    for (part, kind, rule) in rules {
        let proxy = Proxy::to(url());
        let mut reader = values(&proxy.url(), &[("http.read.timeout.ms", "200")]);
        rule(&proxy);
        let error = decode(&mut *reader, batch(&topic, &[Some(&record)])).unwrap_err();
        assert_eq!(error.kind, kind, "{part}");
        assert!(error.report().contains(part), "{}", error.report());
        let row = rows(Some(&schema("Toy", "string")), &[Some("a")]);
        let error = encode(&mut *reader, &topic, &row).unwrap_err();
        assert_eq!(error.kind, kind, "{part}");
        proxy.heal();
        // The limit in time was for the fault; the real one may be slow to answer.
        let mut reader = values(&proxy.url(), &[]);
        assert_eq!(
            texts(&decode(&mut *reader, batch(&topic, &[Some(&record)])).unwrap()),
            [Some("a")]
        );
    }
    let refused = format!("http://127.0.0.1:{}", testkit::free_port());
    let error = decode(&mut *values(&refused, &[]), batch(&topic, &[Some(&record)])).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Retriable);
    assert!(error.message.contains("onnection refused"), "{}", error.message);
}

#[test]
fn an_id_that_the_registry_lost_is_an_error_of_its_records_until_it_is_back() {
    let (proxy, topic) = (Proxy::to(url()), unique("toy"));
    let text = toy::draft(&schema(&record(), "string")).text;
    let id = testkit::registry::register(&format!("{topic}-value"), "AVRO", &text);
    let record = framed(id, "a");
    proxy.lose(id);
    let mut reader = values(&proxy.url(), &[]);
    let read = decode(&mut *reader, batch(&topic, &[Some(&record), Some(&record)])).unwrap();
    let messages = messages(&read);
    assert_eq!(messages.len(), 2);
    assert!(messages[0].contains(&format!("Schema {id} not found")), "{messages:?}");
    assert_eq!(proxy.count("GET"), 1, "once a batch where nothing is remembered");
    proxy.heal();
    assert_eq!(texts(&decode(&mut *reader, batch(&topic, &[Some(&record)])).unwrap()), [Some("a")]);
}

#[test]
fn a_schema_that_is_refused_is_an_error_of_its_rows() {
    let (proxy, topic) = (Proxy::to(url()), unique("toy"));
    let (name, subject) = (record(), format!("{topic}-value"));
    let (first, second) = (schema(&name, "string"), schema(&name, "long"));
    let mut writer = values(&proxy.url(), &[]);
    encode(&mut *writer, &topic, &rows(Some(&first), &[Some("a")])).unwrap();
    let rule = json!({"compatibility": "BACKWARD"});
    assert_eq!(call(url(), "PUT", &format!("/config/{subject}"), Some(&rule)).0, 200);
    let mut both = rows(Some(&first), &[Some("a"), Some("unfit")]);
    for text in ["b", "c"] {
        let span = both.heap.put(text.as_bytes());
        both.push(Some(&second), Cell::Text(span));
    }
    both.push(None, Cell::Bool(true));
    both.push(None, Cell::Null);
    let (encoded, errors) = encode(&mut *writer, &topic, &both).unwrap();
    assert!(encoded.get(0).is_some_and(|bytes| bytes.ends_with(b"#a")));
    assert!((1..6).all(|row| encoded.get(row).is_none()));
    assert_eq!(errors.len(), 4, "{errors:?}");
    assert_eq!(errors[0], "1: f: it does not fit");
    for (row, error) in (2..4).zip(&errors[1..3]) {
        let whose = format!("{row}: the registry refuses the schema for subject {subject}: ");
        assert!(error.starts_with(&whose) && error.contains("ncompatible"), "{error}");
    }
    assert_eq!(errors[3], "4: the schema of the record has no form in Avro: there is no schema");
    let posts = proxy.count(&format!("POST /subjects/{subject}/versions"));
    assert_eq!(posts, 2, "once a schema, not once a row");
    // Somebody takes the rule away: the next rows are written.
    assert_eq!(
        call(url(), "PUT", &format!("/config/{subject}"), Some(&json!({"compatibility": "NONE"})))
            .0,
        200
    );
    let (encoded, errors) =
        encode(&mut *writer, &topic, &rows(Some(&second), &[Some("b")])).unwrap();
    assert!(encoded.get(0).is_some() && errors.is_empty(), "{errors:?}");
}

#[test]
fn rows_are_written_with_the_schema_that_is_asked_for() {
    let (proxy, topic) = (Proxy::to(url()), unique("toy"));
    let (name, subject) = (record(), format!("{topic}-value"));
    let own = schema(&name, "string");
    let row = rows(Some(&own), &[Some("a")]);
    let id_of = |more: &[(&str, &str)]| {
        let more = [&[("auto.register.schemas", "false")], more].concat();
        let (encoded, errors) = encode(&mut *values(&proxy.url(), &more), &topic, &row).unwrap();
        match encoded.get(0) {
            Some(bytes) => Ok(i32::from_be_bytes(bytes[1..5].try_into().unwrap())),
            None => Err(errors.into_iter().next().unwrap()),
        }
    };
    // Nothing is there yet.
    let error = id_of(&[]).unwrap_err();
    assert!(error.contains(&format!("does not have the schema in subject {subject}")), "{error}");
    assert!(error.contains("auto.register.schemas=true") && error.contains("40401"), "{error}");
    let latest = [("use.latest.version", "true")];
    let error = id_of(&latest).unwrap_err();
    assert!(error.contains(&format!("no newest schema of subject {subject}")), "{error}");
    // Its own schema, and then another one.
    let first = testkit::registry::register(&subject, "AVRO", &toy::draft(&own).text);
    assert_eq!(
        call(url(), "PUT", &format!("/config/{subject}"), Some(&json!({"compatibility": "NONE"})))
            .0,
        200
    );
    let second =
        testkit::registry::register(&subject, "AVRO", &toy::draft(&schema(&name, "long")).text);
    assert_eq!(id_of(&[]), Ok(first));
    let error = id_of(&latest).unwrap_err();
    assert!(error.contains("f: it has another type there"), "{error}");
    assert!(error.contains(&format!("schema {second} (subject {subject})")), "{error}");
    let loose = [("use.latest.version", "true"), ("latest.compatibility.strict", "false")];
    assert_eq!(id_of(&loose), Ok(second));
    let first = first.to_string();
    assert_eq!(id_of(&[("use.schema.id", &first)]).map(|id| id.to_string()), Ok(first));
    let second = second.to_string();
    assert!(id_of(&[("use.schema.id", &second)]).unwrap_err().contains("another type"));
    let loose = [("use.schema.id", &*second), ("id.compatibility.strict", "false")];
    assert_eq!(id_of(&loose).map(|id| id.to_string()), Ok(second));
    let error = id_of(&[("use.schema.id", "987654321")]).unwrap_err();
    assert!(error.contains("use.schema.id=987654321"), "{error}");
}

#[test]
fn subjects_follow_the_strategy_in_both_directions() {
    let (topic, name) = (unique("toy"), record());
    let schema = schema(&name, "string");
    for (strategy, subject) in [
        ("RecordNameStrategy", name.clone()),
        ("TopicRecordNameStrategy", format!("{topic}-{name}")),
    ] {
        let proxy = Proxy::to(url());
        let class = format!("io.confluent.kafka.serializers.subject.{strategy}");
        let more = [("value.subject.name.strategy", class.as_str())];
        let mut converter = values(&proxy.url(), &more);
        let (encoded, _) =
            encode(&mut *converter, &topic, &rows(Some(&schema), &[Some("a")])).unwrap();
        assert_eq!(proxy.count(&format!("POST /subjects/{subject}/versions")), 1);
        let read = decode(&mut *converter, batch(&topic, &[encoded.get(0)])).unwrap();
        assert_eq!(
            read.values.schema(0).and_then(|schema| schema.version()),
            Some(1),
            "{strategy}"
        );
    }
}

#[test]
fn ids_are_in_headers_where_that_is_asked_for() {
    let guid = "89791762-2336-4186-9674-299b90a802e2";
    let text = toy::draft(&schema("Toy", "string")).text;
    let proxy = Proxy::answering(move |asked| match (&*asked.method, &*asked.path) {
        ("POST", "/subjects/t-value/versions") => Reply::json(200, &json!({"id": 7})),
        ("GET", "/schemas/ids/7") => Reply::json(200, &json!({"schema": text, "guid": guid})),
        ("GET", path) if path == format!("/schemas/guids/{guid}") => {
            Reply::json(200, &json!({"schema": text, "guid": guid}))
        }
        ("GET", path) if path == format!("/schemas/guids/{guid}/ids") => {
            Reply::json(200, &json!([{"context": ".", "id": 7}]))
        }
        ("GET", "/schemas/ids/7/versions") => {
            Reply::json(200, &json!([{"subject": "t-value", "version": 3}]))
        }
        _ => Reply::json(404, &json!({"error_code": 40401, "message": "not here"})),
    });
    let class = "io.confluent.kafka.serializers.schema.id.HeaderSchemaIdSerializer";
    let mut converter = values(&proxy.url(), &[("value.schema.id.serializer", class)]);
    let row = rows(Some(&schema("Toy", "string")), &[None, Some("a")]);
    let (encoded, errors) = encode(&mut *converter, "t", &row).unwrap();
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(encoded.get(1), Some(&b"a"[..]), "the payload alone");
    let [header] = encoded.headers.as_slice() else { panic!("{:?}", encoded.headers) };
    assert_eq!((header.row, header.name, header.value.len()), (1, "__value_schema_id", 18));
    assert_eq!((header.value[0], header.value[1], header.value[17]), (1, 0x89, b'#'));
    // Read again: what stands behind the guid is the beginning of the payload.
    let mut builder = RawBatchBuilder::new(TopicPartition::new("t", 0));
    builder.header(header.name, Some(&header.value));
    builder.push(0, 0, TimestampType::CreateTime, None, encoded.get(1));
    builder.header(header.name, Some(&[1, 2, 3]));
    builder.push(1, 0, TimestampType::CreateTime, None, encoded.get(1));
    builder.push(2, 0, TimestampType::CreateTime, None, Some(&framed(7, "b")));
    let raw = builder.finish(3);
    let read = decode(&mut *converter, raw.clone()).unwrap();
    assert_eq!(texts(&read), [Some("#a"), None, Some("b")]);
    assert!(messages(&read)[0].contains("guid of 16 bytes, and 2 follow"), "{:?}", messages(&read));
    assert_eq!(read.values.schema(0).and_then(|schema| schema.version()), Some(3));
    let class = "io.confluent.kafka.serializers.schema.id.PrefixSchemaIdDeserializer";
    let mut converter = values(&proxy.url(), &[("value.schema.id.deserializer", class)]);
    assert_eq!(texts(&decode(&mut *converter, raw).unwrap()), [None, None, Some("b")]);
}

#[test]
fn a_registry_without_guids_cannot_be_named_in_headers() {
    let proxy = Proxy::to(url());
    let more = [("value.schema.id.serializer", "HeaderSchemaIdSerializer")];
    let row = rows(Some(&schema(&record(), "string")), &[Some("a")]);
    let (_, errors) = encode(&mut *values(&proxy.url(), &more), &unique("toy"), &row).unwrap();
    assert!(errors[0].contains("gives no guid"), "{errors:?}");
}
