//! What Connect's own types have no room for, read for rows of SQL: microseconds, durations, numbers
//! without a sign.

use super::options::Options;
use super::read_tests::{case_with, text};
use data::{Semantic, TimeUnit, Value};

const TEXT: &str = r#"syntax = "proto3";
    import "google/protobuf/timestamp.proto"; import "google/protobuf/duration.proto";
    import "google/protobuf/wrappers.proto"; import "google/type/timeofday.proto";
    message M {
        google.protobuf.Timestamp at = 1; google.protobuf.Duration took = 2;
        google.type.TimeOfDay clock = 3; google.protobuf.UInt64Value big = 4; fixed64 raw = 5;
        M inner = 6;
    }"#;

fn part(number: u8, bytes: &[u8]) -> Vec<u8> {
    [&[number << 3 | 2, bytes.len() as u8], bytes].concat()
}

/// A number below 2^28 as a varint of so many bytes, or one that is negative.
fn varint(number: i64) -> Vec<u8> {
    let (mut left, mut out) = (number as u64, Vec::new());
    while left >= 0x80 {
        out.push(left as u8 | 0x80);
        left >>= 7;
    }
    out.push(left as u8);
    out
}

/// A message of numbers in the fields 1, 2 and so on.
fn numbers(of: &[i64]) -> Vec<u8> {
    let field = |(n, value): (usize, &i64)| [vec![(n as u8 + 1) << 3], varint(*value)].concat();
    of.iter().enumerate().flat_map(field).collect()
}

fn message() -> Vec<u8> {
    [
        part(1, &numbers(&[-1, 999_999_999])),
        part(2, &numbers(&[-3, -4_000])),
        part(3, &numbers(&[12, 34, 56, 789_012_345])),
        part(4, &numbers(&[-1])),
        [&[5 << 3 | 1][..], &u64::MAX.to_le_bytes()].concat(),
    ]
    .concat()
}

#[test]
fn what_connect_has_no_room_for_is_kept() {
    let case = case_with(&Options { exact: true, ..Options::default() }, TEXT);
    let payload = [message(), part(6, &message())].concat();
    let value = case.read(&payload).unwrap();
    let shown = text(&value);
    assert!(shown.starts_with("(-1,-3000004,45296789012,-1,-1,"), "{shown}");
    let Value::Struct(fields) = &value else { panic!("{shown}") };
    let Some(Value::Map(entries)) = fields.values.get(5) else { panic!("{shown}") };
    let entry = |name: &str| {
        let of =
            |(key, value): &(Value, Value)| (text(key) == format!("{name:?}")).then(|| text(value));
        entries.iter().find_map(of).unwrap_or_default()
    };
    assert_eq!(entry("at"), "\"1969-12-31T23:59:59.999999Z\"");
    assert_eq!(entry("took"), "\"PT-3.000004S\"");
    assert_eq!(entry("clock"), "\"12:34:56.789012\"");
    let meanings: Vec<_> =
        case.schema().fields().iter().map(|field| Semantic::meaning(&field.schema)).collect();
    let unsigned = Some(Semantic::Unsigned);
    let (at, clock) = (Semantic::Instant(TimeUnit::Micros), Semantic::Time(TimeUnit::Micros));
    let took = Some(Semantic::Elapsed);
    assert_eq!(meanings[..5], [Some(at), took, Some(clock), unsigned, unsigned]);
}

#[test]
fn spans_and_times_out_of_range_are_faults() {
    let case = case_with(&Options { exact: true, ..Options::default() }, TEXT);
    for (field, parts, wanted) in [
        (1, &[i64::MAX, 0][..], "at: "),
        (2, &[315_576_000_001, 0], "took: "),
        (2, &[1, -1], "a duration of 1 seconds and -1 nanoseconds is out of range"),
        (2, &[i64::MIN, 0], "is out of range"),
        (3, &[24, 0, 0, 0], "no time of day: 24:0:0 and 0 ns"),
    ] {
        let fault = case.read(&part(field, &numbers(parts))).unwrap_err();
        assert!(fault.contains(wanted), "{fault}");
    }
}

#[test]
fn connectors_get_what_confluents_converter_gives() {
    let case = case_with(&Options::default(), TEXT);
    let shown = text(&case.read(&message()).unwrap());
    assert!(shown.starts_with("(@-1,(-3,-4000),@45296789,-1,-1,"), "{shown}");
}
