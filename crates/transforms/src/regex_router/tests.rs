//! The rules of this transform, each as a small case.

use crate::testing::{batch, config_error, made, map};
use data::{Batch, Mask};

fn routed(regex: &str, replacement: &str, topics: &[&str]) -> Batch {
    let mut batch = batch(&vec![map(&[]); topics.len()]);
    for (row, topic) in topics.iter().enumerate() {
        batch.set_topic(row, topic);
    }
    let settings = [("regex", regex), ("replacement", replacement)];
    made("RegexRouter", &settings).apply(&mut batch, &Mask::all(topics.len()));
    batch
}

fn topics(batch: &Batch) -> Vec<&str> {
    (0..batch.len()).map(|row| &**batch.topic(row)).collect()
}

#[test]
fn names_that_match_as_a_whole_are_replaced() {
    let given = ["db.orders", "db.orders", "orders", "db.users", "t"];
    let batch = routed("(?<db>\\w+)\\.(.*)", "${db}-$2", &given);
    assert_eq!(topics(&batch), ["db-orders", "db-orders", "orders", "db-users", "t"]);
    assert_eq!(batch.partition(0), Some(3), "the partition stays");
    // The match that is replaced is the first one, which need not be the whole name.
    assert_eq!(topics(&routed("t|tt", "x", &["tt"])), ["xt"]);
}

#[test]
fn a_replacement_that_fits_no_group_refuses_what_matches() {
    let batch = routed("a", "$1", &["a", "b"]);
    let [reject] = &batch.rejects[..] else { panic!() };
    assert_eq!((reject.row, &*reject.exception), (0, "java.lang.IndexOutOfBoundsException"));
    assert_eq!(reject.message, "No group 1");
}

#[test]
fn a_pattern_that_java_does_not_take_is_a_config_error() {
    let seen = config_error("RegexRouter", &[("regex", "a("), ("replacement", "x")]);
    let wanted =
        "Invalid value a( for configuration regex: Invalid regex: Unclosed group near index 2\na(";
    assert_eq!(seen, wanted);
}
