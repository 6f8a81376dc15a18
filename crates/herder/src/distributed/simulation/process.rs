//! What a process does with the broker: reads, writes in transactions, stays in the group, starts and
//! ends.

use super::kafka::{Outcome, SESSION_MS};
use super::producers::Asked;
use super::world::{Happening, World};
use crate::distributed::cluster::{Change, Claim, WorkerId};
use crate::distributed::member::{Commit, Event, Member, Settings};
use std::collections::BTreeMap;

const HEARTBEAT_MS: u64 = 500;

/// A transaction on its way.
#[derive(Clone, Debug)]
pub(super) struct Flight {
    pub(super) version: u64,
    pub(super) changes: Vec<Change>,
    pub(super) epoch: u64,
    pub(super) member: u64,
    pub(super) generation: i32,
    /// Where it is in the log.
    pub(super) at: usize,
}

/// One run of a worker.
pub(super) struct Process {
    pub(super) slot: usize,
    pub(super) member: Member,
    pub(super) me: WorkerId,
    pub(super) paused_until: u64,
    pub(super) cut_until: u64,
    /// It reads the config topic, or the words of others, late.
    pub(super) config_until: u64,
    pub(super) claims_until: u64,
    /// Its id in the group, while it believes to be in it.
    pub(super) mate: Option<u64>,
    pub(super) heard_ms: u64,
    pub(super) position: usize,
    pub(super) live: bool,
    pub(super) ends: Vec<(u64, usize)>,
    /// What waits until the log was read that far.
    pub(super) asks: Vec<(Asked, usize)>,
    pub(super) epoch: u64,
    pub(super) claims_read: BTreeMap<WorkerId, u64>,
    pub(super) generation: i32,
    pub(super) skew_ms: u64,
    pub(super) ending: bool,
    pub(super) down_ms: u64,
}

impl World {
    pub(super) fn put_claim(&mut self, worker: WorkerId, claim: Option<Claim>) {
        self.kafka.put_claim(worker.clone(), claim);
        let ids: Vec<u64> = self.processes.keys().copied().collect();
        for process in ids {
            let times = if self.random.one_in(20) { 2 } else { 1 };
            for _time in 0..times {
                let delay = self.delay();
                self.after(delay, Happening::ReadClaim { process, worker: worker.clone() });
            }
        }
    }

    pub(super) fn read_claim(&mut self, id: u64, worker: WorkerId) {
        let Some((number, claim)) = self.kafka.claims.get(&worker).cloned() else { return };
        let Some(process) = self.processes.get_mut(&id) else { return };
        process.claims_read.insert(worker.clone(), number);
        self.step(id, Event::Claim { worker, claim });
    }

    pub(super) fn read_config(&mut self, id: u64) {
        let end = self.kafka.stable_end();
        let Some(process) = self.processes.get_mut(&id) else { return };
        let (from, live) = (process.position, process.live);
        let entries = self.kafka.log.get(from..end).unwrap_or_default();
        let committed = entries.iter().filter(|entry| entry.outcome == Outcome::Committed);
        let changes: Vec<_> = committed.flat_map(|entry| entry.changes.clone()).collect();
        process.position = end.max(from);
        let position = process.position;
        let reached = |(_, wanted): &mut (u64, usize)| *wanted <= position;
        let done: Vec<(u64, usize)> = process.ends.extract_if(.., reached).collect();
        let known = |(_, wanted): &mut (Asked, usize)| *wanted <= position;
        let asked: Vec<(Asked, usize)> = process.asks.extract_if(.., known).collect();
        process.live |= !done.is_empty();
        if !changes.is_empty() {
            self.step(id, Event::Config { changes, live });
        }
        for (attempt, _) in done {
            self.step(id, Event::CaughtUp { attempt });
        }
        for (asked, _) in asked {
            self.producer_asked(id, asked);
        }
    }

    pub(super) fn heartbeat(&mut self, id: u64) {
        let now = self.now;
        let Some(process) = self.processes.get_mut(&id) else { return };
        let cut = process.cut_until > now;
        let lost = match process.mate {
            Some(mate) if !cut => {
                let known = self.kafka.heartbeat(mate, now);
                process.heard_ms = now;
                !known
            }
            // The client gives its membership up itself when it hears nothing for a session.
            Some(_) => now >= process.heard_ms + SESSION_MS,
            None => false,
        };
        if lost {
            process.mate = None;
            self.step(id, Event::Lost);
        } else if process.mate.is_none() && !cut && !process.ending {
            self.sequence += 1;
            process.mate = Some(self.sequence);
            process.heard_ms = now;
            self.kafka.join(self.sequence, now);
        }
        self.after(HEARTBEAT_MS, Happening::Heartbeat { process: id });
    }

    pub(super) fn init_writer(&mut self, id: u64, attempt: u64) {
        let epoch = self.kafka.init_writer();
        let lost = self.faulty() && self.random.one_in(30);
        let Some(process) = self.processes.get_mut(&id) else { return };
        if !lost {
            process.epoch = epoch;
        }
        let outcome = if lost { Err(()) } else { Ok(()) };
        let delay = self.delay();
        self.after(
            delay,
            Happening::To { process: id, event: Event::WriterReady { attempt, outcome } },
        );
    }

    pub(super) fn begin(&mut self, process: u64, mut commit: Flight) {
        if commit.epoch != self.kafka.epoch {
            return self.reply(process, commit.version, Commit::Fenced);
        }
        commit.at = self.kafka.log.len();
        self.kafka.log.push(super::kafka::Entry {
            changes: commit.changes.clone(),
            outcome: Outcome::Open,
            epoch: commit.epoch,
            generation: commit.generation,
            begun_ms: self.now,
        });
        let delay = self.delay();
        self.after(delay, Happening::Prove { process, commit });
    }

    /// The membership is proved: only in the present generation does a transaction go on.
    pub(super) fn prove(&mut self, process: u64, commit: Flight) {
        let member = self.kafka.mates.contains_key(&commit.member);
        if !member || commit.generation != self.kafka.generation {
            self.resolve(&commit, Outcome::Aborted);
            return self.reply(process, commit.version, Commit::Stale);
        }
        let delay = self.delay();
        self.after(delay, Happening::End { process, commit });
    }

    pub(super) fn resolve(&mut self, commit: &Flight, outcome: Outcome) -> bool {
        let Some(entry) = self.kafka.log.get_mut(commit.at) else { return false };
        let open = entry.outcome == Outcome::Open && entry.epoch == commit.epoch;
        if open {
            entry.outcome = outcome;
        }
        open
    }

    pub(super) fn end(&mut self, process: u64, commit: Flight) {
        let written = self.resolve(&commit, Outcome::Committed);
        if written {
            self.producers.committed(commit.version, &commit.changes);
            let Some(own) = self.processes.get(&process) else { return };
            let leader = own.me.clone();
            self.check_committed(&leader, &commit);
        }
        let outcome = match written {
            _ if self.faulty() && self.random.one_in(30) => Commit::Unknown,
            true => Commit::Done,
            false => Commit::Fenced,
        };
        self.reply(process, commit.version, outcome);
    }

    pub(super) fn reply(&mut self, process: u64, version: u64, outcome: Commit) {
        let delay = self.delay();
        let event = Event::Committed { version, outcome };
        self.after(delay, Happening::To { process, event });
    }

    pub(super) fn start(&mut self, slot: usize) {
        self.runs += 1;
        let id = self.runs;
        let me = WorkerId { name: format!("w{slot}:1").into(), run: id };
        let settings = Settings {
            kinds: self.clients.kinds.clone(),
            partitions: super::kafka::PARTITIONS,
            lost_wait_ms: self.clients.lost_wait_ms,
            restart_wait_ms: 5_000,
        };
        let process = Process {
            slot,
            member: Member::new(me.clone(), settings),
            me,
            paused_until: 0,
            cut_until: 0,
            config_until: 0,
            claims_until: 0,
            mate: None,
            heard_ms: self.now,
            position: 0,
            live: false,
            ends: Vec::new(),
            asks: Vec::new(),
            epoch: 0,
            claims_read: BTreeMap::new(),
            generation: 0,
            skew_ms: 0,
            ending: false,
            down_ms: 0,
        };
        self.processes.insert(id, process);
        self.after(1, Happening::Heartbeat { process: id });
        self.after(500, Happening::Tick { process: id });
        self.read_config(id);
        let workers: Vec<WorkerId> = self.kafka.claims.keys().cloned().collect();
        for worker in workers {
            let delay = self.delay();
            self.after(delay, Happening::ReadClaim { process: id, worker });
        }
    }

    /// A process is gone, without a word.
    pub(super) fn kill(&mut self, id: u64, down_ms: u64) {
        let Some(process) = self.processes.remove(&id) else { return };
        let name = process.me;
        self.tell(|| format!("{name}#{id} killed"));
        self.tasks.kill(id);
        self.producers.kill(id);
        self.drop_requests(id);
        self.after(down_ms, Happening::Start { slot: process.slot });
    }

    /// Ends a process as SIGTERM does.
    pub(super) fn shut_down(&mut self, id: u64, down_ms: u64) {
        let returns = self.random.one_in(2);
        let Some(process) = self.processes.get_mut(&id) else { return };
        process.ending = true;
        process.down_ms = down_ms;
        self.step(id, Event::Shutdown { returns });
    }

    pub(super) fn exit(&mut self, id: u64) {
        self.check_exit(id);
        let Some(process) = self.processes.get(&id) else { return };
        let down = process.down_ms;
        if let Some(mate) = process.mate {
            self.kafka.leave(mate);
        }
        self.kill(id, down);
    }
}
