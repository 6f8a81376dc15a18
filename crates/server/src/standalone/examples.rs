//! The configuration examples of the pages people read first must be accepted as they stand.

use super::interface::Interface;
use super::plugins;
use config::distributed::DistributedConfig;
use config::worker::StandaloneConfig;
use config::{Config, Props};
use runtime::Worker;
use std::path::PathBuf;

const PAGES: [&str; 5] = [
    "README.md",
    "docs/distributed.md",
    "docs/operating.md",
    "crates/connectors/src/postgres/README.md",
    "crates/connectors/src/sqlite/README.md",
];

/// The `properties` blocks of a page.
fn blocks(page: &str) -> Vec<String> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(page);
    let text = std::fs::read_to_string(&path).unwrap();
    let parts = text.split("```properties\n").skip(1);
    // The pages name key stores in a folder of the reader's; here they are those of the tests.
    let stores = concat!(env!("CARGO_MANIFEST_DIR"), "/../kafka/tests/testdata/stores/");
    let block = |part: &str| part.split("```").next().unwrap().replace("/etc/copycat/", stores);
    parts.map(block).collect()
}

#[test]
fn configurations_in_the_pages_are_valid() {
    let (workers, connectors): (Vec<Props>, Vec<Props>) = PAGES
        .iter()
        .flat_map(|page| blocks(page))
        .map(|block| config::properties::parse(&block).unwrap())
        .partition(|props| props.get("connector.class").is_none());
    assert!(!workers.is_empty() && !connectors.is_empty(), "the pages have examples");
    for props in &workers {
        let rest = match props.get("config.storage.topic") {
            Some(_) => DistributedConfig::parse(props).unwrap().worker.rest,
            None => StandaloneConfig::parse(props).unwrap().worker.rest,
        };
        Interface::read(&rest, props).unwrap();
        let worker = Worker::new(props.clone(), plugins(), "localhost:8083".to_owned()).unwrap();
        assert_eq!(worker.check().unwrap(), Vec::<String>::new(), "{props:?}");
    }
    let worker = Worker::new(workers[0].clone(), plugins(), "localhost:8083".to_owned()).unwrap();
    for props in &connectors {
        let validated = worker.validate(props);
        assert_eq!(validated.unwrap().notices, Vec::<String>::new(), "{props:?}");
    }
}

#[test]
fn a_key_below_an_ignored_prefix_is_reported_once() {
    let worker = Worker::new(
        [
            ("bootstrap.servers", "localhost:9092"),
            ("key.converter", "org.apache.kafka.connect.json.JsonConverter"),
            ("value.converter", "org.apache.kafka.connect.json.JsonConverter"),
        ]
        .into_iter()
        .collect(),
        plugins(),
        "localhost:8083".to_owned(),
    );
    let props: Props = [
        ("name", "c"),
        ("topics", "t"),
        ("connector.class", "io.debezium.connector.jdbc.JdbcSinkConnector"),
        ("connection.url", "jdbc:postgresql://localhost/d"),
        ("hibernate.c3p0.timeout", "3"),
        ("connection.pool.idle", "3"),
        ("connection.pol.idle", "3"),
    ]
    .into_iter()
    .collect();
    let notices = worker.unwrap().validate(&props).unwrap().notices;
    for (key, part) in [
        ("hibernate.c3p0.timeout", "there is no ORM layer"),
        ("connection.pool.idle", "each task has one connection"),
        ("connection.pol.idle", "unknown configuration key"),
    ] {
        let about: Vec<_> = notices.iter().filter(|notice| notice.contains(key)).collect();
        assert!(matches!(about.as_slice(), [one] if one.contains(part)), "{about:?}");
    }
}
