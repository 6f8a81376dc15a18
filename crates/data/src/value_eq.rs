//! When two values are the same: as Java's `equals` has it, and hashing to go with it.
//!
//! Invariants: floats compare by their bits, all NaNs alike, so that `==` is reflexive and -0.0 is
//! not 0.0; a decimal's scale counts, leading sign bytes do not; a map is a set of pairs. A struct
//! without a schema is not one with a schema: bring both to one form first.

use crate::value::{Struct, Value};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Maps up to this size are compared pair by pair, without a table.
const SMALL_MAP: usize = 8;

impl PartialEq for Value {
    fn eq(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Null, Value::Null) => true,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Int(a, wide), Value::Int(b, narrow)) => a == b && wide == narrow,
            (Value::Float32(a), Value::Float32(b)) => single_bits(*a) == single_bits(*b),
            (Value::Float(a), Value::Float(b)) => double_bits(*a) == double_bits(*b),
            (Value::Text(a), Value::Text(b)) => a == b,
            (Value::Bytes(a), Value::Bytes(b)) => a == b,
            (
                Value::Decimal { unscaled: a, scale },
                Value::Decimal { unscaled: b, scale: other },
            ) => scale == other && minimal(a) == minimal(b),
            (Value::BigInteger(a), Value::BigInteger(b)) => minimal(a) == minimal(b),
            (Value::Instant(a), Value::Instant(b)) => a == b,
            (Value::List(a), Value::List(b)) => a == b,
            (Value::Map(a), Value::Map(b)) => same_pairs(a, b),
            (Value::Struct(a), Value::Struct(b)) => a == b,
            _ => false,
        }
    }
}

impl Eq for Value {}

impl PartialEq for Struct {
    fn eq(&self, other: &Struct) -> bool {
        self.schema == other.schema && self.values == other.values
    }
}

impl Eq for Struct {}

fn single_bits(value: f32) -> u32 {
    if value.is_nan() { f32::NAN.to_bits() } else { value.to_bits() }
}

fn double_bits(value: f64) -> u64 {
    if value.is_nan() { f64::NAN.to_bits() } else { value.to_bits() }
}

/// Two's complement without the bytes that only repeat the sign; zero is no byte at all.
fn minimal(bytes: &[u8]) -> &[u8] {
    let mut rest = bytes;
    loop {
        match rest {
            [0] => return &[],
            [0, next, ..] if next & 0x80 == 0 => {}
            [0xff, next, ..] if next & 0x80 != 0 => {}
            _ => return rest,
        }
        rest = rest.get(1..).unwrap_or_default();
    }
}

fn same_pairs(a: &[(Value, Value)], b: &[(Value, Value)]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    if a.iter().zip(b).all(|(a, b)| a == b) {
        return true;
    }
    if a.len() <= SMALL_MAP {
        let found = |(key, value): &(Value, Value)| {
            b.iter().any(|(other_key, other)| key == other_key && value == other)
        };
        return a.iter().all(found);
    }
    let b: HashMap<&Value, &Value> = b.iter().map(|(key, value)| (key, value)).collect();
    a.iter().all(|(key, value)| b.get(key).is_some_and(|other| *other == value))
}

impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::mem::discriminant(self).hash(state);
        match self {
            Value::Null => {}
            Value::Bool(value) => value.hash(state),
            Value::Int(value, width) => (value, width).hash(state),
            Value::Float32(value) => single_bits(*value).hash(state),
            Value::Float(value) => double_bits(*value).hash(state),
            Value::Text(text) => text.hash(state),
            Value::Bytes(bytes) => bytes.hash(state),
            Value::Decimal { unscaled, scale } => (minimal(unscaled), scale).hash(state),
            Value::BigInteger(value) => minimal(value).hash(state),
            Value::Instant(ms) => ms.hash(state),
            Value::List(items) => items.hash(state),
            Value::Map(entries) => {
                // A sum, for the order of the pairs means nothing.
                let of_pair = |pair: &(Value, Value)| {
                    let mut hasher = DefaultHasher::new();
                    pair.hash(&mut hasher);
                    hasher.finish()
                };
                let sum = entries.iter().map(of_pair).fold(0_u64, u64::wrapping_add);
                (entries.len(), sum).hash(state);
            }
            Value::Struct(value) => value.values.hash(state),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::Width;

    fn hash(value: &Value) -> u64 {
        let mut hasher = DefaultHasher::new();
        value.hash(&mut hasher);
        hasher.finish()
    }

    fn decimal(unscaled: &[u8], scale: i32) -> Value {
        Value::Decimal { unscaled: unscaled.to_vec(), scale }
    }

    #[test]
    fn what_is_equal_in_java_is_equal_and_hashes_alike() {
        let pairs: Vec<(Value, Value)> =
            (0..20).map(|n| (Value::int(n), Value::Text(n.to_string()))).collect();
        let turned: Vec<_> = pairs.iter().rev().cloned().collect();
        for (a, b) in [
            (Value::Float(f64::NAN), Value::Float(-f64::NAN)),
            (Value::Float32(f32::NAN), Value::Float32(f32::from_bits(0x7fc0_0001))),
            (decimal(&[0, 0, 5], 1), decimal(&[5], 1)),
            (decimal(&[0xff, 0xff, 0x80], 0), decimal(&[0x80], 0)),
            (decimal(&[0, 0], 0), decimal(&[], 0)),
            (Value::BigInteger(vec![0, 0xff]), Value::BigInteger(vec![0, 0, 0xff])),
            (Value::Map(pairs[..3].to_vec()), Value::Map(turned[17..].to_vec())),
            (Value::Map(pairs), Value::Map(turned)),
        ] {
            assert_eq!(a, b);
            assert_eq!(hash(&a), hash(&b), "{a:?}");
        }
    }

    #[test]
    fn what_differs_in_java_differs() {
        for (a, b) in [
            (Value::Float(0.0), Value::Float(-0.0)),
            (Value::Float(1.0), Value::Float32(1.0)),
            (decimal(&[10], 1), decimal(&[100], 2)),
            (decimal(&[0xff], 0), decimal(&[0, 0xff], 0)),
            (Value::int(1), Value::Int(1, Width::W32)),
            (Value::Text("a".into()), Value::Bytes(b"a".to_vec())),
            (Value::List(vec![]), Value::Map(vec![])),
        ] {
            assert_ne!(a, b);
        }
    }
}
