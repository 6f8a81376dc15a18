//! The orders that every figure is about: the same bytes on every machine.
//!
//! Record `id` has the id as its key (8 bytes, big-endian) and seven required fields. The second
//! generation differs in `note` alone, so that an upsert changes every row.

use std::fmt::Write as _;

use md5::{Digest as _, Md5};

const CURRENCIES: [&str; 5] = ["EUR", "USD", "GBP", "JPY", "CHF"];
const CREATED_FIRST_MS: i64 = 1_700_000_000_000;

/// The schema of the values, in the form that Connect's JSON converter reads.
pub(super) const SCHEMA_JSON: &str = concat!(
    r#"{"type":"struct","fields":["#,
    r#"{"type":"int64","optional":false,"field":"id"},"#,
    r#"{"type":"string","optional":false,"field":"customer"},"#,
    r#"{"type":"double","optional":false,"field":"amount"},"#,
    r#"{"type":"string","optional":false,"field":"currency"},"#,
    r#"{"type":"int64","optional":false,"name":"org.apache.kafka.connect.data.Timestamp","#,
    r#""version":1,"field":"created"},"#,
    r#"{"type":"string","optional":false,"field":"note"},"#,
    r#"{"type":"boolean","optional":false,"field":"paid"}],"#,
    r#""optional":false,"name":"orders"}"#,
);

/// The columns of one order.
pub(super) struct Order {
    pub(super) id: i64,
    pub(super) customer: String,
    pub(super) amount: f64,
    pub(super) currency: &'static str,
    pub(super) created_ms: i64,
    pub(super) note: String,
    pub(super) paid: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Generation {
    First,
    Second,
}

impl Order {
    pub(super) fn new(id: i64, generation: Generation) -> Order {
        let prefix = match generation {
            Generation::First => "g1-",
            Generation::Second => "g2-",
        };
        let mut note = String::with_capacity(40);
        note.push_str(prefix);
        for byte in Md5::digest(id.to_string()) {
            // Writing to a String cannot fail.
            let _ = write!(note, "{byte:02x}");
        }
        note.push_str("-note");
        let currency = usize::try_from(id).ok().map(|id| id % CURRENCIES.len());
        Order {
            id,
            customer: format!("cust{:08}", id * 7919 % 100_000_000),
            amount: (id * 37 % 1_000_000) as f64 / 100.0,
            currency: currency.and_then(|c| CURRENCIES.get(c)).copied().unwrap_or_default(),
            created_ms: CREATED_FIRST_MS + id * 1000 + id % 1000,
            note,
            paid: id % 3 == 0,
        }
    }

    /// An eighth field, for measurements that want one.
    pub(super) fn terms(&self) -> String {
        format!("net {:02} days; carriage is paid.", self.id.rem_euclid(90))
    }

    /// The record's value as a plain JSON object.
    pub(super) fn plain(&self, out: &mut String) {
        let Order { id, customer, amount, currency, created_ms, note, paid } = self;
        let _ = write!(
            out,
            r#"{{"id":{id},"customer":"{customer}","amount":{amount:?},"currency":"{currency}","created":{created_ms},"note":"{note}","paid":{paid}}}"#
        );
    }

    /// The record's value with its schema.
    pub(super) fn envelope(&self, out: &mut String) {
        let _ = write!(out, r#"{{"schema":{SCHEMA_JSON},"payload":"#);
        self.plain(out);
        out.push('}');
    }

    /// Its line for COPY in text form.
    pub(super) fn copy_line(&self, out: &mut String) {
        let Order { id, customer, amount, currency, note, paid, .. } = self;
        let _ = write!(out, "{id}\t{customer}\t{amount:?}\t{currency}\t");
        self.created(out);
        let _ = writeln!(out, "\t{note}\t{}", if *paid { 't' } else { 'f' });
    }

    /// Its line for COPY with `created` as the number that it is in plain JSON.
    pub(super) fn copy_line_of_numbers(&self, out: &mut String) {
        let Order { id, customer, amount, currency, created_ms, note, paid } = self;
        let paid = if *paid { 't' } else { 'f' };
        let _ =
            writeln!(out, "{id}\t{customer}\t{amount:?}\t{currency}\t{created_ms}\t{note}\t{paid}");
    }

    /// `created` as PostgreSQL reads it.
    pub(super) fn created(&self, out: &mut String) {
        let (seconds, ms) = (self.created_ms.div_euclid(1000), self.created_ms.rem_euclid(1000));
        let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
        let (year, month, day) = civil(days);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        let _ =
            write!(out, "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{ms:03}");
    }
}

/// Year, month and day of a day after 1970-01-01 (in the proleptic Gregorian calendar).
fn civil(days: i64) -> (i64, i64, i64) {
    let z = days + 719_468;
    let (era, day) = (z.div_euclid(146_097), z.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_are_those_of_every_other_measurement() {
        let mut all = String::new();
        for id in 0..1000 {
            Order::new(id, Generation::First).envelope(&mut all);
        }
        let digest = Md5::digest(&all);
        let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        // The same bytes have the SHA-256 36f46531d29b35ce….
        assert_eq!(hex, "2672ef93dd9686cbb23dca212f1bfd2a");
    }

    #[test]
    fn sizes_and_generations_are_as_described() {
        let value = |generation| {
            let mut out = String::new();
            Order::new(500_000, generation).envelope(&mut out);
            out
        };
        let (first, second) = (value(Generation::First), value(Generation::Second));
        assert_eq!((first.len(), first.len() - SCHEMA_JSON.len() - 22), (663, 159));
        assert_eq!(first.replace("\"g1-", "\"g2-"), second);
    }

    #[test]
    fn copy_lines_hold_what_the_values_hold() {
        let mut line = String::new();
        Order::new(7, Generation::First).copy_line(&mut line);
        let note = "g1-8f14e45fceea167a5a36dedd4bea2543-note";
        let created = "2023-11-14 22:13:27.007";
        assert_eq!(line, format!("7\tcust00055433\t2.59\tGBP\t{created}\t{note}\tf\n"));
    }

    #[test]
    fn days_are_dates() {
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(-1), (1969, 12, 31));
        assert_eq!(civil(19_782), (2024, 2, 29));
    }
}
