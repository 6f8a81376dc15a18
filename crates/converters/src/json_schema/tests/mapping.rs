//! JSON Schema to Connect.

use super::*;

fn assert_shapes(settings: Settings<'_>, cases: &[(&str, &str)]) {
    for (text, wanted) in cases {
        assert_eq!(shape(&plan(text, settings).schema), *wanted, "{text}");
    }
}

#[test]
fn types_have_their_connect_types() {
    assert_shapes(
        &[],
        &[
            (r#"{"type":"integer"}"#, "INT64"),
            (r#"{"type":"number"}"#, "FLOAT64"),
            (r#"{"type":"number","default":118.62323802702825}"#, "FLOAT64=118.62323802702825"),
            (r#"{"type":"boolean"}"#, "BOOLEAN"),
            (r#"{"type":"string"}"#, "STRING"),
            (r#"{"type":"integer","connect.type":"int8"}"#, "INT8"),
            (r#"{"type":"integer","connect.type":"int16"}"#, "INT16"),
            (r#"{"type":"integer","connect.type":"int32"}"#, "INT32"),
            (r#"{"type":"number","connect.type":"float32"}"#, "FLOAT32"),
            (r#"{"type":"string","connect.type":"bytes"}"#, "BYTES"),
            (r#"{"type":"string","format":"uuid"}"#, "STRING"),
            (r#"{"type":"integer","format":"int32","minimum":1}"#, "INT64"),
            (r#"{"type":"array","items":{"type":"integer"}}"#, "ARRAY<INT64>"),
            (r#"{"minLength":3}"#, "STRING"),
            (r#"{"properties":{"a":{"type":"string"}}}"#, "STRUCT{a:STRING}"),
            (
                r#"{"type":"integer","title":"T","description":"d","default":5,"connect.version":2,"connect.parameters":{"p":"1"}}"#,
                "INT64 T v2 'd' p=1=5",
            ),
            (r#"{"type":"integer","default":"five"}"#, "INT64"),
            (r#"{"type":"integer","default":null}"#, "INT64"),
            (
                r#"{"type":"object","connect.type":"map","additionalProperties":{"type":"integer"}}"#,
                "MAP<STRING,INT64>",
            ),
            (r#"{"type":"object","connect.type":"map"}"#, "MAP<STRING,?>"),
            (
                r#"{"type":"array","connect.type":"map","items":{"type":"object","properties":{"value":{"type":"string"},"key":{"type":"integer"}}}}"#,
                "MAP<INT64,STRING>",
            ),
        ],
    );
}

#[test]
fn logical_names_are_titles() {
    assert_shapes(
        &[],
        &[
            (
                r#"{"type":"integer","title":"org.apache.kafka.connect.data.Date","connect.type":"int32","connect.version":1}"#,
                "INT32 Date v1",
            ),
            (
                r#"{"type":"integer","title":"org.apache.kafka.connect.data.Timestamp","connect.type":"int64","connect.version":1,"default":0}"#,
                "INT64 Timestamp v1=\"1970-01-01T00:00:00.000Z\"",
            ),
            (
                r#"{"type":"number","title":"org.apache.kafka.connect.data.Decimal","connect.type":"bytes","connect.version":1,"connect.parameters":{"scale":"2"}}"#,
                "BYTES Decimal v1 scale=2",
            ),
            (
                r#"{"type":"string","format":"date","title":"org.apache.kafka.connect.data.Date"}"#,
                "INT32 Date",
            ),
            (r#"{"type":"string","format":"date"}"#, "STRING"),
        ],
    );
}

#[test]
fn fields_are_ordered_by_index_and_optional_as_asked() {
    let text = r#"{"type":"object","required":["a"],"properties":{"c":{"type":"string","connect.index":2},
        "a":{"type":"string","connect.index":0},"b":{"oneOf":[{"type":"null"},{"type":"string"}],"connect.index":1}}}"#;
    assert_shapes(&[], &[(text, "STRUCT{a:STRING,b:STRING?,c:STRING}")]);
    let optional = [("use.optional.for.nonrequired", "true")];
    assert_shapes(&optional, &[(text, "STRUCT{a:STRING,b:STRING?,c:STRING?}")]);
    // No index is lost where some have one and others have none.
    let mixed = r#"{"properties":{"x":{"type":"string"},"y":{"type":"string","connect.index":0},"z":{"type":"string"}}}"#;
    assert_shapes(&[], &[(mixed, "STRUCT{x:STRING,y:STRING,z:STRING}")]);
}

#[test]
fn combinations_are_optional_or_structs() {
    assert_shapes(
        &[],
        &[
            (r#"{"type":["string","null"]}"#, "STRING?"),
            (r#"{"type":["string","null"],"default":"x"}"#, "STRING?=\"x\""),
            (r#"{"anyOf":[{"type":"integer"},{"type":"null","title":"none"}]}"#, "INT64?"),
            (r#"{"oneOf":[{"type":"integer"}]}"#, "INT64"),
            (
                r#"{"oneOf":[{"type":"null"},{"type":"integer"},{"type":"string"}]}"#,
                "STRUCT io.confluent.connect.json.OneOf{io.confluent.connect.json.OneOf.field.0:INT64?,io.confluent.connect.json.OneOf.field.1:STRING?}?",
            ),
            (
                r#"{"title":"P","type":"object","anyOf":[{"type":"object","properties":{"a":{"type":"string"}}},{"type":"object","properties":{"b":{"type":"string"}}}]}"#,
                "STRUCT io.confluent.connect.json.OneOf{io.confluent.connect.json.OneOf.field.0:STRUCT{a:STRING}?,io.confluent.connect.json.OneOf.field.1:STRUCT{b:STRING}?}",
            ),
        ],
    );
    assert_shapes(
        &[("generalized.sum.type.support", "true"), ("flatten.singleton.unions", "false")],
        &[
            (
                r#"{"oneOf":[{"type":"integer"}]}"#,
                "STRUCT connect_union_0 org.apache.kafka.connect.data.Union=connect_union_0{connect_union_field_0:INT64?}",
            ),
            (
                r#"{"enum":["b","a"]}"#,
                "STRING org.apache.kafka.connect.data.Enum= org.apache.kafka.connect.data.Enum.b=0 org.apache.kafka.connect.data.Enum.a=1",
            ),
        ],
    );
}

#[test]
fn all_of_is_one_schema() {
    assert_shapes(
        &[("use.optional.for.nonrequired", "true")],
        &[
            (
                r##"{"title":"M","allOf":[{"$ref":"#/definitions/A"},{"$ref":"#/definitions/B"}],"type":"object","properties":{"c":{"type":"string"}},
                "definitions":{"A":{"properties":{"a":{"type":"string"}},"required":["a"]},"B":{"properties":{"b":{"type":"integer"}}}}}"##,
                "STRUCT M{a:STRING,b:INT64?,c:STRING?}",
            ),
            (r#"{"allOf":[{"type":"string"},{"minLength":2}]}"#, "STRING"),
            (r#"{"allOf":[{"type":"integer"},{"format":"int32"}]}"#, "INT64"),
            (r#"{"allOf":[{"const":5},{"type":"integer"}]}"#, "INT64"),
            (
                r#"{"allOf":[{"enum":["a"]},{"type":"string"}]}"#,
                "STRING io.confluent.connect.json.Enum= io.confluent.connect.json.Enum.a=a",
            ),
            (
                r##"{"allOf":[{"$ref":"#/definitions/n"}],"definitions":{"n":{"type":"integer","title":"n"}}}"##,
                "INT64 n",
            ),
            (r#"{"allOf":[{"type":"integer"},{"type":["string","null"]}]}"#, "STRING?"),
        ],
    );
}

#[test]
fn enums_and_constants_are_text_with_their_words() {
    assert_shapes(
        &[],
        &[
            (
                r#"{"type":"string","enum":["b","a",null],"title":"T","default":"a"}"#,
                "STRING T io.confluent.connect.json.Enum= io.confluent.connect.json.Enum.b=b io.confluent.connect.json.Enum.a=a io.confluent.connect.json.Enum.<NULL>=<NULL>=\"a\"",
            ),
            (
                r#"{"const":"one"}"#,
                "STRING io.confluent.connect.json.Enum= io.confluent.connect.json.Enum.one=one",
            ),
            (r#"{"type":"integer","enum":[1,2]}"#, "INT64"),
            (
                r#"{"enum":[1,true]}"#,
                "STRING io.confluent.connect.json.Enum= io.confluent.connect.json.Enum.1=1 io.confluent.connect.json.Enum.true=true",
            ),
        ],
    );
}

#[test]
fn anything_is_json_text() {
    let any = "STRING io.debezium.data.Json io.confluent.connect.json.Any=true?";
    assert_shapes(&[], &[("{}", any), ("true", any), (r#"{"$comment":"x"}"#, any)]);
}

#[test]
fn references_are_followed() {
    let text = r##"{"$schema":"http://json-schema.org/draft-07/schema#","properties":{
        "a":{"$ref":"#/definitions/p","title":"own","connect.index":1},"b":{"$ref":"common.json#/$defs/q","connect.index":0},
        "c":{"oneOf":[{"type":"null"},{"$ref":"#see"}]},"d":{"$ref":"#/definitions/p"}},
        "definitions":{"p":{"type":"object","properties":{"x":{"type":"string"}}},"s":{"$anchor":"see","type":"integer"}}}"##;
    let other = r##"{"definitions":{"q":{"$ref":"#/definitions/r"},"r":{"type":"boolean"}}}"##;
    let schema = with_references(text, &[("common.json", other)]);
    let plan = connect::compile(&options(&[]), &schema).unwrap();
    let wanted = "STRUCT{b:BOOLEAN,a:STRUCT{x:STRING},c:INT64?,d:STRUCT{x:STRING}}";
    assert_eq!(shape(&plan.schema), wanted);
}

#[test]
fn modern_drafts_hear_what_is_beside_a_reference() {
    let text = r##"{"$schema":"https://json-schema.org/draft/2020-12/schema","properties":{
        "a":{"$ref":"#/$defs/n","title":"own"},"b":{"$ref":"#/$defs/o","properties":{"y":{"type":"integer"}}}},
        "$defs":{"n":{"type":"integer"},"o":{"properties":{"x":{"type":"string"}}}}}"##;
    assert_shapes(&[], &[(text, "STRUCT{a:INT64 own,b:STRUCT{x:STRING,y:INT64}}")]);
    let old = [("ignore.modern.dialects", "true")];
    assert_shapes(&old, &[(text, "STRUCT{a:INT64,b:STRUCT{x:STRING}}")]);
}

#[test]
fn a_schema_that_contains_itself_is_a_map_there() {
    let text = r##"{"type":"object","title":"Node","properties":{"v":{"type":"integer"},"next":{"oneOf":[{"type":"null"},{"$ref":"#"}]},
        "all":{"type":"array","items":{"$ref":"#"}}}}"##;
    let marker = "MAP io.confluent.connect.json.Id=#id1<STRING,?>?";
    let wanted = format!(
        "STRUCT Node io.confluent.connect.json.Id=#id1{{v:INT64,next:{marker},all:ARRAY<{marker}>}}"
    );
    assert_shapes(&[], &[(text, &wanted)]);
    let lists = r##"{"definitions":{"l":{"type":"array","items":{"$ref":"#/definitions/l"}}},"$ref":"#/definitions/l"}"##;
    let any = "STRING io.debezium.data.Json io.confluent.connect.json.Any=true?";
    assert_shapes(&[], &[(lists, &format!("ARRAY<{any}>"))]);
}

#[test]
fn schemas_without_values_are_refused_with_their_place() {
    for (text, why) in [
        (r#"{"type":"nil"}"#, "unknown type \"nil\""),
        (r#"{"type":"null"}"#, "null is the only value that a schema allows"),
        ("false", "false is no schema that values can have"),
        (r#"{"type":"array"}"#, "Array schema did not specify the items type"),
        (r#"{"not":{}}"#, "a schema says only what a value is not, or under which condition"),
        (
            r##"{"properties":{"a":{"properties":{"b":{"$ref":"#/zz"}}}}}"##,
            "property a.b: $ref \"#/zz\" leads nowhere",
        ),
        (r##"{"$ref":"#"}"##, "$ref \"#\" leads back to itself"),
        (r#"{"type":"integer","connect.type":"int9"}"#, "Unsupported type int9"),
    ] {
        assert_eq!(refused(text), why, "{text}");
    }
    assert!(refused("{").contains("unexpected end"), "{}", refused("{"));
}

#[test]
fn the_version_of_the_registry_is_that_of_the_schema() {
    let of = |text: &str| {
        let schema = Registered { version: Some(3), ..registered(text) };
        shape(&connect::compile(&options(&[]), &schema).unwrap().schema)
    };
    assert_eq!(of(r#"{"properties":{"a":{"type":"string"}}}"#), "STRUCT v3{a:STRING}");
    assert_eq!(of(r#"{"type":"string","connect.version":1}"#), "STRING v1");
    assert_eq!(of(r#"{"type":["null","string"]}"#), "STRING v3?");
}
