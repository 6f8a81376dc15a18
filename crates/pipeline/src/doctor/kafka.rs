//! Kafka's half of `copycat pg doctor`: each cluster answers, each topic is there.

use super::Check;
use crate::control::{Cluster, Definitions};
use kafka::{Admin, ClientSettings, ErrorKind};
use std::time::Duration;

const LOOK_MAX: Duration = Duration::from_secs(10);
/// Gives the client settings of a cluster, with `env:` and `file:` resolved, or what is wrong.
pub type Resolve<'a> = &'a dyn Fn(&Cluster) -> Result<ClientSettings, String>;

/// More topics of a cluster are not looked at one by one.
const TOPICS_MAX: usize = 1000;

pub(super) fn examine(
    definitions: &Definitions,
    settings: Resolve<'_>,
    tell: &mut dyn FnMut(Check),
) {
    if definitions.clusters.is_empty() {
        let fix = "SELECT pipeline_kafka.set_cluster('HOST:9092');";
        tell(Check::failed("clusters", "none is defined", fix));
    }
    for cluster in &definitions.clusters {
        let mut topics: Vec<&str> = definitions
            .consumers
            .iter()
            .filter(|consumer| consumer.cluster == cluster.name)
            .map(|consumer| &*consumer.topic)
            .collect();
        topics.sort_unstable();
        topics.dedup();
        one(cluster, settings, &topics, tell);
    }
    for row in &definitions.unreadable {
        let subject = format!("row {} of {}", row.key, row.table);
        let finding = format!("is not understood: {}", row.reason);
        tell(Check::failed(subject, finding, "run a newer copycat, or correct the row"));
    }
}

fn one(cluster: &Cluster, settings: Resolve<'_>, topics: &[&str], tell: &mut dyn FnMut(Check)) {
    let subject = format!("cluster {}", cluster.name);
    let fix = "correct it with set_cluster";
    let settings = match settings(cluster) {
        Ok(settings) => settings,
        Err(reason) => return tell(Check::failed(subject, reason, fix)),
    };
    let admin = match Admin::new(&settings) {
        Ok(admin) => admin,
        Err(error) => return tell(Check::failed(subject, error.to_string(), fix)),
    };
    let Some(id) = admin.cluster_id(LOOK_MAX) else {
        let mut check = Check::failed(subject, admin.why_silent().to_string(), fix);
        check.outcome = super::Outcome::Unreachable;
        return tell(check);
    };
    tell(Check::ok(subject, format!("{} answers ({id})", cluster.bootstrap_servers)));
    for topic in topics.iter().take(TOPICS_MAX) {
        tell(look_at(&admin, topic));
    }
}

fn look_at(admin: &Admin, name: &str) -> Check {
    let subject = format!("topic {name}");
    match admin.topic(name, LOOK_MAX) {
        Ok(topic) => Check::ok(subject, format!("{} partitions", topic.partitions)),
        Err(error) if error.kind() == ErrorKind::UnknownTopic => {
            Check::failed(subject, "does not exist", "create it, or drop its consumers")
        }
        Err(error) => Check::failed(subject, error.to_string(), "see the message"),
    }
}
