//! The project's own vectors, put to its crates: the same run as `cargo xtask golden`.

use golden::exceptions::Exceptions;
use golden::run::{Options, run_folder};

#[test]
fn every_recorded_answer_is_given_or_a_better_one() {
    let folder = golden::project().join(golden::TESTDATA);
    let exceptions = Exceptions::read(&golden::project(), &folder.join("deviations.json"))
        .expect("the lists of exceptions are readable");
    let mut told = String::new();
    let mut tell = |line: &str| {
        told.push_str(line);
        told.push('\n');
    };
    let summary = run_folder(&folder, &exceptions, Options::default(), &mut tell)
        .expect("the project's own vectors are readable");
    let rotten = exceptions.rotten(&summary.answered);
    assert!(summary.passed > 2_000, "only {} vectors were run", summary.passed);
    let failed = summary.failed;
    assert!(failed == 0 && rotten.is_empty(), "{failed} failed\n{told}\n{}", rotten.join("\n"));
}
