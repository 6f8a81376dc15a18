//! Tests of the decisions: any order of events, and single stories.

use crate::state::{Action, Done, Event, OffsetsRefused, Refusal, Request, State, Target};
use config::{Given, Props};
use proptest::prelude::*;
use runtime::OffsetsChange;
use std::collections::BTreeMap;
use std::time::Instant;

/// Carries actions out in any order, like a driver whose threads race.
#[derive(Default)]
struct World {
    state: State,
    pending: Vec<Event>,
    live: BTreeMap<(String, u32), u64>,
    answers: BTreeMap<u64, usize>,
    asked: u64,
    exits: usize,
}

impl World {
    fn feed(&mut self, event: Event) {
        for action in self.state.step(Instant::now(), event) {
            self.carry_out(action);
        }
    }

    fn carry_out(&mut self, action: Action) {
        match action {
            Action::Validate { id, name, .. } => {
                let outcome = Ok(());
                self.pending.push(Event::Validated { id, name, outcome });
            }
            Action::MakeTasks { name, attempt, .. } => {
                // Every second time there is something else to do.
                let mut other = Props::new();
                other.insert("n", (attempt / 2).to_string());
                let outcome = Ok(vec![Props::new(), other]);
                self.pending.push(Event::TasksMade { name, attempt, outcome });
            }
            Action::StartTask { name, epoch, task, .. } => {
                let before = self.live.insert((name, task), epoch);
                assert_eq!(before, None, "two generations of a task at once");
            }
            Action::StopTask { name, epoch, task, .. } => {
                assert_eq!(self.live.get(&(name.clone(), task)), Some(&epoch));
                self.pending.push(Event::TaskEnded { name, epoch, task });
            }
            Action::AlterOffsets { name, .. } => {
                assert!(!self.live.keys().any(|(own, _)| *own == name), "{name} has tasks");
                let outcome = Ok("done".to_owned());
                self.pending.push(Event::OffsetsAltered { name, outcome });
            }
            Action::Answer { id, .. } => *self.answers.entry(id).or_default() += 1,
            Action::Exit => self.exits += 1,
        }
    }

    fn happen(&mut self, which: usize) {
        if self.pending.is_empty() {
            return;
        }
        let event = self.pending.remove(which % self.pending.len());
        if let Event::TaskEnded { name, task, .. } = &event {
            self.live.remove(&(name.clone(), *task));
        }
        self.feed(event);
        let altering = |event: &Event| match event {
            Event::OffsetsAltered { name, .. } => Some(name.clone()),
            _ => None,
        };
        for name in self.pending.iter().filter_map(altering) {
            assert!(!self.live.keys().any(|(own, _)| *own == name), "{name} has tasks");
        }
    }

    fn ask(&mut self, kind: u8, name: u8) {
        let name = format!("c{}", name % 3);
        let config = Given::default();
        let request = match kind {
            0 => Request::Create { name, config, target: Target::Started },
            1 => Request::Retarget { name, target: Target::Stopped },
            2 => Request::Retarget { name, target: Target::Started },
            3 => Request::Retarget { name, target: Target::Paused },
            4 => Request::Put { name, config },
            5 => Request::Patch { name, patch: config },
            6 => Request::Delete { name, offsets: self.asked.is_multiple_of(2) },
            7 => {
                let (connector, at_once) = (self.asked.is_multiple_of(2), true);
                Request::Restart { name, connector, tasks: [0, 1, 7].into(), at_once }
            }
            8 => Request::RestartTask { name, task: 1 },
            _ => Request::Offsets { name, change: OffsetsChange::Reset },
        };
        self.asked += 1;
        self.feed(Event::Asked { id: self.asked, request });
    }

    fn settle(&mut self) {
        while !self.pending.is_empty() {
            self.happen(0);
        }
        for id in 1..=self.asked {
            assert_eq!(self.answers.get(&id), Some(&1), "request {id}");
        }
    }
}

proptest! {
    #[test]
    fn any_order_of_events_keeps_the_invariants(
        script in proptest::collection::vec((0_u8..20, 0_u8..3, 0_usize..8), 0..300),
        settled_before_the_end: bool,
    ) {
        let mut world = World::default();
        for (kind, name, which) in script {
            if kind > 9 { world.happen(which) } else { world.ask(kind, name) }
        }
        if settled_before_the_end {
            world.settle();
            for (name, connector) in world.state.connectors() {
                let live = world.live.keys().filter(|(n, _)| n == name).count();
                let wanted = if connector.target == Target::Started { 2 } else { 0 };
                prop_assert_eq!(live, wanted);
            }
        }
        world.feed(Event::Shutdown);
        world.settle();
        prop_assert!(world.exits >= 1);
        prop_assert!(world.live.is_empty());
    }
}

fn named(name: &str) -> String {
    name.to_owned()
}

/// A connector that runs two tasks, after requests 1.
fn started() -> World {
    let mut world = World::default();
    world.ask(0, 0);
    world.settle();
    assert_eq!(world.live.len(), 2);
    world
}

fn answer(actions: &[Action]) -> Option<&Result<Done, Refusal>> {
    actions.iter().find_map(|action| match action {
        Action::Answer { outcome, .. } => Some(outcome),
        _ => None,
    })
}

#[test]
fn a_connector_whose_tasks_cannot_be_made_is_failed_until_stopped_and_resumed() {
    let mut state = State::default();
    let now = Instant::now();
    let name = named("c");
    let (config, target) = (Given::default(), Target::Started);
    let create = Request::Create { name: name.clone(), config, target };
    state.step(now, Event::Asked { id: 1, request: create });
    state.step(now, Event::Validated { id: 1, name: name.clone(), outcome: Ok(()) });
    let outcome = Err("no".to_owned());
    let actions = state.step(now, Event::TasksMade { name: name.clone(), attempt: 1, outcome });
    assert_eq!(answer(&actions), Some(&Ok(Done::Created)));
    assert_eq!(state.connectors["c"].failure.as_deref(), Some("no"));
    let stop = Request::Retarget { name: name.clone(), target: Target::Stopped };
    state.step(now, Event::Asked { id: 2, request: stop });
    let resume = Request::Retarget { name, target: Target::Started };
    let actions = state.step(now, Event::Asked { id: 3, request: resume });
    assert!(matches!(actions.first(), Some(Action::MakeTasks { attempt: 2, .. })));
}

#[test]
fn a_paused_connector_keeps_its_tasks_in_mind_and_a_stopped_one_forgets_them() {
    let mut world = started();
    world.ask(3, 0);
    world.settle();
    assert!(world.live.is_empty());
    assert_eq!(world.state.connectors["c0"].tasks.len(), 2);
    world.ask(1, 0);
    world.settle();
    assert_eq!(world.state.connectors["c0"].tasks.len(), 0);
}

#[test]
fn offsets_of_a_running_connector_are_refused_and_those_of_a_stopping_one_wait() {
    let mut world = started();
    let now = Instant::now();
    let request = Request::Offsets { name: named("c0"), change: OffsetsChange::Reset };
    let asked = Event::Asked { id: 50, request: request.clone() };
    let actions = world.state.step(now, asked);
    let Some(Err(Refusal::Invalid { message })) = answer(&actions) else { panic!("{actions:?}") };
    assert!(message.contains("'/connectors/c0/stop'"), "{message}");
    let stop = Request::Retarget { name: named("c0"), target: Target::Stopped };
    for action in world.state.step(now, Event::Asked { id: 51, request: stop }) {
        world.carry_out(action);
    }
    assert_eq!(world.state.step(now, Event::Asked { id: 52, request }), []);
    // Resuming waits until the offsets are changed.
    let resume = Request::Retarget { name: named("c0"), target: Target::Started };
    assert_eq!(world.state.step(now, Event::Asked { id: 53, request: resume }), []);
    world.settle();
    let answered: Vec<u64> = world.answers.keys().copied().collect();
    assert_eq!(answered, [1, 51, 52, 53]);
    assert_eq!(world.live.len(), 2);
}

#[test]
fn an_update_that_changes_no_task_restarts_none_unless_a_secret_may_have_changed() {
    for (value, restarted) in [("plain", false), ("${file:/x:y}", true)] {
        let mut state = State::default();
        let now = Instant::now();
        let name = named("c");
        let task: Props = [("k", value)].into_iter().collect();
        for id in 1..=2 {
            let request = Request::Put { name: name.clone(), config: Given::default() };
            state.step(now, Event::Asked { id, request });
            state.step(now, Event::Validated { id, name: name.clone(), outcome: Ok(()) });
            let outcome = Ok(vec![task.clone()]);
            let made = Event::TasksMade { name: name.clone(), attempt: id, outcome };
            let actions = state.step(now, made);
            let stops = actions.iter().any(|action| matches!(action, Action::StopTask { .. }));
            assert_eq!(stops, id == 2 && restarted, "{value} {actions:?}");
        }
    }
}

#[test]
fn tasks_without_a_successor_give_their_seats_up() {
    let mut world = started();
    let now = Instant::now();
    let name = named("c0");
    let request = Request::Put { name: name.clone(), config: Given::default() };
    world.state.step(now, Event::Asked { id: 70, request });
    world.state.step(now, Event::Validated { id: 70, name: name.clone(), outcome: Ok(()) });
    let other: Props = [("a", "b")].into_iter().collect();
    let attempt = world.state.connectors["c0"].attempt;
    let made = Event::TasksMade { name, attempt, outcome: Ok(vec![other]) };
    let leaves: Vec<(u32, bool)> = world
        .state
        .step(now, made)
        .iter()
        .filter_map(|action| match action {
            Action::StopTask { task, leave, .. } => Some((*task, *leave)),
            _ => None,
        })
        .collect();
    assert_eq!(leaves, [(0, false), (1, true)]);
}

#[test]
fn a_connector_goes_with_its_offsets_or_stays_with_them() {
    for kept in [false, true] {
        let mut world = started();
        let now = Instant::now();
        let delete = Request::Delete { name: named("c0"), offsets: true };
        for action in world.state.step(now, Event::Asked { id: 80, request: delete }) {
            world.carry_out(action);
        }
        world.happen(0);
        world.happen(0);
        let altered = Event::OffsetsAltered { name: named("c0"), outcome: Ok(String::new()) };
        let [Event::OffsetsAltered { .. }] = &world.pending[..] else { panic!("not asked") };
        let refused = OffsetsRefused::Failed("no answer".to_owned());
        let failed = Event::OffsetsAltered { name: named("c0"), outcome: Err(refused) };
        let actions = world.state.step(now, if kept { failed } else { altered });
        assert_eq!(matches!(answer(&actions), Some(Ok(_))), !kept, "{actions:?}");
        let left = world.state.connectors.get("c0");
        assert_eq!(left.map(|c| (c.target, c.deleting)), kept.then_some((Target::Stopped, false)));
    }
}

#[test]
fn a_connector_that_comes_back_is_not_checked() {
    let mut state = State::default();
    let (name, config, target) = (named("c"), Props::new(), Target::Paused);
    let restore = Request::Restore { name, config, target };
    let actions = state.step(Instant::now(), Event::Asked { id: 1, request: restore });
    assert_eq!(actions, [Action::Answer { id: 1, outcome: Ok(Done::Created) }]);
    let (config, target) = (Props::new(), Target::Started);
    let restore = Request::Restore { name: named("d"), config, target };
    let actions = state.step(Instant::now(), Event::Asked { id: 2, request: restore });
    assert!(matches!(&actions[..], [Action::MakeTasks { .. }]), "{actions:?}");
}

#[test]
fn a_connector_that_is_made_again_after_its_end_waits_for_that_end() {
    let mut world = started();
    let now = Instant::now();
    let delete = Request::Delete { name: named("c0"), offsets: false };
    for action in world.state.step(now, Event::Asked { id: 60, request: delete }) {
        world.carry_out(action);
    }
    let config = Given::default();
    let create = Request::Create { name: named("c0"), config, target: Target::Paused };
    assert_eq!(world.state.step(now, Event::Asked { id: 61, request: create }), []);
    world.settle();
    assert_eq!(world.state.connectors["c0"].target, Target::Paused);
    assert_eq!(world.state.connectors["c0"].tasks.len(), 0);
    assert_eq!(world.answers.get(&61), Some(&1));
}
