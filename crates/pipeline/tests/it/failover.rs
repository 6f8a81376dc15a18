//! A replica takes over that lacks the last commits: rows and positions are older together, and what
//! is missing is read from Kafka again.

use crate::bench::{Bench, PATIENCE};
use testkit::eventually;
use testkit::kafka;
use testkit::postgres::{Client, Database, Server, Stop};

const PARTITIONS: i32 = 2;

/// The rows of the table in that database, all and different ones; nothing while it is not reached.
fn rows(url: &str, table: &str) -> Option<(i64, i64)> {
    let sql = format!("SELECT count(*), count(DISTINCT (part, n)) FROM {table}");
    let rows = Client::try_connect(url).ok()?.try_query(&sql).ok()?;
    let mut numbers = rows.first()?.iter().map(|text| text.as_ref()?.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

#[track_caller]
fn wait_for(url: &str, table: &str, wanted: i64) {
    eventually(PATIENCE, &format!("{wanted} rows of {table} at {url}"), || {
        rows(url, table).filter(|(all, _)| *all >= wanted)
    });
    assert_eq!(rows(url, table), Some((wanted, wanted)));
}

#[test]
fn a_replica_that_lags_takes_over_and_every_row_is_there_once() {
    let mut primary = Server::start();
    let bench = Bench::on(&kafka::bootstrap(), Database::create(&primary.url()));
    let topic = bench.topic(PARTITIONS);
    for table in ["orders", "copies"] {
        bench.table(table);
        bench.consumer(&topic, table, &[("start", "'earliest'")]);
    }
    let replica = primary.standby();
    let here = bench.database.url();
    let there = format!("{}/{}", replica.url().rsplit_once('/').unwrap().0, bench.database.name());
    let address = |url: &str| url.rsplit_once('@').unwrap().1.split_once('/').unwrap().0.to_owned();
    // The replica comes first: a worker has to look for the one that takes writes.
    let both = format!(
        "postgres://postgres@{},{}/{}?target_session_attrs=read-write",
        address(&there),
        address(&here),
        bench.database.name()
    );
    let worker = bench.worker_with(|options| options.database_url = both);
    bench.produce(&topic, PARTITIONS, 0, 100);
    for table in ["orders", "copies"] {
        wait_for(&here, table, 200);
        wait_for(&there, table, 200);
    }
    let said = Said::before(&here, &there);
    replica.cut_off();
    said.meanwhile(&here, &there);
    bench.produce(&topic, PARTITIONS, 100, 200);
    for table in ["orders", "copies"] {
        wait_for(&here, table, 400);
        assert_eq!(rows(&there, table), Some((200, 200)), "the replica has to lag");
    }
    primary.stop(Stop::Immediate);
    bench.produce(&topic, PARTITIONS, 200, 250);
    replica.promote();
    for table in ["orders", "copies"] {
        wait_for(&there, table, 500);
    }
    let stands = "SELECT string_agg(next_offset::text, ' ') FROM pipeline_kafka.offsets";
    assert_eq!(Client::connect(&there).value(stands).as_deref(), Some("250 250 250 250"));
    let states = "SELECT string_agg(state, ' ') FROM pipeline_kafka.status";
    eventually(PATIENCE, "both run", || {
        (Client::connect(&there).value(states)? == "running running").then_some(())
    });
    said.after(&there);
    worker.stop();
}

/// Messages that are sent before, while and after the replica lags; one of them from a row that the
/// replica still has when it takes over.
struct Said {
    topic: String,
    /// Of the message whose row comes back.
    back: String,
}

const OUTBOX: &str = "SELECT count(*) FROM pipeline_kafka.outbox";

impl Said {
    fn left(url: &str, rows: &str) {
        eventually(PATIENCE, &format!("{rows} rows in the outbox at {url}"), || {
            (Client::try_connect(url).ok()?.value(OUTBOX)? == rows).then_some(())
        });
    }

    fn before(here: &str, there: &str) -> Said {
        let said = Said { topic: kafka::topic("out", 1), back: kafka::topic("back", 1) };
        let (topic, back) = (&said.topic, &said.back);
        Client::connect(here).execute(&format!(
            "SELECT pipeline_kafka.produce_message('{topic}', 'before'); \
             BEGIN; SELECT pipeline_kafka.produce_message('{back}', 'back'); \
             UPDATE pipeline_kafka.outbox SET retry_at = now() + interval '1 hour' \
             WHERE topic = '{back}'; COMMIT"
        ));
        Said::left(here, "1");
        Said::left(there, "1");
        said
    }

    fn meanwhile(&self, here: &str, there: &str) {
        Client::connect(here).execute(&format!(
            "UPDATE pipeline_kafka.outbox SET retry_at = NULL; \
             SELECT pipeline_kafka.produce_message('{}', 'meanwhile')",
            self.topic
        ));
        Said::left(here, "0");
        Said::left(there, "1");
    }

    fn after(&self, there: &str) {
        Client::connect(there).execute(&format!(
            "UPDATE pipeline_kafka.outbox SET retry_at = NULL; \
             SELECT pipeline_kafka.produce_message('{}', 'after')",
            self.topic
        ));
        Said::left(there, "0");
        let values = |topic: &str| -> Vec<String> {
            let read = kafka::read(&kafka::bootstrap(), topic);
            read.iter().map(|record| record.text().to_owned()).collect()
        };
        assert_eq!(values(&self.topic), ["before", "meanwhile", "after"]);
        assert_eq!(values(&self.back), ["back"], "its row came back, and was sent before");
    }
}
