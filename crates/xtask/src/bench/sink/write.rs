//! The table, and what other ways of writing the same rows reach: COPY, and an upsert by hand.
//!
//! Their data are ready before the clock starts, and one transaction is in flight.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use sql::postgres::wire::{ConnectConfig, Connection, Format, Param, Pipeline, Wait};

use super::Bench;
use crate::bench::workload::{Generation, Order};

/// The table as the workload defines it.
pub(in crate::bench) fn create_table(bench: &Bench, created: &str, key: &str) {
    let mut client = bench.client();
    client.execute("DROP TABLE IF EXISTS orders");
    client.execute(&format!(
        "CREATE TABLE orders (id BIGINT NOT NULL {key}, customer TEXT NOT NULL, amount DOUBLE \
         PRECISION NOT NULL, currency TEXT NOT NULL, created {created} NOT NULL, note TEXT NOT \
         NULL, paid BOOLEAN NOT NULL)"
    ));
    client.execute("CHECKPOINT");
}

/// The table that nearly every case writes.
pub(super) fn create_usual_table(bench: &Bench) {
    create_table(bench, "TIMESTAMP", "PRIMARY KEY");
}

pub(in crate::bench) fn checkpoint(bench: &Bench) {
    bench.client().execute("CHECKPOINT");
}

/// Exactly these rows are there, each once.
pub(in crate::bench) fn check_rows(bench: &Bench, rows: u64, condition: &str) -> Result<()> {
    let sql = format!(
        "SELECT count(*) || ' ' || count(DISTINCT id) || ' ' || coalesce(max(id), -1) FROM orders \
         WHERE {condition}"
    );
    let found = bench.client().value(&sql).unwrap_or_default();
    let wanted = format!("{rows} {rows} {}", i128::from(rows) - 1);
    ensure!(found == wanted, "rows, different ids, last id: {found} instead of {wanted}");
    Ok(())
}

pub(in crate::bench) fn connect(url: &str) -> Result<Connection> {
    let config = ConnectConfig::parse(url).map_err(say_pg)?;
    Connection::connect(&config, wait()).map_err(say_pg)
}

pub(in crate::bench) fn wait() -> Wait<'static> {
    Wait::at_most(Duration::from_secs(120))
}

pub(in crate::bench) fn say_pg(error: sql::postgres::wire::PgError) -> anyhow::Error {
    anyhow::anyhow!("{error}")
}

/// Data of one COPY each.
pub(in crate::bench) struct CopyData(Vec<Vec<u8>>);

impl CopyData {
    pub(super) fn new(records: u64, transaction: u64) -> Result<CopyData> {
        CopyData::of(records, transaction, Order::copy_line)
    }

    /// Lines in a form of the caller's.
    pub(in crate::bench) fn of(
        records: u64,
        transaction: u64,
        line: impl Fn(&Order, &mut String),
    ) -> Result<CopyData> {
        let mut parts = Vec::new();
        let mut text = String::new();
        for id in 0..records {
            line(&Order::new(i64::try_from(id)?, Generation::First), &mut text);
            if (id + 1) % transaction == 0 || id + 1 == records {
                parts.push(std::mem::take(&mut text).into_bytes());
            }
        }
        Ok(CopyData(parts))
    }

    /// COPY in text form, one transaction a part. Seconds.
    pub(in crate::bench) fn write(&self, url: &str, table: &str) -> Result<f64> {
        let mut connection = connect(url)?;
        let mut pipeline = Pipeline::new();
        let copy = format!("COPY {table} FROM STDIN");
        let start = Instant::now();
        for part in &self.0 {
            pipeline.query(&copy).copy_data(part).copy_done();
            let reply = connection.run(&mut pipeline, wait()).map_err(say_pg)?;
            reply.check().map_err(say_pg)?;
        }
        Ok(start.elapsed().as_secs_f64())
    }
}

const UPSERT: &str = "INSERT INTO orders SELECT * FROM unnest($1::bigint[], $2::text[], \
     $3::double precision[], $4::text[], $5::timestamp[], $6::text[], $7::boolean[]) \
     ON CONFLICT (id) DO UPDATE SET customer = excluded.customer, amount = excluded.amount, \
     currency = excluded.currency, created = excluded.created, note = excluded.note, \
     paid = excluded.paid";

/// Parameters of one upsert each: seven arrays in text form.
pub(super) struct UpsertData(Vec<[String; 7]>);

impl UpsertData {
    pub(super) fn new(
        records: u64,
        transaction: u64,
        generation: Generation,
    ) -> Result<UpsertData> {
        let mut parts = Vec::new();
        let mut arrays: [String; 7] = Default::default();
        for id in 0..records {
            push(&mut arrays, &Order::new(i64::try_from(id)?, generation));
            if (id + 1) % transaction == 0 || id + 1 == records {
                for array in &mut arrays {
                    array.push('}');
                }
                parts.push(std::mem::take(&mut arrays));
            }
        }
        Ok(UpsertData(parts))
    }

    /// `INSERT … SELECT FROM unnest … ON CONFLICT DO UPDATE`, one transaction a part. Rows a second.
    pub(super) fn write(&self, bench: &Bench, records: u64) -> Result<f64> {
        let mut connection = connect(&bench.database.url())?;
        connection.prepare("upsert", UPSERT, &[], wait()).map_err(say_pg)?;
        let mut pipeline = Pipeline::new();
        let start = Instant::now();
        for part in &self.0 {
            let params = part.each_ref().map(|array| Param::Text(array.as_bytes()));
            pipeline.bind("upsert", &params, Format::Text).execute(0).sync();
            let reply = connection.run(&mut pipeline, wait()).map_err(say_pg)?;
            reply.check().map_err(say_pg)?;
        }
        Ok(records as f64 / start.elapsed().as_secs_f64())
    }
}

fn push(arrays: &mut [String; 7], order: &Order) {
    let Order { id, customer, amount, currency, note, paid, .. } = order;
    let mut created = String::new();
    order.created(&mut created);
    let values = [
        id.to_string(),
        customer.clone(),
        format!("{amount:?}"),
        (*currency).to_owned(),
        // The blank in it needs no quotes, but reads better with them.
        format!("\"{created}\""),
        note.clone(),
        paid.to_string(),
    ];
    for (array, value) in arrays.iter_mut().zip(values) {
        array.push(if array.is_empty() { '{' } else { ',' });
        array.push_str(&value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_are_cut_into_transactions() {
        let copy = CopyData::new(5, 2).unwrap();
        let lines: Vec<usize> =
            copy.0.iter().map(|part| part.iter().filter(|b| **b == b'\n').count()).collect();
        assert_eq!(lines, [2, 2, 1]);
        let upsert = UpsertData::new(3, 2, Generation::First).unwrap();
        let ids: Vec<&str> = upsert.0.iter().map(|part| part[0].as_str()).collect();
        assert_eq!(ids, ["{0,1}", "{2}"]);
        assert_eq!(upsert.0[0][6], "{true,false}");
    }
}
