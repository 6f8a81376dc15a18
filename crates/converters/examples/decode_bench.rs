//! Nanoseconds per record of the JSON decoder, for an order in a schema envelope and as plain JSON.
//!
//! Linux: processor time; elsewhere wall time.
//!
//! `cargo run --release -p converters --example decode_bench`

#![allow(clippy::print_stdout, reason = "a benchmark's output")]

use api::Side;
use config::Props;
use data::{Batch, RawBatch, RawBatchBuilder, TimestampType, TopicPartition};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

const RECORDS: u64 = 200_000;
const BATCH_ROWS: u64 = 10_000;
const ROUNDS: usize = 9;

const SCHEMA: &str = r#"{"type":"struct","fields":[{"type":"int64","optional":false,"field":"id"},{"type":"string","optional":false,"field":"customer"},{"type":"double","optional":false,"field":"amount"},{"type":"string","optional":false,"field":"currency"},{"type":"int64","optional":false,"name":"org.apache.kafka.connect.data.Timestamp","version":1,"field":"created"},{"type":"string","optional":false,"field":"note"},{"type":"boolean","optional":false,"field":"paid"}],"optional":false,"name":"orders"}"#;

/// The thread's own time on a processor where the system tells it, so that other load counts less.
struct Clock {
    busy_ns: Option<f64>,
    wall: Instant,
}

impl Clock {
    fn start() -> Clock {
        Clock { busy_ns: Clock::busy(), wall: Instant::now() }
    }

    fn busy() -> Option<f64> {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        text.split(' ').next()?.parse().ok()
    }

    fn elapsed_ns(&self) -> f64 {
        match (self.busy_ns, Clock::busy()) {
            (Some(start), Some(end)) => end - start,
            _ => self.wall.elapsed().as_nanos() as f64,
        }
    }
}

fn order(id: u64) -> String {
    let customer = id * 7919 % 100_000_000;
    let amount = (id * 37 % 1_000_000) as f64 / 100.0;
    let currency = ["EUR", "USD", "GBP", "JPY", "CHF"][id as usize % 5];
    let created = 1_700_000_000_000 + id * 1000 + id % 1000;
    let hash = (u128::from(id) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
    let paid = id.is_multiple_of(3);
    format!(
        "{{\"id\":{id},\"customer\":\"cust{customer:08}\",\"amount\":{amount:?},\
         \"currency\":\"{currency}\",\"created\":{created},\"note\":\"g1-{hash:032x}-note\",\
         \"paid\":{paid}}}"
    )
}

fn batches(write: impl Fn(String) -> String) -> (Vec<Arc<RawBatch>>, usize) {
    let mut bytes = 0;
    let batch = |start: u64| {
        let mut builder = RawBatchBuilder::new(TopicPartition::new("orders", 0));
        for id in start..start + BATCH_ROWS {
            let value = write(order(id));
            builder.push(id as i64, 0, TimestampType::CreateTime, None, Some(value.as_bytes()));
        }
        bytes += builder.bytes();
        Arc::new(builder.finish((start + BATCH_ROWS) as i64))
    };
    let list = (0..RECORDS).step_by(BATCH_ROWS as usize).map(batch).collect();
    (list, bytes / RECORDS as usize)
}

fn measure(name: &str, settings: &[(&str, &str)], write: impl Fn(String) -> String) {
    let (batches, bytes) = batches(write);
    let props: Props = settings.iter().copied().collect();
    let Some(plugin) = converters::find("JsonConverter") else { return };
    let mut converter = match (plugin.make)(&props, Side::Value) {
        Ok(converter) => converter,
        Err(error) => return println!("{name}: {error}"),
    };
    let mut rounds: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let start = Clock::start();
            for raw in &batches {
                let mut batch = Batch::new(Arc::clone(raw));
                converter.decode(Side::Value, &mut batch);
                assert!(batch.rejects.is_empty());
                black_box(&batch.values);
            }
            start.elapsed_ns() / RECORDS as f64
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    let (best, median) = (rounds[0], rounds[ROUNDS / 2]);
    println!("{name}, {bytes} bytes: best {best:.0} ns, median {median:.0} ns a record");
}

fn main() {
    measure("envelope", &[], |order| format!("{{\"schema\":{SCHEMA},\"payload\":{order}}}"));
    measure("envelope, schema last", &[], |order| {
        format!("{{\"payload\":{order},\"schema\":{SCHEMA}}}")
    });
    measure("plain JSON", &[("schemas.enable", "false")], |order| order);
}
