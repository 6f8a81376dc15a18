//! Rights that a source lacks on its broker: each is named with what to grant, and a restart after the
//! grant goes on. The connectors beside it go on meanwhile.

use crate::harness::{PATIENCE, wait_failed, wait_running};
use crate::sources::{Route, expect_once};
use testkit::{
    eventually,
    kafka::{self, PLAIN_PASSWORD, Record, Secured, USER},
    process::WorkerSetup,
};

/// A right or two that lack, and what the task says. `@` is the topic, which is the connector's name.
struct Case {
    name: &'static str,
    once: bool,
    lacks: &'static [&'static str],
    said: &'static [&'static str],
}

const CASES: [Case; 6] = [
    Case {
        name: "rights-id",
        once: true,
        lacks: &["transactional_id:g-@-@-0:Write", "transactional_id:g-@-@-0:Describe"],
        said: &[
            "the transactional.id g-@-@-0 may not be used",
            "grant Write and Describe on TransactionalId g-@-@-0",
        ],
    },
    Case {
        name: "rights-write",
        once: true,
        lacks: &["topic:@:Write"],
        said: &["topic '@'", "grant Write on the topic to the connector's principal"],
    },
    Case {
        name: "rights-write-plain",
        once: false,
        lacks: &["topic:@:Write"],
        said: &["topic '@'", "grant Write on the topic to the connector's principal"],
    },
    Case {
        name: "rights-create",
        once: true,
        lacks: &["topic:@:Create"],
        said: &["topic @ could not be created", "let this user create it"],
    },
    Case {
        name: "rights-offsets",
        once: true,
        lacks: &["topic:offsets-@:Read"],
        said: &["offsets-@", "Read on Topic offsets-@"],
    },
    Case {
        name: "rights-offsets-write",
        once: true,
        lacks: &["topic:offsets-@:Write"],
        said: &["offsets-@", "grant Write"],
    },
];

/// All that an exactly-once source needs.
const ALL: [&str; 8] = [
    "transactional_id:g-@-@-0:Write",
    "transactional_id:g-@-@-0:Describe",
    "topic:@:Write",
    "topic:@:Describe",
    "topic:@:Create",
    "topic:offsets-@:Read",
    "topic:offsets-@:Write",
    "topic:offsets-@:Describe",
];

/// The worker with the login of the user whom rights are granted to, for itself and its tasks.
pub(crate) fn secured(setup: WorkerSetup, broker: &Secured) -> WorkerSetup {
    let jaas = format!(
        "org.apache.kafka.common.security.plain.PlainLoginModule required username=\"{USER}\" \
         password=\"{PLAIN_PASSWORD}\";"
    );
    let mut setup = setup.replace("bootstrap.servers", &broker.sasl_plaintext);
    for prefix in ["", "consumer.", "producer."] {
        for (key, value) in [
            ("security.protocol", "SASL_PLAINTEXT"),
            ("sasl.mechanism", "PLAIN"),
            ("sasl.jaas.config", &*jaas),
        ] {
            setup = setup.worker(&format!("{prefix}{key}"), value);
        }
    }
    setup
}

#[test]
fn rights_that_a_source_lacks_are_named() {
    let broker = Secured::with_acls();
    let plain = broker.broker.bootstrap();
    let made = [
        ("topic.creation.default.partitions", "1"),
        ("topic.creation.default.replication.factor", "1"),
        // What the user may not do is no fault of the records.
        ("errors.tolerance", "all"),
        ("errors.tolerance.max.ratio", "1"),
    ];
    let mut started = Vec::new();
    for Case { name, once, lacks, said } in CASES {
        let mut route = Route::over(&plain, name);
        if name == "rights-create" {
            route.topic = kafka::topic_name(name);
        }
        let compact = [("cleanup.policy", "compact")];
        let offsets = format!("offsets-{}", route.topic);
        kafka::create_topic_with(&plain, &offsets, 1, &compact);
        let another = Record::value(r#"{"position":1}"#).key(r#"["another",{"filename":"f"}]"#);
        kafka::produce(&plain, &offsets, [another]);
        let own = |text: &str| text.replace('@', &route.topic);
        let granted = ALL.iter().filter(|right| !lacks.contains(right)).map(|right| own(right));
        let granted: Vec<String> = granted.collect();
        broker.grant(&granted.iter().map(String::as_str).collect::<Vec<_>>());
        route.write(0..100);
        let lacks: Vec<String> = lacks.iter().map(|right| own(right)).collect();
        let said: Vec<String> = said.iter().map(|text| own(text)).collect();
        let setup = if once { route.exactly_once(&made) } else { route.worker(&made) };
        let worker = secured(setup, &broker).start();
        started.push((route, lacks, said, worker));
    }
    for (route, lacks, said, worker) in &started {
        let told = wait_failed(worker, &route.topic);
        for text in said {
            assert!(told.contains(text), "{lacks:?}: {text:?} is missing: {told}");
        }
        broker.grant(&lacks.iter().map(String::as_str).collect::<Vec<_>>());
        let path = format!("/connectors/{}/restart?includeTasks=true&onlyFailed=true", route.topic);
        assert!(worker.request("POST", &path, None).status < 300);
        eventually(PATIENCE, "the topic", || {
            kafka::topic_exists(&plain, &route.topic).then_some(())
        });
        route.wait_for_last(100);
        expect_once(&route.read(), 100);
        wait_running(worker, &route.topic);
    }
}
