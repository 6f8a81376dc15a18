//! Requests, at the leader: what is refused at once, what waits its turn, what is written.
//!
//! Source of the messages: Kafka Connect's distributed herder.

use super::lead::{Altering, Made, Wanted, Write};
use super::{Action, Answered, Kind, Member};
use crate::distributed::cluster::{Change, Entry, Placement};
use crate::state::{Done, OffsetsRefused, Refusal, Request, Target};
use config::{Given, Props};
use runtime::OffsetsChange;
use std::collections::BTreeSet;
use std::sync::Arc;

impl Member {
    /// Takes requests up, one a connector: those behind them wait for what they come to.
    pub(super) fn take_up(&mut self, actions: &mut Vec<Action>) {
        let Some(lead) = &mut self.lead else { return };
        let mut busy: BTreeSet<Arc<str>> = lead.checking.keys().cloned().collect();
        busy.extend(lead.altering.keys().cloned());
        busy.extend(lead.writes.iter().map(|write| write.name.clone()));
        let asked = std::mem::take(&mut lead.asked);
        for (id, request) in asked {
            let name: Arc<str> = request.name().into();
            if busy.insert(name.clone()) {
                self.take_up_one(id, name, request, actions);
            } else if let Some(lead) = &mut self.lead {
                lead.asked.push_back((id, request));
            }
        }
        self.alter_offsets(actions);
    }

    fn entry(&self, name: &str) -> Option<&Entry> {
        self.cluster.connectors.get(name).filter(|entry| entry.config.is_some())
    }

    fn write(&mut self, id: u64, done: Done, name: &Arc<str>, wanted: Wanted) {
        if let Some(lead) = &mut self.lead {
            let (asked, name) = (Some((id, done)), name.clone());
            lead.writes.push(Write { asked, name, wanted });
        }
    }

    fn take_up_one(
        &mut self,
        id: u64,
        name: Arc<str>,
        request: Request,
        actions: &mut Vec<Action>,
    ) {
        let exists = self.entry(&name).is_some();
        match request {
            Request::Create { name, .. } | Request::Restore { name, .. } if exists => {
                refuse(id, Refusal::Exists { name }, actions);
            }
            Request::Create { config, target, .. } => self.check(id, name, config, target, actions),
            Request::Put { config, .. } => self.check(id, name, config, Target::Started, actions),
            Request::Restore { config, target, .. } => {
                self.write(id, Done::Created, &name, Wanted::Create(config, target));
            }
            Request::Patch { patch, .. } => {
                let Some(config) = self.entry(&name).and_then(|entry| entry.config.as_ref()) else {
                    return unknown(id, format!("Connector {name} not found"), actions);
                };
                let config = Given::patched(config, &patch);
                self.check(id, name, config, Target::Started, actions);
            }
            Request::Delete { .. }
            | Request::Offsets { .. }
            | Request::Tasks { .. }
            | Request::Fence { .. }
                if !exists =>
            {
                unknown(id, format!("Connector {name} not found"), actions);
            }
            Request::Delete { offsets: false, .. } => {
                self.write(id, Done::Done, &name, Wanted::Delete);
            }
            Request::Delete { offsets: true, .. } => self.delete_with_offsets(id, name),
            Request::Offsets { change, .. } => {
                if self.entry(&name).map(Entry::target) != Some(Target::Stopped) {
                    return refuse(id, not_stopped(&name), actions);
                }
                let altering = Altering { id, change: Some(change), deleting: false };
                self.alter(name, altering);
            }
            Request::Retarget { .. } if !exists => {
                unknown(id, format!("Unknown connector {name}"), actions);
            }
            Request::Restart { .. } | Request::RestartTask { .. } if !exists => {
                unknown(id, format!("Unknown connector: {name}"), actions);
            }
            Request::Retarget { target, .. } => {
                self.write(id, Done::Done, &name, Wanted::Target(target));
            }
            Request::Restart { connector, tasks, .. } => {
                if let Some(lead) = self.lead.as_mut().filter(|_| connector) {
                    lead.remake.insert(name.clone());
                }
                self.write(id, Done::Done, &name, Wanted::Restart(tasks));
            }
            Request::Tasks { tasks, .. } => self.tasks_given(id, &name, tasks, actions),
            Request::Fence { .. } => self.fence_asked(id, &name, actions),
            Request::RestartTask { task, .. } => {
                let tasks = self.entry(&name).map_or(0, |entry| entry.tasks.len());
                if task as usize >= tasks {
                    return unknown(id, format!("Unknown task: {name}-{task}"), actions);
                }
                self.write(id, Done::Done, &name, Wanted::Restart(BTreeSet::from([task])));
            }
        }
    }

    /// Stops it first: its offsets are reset when its last task has ended, then it goes.
    fn delete_with_offsets(&mut self, id: u64, name: Arc<str>) {
        if let Some(lead) = &mut self.lead {
            let wanted = Wanted::Target(Target::Stopped);
            lead.writes.push(Write { asked: None, name: name.clone(), wanted });
        }
        let change = Some(OffsetsChange::Reset);
        self.alter(name, Altering { id, change, deleting: true });
    }

    fn alter(&mut self, name: Arc<str>, altering: Altering) {
        if let Some(lead) = &mut self.lead {
            lead.altering.insert(name, altering);
        }
    }

    /// Takes a task set that another worker has worked out as if it had been worked out here.
    fn tasks_given(
        &mut self,
        id: u64,
        name: &Arc<str>,
        tasks: Vec<Props>,
        actions: &mut Vec<Action>,
    ) {
        let Some(entry) = self.entry(name) else { return };
        if entry.target() == Target::Stopped && !tasks.is_empty() {
            let message =
                format!("Cannot submit non-empty set of task configs for stopped connector {name}");
            return refuse(id, Refusal::Invalid { message }, actions);
        }
        let incarnation = entry.placement.as_ref().map(|placement| placement.incarnation);
        let of = entry.config.as_ref().map(|_| entry.of());
        if let (Some(incarnation), Some(of), Some(lead)) = (incarnation, of, &mut self.lead) {
            lead.making.remove(name);
            lead.failures.remove(name);
            lead.look.insert(name.clone());
            lead.made.insert(name.clone(), Made { incarnation, of, tasks });
        }
        actions.push(Action::Answer { id, outcome: Ok(Done::Done) });
    }

    fn check(
        &mut self,
        id: u64,
        name: Arc<str>,
        config: Given,
        target: Target,
        actions: &mut Vec<Action>,
    ) {
        if let Some(lead) = &mut self.lead {
            lead.checking.insert(name.clone(), (id, config.clone(), target));
            actions.push(Action::Validate { id, name, config });
        }
    }

    pub(super) fn validated(
        &mut self,
        id: u64,
        name: &Arc<str>,
        outcome: Result<(), String>,
        actions: &mut Vec<Action>,
    ) {
        let Some(lead) = &mut self.lead else { return };
        if lead.checking.get(name).is_none_or(|(own, ..)| *own != id) {
            return;
        }
        lead.due = true;
        let Some((_, config, target)) = lead.checking.remove(name) else { return };
        if let Err(message) = outcome {
            return refuse(id, Refusal::Invalid { message }, actions);
        }
        if self.entry(name).is_some() {
            self.write(id, Done::Done, name, Wanted::Config(config.props));
        } else {
            self.write(id, Done::Created, name, Wanted::Create(config.props, target));
        }
    }

    /// What a request comes to, as the topic will say it.
    pub(super) fn changes(&self, name: &Arc<str>, wanted: Wanted, version: u64) -> Vec<Change> {
        let name = || name.clone();
        let placement = || Some(self.fresh_placement(&name(), version));
        match wanted {
            Wanted::Create(config, target) => vec![
                Change::Target {
                    name: name(),
                    target: Some(target).filter(|target| *target != Target::Started),
                },
                Change::Connector { name: name(), config: Some(config) },
                Change::Placement { name: name(), placement: placement() },
            ],
            Wanted::Config(config) => {
                vec![Change::Connector { name: name(), config: Some(config) }]
            }
            Wanted::Delete => vec![
                Change::Connector { name: name(), config: None },
                Change::Target { name: name(), target: None },
                Change::Placement { name: name(), placement: placement() },
            ],
            Wanted::Target(target) => vec![Change::Target { name: name(), target: Some(target) }],
            Wanted::Count(tasks) => vec![Change::TaskCount { name: name(), tasks }],
            Wanted::Restart(tasks) => vec![Change::Restart { name: name(), tasks }],
        }
    }

    /// The placement that a connector of this name begins or ends with: what is left of the one
    /// before leaves first.
    fn fresh_placement(&self, name: &str, version: u64) -> Placement {
        let before = self.cluster.connectors.get(name).and_then(|e| e.placement.as_ref());
        let mut slots = before.map(|placement| placement.slots.clone()).unwrap_or_default();
        super::slots::leave(&mut slots, version);
        Placement { incarnation: version, made_of: None, slots }
    }

    /// Starts the changes of offsets whose connector has no task any more.
    fn alter_offsets(&mut self, actions: &mut Vec<Action>) {
        let Some(lead) = &mut self.lead else { return };
        let mut uncounted = Vec::new();
        for (name, altering) in &mut lead.altering {
            let entry = self.cluster.connectors.get(name);
            let Some((entry, config)) = entry.and_then(|e| Some((e, e.config.clone()?))) else {
                continue;
            };
            let idle = entry.placement.as_ref().is_none_or(|placement| placement.is_free());
            let busy = lead.fences.is_busy(name) || altering.change.is_none();
            if !idle || busy || entry.target() != Target::Stopped {
                continue;
            }
            let producers = entry.producers.unwrap_or(0);
            if producers == 0 && (self.settings.kinds.0)(&config) == Kind::OnceSource {
                uncounted.push(name.clone());
            } else if let Some(change) = altering.change.take() {
                let name = name.clone();
                actions.push(Action::AlterOffsets { name, config, change, producers });
            }
        }
        // They are changed by a producer, which is fenced like those of tasks before there are tasks.
        uncounted.retain(|name| !lead.writes.iter().any(|write| write.name == *name));
        let count = |name| Write { asked: None, name, wanted: Wanted::Count(1) };
        lead.writes.extend(uncounted.into_iter().map(count));
    }

    pub(super) fn offsets_altered(
        &mut self,
        name: &Arc<str>,
        outcome: Result<String, OffsetsRefused>,
        actions: &mut Vec<Action>,
    ) {
        let Some(lead) = &mut self.lead else { return };
        if lead.altering.get(name).is_none_or(|altering| altering.change.is_some()) {
            return;
        }
        lead.due = true;
        lead.look.insert(name.clone());
        let Some(Altering { id, deleting, .. }) = lead.altering.remove(name) else { return };
        let refusal = match outcome {
            Ok(text) if deleting => {
                return self.write(id, Done::Told(text), name, Wanted::Delete);
            }
            Ok(text) => {
                let outcome = Ok(Done::Told(text));
                return actions.push(Action::Answer { id, outcome });
            }
            Err(OffsetsRefused::Invalid(message)) => Refusal::Invalid { message },
            Err(OffsetsRefused::Failed(message)) => Refusal::Failed { message },
        };
        refuse(id, refusal, actions);
    }
}

fn refuse(id: u64, refusal: Refusal, actions: &mut Vec<Action>) {
    actions.push(Action::Answer { id, outcome: Err(Answered::Refused(refusal)) });
}

fn unknown(id: u64, message: String, actions: &mut Vec<Action>) {
    refuse(id, Refusal::Unknown { message }, actions);
}

fn not_stopped(name: &str) -> Refusal {
    let message = format!(
        "Connectors must be in the STOPPED state before their offsets can be modified. This can be \
         done for the specified connector by issuing a 'PUT' request to the \
         '/connectors/{name}/stop' endpoint"
    );
    Refusal::Invalid { message }
}
