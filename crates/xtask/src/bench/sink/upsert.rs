//! Upserts into PostgreSQL, against one that is written by hand: `INSERT … SELECT FROM unnest` of
//! arrays in text form, in equal transactions.

use anyhow::{Result, ensure};

use super::topics::Topic;
use super::transfer::{Case, Transfer};
use super::write::{UpsertData, check_rows, checkpoint, create_usual_table};
use super::{Bench, JVM_UPSERT_PER_CPU_S};
use crate::bench::table::{Goal, Section, paired_ratio};
use crate::bench::workload::Generation;

const TRANSACTION: u64 = 5_000;
const COLUMNS: [&str; 7] = [
    "case",
    "rows/s",
    "of the one by hand",
    "rows/s with start",
    "rows per CPU-s",
    "of the JVM's best per CPU-s",
    "peak memory",
];

#[derive(Default)]
struct Cases {
    by_hand_empty: Case,
    by_hand_again: Case,
    empty: Case,
    again: Case,
    new_keys: Case,
    unchanged: Case,
}

pub(super) fn run(bench: &Bench) -> Result<Section> {
    let records = bench.records;
    let first = UpsertData::new(records, TRANSACTION, Generation::First)?;
    let second = UpsertData::new(records, TRANSACTION, Generation::Second)?;
    let mut cases = Cases::default();
    for _ in 0..bench.runs {
        create_usual_table(bench);
        cases.by_hand_empty.add_rate(first.write(bench, records)?);
        create_usual_table(bench);
        ours(bench, bench.envelope()?, &mut cases.empty, "g1", false)?;

        // Both go over a table that was written once.
        create_usual_table(bench);
        first.write(bench, records)?;
        checkpoint(bench);
        cases.by_hand_again.add_rate(second.write(bench, records)?);
        create_usual_table(bench);
        first.write(bench, records)?;
        checkpoint(bench);
        ours(bench, bench.second_generation()?, &mut cases.again, "g2", false)?;
        checkpoint(bench);
        ours(bench, bench.second_generation()?, &mut cases.unchanged, "g2", true)?;

        create_usual_table(bench);
        other_keys(bench)?;
        ours(bench, bench.envelope()?, &mut cases.new_keys, "g1", false)?;
    }
    Ok(table(&cases))
}

fn ours(
    bench: &Bench,
    topic: &Topic,
    case: &mut Case,
    generation: &str,
    skip_unchanged: bool,
) -> Result<()> {
    let transfer = Transfer::new(bench, topic)
        .transactions_of(TRANSACTION)
        .set("insert.mode", "upsert")
        .set("pk.mode", "record_value")
        .set("pk.fields", "id")
        .set("upsert.skip.unchanged", if skip_unchanged { "true" } else { "false" });
    case.add(&transfer.measure(&mut transfer.positions())?);
    check_rows(bench, bench.records, &format!("id >= 0 AND note LIKE '{generation}-%'"))
}

/// As many rows under keys of their own.
fn other_keys(bench: &Bench) -> Result<()> {
    let rows = bench.client().execute(&format!(
        "INSERT INTO orders SELECT -n, 'cust', 1, 'EUR', '2024-01-01', repeat('x', 40), true \
         FROM generate_series(1, {}) n",
        bench.records
    ));
    ensure!(rows == bench.records, "{rows} other rows");
    checkpoint(bench);
    Ok(())
}

fn table(cases: &Cases) -> Section {
    let mut section = Section::new("Upsert, PostgreSQL", &COLUMNS);
    let title = |what: &str| format!("{what}, {TRANSACTION} rows a transaction");
    let hand = |name: &str, case: &Case| {
        let mut cells = vec![title(name), case.rate_cell()];
        cells.resize(COLUMNS.len(), String::new());
        cells
    };
    let Cases { by_hand_empty, by_hand_again, empty, again, new_keys, unchanged } = cases;
    section.row(hand("by hand, empty table", by_hand_empty));
    section.row(cells(title("empty table"), empty, by_hand_empty, 1.10));
    section.row(cells(
        title("only new keys, beside as many old ones"),
        new_keys,
        by_hand_empty,
        1.50,
    ));
    section.row(hand("by hand, the same keys again", by_hand_again));
    section.row(cells(title("the same keys again"), again, by_hand_again, 1.10));
    section.row(cells(
        title("unchanged rows, upsert.skip.unchanged"),
        unchanged,
        by_hand_again,
        1.50,
    ));
    section
}

fn cells(name: String, ours: &Case, by_hand: &Case, least: f64) -> Vec<String> {
    let of_hand = paired_ratio(&ours.rates, &by_hand.rates);
    let of_jvm = ours.per_cpu_s.median() / JVM_UPSERT_PER_CPU_S;
    let [with_start, per_cpu, _] = ours.own_cells();
    vec![
        name,
        ours.rate_cell(),
        Goal::AtLeast(least).judge(of_hand, |v| format!("{v:.2}")),
        with_start,
        per_cpu,
        Goal::AtLeast(6.0).judge(of_jvm, |v| format!("{v:.1}")),
        Goal::AtMost(48.0).judge(ours.peak_mb(), |v| format!("{v:.0} MB")),
    ]
}
