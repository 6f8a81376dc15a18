//! docs/pg.md: every example is run, by psql, beside a worker.

use crate::bench::Bench;
use crate::psql::psql;
use std::path::PathBuf;
use testkit::kafka::{self, Record};

/// The fenced blocks of a language, in order.
fn blocks(text: &str, language: &str) -> Vec<String> {
    let begin = format!("```{language}\n");
    let parts = text.split(&begin).skip(1);
    parts.map(|part| part.split("```").next().unwrap_or_default().to_owned()).collect()
}

fn page() -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/pg.md");
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn every_example_of_the_manual_runs() {
    let bench = Bench::new();
    // The servers of earlier runs may still be there, with their topics.
    let shop = kafka::topic_name("shop");
    for topic in ["orders", "lines", "chat", "events"] {
        kafka::create_topic(&bench.bootstrap, &format!("{shop}.{topic}"), 1);
    }
    kafka::produce(
        &bench.bootstrap,
        &format!("{shop}.orders"),
        ["{\"id\": 1, \"customer\": 7, \"total\": 12.5}", "{\"id\": \"one\"}", "{\"id\": 2}"]
            .map(Record::value),
    );
    let worker = bench.worker();
    let mut results = String::new();
    for block in blocks(&page(), "sql") {
        let script = block
            .replace("kafka-1:9092,kafka-2:9092", &bench.bootstrap)
            .replace("'shop.", &format!("'{shop}."));
        let (told, rest) = psql(&bench.database.url(), &script);
        assert!(!rest.contains("ERROR:"), "{script}\n{rest}");
        results.push_str(&told.replace(&shop, "shop"));
    }
    for piece in [
        "1|shop.orders|orders|",
        "|shop.orders|orders|paused",
        "2|shop.lines|lines|",
        "4|shop.events||",
        "kafka-4:9093",
    ] {
        assert!(results.contains(piece), "{piece}\n{results}");
    }
    worker.stop();
}

#[test]
fn the_readme_shows_what_works() {
    let readme = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let readme = std::fs::read_to_string(readme).unwrap();
    let section = readme.split("## From psql").nth(1).and_then(|s| s.split("\n## ").next());
    let database = crate::reports::installed();
    database.execute("CREATE TABLE orders (id bigint)");
    for block in blocks(section.unwrap(), "sql") {
        let (told, rest) = psql(&database.url(), &block);
        assert!(!rest.contains("ERROR:"), "{rest}");
        assert!(told.contains("1|orders|orders|waiting\norders|orders|waiting|"), "{told}");
    }
}

/// The page tells of every function, view and argument, and of no other.
#[test]
fn the_manual_names_what_there_is() {
    let database = crate::reports::installed();
    let page = page();
    let public = "SELECT DISTINCT p.proname FROM pg_proc p WHERE p.proname NOT LIKE '\\_%' \
        AND p.pronamespace = 'pipeline_kafka'::regnamespace UNION SELECT viewname FROM pg_views \
        WHERE schemaname = 'pipeline_kafka' UNION SELECT unnest(p.proargnames) FROM pg_proc p \
        WHERE p.proname = 'consume_begin' AND p.pronargs > 0";
    let rows = database.query(public);
    let names: Vec<_> = rows.iter().filter_map(|row| row[0].as_deref()).collect();
    assert!(names.len() > 40, "{names:?}");
    for name in &names {
        let told = *name == "consumer_id" || page.contains(*name);
        assert!(told, "docs/pg.md does not tell of {name}");
    }
    for told in page.split("pipeline_kafka.").skip(1) {
        let name: String =
            told.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
        let sql = format!(
            "SELECT to_regclass('pipeline_kafka.{name}') IS NOT NULL \
             OR EXISTS (SELECT FROM pg_proc WHERE proname = '{name}')"
        );
        assert_eq!(database.value(&sql).as_deref(), Some("t"), "{name}");
    }
}
