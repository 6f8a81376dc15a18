//! Values both ways, and what is no value.

use super::*;

#[test]
fn values_come_back_as_they_were() {
    for (schema, payloads) in [
        (r#"{"type":"integer"}"#, &["0", "-9223372036854775808", "9223372036854775807"][..]),
        (r#"{"type":"integer","connect.type":"int8"}"#, &["-128", "127"]),
        (r#"{"type":"number"}"#, &["0.1", "1.0E10", "-5.0"]),
        (r#"{"type":"boolean"}"#, &["true", "false"]),
        (r#"{"type":"string"}"#, &["\"\"", "\"é\\n\\\"\"", "\"\\uD83D\\uDE00\""]),
        (r#"{"type":"string","connect.type":"bytes"}"#, &["\"AQI=\"", "\"\""]),
        (r#"{"type":["string","null"]}"#, &["null", "\"x\""]),
        (r#"{"type":"array","items":{"type":["integer","null"]}}"#, &["[]", "[1,null,-2]"]),
        (
            r#"{"type":"object","connect.type":"map","additionalProperties":{"type":"integer"}}"#,
            &["{}", "{\"a\":1,\"b\":2}"],
        ),
        (r#"{"type":"object","connect.type":"map"}"#, &["{\"a\":[1,{}],\"b\":null}"]),
        (
            r#"{"type":"array","connect.type":"map","items":{"type":"object","properties":{"key":{"type":"integer"},"value":{"type":"string"}}}}"#,
            &["[]", "[{\"key\":1,\"value\":\"a\"},{\"key\":2,\"value\":\"b\"}]"],
        ),
        ("{}", &["{\"a\":[1,2.50]}", "5", "\"x\"", "null"]),
        (r#"{"enum":["a","b"]}"#, &["\"a\"", "\"c\""]),
        (
            r#"{"type":"string","title":"org.apache.kafka.connect.data.Decimal","connect.type":"bytes","connect.parameters":{"scale":"2"}}"#,
            &["\"BOI=\""],
        ),
        (
            r#"{"type":"integer","title":"org.apache.kafka.connect.data.Date","connect.type":"int32"}"#,
            &["0", "-1", "19782"],
        ),
    ] {
        for payload in payloads {
            assert_eq!(again(schema, payload), *payload, "{schema}");
        }
    }
}

#[test]
fn other_forms_of_the_same_value_are_read() {
    for (schema, payload, wanted) in [
        (r#"{"type":"integer"}"#, "5.0", "5"),
        (r#"{"type":"number"}"#, "5", "5.0"),
        (
            r#"{"type":"number","title":"org.apache.kafka.connect.data.Decimal","connect.type":"bytes","connect.parameters":{"scale":"2"}}"#,
            "12.5",
            "\"BOI=\"",
        ),
        (r#"{"enum":[1,true]}"#, "1", "\"1\""),
        (
            r#"{"type":"string","format":"date-time","title":"org.apache.kafka.connect.data.Timestamp"}"#,
            "\"1970-01-02T00:00:00Z\"",
            "86400000",
        ),
        (
            r#"{"type":"string","format":"date","title":"org.apache.kafka.connect.data.Date"}"#,
            "19782",
            "19782",
        ),
        (
            r#"{"properties":{"a":{"type":"integer"},"b":{"type":"string"}}}"#,
            r#" { "zz" : [{}] , "b" : "x", "a" : 1 , "a":2 } "#,
            r#"{"a":2,"b":"x"}"#,
        ),
    ] {
        let plan = plan(schema, &[]);
        let value = read(&plan, payload.trim().as_bytes()).unwrap();
        assert_eq!(written(&[], &plan.schema, &value).unwrap(), wanted, "{schema}");
    }
    let date = plan(
        r#"{"type":"string","format":"date","title":"org.apache.kafka.connect.data.Date"}"#,
        &[],
    );
    let value = read(&date, b"\"2024-02-29\"").unwrap();
    let iso = [("json.write.dates.iso8601", "true")];
    assert_eq!(written(&iso, &date.schema, &value).unwrap(), "\"2024-02-29\"");
    let far = Value::Instant(data::DAY_MS * 3_000_000);
    assert!(written(&iso, &date.schema, &far).unwrap_err().contains("ISO 8601"));
}

#[test]
fn unions_take_the_first_simple_type_then_the_struct_with_most_members() {
    let simple = r#"{"oneOf":[{"type":"integer"},{"type":"string"},{"type":"number"},{"type":"boolean"},{"type":"array","items":{"type":"integer"}}]}"#;
    for payload in ["1", "\"x\"", "1.5", "true", "[1]"] {
        assert_eq!(again(simple, payload), payload);
    }
    let structs = r#"{"anyOf":[
        {"type":"object","properties":{"a":{"type":"string"},"b":{"properties":{"x":{"type":"string"}}}}},
        {"type":"object","properties":{"a":{"type":"string"},"b":{"properties":{"y":{"type":"string"},"z":{"type":"string"}}}}},
        {"type":"null"}]}"#;
    let chosen = |payload: &str| {
        let plan = plan(structs, &[]);
        let Value::Struct(value) = read(&plan, payload.as_bytes()).unwrap() else { return None };
        value.values.iter().position(|value| !value.is_null())
    };
    assert_eq!(chosen(r#"{"a":"1","b":{"x":"1"}}"#), Some(0));
    assert_eq!(chosen(r#"{"a":"1","b":{"y":"1"}}"#), Some(1));
    assert_eq!(chosen(r#"{"a":"1"}"#), Some(0), "the first of equals");
    assert_eq!(chosen(r#"{"\u0062":{"z":"1"},"c":1}"#), Some(1), "names may have escapes");
    assert_eq!(chosen("{}"), Some(0), "where nothing matches, what can be read");
    assert_eq!(chosen("null"), None);
    let bytes = r#"{"oneOf":[{"type":"integer"},{"type":"string","connect.type":"bytes"}]}"#;
    assert_eq!(again(bytes, "\"AQI=\""), "\"AQI=\"");
    let nested =
        r#"{"oneOf":[{"type":"integer"},{"oneOf":[{"type":"string"},{"type":"boolean"}]}]}"#;
    assert_eq!(again(nested, "true"), "true");
    let (message, _) = read(&plan(simple, &[]), b"{}").unwrap_err();
    assert_eq!(message, "Did not find matching oneof field for data");
}

#[test]
fn a_value_that_contains_itself_goes_both_ways() {
    let text = r##"{"type":"object","properties":{"v":{"type":"integer"},"next":{"oneOf":[{"type":"null"},{"$ref":"#"}]}}}"##;
    let payload = r#"{"v":1,"next":{"v":2,"next":{"v":3,"next":null}}}"#;
    assert_eq!(again(text, payload), payload);
    let (message, column) = read(&plan(text, &[]), br#"{"v":1,"next":[]}"#).unwrap_err();
    assert_eq!(message, "Structs should be encoded as JSON objects, but found ARRAY");
    assert_eq!(column, "next");
}

#[test]
fn what_does_not_fit_is_told_with_its_place() {
    let text = r#"{"type":"object","required":["r"],"properties":{"r":{"type":"integer","connect.type":"int8"},
        "s":{"type":"string"},"l":{"type":"array","items":{"properties":{"x":{"type":"boolean"}}}},
        "m":{"type":"array","connect.type":"map","items":{"type":"object","properties":{"key":{"type":"integer"},"value":{"type":"string"}}}},
        "e":{"type":"string","connect.type":"bytes"},
        "d":{"type":"string","format":"date","title":"org.apache.kafka.connect.data.Date"}}}"#;
    let plan = plan(text, &[]);
    for (payload, message, column) in [
        (&br#"{"r":300}"#[..], "Invalid value for INT8 field: the number is out of range", "r"),
        (
            br#"{"r":1.5}"#,
            "Invalid value for INT8 field: the number is out of range or has a fraction",
            "r",
        ),
        (
            br#"{"r":1e999999999}"#,
            "Invalid value for INT8 field: the number is out of range or has a fraction",
            "r",
        ),
        (br#"{"r":"1"}"#, "Invalid value for INT8 field: found JSON STRING", "r"),
        (br#"{"r":null}"#, "Invalid null value for required INT8 field", "r"),
        (br#"{"s":"x"}"#, "the schema requires this member", "r"),
        (br#"{"r":1,"s":5}"#, "Invalid value for STRING field: found JSON NUMBER", "s"),
        (
            br#"{"r":1,"l":[{"x":true},{"x":0}]}"#,
            "Invalid value for BOOLEAN field: found JSON NUMBER",
            "l[1].x",
        ),
        (
            br#"{"r":1,"l":[5]}"#,
            "Structs should be encoded as JSON objects, but found NUMBER",
            "l[0]",
        ),
        (
            br#"{"r":1,"m":{}}"#,
            "Maps with non-string fields should be encoded as JSON array of objects, but found OBJECT",
            "m",
        ),
        (br#"{"r":1,"m":[[1,2]]}"#, "Found invalid map entry instead of object: ARRAY", "m[0]"),
        (
            br#"{"r":1,"m":[{"key":1}]}"#,
            "Found invalid map entry, expected the two members key and value but found 1",
            "m[0]",
        ),
        (
            br#"{"r":1,"m":[{"key":"a","value":"b"}]}"#,
            "Invalid value for INT64 field: found JSON STRING",
            "m[0].key",
        ),
        (br#"{"r":1,"e":"?"}"#, "Invalid bytes field", "e"),
        (br#"{"r":1,"d":"2024-02-30"}"#, "the value is no date of whole milliseconds", "d"),
        (b"[]", "Structs should be encoded as JSON objects, but found ARRAY", ""),
    ] {
        let wanted = (message.to_owned(), column.to_owned());
        assert_eq!(read(&plan, payload), Err(wanted), "{}", String::from_utf8_lossy(payload));
    }
    for payload in
        [&b"{\"r\":1"[..], b"{\"r\":1}x", b"{\"s\":\"\xff\"}", b"{r:1}", b"", b"{\"r\":NaN}"]
    {
        let (message, _) = read(&plan, payload).unwrap_err();
        assert!(message.starts_with("Converting byte[] to Kafka Connect data failed"), "{message}");
    }
}

#[test]
fn an_absent_member_is_its_default_or_null() {
    let text = r#"{"properties":{"a":{"type":"integer","default":7},"b":{"type":"string"},"c":{"type":["string","null"]}}}"#;
    assert_eq!(again(text, "{}"), r#"{"a":7,"c":null}"#);
    assert_eq!(again(text, r#"{"a":null,"b":"x","c":"y"}"#), r#"{"a":7,"b":"x","c":"y"}"#);
}

#[test]
fn a_value_of_another_class_is_not_written() {
    let schema =
        plan(r#"{"properties":{"a":{"properties":{"b":{"type":"integer"}}}}}"#, &[]).schema;
    let inner = Value::fields(vec![Value::Text("x".into())]);
    let refused = written(&[], &schema, &Value::fields(vec![inner])).unwrap_err();
    assert_eq!(refused, "field a.b: Invalid type for INT64: class java.lang.String");
    let short = written(&[], &schema, &Value::fields(vec![])).unwrap_err();
    assert_eq!(short, "Mismatching schema.");
}
