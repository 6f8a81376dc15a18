//! The producers of task sets that are over: the leader fences them before the next set is placed, so
//! that nothing of an older set is committed after something of a newer one.
//!
//! Of a connector that gives its records exactly once, the config topic has a count: so many
//! transactional producers may exist. It is written in the transaction that places the task set which has
//! them. A round takes all their transactional ids over; only then is the next set, with its count,
//! written. One task after one task needs no round: the new one's own producer fences the old one's.
//!
//! Whoever takes such an id later, from a start that was on its way, asks [`Member::confirm`] before it
//! writes: its slot is not its own any more.
//!
//! Invariants: a round begins only after it was read back that no slot is held; what it has done counts
//! until a slot is given away, or the writer was lost for a moment.

use super::lead::Failed;
use super::{Action, Answered, Kind, Member};
use crate::distributed::cluster::{Entry, TaskKey};
use crate::state::{Done, Refusal, Target};
use config::Props;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Rounds of the leader.
#[derive(Clone, Debug, Default)]
pub(super) struct Fences {
    /// On their way, by attempt.
    rounds: BTreeMap<Arc<str>, u64>,
    /// Connectors whose former producers can write no more.
    done: BTreeSet<Arc<str>>,
    failed: BTreeMap<Arc<str>, Failed>,
    /// Who waits for the end of a round.
    asked: BTreeMap<Arc<str>, Vec<u64>>,
}

impl Fences {
    /// What was done holds no more: somebody else may have led. Gives those who wait.
    pub(super) fn forget_all(&mut self) -> Vec<u64> {
        self.done.clear();
        self.rounds.clear();
        self.take_asked()
    }

    /// Takes ids over at this moment.
    pub(super) fn is_busy(&self, connector: &str) -> bool {
        self.rounds.contains_key(connector)
    }

    /// Those who wait, of whatever connector.
    pub(super) fn take_asked(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.asked).into_values().flatten().collect()
    }

    /// Rounds that are to be tried again after a while.
    pub(super) fn failed(&self) -> &BTreeMap<Arc<str>, Failed> {
        &self.failed
    }
}

/// Whether a task may write what it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Confirmed {
    Yes,
    /// Its slot is another's, or nobody's: it was told to stop, or will be.
    No,
    /// The leader has not written yet that it exists.
    NotCounted,
}

impl Member {
    /// Whether a task that has taken its transactional id over may write under it. The config topic must
    /// have been read to its end since.
    pub fn confirm(&self, (name, task): &TaskKey, token: u64) -> Confirmed {
        let entry = self.cluster.connectors.get(name);
        let Some(entry) = entry.filter(|e| e.held_by(&self.me, *task) == Some(token)) else {
            return Confirmed::No;
        };
        match entry.producers {
            Some(producers) if producers == entry.task_count() => Confirmed::Yes,
            _ => Confirmed::NotCounted,
        }
    }

    /// Whether this worker, which has taken the first transactional id over since, may change a
    /// connector's offsets. The config topic must have been read to its end since.
    pub fn confirm_altering(&self, name: &str) -> bool {
        let lead = self.lead.as_ref();
        let altering = lead.is_some_and(|lead| lead.is_ready() && lead.is_altering(name));
        let entry = self.cluster.connectors.get(name);
        let idle = entry.is_some_and(|entry| entry.target() == Target::Stopped && !entry.is_held());
        altering && idle && self.cluster.led_by.as_ref() == Some(&self.me)
    }

    pub(super) fn kind(&self, config: &Props) -> Kind {
        (self.settings.kinds.0)(config)
    }

    /// Whether the records of this connector are given exactly once.
    pub(super) fn is_once(&self, config: &Props) -> bool {
        self.kind(config) == Kind::OnceSource
    }

    /// Whether the tasks that run are others than those that were counted: they were there before
    /// somebody wanted their records exactly once.
    pub(super) fn is_miscounted(&self, entry: &Entry, config: &Props) -> bool {
        let counted = entry.producers.is_some_and(|producers| producers != entry.task_count());
        counted && self.is_once(config)
    }

    /// Whether nobody of a former task set can write any more, so that `tasks` may begin; begins the
    /// round that sees to it where nobody has.
    pub(super) fn is_fenced(
        &mut self,
        (name, entry, config): (&Arc<str>, &Entry, &Props),
        tasks: u32,
        now_ms: u64,
        actions: &mut Vec<Action>,
    ) -> bool {
        // Those of a set that was there before it was counted may have been transactional, too.
        let producers = entry.producers.unwrap_or(entry.task_count());
        if producers == 0 || (producers == 1 && tasks == 1) {
            return true;
        }
        let Some(lead) = &self.lead else { return false };
        let waits = lead.fences.failed.get(name).is_some_and(|failed| !failed.is_over(now_ms));
        if lead.fences.done.contains(name) {
            return true;
        }
        // One that alters offsets takes ids over, too.
        let busy = lead.fences.is_busy(name) || lead.is_altering(name);
        if waits || busy || entry.is_held() {
            return false;
        }
        let attempt = self.next_attempt();
        if let Some(lead) = &mut self.lead {
            lead.fences.rounds.insert(name.clone(), attempt);
        }
        let (name, config) = (name.clone(), config.clone());
        actions.push(Action::Fence { name, attempt, config, producers });
        false
    }

    /// What was done for a connector holds no more: there may be new producers, or none for ever.
    pub(super) fn forget_fences(&mut self, name: &Arc<str>, actions: &mut Vec<Action>) {
        let Some(lead) = &mut self.lead else { return };
        lead.fences.done.remove(name);
        lead.fences.rounds.remove(name);
        lead.fences.failed.remove(name);
        for id in lead.fences.asked.remove(name).unwrap_or_default() {
            actions.push(Action::Answer { id, outcome: Ok(Done::Done) });
        }
    }

    pub(super) fn fenced(
        &mut self,
        now_ms: u64,
        name: &Arc<str>,
        attempt: u64,
        outcome: Result<(), String>,
        actions: &mut Vec<Action>,
    ) {
        let Some(lead) = &mut self.lead else { return };
        if lead.fences.rounds.get(name) != Some(&attempt) {
            return;
        }
        lead.fences.rounds.remove(name);
        lead.due = true;
        lead.look.insert(name.clone());
        let answer = match outcome {
            Ok(()) => {
                lead.fences.failed.remove(name);
                lead.fences.done.insert(name.clone());
                Ok(Done::Done)
            }
            Err(message) => {
                let failed = Failed::again(lead.fences.failed.get(name), message.clone(), now_ms);
                lead.fences.failed.insert(name.clone(), failed);
                let message = format!("Failed to perform zombie fencing: {message}");
                Err(Answered::Refused(Refusal::Failed { message }))
            }
        };
        for id in lead.fences.asked.remove(name).unwrap_or_default() {
            actions.push(Action::Answer { id, outcome: answer.clone() });
        }
    }

    /// A worker of Kafka Connect asks before it starts a task. There is nothing to do but to wait for a
    /// round that runs: no task set is placed before its round is over.
    pub(super) fn fence_asked(&mut self, id: u64, name: &Arc<str>, actions: &mut Vec<Action>) {
        let config = self.cluster.connectors.get(name).and_then(|entry| entry.config.as_ref());
        if config.is_some_and(|config| self.kind(config) == Kind::Sink) {
            let message = format!("Connector {name} is not a source connector");
            let outcome = Err(Answered::Refused(Refusal::Invalid { message }));
            return actions.push(Action::Answer { id, outcome });
        }
        let Some(lead) = &mut self.lead else { return };
        if lead.fences.is_busy(name) || lead.fences.failed.contains_key(name) {
            return lead.fences.asked.entry(name.clone()).or_default().push(id);
        }
        actions.push(Action::Answer { id, outcome: Ok(Done::Done) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distributed::cluster::{Change, WorkerId};
    use crate::distributed::member::{Commit, Event, Kinds, Settings};
    use crate::distributed::membership::Seat;
    use crate::state::Request;
    use config::Given;
    use std::collections::VecDeque;

    /// A worker that is alone, and whose driver does everything at once but for fencing.
    struct Alone {
        member: Member,
        now_ms: u64,
        rounds: Vec<(u64, u32)>,
        written: Vec<Change>,
        answers: Vec<Result<Done, Answered>>,
    }

    impl Alone {
        fn new() -> Alone {
            let kind = |config: &Props| match config.get("kind") {
                Some("once") => Kind::OnceSource,
                Some("sink") => Kind::Sink,
                _ => Kind::Source,
            };
            let kinds = Kinds(Arc::new(kind));
            let settings = Settings { kinds, partitions: 1, lost_wait_ms: 0, restart_wait_ms: 0 };
            let me = WorkerId { name: "a:1".into(), run: 1 };
            let (rounds, written, answers) = (Vec::new(), Vec::new(), Vec::new());
            let member = Member::new(me, settings);
            let mut alone = Alone { member, now_ms: 0, rounds, written, answers };
            alone.take(Event::Joined(Seat { generation: 1, partitions: [0].into() }));
            alone
        }

        fn take(&mut self, event: Event) {
            let mut events = VecDeque::from([event]);
            while let Some(event) = events.pop_front() {
                for action in self.member.step(self.now_ms, event) {
                    self.carry_out(action, &mut events);
                }
            }
        }

        fn carry_out(&mut self, action: Action, events: &mut VecDeque<Event>) {
            match action {
                Action::ReadToEnd { attempt } => events.push_back(Event::CaughtUp { attempt }),
                Action::InitWriter { attempt } => {
                    events.push_back(Event::WriterReady { attempt, outcome: Ok(()) });
                }
                Action::Commit { version, changes } => {
                    self.written.extend(changes.clone());
                    events.push_back(Event::Config { changes, live: true });
                    events.push_back(Event::Committed { version, outcome: Commit::Done });
                }
                Action::WriteClaim(claim) => {
                    let worker = claim.worker.clone();
                    events.push_back(Event::Claimed);
                    events.push_back(Event::Claim { worker, claim: Some(claim) });
                }
                Action::Validate { id, name, .. } => {
                    events.push_back(Event::Validated { id, name, outcome: Ok(()) });
                }
                Action::MakeTasks { name, attempt, config } => {
                    let count = config.get("n").and_then(|n| n.parse().ok()).unwrap_or(1);
                    let outcome = Ok(vec![config; count]);
                    events.push_back(Event::TasksMade { name, attempt, outcome });
                }
                Action::StopTask { task, token, .. } => {
                    events.push_back(Event::TaskEnded { task, token });
                }
                Action::Fence { attempt, producers, .. } => self.rounds.push((attempt, producers)),
                Action::Answer { outcome, .. } => self.answers.push(outcome),
                _ => {}
            }
        }

        fn ask(&mut self, request: Request) {
            self.take(Event::Asked { id: 1, request });
        }

        fn put(&mut self, kind: &str, tasks: u32) {
            let mut config = Given::default();
            config.insert("kind".to_owned(), Some(kind.to_owned()));
            config.insert("n".to_owned(), Some(tasks.to_string()));
            self.ask(Request::Put { name: "c".to_owned(), config });
        }

        /// Ends the last round.
        fn fenced(&mut self, outcome: Result<(), String>) {
            let (attempt, _) = *self.rounds.last().unwrap();
            self.take(Event::Fenced { name: "c".into(), attempt, outcome });
        }

        fn tick(&mut self, ms: u64) {
            self.now_ms += ms;
            self.take(Event::Tick);
        }

        /// The sizes of the task sets that were written, and the counts of producers.
        fn sets(&self) -> (Vec<usize>, Vec<u32>) {
            let sets = self.written.iter().filter_map(|change| match change {
                Change::Tasks { tasks, .. } => Some(tasks.len()),
                _ => None,
            });
            let counts = self.written.iter().filter_map(|change| match change {
                Change::TaskCount { tasks, .. } => Some(*tasks),
                _ => None,
            });
            (sets.collect(), counts.collect())
        }
    }

    #[test]
    fn a_task_set_waits_until_the_producers_of_the_former_one_are_fenced() {
        let mut alone = Alone::new();
        alone.put("once", 3);
        assert_eq!((alone.sets(), alone.rounds.len()), ((vec![3], vec![3]), 0), "there were none");
        assert_eq!(alone.member.confirm(&("c".into(), 2), 999), Confirmed::No, "another token");
        alone.put("once", 1);
        assert_eq!(alone.rounds.iter().map(|(_, k)| *k).collect::<Vec<_>>(), [3]);
        assert_eq!(alone.sets().0, [3], "nothing is written before the round is over");
        alone.fenced(Ok(()));
        assert_eq!(alone.sets(), (vec![3, 1], vec![3, 1]));
        alone.ask(Request::Restart {
            name: "c".to_owned(),
            connector: true,
            tasks: BTreeSet::new(),
            at_once: true,
        });
        let mut other = Given::default();
        other.insert("kind".to_owned(), Some("once".to_owned()));
        alone.ask(Request::Put { name: "c".to_owned(), config: other });
        assert_eq!((alone.sets().0, alone.rounds.len()), (vec![3, 1, 1], 1), "one after one");
    }

    #[test]
    fn a_round_that_fails_is_shown_and_tried_again_after_a_while() {
        let mut alone = Alone::new();
        alone.put("once", 2);
        alone.put("once", 4);
        alone.fenced(Err("no right".to_owned()));
        assert_eq!(alone.member.failure("c"), Some("no right"));
        alone.tick(500);
        assert_eq!(alone.rounds.len(), 1);
        alone.tick(500);
        assert_eq!(alone.rounds.len(), 2);
        let before = alone.answers.len();
        alone.ask(Request::Fence { name: "c".to_owned() });
        assert_eq!(alone.answers.len(), before, "whoever asks waits for the round");
        alone.fenced(Ok(()));
        assert_eq!(alone.answers.last(), Some(&Ok(Done::Done)));
        assert_eq!((alone.member.failure("c"), alone.sets().0), (None, vec![2, 4]));
    }

    #[test]
    fn a_stop_counts_none_and_one_made_again_fences_its_predecessor() {
        let mut alone = Alone::new();
        alone.put("once", 2);
        let target = Target::Stopped;
        alone.ask(Request::Retarget { name: "c".to_owned(), target });
        alone.fenced(Ok(()));
        assert_eq!(alone.sets(), (vec![2, 0], vec![2, 0]));
        alone.put("once", 3);
        let target = Target::Started;
        alone.ask(Request::Retarget { name: "c".to_owned(), target });
        assert_eq!((alone.sets().1, alone.rounds.len()), (vec![2, 0, 3], 1), "there are none");
        alone.ask(Request::Delete { name: "c".to_owned(), offsets: false });
        alone.put("once", 1);
        assert_eq!(alone.rounds.last().map(|(_, k)| *k), Some(3));
    }

    #[test]
    fn sinks_and_other_sources_are_not_counted() {
        let mut alone = Alone::new();
        alone.put("sink", 2);
        alone.put("source", 3);
        assert_eq!((alone.sets(), alone.rounds.len()), ((vec![2, 3], vec![]), 0));
        alone.put("sink", 1);
        alone.ask(Request::Fence { name: "c".to_owned() });
        let message = "Connector c is not a source connector".to_owned();
        let refused = Err(Answered::Refused(Refusal::Invalid { message }));
        assert_eq!(alone.answers.last(), Some(&refused));
        alone.ask(Request::Fence { name: "x".to_owned() });
        let message = "Connector x not found".to_owned();
        let refused = Err(Answered::Refused(Refusal::Unknown { message }));
        assert_eq!(alone.answers.last(), Some(&refused));
    }
}
