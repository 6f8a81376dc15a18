//! Random messages: prost-reflect writes and we read, we write and prost-reflect reads.

use super::compile::message_at;
use super::options::Options;
use super::read::{Reader, Scratch};
use super::read_tests::file;
use super::unfold::unfold;
use super::write::Writer;
use super::write_plan::write_plan;
use super::write_tests::assert_same;
use data::{Rows, Span};
use proptest::prelude::*;
use prost_reflect::prost::Message;
use prost_reflect::{DynamicMessage, FieldDescriptor, Kind, MapKey, MessageDescriptor, Value};
use std::sync::Arc;

const TEXT: &str = r#"syntax = "proto3"; package p;
import "google/protobuf/wrappers.proto";
message M {
  int32 a = 1; sint32 b = 2; sfixed32 c = 3; uint32 d = 4; fixed32 e = 5; int64 f = 6; uint64 g = 7;
  sint64 h = 8; fixed64 i = 9; sfixed64 j = 10; float k = 11; double l = 12; bool m = 13;
  string n = 14; bytes o = 15; E q = 17; N r = 18;
  repeated int32 ra = 21; repeated sint64 rb = 22 [packed = false]; repeated double rc = 23;
  repeated string rd = 24; repeated E re = 25; repeated N rf = 26; repeated bool rg = 5000;
  map<string, int64> ma = 31; map<int32, string> mb = 32; map<bool, N> mc = 33;
  map<sfixed64, bytes> md = 34; map<uint32, E> me = 35;
  oneof u { int32 ua = 41; string ub = 42; N uc = 43; E ud = 44; }
  optional int32 oa = 51; optional string ob = 52; optional bytes oc = 53;
  google.protobuf.Int64Value wa = 61; google.protobuf.StringValue wb = 62;
  repeated google.protobuf.UInt32Value wc = 63;
  message N { int32 x = 1; repeated N y = 2; optional double z = 3; map<string, N> w = 4; }
  enum E { ZERO = 0; ONE = 1; FAR = -7; }
}"#;

fn message() -> MessageDescriptor {
    message_at(&file(TEXT), &[0]).unwrap()
}

/// Random bytes that decide about values, one after another.
struct Dice<'a>(std::slice::Iter<'a, u8>);

impl Dice<'_> {
    fn next(&mut self) -> u8 {
        self.0.next().copied().unwrap_or(0)
    }

    fn wide(&mut self) -> u64 {
        let len = self.next() % 9;
        (0..len).fold(0, |value, _| value << 8 | u64::from(self.next()))
    }

    fn text(&mut self) -> String {
        let len = self.next() % 5;
        (0..len).map(|_| char::from_u32(u32::from(self.next()) * 67).unwrap_or('x')).collect()
    }

    fn value(&mut self, kind: &Kind, depth: usize) -> Value {
        let wide = self.wide();
        match kind {
            Kind::Double => Value::F64(f64::from(wide as i32) / 8.0),
            Kind::Float => Value::F32((wide as i16).into()),
            Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => Value::I32(wide as i32),
            Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => Value::I64(wide as i64),
            Kind::Uint32 | Kind::Fixed32 => Value::U32(wide as u32),
            Kind::Uint64 | Kind::Fixed64 => Value::U64(wide),
            Kind::Bool => Value::Bool(wide & 1 == 1),
            Kind::String => Value::String(self.text()),
            Kind::Bytes => Value::Bytes(wide.to_le_bytes()[..(wide % 9) as usize].to_vec().into()),
            Kind::Enum(_) => Value::EnumNumber([0, 1, -7, 99][(wide % 4) as usize]),
            Kind::Message(message) => Value::Message(self.message(message, depth + 1)),
        }
    }

    fn key(&mut self, kind: &Kind) -> MapKey {
        match self.value(kind, 0) {
            Value::Bool(v) => MapKey::Bool(v),
            Value::I32(v) => MapKey::I32(v),
            Value::I64(v) => MapKey::I64(v),
            Value::U32(v) => MapKey::U32(v),
            Value::U64(v) => MapKey::U64(v),
            Value::String(v) => MapKey::String(v),
            _ => MapKey::Bool(false),
        }
    }

    fn field(&mut self, field: &FieldDescriptor, depth: usize) -> Value {
        let count = self.next() % 3 + 1;
        match field.kind() {
            Kind::Message(entry) if field.is_map() => {
                let (key, value) = (entry.map_entry_key_field(), entry.map_entry_value_field());
                let pair = |_| (self.key(&key.kind()), self.value(&value.kind(), depth));
                Value::Map((0..count).map(pair).collect())
            }
            kind if field.is_list() => {
                Value::List((0..count).map(|_| self.value(&kind, depth)).collect())
            }
            kind => self.value(&kind, depth),
        }
    }

    fn message(&mut self, message: &MessageDescriptor, depth: usize) -> DynamicMessage {
        let mut out = DynamicMessage::new(message.clone());
        for field in message.fields() {
            if depth < 5 && self.next().is_multiple_of(3) {
                let value = self.field(&field, depth);
                // Zeros without presence are not there.
                if field.supports_presence() || value != field.default_value() {
                    out.set_field(&field, value);
                }
            }
        }
        out
    }
}

/// Reads bytes, and writes what was read.
fn through(options: &Options, message: &MessageDescriptor, bytes: &[u8]) -> Vec<u8> {
    let plan = unfold(options, message, None).unwrap();
    let mut rows = Rows::over(Arc::new(bytes.to_vec().into()));
    let base = Span { start: 0, len: bytes.len() as u32 };
    let mut scratch = Scratch::default();
    let mut reader = Reader { plan: &plan, base, rows: &mut rows, scratch: &mut scratch };
    let cell = reader.record(bytes, 0).unwrap_or_else(|fault| panic!("{}", fault.text()));
    let writer =
        write_plan(false, &plan.schema, message).unwrap_or_else(|f| panic!("{}", f.text()));
    let mut out = Vec::new();
    let writer = Writer { plan: &writer, rows: &rows };
    writer.record(cell, &mut out).unwrap_or_else(|fault| panic!("{}", fault.text()));
    out
}

/// All ways of reading that lose nothing.
fn options() -> [Options; 5] {
    let plain = Options::default();
    [
        plain.clone(),
        Options { flatten_unions: true, int_for_enums: true, ..plain.clone() },
        Options { enhanced: true, generalized_sum_types: true, ..plain.clone() },
        Options { wrapper_for_raw_primitives: false, ..plain.clone() },
        Options { optional_for_nullables: true, generate_index_for_unions: false, ..plain },
    ]
}

#[test]
fn what_prost_writes_we_read_and_what_we_write_prost_reads() {
    let message = message();
    let options = options();
    let config = ProptestConfig { cases: 200, ..ProptestConfig::default() };
    proptest!(config, |(dice in prop::collection::vec(any::<u8>(), 0..600), choice in 0_usize..5)| {
        let theirs = Dice(dice.iter()).message(&message, 0);
        let ours = through(&options[choice], &message, &theirs.encode_to_vec());
        let ours = DynamicMessage::decode(message.clone(), &*ours).unwrap();
        assert_same(&ours, &theirs);
    });
}

#[test]
fn any_order_of_fields_and_repeats_reads_as_prost_reads_it() {
    let message = message();
    let config = ProptestConfig { cases: 100, ..ProptestConfig::default() };
    let piece = prop::collection::vec(any::<u8>(), 0..40);
    proptest!(config, |(pieces in prop::collection::vec(piece, 0..6))| {
        // Messages one after another are one message, merged.
        let bytes: Vec<u8> = pieces
            .iter()
            .flat_map(|dice| Dice(dice.iter()).message(&message, 0).encode_to_vec())
            .collect();
        let theirs = DynamicMessage::decode(message.clone(), &*bytes).unwrap();
        let ours = through(&Options::default(), &message, &bytes);
        let ours = DynamicMessage::decode(message.clone(), &*ours).unwrap();
        assert_same(&ours, &theirs);
    });
}
