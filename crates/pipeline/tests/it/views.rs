//! What people see while consumers run.

use crate::consumers::with_orders;
use crate::psql::{psql, refused, results};
use crate::reports::control;
use pipeline::control::{Observed, Questions, State};

fn seen(partition: i32, high: i64) -> Observed {
    Observed {
        cluster: "default".to_owned(),
        topic: "t".to_owned(),
        partition,
        low: Some(2),
        high: Some(high),
        last_stable: Some(high),
        leader: Some(1),
    }
}

#[test]
fn the_status_says_what_is_and_what_to_do() {
    let database = with_orders();
    results(&database, "SELECT pipeline_kafka.consume_begin('t', 'orders', start => 'earliest')");
    let status = "SELECT state, detail, lag, live_workers, hint FROM pipeline_kafka.status";
    assert_eq!(
        results(&database, status),
        "waiting|||0|no worker is alive: run copycat pg run --database-url …"
    );
    let mut control = control(&database);
    control.register("here", "1", "g", 4).unwrap();
    assert_eq!(results(&database, status), "starting|||1|");
    let version = control.definitions().unwrap().consumers[0].settings.config_version;
    Questions::new(&database.url())
        .unwrap()
        .store_starts((1, version), None, &[(0, 2), (1, 2)])
        .unwrap();
    control.observe(&[seen(0, 12), seen(1, 4)]).unwrap();
    control.set_state(1, version, State::CatchingUp, None, None).unwrap();
    assert_eq!(results(&database, status), "catching_up||12|1|");
    let call = "SELECT pipeline_kafka.skip('t', 'orders', 0, 2)";
    control.set_state(1, version, State::Blocked, Some(call), None).unwrap();
    assert_eq!(results(&database, status), format!("blocked|{call}|12|1|{call}"));
    results(&database, "SELECT pipeline_kafka.consume_end()");
    assert_eq!(results(&database, "SELECT state FROM pipeline_kafka.status"), "paused");
    // A worker that says nothing for long enough is not alive.
    results(&database, "SELECT pipeline_kafka.consume_begin()");
    database.execute(
        "UPDATE pipeline_kafka.workers SET heartbeat_at = heartbeat_at - interval '1 minute'",
    );
    assert_eq!(results(&database, "SELECT state FROM pipeline_kafka.status"), "waiting");
    control.heartbeat(4).unwrap();
    assert_eq!(results(&database, "SELECT state FROM pipeline_kafka.status"), "starting");
}

#[test]
fn rates_are_taken_from_the_positions() {
    let database = with_orders();
    results(
        &database,
        "SELECT pipeline_kafka.consume_begin('t', 'orders'); \
         SELECT pipeline_kafka.set_offsets('t', 'orders', '{\"0\": 1}')",
    );
    let mut control = control(&database);
    control.register("here", "1", "g", 4).unwrap();
    database.execute(
        "UPDATE pipeline_kafka.rates SET sampled_at = sampled_at - interval '10 s'; \
         UPDATE pipeline_kafka.offsets SET rows_total = 5000",
    );
    control.heartbeat(4).unwrap();
    let rate = "SELECT rows_per_second BETWEEN 300 AND 500 FROM pipeline_kafka.status";
    assert_eq!(results(&database, rate), "t");
}

#[test]
fn every_partition_has_its_lag() {
    let database = with_orders();
    results(
        &database,
        "SELECT pipeline_kafka.consume_begin('t', 'orders'); \
         SELECT pipeline_kafka.set_offsets('t', 'orders', '{\"0\": 12, \"5\": 3}'); \
         UPDATE pipeline_kafka.offsets SET last_timestamp = clock_timestamp() - interval '1 hour'",
    );
    control(&database).observe(&[seen(0, 12), seen(1, 4)]).unwrap();
    let lag = "SELECT partition, next_offset, high_watermark, lag, lag_seconds > 3000 \
               FROM pipeline_kafka.consumer_lag ORDER BY partition";
    assert_eq!(results(&database, lag), "0|12|12|0|f\n1||4||\n5|3|||t");
    let marks = "SELECT partition, low_watermark, high_watermark FROM pipeline_kafka.topic_watermarks('t'); \
                 SELECT high_watermark FROM pipeline_kafka.topic_watermarks('t', 1)";
    assert_eq!(results(&database, marks), "0|2|12\n1|2|4\n4");
    let (_, said) =
        psql(&database.url(), "SELECT * FROM pipeline_kafka.topic_watermarks('unseen')");
    assert!(said.contains("nothing is known of the topic 'unseen'"), "{said}");
}

#[test]
fn dead_letters_are_summed_up() {
    let database = with_orders();
    results(
        &database,
        "SELECT pipeline_kafka.consume_begin('t', 'orders'); \
         INSERT INTO pipeline_kafka.errors (consumer_id, topic, partition, \"offset\", stage, sqlstate, message, resolved) \
         VALUES (1, 't', 3, 41, 'write', '22P02', 'bad number', false), (1, 't', 3, 42, 'write', '22P02', 'bad number', false), \
                (1, 't', 3, 43, 'write', '22P02', 'bad number', true)",
    );
    let sum = "SELECT topic, relation, sqlstate, message, count, example_partition, example_offset \
               FROM pipeline_kafka.error_summary; SELECT last_error FROM pipeline_kafka.status";
    assert_eq!(results(&database, sum), "t|orders|22P02|bad number|2|3|41\nbad number");
}

#[test]
fn waiting_ends_with_the_state_or_with_its_reason() {
    let database = with_orders();
    results(
        &database,
        "SELECT pipeline_kafka.consume_begin('t', 'orders'); \
         SELECT pipeline_kafka.set_offsets('t', 'orders', '{\"0\": 3}')",
    );
    let wait = |what: &str, patience: &str| {
        format!("CALL pipeline_kafka.wait_for('t', 'orders', '{what}', '{patience}')")
    };
    let said = refused(&database, &wait("running", "0 s"));
    assert!(said.contains("55000") && said.contains("run copycat pg run"), "{said}");
    assert!(refused(&database, &wait("happy", "0 s")).contains("running, caught_up"));
    let mut control = control(&database);
    control.register("here", "1", "g", 4).unwrap();
    let version = control.definitions().unwrap().consumers[0].settings.config_version;
    control.observe(&[seen(0, 3)]).unwrap();
    control.set_state(1, version, State::Running, None, None).unwrap();
    results(&database, &wait("running", "0 s"));
    // What was observed before the call does not count.
    assert!(refused(&database, &wait("caught_up", "0 s")).contains("is running, not caught_up"));
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| results(&database, &wait("caught_up", "60 s")));
        testkit::eventually(crate::consumers::MINUTE, "caught up", || {
            control.observe(&[seen(0, 3)]).unwrap();
            waiter.is_finished().then_some(())
        });
        waiter.join().unwrap();
    });
    control.set_state(1, version, State::Blocked, Some("why it is"), None).unwrap();
    assert!(refused(&database, &wait("running", "1 h")).contains("why it is"));
}
