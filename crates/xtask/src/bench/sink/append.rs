//! New rows into PostgreSQL, against COPY in text form of the same rows in equal transactions.

use anyhow::Result;

use super::transfer::{Case, Transfer};
use super::write::{CopyData, check_rows, checkpoint, create_table, create_usual_table};
use super::{Bench, JVM_INSERT_PER_CPU_S};
use crate::bench::table::{Goal, Section, paired_ratio};

const COLUMNS: [&str; 7] = [
    "case",
    "rows/s",
    "of COPY in equal transactions",
    "rows/s with start",
    "rows per CPU-s",
    "of the JVM's best per CPU-s",
    "peak memory",
];
/// Rows a transaction where nothing is set: a whole poll.
const USUAL_TRANSACTION: u64 = 10_000;

struct Size {
    rows: u64,
    data: CopyData,
    copy: Case,
    ours: Case,
}

pub(super) fn run(bench: &Bench) -> Result<Vec<Section>> {
    let rows: &[u64] = if bench.quick { &[10_000] } else { &[1_000, 5_000, 10_000] };
    let mut sizes = Vec::new();
    for rows in rows {
        let data = CopyData::new(bench.records, *rows)?;
        sizes.push(Size { rows: *rows, data, copy: Case::default(), ours: Case::default() });
    }
    let (mut usual, mut pooled, mut plain) = (Case::default(), Case::default(), Case::default());
    for _ in 0..bench.runs {
        for size in &mut sizes {
            create_usual_table(bench);
            let seconds = size.data.write(&bench.database.url(), "orders")?;
            size.copy.add_rate(bench.records as f64 / seconds);
            check_rows(bench, bench.records, "true")?;
            insert(bench, &mut size.ours, |t| t.transactions_of(size.rows))?;
        }
        insert(bench, &mut usual, |t| t)?;
        insert(bench, &mut pooled, |t| t.set("connection.pooler", "transaction"))?;
        create_table(bench, "BIGINT", "PRIMARY KEY");
        let transfer = Transfer::new(bench, bench.plain()?);
        plain.add(&transfer.measure(&mut transfer.positions())?);
        check_rows(bench, bench.records, "true")?;
    }
    Ok(vec![table(&sizes, &usual, &pooled, &plain), threads(&usual)])
}

/// Where the worker's own CPU goes.
fn threads(usual: &Case) -> Section {
    let columns = ["kind of thread", "CPU, ns a row"];
    let mut section = Section::new("Own CPU by thread, envelope at default settings", &columns);
    let mut threads: Vec<(&String, &f64)> = usual.threads.iter().collect();
    threads.sort_by(|a, b| b.1.total_cmp(a.1));
    for (name, ns) in threads.into_iter().filter(|(_, ns)| **ns >= 1.0) {
        section.row([name.clone(), format!("{ns:.0}")]);
    }
    section.note("Names are cut by the kernel after 15 bytes. rdk is librdkafka.");
    section
}

fn insert<'a>(
    bench: &'a Bench,
    case: &mut Case,
    change: impl FnOnce(Transfer<'a>) -> Transfer<'a>,
) -> Result<()> {
    create_usual_table(bench);
    let transfer = change(Transfer::new(bench, bench.envelope()?));
    case.add(&transfer.measure(&mut transfer.positions())?);
    check_rows(bench, bench.records, "true")?;
    checkpoint(bench);
    Ok(())
}

fn table(sizes: &[Size], usual: &Case, pooled: &Case, plain: &Case) -> Section {
    let mut section = Section::new("Append, PostgreSQL", &COLUMNS);
    for Size { rows, copy, ours, .. } in sizes {
        let none = || "".to_owned();
        let name = format!("COPY text, {rows} rows a transaction");
        section.row([name, copy.rate_cell(), none(), none(), none(), none(), none()]);
        let name = format!("envelope, {rows} rows a transaction");
        section.row(cells(name, ours, Some((copy, 1.10))));
    }
    let copy = sizes.iter().find(|size| size.rows == USUAL_TRANSACTION).map(|size| &size.copy);
    let goal = |least| copy.map(|copy| (copy, least));
    section.row(cells("envelope, default settings".to_owned(), usual, goal(1.10)));
    section.row(cells("envelope, behind a pooler (COPY text)".to_owned(), pooled, goal(0.90)));
    section.row(cells("plain JSON, default settings".to_owned(), plain, None));
    section.note(
        "The table has a primary key. For plain JSON `created` is a bigint, as nothing says that \
         it is a time.",
    );
    section
}

fn cells(name: String, ours: &Case, copy: Option<(&Case, f64)>) -> Vec<String> {
    let ratio = |v: f64| format!("{v:.2}");
    let of_copy = copy.map(|(copy, least)| {
        Goal::AtLeast(least).judge(paired_ratio(&ours.rates, &copy.rates), ratio)
    });
    let of_jvm = ours.per_cpu_s.median() / JVM_INSERT_PER_CPU_S;
    let [with_start, per_cpu, _] = ours.own_cells();
    vec![
        name,
        ours.rate_cell(),
        of_copy.unwrap_or_default(),
        with_start,
        per_cpu,
        Goal::AtLeast(8.0).judge(of_jvm, |v| format!("{v:.1}")),
        Goal::AtMost(48.0).judge(ours.peak_mb(), |v| format!("{v:.0} MB")),
    ]
}
