//! Chains of transforms in front of a database: records sent to other topics' tables, headers that
//! are read, records that a step refuses or drops.

use crate::harness::{PATIENCE, Route, count, envelope, worker};
use testkit::{
    eventually,
    kafka::{self, Record},
};

/// Records with a header `eu` go to a topic of their own; every name loses its prefix.
const ROUTES: [(&str, &str); 11] = [
    ("transforms", "eu,name"),
    ("transforms.eu.type", "org.apache.kafka.connect.transforms.RegexRouter"),
    ("transforms.eu.regex", "(.*)"),
    ("transforms.eu.replacement", "$1-eu"),
    ("transforms.eu.predicate", "european"),
    ("transforms.name.type", "org.apache.kafka.connect.transforms.RegexRouter"),
    ("transforms.name.regex", "^.*?(-eu)?$"),
    ("transforms.name.replacement", "orders$1"),
    ("predicates", "european"),
    ("predicates.european.type", "HasHeaderKey"),
    ("predicates.european.name", "eu"),
];
const ROWS: u64 = 40;

fn produce_mixed(bootstrap: &str, topic: &str) {
    let records = (0..ROWS).map(|n| {
        let record = Record::value(envelope(0, n)).partition(0);
        if n % 4 == 0 { record.header("eu", "1") } else { record }
    });
    let bad = std::iter::once(Record::value("{oops".to_owned()).partition(0));
    kafka::produce(bootstrap, topic, records.chain(bad));
}

#[test]
fn rows_of_one_partition_go_to_the_tables_of_their_routes() {
    let route = Route::new("routes", 1);
    let own = [
        ("table.name.format", "${topic}"),
        ("auto.create", "true"),
        ("pk.mode", "kafka"),
        ("pk.fields", "topic,part_no,off"),
        ("errors.tolerance", "all"),
        ("errors.tolerance.max.ratio", "1"),
    ];
    let worker = route.worker(&[&own[..], &ROUTES].concat()).start();
    produce_mixed(&route.bootstrap, &route.topic);
    let url = route.database.url();
    let stored = |table: &str| {
        count(&url, &format!("SELECT count(*) FROM \"{table}\" WHERE topic = '{table}'"))
    };
    eventually(PATIENCE, "both tables are filled", || {
        let both = (stored("orders-eu"), stored("orders"));
        (both == (Some(ROWS / 4), Some(ROWS - ROWS / 4))).then_some(())
    });
    // Coordinates and dead letters are those of the record in Kafka.
    let offsets = "SELECT min(off), max(off), count(DISTINCT off), max(part_no) FROM \"orders-eu\"";
    let expected = ["0", "36", "10", "0"].map(|text| Some(text.to_owned()));
    assert_eq!(route.database.query(offsets), [expected.to_vec()]);
    route.wait_for_no_lag();
    let letter = "SELECT topic, record_offset, stage, class FROM copycat_dead_letters";
    let expected =
        [&*route.topic, "40", "VALUE_CONVERTER", "org.apache.kafka.connect.json.JsonConverter"];
    let expected = expected.map(|text| Some(text.to_owned()));
    assert_eq!(route.database.query(letter), [expected.to_vec()]);
    drop(worker);
}

#[test]
fn sqlite_takes_the_same_routes() {
    let bootstrap = kafka::bootstrap();
    let topic = kafka::topic_name("routes-sqlite");
    kafka::create_topic(&bootstrap, &topic, 1);
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("routes.db");
    let url = format!("jdbc:sqlite:{}", path.display());
    let own = [
        ("connector.class", "sqlite-sink"),
        ("topics", &*topic),
        ("connection.url", &*url),
        ("auto.create", "true"),
        ("errors.tolerance", "all"),
        ("errors.tolerance.max.ratio", "1"),
    ];
    let worker = worker(&bootstrap).connector(&topic, &[&own[..], &ROUTES].concat()).start();
    produce_mixed(&bootstrap, &topic);
    let stored = |table: &str| -> Option<u32> {
        let database = rusqlite::Connection::open(&path).ok()?;
        let sql = format!("SELECT count(*) FROM \"{table}\"");
        database.query_row(&sql, [], |row| row.get(0)).ok()
    };
    eventually(PATIENCE, "both tables are filled", || {
        let both = (stored("orders-eu"), stored("orders"), stored("copycat_dead_letters"));
        let all = u32::try_from(ROWS).expect("few");
        (both == (Some(all / 4), Some(all - all / 4), Some(1))).then_some(())
    });
    drop(worker);
}

#[test]
fn refused_and_dropped_records_end_as_reported_and_passed_over() {
    let route = Route::new("refusals", 1);
    let chain = [
        ("value.converter.schemas.enable", "false"),
        ("value.converter", "org.apache.kafka.connect.json.JsonConverter"),
        ("transforms", "drop,cast"),
        ("transforms.drop.type", "Filter"),
        ("transforms.drop.predicate", "kept"),
        ("transforms.drop.negate", "true"),
        ("transforms.cast.type", "org.apache.kafka.connect.transforms.Cast$Value"),
        ("transforms.cast.spec", "n:int64"),
        ("predicates", "kept"),
        ("predicates.kept.type", "HasHeaderKey"),
        ("predicates.kept.name", "kept"),
        ("header.converter", "org.apache.kafka.connect.json.JsonConverter"),
        ("errors.tolerance", "all"),
        ("errors.tolerance.max.ratio", "1"),
    ];
    let worker = route.worker(&chain).start();
    let kept = |value: &str, header: &str| {
        Record::value(value.to_owned()).partition(0).header("kept", header)
    };
    let one = r#"{"schema":{"type":"int8"},"payload":1}"#;
    kafka::produce(
        &route.bootstrap,
        &route.topic,
        [
            kept(r#"{"part": 0, "n": "7"}"#, one),
            Record::value(r#"{"part": 0, "n": 8}"#.to_owned()).partition(0),
            kept(r#"{"part": 0, "n": {"x": 1}}"#, one),
            kept(r#"{"part": 0, "n": 9}"#, "no JSON"),
        ],
    );
    eventually(PATIENCE, "two letters", || {
        let letters = "SELECT count(*) FROM copycat_dead_letters";
        (count(&route.database.url(), letters) == Some(2)).then_some(())
    });
    route.wait_for_no_lag();
    let rows = route.database.query("SELECT part, n FROM rows");
    assert_eq!(rows, [vec![Some("0".to_owned()), Some("7".to_owned())]]);
    let letters = route.database.query(
        "SELECT record_offset, stage, class, exception FROM copycat_dead_letters \
         ORDER BY record_offset",
    );
    let data = "org.apache.kafka.connect.errors.DataException";
    let expected = [
        ["2", "TRANSFORMATION", "org.apache.kafka.connect.transforms.Cast$Value", data],
        ["3", "HEADER_CONVERTER", "org.apache.kafka.connect.json.JsonConverter", data],
    ];
    let expected = expected.map(|row| row.map(|text| Some(text.to_owned())).to_vec());
    assert_eq!(letters, expected);
    drop(worker);
}
