//! Schemas from text to the model and back.

use super::*;

fn parsed(text: &str) -> AvroSchema {
    AvroSchema::parse(text).unwrap_or_else(|fault| panic!("{fault}: {text}"))
}

/// Printed as it was written.
fn assert_same(text: &str) {
    assert_eq!(parsed(text).text(), text);
}

#[test]
fn every_attribute_of_every_type_is_printed_again() {
    for text in [
        r#""int""#,
        r#"{"type":"int","connect.type":"int8","connect.parameters":{"a":"1"}}"#,
        r#"["null",{"type":"string","avro.java.string":"String"}]"#,
        r#"{"type":"array","items":"long","connect.name":"x"}"#,
        r#"{"type":"map","values":{"type":"bytes","logicalType":"decimal","precision":4}}"#,
        r#"{"type":"fixed","name":"F","namespace":"a.b","doc":"d","size":3,"p":[1],"aliases":["G","c.H"]}"#,
        r#"{"type":"enum","name":"E","doc":"d","symbols":["A","B"],"default":"A","connect.name":"e"}"#,
        r#"{"type":"error","name":"R","namespace":"n","doc":"d","fields":[{"name":"f","type":{"type":"int","x":1},"doc":"fd","default":7,"order":"ignore","aliases":["g"],"y":{}}],"connect.version":2,"aliases":["Q"]}"#,
        r#"{"type":"record","name":"R","fields":[{"name":"f","type":["null","int"],"default":null}]}"#,
    ] {
        assert_same(text);
    }
}

#[test]
fn a_type_is_written_out_once_and_named_in_the_shortest_way() {
    assert_same(
        r#"{"type":"record","name":"R","namespace":"n","fields":[{"name":"a","type":{"type":"fixed","name":"F","size":1}},{"name":"b","type":"F"},{"name":"c","type":{"type":"enum","name":"E","namespace":"m","symbols":[]}},{"name":"d","type":"m.E"},{"name":"next","type":["null","R"]}]}"#,
    );
    let none = r#"{"type":"record","name":"R","namespace":"n","fields":[{"name":"a","type":{"type":"fixed","name":"F","namespace":"","size":1}},{"name":"b","type":"F"}]}"#;
    assert_same(none);
}

#[test]
fn names_are_found_in_the_enclosing_namespace_and_in_none() {
    let text = r#"[{"type":"fixed","name":"F","size":1},{"type":"record","name":"n.R","fields":[
        {"name":"a","type":"F"},{"name":"b","type":"R"},{"name":"c","type":"n.R"},
        {"name":"d","type":{"type":"R"}}]}]"#;
    let schema = parsed(text);
    let Kind::Union(branches) = schema.kind(schema.root()) else { panic!() };
    let Kind::Record(record) = schema.kind(branches[1]) else { panic!() };
    let types: Vec<Id> = record.fields.iter().map(|field| field.schema).collect();
    assert_eq!(types, [branches[0], branches[1], branches[1], branches[1]]);
}

#[test]
fn schemas_refer_to_others() {
    let mut parser = Parser::default();
    let inner = r#"{"type":"record","name":"a.In","fields":[{"name":"x","type":"int"}]}"#;
    parser.refer(inner).unwrap();
    parser.refer(inner).unwrap();
    let outer = r#"{"type":"record","name":"b.Out","fields":[{"name":"in","type":"a.In"}]}"#;
    let schema = parser.parse(outer).unwrap();
    let wanted = r#"{"type":"record","name":"Out","namespace":"b","fields":[{"name":"in","type":{"type":"record","name":"In","namespace":"a","fields":[{"name":"x","type":"int"}]}}]}"#;
    assert_eq!(schema.text(), wanted);
    assert!(AvroSchema::parse(outer).unwrap_err().contains("does not define: a.In"));
}

#[test]
fn what_is_wrong_is_told() {
    for (text, wanted) in [
        ("7", "7 is no Avro type"),
        (r#"{"type":"record","name":"R"}"#, "The record R has no \"fields\""),
        (r#"{"type":"record","fields":[]}"#, "A type has no name: record"),
        (r#"{"name":"x"}"#, "A type has no \"type\""),
        (r#"{"type":"array"}"#, "An array or map has no \"items\""),
        (r#"{"type":"map"}"#, "An array or map has no \"values\""),
        (r#"["int","int"]"#, "A union has int twice"),
        (r#"["int",["null"]]"#, "A union has another union as a branch"),
        (r#"{"type":"fixed","name":"F","size":-1}"#, "The fixed F has no \"size\""),
        (r#"{"type":"fixed","name":"int","size":1}"#, "the name of a type of Avro: int"),
        (r#"{"type":"enum","name":"E"}"#, "The enum E has no \"symbols\""),
        (r#"{"type":"enum","name":"E","symbols":["A","A"]}"#, "the symbol A twice"),
        (r#"{"type":"enum","name":"E","symbols":["A"],"default":"B"}"#, "The default B"),
        (r#"{"type":"record","name":"R","fields":[{"name":"a"}]}"#, "In the record R, the field a"),
        (r#"{"type":"record","name":"R","fields":[{"type":"int"}]}"#, "In the record R, a field"),
        (
            r#"{"type":"record","name":"R","fields":[{"name":"a","type":"int"},{"name":"a","type":"int"}]}"#,
            "The record R has the field a twice",
        ),
        (
            r#"["null",{"type":"enum","name":"E","symbols":[]},{"type":"enum","name":"E","symbols":[]}]"#,
            "twice: E",
        ),
    ] {
        let fault = AvroSchema::parse(text).unwrap_err();
        assert!(fault.contains(wanted), "{fault}");
    }
}

/// Records within each other.
fn nested(levels: usize) -> String {
    let open: String = (0..levels)
        .map(|level| {
            format!(r#"{{"type":"record","name":"R{level}","fields":[{{"name":"f","type":"#)
        })
        .collect();
    format!("{open}\"int\"{}", "}]}".repeat(levels))
}

#[test]
fn nesting_has_a_limit() {
    let deep = nested(DEPTH_MAX - 1);
    assert_same(&deep);
    let fault = AvroSchema::parse(&nested(DEPTH_MAX)).unwrap_err();
    assert!(fault.contains("330 levels"), "{fault}");
    let mut parser = Parser::default();
    parser.refer(&deep).unwrap();
    let fault = parser.parse(r#"{"type":"array","items":"R0"}"#).unwrap_err();
    assert!(fault.contains("330 levels"), "{fault}");
}

/// Lists that may be null, within each other.
fn nullable(levels: usize) -> String {
    let open = r#"["null",{"type":"array","items":"#.repeat(levels);
    format!("{open}\"int\"{}", "}]".repeat(levels))
}

#[test]
fn a_union_is_no_level_of_the_nesting() {
    assert_same(&nullable(DEPTH_MAX - 1));
    let fault = AvroSchema::parse(&nullable(DEPTH_MAX)).unwrap_err();
    assert!(fault.contains("330 levels"), "{fault}");
    let mut parser = Parser::default();
    let list = nullable(DEPTH_MAX - 2);
    let record =
        format!(r#"{{"type":"record","name":"R","fields":[{{"name":"f","type":{list}}}]}}"#);
    parser.refer(&record).unwrap();
    parser.parse(r#"["null","R"]"#).unwrap();
    let unions = format!("{}{}", "[".repeat(900), "]".repeat(900));
    assert!(AvroSchema::parse(&unions).unwrap_err().contains("another union as a branch"));
}
