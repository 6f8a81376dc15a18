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
        self.plan.schema.validate(None, &value).map_err(|error| error.0)?;
        Ok(value)
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
