//! The order in which Java's hash maps give their keys.
//!
//! Confluent's converter keeps properties, enum values and its own attributes in hash maps, and
//! registers the text as it comes out of them. The same schema has the same id only if its text is
//! the same, so the order is part of the format.
//!
//! Source: the documentation of `String.hashCode` and `HashMap`: a table of a power of two, doubled
//! when it is three quarters full, a place by the hash and its upper half.

/// Capacity of a map that is made without one.
pub(super) const DEFAULT: usize = 16;

/// Capacity of a map that is made for so many entries.
pub(super) fn for_size(entries: usize) -> usize {
    entries.max(1).next_power_of_two()
}

/// Capacity of a copy of a map with so many entries.
pub(super) fn for_copy(entries: usize) -> usize {
    for_size(entries * 4 / 3 + 1)
}

/// The keys in the order of a map that was made with this capacity and filled in their order. `None`
/// is Java's null.
pub(super) fn order<T>(
    capacity: usize,
    mut keys: Vec<T>,
    key: impl Fn(&T) -> Option<&str>,
) -> Vec<T> {
    let mut table = capacity;
    while keys.len() > table * 3 / 4 {
        table *= 2;
    }
    let mask = table as u32 - 1;
    keys.sort_by_key(|item| key(item).map_or(0, spread) & mask);
    keys
}

fn spread(key: &str) -> u32 {
    let hash = |hash: u32, unit: u16| hash.wrapping_mul(31).wrapping_add(u32::from(unit));
    let hash = key.encode_utf16().fold(0, hash);
    hash ^ hash >> 16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a JVM printed them.
    #[test]
    fn keys_come_as_in_java() {
        let of = |capacity, keys: &[&'static str]| {
            order(capacity, keys.to_vec(), |key| Some(key)).join(",")
        };
        let fields: Vec<&str> =
            "zeta,alpha,mid,b,a,x1,x2,x3,x4,x5,x6,x7,x8,x9".split(',').collect();
        assert_eq!(of(DEFAULT, &fields), "zeta,x8,a,x9,b,mid,alpha,x1,x2,x3,x4,x5,x6,x7");
        assert_eq!(
            of(DEFAULT, &["one", "two", "three", "four", "five"]),
            "four,one,two,three,five"
        );
        let attributes = ["connect.type", "connect.version", "connect.parameters", "connect.index"];
        let once = order(DEFAULT, attributes.to_vec(), |key| Some(key));
        assert_eq!(once.join(","), "connect.version,connect.index,connect.type,connect.parameters");
        let copy = order(for_copy(4), once, |key| Some(key));
        assert_eq!(copy.join(","), "connect.index,connect.version,connect.type,connect.parameters");
        let parameters: Vec<&str> =
            "one,two,three,four,five,six,seven,eight,nine,ten,eleven,twelve,thirteen,fourteen"
                .split(',')
                .collect();
        let collected = order(DEFAULT, parameters, |key| Some(key));
        let printed = order(for_size(14), collected, |key| Some(key));
        assert_eq!(
            printed.join(","),
            "nine,six,one,seven,two,three,thirteen,eight,fourteen,four,twelve,eleven,ten,five"
        );
        let symbols = vec![Some("b"), Some("a"), None];
        assert_eq!(order(DEFAULT, symbols, |key| *key), [None, Some("a"), Some("b")]);
    }
}
