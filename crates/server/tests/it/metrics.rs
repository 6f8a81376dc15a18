//! `/metrics` of a real worker: what it tells after known loads, in which form, and how much of it.

use crate::exposition::Exposition;
use crate::harness::{PATIENCE, Route, wait_failed, wait_running, worker};
use crate::sources;
use serde_json::json;
use std::collections::BTreeSet;
use testkit::{
    eventually,
    kafka::{self, Record, produce, topic_name},
    postgres::Proxy,
    process::Worker,
};

/// Names of the reference page, which a test of the binary keeps fresh.
const PAGE: &str = include_str!("../../../../docs/reference/metrics.md");

/// A database that nobody will ever find.
const AWAY: (&str, &str) = ("connection.url", "postgresql://copycat@127.0.0.1:1/none");

fn scrape(worker: &Worker) -> Exposition {
    let answer = worker.get_with("/metrics", &[]);
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(content_type(&answer.headers), "text/plain; version=0.0.4; charset=utf-8");
    Exposition::read(&answer.body, false)
}

fn content_type(headers: &[(String, String)]) -> &str {
    headers.iter().find(|(name, _)| name == "content-type").map_or("", |(_, value)| value)
}

/// Waits until the metrics say so.
#[track_caller]
fn wait_for(worker: &Worker, what: &str, ready: impl Fn(&Exposition) -> bool) -> Exposition {
    eventually(PATIENCE, what, || Some(scrape(worker)).filter(&ready))
}

/// The names of all metrics, with their kinds, as the reference page has them.
fn table() -> BTreeSet<(String, String)> {
    let rows = PAGE.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.map(|row| {
        let (name, rest) = row.split_once("` | ").expect("a name");
        (name.to_owned(), rest.split(' ').next().unwrap_or_default().to_owned())
    })
    .collect()
}

/// A sink with bad records, a source that gives each record once, a connector that fails, one whose
/// database is away, one that is paused and one with an odd name: every metric there is, and the numbers to a record.
#[test]
fn every_metric_is_told_and_counts_to_the_record() {
    const GOOD: u64 = 300;
    const BAD: u64 = 7;
    let (route, source) = (Route::new("metrics", 2), sources::Route::new("metrics-lines"));
    let letters = topic_name("metrics-letters");
    route.produce(0, GOOD);
    let bad = |n: u64| Record::value(format!("bad {n}")).partition(0);
    produce(&route.bootstrap, &route.topic, (0..BAD).map(bad));
    source.write(0..500);
    let more = [
        ("errors.tolerance", "all"),
        ("errors.tolerance.max.ratio", "1"),
        ("errors.deadletterqueue.topic.name", letters.as_str()),
        ("errors.deadletterqueue.topic.replication.factor", "1"),
    ];
    let worker = source
        .exactly_once(&[])
        .connector(route.name(), &route.properties(&more))
        .connector("wrong", &route.properties(&[]))
        .connector("away", &route.properties(&[AWAY]))
        .start();
    let odd = "o\"d\\d é";
    let config = json!({"connector.class": "FileStreamSink", "topics": "none", "file": "odd.txt"});
    let body = json!({"name": odd, "config": config, "initial_state": "STOPPED"}).to_string();
    assert_eq!(worker.request("POST", "/connectors", Some(&body)).status, 201);
    let body = json!({"name": "rests", "config": config}).to_string();
    assert_eq!(worker.request("POST", "/connectors", Some(&body)).status, 201);
    wait_running(&worker, "rests");
    assert_eq!(worker.request("PUT", "/connectors/rests/pause", None).status, 202);
    wait_failed(&worker, "wrong");
    route.wait_for_no_lag();
    let sink = [("connector", route.name())];
    let read = [("connector", source.topic.as_str())];
    let all = wait_for(&worker, "everything is counted", |now| {
        now.value("kafka_connect_sink_task_partition_count", &[("connector", "away")]) == 2.0
            && now.value("copycat_task_retrying", &[("connector", "away")]) == 1.0
            && now.value("copycat_task_lag_records", &sink) == 0.0
            && now.value("copycat_task_dead_letters_total", &sink) == BAD as f64
            && now.value("kafka_connect_task_error_deadletterqueue_produce_requests", &sink)
                == BAD as f64
            && now.value("kafka_connect_source_task_source_record_write_total", &read) == 500.0
            && now.value("kafka_connect_connector_task_offset_commit_success_percentage", &read)
                == 1.0
    });
    check_sink(&all, &route, GOOD, BAD);
    check_source(&all, &read);
    check_others(&all, odd);
    let told: BTreeSet<_> =
        all.0.iter().map(|family| (family.name.clone(), family.kind.clone())).collect();
    assert_eq!(told, of_one_worker(), "what is told and the reference page");
    check_open_metrics(&worker);
}

fn check_sink(all: &Exposition, route: &Route, good: u64, bad: u64) {
    let sink = [("connector", route.name())];
    let value = |name: &str| all.value(name, &sink);
    let (stored, read) = ((good * 2) as f64, (good * 2 + bad) as f64);
    for (name, wanted) in [
        ("kafka_connect_sink_task_sink_record_read_total", read),
        ("kafka_connect_sink_task_sink_record_send_total", stored),
        ("copycat_task_records_read_total", read),
        ("copycat_task_records_stored_total", stored),
        ("kafka_consumer_fetch_manager_records_consumed_total", read),
        ("kafka_connect_sink_task_partition_count", 2.0),
        ("kafka_connect_sink_task_sink_record_active_count", 0.0),
        ("kafka_connect_sink_task_sink_record_lag_max", 0.0),
        ("kafka_consumer_fetch_manager_records_lag_max", 0.0),
        ("kafka_connect_task_error_total_record_failures", bad as f64),
        ("kafka_connect_task_error_total_record_errors", bad as f64),
        ("kafka_connect_task_error_total_records_skipped", bad as f64),
        ("kafka_connect_task_error_deadletterqueue_produce_failures", 0.0),
        ("kafka_connect_task_error_total_retries", 0.0),
        ("copycat_task_retrying", 0.0),
        ("copycat_task_oldest_unread_age_seconds", 0.0),
        ("copycat_task_queue_bytes", 0.0),
        ("kafka_connect_connector_task_pause_ratio", 0.0),
        ("kafka_connect_connector_task_offset_commit_failure_percentage", 0.0),
    ] {
        assert_eq!(value(name), wanted, "{name}");
    }
    assert!(value("kafka_connect_sink_task_offset_commit_seq_no") >= 1.0);
    let commits = value("kafka_connect_sink_task_offset_commit_completion_total");
    assert!(commits >= 1.0 && commits <= value("kafka_connect_sink_task_offset_commit_seq_no"));
    assert!(value("kafka_connect_task_error_last_error_timestamp") > 1.6e12);
    assert!(value("kafka_connect_connector_task_running_ratio") > 0.0);
    assert!(value("kafka_connect_sink_task_put_batch_max_time_ms") > 0.0);
    assert!(value("copycat_task_bytes_read_total") > read * 100.0);
    for (partition, end) in kafka::end_offsets(&route.bootstrap, &route.topic) {
        let labels = [sink[0], ("topic", &*route.topic), ("partition", &*partition.to_string())];
        assert_eq!(all.value("copycat_partition_stored_offset", &labels), end as f64);
        assert_eq!(all.value("copycat_partition_lag_records", &labels), 0.0);
        assert_eq!(all.value("copycat_partition_lag_seconds", &labels), 0.0);
    }
    for stage in ["fetch", "decode", "write", "commit"] {
        let labels = [sink[0], ("stage", stage)];
        assert!(all.value("copycat_task_stage_seconds_total", &labels) > 0.0, "{stage}");
    }
    let status = [sink[0], ("status", "running")];
    assert_eq!(all.value("kafka_connect_connector_task_status", &status), 1.0);
}

fn check_source(all: &Exposition, source: &[(&str, &str)]) {
    for (name, wanted) in [
        ("kafka_connect_source_task_source_record_poll_total", 500.0),
        ("kafka_connect_source_task_source_record_active_count", 0.0),
        ("copycat_task_records_read_total", 500.0),
        ("copycat_task_records_stored_total", 500.0),
        ("kafka_producer_record_send_total", 500.0),
        ("kafka_producer_record_error_total", 0.0),
        ("copycat_task_dead_letters_total", 0.0),
    ] {
        assert_eq!(all.value(name, source), wanted, "{name}");
    }
    let largest = all.value("kafka_connect_source_task_transaction_size_max", source);
    assert!((1.0..=500.0).contains(&largest), "{largest}");
    assert!(all.value("kafka_connect_connector_task_batch_size_max", source) >= largest);
}

fn check_others(all: &Exposition, odd: &str) {
    let worker = |name: &str| all.value(&format!("kafka_connect_worker_{name}"), &[]);
    assert_eq!(worker("connector_count"), 6.0);
    assert_eq!(worker("task_count"), 5.0);
    assert_eq!(worker("connector_startup_failure_total"), 0.0);
    assert_eq!(worker("task_startup_attempts_total"), 5.0);
    assert_eq!(worker("task_startup_success_total"), 5.0);
    let of = |connector: &str, state: &str| {
        let name = format!("kafka_connect_worker_connector_{state}_task_count");
        all.value(&name, &[("connector", connector)])
    };
    assert_eq!(
        (of("wrong", "failed"), of("wrong", "total"), of("rests", "paused")),
        (1.0, 1.0, 1.0)
    );
    assert_eq!(of(odd, "total"), 0.0);
    for name in ["copycat_task_lag_records", "copycat_task_oldest_unread_age_seconds"] {
        for connector in ["wrong", "away", "rests"] {
            let told = all.find(name, &[("connector", connector)]);
            assert!(
                told.is_empty(),
                "who has no position is behind by nobody knows what: {told:?}"
            );
        }
    }
    let status = |connector, status| {
        let labels = [("connector", connector), ("status", status)];
        all.value("kafka_connect_connector_status", &labels)
    };
    assert_eq!((status(odd, "stopped"), status("rests", "paused")), (1.0, 1.0));
    let info = all.find("kafka_connect_connector_info", &[("connector", "wrong")]);
    let labels: Vec<&str> = info[0].labels.values().map(String::as_str).collect();
    assert_eq!(&labels[..3], ["wrong", "postgres-sink", "sink"]);
    assert!(all.value("process_resident_memory_bytes", &[]) > 1e6);
    assert_eq!(all.value("copycat_worker_queue_bytes_max", &[]), 134_217_728.0);
    assert_eq!(all.value("copycat_metrics_partitions_left_out", &[]), 0.0);
}

/// What the page has for a worker that is alone.
fn of_one_worker() -> BTreeSet<(String, String)> {
    let of_clusters =
        |name: &str| name.starts_with("copycat_cluster_") || name.contains("_worker_rebalance_");
    table().into_iter().filter(|(name, _)| !of_clusters(name)).collect()
}

fn check_open_metrics(worker: &Worker) {
    let accept = "application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.3";
    let answer = worker.get_with("/metrics", &[("Accept", accept)]);
    let wanted = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert_eq!((answer.status, content_type(&answer.headers)), (200, wanted));
    let open = Exposition::read(&answer.body, true);
    assert_eq!(open.0.len(), of_one_worker().len());
    assert_eq!(worker.request("POST", "/metrics", Some("{}")).status, 405);
}

/// What a scrape costs with a thousand connectors that are stopped.
#[test]
fn a_thousand_stopped_connectors_have_nine_series_each() {
    const CONNECTORS: usize = 1_000;
    let worker = worker(&kafka::bootstrap()).start();
    let bare = scrape(&worker);
    let series =
        |page: &Exposition| page.0.iter().map(|family| family.samples.len()).sum::<usize>();
    for n in 0..CONNECTORS {
        let config = json!({"connector.class": "FileStreamSink", "topics": "t", "file": "f"});
        let body = json!({"name": format!("c-{n}"), "config": config, "initial_state": "STOPPED"});
        let answer = worker.request("POST", "/connectors", Some(&body.to_string()));
        assert_eq!(answer.status, 201, "{}", answer.body);
    }
    let all = scrape(&worker);
    assert_eq!(series(&all), series(&bare) + 9 * CONNECTORS);
    assert_eq!(all.value("kafka_connect_worker_connector_count", &[]), CONNECTORS as f64);
}

/// B029: what waits in memory is limited for the worker, not for each task alone.
#[test]
fn all_tasks_together_stay_within_the_workers_budget() {
    const BUDGET: f64 = 1_048_576.0;
    const TASKS: usize = 4;
    let routes: Vec<Route> = (0..TASKS).map(|n| Route::new(&format!("budget-{n}"), 1)).collect();
    let proxies: Vec<Proxy> = routes
        .iter()
        .map(|route| Proxy::start(&route.database.url(), crate::harness::ADVANCE))
        .collect();
    let urls: Vec<String> =
        routes.iter().zip(&proxies).map(|(route, proxy)| proxy.url(&route.url)).collect();
    let mut setup = worker(&routes[0].bootstrap).worker("copycat.queue.bytes.max", "1048576");
    for (route, url) in routes.iter().zip(&urls) {
        setup = setup.connector(route.name(), &route.properties(&[("connection.url", url)]));
    }
    let worker = setup.start();
    for route in &routes {
        route.produce(0, 1);
    }
    for route in &routes {
        route.wait_for_no_lag();
    }
    proxies.iter().for_each(Proxy::hang);
    for route in &routes {
        route.produce(1, 8_000);
    }
    wait_for(&worker, "the budget is used up", |now| {
        let lags = now.find("copycat_task_lag_records", &[]);
        let ages = now.find("copycat_task_oldest_unread_age_seconds", &[]);
        assert!(now.value("copycat_worker_queue_bytes", &[]) <= BUDGET * 1.5);
        now.value("copycat_worker_queue_bytes", &[]) >= BUDGET / 2.0
            && lags.iter().all(|sample| sample.value == 8_000.0)
            && ages.iter().all(|sample| sample.value > 0.0)
    });
    proxies.iter().for_each(Proxy::resume);
    for route in &routes {
        route.expect_exactly(&route.each(8_001));
    }
    wait_for(&worker, "nothing waits", |now| now.value("copycat_worker_queue_bytes", &[]) == 0.0);
}
