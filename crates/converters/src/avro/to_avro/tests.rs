//! The texts that Confluent's converter registers.

use super::super::attributes::{ENUM, LOGICAL_TYPE, RECURSIVE, SUM_ENUM};
use super::*;
use data::{SchemaBuilder, Struct, Value, Width};
use std::sync::Arc;

fn with(options: &AvroOptions, builder: SchemaBuilder) -> Result<String, String> {
    let schema = builder.build().unwrap();
    to_avro(Some(&schema), options).map(|schema| schema.text())
}

fn text(builder: SchemaBuilder) -> String {
    with(&AvroOptions::default(), builder).unwrap()
}

fn fault(builder: SchemaBuilder) -> String {
    with(&AvroOptions::default(), builder).unwrap_err()
}

fn of(kind: Type) -> SchemaBuilder {
    SchemaBuilder::new(kind)
}

fn built(builder: SchemaBuilder) -> Arc<Schema> {
    Arc::new(builder.build().unwrap())
}

fn required(kind: Type) -> Arc<Schema> {
    Schema::required_of(kind)
}

/// A record of one field, and the JSON of that field.
fn field_of(schema: Arc<Schema>) -> String {
    let text = text(SchemaBuilder::structure().name("R").field("f", schema));
    let rest = text.strip_prefix(r#"{"type":"record","name":"R","fields":["#).unwrap();
    rest.strip_suffix(r#"],"connect.name":"R"}"#).unwrap().to_owned()
}

#[test]
fn plain_types_are_bare_names() {
    for (kind, wanted) in [
        (Type::Int8, r#"{"type":"int","connect.type":"int8"}"#),
        (Type::Int16, r#"{"type":"int","connect.type":"int16"}"#),
        (Type::Int32, r#""int""#),
        (Type::Int64, r#""long""#),
        (Type::Float32, r#""float""#),
        (Type::Float64, r#""double""#),
        (Type::Boolean, r#""boolean""#),
        (Type::String, r#""string""#),
        (Type::Bytes, r#""bytes""#),
    ] {
        assert_eq!(text(of(kind)), wanted);
        assert_eq!(text(of(kind).optional()), format!(r#"["null",{wanted}]"#));
    }
}

#[test]
fn metadata_has_an_order() {
    let schema = of(Type::String).doc("doc").default(Value::Text("foo".into()));
    let schema = schema.name("io.confluent.stringtype").version(2).optional();
    let schema = schema.parameter("foo", "bar").parameter("avro.java.string", "String");
    let meta = concat!(
        r#""connect.doc":"doc","connect.version":2,"#,
        r#""connect.parameters":{"foo":"bar","avro.java.string":"String"},"#,
        r#""connect.default":"foo","connect.name":"io.confluent.stringtype","#,
    );
    let java = r#""avro.java.string":"String""#;
    assert_eq!(text(schema.clone()), format!(r#"[{{"type":"string",{meta}{java}}},"null"]"#));
    let bare = AvroOptions { connect_meta_data: false, ..AvroOptions::default() };
    assert_eq!(with(&bare, schema).unwrap(), format!(r#"[{{"type":"string",{java}}},"null"]"#));
}

#[test]
fn logical_types_are_named_twice() {
    let of = |kind: &str, name: &str, logical: &str| {
        format!(
            r#"{{"type":"{kind}","connect.version":1,"connect.name":"org.apache.kafka.connect.data.{name}","logicalType":"{logical}"}}"#
        )
    };
    assert_eq!(text(SchemaBuilder::date()), of("int", "Date", "date"));
    assert_eq!(text(SchemaBuilder::time()), of("int", "Time", "time-millis"));
    assert_eq!(text(SchemaBuilder::timestamp()), of("long", "Timestamp", "timestamp-millis"));
}

#[test]
fn decimals_say_scale_and_precision() {
    let name = r#""connect.name":"org.apache.kafka.connect.data.Decimal","logicalType":"decimal"}"#;
    assert_eq!(
        text(SchemaBuilder::decimal(2)),
        format!(
            r#"{{"type":"bytes","scale":2,"precision":64,"connect.version":1,"connect.parameters":{{"scale":"2"}},{name}"#
        )
    );
    let nine = || SchemaBuilder::decimal(2).parameter("connect.decimal.precision", "9");
    let parameters = r#""connect.parameters":{"scale":"2","connect.decimal.precision":"9""#;
    assert_eq!(
        text(nine()),
        format!(
            r#"{{"type":"bytes","scale":2,"precision":9,"connect.version":1,{parameters}}},{name}"#
        )
    );
    assert_eq!(
        text(nine().parameter("connect.fixed.size", "4")),
        format!(
            r#"{{"type":"fixed","name":"Decimal","namespace":"org.apache.kafka.connect.data","size":4,"scale":2,"precision":9,"connect.version":1,{parameters},"connect.fixed.size":"4"}},{name}"#
        )
    );
    // Avro knows no such decimal, and says it all the same.
    let odd = text(SchemaBuilder::decimal(7).parameter("connect.decimal.precision", "5"));
    assert!(odd.starts_with(r#"{"type":"bytes","scale":7,"precision":5,"#), "{odd}");
    assert!(odd.ends_with(name), "{odd}");
    assert!(text(SchemaBuilder::decimal(-3)).contains(r#""scale":-3,"precision":64"#));
}

#[test]
fn wrong_parameters_of_decimals_are_told() {
    let scale = of(Type::Bytes).name(data::DECIMAL).parameter("scale", "two");
    assert!(fault(scale).contains("scale parameter"));
    let precision = SchemaBuilder::decimal(2).parameter("connect.decimal.precision", "many");
    assert!(fault(precision).contains("'many', not a number of digits"));
    let size = of(Type::Bytes).name("a.F").parameter("connect.fixed.size", "-1");
    assert!(fault(size).contains("'-1', not a number of bytes"));
}

#[test]
fn decimals_of_different_fixed_sizes_are_different_types() {
    let fixed = |size: &str| {
        let schema = SchemaBuilder::decimal(2).parameter("connect.decimal.precision", "4");
        built(schema.parameter("connect.fixed.size", size))
    };
    let schema = SchemaBuilder::structure().name("R").field("a", fixed("4"));
    let text = text(schema.field("b", fixed("8")).field("c", fixed("4")));
    assert!(text.contains(r#""name":"Decimal","namespace""#), "{text}");
    assert!(text.contains(r#""name":"Decimal2","namespace""#), "{text}");
    assert!(
        text.contains(r#"{"name":"c","type":"org.apache.kafka.connect.data.Decimal","#),
        "{text}"
    );
}

#[test]
fn fixed_and_enums_are_named_types() {
    let fixed = of(Type::Bytes).name("a.b.F").parameter("connect.fixed.size", "4");
    assert_eq!(
        text(fixed),
        r#"{"type":"fixed","name":"F","namespace":"a.b","size":4,"connect.parameters":{"connect.fixed.size":"4"},"connect.name":"a.b.F"}"#
    );
    // Without a name of its own it is only bytes.
    let unnamed = of(Type::Bytes).parameter("connect.fixed.size", "4");
    assert!(text(unnamed).starts_with(r#"{"type":"bytes","#));

    let suit = |prefix: &str, values: [&str; 2]| {
        let schema = of(Type::String).name("a.Suit").parameter(prefix, "a.Suit");
        let schema = schema.parameter("io.confluent.connect.avro.enum.doc.Suit", "cards");
        let schema = schema.parameter("io.confluent.connect.avro.enum.default.Suit", "HEARTS");
        let schema = schema.parameter(&format!("{prefix}.SPADES"), values[0]);
        schema.parameter(&format!("{prefix}.HEARTS"), values[1])
    };
    let start = r#"{"type":"enum","name":"Suit","namespace":"a","doc":"cards","symbols":["SPADES","HEARTS"],"default":"HEARTS","connect.parameters":{"#;
    let enhanced = AvroOptions { enhanced: true, ..AvroOptions::default() };
    let generalized = AvroOptions { generalized_sum_types: true, ..AvroOptions::default() };
    for (options, schema) in
        [(&enhanced, suit(ENUM, ["SPADES", "HEARTS"])), (&generalized, suit(SUM_ENUM, ["0", "1"]))]
    {
        let text = with(options, schema.clone()).unwrap();
        assert!(text.starts_with(start), "{text}");
        assert!(text.ends_with(r#"},"connect.name":"a.Suit"}"#), "{text}");
        let plain = with(&AvroOptions::default(), schema).unwrap();
        assert!(plain.starts_with(r#"{"type":"string","#), "{plain}");
    }
    let discard = AvroOptions { discard_type_doc_default: true, ..enhanced };
    let documented = suit(ENUM, ["SPADES", "HEARTS"]).parameter("connect.enum.doc", "of cards");
    let text = with(&discard, documented).unwrap();
    let start = r#"{"type":"enum","name":"Suit","namespace":"a","doc":"of cards","symbols":["SPADES","HEARTS"],"connect"#;
    assert!(text.starts_with(start), "{text}");
    let none = of(Type::String).name("a.E").parameter(ENUM, "a.E");
    assert_eq!(with(&enhanced, none).unwrap_err(), "The enum a.E has no symbols");
}

#[test]
fn optional_fields_are_null_by_default() {
    // confluentinc/schema-registry#480: without the default a new field makes a schema incompatible.
    let optional = Schema::optional_of(Type::String);
    assert_eq!(field_of(optional), r#"{"name":"f","type":["null","string"],"default":null}"#);
    assert_eq!(field_of(required(Type::String)), r#"{"name":"f","type":"string"}"#);
    let new = of(Type::String).default(Value::Text("new".into()));
    assert_eq!(
        field_of(built(new.clone())),
        r#"{"name":"f","type":{"type":"string","connect.default":"new"},"default":"new"}"#
    );
    assert_eq!(
        field_of(built(new.optional())),
        r#"{"name":"f","type":[{"type":"string","connect.default":"new"},"null"],"default":"new"}"#
    );
}

#[test]
fn b042_an_optional_field_that_is_added_has_a_default() {
    let v1 = SchemaBuilder::structure().name("V").field("id", required(Type::Int32));
    let v2 = v1.clone().field("note", Schema::optional_of(Type::String));
    let start = r#"{"type":"record","name":"V","fields":[{"name":"id","type":"int"}"#;
    let end = r#"],"connect.name":"V"}"#;
    assert_eq!(text(v1), format!("{start}{end}"));
    let note = r#"{"name":"note","type":["null","string"],"default":null}"#;
    assert_eq!(text(v2), format!("{start},{note}{end}"));
}

#[test]
fn defaults_are_in_the_form_of_the_type() {
    let bytes = Value::Bytes(vec![0x66, 0xff, 0]);
    let date = SchemaBuilder::date().default(Value::Instant(100 * data::DAY_MS));
    let decimal = Value::Decimal { unscaled: vec![4, 0xcb, 0x2f], scale: 5 };
    let list = Value::List(vec![Value::Text("a".into()), Value::Text("b".into())]);
    let entry = (Value::Text("k".into()), Value::Int(1, Width::W32));
    let map = SchemaBuilder::map(required(Type::String), required(Type::Int32));
    for (schema, wanted) in [
        (of(Type::Int8).default(Value::Int(2, Width::W8)), "2"),
        (of(Type::Int64).default(Value::int(12)), "12"),
        (of(Type::Float32).default(Value::Float32(12.2)), "12.2"),
        (of(Type::Float64).default(Value::Float(0.1)), "0.1"),
        (of(Type::Boolean).default(Value::Bool(true)), "true"),
        (of(Type::Bytes).default(bytes), "\"f\u{ff}\\u0000\""),
        (date, "100"),
        (SchemaBuilder::timestamp().default(Value::Instant(5)), "5"),
        (SchemaBuilder::decimal(5).default(decimal), "\"\\u0004\u{cb}/\""),
        (SchemaBuilder::array(required(Type::String)).default(list), r#"["a","b"]"#),
        (map.default(Value::Map(vec![entry])), r#"{"k":1}"#),
    ] {
        let field = field_of(built(schema));
        assert!(field.ends_with(&format!(r#","default":{wanted}}}"#)), "{field}");
        assert!(field.contains(&format!(r#""connect.default":{wanted}"#)), "{field}");
    }
}

#[test]
fn a_default_that_avro_does_not_take_is_metadata_only() {
    let map = SchemaBuilder::map(required(Type::Int32), required(Type::Int32));
    let one = Value::Int(1, Width::W32);
    let field = field_of(built(map.default(Value::Map(vec![(one.clone(), one)]))));
    assert!(field.contains(r#""connect.default":[[1,1]]"#), "{field}");
    assert!(!field.contains(r#""default":"#), "{field}");
    let field = field_of(built(of(Type::Float64).default(Value::Float(f64::INFINITY))));
    assert_eq!(field, r#"{"name":"f","type":{"type":"double","connect.default":"Infinity"}}"#);
}

#[test]
fn a_default_that_came_from_a_field_is_the_fields() {
    let schema = of(Type::Int32).default(Value::Int(3, Width::W32));
    let schema = schema.parameter("io.confluent.connect.avro.field.default", "true");
    assert_eq!(field_of(built(schema)), r#"{"name":"f","type":"int","default":3}"#);
}

#[test]
fn records_have_names_and_docs() {
    let schema = SchemaBuilder::structure().name("io.test.R").version(12).doc("doc");
    let schema = schema.parameter("io.confluent.connect.avro.record.doc", "of records");
    let schema = schema.parameter("io.confluent.connect.avro.field.doc.a", "of fields");
    let field = built(of(Type::Int32).doc("of types"));
    let schema = schema.parameter("connect.record.doc", "plain").field("a", field);
    let text = text(schema.clone());
    let start = concat!(
        r#"{"type":"record","name":"R","namespace":"io.test","doc":"of records","fields":["#,
        r#"{"name":"a","type":{"type":"int","connect.doc":"of types"},"doc":"of fields"}],"#,
        r#""connect.doc":"doc","connect.version":12,"connect.parameters":{"#
    );
    assert!(text.starts_with(start), "{text}");
    assert!(text.ends_with(r#"},"connect.name":"io.test.R"}"#), "{text}");
    let discard = AvroOptions { discard_type_doc_default: true, ..AvroOptions::default() };
    let text = with(&discard, schema).unwrap();
    let start = r#"{"type":"record","name":"R","namespace":"io.test","doc":"plain","fields":[{"name":"a","type":{"type":"int","connect.doc":"of types"},"doc":"of types"}],"#;
    assert!(text.starts_with(start), "{text}");
}

#[test]
fn structs_without_a_name_are_numbered() {
    let inner = |kind| built(SchemaBuilder::structure().optional().field("v", required(kind)));
    let schema = SchemaBuilder::structure().field("a", inner(Type::Int64));
    let schema = schema.field("b", inner(Type::Int32)).field("c", inner(Type::Int64));
    assert_eq!(
        text(schema),
        concat!(
            r#"{"type":"record","name":"ConnectDefault","namespace":"io.confluent.connect.avro","fields":["#,
            r#"{"name":"a","type":["null",{"type":"record","name":"ConnectDefault2","fields":[{"name":"v","type":"long"}]}],"default":null},"#,
            r#"{"name":"b","type":["null",{"type":"record","name":"ConnectDefault3","fields":[{"name":"v","type":"int"}]}],"default":null},"#,
            r#"{"name":"c","type":["null","ConnectDefault2"],"default":null}]}"#
        )
    );
}

#[test]
fn a_named_type_is_written_out_once() {
    let inner = SchemaBuilder::structure().name("x.Row").field("id", required(Type::Int32));
    let row = inner.clone().parameter("side", "before").optional();
    let after = inner.parameter("side", "after").optional();
    let schema = SchemaBuilder::structure().name("x.Envelope").field("before", built(row));
    let schema = schema.field("after", built(after.clone()));
    assert_eq!(
        text(schema.field("list", built(SchemaBuilder::array(built(after))))),
        concat!(
            r#"{"type":"record","name":"Envelope","namespace":"x","fields":["#,
            r#"{"name":"before","type":["null",{"type":"record","name":"Row","fields":[{"name":"id","type":"int"}],"#,
            r#""connect.parameters":{"side":"before"},"connect.name":"x.Row"}],"default":null},"#,
            r#"{"name":"after","type":["null","Row"],"default":null,"connect.parameters":{"side":"after"}},"#,
            r#"{"name":"list","type":{"type":"array","items":["null","Row"]}}],"connect.name":"x.Envelope"}"#
        )
    );
}

#[test]
fn an_optional_struct_with_a_default_keeps_null_first() {
    let inner = SchemaBuilder::structure().name("I").field("v", Schema::optional_of(Type::Int32));
    let default = Value::Struct(Struct { schema: None, values: vec![Value::Null] });
    let field = field_of(built(inner.optional().default(default)));
    assert_eq!(
        field,
        concat!(
            r#"{"name":"f","type":["null",{"type":"record","name":"I","fields":[{"name":"v","type":["null","int"],"default":null}],"#,
            r#""connect.default":{"v":null},"connect.name":"I"}],"default":{"v":null}}"#
        )
    );
}

#[test]
fn maps_without_text_keys_are_arrays_of_entries() {
    let of = |keys: Arc<Schema>| SchemaBuilder::map(keys, required(Type::Int32));
    assert_eq!(text(of(required(Type::String))), r#"{"type":"map","values":"int"}"#);
    let entry = r#"{"type":"array","items":{"type":"record","name":"MapEntry","namespace":"io.confluent.connect.avro","fields":["#;
    assert_eq!(
        text(of(required(Type::Int32))),
        format!(r#"{entry}{{"name":"key","type":"int"}},{{"name":"value","type":"int"}}]}}}}"#)
    );
    let optional = || of(Schema::optional_of(Type::String));
    assert_eq!(
        text(optional()),
        format!(
            r#"{entry}{{"name":"key","type":["null","string"],"default":null}},{{"name":"value","type":"int"}}]}}}}"#
        )
    );
    let allowed = AvroOptions { allow_optional_map_keys: true, ..AvroOptions::default() };
    assert_eq!(with(&allowed, optional()).unwrap(), r#"{"type":"map","values":"int"}"#);
    assert_eq!(
        text(of(required(Type::Int32)).name("a.M")),
        r#"{"type":"array","items":{"type":"record","name":"M","namespace":"a","fields":[{"name":"key","type":"int"},{"name":"value","type":"int"}],"connect.internal.type":"MapEntry"},"connect.name":"a.M"}"#
    );
}

#[test]
fn different_maps_have_different_entries() {
    let map = |values| built(SchemaBuilder::map(required(Type::Int32), required(values)));
    let schema = SchemaBuilder::structure().name("R").field("a", map(Type::Int32));
    let text = text(schema.field("b", map(Type::String)).field("c", map(Type::Int32)));
    assert!(
        text.contains(r#""name":"MapEntry2","namespace":"io.confluent.connect.avro""#),
        "{text}"
    );
    assert!(text.contains(r#""connect.internal.type":"MapEntry""#), "{text}");
    let c = r#"{"name":"c","type":{"type":"array","items":"io.confluent.connect.avro.MapEntry"}}"#;
    assert!(text.contains(c), "{text}");
}

fn union() -> SchemaBuilder {
    let record = SchemaBuilder::structure().name("io.Test").field("t", required(Type::Int32));
    SchemaBuilder::structure()
        .name(UNION)
        .field("int", Schema::optional_of(Type::Int32))
        .field("string", Schema::optional_of(Type::String))
        .field("Test", built(record.optional()))
}

#[test]
fn union_structs_are_unions() {
    let branches = r#""int","string",{"type":"record","name":"Test","namespace":"io","fields":[{"name":"t","type":"int"}],"connect.name":"io.Test"}"#;
    assert_eq!(text(union()), format!("[{branches}]"));
    assert_eq!(text(union().optional()), format!(r#"["null",{branches}]"#));
    assert_eq!(
        field_of(built(union().optional())),
        format!(r#"{{"name":"f","type":["null",{branches}],"default":null}}"#)
    );
    let general = SchemaBuilder::structure().name("connect_union_0");
    let general = general.parameter(SUM_UNION, "connect_union_0");
    let general = general.field("connect_union_field_0", Schema::optional_of(Type::Int32));
    let general = general.field("connect_union_field_1", Schema::optional_of(Type::String));
    assert_eq!(text(general), r#"["int","string"]"#);
}

#[test]
fn branches_of_a_union_differ() {
    let twice = union().field("tiny", Schema::optional_of(Type::Int8));
    assert_eq!(fault(twice), "Two branches of a union are int in Avro (field tiny)");
    let nested = union().field("u", built(union().optional()));
    assert_eq!(fault(nested), "Avro allows no union within a union (field u)");
}

#[test]
fn names_are_scrubbed_where_that_is_set() {
    let inner = SchemaBuilder::structure().name("org.acme-corp.invalid inner-name");
    let inner = inner.field("9 lives", required(Type::String)).optional();
    let schema = SchemaBuilder::structure().name("org.acme-corp.invalid record-name");
    let schema = schema.field("invalid field-name", built(inner));
    let scrub = AvroOptions {
        scrub_invalid_names: true,
        connect_meta_data: false,
        ..AvroOptions::default()
    };
    assert_eq!(
        with(&scrub, schema.clone()).unwrap(),
        concat!(
            r#"{"type":"record","name":"invalid_record_name","namespace":"org.acme_corp","fields":["#,
            r#"{"name":"invalid_field_name","type":["null",{"type":"record","name":"invalid_inner_name","#,
            r#""fields":[{"name":"x9_lives","type":"string"}]}],"default":null}]}"#
        )
    );
    let refused = fault(schema);
    assert!(refused.contains("'org.acme-corp.invalid record-name' is not allowed"), "{refused}");
    assert!(refused.contains("scrub.invalid.names=true"), "{refused}");
    let twins = SchemaBuilder::structure().name("R");
    let twins = twins.field("a b", required(Type::Int32)).field("a-b", required(Type::Int32));
    let refused = with(&scrub, twins).unwrap_err();
    assert_eq!(refused, "Two fields of the record R are named a_b (field a-b)");
}

#[test]
fn a_name_stands_for_one_type() {
    let fixed = |size: &str| built(of(Type::Bytes).name("F").parameter("connect.fixed.size", size));
    let same = SchemaBuilder::structure().name("R").field("a", fixed("4")).field("b", fixed("4"));
    assert!(text(same.clone()).contains(r#"{"name":"b","type":"F","connect.parameters""#));
    let refused = fault(same.field("c", fixed("5")));
    assert_eq!(refused, "Two different types are named F; Avro takes one for the other (field c)");
    let record = built(SchemaBuilder::structure().name("F"));
    let mixed = SchemaBuilder::structure().name("R").field("a", fixed("4")).field("b", record);
    assert_eq!(fault(mixed), "Both a record and a type fixed are named F (field b)");
    assert!(fault(SchemaBuilder::structure().name("int")).contains("a type of Avro's own"));
}

#[test]
fn a_record_may_contain_itself() {
    let text_map = SchemaBuilder::map_of(Some(required(Type::String)), None);
    let node = text_map.parameter(RECURSIVE, "a.Node").optional();
    let schema = SchemaBuilder::structure().name("a.Node").field("id", required(Type::Int32));
    let schema = schema.field("next", built(node.clone()));
    assert_eq!(
        text(schema),
        r#"{"type":"record","name":"Node","namespace":"a","fields":[{"name":"id","type":"int"},{"name":"next","type":["null","Node"],"default":null}],"connect.name":"a.Node"}"#
    );
    assert!(fault(node).contains("a.Node, which is not around it any more"));
}

#[test]
fn logical_types_of_avro_alone_come_back() {
    let micros = of(Type::Int64).parameter(LOGICAL_TYPE, "timestamp-micros");
    assert_eq!(text(micros), r#"{"type":"long","logicalType":"timestamp-micros"}"#);
}

#[test]
fn values_without_a_schema_are_anything() {
    let text = to_avro(None, &AvroOptions::default()).unwrap().text();
    let mut fields = String::new();
    for name in ["boolean", "bytes", "double", "float", "int", "long", "string"] {
        fields += &format!(r#"{{"name":"{name}","type":["null","{name}"],"default":null}},"#);
    }
    let entry = r#"{"type":"record","name":"MapEntry","fields":[{"name":"key","type":"Anything"},{"name":"value","type":"Anything"}]}"#;
    assert_eq!(
        text,
        format!(
            r#"{{"type":"record","name":"Anything","namespace":"io.confluent.connect.avro","fields":[{fields}{{"name":"array","type":["null",{{"type":"array","items":"Anything"}}],"default":null}},{{"name":"map","type":["null",{{"type":"array","items":{entry}}}],"default":null}}]}}"#
        )
    );
}
