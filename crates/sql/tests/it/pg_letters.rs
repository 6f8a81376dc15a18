//! Dead letters: in with the rows, out of the outbox, whatever the record holds.

use super::pg::{Pg, failed, name, numbered, open, pairs, write};
use data::{RawBatchBuilder, Reject, Stage, TimestampType, TopicPartition};
use sql::database::{Database, DbErrorKind};
use sql::write::{RefusedBy, RejectRow, WriteMode};
use std::sync::Arc;

fn reject(row: usize, message: &str) -> RejectRow {
    let mut reject = Reject::data(row, Stage::ValueConverter, "C", message.to_owned());
    reject.sqlstate = Some("22003".to_owned());
    reject.column = Some("amount".to_owned());
    RejectRow { batch: 0, reject, by: RefusedBy::Decoding, table: Some(name("pairs")) }
}

#[test]
fn rejects_go_with_their_rows_and_come_back_whole() {
    let mut pg = Pg::new("CREATE TABLE pairs (id bigint, v text)");
    let plan = pg.plan("pairs", &pairs(), WriteMode::Insert, &[]);
    let batch = numbered(0, 10);
    let mut rows = write(&plan, &batch);
    rows.rows.retain(|r| r.row != 3 && r.row != 7);
    let rejects = [reject(3, "not a number: \0"), reject(7, "ünknown")];
    let advance = pg.advance(&batch);
    pg.start_with(&[rows], &batch, &[advance], &rejects).unwrap();
    pg.database.settle().unwrap();
    assert_eq!((pg.count("pairs"), pg.position()), (8, 10));
    let letters = pg.database.outbox(10).unwrap();
    assert_eq!(letters.iter().map(|l| l.offset).collect::<Vec<_>>(), [3, 7]);
    let letter = &letters[0];
    assert_eq!((letter.topic.as_str(), letter.partition), ("t", 0));
    assert_eq!(letter.timestamp, 1_700_000_000_123);
    assert_eq!(letter.key.as_deref(), Some(&b"key-3"[..]));
    assert_eq!(letter.value.as_deref(), Some(&b"value\0\xff"[..]));
    assert_eq!(letter.headers, [("h".to_owned(), Some(vec![0, 255]))]);
    assert_eq!(letter.stage, "VALUE_CONVERTER");
    assert_eq!(letter.message, "not a number: \u{fffd}");
    assert!(letter.exception.ends_with("DataException"));
    let rest = "SELECT owner || connector || task || sqlstate || column_name || target_table \
                FROM copycat_dead_letters WHERE record_offset = 3";
    assert_eq!(pg.value(rest).as_deref(), Some("cluster/groupconnector022003amountpairs"));
    pg.database.forwarded(&[letters[0].id]).unwrap();
    let left = pg.database.outbox(10).unwrap();
    assert_eq!(left.iter().map(|l| l.id).collect::<Vec<_>>(), [letters[1].id]);
    assert!(pg.database.outbox(0).unwrap().is_empty());
}

#[test]
fn rejects_of_a_stale_transaction_are_not_kept() {
    let mut pg = Pg::new("");
    let batch = numbered(4, 2);
    let advance = pg.advance(&batch);
    pg.start_with(&[], &batch, &[advance], &[reject(0, "bad")]).unwrap();
    assert_eq!(failed(pg.database.settle()).kind, DbErrorKind::Stale);
    pg.database.abandon();
    assert!(pg.database.outbox(10).unwrap().is_empty());
}

#[test]
fn records_with_odd_times_and_nulls_can_be_kept() {
    let mut pg = Pg::new("");
    let mut builder = RawBatchBuilder::new(TopicPartition::new("t", 0));
    for (offset, time) in [(0, i64::MAX), (1, -1), (2, i64::MIN), (3, 0)] {
        builder.header("n\0", None);
        builder.push(offset, time, TimestampType::CreateTime, None, None);
    }
    let batch = data::Batch::new(Arc::new(builder.finish(4)));
    let rejects: Vec<RejectRow> = (0..4).map(|row| reject(row, "odd")).collect();
    let advance = pg.advance(&batch);
    pg.start_with(&[], &batch, &[advance], &rejects).unwrap();
    pg.database.settle().unwrap();
    let letters = pg.database.outbox(10).unwrap();
    assert_eq!(letters.iter().map(|l| l.timestamp).collect::<Vec<_>>(), [-1, -1, -1, 0]);
    assert!(letters.iter().all(|l| l.key.is_none() && l.value.is_none()));
    assert_eq!(letters[0].headers, [("n\u{fffd}".to_owned(), None)]);
}

#[test]
fn a_value_kept_without_its_prefix_is_whole_in_the_letter() {
    let mut pg = Pg::new("");
    let mut builder = RawBatchBuilder::new(TopicPartition::new("t", 0));
    builder.share_prefix(Some(Arc::from(&b"<schema>\0"[..])));
    let values = [&b"<schema>\0\xff"[..], b"<schema>\0", b"<schema>", b""];
    for (offset, value) in (0..).zip(values) {
        builder.push(offset, 0, TimestampType::CreateTime, None, Some(value));
    }
    let batch = data::Batch::new(Arc::new(builder.finish(4)));
    let rejects: Vec<RejectRow> = (0..4).map(|row| reject(row, "bad")).collect();
    let advance = pg.advance(&batch);
    pg.start_with(&[], &batch, &[advance], &rejects).unwrap();
    pg.database.settle().unwrap();
    let letters = pg.database.outbox(10).unwrap();
    let kept: Vec<_> = letters.iter().map(|l| l.value.as_deref().unwrap()).collect();
    assert_eq!(kept, values);
}

#[test]
fn another_owners_letters_are_not_ours() {
    let mut pg = Pg::new("");
    let batch = numbered(0, 1);
    let advance = pg.advance(&batch);
    pg.start_with(&[], &batch, &[advance], &[reject(0, "bad")]).unwrap();
    pg.database.settle().unwrap();
    let mut settings = super::pg::settings(&pg.server);
    settings.owner = "cluster/other".to_owned();
    let mut other = sql::postgres::PostgresDatabase::new(settings).unwrap();
    assert!(other.outbox(10).unwrap().is_empty());
    assert_eq!(open(&pg.server).outbox(10).unwrap().len(), 1);
}
