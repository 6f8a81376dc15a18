//! Kafka into PostgreSQL with a real registry, beside the same rows as plain JSON.
//!
//! A proxy stands between the worker and the registry and counts what is asked.

use anyhow::{Result, ensure};
use testkit::registry::Proxy;

use super::orders::Language;
use crate::bench::{
    sink::{
        Bench,
        topics::{Form, Topic},
        transfer::{Case, Transfer},
        write::{check_rows, checkpoint, create_table},
    },
    table::{Goal, Section, paired_ratio},
    workload::Generation,
};

/// The seven fields of an order; `TYPE` is that of `created`.
const SCHEMA: &str = concat!(
    r#"{"type":"record","name":"orders","doc":"DOC","fields":[{"name":"id","type":"long"},"#,
    r#"{"name":"customer","type":"string"},{"name":"amount","type":"double"},"#,
    r#"{"name":"currency","type":"string"},{"name":"created","type":TYPE},"#,
    r#"{"name":"note","type":"string"},{"name":"paid","type":"boolean"}]}"#,
);
const LONG: &str = r#""long""#;
const TIMESTAMP: &str = r#"{"type":"long","logicalType":"timestamp-millis"}"#;

/// Partitions and tasks of the run that counts look-ups alone.
const PARTITIONS: i32 = 4;

/// A way to the table.
struct Way {
    name: &'static str,
    topic: Topic,
    /// The column of `created`.
    column: &'static str,
    ids: Vec<i32>,
    tasks: i32,
    case: Case,
    /// Of each run: schemas asked for, and all requests.
    asked: Vec<(usize, usize)>,
}

pub(in crate::bench) fn run(bench: &Bench) -> Result<Vec<Section>> {
    let subject = testkit::unique("bench-orders");
    let register = |kind: &str, doc: &str| {
        let schema = SCHEMA.replace("TYPE", kind).replace("DOC", doc);
        testkit::registry::register(&format!("{subject}-{doc}"), "AVRO", &schema)
    };
    let (long, other) = (register(LONG, "first"), register(LONG, "second"));
    let timestamp = register(TIMESTAMP, "third");
    let way = |name, column, ids: &[i32], tasks| {
        let forms: Vec<Form> = match ids {
            [] => vec![Form::Plain],
            ids => ids.iter().map(|id| Form::Avro(*id)).collect(),
        };
        let (bootstrap, first) = (&bench.bootstrap, Generation::First);
        let topic = Topic::spread(bootstrap, &forms, first, bench.records, tasks)?;
        let (case, asked) = Default::default();
        anyhow::Ok(Way { name, topic, column, ids: ids.to_vec(), tasks, case, asked })
    };
    let mut ways = [
        way("plain JSON", "BIGINT", &[], 1)?,
        way("Avro, the same table", "BIGINT", &[long], 1)?,
        way("Avro, created as a timestamp", "TIMESTAMP", &[timestamp], 1)?,
    ];
    for _ in 0..bench.runs {
        for way in &mut ways {
            transfer(bench, way)?;
        }
    }
    let mut spread = way("Avro of two ids in turn", "BIGINT", &[long, other], PARTITIONS)?;
    transfer(bench, &mut spread)?;
    let counted: Vec<&Way> = ways.iter().skip(1).chain([&spread]).collect();
    Ok(vec![table(&ways), look_ups(&counted)?])
}

fn transfer(bench: &Bench, way: &mut Way) -> Result<()> {
    create_table(bench, way.column, "PRIMARY KEY");
    let proxy = Proxy::to(testkit::registry::url());
    let tasks = way.tasks.to_string();
    let mut transfer = Transfer::new(bench, &way.topic).set("tasks.max", &tasks);
    if !way.ids.is_empty() {
        transfer = transfer
            .set("value.converter", Language::Avro.converter())
            .set("value.converter.schema.registry.url", &proxy.url());
    }
    let sample = transfer.measure(&mut transfer.positions())?;
    check_rows(
        bench,
        bench.records,
        "created = EXPECTED".replace("EXPECTED", &created(way)).as_str(),
    )?;
    way.case.add(&sample);
    let ids = way.ids.iter().map(|id| of_schema(&proxy, *id));
    way.asked.push((ids.sum(), proxy.asked().len()));
    checkpoint(bench);
    Ok(())
}

/// What `created` is for each row, in SQL.
fn created(way: &Way) -> String {
    let ms = "1700000000000 + id * 1000 + id % 1000";
    match way.column {
        "BIGINT" => ms.to_owned(),
        _ => format!("timestamp 'epoch' + ({ms}) * interval '1 millisecond'"),
    }
}

/// How often this schema was asked for; in which subjects it is is another question.
fn of_schema(proxy: &Proxy, id: i32) -> usize {
    let path = format!("/schemas/ids/{id}");
    let asked = proxy.asked();
    let paths = asked.iter().map(|asked| asked.path.split('?').next().unwrap_or_default());
    paths.filter(|asked| *asked == path).count()
}

fn table(ways: &[Way]) -> Section {
    let columns = [
        "case",
        "rows/s",
        "of plain JSON",
        "rows/s with start",
        "rows per CPU-s",
        "of plain JSON per CPU-s",
        "peak memory",
    ];
    let mut section = Section::new("Kafka into PostgreSQL, append", &columns);
    let plain = ways.first();
    for way in ways {
        let [with_start, per_cpu, peak] = way.case.own_cells();
        let theirs = plain.filter(|_| !way.ids.is_empty());
        let ratio = |of: fn(&Case) -> &crate::bench::table::Series| {
            theirs.map_or_else(String::new, |plain| {
                let ratio = paired_ratio(of(&way.case), of(&plain.case));
                Goal::AtLeast(1.0).judge(ratio, |v| format!("{v:.2}"))
            })
        };
        let (rate, cpu) = (ratio(|case| &case.rates), ratio(|case| &case.per_cpu_s));
        let name = way.name.to_owned();
        section.row([name, way.case.rate_cell(), rate, with_start, per_cpu, cpu, peak]);
    }
    section.note(
        "Orders of 7 fields, one partition, lz4, default settings, a table with a primary key. Runs \
         take turns: median (least–most); a ratio is the median of the ratios of neighbouring runs. \
         In plain JSON nothing says that `created` is a time, so it is a bigint; Avro has a row with \
         the same table and one with a timestamp. Broker, database, registry and worker share the \
         machine.",
    );
    section
}

fn look_ups(ways: &[&Way]) -> Result<Section> {
    let columns =
        ["case", "tasks", "records", "ids", "schemas asked for, a run", "all requests, a run"];
    let mut section = Section::new("Questions to the registry", &columns);
    for way in ways {
        let wanted = way.ids.len();
        for (schemas, _) in &way.asked {
            ensure!(*schemas == wanted, "{}: {schemas} look-ups of {wanted} ids", way.name);
        }
        let most = way.asked.iter().map(|(_, all)| *all).max().unwrap_or_default();
        section.row([
            way.name.to_owned(),
            way.tasks.to_string(),
            way.topic.records.to_string(),
            wanted.to_string(),
            format!("{wanted}, wanted {wanted}: met"),
            most.to_string(),
        ]);
    }
    section.note(
        "Counted between the worker and the registry in every run. The other request asks which \
         version the schema is.",
    );
    Ok(section)
}
