//! Bytes that are no values: one fault each, with path and position.

use super::*;
use proptest::prelude::*;

fn fault(schema: &str, bytes: &[u8]) -> (String, Option<String>) {
    let fault = read_by(&plan(schema), bytes).expect_err(schema);
    (fault.message, fault.path)
}

#[test]
fn every_fault_has_its_position() {
    let enumeration = r#"{"type":"enum","name":"E","symbols":["A","B"]}"#;
    let list = r#"{"type":"array","items":"int"}"#;
    let nothing = r#"{"type":"array","items":{"type":"record","name":"N","fields":[]}}"#;
    for (schema, bytes, wanted) in [
        (r#""int""#, vec![], "at byte 0: the value ends too early"),
        (r#""int""#, long(1 << 40), "at byte 0: 1099511627776 is no number of 32 bits"),
        (r#""long""#, vec![0xff; 11], "at byte 0: a number has more than 64 bits"),
        (r#""long""#, vec![2, 2, 2], "at byte 1: 2 bytes more than the value has"),
        (r#""boolean""#, vec![2], "at byte 0: the byte 2 is no boolean"),
        (r#""float""#, vec![1, 2, 3], "at byte 0: the value ends too early: 4 more"),
        (r#""string""#, vec![6, b'a'], "at byte 0: a length of 3 bytes, of which 1 are left"),
        (r#""bytes""#, vec![1], "at byte 0: a length of -1 bytes"),
        (r#""bytes""#, long(i64::MAX), "at byte 0: a length of 9223372036854775807 bytes"),
        (r#""string""#, vec![6, b'a', 0xff, b'b'], "at byte 2: a text that is no UTF-8"),
        (r#"{"type":"fixed","name":"F","size":3}"#, vec![1], "at byte 0: the value ends too early"),
        (enumeration, vec![4], "at byte 0: a symbol of an enum has number 2, of which there are 2"),
        (enumeration, vec![1], "at byte 0: a symbol of an enum has number -1"),
        (r#"["null","int"]"#, vec![4], "at byte 0: the type of a union has number 2"),
        (r#"["int","string"]"#, vec![4], "at byte 0: the type of a union has number 2"),
        (list, vec![20, 2], "at byte 0: 10 items, and 1 bytes are left"),
        (list, long(i64::MIN), "at byte 10: the value ends too early"),
        (list, [long(-2), long(9), vec![2, 2, 0]].concat(), "a length of 9 bytes"),
        (list, [long(-2), long(-9), vec![2, 2, 0]].concat(), "a length of -9 bytes"),
        (
            list,
            [long(-2), long(3), vec![2, 2, 0]].concat(),
            "at byte 4: items that were to end at byte 5 do not",
        ),
        (list, vec![2, 2], "at byte 2: the value ends too early"),
        (
            nothing,
            [long(i64::MAX), vec![0]].concat(),
            "items without bytes, more than 100000 in all",
        ),
        (r#"{"type":"int","logicalType":"time-millis"}"#, long(-1), "at byte 0: -1 ms is no time"),
        (
            r#"{"type":"bytes","logicalType":"decimal","precision":9}"#,
            vec![0],
            "at byte 1: a decimal without bytes",
        ),
        (
            r#"{"type":"int","connect.type":"int8"}"#,
            long(128),
            "at byte 0: 128 is no number of 8 bits",
        ),
    ] {
        let (message, path) = fault(schema, &bytes);
        assert!(message.contains(wanted), "{message}");
        assert_eq!(path, None);
    }
}

#[test]
fn a_fault_has_its_path() {
    let inner = r#"{"type":"record","name":"S","fields":[{"name":"c","type":"boolean"}]}"#;
    let schema = record(&format!(
        r#"{{"name":"a","type":{{"type":"map","values":{{"type":"array","items":{inner}}}}}}}"#
    ));
    let bytes = [vec![2], text("k\"y"), vec![4, 1, 7, 0, 0]].concat();
    let (message, path) = fault(&schema, &bytes);
    assert_eq!(message, "at byte 7: the byte 7 is no boolean");
    assert_eq!(path.as_deref(), Some(r#"a["k\"y"][1].c"#));
    let short = [vec![2], vec![1]].concat();
    assert_eq!(fault(&schema, &short).1.as_deref(), Some("a[0]"));
}

#[test]
fn what_a_value_becomes_is_limited_by_its_bytes() {
    let wide: Vec<String> = (0..20_000)
        .map(|at| {
            format!(
                r#"{{"name":"n{at}","type":{}}}"#,
                if at == 0 { r#"{"type":"record","name":"N","fields":[]}"# } else { r#""N""# }
            )
        })
        .collect();
    let item = format!(
        r#"{{"type":"record","name":"W","fields":[{{"name":"x","type":"int"}},{}]}}"#,
        wide.join(",")
    );
    let list = format!(r#"{{"type":"array","items":{item}}}"#);
    let bytes = [long(1000), vec![0; 1000], vec![0]].concat();
    assert!(fault(&list, &bytes).0.contains("too many parts for its bytes"));
}

/// Schemas with everything in them, the deeper parts behind a few bytes.
fn schemas() -> Vec<String> {
    let all = r#"{"type":"record","name":"All","fields":[
        {"name":"a","type":["null","string",{"type":"array","items":["null","All"]}]},
        {"name":"b","type":{"type":"map","values":["null","All"]}},
        {"name":"c","type":{"type":"array","items":{"type":"record","name":"io.confluent.connect.avro.MapEntry","fields":[{"name":"key","type":"bytes"},{"name":"value","type":"All"}]}}},
        {"name":"d","type":{"type":"fixed","name":"F","size":2,"logicalType":"decimal","precision":3}},
        {"name":"e","type":{"type":"enum","name":"E","symbols":["X","Y"]}},
        {"name":"f","type":{"type":"int","logicalType":"time-millis"}}]}"#;
    let empty = r#"{"type":"array","items":{"type":"map","values":{"type":"array","items":{"type":"record","name":"N","fields":[]}}}}"#;
    [all, empty, NODE].map(str::to_owned).into_iter().chain([anything()]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn any_bytes_are_a_value_or_a_fault(bytes in prop::collection::vec(
        prop_oneof![4 => 0u8..8, 1 => any::<u8>()], 0..120))
    {
        for schema in schemas() {
            let plan = plan(&schema);
            match read_by(&plan, &bytes) {
                Ok(value) => {
                    if let Some(schema) = plan.schema() {
                        prop_assert!(!value.is_null() || schema.is_optional());
                    }
                }
                Err(fault) => prop_assert!(fault.message.starts_with("at byte "), "{fault:?}"),
            }
        }
    }
}
