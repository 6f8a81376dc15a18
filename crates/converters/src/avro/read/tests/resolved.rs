//! Values read as those of another schema than the one they were written with.

use super::*;

fn resolved(writer: &str, reader: &str) -> Result<Plan, String> {
    let [writer, reader] = [writer, reader]
        .map(|text| AvroSchema::parse(text).unwrap_or_else(|fault| panic!("{fault}: {text}")));
    Plan::resolved(&writer, &reader, &AvroOptions::default(), None)
}

fn read_as(writer: &str, reader: &str, bytes: &[u8]) -> Value {
    let plan = resolved(writer, reader).unwrap_or_else(|fault| panic!("{fault}: {reader}"));
    bare(read_by(&plan, bytes).unwrap_or_else(|fault| panic!("{fault:?}: {reader}")))
}

#[test]
fn fields_are_found_by_name_and_alias_and_missing_ones_have_defaults() {
    let writer = record(
        r#"{"name":"a","type":"int"},{"name":"gone","type":{"type":"array","items":["null","string"]}},
        {"name":"b","type":"string"},{"name":"old","type":"boolean"}"#,
    );
    let reader = record(
        r#"{"name":"b","type":"string"},{"name":"new","type":"boolean","aliases":["x","old"]},
        {"name":"a","type":"int"},{"name":"d","type":"string","default":"dd"},
        {"name":"u","type":["null","int"],"default":null},
        {"name":"v","type":["int","string"],"default":5}"#,
    );
    let bytes = [long(1), vec![4, 0, 2], text("x"), vec![0], text("bb"), vec![1]].concat();
    let wanted = Value::fields(vec![
        word("bb"),
        Value::Bool(true),
        int(1),
        word("dd"),
        Value::Null,
        Value::fields(vec![int(5), Value::Null]),
    ]);
    assert_eq!(read_as(&writer, &reader, &bytes), wanted);
    let fault = resolved(&reader, &record(r#"{"name":"z","type":"int"}"#)).unwrap_err();
    assert_eq!(fault, "The written values have no field z, and it has no default");
}

#[test]
fn numbers_and_text_are_promoted() {
    let float = 1.5f32.to_le_bytes().to_vec();
    for (writer, reader, bytes, wanted) in [
        ("int", "long", long(3), Value::int(3)),
        ("int", "float", long(3), Value::Float32(3.0)),
        ("int", "double", long(3), Value::Float(3.0)),
        ("long", "float", long(3), Value::Float32(3.0)),
        ("long", "double", long(3), Value::Float(3.0)),
        ("float", "double", float, Value::Float(1.5)),
        ("string", "bytes", text("ab"), Value::Bytes(b"ab".to_vec())),
        ("bytes", "string", text("ab"), word("ab")),
    ] {
        let quoted = |name: &str| format!("{name:?}");
        assert_eq!(read_as(&quoted(writer), &quoted(reader), &bytes), wanted, "{writer}");
    }
    for (writer, reader) in [
        ("long", "int"),
        ("double", "float"),
        ("int", "string"),
        ("boolean", "int"),
        ("string", "int"),
    ] {
        let fault = resolved(&format!("{writer:?}"), &format!("{reader:?}")).unwrap_err();
        let wanted = format!("A value of type {writer} cannot be read as {reader}");
        assert_eq!(fault, wanted);
    }
}

#[test]
fn symbols_that_the_reader_lacks_are_its_default_or_a_fault() {
    let of = |symbols: &str, more: &str| {
        format!(r#"{{"type":"enum","name":"E","symbols":[{symbols}]{more}}}"#)
    };
    let writer = of(r#""A","B","C""#, "");
    let reader = of(r#""C","A""#, r#","default":"A""#);
    assert_eq!(read_as(&writer, &reader, &[2]), word("A"));
    assert_eq!(read_as(&writer, &reader, &[4]), word("C"));
    let plan = resolved(&writer, &of(r#""A""#, "")).unwrap();
    let fault = read_by(&plan, &[2]).unwrap_err();
    assert_eq!(fault.message, "at byte 0: the symbol B of an enum, which the reader does not have");
}

#[test]
fn unions_are_resolved_branch_by_branch() {
    let nullable = r#"["null","int"]"#;
    assert_eq!(read_as(r#""int""#, nullable, &[4]), int(2));
    assert_eq!(read_as(r#""int""#, r#"["null","long"]"#, &[4]), Value::int(2));
    assert_eq!(read_as(nullable, r#"["long","null"]"#, &[0]), Value::Null);
    assert_eq!(read_as(nullable, r#"["long","null"]"#, &[2, 4]), Value::int(2));
    assert_eq!(read_as(nullable, r#""int""#, &[2, 4]), int(2));
    let plan = resolved(nullable, r#""int""#).unwrap();
    let fault = read_by(&plan, &[0]).unwrap_err();
    assert_eq!(fault.message, "at byte 1: A value of type null cannot be read as int");
    let three = r#"["null","string","long"]"#;
    let wrapped = Value::fields(vec![Value::Null, Value::int(2)]);
    assert_eq!(read_as(r#""int""#, three, &[4]), wrapped);
    assert_eq!(read_as(r#"["int","null"]"#, three, &[0, 4]), wrapped);
    assert_eq!(read_as(r#"["int","null"]"#, three, &[2]), Value::Null);
    assert!(
        resolved(r#"["boolean"]"#, three).unwrap_err().contains("none of the types of the union")
    );
}

#[test]
fn records_in_unions_go_by_their_names() {
    let of = |name: &str, field: &str, more: &str| {
        format!(
            r#"{{"type":"record","name":"{name}"{more},"fields":[{{"name":"{field}","type":"int"}}]}}"#
        )
    };
    let writer = format!("[{},{}]", of("n.A", "x", ""), of("n.B", "y", ""));
    let reader = format!("[{},{}]", of("n.C", "y", r#","aliases":["B"]"#), of("n.A", "x", ""));
    let [c, a] = [int(4), int(4)].map(|value| Value::fields(vec![value]));
    assert_eq!(read_as(&writer, &reader, &[0, 8]), Value::fields(vec![Value::Null, a]));
    assert_eq!(read_as(&writer, &reader, &[2, 8]), Value::fields(vec![c, Value::Null]));
}

#[test]
fn meanings_stay_what_they_were() {
    let decimal = |scale: u32| {
        format!(r#"{{"type":"bytes","logicalType":"decimal","precision":9,"scale":{scale}}}"#)
    };
    let fault = resolved(&decimal(2), &decimal(3)).unwrap_err();
    assert!(
        fault.contains("different meanings") && fault.contains("2 behind the point"),
        "{fault}"
    );
    let long = |logical: &str| format!(r#"{{"type":"long","logicalType":"{logical}"}}"#);
    assert!(resolved(&long("timestamp-millis"), &long("timestamp-micros")).is_err());
    let read = read_as(r#""long""#, &long("timestamp-millis"), &super::long(5));
    assert_eq!(read, Value::Instant(5));
}

#[test]
fn parts_of_lists_maps_and_recursive_records_are_resolved() {
    let writer = r#"{"type":"record","name":"N","fields":[{"name":"x","type":"int"},
        {"name":"more","type":"string"},{"name":"kids","type":{"type":"array","items":"N"}},
        {"name":"m","type":{"type":"map","values":"int"}}]}"#;
    let reader = r#"{"type":"record","name":"N","fields":[
        {"name":"m","type":{"type":"map","values":"long"}},
        {"name":"kids","type":{"type":"array","items":"N"}},
        {"name":"x","type":"long"},{"name":"d","type":"int","default":1}]}"#;
    let leaf =
        |x: i64| [long(x), text("t"), vec![0], vec![2], text("k"), long(x), vec![0]].concat();
    let bytes = [long(1), text("t"), vec![2], leaf(2), vec![0, 0]].concat();
    let kid = Value::Map(vec![
        (word("m"), Value::Map(vec![(word("k"), Value::int(2))])),
        (word("kids"), Value::List(vec![])),
        (word("x"), Value::int(2)),
        (word("d"), int(1)),
    ]);
    let wanted =
        Value::fields(vec![Value::Map(vec![]), Value::List(vec![kid]), Value::int(1), int(1)]);
    assert_eq!(read_as(writer, reader, &bytes), wanted);
}

#[test]
fn what_is_passed_over_is_checked_too() {
    let inner = r#"{"type":"record","name":"I","fields":[{"name":"i","type":["null","I"]},{"name":"d","type":"double"}]}"#;
    let writer = record(&format!(
        r#"{{"name":"a","type":{{"type":"map","values":{inner}}}}},{{"name":"n","type":{{"type":"array","items":{{"type":"fixed","name":"Z","size":0}}}}}},{{"name":"b","type":"int"}}"#
    ));
    let plan = resolved(&writer, &record(r#"{"name":"b","type":"int"}"#)).unwrap();
    let double = 1.0f64.to_le_bytes();
    let nested: Vec<u8> = [vec![2], vec![0], double.to_vec(), double.to_vec()].concat();
    assert_eq!(nested.len(), 18);
    let good =
        [vec![2], text("k"), nested.clone(), vec![0], long(i64::MAX), vec![0], vec![6]].concat();
    assert_eq!(bare(read_by(&plan, &good).unwrap()), Value::fields(vec![int(3)]));
    let jumped = [long(-1), long(21), text("k"), nested, vec![0], vec![0], vec![6]].concat();
    assert!(read_by(&plan, &jumped).is_err(), "the size is wrong");
    for (bytes, wanted) in [
        (vec![2, 8], "a length of 4 bytes"),
        ([vec![2], text("k"), vec![4]].concat(), "the type of a union has number 2"),
        ([long(-1), long(50)].concat(), "a length of 50 bytes"),
        (vec![], "the value ends too early"),
    ] {
        let fault = read_by(&plan, &bytes).unwrap_err();
        assert!(fault.message.contains(wanted), "{fault:?}");
    }
}

#[test]
fn schemas_are_compatible_where_every_value_can_be_read() {
    let check = |writer: &str, reader: &str| {
        let [writer, reader] = [writer, reader].map(|text| AvroSchema::parse(text).unwrap());
        compatible(&writer, &reader, &AvroOptions::default())
    };
    assert_eq!(check(r#"["null","int"]"#, r#"["null","long"]"#), Ok(()));
    assert!(check(r#"["null","int"]"#, r#""int""#).unwrap_err().contains("type null"));
    let of = |symbols: &str, more: &str| {
        format!(r#"{{"type":"enum","name":"E","symbols":[{symbols}]{more}}}"#)
    };
    let fault = check(&of(r#""A","B""#, ""), &of(r#""A""#, "")).unwrap_err();
    assert!(fault.contains("the symbol B"), "{fault}");
    assert_eq!(check(&of(r#""A","B""#, ""), &of(r#""A""#, r#","default":"A""#)), Ok(()));
}
