//! Records at the edge of what can be read and stored: each is stored or reported, none is lost and
//! none ends the task.

use crate::harness::{PATIENCE, Route, task, wait_running};
use serde_json::json;
use testkit::{
    eventually,
    kafka::{Record, produce},
};

const PLAIN: [(&str, &str); 4] = [
    ("value.converter", "org.apache.kafka.connect.json.JsonConverter"),
    ("value.converter.schemas.enable", "false"),
    ("errors.tolerance", "all"),
    ("errors.tolerance.max.ratio", "1"),
];

/// What must become of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    Stored,
    /// With this in the reason, or as SQLSTATE.
    Reported(&'static str),
    /// Counted, by intent neither stored nor reported.
    Ignored,
}
use Fate::{Ignored, Reported, Stored};

fn nested(levels: usize) -> String {
    format!(r#"{{"n":1,"doc":{}1{}}}"#, r#"{"a":"#.repeat(levels), "}".repeat(levels))
}

fn expect(route: &Route, more: &[(&str, &str)], cases: &[(&str, String, Fate)]) {
    let records = cases.iter().map(|(_, value, _)| Record::value(value.as_str()).partition(0));
    produce(&route.bootstrap, &route.topic, records);
    let worker = route.worker(more).start();
    route.wait_for_no_lag();
    wait_running(&worker, route.name());
    let letters = route
        .database
        .query("SELECT record_offset, reason, sqlstate FROM copycat_dead_letters ORDER BY 1");
    let letter = |offset: usize| {
        letters.iter().find(|row| row[0].as_deref() == Some(offset.to_string().as_str()))
    };
    let mut wrong = Vec::new();
    for (offset, (name, _, fate)) in cases.iter().enumerate() {
        match (fate, letter(offset)) {
            (Reported(part), Some(row)) => {
                let reason = row[1].as_deref().unwrap_or_default();
                let told = reason.contains(part) || row[2].as_deref() == Some(part);
                wrong.extend((!told).then(|| format!("{name}: {row:?}")));
            }
            (Stored | Ignored, None) => {}
            (fate, letter) => wrong.push(format!("{name}: {fate:?}, but {letter:?}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let stored = cases.iter().filter(|(_, _, fate)| *fate == Stored).count() as u64;
    assert_eq!(route.stored(), stored);
    let reported = cases.iter().filter(|(_, _, fate)| matches!(fate, Reported(_))).count() as u64;
    assert_eq!(route.dead_letters(), reported);
    let counts = task(&worker, route.name());
    assert_eq!(counts["copycat"]["records_read"], json!(cases.len()), "{counts}");
    assert_eq!(counts["copycat"]["records_stored"], json!(stored), "{counts}");
    assert_eq!(counts["copycat"]["records_reported"], json!(reported), "{counts}");
}

/// Report 12: also the text with a NUL.
#[test]
fn odd_plain_records_are_stored_or_reported() {
    let route = Route::new("odd-plain", 1);
    route.database.execute("ALTER TABLE rows ADD COLUMN doc jsonb");
    let text = |text: &str| text.to_owned();
    let cases = [
        ("good", text(r#"{"n":1}"#), Stored),
        ("not JSON", text("{bad"), Reported("")),
        // Connect reads this, too, as null.
        ("empty", text(""), Ignored),
        ("JSON null", text("null"), Ignored),
        ("a number", text("17"), Reported("")),
        ("a list", text("[1]"), Reported("")),
        ("cut", text(r#"{"n":1,"note":"ab"#), Reported("")),
        ("two values", text(r#"{"n":1}{"n":2}"#), Reported("")),
        ("number too large", text(r#"{"n":9223372036854775808}"#), Reported("22003")),
        ("fraction in a whole number", text(r#"{"n":1.5}"#), Reported("n")),
        ("huge number", text(r#"{"n":1e400}"#), Reported("")),
        ("NUL in text", text(r#"{"n":1,"note":"a\u0000b"}"#), Reported("22021")),
        ("NUL in jsonb", text(r#"{"n":1,"doc":{"a":"\u0000"}}"#), Reported("22P05")),
        ("half a surrogate", text(r#"{"n":1,"note":"\ud800"}"#), Stored),
        ("unknown field", text(r#"{"n":1,"what":"is this"}"#), Stored),
        ("1,000 levels", nested(990), Stored),
        ("100,000 levels", nested(100_000), Reported("")),
        ("twice the same key", text(r#"{"n":1,"n":2}"#), Stored),
        ("good at the end", text(r#"{"n":2}"#), Stored),
    ];
    expect(&route, &PLAIN, &cases);
}

#[test]
fn odd_envelopes_are_reported() {
    let route = Route::new("odd-envelope", 1);
    let text = |text: &str| text.to_owned();
    let good = crate::harness::envelope(0, 7);
    let schema = r#"{"type":"struct","fields":[{"field":"n","type":"int64","optional":false}],"optional":false}"#;
    let with = |payload: &str| format!(r#"{{"schema":{schema},"payload":{payload}}}"#);
    let cases = [
        ("good", good.clone(), Stored),
        ("cut", good[..good.len() - 9].to_owned(), Reported("")),
        ("no payload", format!(r#"{{"schema":{schema}}}"#), Reported("payload")),
        ("no schema", text(r#"{"n":1}"#), Reported("schema")),
        ("JSON null", text("null"), Reported("")),
        ("a field is missing", with("{}"), Reported("n")),
        ("a required field is null", with(r#"{"n":null}"#), Reported("n")),
        ("another type", with(r#"{"n":"x"}"#), Reported("")),
        ("number too large", with(r#"{"n":9223372036854775808}"#), Reported("")),
        ("unknown type", good.replace("int64", "int65"), Reported("int65")),
        ("good at the end", good, Stored),
    ];
    let more = [("errors.tolerance", "all"), ("errors.tolerance.max.ratio", "1")];
    expect(&route, &more, &cases);
}

/// With a schema and without auto.evolve a field without a column is an error (B061), and the column
/// is found once it is there.
#[test]
fn a_field_without_a_column_is_an_error_where_there_is_a_schema() {
    let route = Route::new("no-column", 1);
    route.database.execute("ALTER TABLE rows DROP COLUMN price");
    route.produce(0, 5);
    let mut worker = route.worker(&[]).start();
    let trace = crate::harness::wait_failed(&worker, route.name());
    for part in ["price", "auto.evolve"] {
        assert!(trace.contains(part), "{part}: {trace}");
    }
    assert_eq!(route.stored(), 0);
    route.database.execute("ALTER TABLE rows ADD COLUMN price double precision");
    worker.kill9();
    worker.restart();
    route.expect_exactly(&route.each(5));
}

/// 50 MB in one record, between small ones.
#[test]
fn a_record_of_50_megabytes_is_stored() {
    let route = Route::new("large", 1);
    let value = |n: u64, note: &str| Record::value(json!({ "n": n, "note": note }).to_string());
    let large = "x".repeat(50_000_000);
    let worker = route.worker(&PLAIN).start();
    produce(&route.bootstrap, &route.topic, [value(0, "a"), value(1, &large), value(2, "b")]);
    eventually(PATIENCE, "all are stored", || (route.stored() == 3).then_some(()));
    route.wait_for_no_lag();
    let length = route.database.value("SELECT max(length(note)) FROM rows");
    assert_eq!(length.as_deref(), Some("50000000"));
    wait_running(&worker, route.name());
}
