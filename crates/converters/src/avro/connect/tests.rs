//! Connect schemas of Avro schemas, in a short notation: `int32?` is optional, `=1` a default, `#2` a
//! version, `"d"` a doc, `(k=v)` parameters, `n{…}` a name and fields.

use super::*;
use crate::avro::schema::AvroSchema;
use data::Value;

fn show(schema: &Schema) -> String {
    let mut out = schema.kind().json_name().to_owned();
    if let (Some(key), Some(value)) = (schema.key_schema(), schema.value_schema()) {
        out += &format!("<{},{}>", show(key), show(value));
    } else if let Some(value) = schema.value_schema() {
        out += &format!("<{}>", show(value));
    }
    if schema.is_optional() {
        out.push('?');
    }
    if let Some(default) = schema.default() {
        out += &format!("={}", show_value(default));
    }
    if let Some(version) = schema.version() {
        out += &format!("#{version}");
    }
    if let Some(doc) = schema.doc() {
        out += &format!("{doc:?}");
    }
    if let Some(list) = schema.parameters().filter(|list| !list.is_empty()) {
        let list: Vec<String> =
            list.iter().map(|(name, value)| format!("{name}={value}")).collect();
        out += &format!("({})", list.join(","));
    }
    let short = |name: &str| name.replace("org.apache.kafka.connect.data.", "~");
    if let Some(name) = schema.name() {
        out += &format!(" {}", short(name));
    }
    if schema.kind() == Type::Struct {
        let fields: Vec<String> = schema
            .fields()
            .iter()
            .map(|field| format!("{}:{}", field.name, show(&field.schema)))
            .collect();
        out += &format!("{{{}}}", fields.join(" "));
    }
    out.replace("io.confluent.connect.avro.", "@")
}

fn show_value(value: &Value) -> String {
    match value {
        Value::Struct(of) => format!("{:?}", of.values.iter().map(show_value).collect::<Vec<_>>()),
        Value::Map(pairs) => pairs
            .iter()
            .map(|(key, value)| format!("{}:{}", show_value(key), show_value(value)))
            .collect::<Vec<_>>()
            .join(";"),
        Value::List(items) => items.iter().map(show_value).collect::<Vec<_>>().join(";"),
        Value::Int(value, width) => format!("{value}{width:?}"),
        Value::Float32(value) => format!("{value}f"),
        Value::Float(value) => format!("{value}"),
        Value::Text(text) => format!("'{text}'"),
        Value::Bytes(bytes) => format!("{bytes:?}"),
        Value::Decimal { unscaled, scale } => format!("{unscaled:?}e{scale}"),
        Value::Instant(ms) => format!("@{ms}"),
        other => format!("{other:?}"),
    }
}

fn with(options: &AvroOptions, version: Option<i32>, text: &str) -> Result<String, String> {
    let avro = AvroSchema::parse(text).unwrap_or_else(|fault| panic!("{fault}: {text}"));
    let schema = to_connect(&avro, options, version)?;
    Ok(schema.map_or_else(|| "none".to_owned(), |schema| show(&schema)))
}

fn connect(text: &str) -> String {
    with(&AvroOptions::default(), None, text).unwrap_or_else(|fault| panic!("{fault}: {text}"))
}

/// The schema of the only field of a record.
fn field(rest: &str) -> String {
    let text = format!(r#"{{"type":"record","name":"R","fields":[{{"name":"f",{rest}}}]}}"#);
    let shown = connect(&text);
    let shown = shown.strip_prefix("struct R{f:").and_then(|rest| rest.strip_suffix('}'));
    shown.unwrap_or_default().to_owned()
}

#[test]
fn every_type_has_its_schema() {
    for (avro, wanted) in [
        (r#""boolean""#, "boolean"),
        (r#""int""#, "int32"),
        (r#"{"type":"int","connect.type":"int8"}"#, "int8"),
        (r#"{"type":"int","connect.type":"int16"}"#, "int16"),
        (r#""long""#, "int64"),
        (r#""float""#, "float"),
        (r#""double""#, "double"),
        (r#""bytes""#, "bytes"),
        (r#""string""#, "string"),
        (r#"{"type":"array","items":"int"}"#, "array<int32>"),
        (r#"{"type":"map","values":["null","int"]}"#, "map<string,int32?>"),
        (r#"{"type":"fixed","name":"a.F","size":3}"#, "bytes(connect.fixed.size=3) a.F"),
        (
            r#"{"type":"enum","name":"a.E","symbols":["X","Y"],"doc":"d","default":"Y"}"#,
            "string(@enum.doc.E=d,@enum.default.E=Y,@Enum=a.E,@Enum.X=X,@Enum.Y=Y) a.E",
        ),
        (
            r#"{"type":"record","name":"a.R","doc":"d","fields":[{"name":"x","type":"int","doc":"e"}]}"#,
            "struct(@record.doc=d,@field.doc.x=e) a.R{x:int32}",
        ),
        (
            r#"{"type":"record","name":"io.confluent.connect.avro.ConnectDefault2","fields":[]}"#,
            "struct{}",
        ),
    ] {
        assert_eq!(connect(avro), wanted, "{avro}");
    }
}

#[test]
fn values_of_any_shape_have_no_schema() {
    let of = |name: &str, kind: &str| {
        format!(r#"{{"name":"{name}","type":["null",{kind}],"default":null}}"#)
    };
    let fields: Vec<String> = ["boolean", "bytes", "double", "float", "int", "long", "string"]
        .iter()
        .map(|kind| of(kind, &format!("{kind:?}")))
        .collect();
    let entry = r#"{"type":"record","name":"MapEntry","fields":[{"name":"key","type":"Anything"},{"name":"value","type":"Anything"}]}"#;
    let anything = format!(
        r#"{{"type":"record","name":"Anything","namespace":"io.confluent.connect.avro","fields":[{},{},{}]}}"#,
        fields.join(","),
        of("array", r#"{"type":"array","items":"Anything"}"#),
        of("map", &format!(r#"{{"type":"array","items":{entry}}}"#)),
    );
    assert_eq!(connect(&anything), "none");
    assert_eq!(connect(&format!(r#"{{"type":"array","items":{anything}}}"#)), "array");
    assert_eq!(connect(&format!(r#"{{"type":"map","values":{anything}}}"#)), "map");
    let other = r#"{"type":"record","name":"io.confluent.connect.avro.Anything","fields":[]}"#;
    assert_eq!(connect(other), "struct @Anything{}");
}

#[test]
fn logical_types_are_those_of_connect_or_a_parameter() {
    for (avro, wanted) in [
        (r#""int","logicalType":"date""#, "int32#1 ~Date"),
        (r#""int","logicalType":"time-millis""#, "int32#1 ~Time"),
        (r#""long","logicalType":"timestamp-millis""#, "int64#1 ~Timestamp"),
        (
            r#""bytes","logicalType":"decimal","precision":64,"scale":2"#,
            "bytes#1(scale=2) ~Decimal",
        ),
        (
            r#""bytes","logicalType":"decimal","precision":5"#,
            "bytes#1(scale=0,connect.decimal.precision=5) ~Decimal",
        ),
        (r#""bytes","logicalType":"decimal""#, "bytes#1(scale=0) ~Decimal"),
        (
            r#""fixed","name":"F","size":4,"logicalType":"decimal","precision":5,"scale":1"#,
            "bytes#1(scale=1,connect.decimal.precision=5,connect.fixed.size=4) ~Decimal",
        ),
        (r#""long","logicalType":"timestamp-micros""#, "int64(avro.logicalType=timestamp-micros)"),
        (r#""long","logicalType":"timestamp-nanos""#, "int64(avro.logicalType=timestamp-nanos)"),
        (r#""long","logicalType":"time-micros""#, "int64(avro.logicalType=time-micros)"),
        (
            r#""long","logicalType":"local-timestamp-millis""#,
            "int64(avro.logicalType=local-timestamp-millis)",
        ),
        (r#""string","logicalType":"uuid""#, "string(avro.logicalType=uuid)"),
        (
            r#""fixed","name":"U","size":16,"logicalType":"uuid""#,
            "bytes(connect.fixed.size=16,avro.logicalType=uuid) U",
        ),
        (
            r#""fixed","name":"D","size":12,"logicalType":"duration""#,
            "bytes(connect.fixed.size=12,avro.logicalType=duration) D",
        ),
        (r#""string","logicalType":"my-own""#, "string"),
        (r#""string","avro.java.string":"String""#, "string(avro.java.string=String)"),
    ] {
        assert_eq!(connect(&format!("{{\"type\":{avro}}}")), wanted, "{avro}");
    }
}

#[test]
fn attributes_say_what_the_connect_schema_was() {
    let text = r#"{"type":"string","connect.name":"n","connect.version":3,"connect.doc":"d",
        "connect.parameters":{"p":"1"},"connect.default":"x"}"#;
    assert_eq!(connect(text), r#"string='x'#3"d"(p=1) n"#);
    let bare = AvroOptions { connect_meta_data: false, ..AvroOptions::default() };
    assert_eq!(with(&bare, None, text).unwrap(), "string='x'#3 n");
    let micro =
        r#"{"type":"long","connect.version":1,"connect.name":"io.debezium.time.MicroTime"}"#;
    assert_eq!(connect(micro), "int64#1 io.debezium.time.MicroTime");
    assert_eq!(
        field(r#""type":"int","connect.parameters":{"p":"1","q":2}"#),
        "int32(p=1,q=2)",
        "of fields, too"
    );
}

#[test]
fn the_version_of_the_registry_is_that_of_the_whole() {
    let of = |text: &str| with(&AvroOptions::default(), Some(7), text).unwrap();
    let record = r#"{"type":"record","name":"R","fields":[{"name":"x","type":"int"}]}"#;
    assert_eq!(of(record), "struct#7 R{x:int32}");
    assert_eq!(
        of(&record.replace("\"fields\"", "\"connect.version\":2,\"fields\"")),
        "struct#2 R{x:int32}"
    );
    assert_eq!(of(r#"["null","int"]"#), "int32?");
    assert_eq!(of(r#"{"type":"int","logicalType":"date"}"#), "int32#1 ~Date");
}

#[test]
fn defaults_of_fields_are_defaults_of_their_schemas() {
    let flag = "(@field.default=true)";
    for (of, wanted) in [
        (r#""type":"int","default":7"#, format!("int32=7W32{flag}")),
        (r#""type":"long","default":7"#, format!("int64=7W64{flag}")),
        (r#""type":"float","default":1"#, format!("float=1f{flag}")),
        (r#""type":"bytes","default":"\u00ff\u0001""#, format!("bytes=[255, 1]{flag}")),
        (
            r#""type":{"type":"int","connect.type":"int8","connect.default":3}"#,
            "int8=3W8".to_owned(),
        ),
        (
            r#""type":{"type":"int","logicalType":"date"},"default":2"#,
            format!("int32=@172800000#1{flag} ~Date"),
        ),
        (
            r#""type":{"type":"bytes","logicalType":"decimal","precision":64,"scale":1},"default":"\u0001""#,
            "bytes=[1]e1#1(scale=1,@field.default=true) ~Decimal".to_owned(),
        ),
        (
            r#""type":{"type":"array","items":["null","int"]},"default":[1,null]"#,
            format!("array<int32?>=1W32;Null{flag}"),
        ),
        (
            r#""type":{"type":"map","values":"double"},"default":{"a":1.5}"#,
            format!("map<string,double>='a':1.5{flag}"),
        ),
        (
            r#""type":{"type":"record","name":"I","fields":[{"name":"a","type":"int"},{"name":"b","type":"string","default":"y"},{"name":"c","type":["null","int"]}]},"default":{"a":1}"#,
            format!(
                r#"struct=["1W32", "'y'", "Null"]{flag} I{{a:int32 b:string='y'{flag} c:int32?}}"#
            ),
        ),
        (
            r#""type":["int","string"],"default":5"#,
            format!(r#"struct=["5W32", "Null"]{flag} @Union{{int:int32? string:string?}}"#),
        ),
        (r#""type":["null","int"],"default":null"#, "int32?".to_owned()),
        (r#""type":["int","null"],"default":5"#, "int32?".to_owned()),
        (
            r#""type":["null",{"type":"int","connect.default":4}],"default":null"#,
            "int32?=4W32".to_owned(),
        ),
    ] {
        assert_eq!(field(of), wanted, "{of}");
    }
    let discard = AvroOptions { discard_type_doc_default: true, ..AvroOptions::default() };
    let text = r#"{"type":"record","name":"R","doc":"rd","fields":[{"name":"f","type":{"type":"int","connect.doc":"td"},"default":1,"doc":"fd"},{"name":"g","type":{"type":"int","connect.doc":"td"}}]}"#;
    assert_eq!(
        with(&discard, None, text).unwrap(),
        r#"struct"rd"(connect.record.doc=rd) R{f:int32=1W32"fd" g:int32"td"}"#
    );
}

#[test]
fn a_default_that_is_no_value_of_its_schema_is_dropped() {
    for of in [
        r#""type":"int","default":"x""#,
        r#""type":"int","default":3000000000"#,
        r#""type":"int","default":null"#,
        r#""type":{"type":"int","connect.type":"int8"},"default":300"#,
        r#""type":"bytes","default":"\u0100""#,
        r#""type":{"type":"fixed","name":"F","size":2},"default":"x""#,
        r#""type":{"type":"record","name":"I","fields":[{"name":"a","type":"int"}]},"default":{}"#,
        r#""type":["int","string"],"default":true"#,
    ] {
        let shown = field(of);
        assert!(!shown.contains('=') || shown.contains("field.default=true"), "{shown}");
        assert!(!shown.starts_with("int32=") && !shown.contains("?="), "{shown}");
        assert_eq!(shown.matches("=[").count(), 0, "{shown}");
    }
}

#[test]
fn unions_are_optional_types_or_structs() {
    let union =
        r#"["null","int",{"type":"fixed","name":"a.F","size":1},{"type":"array","items":"int"}]"#;
    for (avro, wanted) in [
        (r#"["null","string"]"#, "string?"),
        (r#"["string","null"]"#, "string?"),
        (r#"["string"]"#, "string"),
        (
            union,
            "struct? @Union{int:int32? F:bytes?(connect.fixed.size=1) a.F array:array<int32>?}",
        ),
    ] {
        assert_eq!(connect(avro), wanted);
    }
    let enhanced = AvroOptions { enhanced: true, ..AvroOptions::default() };
    assert!(with(&enhanced, None, union).unwrap().contains(" a.F:bytes?"));
    let apart = AvroOptions { flatten_singleton_unions: false, ..AvroOptions::default() };
    assert_eq!(with(&apart, None, r#"["int"]"#).unwrap(), "struct @Union{int:int32?}");
    let general = AvroOptions { generalized_sum_types: true, ..AvroOptions::default() };
    assert_eq!(
        with(&general, None, r#"["int","null",{"type":"enum","name":"E","symbols":["A","B"]}]"#)
            .unwrap(),
        "struct?(~Union=connect_union_0) connect_union_0{connect_union_field_0:int32? \
         connect_union_field_2:string?(~Enum=E,~Enum.A=0,~Enum.B=1) E}"
            .replace("(~", "(org.apache.kafka.connect.data.")
            .replace(",~", ",org.apache.kafka.connect.data.")
    );
    let twice =
        r#"[{"type":"fixed","name":"a.F","size":1},{"type":"fixed","name":"b.F","size":1}]"#;
    let fault = with(&AvroOptions::default(), None, twice).unwrap_err();
    assert!(fault.contains("same name in Connect: F"), "{fault}");
    assert!(with(&enhanced, None, twice).is_ok());
}

#[test]
fn arrays_of_entries_are_maps() {
    let entry = |name: &str, more: &str| {
        format!(
            r#"{{"type":"array","items":{{"type":"record","name":"{name}"{more},"fields":[{{"name":"value","type":"long"}},{{"name":"key","type":"int"}}]}}}}"#
        )
    };
    assert_eq!(connect(&entry("io.confluent.connect.avro.MapEntry", "")), "map<int32,int64>");
    assert_eq!(
        connect(&entry("my.Map", r#","connect.internal.type":"MapEntry""#)),
        "map<int32,int64>"
    );
    assert_eq!(connect(&entry("my.Map", "")), "array<struct my.Map{value:int64 key:int32}>");
    let wrong = entry("io.confluent.connect.avro.MapEntry", "").replace("\"key\"", "\"k\"");
    assert!(with(&AvroOptions::default(), None, &wrong).unwrap_err().contains("map entries"));
}

#[test]
fn a_record_within_itself_is_a_map_that_describes_itself() {
    let text = r#"{"type":"record","name":"n.Node","fields":[
        {"name":"v","type":"int"},{"name":"next","type":["null","Node"],"default":null},
        {"name":"all","type":{"type":"array","items":"Node"}},
        {"name":"in","type":{"type":"record","name":"In","fields":[{"name":"up","type":["null","Node"]}]}},
        {"name":"again","type":"In"}]}"#;
    let shown = connect(text);
    let marker = "map?(@recursive=n.Node)";
    assert_eq!(
        shown,
        format!(
            "struct n.Node{{v:int32 next:{marker} all:array<map(@recursive=n.Node)> \
             in:struct n.In{{up:{marker}}} again:struct n.In{{up:{marker}}}}}"
        )
    );
}

#[test]
fn what_connect_has_no_schema_for_is_told_with_its_path() {
    let fault = |of: &str| {
        let text = format!(
            r#"{{"type":"record","name":"R","fields":[{{"name":"a","type":{{"type":"record","name":"S","fields":[{{"name":"b","type":{of}}}]}}}}]}}"#
        );
        with(&AvroOptions::default(), None, &text).unwrap_err()
    };
    assert_eq!(
        fault(r#""null""#),
        "The converter does not support null as a type of its own (at a.b)"
    );
    for (of, wanted) in [
        (r#"{"type":"int","connect.type":"int9"}"#, "connect.type of an int"),
        (r#"{"type":"int","connect.version":"x"}"#, "connect.version is no number"),
        (r#"{"type":"int","connect.name":1}"#, "connect.name is no text"),
        (r#"{"type":"int","connect.parameters":[]}"#, "connect.parameters is no JSON object"),
        (r#"{"type":"int","connect.parameters":{"a":1}}"#, "a value that is no text"),
        (r#"{"type":"int","logicalType":"date","connect.name":"x"}"#, "two names in Connect"),
        (
            r#"{"type":"bytes","logicalType":"decimal","precision":"x"}"#,
            "The precision of a decimal",
        ),
    ] {
        let fault = fault(of);
        assert!(fault.contains(wanted) && fault.ends_with("(at a.b)"), "{fault}");
    }
}

#[test]
fn deep_and_wide_schemas_are_mapped_and_huge_ones_refused() {
    let wide: String = (0..500).map(|at| format!(r#",{{"name":"f{at}","type":"int"}}"#)).collect();
    let wide = format!(r#"{{"type":"record","name":"R","fields":[{}]}}"#, &wide[1..]);
    assert_eq!(connect(&wide).matches("int32").count(), 500);
    let nested = |levels: usize| {
        let open: String = (0..levels)
            .map(|at| format!(r#"{{"type":"record","name":"R{at}","fields":[{{"name":"f","type":"#))
            .collect();
        format!("{open}\"int\"{}", "}]}".repeat(levels))
    };
    assert_eq!(connect(&nested(DEPTH_MAX - 1)).matches("struct").count(), DEPTH_MAX - 1);
    let twice = |levels: usize| {
        let open: String = (0..levels)
            .map(|at| format!(r#"{{"type":"record","name":"R{at}","fields":[{{"name":"a","type":"#))
            .collect();
        let close: String = (0..levels)
            .rev()
            .map(|at| {
                let name = if at + 1 == levels { "int".to_owned() } else { format!("R{}", at + 1) };
                format!(r#"}},{{"name":"b","type":"{name}"}}]}}"#)
            })
            .collect();
        format!("{open}\"int\"{close}")
    };
    assert_eq!(connect(&twice(8)).matches("int32").count(), 256);
    let fault = with(&AvroOptions::default(), None, &twice(60)).unwrap_err();
    assert!(fault.contains("more than 100000 types"), "{fault}");
}

#[test]
fn a_default_is_the_very_number_that_the_text_says() {
    for number in ["118.62323802702825", "976.2129193449119", "0.30000000000000004", "1e-7"] {
        let number: f64 = number.parse().unwrap();
        let text = format!(r#"{{"type":"double","connect.default":{number:?}}}"#);
        assert_eq!(connect(&text), format!("double={number}"));
    }
}
