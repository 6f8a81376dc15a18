//! Where a partition without a position begins.
//!
//! Place in the data path: read once by the worker that claims a partition first, which resolves it to
//! offsets and stores these before the first record is read.

use std::collections::BTreeMap;

/// The column `start` of a consumer, `start_at` and `end_at` of a replay, as the SQL functions store it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    /// The first record that Kafka has.
    Earliest,
    /// The end at the moment of the resolution.
    Latest,
    /// What the consumer group has committed.
    Group,
    /// The first record at or after this time, in milliseconds since 1970; without one, the end.
    Time(i64),
    /// So many offsets before the end, in each partition.
    Last(i64),
    /// An offset for each partition; those that are not named begin at their beginning.
    Offsets(BTreeMap<i32, i64>),
}

impl Start {
    /// Reads the stored form; `None` where it is not one.
    pub fn parse(text: &str) -> Option<Start> {
        match text {
            "earliest" => return Some(Start::Earliest),
            "latest" => return Some(Start::Latest),
            "group" => return Some(Start::Group),
            _ => {}
        }
        if text.starts_with('{') {
            let map: BTreeMap<String, i64> = serde_json::from_str(text).ok()?;
            let entry =
                |(partition, offset): (String, i64)| Some((partition.parse().ok()?, offset));
            return map.into_iter().map(entry).collect::<Option<_>>().map(Start::Offsets);
        }
        if let Some(count) = text.strip_prefix('-') {
            return count.parse().ok().filter(|n| *n > 0).map(Start::Last);
        }
        text.parse::<jiff::Timestamp>().ok().map(|time| Start::Time(time.as_millisecond()))
    }
}

impl<'de> serde::Deserialize<'de> for Start {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Start, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        Start::parse(&text).ok_or_else(|| serde::de::Error::custom("a start that is not known"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_forms_are_read() {
        assert_eq!(Start::parse("earliest"), Some(Start::Earliest));
        assert_eq!(Start::parse("-3"), Some(Start::Last(3)));
        assert_eq!(Start::parse("2026-01-31T00:00:00.000Z"), Some(Start::Time(1_769_817_600_000)));
        let map = Start::Offsets(BTreeMap::from([(0, 42), (1, 7)]));
        assert_eq!(Start::parse("{\"0\": 42, \"1\": 7}"), Some(map));
        for wrong in ["", "-", "-0", "yesterday", "{\"a\": 1}", "{", "42"] {
            assert_eq!(Start::parse(wrong), None, "{wrong}");
        }
    }
}
