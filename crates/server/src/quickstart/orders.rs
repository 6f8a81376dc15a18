//! The orders that are produced: made from their number, so that any of them can be made again, and
//! a few of them in a way that no table may take.

use std::io::Write as _;

/// What is wrong with an order that is made to be refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flaw {
    BrokenJson,
    NullCustomer,
    WrongType,
    OutOfRange,
    NulInText,
    /// Only the database can find this one: the table has a CHECK.
    NoQuantity,
}

/// Where in the run each flawed order is, in thousandths.
const FLAWED: [(u64, Flaw); 6] = [
    (70, Flaw::BrokenJson),
    (230, Flaw::NullCustomer),
    (390, Flaw::NoQuantity),
    (510, Flaw::WrongType),
    (690, Flaw::NulInText),
    (930, Flaw::OutOfRange),
];

/// Fewer orders would put two flawed ones in one place.
pub(super) const RECORDS_MIN: u64 = 100;

const CUSTOMERS: [&str; 8] =
    ["Ada", "Barbara", "Edsger", "Grace", "Jim", "Leslie", "Radia", "Tony"];
const ITEMS: [&str; 7] = ["anvil", "bicycle", "compass", "hammock", "kettle", "lantern", "violin"];

/// All orders of a run, numbered from 0.
#[derive(Clone, Copy, Debug)]
pub(super) struct Orders {
    pub(super) records: u64,
}

impl Orders {
    /// What is wrong with this order.
    pub(super) fn flaw(self, id: u64) -> Option<Flaw> {
        // The index spreads them over the partitions.
        let places = FLAWED.iter().zip(0..);
        let mut found =
            places.filter(|((place, _), index)| self.records * place / 1000 + index == id);
        found.next().map(|((_, flaw), _)| *flaw)
    }

    /// Appends the record's value: a JSON object, or what looks like one.
    pub(super) fn write(self, id: u64, out: &mut Vec<u8>) {
        let seed = mix(id);
        let pick = |names: &[&'static str], shift: u32| {
            let index = (seed >> shift) as usize % names.len().max(1);
            names.get(index).copied().unwrap_or_default()
        };
        let flaw = self.flaw(id);
        let customer = match flaw {
            Some(Flaw::NullCustomer) => "null".to_owned(),
            Some(Flaw::NulInText) => "\"Ad\\u0000a\"".to_owned(),
            _ => format!("\"{}\"", pick(&CUSTOMERS, 0)),
        };
        let number = 1 + seed % 9;
        let quantity = match flaw {
            Some(Flaw::WrongType) => "\"a few\"".to_owned(),
            Some(Flaw::OutOfRange) => "99999999999999999999".to_owned(),
            Some(Flaw::NoQuantity) => "0".to_owned(),
            _ => number.to_string(),
        };
        let (euros, cents) = (1 + seed % 500, seed / 500 % 100);
        let start = out.len();
        // Writing to a Vec cannot fail.
        let _ = write!(
            out,
            r#"{{"id":{id},"customer":{customer},"item":"{}","quantity":{quantity},"#,
            pick(&ITEMS, 8)
        );
        let _ = write!(out, r#""amount":{euros}.{cents:02},"created":""#);
        write_time(id, out);
        let _ = write!(out, r#"","paid":{}}}"#, seed.is_multiple_of(3));
        if flaw == Some(Flaw::BrokenJson) {
            out.truncate(start + (out.len() - start) / 2);
        }
    }
}

/// Four orders a second, in the 28 days of a February that starts again.
fn write_time(id: u64, out: &mut Vec<u8>) {
    let (ms, seconds) = (id % 4 * 250, id / 4);
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    let (day, hour, minute, second) = (1 + days % 28, hours % 24, minutes % 60, seconds % 60);
    let _ = write!(out, "2026-02-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z");
}

/// Spreads the bits of a number (the finaliser of SplitMix64).
fn mix(n: u64) -> u64 {
    let n = n.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(orders: Orders, id: u64) -> String {
        let mut out = b"before".to_vec();
        orders.write(id, &mut out);
        String::from_utf8(out).unwrap().split_off("before".len())
    }

    #[test]
    fn every_order_but_the_broken_one_is_json() {
        for records in [RECORDS_MIN, 20_000] {
            let orders = Orders { records };
            for id in 0..records {
                let parsed = serde_json::from_str::<serde_json::Value>(&value(orders, id));
                match orders.flaw(id) {
                    Some(Flaw::BrokenJson) => assert!(parsed.is_err()),
                    _ => assert_eq!(parsed.unwrap()["id"], id),
                }
            }
        }
    }

    #[test]
    fn each_flaw_is_there_once() {
        for records in [RECORDS_MIN, 101, 12_345, 100_000] {
            let orders = Orders { records };
            let found: Vec<Flaw> = (0..records).filter_map(|id| orders.flaw(id)).collect();
            assert_eq!(found, FLAWED.map(|(_, flaw)| flaw), "{records} records");
        }
    }

    #[test]
    fn times_are_times() {
        let mut out = Vec::new();
        write_time(4 * 86_400 * 28 - 1, &mut out);
        assert_eq!(out, b"2026-02-28T23:59:59.750Z");
    }
}
