//! Processes and time: events happen one after the other, in the order of their virtual time.

use super::check::Check;
use super::clients::Clients;
use super::kafka::Kafka;
use super::process::{Flight, Process};
use super::producers::{Producers, Round, Sent, Step};
use super::random::Random;
use super::tasks::{Execution, Tasks};
use crate::distributed::cluster::{Claim, TaskKey, WorkerId};
use crate::distributed::member::{Action, Event};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Faults happen for so long, at most.
pub(super) const FAULTS_MS: u64 = 60_000;
/// Then everything must come to rest within this.
pub(super) const REST_MS: u64 = 60_000;
/// Longer than anything is on its way.
const LOOK_MS: u64 = 10_000;

/// Something that happens at its time.
#[derive(Clone, Debug)]
pub(super) enum Happening {
    /// To a process, when it can take it.
    To {
        process: u64,
        event: Event,
    },
    Heartbeat {
        process: u64,
    },
    Tick {
        process: u64,
    },
    /// A process reads what it can of the config topic.
    ReadConfig {
        process: u64,
    },
    /// A process reads what a worker says of itself.
    ReadClaim {
        process: u64,
        worker: WorkerId,
    },
    ClaimArrives {
        process: u64,
        claim: Claim,
    },
    Forgotten {
        worker: WorkerId,
    },
    EndAsked {
        process: u64,
        attempt: u64,
    },
    InitArrives {
        process: u64,
        attempt: u64,
    },
    Begin {
        process: u64,
        commit: Flight,
    },
    Prove {
        process: u64,
        commit: Flight,
    },
    End {
        process: u64,
        commit: Flight,
    },
    TaskBegins {
        process: u64,
        task: TaskKey,
        token: u64,
        of: String,
        /// Of how many whose records are given exactly once.
        once: Option<u32>,
    },
    /// A task whose records are given exactly once does something.
    Producer {
        process: u64,
        run: u64,
        step: Step,
    },
    /// What it has sent arrives, whatever became of its process.
    Transaction {
        sent: Sent,
    },
    Fence {
        round: Round,
    },
    /// The leader is about to change offsets.
    Alter {
        process: u64,
        name: Arc<str>,
        producers: u32,
    },
    /// What changes offsets arrives, whatever became of its process; none: it may not.
    Reset {
        process: u64,
        name: Arc<str>,
        epoch: Option<u64>,
    },
    TaskWrites {
        process: u64,
        task: TaskKey,
        token: u64,
    },
    TaskEnds {
        process: u64,
        task: TaskKey,
        token: u64,
    },
    Start {
        slot: usize,
    },
    Fault,
    Client {
        name: Arc<str>,
    },
    Retry {
        id: u64,
    },
}

pub(super) struct World {
    pub(super) now: u64,
    pub(super) sequence: u64,
    agenda: BTreeMap<(u64, u64), Box<Happening>>,
    pub(super) random: Random,
    pub(super) kafka: Kafka,
    pub(super) processes: BTreeMap<u64, Process>,
    pub(super) runs: u64,
    pub(super) tasks: Tasks,
    pub(super) producers: Producers,
    pub(super) clients: Clients,
    pub(super) check: Check,
    story: Vec<String>,
    telling: bool,
    /// It is watched to the end, whether or not it has come to rest.
    patient: bool,
    /// When it is looked next whether it has.
    look_at: u64,
}

impl World {
    pub(super) fn new(seed: u64) -> World {
        let mut random = Random::new(seed);
        let slots = random.between(1, 6) as usize;
        let mut world = World {
            now: 1_000,
            sequence: 0,
            agenda: BTreeMap::new(),
            kafka: Kafka::default(),
            processes: BTreeMap::new(),
            runs: 0,
            tasks: Tasks::default(),
            producers: Producers::default(),
            clients: Clients::new(&mut random),
            check: Check::default(),
            story: Vec::new(),
            telling: std::env::var_os("COPYCAT_STORY").is_some(),
            patient: random.one_in(4),
            look_at: FAULTS_MS + LOOK_MS,
            random,
        };
        for slot in 0..slots {
            let at = world.random.between(0, 3_000);
            world.after(at, Happening::Start { slot });
        }
        for name in world.clients.names() {
            let at = world.random.between(0, 5_000);
            world.after(at, Happening::Client { name });
        }
        world.after(3_000, Happening::Fault);
        world
    }

    pub(super) fn fault(&self) -> Option<&str> {
        self.check.fault.as_deref()
    }

    pub(super) fn log(&self) -> String {
        let from =
            self.story.len().saturating_sub(super::setting("COPYCAT_STORY").unwrap_or(0) as usize);
        self.story.get(from..).unwrap_or_default().join("\n")
    }

    pub(super) fn tell(&mut self, text: impl FnOnce() -> String) {
        if self.telling {
            let line = format!("{:>7} {}", self.now, text());
            self.story.push(line);
        }
    }

    pub(super) fn faulty(&self) -> bool {
        self.now < FAULTS_MS
    }

    pub(super) fn after(&mut self, ms: u64, happening: Happening) {
        self.sequence += 1;
        self.agenda.insert((self.now + ms, self.sequence), Box::new(happening));
    }

    /// How long something takes on the way: mostly a little, seldom long while there are faults.
    pub(super) fn delay(&mut self) -> u64 {
        match self.random.next() % 100 {
            0 if self.faulty() => self.random.between(500, 4_000),
            1..=5 => self.random.between(50, 300),
            _ => self.random.between(1, 20),
        }
    }

    pub(super) fn run(&mut self) {
        while let Some(((at, _), happening)) = self.agenda.pop_first() {
            self.now = self.now.max(at);
            if self.now > FAULTS_MS + REST_MS || self.rests() {
                break;
            }
            self.kafka.expire(self.now);
            self.happen(*happening);
            let seats = self.kafka.turn(self.now);
            for (mate, seat) in seats {
                self.give_seat(mate, seat);
            }
            self.spread_config();
            if self.check.fault.is_some() {
                return;
            }
        }
        self.check_rest();
    }

    /// Mostly a world is left when it has come to rest; some are watched to the end.
    fn rests(&mut self) -> bool {
        if self.patient || self.now < self.look_at {
            return false;
        }
        self.look_at = self.now + LOOK_MS;
        self.check.fault.is_none() && self.clients.is_idle() && self.faults_at_rest().is_empty()
    }

    fn give_seat(&mut self, mate: u64, seat: crate::distributed::membership::Seat) {
        let owner = self.processes.iter().find(|(_, process)| process.mate == Some(mate));
        let Some((&process, _)) = owner else { return };
        let delay = self.random.between(1, 30);
        self.after(delay, Happening::To { process, event: Event::Joined(seat) });
    }

    /// Readers that are behind will read on.
    fn spread_config(&mut self) {
        let end = self.kafka.stable_end();
        if self.check.spread == end {
            return;
        }
        self.check.spread = end;
        let ids: Vec<u64> = self.processes.keys().copied().collect();
        for process in ids {
            let delay = self.delay();
            self.after(delay, Happening::ReadConfig { process });
        }
    }

    /// When the process can do something again: it is put off until then.
    fn put_off(&self, process: u64, network: bool, happening: &Happening) -> Option<u64> {
        let process = self.processes.get(&process)?;
        let reading = match happening {
            Happening::ReadConfig { .. } => process.config_until,
            Happening::ReadClaim { .. } => process.claims_until,
            _ => 0,
        };
        let network = if network { process.cut_until } else { 0 };
        let until = process.paused_until.max(network).max(reading);
        (until > self.now).then(|| until - self.now + 1)
    }

    pub(super) fn step(&mut self, id: u64, event: Event) {
        let Some(process) = self.processes.get_mut(&id) else { return };
        if let Event::Joined(seat) = &event {
            if process.mate.is_none() || seat.generation < process.generation {
                return;
            }
            process.generation = seat.generation;
        }
        let clock = self.now + process.skew_ms;
        let told = self.telling.then(|| format!("{}#{id} {event:?}", process.me));
        let actions = process.member.step(clock, event);
        if let Some(told) = told {
            self.tell(|| format!("{told} -> {actions:?}"));
        }
        for action in actions {
            self.carry_out(id, action);
        }
    }

    fn carry_out(&mut self, process: u64, action: Action) {
        let delay = self.delay();
        match action {
            Action::ReadToEnd { attempt } => {
                self.after(delay, Happening::EndAsked { process, attempt });
            }
            Action::InitWriter { attempt } => {
                self.after(delay + 50, Happening::InitArrives { process, attempt });
            }
            Action::Commit { version, changes } => {
                let Some(own) = self.processes.get(&process) else { return };
                let (epoch, generation) = (own.epoch, own.generation);
                let member = own.mate.unwrap_or(0);
                let commit = Flight { version, changes, epoch, member, generation, at: 0 };
                self.after(delay, Happening::Begin { process, commit });
            }
            Action::WriteClaim(claim) => {
                self.after(delay, Happening::ClaimArrives { process, claim });
            }
            Action::Forget(worker) => self.after(delay, Happening::Forgotten { worker }),
            Action::Validate { id, name, .. } => {
                let bad = self.random.one_in(10);
                let outcome = if bad { Err("no".to_owned()) } else { Ok(()) };
                let event = Event::Validated { id, name, outcome };
                self.after(delay, Happening::To { process, event });
            }
            Action::MakeTasks { name, attempt, config } => {
                let bad = self.faulty() && self.random.one_in(10);
                let tasks = super::clients::tasks_of(&config);
                let outcome = if bad { Err("no".to_owned()) } else { Ok(tasks) };
                let event = Event::TasksMade { name, attempt, outcome };
                self.after(delay, Happening::To { process, event });
            }
            Action::AlterOffsets { name, producers, .. } => {
                self.check_altering(&name);
                self.after(delay, Happening::Alter { process, name, producers });
            }
            Action::Fence { name, attempt, producers, .. } => {
                let round = Round { process, name, attempt, producers, next: 0 };
                self.after(delay, Happening::Fence { round });
            }
            Action::StartTask { task, token, config } => {
                self.check_start(process, &task, &config);
                let of = config.get("v").unwrap_or_default().to_owned();
                let once = config.get("once").and_then(|count| count.parse().ok());
                let mate = self.processes.get(&process).and_then(|process| process.mate);
                self.tasks.starting.insert((process, task.clone(), token), mate);
                self.after(delay, Happening::TaskBegins { process, task, token, of, once });
            }
            Action::StopTask { task, token, lost } => {
                let slow = self.random.one_in(20) && !lost;
                let delay = delay + if slow { self.random.between(500, 5_000) } else { 0 };
                self.after(delay, Happening::TaskEnds { process, task, token });
            }
            Action::Answer { id, outcome } => self.answered(id, outcome),
            Action::Exit => self.exit(process),
        }
    }

    fn happen(&mut self, happening: Happening) {
        let (process, network) = match &happening {
            Happening::To { process, .. }
            | Happening::Tick { process }
            | Happening::TaskBegins { process, .. }
            | Happening::TaskEnds { process, .. } => (*process, false),
            Happening::TaskWrites { process, .. } => (*process, false),
            Happening::ReadConfig { process }
            | Happening::ReadClaim { process, .. }
            | Happening::ClaimArrives { process, .. }
            | Happening::EndAsked { process, .. }
            | Happening::InitArrives { process, .. }
            | Happening::Begin { process, .. }
            | Happening::Prove { process, .. }
            | Happening::End { process, .. }
            | Happening::Producer { process, .. }
            | Happening::Alter { process, .. } => (*process, true),
            Happening::Fence { round } => (round.process, true),
            Happening::Heartbeat { process } => (*process, false),
            Happening::Start { .. }
            | Happening::Fault
            | Happening::Transaction { .. }
            | Happening::Reset { .. }
            | Happening::Forgotten { .. }
            | Happening::Client { .. }
            | Happening::Retry { .. } => (0, false),
        };
        if process != 0 {
            if !self.processes.contains_key(&process) {
                return;
            }
            if let Some(wait) = self.put_off(process, network, &happening) {
                return self.after(wait, happening);
            }
        }
        self.happen_now(happening);
    }

    fn happen_now(&mut self, happening: Happening) {
        match happening {
            Happening::To { process, event } => self.step(process, event),
            Happening::Heartbeat { process } => self.heartbeat(process),
            Happening::Tick { process } => {
                self.step(process, Event::Tick);
                self.after(1_000, Happening::Tick { process });
            }
            Happening::ReadConfig { process } => self.read_config(process),
            Happening::ReadClaim { process, worker } => self.read_claim(process, worker),
            Happening::ClaimArrives { process, claim } => {
                self.put_claim(claim.worker.clone(), Some(claim));
                let delay = self.delay();
                self.after(delay, Happening::To { process, event: Event::Claimed });
            }
            Happening::Forgotten { worker } => self.put_claim(worker, None),
            Happening::EndAsked { process, attempt } => {
                let end = self.kafka.log.len();
                if let Some(process) = self.processes.get_mut(&process) {
                    process.ends.push((attempt, end));
                }
                self.after(0, Happening::ReadConfig { process });
            }
            Happening::InitArrives { process, attempt } => self.init_writer(process, attempt),
            Happening::Begin { process, commit } => self.begin(process, commit),
            Happening::Prove { process, commit } => self.prove(process, commit),
            Happening::End { process, commit } => self.end(process, commit),
            Happening::TaskBegins { process, task, token, of, once } => {
                self.task_begins(process, task, token, of, once);
            }
            Happening::Producer { run, step, .. } => self.producer_step(run, step),
            Happening::Transaction { sent } => self.transaction(sent),
            Happening::Fence { round } => self.fence(round),
            Happening::Alter { process, name, producers } => self.alter(process, name, producers),
            Happening::Reset { process, name, epoch } => self.reset_offsets(process, name, epoch),
            Happening::TaskWrites { process, task, token } => {
                let running = self.tasks.running.get(&task);
                let own = |e: &Execution| e.process == process && e.token == token;
                if running.is_some_and(|running| running.iter().any(own)) {
                    self.tasks.write(&task, token);
                    let delay = self.random.between(200, 3_000);
                    self.after(delay, Happening::TaskWrites { process, task, token });
                }
            }
            Happening::TaskEnds { process, task, token } => {
                if self.tasks.starting.contains_key(&(process, task.clone(), token)) {
                    return self.after(50, Happening::TaskEnds { process, task, token });
                }
                self.producers.end(process, &task, token);
                if self.tasks.end(&task, process, token) {
                    self.step(process, Event::TaskEnded { task, token });
                }
            }
            Happening::Start { slot } => self.start(slot),
            Happening::Fault => self.strike(),
            Happening::Client { name } => self.ask(&name),
            Happening::Retry { id } => self.ask_again(id),
        }
    }

    fn task_begins(
        &mut self,
        process: u64,
        task: TaskKey,
        token: u64,
        of: String,
        once: Option<u32>,
    ) {
        let mate = self.tasks.starting.remove(&(process, task.clone(), token)).flatten();
        let execution = Execution { process, mate, token, of };
        self.check_begin(process, &task, &execution);
        self.tasks.begin(&task, execution);
        if let Some(count) = once {
            return self.producer_begins(process, task, token, count);
        }
        let delay = self.random.between(100, 1_000);
        self.after(delay, Happening::TaskWrites { process, task, token });
    }
}
