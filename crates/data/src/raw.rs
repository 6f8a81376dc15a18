//! Records as Kafka delivered them: one partition, bytes untouched.
//!
//! The fetch thread copies each message once into a [`RawBatchBuilder`]; from there on the bytes are
//! shared, never copied, until a destination's encoder reads them. The raw batch stays beside the
//! decoded one, so that a rejected record can be reported with its original bytes.
//!
//! Values that all begin with the same bytes (a schema before the payload) are kept without them:
//! the batch has these bytes once, as its prefix. Invariant: whether a value was cut is known to this
//! file and to [`RawBatch::value_parts`] alone; [`RawBatch::value`] always gives the whole.

use crate::TopicPartition;
use crate::arena::{Arena, ArenaPool};
use crate::cell::Span;
use crate::heads::Heads;
use std::borrow::Cow;
use std::sync::Arc;

/// What a record's timestamp means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum TimestampType {
    #[default]
    None,
    CreateTime,
    LogAppendTime,
}

/// One record; spans point into the batch's arena. `Span::NULL` is a Kafka null. Its value is asked of
/// the batch.
#[derive(Clone, Copy, Debug)]
pub struct RawRecord {
    pub offset: i64,
    /// Milliseconds since the epoch, -1 where the record has none.
    pub timestamp: i64,
    pub timestamp_type: TimestampType,
    pub key: Span,
    /// Without the batch's prefix if `cut`.
    value: Span,
    cut: bool,
    /// Headers `headers_start..headers_start+headers_len` of the batch's list.
    pub headers_start: u32,
    pub headers_len: u32,
}

/// A header's name and value; a null value is `Span::NULL`.
#[derive(Clone, Copy, Debug)]
pub struct RawHeader {
    pub name: Span,
    pub value: Span,
}

/// The records of one partition in offset order, over one arena.
#[derive(Clone, Debug)]
pub struct RawBatch {
    tp: TopicPartition,
    arena: Arc<Arena>,
    prefix: Option<Arc<[u8]>>,
    records: Vec<RawRecord>,
    headers: Vec<RawHeader>,
    heads_of_keys: Heads,
    heads_of_values: Heads,
    next_offset: i64,
}

/// A value as it is kept: the bytes it shares with others, and the place of the rest.
#[derive(Clone, Copy, Debug)]
pub struct ValueParts<'a> {
    /// `None`: the rest is the whole value.
    pub prefix: Option<&'a Arc<[u8]>>,
    pub rest: &'a [u8],
    /// Of the rest, in the arena.
    pub place: Span,
}

impl RawBatch {
    /// A batch without records that still moves the position (control records, holes).
    pub fn empty(tp: TopicPartition, next_offset: i64) -> RawBatch {
        RawBatchBuilder::new(tp).finish(next_offset)
    }

    /// The frame of a batch that a source made: so many records of a topic over these bytes, without
    /// keys and values of their own, numbered from 0. `timestamp` is -1 for none.
    pub fn made(topic: Arc<str>, arena: Arena, rows: usize, timestamp: i64) -> RawBatch {
        let record = |offset| RawRecord {
            offset,
            timestamp,
            timestamp_type: TimestampType::None,
            key: Span::NULL,
            value: Span::NULL,
            cut: false,
            headers_start: 0,
            headers_len: 0,
        };
        RawBatch {
            tp: TopicPartition::new(topic, -1),
            arena: Arc::new(arena),
            prefix: None,
            records: (0..rows as i64).map(record).collect(),
            headers: Vec::new(),
            heads_of_keys: Heads::default(),
            heads_of_values: Heads::default(),
            next_offset: rows as i64,
        }
    }

    pub fn tp(&self) -> &TopicPartition {
        &self.tp
    }

    pub fn topic(&self) -> &Arc<str> {
        &self.tp.topic
    }

    pub fn partition(&self) -> i32 {
        self.tp.partition
    }

    pub fn records(&self) -> &[RawRecord] {
        &self.records
    }

    pub fn len(&self) -> usize {
        self.records.len()
    }

    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The consumer's position after this batch: past control records and holes.
    pub fn next_offset(&self) -> i64 {
        self.next_offset
    }

    /// Moves the position further, past control records seen after the last record.
    pub fn advance_to(&mut self, next_offset: i64) {
        self.next_offset = self.next_offset.max(next_offset);
    }

    pub fn first_offset(&self) -> Option<i64> {
        self.records.first().map(|r| r.offset)
    }

    /// Bytes of keys, values and headers as they are kept; what budgets count.
    pub fn bytes(&self) -> usize {
        self.arena.len() + self.records.len() * size_of::<RawRecord>()
    }

    pub fn arena(&self) -> &Arc<Arena> {
        &self.arena
    }

    /// The bytes of a span of this batch; `None` for a null.
    #[inline]
    pub fn get(&self, span: Span) -> Option<&[u8]> {
        if span.is_null() { None } else { self.arena.get(span.range()) }
    }

    #[inline]
    pub fn key(&self, row: usize) -> Option<&[u8]> {
        self.get(self.records.get(row)?.key)
    }

    /// The bytes of a value as Kafka delivered them; `None` for a null. Copied where they are kept in
    /// two parts.
    pub fn value(&self, row: usize) -> Option<Cow<'_, [u8]>> {
        let ValueParts { prefix, rest, .. } = self.value_parts(row)?;
        Some(match prefix {
            None => Cow::Borrowed(rest),
            Some(prefix) => Cow::Owned([prefix, rest].concat()),
        })
    }

    /// A value as it is kept; `None` for a null.
    #[inline]
    pub fn value_parts(&self, row: usize) -> Option<ValueParts<'_>> {
        let record = self.records.get(row)?;
        let rest = self.get(record.value)?;
        let prefix = self.prefix.as_ref().filter(|_| record.cut);
        Some(ValueParts { prefix, rest, place: record.value })
    }

    /// The first row behind this one, whose key is not null, with a key that may begin with five other
    /// bytes; nulls count as nothing. As many as there are rows: none.
    pub fn next_key_change(&self, row: usize) -> usize {
        self.heads_of_keys.next_change(row).unwrap_or(self.len())
    }

    /// The same of values.
    pub fn next_value_change(&self, row: usize) -> usize {
        self.heads_of_values.next_change(row).unwrap_or(self.len())
    }

    /// The headers of a record in order, duplicates included.
    pub fn headers(&self, row: usize) -> impl DoubleEndedIterator<Item = (&str, Option<&[u8]>)> {
        self.header_places(row).map(|(name, value)| (name, self.get(value)))
    }

    /// The same, with the place of each value in the arena.
    pub fn header_places(&self, row: usize) -> impl DoubleEndedIterator<Item = (&str, Span)> {
        let range = self
            .records
            .get(row)
            .map_or(0..0, |r| r.headers_start as usize..(r.headers_start + r.headers_len) as usize);
        self.headers.get(range).unwrap_or_default().iter().map(|h| {
            let name = self.get(h.name).and_then(|b| std::str::from_utf8(b).ok()).unwrap_or("");
            (name, h.value)
        })
    }

    /// Whether any record carries a header.
    pub fn has_headers(&self) -> bool {
        !self.headers.is_empty()
    }

    /// The last header of that name, as Connect's `lastWithName`; the inner `None` is a null value.
    pub fn header(&self, row: usize, name: &str) -> Option<Option<&[u8]>> {
        self.headers(row).rev().find(|(n, _)| *n == name).map(|(_, v)| v)
    }

    /// Takes the records of the batch that follows this one, by copying their bytes.
    /// # Errors
    /// Gives `next` back if it is of another partition, begins before this batch's end, or has another
    /// prefix.
    pub fn append(&mut self, next: RawBatch) -> Result<(), Box<RawBatch>> {
        let in_order = next.first_offset().is_none_or(|first| first >= self.next_offset);
        let one_prefix = match (&self.prefix, &next.prefix) {
            (Some(own), Some(other)) => Arc::ptr_eq(own, other),
            _ => true,
        };
        if next.tp != self.tp || !in_order || !one_prefix {
            return Err(Box::new(next));
        }
        if self.prefix.is_none() {
            self.prefix = next.prefix.clone();
        }
        self.heads_of_keys.append(&next.heads_of_keys, self.records.len());
        self.heads_of_values.append(&next.heads_of_values, self.records.len());
        let shift = self.arena.len() as u32;
        let headers_shift = self.headers.len() as u32;
        let moved = |span: Span| Span {
            start: if span.is_null() { span.start } else { span.start + shift },
            len: span.len,
        };
        match Arc::get_mut(&mut self.arena) {
            Some(arena) => arena.extend_from_slice(&next.arena),
            None => {
                let both = [&self.arena[..], &next.arena[..]].concat();
                self.arena = Arc::new(both.into());
            }
        }
        self.records.extend(next.records.iter().map(|record| RawRecord {
            key: moved(record.key),
            value: moved(record.value),
            headers_start: record.headers_start + headers_shift,
            ..*record
        }));
        let headers = next.headers.iter();
        self.headers
            .extend(headers.map(|h| RawHeader { name: moved(h.name), value: moved(h.value) }));
        self.advance_to(next.next_offset);
        Ok(())
    }

    /// Rows `from..` as a batch of their own over the same arena, for a retry of a part.
    pub fn tail(&self, from: usize) -> RawBatch {
        let records = self.records.get(from..).unwrap_or_default().to_vec();
        let heads_of_keys = self.heads_of_keys.tail(from);
        let heads_of_values = self.heads_of_values.tail(from);
        RawBatch { records, heads_of_keys, heads_of_values, ..self.clone() }
    }

    /// Rows `..to` as a batch of their own; its position is the offset of the first row left out.
    pub fn head(&self, to: usize) -> RawBatch {
        let next_offset = self.records.get(to).map_or(self.next_offset, |r| r.offset);
        let records = self.records.get(..to).unwrap_or(&self.records).to_vec();
        let heads_of_keys = self.heads_of_keys.head(to);
        let heads_of_values = self.heads_of_values.head(to);
        RawBatch { records, heads_of_keys, heads_of_values, next_offset, ..self.clone() }
    }

    /// The records before an offset; the position does not go beyond it.
    pub fn before(&self, end: i64) -> RawBatch {
        let records = self.records.partition_point(|record| record.offset < end);
        RawBatch { next_offset: self.next_offset.min(end), ..self.head(records) }
    }
}

/// Collects the records of one partition. Limits are the caller's: see [`RawBatchBuilder::bytes`].
#[derive(Debug)]
pub struct RawBatchBuilder {
    tp: TopicPartition,
    arena: Arena,
    prefix: Option<Arc<[u8]>>,
    records: Vec<RawRecord>,
    headers: Vec<RawHeader>,
    heads_of_keys: Heads,
    heads_of_values: Heads,
}

impl RawBatchBuilder {
    pub fn new(tp: TopicPartition) -> Self {
        RawBatchBuilder {
            tp,
            arena: Arena::default(),
            prefix: None,
            records: Vec::new(),
            headers: Vec::new(),
            heads_of_keys: Heads::default(),
            heads_of_values: Heads::default(),
        }
    }

    /// Room for `rows` records of `bytes` bytes together, in an arena of the pool.
    pub fn pooled(tp: TopicPartition, pool: &ArenaPool, rows: usize, bytes: usize) -> Self {
        let mut arena = pool.take();
        arena.reserve(bytes);
        RawBatchBuilder { arena, records: Vec::with_capacity(rows), ..RawBatchBuilder::new(tp) }
    }

    /// Values that begin with these bytes are kept without them. For the records pushed from now on;
    /// to be called before the first.
    pub fn share_prefix(&mut self, prefix: Option<Arc<[u8]>>) {
        if self.records.is_empty() {
            self.prefix = prefix;
        }
    }

    pub fn tp(&self) -> &TopicPartition {
        &self.tp
    }

    /// Appends a record whose headers, if any, were given to [`RawBatchBuilder::header`] before.
    pub fn push(
        &mut self,
        offset: i64,
        timestamp: i64,
        timestamp_type: TimestampType,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
    ) {
        let headers_start = self.records.last().map_or(0, |r| r.headers_start + r.headers_len);
        let headers_len = self.headers.len() as u32 - headers_start;
        if let Some(key) = key {
            self.heads_of_keys.note(self.records.len(), key);
        }
        let key = self.put(key);
        let rest = match (value, &self.prefix) {
            (Some(value), Some(prefix)) => value.strip_prefix(&**prefix),
            _ => None,
        };
        let cut = rest.is_some();
        match value {
            Some(_) if cut => self.heads_of_values.give_up(),
            Some(value) => self.heads_of_values.note(self.records.len(), value),
            None => {}
        }
        let value = self.put(rest.or(value));
        self.records.push(RawRecord {
            offset,
            timestamp,
            timestamp_type,
            key,
            value,
            cut,
            headers_start,
            headers_len,
        });
    }

    /// Adds a header to the record that is pushed next.
    pub fn header(&mut self, name: &str, value: Option<&[u8]>) {
        let name = self.put(Some(name.as_bytes()));
        let value = self.put(value);
        self.headers.push(RawHeader { name, value });
    }

    pub fn len(&self) -> usize {
        self.records.len()
    }

    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Bytes of keys, values and headers kept so far. Keep it below 1 GiB: spans are 31 bits.
    pub fn bytes(&self) -> usize {
        self.arena.len()
    }

    pub fn last_offset(&self) -> Option<i64> {
        self.records.last().map(|r| r.offset)
    }

    pub fn finish(self, next_offset: i64) -> RawBatch {
        RawBatch {
            tp: self.tp,
            arena: Arc::new(self.arena),
            prefix: self.prefix,
            records: self.records,
            headers: self.headers,
            heads_of_keys: self.heads_of_keys,
            heads_of_values: self.heads_of_values,
            next_offset,
        }
    }

    fn put(&mut self, bytes: Option<&[u8]>) -> Span {
        let Some(bytes) = bytes else { return Span::NULL };
        let start = self.arena.len() as u32;
        self.arena.extend_from_slice(bytes);
        Span { start, len: bytes.len() as u32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nulls_empties_and_headers_stay_apart() {
        let mut b = RawBatchBuilder::new(TopicPartition::new("t", 0));
        b.header("a", Some(b"1"));
        b.header("a", None);
        b.push(5, 10, TimestampType::CreateTime, None, Some(b""));
        b.push(9, -1, TimestampType::None, Some(b"k"), None);
        let batch = b.finish(12);
        assert_eq!((batch.key(0), batch.value(0).as_deref()), (None, Some(&b""[..])));
        assert_eq!((batch.key(1), batch.value(1)), (Some(&b"k"[..]), None));
        assert_eq!(batch.headers(0).collect::<Vec<_>>(), [("a", Some(&b"1"[..])), ("a", None)]);
        assert_eq!(batch.header(0, "a"), Some(None));
        assert_eq!(batch.headers(1).count(), 0);
        assert_eq!(batch.next_offset(), 12);
        assert_eq!(batch.head(1).next_offset(), 9);
        let mut joined = batch.head(1);
        let mut more = RawBatchBuilder::new(TopicPartition::new("t", 0));
        more.header("b", Some(b"2"));
        more.push(9, 1, TimestampType::CreateTime, Some(b"key"), None);
        assert!(joined.append(batch.tail(0)).is_err(), "must not begin before the end");
        joined.append(more.finish(10)).unwrap();
        assert_eq!((joined.key(1), joined.value(1)), (Some(&b"key"[..]), None));
        assert_eq!(joined.header(1, "b"), Some(Some(&b"2"[..])));
        assert_eq!((joined.len(), joined.next_offset()), (2, 10));
        assert_eq!(batch.tail(1).first_offset(), Some(9));
    }

    fn prefixed(prefix: &Arc<[u8]>, from: i64, values: &[Option<&[u8]>]) -> RawBatch {
        let pool = ArenaPool::new(1 << 20);
        let mut b = RawBatchBuilder::pooled(TopicPartition::new("t", 0), &pool, 4, 100);
        b.share_prefix(Some(prefix.clone()));
        for (offset, value) in (from..).zip(values) {
            b.push(offset, 0, TimestampType::CreateTime, Some(b"key"), *value);
        }
        b.finish(from + values.len() as i64)
    }

    #[test]
    fn a_value_without_its_prefix_is_whole_again_when_asked_for() {
        let prefix: Arc<[u8]> = Arc::from(&b"<schema>"[..]);
        let values: [Option<&[u8]>; 6] =
            [Some(b"<schema>1"), Some(b"<schema"), Some(b"<schema>"), None, Some(b""), Some(b"2")];
        let batch = prefixed(&prefix, 0, &values);
        for (row, value) in values.iter().enumerate() {
            assert_eq!(batch.value(row).as_deref(), *value, "{row}");
            let cut = batch.value_parts(row).is_some_and(|parts| parts.prefix.is_some());
            assert_eq!(cut, value.is_some_and(|value| value.starts_with(&prefix)), "{row}");
        }
        assert_eq!(batch.arena().len(), 6 * 3 + 1 + 7 + 1, "kept without the prefix");
        assert_eq!(batch.tail(2).value(0).as_deref(), values[2]);
        assert_eq!(batch.head(1).value(0).as_deref(), values[0]);
    }

    #[test]
    fn batches_of_different_prefixes_are_not_joined() {
        let [a, b]: [Arc<[u8]>; 2] = [Arc::from(&b"a"[..]), Arc::from(&b"a"[..])];
        let mut batch = prefixed(&a, 0, &[Some(b"a1"), Some(b"b")]);
        let other = batch.append(prefixed(&b, 2, &[Some(b"a2")])).unwrap_err();
        assert_eq!(other.value(0).as_deref(), Some(&b"a2"[..]));
        batch.append(prefixed(&a, 2, &[Some(b"a2"), None])).unwrap();
        let mut plain = RawBatchBuilder::new(TopicPartition::new("t", 0));
        plain.push(4, 0, TimestampType::None, None, Some(b"a3"));
        let mut plain = plain.finish(5);
        batch.append(plain.clone()).unwrap();
        plain.append(prefixed(&a, 5, &[Some(b"a4")])).unwrap();
        let of = |batch: &RawBatch| -> Vec<_> {
            (0..batch.len()).map(|row| batch.value(row).map(Cow::into_owned)).collect()
        };
        let some = |text: &[u8]| Some(text.to_vec());
        assert_eq!(of(&batch), [some(b"a1"), some(b"b"), some(b"a2"), None, some(b"a3")]);
        assert_eq!(of(&plain), [some(b"a3"), some(b"a4")]);
    }
}
