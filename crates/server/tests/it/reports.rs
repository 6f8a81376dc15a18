//! Public bug reports against other sinks, as tests of the whole worker: upserts and deletes by key,
//! column types, names, secrets, connectors that must not disturb each other.

use crate::harness::{
    ADVANCE, PATIENCE, Properties, Route, faults, task, wait_failed, wait_running, worker,
};
use serde_json::{Map, Value, json};
use testkit::{
    Rng, eventually,
    kafka::{self, Record, create_topic, produce, topic_name},
    postgres::{Fault, Point, Proxy, database},
};

const JSON: &str = "org.apache.kafka.connect.json.JsonConverter";

/// Plain JSON in keys and values.
fn plain<'a>(route: &'a Route, more: &[(&'a str, &'a str)]) -> Properties<'a> {
    let mut all = vec![
        ("key.converter", JSON),
        ("key.converter.schemas.enable", "false"),
        ("value.converter", JSON),
        ("value.converter.schemas.enable", "false"),
    ];
    all.extend_from_slice(more);
    route.properties(&all)
}

const BY_KEY: [(&str, &str); 4] = [
    ("insert.mode", "upsert"),
    ("pk.mode", "record_key"),
    ("pk.fields", "id"),
    ("delete.enabled", "true"),
];

fn upsert(id: u64, v: &str) -> Record {
    Record::value(json!({ "id": id, "v": v }).to_string())
        .key(json!({ "id": id }).to_string())
        .partition(0)
}

fn tombstone(id: u64) -> Record {
    Record::tombstone(json!({ "id": id }).to_string()).partition(0)
}

/// B046, B047, B048, B070, report 13: a key's last change in a batch wins, deletes included.
#[test]
fn upserts_and_deletes_of_one_batch_keep_their_order() {
    let route = Route::new("by-key", 1);
    route.database.execute("DROP TABLE rows; CREATE TABLE rows (id int PRIMARY KEY, v text)");
    let mut records = vec![upsert(1, "a"), upsert(2, "b"), upsert(1, "c")];
    records.extend([upsert(3, "data1"), tombstone(3), upsert(3, "data2")]);
    records.extend([upsert(4, "x"), tombstone(4)]);
    records.extend((101..=350).map(|id| upsert(id, "old")));
    records.extend((101..=350).flat_map(|id| [tombstone(id), upsert(id + 1000, "new")]));
    produce(&route.bootstrap, &route.topic, records);
    let worker = worker(&route.bootstrap).connector(route.name(), &plain(&route, &BY_KEY)).start();
    route.wait_for_no_lag();
    wait_running(&worker, route.name());
    let low = route.database.query("SELECT id, v FROM rows WHERE id < 100 ORDER BY id");
    let row = |id: &str, v: &str| vec![Some(id.to_owned()), Some(v.to_owned())];
    assert_eq!(low, [row("1", "c"), row("2", "b"), row("3", "data2")]);
    let high = "SELECT count(*), min(id), max(id) FROM rows WHERE id > 100";
    let high: Vec<_> = route.database.query(high).remove(0).into_iter().flatten().collect();
    assert_eq!(high, ["250", "1101", "1350"]);
}

/// B052: insert, unless the key is there.
#[test]
fn insert_ignore_leaves_rows_alone_that_are_there() {
    let route = Route::new("ignore", 1);
    route.database.execute(
        "DROP TABLE rows; CREATE TABLE rows (id int PRIMARY KEY, v text); \
         INSERT INTO rows VALUES (1, 'processed')",
    );
    produce(&route.bootstrap, &route.topic, [upsert(1, "pending"), upsert(2, "pending")]);
    let more = [("insert.mode", "insert-ignore"), ("pk.mode", "record_value"), ("pk.fields", "id")];
    let worker = worker(&route.bootstrap).connector(route.name(), &plain(&route, &more)).start();
    route.wait_for_no_lag();
    wait_running(&worker, route.name());
    let rows = route.database.query("SELECT v FROM rows ORDER BY id");
    assert_eq!(rows, [vec![Some("processed".to_owned())], vec![Some("pending".to_owned())]]);
}

/// Report 11: two workers upsert the same keys crosswise, killed now and then: no deadlock stays, and
/// the last value of each key is there.
#[test]
fn fault_parallel_upserts_of_the_same_keys() {
    const KEYS: u64 = 200;
    let mut rng = Rng::seeded("parallel upserts");
    let route = Route::new("crosswise", 2);
    route.database.execute("DROP TABLE rows; CREATE TABLE rows (id int PRIMARY KEY, v text)");
    let start =
        || worker(&route.bootstrap).connector(route.name(), &plain(&route, &BY_KEY)).start();
    let mut workers = [start(), start()];
    for round in 0..faults() {
        for part in 0..2 {
            let mut ids: Vec<u64> = (0..KEYS).collect();
            rng.shuffle(&mut ids);
            let v = format!("round {round}");
            let records = ids.into_iter().map(|id| upsert(id, &v).partition(part));
            produce(&route.bootstrap, &route.topic, records);
        }
        if rng.chance(30) {
            let worker = &mut workers[usize::from(rng.chance(50))];
            worker.kill9();
            worker.restart();
        }
    }
    route.wait_for_no_lag();
    let last = format!("SELECT count(*) FROM rows WHERE v = 'round {}'", faults() - 1);
    assert_eq!(route.database.value(&last), Some(KEYS.to_string()));
    assert_eq!(route.stored(), KEYS);
    assert_eq!(route.dead_letters(), 0);
}

/// B059, report 15: text into columns of any type, through the type's own reading.
#[test]
fn text_is_read_as_the_columns_type() {
    let route = Route::new("text", 1);
    route.database.execute(
        "CREATE TYPE mood AS enum ('sad', 'ok'); DROP TABLE rows; CREATE TABLE rows (id uuid, \
         ts timestamptz, j jsonb, ip inet, m mood, iv interval, n numeric, a int[])",
    );
    let fields = [
        ("id", "1b4e28ba-2fa1-11d2-883f-0016d3cca427"),
        ("ts", "2024-05-01T10:00:00.123456+02:00"),
        ("j", r#"{"k":[1,2]}"#),
        ("ip", "10.0.0.1/8"),
        ("m", "ok"),
        ("iv", "P1DT2H"),
        ("n", "12.50"),
        ("a", "{1,2,NULL}"),
    ];
    let types: Vec<Value> =
        fields.iter().map(|(f, _)| json!({ "field": f, "type": "string" })).collect();
    let payload: Map<String, Value> =
        fields.iter().map(|&(field, text)| (field.to_owned(), json!(text))).collect();
    let value = json!({ "schema": { "type": "struct", "fields": types }, "payload": payload });
    produce(&route.bootstrap, &route.topic, [Record::value(value.to_string())]);
    let worker = route.worker(&[]).start();
    route.wait_for_no_lag();
    wait_running(&worker, route.name());
    let found = route
        .database
        .query("SELECT id, ts AT TIME ZONE 'UTC', j->'k'->>0, ip, m, iv, n, a FROM rows");
    let found: Vec<String> = found.into_iter().flatten().map(Option::unwrap_or_default).collect();
    let id = "1b4e28ba-2fa1-11d2-883f-0016d3cca427";
    let (ts, iv) = ("2024-05-01 08:00:00.123456", "1 day 02:00:00");
    assert_eq!(found, [id, ts, "1", "10.0.0.1/8", "ok", iv, "12.50", "{1,2,NULL}"]);
}

/// B065, B066: nested values without a schema, and numbers with every digit.
#[test]
fn nested_values_and_long_numbers_keep_everything() {
    let route = Route::new("nested", 1);
    route.database.execute(
        "DROP TABLE rows; \
         CREATE TABLE rows (n numeric, rate numeric(36, 18), addr jsonb, tags jsonb)",
    );
    let text = r#"{"n":123456789012345678901234567890.123456789,"rate":1.000000000000000001,
        "addr":{"city":"X","geo":{"lat":1.50}},"tags":[{"k":"a"}]}"#;
    produce(&route.bootstrap, &route.topic, [Record::value(text)]);
    let worker = worker(&route.bootstrap).connector(route.name(), &plain(&route, &[])).start();
    route.wait_for_no_lag();
    wait_running(&worker, route.name());
    let found =
        route.database.query("SELECT n, rate, addr->'geo'->>'lat', tags->0->>'k' FROM rows");
    let found: Vec<String> = found.into_iter().flatten().map(Option::unwrap_or_default).collect();
    let n = "123456789012345678901234567890.123456789";
    assert_eq!(found, [n, "1.000000000000000001", "1.50", "a"]);
}

/// B063: null is null although the field has a default.
#[test]
fn an_explicit_null_is_not_the_default() {
    let route = Route::new("null", 1);
    route.database.execute("DROP TABLE rows; CREATE TABLE rows (id int, qty int)");
    let schema = r#"{"type":"struct","optional":false,"fields":[
        {"field":"id","type":"int32","optional":false},
        {"field":"qty","type":"int32","optional":true,"default":7}]}"#;
    let with = |payload: &str| format!(r#"{{"schema":{schema},"payload":{payload}}}"#);
    let values = [with(r#"{"id":1,"qty":null}"#), with(r#"{"id":2,"qty":3}"#)];
    produce(&route.bootstrap, &route.topic, values.map(Record::value));
    let keep = [("value.converter", JSON), ("value.converter.replace.null.with.default", "false")];
    let _worker = route.worker(&keep).start();
    route.wait_for_no_lag();
    let rows = route.database.query("SELECT qty FROM rows ORDER BY id");
    assert_eq!(rows, [vec![None], vec![Some("3".to_owned())]]);
}

/// B058: a topic that cannot be written does not make another topic's rows double.
#[test]
fn a_failing_topic_does_not_double_the_rows_of_another() {
    let route = Route::new("good", 1);
    let bad = topic_name("bad");
    create_topic(&route.bootstrap, &bad, 1);
    route.database.execute("CREATE TABLE other (part int)");
    route.produce(0, 10);
    produce(&route.bootstrap, &bad, (0..10).map(|n| crate::harness::record(0, n)));
    let (topics, mapping) =
        (format!("{},{bad}", route.topic), format!("{}:rows,{bad}:other", route.topic));
    let more = [("topics", topics.as_str()), ("topics.to.tables.mapping", mapping.as_str())];
    let mut worker = route.worker(&more).start();
    for _ in 0..3 {
        let trace = wait_failed(&worker, route.name());
        assert!(trace.contains("other"), "{trace}");
        assert!(route.stored() <= 10);
        worker.kill9();
        worker.restart();
    }
    wait_failed(&worker, route.name());
    route.database.execute(
        "ALTER TABLE other ADD n bigint, ADD note text, ADD price double precision, ADD ok boolean",
    );
    worker.kill9();
    worker.restart();
    route.expect_exactly(&route.each(10));
    eventually(PATIENCE, "the other topic, too", || {
        let rows = route.database.value("SELECT count(*) FROM other");
        (rows.as_deref() == Some("10")).then_some(())
    });
}

/// B068: dots, capitals and hyphens in topic names.
#[test]
fn names_of_topics_become_names_of_tables() {
    let database = database();
    let (bootstrap, prefix) = (kafka::bootstrap(), topic_name("server1"));
    let start = |name: &str, topic: &str, more: &[(&str, &str)]| {
        create_topic(&bootstrap, topic, 1);
        produce(&bootstrap, topic, [crate::harness::record(0, 1)]);
        let url = database.url();
        let mut properties = vec![
            ("connector.class", "postgres-sink"),
            ("topics", topic),
            ("connection.url", &url),
            ("auto.create", "true"),
        ];
        properties.extend_from_slice(more);
        worker(&bootstrap).connector(name, &properties).start()
    };
    let stored = |table: &str| {
        let query = format!("SELECT count(*) FROM {table}");
        eventually(PATIENCE, table, || {
            (crate::harness::count(&database.url(), &query) == Some(1)).then_some(())
        });
    };
    let three = format!("{prefix}.public.Orders");
    let _first = start("three-parts", &three, &[]);
    stored("public.\"Orders\"");
    let never = format!("{prefix}-b.public.Invoices");
    let _second = start("never", &never, &[("quote.identifiers", "never")]);
    stored("public.invoices");
    let hyphen = format!("{prefix}-my-topic.v1");
    let third = start("underscore", &hyphen, &[("table.name.dots", "underscore")]);
    stored(&format!("\"{prefix}-my-topic_v1\""));
    drop(third);
    let missing = format!("{prefix}-no-schema.v1");
    let fourth = start("split", &missing, &[]);
    let trace = wait_failed(&fourth, "split");
    assert!(trace.contains(&format!("{prefix}-no-schema")), "{trace}");
}

/// B027: a connector whose database hangs, or never answers at all, disturbs nobody.
#[test]
fn a_hanging_connector_disturbs_no_other() {
    let mut hanging = Route::new("hangs", 1);
    let proxy = Proxy::start(&hanging.database.url(), ADVANCE);
    hanging.url = format!("{}?sslmode=disable", proxy.url(&hanging.database.url()));
    hanging.produce(0, 10);
    proxy.arm(Point::BeforeCommit, Fault::Hold, 0);
    let other = Route::new("works", 1);
    other.produce(0, 10);
    let setup = hanging.worker(&[]).connector(other.name(), &other.properties(&[]));
    let worker = setup.start();
    eventually(PATIENCE, "one hangs", || (proxy.hits() == 1).then_some(()));
    other.expect_exactly(&other.each(10));
    for _ in 0..10 {
        assert_eq!(worker.get("/connectors").status, 200);
        assert_eq!(task(&worker, hanging.name())["state"], "RUNNING");
    }
    let stop = format!("/connectors/{}/stop", hanging.name());
    assert_eq!(worker.put(&stop, None).status, 204);
    other.produce(10, 10);
    other.expect_exactly(&other.each(20));
}

/// B013: secrets are never shown, neither inline ones nor those of a provider, not even in errors.
#[test]
fn secrets_are_not_shown() {
    let route = Route::new("secrets", 1);
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("secrets.properties");
    std::fs::write(&file, "pw=from-the-file\n").expect("a file");
    let reference = format!("${{file:{}:pw}}", file.display());
    // Nobody listens there, so that the address is in every message.
    let url = "postgresql://me:in-the-url@127.0.0.1:1/db";
    let more = [("connection.url", url), ("connection.password", reference.as_str())];
    let setup = route.worker(&more).worker("config.providers", "file");
    let class = "org.apache.kafka.common.config.provider.FileConfigProvider";
    let setup = setup.worker("config.providers.file.class", class);
    let worker = setup.env("COPYCAT_LOG_LEVEL", "debug").start();
    let told = crate::harness::wait_retrying(&worker, route.name());
    let path = format!("/connectors/{}", route.name());
    let shown = worker.get(&format!("{path}/config")).body;
    assert!(shown.contains(&reference), "{shown}");
    for text in [
        told.to_string(),
        worker.get(&path).body.replace(url, ""),
        worker.get(&format!("{path}/status")).body,
        worker.logs(),
    ] {
        for secret in ["from-the-file", "in-the-url"] {
            assert!(!text.contains(secret), "{secret}: {text}");
        }
    }
}
