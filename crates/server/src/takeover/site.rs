//! The cluster that a worker file names, and what is asked of it.

use super::{ClusterArgs, failure};
use crate::distributed::cluster_settings;
use crate::exit::Failure;
use crate::standalone::{self, Mode, WorkerFile};
use herder::distributed::ClusterSettings;
use herder::takeover::{Company, Contents, TopicSeen, Topics};
use kafka::Admin;
use runtime::Worker;

/// A cluster, seen from outside.
pub(super) struct Site {
    pub(super) file: WorkerFile,
    pub(super) worker: Worker,
    pub(super) group: String,
    pub(super) topics: Topics,
    pub(super) settings: ClusterSettings,
    pub(super) admin: Admin,
    /// How the file is called on the command line, for what is to be typed next.
    pub(super) named: String,
}

impl Site {
    pub(super) fn of(args: &ClusterArgs) -> Result<Site, Failure> {
        let file = WorkerFile::read(args.worker.as_deref(), Mode::Distributed)?;
        let Some(cluster) = file.cluster.clone() else {
            return Err(Failure::wrong_input("these are not the keys of a distributed worker"));
        };
        let group = cluster.worker.group_id.clone().unwrap_or_default();
        let worker = Worker::new(file.props.clone(), standalone::plugins(), group.clone());
        let worker = worker.map_err(|errors| file.wrong(&errors))?;
        let settings = cluster_settings(&worker, &cluster, &file).map_err(|e| failure(&e))?;
        let topics = Topics::of_worker(worker.props()).map_err(|e| failure(&e))?;
        let admin = Admin::new(&topics.configs.admin).map_err(runtime::kafka_error);
        let admin = admin.map_err(|e| failure(&e))?;
        let named =
            args.worker.as_ref().map_or_else(String::new, |path| path.display().to_string());
        Ok(Site { file, worker, group, topics, settings, admin, named })
    }

    /// Who is alive in the group of the workers.
    pub(super) fn company(&self) -> Result<Company, Failure> {
        Company::look(&self.admin, &self.group).map_err(|e| failure(&e))
    }

    /// The topics as they are found.
    ///
    /// # Errors
    /// Brokers do not answer; there is no cluster.
    pub(super) fn seen(&self) -> Result<Vec<TopicSeen>, Failure> {
        let seen = self.topics.look(&self.admin).map_err(|e| failure(&e))?;
        let configs = &self.topics.configs.topic.name;
        if seen.iter().any(|seen| seen.name == *configs && seen.partitions.is_none()) {
            let text =
                format!("there is no topic {configs}: no cluster has kept its connectors there");
            return Err(Failure::wrong_input(text).hint(
                "give the properties file of the workers of Kafka Connect, unchanged: \
                 bootstrap.servers, group.id and the three topics name the cluster",
            ));
        }
        Ok(seen)
    }

    /// What the topics hold.
    pub(super) fn contents(&self, seen: &[TopicSeen]) -> Result<Contents, Failure> {
        Contents::read(&self.topics, seen, &|| false).map_err(|e| failure(&e))
    }

    /// The topics, where each of them can hold a cluster.
    ///
    /// # Errors
    /// One cannot, with what to do about it.
    pub(super) fn fit(&self) -> Result<Vec<TopicSeen>, Failure> {
        let seen = self.seen()?;
        match seen.iter().find_map(|seen| seen.trouble.as_ref()) {
            Some(trouble) => Err(failure(trouble)),
            None => Ok(seen),
        }
    }

    /// What to type next.
    pub(super) fn command(&self, command: &str) -> String {
        format!("{command} {}", self.named).trim_end().to_owned()
    }
}
