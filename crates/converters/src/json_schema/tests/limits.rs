//! Wide, deep and endless.

use super::*;
use crate::json_schema::connect::LEVELS_MAX;
use std::fmt::Write as _;

#[test]
fn five_hundred_fields_go_both_ways() {
    let mut text = "{\"type\":\"object\",\"properties\":{".to_owned();
    let mut payload = "{".to_owned();
    for field in 0..500 {
        let comma = if field > 0 { "," } else { "" };
        write!(text, "{comma}\"f{field}\":{{\"type\":\"integer\",\"connect.index\":{field}}}")
            .unwrap();
        write!(payload, "{comma}\"f{field}\":{field}").unwrap();
    }
    text.push_str("}}");
    payload.push('}');
    assert_eq!(again(&text, &payload), payload);
    let schema = plan(&text, &[]).schema;
    assert_eq!(plan(&text_of(&schema, &[]), &[]).schema, schema);
}

#[test]
fn two_hundred_levels_go_both_ways() {
    let nested = |levels: usize| {
        let open = r#"{"oneOf":[{"type":"null"},{"type":"object","properties":{"a":"#;
        format!("{}{}{}", open.repeat(levels), r#"{"type":"string"}"#, "}}]}".repeat(levels))
    };
    let payload = format!("{}\"x\"{}", "{\"a\":".repeat(200), "}".repeat(200));
    assert_eq!(again(&nested(200), &payload), payload);
    let schema = plan(&nested(200), &[]).schema;
    assert_eq!(plan(&text_of(&schema, &[]), &[]).schema, schema);
    let plain = |levels: usize| {
        let open = r#"{"properties":{"a":"#;
        format!("{}{}{}", open.repeat(levels), r#"{"type":"string"}"#, "}}".repeat(levels))
    };
    let deep = refused(&plain(LEVELS_MAX + 1));
    assert!(deep.contains("nested deeper than"), "{deep}");
}

#[test]
fn references_that_multiply_end() {
    let mut text = "{\"definitions\":{".to_owned();
    for level in 0..40 {
        let next = level + 1;
        write!(
            text,
            "\"d{level}\":{{\"properties\":{{\"a\":{{\"$ref\":\"#/definitions/d{next}\"}},\
             \"b\":{{\"$ref\":\"#/definitions/d{next}\"}}}}}},"
        )
        .unwrap();
    }
    text.push_str("\"d40\":{\"type\":\"string\"}},\"$ref\":\"#/definitions/d0\"}");
    let refused = refused(&text);
    assert!(refused.ends_with("the schema has more than 100000 parts"), "{refused}");
}

#[test]
fn deep_values_are_refused_or_read_without_harm() {
    let any = plan("{}", &[]);
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(read(&any, nested(1000).as_bytes()).is_ok());
    assert!(read(&any, nested(1001).as_bytes()).is_err());
    let node = r##"{"type":"object","properties":{"n":{"$ref":"#"}}}"##;
    let deep = format!("{}null{}", "{\"n\":".repeat(2000), "}".repeat(2000));
    assert!(read(&plan(node, &[]), deep.as_bytes()).is_err());
}
