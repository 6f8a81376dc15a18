//! What is wrong with a cluster's topics, rights, settings or neighbours is told in one message, with the way
//! out; a broken record stops nobody.

use crate::distributed_cluster::{Cluster, orders};
use crate::harness::{PATIENCE, member};
use crate::source_rights::secured;
use serde_json::{Value, json};
use testkit::{
    eventually,
    kafka::{self, Record, Secured, produce},
    process::{Worker, WorkerSetup},
};

/// Waits until a worker has ended by itself because of its settings; gives its log.
#[track_caller]
fn refusal(worker: &mut Worker) -> String {
    let status = worker.wait_exit(PATIENCE);
    let log = worker.logs();
    assert_eq!(status.code(), Some(2), "{log}");
    log
}

/// Waits until a worker's log has a message with all of these; its hint is a line of its own.
#[track_caller]
fn wait_told(worker: &Worker, words: &[&str]) {
    eventually(PATIENCE, &format!("{words:?} in the log"), || {
        let log = worker.logs().replace("\n  hint: ", " hint: ");
        let has = |line: &str| words.iter().all(|word| line.contains(word));
        log.lines().any(has).then_some(())
    });
}

fn lines(worker: &Worker, word: &str) -> Vec<String> {
    worker.logs().lines().filter(|line| line.contains(word)).map(str::to_owned).collect()
}

/// The same worker file with other values.
fn with(setup: WorkerSetup, changed: &[(&str, &str)]) -> WorkerSetup {
    changed.iter().fold(setup, |setup, (key, value)| setup.replace(key, value))
}

/// B012, and its kind: topics that would lose what a cluster is made of.
#[test]
fn b012_topics_that_cannot_hold_a_cluster_are_refused() {
    for (config, partitions, said) in [
        ("cleanup.policy=delete", 1, "cleanup.policy"),
        ("cleanup.policy=compact", 2, "has 2 partitions"),
    ] {
        let group = kafka::topic_name("refused");
        let (key, value) = config.split_once('=').unwrap();
        let topic = format!("{group}-config");
        kafka::create_topic_with(&kafka::bootstrap(), &topic, partitions, &[(key, value)]);
        let mut worker = member(&kafka::bootstrap(), &group).launch();
        let status = worker.wait_exit(PATIENCE);
        let log = worker.logs();
        assert_eq!(status.code(), Some(2), "{log}");
        assert!(log.contains(said) && log.contains(&topic), "{log}");
    }
}

#[test]
fn two_clusters_on_the_same_topics_are_refused_while_both_are_there() {
    let mut first = Cluster::start("first", 1);
    let others = kafka::topic_name("second");
    let bootstrap = kafka::bootstrap();
    let second = || with(member(&bootstrap, &first.group), &[("group.id", others.as_str())]);
    let mut worker = second().launch();
    let log = refusal(&mut worker);
    let (topic, group) = (format!("{}-status", first.group), format!("group.id={}", first.group));
    let running = format!("its worker {}", first.workers[0].address());
    for word in [topic.as_str(), &group, &running, "give this cluster topics of its own"] {
        assert!(log.contains(word), "{word} is missing: {log}");
    }
    // What is in common may be one topic alone.
    let other_status = format!("{others}-status");
    let setup = with(second(), &[("status.storage.topic", other_status.as_str())]);
    let log = refusal(&mut setup.launch());
    let topic = format!("topic {}-config is used by the cluster", first.group);
    assert!(log.contains(&topic), "{log}");
    // A cluster that was renamed finds the words of the one it was.
    first.workers[0].terminate();
    second().start();
}

#[test]
fn a_worker_with_other_topics_than_its_group_is_refused() {
    let mut cluster = Cluster::start("group", 1);
    let bootstrap = kafka::bootstrap();
    // The leader's first transaction says which topics the group has.
    let name = kafka::topic_name("orders");
    cluster.put(0, &name, &orders(&name, 1));
    cluster.wait_spread(0, &name, &[(0, 1)]);
    for key in ["config.storage.topic", "status.storage.topic", "offset.storage.topic"] {
        let other = kafka::topic_name("other");
        let mut worker =
            with(member(&bootstrap, &cluster.group), &[(key, other.as_str())]).launch();
        let log = refusal(&mut worker);
        let kind = key.split('.').next().unwrap_or_default();
        let there = format!("have {key}={}-{kind}", cluster.group);
        let here = format!("this one has {key}={other}");
        for word in [there.as_str(), &here, "stop all its workers first"] {
            assert!(log.contains(word), "{word} is missing: {log}");
        }
    }
    // Who stops all its workers may change them.
    cluster.workers[0].terminate();
    let other = kafka::topic_name("other");
    let mut setup = member(&bootstrap, &cluster.group);
    for kind in ["config", "status", "offset"] {
        let key = format!("{kind}.storage.topic");
        setup = setup.replace(&key, &format!("{other}-{kind}"));
    }
    setup.start();
}

/// Settings by which whoever leads decides are told where they differ, with both workers' names, once.
#[test]
fn settings_that_differ_between_workers_are_told() {
    let mut cluster = Cluster::start("differ", 1);
    let setup = member(&kafka::bootstrap(), &cluster.group);
    let other = setup.worker("session.timeout.ms", "7000").start();
    let (first, second) = (cluster.workers.remove(0), other);
    for (teller, told, here, there) in
        [(&first, &second, "6000", "7000"), (&second, &first, "7000", "6000")]
    {
        let there = format!("worker {} has session.timeout.ms={there}", told.address());
        let here = format!("this one ({}) has session.timeout.ms={here}", teller.address());
        wait_told(teller, &[&there, &here, "give all workers of a cluster the same"]);
    }
}

/// As many workers as the membership has partitions; whoever is one too many says so, and takes the place of
/// the first that goes.
#[test]
fn a_worker_too_many_says_so_and_takes_the_first_place_that_is_free() {
    let one = |setup: WorkerSetup| setup.worker("copycat.members.max", "1");
    let mut cluster = Cluster::start_as("spare", 1, one);
    cluster.launch_another();
    let topic = format!("topic copycat-members-{} has 1 partitions", cluster.group);
    wait_told(&cluster.workers[1], &[&topic, "kafka-topics.sh", "--partitions MORE"]);
    eventually(PATIENCE, "its health says so", || {
        let health = cluster.workers[1].get("/health");
        assert_eq!(health.status, 503);
        health.body.contains(&topic).then_some(())
    });
    cluster.workers[0].terminate();
    cluster.workers[1].wait_healthy();
    let name = kafka::topic_name("orders");
    cluster.workers.remove(0);
    cluster.put(0, &name, &orders(&name, 1));
    cluster.wait_spread(0, &name, &[(0, 1)]);
}

fn status_of(worker: &Worker, name: &str) -> Value {
    let answer = worker.get(&format!("/connectors/{name}/status"));
    serde_json::from_str(&answer.body).unwrap_or_default()
}

/// Records that nobody can use, in each of the topics: each is told once, with its place, its key and what to
/// do, and nothing else suffers from it.
#[test]
fn broken_records_in_any_topic_are_told_once_and_stop_nobody() {
    let mut cluster = Cluster::start("broken", 1);
    let (bootstrap, group) = (kafka::bootstrap(), cluster.group.clone());
    let name = kafka::topic_name("orders");
    cluster.put(0, &name, &orders(&name, 2));
    cluster.wait_spread(0, &name, &[(0, 2)]);
    let huge = format!(r#"{{"properties":{{"x":"{}"}}}}"#, "y".repeat(20 << 20));
    let connector = format!("connector-{name}");
    let placement = format!("copycat-placement-{name}");
    let word = format!("copycat-worker-{}/zz", cluster.workers[0].address());
    let task = format!("status-task-{name}-0");
    let broken: [(&str, &str, &[u8]); 14] = [
        ("config", &connector, b"\xff\xfe no json"),
        ("config", &connector, br#"{"properties":[1]}"#),
        ("config", "connector-", b"{"),
        ("config", "hello", b"{}"),
        ("config", &placement, b"[]"),
        ("config", "copycat-leader", br#"{"version":"seven"}"#),
        ("config", "session-key", br#"{"key":5}"#),
        ("config", "task-x-0", br#"{"properties":null}"#),
        ("status", &word, b"{}"),
        ("status", &task, br#"{"state":17}"#),
        ("status", "hello", b"\x00"),
        ("offset", r#"["x"]"#, b"{}"),
        ("offset", "hello", b"\xff"),
        ("offset", r#"["x",{"p":1}]"#, b"[1"),
    ];
    let topic = |kind: &str| format!("{group}-{kind}");
    for (kind, key, value) in &broken {
        produce(&bootstrap, &topic(kind), [Record::value(*value).key(*key)]);
    }
    produce(&bootstrap, &topic("config"), [Record::value(huge).key("connector-huge")]);
    // Everything in the topic is read before this comes back.
    let other = kafka::topic_name("orders");
    cluster.put(0, &other, &orders(&other, 1));
    cluster.wait_spread(0, &other, &[(0, 1)]);
    for again in [false, true] {
        let worker = &cluster.workers[0];
        for (kind, key, _) in &broken {
            let key = format!("with key '{key}'");
            wait_told(worker, &[&topic(kind), "offset", &key, "(a tombstone)"]);
        }
        let of_connector = lines(worker, &format!("with key '{connector}'"));
        let times = if again { 4 } else { 2 };
        assert_eq!(of_connector.len(), times, "each once a start: {of_connector:#?}");
        let status = status_of(worker, &name);
        assert_eq!(status["connector"]["state"], "RUNNING", "{status}");
        assert_eq!(status["tasks"][1]["state"], "RUNNING", "{status}");
        if !again {
            cluster.workers[0].terminate();
            cluster.workers[0].restart();
            cluster.wait_spread(0, &name, &[(0, 2)]);
        }
    }
    // The next one takes its place.
    assert_eq!(cluster.put(0, &name, &orders(&name, 1)), 200);
    cluster.wait_spread(0, &name, &[(0, 1)]);
}

/// Records of later versions: words and placements with members that this one does not know.
#[test]
fn what_a_later_version_writes_breaks_nobody() {
    let cluster = Cluster::start("later", 2);
    let (bootstrap, group) = (kafka::bootstrap(), cluster.group.clone());
    let name = kafka::topic_name("orders");
    cluster.put(0, &name, &orders(&name, 2));
    cluster.wait_spread(0, &name, &[(0, 1), (1, 1)]);
    let word = json!({
        "url": "http://later:1", "version": "99.0", "generation": 1, "partitions": [0], "applied": 1,
        "lingering": [], "stance": "asleep", "zone": { "rack": 1 },
    });
    let later = [
        ("status", "copycat-worker-later:1/00000000000000aa", word),
        ("status", "copycat-rack-later", json!({ "rack": 1 })),
        ("config", "copycat-budget-later", json!([1, 2])),
    ];
    for (kind, key, value) in later {
        let record = Record::value(value.to_string()).key(key);
        produce(&bootstrap, &format!("{group}-{kind}"), [record]);
    }
    assert_eq!(cluster.put(1, &name, &orders(&name, 4)), 200);
    cluster.wait_spread(0, &name, &[(0, 2), (1, 2)]);
    for worker in &cluster.workers {
        assert_eq!(lines(worker, "tombstone"), [""; 0]);
    }
}

/// Topics that somebody deletes under a cluster: what runs goes on, and what to do is said once.
#[test]
fn topics_that_are_deleted_while_workers_run_end_nothing() {
    let mut cluster = Cluster::start("deleted", 1);
    let name = kafka::topic_name("orders");
    cluster.put(0, &name, &orders(&name, 1));
    cluster.wait_spread(0, &name, &[(0, 1)]);
    for kind in ["config", "offset", "status"] {
        let topic = format!("{}-{kind}", cluster.group);
        kafka::delete_topic_in_use(&kafka::bootstrap(), &topic);
        wait_told(&cluster.workers[0], &[&topic, "Stop all workers"]);
    }
    let end = || kafka::end_offsets(&kafka::bootstrap(), &name).values().sum::<i64>();
    let before = end();
    eventually(PATIENCE, "records go on", || (end() > before + 20).then_some(()));
    assert!(cluster.workers[0].runs());
    let status = status_of(&cluster.workers[0], &name);
    assert_eq!(status["tasks"][0]["state"], "RUNNING", "{status}");
}

/// The topics of a cluster, made before its workers may not.
fn topics_of(bootstrap: &str, group: &str) {
    let compact = [("cleanup.policy", "compact")];
    for (kind, partitions) in [("config", 1), ("offset", 2), ("status", 1)] {
        kafka::create_topic_with(bootstrap, &format!("{group}-{kind}"), partitions, &compact);
    }
    kafka::create_topic_with(bootstrap, &format!("copycat-members-{group}"), 2, &compact);
}

/// What the worker of a cluster needs whose topics are there.
fn rights(group: &str) -> Vec<String> {
    let mut rights = vec![
        format!("group:{group}:Read"),
        format!("topic:copycat-members-{group}:Describe"),
        format!("topic:copycat-members-{group}:Read"),
        format!("transactional_id:connect-cluster-{group}:Describe"),
        format!("transactional_id:connect-cluster-{group}:Write"),
    ];
    for kind in ["config", "offset", "status"] {
        rights.extend(["Read", "Write"].map(|right| format!("topic:{group}-{kind}:{right}")));
    }
    rights
}

fn grant(broker: &Secured, rights: &[String]) {
    broker.grant(&rights.iter().map(String::as_str).collect::<Vec<_>>());
}

/// Each right that lacks is named; once it is granted the worker goes on by itself, unless it has ended.
#[test]
fn rights_that_lack_are_named_one_by_one() {
    let broker = Secured::with_acls();
    let plain = broker.broker.bootstrap();
    // The right that lacks, and what the log has to say. Without the first the worker ends.
    let cases = [
        (
            "topic:@-config:*",
            "grant the worker's principal Describe, Read and Write on Topic @-config",
        ),
        ("topic:@-config:Read", "grant the worker's principal Describe and Read on Topic @-config"),
        ("topic:@-config:Write", "Write on Topic @-config"),
        ("topic:@-status:Write", "Write on Topic @-status"),
        ("group:@:Read", "grant the worker's principal Read on Group @"),
        (
            "transactional_id:connect-cluster-@:Write",
            "Write and Describe on TransactionalId connect-cluster-@",
        ),
    ];
    let mut started = Vec::new();
    for (lacks, said) in cases {
        let group = kafka::topic_name("rights");
        topics_of(&plain, &group);
        let (lacks, said) = (lacks.replace('@', &group), said.replace('@', &group));
        let lacks = lacks.trim_end_matches('*').to_owned();
        let mut granted = rights(&group);
        granted.retain(|right| !right.starts_with(&lacks));
        grant(&broker, &granted);
        started.push((
            group.clone(),
            lacks,
            said,
            secured(member(&broker.sasl_plaintext, &group), &broker).launch(),
        ));
    }
    for (group, lacks, said, worker) in &mut started {
        wait_told(worker, &[said]);
        if lacks.ends_with(':') {
            refusal(worker);
            continue;
        }
        let health = worker.get("/health");
        let ready = health.status == 200;
        assert!(ready || health.body.contains(&*said), "{group} without {lacks}: {}", health.body);
        broker.grant(&[lacks]);
        worker.wait_healthy();
        let over = if lacks.contains(":Read") { "again" } else { "works again" };
        wait_told(worker, &[over]);
        let told = lines(worker, said);
        assert!(told.len() <= 2, "told once, not all the time: {told:#?}");
    }
}

/// The ids of exactly-once sources: of a task that writes under one, and of the leader, which ends those of
/// the tasks before.
#[test]
fn transactional_ids_that_a_source_may_not_use_are_named() {
    let broker = Secured::with_acls();
    let plain = broker.broker.bootstrap();
    let (group, topic) = (kafka::topic_name("ids"), kafka::topic_name("ids"));
    topics_of(&plain, &group);
    kafka::create_topic(&plain, &topic, 1);
    let mut granted = rights(&group);
    granted.extend(["Write", "Describe"].map(|right| format!("topic:{topic}:{right}")));
    grant(&broker, &granted);
    let setup = secured(member(&broker.sasl_plaintext, &group), &broker)
        .worker("exactly.once.source.support", "enabled");
    let worker = setup.start();
    let put = |tasks: usize| {
        let path = format!("/connectors/{topic}/config");
        let body = orders(&topic, tasks).to_string();
        let answer = worker.request("PUT", &path, Some(&body));
        assert!(answer.status < 300, "{}", answer.body);
    };
    let wait_status = |state: &str, tasks: usize, said: &str| {
        testkit::progress(PATIENCE, &format!("{tasks} tasks are {state}: {said}"), || {
            let status = status_of(&worker, &topic);
            let told = status["tasks"].as_array().cloned().unwrap_or_default();
            let so = |task: &Value| {
                task["state"] == state && task["trace"].as_str().unwrap_or("").contains(said)
            };
            let so = told.len() == tasks && told.iter().all(so);
            let seen = told.iter().map(|task| format!("{} {}", task["state"], task["trace"]));
            if so { Ok(()) } else { Err(seen.collect::<String>()) }
        });
    };
    let id = |task: usize| format!("{group}-{topic}-{task}");
    put(2);
    wait_status("FAILED", 2, "grant Write and Describe on TransactionalId");
    // Two may have written: the leader ends both before the next one begins.
    put(1);
    testkit::progress(PATIENCE, "the connector says why its tasks wait", || {
        let connector = &status_of(&worker, &topic)["connector"];
        let said = connector["trace"].as_str().unwrap_or_default();
        let so = said.contains(&format!("Write and Describe on TransactionalId {}", id(0)));
        if so && connector["state"] == "FAILED" { Ok(()) } else { Err(connector.to_string()) }
    });
    let of_ids = [0, 1].map(|task| {
        ["Write", "Describe"].map(|right| format!("transactional_id:{}:{right}", id(task)))
    });
    grant(&broker, &of_ids.concat());
    // It is tried again by itself.
    wait_status("RUNNING", 1, "");
    eventually(PATIENCE, "records", || (kafka::end_offsets(&plain, &topic)[&0] > 10).then_some(()));
}
