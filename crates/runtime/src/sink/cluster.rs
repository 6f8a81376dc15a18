//! Questions about the Kafka cluster as a whole: its id, the ids of topics.

use super::start::kafka_error;
use super::stop::StopSignal;
use crate::status::{Retrying, StatusCell};
use api::Error;
use kafka::{Admin, ClientSettings, ErrorKind as K};
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

const ASK_TIMEOUT: Duration = Duration::from_secs(2);
const TOPICS_TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) struct Cluster {
    admin: Admin,
    has_topic_ids: bool,
}

impl Cluster {
    pub(crate) fn new(settings: &ClientSettings, has_topic_ids: bool) -> Result<Cluster, Error> {
        Ok(Cluster { admin: Admin::new(settings).map_err(kafka_error)?, has_topic_ids })
    }

    /// Waits until a broker tells the cluster's id; it is part of the owner of stored positions.
    /// `None`: stopped meanwhile.
    pub(crate) fn wait_for_id(
        &self,
        status: &StatusCell,
        stop: &StopSignal,
    ) -> Result<Option<String>, Error> {
        let since = SystemTime::now();
        let mut attempts = 0;
        while stop.mode().is_none() {
            if let Some(id) = self.admin.cluster_id(ASK_TIMEOUT) {
                status.update(|status| status.retrying = None);
                return Ok(Some(id));
            }
            attempts += 1;
            let ends = [K::Authentication, K::Authorization, K::Configuration];
            let mut told = self.admin.take_errors().into_iter();
            if let Some(error) = told.find(|error| ends.contains(&error.kind())) {
                return Err(kafka_error(error));
            }
            let reason = kafka_error(self.admin.why_silent()).report();
            if attempts == 1 {
                tracing::warn!("waiting for kafka: {reason}");
            }
            let next_attempt = SystemTime::now();
            status.update(|status| {
                let sqlstate = None;
                status.retrying =
                    Some(Retrying { reason, sqlstate, attempts, since, next_attempt });
            });
        }
        Ok(None)
    }

    /// Every topic the principal may see.
    pub(crate) fn topics(&self) -> kafka::Result<Vec<kafka::Topic>> {
        self.admin.list_topics(TOPICS_TIMEOUT)
    }

    /// The ids of topics that have one.
    pub(crate) fn topic_ids(&self, topics: &[&str]) -> Result<BTreeMap<String, String>, Error> {
        if !self.has_topic_ids {
            return Ok(BTreeMap::new());
        }
        let described = match self.admin.describe_topics(topics, TOPICS_TIMEOUT) {
            Ok(described) => described,
            // Brokers too old for topic ids.
            Err(error) if error.kind() == K::Unsupported => return Ok(BTreeMap::new()),
            Err(error) => return Err(kafka_error(error)),
        };
        let mut ids = BTreeMap::new();
        for topic in described {
            match topic {
                Ok(topic) => {
                    ids.extend(topic.id.map(|id| (topic.name, id.to_string())));
                }
                Err(error) if error.kind() == K::UnknownTopic => {}
                Err(error) if error.kind() == K::Unsupported => {}
                Err(error) => return Err(kafka_error(error)),
            }
        }
        Ok(ids)
    }
}
