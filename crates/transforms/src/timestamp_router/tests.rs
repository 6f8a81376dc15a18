//! The rules of TimestampRouter, each on a record of its own.

use super::*;
use crate::testing::{batch, config_error, made, map};

fn routed(settings: &[(&str, &str)], times: &[Option<i64>]) -> (Vec<String>, Vec<String>) {
    let records: Vec<_> = times
        .iter()
        .map(|time| {
            let mut record = map(&[]);
            record.timestamp = *time;
            record
        })
        .collect();
    let mut batch = batch(&records);
    made(CLASS, settings).apply(&mut batch, &Mask::all(times.len()));
    let topics = (0..times.len()).map(|row| batch.topic(row).to_string()).collect();
    (topics, batch.rejects.iter().map(|reject| reject.message.clone()).collect())
}

#[test]
fn every_record_goes_by_its_own_time() {
    let times = [Some(0), Some(DAY_MS - 1), Some(DAY_MS), Some(-2), Some(1_700_000_000_123)];
    let (topics, rejects) = routed(&[], &times);
    assert_eq!(topics, ["t-19700101", "t-19700101", "t-19700102", "t-19691231", "t-20231114"]);
    assert!(rejects.is_empty());
    for (pattern, wanted) in [
        ("HH", ["00", "23", "00", "23", "22"]),
        ("mm", ["00", "59", "00", "59", "13"]),
        ("ss", ["00", "59", "00", "59", "20"]),
        ("SSS", ["000", "999", "000", "998", "123"]),
        ("a", ["AM", "PM", "AM", "PM", "PM"]),
    ] {
        let settings = [("topic.format", "${timestamp}"), ("timestamp.format", pattern)];
        assert_eq!(routed(&settings, &times).0, wanted);
    }
}

#[test]
fn placeholders_are_literal_and_may_repeat() {
    for (format, wanted) in [
        ("${timestamp}_${topic}_${timestamp}", "1970_t_1970"),
        ("fixed", "fixed"),
        ("$${topic}\\1", "$t\\1"),
    ] {
        let settings = [("topic.format", format), ("timestamp.format", "yyyy")];
        assert_eq!(routed(&settings, &[Some(0)]).0, [wanted]);
    }
}

#[test]
fn a_timestamp_in_the_topics_name_is_replaced_too() {
    let mut batch = batch(&[map(&[])]);
    batch.set_topic(0, "a${timestamp}b$1");
    made(CLASS, &[("timestamp.format", "yyyy-MM")]).apply(&mut batch, &Mask::all(1));
    assert_eq!(&**batch.topic(0), "a1970-01b$1-1970-01");
}

#[test]
fn a_record_without_time_is_refused_without_its_content() {
    let (topics, rejects) = routed(&[], &[Some(0), None]);
    assert_eq!(topics, ["t-19700101", "t"]);
    assert_eq!(rejects, ["Timestamp missing on record: topic t, partition 3, offset 8"]);
}

#[test]
fn a_bad_pattern_is_a_configuration_error() {
    assert_eq!(
        config_error(CLASS, &[("timestamp.format", "bogus")]),
        "Invalid value bogus for configuration timestamp.format: Illegal pattern character 'b'"
    );
}
