//! Messages of one schema that has every kind of field: read alone as beside others, and what was read
//! survives being written and read again.
#![no_main]

use fuzz::{SEPARATOR, assert_same_row, assert_survives, batch, decoded};
use libfuzzer_sys::fuzz_target;

const SCHEMA: &str = r#"syntax = "proto3";
import "google/protobuf/timestamp.proto"; import "google/protobuf/wrappers.proto";
import "google/type/date.proto"; import "google/type/timeofday.proto"; import "confluent/type/decimal.proto";
message M {
  int32 a = 1; sint64 b = 2; fixed32 c = 3; double d = 4; bool e = 5; string f = 6; bytes g = 7; E h = 8;
  M i = 9; repeated int32 j = 10; repeated M k = 11; map<string, M> l = 12; map<int32, string> m = 13;
  oneof u { string n = 14; M o = 15; } optional int32 p = 16; google.protobuf.Timestamp q = 17;
  google.type.Date r = 18; google.type.TimeOfDay s = 19; confluent.type.Decimal t = 20;
  google.protobuf.StringValue v = 21; N w = 22; repeated N x = 23;
  message N { int32 y = 1; repeated string z = 2; N n = 3; }
  enum E { ZERO = 0; ONE = 1; }
}"#;

fuzz_target!(|input: &[u8]| {
    let make = || {
        let props = config::Props::new();
        converters::inline(registry::Kind::Protobuf, SCHEMA, &props).expect("the schema is right")
    };
    let records: Vec<&[u8]> = input.split(|byte| *byte == SEPARATOR).collect();
    let mut converter = make();
    let all = decoded(&mut *converter, batch(records.iter().copied(), None));
    for (row, record) in records.iter().enumerate() {
        let alone = decoded(&mut *converter, batch([*record], None));
        assert_same_row((&all, row), (&alone, 0));
    }
    assert_survives(&mut *make(), &mut *make(), &all);
});
