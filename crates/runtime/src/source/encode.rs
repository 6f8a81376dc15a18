//! Rows to the bytes of Kafka records: headers, then keys, then values, as Connect does.
//!
//! Invariant: a record that cannot be encoded is rejected in the batch, with the converter that could
//! not; every row that is alive afterwards has its bytes.

use api::{Cancel, Converter, EncodeError, Encoded, Result, Topics};
use data::{Batch, Reject, Roots, Stage};
use kafka::ProducerRecord;

/// The converters of a source task, and the bytes of the batch encoded last.
pub(crate) struct Encoder {
    key: Side,
    value: Side,
    header: Side,
    /// Of each row, where its headers begin among the encoded ones; one more for the end.
    header_starts: Vec<usize>,
}

struct Side {
    converter: Box<dyn Converter>,
    encoded: Encoded,
}

impl Side {
    fn new(converter: Box<dyn Converter>) -> Side {
        Side { converter, encoded: Encoded::default() }
    }

    fn encode(&mut self, topics: Topics<'_>, rows: &data::Rows) -> Result<Vec<EncodeError>> {
        self.encoded.clear();
        self.converter.encode(topics, rows, &mut self.encoded)
    }
}

impl Encoder {
    pub(crate) fn new(
        key: Box<dyn Converter>,
        value: Box<dyn Converter>,
        header: Box<dyn Converter>,
    ) -> Encoder {
        Encoder {
            key: Side::new(key),
            value: Side::new(value),
            header: Side::new(header),
            header_starts: Vec::new(),
        }
    }

    /// Waits of the converters for what lies outside end soon after this turns true.
    pub(crate) fn set_cancel(&mut self, cancelled: &Cancel) {
        for side in [&mut self.key, &mut self.value, &mut self.header] {
            side.converter.set_cancel(cancelled.clone());
        }
    }

    /// Encodes every row; those of dead rows mean nothing.
    ///
    /// # Errors
    /// As [`Converter::encode`]: nothing of the batch is rejected, and it may be given again.
    pub(crate) fn encode(&mut self, batch: &mut Batch) -> Result<()> {
        let headers = self.encode_headers(batch)?;
        let (keys, values) = {
            let each: Vec<&str>;
            let topics = if batch.is_routed() {
                each = (0..batch.len()).map(|row| &**batch.topic(row)).collect();
                Topics::Each(&each)
            } else {
                Topics::One(batch.raw.topic())
            };
            (self.key.encode(topics, &batch.keys)?, self.value.encode(topics, &batch.values)?)
        };
        reject(batch, Stage::HeaderConverter, self.header.converter.class(), headers);
        reject(batch, Stage::KeyConverter, self.key.converter.class(), keys);
        reject(batch, Stage::ValueConverter, self.value.converter.class(), values);
        Ok(())
    }

    fn encode_headers(&mut self, batch: &mut Batch) -> Result<Vec<EncodeError>> {
        self.header_starts.clear();
        let mut roots = Roots::default();
        let mut rows = Vec::new();
        for row in 0..batch.len() {
            self.header_starts.push(roots.len());
            for header in batch.headers.of(row).iter() {
                roots.push(header.schema.as_ref(), header.value);
                rows.push(row);
            }
        }
        self.header_starts.push(roots.len());
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        batch.headers.values.set_roots(roots);
        let topics = Topics::One(batch.raw.topic());
        let mut faults = self.header.encode(topics, &batch.headers.values)?;
        for fault in &mut faults {
            fault.row = rows.get(fault.row as usize).map_or(u32::MAX, |row| *row as u32);
        }
        Ok(faults)
    }

    /// A row's record; `headers` is the caller's, to be used again.
    pub(crate) fn record<'a>(
        &'a self,
        batch: &'a Batch,
        row: usize,
        headers: &'a mut Vec<(&'a str, Option<&'a [u8]>)>,
        id: usize,
    ) -> ProducerRecord<'a> {
        let first = self.header_starts.get(row).copied().unwrap_or(0);
        for (index, header) in batch.headers.of(row).iter().enumerate() {
            headers.push((&header.kind.name, self.header.encoded.get(first + index)));
        }
        for side in [&self.key, &self.value] {
            let of_row = side.encoded.headers.partition_point(|header| (header.row as usize) < row);
            let ids = side.encoded.headers.iter().skip(of_row);
            let ids = ids.take_while(|header| header.row as usize == row);
            headers.extend(ids.map(|header| (header.name, Some(&*header.value))));
        }
        ProducerRecord {
            topic: batch.topic(row),
            partition: batch.partition(row),
            key: self.key.encoded.get(row),
            value: self.value.encoded.get(row),
            headers,
            timestamp: batch.timestamp(row).filter(|time| *time >= 0),
            id,
        }
    }

    /// The bytes of a row, as far as it could be encoded.
    pub(crate) fn bytes(&self, row: usize) -> (Option<&[u8]>, Option<&[u8]>) {
        (self.key.encoded.get(row), self.value.encoded.get(row))
    }
}

fn reject(batch: &mut Batch, stage: Stage, class: &'static str, faults: Vec<EncodeError>) {
    for fault in faults {
        batch.reject(Reject::data(fault.row as usize, stage, class, fault.message));
    }
}
