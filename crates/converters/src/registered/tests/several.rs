//! Several batches that are prepared before the first is read, as a task with several partitions
//! does, and several schemas in one batch.

use super::*;

/// A registry of schemas 7 and 8, each with a version of its own in the subjects of topics `a` and `b`.
fn registry() -> Proxy {
    let text = toy::draft(&schema("Toy", "string")).text;
    Proxy::answering(move |asked| match (&*asked.method, &*asked.path) {
        ("GET", "/schemas/ids/7" | "/schemas/ids/8") => Reply::json(200, &json!({"schema": text})),
        ("GET", "/schemas/ids/7/versions" | "/schemas/ids/8/versions") => {
            let place = |subject, version| json!({"subject": subject, "version": version});
            Reply::json(200, &json!([place("a-value", 1), place("b-value", 2)]))
        }
        _ => Reply::json(404, &json!({"error_code": 40403, "message": "not here"})),
    })
}

fn read(converter: &mut dyn Converter, raw: &Arc<RawBatch>) -> Batch {
    let mut batch = Batch::new(raw.clone());
    converter.decode(Side::Value, &mut batch);
    batch
}

#[test]
fn what_was_found_for_one_batch_is_not_forgotten_for_the_next() {
    let proxy = registry();
    let mut converter = values(&proxy.url(), &[]);
    let (known, missing) = (framed(7, "x"), framed(9, "y"));
    let batches = ["a", "b", "c"]
        .map(|topic| Arc::new(batch(topic, &[Some(&missing), Some(&known), Some(&missing)])));
    for raw in &batches {
        converter.prepare(Side::Value, raw).unwrap();
    }
    for (raw, version) in batches.iter().zip([Some(1), Some(2), None]) {
        let batch = read(&mut *converter, raw);
        assert_eq!(texts(&batch), [None, Some("x"), None]);
        let told = messages(&batch);
        assert!(told.len() == 2 && told.iter().all(|one| one.contains("not here")), "{told:?}");
        let schema = batch.values.schema(1).unwrap();
        assert_eq!(schema.version(), version, "as it is in the subject of {}", raw.topic());
    }
    assert_eq!(proxy.count("GET /schemas/ids/9"), 3, "once a batch, nothing is remembered");
}

#[test]
fn more_batches_than_schemas_are_kept_are_read() {
    let proxy = registry();
    let mut converter = values(&proxy.url(), &[("schemas.cache.config", "1")]);
    let (seven, eight) = (framed(7, "x"), framed(8, "y"));
    let batches = [&seven, &eight, &seven].map(|one| Arc::new(batch("a", &[Some(one)])));
    for raw in &batches {
        converter.prepare(Side::Value, raw).unwrap();
    }
    let all = batches.each_ref().map(|raw| read(&mut *converter, raw));
    assert_eq!(all.each_ref().map(|batch| messages(batch).len()), [0, 0, 0]);
}

#[test]
fn schemas_may_change_from_record_to_record() {
    let proxy = registry();
    let mut converter = values(&proxy.url(), &[]);
    let (seven, eight, unknown) = (framed(7, "x"), framed(8, "y"), framed(9, "z"));
    let (short, other) = ([0, 0, 0, 0], [9, 0, 0, 0, 7, b'x']);
    let records: [Option<&[u8]>; 12] = [
        None,
        Some(&seven),
        Some(&seven),
        Some(&short),
        Some(&seven),
        Some(&other),
        Some(&eight),
        None,
        Some(&eight),
        Some(&unknown),
        Some(&[]),
        Some(&seven),
    ];
    let read = decode(&mut *converter, batch("a", &records)).unwrap();
    let wanted =
        [1, 2, 4, 11].map(|row| (row, "x")).into_iter().chain([6, 8].map(|row| (row, "y")));
    for (row, text) in wanted {
        assert_eq!(texts(&read)[row], Some(text), "{row}");
    }
    let rows: Vec<u32> = read.rejects.iter().map(|reject| reject.row).collect();
    assert_eq!(rows, [3, 5, 9, 10]);
    for (row, name) in
        [(1, "schema id 7"), (2, "schema id 7"), (8, "schema id 8"), (11, "schema id 7")]
    {
        assert!(read.about(row, String::new()).contains(name), "{row}");
    }
}
