//! What an offsets topic says, as far as it was read. Pure.
//!
//! Java workers look offsets up by the bytes of their keys, so one source partition may stand in the
//! topic under several spellings. Here they are one: the newest counts, and the next write takes
//! the others away.
//!
//! Invariant: what is here is what a reader of the compacted topic would find.

use super::OffsetChange;
use super::key::{OffsetKey, canonical};
use api::SourceMap;
use data::java_json::{read_json, write_json};
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};

/// Connector and partition.
type Place = (String, String);

/// One spelling of a partition, and what stands under it.
struct Spelled {
    key: Vec<u8>,
    value: Vec<u8>,
    at: i64,
}

/// The entries of an offsets topic.
#[derive(Default)]
pub struct OffsetEntries {
    /// The newest spelling is the last; none is empty.
    places: BTreeMap<Place, Vec<Spelled>>,
    /// What has a null in the topic.
    forgotten: HashSet<Place>,
}

impl OffsetEntries {
    /// Takes in the next record; `at` is its time, which orders records of different partitions.
    ///
    /// # Errors
    /// Why it is of no use, to be told once.
    pub fn apply(
        &mut self,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        at: i64,
    ) -> Result<(), &'static str> {
        let key = key.ok_or("it has no key")?;
        let parsed = OffsetKey::parse(key);
        let OffsetKey { connector, partition } =
            parsed.ok_or("its key is no array of a connector's name and an object")?;
        let place = (connector, canonical(&partition));
        let Some(value) = value else {
            if let Some(known) = self.places.get_mut(&place) {
                known.retain(|spelled| spelled.key != key);
            }
            if self.places.get(&place).is_none_or(Vec::is_empty) {
                self.places.remove(&place);
                self.forgotten.insert(place);
            }
            return Ok(());
        };
        self.forgotten.remove(&place);
        let known = self.places.entry(place).or_default();
        known.retain(|spelled| spelled.key != key);
        let newer = known.partition_point(|spelled| spelled.at <= at);
        known.insert(newer, Spelled { key: key.to_vec(), value: value.to_vec(), at });
        match offset(value) {
            Some(_) => Ok(()),
            None => Err("its value is no object, so its partition has no offset"),
        }
    }

    fn newest(&self, connector: &str, partition: &SourceMap) -> Option<&Spelled> {
        self.places.get(&place(connector, partition))?.last()
    }

    /// The offset of a partition.
    pub fn get(&self, connector: &str, partition: &SourceMap) -> Option<SourceMap> {
        offset(&self.newest(connector, partition)?.value)
    }

    /// Whether the last that was said of a partition is that it has no offset.
    pub fn forgot(&self, connector: &str, partition: &SourceMap) -> bool {
        self.forgotten.contains(&place(connector, partition))
    }

    /// Every partition of a connector, as it was last spelled; `None` where its offset is of no use.
    pub fn partitions(
        &self,
        connector: &str,
    ) -> impl Iterator<Item = (SourceMap, Option<SourceMap>)> {
        let from = (connector.to_owned(), String::new());
        let own = self.places.range(from..).take_while(move |((name, _), _)| name == connector);
        own.filter_map(|(_, known)| {
            let newest = known.last()?;
            Some((OffsetKey::parse(&newest.key)?.partition, offset(&newest.value)))
        })
    }

    /// Keys and values as they stand in the topic, in no order that means anything.
    pub fn raw(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.places.values().flatten().map(|s| (s.key.as_slice(), s.value.as_slice()))
    }

    /// The records that write a partition's offset: under the bytes of the key that was last seen, with
    /// tombstones for other spellings.
    pub fn records(
        &self,
        connector: &str,
        partition: &SourceMap,
        offset: Option<&SourceMap>,
    ) -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
        let known = self.places.get(&place(connector, partition)).map(Vec::as_slice);
        let (newest, older) = match known.unwrap_or_default() {
            [older @ .., newest] => (newest.key.clone(), older),
            [] => {
                let (connector, partition) = (connector.to_owned(), partition.clone());
                (OffsetKey { connector, partition }.to_bytes(), [].as_slice())
            }
        };
        let value = offset.map(|offset| {
            let mut out = Vec::new();
            write_json(&Value::Object(offset.clone()), &mut out);
            out
        });
        // A reader that sees only a part must not find the older one without the newer.
        let gone = older.iter().map(|spelled| (spelled.key.clone(), None));
        std::iter::once((newest, value)).chain(gone).collect()
    }

    /// What was written is what is known from now on.
    pub fn note(&mut self, connector: &str, changes: &[OffsetChange]) {
        for (partition, offset) in changes {
            let at = self.newest(connector, partition).map_or(i64::MIN, |newest| newest.at);
            for (key, value) in self.records(connector, partition, offset.as_ref()) {
                // What was just made of them can be read again.
                let _usable = self.apply(Some(&key), value.as_deref(), at);
            }
        }
    }
}

fn place(connector: &str, partition: &SourceMap) -> Place {
    (connector.to_owned(), canonical(partition))
}

fn offset(value: &[u8]) -> Option<SourceMap> {
    match read_json(value) {
        Ok(Value::Object(offset)) => Some(offset),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn map(json: &str) -> SourceMap {
        serde_json::from_str(json).unwrap()
    }

    fn read(records: &[(&str, Option<&str>, i64)]) -> OffsetEntries {
        let mut entries = OffsetEntries::default();
        for (key, value, at) in records {
            entries.apply(Some(key.as_bytes()), value.map(str::as_bytes), *at).unwrap();
        }
        entries
    }

    const AB: &str = r#"["c",{"a":1,"b":2}]"#;
    const BA: &str = r#"["c",{"b":2,"a":1}]"#;

    #[test]
    fn two_spellings_are_one_partition_and_the_newest_counts_in_any_order_of_reading() {
        let (old, new) = ((AB, Some(r#"{"p":1}"#), 5), (BA, Some(r#"{"p":2}"#), 6));
        for records in [[old, new], [new, old]] {
            let mut entries = read(&records);
            let partition = map(r#"{"a":1.0,"b":2}"#);
            assert_eq!(entries.get("c", &partition), Some(map(r#"{"p":2}"#)));
            assert_eq!(entries.partitions("c").count(), 1);
            assert_eq!(entries.raw().count(), 2);
            let written = entries.records("c", &partition, Some(&map(r#"{"p":3}"#)));
            let wanted = [(BA.into(), Some(br#"{"p":3}"#.to_vec())), (AB.into(), None)];
            assert_eq!(written, wanted);
            entries.note("c", &[(Arc::new(partition.clone()), Some(map(r#"{"p":3}"#)))]);
            assert_eq!(entries.raw().count(), 1);
            entries.note("c", &[(Arc::new(partition.clone()), None)]);
            assert!(entries.forgot("c", &partition) && entries.raw().count() == 0);
        }
    }

    #[test]
    fn a_tombstone_takes_one_spelling_away_as_compaction_does() {
        let records = [(AB, Some(r#"{"p":1}"#), 5), (BA, Some(r#"{"p":2}"#), 6), (BA, None, 7)];
        let entries = read(&records);
        assert_eq!(entries.get("c", &map(r#"{"a":1,"b":2}"#)), Some(map(r#"{"p":1}"#)));
        assert!(!entries.forgot("c", &map(r#"{"a":1,"b":2}"#)));
    }

    #[test]
    fn offsets_of_no_use_are_told_and_can_still_be_replaced() {
        let mut entries = OffsetEntries::default();
        for value in ["null", "[1]", "{", ""] {
            assert!(entries.apply(Some(AB.as_bytes()), Some(value.as_bytes()), 1).is_err());
            assert_eq!(entries.get("c", &map(r#"{"a":1,"b":2}"#)), None);
            assert_eq!(entries.partitions("c").next().unwrap().1, None);
        }
        for key in [None, Some("{"), Some("[1,{}]"), Some(r#"["c",null]"#)] {
            assert!(entries.apply(key.map(str::as_bytes), Some(b"{}"), 1).is_err());
        }
        assert_eq!(entries.partitions("c").count(), 1);
        assert_eq!(entries.partitions("").count() + entries.partitions("b").count(), 0);
        let written = entries.records("c", &map(r#"{"b":2,"a":1}"#), None);
        assert_eq!(written, [(AB.into(), None)]);
    }

    #[test]
    fn keys_not_seen_before_are_written_as_java_does() {
        let entries = OffsetEntries::default();
        let written = entries.records("c", &map(r#"{"z":1e10,"a":"é"}"#), Some(&map(r#"{"p":1}"#)));
        let key = String::from_utf8(written[0].0.clone()).unwrap();
        assert_eq!(key, r#"["c",{"z":1.0E10,"a":"é"}]"#);
    }
}
