//! The rules of this transform, each as a small case.

use crate::testing::{batch, config_error, made, map};
use data::{Cell, Header, Mask};

#[test]
fn every_header_of_a_name_goes_and_the_rest_keep_their_order() {
    let mut batch = batch(&[map(&[]), map(&[])]);
    batch.headers.begin(2);
    for row in 0..2 {
        for name in ["a", "b", "A", "a", "c d"] {
            batch.headers.push(row, Header { name: name.into(), schema: None, value: Cell::Null });
        }
    }
    let mut selected = Mask::all(2);
    selected.kill(1);
    made("DropHeaders", &[("headers", " a , c d ,a")]).apply(&mut batch, &selected);
    let names =
        |row: usize| batch.headers.of(row).iter().map(|h| &*h.kind.name).collect::<Vec<_>>();
    assert_eq!(names(0), ["b", "A"]);
    assert_eq!(names(1).len(), 5, "not selected");
}

#[test]
fn names_are_needed() {
    let seen = config_error("DropHeaders", &[("headers", "a,,b")]);
    assert_eq!(seen, "Configuration 'headers' values must not be empty.");
    let seen = config_error("DropHeaders", &[("headers", "")]);
    assert!(seen.starts_with("Configuration 'headers' must not be empty."), "{seen}");
}
