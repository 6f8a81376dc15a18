//! B011: secrets that are rotated under a task, whose login is refused from then on.

use crate::distributed_cluster::Cluster;
use crate::harness::{PATIENCE, Route, task, wait_failed, wait_running};
use serde_json::{Map, Value};
use std::path::PathBuf;
use tempfile::TempDir;
use testkit::{eventually, kafka, process::WorkerSetup};

/// A connector that logs in as somebody whose name is in a file.
///
/// Who logs in is the secret here, for the server believes every password.
struct Rotating {
    route: Route,
    old: String,
    new: String,
    folder: TempDir,
    reference: String,
}

impl Rotating {
    fn new(name: &str) -> Rotating {
        let mut route = Route::new(name, 1);
        let [old, new] = ["old", "new"].map(|which| format!("{}_{which}", route.name()));
        for role in [&old, &new] {
            route.database.execute(&format!("CREATE ROLE \"{role}\" LOGIN SUPERUSER"));
        }
        let url = route.database.url();
        let place = url.rsplit_once('@').expect("a user").1;
        route.url = format!("postgresql://{place}?sslmode=disable");
        let folder = tempfile::tempdir().expect("a folder");
        let reference = format!("${{file:{}:who}}", file(&folder).display());
        let rotating = Rotating { route, old, new, folder, reference };
        rotating.write(&rotating.old);
        rotating
    }

    fn write(&self, who: &str) {
        std::fs::write(file(&self.folder), format!("who={who}\n")).expect("a file");
    }

    fn properties(&self) -> Vec<(&str, &str)> {
        self.route.properties(&[("connection.user", self.reference.as_str())])
    }

    /// Nobody is let in as before, and whoever is in is thrown out.
    fn bar(&self) {
        let Rotating { route, old, .. } = self;
        route.database.execute(&format!("ALTER ROLE \"{old}\" NOLOGIN"));
        let kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename";
        route.database.query(&format!("{kill} = '{old}'"));
    }
}

impl Drop for Rotating {
    fn drop(&mut self) {
        let Rotating { route, old, new, .. } = self;
        route.database.execute(&format!("DROP OWNED BY \"{old}\", \"{new}\" CASCADE"));
        route.database.execute(&format!("DROP ROLE \"{old}\", \"{new}\""));
    }
}

fn file(folder: &TempDir) -> PathBuf {
    folder.path().join("secrets.properties")
}

fn with_provider(setup: WorkerSetup) -> WorkerSetup {
    let class = "org.apache.kafka.common.config.provider.FileConfigProvider";
    setup.worker("config.providers", "file").worker("config.providers.file.class", class)
}

#[test]
fn b011_a_rotated_secret_reaches_the_task_that_needs_it() {
    let rotating = Rotating::new("rotated");
    let route = &rotating.route;
    let setup = route.worker(&[("connection.user", &rotating.reference)]);
    let worker = with_provider(setup).start();
    route.produce(0, 20);
    route.wait_for_all(20);
    rotating.bar();
    route.produce(20, 20);
    let trace = wait_failed(&worker, route.name());
    assert!(trace.contains("28000"), "{trace}");
    let notice = eventually(PATIENCE, "what it waits for is told", || {
        task(&worker, route.name())["copycat"]["notice"].as_str().map(str::to_owned)
    });
    assert!(notice.contains("starts again by itself"), "{notice}");
    rotating.write(&rotating.new);
    route.expect_exactly(&route.each(40));
    wait_running(&worker, route.name());
}

#[test]
fn b011_a_rotated_secret_reaches_the_task_wherever_in_a_cluster() {
    let rotating = Rotating::new("rotated-cluster");
    let cluster = Cluster::start_as("rotated", 2, with_provider);
    let (route, name) = (&rotating.route, kafka::topic_name("rotated"));
    let config: Map<String, Value> = rotating
        .properties()
        .into_iter()
        .map(|(key, value)| (key.to_owned(), Value::from(value)))
        .collect();
    cluster.put(0, &name, &Value::Object(config));
    route.produce(0, 20);
    route.wait_for_all(20);
    rotating.bar();
    route.produce(20, 20);
    let state = |worker: usize| {
        let (_, body) = cluster.ask(worker, "GET", &format!("/connectors/{name}/status"), None);
        body["tasks"][0]["state"].as_str().unwrap_or_default().to_owned()
    };
    for worker in [0, 1] {
        eventually(PATIENCE, "FAILED", || (state(worker) == "FAILED").then_some(()));
    }
    rotating.write(&rotating.new);
    route.wait_for_all(40);
    for worker in [0, 1] {
        eventually(PATIENCE, "RUNNING", || (state(worker) == "RUNNING").then_some(()));
    }
    let rows = route.database.query("SELECT count(*), count(DISTINCT n) FROM rows");
    assert_eq!(rows, [[Some("40".to_owned()), Some("40".to_owned())]]);
}
