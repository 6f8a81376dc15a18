//! Kafka's half of `copycat pg doctor`: each cluster and its registry answer, each topic is there.

use super::Check;
use crate::control::{Cluster, Definitions};
use crate::worker::schemas;
use api::{Checking, Side};
use kafka::{Admin, ClientSettings, ErrorKind};
use std::time::{Duration, Instant};

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
        look_at_registry(definitions, cluster, tell);
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

/// Whether the registry answers, and what it has for the topics that are read by it.
fn look_at_registry(definitions: &Definitions, cluster: &Cluster, tell: &mut dyn FnMut(Check)) {
    let subject = format!("registry of cluster {}", cluster.name);
    let fix = "correct registry_url or registry_properties with set_cluster";
    let consumers = definitions.consumers.iter().filter(|consumer| {
        let settings = &consumer.settings;
        let own = settings.options.contains_key("schema");
        consumer.cluster == cluster.name && settings.format.has_schema() && !own
    });
    for consumer in consumers.take(TOPICS_MAX) {
        let format = consumer.settings.format;
        let mut converter = match schemas::converter(&consumer.settings, format, Side::Value) {
            Ok(converter) => converter,
            Err(reason) => return tell(Check::failed(subject, reason, fix)),
        };
        let asked = Checking {
            connector: cluster.name.clone(),
            topics: vec![consumer.topic.clone()],
            renamed: false,
            tolerant: true,
            deadline: Instant::now() + LOOK_MAX,
        };
        for found in converter.check(Side::Value, &asked) {
            if found.is_failed() {
                return tell(Check::failed(subject, found.what, found.hint.unwrap_or(fix.into())));
            }
            tell(Check::ok(subject.clone(), found.what));
        }
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
