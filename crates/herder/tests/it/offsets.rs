//! Source offsets of a worker's connectors, shared with other workers.

use crate::support::settings;
use api::SourceMap;
use herder::distributed::log::OffsetLog;
use runtime::source::offsets::{OffsetChange, OffsetStore};
use std::sync::Arc;
use testkit::kafka::{Record, bootstrap, produce, topic_name};

fn map(json: &str) -> SourceMap {
    serde_json::from_str(json).unwrap()
}

fn change(partition: &str, offset: Option<&str>) -> OffsetChange {
    (Arc::new(map(partition)), offset.map(map))
}

#[test]
fn what_one_worker_stores_another_finds_and_spellings_of_java_are_kept() {
    let (broker, topic) = (bootstrap(), topic_name("offsets"));
    let running = || false;
    let first = OffsetLog::open(settings(&broker, &topic, 5), &running).unwrap();
    let java = Record::value(r#"{"p":1}"#).key(r#"["c",{"b":2,"a":1}]"#);
    produce(&broker, &topic, [java, Record::value("{}").key("rubbish")]);
    first.refresh(&running).unwrap();
    let partition = map(r#"{"a":1,"b":2}"#);
    assert_eq!(first.get("c", &partition).unwrap(), Some(map(r#"{"p":1}"#)));
    let changes = [
        change(r#"{"a":1,"b":2}"#, Some(r#"{"p":2}"#)),
        change(r#"{"f":"x"}"#, Some(r#"{"p":3}"#)),
    ];
    first.put("c", &changes).unwrap();
    assert_eq!(first.get("c", &partition).unwrap(), Some(map(r#"{"p":2}"#)));

    let second = OffsetLog::open(settings(&broker, &topic, 5), &running).unwrap();
    second.refresh(&running).unwrap();
    let known = second.list("c").unwrap();
    assert!(known.contains(&(map(r#"{"b":2,"a":1}"#), map(r#"{"p":2}"#))), "{known:?}");
    assert_eq!(known.len(), 2, "one partition is one record: {known:?}");
    second.put("c", &[change(r#"{"f":"x"}"#, None)]).unwrap();
    first.refresh(&running).unwrap();
    assert_eq!(first.get("c", &map(r#"{"f":"x"}"#)).unwrap(), None);
    assert!(first.forgot("c", &map(r#"{"f":"x"}"#)));
}
