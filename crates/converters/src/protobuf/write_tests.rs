//! What is written for Connect schemas and values, read by prost-reflect and by our own reader.

use super::compile::{Imports, compile};
use super::deep::deep;
use super::options::Options;
use super::read::{Reader, Scratch};
use super::to_proto::to_proto;
use super::unfold::unfold;
use super::write::Writer;
use super::write_plan::write_plan;
use data::{Cell, Rows, Schema, SchemaBuilder, Span, Type, Value, Width};
use prost_reflect::{DynamicMessage, MessageDescriptor};
use std::sync::Arc;

fn built(builder: SchemaBuilder) -> Arc<Schema> {
    Arc::new(builder.build().unwrap())
}

fn of(kind: Type) -> Arc<Schema> {
    Arc::new(Schema::new(kind))
}

fn optional(kind: Type) -> Arc<Schema> {
    built(SchemaBuilder::new(kind).optional())
}

/// The text for a schema.
fn text(options: &Options, schema: &Arc<Schema>) -> Result<String, String> {
    deep(|| to_proto(options, schema).map(|proto| proto.text).map_err(|fault| fault.text()))
}

fn message(options: &Options, schema: &Arc<Schema>) -> MessageDescriptor {
    let proto = deep(|| to_proto(options, schema).map_err(|fault| fault.text())).unwrap();
    let file = compile(&proto.text, Imports::new());
    let file = file.unwrap_or_else(|fault| panic!("{fault}\n{}", proto.text));
    file.parent_pool().get_message_by_name(&proto.name).unwrap()
}

/// The bytes of a value in a message.
pub(super) fn written_as(
    schema: &Arc<Schema>,
    message: &MessageDescriptor,
    value: &Value,
) -> Result<Vec<u8>, String> {
    let plan = deep(|| write_plan(false, schema, message).map_err(|fault| fault.text()))?;
    let mut rows = Rows::default();
    let cell = rows.put_value(Some(schema), value);
    let mut out = Vec::new();
    let writer = Writer { plan: &plan, rows: &rows };
    writer.record(cell, &mut out).map_err(|fault| fault.text())?;
    Ok(out)
}

/// Writes a value, checks that prost-reflect can read it, and reads it back.
fn round(
    options: &Options,
    schema: &Arc<Schema>,
    value: &Value,
) -> Result<(Arc<Schema>, Value), String> {
    let message = message(options, schema);
    let bytes = written_as(schema, &message, value)?;
    if let Err(error) = DynamicMessage::decode(message.clone(), &*bytes) {
        // prost ends at 100 levels.
        assert!(error.to_string().contains("recursion limit"), "{error}");
    }
    let plan = unfold(options, &message, Some(99))?;
    let mut rows = Rows::over(Arc::new(bytes.clone().into()));
    let base = Span { start: 0, len: bytes.len() as u32 };
    let mut scratch = Scratch::default();
    let mut reader = Reader { plan: &plan, base, rows: &mut rows, scratch: &mut scratch };
    let cell = reader.record(&bytes, 0).map_err(|fault| fault.text())?;
    let value = rows.value(Some(&plan.schema), cell);
    Ok((plan.schema, value))
}

fn decimal(unscaled: i8, scale: i32) -> Value {
    Value::Decimal { unscaled: vec![unscaled as u8], scale }
}

fn order() -> (Arc<Schema>, Value) {
    let line = SchemaBuilder::structure()
        .name("shop.Line")
        .field("sku", of(Type::String))
        .field("line", of(Type::Int8))
        .optional();
    let colour = SchemaBuilder::new(Type::String)
        .name("Colour")
        .parameter("io.confluent.connect.protobuf.Enum", "Colour")
        .parameter("io.confluent.connect.protobuf.Enum.RED", "0")
        .parameter("io.confluent.connect.protobuf.Enum.BLUE", "5");
    let union = SchemaBuilder::structure()
        .name("io.confluent.connect.protobuf.Union.choice")
        .field("text", optional(Type::String))
        .field("number", optional(Type::Int32))
        .optional();
    let schema = SchemaBuilder::structure()
        .name("shop.v1.Order")
        .field(
            "id",
            built(
                SchemaBuilder::new(Type::Int64).parameter("io.confluent.connect.protobuf.Tag", "2"),
            ),
        )
        .field("small", of(Type::Int16))
        .field("choice_0", built(union))
        .field(
            "amount",
            built(SchemaBuilder::decimal(2).parameter("connect.decimal.precision", "9")),
        )
        .field("day", built(SchemaBuilder::date()))
        .field("time", built(SchemaBuilder::time()))
        .field("at", built(SchemaBuilder::timestamp().optional()))
        .field("line", built(line.clone()))
        .field("lines", built(SchemaBuilder::array(built(line))))
        .field(
            "unsigned",
            built(
                SchemaBuilder::new(Type::Int64)
                    .parameter("io.confluent.connect.protobuf.Type", "uint32"),
            ),
        )
        .field("colour", built(colour))
        .field(
            "prices",
            built(SchemaBuilder::map(of(Type::String), of(Type::Float64)).name("price_list")),
        )
        .field("raw", of(Type::Bytes));
    let line =
        |sku: &str, n: i64| Value::fields(vec![Value::Text(sku.into()), Value::Int(n, Width::W8)]);
    let value = Value::fields(vec![
        Value::int(-1),
        Value::Int(-300, Width::W16),
        Value::fields(vec![Value::Null, Value::Int(0, Width::W32)]),
        decimal(-5, 2),
        Value::Instant(-86_400_000),
        Value::Instant(86_399_999),
        Value::Null,
        line("a", -128),
        Value::List(vec![line("b", 1), line("", 0)]),
        Value::int(4_294_967_295),
        Value::Text("BLUE".into()),
        Value::Map(vec![(Value::Text("x".into()), Value::Float(-0.0))]),
        Value::Bytes(vec![0, 255]),
    ]);
    (built(schema), value)
}

#[test]
fn the_text_of_a_schema() {
    let (schema, _) = order();
    let text = text(&Options::default(), &schema).unwrap();
    assert_eq!(
        text,
        r#"syntax = "proto3";
package shop.v1;

import "confluent/meta.proto";
import "confluent/type/decimal.proto";
import "google/protobuf/timestamp.proto";
import "google/type/date.proto";
import "google/type/timeofday.proto";

message Order {
  int64 id = 2;
  int32 small = 1 [(confluent.field_meta) = { params: [ { key: "connect.type", value: "int16" } ] }];
  oneof choice {
    string text = 4;
    int32 number = 5;
  }
  confluent.type.Decimal amount = 6 [(confluent.field_meta) = { params: [ { key: "precision", value: "9" }, { key: "scale", value: "2" } ] }];
  google.type.Date day = 7;
  google.type.TimeOfDay time = 8;
  google.protobuf.Timestamp at = 9;
  Line line = 10;
  repeated Line lines = 11;
  uint32 unsigned = 12;
  Colour colour = 13;
  repeated PriceListEntry prices = 14;
  bytes raw = 15;
  message Line {
    string sku = 1;
    int32 line = 2 [(confluent.field_meta) = { params: [ { key: "connect.type", value: "int8" } ] }];
  }
  message PriceListEntry {
    string key = 1;
    double value = 2;
  }
  enum Colour {
    RED = 0;
    BLUE = 5;
  }
}
"#
    );
}

#[test]
fn a_struct_of_everything_comes_back() {
    let (schema, value) = order();
    let (read, back) = round(&Options::default(), &schema, &value).unwrap();
    // The union is in front when read.
    let names: Vec<&str> = read.fields().iter().map(|field| &*field.name).collect();
    assert_eq!(names[..3], ["choice_0", "id", "small"]);
    let Value::Struct(back) = back else { panic!() };
    let Value::Struct(wanted) = value else { panic!() };
    for (index, field) in schema.fields().iter().enumerate() {
        let place = read.field(&field.name).unwrap();
        let found = super::read_tests::text(&back.values[place]);
        assert_eq!(found, super::read_tests::text(&wanted.values[index]), "{}", field.name);
    }
    // What was read is written and read as the same once more: nothing more is lost.
    let value = Value::Struct(back);
    let (again, once_more) = round(&Options::default(), &read, &value).unwrap();
    assert_eq!(again, read);
    assert_eq!(super::read_tests::text(&once_more), super::read_tests::text(&value));
}

#[test]
fn versions_names_and_parameters_come_back_with_enhanced_support() {
    let options = Options { enhanced: true, ..Options::default() };
    let micros = SchemaBuilder::new(Type::Int64)
        .name("io.debezium.time.MicroTimestamp")
        .version(1)
        .parameter("a b", "\"é\"\n")
        .optional();
    let inner =
        SchemaBuilder::structure().name("p.Inner").version(3).field("x", optional(Type::Int8));
    let schema = SchemaBuilder::structure()
        .name("p.Outer")
        .version(7)
        .parameter("q", "r")
        .field("m", built(micros.clone()))
        .field("l", built(SchemaBuilder::array(built(micros)).optional()))
        .field("i", built(inner.optional()));
    let schema = built(schema);
    let value = Value::fields(vec![Value::int(1), Value::List(vec![]), Value::Null]);
    let (read, _) = round(&options, &schema, &value).unwrap();
    assert_eq!(
        (read.name(), read.version(), read.parameter("q")),
        (Some("p.Outer"), Some(7), Some("r"))
    );
    let field = |name: &str| &read.fields()[read.field(name).unwrap()].schema;
    for micros in [field("m"), field("l").value_schema().unwrap()] {
        assert_eq!(micros.name(), Some("io.debezium.time.MicroTimestamp"));
        assert_eq!((micros.version(), micros.parameter("a b")), (Some(1), Some("\"é\"\n")));
    }
    assert_eq!(field("i").version(), Some(3));
    let (plain, _) = round(&Options::default(), &schema, &value).unwrap();
    assert_eq!((plain.name(), plain.parameter("q")), (Some("Outer"), None));
    assert_eq!(plain.version(), Some(99), "the registry's");
}

#[test]
fn primitives_are_wrapped_and_come_back() {
    for (kind, value) in [
        (Type::Int32, Value::Int(-5, Width::W32)),
        (Type::Int64, Value::int(i64::MIN)),
        (Type::Float32, Value::Float32(1.5)),
        (Type::Float64, Value::Float(0.0)),
        (Type::Boolean, Value::Bool(true)),
        (Type::String, Value::Text("key".into())),
        (Type::Bytes, Value::Bytes(vec![])),
    ] {
        let (read, back) = round(&Options::default(), &of(kind), &value).unwrap();
        assert_eq!((read.kind(), &back), (kind, &value));
    }
    let keys = message(&Options::default(), &of(Type::String));
    assert_eq!(super::compile::path_of(&keys), [7], "as in Google's own file");
    for schema in [
        built(SchemaBuilder::timestamp()),
        built(SchemaBuilder::array(of(Type::Int8))),
        built(SchemaBuilder::map(of(Type::String), of(Type::Int8))),
    ] {
        assert!(text(&Options::default(), &schema).is_err());
    }
}

#[test]
fn nulls_are_wrappers_or_optional_fields_where_that_is_wanted() {
    let schema = built(
        SchemaBuilder::structure()
            .name("N")
            .field("a", optional(Type::Int32))
            .field("b", optional(Type::String))
            .field("c", of(Type::Int64)),
    );
    let null = Value::fields(vec![Value::Null, Value::Null, Value::int(0)]);
    let zero =
        Value::fields(vec![Value::Int(0, Width::W32), Value::Text(String::new()), Value::int(0)]);
    let back = |options: &Options, value: &Value| {
        super::read_tests::text(&round(options, &schema, value).unwrap().1)
    };
    let plain = Options::default();
    assert_eq!(
        (back(&plain, &null), back(&plain, &zero)),
        ("(0,\"\",0)".into(), "(0,\"\",0)".into())
    );
    let wrapped = Options { wrapper_for_nullables: true, ..Options::default() };
    let keyword = Options { optional_for_nullables: true, ..Options::default() };
    for options in [wrapped.clone(), keyword] {
        assert_eq!(back(&options, &null), "(null,null,0)");
        assert_eq!(back(&options, &zero), "(0,\"\",0)");
        let (read, _) = round(&options, &schema, &null).unwrap();
        let optional: Vec<bool> = read.fields().iter().map(|f| f.schema.is_optional()).collect();
        assert_eq!(optional, [true, true, false]);
    }
    assert!(text(&wrapped, &schema).unwrap().contains("google.protobuf.Int32Value a = 1"));
}

#[test]
fn defaults_stand_for_nulls_and_required_nulls_are_refused() {
    let default = built(SchemaBuilder::new(Type::Int32).default(Value::Int(7, Width::W32)));
    let schema =
        SchemaBuilder::structure().name("D").field("a", default).field("b", of(Type::Int32));
    let schema = built(schema);
    let one = Value::Int(1, Width::W32);
    let (_, back) =
        round(&Options::default(), &schema, &Value::fields(vec![Value::Null, one.clone()]))
            .unwrap();
    assert_eq!(super::read_tests::text(&back), "(7,1)");
    let refused = round(&Options::default(), &schema, &Value::fields(vec![one, Value::Null]));
    assert_eq!(refused.unwrap_err(), "field b: null for a required value");
}

#[test]
fn what_protobuf_has_no_form_for_is_refused_with_its_path() {
    let list = built(SchemaBuilder::array(of(Type::Int8)));
    let tagged = |tag: &str| {
        built(SchemaBuilder::new(Type::Int8).parameter("io.confluent.connect.protobuf.Tag", tag))
    };
    let in_struct = |name: &str, schema: Arc<Schema>| {
        let inner = SchemaBuilder::structure().name("I").field(name, schema);
        built(SchemaBuilder::structure().name("O").field("i", built(inner)))
    };
    for (schema, wanted) in [
        (in_struct("l", built(SchemaBuilder::array(list))), "field i.l: a list of lists"),
        (in_struct("a-b", of(Type::Int8)), "scrub.invalid.names"),
        (in_struct("t", tagged("0")), "is no field number: 0"),
        (in_struct("t", tagged("x")), "is no field number: x"),
        (
            in_struct("m", built(SchemaBuilder::map_of(Some(of(Type::String)), None))),
            "without a schema",
        ),
    ] {
        let refused = text(&Options::default(), &schema).unwrap_err();
        assert!(refused.contains(wanted), "{refused}");
    }
    let twice =
        SchemaBuilder::structure().name("T").field("a", tagged("3")).field("b", tagged("3"));
    assert!(text(&Options::default(), &built(twice)).unwrap_err().contains("number 3"));
    let scrub = Options { scrub_invalid_names: true, ..Options::default() };
    let odd = built(SchemaBuilder::structure().name("my-ns.9x").field("a-b", of(Type::Int8)));
    let text = text(&scrub, &odd).unwrap();
    assert!(
        text.contains("package my_ns;") && text.contains("message x9x") && text.contains("a_b = 1")
    );
}

#[test]
fn types_of_one_name_are_declared_once_or_get_names_of_their_own() {
    let inner =
        |kind: Type| built(SchemaBuilder::structure().name("I").field("x", of(kind)).optional());
    let unnamed = || SchemaBuilder::structure().field("y", of(Type::Int32));
    let schema = SchemaBuilder::structure()
        .field("a", inner(Type::Int32))
        .field("I", inner(Type::Int32))
        .field("c", inner(Type::String))
        .field("d", built(unnamed()))
        .field("e", built(SchemaBuilder::map(of(Type::Int32), built(unnamed()))))
        .field(
            "f",
            built(SchemaBuilder::map(
                of(Type::String),
                built(SchemaBuilder::array(of(Type::Int8))),
            )),
        );
    let schema = built(schema);
    let text = text(&Options::default(), &schema).unwrap();
    assert!(text.contains("message ConnectDefault1 {"), "{text}");
    assert_eq!(text.matches("message IMessage {").count(), 1, "{text}");
    assert_eq!(
        text.matches("message I2 {").count() + text.matches("message IMessage2 {").count(),
        1,
        "{text}"
    );
    let i = |v: Value| Value::fields(vec![v]);
    let one = Value::Int(1, Width::W32);
    let value = Value::fields(vec![
        i(one.clone()),
        i(Value::Int(2, Width::W32)),
        i(Value::Text("s".into())),
        i(one.clone()),
        Value::Map(vec![(one.clone(), i(one))]),
        Value::Map(vec![(Value::Text("k".into()), Value::List(vec![Value::Int(1, Width::W8)]))]),
    ]);
    let (_, back) = round(&Options::default(), &schema, &value).unwrap();
    // A map of lists is a list of entries when it is read.
    let wanted = r#"((1),(2),("s"),(1),{1:(1)},[("k",[1])])"#;
    assert_eq!(super::read_tests::text(&back), wanted);
}

#[test]
fn wide_and_deep_structs_come_back() {
    let mut schema = SchemaBuilder::structure().name("L").field("v", of(Type::Int32)).optional();
    let mut value = Value::fields(vec![Value::Int(7, Width::W32)]);
    for level in 0..199 {
        let outer = SchemaBuilder::structure().name(&format!("L{level}")).field("m", built(schema));
        schema = outer.field("v", optional(Type::Int32)).optional();
        value = Value::fields(vec![value, Value::Int(level, Width::W32)]);
    }
    let schema = built(schema);
    let (_, back) = round(&Options::default(), &schema, &value).unwrap();
    assert_eq!(super::read_tests::text(&back), super::read_tests::text(&value));
    let wide = (0..500).fold(SchemaBuilder::structure().name("W"), |wide, n| {
        wide.field(&format!("f{n}"), of(Type::Int32))
    });
    let value = Value::fields((0..500).map(|n| Value::Int(n, Width::W32)).collect());
    let (_, back) = round(&Options::default(), &built(wide), &value).unwrap();
    assert_eq!(super::read_tests::text(&back), super::read_tests::text(&value));
}

#[test]
fn a_message_of_others_takes_what_fits_and_tells_what_does_not() {
    let text = r#"syntax = "proto2"; message T { optional uint32 a = 4; required string b = 2;
        optional E e = 3; optional int64 at = 5; enum E { ONE = 1; } }"#;
    let target = super::compile::message_at(&compile(text, Imports::new()).unwrap(), &[0]).unwrap();
    let schema = |name: &str, kind: Type| {
        built(SchemaBuilder::structure().field(name, built(SchemaBuilder::new(kind).optional())))
    };
    let one = |value: Value| Value::fields(vec![value]);
    let write = |schema: &Arc<Schema>, value| written_as(schema, &target, &one(value));
    let a = schema("a", Type::Int64);
    assert_eq!(write(&a, Value::int(0)).unwrap(), [0x20, 0], "zero is no null in proto2");
    assert!(
        write(&a, Value::int(-1))
            .unwrap_err()
            .contains("field a: -1 is out of the range of uint32")
    );
    assert_eq!(write(&schema("e", Type::String), Value::Text("ONE".into())).unwrap(), [0x18, 1]);
    let no_symbol = write(&schema("e", Type::String), Value::Text("TWO".into())).unwrap_err();
    assert_eq!(no_symbol, "field e: \"TWO\" is no symbol of E");
    let missing = schema("zz", Type::Int8);
    assert_eq!(write(&missing, Value::Null).unwrap(), [0_u8; 0]);
    let refused = write(&missing, Value::Int(1, Width::W8)).unwrap_err();
    assert_eq!(refused, "field zz: the schema has no such field");
    assert!(write(&schema("b", Type::Int8), Value::Null).unwrap_err().contains("field b: INT8"));
    let at = built(SchemaBuilder::structure().field("at", built(SchemaBuilder::timestamp())));
    assert_eq!(write(&at, Value::Instant(5)).unwrap(), [0x28, 5]);
}

#[test]
fn a_message_that_contains_itself_is_written_as_it_was() {
    let text = r#"syntax = "proto3"; package p; message Tree { string name = 1; repeated Tree children = 2;
        Tree best = 3; map<string, Tree> named = 4; float f = 5; repeated sint32 n = 6; optional E e = 7;
        enum E { A = 0; B = 1; } }"#;
    let message =
        super::compile::message_at(&compile(text, Imports::new()).unwrap(), &[0]).unwrap();
    let plan = unfold(&Options::default(), &message, None).unwrap();
    let mut tree = DynamicMessage::new(message.clone());
    let mut leaf = DynamicMessage::new(message.clone());
    use prost_reflect::Value as V;
    leaf.set_field_by_name("name", V::String("leaf".into()));
    leaf.set_field_by_name("f", V::F32(2.5));
    leaf.set_field_by_name("n", V::List(vec![V::I32(-1), V::I32(2)]));
    leaf.set_field_by_name("e", V::EnumNumber(1));
    let mut child = leaf.clone();
    child.set_field_by_name("best", V::Message(leaf.clone()));
    let named = [(prost_reflect::MapKey::String("k".into()), V::Message(leaf.clone()))];
    child.set_field_by_name("named", V::Map(named.into()));
    tree.set_field_by_name("children", V::List(vec![V::Message(child), V::Message(leaf)]));
    use prost_reflect::prost::Message;
    let bytes = tree.encode_to_vec();
    let mut rows = Rows::over(Arc::new(bytes.clone().into()));
    let base = Span { start: 0, len: bytes.len() as u32 };
    let mut scratch = Scratch::default();
    let mut reader = Reader { plan: &plan, base, rows: &mut rows, scratch: &mut scratch };
    let cell = reader.record(&bytes, 0).unwrap();
    let write = |target: &MessageDescriptor, cell: Cell| {
        let plan = write_plan(false, &plan.schema, target).map_err(|f| f.text()).unwrap();
        let mut out = Vec::new();
        Writer { plan: &plan, rows: &rows }.record(cell, &mut out).map_err(|f| f.text()).unwrap();
        DynamicMessage::decode(target.clone(), &*out).unwrap()
    };
    assert_same(&write(&message, cell), &tree);
    let own = super::write_tests::message(&Options::default(), &plan.schema);
    let ours = write(&own, cell);
    let theirs = DynamicMessage::decode(own, &*tree.encode_to_vec()).unwrap();
    assert_same(&ours, &theirs);
}

/// Equality without `Debug`, which does not end for a message that contains itself.
pub(super) fn assert_same(ours: &DynamicMessage, theirs: &DynamicMessage) {
    use prost_reflect::prost::Message;
    assert!(ours == theirs, "{:02x?} {:02x?}", ours.encode_to_vec(), theirs.encode_to_vec());
}
