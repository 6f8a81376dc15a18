//! Dead letters as records again, from the bytes that were kept.
//!
//! Place in the data path: what a retry reads instead of Kafka.

use crate::control::Error;
use crate::control::Questions;
use data::{RawBatch, RawBatchBuilder, TimestampType, TopicPartition};
use sql::postgres::wire::Rows;

/// Letters that are read at a time; each may be as large as a message.
const LETTERS_MAX: usize = 100;

const LETTERS: &str = "SELECT e.\"offset\", \
    floor(extract(epoch FROM e.record_timestamp) * 1000)::int8, encode(e.key, 'hex'), \
    encode(e.value, 'hex'), (SELECT jsonb_agg(jsonb_build_array(h->>0, \
      encode(decode(h->>1, 'base64'), 'hex'))) FROM jsonb_array_elements(e.headers) AS h) \
    FROM pipeline_kafka.errors e WHERE e.retry_id = $1::int8 AND e.partition = $2::int4 \
    AND e.\"offset\" >= $3::int8 AND e.\"offset\" < $4::int8 ORDER BY e.\"offset\" LIMIT 100";

/// The next letters of a partition in a range; the position behind the last ones is the range's end.
pub(super) fn read(
    questions: &Questions,
    retry: i64,
    tp: &TopicPartition,
    (from, end): (i64, i64),
) -> Result<RawBatch, Error> {
    let numbers = [retry, i64::from(tp.partition), from, end].map(|number| number.to_string());
    let params: Vec<Option<&str>> = numbers.iter().map(|number| Some(number.as_str())).collect();
    questions.ask(LETTERS, &params, |rows| {
        let mut builder = RawBatchBuilder::new(tp.clone());
        let mut next = end;
        for row in 0..rows.len() {
            let Some(offset) = rows.parsed(row, 0) else { continue };
            push(&mut builder, rows, row, offset);
            if rows.len() == LETTERS_MAX {
                next = offset + 1;
            }
        }
        builder.finish(next)
    })
}

fn push(builder: &mut RawBatchBuilder, rows: &Rows, row: usize, offset: i64) {
    let headers: Vec<(String, Option<String>)> =
        rows.text(row, 4).and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    for (name, value) in headers {
        builder.header(&name, value.map(|hex| bytes(&hex)).as_deref());
    }
    let time: Option<i64> = rows.parsed(row, 1);
    let kind = if time.is_some() { TimestampType::CreateTime } else { TimestampType::None };
    let part = |column| rows.text(row, column).map(bytes);
    let (key, value) = (part(2), part(3));
    builder.push(offset, time.unwrap_or(-1), kind, key.as_deref(), value.as_deref());
}

/// Bytes from the hexadecimal digits that the server writes.
fn bytes(hex: &str) -> Vec<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).unwrap_or_default() as u8;
    hex.as_bytes()
        .chunks(2)
        .map(|pair| pair.iter().fold(0, |byte, d| byte << 4 | digit(*d)))
        .collect()
}
