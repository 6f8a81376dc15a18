//! What Connect's documentation and its users' reports say of text and data, case by case.

use super::*;
use crate::cell::Width;
use crate::java_text::schema_text;
use proptest::prelude::*;

fn read(text: &str) -> Value {
    parse_string(text).map_or(Value::Null, |(_, value)| value)
}

fn text(value: &str) -> Value {
    Value::Text(value.to_owned())
}

fn byte(value: i64) -> Value {
    Value::Int(value, Width::W8)
}

/// The schema of a literal's elements, as text.
fn elements(literal: &str) -> String {
    let (schema, _) = parse_string(literal).unwrap();
    schema.unwrap().value_schema().map_or("unknown".to_owned(), |schema| schema_text(schema))
}

#[test]
fn words_and_blanks() {
    assert_eq!(read(" true "), Value::Bool(true));
    assert!(parse_string(" null ").is_none());
    for same in ["", "   ", "true}", "True", " nullx", "\"null\"", "a:b", "\\", "é"] {
        assert_eq!(read(same), text(same));
    }
}

#[test]
fn numbers_take_the_smallest_type_that_holds_them() {
    assert_eq!(read("1e3"), Value::Int(1000, Width::W16));
    assert_eq!(read("1.0"), byte(1));
    assert_eq!(read("-0.0"), byte(0));
    assert_eq!(read("70000"), Value::Int(70_000, Width::W32));
    assert_eq!(read("1.1"), Value::Float32(1.1));
    assert_eq!(read("3.4028236e38"), Value::Float(3.402_823_6e38));
    assert_eq!(read("1e-400"), Value::Float32(0.0));
    assert_eq!(read("1e39"), Value::Float(1e39));
    let big = Value::Decimal { unscaled: vec![0, 0x80, 0, 0, 0, 0, 0, 0, 0], scale: 0 };
    assert_eq!(read("9223372036854775808"), big, "KAFKA-10439");
    assert_eq!(read("1e400"), Value::Decimal { unscaled: vec![1], scale: -400 });
    for same in [".5", "1_000", "1e", "NaN", "1x", "1e99999999999", "1e2147483000"] {
        assert_eq!(read(same), text(same));
    }
}

#[test]
fn what_follows_a_literal_makes_it_text() {
    for same in ["10:30", "12,5", "[1]x", "{\"a\":1} x", "2019-08-23,1", "1]", "\u{1}[1"] {
        assert_eq!(read(same), text(same));
    }
    assert_eq!(read("[1] \n"), Value::List(vec![byte(1)]));
}

#[test]
fn times_are_read_across_their_colons() {
    assert_eq!(read("14:34:54.346Z"), Value::Instant(52_494_346), "KAFKA-8863");
    let map = read("{\"k1\":14:34:54.346Z, \"k2\": \"2019-08-23\"}");
    let (left, right) = (Value::Instant(52_494_346), Value::Instant(1_566_518_400_000));
    assert_eq!(map, Value::Map(vec![(text("k1"), left), (text("k2"), right)]));
    let escaped = "14\\:34\\:54.346Z";
    assert_eq!(read(escaped), Value::Instant(52_494_346));
    for half in ["14\\:34:54.346Z", "14:34\\:54.346Z"] {
        assert_eq!(read(half), text(half));
    }
    assert_eq!(read("2019-13-45"), text("2019-13-45"));
    assert_eq!(read("[2019-13-45]"), text("[2019-13-45]"));
}

#[test]
fn lists_find_the_type_their_elements_share() {
    let shorts = [1, 2, 300].map(|value| Value::Int(value, Width::W16)).to_vec();
    assert_eq!(read("[1, 2, 300,]"), Value::List(shorts));
    assert_eq!(elements("[1, 2, 300]"), "Schema{INT16}");
    assert_eq!(elements("[1, \"a\"]"), "unknown");
    assert_eq!(elements("[null]"), "unknown");
    assert_eq!(elements("[1, 2019-08-23]"), "Schema{org.apache.kafka.connect.data.Date:INT32}");
    for same in ["[1,,2]", "[,1]", "[0 1]", "[1", "[1, null]", "[a]", "[\"a\"", "[\"a\":1]"] {
        assert_eq!(read(same), text(same));
    }
}

#[test]
fn maps_need_keys_and_values_and_keep_the_last_of_each() {
    let map = read("{\"a\":1\"b\":2, \"a\" : 3}");
    assert_eq!(map, Value::Map(vec![(text("a"), byte(3)), (text("b"), byte(2))]));
    assert_eq!(read("{1:2, 1.0:3}"), Value::Map(vec![(byte(1), byte(3))]));
    assert_eq!(read("{3: null}"), Value::Map(vec![(byte(3), Value::Null)]));
    for same in ["{null:1}", "{\"a\"}", "{\"a\":}", "{,}", "{6:9 4:20}", "{\"a\":1,,}", "{a=1}"] {
        assert_eq!(read(same), text(same));
    }
}

#[test]
fn nesting_has_a_limit() {
    let nested = |levels| [vec!["["; levels], vec!["]"; levels]].concat().concat();
    assert!(matches!(read(&nested(200)), Value::List(_)));
    let deep = nested(100_000);
    assert_eq!(read(&deep), text(&deep));
    let open = "{[".repeat(100_000);
    assert_eq!(read(&open), text(&open));
}

#[test]
fn numbers_are_cut_as_java_casts_them() {
    let of = |convert: fn(Option<&Arc<Schema>>, &Value) -> Result<Value, SchemaError>, value| {
        convert(None, &value).map_err(|error| error.0)
    };
    assert_eq!(of(convert_to_byte, text("99999999999999999999")), Ok(byte(-1)));
    assert_eq!(of(convert_to_byte, Value::Float(2.9)), Ok(byte(2)));
    assert_eq!(of(convert_to_long, Value::Float(f64::NAN)), Ok(Value::int(0)));
    assert_eq!(of(convert_to_boolean, text("42")), Ok(Value::Bool(true)));
    assert_eq!(of(convert_to_integer, Value::Null), Ok(Value::Null));
    assert_eq!(
        of(convert_to_short, text(" 5 ")),
        Err("Unable to convert  5  (class java.lang.String) to a number".to_owned())
    );
    assert_eq!(
        of(convert_to_list, text("{1:2}")),
        Err("Unable to convert {1=2} (class java.util.LinkedHashMap) to Schema{ARRAY}".to_owned())
    );
    assert_eq!(
        of(convert_to_date, Value::Null),
        Err("Unable to convert a null value to a schema that requires a value".to_owned())
    );
}

#[test]
fn points_in_time_follow_their_schema() {
    let stamp = Value::Instant(1_700_000_000_123);
    let schema = Schema::timestamp();
    let of = |value: Result<Value, SchemaError>| value.unwrap();
    assert_eq!(of(convert_to_date(Some(&schema), &stamp)), Value::Instant(1_699_920_000_000));
    assert_eq!(of(convert_to_time(Some(&schema), &stamp)), Value::Instant(80_000_123));
    assert_eq!(of(convert_to_long(Some(&schema), &stamp)), Value::int(1_700_000_000_123));
    let day = Value::Int(2, Width::W32);
    assert_eq!(of(convert_to_date(None, &day)), Value::Instant(172_800_000));
    let none = convert_to_double(None, &stamp).unwrap_err().0;
    assert!(none.ends_with("2023 (class java.util.Date) to a number"), "{none}");
}

#[test]
fn decimals_come_from_doubles_text_and_bytes() {
    let of = |value: Value| convert_to_decimal(None, &value, 2).unwrap();
    let decimal = |unscaled: &[u8], scale| Value::Decimal { unscaled: unscaled.to_vec(), scale };
    assert_eq!(of(text("1e3")), decimal(&[1], -3));
    assert_eq!(of(byte(5)), decimal(&[50], 1));
    assert_eq!(of(Value::Bytes(vec![1, 2])), decimal(&[1, 2], 2));
    let refused = convert_to_decimal(None, &text("x"), 2).unwrap_err();
    assert_eq!(refused.exception(), "java.lang.NumberFormatException");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn text_that_was_written_is_read_back(
        keys in prop::collection::btree_set("[a-z\"\\\\ :,]{0,5}", 0..5),
        numbers in prop::collection::vec(any::<i16>(), 1..6),
    ) {
        let list = Value::List(numbers.iter().map(|n| Value::Int((*n).into(), Width::W16)).collect());
        let value = Value::Map(keys.iter().map(|key| (text(key), list.clone())).collect());
        let mut written = Vec::new();
        write_string(None, &value, &mut written);
        let written = String::from_utf8(written).unwrap();
        let mut again = Vec::new();
        write_string(None, &read(&written), &mut again);
        // Escapes are kept when text is read, so only text without any comes back the same.
        if !written.contains('\\') {
            prop_assert_eq!(String::from_utf8(again).unwrap(), written);
        }
    }

    #[test]
    fn no_text_panics(parts in prop::collection::vec(
        prop::sample::select(vec!["[", "]", "{", "}", ",", ":", "\"", "\\", "1", "-", "e", ".", " ",
            "null", "true", "2019-08-23", "14:34:54.346Z", "é", "\u{661}", "x"]), 0..20,
    )) {
        let source = parts.concat();
        let parsed = parse_string(&source);
        prop_assert_eq!(parsed.is_none(), source.trim() == "null");
        for convert in [convert_to_boolean, convert_to_long, convert_to_float, convert_to_string] {
            let _any_answer = convert(None, &text(&source));
        }
        let _any_answer = convert_to_decimal(None, &text(&source), 1);
    }
}
