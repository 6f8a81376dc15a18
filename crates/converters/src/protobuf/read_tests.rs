//! Reading messages that prost-reflect wrote, and bytes that nobody should have written.

use super::compile::{Imports, compile, message_at};
use super::options::Options;
use super::plan::Plan;
use super::read::{Reader, Scratch};
use super::unfold::unfold;
use data::{Rows, Schema, Span, Value};
use prost_reflect::{DynamicMessage, FileDescriptor, MessageDescriptor};
use std::sync::Arc;

pub(super) struct Case {
    pub(super) message: MessageDescriptor,
    pub(super) plan: Plan,
}

pub(super) fn file(text: &str) -> FileDescriptor {
    compile(text, Imports::new()).unwrap_or_else(|fault| panic!("{fault}\n{text}"))
}

pub(super) fn case_with(options: &Options, text: &str) -> Case {
    let message = message_at(&file(text), &[0]).unwrap();
    let plan = unfold(options, &message, None).unwrap();
    Case { message, plan }
}

fn case(text: &str) -> Case {
    case_with(&Options::default(), text)
}

impl Case {
    pub(super) fn schema(&self) -> &Arc<Schema> {
        &self.plan.schema
    }

    /// The value of a payload, or the fault with its path in front.
    pub(super) fn read(&self, payload: &[u8]) -> Result<Value, String> {
        let mut rows = Rows::over(Arc::new(payload.to_vec().into()));
        let base = Span { start: 0, len: payload.len() as u32 };
        let mut scratch = Scratch::default();
        let mut reader = Reader { plan: &self.plan, base, rows: &mut rows, scratch: &mut scratch };
        let cell = reader.record(payload, 0).map_err(|fault| {
            format!("{}: {}", fault.path().unwrap_or_default(), fault.message())
        })?;
        let value = rows.value(Some(&self.plan.schema), cell);
        match self.plan.schema.validate(None, &value) {
            // Connect itself has no values of a map of anything.
            Err(error) if !error.0.starts_with("No schema defined for") => Err(error.0),
            _ => Ok(value),
        }
    }

    /// The value as text.
    fn text(&self, payload: &[u8]) -> String {
        self.read(payload).map_or_else(|fault| fault, |value| text(&value))
    }

    /// The value of the message of this JSON... of these fields, as prost-reflect writes it.
    fn of(&self, set: impl FnOnce(&mut DynamicMessage)) -> String {
        use prost_reflect::prost::Message;
        let mut message = DynamicMessage::new(self.message.clone());
        set(&mut message);
        self.text(&message.encode_to_vec())
    }
}

pub(super) fn text(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(v) => v.to_string(),
        Value::Int(v, _) => v.to_string(),
        Value::Float32(v) => format!("{v}f"),
        Value::Float(v) => format!("{v}d"),
        Value::Text(v) => format!("{v:?}"),
        Value::Bytes(v) => format!("{v:?}"),
        Value::Decimal { unscaled, scale } => {
            let mut out = Vec::new();
            data::decimal_to_text(unscaled, *scale, &mut out);
            String::from_utf8(out).unwrap()
        }
        Value::BigInteger(_) => "big".to_owned(),
        Value::Instant(ms) => format!("@{ms}"),
        Value::List(items) => format!("[{}]", join(items.iter())),
        Value::Map(entries) => {
            let entries: Vec<String> =
                entries.iter().map(|(k, v)| format!("{}:{}", text(k), text(v))).collect();
            format!("{{{}}}", entries.join(","))
        }
        Value::Struct(value) => format!("({})", join(value.values.iter())),
    }
}

fn join<'a>(values: impl Iterator<Item = &'a Value>) -> String {
    values.map(text).collect::<Vec<_>>().join(",")
}

const SCALARS: &str = r#"syntax = "proto3"; package p;
message S {
  int32 a = 1; sint32 b = 2; sfixed32 c = 3; uint32 d = 4; fixed32 e = 5; int64 f = 6; uint64 g = 7;
  sint64 h = 8; fixed64 i = 9; sfixed64 j = 10; float k = 11; double l = 12; bool m = 13; string n = 14;
  bytes o = 15; optional int32 p = 16; Color q = 2000; repeated int32 r = 18;
  enum Color { RED = 0; BLUE = 5; }
}"#;

#[test]
fn every_scalar_is_read() {
    use prost_reflect::Value as V;
    let case = case(SCALARS);
    assert_eq!(
        case.of(|_| ()),
        "(0,0,0,0,0,0,0,0,0,0,0f,0d,false,\"\",[],null,\"RED\",[])",
        "what is not set has its zero"
    );
    let text = case.of(|m| {
        for (name, value) in [
            ("a", V::I32(-1)),
            ("b", V::I32(i32::MIN)),
            ("c", V::I32(-3)),
            ("d", V::U32(u32::MAX)),
            ("e", V::U32(4_000_000_000)),
            ("f", V::I64(i64::MIN)),
            ("g", V::U64(u64::MAX)),
            ("h", V::I64(-5)),
            ("i", V::U64(1 << 63)),
            ("j", V::I64(-7)),
            ("k", V::F32(1.5)),
            ("l", V::F64(-2.25)),
            ("m", V::Bool(true)),
            ("n", V::String("é".into())),
            ("o", V::Bytes(vec![1, 2].into())),
            ("p", V::I32(0)),
            ("q", V::EnumNumber(5)),
            ("r", V::List(vec![V::I32(1), V::I32(-1)])),
        ] {
            m.set_field_by_name(name, value);
        }
    });
    let min = i64::MIN;
    assert_eq!(
        text,
        format!(
            "(-1,{},-3,4294967295,4000000000,{min},-1,-5,{min},-7,1.5f,-2.25d,true,\"é\",[1, \
             2],0,\"BLUE\",[1,-1])",
            i32::MIN
        )
    );
}

#[test]
fn the_schema_says_what_protobuf_said() {
    let case = case(SCALARS);
    let schema = case.schema();
    assert_eq!((schema.name(), schema.is_optional()), (Some("S"), false));
    let field = |name: &str| schema.fields()[schema.field(name).unwrap()].schema.clone();
    assert!(schema.fields().iter().all(|field| field.schema.is_optional()));
    assert_eq!(field("d").kind(), data::Type::Int64);
    assert_eq!(field("d").parameter("io.confluent.connect.protobuf.Type"), Some("uint32"));
    assert_eq!(field("d").parameter("io.confluent.connect.protobuf.Tag"), Some("4"));
    assert_eq!(field("a").parameter("io.confluent.connect.protobuf.Type"), None);
    let colour = field("q");
    assert_eq!((colour.kind(), colour.name()), (data::Type::String, Some("Color")));
    assert_eq!(colour.parameter("io.confluent.connect.protobuf.Enum"), Some("Color"));
    assert_eq!(colour.parameter("io.confluent.connect.protobuf.Enum.BLUE"), Some("5"));
    let enhanced = Options { enhanced: true, ..Options::default() };
    assert_eq!(case_with(&enhanced, SCALARS).schema().name(), Some("p.S"));
}

/// Bytes of fields, each a number with its value.
pub(super) fn payload(fields: &[(u32, Wire<'_>)]) -> Vec<u8> {
    use super::wire::put_varint;
    let mut out = Vec::new();
    for (number, value) in fields {
        let tag = |wire: u64| u64::from(*number) << 3 | wire;
        match value {
            Varint(value) => {
                put_varint(tag(0), &mut out);
                put_varint(*value, &mut out);
            }
            Bytes(bytes) => {
                put_varint(tag(2), &mut out);
                put_varint(bytes.len() as u64, &mut out);
                out.extend_from_slice(bytes);
            }
            Group(fields) => {
                put_varint(tag(3), &mut out);
                out.extend(payload(fields));
                put_varint(tag(4), &mut out);
            }
        }
    }
    out
}

#[derive(Clone, Copy)]
pub(super) enum Wire<'a> {
    Varint(u64),
    Bytes(&'a [u8]),
    Group(&'a [(u32, Wire<'a>)]),
}

use Wire::{Bytes, Group, Varint};

#[test]
fn parts_of_a_message_are_merged_and_the_last_value_wins() {
    let case = case(
        r#"syntax = "proto3"; message M { int32 a = 1; repeated int32 l = 2; M2 m = 3;
        map<string, int32> p = 4; repeated M2 k = 5;
        message M2 { int32 x = 1; repeated string y = 2; int32 z = 3; map<int32, M2> r = 4; } }"#,
    );
    let inner = |fields: &[(u32, Wire<'_>)]| payload(fields);
    let first = inner(&[(1, Varint(1)), (2, Bytes(b"a"))]);
    let second = inner(&[(3, Varint(3)), (2, Bytes(b"b")), (1, Varint(9))]);
    let entry = |key: &[u8], value| payload(&[(1, Bytes(key)), (2, Varint(value))]);
    let bytes = payload(&[
        (1, Varint(1)),
        (2, Bytes(&[1, 2])),
        (3, Bytes(&first)),
        (4, Bytes(&entry(b"k", 1))),
        (99, Bytes(b"unknown")),
        (2, Varint(3)),
        (98, Group(&[(1, Varint(1)), (2, Group(&[]))])),
        (4, Bytes(&entry(b"l", 2))),
        (3, Bytes(&second)),
        (2, Bytes(&[4])),
        (4, Bytes(&entry(b"k", 3))),
        (4, Bytes(&payload(&[(2, Varint(7))]))),
        (1, Varint(2)),
        (5, Bytes(&first)),
        (5, Bytes(&[])),
    ]);
    assert_eq!(
        case.text(&bytes),
        r#"(2,[1,2,3,4],(9,["a","b"],3,{}),{"l":2,"k":3,"":7},[(1,["a"],0,{}),(0,[],0,{})])"#
    );
}

const UNIONS: &str = r#"syntax = "proto3"; message M { int32 a = 1;
    oneof u { int32 x = 2; string y = 3; N n = 4; } oneof w { bool z = 6; } optional int32 o = 7;
    message N { int32 b = 1; int32 c = 2; } }"#;

#[test]
fn a_oneof_is_a_struct_in_front_or_fields_of_their_own() {
    let nested = payload(&[(1, Varint(1))]);
    let again = payload(&[(2, Varint(2))]);
    let bytes = payload(&[
        (4, Bytes(&nested)),
        (2, Varint(5)),
        (4, Bytes(&nested)),
        (4, Bytes(&again)),
        (1, Varint(8)),
    ]);
    let plain = case(UNIONS);
    assert_eq!(plain.text(&bytes), "((null,null,(1,2)),null,8,null)");
    assert_eq!(plain.text(&payload(&[(2, Varint(0))])), "((0,null,null),null,0,null)");
    let names: Vec<&str> = plain.schema().fields().iter().map(|field| &*field.name).collect();
    assert_eq!(names, ["u_0", "w_1", "a", "o"]);
    let union = &plain.schema().fields()[0].schema;
    assert_eq!(union.name(), Some("io.confluent.connect.protobuf.Union.u"));
    let flat = case_with(&Options { flatten_unions: true, ..Options::default() }, UNIONS);
    assert_eq!(flat.text(&bytes), "(null,null,(1,2),null,8,null)");
    assert_eq!(
        flat.text(&payload(&[(4, Bytes(&nested)), (2, Varint(0))])),
        "(0,null,null,null,0,null)"
    );
    let bare = Options {
        generate_index_for_unions: false,
        generalized_sum_types: true,
        ..Options::default()
    };
    let bare = case_with(&bare, UNIONS);
    assert_eq!(&*bare.schema().fields()[0].name, "u");
    let union = &bare.schema().fields()[0].schema;
    assert_eq!(union.parameter("org.apache.kafka.connect.data.Union"), Some("u"));
}

const PROTO2: &str = r#"syntax = "proto2"; message M {
    required int32 a = 1; optional int32 b = 2 [default = 7]; optional string c = 3 [default = "hé"];
    optional E e = 4; repeated E f = 5; optional group G = 6 { optional int32 x = 1; }
    repeated group H = 7 { required int32 y = 1; } repeated int32 p = 8 [packed = true];
    enum E { ONE = 1; TWO = 2; } extensions 100 to 200; }
    extend M { optional int32 ext = 100; }"#;

#[test]
fn proto2_has_groups_presence_required_fields_and_closed_enums() {
    let bytes = payload(&[
        (1, Varint(1)),
        (4, Varint(9)),
        (5, Varint(2)),
        (5, Varint(9)),
        (5, Bytes(&[1, 9])),
        (6, Group(&[(1, Varint(3)), (9, Varint(1))])),
        (7, Group(&[(1, Varint(4))])),
        (7, Group(&[(1, Varint(5))])),
        (8, Bytes(&[1, 2])),
        (8, Varint(3)),
        (100, Varint(1)),
    ]);
    let text = r#"["TWO","ONE"],(3),[(4),(5)],[1,2,3])"#;
    assert_eq!(case(PROTO2).text(&bytes), format!("(1,null,null,null,{text}"));
    let defaults = Options { optional_for_proto2: false, ..Options::default() };
    let defaults = case_with(&defaults, PROTO2);
    assert_eq!(defaults.text(&bytes), format!("(1,7,\"hé\",\"ONE\",{text}"));
    assert_eq!(case(PROTO2).text(&[]), ": the required field a is missing");
    let lacking = payload(&[(1, Varint(1)), (7, Group(&[]))]);
    assert_eq!(case(PROTO2).text(&lacking), ": the required field y is missing");
}

#[test]
fn enums_have_symbols_or_numbers_also_those_that_are_not_declared() {
    let text = r#"syntax = "proto3"; message M { E a = 1; repeated E b = 2; map<string, E> c = 3;
        enum E { option allow_alias = true; ZERO = 0; NIL = 0; MINUS = -1; MANY = 70000; } }"#;
    let minus = -1_i64 as u64;
    let bytes = payload(&[
        (1, Varint(minus)),
        (2, Varint(70_000)),
        (2, Bytes(&[0, 5])),
        (3, Bytes(&payload(&[(1, Bytes(b"k"))]))),
    ]);
    assert_eq!(
        case(text).text(&bytes),
        r#"("MINUS",["MANY","ZERO","UNKNOWN_ENUM_VALUE_E_5"],{"k":"ZERO"})"#
    );
    let ints = case_with(&Options { int_for_enums: true, ..Options::default() }, text);
    assert_eq!(ints.text(&bytes), r#"(-1,[70000,0,5],{"k":0})"#);
    let general = Options { generalized_sum_types: true, ..Options::default() };
    let general = case_with(&general, text);
    let schema = &general.schema().fields()[0].schema;
    assert_eq!(schema.parameter("org.apache.kafka.connect.data.Enum.MANY"), Some("70000"));
}

const KNOWN: &str = r#"syntax = "proto3";
    import "google/protobuf/timestamp.proto"; import "google/protobuf/wrappers.proto";
    import "google/type/date.proto"; import "google/type/timeofday.proto";
    import "confluent/type/decimal.proto"; import "confluent/meta.proto";
    message M {
      google.protobuf.Timestamp ts = 1; google.type.Date d = 2; google.type.TimeOfDay t = 3;
      confluent.type.Decimal n = 4 [(confluent.field_meta) = { params: [
        { key: "precision", value: "9" }, { key: "scale", value: "2" } ] }];
      int32 small = 5 [(confluent.field_meta) = { params: { key: "connect.type" value: "int8" } }];
      google.protobuf.StringValue w = 6; google.protobuf.UInt32Value u = 7;
      repeated google.protobuf.Timestamp l = 8;
    }"#;

#[test]
fn well_known_types_are_connects_logical_types() {
    let case = case(KNOWN);
    let field = |name: &str| &case.schema().fields()[case.schema().field(name).unwrap()].schema;
    assert_eq!(field("n").logical(), data::Logical::Decimal(Some(2)));
    assert_eq!(field("n").parameter("connect.decimal.precision"), Some("9"));
    assert_eq!(field("small").kind(), data::Type::Int8);
    assert_eq!((field("w").kind(), field("u").kind()), (data::Type::String, data::Type::Int64));
    let minus_one = -1_i64 as u64;
    let ts = payload(&[(1, Varint(minus_one)), (2, Varint(999_000_000))]);
    let date = payload(&[(1, Varint(2024)), (2, Varint(2)), (3, Varint(29))]);
    let time =
        payload(&[(1, Varint(23)), (2, Varint(59)), (3, Varint(59)), (4, Varint(1_000_000))]);
    let number = payload(&[(1, Bytes(&[0xff, 0x85])), (2, Varint(3)), (3, Varint(2))]);
    let bytes = payload(&[
        (1, Bytes(&ts)),
        (2, Bytes(&date)),
        (3, Bytes(&time)),
        (4, Bytes(&number)),
        (5, Varint(-128_i64 as u64)),
        (6, Bytes(&payload(&[(1, Bytes(b"x"))]))),
        (6, Bytes(&[])),
        (7, Bytes(&[])),
        (8, Bytes(&ts)),
    ]);
    assert_eq!(case.text(&bytes), "(@-1,@1709164800000,@86399001,-1.23,-128,\"x\",0,[@-1])");
    assert_eq!(case.text(&[]), "(null,null,null,null,0,null,null,[])");
    let bad_date =
        payload(&[(2, Bytes(&payload(&[(1, Varint(2023)), (2, Varint(2)), (3, Varint(29))])))]);
    assert_eq!(case.text(&bad_date), "d: no date: 2023-2-29 at byte 2");
    assert!(case.text(&payload(&[(2, Bytes(&[]))])).contains("no date: 0-0-0"));
    let late = payload(&[(3, Bytes(&payload(&[(1, Varint(24))])))]);
    assert!(case.text(&late).starts_with("t: no time of day: 24:0:0"));
    let far = payload(&[(1, Bytes(&payload(&[(1, Varint(1 << 40))])))]);
    assert!(case.text(&far).contains("out of range"));
    let big = case.text(&payload(&[(5, Varint(128))]));
    assert!(big.starts_with("small: 128 is out of the range of INT8"), "{big}");
}

#[test]
fn wrappers_are_primitives_or_structs() {
    let text = r#"syntax = "proto3"; import "google/protobuf/wrappers.proto";
        message M { google.protobuf.Int32Value a = 1; int32 b = 2; optional int32 c = 3; }"#;
    let bytes = payload(&[(1, Bytes(&payload(&[(1, Varint(5))])))]);
    assert_eq!(case(text).text(&bytes), "(5,0,null)");
    let off = Options { wrapper_for_raw_primitives: false, ..Options::default() };
    assert_eq!(case_with(&off, text).text(&bytes), "((5),0,null)");
    let nullables = Options { wrapper_for_nullables: true, ..off };
    let nullables = case_with(&nullables, text);
    assert_eq!(nullables.text(&[]), "(null,0,null)");
    let optional = |case: &Case| -> Vec<bool> {
        case.schema().fields().iter().map(|field| field.schema.is_optional()).collect()
    };
    assert_eq!(optional(&nullables), [true, false, true]);
    let keyword = Options { optional_for_nullables: true, ..Options::default() };
    assert_eq!(optional(&case_with(&keyword, text)), [true, false, true]);
    let raw = case(include_str!("builtin/wrappers.proto"));
    assert_eq!((raw.text(&[]), raw.schema().kind()), ("0d".to_owned(), data::Type::Float64));
    let all = Options { generate_struct_for_nulls: true, ..Options::default() };
    assert_eq!(case_with(&all, text).text(&[]), "(0,0,0)");
}

#[test]
fn what_is_not_set_may_be_a_struct_of_defaults() {
    let all = Options { generate_struct_for_nulls: true, ..Options::default() };
    let text = r#"syntax = "proto3"; message M { N n = 1; M m = 2; optional string s = 3;
        message N { int32 a = 1; O o = 2; } message O { repeated int32 l = 1; } }"#;
    assert_eq!(case_with(&all, text).text(&[]), "((0,([])),null,\"\")");
    assert_eq!(case(text).text(&[]), "(null,null,null)");
}

const TREE: &str = r#"syntax = "proto3"; package p; import "google/protobuf/timestamp.proto";
    message Tree { string name = 1; repeated Tree children = 2; Tree best = 3;
      map<string, Tree> named = 4; float f = 5; google.protobuf.Timestamp t = 6;
      oneof u { int32 x = 7; Tree y = 8; } optional int32 o = 9; repeated int32 l = 10; }"#;

#[test]
fn a_message_that_contains_itself_is_a_map_there() {
    let case = case(TREE);
    let best = &case.schema().fields()[case.schema().field("best").unwrap()].schema;
    assert_eq!(best.kind(), data::Type::Map);
    assert_eq!(best.parameter("io.confluent.connect.protobuf.recursive"), Some("p.Tree"));
    let leaf = payload(&[
        (1, Bytes(b"leaf")),
        (8, Bytes(&[])),
        (7, Varint(0)),
        (10, Bytes(&[1, 2])),
        (6, Bytes(&[])),
    ]);
    let more = payload(&[(10, Varint(3)), (9, Varint(0))]);
    let entry = payload(&[(1, Bytes(b"k")), (2, Bytes(&leaf))]);
    let child = payload(&[(2, Bytes(&leaf)), (4, Bytes(&entry))]);
    let bytes =
        payload(&[(1, Bytes(b"root")), (3, Bytes(&leaf)), (2, Bytes(&child)), (3, Bytes(&more))]);
    let leaf = |l: &str| r#"{"name":"leaf","f":0f,"t":@0,"x":0,"#.to_owned() + l + "}";
    let child = format!(
        r#"{{"name":"","children":[{0}],"named":{{"k":{0}}},"f":0f}}"#,
        leaf(r#""l":[1,2]"#)
    );
    assert_eq!(
        case.text(&bytes),
        format!(r#"(null,"root",[{child}],{},{{}},0f,null,null,[])"#, leaf(r#""o":0,"l":[1,2,3]"#))
    );
}

#[test]
fn wide_and_deep_schemas_are_read() {
    let fields: String = (1..=500).map(|n| format!("int32 f{n} = {n};")).collect();
    let wide = case(&format!("syntax = \"proto3\"; message W {{ {fields} }}"));
    assert_eq!(wide.schema().fields().len(), 500);
    let value = wide.read(&payload(&[(500, Varint(5)), (1, Varint(1))])).unwrap();
    assert!(text(&value).ends_with(",0,5)"));
    let deep: String =
        (0..200).map(|n| format!("message M{n} {{ int32 v = 1; M{} m = 2; }}", n + 1)).collect();
    let deep = case(&format!("syntax = \"proto3\"; {deep} message M200 {{ int32 v = 1; }}"));
    let bytes =
        (0..200).fold(payload(&[(1, Varint(7))]), |inner, _| payload(&[(2, Bytes(&inner))]));
    let read = deep.text(&bytes);
    assert!(read.starts_with("(0,(0,") && read.contains(",(7))"), "{read}");
    let beyond: String =
        (0..300).map(|n| format!("message M{n} {{ M{} m = 1; }}", n + 1)).collect();
    let beyond = file(&format!("syntax = \"proto3\"; {beyond} message M300 {{}}"));
    let message = message_at(&beyond, &[0]).unwrap();
    let refused = unfold(&Options::default(), &message, None).err().unwrap();
    assert!(refused.contains("deeper than 256"), "{refused}");
}

#[test]
fn schemas_that_explode_when_unfolded_are_refused_or_cut() {
    let twice: String =
        (0..40).map(|n| format!("message M{n} {{ M{0} a = 1; M{0} b = 2; }}", n + 1)).collect();
    let text = format!("syntax = \"proto3\"; {twice} message M40 {{}}");
    let message = message_at(&file(&text), &[0]).unwrap();
    let refused = unfold(&Options::default(), &message, None).err().unwrap();
    assert!(refused.contains("more than 50000 fields"), "{refused}");
    // Each contains all: as many paths as there are orders of them.
    let all: String = (0..20)
        .map(|n| {
            let fields: String = (0..20).map(|m| format!("M{m} f{m} = {};", m + 1)).collect();
            format!("message M{n} {{ {fields} }}")
        })
        .collect();
    let cut = case(&format!("syntax = \"proto3\"; {all}"));
    assert_eq!(cut.schema().fields().len(), 20);
    let inner = payload(&[(20, Bytes(&payload(&[(3, Bytes(&[]))])))]);
    assert!(cut.text(&inner).contains("\"f2\":{}"), "{}", cut.text(&inner));
}
