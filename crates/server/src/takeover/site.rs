//! The cluster that a worker file names, and what is asked of it.

use super::ClusterArgs;
use crate::distributed::writer;
use crate::exit::Failure;
use crate::failures::failure;
use crate::standalone::{self, Mode, WorkerFile};
use herder::takeover::{Company, Contents, TopicSeen, Topics};
use kafka::{Admin, ClientSettings};
use runtime::Worker;
use std::time::{Duration, Instant};

/// A worker that has stopped is missed by the broker within this, unless its session is set to be
/// longer.
const LEFT_WITHIN: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(250);

/// A cluster, seen from outside.
pub(super) struct Site {
    pub(super) file: WorkerFile,
    pub(super) worker: Worker,
    pub(super) group: String,
    pub(super) topics: Topics,
    /// By which the leader of its workers writes.
    pub(super) writer: ClientSettings,
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
        let group = cluster.worker.group_id.unwrap_or_default();
        let worker = Worker::new(file.props.clone(), standalone::plugins(), group.clone());
        let worker = worker.map_err(|errors| file.wrong(&errors))?;
        let writer = writer(worker.props(), &group).map_err(|e| failure(&e))?;
        let topics = Topics::of_worker(worker.props()).map_err(|e| failure(&e))?;
        let admin = Admin::new(&topics.configs.admin).map_err(runtime::kafka_error);
        let admin = admin.map_err(|e| failure(&e))?;
        let named =
            args.worker.as_ref().map_or_else(String::new, |path| path.display().to_string());
        Ok(Site { file, worker, group, topics, writer, admin, named })
    }

    /// Who is alive in the group of the workers.
    pub(super) fn company(&self) -> Result<Company, Failure> {
        Company::look(&self.admin, &self.group).map_err(|e| failure(&e))
    }

    /// Who is alive, once those are missed who have said that they stopped: they are members until
    /// they have left, or their session is over.
    pub(super) fn company_left(&self, contents: &Contents) -> Result<Company, Failure> {
        let start = Instant::now();
        loop {
            match self.company()? {
                Company::Ours(_)
                    if contents.names_of_ours().is_empty() && start.elapsed() < LEFT_WITHIN =>
                {
                    std::thread::park_timeout(LOOK);
                }
                company => return Ok(company),
            }
        }
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
