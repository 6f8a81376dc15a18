//! What the positions in the rows' own transactions cost: the same runs with and without.

use anyhow::Result;

use super::Bench;
use super::transfer::{Case, Rows, Transfer};
use super::write::{check_rows, create_usual_table};
use crate::bench::table::{Goal, Section, paired_ratio};

/// Rows a transaction, and by how much a run may be longer.
const SIZES: [(u64, f64); 3] = [(100, 0.20), (1_000, 0.05), (10_000, 0.02)];
/// Small transactions take long; so many rows of them are enough.
const ROWS_OF_SMALL: u64 = 300_000;

pub(super) fn run(bench: &Bench) -> Result<Section> {
    let columns = ["rows a transaction", "without, rows/s", "with, rows/s", "longer by"];
    let mut section = Section::new("Cost of exactly once", &columns);
    for (rows, most) in SIZES {
        let until = if rows < 1_000 { ROWS_OF_SMALL.min(bench.records) } else { bench.records };
        let (mut without, mut with) = (Case::default(), Case::default());
        // The differences are small, so there are more pairs than elsewhere, in both orders.
        for pair in 0..(bench.runs * 2) {
            let order =
                if pair % 2 == 0 { ["disabled", "enabled"] } else { ["enabled", "disabled"] };
            for mode in order {
                let case = if mode == "enabled" { &mut with } else { &mut without };
                one(bench, rows, until, mode, case)?;
            }
        }
        let longer = paired_ratio(&without.rates, &with.rates) - 1.0;
        section.row([
            rows.to_string(),
            without.rate_cell(),
            with.rate_cell(),
            Goal::AtMost(most).judge(longer, |v| format!("{:.1} %", v * 100.0)),
        ]);
    }
    Ok(section)
}

fn one(bench: &Bench, rows: u64, until: u64, mode: &str, case: &mut Case) -> Result<()> {
    create_usual_table(bench);
    let mut transfer = Transfer::new(bench, bench.envelope()?)
        .transactions_of(rows)
        .set("exactly.once.sink", mode);
    transfer.until = until;
    // Both are watched in the same way.
    case.add(&transfer.measure(&mut Rows::new(bench, rows, until))?);
    check_rows(bench, until, &format!("id < {until}"))
}
