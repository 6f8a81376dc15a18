//! Dead letters of the SQL control plane: a row of `errors` for each record that became no row.
//!
//! Place in the data path: the last statement of a transaction that has rejects. A record that is
//! refused again, after its position was set back, replaces what was said of it before.

use super::ledger::ConsumerTables;
use crate::postgres::array;
use crate::postgres::building::{Building, Step};
use crate::postgres::dead_letters::{Letter, clean, letters_of, records};
use crate::postgres::wire::Format;
use crate::write::{RefusedBy, RejectRow, Transaction};
use data::Stage;

/// The INSERT: constants first, then an array for each column.
pub(super) fn insert_sql(schema: &str) -> String {
    format!(
        "INSERT INTO {schema}.errors (consumer_id, replay_id, topic, partition, \"offset\", \
         record_timestamp, key, value, headers, stage, sqlstate, message, column_name, schema_id) \
         SELECT $1::int4, $2::int8, r.topic, r.partition, r.record_offset, r.record_timestamp, \
         r.key, r.value, r.headers::jsonb, r.stage, r.sqlstate, r.message, r.column_name, \
         r.schema_id FROM unnest($3::text[], $4::int4[], $5::int8[], $6::timestamptz[], \
         $7::bytea[], $8::bytea[], $9::text[], $10::text[], $11::text[], $12::text[], \
         $13::text[], $14::int8[]) AS r(topic, partition, record_offset, record_timestamp, key, \
         value, headers, stage, sqlstate, message, column_name, schema_id) \
         ON CONFLICT (consumer_id, (coalesce(replay_id, 0)), partition, \"offset\") DO UPDATE SET \
         record_timestamp = EXCLUDED.record_timestamp, key = EXCLUDED.key, \
         value = EXCLUDED.value, headers = EXCLUDED.headers, stage = EXCLUDED.stage, \
         sqlstate = EXCLUDED.sqlstate, message = EXCLUDED.message, \
         column_name = EXCLUDED.column_name, schema_id = EXCLUDED.schema_id, created_at = now(), \
         retry_queued_at = NULL, retried_at = NULL, resolved = false"
    )
}

const PARAMS: usize = 14;

/// Adds the statement that stores the rejects of a transaction that are of `own` batches.
pub(super) fn push(
    building: &mut Building<'_>,
    tables: &ConsumerTables,
    transaction: &Transaction<'_>,
    own: &dyn Fn(u32) -> bool,
) {
    let mut letters = letters_of(transaction);
    letters.retain(|letter| own(letter.reject.batch));
    if letters.is_empty() {
        return;
    }
    let name = building.prepare(&tables.sql.letters);
    building
        .pipeline
        .bind_with(&name, &[Format::Binary; PARAMS], Format::Binary, |w| {
            w.value(|b| b.extend_from_slice(&tables.consumer_id.to_be_bytes()));
            match tables.replay_id {
                Some(id) => w.value(|b| b.extend_from_slice(&id.to_be_bytes())),
                None => w.null(),
            }
            records(w, &letters);
            let all = || letters.iter();
            w.value(|b| array::texts(b, all().map(|l| Some(stage(l.reject)))));
            let mut texts = |get: &dyn Fn(&Letter<'_>) -> Option<String>| {
                let column: Vec<Option<String>> = all().map(get).collect();
                w.value(|b| array::texts(b, column.iter().map(Option::as_deref)));
            };
            texts(&|l| l.reject.reject.sqlstate.as_deref().map(|t| clean(t).into_owned()));
            texts(&|l| Some(clean(&l.reject.reject.message).into_owned()));
            texts(&|l| l.reject.reject.column.as_deref().map(|t| clean(t).into_owned()));
            let framed = tables.framed;
            w.value(|b| array::longs(b, all().map(|l| schema_id(l).filter(|_| framed))));
        })
        .execute(0);
    building.steps.push(Step::DeadLetters);
}

fn stage(reject: &RejectRow) -> &'static str {
    match (reject.by, reject.reject.stage) {
        (RefusedBy::Decoding, Stage::Transformation) | (RefusedBy::Binding, _) => "map",
        (RefusedBy::Decoding, _) => "decode",
        (RefusedBy::Writing, _) => "write",
        (RefusedBy::Committing, _) => "commit",
    }
}

/// The id that a Schema Registry's framing begins with: a zero, then four bytes; in the header for it, or
/// in front of the value. Of the key where the key was not readable.
fn schema_id(letter: &Letter<'_>) -> Option<i64> {
    let of_key = letter.reject.reject.stage == Stage::KeyConverter;
    let header = if of_key { "__key_schema_id" } else { "__value_schema_id" };
    let row = letter.reject.reject.row as usize;
    let value = letter.value();
    let bytes = match letter.raw.header(row, header).flatten() {
        Some(header) => header,
        None if of_key => letter.key()?,
        None => value.as_deref()?,
    };
    match bytes {
        [0, a, b, c, d, ..] => Some(i64::from(i32::from_be_bytes([*a, *b, *c, *d]))),
        _ => None,
    }
}
