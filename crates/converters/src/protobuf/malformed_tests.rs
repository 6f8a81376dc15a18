//! Bytes that are no message: one fault with field and byte, never a panic.

use super::options::Options;
use super::read_tests::{Case, Wire, case_with, payload};
use Wire::{Bytes, Varint};
use proptest::prelude::*;

const TEXT: &str = r#"syntax = "proto3"; import "google/protobuf/timestamp.proto";
    import "google/protobuf/wrappers.proto"; import "confluent/type/decimal.proto";
    message M { int32 a = 1; string b = 2; M c = 3; repeated fixed32 d = 4; map<string, M> e = 5;
      oneof u { bytes f = 6; M g = 7; } google.protobuf.Timestamp h = 8; double i = 9;
      google.protobuf.StringValue j = 10; confluent.type.Decimal k = 11; repeated E l = 12;
      enum E { Z = 0; } }"#;

fn case() -> Case {
    case_with(&Options::default(), TEXT)
}

#[test]
fn malformed_bytes_are_told_with_field_and_place() {
    let case = case();
    let nested = payload(&[(3, Bytes(&payload(&[(2, Bytes(b"a\xff"))])))]);
    for (bytes, fault) in [
        (&[0x08][..], "a: the message ends within a number at byte 1"),
        (
            &[0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02],
            "a: a number has more than 64 bits at byte 1",
        ),
        (&[0x12, 0x05, b'a'], "b: a length of 5 is more than the 1 bytes that are left at byte 1"),
        (
            &[0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
            "b: a length of 18446744073709551615 is more than the 0 bytes that are left at byte 1",
        ),
        (
            &[0x0a, 0x00],
            "a: the field is a length and bytes where the schema says a varint at byte 1",
        ),
        (&[0x0d, 0, 0, 0, 0], "a: the field is 4 bytes where the schema says a varint at byte 1"),
        (&[0x0f], ": a field has a wire type that does not exist at byte 0"),
        (&[0x00], ": a field has a number that is out of range at byte 0"),
        (&[0x80, 0x80, 0x80, 0x80, 0x40], ": a field has a number that is out of range at byte 0"),
        (&[0x0c], ": the end of a group that did not begin at byte 0"),
        (&[0x9b, 0x06], ": the message ends within a number at byte 2"),
        (&[0x9b, 0x06, 0xa4, 0x06], ": the end of a group that did not begin at byte 2"),
        (&[0x1b], "c: the message ends within a group at byte 1"),
        (&[0x12, 0x01, 0xff], "b: a string has bytes that are not UTF-8 at byte 2"),
        (&nested, "c.b: a string has bytes that are not UTF-8 at byte 5"),
        (&[0x49, 0, 0], "i: the message ends within a number at byte 1"),
        (&[0x22, 0x03, 0, 0, 0], "d: the message ends within a number at byte 2"),
        (
            &[0x2a, 0x02, 0x0a, 0x05],
            "e: a length of 5 is more than the 0 bytes that are left at byte 3",
        ),
    ] {
        assert_eq!(case.read(bytes).unwrap_err(), fault, "{bytes:02x?}");
    }
}

#[test]
fn values_that_are_nested_too_deep_are_refused() {
    let case = case();
    let nest = |levels: usize, number: u32| {
        (0..levels).fold(Vec::new(), |inner, _| payload(&[(number, Bytes(&inner))]))
    };
    assert!(case.read(&nest(250, 3)).is_ok());
    for bytes in [nest(300, 3), nest(300, 7), [0x1b].repeat(100_000), [0x9b, 0x06].repeat(100_000)]
    {
        let fault = case.read(&bytes).unwrap_err();
        assert!(fault.contains("deeper than 256 levels"), "{fault}");
    }
}

#[test]
fn parts_that_come_again_and_again_cost_no_more_than_their_bytes() {
    let case = case();
    let one = payload(&[(3, Bytes(&payload(&[(4, Bytes(&[0; 4]))]))), (4, Bytes(&[1; 4]))]);
    let many = one.repeat(100_000);
    assert!(case.read(&many).is_ok());
    let entries = payload(&[(5, Bytes(&payload(&[(1, Bytes(b"k")), (2, Bytes(&[]))])))]);
    assert!(case.read(&entries.repeat(100_000)).is_ok());
    let union = payload(&[(6, Bytes(b"")), (7, Bytes(&[]))]);
    assert!(case.read(&union.repeat(100_000)).is_ok());
    // Each level comes twice: read again for each time it would double with each level.
    let twice = (0..200).fold(payload(&[(1, Varint(1))]), |inner, _| {
        payload(&[(3, Bytes(&inner)), (3, Bytes(&[]))])
    });
    assert!(case.read(&twice).is_ok());
}

#[test]
fn any_bytes_are_a_message_or_a_fault() {
    let case = case();
    let inner = payload(&[(1, Varint(300)), (2, Bytes(b"text")), (12, Bytes(&[0, 1]))]);
    let good = payload(&[
        (5, Bytes(&payload(&[(1, Bytes(b"key")), (2, Bytes(&inner))]))),
        (7, Bytes(&inner)),
        (8, Bytes(&payload(&[(1, Varint(5))]))),
        (10, Bytes(&payload(&[(1, Bytes(b"w"))]))),
        (11, Bytes(&payload(&[(1, Bytes(&[1, 2])), (3, Varint(2))]))),
        (4, Bytes(&[0; 8])),
    ]);
    assert!(case.read(&good).is_ok());
    proptest!(|(
        any in prop::collection::vec(any::<u8>(), 0..200),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    )| {
        let mut changed = good.clone();
        let at = at.index(changed.len());
        changed[at] = byte;
        for bytes in [any, changed] {
            if let Err(fault) = case.read(&bytes) {
                assert!(fault.contains(": "), "{fault}");
            }
        }
    });
}
