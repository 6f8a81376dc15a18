//! A worker that is alone, stepped by hand: everything that it asks for happens at once, but for the ends
//! of tasks.

use super::{Action, Commit, Event, Kind, Kinds, Member, Settings, TaskKey};
use crate::distributed::cluster::{Change, WorkerId};
use crate::distributed::membership::Seat;
use crate::state::Request;
use config::Given;
use std::collections::VecDeque;
use std::sync::Arc;

struct Alone {
    member: Member,
    /// Told to stop, and running still.
    ending: Vec<(TaskKey, u64)>,
    /// How often a task was started.
    starts: usize,
}

impl Alone {
    fn seated() -> Alone {
        let me = WorkerId { name: "a:1".into(), run: 1 };
        let kinds = Kinds(Arc::new(|_| Kind::Source));
        let settings = Settings { kinds, partitions: 1, lost_wait_ms: 0, restart_wait_ms: 0 };
        let mut alone = Alone { member: Member::new(me, settings), ending: Vec::new(), starts: 0 };
        alone.happens(Event::Joined(Seat { generation: 1, partitions: [0].into() }));
        assert!(alone.member.leads());
        alone
    }

    fn happens(&mut self, event: Event) {
        let mut events = VecDeque::from([event, Event::Tick]);
        while let Some(event) = events.pop_front() {
            for action in self.member.step(0, event) {
                events.extend(self.carry_out(action));
            }
        }
    }

    fn carry_out(&mut self, action: Action) -> Vec<Event> {
        match action {
            Action::ReadToEnd { attempt } => vec![Event::CaughtUp { attempt }],
            Action::InitWriter { attempt } => {
                vec![Event::WriterReady { attempt, outcome: Ok(()) }]
            }
            Action::Commit { version, changes } => vec![
                Event::Committed { version, outcome: Commit::Done },
                Event::Config { changes, live: true },
            ],
            Action::WriteClaim(claim) => {
                let worker = claim.worker.clone();
                vec![Event::Claimed, Event::Claim { worker, claim: Some(claim) }]
            }
            Action::Validate { id, name, .. } => {
                vec![Event::Validated { id, name, outcome: Ok(()) }]
            }
            Action::MakeTasks { name, attempt, config } => {
                vec![Event::TasksMade { name, attempt, outcome: Ok(vec![config]) }]
            }
            Action::StartTask { .. } => {
                self.starts += 1;
                Vec::new()
            }
            Action::StopTask { task, token, .. } => {
                self.ending.push((task, token));
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    fn put(&mut self, id: u64, value: &str) {
        let mut config = Given::default();
        config.insert("v".to_owned(), Some(value.to_owned()));
        self.happens(Event::Asked { id, request: Request::Put { name: "c".to_owned(), config } });
    }

    fn tasks_end(&mut self) {
        for (task, token) in std::mem::take(&mut self.ending) {
            self.happens(Event::TaskEnded { task, token });
        }
    }
}

#[test]
fn a_change_that_is_taken_back_while_the_tasks_stop_leaves_them_running() {
    let mut alone = Alone::seated();
    alone.put(1, "a");
    assert_eq!((alone.starts, alone.ending.len()), (1, 0));
    alone.put(2, "b");
    assert_eq!((alone.starts, alone.ending.len()), (1, 1), "the task is told to stop");
    alone.put(3, "a");
    alone.tasks_end();
    assert_eq!((alone.starts, alone.ending.len()), (2, 0), "it runs again");
}

#[test]
fn a_task_set_that_somebody_else_has_spoilt_is_made_again() {
    let mut alone = Alone::seated();
    alone.put(1, "a");
    let two = vec![config::Props::new(), config::Props::new()];
    for (starts, tasks) in [(2, Vec::new()), (3, two)] {
        let spoilt = Change::Tasks { name: "c".into(), tasks };
        alone.happens(Event::Config { changes: vec![spoilt], live: true });
        alone.tasks_end();
        let entry = &alone.member.cluster().connectors["c"];
        assert_eq!((alone.starts, alone.ending.len(), entry.tasks.len()), (starts, 0, 1));
        assert!(alone.member.running.contains_key(&("c".into(), 0)), "it runs again");
    }
}
