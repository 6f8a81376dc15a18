//! From what is defined to what runs: clusters, groups, consumers.
//!
//! Called often and does nothing where nothing has changed. A consumer with a new definition gets new
//! lanes; its old ones settle and end, and could do no harm if they did not: their epochs are over.

use super::format;
use super::group::{Group, Member};
use super::lanes::dropped;
use super::manager::{Cluster, GroupKey, Manager, Running};
use super::observer::{Observer, Topic, View};
use super::properties;
use super::standing::Standing;
use super::together::sets;
use crate::control::{Consumer, State, Target, way_to_act};
use kafka::Admin;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A definition without what changes by itself.
pub(super) fn as_defined(consumer: &Consumer) -> Consumer {
    let mut consumer = consumer.clone();
    consumer.settings.started = false;
    consumer.settings.topic_id = None;
    consumer
}

/// Why a consumer is not started.
enum Not {
    /// It may be in a moment.
    Yet,
    Blocked(String),
}

impl Manager<'_> {
    pub(super) fn reconcile(&mut self) {
        let wanted: Vec<Consumer> =
            self.definitions.consumers.iter().filter(|c| c.settings.enabled).cloned().collect();
        self.follow_clusters(&wanted);
        self.refused.clear();
        for row in &self.definitions.unreadable {
            if row.table == "consumers" {
                tracing::debug!("consumer {} cannot be read: {}", row.key, row.reason);
            }
        }
        // Who cannot be started holds up nobody that it would be committed with.
        let able: Vec<&Consumer> = wanted.iter().filter(|c| self.is_able(c)).collect();
        let sets: Vec<Vec<&Consumer>> = sets(able.into_iter()).collect();
        self.end_changed(&sets);
        for set in &sets {
            let refusal = match self.start_set(set) {
                Ok(()) => continue,
                Err(Not::Yet) => Standing::new(State::Starting),
                Err(Not::Blocked(detail)) => Standing::blocked(detail),
            };
            self.refused.extend(set.iter().map(|consumer| (consumer.id, refusal.clone())));
        }
        self.follow_groups();
    }

    /// Opens and closes clusters, and tells each observer what to look for.
    fn follow_clusters(&mut self, wanted: &[Consumer]) {
        let used: BTreeSet<&str> = wanted.iter().map(|c| c.cluster.as_str()).collect();
        let same = |name: &String, cluster: &Cluster| {
            let defined = self.definitions.clusters.iter().find(|c| c.name == *name);
            used.contains(name.as_str()) && defined == Some(&cluster.definition)
        };
        let gone: Vec<String> = self
            .clusters
            .iter()
            .filter(|(name, cluster)| !same(name, cluster))
            .map(|(name, _)| name.clone())
            .collect();
        for name in gone {
            self.close_cluster(&name);
        }
        for definition in &self.definitions.clusters {
            let name = &definition.name;
            if used.contains(name.as_str()) && !self.clusters.contains_key(name) {
                let usable = open_cluster(definition);
                if let Err(reason) = &usable {
                    tracing::error!(cluster = %name, "the cluster cannot be used: {reason}");
                }
                let cluster = Cluster { definition: definition.clone(), usable };
                self.clusters.insert(name.clone(), cluster);
            }
        }
        for (name, cluster) in &self.clusters {
            let Ok((_, observer)) = &cluster.usable else { continue };
            let topics = wanted.iter().filter(|c| c.cluster == *name).map(|c| c.topic.clone());
            observer.look_for(topics.collect());
        }
    }

    fn close_cluster(&mut self, name: &str) {
        let keys: Vec<GroupKey> =
            self.groups.keys().filter(|(cluster, _)| cluster == name).cloned().collect();
        for key in keys {
            self.end_group(&key);
        }
        self.running.retain(|_, running| running.group.0 != name);
        if let Some(Cluster { usable: Ok((_, observer)), .. }) = self.clusters.remove(name) {
            observer.stop();
        }
    }

    pub(super) fn end_group(&mut self, key: &GroupKey) {
        if let Some(group) = self.groups.remove(key) {
            group.stop();
            self.leaving.push(group);
        }
    }

    /// Whether lanes could be made of a consumer; who cannot be is refused.
    fn is_able(&mut self, consumer: &Consumer) -> bool {
        let runs = self.running.values().any(|running| running.has(consumer));
        let able = may_write(consumer).and_then(|()| match &consumer.settings.together {
            // Its lanes are those of others too.
            Some(_) if !runs => {
                let chain = format::chain_to(&consumer.settings, &consumer.target);
                chain.map(drop).map_err(Not::Blocked)
            }
            _ => Ok(()),
        });
        if let Err(Not::Blocked(detail)) = able {
            self.refused.insert(consumer.id, Standing::blocked(detail));
            return false;
        }
        true
    }

    /// Ends what is not wanted any more as it runs.
    fn end_changed(&mut self, sets: &[Vec<&Consumer>]) {
        let default_group = &self.options.group;
        let same = |running: &Running| {
            sets.iter().any(|set| {
                set.len() == running.consumers.len()
                    && set.iter().all(|consumer| running.has(consumer))
                    && set.iter().all(|c| key_of(c, default_group) == running.group)
            })
        };
        let ended: Vec<i32> =
            self.running.iter().filter(|(_, running)| !same(running)).map(|(id, _)| *id).collect();
        for id in ended {
            let Some(running) = self.running.remove(&id) else { continue };
            let Some(group) = self.groups.get(&running.group) else { continue };
            for number in &running.numbers {
                group.router.remove(*number);
            }
            group.router.wake();
            for consumer in &running.consumers {
                tracing::info!(consumer = consumer.id, topic = %consumer.topic, "ended");
            }
        }
    }

    fn start_set(&mut self, set: &[&Consumer]) -> Result<(), Not> {
        let Some(consumer) = set.first() else { return Ok(()) };
        let cluster = self.clusters.get(&consumer.cluster).ok_or_else(|| {
            Not::Blocked(format!("the cluster {} is not defined", consumer.cluster))
        })?;
        let (clients, observer) = cluster.usable.as_ref().map_err(|e| Not::Blocked(e.clone()))?;
        let partitions = partitions_of(&consumer.topic, &observer.view())?;
        if self.running.contains_key(&consumer.id) {
            return Ok(());
        }
        let key = key_of(consumer, &self.options.group);
        let group = match self.groups.entry(key.clone()) {
            std::collections::btree_map::Entry::Occupied(group) => group.into_mut(),
            std::collections::btree_map::Entry::Vacant(place) => {
                let name = self.options.worker_name.as_deref();
                let member = Member { group: &key.1, name };
                let (budget, max) = (self.workshop.budget.clone(), self.options.queue_bytes_max);
                let group = Group::start(clients, &member, budget, max).map_err(Not::Blocked)?;
                place.insert(group)
            }
        };
        let destinations = self
            .workshop
            .destinations(set, partitions, &observer.admin, &group.router)
            .map_err(Not::Blocked)?;
        let numbers = destinations.iter().map(|destination| destination.number).collect();
        for destination in destinations {
            group.router.add(destination);
        }
        for consumer in set {
            tracing::info!(consumer = consumer.id, topic = %consumer.topic, "started");
        }
        let consumers = set.iter().map(|consumer| as_defined(consumer)).collect();
        self.running.insert(consumer.id, Running { consumers, group: key, numbers });
        Ok(())
    }

    /// Subscriptions, the partitions to look at, groups that nobody is in any more.
    fn follow_groups(&mut self) {
        let empty: Vec<GroupKey> = self
            .groups
            .keys()
            .filter(|key| !self.running.values().any(|running| running.group == **key))
            .cloned()
            .collect();
        for key in empty {
            self.end_group(&key);
        }
        for (key, group) in &self.groups {
            let of_group = self.running.values().filter(|running| running.group == *key);
            let topics = of_group.flat_map(|r| &r.consumers).map(|consumer| consumer.topic.clone());
            let topics: BTreeSet<String> = topics.collect();
            if group.shared.set_topics(topics.into_iter().collect()) {
                group.router.wake();
            }
        }
        for (name, cluster) in &self.clusters {
            let Ok((_, observer)) = &cluster.usable else { continue };
            let of_cluster = || self.groups.iter().filter(|((cluster, _), _)| cluster == name);
            let assigned = of_cluster().flat_map(|(_, group)| group.router.assigned());
            let assigned: BTreeSet<_> = assigned.collect();
            observer.look_at(assigned.into_iter().collect());
            let recreated = observer.view().take_recreated();
            for topic in recreated {
                tracing::warn!(topic, "the topic was created anew");
                of_cluster().for_each(|(_, group)| group.router.reopen_topic(&topic));
            }
        }
    }
}

fn key_of(consumer: &Consumer, default_group: &str) -> GroupKey {
    let group = consumer.settings.group_id.as_deref().unwrap_or(default_group);
    (consumer.cluster.clone(), group.to_owned())
}

fn open_cluster(
    definition: &crate::control::Cluster,
) -> Result<(properties::Clients, Arc<Observer>), String> {
    let clients = properties::clients(definition)?;
    let report = |error: kafka::Error| runtime::kafka_error(error).report();
    let admin = Arc::new(Admin::new(&clients.admin).map_err(report)?);
    let observer = Observer::start(&definition.name, admin)
        .map_err(|error| format!("a thread could not be started: {error}"))?;
    Ok((clients, observer))
}

fn partitions_of(topic: &str, view: &View) -> Result<usize, Not> {
    match view.topics.get(topic) {
        Some(Topic::There { partitions, .. }) => Ok(*partitions),
        Some(Topic::Missing(why)) => Err(Not::Blocked(why.clone())),
        None => match &view.silence {
            Some(silence) if silence.needs_change => Err(Not::Blocked(silence.reason.clone())),
            _ => Err(Not::Yet),
        },
    }
}

fn may_write(consumer: &Consumer) -> Result<(), Not> {
    let owner = &consumer.settings.owner;
    match &consumer.target {
        Target::Dropped => Err(Not::Blocked(dropped(consumer.id))),
        _ if !consumer.settings.owner_reachable => Err(Not::Blocked(format!(
            "the worker cannot act as the owner {owner}\n  hint: {}",
            way_to_act(
                owner,
                consumer.settings.owner_superuser,
                "the role that the worker logs in as"
            )
        ))),
        _ => Ok(()),
    }
}
