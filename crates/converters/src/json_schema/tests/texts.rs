//! Connect to the text of a JSON Schema. The members' orders were printed by Everit's library, which
//! Confluent's converter uses, on a JVM.

use super::*;
use data::{SchemaBuilder, Type, Width};

fn built(builder: SchemaBuilder) -> Schema {
    builder.build().unwrap()
}

fn shared(builder: SchemaBuilder) -> Arc<Schema> {
    Arc::new(built(builder))
}

#[test]
fn attributes_come_in_the_order_of_the_original() {
    let full = SchemaBuilder::new(Type::Int8).name("T").doc("d").version(1);
    let full = full.parameter("a", "1").parameter("b", "2").parameter("scale", "3");
    let full = full.default(Value::Int(5, Width::W8));
    let schema = SchemaBuilder::structure()
        .field("zeta", Schema::required_of(Type::String))
        .field("alpha", Schema::optional_of(Type::Boolean))
        .field("mid", shared(full))
        .field("b", Schema::required_of(Type::Bytes));
    assert_eq!(
        text_of(&built(schema.name("S").version(3)), &[]),
        concat!(
            r#"{"type":"object","title":"S","connect.version":3,"properties":{"#,
            r#""zeta":{"type":"string","connect.index":0},"#,
            r#""b":{"type":"string","connect.index":3,"connect.type":"bytes"},"#,
            r#""alpha":{"connect.index":1,"oneOf":[{"type":"null"},{"type":"boolean"}]},"#,
            r#""mid":{"type":"integer","title":"T","description":"d","default":5,"connect.index":2,"connect.version":1,"#,
            r#""connect.type":"int8","connect.parameters":{"a":"1","scale":"3","b":"2"}}}}"#,
        )
    );
}

#[test]
fn every_type_has_its_form() {
    let int = Schema::required_of(Type::Int32);
    let text = Schema::required_of(Type::String);
    for (builder, wanted) in [
        (SchemaBuilder::new(Type::Int64), r#"{"type":"integer","connect.type":"int64"}"#),
        (SchemaBuilder::new(Type::Float32), r#"{"type":"number","connect.type":"float32"}"#),
        (SchemaBuilder::new(Type::Float64), r#"{"type":"number","connect.type":"float64"}"#),
        (SchemaBuilder::new(Type::Boolean).doc("d"), r#"{"description":"d","type":"boolean"}"#),
        (
            SchemaBuilder::new(Type::String).default(Value::Text("x/é\u{1}\u{1f600}".into())),
            "{\"type\":\"string\",\"default\":\"x/é\\u0001\u{1f600}\"}",
        ),
        (
            SchemaBuilder::decimal(2),
            r#"{"type":"string","title":"org.apache.kafka.connect.data.Decimal","connect.version":1,"connect.type":"bytes","connect.parameters":{"scale":"2"}}"#,
        ),
        (
            SchemaBuilder::date(),
            r#"{"type":"integer","title":"org.apache.kafka.connect.data.Date","connect.version":1,"connect.type":"int32"}"#,
        ),
        (
            SchemaBuilder::array(Arc::clone(&int)),
            r#"{"type":"array","items":{"type":"integer","connect.type":"int32"}}"#,
        ),
        (
            SchemaBuilder::map(Arc::clone(&text), Arc::clone(&int)),
            r#"{"type":"object","connect.type":"map","additionalProperties":{"type":"integer","connect.type":"int32"}}"#,
        ),
        (
            SchemaBuilder::map(Schema::optional_of(Type::String), Arc::clone(&int)),
            concat!(
                r#"{"type":"array","connect.type":"map","items":{"type":"object","properties":{"#,
                r#""value":{"type":"integer","connect.index":1,"connect.type":"int32"},"#,
                r#""key":{"connect.index":0,"oneOf":[{"type":"null"},{"type":"string"}]}}}}"#,
            ),
        ),
        (
            SchemaBuilder::new(Type::String)
                .parameter("io.confluent.connect.json.Enum", "")
                .parameter("io.confluent.connect.json.Enum.b", "b")
                .parameter("io.confluent.connect.json.Enum.a", "a")
                .parameter("io.confluent.connect.json.Enum.<NULL>", "<NULL>"),
            r#"{"enum":[null,"a","b"]}"#,
        ),
        (
            SchemaBuilder::structure()
                .name("io.confluent.connect.json.OneOf")
                .optional()
                .field("io.confluent.connect.json.OneOf.field.0", Schema::optional_of(Type::Int64))
                .field(
                    "io.confluent.connect.json.OneOf.field.1",
                    Schema::optional_of(Type::Boolean),
                ),
            concat!(
                r#"{"oneOf":[{"type":"null"},{"type":"integer","connect.index":0,"connect.type":"int64"},"#,
                r#"{"connect.index":1,"type":"boolean"}]}"#,
            ),
        ),
        (
            SchemaBuilder::structure().optional().name("O").field("a", Arc::clone(&text)),
            r#"{"oneOf":[{"type":"null"},{"type":"object","title":"O","properties":{"a":{"type":"string","connect.index":0}}}]}"#,
        ),
    ] {
        assert_eq!(text_of(&built(builder), &[]), wanted);
    }
}

#[test]
fn settings_change_the_text() {
    let structure = built(SchemaBuilder::structure().field("a", Schema::timestamp()));
    assert_eq!(
        text_of(
            &structure,
            &[
                ("object.additional.properties", "false"),
                ("json.write.dates.iso8601", "true"),
                ("json.schema.spec.version", "draft_2020_12"),
            ],
        ),
        concat!(
            r#"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","additionalProperties":false,"#,
            r#""properties":{"a":{"type":"string","format":"date-time","title":"org.apache.kafka.connect.data.Timestamp","#,
            r#""connect.index":0,"connect.version":1}}}"#,
        )
    );
    let decimal = text_of(&built(SchemaBuilder::decimal(2)), &[("decimal.format", "numeric")]);
    assert!(decimal.starts_with("{\"type\":\"number\","), "{decimal}");
}

#[test]
fn a_schema_that_contains_itself_comes_back() {
    let text = r##"{"type":"object","title":"Node","properties":{"v":{"type":"integer"},"next":{"oneOf":[{"type":"null"},{"$ref":"#"}]}}}"##;
    for settings in [
        &[][..],
        &[("json.schema.spec.version", "draft_6")],
        &[("json.schema.spec.version", "draft_2019_09")],
    ] {
        let first = plan(text, &[]);
        let written = text_of(&first.schema, settings);
        assert!(written.contains("{\"type\":\"null\"},{\"$ref\":\"#id1\"}"), "{written}");
        assert_eq!(plan(&written, &[]).schema, first.schema, "{written}");
    }
}
