//! Consumers that are committed together: both rows or none, whatever happens to one of them.

use crate::bench::{Bench, PATIENCE, record};
use crate::psql::psql;
use testkit::eventually;
use testkit::kafka::{self, Record};

/// Two consumers of the topic, of different modes, under one name.
fn pair(bench: &Bench, topic: &str, more: &[(&str, &str)]) -> (i32, i32) {
    bench.table("orders");
    bench.database.execute("CREATE TABLE latest (part int, n bigint, PRIMARY KEY (part, n))");
    let settings = |own: &[(&'static str, &'static str)]| {
        let all = [("start", "'earliest'"), ("together", "'shop'")];
        let mut all: Vec<(&str, &str)> = all.to_vec();
        all.extend_from_slice(own);
        all.extend_from_slice(more);
        all
    };
    let orders = bench.consumer(topic, "orders", &settings(&[("parallelism", "2")]));
    let upsert = [("mode", "'upsert'"), ("batchsize", "70")];
    (orders, bench.consumer(topic, "latest", &settings(&upsert)))
}

/// The rows of both, as one snapshot has them.
fn counts(bench: &Bench) -> (String, String) {
    let sql = "SELECT (SELECT count(*) FROM orders), (SELECT count(*) FROM latest)";
    let row = bench.database.query(sql).remove(0);
    let mut counts = row.into_iter().map(Option::unwrap);
    (counts.next().unwrap(), counts.next().unwrap())
}

fn wait_for_both(bench: &Bench, rows: i64) {
    eventually(PATIENCE, &format!("{rows} rows in both"), || {
        let (orders, latest) = counts(bench);
        assert_eq!(orders, latest, "the same records are in both or in none");
        (orders == rows.to_string()).then_some(())
    });
    let sql = "SELECT count(DISTINCT (part, n)) FROM orders";
    assert_eq!(bench.database.value(sql), Some(rows.to_string()));
}

#[test]
fn rows_of_both_relations_are_visible_together_although_connections_are_cut() {
    let bench = Bench::new();
    let topic = bench.topic(3);
    let (orders, latest) = pair(&bench, &topic, &[]);
    let worker = bench.worker();
    for round in 0..8 {
        bench.produce(&topic, 3, round * 200, (round + 1) * 200);
        // Wherever their transactions are.
        bench.database.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() \
             AND datname = current_database() AND application_name LIKE 'copycat%'",
        );
        counts_agree(&bench);
    }
    wait_for_both(&bench, 8 * 600);
    assert_eq!(bench.positions(orders), [1600, 1600, 1600]);
    assert_eq!(bench.positions(latest), [1600, 1600, 1600]);
    bench.wait_for_state(latest, "running");
    // Another one takes over.
    let second = bench.worker();
    worker.stop();
    bench.produce(&topic, 3, 1600, 1700);
    wait_for_both(&bench, 5100);
    second.stop();
}

fn counts_agree(bench: &Bench) {
    for _ in 0..20 {
        let (orders, latest) = counts(bench);
        assert_eq!(orders, latest, "the same records are in both or in none");
    }
}

#[test]
fn a_bad_record_of_one_is_a_dead_letter_of_that_one() {
    let bench = Bench::new();
    let topic = bench.topic(1);
    let (orders, latest) = pair(&bench, &topic, &[("error_limit", "1")]);
    bench.database.execute(
        "ALTER TABLE latest ADD CHECK (n % 50 <> 7), ADD mark int UNIQUE DEFERRABLE INITIALLY DEFERRED; \
         ALTER TABLE orders ADD CHECK (n <> 33); \
         CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
         IF NEW.n = 60 THEN RAISE 'not this one'; END IF; RETURN NULL; END $$; \
         CREATE TRIGGER refuse AFTER INSERT ON latest FOR EACH ROW EXECUTE FUNCTION refuse()",
    );
    let records = (0..120).map(|n| match n {
        20 => Record::value("{bad".to_owned()).partition(0),
        // The second breaks a constraint of one of them, at the end of its transaction.
        80 | 81 => Record::value(format!("{{\"part\":0,\"n\":{n},\"mark\":1}}")).partition(0),
        _ => record(0, n),
    });
    kafka::produce(&bench.bootstrap, &topic, records);
    let worker = bench.worker();
    eventually(PATIENCE, "the positions", || {
        (bench.positions(orders) == [120] && bench.positions(latest) == [120]).then_some(())
    });
    let letters = |id: i32| {
        let sql = format!(
            "SELECT string_agg(\"offset\"::text, ' ' ORDER BY \"offset\") \
             FROM pipeline_kafka.errors WHERE consumer_id = {id}"
        );
        bench.database.value(&sql).unwrap()
    };
    assert_eq!(letters(orders), "20 33");
    assert_eq!(letters(latest), "7 20 57 60 81 107");
    assert_eq!(counts(&bench), ("118".to_owned(), "114".to_owned()));
    worker.stop();
}

#[test]
fn one_that_is_paused_leaves_the_others_and_joins_them_again() {
    let bench = Bench::new();
    let topic = bench.topic(2);
    let (orders, latest) = pair(&bench, &topic, &[]);
    bench.produce(&topic, 2, 0, 50);
    let worker = bench.worker();
    wait_for_both(&bench, 100);
    let call = |sql: &str| bench.database.query(&format!("SELECT pipeline_kafka.{sql}"));
    call(&format!("consume_end('{topic}', 'latest')"));
    bench.produce(&topic, 2, 50, 100);
    bench.wait_for("orders", 200);
    assert_eq!((bench.count("latest"), bench.positions(latest)), (100, vec![50, 50]));
    call("consume_begin()");
    bench.wait_for("latest", 200);
    eventually(PATIENCE, "the same positions", || {
        (bench.positions(orders) == bench.positions(latest)).then_some(())
    });
    bench.produce(&topic, 2, 100, 150);
    wait_for_both(&bench, 300);
    // A change of one fences them all, and a third one joins them.
    call(&format!("alter_consumer('{topic}', 'orders', '{{\"batchsize\": 9}}')"));
    bench.database.execute("CREATE TABLE third (part int, n bigint)");
    bench.consumer(&topic, "third", &[("start", "'earliest'"), ("together", "'shop'")]);
    bench.wait_for("third", 300);
    bench.produce(&topic, 2, 150, 200);
    wait_for_both(&bench, 400);
    bench.wait_for("third", 400);
    call(&format!("drop_consumer('{topic}', 'latest')"));
    bench.produce(&topic, 2, 200, 210);
    bench.wait_for("orders", 420);
    bench.wait_for("third", 420);
    assert_eq!(bench.count("latest"), 400);
    worker.stop();
}

#[test]
fn one_that_stops_at_a_bad_record_stops_those_committed_with_it() {
    let bench = Bench::new();
    let topic = bench.topic(1);
    let (orders, latest) = pair(&bench, &topic, &[("on_error", "'stop'")]);
    bench.database.execute("ALTER TABLE latest ADD CHECK (n <> 30)");
    bench.produce(&topic, 1, 0, 60);
    let worker = bench.worker();
    let detail = bench.wait_for_state(latest, "blocked");
    assert!(detail.contains("at offset 30 of partition 0"), "{detail}");
    bench.wait_for_state(orders, "blocked");
    assert_eq!(counts(&bench), ("30".to_owned(), "30".to_owned()));
    let skip = |relation: &str| {
        let sql = format!("SELECT pipeline_kafka.skip('{topic}', '{relation}', 0, 30)");
        bench.database.query(&sql);
    };
    skip("latest");
    bench.wait_for("latest", 59);
    bench.wait_for("orders", 60);
    worker.stop();
}

/// Bug: what was told of the others would have left out a record that they could store.
#[test]
fn those_that_are_stopped_by_one_are_told_which() {
    let bench = Bench::new();
    let topic = bench.topic(1);
    let (orders, latest) = pair(&bench, &topic, &[]);
    let strict = "SELECT pipeline_kafka.alter_consumer($T, 'latest', '{\"on_error\": \"stop\"}')";
    bench.database.query(&strict.replace("$T", &format!("'{topic}'")));
    bench.database.execute("ALTER TABLE latest ADD CHECK (n <> 3)");
    bench.produce(&topic, 1, 0, 5);
    let worker = bench.worker();
    let skip = format!("skip('{topic}', 'public.latest', 0, 3)");
    for consumer in [latest, orders] {
        let detail = bench.wait_for_state(consumer, "blocked");
        assert!(detail.contains(&skip), "{detail}");
    }
    bench.database.query(&format!("SELECT pipeline_kafka.{skip}"));
    bench.wait_for("latest", 4);
    bench.wait_for("orders", 5);
    worker.stop();
}

/// Bug: of two that tolerate no bad record each was told to leave it out in its own relation.
#[test]
fn of_two_that_tolerate_nothing_only_the_one_that_failed_is_told_to_skip() {
    let bench = Bench::new();
    let topic = bench.topic(1);
    let (orders, latest) = pair(&bench, &topic, &[("on_error", "'stop'")]);
    bench.database.execute("ALTER TABLE latest ADD CHECK (n <> 3)");
    bench.produce(&topic, 1, 0, 5);
    let worker = bench.worker();
    let skip = format!("skip('{topic}', 'public.latest', 0, 3)");
    for consumer in [latest, orders] {
        let detail = bench.wait_for_state(consumer, "blocked");
        assert!(detail.contains(&skip), "{detail}");
        let other = detail.starts_with("committed together with the consumer into public.latest: ");
        assert_eq!(other, consumer == orders, "{detail}");
    }
    let at =
        "SELECT string_agg(id::text, ' ') FROM pipeline_kafka.consumers WHERE blocked_offset = 3";
    assert_eq!(bench.database.value(at), Some(latest.to_string()));
    worker.stop();
}

#[test]
fn those_of_another_group_are_told_that_they_are_not_committed_together() {
    let bench = Bench::new();
    let topic = bench.topic(1);
    pair(&bench, &topic, &[]);
    bench.table("third");
    let begin = format!(
        "SELECT pipeline_kafka.consume_begin('{topic}', 'third', together => 'shop', group_id => 'own')"
    );
    let told = psql(&bench.database.url(), &begin).1;
    let why = "their groups are 'own' and that of the worker";
    for other in ["orders", "latest"] {
        let text =
            format!("into public.third and public.{other} are not committed together: {why}");
        assert!(told.contains(&text), "{other}: {told}");
    }
    bench.database.execute("CREATE TABLE fourth (part int, n bigint)");
    let begin = begin.replace("third", "fourth").replace(", group_id => 'own'", "");
    let told = psql(&bench.database.url(), &begin).1;
    assert!(
        told.contains("public.fourth and public.third") && !told.contains("public.orders"),
        "{told}"
    );
}

/// A role, an owner, a dropped relation: who cannot be started holds up nobody.
#[test]
fn one_that_cannot_be_started_is_left_out() {
    let bench = Bench::new();
    let topic = bench.topic(1);
    let (_, latest) = pair(&bench, &topic, &[]);
    bench.database.execute("DROP TABLE latest");
    bench.produce(&topic, 1, 0, 10);
    let worker = bench.worker();
    bench.wait_for("orders", 10);
    let detail = bench.wait_for_state(latest, "blocked");
    assert!(detail.contains("dropped"), "{detail}");
    worker.stop();
}
