//! Kafka Connect itself: two of its workers with the settings that they have where nothing is set, the
//! file connectors, and what these read and write.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::process::Site;

use super::Bench;
use super::workers::{put, running, wait};
use crate::bench::say;

pub(super) const NAME: &str = "Kafka Connect 4.4";
const STRING: &str = "org.apache.kafka.connect.storage.StringConverter";
const SOURCE: &str = "org.apache.kafka.connect.file.FileStreamSourceConnector";
const SINK: &str = "org.apache.kafka.connect.file.FileStreamSinkConnector";

/// Two workers; the first leads, since it was there first.
pub(super) struct Java {
    pub(super) first: Site,
    /// `None` once it was killed.
    pub(super) second: Option<Site>,
    pub(super) folder: TempDir,
}

impl Java {
    pub(super) fn start(bench: &Bench) -> Result<Java> {
        let cluster = testkit::kafka::topic_name("bench-java");
        let site = || {
            say("a worker of Kafka Connect starts");
            let more = [("key.converter", STRING), ("value.converter", STRING)];
            let mut site = Site::new(&bench.bootstrap, &cluster, &more);
            site.start_java();
            site
        };
        let folder = tempfile::tempdir().context("a folder")?;
        Ok(Java { first: site(), second: Some(site()), folder })
    }

    pub(super) fn path(&self, file: &str) -> PathBuf {
        self.folder.path().join(file)
    }

    /// Gives a connector its configuration, as soon as it is taken: it is not while things move.
    pub(super) fn put(&self, name: &str, config: &Value) -> Result<()> {
        wait("Kafka Connect takes a configuration", || {
            put(self.first.address(), name, config).map(Some)
        })
    }

    pub(super) fn source(&self, topic: &str, file: &str) -> Value {
        json!({ "connector.class": SOURCE, "topic": topic, "file": self.path(file), "tasks.max": "1" })
    }

    pub(super) fn sink(&self, topic: &str, file: &str, tasks: usize) -> Value {
        json!({
            "connector.class": SINK, "topics": topic, "file": self.path(file),
            "tasks.max": tasks.to_string(),
        })
    }

    /// Waits until so many tasks run.
    pub(super) fn wait_running(&self, tasks: usize) -> Result<()> {
        wait(&format!("{tasks} tasks of Kafka Connect run"), || {
            Ok((running(self.first.address())?.len() == tasks).then_some(()))
        })
    }
}
