//! Tables that are locked, altered and constrained while records flow.

use crate::harness::{PATIENCE, Route, wait_running};
use serde_json::json;
use testkit::{
    eventually,
    kafka::{Record, produce},
};

const PLAIN: [(&str, &str); 2] = [
    ("value.converter", "org.apache.kafka.connect.json.JsonConverter"),
    ("value.converter.schemas.enable", "false"),
];
/// A backend of the worker that waits for a lock.
const WAITING: &str = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' \
                       AND datname = current_database() AND application_name <> 'testkit'";

fn plain(part: i32, n: u64) -> Record {
    let row = json!({ "part": part, "n": n, "note": format!("n{n}"), "price": 0.5, "ok": true });
    Record::value(row.to_string()).partition(part)
}

/// A batch for each partition that is large enough to be copied.
fn produce_plain(route: &Route, from: u64, to: u64) {
    let parts = 0..route.partitions;
    let records = parts.flat_map(|part| (from..to).map(move |n| plain(part, n)));
    produce(&route.bootstrap, &route.topic, records);
}

/// B061: `bigint` becomes `double precision` between two transactions and while one waits. COPY in
/// binary form would store wrong numbers without a word.
#[test]
fn fault_a_column_changes_its_type_under_copy() {
    const ROWS: u64 = 3_000;
    let route = Route::new("altered", 1);
    let worker = route.worker(&PLAIN).start();
    let types = ["double precision", "bigint", "numeric", "integer", "text", "bigint"];
    for (round, kind) in (0..).zip(types) {
        produce_plain(&route, round * ROWS, (round + 1) * ROWS);
        let stored = (round + 1) * ROWS;
        eventually(PATIENCE, "stored", || (route.stored() == stored).then_some(()));
        let alter = format!("ALTER TABLE rows ALTER n TYPE {kind} USING n::text::{kind}");
        route.database.execute(&alter);
    }
    route.expect_exactly(&route.each(types.len() as u64 * ROWS));
    wait_running(&worker, route.name());
}

/// The worker waits for a lock, the table is another one when it gets it, and no row is lost.
#[test]
fn fault_a_table_is_locked_and_altered_meanwhile() {
    let route = Route::new("locked", 2);
    let worker = route.worker(&PLAIN).start();
    let alters = [
        "SELECT 'only locked'",
        "ALTER TABLE rows ADD COLUMN added text DEFAULT 'x' NOT NULL",
        "ALTER TABLE rows ALTER n TYPE double precision",
        "ALTER TABLE rows DROP COLUMN note",
        "ALTER TABLE rows ADD COLUMN note varchar(20)",
        "ALTER TABLE rows ALTER n TYPE bigint",
    ];
    let mut produced = 0;
    for alter in alters {
        for rows in [50, 2_000] {
            let (mut client, mut watch) = (route.database.client(), route.database.client());
            client.execute("BEGIN; LOCK TABLE rows IN ACCESS EXCLUSIVE MODE");
            produce_plain(&route, produced, produced + rows);
            produced += rows;
            eventually(PATIENCE, "the worker waits for the lock", || {
                (watch.value(WAITING).as_deref() != Some("0")).then_some(())
            });
            let once = if rows == 50 { alter } else { "SELECT 'again'" };
            client.execute(once);
            client.execute("COMMIT");
            let all = produced * 2;
            eventually(PATIENCE, "stored", || (route.stored() == all).then_some(()));
        }
    }
    route.expect_exactly(&route.each(produced));
    wait_running(&worker, route.name());
}

/// A constraint that is checked at the commit fails there; its row alone is reported.
#[test]
fn fault_a_deferred_constraint_names_its_row() {
    let route = Route::new("deferred", 1);
    route.database.execute(
        "CREATE TABLE parts (part int PRIMARY KEY); INSERT INTO parts VALUES (0); \
         ALTER TABLE rows ADD FOREIGN KEY (part) REFERENCES parts DEFERRABLE INITIALLY DEFERRED",
    );
    let orphan = |n: u64| {
        let row = json!({ "part": 7, "n": n });
        Record::value(row.to_string()).partition(0)
    };
    let records = (0..40).map(|n| if n % 13 == 5 { orphan(n) } else { plain(0, n) });
    produce(&route.bootstrap, &route.topic, records);
    let more = [PLAIN[0], PLAIN[1], ("errors.tolerance", "all")];
    let _worker = route.worker(&more).start();
    route.wait_for_no_lag();
    assert_eq!(route.stored(), 37);
    let letters = route.database.query(
        "SELECT record_offset, sqlstate, target_table FROM copycat_dead_letters \
         ORDER BY record_offset",
    );
    let text = |text: &str| Some(text.to_owned());
    let letter = |offset| vec![text(offset), text("23503"), text("public.rows")];
    assert_eq!(letters, ["5", "18", "31"].map(letter));
}
